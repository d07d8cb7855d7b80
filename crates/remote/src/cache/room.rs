//! Room on the disk: how much there is, and which segments go for new ones.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::content::{PIN, lock_alone, numbers, segment_path};
use super::counters::Counting;
use super::disks::{DiskNumber, Disks};
use super::evict::{self, Held, MISSES_MAX};
use super::format::ContentId;
use super::replica_files::FoundReplica;
use super::segment::{SEGMENT_BYTES, UNFINISHED, index_path, read_header};
use super::settings::CacheConfig;
use super::{notices, place, replica_files};
use crate::disk::{self, FolderEntry};

/// Room is looked for in steps of so much, or a sixteenth of the cap where that is less: a look
/// goes through all folders.
const STEP_BYTES: u64 = SEGMENT_BYTES;
/// Files whose misses are counted.
const MISSED_MAX: usize = 4096;
/// More than the state of that many files takes.
const STATE_BYTES_MAX: u64 = 1 << 20;
/// Beside the segments: of eviction.
const LOCK: &str = "lock";
const STATE: &str = "state";

/// The room on all disks of a cache, as this process sees it.
#[derive(Debug)]
pub struct Rooms {
    disks: Arc<Disks>,
    config: CacheConfig,
    rooms: BTreeMap<DiskNumber, CacheDiskRoom>,
}

impl Found {
    fn of_replica(FoundReplica { path, begun, held }: FoundReplica) -> Self {
        Found { path, begun, held }
    }
}

impl Rooms {
    pub fn new(disks: Arc<Disks>, config: CacheConfig, counting: &Arc<Counting>) -> Self {
        let room = |(number, data): (DiskNumber, &Path)| {
            (number, CacheDiskRoom::new(data.to_owned(), config.clone(), counting.clone()))
        };
        let rooms = disks.in_use().map(room).collect();
        Rooms { disks, config, rooms }
    }

    /// Whether the bytes of a file go that are cached with another codec.
    pub fn gives_up_originals(&self) -> bool {
        self.config.gives_up_originals()
    }

    /// Its file has been opened again: that is a reason to look again.
    pub fn reconsider(&mut self, content: &ContentId) {
        self.rooms.values_mut().for_each(|room| room.refused.retain(|refused| refused != content));
    }

    /// The disk to which so many bytes of a content may be added now: the wanted one where it has
    /// room, else that with most room. Segments may go for it.
    pub fn admits(
        &mut self,
        content: &ContentId,
        wanted: Option<DiskNumber>,
        bytes: u64,
        now: u64,
    ) -> Option<DiskNumber> {
        let disks = &self.disks;
        // A disk that is gone looks like one without room.
        let is_there = |number| disks.is_writable(number, now) && disks.check(number).is_ok();
        let writable = self.rooms.iter_mut().filter(|(number, _)| is_there(**number));
        let mut order: Vec<(DiskNumber, u64)> =
            writable.map(|(number, room)| (*number, room.free(bytes))).collect();
        // More than one disk has room: segments are spread by it.
        order.sort_by_key(|(number, free)| (Reverse(*free), *number));
        if let Some(at) = order.iter().position(|(n, free)| Some(*n) == wanted && *free >= bytes) {
            order[..=at].rotate_right(1);
        }
        for (number, _) in order {
            match self.rooms.get_mut(&number)?.admits(content, bytes, now) {
                Ok(true) => return Some(number),
                Ok(false) => {}
                Err(error) => self.disks.note_failed_write(number, &error, now),
            }
        }
        None
    }

    /// So many bytes were added to a disk.
    pub fn grown(&mut self, number: DiskNumber, bytes: u64) {
        self.rooms.get_mut(&number).into_iter().for_each(|room| room.grown(bytes));
    }

    /// A write to a disk has failed.
    pub fn note_failed_write(&self, number: DiskNumber, error: &io::Error, now: u64) {
        self.disks.note_failed_write(number, error, now);
    }
}

/// The room on one disk.
#[derive(Debug)]
struct CacheDiskRoom {
    data: PathBuf,
    config: CacheConfig,
    counting: Arc<Counting>,
    /// Bytes that are free below the cap and above the floor; `None` before the first look.
    free: Option<u64>,
    /// Bytes that may be added before the next look.
    granted: u64,
    /// The contents that were refused since then.
    refused: Vec<ContentId>,
}

/// The state that processes share.
#[derive(Debug, Default, Serialize, Deserialize)]
struct State {
    /// The segment behind which the hand stands, by when it was begun and its path.
    hand: (u64, String),
    /// How often a content was missed, the latest last.
    misses: Vec<(String, u32)>,
}

