//! The prose of a file: comments of Rust and Python, docstrings, and documents without their code.

/// Lines of prose, with their numbers from 1, without the marks of comments.
pub type Lines<'t> = Vec<(usize, &'t str)>;

pub fn lines<'t>(path: &str, text: &'t str) -> Lines<'t> {
    let numbered = text.lines().enumerate().map(|(index, line)| (index + 1, line));
    match path.rsplit('.').next() {
        Some("md") => document(numbered),
        Some("rs") => numbered.filter_map(|(at, line)| Some((at, rust_comment(line)?))).collect(),
        _ => python(numbered),
    }
}

fn rust_comment(line: &str) -> Option<&str> {
    let comment = line.trim_start().strip_prefix("//")?;
    Some(comment.trim_start_matches(['/', '!']))
}

/// Documents outside of their code, which is fenced or, behind an empty line, indented.
fn document<'t>(lines: impl Iterator<Item = (usize, &'t str)>) -> Lines<'t> {
    let mut fenced = false;
    let mut indented = false;
    let mut is_behind_empty = true;
    let prose = lines.filter(|(_, line)| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        let is_empty = line.trim().is_empty();
        if !is_empty {
            indented = line.starts_with("    ") && (indented || is_behind_empty);
        }
        is_behind_empty = is_empty;
        !fenced && !fence && !indented
    });
    prose.collect()
}

/// Lines of `#` alone, and strings of three quotes that begin a line.
fn python<'t>(lines: impl Iterator<Item = (usize, &'t str)>) -> Lines<'t> {
    let mut prose = Lines::new();
    let mut in_string = false;
    let mut is_docstring = false;
    for (at, line) in lines {
        let quotes = line.matches("\"\"\"").count();
        let statement = line.trim_start().trim_start_matches('r');
        if !in_string {
            is_docstring = statement.starts_with("\"\"\"");
        }
        if is_docstring && (in_string || quotes > 0) {
            prose.push((at, line));
        } else if let (false, Some(comment)) = (in_string, line.trim_start().strip_prefix('#')) {
            prose.push((at, comment));
        }
        in_string ^= quotes % 2 == 1;
    }
    prose
}

pub fn words(lines: &Lines<'_>) -> usize {
    lines.iter().map(|(_, line)| line.split_whitespace().count()).sum()
}

/// The line of each `what` outside of code.
pub fn whats(lines: &Lines<'_>) -> Vec<usize> {
    let mut found = Vec::new();
    for (at, line) in lines {
        let plain = line.split('`').step_by(2);
        let words = plain.flat_map(|part| part.split(|c: char| !c.is_alphanumeric() && c != '_'));
        found.extend(words.filter(|word| word.eq_ignore_ascii_case("what")).map(|_| *at));
    }
    found
}

#[test]
fn a_what_is_found_in_prose_only() {
    let found = |path: &str, text: &str| {
        let lines = lines(path, text);
        (whats(&lines), words(&lines))
    };
    let rust = "//! What is, what's `what`.\nlet what = \"what\";\n    // a whatever\n";
    assert_eq!(found("a.rs", rust), (vec![1, 1], 6));
    let python = "\"\"\"What.\n\nMore what.\n\"\"\"\nx = \"\"\"\nwhat\n\"\"\"\n# what\nwhat = 1\n";
    assert_eq!(found("a.py", python).0, [1, 3, 8]);
    assert_eq!(found("a.md", "What\n```\nwhat\n```\nand what").0, [1, 5]);
    assert_eq!(found("a.md", "What\n\n    what\n\n    what\nwhat\n    what").0, [1, 6, 7]);
}
