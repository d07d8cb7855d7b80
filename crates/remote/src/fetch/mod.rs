//! Bytes of files, from wherever they are. Knows ranges, not ROOT.
//!
//! One driver task owns the scheduler and every connection of an engine ([`driver`]); everything
//! else holds handles. [`RemoteFile::want`] requests ranges and returns each as it becomes
//! complete; granted bytes are counted against the engine's one memory budget until the
//! [`MemoryReservation`] is dropped, and that is all the back-pressure there is.

pub mod activity;
mod ahead;
mod cached;
mod command;
mod driver;
pub(crate) mod failed;
mod files;
mod kept;
pub mod ledger;
mod links;
pub mod log;
pub mod notes;
mod store;
pub mod tally;
pub mod trace;
mod wants;

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use credentials::CredentialStore;
use futures::StreamExt;
use mutex::RwLock;
use tokio::sync::{mpsc, oneshot};

use crate::address::{Address, CacheUse, FileLocations, FileUse};
use crate::cache::{Cache, CacheEntry, CacheLocal, UnpackedPart};
use crate::clock::Clock;
use crate::config::Config;
use crate::error::{Error, ErrorKind, Result};
use crate::near::NearServers;
use crate::near::memory::NearMemory;
use crate::origin::{Exposure, FileOrigin};
use crate::source::FileInfo;
use crate::source::held::CACHE;
use crate::source::network::Network;
use activity::Activity;
use cached::CacheOpen;
use command::{Begun, DriverCommand, FileTag, KeptEntry, Opened};
pub use command::{CameFrom, Urgency, Want};
use failed::{AttemptedOpen, FailedOpens};
use kept::Keeper;
pub use kept::KeptBytes;
use links::Links;
pub use scheduler::OpenEnds;
use trace::Trace;
pub use wants::Wants;

/// A range that has arrived.
#[derive(Debug)]
pub struct Delivery {
    /// Position in the wants that were requested together.
    pub index: usize,
    /// The bytes of that want.
    pub bytes: Bytes,
    /// Where the bytes were.
    pub from: CameFrom,
    /// Keeps them counted against the memory budget.
    pub reservation: MemoryReservation,
}

impl Delivery {
    /// Bytes that were fetched from a server for this want.
    pub fn fetched(&self) -> u64 {
        match self.from.is_cached {
            true => 0,
            false => self.bytes.len() as u64 - self.from.joined,
        }
    }
}

/// Holds a delivery's share of the memory budget; dropping it gives the share back.
#[derive(Debug)]
pub struct MemoryReservation {
    group: u64,
    index: usize,
    commands: mpsc::UnboundedSender<DriverCommand>,
}

impl MemoryReservation {
    /// Reports how many bytes are really buffered now.
    pub fn resize(&self, cost: u64) {
        let _ = self.commands.send(DriverCommand::Resize {
            group: self.group,
            index: self.index,
            cost,
        });
    }

    /// Reports that the bytes are the consumer's now: they hold back only the prefetch.
    pub fn hand_over(&self) {
        let _ =
            self.commands.send(DriverCommand::HandOver { group: self.group, index: self.index });
    }
}

impl Drop for MemoryReservation {
    fn drop(&mut self) {
        let _ = self.commands.send(DriverCommand::Release { group: self.group, index: self.index });
    }
}

/// Bytes in the hands of a consumer: until it is dropped, so much less is prefetched.
#[derive(Debug)]
pub struct LentMemory {
    bytes: u64,
    commands: mpsc::UnboundedSender<DriverCommand>,
}

impl Drop for LentMemory {
    fn drop(&mut self) {
        let _ = self.commands.send(DriverCommand::TakeBack { bytes: self.bytes });
    }
}

/// Handle to the driver. Cheap to clone; the driver ends when the last handle is gone.
#[derive(Debug, Clone)]
pub struct Fetcher {
    commands: mpsc::UnboundedSender<DriverCommand>,
    groups: Arc<AtomicU64>,
    links: Arc<Links>,
    memory_bytes_max: Arc<AtomicU64>,
    cache: Arc<RwLock<Option<Cache>>>,
    credential_store: Arc<RwLock<CredentialStore>>,
    failed: FailedOpens,
    near: NearServers,
    trace: Trace,
}

