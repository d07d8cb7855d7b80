//! The thread that adds to a cache, so that no read waits for the disk.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use bytes::Bytes;
use mutex::Mutex;

use super::content::HeldContent;
use super::counters::Counting;
use super::names::{Name, Names};
use super::notices::Notices;
use super::packing::Contents;
use super::quota::AskedCharges;
use super::room::{BytesToCome, Rooms};
use crate::clock::seconds_since_1970;

/// Most bytes that wait for the disk; pieces that arrive while so many wait are not cached.
const WAITING_MAX: u64 = 64 << 20;
/// Written together, where so much waits.
const TOGETHER: usize = 4096;
/// Without anything to write for so long, indexes are written.
const IDLE: Duration = Duration::from_secs(2);
/// The thread's other end. Dropping it waits until all is written.
#[derive(Debug)]
pub struct CacheWriter {
    jobs: Option<Mutex<Sender<Job>>>,
    waiting: Arc<AtomicU64>,
    counting: Arc<Counting>,
    thread: Option<JoinHandle<()>>,
}

/// A content that takes bytes, and the quotas that are named for them.
#[derive(Debug, Clone)]
pub struct Receiving {
    pub content: Arc<HeldContent>,
    pub asked: AskedCharges,
}

impl PartialEq for Receiving {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.content, &other.content) && self.asked == other.asked
    }
}

/// Bytes of a file, by offset.
type Pieces = Vec<(u64, Bytes)>;

/// A part of a file with another codec.
pub struct PackedPart {
    /// The bytes of the file that it stands for.
    pub range: Range<u64>,
    /// Where it is in the content of such parts.
    pub at: u64,
    pub bytes: Bytes,
}

enum Job {
    Record(Receiving, u64, Bytes),
    Name(Name),
    Part(Contents, PackedPart),
    /// A range that is read with another codec.
    GiveUp(Contents, Range<u64>),
    Use(Arc<HeldContent>),
    Look(Arc<HeldContent>),
    /// Drops the notices, after the records before them are on the disk.
    Leave(Arc<Notices>),
    Flush(Sender<()>),
}

impl CacheWriter {
    pub fn start(rooms: Rooms, names: Names, counting: Arc<Counting>) -> Self {
        let (jobs, receiver) = channel();
        let waiting = Arc::new(AtomicU64::new(0));
        let worker = Worker {
            jobs: receiver,
            waiting: waiting.clone(),
            counting: counting.clone(),
            rooms,
            names,
            unsaved: Vec::new(),
        };
        let thread = Builder::new().name("farroot-cache".into()).spawn(move || worker.run()).ok();
        // Without a thread nothing is taken, and nothing cached.
        let jobs = thread.is_some().then(|| Mutex::new(jobs));
        CacheWriter { jobs, waiting, counting, thread }
    }

    /// Keeps bytes of a content, unless too many wait.
    pub fn record(&self, of: Receiving, offset: u64, bytes: Bytes) {
        let length = bytes.len() as u64;
        if self.waiting.load(Ordering::Relaxed) + length > WAITING_MAX {
            of.content.note_refusal(true);
            return self.counting.refused(length);
        }
        self.waiting.fetch_add(length, Ordering::Relaxed);
        self.send(Job::Record(of, offset, bytes));
    }

    /// Keeps a part of a file, unless too many bytes wait.
    pub fn part(&self, of: Contents, part: PackedPart) {
        let length = part.bytes.len() as u64;
        if self.waiting.load(Ordering::Relaxed) + length > WAITING_MAX {
            return self.counting.not_recompressed(part.range.end - part.range.start);
        }
        self.waiting.fetch_add(length, Ordering::Relaxed);
        self.send(Job::Part(of, part));
    }

    /// Gives up the bytes of a range, as the file has them.
    pub fn give_up(&self, of: Contents, range: Range<u64>) {
        self.send(Job::GiveUp(of, range));
    }

    pub fn name(&self, name: Name) {
        self.send(Job::Name(name));
    }

    pub fn note_use(&self, content: Arc<HeldContent>) {
        self.send(Job::Use(content));
    }

    pub fn look(&self, content: Arc<HeldContent>) {
        // A pending refresh serves all who want one.
        if content.begin_look() {
            self.send(Job::Look(content));
        }
    }

    /// Drops a file's notices once the bytes recorded before are written.
    pub fn leave(&self, notices: Arc<Notices>) {
        self.send(Job::Leave(notices));
    }

    /// Waits until all that was given is on the disk, with its index.
    pub fn flush(&self) {
        let (done, is_done) = channel();
        self.send(Job::Flush(done));
        let _ = is_done.recv();
    }

    fn send(&self, job: Job) {
        if let Some(jobs) = &self.jobs {
            let _ = jobs.lock().send(job);
        }
    }
}

impl Drop for CacheWriter {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Worker {
    jobs: Receiver<Job>,
    waiting: Arc<AtomicU64>,
    counting: Arc<Counting>,
    rooms: Rooms,
    names: Names,
    /// Contents that have records without an index.
    unsaved: Vec<Arc<HeldContent>>,
}

impl Worker {
    fn run(mut self) {
        loop {
            let first = match self.jobs.recv_timeout(IDLE) {
                Ok(job) => job,
                Err(RecvTimeoutError::Timeout) => {
                    self.save();
                    match self.jobs.recv() {
                        Ok(job) => job,
                        Err(_) => return,
                    }
                }
                Err(RecvTimeoutError::Disconnected) => return self.save(),
            };
            let mut jobs = vec![first];
            jobs.extend(self.jobs.try_iter().take(TOGETHER));
            self.execute(jobs);
        }
    }

