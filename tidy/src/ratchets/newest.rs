//! The lines that were added since the limits were last written.

use std::collections::BTreeSet;
use std::process::Command;
use std::sync::OnceLock;

use super::Site;
use crate::repository::root;

/// As many lines are shown.
const SHOWN: usize = 10;

/// The added lines, found when they are first needed.
#[derive(Default)]
pub struct Added(OnceLock<BTreeSet<Site>>);

impl Added {
    /// Reads the output of `git diff --unified=0`.
    pub fn parse(diff: &str) -> Added {
        let mut added = BTreeSet::new();
        let mut path = "";
        for line in diff.lines() {
            if let Some(named) = line.strip_prefix("+++ b/") {
                path = named;
            } else if let Some(lines) = line.strip_prefix("@@ ").and_then(added_lines) {
                added.extend(lines.map(|line| (path.to_owned(), line)));
            }
        }
        Added(OnceLock::from(added))
    }

    /// The added ones of `sites`; where git knows none, the first of all.
    pub fn newest(&self, sites: &[Site]) -> Vec<String> {
        let added = self.0.get_or_init(|| Added::parse(&diff()).0.into_inner().unwrap_or_default());
        let shown = |sites: Vec<&Site>| -> Vec<String> {
            let first = sites.into_iter().take(SHOWN);
            first.map(|(path, line)| format!("{path}:{line}")).collect()
        };
        let newest: Vec<&Site> = sites.iter().filter(|site| added.contains(site)).collect();
        shown(if newest.is_empty() { sites.iter().collect() } else { newest })
    }
}

/// The new lines of a hunk, from its heading `-1,0 +7,2 @@`.
fn added_lines(heading: &str) -> Option<std::ops::Range<usize>> {
    let new = heading.split(' ').find_map(|word| word.strip_prefix('+'))?;
    let (start, count) = new.split_once(',').unwrap_or((new, "1"));
    let start = start.parse().ok()?;
    Some(start..start + count.parse::<usize>().ok()?)
}

fn diff() -> String {
    let last = git(&["log", "-1", "--format=%H", "--", "tidy/ratchets.toml"]);
    let base = if last.trim().is_empty() { "HEAD" } else { last.trim() };
    git(&["diff", "--unified=0", "--no-ext-diff", "--src-prefix=a/", "--dst-prefix=b/", base])
}

fn git(arguments: &[&str]) -> String {
    let output = Command::new("git").args(arguments).current_dir(root()).output();
    output.map_or(String::new(), |output| String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn added_lines_come_first() {
    let added = Added::parse("+++ b/a.rs\n@@ -1 +1 @@ fn x\n@@ -9,2 +8,0 @@\n@@ -9,0 +8,2 @@\n");
    let site = |line: usize| ("a.rs".to_owned(), line);
    assert_eq!(added.newest(&[site(1), site(7), site(9)]), ["a.rs:1", "a.rs:9"]);
    assert_eq!(added.newest(&[site(3)]), ["a.rs:3"]);
}
