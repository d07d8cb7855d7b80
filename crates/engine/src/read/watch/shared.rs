//! State that the clients of one address share: an open file, its metadata, and prefetched ranges.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use bytes::Bytes;
use futures::{FutureExt, StreamExt};
use mutex::Mutex;
use remote::Result;
use remote::address::CacheUse;
use remote::cache::CacheCheck;
use remote::clock::seconds_since_1970;
use remote::fetch::{RemoteFile, Urgency, Want, Wants};
use rootfile::Known;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::client::Client;
use super::last_baskets::KeptTotal;
use super::opens::OpenTally;
use super::pieces::{Part, PieceOrder, Pieces, Use};
use super::places::Places;
use super::used::Tally;
use crate::read::file::session::Session;
use crate::read::file::{File, SpeculativeOpen};
use crate::read::predict::chunks::Chunks;
use crate::read::predict::fills::{Advice, Predictor};
use crate::read::predict::history::{AccessHistories, ReaderKind};
use crate::read::predict::pace::Way;

/// Opens the file that clients will probably open after a watched one.
pub trait OpenNext: std::fmt::Debug + Send + Sync {
    /// Opens it on a task of `runtime`, if there is reason to think so, and fetches the ranges that
    /// such clients read first.
    fn open(&self, runtime: &Handle);
}

/// State that the watched files of an engine share. A clone shares it.
#[derive(Debug, Clone, Default)]
pub struct EngineShared {
    pub opens: OpenTally,
    pub kept_total: KeptTotal,
}

/// Predicted ranges that are to be fetched together.
#[derive(Debug)]
pub struct Predicted {
    ranges: Vec<Range<u64>>,
    /// Where they are kept.
    kind: Kind,
    /// From the clients that read these ranges.
    orders: mpsc::UnboundedReceiver<PieceOrder>,
}

/// Predicted ranges by what they are of: the key of a basket is also a part of the basket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Units,
    Keys,
}

#[derive(Debug)]
pub struct Shared {
    pub remote: Arc<RemoteFile>,
    pub tally: Tally,
    opened: Instant,
    /// When its server has last said that it is unchanged since.
    confirmed: Mutex<Option<Instant>>,
    /// Whether it was opened before a client asked for it, and has not been counted since as used
    /// or unused.
    pub is_ahead: AtomicBool,
    opened_before: AtomicU64,
    /// Bytes of metadata that are here.
    known: Arc<Mutex<Known>>,
    pub histories: AccessHistories,
    pub kept_total: KeptTotal,
    /// Once the file's metadata are here, and are those of a ROOT file.
    places: OnceLock<Places>,
    /// One a table; empty until the baskets and pages of the tables are known.
    pub chunks: Mutex<Vec<Chunks>>,
    pieces: Mutex<Pieces>,
    /// Keys of baskets.
    keys: Mutex<Pieces>,
    /// Ranges that were fetched with the open, for the first client.
    first_fill: Mutex<Vec<Range<u64>>>,
    /// Predictions so far.
    batches: AtomicU64,
    clients: Mutex<Vec<Weak<Client>>>,
    /// Number of clients so far.
    clients_count: AtomicU64,
    /// Whether the file has been replaced since its open, or cannot be read.
    is_stale: AtomicBool,
    /// `None` after its only use.
    next: Mutex<Option<Box<dyn OpenNext>>>,
    runtime: Handle,
    /// Tasks beside the reads; they end with this file.
    tasks: Mutex<JoinSet<()>>,
}

impl Shared {
    /// Opens a file, and begins to read its metadata. With `is_guess` no client has asked for it.
    /// Where its metadata are stored, requests for the ranges that clients of such files read first
    /// leave with the open.
    ///
    /// # Errors
    /// Why the file cannot be opened.
    pub async fn open(
        session: &Session,
        address: &str,
        cache_use: CacheUse,
        is_guess: bool,
        tally: Tally,
        engine: &EngineShared,
        next: impl OpenNext + 'static,
    ) -> Result<Arc<Self>> {
        // `CacheUse::Only` forbids to fetch bytes, and `CacheUse::Off` to keep them: no read ahead.
        let may_read_ahead = matches!(cache_use, CacheUse::Usual | CacheUse::Verified);
        let stored = match may_read_ahead {
            true => session.open_bytes_speculatively(address, cache_use, is_guess).await?,
            false => None,
        };
        let shared = match stored {
            Some(stored) => Shared::open_stored(stored, &tally, engine).await?,
            None => None,
        };
        let shared = match shared {
            Some(shared) => shared,
            None => {
                let bytes = session.open_bytes(address, cache_use, is_guess).await?;
                let known = bytes.known.clone();
                let histories = bytes.histories.clone();
                let shared = Shared::new(bytes.remote.clone(), known, histories, tally, engine);
                if may_read_ahead {
                    let decoders = session.decoders().clone();
                    let file = async move { File::of_bytes(bytes, &decoders).await };
                    shared.spawn(read_metadata(file, Arc::downgrade(&shared)));
                }
                shared
            }
        };
        let before = engine.opens.succeeded(shared.remote.is_believed(), is_guess);
        shared.opened_before.store(before, Ordering::Relaxed);
        shared.is_ahead.store(is_guess, Ordering::Relaxed);
        *shared.next.lock() = Some(Box::new(next));
        Ok(shared)
    }

