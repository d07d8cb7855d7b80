//! Room on the disk: how much there is, and which segments go for new ones.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::content::{HeldContent, PIN, lock_alone, make_folder, numbers, segment_path};
use super::counters::Counting;
use super::disks::{DiskNumber, Disks};
use super::evict::{self, Budget, Held, JointDecision, LimitScope, MISSES_MAX};
use super::format::ContentId;
use super::quota::{AskedCharges, Quotas, decided, has_bytes};
use super::recompressed::recompressed_id;
use super::replica_files::FoundReplica;
use super::segment::{UNFINISHED, index_path, read_header};
use super::settings::CacheConfig;
use super::space::{self, DiskSpace};
use super::{notices, place, replica_files};
use crate::charges::Charges;
use crate::disk::{self, FolderEntry};

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
    counting: Arc<Counting>,
    rooms: BTreeMap<DiskNumber, CacheDiskRoom>,
    quotas: Quotas,
    quota_rooms: Vec<QuotaRoom>,
}

/// Bytes that are to come.
#[derive(Debug, Clone, Copy)]
pub struct BytesToCome<'a> {
    pub content: &'a HeldContent,
    pub charges: Charges,
    pub bytes: u64,
}

/// The room on one disk.
#[derive(Debug)]
struct CacheDiskRoom {
    data: PathBuf,
    config: CacheConfig,
    /// Bytes that are free below the cap and above the floor; `None` before the first look.
    free: Option<u64>,
    /// Bytes that may be added before the next look.
    granted: u64,
    /// What was refused since then.
    refused: Vec<RoomRefusal>,
    /// Whether the log says that others fill the disk.
    has_warned: bool,
}

/// A content that has found no room.
#[derive(Debug, Clone, Copy)]
struct RoomRefusal {
    content: ContentId,
    charges: Charges,
    by: LimitScope,
}

/// The room of one quota.
#[derive(Debug, Default)]
struct QuotaRoom {
    /// Bytes that may be added before the next look.
    granted: u64,
    /// The segment behind which the hand stands.
    hand: (u64, String),
    /// Refused bytes that the state on the disk does not have so far.
    refused_bytes: u64,
    /// What is charged to it has been compared with its limit.
    is_respected: bool,
}

/// The state that processes share.
#[derive(Debug, Default, Serialize, Deserialize)]
struct State {
    /// The segment behind which the hand stands, by when it was begun and its path.
    hand: (u64, String),
    /// How often a content was missed, the latest last.
    misses: Vec<(String, u32)>,
    /// Bytes that quotas have refused, by the quota's name on the disk.
    #[serde(default)]
    refused: BTreeMap<String, u64>,
}

/// A segment on the disk.
#[derive(Debug)]
pub struct Found {
    pub path: PathBuf,
    pub begun: u64,
    pub held: Held,
}

impl Found {
    fn of_replica(FoundReplica { path, begun, held }: FoundReplica) -> Self {
        Found { path, begun, held }
    }

    /// Its place in the order of all segments.
    fn place(&self) -> (u64, String) {
        (self.begun, self.path.to_string_lossy().into_owned())
    }
}

impl Rooms {
    pub fn new(disks: Arc<Disks>, config: CacheConfig, counting: &Arc<Counting>) -> Self {
        let room = |(number, data): (DiskNumber, &Path)| {
            (number, CacheDiskRoom::new(data.to_owned(), config.clone()))
        };
        let rooms = disks.in_use().map(room).collect();
        let counting = counting.clone();
        let quotas = Quotas::new(&config.quotas);
        let quota_rooms = quotas.all().iter().map(|_| QuotaRoom::default()).collect();
        Rooms { disks, config, counting, rooms, quotas, quota_rooms }
    }

    /// Whether the bytes of a file go that are cached with another codec.
    pub fn gives_up_originals(&self) -> bool {
        self.config.gives_up_originals()
    }

