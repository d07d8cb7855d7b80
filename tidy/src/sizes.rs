//! Files fit into a head.

use crate::repository::{files, report, text};

/// Lines that a file may have, and the fix for a longer one. The first matching rule counts.
fn limit(path: &str) -> Option<(usize, &'static str)> {
    let source = [".rs", ".py", ".pyi", ".sh"].iter().any(|end| path.ends_with(end));
    match path {
        "ARCHITECTURE.md" => Some((300, "leave to the code what the code says")),
        "CONTRIBUTING.md" => Some((120, "leave out what `make` says itself")),
        _ if path.starts_with("crates/xrootd/src/message/") && source => {
            Some((250, "a message file holds one message; what several share belongs in codec.rs"))
        }
        _ if path.ends_with("/lib.rs") => {
            Some((300, "lib.rs lists modules, documents and re-exports; move logic into modules"))
        }
        _ if source => {
            Some((800, "cut it where the thing itself has parts; tests go to x/tests.rs"))
        }
        _ => None,
    }
}

fn finding(path: &str, lines: usize) -> Option<String> {
    let (limit, advice) = limit(path)?;
    (lines > limit).then(|| format!("{path}: {lines} lines, at most {limit}: {advice}"))
}

#[test]
fn no_file_is_too_long() {
    let findings = files()
        .iter()
        .filter(|path| limit(path).is_some())
        .filter_map(|path| finding(path, text(path)?.lines().count()))
        .collect();
    report(findings);
}

#[test]
fn the_rule_can_fail() {
    assert!(finding("crates/engine/src/read/tree.rs", 801).is_some());
    assert!(finding("crates/engine/src/read/tree.rs", 800).is_none());
    assert!(finding("crates/xrootd/src/message/open.rs", 251).is_some());
    assert!(finding("crates/cli/src/lib.rs", 301).is_some());
    assert!(finding("docs/table.md", 5000).is_none());
}
