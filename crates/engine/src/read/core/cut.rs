//! Select, then read: a predicate over some columns decides which entries of the others are read.
//!
//! Any predicate will do: a closure, or an expression that some language evaluates.

use std::ops::Range;
use std::sync::Arc;

use tokio::sync::mpsc;

use super::columns::Batch;
use super::request::ColumnRequest;
use super::spelled::SpelledFormula;
use remote::{Error, ErrorKind, Result};

/// Decides about entries by the values of some columns.
pub trait Predicate: Send + Sync {
    /// For each entry of the batch whether it stays. Called on any thread, for any part of the
    /// entries, in any order.
    ///
    /// # Errors
    /// Whatever hinders it; the read ends with it.
    fn decide(&self, columns: Batch) -> Result<Vec<bool>>;

    /// The formula that decides, for another process; `None` where it is no formula.
    fn spelled(&self) -> Option<SpelledFormula> {
        None
    }
}

impl<F> Predicate for F
where
    F: Fn(Batch) -> Result<Vec<bool>> + Send + Sync,
{
    fn decide(&self, columns: Batch) -> Result<Vec<bool>> {
        self(columns)
    }
}

/// Which entries are read.
#[derive(Clone)]
pub struct Cut {
    /// The columns that decide, in the order in which the predicate gets them.
    pub columns: Vec<ColumnRequest>,
    pub predicate: Arc<dyn Predicate>,
}

impl Cut {
    /// A predicate over the columns of these names.
    pub fn new<N: Into<String>>(
        columns: impl IntoIterator<Item = N>,
        predicate: impl Predicate + 'static,
    ) -> Self {
        let columns = columns.into_iter().map(ColumnRequest::named).collect();
        Cut { columns, predicate: Arc::new(predicate) }
    }
}

impl std::fmt::Debug for Cut {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cut").field("columns", &self.columns).finish_non_exhaustive()
    }
}

/// Runs of entries that a cut has left, window after window, in entries of the table that listens.
pub type SurvivorFeed = mpsc::UnboundedReceiver<Vec<Range<u64>>>;

/// The runs of entries that a mask over `entries` leaves.
pub(crate) fn survivors(entries: &Range<u64>, mask: &[bool]) -> Result<Vec<Range<u64>>> {
    if mask.len() as u64 != entries.end - entries.start {
        return Err(Error::new(
            ErrorKind::InvalidArgument,
            format!(
                "the cut gave {} values for {} entries",
                mask.len(),
                entries.end - entries.start
            ),
        ));
    }
    let mut runs: Vec<Range<u64>> = Vec::new();
    for (entry, _) in entries.clone().zip(mask).filter(|(_, stays)| **stays) {
        add(&mut runs, entry..entry + 1);
    }
    Ok(runs)
}

/// Adds a run behind all others.
pub(crate) fn add(runs: &mut Vec<Range<u64>>, run: Range<u64>) {
    match runs.last_mut() {
        Some(last) if last.end == run.start => last.end = run.end,
        _ => runs.push(run),
    }
}

/// The parts of ascending `runs` that lie within `entries`.
pub(crate) fn within<'a>(
    runs: &'a [Range<u64>],
    entries: &'a Range<u64>,
) -> impl Iterator<Item = Range<u64>> + 'a {
    let first = runs.partition_point(|run| run.end <= entries.start);
    let touching = runs[first..].iter().take_while(|run| run.start < entries.end);
    touching.map(|run| run.start.max(entries.start)..run.end.min(entries.end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mask_becomes_runs() {
        let mask = [true, true, false, false, true, false, true].to_vec();
        let runs = survivors(&(10..17), &mask).unwrap();
        assert_eq!(runs, [10..12, 14..15, 16..17]);
        let part = |entries: Range<u64>| within(&runs, &entries).collect::<Vec<_>>();
        assert_eq!(part(11..15), [11..12, 14..15]);
        assert_eq!(part(12..14), []);
        assert_eq!(part(0..100), runs);
        assert!(survivors(&(10..16), &mask).is_err());
    }
}
