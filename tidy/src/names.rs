//! One noun, one type: the name of a public type is written once in a crate.

use crate::repository::report;
use crate::syntax::{Crate, crates};

/// Crates with public types of one name, and how many names those are. It can only become lower.
const EXCEPTIONS: [(&str, usize); 0] = [];

/// Names of several public types, with the files that define them.
fn repeated(sources: &Crate) -> Vec<String> {
    let types = sources.public_types();
    let several = types.into_iter().filter(|(_, files)| files.len() > 1);
    several.map(|(name, files)| format!("{name}: {}", files.join(", "))).collect()
}

fn findings(folder: &str, names: &[String], exceptions: &[(&str, usize)]) -> Option<String> {
    let exception = exceptions.iter().find(|(name, _)| *name == folder);
    let limit = exception.map_or(0, |(_, count)| *count);
    (names.len() != limit).then(|| {
        let count = names.len();
        let names = names.join("\n    ");
        format!(
            "{folder}: {count} names of public types stand for more than one type; \
             tidy/src/names.rs allows {limit}: give each type a name of its own, \
             or lower that number\n    {names}"
        )
    })
}

#[test]
fn a_public_type_has_a_name_of_its_own() {
    let found = crates()
        .into_iter()
        .filter_map(|(folder, sources)| findings(&folder, &repeated(&sources), &EXCEPTIONS));
    report(found.collect());
}

#[test]
fn the_rule_can_fail() {
    let text = "pub struct Place; struct Part; fn place() {}";
    let one = Crate::parse([("lib.rs", text), ("a.rs", "struct Place; pub struct Part;")]);
    assert!(repeated(&one).is_empty());
    let two = Crate::parse([("lib.rs", text), ("a.rs", "pub(crate) enum Place {}")]);
    assert_eq!(repeated(&two), ["Place: lib.rs, a.rs"]);
    assert!(findings("a", &repeated(&two), &[]).is_some());
    assert!(findings("a", &repeated(&two), &[("a", 1)]).is_none());
    assert!(findings("a", &repeated(&two), &[("a", 2)]).is_some());
}
