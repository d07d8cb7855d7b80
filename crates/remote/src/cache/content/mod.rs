//! Cached content of one version of one file: a folder of segments.

mod shrink;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::ops::Range;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use bytes::Bytes;
use mutex::{Mutex, MutexGuard};

use super::disks::{DiskNumber, Disks};
use super::extents::{Extents, RecordPlace};
use super::format::{ContentId, DATA_BYTES_MAX, Record, decode_record};
use super::segment::Segment;
use crate::charges::Charges;
use crate::source::buffers::Buffers;
use crate::source::held::HeldBytes;

/// Neighbouring records are read together up to so many bytes, which a buffer holds.
const RUN_BYTES: u64 = 1 << 20;
/// Bytes between two records that are read along, rather than in two reads: a page of the disk.
const RUN_GAP_BYTES: u64 = 4096;
/// The name of the file whose shared lock shows that a process reads from the folder.
pub const OPEN_LOCK: &str = "open";
/// The name of the file with the quotas that the content is charged to.
pub const CHARGED: &str = "charged";
/// The name of the file that keeps eviction away.
pub const PIN: &str = "pinned";
/// Bits of a segment's number in its key; those above are its disk's.
const NUMBER_BITS: u32 = 24;
const NUMBER_MASK: u32 = (1 << NUMBER_BITS) - 1;

/// One content, open. All that read one file share it.
#[derive(Debug)]
pub struct HeldContent {
    id: ContentId,
    disks: Arc<Disks>,
    extents: Mutex<Extents>,
    /// The disks left out whose records are forgotten: so many.
    left_out: AtomicU64,
    readers: Mutex<BTreeMap<u32, Arc<File>>>,
    segments: Mutex<Segments>,
    /// Nothing more is added: another version of the file has taken its place.
    is_over: AtomicBool,
    /// The latest bytes were not cached: the disk is behind or full.
    is_refused: AtomicBool,
    /// The writer thread has still to read the records that other processes have added.
    is_looked_for: AtomicBool,
    charged: Mutex<Charged>,
}

/// The quotas that a content is charged to, as far as this process knows.
#[derive(Debug, Default)]
struct Charged {
    charges: Option<Charges>,
    /// The disks where these are noted.
    noted: BTreeMap<DiskNumber, Charges>,
}

#[derive(Debug, Default)]
struct Segments {
    open: BTreeMap<u32, Segment>,
    /// Of the folders by disk, shared: they are not evicted meanwhile.
    locks: BTreeMap<DiskNumber, File>,
    /// The disk that takes records; `None` when another may take the next ones.
    disk: Option<DiskNumber>,
    /// Those whose use has been counted.
    counted: Vec<u32>,
    /// Records were given up since the last look at how much of the segments is needed.
    has_given_up: bool,
}

impl HeldContent {
    /// Opens the content, of which the disks need have nothing.
    pub fn open(disks: Arc<Disks>, id: ContentId) -> Self {
        let content = HeldContent {
            id,
            disks,
            extents: Mutex::default(),
            left_out: AtomicU64::new(0),
            readers: Mutex::default(),
            segments: Mutex::default(),
            is_over: AtomicBool::new(false),
            is_refused: AtomicBool::new(false),
            is_looked_for: AtomicBool::new(false),
            charged: Mutex::default(),
        };
        content.refresh();
        content
    }

    /// Its name.
    pub fn id(&self) -> &ContentId {
        &self.id
    }

    /// Whether all of `range` is cached.
    pub fn holds(&self, range: &Range<u64>) -> bool {
        self.extents().holds(range)
    }

    /// The cached bytes from `start` on, up to the first that is not.
    pub fn run_from(&self, start: u64) -> Option<Range<u64>> {
        self.extents().run_from(start)
    }

    /// Bytes of the file that are cached.
    pub fn bytes(&self) -> u64 {
        self.extents().bytes()
    }

    /// The cached ranges, ascending.
    pub fn ranges(&self) -> Vec<Range<u64>> {
        self.extents().ranges()
    }

