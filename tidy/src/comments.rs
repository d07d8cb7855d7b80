//! Comments fit the width of the code, which rustfmt holds only for code.

use crate::repository::{files_ending, report, text};

/// As `max_width` of rustfmt.
const COLUMNS_MAX: usize = 100;

fn findings(path: &str, text: &str) -> Vec<String> {
    let wide = |(_, line): &(usize, &str)| {
        line.trim_start().starts_with("//") && line.chars().count() > COLUMNS_MAX
    };
    let lines = text.lines().enumerate().filter(wide);
    lines
        .map(|(index, line)| {
            let columns = line.chars().count();
            format!("{path}:{}: a comment of {columns} columns: wrap it at 100", index + 1)
        })
        .collect()
}

#[test]
fn no_comment_is_wider_than_the_code() {
    let read = |path: String| text(&path).map(|text| findings(&path, &text));
    report(files_ending(&[".rs"]).into_iter().filter_map(read).flatten().collect());
}

#[test]
fn the_rule_can_fail() {
    let wide = format!("    /// {}", "x".repeat(100));
    assert_eq!(findings("a.rs", &format!("fn f() {{}}\n{wide}\n")).len(), 1);
    assert!(findings("a.rs", &wide[10..]).is_empty());
    assert!(findings("a.rs", &format!("let url = \"{}\";", "//x".repeat(50))).is_empty());
}