impl Fetcher {
    /// Starts a driver on the present tokio runtime.
    pub fn start(config: &Config, network: Arc<dyn Network>) -> Self {
        let (commands, receiver) = mpsc::unbounded_channel();
        let clock = Clock::start();
        let trace = Trace::new(clock);
        let links = Arc::new(Links::default());
        let memory = Arc::new(NearMemory::new(config, clock));
        let near = NearServers::new(config, network.clone(), memory.clone());
        let driver = driver::Driver::new(
            config.clone(),
            network,
            clock,
            trace.clone(),
            links.clone(),
            memory,
        );
        tokio::spawn(driver.run(receiver));
        let memory_bytes_max = Arc::new(AtomicU64::new(config.memory_bytes_max));
        let cache = Arc::new(RwLock::new(cache_of(config, &trace)));
        let groups = Arc::default();
        let failed = FailedOpens::new(clock);
        let credential_store = Arc::new(RwLock::new(config.credential_store.clone()));
        Fetcher {
            commands,
            groups,
            links,
            memory_bytes_max,
            cache,
            credential_store,
            failed,
            near,
            trace,
        }
    }

    /// The cache on this machine's disk, where the settings name one that can be used.
    pub fn cache(&self) -> Option<Cache> {
        self.cache.read().clone()
    }

    /// Whose word the bytes of a file at these addresses are; `None` where none is far away.
    pub fn origin(&self, urls: &[Address]) -> Option<FileOrigin> {
        FileOrigin::of(urls, &self.credential_store.read())
    }

    /// The same for the cache, which may have files of this machine.
    fn cached_origin(&self, urls: &[Address]) -> FileOrigin {
        FileOrigin::named(urls, &self.credential_store.read())
    }

    /// The opens that failed a short time ago.
    pub(crate) fn failed(&self) -> &FailedOpens {
        &self.failed
    }

    /// The servers that select entries.
    pub fn near(&self) -> &NearServers {
        &self.near
    }

    /// The memory budget of all reads.
    pub fn memory_bytes_max(&self) -> u64 {
        self.memory_bytes_max.load(Ordering::Relaxed)
    }

    /// Changes the settings: limits at once, those of servers for files that are opened from now
    /// on.
    pub fn configure(&self, config: Config, network: Arc<dyn Network>) {
        self.memory_bytes_max.store(config.memory_bytes_max, Ordering::Relaxed);
        let is_other = |cache: &Cache| *cache.config() != config.cache;
        if self.cache().as_ref().is_none_or(is_other) {
            let cache = cache_of(&config, &self.trace);
            *self.cache.write() = cache;
        }
        self.failed.forget();
        *self.credential_store.write() = config.credential_store.clone();
        self.near.configure(&config, &network);
        let _ = self.commands.send(DriverCommand::Configure { config: Box::new(config), network });
    }

    /// The requests, their servers and their times.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// Counts against the memory budget so many decoded bytes, which go to a consumer.
    pub fn hand_out(&self, bytes: u64) -> LentMemory {
        let commands = self.commands.clone();
        let _ = commands.send(DriverCommand::HandOut { bytes });
        LentMemory { bytes, commands }
    }

    /// Finds a file, which may have several locations, and fetches its first `head` bytes and,
    /// where a server can answer that before its size is known, the last `tail`. The activity
    /// records the phases of the wait.
    pub async fn open(
        &self,
        locations: FileLocations,
        head: u64,
        tail: u64,
        activity: &Activity,
    ) -> Result<RemoteFile> {
        self.open_ends(locations, OpenEnds { head, tail, in_one: false }, activity).await
    }

