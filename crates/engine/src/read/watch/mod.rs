//! Far files that clients read as ranges of bytes, without naming their content.
//!
//! Such a client (ROOT, uproot, a copy) asks for a few ranges, waits, computes, and asks again. All
//! clients of one address share one open file; clients that arrive during the open share its
//! result, errors included. The metadata of a ROOT file are read as soon as it is open, as this
//! engine reads them: ROOT, which asks for them one after the other, then gets them from memory.
//! They also say to which column each basket belongs (`places`), so that [`super::predict`] tells
//! the next reads of a client and of others. Once the last bytes of a file are requested, the next
//! file of its series is opened (`ahead`). A file that clients keep open is asked about again
//! before a further client shares it (`checks`).

mod ahead;
pub mod arrivals;
mod checks;
mod client;
mod key_reads;
mod last_baskets;
pub mod opens;
mod pieces;
mod places;
mod shared;
mod table_reader;
pub mod used;

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::{BoxFuture, Shared as SharedFuture, WeakShared};
use mutex::Mutex;
use remote::Result;
use remote::address::CacheUse;
use remote::cache::Charges;
use remote::fetch::RemoteFile;
use remote::source::FileInfo;

use crate::read::file::session::Session;
use ahead::{FilesAhead, NextFile};
use arrivals::Arrivals;
use checks::Checks;
use client::{Client, ClientRead};
use opens::{FailedOpen, Opens};
use shared::{EngineShared, Shared};
use used::{Tally, Used};

type OpenFuture = BoxFuture<'static, std::result::Result<Arc<Shared>, FailedOpen>>;
/// The open of one address. Later clients wait for the same one.
type Opening = SharedFuture<OpenFuture>;

/// An address, and the quotas that bytes of it are charged to where they come in.
type WatchKey = (String, Charges);

/// The files that are watched now.
#[derive(Debug, Default)]
pub(crate) struct Watches {
    files: Mutex<HashMap<WatchKey, WeakShared<OpenFuture>>>,
    checks: Checks,
    tally: Tally,
    engine: EngineShared,
    ahead: FilesAhead,
}

/// A far file as one client reads it. Cheap to clone; the file is closed with the last handle of
/// its last client.
#[derive(Debug, Clone)]
pub struct Watched {
    client: Arc<Client>,
    /// Whether this client's open asked the file's server.
    has_asked: bool,
    /// Whether the file was open before this client's open.
    was_open: bool,
    /// The strong reference by which later clients find the open file. A poll would drop it.
    opening: Opening,
}

impl Watches {
    pub async fn watch(
        self: &Arc<Self>,
        session: &Session,
        address: &str,
        cache_use: CacheUse,
    ) -> Result<Watched> {
        let is_fresh = |watched: &Watched| !watched.client.shared().is_stale();
        let key = (address.to_owned(), session.charges());
        let ahead = self.ahead.opened(&key, &self.engine.opens).filter(is_fresh);
        // `ahead` keeps the file open while a client with another `cache_use` looks for it below.
        if let Some(watched) = &ahead
            && cache_use == CacheUse::Usual
        {
            return Ok(watched.clone());
        }
        let failed = |failed: FailedOpen| {
            if cache_use != CacheUse::Only {
                self.engine.opens.failed(&failed);
            }
            failed.error
        };
        let mut opening = self.opening(session, address, cache_use, false);
        let mut was_open = opening.peek().is_some();
        let mut shared = opening.clone().await.map_err(failed)?;
        let is_due = was_open && shared.is_aged(session.config().cache.check);
        if is_due
            && !self.checks.check(session, &key, &shared, &self.engine).await.map_err(failed)?
        {
            was_open = false;
            opening = self.opening(session, address, cache_use, false);
            shared = opening.clone().await.map_err(failed)?;
        }
        let has_asked = is_due || !was_open && !shared.remote.is_believed();
        let client = shared.client(cache_use == CacheUse::Only);
        Ok(Watched { client, has_asked, was_open, opening })
    }

    /// Bytes and ranges read by all clients of all files.
    pub fn used(&self) -> Used {
        self.tally.used_of_all()
    }

    /// Numbers of opens of all files, succeeded and failed.
    pub fn opens(&self) -> Opens {
        self.engine.opens.opens()
    }

