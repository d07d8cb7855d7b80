//! The engine's readers lie in floors: a folder imports only those below it. The writers of
//! files stand beside them, and need little of them.

use crate::repository::report;
use crate::syntax::{Crate, crates};

/// From the lowest; folders of one floor do not know each other.
const FLOORS: [&[&str]; 11] = [
    &["threads"],
    &["predict"],
    &["file"],
    &["core"],
    &["tree", "ntuple"],
    &["near"],
    &["joined"],
    &["many"],
    &["open"],
    &["inspect", "export", "watch"],
    &["select"],
];

/// The parts of the readers that `write` uses: the threads, and files that are written further.
const READ_BY_WRITE: [&str; 2] = ["read/threads/", "read/file/"];
/// Folders of `write` that read files in order to write others: they stand above both.
const ABOVE: [&str; 4] = ["write/copy/", "write/merge.rs", "write/replica.rs", "write/skim/"];

/// Imports between `read` and `write`.
fn between(engine: &Crate) -> Vec<String> {
    let is_above = |file: &str| ABOVE.iter().any(|folder| file.starts_with(folder));
    let may = |file: &str, target: &str| match target {
        _ if file.starts_with("read/") => !target.starts_with("write/"),
        _ if !file.starts_with("write/") || is_above(file) => true,
        _ => {
            !is_above(target)
                && (!target.starts_with("read/")
                    || READ_BY_WRITE.iter().any(|allowed| target.starts_with(allowed)))
        }
    };
    let mut findings = Vec::new();
    for (file, targets) in engine.imports() {
        for target in targets.into_iter().filter(|target| !may(file, target)) {
            findings.push(format!(
                "crates/engine/src/{file}: imports {target}: readers do not know writers, and \
                 writers only what tidy/src/floors.rs names"
            ));
        }
    }
    findings
}

fn findings(engine: &Crate) -> Vec<String> {
    let folder = |file: &str| Some(file.strip_prefix("read/")?.split_once('/')?.0.to_owned());
    let floor = |name: &str| FLOORS.iter().position(|floor| floor.contains(&name));
    let mut findings = Vec::new();
    for (file, targets) in engine.imports() {
        let Some(from) = folder(file) else { continue };
        let Some(at) = floor(&from) else {
            findings.push(format!("crates/engine/src/{file}: a floor that tidy does not know"));
            continue;
        };
        for target in targets {
            let Some(to) = folder(target).filter(|to| *to != from) else { continue };
            if floor(&to).is_none_or(|below| below >= at) {
                findings.push(format!(
                    "crates/engine/src/{file}: imports {target}: {to} is not below {from}"
                ));
            }
        }
    }
    findings
}

#[test]
fn readers_import_what_is_below_them() {
    let engine = crates().remove("crates/engine").expect("the engine is a crate");
    report(findings(&engine));
}

#[test]
fn writers_stand_beside_readers() {
    let engine = crates().remove("crates/engine").expect("the engine is a crate");
    report(between(&engine));
}

#[test]
fn the_rule_between_them_can_fail() {
    let count = |file: &'static str, text: &'static str| {
        between(&Crate::parse([
            ("read/threads/mod.rs", "pub struct A;"),
            ("read/tree/mod.rs", "pub struct B;"),
            ("write/mod.rs", "pub struct C;"),
            ("write/skim/mod.rs", "pub struct D;"),
            (file, text),
        ]))
        .len()
    };
    assert_eq!(count("write/a.rs", "use crate::read::threads::A;"), 0);
    assert_eq!(count("write/a.rs", "use crate::read::tree::B;"), 1);
    assert_eq!(count("write/skim/a.rs", "use crate::read::tree::B; use crate::write::C;"), 0);
    assert_eq!(count("write/a.rs", "use super::skim::D;"), 1);
    assert_eq!(count("read/tree/a.rs", "use crate::write::C;"), 1);
}

#[test]
fn the_rule_can_fail() {
    let parse = |tree: &'static str| {
        findings(&Crate::parse([
            ("read/core/mod.rs", "pub struct A;"),
            ("read/ntuple/mod.rs", "pub struct B;"),
            ("read/tree/mod.rs", tree),
        ]))
    };
    assert!(parse("use crate::read::core::A;").is_empty());
    assert_eq!(parse("use crate::read::ntuple::B;").len(), 1);
    let up = [("read/core/mod.rs", "use super::open::C;"), ("read/open/mod.rs", "pub struct C;")];
    assert_eq!(findings(&Crate::parse(up)).len(), 1);
    assert_eq!(findings(&Crate::parse([("read/attic/mod.rs", "")])).len(), 1);
}