    /// As [`Fetcher::open`], with these bytes.
    pub async fn open_ends(
        &self,
        locations: FileLocations,
        ends: OpenEnds,
        activity: &Activity,
    ) -> Result<RemoteFile> {
        let urls: Arc<[Address]> = locations.urls.clone().into();
        let shown = shown(&urls);
        let local = are_local(&urls);
        tracing::info!("opening {shown}");
        self.prepare_near(&locations);
        let cached = self.cached(&locations, ends.head, None).await;
        let opening = self.send_open(locations, ends, None, cached, activity);
        let opened = async { opening?.wait().await };
        let opened = opened.await.map_err(|error| error.with_url(&*shown))?;
        Ok(RemoteFile {
            file: opened.file,
            info: opened.info,
            delivered: opened.delivered,
            source: opened.source,
            kept: opened.kept,
            url: shown,
            urls,
            local,
            exposure: opened.exposure,
            keeper: Keeper::default(),
            fetcher: self.clone(),
        })
    }

    /// As [`Fetcher::open`], of a file that is taken for the one that `info` describes: it can be
    /// read from at once, and those requests leave together with the open. None of the data counts
    /// before the [`Answer`] confirms `info`.
    pub async fn open_early(
        &self,
        locations: FileLocations,
        head: u64,
        info: FileInfo,
        activity: &Activity,
    ) -> Result<(RemoteFile, Answer)> {
        let (begun, beginning) = oneshot::channel();
        let urls: Arc<[Address]> = locations.urls.clone().into();
        let shown = shown(&urls);
        let local = are_local(&urls);
        tracing::info!("opening {shown}, remembered from before");
        self.prepare_near(&locations);
        let cached = self.cached(&locations, head, Some(&info)).await;
        let ends = OpenEnds { head, tail: 0, in_one: false };
        let opening = self.send_open(locations, ends, Some(begun), cached, activity);
        let opening = opening.map_err(|error| error.with_url(&*shown))?;
        // An address of no server is refused before anything begins.
        let Ok(begun) = beginning.await else {
            let refused = opening.wait().await;
            return Err(refused.err().unwrap_or_else(stopped).with_url(&*shown));
        };
        let file = RemoteFile {
            file: begun.file,
            info,
            delivered: Vec::new(),
            source: begun.source,
            kept: None,
            url: shown.clone(),
            urls,
            local,
            exposure: begun.exposure,
            keeper: Keeper::default(),
            fetcher: self.clone(),
        };
        Ok((file, Answer { opening, url: shown }))
    }

    /// As [`Fetcher::open`], of a file of which these ranges are read first: they leave together
    /// with the open.
    pub async fn open_wanting(
        &self,
        locations: FileLocations,
        ranges: &[Range<u64>],
        activity: &Activity,
    ) -> Result<(RemoteFile, Wants)> {
        let cache = self.cache();
        let origin = self.cached_origin(&locations.urls);
        if cache.is_some_and(|cache| cache.find(&origin).is_some()) {
            // Its cached part can be used once its server has answered.
            let file = self.open(locations, 1, 0, activity).await?;
            let wants = file.read(ranges);
            return Ok((file, wants));
        }
        let unknown = FileInfo::default();
        let (mut file, answer) = self.open_early(locations, 1, unknown, activity).await?;
        let wants = file.read(ranges);
        file.info = answer.wait().await?.0;
        Ok((file, wants))
    }

    /// Connects to the server that will select entries of the file, beside its open.
    fn prepare_near(&self, locations: &FileLocations) {
        let is_read = locations.file_use == FileUse::Decoded && !locations.is_guess;
        locations
            .urls
            .first()
            .filter(|_| is_read)
            .into_iter()
            .for_each(|url| self.near.prepare(url));
    }

