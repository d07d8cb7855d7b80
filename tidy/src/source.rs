//! Just enough understanding of Rust text: lines without comments, words, crate names.

/// The production lines of a Rust file with their numbers from 1: comments removed, and all from
/// `#[cfg(test)]` on left out, since tests stand at the foot of a file.
pub fn production_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    code_lines(text).take_while(|(_, line)| line.trim() != "#[cfg(test)]")
}

/// All lines of a Rust file without their `//` comments, with their numbers from 1.
pub fn code_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().map(|(index, line)| (index + 1, without_comment(line)))
}

/// Cuts a `//` comment off; one inside a string literal stays.
fn without_comment(line: &str) -> &str {
    let bytes = line.as_bytes();
    let mut in_string = false;
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if in_string => at += 1,
            b'"' => in_string = !in_string,
            b'/' if !in_string && bytes.get(at + 1) == Some(&b'/') => return &line[..at],
            _ => {}
        }
        at += 1;
    }
    line
}

/// Whether `word` stands in `line` with no letter, digit or underscore beside it.
pub fn has_word(line: &str, word: &str) -> bool {
    positions(line, word).next().is_some()
}

fn positions<'a>(line: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    let part_of_word = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).map(|(at, _)| at).filter(move |&at| {
        !line[..at].ends_with(part_of_word) && !line[at + word.len()..].starts_with(part_of_word)
    })
}

/// Whether the line uses the path `path` (a crate `rootfile`, a module `crate::fetch`): followed
/// by `::`, or at the end of a `use`.
pub fn uses_path(line: &str, path: &str) -> bool {
    positions(line, path).any(|at| {
        let before = line[..at].trim_end();
        let after = line[at + path.len()..].trim_start();
        let imported =
            before.ends_with("use") && (after.starts_with([';']) || after.starts_with("as "));
        let top = !before.ends_with("::") && !before.ends_with('.');
        top && (after.starts_with("::") || imported)
    })
}

#[test]
fn paths_are_told_from_words() {
    assert!(uses_path("use rootfile::Tree;", "rootfile"));
    assert!(uses_path("use rootfile;", "rootfile"));
    assert!(uses_path("    let t = rootfile::open(x);", "rootfile"));
    assert!(uses_path("use crate::fetch::Driver;", "crate::fetch"));
    assert!(!uses_path("use my_rootfile::Tree;", "rootfile"));
    assert!(!uses_path("use crate::rootfile::Tree;", "rootfile"));
    assert!(!uses_path("let rootfile = 3;", "rootfile"));
}

#[test]
fn comments_and_tests_are_not_production() {
    let text = "a // b\nlet u = \"root://x\";\n#[cfg(test)]\nmod tests {}\n";
    let lines: Vec<_> = production_lines(text).collect();
    assert_eq!(lines, [(1, "a "), (2, "let u = \"root://x\";")]);
}
