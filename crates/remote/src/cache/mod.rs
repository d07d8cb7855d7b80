//! Bytes of remote files that were read before, on a disk of this machine.
//!
//! Each want of a read is kept as a record ([`format`]), packed into segments, one folder for each
//! content; [`names`] maps an address to its content. The driver asks [`Cache::find`] and
//! [`Cache::adopt`] which of a file's bytes are cached, reads those through a server of its own
//! like a local file, and hands bytes from elsewhere to [`Cache::record`]. A thread writes them, so
//! that no read waits for the disk. Any number of processes may share a folder, and each may be
//! killed at any moment.
//!
//! Nothing here decides which bytes are needed, and nothing is trusted without its checksum.

mod content;
pub mod counters;
mod disks;
pub mod evict;
mod extents;
pub mod format;
pub(crate) mod local;
mod manage;
mod names;
pub mod notices;
mod packing;
pub(crate) mod place;
mod quota;
pub(crate) mod recompressed;
mod replica_files;
mod replicas;
mod room;
mod segment;
mod settings;
mod space;
mod writer;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::slice::from_ref;
use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use data_encoding::HEXLOWER;
use mutex::Mutex;

use crate::address::{Address, Identify};
pub use crate::charges::{Charges, QUOTAS_MAX};
use crate::clock::seconds_since_1970;
use crate::error::Result;
use crate::origin::{FileOrigin, number, place as place_of};
use crate::source::FileInfo;
use crate::source::buffers::Buffers;
use crate::source::held::HeldBytes;
pub(crate) use content::HeldContent;
use counters::{CacheCounters, Counting};
use disks::Disks;
use format::ContentId;
pub use local::CacheLocal;
use local::FileSystemOf;
pub use manage::{CacheTotals, CachedFile, Verified};
use names::{Name, Names, own_content, replica_content, shared_content};
use notices::Notices;
pub use packing::UnpackedPart;
use packing::{Contents, PartPacker};
use quota::{AskedCharges, Quotas, has_bytes};
pub use quota::{CacheQuota, QuotaPlace, QuotaTotals};
use recompressed::{recompressed_id, room_of};
pub use replicas::{Replica, ReplicaDraft};
use room::Rooms;
pub use settings::{CacheCheck, CacheConfig, CacheForm, CacheMode};
use writer::{CacheWriter, Receiving};

/// An address is noted again, as checked now, when the last time is so many seconds ago.
const CHECKED_AGAIN: u64 = 600;

/// A cache in a folder. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Cache {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    config: CacheConfig,
    quotas: Quotas,
    names: Names,
    /// Where the contents' folders are.
    disks: Arc<Disks>,
    open: Mutex<BTreeMap<ContentId, Weak<HeldContent>>>,
    counting: Arc<Counting>,
    packer: PartPacker,
    writer: Arc<CacheWriter>,
    /// Replicas whose checksum this process has compared, by content and time.
    checked_replicas: Mutex<BTreeSet<(ContentId, u64)>>,
    /// Answers on which file system a path is.
    file_system: FileSystemOf,
}

/// The cached part of the file at one address. Cheap to clone.
#[derive(Debug, Clone)]
pub struct CacheEntry {
    /// The file, as the address's server has described it.
    pub info: FileInfo,
    /// When it did, seconds since 1970.
    checked: u64,
    /// It was requested by the same query, as far as that chooses the file, user and password.
    is_chosen: bool,
    pub(crate) content: Arc<HeldContent>,
    /// Of parts of the file with another codec.
    pub(crate) recompressed: Arc<HeldContent>,
    /// The quotas that are named for bytes that come in.
    asked: AskedCharges,
}

impl CacheEntry {
    /// Where the part for exactly this range of the file is in `recompressed`, if it is cached.
    pub(crate) fn part(&self, range: &Range<u64>) -> Option<Range<u64>> {
        let room = room_of(range)?;
        self.recompressed.run_from(room.start).filter(|run| run.end < room.end)
    }

    fn contents(&self) -> Contents {
        let asked = self.asked;
        Contents { original: self.content.clone(), recompressed: self.recompressed.clone(), asked }
    }

