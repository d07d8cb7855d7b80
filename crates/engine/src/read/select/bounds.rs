//! Limits and costs of answers.

use std::time::Duration;

use remote::{Error, ErrorKind};

/// Limits of an answer.
#[derive(Debug, Clone, Copy)]
pub struct SelectBounds {
    /// Bytes of a stream.
    pub bytes: u64,
    pub time: Duration,
    /// Time of its steps, of which each has processors of the server.
    pub step_time: Duration,
    /// Decoded bytes of a step.
    pub step_bytes: u64,
}

/// The cost of an answer.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct SelectTotals {
    /// Entries that were looked at.
    pub entries: u64,
    /// Those of them that were left.
    pub selected: u64,
    /// Bytes of the stream.
    pub bytes: u64,
    pub seconds: f64,
    /// Seconds until the first entries were ready, once they are.
    pub delay: Option<f64>,
}

/// The error for an answer that takes too long.
pub(super) fn too_long(bounds: SelectBounds) -> Error {
    let message = format!("the request takes longer than {} s", bounds.time.as_secs());
    Error::new(ErrorKind::LimitReached, message).with_advice("ask for fewer entries at a time")
}
