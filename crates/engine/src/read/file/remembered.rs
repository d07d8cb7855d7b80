//! Metadata of one file in the store, compared with the server's present answer.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use mutex::Mutex;
use rootfile::{File, Known, Progress};

use super::link::known_of;
use remote::fetch::RemoteFile;
use remote::origin::FileOrigin;
use remote::source::FileInfo;
use remote::store::{Entry, Store};

/// Number of bytes behind metadata that are read and stored with them where clients read the file.
pub(super) const BEHIND: u64 = 8;

/// Result of a function that reads metadata.
type Read = rootfile::Result<Progress<()>>;

/// One file's place in the store.
#[derive(Debug)]
pub struct CachedMetadata {
    store: Store,
    /// `None` of a local file, of which nothing is stored.
    origin: Option<FileOrigin>,
    /// As it was found, until it has been held against the file.
    found: Mutex<Option<Entry>>,
    knows: bool,
    /// The entry is the present file's, and further metadata are added to it.
    is_true: AtomicBool,
    /// Bytes of metadata that there were when the entry was last up to date.
    bytes_then: AtomicU64,
}

impl CachedMetadata {
    pub fn of(store: &Store, origin: Option<FileOrigin>) -> Self {
        let found = origin.as_ref().and_then(|origin| store.find(origin));
        let knows = found.is_some();
        CachedMetadata {
            store: store.clone(),
            origin,
            found: Mutex::new(found),
            knows,
            is_true: AtomicBool::new(false),
            bytes_then: AtomicU64::new(0),
        }
    }

    /// Whether there was an entry.
    pub fn knows(&self) -> bool {
        self.knows
    }

    /// The cached metadata, not yet compared with anything.
    pub fn speculative(&self) -> Option<(FileInfo, Known)> {
        let found = self.found.lock();
        let entry = found.as_ref()?;
        let mut known = known_of(entry.info.size);
        entry.pieces.iter().for_each(|(at, piece)| known.supply(*at, piece.clone()));
        Some((entry.info.clone(), known))
    }

    /// Adds the cached metadata to the bytes that came with the open, if these and the server's
    /// answer show that it is the same file; returns whether they do.
    pub fn recall(&self, remote: &RemoteFile, info: &FileInfo, known: &mut Known) -> bool {
        let Some(entry) = self.found.lock().take() else { return false };
        if !is_same(&entry, info, known) {
            let text = format!("{} has changed since it was last read", remote.url());
            remote.trace().note(Some(remote.tag()), text);
            self.origin.iter().for_each(|origin| self.store.forget(origin));
            return false;
        }
        self.is_true.store(true, Ordering::Relaxed);
        // Reads take them from here: a cache that lacks them would never get them.
        remote.remembered(&entry.pieces);
        for (offset, piece) in entry.pieces {
            known.supply(offset, piece);
        }
        self.bytes_then.store(known.held_bytes(), Ordering::Relaxed);
        true
    }

    /// Stores the bytes that opening the file and then `read` need, unless they are stored. Nothing
    /// is parsed anew: `read` says where the bytes are.
    pub fn learn(
        &self,
        remote: &RemoteFile,
        file: &File,
        known: &Known,
        read: impl Fn(&File, &Known) -> Read,
    ) {
        // Of a server that does not say when a file changed, its size alone says too little.
        let is_told_apart = !remote.info().says_only_size();
        let bytes_now = known.held_bytes();
        // An entry that has not been compared with the file yet may be another one's.
        let is_presumed = self.found.lock().is_some();
        if is_presumed
            || !is_told_apart
            || self.bytes_then.swap(bytes_now, Ordering::Relaxed) == bytes_now
        {
            return;
        }
        // Bytes that arrived without TLS are not stored for origins that are reached within it.
        let Some(origin) = self.origin.as_ref().filter(|o| remote.origin().as_ref() == Some(*o))
        else {
            return;
        };
        let mut needed = known.without_bytes();
        if self.is_true.load(Ordering::Relaxed)
            && let Some(before) = self.store.find(origin)
        {
            before.pieces.into_iter().for_each(|(at, piece)| needed.supply(at, piece));
        }
        let bytes_before = needed.held_bytes();
        if add_needed(file, known, &mut needed, read).is_none()
            || needed.held_bytes() == bytes_before
        {
            return;
        }
        let pieces = needed.pieces().map(|(at, piece)| (at, piece.clone())).collect();
        self.store.keep(origin, &Entry { info: remote.info().clone(), pieces });
        self.is_true.store(true, Ordering::Relaxed);
    }
}

fn is_same(entry: &Entry, info: &FileInfo, known: &Known) -> bool {
    let head = |(at, piece): &(u64, bytes::Bytes)| {
        let stop = *at + piece.len() as u64;
        known.get(*at..stop).is_none_or(|now| now == *piece)
    };
    // Some of the file's own bytes are always compared: its identifier is among the first.
    let compared = entry
        .pieces
        .first()
        .is_some_and(|(at, piece)| *at == 0 && known.get(0..piece.len() as u64).is_some());
    entry.info.is_still(info).is_ok() && compared && entry.pieces.iter().all(head)
}

/// Adds to `needed` the bytes without which the file cannot be opened and read from, with
/// [`BEHIND`] each where these are known: fewer than were fetched, which included speculative
/// ranges.
pub(crate) fn add_needed(
    file: &File,
    known: &Known,
    needed: &mut Known,
    read: impl Fn(&File, &Known) -> Read,
) -> Option<()> {
    let size = known.size()?;
    let mut can_open = false;
    loop {
        let progress = match can_open {
            false => File::can_open(needed),
            true => read(file, needed),
        };
        let needs = match progress.ok()? {
            Progress::Ready(()) if can_open => return Some(()),
            Progress::Ready(()) => {
                can_open = true;
                continue;
            }
            Progress::NeedsData(needs) => needs,
        };
        for range in needs.required {
            let range = range.start..range.end.min(size);
            let behind = range.end..(range.end + BEHIND).min(size);
            needed.supply(range.start, known.get(range)?);
            if let Some(bytes) = known.get(behind.clone()) {
                needed.supply(behind.start, bytes);
            }
        }
    }
}