    /// Waits for the server of a file whose metadata are stored; requests meanwhile the ranges that
    /// clients read first. `None` where the server has another file.
    async fn open_stored(
        stored: SpeculativeOpen,
        tally: &Tally,
        engine: &EngineShared,
    ) -> Result<Option<Arc<Self>>> {
        let file = stored.file.clone();
        let remote = file.remote().clone();
        let known = file.inner.known.clone();
        let histories = file.histories().clone();
        let shared = Shared::new(remote, known, histories, tally.clone(), engine);
        // Where some metadata are not stored, they are read once the server has answered.
        if let Some(Ok(places)) = Places::of_file(&file).now_or_never() {
            shared.begin(places);
        }
        if !stored.confirm().await? {
            return Ok(None);
        }
        if shared.places().is_none() {
            shared.spawn(read_metadata(async { Ok(file) }, Arc::downgrade(&shared)));
        }
        Ok(Some(shared))
    }

    fn new(
        remote: Arc<RemoteFile>,
        known: Arc<Mutex<Known>>,
        histories: AccessHistories,
        tally: Tally,
        engine: &EngineShared,
    ) -> Arc<Self> {
        Arc::new(Shared {
            remote,
            tally,
            opened: Instant::now(),
            confirmed: Mutex::default(),
            is_ahead: AtomicBool::new(false),
            opened_before: AtomicU64::new(0),
            known,
            histories,
            kept_total: engine.kept_total.clone(),
            places: OnceLock::new(),
            chunks: Mutex::default(),
            pieces: Mutex::default(),
            keys: Mutex::default(),
            first_fill: Mutex::default(),
            batches: AtomicU64::new(0),
            clients: Mutex::default(),
            clients_count: AtomicU64::new(0),
            is_stale: AtomicBool::new(false),
            next: Mutex::default(),
            runtime: Handle::current(),
            tasks: Mutex::default(),
        })
    }

    /// A new client of the file; with `only_reads` nothing is fetched ahead for it.
    pub fn client(self: &Arc<Self>, only_reads: bool) -> Arc<Client> {
        let number = self.clients_count.fetch_add(1, Ordering::Relaxed);
        let client = Client::new(self.clone(), number, only_reads);
        let mut clients = self.clients.lock();
        clients.retain(|client| client.strong_count() > 0);
        clients.push(Arc::downgrade(&client));
        drop(clients);
        // Behind the push: where the metadata arrive meanwhile, one of both begins the client.
        client.begin();
        client
    }

    /// Fetches the ranges that clients of files like this one read first, before there is a client.
    fn begin(self: &Arc<Self>, places: Places) {
        self.set_places(places);
        let mut fetch = Vec::new();
        for table in self.places().iter().flat_map(|places| &places.tables) {
            if let Some(history) = self.histories.load(ReaderKind::ByteRanges, table.shape()) {
                let mut predictor = Predictor::new(table.clone());
                let columns = table.columns_of(&history);
                fetch.extend(predictor.begin(&columns, history.fill_bytes).fetch);
            }
        }
        self.first_fill.lock().clone_from(&fetch);
        let predicted = self.expect(Advice { fetch, drop: Vec::new() });
        self.fetch(predicted);
    }

    /// Ranges that were fetched with the open, once: the first client drops it when it has
    /// predictions of its own, which keep the same ranges.
    pub fn take_first_fill(&self) -> Vec<Range<u64>> {
        std::mem::take(&mut *self.first_fill.lock())
    }

    /// Number of opens of the engine that had succeeded before this one.
    pub fn opened_before(&self) -> u64 {
        self.opened_before.load(Ordering::Relaxed)
    }

    /// Where its tables' baskets and pages are, once that is known.
    pub fn places(&self) -> Option<&Places> {
        self.places.get()
    }

