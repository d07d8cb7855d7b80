//! Slots for connections to one server, which the processes of a user on this machine share.
//!
//! A file has a byte for each slot; a lock on it ([`crate::locks`]) takes the slot, and the kernel
//! frees the locks of a process that has ended. Locks on further bytes show which processes use the
//! server, and which of them wait; those without a slot form a queue. The file is empty and never
//! removed: another process may be about to open it.

#[cfg(all(test, target_os = "linux"))]
mod tests;

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::ops::Range;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use mutex::Mutex;
use twox_hash::XxHash64;

use crate::store::folder::Folder;
use crate::{locks, runtime};

/// Offset of the bytes that processes lock while they use the server.
const PROCESSES: u64 = 1 << 20;
/// Most processes that share the slots of a server.
const PROCESSES_MAX: u64 = 4096;
/// Offset of the bytes that processes lock while they wait for more slots.
const WAITING: u64 = 1 << 21;
/// Offset of the queue of processes without a slot: each locks the byte after the last locked one.
const QUEUE: u64 = 1 << 32;
/// Offset of the queue of one-shot requests and uploads.
const QUEUE_BRIEF: u64 = 1 << 48;
const QUEUE_END: u64 = 1 << 62;
/// Time for which the process at the head of the queue may leave a free slot alone. It is taken to
/// be stopped then, and the processes behind it take the slot.
const PASS_AFTER: Duration = Duration::from_millis(500);
/// Wait after which a connection is made without a slot: the processes that have all slots may be
/// stopped, and a read must not fail for that.
pub const WAIT_MAX: Duration = Duration::from_secs(15);
/// Pause between two attempts to take a slot.
pub const LOOK_AFTER: Duration = Duration::from_millis(100);

/// One process's part in the slots of a server. Dropping it frees its locks.
#[derive(Debug)]
pub struct Slots {
    file: File,
    /// The number of slots.
    most: u32,
    /// The slots that may be taken, the first free one first.
    places: Range<u64>,
    /// The number of this process among those that read.
    number: Option<u64>,
    queue: Range<u64>,
    taken: Mutex<BTreeSet<u64>>,
    waiting: Mutex<Waiting>,
}

/// The wait of this process, as other processes see it.
#[derive(Debug, Default)]
struct Waiting {
    waits: Waits,
    /// The locked byte that shows it.
    byte: Option<u64>,
    /// Since when a slot is free that another process, earlier in the queue, should take.
    free_since: Option<Duration>,
}

/// The wait of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Waits {
    #[default]
    No,
    /// It has fewer slots than its share.
    ForMore,
    /// It has no slot.
    ForFirst,
}

/// A slot that this process has taken. Dropping it frees the slot.
#[derive(Debug)]
pub struct Slot {
    of: Arc<Slots>,
    number: u64,
}

impl Drop for Slot {
    fn drop(&mut self) {
        // Until the lock is free, another thread must not take the slot by the same handle: this
        // would free it then.
        let mut taken = self.of.taken.lock();
        taken.remove(&self.number);
        locks::unlock(&self.of.file, byte(self.number));
    }
}

impl Slots {
    /// Opens the slots of a server, given by host and port, in farroot's own folder within
    /// `parent`, for connections that read.
    ///
    /// # Errors
    /// `Unsupported` where locks cannot be shared: on a network file system, on systems other than
    /// Linux. `PermissionDenied` where the folder, or the file in it, is not this user's alone.
    /// `QuotaExceeded` where 4,096 processes share the slots. Other errors of the file system.
    pub fn open(parent: &Path, server: (&str, u16), most: u32) -> io::Result<Arc<Self>> {
        let mut slots = Self::with(parent, server, 0..u64::from(most), QUEUE..QUEUE_BRIEF)?;
        // Elsewhere no lock succeeds, as if 4,096 processes shared the slots.
        if cfg!(not(target_os = "linux")) {
            return Err(ErrorKind::Unsupported.into());
        }
        let is_free = |number: &u64| locks::lock(&slots.file, byte(PROCESSES + number));
        let number = (0..PROCESSES_MAX).find(is_free).ok_or_else(|| {
            let (host, port) = server;
            let text = format!("{PROCESSES_MAX} processes of this user read from {host}:{port}");
            io::Error::new(ErrorKind::QuotaExceeded, text)
        })?;
        slots.number = Some(number);
        Ok(Arc::new(slots))
    }

    /// The same for connections of one-shot requests and uploads. They share half of the slots, so
    /// that processes that write can also read.
    ///
    /// # Errors
    /// As for [`open`](Self::open).
    pub fn open_brief(parent: &Path, server: (&str, u16), most: u32) -> io::Result<Arc<Self>> {
        // Readers take the first slots first.
        let places = u64::from(most.saturating_sub((most / 2).max(1)))..u64::from(most);
        Ok(Arc::new(Self::with(parent, server, places, QUEUE_BRIEF..QUEUE_END)?))
    }

