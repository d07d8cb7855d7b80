//! Sums for a report.

use crate::ids::Time;

/// What the scheduler counts as it goes.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub wanted_bytes: u64,
    pub asked_bytes: u64,
    pub over_read_bytes: u64,
    pub delivered_bytes: u64,
    pub wasted_bytes: u64,
    pub fetches: u64,
    pub segments: u64,
    pub opens: u64,
    pub connections: u64,
    pub retries: u64,
    pub hedges: u64,
    pub hedged_bytes: u64,
    pub hedge_won_bytes: u64,
    pub probed_bytes: u64,
    pub demands_unready: u64,
    pub waited: Time,
    pub stalled: Time,
}
