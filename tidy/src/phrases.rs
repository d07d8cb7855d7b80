//! Words that have no place in published files.

use crate::repository::{files, report, text, tracked};
use crate::source::has_word;

/// Each is split so that this file does not contain it.
const BANNED: [(&str, &str, &str); 9] = [
    ("/wo", "rk/", "a path of one machine: make it relative, or an argument"),
    ("/ho", "me/", "a path of one machine: make it relative, or an argument"),
    ("/Use", "rs/", "a path of one machine: make it relative, or an argument"),
    ("for", " now", "say what holds, or do it"),
    ("not implemented", " yet", "do it, or return an error that says what is unsupported"),
    ("FIX", "ME", "fix it, or open an issue"),
    ("TO", "DO", "do it, or open an issue"),
    ("XX", "X", "fix it, or open an issue"),
    ("unimplemen", "ted!", "return an error that says what is unsupported"),
];

fn line_findings(path: &str, number: usize, line: &str) -> Vec<String> {
    let found = |(first, rest, advice): &(&str, &str, &str)| {
        let phrase = format!("{first}{rest}");
        let here = match phrase.chars().all(|c| c.is_ascii_uppercase()) {
            true => has_word(line, &phrase),
            false => line.to_ascii_lowercase().contains(&phrase.to_ascii_lowercase()),
        };
        here.then(|| format!("{path}:{number}: \"{phrase}\": {advice}"))
    };
    BANNED.iter().filter_map(found).collect()
}

#[test]
fn no_banned_phrase_is_published() {
    let mut findings = Vec::new();
    for path in files() {
        let Some(text) = text(&path) else { continue };
        for (index, line) in text.lines().enumerate() {
            findings.extend(line_findings(&path, index + 1, line));
        }
    }
    report(findings);
}

#[test]
fn no_lock_file_with_registry_addresses_is_tracked() {
    let tracked = tracked().into_iter().filter(|path| path.ends_with("uv.lock"));
    report(
        tracked
            .map(|path| format!("{path} holds registry addresses: git rm --cached {path}"))
            .collect(),
    );
}

#[test]
fn the_rule_can_fail() {
    for (first, rest, _) in BANNED {
        assert_eq!(line_findings("x", 1, &format!("// {first}{rest} ")).len(), 1, "{first}{rest}");
    }
    assert!(line_findings("x", 1, "let wanted = forNowhere; // MAXXXIMUM").is_empty());
}