    fn send_open(
        &self,
        locations: FileLocations,
        ends: OpenEnds,
        early: Option<oneshot::Sender<Begun>>,
        cached: Option<Box<CacheOpen>>,
        activity: &Activity,
    ) -> Result<Opening> {
        // A file of this machine may appear at any moment.
        let is_far = cached.as_ref().is_some_and(|cached| !cached.origin.is_local());
        let key = is_far.then(|| self.failed.key(&locations.urls));
        // An open that the cache answers sends no request.
        let is_asked = cached.as_ref().is_none_or(|cached| cached.believed.is_none());
        if is_asked && locations.cache_use == CacheUse::Only {
            let text = "the cache does not have it, or its server has to be asked whether it is so";
            return Err(Error::new(ErrorKind::NotFound, text));
        }
        let may_recall = is_asked && locations.cache_use == CacheUse::Usual;
        if let Some(error) = key.filter(|_| may_recall).and_then(|key| self.failed.recent(key)) {
            tracing::info!("not asked again: {error}");
            return Err(error);
        }
        let remembered = key.filter(|_| !locations.is_guess);
        let left_out = locations.urls.iter().find_map(Address::left_out);
        let (reply, opened) = oneshot::channel();
        let activity = activity.clone();
        let command = DriverCommand::Open { locations, ends, activity, early, cached, reply };
        self.commands.send(command).map_err(|_| stopped())?;
        let failed = remembered.map(|key| self.failed.attempt(key));
        Ok(Opening { opened, failed, left_out })
    }

    /// The cache's part in the open of a file, for a caller who takes it for the one that `info`
    /// describes, if any.
    async fn cached(
        &self,
        locations: &FileLocations,
        head: u64,
        info: Option<&FileInfo>,
    ) -> Option<Box<CacheOpen>> {
        let is_off = locations.cache_use == CacheUse::Off;
        let asked = locations.urls.first().filter(|_| !is_off)?.clone();
        let cache = self.cache()?;
        if !keeps(&cache, &locations.urls).await {
            return None;
        }
        let origin = self.cached_origin(&locations.urls);
        let charges = locations.charges;
        let found = cache.find(&origin).map(|entry| entry.charged_to(charges));
        let is_it = |entry: &CacheEntry| info.is_none_or(|info| entry.info == *info);
        // To look at a file of this machine costs little, and shows that it was replaced.
        let may_believe = locations.cache_use != CacheUse::Verified && !origin.is_local();
        let is_believed = |entry: &CacheEntry| may_believe && is_it(entry) && cache.believes(entry);
        let believed = found.as_ref().filter(|entry| is_believed(entry));
        let believed = believed.and_then(|entry| cache.head(entry, head));
        // Without a description of the file no cached bytes are its, until its server confirms it.
        let loaded = found.clone();
        let found = found.filter(|entry| believed.is_some() || (info.is_some() && is_it(entry)));
        let identify = locations.identify;
        Some(Box::new(CacheOpen {
            cache,
            asked,
            origin,
            identify,
            found,
            loaded,
            believed,
            charges,
        }))
    }
}

/// Whether the cache has files at these addresses. The question may wait for a file system.
async fn keeps(cache: &Cache, urls: &[Address]) -> bool {
    let is_local = urls.first().is_some_and(Address::is_local);
    if !is_local || cache.config().local != CacheLocal::Network {
        return cache.keeps(urls);
    }
    let cache = cache.clone();
    let urls = urls.to_vec();
    tokio::task::spawn_blocking(move || cache.keeps(&urls)).await.unwrap_or(false)
}

/// The cache that the settings name. Where it cannot be used, the report says why.
fn cache_of(config: &Config, trace: &Trace) -> Option<Cache> {
    Cache::of(&config.cache).unwrap_or_else(|error| {
        trace.note(None, format!("warning: {error}"));
        None
    })
}

/// An open that has been sent to the driver.
#[derive(Debug)]
struct Opening {
    opened: oneshot::Receiver<Result<Opened>>,
    /// Where a failure is remembered; `None` without a cache.
    failed: Option<AttemptedOpen>,
    /// The parts that the address had in the process that it comes from.
    left_out: Option<String>,
}

impl Opening {
    async fn wait(self) -> Result<Opened> {
        use ErrorKind::{NotFound, PermissionDenied, Unauthenticated};
        let opened = self.opened.await.map_err(|_| stopped())?;
        let is_refusal =
            |error: &Error| matches!(error.kind(), NotFound | PermissionDenied | Unauthenticated);
        let opened = opened.map_err(|error| match &self.left_out {
            Some(left_out) if is_refusal(&error) => error.and(left_out),
            _ => error,
        });
        opened.map_err(|error| match self.failed {
            Some(attempted) => attempted.failed_with(error),
            None => error,
        })
    }
}