    /// The records, without those on disks that are left out.
    fn extents(&self) -> MutexGuard<'_, Extents> {
        let mut extents = self.extents.lock();
        let (_, left_out) = self.disks.counts();
        if self.left_out.swap(left_out, Ordering::AcqRel) != left_out {
            extents.forget_segments(|key| !self.disks.is_in_use(disk_of(key)));
        }
        extents
    }

    /// The disk for the next records, where they continue a segment.
    pub fn disk(&self) -> Option<DiskNumber> {
        self.segments.lock().disk
    }

    /// Adds nothing more: another version of the file has taken its place.
    pub fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }

    /// Whether nothing more is added.
    pub fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    /// Whether the latest bytes were not cached: the disk is behind or full.
    pub fn is_refused(&self) -> bool {
        self.is_refused.load(Ordering::Relaxed)
    }

    /// Notes whether the latest bytes were not cached.
    pub fn note_refusal(&self, is_refused: bool) {
        self.is_refused.store(is_refused, Ordering::Relaxed);
    }

    /// The quotas that bytes of it are charged to; `None` where none have come in here.
    pub fn charges(&self) -> Option<Charges> {
        self.charged.lock().charges
    }

    /// Whether these charges are noted on a disk.
    pub fn is_charged_on(&self, disk: DiskNumber, charges: Charges) -> bool {
        self.charged.lock().noted.get(&disk) == Some(&charges)
    }

    /// These charges were noted on a disk.
    pub fn note_charges_on(&self, disk: DiskNumber, charges: Charges) {
        self.charged.lock().noted.insert(disk, charges);
    }

    /// Bytes have come in that are charged to these.
    pub fn set_charges(&self, charges: Charges) {
        self.charged.lock().charges = Some(charges);
    }

    /// Marks a refresh by the writer thread as pending; false if one is pending already.
    pub fn begin_look(&self) -> bool {
        !self.is_looked_for.swap(true, Ordering::Relaxed)
    }

    /// Does the pending refresh: reads the records that other processes have added.
    pub fn end_look(&self) {
        self.refresh();
        self.is_looked_for.store(false, Ordering::Release);
    }

    /// Whether a refresh is pending.
    pub fn is_looked_for(&self) -> bool {
        self.is_looked_for.load(Ordering::Acquire)
    }

    fn read_run(
        &self,
        run: &[(Range<u64>, RecordPlace)],
        readers: &BTreeMap<u32, Arc<File>>,
        buffers: &Arc<Buffers>,
        take: &mut dyn FnMut(u64, Bytes),
    ) -> io::Result<()> {
        let Some((_, first)) = run.first() else { return Ok(()) };
        let Some((_, last)) = run.last() else { return Ok(()) };
        let reader = readers.get(&first.segment).ok_or(ErrorKind::NotFound)?;
        let begin = first.record.position;
        let bytes = buffers.read(reader, begin..last.record.end())?;
        for (part, place) in run {
            let at = (place.record.position - begin) as usize;
            let record = bytes.get(at..).and_then(|bytes| decode_record(&self.id, bytes));
            let data = record.filter(|(offset, data)| {
                *offset == place.record.offset && data.len() == place.record.length as usize
            });
            let Some((offset, data)) = data else {
                self.extents.lock().forget(*place);
                return Err(ErrorKind::InvalidData.into());
            };
            let piece = &data[(part.start - offset) as usize..(part.end - offset) as usize];
            take(part.start, bytes.slice_ref(piece));
        }
        Ok(())
    }

    /// Counts that its segments are in use, each once for as long as this is open.
    pub fn note_use(&self, now: u64) {
        let mut segments = self.segments.lock();
        let Segments { open, counted, .. } = &mut *segments;
        for (number, segment) in open {
            let is_new = !counted.contains(number);
            // A file that cannot be counted leaves sooner.
            let _ = segment.note_use(now, is_new);
            if is_new {
                counted.push(*number);
            }
        }
    }

    /// Bytes of `pieces`, by offset, that are not cached yet.
    pub fn new_bytes(&self, pieces: &[(u64, Bytes)]) -> u64 {
        let extents = self.extents.lock();
        let new = |(at, piece): &(u64, Bytes)| -> u64 {
            let missing = extents.missing(*at..*at + piece.len() as u64);
            missing.iter().map(|range| range.end - range.start).sum()
        };
        pieces.iter().map(new).sum()
    }

    /// Adds bytes, by offset, on a disk; bytes that are cached already are not added again. Returns
    /// how many bytes the segments have grown by.
    ///
    /// # Errors
    /// An error of writing, as of a full disk.
    pub fn add(&self, pieces: &[(u64, Bytes)], disk: DiskNumber, now: u64) -> io::Result<u64> {
        if self.is_over() {
            return Ok(0);
        }
        let mut segments = self.segments.lock();
        segments.disk = Some(disk);
        self.add_to(&mut segments, pieces, disk, now)
    }

    fn add_to(
        &self,
        segments: &mut Segments,
        pieces: &[(u64, Bytes)],
        disk: DiskNumber,
        now: u64,
    ) -> io::Result<u64> {
        let records = self.records_of(pieces);
        let mut rest: Vec<(u64, &[u8])> =
            records.iter().map(|(at, piece)| (*at, &piece[..])).collect();
        let mut grown = 0;
        while !rest.is_empty() {
            let number = self.last_segment(segments, disk, now)?;
            let Some(segment) = segments.open.get_mut(&number) else { break };
            let is_missing = |record: &Record, others: &[Record]| {
                let is_other = |other: &Record| other.range() == record.range();
                !others.iter().any(is_other) && !self.extents.lock().holds(&record.range())
            };
            let appended = match segment.append(&rest, is_missing) {
                Ok(appended) => appended,
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    self.leave_removed(segments, number)?;
                    continue;
                }
                Err(error) => return Err(error),
            };
            grown += self.learn(number, &appended.records, appended.cut);
            rest.drain(..appended.written);
            if appended.is_full {
                self.write_index(number, segment)?;
                self.begin(segments, number + 1, now)?;
                segments.disk = None;
            }
        }
        Ok(grown)
    }

    /// The last segment has been removed: another process has replaced it, or all were evicted.
    fn leave_removed(&self, segments: &mut Segments, number: u32) -> io::Result<()> {
        if self.keys().is_empty() {
            // Evicted: segments that are open can still be read, and nothing is added.
            self.end();
            return Err(ErrorKind::NotFound.into());
        }
        // The needed records of a replaced segment are in another one, which may have its number.
        self.extents.lock().forget_segment(number, 0);
        segments.open.remove(&number);
        self.readers.lock().remove(&number);
        self.find_segments(segments);
        Ok(())
    }

    /// Writes indexes where records lack in those on the disk.
    ///
    /// # Errors
    /// An error of writing one.
    pub fn save(&self) -> io::Result<()> {
        let mut segments = self.segments.lock();
        for (number, segment) in &mut segments.open {
            if segment.is_unindexed() && self.disks.is_in_use(disk_of(*number)) {
                self.write_index(*number, segment)?;
            }
        }
        Ok(())
    }

    fn write_index(&self, number: u32, segment: &mut Segment) -> io::Result<()> {
        let records = self.extents.lock().of_segment(number);
        segment.write_index(records)
    }

    /// The parts of pieces that are not cached, none longer than a record may be.
    fn records_of(&self, pieces: &[(u64, Bytes)]) -> Vec<(u64, Bytes)> {
        let extents = self.extents.lock();
        let mut records = Vec::new();
        for (offset, piece) in pieces {
            for missing in extents.missing(*offset..*offset + piece.len() as u64) {
                let mut at = missing.start;
                while at < missing.end {
                    let end = missing.end.min(at + DATA_BYTES_MAX);
                    let part = (at - offset) as usize..(end - offset) as usize;
                    records.push((at, piece.slice(part)));
                    at = end;
                }
            }
        }
        records
    }

    fn learn(&self, number: u32, records: &[Record], cut: Option<u64>) -> u64 {
        let mut extents = self.extents.lock();
        if let Some(cut) = cut {
            extents.forget_segment(number, cut);
        }
        for record in records {
            extents.insert(RecordPlace { segment: number, record: *record });
        }
        records.iter().map(Record::bytes).sum()
    }

    /// The key of the segment that takes records, which is begun where there is none.
    fn last_segment(&self, segments: &mut Segments, disk: DiskNumber, now: u64) -> io::Result<u32> {
        if let Entry::Vacant(lock) = segments.locks.entry(disk) {
            self.disks.check(disk)?;
            let folder = self.disks.folder(disk, &self.id);
            make_folder(&folder)?;
            lock.insert(lock_shared(&folder)?);
        }
        if last_on(segments, disk).is_none() {
            self.find_segments(segments);
        }
        match last_on(segments, disk) {
            Some(key) => Ok(key),
            None => {
                let folder = self.disks.folder(disk, &self.id);
                let key = key_of(disk, numbers(&folder).pop().map_or(0, |last| last + 1));
                self.begin(segments, key, now).map(|()| key)
            }
        }
    }

    /// Learns the records that other processes have added.
    pub fn refresh(&self) {
        let mut segments = self.segments.lock();
        for (disk, _) in self.disks.in_use() {
            if !segments.locks.contains_key(&disk)
                && let Ok(lock) = lock_shared(&self.disks.folder(disk, &self.id))
            {
                segments.locks.insert(disk, lock);
            }
        }
        self.find_segments(&mut segments);
        for (number, segment) in &mut segments.open {
            if let Ok(records) = segment.learn() {
                self.learn(*number, &records, None);
            }
        }
    }

    /// The keys of all segments on the disks in use.
    fn keys(&self) -> Vec<u32> {
        let of = |(disk, _)| {
            let numbers = numbers(&self.disks.folder(disk, &self.id));
            numbers.into_iter().map(move |number| key_of(disk, number))
        };
        self.disks.in_use().flat_map(of).collect()
    }

    fn path(&self, key: u32) -> PathBuf {
        segment_path(&self.disks.folder(disk_of(key), &self.id), key & NUMBER_MASK)
    }

    /// Opens the segments that other processes have begun.
    fn find_segments(&self, segments: &mut Segments) {
        for key in self.keys() {
            if !segments.open.contains_key(&key) {
                let _ = self.enter(segments, key);
            }
        }
    }

    fn begin(&self, segments: &mut Segments, number: u32, now: u64) -> io::Result<()> {
        match Segment::begin(&self.path(number), self.id, now) {
            Ok(segment) => {
                self.readers.lock().insert(number, Arc::new(segment.reader()?));
                segments.open.insert(number, segment);
                segments.counted.push(number);
                Ok(())
            }
            // Another process was faster.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => self.enter(segments, number),
            Err(error) => Err(error),
        }
    }

    /// Opens a segment that is there.
    fn enter(&self, segments: &mut Segments, number: u32) -> io::Result<()> {
        let (segment, records) = Segment::open(&self.path(number), self.id)?;
        self.readers.lock().insert(number, Arc::new(segment.reader()?));
        self.learn(number, &records, None);
        segments.open.insert(number, segment);
        Ok(())
    }
}