    /// The links to the engine's servers.
    pub fn way(&self) -> Way {
        Way { round_trip: self.remote.round_trip(), bytes: self.remote.pipe_bytes() }
    }

    /// The time since its server last described it.
    pub fn age(&self) -> Duration {
        let confirmed = *self.confirmed.lock();
        // Where the cache has answered an open, no server was asked.
        let checked = self.remote.checked().filter(|_| self.remote.is_believed());
        match (confirmed, checked) {
            (Some(confirmed), _) => confirmed.elapsed(),
            (None, Some(checked)) => {
                Duration::from_secs(seconds_since_1970().saturating_sub(checked))
            }
            (None, None) => self.opened.elapsed(),
        }
    }

    /// Whether its server has to be asked before another client shares it. A disk of this machine
    /// is no server.
    pub fn is_aged(&self, check: CacheCheck) -> bool {
        let counts = check.open_counts().filter(|_| !self.remote.is_local());
        counts.is_some_and(|counts| self.age() >= counts)
    }

    /// Asks its server whether it is unchanged. Where it is not, or the server does not say, the
    /// next client opens it anew.
    ///
    /// # Errors
    /// Those of an open.
    pub async fn ask(
        &self,
        session: &Session,
        address: &str,
        engine: &EngineShared,
    ) -> Result<bool> {
        let now = session.open_bytes(address, CacheUse::Verified, false).await;
        let now = now.inspect_err(|_| self.set_stale())?;
        engine.opens.succeeded(false, false);
        let before = self.remote.info();
        let is_same = !before.says_only_size() && before.keeps_bytes(now.remote.info());
        match is_same {
            true => *self.confirmed.lock() = Some(Instant::now()),
            false => self.set_stale(),
        }
        Ok(is_same)
    }

    pub fn is_stale(&self) -> bool {
        self.is_stale.load(Ordering::Relaxed)
    }

    /// The file has been replaced, or cannot be read: the next client opens it anew.
    pub fn set_stale(&self) {
        self.is_stale.store(true, Ordering::Relaxed);
    }

    /// The bytes of metadata in a range, if all of them are here.
    pub fn metadata(&self, range: &Range<u64>) -> Option<Bytes> {
        // A copy shares the bytes.
        let known = self.known.lock().clone();
        known.get(range.clone())
    }

    /// The number of bytes of a range that a read would now have to fetch from a server.
    pub fn missing(&self, range: &Range<u64>) -> u64 {
        if self.metadata(range).is_some() {
            return 0;
        }
        let parts = self.pieces.lock().not_here(range);
        let missing = parts.iter().filter(|part| !self.remote.is_held(part));
        missing.map(|part| part.end - part.start).sum()
    }

    /// The parts of a range that a client reads. Baskets that begin at `shared` offsets are read by
    /// two clients.
    pub fn parts(&self, range: &Range<u64>, shared: &BTreeSet<u64>) -> Vec<Part> {
        let mut parts = Vec::new();
        let known = self.known.lock().clone();
        let kind = if self.keys.lock().has(range) { Kind::Keys } else { Kind::Units };
        for part in self.pieces_of(kind).lock().read(range, shared) {
            match part {
                Part::Here(bytes, first_used) => {
                    self.tally.predicted(bytes.len() as u64);
                    self.tally.ahead_used(first_used);
                    parts.push(Part::Here(bytes, first_used));
                }
                Part::Coming(receiver, within) => {
                    self.tally.predicted(within.len() as u64);
                    parts.push(Part::Coming(receiver, within));
                }
                Part::Absent(range) => parts.extend(self.without_metadata(range, &known)),
            }
        }
        parts
    }

    /// A range of which nothing is predicted, in parts: metadata that are here, and absent bytes.
    fn without_metadata(&self, range: Range<u64>, known: &Known) -> Vec<Part> {
        let mut parts = Vec::new();
        let mut at = range.start;
        for gap in known.missing(range.clone()).into_iter().chain([range.end..range.end]) {
            let (here, absent) = match known.get(at..gap.start) {
                Some(bytes) => (bytes, gap.clone()),
                None => (Bytes::new(), at..gap.end),
            };
            at = gap.end;
            if !here.is_empty() {
                self.tally.metadata(here.len() as u64);
                parts.push(Part::Here(here, 0));
            }
            if !absent.is_empty() {
                self.tally.demanded(absent.end - absent.start);
                parts.push(Part::Absent(absent));
            }
        }
        parts
    }

    /// Records the predicted ranges, and drops those that were predicted in vain. The caller holds
    /// the lock of the client or of the chunks that `advice` is from: a read between the two would
    /// neither find the prediction nor end it.
    pub fn expect(&self, advice: Advice) -> Predicted {
        self.expect_of(Kind::Units, advice)
    }

