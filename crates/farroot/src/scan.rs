//! Reading in steps, of one table or of many.

use std::ops::{Bound, Range, RangeBounds};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use engine::{
    ColumnSpec, Cut, Engine, OnError, ScanBatch, ScanBatches, ScanRequest, Skipped, Step,
    TableLocation,
};
use futures::stream::{self, BoxStream, Stream, StreamExt};
use remote::Result;

use crate::threads::on_threads_of;

/// Decoded bytes of a batch where the caller names no step.
const STEP_BYTES: u64 = 100_000_000;

/// The columns, entries and steps that a scan reads of every table: by default all columns of all
/// entries, in steps that decode to about 100 MB.
#[derive(Debug, Clone)]
pub struct ScanOptions {
    columns: ColumnSpec,
    entries: Range<u64>,
    step: Step,
    cut: Option<Cut>,
    on_error: OnError,
}

impl Default for ScanOptions {
    fn default() -> Self {
        ScanOptions {
            columns: ColumnSpec::All,
            entries: 0..u64::MAX,
            step: Step::Bytes(STEP_BYTES),
            cut: None,
            on_error: OnError::Raise,
        }
    }
}

impl ScanOptions {
    /// All columns of all entries.
    pub fn new() -> Self {
        ScanOptions::default()
    }

    /// These columns only, named as in [`Table::read`](crate::Table::read).
    #[must_use]
    pub fn columns<C: AsRef<str>>(self, columns: impl IntoIterator<Item = C>) -> Self {
        ScanOptions { columns: named(columns), ..self }
    }

    /// These entries of each table (cut to those there are).
    #[must_use]
    pub fn entries(self, entries: impl RangeBounds<u64>) -> Self {
        ScanOptions { entries: half_open(&entries), ..self }
    }

    /// How many entries a batch has.
    #[must_use]
    pub fn step(self, step: Step) -> Self {
        ScanOptions { step, ..self }
    }

    /// Only entries that survive a cut: the other columns are fetched only where some do.
    #[must_use]
    pub fn cut(self, cut: Cut) -> Self {
        ScanOptions { cut: Some(cut), ..self }
    }

    /// Reads on where a file or a range of entries cannot be read, and reports it as skipped.
    /// Without it the scan ends with the error.
    #[must_use]
    pub fn on_skipped(self, say: impl Fn(Skipped) + Send + Sync + 'static) -> Self {
        ScanOptions { on_error: OnError::Report(Arc::new(say)), ..self }
    }

    fn into_request(self) -> ScanRequest {
        let ScanOptions { columns: wanted, entries, step, cut, on_error } = self;
        ScanRequest { wanted, entries, step, cut, on_error }
    }
}

/// Batches of one table or of many, in their order, as a [`Stream`]; nothing comes after an error.
/// Nothing is read before the first call for a batch. Dropping it ends the read.
pub struct Scan {
    batches: BoxStream<'static, Result<ScanBatch>>,
}

impl Scan {
    pub(crate) fn new(engine: &Engine, places: Vec<TableLocation>, options: ScanOptions) -> Self {
        let batches = engine.scan(places, options.into_request());
        let next = async |(engine, mut batches): (Engine, ScanBatches)| {
            let batch = on_threads_of(&engine, batches.next()).await?;
            Some((batch, (engine, batches)))
        };
        Scan { batches: stream::unfold((engine.clone(), batches), next).boxed() }
    }

    /// The next batch; `None` after the last one.
    pub async fn next(&mut self) -> Option<Result<ScanBatch>> {
        self.batches.next().await
    }
}

impl Stream for Scan {
    type Item = Result<ScanBatch>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.get_mut().batches.poll_next_unpin(cx)
    }
}

pub(crate) fn named<C: AsRef<str>>(columns: impl IntoIterator<Item = C>) -> ColumnSpec {
    ColumnSpec::Named(columns.into_iter().map(|name| name.as_ref().to_owned()).collect())
}

/// The same numbers as a half-open range.
pub(crate) fn half_open(entries: &impl RangeBounds<u64>) -> Range<u64> {
    let start = match entries.start_bound() {
        Bound::Unbounded => 0,
        Bound::Included(start) => *start,
        Bound::Excluded(before) => before.saturating_add(1),
    };
    let end = match entries.end_bound() {
        Bound::Unbounded => u64::MAX,
        Bound::Included(last) => last.saturating_add(1),
        Bound::Excluded(end) => *end,
    };
    start..end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_range_is_half_open() {
        assert_eq!(half_open(&..), 0..u64::MAX);
        assert_eq!(half_open(&(3..)), 3..u64::MAX);
        assert_eq!(half_open(&(3..=5)), 3..6);
        assert_eq!(half_open(&..5), 0..5);
        assert_eq!(half_open(&(..=u64::MAX)), 0..u64::MAX);
        assert_eq!(half_open(&(Bound::Excluded(2), Bound::Excluded(5))), 3..5);
    }
}
