//! Opening a file and finding things in it.

pub(crate) mod beside;
pub mod layout_hints;
mod link;
mod recover;
pub(crate) mod remembered;
#[cfg(feature = "select")]
mod sent;
pub(crate) mod session;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use bytes::Bytes;
use futures::future::BoxFuture;
use mutex::Mutex;
use rootfile::directory::Directory;
use rootfile::file::{Directories, KnownClasses};
use rootfile::key::Key;
use rootfile::{Known, Needs, Progress};
use tokio::time::Instant;

use crate::located::Located;
use crate::read::Decoders;
use crate::read::predict::history::AccessHistories;
use layout_hints::MetadataHints;
use link::{LINK, identify, known_of};
use recover::recover;
use remembered::{BEHIND, CachedMetadata};
use remote::address::{Address, FileLocations};
use remote::fetch::activity::Activity;
use remote::fetch::ledger::Phase;
use remote::fetch::{Answer, Fetcher, OpenEnds, RemoteFile};
use remote::near::FileMetadata;
use remote::report::{Report, source_names, timeline};
use remote::source::FileInfo;
use remote::store::Store;
use remote::{Error, ErrorKind, Result};

/// Reads of metadata before a file counts as cyclic: each level of directories takes one.
const STEPS_MAX: usize = 1024;

/// Metadata that a server brings beside the open are waited for at least so long.
const BROUGHT_TIME_MIN: Duration = Duration::from_millis(50);

/// Whether metadata that will probably be needed are fetched before that is certain.
#[derive(Debug, Clone)]
pub(crate) enum Speculation {
    /// A caller waits: a round trip costs more than a hundred kilobytes.
    Eager,
    /// The same for a file whose bytes clients read. uproot reads a list of keys with the
    /// [`BEHIND`] bytes that follow it.
    EagerForClients,
    /// Other files are read meanwhile, so that bytes are the main cost: only ranges that the files
    /// before needed are fetched early.
    Learned(MetadataHints),
}

/// An open ROOT file. Cheap to clone.
#[derive(Clone)]
pub struct File {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    remote: Arc<RemoteFile>,
    decoders: Decoders,
    histories: AccessHistories,
    file: rootfile::File,
    pub(crate) known: Arc<Mutex<Known>>,
    /// Bytes of objects among the known bytes.
    pub(crate) kept_bytes: AtomicU64,
    /// Where the last record of an object ended that was fetched, and bytes that follow it.
    pub(crate) behind: Mutex<(u64, Bytes)>,
    /// Those that have been looked into, by the offset of their records.
    pub(crate) directories: Mutex<BTreeMap<u64, Arc<Directory>>>,
    cached: Option<CachedMetadata>,
    speculation: Speculation,
}

/// A file whose server has answered, and of which nothing has been understood yet.
pub(crate) struct OpenBytes {
    pub remote: Arc<RemoteFile>,
    /// The bytes of metadata that have arrived; metadata read later are added.
    pub known: Arc<Mutex<Known>>,
    cached: Option<CachedMetadata>,
    pub histories: AccessHistories,
    speculation: Speculation,
    classes: Arc<KnownClasses>,
}

/// Streamer infos and access histories of the files that a session opened before. A clone shares
/// them.
#[derive(Clone, Default)]
pub(crate) struct EarlierFiles {
    pub classes: Arc<KnownClasses>,
    pub histories: AccessHistories,
}

/// A file that is taken for the one that is remembered, until its server has answered.
pub(crate) struct SpeculativeOpen {
    pub file: File,
    answer: Answer,
    activity: Activity,
}

/// One object in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyInfo {
    /// `directory/name`, without the cycle.
    pub path: String,
    pub cycle: u16,
    pub class: String,
    pub title: String,
    /// Bytes in the file and uncompressed.
    pub stored_bytes: u64,
    pub object_bytes: u64,
    /// Why nothing in this directory could be listed, where it is corrupt.
    pub problem: Option<Error>,
}

