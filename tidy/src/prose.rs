//! Documents can be read in a terminal: lines within 100 columns, cells of tables within 200.

use crate::repository::{files_ending, report, text};

const WIDTH: usize = 100;
const CELL: usize = 200;

/// Lines of prose, and cells, that are too long. Code, links alone and comments keep their width.
fn findings(path: &str, text: &str) -> Vec<String> {
    let mut findings = Vec::new();
    let mut fenced = false;
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        if fenced || line.starts_with("    ") || line.starts_with("<!--") {
            continue;
        }
        if line.starts_with('|') {
            if line.split('|').any(|cell| cell.trim().chars().count() > CELL) {
                findings.push(format!("{path}:{number}: a cell of more than {CELL}: split it"));
            }
        } else if line.chars().count() > WIDTH && line.trim().contains(' ') {
            findings.push(format!("{path}:{number}: more than {WIDTH} columns: wrap it"));
        }
    }
    findings
}

#[test]
fn documents_fit_a_terminal() {
    let mut all = Vec::new();
    for path in files_ending(&[".md"]) {
        all.extend(findings(&path, &text(&path).expect("documents are text")));
    }
    report(all);
}

#[test]
fn the_rule_can_fail() {
    let words = "word ".repeat(21);
    let cell = "x".repeat(CELL + 1);
    for bad in [words.clone(), format!("| a | {cell} |"), format!("- {words}")] {
        assert_eq!(findings("x.md", &bad).len(), 1, "{bad}");
    }
    let good = [format!("```\n{words}\n```"), format!("    {words}"), "| a | b |".repeat(20)];
    for good in good {
        assert_eq!(findings("x.md", &good), Vec::<String>::new(), "{good}");
    }
}