impl HeldBytes for HeldContent {
    /// `InvalidData` for a record that differs from the written one, which is then forgotten.
    fn read(
        &self,
        ranges: &[Range<u64>],
        buffers: &Arc<Buffers>,
        take: &mut dyn FnMut(u64, Bytes),
    ) -> io::Result<()> {
        // The segments as they are now: one may be replaced, and removed, meanwhile.
        let readers = self.readers.lock().clone();
        let mut parts: Vec<(Range<u64>, RecordPlace)> = {
            let extents = self.extents();
            ranges.iter().flat_map(|range| extents.parts(range.clone())).collect()
        };
        parts.sort_unstable_by_key(|(_, place)| (place.segment, place.record.position));
        let mut rest = &parts[..];
        while !rest.is_empty() {
            let (run, behind) = rest.split_at(run_length(rest));
            rest = behind;
            let read = self.read_run(run, &readers, buffers, take);
            read.inspect_err(|error| {
                run.first().into_iter().for_each(|(_, place)| {
                    self.disks.note_failed_read(disk_of(place.segment), error);
                });
            })?;
        }
        Ok(())
    }
}

/// How many of `parts`, which are in the order of their records, are read at once.
fn run_length(parts: &[(Range<u64>, RecordPlace)]) -> usize {
    let Some((_, first)) = parts.first() else { return 0 };
    let mut end = first.record.end();
    let follows = |(_, place): &&(Range<u64>, RecordPlace)| {
        let record = place.record;
        let follows = place.segment == first.segment
            && record.position <= end.saturating_add(RUN_GAP_BYTES)
            && record.end() - first.record.position <= RUN_BYTES;
        end = record.end();
        follows
    };
    1 + parts[1..].iter().take_while(follows).count()
}

