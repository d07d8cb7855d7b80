//! Text of files and servers, as a terminal may be given it.
//!
//! Names, titles and messages come from others. A control character among them may clear the
//! screen, change the window's title or make a line look like another, and so may marks of the
//! direction of writing.

use std::borrow::Cow;
use std::fmt::Write;

/// With an escape sequence for each control character, line ends among them.
pub fn shown(text: &str) -> Cow<'_, str> {
    escaped(text, is_control)
}

/// The same of text of several lines.
pub fn shown_lines(text: &str) -> Cow<'_, str> {
    escaped(text, |letter| letter != '\n' && is_control(letter))
}

fn escaped(text: &str, is_escaped: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&is_escaped) {
        return text.into();
    }
    let mut out = String::with_capacity(text.len() + 8);
    for letter in text.chars() {
        // Writing to a string cannot fail.
        let _ = match letter {
            letter if !is_escaped(letter) => write!(out, "{letter}"),
            '\n' | '\r' | '\t' => write!(out, "{}", letter.escape_default()),
            '\0'..='\u{ff}' => write!(out, "\\x{:02x}", u32::from(letter)),
            _ => write!(out, "\\u{:04x}", u32::from(letter)),
        };
    }
    out.into()
}

/// Control characters (C0, C1), ends of lines and paragraphs, and marks of direction.
fn is_control(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{61c}' | '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_reaches_a_terminal_but_what_can_be_seen() {
        let text = "a\x1b]0;x\x07\r\n\tb\u{9b}2J\u{202e}c\0\u{2066}µ\\";
        let expected = r"a\x1b]0;x\x07\r\n\tb\x9b2J\u202ec\x00\u2066µ\";
        assert_eq!(shown(text), expected);
        assert_eq!(shown_lines("a\nb\x1b"), "a\nb\\x1b");
        assert!(matches!(shown("Muon_pt µ"), Cow::Borrowed(_)));
    }
}