/// The answer to the open of a file that has been read from meanwhile.
#[derive(Debug)]
pub struct Answer {
    opening: Opening,
    url: Arc<str>,
}

impl Answer {
    /// The description of the file, and its first bytes.
    ///
    /// # Errors
    /// Why it cannot be opened.
    pub async fn wait(self) -> Result<(FileInfo, Vec<(u64, Bytes)>)> {
        let opened = self.opening.wait().await.map_err(|error| error.with_url(&*self.url))?;
        Ok((opened.info, opened.delivered))
    }
}

/// The addresses of a file as they may be shown.
fn shown(urls: &[Address]) -> Arc<str> {
    urls.iter().map(Address::to_string).collect::<Vec<_>>().join("|").into()
}

fn are_local(urls: &[Address]) -> bool {
    urls.iter().all(Address::is_local)
}

fn stopped() -> Error {
    Error::new(ErrorKind::Cancelled, "the engine has been shut down")
}

/// A file whose size is known. Dropping it closes it.
#[derive(Debug)]
pub struct RemoteFile {
    file: FileTag,
    info: FileInfo,
    delivered: Vec<(u64, Bytes)>,
    source: String,
    /// The cache's entry; `None` without one, and for a file that was read before it was open.
    kept: Option<KeptEntry>,
    url: Arc<str>,
    urls: Arc<[Address]>,
    /// Every place that it is read from is a disk of this machine.
    local: bool,
    exposure: Exposure,
    /// Delivered bytes that a reader will use again.
    keeper: Keeper,
    fetcher: Fetcher,
}

impl RemoteFile {
    /// Keeps the bytes delivered from now on, up to `bytes_max`, for [`RemoteFile::take_kept`].
    /// They count as bytes in the hands of a consumer.
    pub fn keep(&self, bytes_max: u64) {
        self.keeper.start(bytes_max);
    }

    /// Drops the kept bytes, and keeps no further ones.
    pub fn keep_no_more(&self) {
        self.keeper.stop();
    }

    /// Takes the kept bytes of a range; `None` if they were not kept, or were taken before.
    pub fn take_kept(&self, range: &Range<u64>) -> Option<KeptBytes> {
        self.keeper.take(range)
    }

    /// The locations that it is read from, as the caller or a Metalink names them.
    pub fn urls(&self) -> &[Address] {
        &self.urls
    }

    /// Whose word its bytes are; `None` of a local file.
    pub fn origin(&self) -> Option<FileOrigin> {
        Some(self.fetcher.origin(&self.urls)?.exposed(self.exposure.is_exposed()))
    }

    /// The same of any file, for a cache that has it.
    pub fn cached_origin(&self) -> FileOrigin {
        self.fetcher.cached_origin(&self.urls).exposed(self.exposure.is_exposed())
    }

    /// The address as given, without secrets.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Size, time and version, as the open was answered.
    pub fn info(&self) -> &FileInfo {
        &self.info
    }

    /// The server that answered the open.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Whether the cache answered the open, without a request to the file's server.
    pub fn is_believed(&self) -> bool {
        self.source == CACHE
    }

    /// When the file's server last described it, in seconds since 1970; `None` where the cache has
    /// nothing of the file.
    pub fn checked(&self) -> Option<u64> {
        self.kept.as_ref().map(|kept| kept.entry.checked())
    }

    /// Whether the cache had bytes of the file before this open.
    pub fn was_held(&self) -> bool {
        self.kept.as_ref().is_some_and(|kept| kept.had_bytes)
    }

    /// Whether the cache has all bytes of a range now.
    pub fn is_held(&self, range: &Range<u64>) -> bool {
        let content = self.kept.as_ref().map(|kept| &kept.entry.content);
        content.is_some_and(|content| !content.is_over() && content.holds(range))
    }

