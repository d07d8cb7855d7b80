//! Files far away, as ranges of bytes: over XRootD, over HTTP, from a disk. Knows no ROOT.

#![warn(missing_docs)]

pub mod address;
pub mod cache;
mod carried;
mod changes;
mod charges;
mod checksum;
pub mod clock;
mod config;
mod copy;
mod disk;
pub mod display;
mod error;
pub mod fetch;
mod home;
mod listing;
mod live;
mod locations;
mod locks;
mod matching;
mod metalink;
pub mod near;
pub mod origin;
mod proofs;
mod proxies;
pub mod report;
pub mod runtime;
mod selecting;
pub mod settings;
pub mod sink;
mod slots;
#[allow(missing_docs, reason = "open for its tests, which speak to connections as the driver does")]
pub mod source;
pub mod store;
mod user;

use std::ops::Range;
use std::sync::Arc;

use futures::StreamExt;
use mutex::RwLock;

pub use carried::FileMemory;
pub use checksum::{Algorithm, Checksum, Hasher};
pub use config::{Checksums, Config, parse_bytes};
pub use copy::{Copied, CopyOptions, Progress};
pub use credentials;
pub use disk::{open_to_append, replace as replace_private, write as write_file, write_private};
pub use error::{Error, ErrorKind, Reader, Result};
pub use home::{expanded, home_of_user};
pub use listing::Listed;
pub use metalink::is_metalink;
pub use proxies::Proxies;
pub use scheduler::LinkModel;
pub use selecting::Near;
pub use sink::{CreateOptions, Upload, Written};

use address::{Address, FileLocations, FileUse};
use fetch::activity::Activity;
use fetch::ledger::Phase;
use fetch::trace::Trace;
use fetch::{Fetcher, RemoteFile, Wants};
use live::Settings;
use report::Report;
use source::network::Network;
use source::{diagnose, one_shot};

/// A file is fetched for the cache in pieces of so many bytes.
const WARM_BYTES: u64 = 1 << 20;

/// So many pieces are fetched together where the disk is slower than the servers.
const WARM_PIECES: usize = 16;

/// Owns the connections and the one memory budget. Cheap to clone.
#[derive(Clone)]
pub struct Remote {
    inner: Arc<Inner>,
}

struct Inner {
    settings: RwLock<Arc<Settings>>,
    fetcher: Fetcher,
}

