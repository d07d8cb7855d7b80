//! Sums for a report.

use crate::ids::Time;

/// Sums since the scheduler was made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// Bytes that wants asked for, each once, less those cancelled before they were sent for.
    pub wanted_bytes: u64,
    /// Bytes that requests asked for, opens and repetitions included.
    pub asked_bytes: u64,
    /// Bytes asked for only to bridge gaps.
    pub over_read_bytes: u64,
    /// Bytes that arrived.
    pub delivered_bytes: u64,
    /// Hinted bytes sent for and cancelled unused.
    pub wasted_bytes: u64,
    /// Requests for data.
    pub fetches: u64,
    /// Ranges in those requests.
    pub segments: u64,
    /// Requests that open a file.
    pub opens: u64,
    /// Connections ever asked for.
    pub connections: u64,
    /// Requests that had to be sent again.
    pub retries: u64,
    /// Requests for bytes that were late elsewhere, their bytes, and those that they brought first.
    pub hedges: u64,
    pub hedged_bytes: u64,
    pub hedge_won_bytes: u64,
    /// Bytes asked of inactive sources to see how good they are.
    pub probed_bytes: u64,
    /// Demands that are not ready.
    pub demands_unready: u64,
    /// Time in which at least one demand was not ready.
    pub waited: Time,
    /// The part of it in which nothing was under way.
    pub stalled: Time,
}