    /// The same for a reader of these identities.
    pub(crate) fn charged_to(self, of_identity: Charges) -> Self {
        let asked = AskedCharges { of_identity, ..self.asked };
        CacheEntry { asked, ..self }
    }

    /// When the file's server last described it, in seconds since 1970.
    pub(crate) fn checked(&self) -> u64 {
        self.checked
    }
}

impl Cache {
    /// The cache that the configuration names, if any.
    ///
    /// # Errors
    /// `InvalidArgument` for a folder that cannot be used, with the reason.
    pub fn of(config: &CacheConfig) -> Result<Option<Self>> {
        let is_on = config.bytes_max > 0 && config.mode != CacheMode::Off;
        config.folder.as_ref().filter(|_| is_on).map(|_| Cache::at(config)).transpose()
    }

    /// The cache in the folder of the configuration, whether it is in use or not, to be looked at.
    ///
    /// # Errors
    /// As [`Cache::of`].
    pub fn at(config: &CacheConfig) -> Result<Self> {
        Cache::with_file_systems(config, local::file_system)
    }

    /// The same, with another answer to the question on which file system a path is.
    pub(crate) fn with_file_systems(
        config: &CacheConfig,
        file_system: FileSystemOf,
    ) -> Result<Self> {
        let folders: Vec<&Path> = config.folders().collect();
        let disks = Arc::new(Disks::claim(&folders)?);
        let counting = Arc::new(Counting::default());
        let rooms = Rooms::new(disks.clone(), config.clone(), &counting);
        let names = Names::new(disks.clone(), &folders);
        names.clear_earlier();
        let writer = Arc::new(CacheWriter::start(rooms, names.clone(), counting.clone()));
        let packer = PartPacker::new(writer.clone(), counting.clone());
        let config = config.clone();
        let open = Mutex::default();
        let checked_replicas = Mutex::default();
        let quotas = Quotas::new(&config.quotas);
        let inner = Inner {
            config,
            quotas,
            names,
            disks,
            open,
            counting,
            packer,
            writer,
            checked_replicas,
            file_system,
        };
        let cache = Cache { inner: Arc::new(inner) };
        cache.charge_places();
        Ok(cache)
    }

    /// How it is configured.
    pub fn config(&self) -> &CacheConfig {
        &self.inner.config
    }

    /// Its counters so far.
    pub fn counters(&self) -> CacheCounters {
        self.inner.counting.snapshot()
    }

    pub(crate) fn counting(&self) -> &Counting {
        &self.inner.counting
    }

    /// The cached part of a file, by the server's latest answer.
    pub fn find(&self, origin: &FileOrigin) -> Option<CacheEntry> {
        let name = self.inner.names.find(&origin.key(None))?;
        let is_chosen = name.query == origin.query();
        let entry = self.entry(name.content, name.info, name.checked);
        Some(CacheEntry { is_chosen, asked: self.asked_by(origin), ..entry })
    }

    /// Whether bytes of a file at these addresses are cached: the one rule for every read. May ask
    /// the file system of a file of this machine, which may be far away.
    pub fn keeps(&self, urls: &[Address]) -> bool {
        match urls.first() {
            // The first of several locations is the nearest.
            Some(first) if first.is_local() => {
                let local = self.inner.config.local;
                let mut paths = urls.iter().map(Address::to_local);
                paths.all(|path| path.is_some_and(|path| local.keeps(path, self.inner.file_system)))
            }
            first => first.is_some(),
        }
    }

    /// Whether an entry may be read without asking the file's server.
    pub fn believes(&self, entry: &CacheEntry) -> bool {
        entry.is_chosen && self.inner.config.check.believes(entry.checked, seconds_since_1970())
    }