impl Remote {
    /// Starts to read over the given network, on the present tokio runtime.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn start(config: Config, network: Arc<dyn Network>) -> Self {
        let fetcher = Fetcher::start(&config, network.clone());
        let settings = RwLock::new(Settings::new(config, network));
        Remote { inner: Arc::new(Inner { settings, fetcher }) }
    }

    /// The part that opens files and requests ranges of them.
    pub fn fetcher(&self) -> &Fetcher {
        &self.inner.fetcher
    }

    /// The files that a pattern names, by name: with `*`, `?`, `[]`, `{a,b}`, and `**` for any
    /// number of directories. An address that is no pattern, an alternative that is none, and the
    /// name of a file on a disk stand for themselves. In the address of a server `?` begins the
    /// query, and only XRootD servers and S3 list their directories.
    ///
    /// # Errors
    /// `Unsupported` for a pattern on a server that lists nothing; an error of listing a directory.
    pub async fn matching(&self, pattern: &str) -> Result<Vec<String>> {
        let settings = self.settings();
        // A pattern may come without its secrets, with which its own files are requested.
        let pattern = address::restored(pattern);
        matching::matching(&pattern, &settings.config, &settings.network).await
    }

    /// As [`Remote::matching`], where at least one file has to match.
    ///
    /// # Errors
    /// `NotFound` where none does.
    pub async fn matching_some(&self, pattern: &str) -> Result<Vec<String>> {
        let found = self.matching(pattern).await?;
        match found.is_empty() {
            true => Err(Error::new(ErrorKind::NotFound, "no file matches").with_url(pattern)),
            false => Ok(found),
        }
    }

    /// Examines the way to the file at one address step by step, and returns the findings, and
    /// whether bytes of the file could be read.
    pub async fn examine(&self, url: &Address) -> (Vec<diagnose::Finding>, bool) {
        let settings = self.settings();
        diagnose::examine(url, &settings.config, &settings.network).await
    }

    /// The checksum that a server keeps of a file; without an algorithm, of the kind that it likes
    /// best. Of several addresses of one file, the first that is given.
    ///
    /// # Errors
    /// Why there is none: of all addresses where there are several.
    pub async fn checksum(&self, address: &str, algorithm: Option<Algorithm>) -> Result<Checksum> {
        self.checksum_at(&self.locations(address).await?.urls, algorithm).await
    }

    /// The same of a file with these addresses.
    pub(crate) async fn checksum_at(
        &self,
        urls: &[Address],
        algorithm: Option<Algorithm>,
    ) -> Result<Checksum> {
        let mut errors = Vec::new();
        for url in urls {
            let settings = self.settings();
            let Settings { config, network, .. } = &*settings;
            match one_shot::checksum(url, algorithm, config, network.clone()).await {
                Ok(checksum) => return Ok(checksum),
                Err(error) => errors.push((url.to_string(), error)),
            }
        }
        Err(match &errors[..] {
            [(_, only)] => only.clone(),
            _ => Error::of_sources(errors),
        })
    }

    /// Opens a file of any kind, to read ranges of its bytes; it comes over the same connections
    /// and counts against the same budget as all else that is read. Checksums of the bytes are
    /// requested from servers that offer them, unless [`Config::checksums`] forbids it.
    ///
    /// # Errors
    /// Why the file cannot be opened.
    pub async fn open_bytes(&self, address: &str) -> Result<RemoteFile> {
        self.open_bytes_at(self.locations(address).await?).await
    }

    /// As [`Remote::open_bytes`], of a file at these locations, with another use of the cache.
    ///
    /// # Errors
    /// Why the file cannot be opened.
    pub async fn open_bytes_with(
        &self,
        locations: FileLocations,
        cache_use: address::CacheUse,
    ) -> Result<RemoteFile> {
        self.open_bytes_at(FileLocations { cache_use, ..locations }).await
    }

    async fn open_bytes_at(&self, locations: FileLocations) -> Result<RemoteFile> {
        let locations = FileLocations { file_use: FileUse::Copied, ..locations };
        let activity = Activity::begin(self.trace(), Phase::Connecting, None);
        let _waiting = activity.waiting();
        // Nothing of it is needed but its size.
        self.inner.fetcher.open(locations, 1, 0, &activity).await
    }

    /// As [`Remote::open_bytes`], of a file of which these ranges are read first: they leave
    /// together with the open, and come as [`RemoteFile::read`] gives them. So nothing of the file
    /// has checksums of pages, unless [`Config::checksums`] wants them always: whether a server
    /// offers them shows a round trip later.
    ///
    /// # Errors
    /// Why the file cannot be opened. A range that reaches beyond its end is an error where it is
    /// read.
    pub async fn open_ranges(
        &self,
        address: &str,
        ranges: &[Range<u64>],
    ) -> Result<(RemoteFile, Wants)> {
        let locations = self.locations(address).await?;
        let activity = Activity::begin(self.trace(), Phase::Connecting, None);
        let _waiting = activity.waiting();
        self.inner.fetcher.open_wanting(locations, ranges, &activity).await
    }

    /// All requests so far, with their servers and times.
    pub fn trace(&self) -> &Trace {
        self.inner.fetcher.trace()
    }

    /// The cache on a disk of this machine, where the settings name one that can be used.
    pub fn cache(&self) -> Option<cache::Cache> {
        self.inner.fetcher.cache()
    }

    /// Fetches all bytes of a file that are not cached yet, and waits until they are; returns how
    /// many came from the file's servers.
    ///
    /// # Errors
    /// Why the file cannot be read; `InvalidArgument` without a cache; `Unsupported` for a file
    /// that is not cached; `LimitReached` where the cache has no room for all of it.
    pub async fn warm(&self, address: &str) -> Result<u64> {
        let no_cache = || Error::new(ErrorKind::InvalidArgument, "there is no cache to fill");
        let cache = self.cache().ok_or_else(no_cache)?;
        let before = cache.counters();
        let file = self.open_bytes(address).await?;
        if file.checked().is_none() {
            let text = "the cache does not have such files: nothing says when this one has changed, \
                        or it is on this machine";
            return Err(Error::new(ErrorKind::Unsupported, text).with_url(file.url()));
        }
        let size = file.info().size;
        let pieces = (0..size.div_ceil(WARM_BYTES))
            .map(|at| at * WARM_BYTES..size.min((at + 1) * WARM_BYTES));
        let missing = || pieces.clone().filter(|piece| !file.is_held(piece)).collect::<Vec<_>>();
        fetch_for_cache(&file, &missing()).await?;
        cache.flush();
        // Bytes that come faster than the disk takes them are not cached: now some at a time.
        for some in missing().chunks(WARM_PIECES) {
            fetch_for_cache(&file, some).await?;
            cache.flush();
        }
        let left: u64 = missing().iter().map(|piece| piece.end - piece.start).sum();
        if left > 0 {
            let origin = file.cached_origin();
            cache.check_room(&origin, left).map_err(|error| error.with_url(file.url()))?;
            let text = format!("{} of it could not be written to the cache", report::size(left));
            return Err(Error::new(ErrorKind::Io, text)
                .with_url(file.url())
                .with_advice("its disk may be failing: the log says why"));
        }
        let after = cache.counters();
        Ok(after.missed_bytes - before.missed_bytes)
    }

    /// The cache's counters so far; zeros where there is none.
    pub fn cache_counters(&self) -> cache::counters::CacheCounters {
        self.cache().map(|cache| cache.counters()).unwrap_or_default()
    }

    /// Where the time and the bytes of everything read so far went.
    pub fn report(&self) -> Report {
        Report::new(self.trace(), None)
    }
}

/// Reads ranges of a file, whose bytes go to the cache on their way.
async fn fetch_for_cache(file: &RemoteFile, ranges: &[Range<u64>]) -> Result<()> {
    let want = |(order, range): (u64, &Range<u64>)| {
        let cost = range.end - range.start;
        fetch::Want { range: range.clone(), cost, urgency: fetch::Urgency::Demand, order }
    };
    let mut wants = file.want((0..).zip(ranges).map(want).collect());
    while let Some(delivery) = wants.next().await {
        delivery?;
    }
    Ok(())
}