impl OpenBytes {
    pub async fn open(
        fetcher: &Fetcher,
        store: Option<&Store>,
        locations: FileLocations,
        speculation: Speculation,
        earlier: EarlierFiles,
    ) -> Result<Self> {
        let activity = Activity::within(fetcher.trace(), Phase::Connecting, None);
        let _waiting = activity.waiting();
        let cached = store.map(|store| CachedMetadata::of(store, fetcher.origin(&locations.urls)));
        // The end of a file that is remembered is there already.
        let is_known = cached.as_ref().is_some_and(CachedMetadata::knows);
        // The server of the entries knows where the metadata are.
        let first = locations.urls.first();
        let is_asked = !is_known && matches!(speculation, Speculation::Eager);
        let brought = first.filter(|_| is_asked).and_then(|url| fetcher.near().metadata(url));
        let ends = match &speculation {
            _ if is_known || brought.is_some() => {
                OpenEnds { head: LINK.head(), tail: 0, in_one: false }
            }
            Speculation::Learned(hints) => hints.ends(&locations.urls),
            _ => OpenEnds { head: LINK.head(), tail: LINK.tail(), in_one: false },
        };
        let locations = FileLocations { identify: Some(identify), ..locations };
        let opening = fetcher.open_ends(locations, ends, &activity);
        let (mut remote, brought) = beside(opening, brought).await?;
        let mut known = known_of(remote.info().size);
        for (offset, bytes) in remote.take_delivered() {
            known.supply(offset, bytes);
        }
        if let Some(cached) = &cached {
            cached.recall(&remote, remote.info(), &mut known);
        }
        if let Some(brought) = brought {
            take_brought(brought, remote.info(), &mut known);
        }
        let remote = Arc::new(remote);
        let known = Arc::new(Mutex::new(known));
        let EarlierFiles { classes, histories } = earlier;
        let histories = histories.noted_in(store.map(Store::parent));
        Ok(OpenBytes { remote, known, cached, histories, speculation, classes })
    }
}

/// Opens a file; its server brings metadata meanwhile, which are waited for about as long again.
async fn beside(
    opening: impl Future<Output = Result<RemoteFile>>,
    brought: Option<BoxFuture<'static, Option<FileMetadata>>>,
) -> Result<(RemoteFile, Option<FileMetadata>)> {
    let Some(brought) = brought else { return Ok((opening.await?, None)) };
    let begun = Instant::now();
    let mut brought = tokio::spawn(brought);
    let remote = opening.await?;
    let most = begun.elapsed().max(BROUGHT_TIME_MIN);
    let Ok(found) = tokio::time::timeout(most, &mut brought).await else {
        brought.abort();
        return Ok((remote, None));
    };
    let brought = found.ok().flatten();
    if brought.is_some() {
        remote.fetcher().near().count_metadata(&remote);
    }
    Ok((remote, brought))
}

/// Adds metadata that a server has brought, if they are of the file that was opened: what is known
/// of it is the same.
fn take_brought(brought: FileMetadata, info: &FileInfo, known: &mut Known) {
    let times = brought.modified.zip(info.modified);
    let is_same = |(offset, piece): &(u64, Bytes)| {
        known.get(*offset..*offset + piece.len() as u64).is_none_or(|now| now == *piece)
    };
    let is_it = brought.size == info.size
        && times.is_none_or(|(there, here)| there == here)
        && brought.pieces.iter().all(is_same);
    if is_it {
        brought.pieces.into_iter().for_each(|(offset, piece)| known.supply(offset, piece));
    }
}

impl File {
    /// Reads the header, key list and streamer information of an open ROOT file.
    ///
    /// # Errors
    /// `Corrupt` or `Unsupported` for a file that is no ROOT file, an empty one included; those of
    /// fetching.
    pub(crate) async fn of_bytes(bytes: OpenBytes, decoders: &Decoders) -> Result<Self> {
        let OpenBytes { remote, known, speculation, classes, .. } = &bytes;
        if remote.info().size == 0 {
            let error = Error::new(ErrorKind::Corrupt, "the file is empty: it has no bytes");
            let advice = "write it again: the program that made it ended before it wrote";
            return Err(error.with_url(remote.url()).with_advice(advice));
        }
        let activity = Activity::within(remote.trace(), Phase::Metadata, Some(remote.tag()));
        let _waiting = activity.waiting();
        let opened =
            progress(remote, known, speculation, |known| {
                match rootfile::File::open_among(known, classes) {
                    Err(error) if error.kind == rootfile::ErrorKind::Unclosed => {
                        Ok(Progress::Ready(None))
                    }
                    opened => Ok(opened?.map(Some)),
                }
            });
        let file = match opened.await? {
            Some(file) => file,
            None => recover(remote, known).await?,
        };
        Ok(File::new(bytes, decoders, file))
    }

    /// Presumes that a file still has its cached metadata, so that it can be read from before it is
    /// open; `None` where too few are cached.
    pub(crate) async fn open_speculatively(
        fetcher: &Fetcher,
        decoders: &Decoders,
        store: &Store,
        locations: FileLocations,
        earlier: EarlierFiles,
    ) -> Result<Option<SpeculativeOpen>> {
        let cached = CachedMetadata::of(store, fetcher.origin(&locations.urls));
        let Some((info, known)) = cached.speculative() else { return Ok(None) };
        let opened = rootfile::File::open_among(&known, &earlier.classes);
        let Ok(Progress::Ready(file)) = opened else { return Ok(None) };
        let activity = Activity::within(fetcher.trace(), Phase::Connecting, None);
        let locations = FileLocations { identify: Some(identify), ..locations };
        let (remote, answer) = fetcher.open_early(locations, LINK.head(), info, &activity).await?;
        let bytes = OpenBytes {
            remote: Arc::new(remote),
            known: Arc::new(Mutex::new(known)),
            cached: Some(cached),
            histories: earlier.histories.noted_in(Some(store.parent())),
            // The connections are there, and nothing else to be done meanwhile.
            speculation: Speculation::Eager,
            classes: earlier.classes,
        };
        let file = File::new(bytes, decoders, file);
        Ok(Some(SpeculativeOpen { file, answer, activity }))
    }