/// A segment on the disk.
#[derive(Debug)]
pub struct Found {
    pub path: PathBuf,
    pub begun: u64,
    pub held: Held,
}

impl CacheDiskRoom {
    fn new(data: PathBuf, config: CacheConfig, counting: Arc<Counting>) -> Self {
        CacheDiskRoom { data, config, counting, free: None, granted: 0, refused: Vec::new() }
    }

    /// Bytes that are free, as far as is known; looks where so many are wanted the first time.
    fn free(&mut self, bytes: u64) -> u64 {
        if bytes <= self.granted {
            return self.free.unwrap_or_default().max(self.granted);
        }
        match self.free {
            Some(free) => free,
            None => {
                let taken = segments(&self.data).iter().map(|found| found.held.bytes).sum();
                self.measure(taken)
            }
        }
    }

    fn measure(&mut self, taken: u64) -> u64 {
        let below_cap = self.config.bytes_max.saturating_sub(taken);
        let on_disk = place::free_bytes(&self.data).map_or(0, |(free, all)| {
            free.saturating_sub((all / 10).min(self.config.free_bytes_min))
        });
        *self.free.insert(below_cap.min(on_disk))
    }

    /// Whether so many bytes of a content may be added now. Segments may go for it.
    ///
    /// # Errors
    /// An error of the disk.
    fn admits(&mut self, content: &ContentId, bytes: u64, now: u64) -> io::Result<bool> {
        if bytes <= self.granted {
            return Ok(true);
        }
        // Refused once, refused until something has changed: one look for each open, not for each
        // basket.
        if self.refused.contains(content) {
            return Ok(false);
        }
        let is_admitted = self.look(content, bytes, now)?;
        if !is_admitted {
            self.refused.push(*content);
        }
        Ok(is_admitted)
    }

    /// So many bytes were added.
    fn grown(&mut self, bytes: u64) {
        self.granted = self.granted.saturating_sub(bytes);
        self.free = self.free.map(|free| free.saturating_sub(bytes));
    }

    fn look(&mut self, content: &ContentId, bytes: u64, now: u64) -> io::Result<bool> {
        let lock = FolderEntry::at(&self.data.join(LOCK)).and_then(|lock| lock.open_or_create())?;
        lock.lock()?;
        notices::clean(&self.data);
        let found = segments(&self.data);
        let taken: u64 = found.iter().map(|found| found.held.bytes).sum();
        self.measure(taken);
        let step = STEP_BYTES.min(self.config.bytes_max / 16);
        let under_floor = under_floor(&self.data, self.config.free_bytes_min);
        let wanted = bytes.max(step);
        if taken + wanted <= self.config.bytes_max && under_floor == 0 {
            self.granted = wanted;
            return Ok(true);
        }
        let needed = (taken + wanted).saturating_sub(self.config.bytes_max).max(under_floor);
        let mut state = self.load();
        let key = place::content_folder(Path::new(""), content).to_string_lossy().into_owned();
        let misses =
            state.misses.iter().find(|(of, _)| *of == key).map_or(0, |(_, misses)| *misses);
        let hand = found.partition_point(|f| {
            (f.begun, &*f.path.to_string_lossy()) <= (state.hand.0, &*state.hand.1)
        });
        let held: Vec<Held> = found.iter().map(|found| found.held).collect();
        let decision = evict::decide(&held, hand, needed, misses, now);
        for at in &decision.aged {
            age(&found[*at].path, held[*at]);
        }
        if let Some(last) = decision.hand.checked_sub(1).and_then(|at| found.get(at)) {
            state.hand = (last.begun, last.path.to_string_lossy().into_owned());
        }
        let mut room = 0;
        for at in decision.evicted {
            room += evict(&found[at], &self.counting);
        }
        state.misses.retain(|(of, _)| *of != key);
        let is_admitted = decision.admitted && room >= needed;
        if !is_admitted {
            state.misses.push((key, (misses + 1).min(MISSES_MAX)));
        }
        let surplus = state.misses.len().saturating_sub(MISSED_MAX);
        state.misses.drain(..surplus);
        self.save(&state);
        if is_admitted {
            self.granted = wanted;
            self.free = Some(wanted);
            self.refused.clear();
        }
        Ok(is_admitted)
    }

    fn load(&self) -> State {
        load(&self.data)
    }

    fn save(&self, state: &State) {
        // Without it the hand begins anew, and misses are counted from none.
        let write = || -> std::io::Result<()> {
            let mut file = tempfile::Builder::new().prefix(UNFINISHED).tempfile_in(&self.data)?;
            file.write_all(&serde_json::to_vec(state)?)?;
            file.persist(self.data.join(STATE)).map(drop).map_err(|error| error.error)
        };
        let _ = write();
    }
}