    /// Its file has been opened again: that is a reason to look again.
    pub fn reconsider(&mut self, content: &ContentId) {
        let is_other = |refusal: &RoomRefusal| refusal.content != *content;
        self.rooms.values_mut().for_each(|room| room.refused.retain(is_other));
    }

    /// The quotas that bytes of a content are charged to, of which nothing may be here so far. The
    /// bytes of a file and its parts with another codec, which have `original`, are charged alike.
    pub fn charges(
        &self,
        content: &HeldContent,
        original: Option<&HeldContent>,
        asked: AskedCharges,
    ) -> Charges {
        if self.quotas.is_empty() {
            return Charges::default();
        }
        let kept = |content: &HeldContent| content.charges().or_else(|| self.kept(content.id()));
        let of_other_form = || match original {
            Some(original) => kept(original),
            None => self.kept(&recompressed_id(content.id())),
        };
        decided(kept(content).or_else(of_other_form), asked)
    }

    /// The charges of the bytes of a content that are here; `None` where none are.
    fn kept(&self, content: &ContentId) -> Option<Charges> {
        kept_charges(&self.quotas, &self.disks.folders(content))
    }

    /// Notes on a disk what a content is charged to, before bytes of it come there.
    ///
    /// # Errors
    /// An error of the disk.
    pub fn charge(&self, new: BytesToCome<'_>, number: DiskNumber) -> io::Result<()> {
        if self.quotas.is_empty() || new.content.is_charged_on(number, new.charges) {
            return Ok(());
        }
        let folder = self.disks.folder(number, new.content.id());
        if !new.charges.is_empty() || has_bytes(&folder) {
            make_folder(&folder)?;
            self.quotas.note(&folder, new.charges)?;
        }
        new.content.note_charges_on(number, new.charges);
        Ok(())
    }

    /// The disk to which bytes of a content may be added now: the one that its last segment is on
    /// where that has room, else that with most room. Segments may go for it. `None` where no disk
    /// or a quota of it has no room.
    pub fn admits(&mut self, new: BytesToCome<'_>, now: u64) -> Option<DiskNumber> {
        let BytesToCome { content, bytes, .. } = new;
        let wanted = content.disk();
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
        let mut refused_by = None;
        for (number, _) in order {
            match self.admits_on(number, new, now) {
                Ok(None) => return Some(number),
                Ok(Some(by)) => refused_by = Some(by),
                Err(error) => self.disks.note_failed_write(number, &error, now),
            }
            if matches!(refused_by, Some(LimitScope::Quota(_))) {
                // It has no room on any disk.
                break;
            }
        }
        if let Some(LimitScope::Quota(at)) = refused_by
            && let Some(room) = self.quota_rooms.get_mut(at)
        {
            room.refused_bytes += bytes;
        }
        None
    }

    /// What refuses bytes on a disk; `None` where they may be added now. Segments may go for it.
    ///
    /// # Errors
    /// An error of the disk.
    fn admits_on(
        &mut self,
        number: DiskNumber,
        new: BytesToCome<'_>,
        now: u64,
    ) -> io::Result<Option<LimitScope>> {
        let BytesToCome { content, charges, bytes } = new;
        let is_granted = |at: usize| self.quota_rooms.get(at).is_none_or(|q| bytes <= q.granted);
        let are_granted = charges.positions().all(is_granted);
        let Some(room) = self.rooms.get(&number) else { return Ok(Some(LimitScope::Disk(number))) };
        if bytes <= room.granted && are_granted {
            return Ok(None);
        }
        if let Some(at) = charges.positions().find(|at| self.is_beyond(*at, bytes)) {
            self.respect(number, charges, at)?;
            return Ok(Some(LimitScope::Quota(at)));
        }
        let Some(room) = self.rooms.get(&number) else { return Ok(Some(LimitScope::Disk(number))) };
        // Refused once, refused until something has changed: one look for each open, not for each
        // basket.
        let content = *content.id();
        let is_it = |old: &&RoomRefusal| old.content == content && old.charges == charges;
        if let Some(refusal) = room.refused.iter().find(is_it) {
            return Ok(Some(refusal.by));
        }
        let refused_by = self.look(number, new, now)?;
        if let Some(room) = self.rooms.get_mut(&number) {
            match refused_by {
                Some(by) => {
                    let surplus = (room.refused.len() + 1).saturating_sub(MISSED_MAX);
                    room.refused.drain(..surplus);
                    room.refused.push(RoomRefusal { content, charges, by });
                }
                None => room.refused.clear(),
            }
        }
        Ok(refused_by)
    }

