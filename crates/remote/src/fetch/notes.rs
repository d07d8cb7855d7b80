//! Events that a user should know, bounded in number: equal ones are counted, and of many the first
//! and the last ones are kept.

use std::collections::VecDeque;

/// Notes that are kept from the start, and as many of the latest ones.
const KEPT: usize = 100;
/// Files of equal notes that are remembered.
const FILES_KEPT: usize = 1000;

/// The notes of an engine.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NoteList {
    first: Vec<NotedEvent>,
    last: VecDeque<NotedEvent>,
    left_out: u64,
}

#[derive(Debug, Clone, PartialEq)]
struct NotedEvent {
    text: String,
    count: u64,
    /// The files that it is about; `None` where it is about no file.
    files: VecDeque<Option<u32>>,
}

impl NoteList {
    /// Adds a note about a file, or about none.
    pub fn add(&mut self, file: Option<u32>, text: String) {
        // The latest ones are repeated most often.
        let mut known = self.last.iter_mut().rev().chain(self.first.iter_mut().rev());
        if let Some(note) = known.find(|note| note.text == text) {
            note.count += 1;
            if !note.files.contains(&file) {
                if note.files.len() == FILES_KEPT {
                    note.files.pop_front();
                }
                note.files.push_back(file);
            }
            return;
        }
        let note = NotedEvent { text, count: 1, files: [file].into() };
        if self.first.len() < KEPT {
            return self.first.push(note);
        }
        if self.last.len() == KEPT {
            self.last.pop_front();
            self.left_out += 1;
        }
        self.last.push_back(note);
    }

    /// The notes of one file, with those about no file, or all: each once, in a report of
    /// all files with how often it came.
    pub fn lines(&self, file: Option<u32>) -> Vec<String> {
        let is_shown = |note: &&NotedEvent| {
            file.is_none() || note.files.iter().any(|of| of.is_none() || *of == file)
        };
        let line = |note: &NotedEvent| match file.is_none() && note.count > 1 {
            true => format!("{} ({} times)", note.text, note.count),
            false => note.text.clone(),
        };
        let mut lines: Vec<String> = self.first.iter().filter(is_shown).map(line).collect();
        if file.is_none() && self.left_out > 0 {
            lines.push(format!("{} notes that came here are left out", self.left_out));
        }
        lines.extend(self.last.iter().filter(is_shown).map(line));
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression: a process kept its first 200 notes and dropped all further ones, so that a
    /// program of some hours did not see why a server had not been asked.
    #[test]
    fn equal_notes_are_counted_and_the_last_ones_are_kept() {
        let mut notes = NoteList::default();
        for file in 0..350 {
            notes.add(Some(file), "columns of friends are read here".into());
        }
        assert_eq!(notes.lines(None), ["columns of friends are read here (350 times)"]);
        assert_eq!(notes.lines(Some(7)), ["columns of friends are read here"]);
        assert!(notes.lines(Some(350)).is_empty());
        for number in 0..1000 {
            notes.add(None, number.to_string());
        }
        let lines = notes.lines(None);
        assert_eq!(lines.len(), 2 * KEPT + 1);
        assert_eq!(lines[1], "0");
        assert_eq!(lines[KEPT], "801 notes that came here are left out");
        assert_eq!(lines.last().map(String::as_str), Some("999"));
        for file in 0..10_000 {
            notes.add(Some(file), "999".into());
        }
        assert_eq!(notes.lines(None).last().map(String::as_str), Some("999 (10001 times)"));
        assert!(notes.last.iter().all(|note| note.files.len() <= FILES_KEPT));
    }
}
