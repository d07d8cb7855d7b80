//! The engine's readers lie in floors: a folder imports only those below it.

use crate::repository::report;
use crate::syntax::{Crate, crates};

/// From the lowest; folders of one floor do not know each other.
const FLOORS: [&[&str]; 8] = [
    &["threads"],
    &["file"],
    &["core"],
    &["tree", "ntuple"],
    &["joined"],
    &["many"],
    &["open"],
    &["inspect", "export"],
];

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