    /// Whether a quota never has room for so many bytes, whatever goes.
    fn is_beyond(&self, at: usize, bytes: u64) -> bool {
        self.quotas.all().get(at).is_some_and(|quota| bytes > quota.bytes_max)
    }

    /// Once, lets go what a quota has beyond its limit, which may have become smaller.
    ///
    /// # Errors
    /// An error of the disk.
    fn respect(&mut self, number: DiskNumber, charges: Charges, at: usize) -> io::Result<()> {
        if self.quota_rooms.get(at).is_none_or(|room| room.is_respected) {
            return Ok(());
        }
        let _locks = self.lock(number, charges)?;
        let found = self.found(number, charges);
        let held: Vec<Held> = found.iter().map(|found| found.held).collect();
        let bytes_max = self.quotas.all().get(at).map_or(0, |quota| quota.bytes_max);
        if let Some(room) = self.quota_rooms.get_mut(at) {
            // What is open stays until later.
            room.is_respected = LimitScope::Quota(at).bytes(&held) <= bytes_max;
        }
        Ok(())
    }

    /// So many bytes of a content were added to a disk.
    pub fn grown(&mut self, number: DiskNumber, new: BytesToCome<'_>, bytes: u64) {
        new.content.set_charges(new.charges);
        self.rooms.get_mut(&number).into_iter().for_each(|room| room.grown(bytes));
        for at in new.charges.positions() {
            let room = self.quota_rooms.get_mut(at);
            room.into_iter().for_each(|room| room.granted = room.granted.saturating_sub(bytes));
        }
    }

    /// A write to a disk has failed.
    pub fn note_failed_write(&self, number: DiskNumber, error: &io::Error, now: u64) {
        self.disks.note_failed_write(number, error, now);
    }

    /// Looks at the segments, and decides: the one decision about room.
    fn look(
        &mut self,
        number: DiskNumber,
        new: BytesToCome<'_>,
        now: u64,
    ) -> io::Result<Option<LimitScope>> {
        let _locks = self.lock(number, new.charges)?;
        let Some(room) = self.rooms.get(&number) else { return Ok(Some(LimitScope::Disk(number))) };
        let data = room.data.clone();
        notices::clean(&data);
        let found = self.found(number, new.charges);
        let held: Vec<Held> = found.iter().map(|found| found.held).collect();
        let space = DiskSpace::new(&data, &self.config, LimitScope::Disk(number).bytes(&held));
        if let Some(room) = self.rooms.get_mut(&number) {
            room.free = Some(space.room());
        }
        let mut state = load(&data);
        let mut budgets = self.quota_budgets(new, &found);
        budgets.push(Budget {
            scope: LimitScope::Disk(number),
            bytes_max: self.config.bytes_max,
            wanted: new.bytes.max(space::step(&self.config)),
            lacking: space.under_floor(),
            hand: hand(LimitScope::Disk(number), &found, &state.hand),
        });
        let is_admitted_as_it_is = budgets.iter().all(|budget| budget.needed(&held) == 0);
        if is_admitted_as_it_is {
            self.grant(&budgets);
            return Ok(None);
        }
        let key = place::content_folder(Path::new(""), new.content.id());
        let key = key.to_string_lossy().into_owned();
        let misses =
            state.misses.iter().find(|(of, _)| *of == key).map_or(0, |(_, misses)| *misses);
        let decision = evict::decide_jointly(&held, &budgets, misses, now);
        let refused_by = self.execute(&decision, &budgets, &found, &mut state);
        state.misses.retain(|(of, _)| *of != key);
        if refused_by.is_some() {
            state.misses.push((key, (misses + 1).min(MISSES_MAX)));
        }
        let surplus = state.misses.len().saturating_sub(MISSED_MAX);
        state.misses.drain(..surplus);
        save(&data, &state);
        let is_full = refused_by == Some(LimitScope::Disk(number)) && space.under_floor() > 0;
        if is_full && let Some(room) = self.rooms.get_mut(&number) {
            room.warn(&space, new.bytes);
        }
        if refused_by.is_none() {
            self.grant(&budgets);
            let wanted = budgets.iter().find(|budget| budget.scope == LimitScope::Disk(number));
            let room = self.rooms.get_mut(&number);
            room.into_iter().for_each(|room| room.free = wanted.map(|budget| budget.wanted));
        }
        Ok(refused_by)
    }

