//! Links between documents lead somewhere.

use crate::repository::{files_ending, report, root, text};

/// Targets of `[text](target)` outside code, with their line numbers.
fn links(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut fenced = false;
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        if fenced || line.starts_with("    ") {
            continue;
        }
        // Every second piece between backticks is code.
        for prose in line.split('`').step_by(2) {
            for piece in prose.split("](").skip(1) {
                let target = piece.split([')', ' ']).next().unwrap_or("");
                found.push((index + 1, target.to_owned()));
            }
        }
    }
    found
}

/// Names that headings have as link targets.
fn anchors(text: &str) -> Vec<String> {
    let slug = |heading: &str| -> String {
        let kept = heading.trim_start_matches('#').trim().to_lowercase();
        let kept = kept.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    };
    text.lines().filter(|line| line.starts_with('#')).map(slug).collect()
}

fn finding(path: &str, number: usize, target: &str) -> Option<String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (file, anchor) = target.split_once('#').map_or((target, None), |(f, a)| (f, Some(a)));
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let linked = match file {
        "" => root().join(path),
        _ => root().join(folder).join(file),
    };
    if !linked.exists() {
        return Some(format!(
            "{path}:{number}: {target} is not there: mend the link or add the file"
        ));
    }
    let anchor = anchor.filter(|_| linked.extension().is_some_and(|end| end == "md"))?;
    let text = std::fs::read_to_string(&linked).unwrap_or_default();
    let there = anchors(&text).iter().any(|have| have == anchor);
    (!there).then(|| format!("{path}:{number}: {target}: that document has no such heading"))
}

#[test]
fn links_between_documents_resolve() {
    let mut findings = Vec::new();
    for path in files_ending(&[".md"]) {
        let text = text(&path).expect("documents are text");
        findings.extend(
            links(&text).into_iter().filter_map(|(at, target)| finding(&path, at, &target)),
        );
    }
    report(findings);
}

#[test]
fn the_rule_can_fail() {
    let text = "[a](CHANGELOG.md) `[b](no.md)`\n```\n[c](no.md)\n```\n[d](nowhere.md#x) [e](https://x.y)\n";
    let found = links(text);
    assert_eq!(
        found.iter().map(|(n, t)| (*n, t.as_str())).collect::<Vec<_>>(),
        [(1, "CHANGELOG.md"), (5, "nowhere.md#x"), (5, "https://x.y")]
    );
    let wrong: Vec<_> =
        found.iter().filter_map(|(at, target)| finding("x.md", *at, target)).collect();
    assert_eq!(wrong.len(), 1);
    assert!(finding("x.md", 1, "CHANGELOG.md#no-such-heading").is_some());
    assert!(finding("x.md", 1, "CHANGELOG.md#unreleased").is_none());
}
