//! The changelog keeps its form, so that release notes can be cut out of it.

use crate::repository::{report, text};

const KINDS: [&str; 6] = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"];

fn findings(text: &str) -> Vec<String> {
    let mut findings = Vec::new();
    let mut versions = 0;
    if text.lines().next() != Some("# Changelog") {
        findings.push("CHANGELOG.md:1: begins with `# Changelog`".to_owned());
    }
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        if let Some(kind) = line.strip_prefix("### ") {
            if !KINDS.contains(&kind) {
                findings.push(format!("CHANGELOG.md:{number}: `{kind}` is none of {KINDS:?}"));
            }
        } else if let Some(version) = line.strip_prefix("## ") {
            versions += 1;
            let unreleased = versions == 1 && version == "Unreleased";
            if !unreleased && !is_release(version) {
                findings.push(format!(
                    "CHANGELOG.md:{number}: `{version}`: write `Unreleased` (first) or `1.2.3 (2026-12-31)`"
                ));
            }
        } else if versions > 0
            && !line.is_empty()
            && !line.starts_with("- ")
            && !line.starts_with("  ")
        {
            findings.push(format!("CHANGELOG.md:{number}: one change, one `- ` item"));
        }
    }
    findings
}

fn is_release(heading: &str) -> bool {
    let Some((version, date)) = heading.split_once(" (") else { return false };
    let numbers =
        |text: &str, sep: char| text.split(sep).filter(|n| n.parse::<u32>().is_ok()).count();
    let date = date.strip_suffix(')').unwrap_or("");
    numbers(version, '.') == 3 && date.len() == 10 && numbers(date, '-') == 3
}

#[test]
fn the_changelog_keeps_its_form() {
    report(findings(&text("CHANGELOG.md").expect("the changelog is text")));
}

#[test]
fn the_rule_can_fail() {
    let good = "# Changelog\n\nWords.\n\n## Unreleased\n\n### Added\n\n- A thing\n  and more.\n\n## 0.1.0 (2026-11-20)\n";
    assert_eq!(findings(good), Vec::<String>::new());
    for bad in [
        "Changelog\n",
        "# Changelog\n## soon\n",
        "# Changelog\n## 1.0\n",
        "# Changelog\n## Unreleased\n### News\n",
        "# Changelog\n## Unreleased\nprose\n",
        "# Changelog\n## 0.1.0 (2026-11-20)\n## Unreleased\n",
    ] {
        assert_eq!(findings(bad).len(), 1, "{bad}");
    }
}
