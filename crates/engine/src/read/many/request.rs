//! The tables that a scan reads, and their columns, entries and steps.

use std::ops::{Bound, Range, RangeBounds};
use std::sync::Arc;

use remote::address::split_object;

use super::scan::{ScanRequest, TableLocation};
use crate::read::core::cut::Cut;
use crate::read::core::skip::{OnError, Skipped};
use crate::read::core::spec::ColumnSpec;
use crate::read::core::steps::Step;
use crate::read::core::table::Table;

/// Decoded bytes of a batch where the caller names no step.
const STEP_BYTES: u64 = 100_000_000;

impl Default for ScanRequest {
    fn default() -> Self {
        ScanRequest {
            wanted: ColumnSpec::All,
            entries: 0..u64::MAX,
            step: Step::Bytes(STEP_BYTES),
            cut: None,
            on_error: OnError::Raise,
        }
    }
}

impl ScanRequest {
    /// All columns of all entries, in steps that decode to about 100 MB.
    pub fn new() -> Self {
        ScanRequest::default()
    }

    /// These columns only, named as in [`Engine::read`](crate::Engine::read).
    #[must_use]
    pub fn columns<C: AsRef<str>>(self, columns: impl IntoIterator<Item = C>) -> Self {
        ScanRequest { wanted: ColumnSpec::named(columns), ..self }
    }

    /// These entries of each table (cut to those there are).
    #[must_use]
    pub fn entries(self, entries: impl RangeBounds<u64>) -> Self {
        ScanRequest { entries: half_open(&entries), ..self }
    }

    /// How many entries a batch has.
    #[must_use]
    pub fn step(self, step: Step) -> Self {
        ScanRequest { step, ..self }
    }

    /// Only entries that survive a cut: the other columns are fetched only where some do.
    #[must_use]
    pub fn cut(self, cut: Cut) -> Self {
        ScanRequest { cut: Some(cut), ..self }
    }

    /// Reads on where a file or a range of entries cannot be read, and reports it as skipped.
    /// Without it the scan ends with the error.
    #[must_use]
    pub fn on_skipped(self, report: impl Fn(Skipped) + Send + Sync + 'static) -> Self {
        ScanRequest { on_error: OnError::Report(Arc::new(report)), ..self }
    }
}

/// `FILE:PATH` or, where the file has only one table, `FILE`.
impl<A: AsRef<str>> From<A> for TableLocation {
    fn from(address: A) -> Self {
        let address = split_object(address.as_ref());
        TableLocation {
            url: address.file.into_owned(),
            path: address.object.map(str::to_owned),
            ..TableLocation::default()
        }
    }
}

impl TableLocation {
    /// A table that is open already.
    pub fn opened(table: &Arc<dyn Table>) -> Self {
        TableLocation {
            url: table.file().url().to_owned(),
            path: Some(table.asked().to_owned()),
            open: Some(table.clone()),
            ..TableLocation::default()
        }
    }
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
