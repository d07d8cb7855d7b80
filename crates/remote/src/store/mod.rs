//! The store of metadata: files that processes before this one have opened, so that a known file is
//! open as soon as its server has answered.
//!
//! An entry is a file in a folder, named by a hash of the file's origin ([`crate::origin`]).
//! It is a hint and nothing more: it counts only where the server's answer to the open (size, time
//! of modification, version) and the file's own first bytes, which hold its identifier, say that
//! the file is the same. Whatever else is wrong with an entry makes it a miss.

pub(crate) mod folder;
mod notes;

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use bytes::Bytes;
use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};

use crate::config::Config;
use crate::origin::{FileOrigin, number};
use crate::source::FileInfo;
use folder::Folder;

pub use notes::Notes;

/// Metadata beyond this is not kept: such trees have tens of thousands of branches.
const ENTRY_BYTES_MAX: u64 = 8 << 20;
/// An entry as it is on the disk: those bytes and the header in front of them.
const FILE_BYTES_MAX: u64 = 2 * ENTRY_BYTES_MAX;
/// Entries written between two looks at the size of the folder.
const WRITES_A_LOOK: u32 = 64;

/// The entries in a folder. Cheap to clone; any number of processes may share one.
#[derive(Debug, Clone)]
pub struct Store {
    parent: Arc<Path>,
    folder: Folder,
    bytes_max: u64,
    writes: Arc<AtomicU32>,
}

/// The metadata of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The description of the file when they were read.
    pub info: FileInfo,
    /// Ascending and disjoint, by offset.
    pub pieces: Vec<(u64, Bytes)>,
}

/// The header in front of an entry's bytes.
#[derive(Debug, Serialize, Deserialize)]
struct Head {
    /// The key of its origin: two may have one number. Entries of earlier versions have none.
    origin: String,
    size: u64,
    modified: Option<i64>,
    version: Option<String>,
    pieces: Vec<Range<u64>>,
}

impl Store {
    /// The store that the configuration names, if any.
    pub fn of(config: &Config) -> Option<Self> {
        let folder = config.store_folder.clone()?;
        (config.store_bytes_max > 0).then(|| Store::new(folder, config.store_bytes_max))
    }

    /// A store in `parent`, which need not exist yet and may hold other things, of about
    /// `bytes_max` bytes at the most.
    pub fn new(parent: PathBuf, bytes_max: u64) -> Self {
        let folder = Folder::new(&parent, "metadata");
        Store { parent: parent.into(), folder, bytes_max, writes: Arc::default() }
    }

    /// Where other things that are worth remembering have folders of their own.
    pub fn parent(&self) -> &Path {
        &self.parent
    }

    /// The entry of a file. Local ones have none: they are read as fast as an entry would be.
    pub fn find(&self, origin: &FileOrigin) -> Option<Entry> {
        let key = origin.key(None);
        decode(&self.folder.load(number(&key), FILE_BYTES_MAX)?, &HEXLOWER.encode(&key))
    }

    /// Remembers a file. Where that fails, nothing is remembered.
    pub fn keep(&self, origin: &FileOrigin, entry: &Entry) {
        let bytes: u64 = entry.pieces.iter().map(|(_, piece)| piece.len() as u64).sum();
        if bytes > ENTRY_BYTES_MAX.min(self.bytes_max / 4) {
            return;
        }
        if self.writes.fetch_add(1, Ordering::Relaxed).is_multiple_of(WRITES_A_LOOK) {
            self.make_room();
        }
        let key = origin.key(None);
        let _ = self.folder.save(number(&key), &encode(entry, HEXLOWER.encode(&key)));
    }

    /// The entry of a file, for [`Store::adopt`] on another machine; `None` if there is none.
    pub fn exported(&self, origin: &FileOrigin) -> Option<Vec<u8>> {
        self.find(origin).map(|entry| encode(&entry, HEXLOWER.encode(&origin.key(None))))
    }

    /// Keeps another machine's entry of a file, unless there is one here; `None` for bytes that are
    /// not an entry of this file.
    pub fn adopt(&self, origin: &FileOrigin, exported: &[u8]) -> Option<()> {
        let entry = decode(&Bytes::copy_from_slice(exported), &HEXLOWER.encode(&origin.key(None)))?;
        if self.find(origin).is_none() {
            self.keep(origin, &entry);
        }
        Some(())
    }

    /// Forgets a file.
    pub fn forget(&self, origin: &FileOrigin) {
        self.folder.forget(number(&origin.key(None)));
    }

    /// Removes the oldest entries until a quarter of the room is free.
    fn make_room(&self) {
        let mut is_full = false;
        self.folder.trim(|_, bytes| {
            is_full |= bytes > self.bytes_max;
            is_full && bytes > self.bytes_max / 4 * 3
        });
    }
}

