//! Private types that share their name with a type of another module of the crate.

use crate::syntax::Crate;

/// Private definitions of names that have another, as file and line. Of a name that is private
/// everywhere, the first may keep it.
pub fn repeated(sources: &Crate) -> Vec<(String, usize)> {
    let public = sources.public_types();
    let types = sources.private_types().into_iter();
    let surplus = types.flat_map(|(name, files)| {
        let first = usize::from(!public.contains_key(&name));
        files.into_iter().skip(first)
    });
    surplus.map(|(file, line)| (file.to_owned(), line)).collect()
}

#[test]
fn a_repeated_name_is_found() {
    let a = ("a.rs", "struct Place;\npub struct Part;\nstruct Own;");
    let b = ("b.rs", "struct Part;\n\nenum Place {}\n#[cfg(test)] mod tests { struct Own; }");
    let in_tests = ("b/tests.rs", "struct Place;");
    let place_and_part = [("b.rs".to_owned(), 1), ("b.rs".to_owned(), 3)];
    assert_eq!(repeated(&Crate::parse([a, b])), place_and_part);
    assert!(repeated(&Crate::parse([a, in_tests])).is_empty());
}
