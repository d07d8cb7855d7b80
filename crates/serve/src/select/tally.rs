//! Counts of selected entries.

use std::sync::atomic::{AtomicU64, Ordering};

use engine::SelectTotals;

/// Requests that select entries, since the server was started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SelectFigures {
    /// Requests that were answered, in whole or in part.
    pub answered: u64,
    /// Those that were refused, or failed before the first byte.
    pub refused: u64,
    /// Entries that were looked at.
    pub entries: u64,
    /// Those of them that were left.
    pub selected: u64,
    /// Bytes of answers.
    pub bytes: u64,
    /// Milliseconds from requests to the ends of their answers, added up.
    pub milliseconds: u64,
}

/// The counts while they grow.
#[derive(Debug, Default)]
pub struct SelectTally {
    answered: AtomicU64,
    refused: AtomicU64,
    entries: AtomicU64,
    selected: AtomicU64,
    bytes: AtomicU64,
    milliseconds: AtomicU64,
}

impl SelectTally {
    /// A request has been refused.
    pub fn refused(&self) {
        self.refused.fetch_add(1, Ordering::Relaxed);
    }

    /// An answer has come to its end, at this cost.
    pub fn answered(&self, totals: SelectTotals) {
        let SelectTotals { entries, selected, bytes, seconds, .. } = totals;
        self.answered.fetch_add(1, Ordering::Relaxed);
        self.entries.fetch_add(entries, Ordering::Relaxed);
        self.selected.fetch_add(selected, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.milliseconds.fetch_add((seconds * 1e3) as u64, Ordering::Relaxed);
    }

    /// The counts now.
    pub fn figures(&self) -> SelectFigures {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        SelectFigures {
            answered: of(&self.answered),
            refused: of(&self.refused),
            entries: of(&self.entries),
            selected: of(&self.selected),
            bytes: of(&self.bytes),
            milliseconds: of(&self.milliseconds),
        }
    }
}
