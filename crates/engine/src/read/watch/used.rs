//! Counts of bytes that clients of a watched file have read, by their source.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::Serialize;

/// Bytes and ranges that clients have read: of one watched file since it was opened, or of all
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
    /// Bytes requested for predictions.
    pub bytes_ahead: u64,
    /// Of those ahead, bytes that were dropped before any client had asked for them.
    pub bytes_unused: u64,
    /// Bytes received from servers for predictions.
    pub bytes_ahead_fetched: u64,
    /// Of those fetched, bytes of predictions that a client has read at least in part.
    pub bytes_ahead_used: u64,
    /// Of those fetched, bytes of predictions dropped unread. The bytes left are in memory.
    pub bytes_ahead_dropped: u64,
}

/// Where the bytes of one range were when a client asked for it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ways {
    /// Bytes in memory or in the cache on the disk.
    pub hit: u64,
    /// Bytes already requested, for another client or for a prediction.
    pub joined: u64,
    /// Bytes requested from a server for this range.
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

/// Counters of one file and of all files. A clone shares them.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    own: Arc<Sums>,
    all: Arc<Sums>,
}

impl Tally {
    /// Counters of a further file, which share those of all files.
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

    /// Counts bytes received from a server for a prediction.
    pub fn ahead_fetched(&self, bytes: u64) {
        self.add(|sums| &sums.fetched, bytes);
    }

    /// Counts bytes of a prediction that a client reads for the first time.
    pub fn ahead_used(&self, bytes: u64) {
        self.add(|sums| &sums.used, bytes);
    }

    /// Counts bytes of predictions dropped before any client read them.
    pub fn ahead_dropped(&self, bytes: u64) {
        self.add(|sums| &sums.dropped, bytes);
    }

    /// The counters of the file.
    pub fn used(&self) -> Used {
        self.own.used()
    }

    /// The counters of all files.
    pub fn used_of_all(&self) -> Used {
        self.all.used()
    }
}

impl Sums {
    fn used(&self) -> Used {
        let load = |figure: &AtomicU64| figure.load(Ordering::Relaxed);
        let metadata = load(&self.metadata);
        let predicted = load(&self.predicted);
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