/// The key of a segment among those of all disks.
fn key_of(disk: DiskNumber, number: u32) -> u32 {
    disk << NUMBER_BITS | (number & NUMBER_MASK)
}

/// The disk of a segment.
fn disk_of(key: u32) -> DiskNumber {
    key >> NUMBER_BITS
}

/// The last open segment on a disk.
fn last_on(segments: &Segments, disk: DiskNumber) -> Option<u32> {
    let mut on_disk = segments.open.range(key_of(disk, 0)..=key_of(disk, NUMBER_MASK));
    on_disk.next_back().map(|(key, _)| *key)
}

/// The numbers of the segments in a folder, ascending.
pub fn numbers(folder: &Path) -> Vec<u32> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let number = |entry: fs::DirEntry| {
        let name = entry.file_name();
        let number = name.to_str()?.strip_suffix(".far")?;
        (number.len() == 5).then(|| number.parse().ok()).flatten()
    };
    let mut numbers: Vec<u32> = entries.flatten().filter_map(number).collect();
    numbers.sort_unstable();
    numbers
}

/// Where a segment is.
pub fn segment_path(folder: &Path, number: u32) -> PathBuf {
    folder.join(format!("{number:05}.far"))
}

/// Makes a folder for segments, with the file whose locks show its readers.
///
/// # Errors
/// An error of making it.
pub fn make_folder(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    open_lock(folder, true).map(drop)
}

fn open_lock(folder: &Path, create: bool) -> io::Result<File> {
    let mut options = File::options();
    options.read(true).write(true).create(create).mode(0o600);
    options.custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
    options.open(folder.join(OPEN_LOCK))
}

/// Shows others that the folder is in use.
///
/// # Errors
/// There is no such folder, or it is being removed.
pub fn lock_shared(folder: &Path) -> io::Result<File> {
    let lock = open_lock(folder, false)?;
    lock.try_lock_shared()?;
    Ok(lock)
}

/// Whether no process reads from the folder or adds to it; it stays so while the file is open.
pub fn lock_alone(folder: &Path) -> Option<File> {
    let lock = open_lock(folder, false).ok()?;
    lock.try_lock().ok().map(|()| lock)
}
