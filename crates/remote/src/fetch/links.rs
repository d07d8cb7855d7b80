//! A view, for handles, of the links to an engine's servers.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The latest figures of the driver; 0 while unknown.
#[derive(Debug, Default)]
pub struct Links {
    pipe_bytes: AtomicU64,
    round_trip_ns: AtomicU64,
    bandwidth: AtomicU64,
}

/// Figures of all links together.
#[derive(Debug, Clone, Copy)]
pub struct LinkFigures {
    pub pipe_bytes: u64,
    pub round_trip: Duration,
    pub bandwidth: u64,
}

impl Links {
    pub fn store(&self, figures: LinkFigures) {
        let LinkFigures { pipe_bytes, round_trip, bandwidth } = figures;
        self.bandwidth.store(bandwidth, Ordering::Relaxed);
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

    /// Bytes a second of the fastest link; `None` while nothing has shown them.
    pub fn bandwidth(&self) -> Option<u64> {
        Some(self.bandwidth.load(Ordering::Relaxed)).filter(|rate| *rate > 0)
    }
}