    fn execute(&mut self, jobs: Vec<Job>) {
        let mut pieces: Vec<(Receiving, Pieces)> = Vec::new();
        let mut parts: Vec<(Contents, Vec<PackedPart>)> = Vec::new();
        for job in jobs {
            match job {
                Job::Record(of, offset, bytes) => {
                    match pieces.iter_mut().find(|(other, _)| *other == of) {
                        Some((_, pieces)) => pieces.push((offset, bytes)),
                        None => pieces.push((of, vec![(offset, bytes)])),
                    }
                }
                Job::Name(name) => self.names.keep(&name),
                Job::Look(content) => content.end_look(),
                Job::Leave(notices) => {
                    pieces.drain(..).for_each(|(of, pieces)| self.write(of, None, &pieces));
                    drop(notices);
                }
                Job::Use(content) => {
                    self.rooms.reconsider(content.id());
                    content.note_use(seconds_since_1970());
                }
                Job::Part(of, part) => match parts.iter_mut().find(|(other, _)| *other == of) {
                    Some((_, parts)) => parts.push(part),
                    None => parts.push((of, vec![part])),
                },
                Job::GiveUp(of, range) => self.give_up(of.original, &[range]),
                Job::Flush(done) => {
                    pieces.drain(..).for_each(|(of, pieces)| self.write(of, None, &pieces));
                    parts.drain(..).for_each(|(of, parts)| self.write_parts(of, parts));
                    self.save();
                    let _ = done.send(());
                }
            }
        }
        // The originals of parts come before these.
        pieces.drain(..).for_each(|(of, pieces)| self.write(of, None, &pieces));
        parts.drain(..).for_each(|(of, parts)| self.write_parts(of, parts));
        self.save_closed();
    }

    /// Contents that no reader has open any more are saved and closed: open ones stay.
    fn save_closed(&mut self) {
        let is_closed = |content: &mut Arc<HeldContent>| Arc::strong_count(content) == 1;
        for content in self.unsaved.extract_if(.., is_closed) {
            save(&content);
        }
    }

    /// Adds parts of a file with another codec, in place of its bytes.
    fn write_parts(&mut self, of: Contents, parts: Vec<PackedPart>) {
        let pieces: Pieces = parts.iter().map(|part| (part.at, part.bytes.clone())).collect();
        let receiving = Receiving { content: of.recompressed.clone(), asked: of.asked };
        self.write(receiving, Some(&of.original), &pieces);
        let mut ranges = Vec::with_capacity(parts.len());
        for PackedPart { range, at, bytes } in parts {
            let length = range.end - range.start;
            if of.recompressed.holds(&(at..at + bytes.len() as u64)) {
                self.counting.recompressed(length);
                ranges.push(range);
            } else {
                self.counting.not_recompressed(length);
            }
        }
        if self.rooms.gives_up_originals() {
            self.give_up(of.original, &ranges);
        }
    }

    fn give_up(&mut self, content: Arc<HeldContent>, ranges: &[Range<u64>]) {
        ranges.iter().for_each(|range| content.give_up(range));
        self.save_later(content);
    }

    /// Its index is written when there is time.
    fn save_later(&mut self, content: Arc<HeldContent>) {
        if !self.unsaved.iter().any(|other| Arc::ptr_eq(other, &content)) {
            self.unsaved.push(content);
        }
    }

    /// Adds bytes; `original` is the file's own content where they are not of that.
    fn write(&mut self, of: Receiving, original: Option<&HeldContent>, pieces: &[(u64, Bytes)]) {
        let Receiving { content, asked } = of;
        let bytes: u64 = pieces.iter().map(|(_, piece)| piece.len() as u64).sum();
        self.waiting.fetch_sub(bytes, Ordering::Relaxed);
        let now = seconds_since_1970();
        let new = content.new_bytes(pieces);
        if new == 0 {
            return;
        }
        let charges = self.rooms.charges(&content, original, asked);
        let to_come = BytesToCome { content: &content, charges, bytes: new };
        let Some(disk) = self.rooms.admits(to_come, now) else {
            content.note_refusal(true);
            return self.counting.refused(new);
        };
        let charged = self.rooms.charge(to_come, disk);
        match charged.and_then(|()| content.add(pieces, disk, now)) {
            Ok(grown) => {
                content.note_refusal(false);
                self.counting.stored(new);
                self.rooms.grown(disk, to_come, grown);
                self.save_later(content);
            }
            Err(error) => {
                content.note_refusal(true);
                self.counting.refused(new);
                self.rooms.note_failed_write(disk, &error, now);
            }
        }
    }

    fn save(&mut self) {
        self.unsaved.drain(..).for_each(|content| save(&content));
        self.rooms.save_refused();
    }
}

/// Without an index the records are walked over, and without room nothing is replaced.
fn save(content: &HeldContent) {
    let _ = content.shrink(seconds_since_1970());
    let _ = content.save();
}