    /// The first bytes of a file, where all of them are cached.
    pub fn head(&self, entry: &CacheEntry, bytes: u64) -> Option<Bytes> {
        let range = 0..bytes.min(entry.info.size);
        if range.is_empty() {
            return Some(Bytes::new());
        }
        let mut head = vec![0; range.end as usize];
        let is_held = entry.content.holds(&range);
        let mut take = |offset: u64, piece: Bytes| {
            head[offset as usize..][..piece.len()].copy_from_slice(&piece);
        };
        let buffers = Arc::new(Buffers::default());
        let read = is_held.then(|| entry.content.read(from_ref(&range), &buffers, &mut take));
        read?.ok()?;
        Some(head.into())
    }

    /// The entry for the file of an origin, now that a server has answered, whose address for it is
    /// `at`: the existing one where it is still the same file, else a new one. `head` are its first
    /// bytes, in which `identify` finds the number that copies of it share. `None` where the
    /// server's answer has nothing by which a change would be noticed.
    pub fn adopt(
        &self,
        origin: &FileOrigin,
        at: &Address,
        info: &FileInfo,
        head: &[u8],
        identify: Option<Identify>,
    ) -> Option<CacheEntry> {
        // A disk of this machine among servers far away is no slower than the cache.
        if at.is_local() != origin.is_local() || info.says_only_size() {
            return None;
        }
        let is_only = origin.is_only(at);
        let key = origin.key((!is_only).then_some(at));
        let known = self.inner.names.find(&key);
        let own = || own_content(origin, at, info, head);
        let id = match &known {
            Some(name) if name.info.keeps_bytes(info) && self.begins(name, head) => name.content,
            Some(name) => {
                self.drop_changed(name);
                own()
            }
            // Other places of one origin may have the same file, of another time.
            None => identify
                .filter(|_| !is_only)
                .and_then(|identify| identify(head))
                .and_then(|uuid| shared_content(origin, uuid, info.size, head))
                .unwrap_or_else(own),
        };
        let checked = seconds_since_1970();
        let query = origin.query();
        let is_fresh = |name: Name| {
            let is_same = name.content == id && name.info == *info && name.query == query;
            is_same && checked.saturating_sub(name.checked) < CHECKED_AGAIN
        };
        let named = (key, place_of(at));
        let asked = (!is_only).then(|| (origin.key(None), origin.shown()));
        for (key, address) in [Some(named), asked].into_iter().flatten() {
            if !self.inner.names.find(&key).is_some_and(is_fresh) {
                let key = HEXLOWER.encode(&key);
                let query = query.clone();
                let info = info.clone();
                let name = Name { key, query, address, info, content: id, checked };
                self.inner.writer.name(name);
            }
        }
        let asked = self.asked_by(origin);
        Some(CacheEntry { asked, ..self.entry(id, info.clone(), checked) })
    }

    /// The quotas of the places of a file.
    fn asked_by(&self, origin: &FileOrigin) -> AskedCharges {
        let of_place = self.inner.quotas.of_places(origin.places());
        AskedCharges { of_place, ..AskedCharges::default() }
    }

    /// Charges the contents that are here to the quotas of their places, which the settings may not
    /// have had before.
    fn charge_places(&self) {
        let quotas = &self.inner.quotas;
        if quotas.all().iter().all(|quota| quota.place.is_none()) {
            return;
        }
        for name in self.inner.names.all() {
            let charges = quotas.of_places(name.address.split('|'));
            if charges.is_empty() {
                continue;
            }
            let contents = [name.content, recompressed_id(&name.content)];
            let folders = contents.iter().flat_map(|id| self.folders(id));
            for folder in folders.chain(self.replica_folders(&name)).filter(|at| has_bytes(at)) {
                // Without it the next bytes of it that come in are charged.
                let _ = quotas.note(&folder, charges);
            }
        }
    }

    /// The file of an origin has changed: its cached part goes.
    pub fn forget(&self, origin: &FileOrigin) {
        if let Some(name) = self.inner.names.find(&origin.key(None)) {
            self.drop_changed(&name);
            self.inner.names.forget(&name);
        }
    }

    /// Whether the cached part begins as the file does now, as far as both are known: a server may
    /// give two files the same description.
    fn begins(&self, name: &Name, head: &[u8]) -> bool {
        let entry = self.entry(name.content, name.info.clone(), name.checked);
        let held = self.head(&entry, head.len() as u64);
        held.is_none_or(|held| head.starts_with(&held))
    }