    fn new(bytes: OpenBytes, decoders: &Decoders, file: rootfile::File) -> Self {
        let OpenBytes { remote, known, cached, histories, speculation, .. } = bytes;
        let inner = Inner {
            remote,
            decoders: decoders.clone(),
            histories,
            file,
            known,
            kept_bytes: AtomicU64::new(0),
            behind: Mutex::default(),
            directories: Mutex::default(),
            cached,
            speculation,
        };
        File { inner: Arc::new(inner) }
    }

    /// The address as given, without secrets.
    pub fn url(&self) -> &str {
        self.inner.remote.url()
    }

    /// Its address, relative to which the files that it names are found: the first of its
    /// addresses.
    pub(crate) fn place(&self) -> Result<&Address> {
        self.inner
            .remote
            .urls()
            .first()
            .ok_or_else(|| Error::new(ErrorKind::InvalidArgument, "a file without an address"))
    }

    /// Bytes.
    pub fn size(&self) -> u64 {
        self.inner.remote.info().size
    }

    /// Bytes of metadata that are kept for this file.
    pub fn metadata_bytes(&self) -> u64 {
        self.inner.known.lock().held_bytes()
    }

    /// The format as read so far.
    pub fn format(&self) -> &rootfile::File {
        &self.inner.file
    }

    /// Whether the file was never closed: then it has the objects that had been saved before, and
    /// the report says so.
    pub fn is_recovered(&self) -> bool {
        self.inner.file.is_recovered
    }

    /// Where the time and the bytes of this file's reads went.
    pub fn report(&self) -> Report {
        Report::new(self.inner.remote.trace(), Some(self.inner.remote.tag()))
    }

    /// The names of the servers and disks from which it has been read so far.
    pub fn sources(&self) -> Vec<String> {
        source_names(self.inner.remote.trace(), self.inner.remote.tag())
    }

    /// The reads of this file over time, as a picture in SVG.
    pub fn timeline_svg(&self) -> String {
        self.timeline_svg_to(None)
    }

    /// The same up to a time of the trace, for a caller whose own work afterwards is to be seen.
    pub fn timeline_svg_to(&self, until: Option<Duration>) -> String {
        let trace = self.inner.remote.trace();
        let tag = self.inner.remote.tag();
        timeline::svg(&trace.records(), tag, self.size(), until, self.url(), &self.report())
    }

    /// The reads of this file over time, in lines of `width` characters, one a connection.
    pub fn timeline_text(&self, width: usize) -> String {
        let trace = self.inner.remote.trace();
        let tag = self.inner.remote.tag();
        timeline::text(&trace.records(), tag, width)
    }

    pub(crate) fn remote(&self) -> &Arc<RemoteFile> {
        &self.inner.remote
    }

    /// The bytes of the file that are here, sharing them.
    pub(crate) fn known(&self) -> Known {
        self.inner.known.lock().clone()
    }

    pub(crate) fn histories(&self) -> &AccessHistories {
        &self.inner.histories
    }

    pub(crate) fn decoders(&self) -> &Decoders {
        &self.inner.decoders
    }

    /// Every key of the file, each directory followed by its content; `recursive` off stays at the
    /// top. A corrupt directory says so in its own key, and does not hide the others.
    pub async fn keys(&self, recursive: bool) -> Result<Vec<KeyInfo>> {
        let directories = if recursive {
            self.reading(|file, known| file.directories(known)).await?
        } else {
            let readable = vec![self.inner.file.top.clone()];
            Directories { readable, broken: Vec::new() }
        };
        let mut below: BTreeMap<String, Vec<Key>> =
            directories.readable.into_iter().map(|d| (d.path, d.keys)).collect();
        let mut broken: BTreeMap<String, _> = directories.broken.into_iter().collect();
        let mut found = Vec::new();
        let mut open = vec![(String::new(), below.remove("").unwrap_or_default().into_iter())];
        while let Some((above, keys)) = open.last_mut() {
            let Some(key) = keys.next() else {
                open.pop();
                continue;
            };
            let path =
                if above.is_empty() { key.name.clone() } else { format!("{above}/{}", key.name) };
            if let Some(keys) = key.is_directory().then(|| below.remove(&path)).flatten() {
                open.push((path.clone(), keys.into_iter()));
            }
            let problem = key.is_directory().then(|| broken.remove(&path)).flatten();
            found.push(KeyInfo {
                problem: problem.map(|error| error.located(self.url())),
                path,
                cycle: key.cycle,
                class: key.class,
                title: key.title,
                stored_bytes: key.record_len,
                object_bytes: key.content_len,
            });
        }
        Ok(found)
    }

