//! What the clients of a watched file have read, and from where it came.

use std::sync::atomic::{AtomicU64, Ordering};

use serde::Serialize;

/// Figures of one watched file, of all its clients together, since it was opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Used {
    /// Vectors of ranges that clients have asked for, and the ranges in them.
    pub reads: u64,
    pub ranges: u64,
    /// Bytes that clients have asked for: the sum of the three that follow.
    pub bytes_read: u64,
    /// Of these, bytes of metadata that were here.
    pub bytes_metadata: u64,
    /// Of these, bytes that had been predicted, and were here or on their way.
    pub bytes_predicted: u64,
    /// Of these, bytes that were asked for because a client wanted them.
    pub bytes_demanded: u64,
    /// Bytes that were fetched because they had been predicted.
    pub bytes_ahead: u64,
    /// Of those ahead, bytes that were dropped before any client had asked for them.
    pub bytes_unused: u64,
}

/// The figures while they grow.
#[derive(Debug, Default)]
pub struct Tally {
    reads: AtomicU64,
    ranges: AtomicU64,
    metadata: AtomicU64,
    predicted: AtomicU64,
    demanded: AtomicU64,
    ahead: AtomicU64,
    unused: AtomicU64,
}

impl Tally {
    /// A client asks for so many ranges together.
    pub fn read(&self, ranges: usize) {
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.ranges.fetch_add(ranges as u64, Ordering::Relaxed);
    }

    pub fn metadata(&self, bytes: u64) {
        self.metadata.fetch_add(bytes, Ordering::Relaxed);
    }

    pub fn predicted(&self, bytes: u64) {
        self.predicted.fetch_add(bytes, Ordering::Relaxed);
    }

    pub fn demanded(&self, bytes: u64) {
        self.demanded.fetch_add(bytes, Ordering::Relaxed);
    }

    pub fn ahead(&self, bytes: u64) {
        self.ahead.fetch_add(bytes, Ordering::Relaxed);
    }

    pub fn unused(&self, bytes: u64) {
        self.unused.fetch_add(bytes, Ordering::Relaxed);
    }

    pub fn used(&self) -> Used {
        let load = |figure: &AtomicU64| figure.load(Ordering::Relaxed);
        let (metadata, predicted) = (load(&self.metadata), load(&self.predicted));
        let demanded = load(&self.demanded);
        Used {
            reads: load(&self.reads),
            ranges: load(&self.ranges),
            bytes_read: metadata + predicted + demanded,
            bytes_metadata: metadata,
            bytes_predicted: predicted,
            bytes_demanded: demanded,
            bytes_ahead: load(&self.ahead),
            bytes_unused: load(&self.unused),
        }
    }
}
