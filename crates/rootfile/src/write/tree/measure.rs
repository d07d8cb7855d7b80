//! Sizes of entries in baskets, before they are written: ends of clusters and baskets follow from
//! them.

use std::ops::Range;

use super::content::content_len;
use super::plan::PlannedBranch;
use super::view::View;
use crate::write::rows::ColumnRun;

/// The entries of one branch in a run.
#[derive(Debug)]
pub(super) struct Measure<'a> {
    branch: &'a PlannedBranch,
    /// Where each piece begins in the run, and its entries.
    pieces: Vec<(usize, View<'a>, Range<usize>)>,
}

impl<'a> Measure<'a> {
    pub fn new(branch: &'a PlannedBranch, run: &'a ColumnRun) -> Self {
        let mut start = 0;
        let mut pieces = Vec::with_capacity(run.pieces.len());
        for piece in &run.pieces {
            // Arrays of another type have been refused.
            if let Some(view) = View::of(&piece.array, &branch.path) {
                pieces.push((start, view, piece.entries.clone()));
            }
            start += piece.entries.len();
        }
        Measure { branch, pieces }
    }

    /// Bytes of some entries, which count from the run's beginning.
    pub fn bytes(&self, entries: Range<usize>) -> u64 {
        let mut bytes = 0;
        for (start, view, there) in &self.pieces {
            let within = |entry: usize| there.start + entry.saturating_sub(*start).min(there.len());
            let chosen = within(entries.start)..within(entries.end);
            if !chosen.is_empty() {
                bytes += content_len(self.branch, view, chosen);
            }
        }
        bytes
    }

    /// The end of the entries from `start` on that have no more than so many bytes, before `end`.
    pub fn fitting(&self, start: usize, end: usize, bytes: u64) -> usize {
        last(start, end, |entry| self.bytes(start..entry) <= bytes)
    }
}

/// The greatest number from `start` to `end` for which `holds`, which is so up to some number;
/// `start` where it never is.
pub(super) fn last(start: usize, end: usize, holds: impl Fn(usize) -> bool) -> usize {
    let mut sure = start;
    let mut open = end + 1;
    while sure + 1 < open {
        let middle = sure + (open - sure) / 2;
        if holds(middle) { sure = middle } else { open = middle }
    }
    sure
}

/// Where the baskets of a branch end, in a cluster of so many entries: of about equal size, and of
/// no more than `bytes_max`, but for entries that have more alone.
pub(super) fn basket_ends(measure: &Measure<'_>, entries: usize, bytes_max: u64) -> Vec<usize> {
    let total = measure.bytes(0..entries);
    // Baskets end between entries: without room for that there would be a small one left.
    let baskets = total.div_ceil((bytes_max - bytes_max / 16).max(1)).max(1);
    let mut ends = Vec::new();
    let mut start = 0;
    let mut done = 0;
    while start < entries {
        let share = u128::from(total) * (ends.len() as u128 + 1) / u128::from(baskets);
        let bytes = (share as u64).saturating_sub(done).clamp(1, bytes_max);
        let end = measure.fitting(start, entries, bytes).max(start + 1);
        done += measure.bytes(start..end);
        start = end;
        ends.push(end);
    }
    ends
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::array::{Array, Number, Numbers};
    use crate::write::rows::Piece;
    use crate::write::tree::plan::PlannedKind;

    fn branch(kind: PlannedKind) -> PlannedBranch {
        PlannedBranch { name: "x".into(), title: String::new(), column: 0, path: vec![], kind }
    }

    /// Lists of as many bytes as each of the numbers says, in pieces of three.
    fn run(lengths: &[i64]) -> ColumnRun {
        let piece = |lengths: &[i64]| {
            let ends = lengths.iter().scan(0, |end, len| {
                *end += len;
                Some(*end)
            });
            let offsets: Vec<i64> = std::iter::once(0).chain(ends).collect();
            let numbers = Numbers::I8(vec![1; offsets[lengths.len()] as usize]);
            let content = Box::new(Array::Numbers { numbers, shape: vec![] });
            let array = Arc::new(Array::List { offsets: offsets.into(), content });
            Piece { array, entries: 0..lengths.len() }
        };
        ColumnRun { pieces: lengths.chunks(3).map(piece).collect() }
    }

    #[test]
    fn baskets_of_about_equal_size() {
        let kind = PlannedKind::Counted { number: Number::I8, shape: vec![], counter: 0 };
        let branch = branch(kind);
        let run = run(&[6; 100]);
        let measure = Measure::new(&branch, &run);
        assert_eq!(measure.bytes(0..100), 1000);
        assert_eq!(measure.bytes(2..5), 30);
        assert_eq!(basket_ends(&measure, 100, 1000), [50, 100]);
        assert_eq!(basket_ends(&measure, 100, 1100), [100]);
        assert_eq!(basket_ends(&measure, 100, 300), [25, 50, 75, 100]);
        assert_eq!(basket_ends(&measure, 100, 3).len(), 100);
    }

    #[test]
    fn an_entry_of_many_bytes_is_a_basket_of_its_own() {
        let kind = PlannedKind::Counted { number: Number::I8, shape: vec![], counter: 0 };
        let branch = branch(kind);
        let run = run(&[6, 6, 600, 6, 6, 6, 6]);
        let measure = Measure::new(&branch, &run);
        let ends = basket_ends(&measure, 7, 100);
        assert!(ends.contains(&2) && ends.contains(&3), "{ends:?}");
        assert_eq!(ends.last(), Some(&7));
        assert!(ends.len() <= 7);
    }
}