    /// The locks of all disks that a decision is about, in the order in which every process takes
    /// them.
    fn lock(&self, number: DiskNumber, charges: Charges) -> io::Result<Vec<File>> {
        let is_of_it = |disk: &DiskNumber| *disk == number || !charges.is_empty();
        let mut locks = Vec::new();
        for (disk, data) in self.disks.in_use().filter(|(disk, _)| is_of_it(disk)) {
            match lock(data) {
                Ok(lock) => locks.push(lock),
                Err(error) if disk == number => return Err(error),
                // Another one, whose next write finds the fault.
                Err(_) => {}
            }
        }
        Ok(locks)
    }

    /// The segments that a decision is about: those of a disk, and where there are quotas those of
    /// all disks. What has to go of a quota that has become smaller goes.
    fn found(&self, number: DiskNumber, charges: Charges) -> Vec<Found> {
        let is_of_it = |disk: &DiskNumber| *disk == number || !charges.is_empty();
        let mut found = Vec::new();
        for (disk, data) in self.disks.in_use().filter(|(disk, _)| is_of_it(disk)) {
            let mut of_disk = segments(data, &self.quotas);
            of_disk.iter_mut().for_each(|found| found.held.disk = disk);
            found.extend(of_disk);
        }
        sort(&mut found);
        for at in charges.positions() {
            let Some(quota) = self.quotas.all().get(at) else { continue };
            let held: Vec<Held> = found.iter().map(|found| found.held).collect();
            let mut goes = evict::surplus(&held, LimitScope::Quota(at), quota.bytes_max);
            goes.sort_unstable();
            for at in goes.into_iter().rev() {
                if evict(&found[at], &self.counting) > 0 {
                    found.remove(at);
                }
            }
        }
        found
    }

    /// The limits of the quotas of new bytes.
    fn quota_budgets(&self, new: BytesToCome<'_>, found: &[Found]) -> Vec<Budget> {
        let step = space::step(&self.config);
        let mut budgets = Vec::new();
        for at in new.charges.positions() {
            let quota = self.quotas.all().get(at).zip(self.quota_rooms.get(at));
            let Some((quota, room)) = quota else { continue };
            let scope = LimitScope::Quota(at);
            let own = found.iter().map(|found| &found.held).filter(|held| scope.has(held));
            let left = quota.bytes_max.saturating_sub(own.map(|held| held.bytes).sum());
            // No segment goes for bytes that no reader has brought in.
            let wanted = new.bytes.max(step.min(quota.bytes_max / 16).min(left));
            let hand = hand(scope, found, &room.hand);
            let bytes_max = quota.bytes_max;
            budgets.push(Budget { scope, bytes_max, wanted, lacking: 0, hand });
        }
        budgets
    }