    /// Whether the cache stores the bytes fetched of the file, as far as is known now.
    pub fn is_kept(&self) -> bool {
        let content = self.kept.as_ref().map(|kept| &kept.entry.content);
        content.is_some_and(|content| !content.is_over() && !content.is_refused())
    }

    /// Bytes of decompressed baskets and pages that may be given to [`RemoteFile::unpacked`] now; 0
    /// where the cache keeps all as it is in the file.
    pub fn unpacked_room(&self) -> u64 {
        let is_uncached = self.local && self.kept.is_none();
        let cache = if is_uncached { None } else { self.fetcher.cache() };
        cache.map_or(0, |cache| cache.packing_room())
    }

    /// Gives the cache a basket or a page that was decompressed, to be cached with another codec.
    pub fn unpacked(&self, part: UnpackedPart) {
        let _ = self.fetcher.commands.send(DriverCommand::Unpacked { file: self.file, part });
    }

    /// Gives the cache bytes of the file, by offset, that were remembered and not fetched.
    pub fn remembered(&self, pieces: &[(u64, Bytes)]) {
        if self.fetcher.cache().is_some() {
            let command = DriverCommand::Remembered { file: self.file, pieces: pieces.to_vec() };
            let _ = self.fetcher.commands.send(command);
        }
    }

    /// Whether all of it is read from a disk of this machine.
    pub fn is_local(&self) -> bool {
        self.local
    }

    /// The trace of the engine that reads it.
    pub fn trace(&self) -> &Trace {
        self.fetcher.trace()
    }

    /// The number that the trace knows this file by.
    pub fn tag(&self) -> u32 {
        self.file.0
    }

    /// Bytes that came with the open, by offset; once.
    pub fn take_delivered(&mut self) -> Vec<(u64, Bytes)> {
        std::mem::take(&mut self.delivered)
    }

    /// Bytes that the links to the engine's servers hold, as far as is known: as many as a round
    /// trip spent waiting could have brought.
    pub fn pipe_bytes(&self) -> u64 {
        self.fetcher.links.pipe_bytes()
    }

    /// The longest round trip to the engine's servers; zero while it is unknown.
    pub fn round_trip(&self) -> Duration {
        self.fetcher.links.round_trip()
    }

    /// Bytes a second of the links to the engine's servers; `None` while nothing has shown them.
    pub fn bandwidth(&self) -> Option<u64> {
        self.fetcher.links.bandwidth()
    }

    /// Opens further files of the same engine.
    pub fn fetcher(&self) -> &Fetcher {
        &self.fetcher
    }

    /// Reads ranges for a caller who waits for them.
    pub fn read(&self, ranges: &[Range<u64>]) -> Wants {
        self.want(Want::demands(ranges))
    }

    /// Fetches a few ranges whole, for metadata: each with its first byte's offset, in the order of
    /// `ranges`.
    ///
    /// # Errors
    /// That of the first range that cannot be read.
    pub async fn fetch(&self, ranges: &[Range<u64>]) -> Result<Vec<(u64, Bytes)>> {
        let mut fetched = Vec::with_capacity(ranges.len());
        self.fetch_each(ranges, |index, bytes| fetched.push((index, bytes))).await?;
        // Servers answer in any order.
        fetched.sort_by_key(|(index, _)| *index);
        Ok(fetched.into_iter().map(|(index, bytes)| (ranges[index].start, bytes)).collect())
    }

    /// As [`RemoteFile::fetch`]; `arrived` takes the position and the bytes of each range as it
    /// comes, in any order.
    ///
    /// # Errors
    /// As [`RemoteFile::fetch`].
    pub async fn fetch_each(
        &self,
        ranges: &[Range<u64>],
        mut arrived: impl FnMut(usize, Bytes),
    ) -> Result<()> {
        let mut wants = self.ask(Want::demands(ranges), true);
        while let Some(delivery) = wants.next().await {
            let Delivery { index, bytes, .. } = delivery?;
            arrived(index, bytes);
        }
        Ok(())
    }
}

impl Drop for RemoteFile {
    fn drop(&mut self) {
        let _ = self.fetcher.commands.send(DriverCommand::Close { file: self.file });
    }
}
