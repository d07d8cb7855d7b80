//! Sentences of documents that are too long to be read once.

use super::prose::Lines;

/// As guides to plain language have it: half of the readers lose the thread beyond.
const WORDS_MAX: usize = 30;

/// A sentence as far as it was read.
#[derive(Default)]
struct Sentence {
    /// The line of its first word.
    line: usize,
    words: usize,
    /// Within backticks, where several words are one.
    in_code: bool,
}

/// The first lines of sentences of more than 30 words. A heading, an item of a list and a cell of a
/// table end a sentence, as a full stop does.
pub fn long(lines: &Lines<'_>) -> Vec<usize> {
    let mut found = Vec::new();
    let mut sentence = Sentence::default();
    for (at, line) in lines {
        if begins_block(line) {
            found.extend(std::mem::take(&mut sentence).end());
        }
        for part in line.split('|') {
            if line.starts_with('|') {
                found.extend(std::mem::take(&mut sentence).end());
            }
            for word in part.split_whitespace() {
                sentence.add(word, *at);
                if !sentence.in_code && ends_sentence(word) {
                    found.extend(std::mem::take(&mut sentence).end());
                }
            }
        }
    }
    found.extend(sentence.end());
    found
}

impl Sentence {
    fn add(&mut self, word: &str, at: usize) {
        if self.words == 0 {
            self.line = at;
        }
        let is_word = word.contains(char::is_alphanumeric) || word.contains('`');
        self.words += usize::from(is_word && !self.in_code);
        self.in_code ^= word.matches('`').count() % 2 == 1;
    }

    /// Its first line, if it is too long.
    fn end(self) -> Option<usize> {
        (self.words > WORDS_MAX).then_some(self.line)
    }
}

/// Whether a line does not continue the paragraph above.
fn begins_block(line: &str) -> bool {
    let line = line.trim_start();
    let number = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let numbered = number.len() < line.len() && number.starts_with(". ");
    line.is_empty()
        || numbered
        || ["- ", "* ", "#", "|", "<!--"].iter().any(|mark| line.starts_with(mark))
}

fn ends_sentence(word: &str) -> bool {
    let word = word.trim_end_matches([')', '*', '"', '_', ']']);
    word.ends_with(['.', '?', '!']) && !matches!(word, "e.g." | "i.e." | "cf." | "vs.")
}

#[test]
fn a_sentence_of_more_than_30_words_is_found() {
    let found = |text: &str| long(&super::prose::lines("a.md", text));
    let half = "word ".repeat(15);
    let whole = "word ".repeat(30);
    assert_eq!(found(&format!("A b.\n{half}\n{half}more.")), [2]);
    for short in [
        format!("{half}\n{half}."),
        format!("{half}end. {half}."),
        format!("- {half}\n- {half} end"),
        format!("| {half} | {half} end |"),
        format!("`{whole}` {half}"),
        format!("```\n{whole} more\n```"),
    ] {
        assert_eq!(found(&short), Vec::<usize>::new(), "{short}");
    }
}
