//! Parts of readers that do not say beforehand which columns they read.

use std::ops::Range;

/// Bytes that speculation with nothing to go by may cost, before any of them proves right: a round
/// trip's worth, the cost of a single wrong guess.
const ALLOWANCE_BYTES: std::ops::RangeInclusive<u64> = 2 << 20..=8 << 20;

/// The allowance for such speculation on a link that holds so many bytes.
pub(crate) fn allowance(pipe_bytes: u64) -> u64 {
    pipe_bytes.saturating_mul(2).clamp(*ALLOWANCE_BYTES.start(), *ALLOWANCE_BYTES.end())
}

/// Entries that are gone through in steps of the same length.
pub(crate) struct Steps {
    pub entries: Range<u64>,
    /// At least one.
    pub length: u64,
}

impl Steps {
    pub fn new(entries: Range<u64>, length: u64) -> Self {
        Steps { entries, length: length.max(1) }
    }

    /// The entries of a step, counted from 0; behind the last step none.
    pub fn nth(&self, step: u64) -> Range<u64> {
        self.from(self.entries.start.saturating_add(step.saturating_mul(self.length)))
    }

    /// The entries of the step that begins at one of them.
    pub fn from(&self, start: u64) -> Range<u64> {
        let start = start.min(self.entries.end);
        start..start.saturating_add(self.length).min(self.entries.end)
    }
}