    /// Adds the bytes that `read` has needed of this file to those expected of the other files of a
    /// chain.
    pub(crate) fn add_hints(
        &self,
        hints: &MetadataHints,
        read: impl Fn(&rootfile::File, &Known) -> rootfile::Result<Progress<()>>,
    ) {
        hints.learn(&self.inner.file, &self.known(), LINK.head(), read);
    }

    /// Stores the bytes that `read` needs for the next time.
    pub(crate) fn learn(
        &self,
        read: impl Fn(&rootfile::File, &Known) -> rootfile::Result<Progress<()>>,
    ) {
        if let Some(cached) = &self.inner.cached {
            cached.learn(&self.inner.remote, &self.inner.file, &self.inner.known.lock(), read);
        }
    }

    /// Calls a reading function until it has the bytes that it needs.
    pub(crate) async fn reading<T>(
        &self,
        read: impl Fn(&rootfile::File, &Known) -> rootfile::Result<Progress<T>>,
    ) -> Result<T> {
        let remote = &self.inner.remote;
        let activity = Activity::within(remote.trace(), Phase::Metadata, Some(remote.tag()));
        let _waiting = activity.waiting();
        let Inner { file, known, speculation, .. } = &*self.inner;
        progress(remote, known, speculation, |known| read(file, known)).await
    }
}

impl SpeculativeOpen {
    /// Waits for the server's answer; whether it is the file that was remembered. If it is not,
    /// whatever was read of it is nothing.
    ///
    /// # Errors
    /// Why the file cannot be opened.
    pub async fn confirm(self) -> Result<bool> {
        let _waiting = self.activity.waiting();
        let (info, delivered) = self.answer.wait().await?;
        let mut known = known_of(info.size);
        delivered.into_iter().for_each(|(offset, bytes)| known.supply(offset, bytes));
        let Inner { remote, cached, known: known_before, .. } = &*self.file.inner;
        let is_it = cached.as_ref().is_some_and(|cached| cached.recall(remote, &info, &mut known));
        if is_it {
            known_before.lock().absorb(known);
        }
        Ok(is_it)
    }
}

/// Supplies the ranges that `read` lacks until it is ready. Bytes that arrive are there for others
/// at once.
pub(crate) async fn progress<T>(
    remote: &RemoteFile,
    known: &Mutex<Known>,
    speculation: &Speculation,
    mut read: impl FnMut(&Known) -> rootfile::Result<Progress<T>>,
) -> Result<T> {
    for _ in 0..STEPS_MAX {
        // A copy shares the bytes.
        let here = known.lock().clone();
        let progress = read(&here).located(remote.url())?;
        drop(here);
        let mut needs = match progress {
            Progress::Ready(value) => return Ok(value),
            Progress::NeedsData(needs) => needs,
        };
        match speculation {
            Speculation::Eager => {}
            Speculation::EagerForClients => {
                needs
                    .required
                    .iter_mut()
                    .for_each(|range| range.end = range.end.saturating_add(BEHIND));
            }
            Speculation::Learned(hints) => {
                hints.note(&needs, remote.info().size);
                hints.choose(&mut needs, remote.info().size);
            }
        }
        supply(remote, known, &needs).await?;
    }
    let text = format!(
        "metadata did not resolve after {STEPS_MAX} reads: the directory structure is cyclic or \
         corrupt"
    );
    Err(Error::new(ErrorKind::Corrupt, text).with_url(remote.url()))
}

pub(crate) async fn supply(remote: &RemoteFile, known: &Mutex<Known>, needs: &Needs) -> Result<()> {
    let size = remote.info().size;
    let within = |range: &Range<u64>| range.start.min(size)..range.end.min(size);
    let Needs { required, speculative, next } = needs;
    let asked = required.iter().chain(speculative).chain(next).map(within);
    let lacking = known.lock().lacking(asked);
    if lacking.is_empty() {
        return Err(Error::new(ErrorKind::Corrupt, "the file ends before its structure does")
            .with_url(remote.url())
            .with_advice("it may be truncated, or still being written"));
    }
    // Each as it comes: clients that read bytes ask for the first ones before the last are here.
    let supply = |index: usize, bytes| known.lock().supply(lacking[index].start, bytes);
    remote.fetch_each(&lacking, supply).await
}
