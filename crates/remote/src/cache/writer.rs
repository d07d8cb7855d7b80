//! The thread that adds to a cache, so that no read waits for the disk.

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
use super::room::Room;
use crate::clock::seconds_since_1970;

/// Most bytes that wait for the disk; pieces that arrive while so many wait are not cached.
const WAITING_MAX: u64 = 64 << 20;
/// Written together, where so much waits.
const TOGETHER: usize = 4096;
/// Without anything to write for so long, indexes are written.
const IDLE: Duration = Duration::from_secs(2);
/// After a write that failed, as on a full disk, nothing is written for so many seconds.
const PAUSE: u64 = 10;

/// The thread's other end. Dropping it waits until all is written.
#[derive(Debug)]
pub struct CacheWriter {
    jobs: Option<Mutex<Sender<Job>>>,
    waiting: Arc<AtomicU64>,
    counting: Arc<Counting>,
    thread: Option<JoinHandle<()>>,
}

/// Bytes of a file, by offset.
type Pieces = Vec<(u64, Bytes)>;

enum Job {
    Record(Arc<HeldContent>, u64, Bytes),
    Name(Name),
    Use(Arc<HeldContent>),
    Look(Arc<HeldContent>),
    /// Drops the notices, after the records before them are on the disk.
    Leave(Arc<Notices>),
    Flush(Sender<()>),
}

impl CacheWriter {
    pub fn start(room: Room, names: Names, counting: Arc<Counting>) -> Self {
        let (jobs, receiver) = channel();
        let waiting = Arc::new(AtomicU64::new(0));
        let worker = Worker {
            jobs: receiver,
            waiting: waiting.clone(),
            counting: counting.clone(),
            room,
            names,
            unsaved: Vec::new(),
            rests_until: 0,
        };
        let thread = Builder::new().name("farroot-cache".into()).spawn(move || worker.run()).ok();
        // Without a thread nothing is taken, and nothing cached.
        let jobs = thread.is_some().then(|| Mutex::new(jobs));
        CacheWriter { jobs, waiting, counting, thread }
    }

    /// Keeps bytes of a content, unless too many wait.
    pub fn record(&self, content: Arc<HeldContent>, offset: u64, bytes: Bytes) {
        let length = bytes.len() as u64;
        if self.waiting.load(Ordering::Relaxed) + length > WAITING_MAX {
            content.note_refusal(true);
            return self.counting.refused(length);
        }
        self.waiting.fetch_add(length, Ordering::Relaxed);
        self.send(Job::Record(content, offset, bytes));
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
    room: Room,
    names: Names,
    /// Contents that have records without an index.
    unsaved: Vec<Arc<HeldContent>>,
    /// Seconds since 1970.
    rests_until: u64,
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
        let mut pieces: Vec<(Arc<HeldContent>, Pieces)> = Vec::new();
        for job in jobs {
            match job {
                Job::Record(content, offset, bytes) => {
                    let is_it =
                        |(other, _): &&mut (Arc<HeldContent>, _)| Arc::ptr_eq(other, &content);
                    match pieces.iter_mut().find(is_it) {
                        Some((_, of)) => of.push((offset, bytes)),
                        None => pieces.push((content, vec![(offset, bytes)])),
                    }
                }
                Job::Name(name) => self.names.keep(&name),
                Job::Look(content) => content.end_look(),
                Job::Leave(notices) => {
                    pieces.drain(..).for_each(|(content, of)| self.write(content, &of));
                    drop(notices);
                }
                Job::Use(content) => {
                    self.room.reconsider(content.id());
                    content.note_use(seconds_since_1970());
                }
                Job::Flush(done) => {
                    pieces.drain(..).for_each(|(content, of)| self.write(content, &of));
                    self.save();
                    let _ = done.send(());
                }
            }
        }
        pieces.drain(..).for_each(|(content, of)| self.write(content, &of));
        self.save_closed();
    }

    /// Contents that no reader has open any more are saved and closed: open ones stay.
    fn save_closed(&mut self) {
        let is_closed = |content: &mut Arc<HeldContent>| Arc::strong_count(content) == 1;
        for content in self.unsaved.extract_if(.., is_closed) {
            let _ = content.save();
        }
    }

    fn write(&mut self, content: Arc<HeldContent>, pieces: &[(u64, Bytes)]) {
        let bytes: u64 = pieces.iter().map(|(_, piece)| piece.len() as u64).sum();
        self.waiting.fetch_sub(bytes, Ordering::Relaxed);
        let now = seconds_since_1970();
        let new = content.new_bytes(pieces);
        if new == 0 {
            return;
        }
        if now < self.rests_until || !self.room.admits(content.id(), new, now) {
            content.note_refusal(true);
            return self.counting.refused(new);
        }
        match content.add(pieces, now) {
            Ok(grown) => {
                content.note_refusal(false);
                self.counting.stored(new);
                self.room.grown(grown);
                if !self.unsaved.iter().any(|other| Arc::ptr_eq(other, &content)) {
                    self.unsaved.push(content);
                }
            }
            Err(error) => {
                content.note_refusal(true);
                self.counting.refused(new);
                if error.kind() != std::io::ErrorKind::NotFound {
                    self.rests_until = now + PAUSE;
                }
            }
        }
    }

    fn save(&mut self) {
        for content in self.unsaved.drain(..) {
            // Without an index the records are walked over.
            let _ = content.save();
        }
    }
}