    /// The open of an address: a current one that this client may share, else a new one. With
    /// `is_guess` no client has asked for the file.
    fn opening(
        self: &Arc<Self>,
        session: &Session,
        address: &str,
        cache_use: CacheUse,
        is_guess: bool,
    ) -> Opening {
        let mut files = self.files.lock();
        files.retain(|_, opening| opening.upgrade().is_some());
        // Where nothing may be asked, a file counts no longer than its server's last answer.
        let check = session.config().cache.check;
        let is_too_old = |shared: &Shared| cache_use == CacheUse::Only && shared.is_aged(check);
        let is_fresh = |opening: &Opening| match opening.peek() {
            None => true,
            Some(opened) => {
                opened.as_ref().is_ok_and(|shared| !shared.is_stale() && !is_too_old(shared))
            }
        };
        let key = (address.to_owned(), session.charges());
        let there = files.get(&key).and_then(WeakShared::upgrade).filter(is_fresh);
        let may_share = matches!(cache_use, CacheUse::Usual | CacheUse::Only);
        if let Some(opening) = there.filter(|_| may_share) {
            return opening;
        }
        let session = session.clone();
        let name = address.to_owned();
        let tally = self.tally.of_file();
        let engine = self.engine.clone();
        let next = NextFile::new(self, &session, address);
        let opening = async move {
            let opened =
                Shared::open(&session, &name, cache_use, is_guess, tally, &engine, next).await;
            if is_guess && opened.is_err() {
                engine.opens.failed_ahead();
            }
            opened.map_err(FailedOpen::from)
        };
        let opening = opening.boxed().shared();
        if matches!(cache_use, CacheUse::Usual | CacheUse::Verified) {
            files.extend(opening.downgrade().map(|weak| (key, weak)));
        }
        opening
    }
}

impl Watched {
    /// Size, time and version, as the open was answered.
    pub fn info(&self) -> &FileInfo {
        self.client.shared().remote.info()
    }

    /// The address as given, without secrets.
    pub fn url(&self) -> &str {
        self.client.shared().remote.url()
    }

    /// Whether this client's open asked the file's server: `false` where its answer to an earlier
    /// client still counts, and where the cache's copy was used without asking.
    pub fn has_asked(&self) -> bool {
        self.has_asked
    }

    /// Whether this client shares a file that was open before: no bytes came with its open.
    pub fn was_open(&self) -> bool {
        self.was_open
    }

    /// The time since the file's server last described it.
    pub fn age(&self) -> Duration {
        self.client.shared().age()
    }

    /// The open file that all its clients share.
    pub fn remote_file(&self) -> &RemoteFile {
        &self.client.shared().remote
    }

    /// The number of bytes of a range that a read would now have to fetch from a server.
    pub fn missing(&self, range: &Range<u64>) -> u64 {
        self.client.shared().missing(range)
    }

    /// A handle that keeps the same file open. Nothing is fetched ahead for it.
    #[must_use]
    pub fn keeper(&self) -> Self {
        let shared = self.client.shared().clone();
        let opening = self.opening.clone();
        Watched { client: shared.client(true), has_asked: false, was_open: true, opening }
    }

    /// Whether both are clients of the same open file.
    pub fn is_same_open(&self, other: &Watched) -> bool {
        Arc::ptr_eq(self.client.shared(), other.client.shared())
    }

    /// The number of opens of the engine that had succeeded before this one.
    pub fn opened_before(&self) -> u64 {
        self.client.shared().opened_before()
    }

    /// Makes the next client open the file anew, for a caller whose reads of this one fail.
    pub fn give_up(&self) {
        self.client.shared().set_stale();
    }

    /// Requests ranges that a client waits for; bytes in flight for another client are not
    /// requested again. A range that reaches beyond the end is an error.
    pub fn read(&self, ranges: Vec<Range<u64>>) -> Arrivals {
        let shared = self.client.shared();
        shared.tally.read(ranges.len());
        let ClientRead { answering, predicted, keys, ends, is_at_end } = self.client.read(&ranges);
        let mut arrivals = Arrivals::new(shared.remote.want(Vec::new()), answering);
        let mut absent = Vec::new();
        for (index, range) in ranges.iter().enumerate() {
            if let Some(bytes) = shared.metadata(range) {
                shared.tally.metadata(bytes.len() as u64);
                arrivals.add_here(index, bytes);
            } else if let Some(bytes) = self.client.last(range) {
                shared.tally.predicted(bytes.len() as u64);
                arrivals.add_here(index, bytes);
            } else {
                absent.extend(arrivals.add_parts(index, range.start, shared.parts(range, &ends)));
            }
        }
        arrivals.ask(absent);
        shared.fetch(keys);
        shared.fetch(predicted);
        if is_at_end {
            shared.open_next();
        }
        arrivals
    }

    /// Bytes that all clients of this address have read since it was opened.
    pub fn used(&self) -> Used {
        self.client.shared().tally.used()
    }
}
