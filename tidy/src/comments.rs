//! Comments fit the width of the code, which rustfmt holds only for code; and the documentation of
//! a module names its subject.

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

/// Words that open a clause in place of a subject: `What a read gives` for `Columns of a read`.
const QUESTIONS: [&str; 8] = ["How", "What", "Whatever", "When", "Where", "Which", "Who", "Why"];

/// The first line of a module's documentation, in Rust and in Python.
fn first_line<'t>(path: &str, text: &'t str) -> Option<&'t str> {
    let mark = if path.ends_with(".py") { "\"\"\"" } else { "//! " };
    text.lines().take(3).find_map(|line| line.strip_prefix(mark))
}

fn without_subject(path: &str, text: &str) -> Option<String> {
    let word = first_line(path, text)?.split([' ', '\'']).next()?;
    QUESTIONS.contains(&word).then(|| {
        format!("{path}: its documentation begins with \"{word}\": begin with the noun it is about")
    })
}

#[test]
fn the_documentation_of_a_module_names_its_subject() {
    let find = |path: String| without_subject(&path, &text(&path)?);
    report(files_ending(&[".rs", ".py"]).into_iter().filter_map(find).collect());
}

#[test]
fn the_rule_of_subjects_can_fail() {
    assert!(without_subject("a.rs", "//! What a read gives.").is_some());
    assert!(without_subject("a.py", "#!/x\n\"\"\"How files end.\"\"\"").is_some());
    assert!(without_subject("a.rs", "//! Columns of a read.\n//! What else.").is_none());
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