    fn drop_changed(&self, name: &Name) {
        self.inner.counting.changed();
        for id in [name.content, recompressed_id(&name.content)] {
            let open = self.inner.open.lock().remove(&id).and_then(|content| content.upgrade());
            open.into_iter().for_each(|content| content.end());
            self.folders(&id).iter().for_each(|folder| room::remove(folder));
        }
        self.replica_folders(name).iter().for_each(|folder| room::remove(folder));
    }

    /// Caches bytes of a file, in its time; where the disk is behind, they are not cached.
    pub fn record(&self, entry: &CacheEntry, offset: u64, bytes: Bytes) {
        let receiving = Receiving { content: entry.content.clone(), asked: entry.asked };
        self.inner.writer.record(receiving, offset, bytes);
    }

    /// Bytes of decompressed parts that may be given to [`Cache::pack`] now.
    pub(crate) fn packing_room(&self) -> u64 {
        match self.inner.config.form {
            CacheForm::Original => 0,
            CacheForm::Recompressed | CacheForm::Both => self.inner.packer.room(),
        }
    }

    /// Caches a part of a file with another codec, when a processor has time.
    pub(crate) fn pack(&self, entry: &CacheEntry, part: UnpackedPart) {
        if entry.part(&part.range).is_none() {
            self.inner.packer.pack(entry.contents(), part);
        }
    }

    /// A range is read with another codec: its bytes as the file has them are given up, unless both
    /// are to be kept.
    pub(crate) fn read_recompressed(&self, entry: &CacheEntry, range: &Range<u64>) {
        if self.inner.config.gives_up_originals() && entry.content.holds(range) {
            self.inner.writer.give_up(entry.contents(), range.clone());
        }
    }

    /// Looks in its time for records that other processes have added to a content: no read waits
    /// for it.
    pub(crate) fn look(&self, content: &Arc<HeldContent>) {
        self.inner.writer.look(content.clone());
    }

    /// Opens the log of notices for the file of an origin; `None` if it cannot be used.
    pub(crate) fn notices(&self, origin: &FileOrigin, now: Duration) -> Option<Arc<Notices>> {
        let (_, data) = self.inner.disks.in_use().next()?;
        Notices::open(data, number(&origin.key(None)), now).map(Arc::new)
    }

    /// Closes a file's log of notices once the bytes recorded before are on the disk.
    pub(crate) fn leave(&self, notices: Arc<Notices>) {
        self.inner.writer.leave(notices);
    }

    /// Counts that an entry is in use.
    pub fn note_use(&self, entry: &CacheEntry) {
        self.inner.writer.note_use(entry.content.clone());
        self.inner.writer.note_use(entry.recompressed.clone());
    }

    /// Waits until all records are on the disk, with their index.
    pub fn flush(&self) {
        self.inner.packer.flush();
        self.inner.writer.flush();
    }

    fn entry(&self, id: ContentId, info: FileInfo, checked: u64) -> CacheEntry {
        let content = self.content(id);
        let recompressed = self.content(recompressed_id(&id));
        let asked = AskedCharges::default();
        CacheEntry { info, checked, is_chosen: true, content, recompressed, asked }
    }

    fn content(&self, id: ContentId) -> Arc<HeldContent> {
        let mut open = self.inner.open.lock();
        let there = open.get(&id).and_then(Weak::upgrade);
        if let Some(content) = there.filter(|content| !content.is_over()) {
            return content;
        }
        open.retain(|_, content| content.strong_count() > 0);
        let content = Arc::new(HeldContent::open(self.inner.disks.clone(), id));
        open.insert(id, Arc::downgrade(&content));
        content
    }

    /// Where the replica of a file is, if there is one.
    fn replica_folders(&self, name: &Name) -> Vec<PathBuf> {
        self.folders(&replica_content(&name.key, &name.query, &name.info))
    }

    /// On the disks in use.
    fn folders(&self, id: &ContentId) -> Vec<PathBuf> {
        self.inner.disks.folders(id)
    }
}

#[cfg(test)]
mod tests;
