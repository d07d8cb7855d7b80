//! What a proxy has been asked for, and what it has brought.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use engine::Used;
use parking_lot::Mutex;
use remote::cache::counters::CacheCounters;
use remote::source::held::CACHE;
use remote::{Error, Remote};

/// Figures of a proxy since it was started.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Figures {
    /// Files that clients have opened.
    pub opens: u64,
    /// Opens at origins that have succeeded: fewer where clients share them.
    pub origin_opens: u64,
    /// Opens at origins that have failed, by the kind of their error.
    pub open_errors: BTreeMap<String, u64>,
    /// Files that are open at their origins.
    pub files_open: u64,
    /// What clients have asked for, and from where it came.
    pub used: Used,
    /// What the cache on disk has brought; nothing without one.
    pub cache: CacheCounters,
    /// Bytes that clients were handed.
    pub delivered: u64,
    /// Requests to origins, those that failed, and the bytes that came.
    pub origin_requests: u64,
    pub origin_failures: u64,
    pub origin_bytes: u64,
}

/// The figures while they grow.
#[derive(Debug, Default)]
pub struct Account {
    opens: AtomicU64,
    origin_opens: AtomicU64,
    open_errors: Mutex<BTreeMap<String, u64>>,
    delivered: AtomicU64,
    /// Of files that are closed at their origins.
    used: Mutex<Used>,
}

impl Account {
    /// A client has opened a file.
    pub fn opened(&self) {
        self.opens.fetch_add(1, Ordering::Relaxed);
    }

    /// An open at an origin has come to this; the number of those before.
    pub fn opened_at_origin(&self, error: Option<&Error>) -> u64 {
        match error {
            None => self.origin_opens.fetch_add(1, Ordering::Relaxed),
            Some(error) => {
                let kind = format!("{:?}", error.kind());
                *self.open_errors.lock().entry(kind).or_default() += 1;
                self.origin_opens.load(Ordering::Relaxed)
            }
        }
    }

    /// A client is handed bytes.
    pub fn delivered(&self, bytes: u64) {
        self.delivered.fetch_add(bytes, Ordering::Relaxed);
    }

    /// A file is closed at its origin.
    pub fn closed(&self, used: &Used) {
        add(&mut self.used.lock(), used);
    }

    /// All of it, with what is used of files that are open.
    pub fn figures(&self, mut used: Used, files_open: u64, remote: &Remote) -> Figures {
        add(&mut used, &self.used.lock());
        let mut sources = remote.trace().look(|records, _| records.tallies.by_source(None));
        // The trace has the cache among the sources.
        sources.retain(|name, _| **name != *CACHE);
        let sum = |of: fn(&remote::fetch::tally::Tally) -> u64| sources.values().map(of).sum();
        Figures {
            opens: self.opens.load(Ordering::Relaxed),
            origin_opens: self.origin_opens.load(Ordering::Relaxed),
            open_errors: self.open_errors.lock().clone(),
            files_open,
            used,
            cache: remote.cache_counters(),
            delivered: self.delivered.load(Ordering::Relaxed),
            origin_requests: sum(|tally| tally.requests),
            origin_failures: sum(|tally| tally.failures),
            origin_bytes: sum(|tally| tally.bytes_received),
        }
    }
}

/// Adds figures of another file.
pub fn add(sum: &mut Used, more: &Used) {
    *sum = Used {
        reads: sum.reads + more.reads,
        ranges: sum.ranges + more.ranges,
        bytes_read: sum.bytes_read + more.bytes_read,
        bytes_metadata: sum.bytes_metadata + more.bytes_metadata,
        bytes_predicted: sum.bytes_predicted + more.bytes_predicted,
        bytes_demanded: sum.bytes_demanded + more.bytes_demanded,
        bytes_ahead: sum.bytes_ahead + more.bytes_ahead,
        bytes_unused: sum.bytes_unused + more.bytes_unused,
    };
}