    fn with(
        parent: &Path,
        server: (&str, u16),
        places: Range<u64>,
        queue: Range<u64>,
    ) -> io::Result<Slots> {
        runtime::claim(parent)?;
        let folder = Folder::new(parent, "connections");
        let folder = folder.claimed().map_err(|error| of_path(folder.path(), error))?;
        runtime::claim(folder)?;
        if crate::cache::local::networked(folder).is_some() {
            return Err(ErrorKind::Unsupported.into());
        }
        let (host, port) = server;
        let host = host.trim_matches(['[', ']']).to_ascii_lowercase();
        let name = format!("{:016x}", XxHash64::oneshot(0, format!("{host}:{port}").as_bytes()));
        let path = folder.join(name);
        let mut options = File::options();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        // Without `O_NONBLOCK` the open of a FIFO may wait for a process at its other end.
        let opened = options.custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(&path);
        let file = opened.map_err(|error| of_path(&path, error))?;
        if !file.metadata()?.is_file() {
            return Err(foreign(&path, "it is no regular file"));
        }
        let most = places.end as u32;
        let taken = Mutex::default();
        let waiting = Mutex::default();
        Ok(Slots { file, most, places, number: None, queue, taken, waiting })
    }

    /// Takes a slot; `None` if none is free, or if a process without one has waited for longer.
    pub fn take(self: &Arc<Self>, now: Duration) -> Option<Slot> {
        if !self.is_next() {
            let mut waiting = self.waiting.lock();
            if !self.has_free() {
                waiting.free_since = None;
                return None;
            }
            let free_since = *waiting.free_since.get_or_insert(now);
            if now.saturating_sub(free_since) < PASS_AFTER {
                return None;
            }
        }
        self.waiting.lock().free_since = None;
        let mut taken = self.taken.lock();
        // Locks of one handle do not exclude each other: skip the slots taken here.
        let mut others = self.places.clone().filter(|place| !taken.contains(place));
        let number = others.find(|place| locks::lock(&self.file, byte(*place)))?;
        taken.insert(number);
        Some(Slot { of: self.clone(), number })
    }

    /// Whether no process is in front of this one in its queue.
    fn is_next(&self) -> bool {
        let own = self.waiting.lock().byte.filter(|own| self.queue.contains(own));
        let in_front = self.queue.start..own.unwrap_or(self.queue.end);
        locks::first_locked(&self.file, in_front).is_none()
    }

    fn has_free(&self) -> bool {
        let taken = self.taken.lock();
        let mut others = self.places.clone().filter(|place| !taken.contains(place));
        others.any(|place| locks::first_locked(&self.file, byte(place)).is_none())
    }

    /// Shows other processes the wait of this one.
    pub fn set_waiting(&self, waits: Waits) {
        let mut waiting = self.waiting.lock();
        if waiting.waits == waits {
            return;
        }
        if let Some(own) = waiting.byte.take() {
            locks::unlock(&self.file, byte(own));
        }
        let is_free = |at: &u64| locks::lock(&self.file, byte(*at));
        let byte = match waits {
            Waits::No => None,
            Waits::ForMore => self.number.map(|number| WAITING + number).filter(is_free),
            Waits::ForFirst => {
                let last = locks::last_locked(&self.file, self.queue.clone());
                let behind = last.map_or(self.queue.start, |last| last + 1);
                // Another process may have queued up meanwhile.
                (behind..self.queue.end).take(PROCESSES_MAX as usize).find(is_free)
            }
        };
        *waiting = Waiting { waits, byte, free_since: None };
    }

    /// Whether another process waits.
    pub fn is_another_waiting(&self) -> bool {
        locks::first_locked(&self.file, WAITING..QUEUE_END).is_some()
    }

    /// The slots to which this process is entitled: an equal part of all, at least one.
    pub fn share(&self) -> u32 {
        (self.most / self.processes()).max(1)
    }

    /// Whether there are more processes than slots: they take turns.
    pub fn is_crowded(&self) -> bool {
        self.processes() > self.most
    }

    /// The number of processes that read from the server, this one included.
    fn processes(&self) -> u32 {
        let mut processes = 1;
        let mut from = PROCESSES;
        while let Some(at) = locks::first_locked(&self.file, from..PROCESSES + PROCESSES_MAX) {
            processes += 1;
            from = at + 1;
        }
        processes
    }
}

/// An error of the file system, with the path; [`foreign`]'s error where the path is not a folder
/// or file of farroot's.
fn of_path(path: &Path, error: io::Error) -> io::Error {
    let is_link = error.raw_os_error() == Some(libc::ELOOP);
    match error.kind() {
        ErrorKind::AlreadyExists | ErrorKind::NotADirectory | ErrorKind::IsADirectory => {
            foreign(path, &error.to_string())
        }
        _ if is_link => foreign(path, &error.to_string()),
        kind => io::Error::new(kind, format!("{}: {error}", path.display())),
    }
}

/// The error where a foreign file or folder has a path of farroot's.
fn foreign(path: &Path, why: &str) -> io::Error {
    let text = format!("{}: what is there is not farroot's: {why}", path.display());
    io::Error::new(ErrorKind::PermissionDenied, text)
}

fn byte(at: u64) -> Range<u64> {
    at..at + 1
}
