//! Counts of a proxy: requests of its clients, and bytes from origins.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use engine::{Engine, Opens, OpensAhead, Used, Ways};
use mutex::Mutex;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use remote::address::Address;
use remote::cache::QuotaTotals;
use remote::cache::counters::CacheCounters;
use remote::fetch::tally::Tally;
use remote::source::held::CACHE;

use crate::cluster::ClusterFigures;
use crate::select::{SelectFigures, SelectTally};

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
    /// Connections of clients, and whether the server ends.
    pub connections: u64,
    pub is_draining: bool,
    /// Bytes of the cache on the disk, its limit, and the free bytes of the disk; zeros without.
    pub cache_disk_bytes: u64,
    pub cache_bytes_max: u64,
    pub cache_free_bytes: u64,
    /// Folders of the cache that are left out, as their disks have failed.
    pub cache_disks_left_out: u64,
    /// Disks with less free space than the cache leaves to others.
    pub cache_disks_full: u64,
    /// The quotas of the cache.
    pub quotas: Vec<QuotaTotals>,
    /// Entries that were selected here for clients.
    pub select: SelectFigures,
    /// Of the cluster.
    pub cluster: ClusterFigures,
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

/// Times by origin, in seconds.
pub type Times = Family<[(&'static str, String); 1], Histogram>;

/// Origins whose times are counted apart; those of further ones are counted together.
const ORIGINS_MAX: usize = 64;

/// The figures while they grow.
#[derive(Debug)]
pub struct Account {
    opens: AtomicU64,
    handed_out: Mutex<(u64, Ways)>,
    select: Arc<SelectTally>,
    origins: Mutex<BTreeSet<String>>,
    /// From a client's open to its answer, and from its read to each piece of the answer.
    pub open_times: Times,
    pub read_times: Times,
}

impl Default for Account {
    fn default() -> Self {
        // From a millisecond to half a minute.
        let times =
            || Times::new_with_constructor(|| Histogram::new(exponential_buckets(0.001, 2.0, 16)));
        Account {
            opens: AtomicU64::default(),
            handed_out: Mutex::default(),
            select: Arc::default(),
            origins: Mutex::default(),
            open_times: times(),
            read_times: times(),
        }
    }
}

impl Account {
    /// The counts of selected entries.
    pub fn select(&self) -> Arc<SelectTally> {
        self.select.clone()
    }

    /// A client has opened a file.
    pub fn opened(&self) {
        self.opens.fetch_add(1, Ordering::Relaxed);
    }

    /// The label of an origin's times: of `root://eos.example//store/file` that is
    /// `root://eos.example`.
    pub fn label(&self, address: &Address) -> [(&'static str, String); 1] {
        let scheme = address.scheme().name();
        let host = address.host().unwrap_or_default();
        let origin = format!("{scheme}://{host}");
        let mut origins = self.origins.lock();
        let is_counted = origins.len() < ORIGINS_MAX || origins.contains(&origin);
        if !is_counted {
            return [("origin", "other".to_owned())];
        }
        origins.insert(origin.clone());
        [("origin", origin)]
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
            select: self.select.figures(),
            ..Figures::default()
        }
    }
}