    /// Does what was decided; returns what refuses the new bytes, if anything does.
    fn execute(
        &mut self,
        decision: &JointDecision,
        budgets: &[Budget],
        found: &[Found],
        state: &mut State,
    ) -> Option<LimitScope> {
        decision.aged.iter().for_each(|at| age(&found[*at].path, found[*at].held));
        for (budget, hand) in budgets.iter().zip(&decision.hands) {
            let mut own = found.iter().filter(|found| budget.scope.has(&found.held));
            let last = hand.checked_sub(1).and_then(|at| own.nth(at));
            let behind = match budget.scope {
                LimitScope::Disk(_) => Some(&mut state.hand),
                LimitScope::Quota(at) => self.quota_rooms.get_mut(at).map(|room| &mut room.hand),
            };
            if let (Some(last), Some(behind)) = (last, behind) {
                *behind = last.place();
            }
        }
        let evicted: Vec<Held> = {
            let goes = decision.evicted.iter().map(|at| &found[*at]);
            let freed = |found: &&Found| evict(found, &self.counting) > 0;
            goes.filter(freed).map(|found| found.held).collect()
        };
        let held: Vec<Held> = found.iter().map(|found| found.held).collect();
        // One may have been opened since.
        let is_short = |budget: &&Budget| budget.scope.bytes(&evicted) < budget.needed(&held);
        let short = budgets.iter().find(is_short).map(|budget| budget.scope);
        decision.refused_by.or(short)
    }

    /// So much may be added before the next look.
    fn grant(&mut self, budgets: &[Budget]) {
        for budget in budgets {
            let granted = match budget.scope {
                LimitScope::Disk(number) => {
                    self.rooms.get_mut(&number).map(|room| &mut room.granted)
                }
                LimitScope::Quota(at) => self.quota_rooms.get_mut(at).map(|room| &mut room.granted),
            };
            granted.into_iter().for_each(|granted| *granted = budget.wanted);
        }
    }

    /// Adds the bytes that quotas have refused to the state on the first disk.
    pub fn save_refused(&mut self) {
        if self.quota_rooms.iter().all(|room| room.refused_bytes == 0) {
            return;
        }
        let Some((_, data)) = self.disks.in_use().next() else { return };
        let Ok(_lock) = lock(data) else { return };
        let mut state = load(data);
        for (room, hash) in self.quota_rooms.iter_mut().zip(self.quotas.hashes()) {
            let refused = std::mem::take(&mut room.refused_bytes);
            if refused > 0 {
                *state.refused.entry(hash.clone()).or_default() += refused;
            }
        }
        // No reader asks for figures of quotas that the settings no longer have.
        state.refused.retain(|hash, _| self.quotas.hashes().contains(hash));
        save(data, &state);
    }
}

impl CacheDiskRoom {
    fn new(data: PathBuf, config: CacheConfig) -> Self {
        let refused = Vec::new();
        CacheDiskRoom { data, config, free: None, granted: 0, refused, has_warned: false }
    }

    /// Bytes that are free, as far as is known; looks where so many are wanted the first time.
    fn free(&mut self, bytes: u64) -> u64 {
        if bytes <= self.granted {
            return self.free.unwrap_or_default().max(self.granted);
        }
        match self.free {
            Some(free) => free,
            None => *self.free.insert(space_of(&self.data, &self.config).room()),
        }
    }

    /// Says once that others fill the disk.
    fn warn(&mut self, space: &DiskSpace, bytes: u64) {
        if !std::mem::replace(&mut self.has_warned, true) {
            tracing::warn!("{}: {}", self.data.display(), space.no_room(bytes));
        }
    }

    /// So many bytes were added.
    fn grown(&mut self, bytes: u64) {
        self.granted = self.granted.saturating_sub(bytes);
        self.free = self.free.map(|free| free.saturating_sub(bytes));
    }
}

/// How many segments of a limit are not behind the place where its hand stands.
fn hand(scope: LimitScope, found: &[Found], behind: &(u64, String)) -> usize {
    let own = found.iter().filter(|found| scope.has(&found.held));
    own.filter(|found| found.place() <= *behind).count()
}

/// How much room a disk has.
pub fn space_of(data: &Path, config: &CacheConfig) -> DiskSpace {
    let found = segments(data, &Quotas::default());
    DiskSpace::new(data, config, found.iter().map(|found| found.held.bytes).sum())
}

