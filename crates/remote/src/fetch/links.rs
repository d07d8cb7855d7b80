//! A view, for handles, of the links to an engine's servers.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The latest figures of the driver; 0 while unknown.
#[derive(Debug, Default)]
pub struct Links {
    pipe_bytes: AtomicU64,
    round_trip_ns: AtomicU64,
}

impl Links {
    pub fn store(&self, pipe_bytes: u64, round_trip: Duration) {
        let round_trip_ns = u64::try_from(round_trip.as_nanos()).unwrap_or(u64::MAX);
        self.pipe_bytes.store(pipe_bytes, Ordering::Relaxed);
        self.round_trip_ns.store(round_trip_ns, Ordering::Relaxed);
    }

    /// Bytes in flight that all links together hold.
    pub fn pipe_bytes(&self) -> u64 {
        self.pipe_bytes.load(Ordering::Relaxed)
    }

    /// The longest round trip.
    pub fn round_trip(&self) -> Duration {
        Duration::from_nanos(self.round_trip_ns.load(Ordering::Relaxed))
    }
}