fn encode(entry: &Entry, origin: String) -> Vec<u8> {
    let range = |(at, piece): &(u64, Bytes)| *at..*at + piece.len() as u64;
    let head = Head {
        origin,
        size: entry.info.size,
        modified: entry.info.modified,
        version: entry.info.version.clone(),
        pieces: entry.pieces.iter().map(range).collect(),
    };
    let head = serde_json::to_vec(&head).unwrap_or_default();
    let mut bytes = Vec::new();
    bytes.extend_from_slice(&(head.len() as u32).to_be_bytes());
    bytes.extend_from_slice(&head);
    entry.pieces.iter().for_each(|(_, piece)| bytes.extend_from_slice(piece));
    bytes
}

fn decode(bytes: &Bytes, origin: &str) -> Option<Entry> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    let (head, mut rest) = rest.split_at_checked(u32::from_be_bytes(*length) as usize)?;
    let head: Head = serde_json::from_slice(head).ok()?;
    if head.origin != origin {
        return None;
    }
    let mut pieces = Vec::with_capacity(head.pieces.len());
    for range in head.pieces {
        let length = usize::try_from(range.end.checked_sub(range.start)?).ok()?;
        let (piece, behind) = rest.split_at_checked(length)?;
        pieces.push((range.start, bytes.slice_ref(piece)));
        rest = behind;
    }
    let info = FileInfo::new(head.size, head.modified, head.version).ok()?;
    rest.is_empty().then_some(Entry { info, pieces })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::address::Address;

    fn entry() -> Entry {
        let info = FileInfo::new(1000, Some(17), Some("\"v1\"".into())).unwrap();
        let pieces = vec![(0, Bytes::from_static(b"root")), (900, Bytes::from_static(b"keys"))];
        Entry { info, pieces }
    }

    fn url(text: &str) -> FileOrigin {
        let url = Address::parse(text).unwrap();
        FileOrigin::of(&[url], &credentials::CredentialStore::default()).unwrap()
    }

    #[test]
    fn what_was_kept_is_found_by_whoever_may_ask() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(folder.path().join("new"), 1 << 20);
        let place = url("root://alice:secret@host:1094//data/f.root?authz=token");
        assert_eq!(store.find(&place), None);
        store.keep(&place, &entry());
        assert_eq!(store.find(&url("root://host:1094//data/f.root")), Some(entry()));
        assert_eq!(store.find(&url("root://host:1094//data/g.root")), None);
        for kept in fs::read_dir(folder.path().join("new/farroot-metadata")).unwrap() {
            let text =
                String::from_utf8_lossy(&fs::read(kept.unwrap().path()).unwrap()).into_owned();
            assert!(!text.contains("secret") && !text.contains("token") && !text.contains("host"));
        }
        store.forget(&place);
        assert_eq!(store.find(&place), None);
    }

    #[test]
    fn another_machine_takes_what_is_remembered_unless_it_knows_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let here = Store::new(folder.path().join("here"), 1 << 20);
        let there = Store::new(folder.path().join("there"), 1 << 20);
        let place = url("root://host:1094//data/f.root");
        assert_eq!(here.exported(&place), None);
        here.keep(&place, &entry());
        let exported = here.exported(&place).unwrap();
        assert_eq!(there.adopt(&place, &exported[1..]), None);
        assert_eq!(there.find(&place), None);
        assert_eq!(there.adopt(&place, &exported), Some(()));
        assert_eq!(there.find(&place), Some(entry()));
        let newer = Entry { pieces: vec![(0, Bytes::from_static(b"toor"))], ..entry() };
        there.keep(&place, &newer);
        assert_eq!(there.adopt(&place, &exported), Some(()));
        assert_eq!(there.find(&place), Some(newer));
    }

    #[test]
    fn every_cut_is_a_miss() {
        let whole = Bytes::from(encode(&entry(), "a".into()));
        assert_eq!(decode(&whole, "a"), Some(entry()));
        assert_eq!(decode(&whole, "b"), None, "another origin");
        for at in 0..whole.len() {
            assert_eq!(decode(&whole.slice(..at), "a"), None, "cut at {at}");
        }
    }

    #[test]
    fn the_folder_stays_within_its_bounds() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(folder.path().into(), 20_000);
        for number in 0..10 * WRITES_A_LOOK {
            store.keep(&url(&format!("http://host/{number}")), &entry());
        }
        store.make_room();
        let held: u64 = fs::read_dir(folder.path().join("farroot-metadata"))
            .unwrap()
            .map(|e| e.unwrap().metadata().unwrap().len())
            .sum();
        assert!((10_000..=20_000).contains(&held), "{held}");
        let large = Entry { pieces: vec![(0, Bytes::from(vec![0; 6_000]))], ..entry() };
        store.keep(&url("http://host/large"), &large);
        assert_eq!(store.find(&url("http://host/large")), None);
    }
}