/// Waits for the other processes that decide about a disk.
fn lock(data: &Path) -> io::Result<File> {
    let lock = FolderEntry::at(&data.join(LOCK)).and_then(|lock| lock.open_or_create())?;
    lock.lock()?;
    Ok(lock)
}

fn save(data: &Path, state: &State) {
    // Without it the hand begins anew, and misses are counted from none.
    let write = || -> io::Result<()> {
        let mut file = tempfile::Builder::new().prefix(UNFINISHED).tempfile_in(data)?;
        file.write_all(&serde_json::to_vec(state)?)?;
        file.persist(data.join(STATE)).map(drop).map_err(|error| error.error)
    };
    let _ = write();
}

/// Bytes that quotas have refused, by the quota's name on the disk.
pub fn refused(data: &Path) -> BTreeMap<String, u64> {
    load(data).refused
}

/// The charges of a content that has bytes in one of these folders; `None` where it has none.
pub fn kept_charges(quotas: &Quotas, folders: &[PathBuf]) -> Option<Charges> {
    let with_bytes = folders.iter().filter(|folder| has_bytes(folder));
    with_bytes.map(|folder| quotas.of_folder(folder)).reduce(Charges::and)
}

/// Lets segments of a quota go until no more than so many bytes are charged to it; returns how many
/// bytes are.
pub fn shrink_quota(
    data: &[&Path],
    quotas: &Quotas,
    limit: (usize, u64),
    counting: &Counting,
) -> u64 {
    let (at, bytes_max) = limit;
    let mut found: Vec<Found> = data.iter().flat_map(|data| segments(data, quotas)).collect();
    sort(&mut found);
    let held: Vec<Held> = found.iter().map(|found| found.held).collect();
    let goes = evict::surplus(&held, LimitScope::Quota(at), bytes_max);
    let freed: u64 = goes.into_iter().map(|at| evict(&found[at], counting)).sum();
    LimitScope::Quota(at).bytes(&held).saturating_sub(freed)
}

fn sort(found: &mut [Found]) {
    found.sort_by(|a, b| (a.begun, &a.path).cmp(&(b.begun, &b.path)));
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
    let quotas = Quotas::default();
    let mut found: Vec<Found> = data.iter().flat_map(|data| segments(data, &quotas)).collect();
    sort(&mut found);
    let held: Vec<Held> = found.iter().map(|found| found.held).collect();
    let taken: u64 = held.iter().map(|held| held.bytes).sum();
    let goes = evict::shrink(&held, 0, taken.saturating_sub(bytes_max));
    goes.into_iter().map(|at| evict(&found[at], counting)).sum()
}

/// Removes the segments that were last used before a time; returns how many bytes that frees.
pub fn remove_unused(data: &Path, before: u64, counting: &Counting) -> u64 {
    let found = segments(data, &Quotas::default());
    let goes = found.iter().filter(|found| found.held.used < before && !found.held.stays);
    goes.map(|found| evict(found, counting)).sum()
}

/// All segments, in the order in which they were begun, as charged to these quotas.
pub fn segments(data: &Path, quotas: &Quotas) -> Vec<Found> {
    let mut found = Vec::new();
    for folder in place::content_folders(data) {
        let numbers = numbers(&folder);
        let has_replica = folder.join(replica_files::REPLICA).exists();
        let is_pinned = folder.join(PIN).exists();
        // A pin holds for bytes that are still to come, too.
        let is_empty = numbers.is_empty() && !has_replica && !is_pinned;
        if is_empty && lock_alone(&folder).is_some() {
            remove_folder(&folder);
            continue;
        }
        let stays = is_pinned || lock_alone(&folder).is_none();
        let first = found.len();
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
            let held = Held { bytes, uses: usage.uses, used: usage.used, stays, ..Held::default() };
            found.push(Found { path, begun: header.map_or(0, |header| header.begun), held });
        }
        let charges = quotas.of_folder(&folder);
        found[first..].iter_mut().for_each(|found| found.held.charges = charges);
    }
    sort(&mut found);
    found
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
