//! Counts of a proxy: requests of its clients, and bytes from origins.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use engine::{Engine, Opens, OpensAhead, Used, Ways};
use mutex::Mutex;
use remote::cache::counters::CacheCounters;
use remote::fetch::tally::Tally;
use remote::source::held::CACHE;

/// Figures of a proxy since it was started.
///
/// Each byte delivered to a client counts in one part of `ways`. Each byte received from an origin
/// counts as a client's miss (`ways.missed`), a prediction (`used.bytes_ahead_fetched`), metadata
/// (`origin_metadata`), fetched only for the cache (`cache.filled_bytes`), or unused
/// ([`origin_for_nothing`](Self::origin_for_nothing)).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Figures {
    /// Files that clients have opened.
    pub opens: u64,
    /// Opens for clients at origins that have succeeded, and those that the cache has answered:
    /// together fewer than `opens` where clients share them, or find a file that is open ahead.
    pub origin_opens: u64,
    pub cache_opens: u64,
    /// Opens for which a client has received an error, by the kind of the error.
    pub open_errors: BTreeMap<String, u64>,
    /// Opens before a client requested the file.
    pub opens_ahead: OpensAhead,
    /// Files that are open at their origins.
    pub files_open: u64,
    /// Requests of clients, and how much of them was predicted.
    pub used: Used,
    /// Counters of the cache on disk; zeros without one.
    pub cache: CacheCounters,
    /// Bytes that clients were handed.
    pub delivered: u64,
    /// The same by where they were when a client requested them.
    pub ways: Ways,
    /// Requests to origins, those that failed, and the bytes that came.
    pub origin_requests: u64,
    pub origin_failures: u64,
    pub origin_bytes: u64,
    /// Bytes received from origins as metadata of files.
    pub origin_metadata: u64,
}

impl Figures {
    /// Unused bytes received from origins: gaps between ranges of one request, bytes received
    /// twice, and bytes for clients that had disconnected.
    pub fn origin_for_nothing(&self) -> u64 {
        let Figures { used, ways, cache, .. } = self;
        let wanted = ways.missed + used.bytes_ahead_fetched;
        self.origin_bytes.saturating_sub(wanted + self.origin_metadata + cache.filled_bytes)
    }

    /// Predicted bytes received from origins, neither used by a client nor dropped so far.
    pub fn predicted_here(&self) -> u64 {
        let Used { bytes_ahead_fetched, bytes_ahead_used, bytes_ahead_dropped, .. } = self.used;
        bytes_ahead_fetched.saturating_sub(bytes_ahead_used + bytes_ahead_dropped)
    }
}

/// The figures while they grow.
#[derive(Debug, Default)]
pub struct Account {
    opens: AtomicU64,
    handed_out: Mutex<(u64, Ways)>,
}

impl Account {
    /// A client has opened a file.
    pub fn opened(&self) {
        self.opens.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts bytes delivered to a client, and where they were.
    pub fn delivered(&self, bytes: u64, ways: Ways) {
        let mut handed_out = self.handed_out.lock();
        handed_out.0 += bytes;
        handed_out.1.add(ways);
    }

    /// A snapshot of all figures.
    pub fn figures(&self, files_open: u64, engine: &Engine) -> Figures {
        let remote = engine.remote();
        // Read before the origins' figures, so that those include every byte counted here.
        let (delivered, ways) = *self.handed_out.lock();
        let used = engine.used();
        let cache = remote.cache_counters();
        let Opens { succeeded: origin_opens, cached: cache_opens, failed, ahead } =
            engine.watch_opens();
        let (mut sources, origin_metadata) = remote.trace().look(|records, _| {
            let metadata = records.tallies.all_files().metadata_fetched;
            (records.tallies.by_source(None), metadata)
        });
        // The trace has the cache among the sources.
        sources.retain(|name, _| **name != *CACHE);
        let sum = |of: fn(&Tally) -> u64| sources.values().map(of).sum();
        Figures {
            opens: self.opens.load(Ordering::Relaxed),
            origin_opens,
            cache_opens,
            open_errors: failed,
            opens_ahead: ahead,
            files_open,
            used,
            cache,
            delivered,
            ways,
            origin_requests: sum(|tally| tally.requests),
            origin_failures: sum(|tally| tally.failures),
            origin_bytes: sum(|tally| tally.bytes_received),
            origin_metadata,
        }
    }
}