fn load(data: &Path) -> State {
    let text = disk::read(&data.join(STATE), STATE_BYTES_MAX).unwrap_or_default();
    serde_json::from_slice(&text).unwrap_or_default()
}

/// How often contents were missed, by their folders within that of all contents.
pub fn misses(data: &Path) -> Vec<(String, u32)> {
    load(data).misses
}

/// Removes a segment; returns how much that has freed.
fn evict(found: &Found, counting: &Counting) -> u64 {
    let Some(folder) = found.path.parent() else { return 0 };
    // It may have been opened since.
    let Some(_lock) = lock_alone(folder) else { return 0 };
    let _ = fs::remove_file(index_path(&found.path));
    if fs::remove_file(&found.path).is_err() {
        return 0;
    }
    if numbers(folder).is_empty() {
        remove_folder(folder);
    }
    counting.evicted(found.held.bytes);
    found.held.bytes
}

/// Removes segments, the least used first, until no more than so many bytes are cached; returns how
/// many bytes that frees.
pub fn shrink(data: &[&Path], bytes_max: u64, counting: &Counting) -> u64 {
    let mut found: Vec<Found> = data.iter().flat_map(|data| segments(data)).collect();
    found.sort_by(|a, b| (a.begun, &a.path).cmp(&(b.begun, &b.path)));
    let held: Vec<Held> = found.iter().map(|found| found.held).collect();
    let taken: u64 = held.iter().map(|held| held.bytes).sum();
    let goes = evict::shrink(&held, 0, taken.saturating_sub(bytes_max));
    goes.into_iter().map(|at| evict(&found[at], counting)).sum()
}

/// Removes the segments that were last used before a time; returns how many bytes that frees.
pub fn remove_unused(data: &Path, before: u64, counting: &Counting) -> u64 {
    let found = segments(data);
    let goes = found.iter().filter(|found| found.held.used < before && !found.held.stays);
    goes.map(|found| evict(found, counting)).sum()
}

/// All segments, in the order in which they were begun.
pub fn segments(data: &Path) -> Vec<Found> {
    let mut found = Vec::new();
    for folder in place::content_folders(data) {
        let numbers = numbers(&folder);
        let has_replica = folder.join(replica_files::REPLICA).exists();
        if numbers.is_empty() && !has_replica && lock_alone(&folder).is_some() {
            remove_folder(&folder);
            continue;
        }
        let stays = folder.join(PIN).exists() || lock_alone(&folder).is_none();
        found.extend(replica_files::found(&folder, stays).map(Found::of_replica));
        for number in numbers {
            let path = segment_path(&folder, number);
            let file = FolderEntry::at(&path).and_then(|entry| entry.open_regular(false));
            let Ok(file) = file else { continue };
            let Ok(metadata) = file.metadata() else { continue };
            let index = fs::metadata(index_path(&path)).map_or(0, |index| index.len());
            let header = read_header(&file).ok();
            let usage = header.map(|header| header.usage).unwrap_or_default();
            let bytes = metadata.len() + index;
            let held = Held { bytes, uses: usage.uses, used: usage.used, stays };
            found.push(Found { path, begun: header.map_or(0, |header| header.begun), held });
        }
    }
    found.sort_by(|a, b| (a.begun, &a.path).cmp(&(b.begun, &b.path)));
    found
}

/// How many bytes have to become free on the disk so that others have their part.
fn under_floor(data: &Path, least: u64) -> u64 {
    let Ok((free, all)) = place::free_bytes(data) else { return 0 };
    (all / 10).min(least).saturating_sub(free)
}

/// Takes one use from a segment.
fn age(path: &Path, held: Held) {
    if path.ends_with(replica_files::REPLICA) {
        return;
    }
    use std::os::unix::fs::FileExt;
    let usage = super::format::Usage { used: held.used, uses: held.uses - 1 };
    if let Ok(file) = FolderEntry::at(path).and_then(|entry| entry.open_regular(true)) {
        let _ = file.write_all_at(&super::format::encode_usage(&usage), super::format::USE_AT);
    }
}

/// Removes all cached bytes of a content, whether it is open or not.
pub fn remove(folder: &Path) {
    for number in numbers(folder) {
        let path = segment_path(folder, number);
        let _ = fs::remove_file(index_path(&path));
        let _ = fs::remove_file(path);
    }
    remove_folder(folder);
}

/// Removes a folder without segments, with farroot's other files in it.
fn remove_folder(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let is_own = name == PIN || replica_files::is_own(&name) || name.starts_with(UNFINISHED);
        if is_own || name.ends_with(".idx") {
            let _ = fs::remove_file(entry.path());
        }
    }
    let _ = fs::remove_dir(folder);
}