    /// As [`Shared::expect`], of keys of baskets alone.
    pub fn expect_keys(&self, mut keys: Advice) -> Predicted {
        let units = self.pieces.lock();
        keys.fetch.retain(|range| !units.has(range));
        drop(units);
        self.expect_of(Kind::Keys, keys)
    }

    fn pieces_of(&self, kind: Kind) -> &Mutex<Pieces> {
        match kind {
            Kind::Units => &self.pieces,
            Kind::Keys => &self.keys,
        }
    }

    fn expect_of(&self, kind: Kind, advice: Advice) -> Predicted {
        let Advice { mut fetch, drop } = advice;
        let (sender, orders) = mpsc::unbounded_channel();
        let mut pieces = self.pieces_of(kind).lock();
        fetch.retain(|range| self.metadata(range).is_none());
        // First: a range that is also in `drop` stays.
        let ranges = pieces.expect(fetch, &sender);
        let (dropped, fetched) = pieces.give_up(&drop);
        self.tally.unused(dropped);
        self.tally.ahead_dropped(fetched);
        Predicted { ranges, kind, orders }
    }

    /// Fetches predicted ranges.
    pub fn fetch(self: &Arc<Self>, predicted: Predicted) {
        let Predicted { ranges, kind, orders } = predicted;
        if ranges.is_empty() {
            return;
        }
        let order = self.batches.fetch_add(1, Ordering::Relaxed);
        let want = |range: &Range<u64>| {
            let cost = range.end - range.start;
            Want { range: range.clone(), cost, urgency: Urgency::Hint, order }
        };
        let wants = self.remote.want(ranges.iter().map(want).collect());
        self.tally.ahead(ranges.iter().map(|range| range.end - range.start).sum());
        let predicted = Predicted { ranges, kind, orders };
        self.spawn(bring(Arc::downgrade(self), wants, predicted));
    }

    /// Opens the next file of the series ahead, once: the last bytes that a client will probably
    /// read of this one have been requested.
    pub fn open_next(&self) {
        let next = self.next.lock().take();
        next.iter().for_each(|next| next.open(&self.runtime));
    }

    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut tasks = self.tasks.lock();
        while tasks.try_join_next().is_some() {}
        tasks.spawn_on(task, &self.runtime);
    }

    /// Its baskets and pages are known.
    fn set_places(&self, places: Places) {
        *self.chunks.lock() = places.tables.iter().cloned().map(Chunks::new).collect();
        if self.places.set(places).is_err() {
            return;
        }
        let clients: Vec<Arc<Client>> =
            self.clients.lock().iter().filter_map(Weak::upgrade).collect();
        clients.iter().for_each(|client| client.begin());
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let kept = self.pieces.get_mut().kept_in_vain() + self.keys.get_mut().kept_in_vain();
        self.tally.ahead_dropped(kept);
    }
}

/// Reads the metadata of a file and of its tables, as opening them does. A file that cannot be
/// parsed still has bytes to serve.
async fn read_metadata(file: impl Future<Output = Result<File>>, shared: Weak<Shared>) {
    let Ok(file) = file.await else { return };
    let Ok(places) = Places::of_file(&file).await else { return };
    if let Some(shared) = shared.upgrade() {
        shared.set_places(places);
    }
}

/// Waits for ranges that were predicted together, until none of them is needed any more.
async fn bring(shared: Weak<Shared>, mut wants: Wants, predicted: Predicted) {
    let Predicted { ranges, kind, mut orders } = predicted;
    let mut is_over = false;
    loop {
        let delivery = tokio::select! {
            order = orders.recv() => {
                match order {
                    Some(PieceOrder::Promote(at)) => wants.promote(at..at + 1),
                    Some(PieceOrder::GiveUp(at)) => wants.give_up(at..at + 1),
                    None => return,
                }
                continue;
            }
            delivery = wants.next(), if !is_over => delivery,
        };
        let Some(shared) = shared.upgrade() else { return };
        let mut pieces = shared.pieces_of(kind).lock();
        match delivery {
            Some(Ok(delivery)) => {
                let fetched = delivery.fetched();
                shared.tally.ahead_fetched(fetched);
                match pieces.arrive(&ranges[delivery.index], delivery) {
                    Use::Now => shared.tally.ahead_used(fetched),
                    Use::Later => {}
                    Use::Never => shared.tally.ahead_dropped(fetched),
                }
            }
            Some(Err(_)) => ranges.iter().for_each(|range| pieces.fail(range)),
            None => is_over = true,
        }
    }
}
