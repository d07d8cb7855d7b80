//! What the clients of a watched file have read, and from where it came.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::Serialize;

/// Figures of one watched file, of all its clients together, since it was opened; or of all
/// watched files of an engine.
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
    /// Bytes that were to be fetched because they had been predicted.
    pub bytes_ahead: u64,
    /// Of those ahead, bytes that were dropped before any client had asked for them.
    pub bytes_unused: u64,
    /// Bytes that servers have sent for predictions.
    pub bytes_ahead_fetched: u64,
    /// Of those fetched, bytes of predictions of which a client has asked for something.
    pub bytes_ahead_used: u64,
    /// Of those fetched, bytes of predictions that were dropped before. What is neither is here.
    pub bytes_ahead_dropped: u64,
}

/// Where the bytes of one range were when a client asked for it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ways {
    /// Bytes that were here, in memory or in the cache on the disk.
    pub hit: u64,
    /// Bytes that were on their way, for another client or for a prediction.
    pub joined: u64,
    /// Bytes that a server was asked for.
    pub missed: u64,
}

impl Ways {
    pub fn add(&mut self, more: Ways) {
        self.hit += more.hit;
        self.joined += more.joined;
        self.missed += more.missed;
    }
}

/// The figures while they grow.
#[derive(Debug, Default)]
struct Sums {
    reads: AtomicU64,
    ranges: AtomicU64,
    metadata: AtomicU64,
    predicted: AtomicU64,
    demanded: AtomicU64,
    ahead: AtomicU64,
    unused: AtomicU64,
    fetched: AtomicU64,
    used: AtomicU64,
    dropped: AtomicU64,
}

/// The figures of one file, and with them those of all files. A clone counts for the same ones.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    own: Arc<Sums>,
    all: Arc<Sums>,
}

impl Tally {
    /// Of one more file.
    pub fn of_file(&self) -> Tally {
        Tally { own: Arc::default(), all: self.all.clone() }
    }

    fn add(&self, to: fn(&Sums) -> &AtomicU64, more: u64) {
        for sums in [&self.own, &self.all] {
            to(sums).fetch_add(more, Ordering::Relaxed);
        }
    }

    /// A client asks for so many ranges together.
    pub fn read(&self, ranges: usize) {
        self.add(|sums| &sums.reads, 1);
        self.add(|sums| &sums.ranges, ranges as u64);
    }

    pub fn metadata(&self, bytes: u64) {
        self.add(|sums| &sums.metadata, bytes);
    }

    pub fn predicted(&self, bytes: u64) {
        self.add(|sums| &sums.predicted, bytes);
    }

    pub fn demanded(&self, bytes: u64) {
        self.add(|sums| &sums.demanded, bytes);
    }

    pub fn ahead(&self, bytes: u64) {
        self.add(|sums| &sums.ahead, bytes);
    }

    pub fn unused(&self, bytes: u64) {
        self.add(|sums| &sums.unused, bytes);
    }

    /// A server has sent bytes for a prediction.
    pub fn ahead_fetched(&self, bytes: u64) {
        self.add(|sums| &sums.fetched, bytes);
    }

    /// A client has asked for something of them.
    pub fn ahead_used(&self, bytes: u64) {
        self.add(|sums| &sums.used, bytes);
    }

    /// They were dropped before.
    pub fn ahead_dropped(&self, bytes: u64) {
        self.add(|sums| &sums.dropped, bytes);
    }

    /// Of the file.
    pub fn used(&self) -> Used {
        self.own.used()
    }

    /// Of all files.
    pub fn used_of_all(&self) -> Used {
        self.all.used()
    }
}

impl Sums {
    fn used(&self) -> Used {
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
            bytes_ahead_fetched: load(&self.fetched),
            bytes_ahead_used: load(&self.used),
            bytes_ahead_dropped: load(&self.dropped),
        }
    }
}
