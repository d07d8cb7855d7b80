//! The columns that readers read of tables with the same columns, for the next reader of such a
//! table. Kept in memory, and as notes in the store for later processes.

use std::collections::VecDeque;
use std::hash::Hasher;
use std::path::Path;
use std::sync::Arc;

use mutex::Mutex;
use remote::store::Notes;
use serde::{Deserialize, Serialize};
use twox_hash::XxHash64;

use super::stats::Prior;

/// Maximum of histories in memory, some kilobytes each.
const KEPT_MAX: usize = 64;

/// Kinds of readers: the reads of one kind do not predict those of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReaderKind<'a> {
    /// A caller that goes through the entries and reads columns when it looks at them.
    EventLoop,
    /// A client that reads ranges of bytes.
    ByteRanges,
    /// The program of this name.
    Program(&'a str),
}

/// The columns that a reader read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccessHistory {
    /// In nearly every step. Sorted.
    pub steady: Vec<String>,
    /// Now and then. Sorted.
    pub rare: Vec<String>,
    /// Bytes of the last fill of a client that reads ranges of bytes.
    pub fill_bytes: u64,
}

/// Hash of the names of a table's columns: tables with the same columns in the same order have the
/// same shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableShape(u64);

/// The histories that one session keeps. A clone shares those in memory.
#[derive(Debug, Clone, Default)]
pub struct AccessHistories {
    /// By the number of their note, in the order in which they were saved.
    in_memory: Arc<Mutex<VecDeque<(u64, AccessHistory)>>>,
    notes: Notes,
}

impl AccessHistory {
    /// The history of a reader that read these columns in every step.
    pub fn steady(columns: impl IntoIterator<Item = String>) -> Self {
        let accesses = columns.into_iter().map(|name| (name, Prior::Steady));
        AccessHistory::of_accesses(accesses)
    }

    pub fn of_accesses(accesses: impl IntoIterator<Item = (String, Prior)>) -> Self {
        let mut history = AccessHistory::default();
        for (name, prior) in accesses {
            match prior {
                Prior::Steady => history.steady.push(name),
                Prior::Rare => history.rare.push(name),
            }
        }
        for names in [&mut history.steady, &mut history.rare] {
            names.sort_unstable();
            names.dedup();
        }
        history
    }

    /// Each of its columns, and how the reader used it.
    pub fn accesses(&self) -> impl Iterator<Item = (&str, Prior)> {
        let steady = self.steady.iter().map(|name| (&**name, Prior::Steady));
        steady.chain(self.rare.iter().map(|name| (&**name, Prior::Rare)))
    }
}

impl TableShape {
    pub fn of<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let mut hasher = XxHash64::with_seed(0);
        for name in names {
            write_text(&mut hasher, name);
        }
        TableShape(hasher.finish())
    }
}

impl AccessHistories {
    /// The same histories in memory, with notes below `store`.
    pub fn noted_in(&self, store: Option<&Path>) -> Self {
        AccessHistories { in_memory: self.in_memory.clone(), notes: Notes::new(store, "profiles") }
    }

    /// The last history of such readers: in this session, else in another process.
    pub fn load(&self, reader: ReaderKind<'_>, shape: TableShape) -> Option<AccessHistory> {
        let number = number(reader, shape);
        let here = self.in_memory.lock().iter().find(|(of, _)| *of == number).cloned();
        here.map(|(_, history)| history).or_else(|| self.notes.load(number))
    }

    /// Keeps a history; in memory only where a note cannot be written.
    pub fn save(&self, reader: ReaderKind<'_>, shape: TableShape, history: AccessHistory) {
        let number = number(reader, shape);
        if self.load(reader, shape).as_ref() != Some(&history) {
            self.notes.save(number, &history);
        }
        let mut in_memory = self.in_memory.lock();
        in_memory.retain(|(of, _)| *of != number);
        in_memory.push_back((number, history));
        if in_memory.len() > KEPT_MAX {
            in_memory.pop_front();
        }
    }
}

fn write_text(hasher: &mut XxHash64, text: &str) {
    hasher.write(text.as_bytes());
    hasher.write_u8(0);
}

/// The number of a note.
fn number(reader: ReaderKind<'_>, shape: TableShape) -> u64 {
    let mut hasher = XxHash64::with_seed(1);
    hasher.write_u64(shape.0);
    match reader {
        ReaderKind::EventLoop => hasher.write_u8(0),
        ReaderKind::ByteRanges => hasher.write_u8(1),
        ReaderKind::Program(name) => {
            hasher.write_u8(2);
            write_text(&mut hasher, name);
        }
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(bytes: u64) -> AccessHistory {
        AccessHistory { fill_bytes: bytes, ..AccessHistory::default() }
    }

    /// Regression: a process without a store kept no histories.
    #[test]
    fn histories_are_kept_without_a_store() {
        let histories = AccessHistories::default();
        let shape = |number: usize| TableShape::of([&*format!("t{number}")]);
        for number in 0..=KEPT_MAX {
            histories.clone().save(ReaderKind::ByteRanges, shape(number), of(number as u64));
        }
        let load = |number| histories.load(ReaderKind::ByteRanges, shape(number));
        assert_eq!((load(0), load(1)), (None, Some(of(1))));
        assert_eq!(load(KEPT_MAX), Some(of(KEPT_MAX as u64)));
        histories.save(ReaderKind::ByteRanges, shape(1), of(7));
        assert_eq!(load(1), Some(of(7)));
    }

    /// Another process has the notes only.
    #[test]
    fn a_store_keeps_them_for_other_sessions() {
        let folder = tempfile::tempdir().unwrap();
        let session = || AccessHistories::default().noted_in(Some(folder.path()));
        let shape = TableShape::of(["pt", "eta"]);
        let accesses = [("pt", Prior::Steady), ("met", Prior::Rare), ("eta", Prior::Steady)];
        let named = accesses.map(|(name, prior)| (name.to_owned(), prior));
        session().save(ReaderKind::EventLoop, shape, AccessHistory::of_accesses(named));
        let history = session().load(ReaderKind::EventLoop, shape).unwrap();
        assert_eq!(
            (history.steady, history.rare),
            (vec!["eta".into(), "pt".into()], vec!["met".into()])
        );
    }

    #[test]
    fn readers_and_tables_are_told_apart() {
        let muons = ReaderKind::Program("analysis.Muons");
        let shape = TableShape::of(["run", "pt"]);
        let same = number(muons, shape);
        assert_eq!(same, number(muons, TableShape::of(["run", "pt"])));
        assert_ne!(same, number(ReaderKind::Program("analysis.Jets"), shape));
        assert_ne!(same, number(ReaderKind::EventLoop, shape));
        assert_ne!(same, number(muons, TableShape::of(["run", "pt", "eta"])));
        assert_ne!(same, number(muons, TableShape::of(["runpt"])));
        assert_ne!(same, number(muons, TableShape::of(["pt", "run"])));
    }
}
