//! ARCHITECTURE.md names folders and files that are there.

use crate::repository::{report, root, text};

const PAGE: &str = "ARCHITECTURE.md";

/// Paths in backticks, with their line numbers: words of lower case with a slash between them.
fn paths(text: &str) -> Vec<(usize, String)> {
    let is_path = |word: &str| {
        let rest = word.strip_suffix(".rs").unwrap_or(word);
        word.contains('/')
            && rest.chars().all(|c| c.is_ascii_lowercase() || matches!(c, '/' | '_' | '-'))
    };
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let code = line.split('`').skip(1).step_by(2);
        found.extend(code.filter(|word| is_path(word)).map(|word| (index + 1, word.to_owned())));
    }
    found
}

/// Whether the path is there, as it is written or, for `crate/module`, in the crate's sources.
fn is_there(path: &str) -> bool {
    let in_crate = path.split_once('/').map(|(name, rest)| format!("crates/{name}/src/{rest}"));
    let places = [Some(path.to_owned()), in_crate];
    places.into_iter().flatten().any(|place| root().join(place).exists())
}

fn findings(text: &str) -> Vec<String> {
    let gone = paths(text).into_iter().filter(|(_, path)| !is_there(path));
    gone.map(|(number, path)| {
        format!("{PAGE}:{number}: {path} is not there: name what took its place")
    })
    .collect()
}

#[test]
fn the_architecture_names_what_is_there() {
    report(findings(&text(PAGE).expect("documents are text")));
}

#[test]
fn the_rule_can_fail() {
    let good = "`crates/xrootd`, `scheduler/lib.rs`, `tidy/`, `sim/tests`, `a/B`, `kXR_a/b`";
    assert_eq!(findings(good), Vec::<String>::new());
    assert_eq!(findings("`crates/nowhere` and\n`scheduler/nowhere.rs`").len(), 2);
}
