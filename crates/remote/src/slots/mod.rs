//! Slots for connections to one server, which the processes of a user on this machine share.
//!
//! A file has a byte for each slot; a lock on it ([`crate::locks`]) takes the slot, and the kernel
//! frees the locks of a process that has ended. Locks on further bytes show which processes use the
//! server, and which have fewer slots than their share and wait.

use std::collections::BTreeSet;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use twox_hash::XxHash64;

use crate::{locks, runtime};
use crate::store::folder::Folder;

/// Offset of the bytes that processes lock while they use the server.
const PROCESSES: u64 = 1 << 20;
/// Offset of the bytes that processes lock while they wait.
const WAITING: u64 = 1 << 21;
/// Most processes that share the slots of a server.
const PROCESSES_MAX: u64 = 4096;
/// Attempts to open a file, since another process may remove it meanwhile.
const TRIES: u32 = 4;

/// One process's part in the slots of a server. Dropping it frees its locks.
#[derive(Debug)]
pub struct Slots {
    path: PathBuf,
    file: File,
    /// The number of slots.
    most: u32,
    /// The number of this process.
    number: u64,
    taken: Mutex<BTreeSet<u64>>,
    is_waiting: AtomicBool,
}

/// A slot that this process has taken. Dropping it frees the slot.
#[derive(Debug)]
pub struct Slot {
    of: Arc<Slots>,
    number: u64,
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.of.taken.lock().remove(&self.number);
        locks::unlock(&self.of.file, byte(self.number));
    }
}

impl Slots {
    /// Opens the slots of the server of this name, in farroot's own folder within `parent`. `None`
    /// where they cannot be shared, as on a network file system.
    pub fn open(parent: &Path, server: &str, most: u32) -> Option<Arc<Self>> {
        runtime::claim(parent).ok()?;
        let folder = Folder::new(parent, "connections");
        let folder = folder.claimed().ok()?;
        if crate::cache::place::networked(folder).is_some() {
            return None;
        }
        let path = folder.join(format!("{:016x}", XxHash64::oneshot(0, server.as_bytes())));
        (0..TRIES).find_map(|_| Self::open_once(&path, most)).map(Arc::new)
    }

    fn open_once(path: &Path, most: u32) -> Option<Self> {
        let mut options = File::options();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let file = options.custom_flags(libc::O_NOFOLLOW).open(path).ok()?;
        let is_free = |number: &u64| locks::lock(&file, byte(PROCESSES + number));
        let number = (0..PROCESSES_MAX).find(is_free)?;
        let is_named = file.metadata().ok()?.nlink() > 0;
        let (path, taken, is_waiting) = (path.to_owned(), Mutex::default(), AtomicBool::new(false));
        is_named.then_some(Slots { path, file, most, number, taken, is_waiting })
    }

    /// Takes a slot; `None` if none is free.
    pub fn take(self: &Arc<Self>) -> Option<Slot> {
        let mut taken = self.taken.lock();
        // Locks of one handle do not exclude each other: skip the slots taken here.
        let mut others = (0..u64::from(self.most)).filter(|place| !taken.contains(place));
        let number = others.find(|place| locks::lock(&self.file, byte(*place)))?;
        taken.insert(number);
        Some(Slot { of: self.clone(), number })
    }

    /// Shows other processes whether this one waits: it has fewer slots than its share.
    pub fn set_waiting(&self, is_waiting: bool) {
        if self.is_waiting.swap(is_waiting, Ordering::Relaxed) == is_waiting {
            return;
        }
        let own = byte(WAITING + self.number);
        match is_waiting {
            true => drop(locks::lock(&self.file, own)),
            false => locks::unlock(&self.file, own),
        }
    }

    /// Whether another process waits.
    pub fn is_another_waiting(&self) -> bool {
        locks::first_locked(&self.file, WAITING..WAITING + PROCESSES_MAX).is_some()
    }

    /// The slots to which this process is entitled: an equal part of all, at least one.
    pub fn share(&self) -> u32 {
        let mut processes = 1;
        let mut from = PROCESSES;
        while let Some(at) = locks::first_locked(&self.file, from..PROCESSES + PROCESSES_MAX) {
            processes += 1;
            from = at + 1;
        }
        (self.most / processes).max(1)
    }
}

impl Drop for Slots {
    /// The last process that uses the server removes the file.
    fn drop(&mut self) {
        if locks::first_locked(&self.file, PROCESSES..PROCESSES + PROCESSES_MAX).is_none() {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

fn byte(at: u64) -> Range<u64> {
    at..at + 1
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    fn open(folder: &Path, most: u32) -> Arc<Slots> {
        Slots::open(folder, "root://host:1094", most).expect("a folder")
    }

    #[test]
    fn no_more_places_are_taken_than_there_are() {
        let folder = tempfile::tempdir().unwrap();
        let (one, two) = (open(folder.path(), 4), open(folder.path(), 4));
        let other = Slots::open(folder.path(), "root://other:1094", 4).unwrap();
        let mut ones: Vec<Slot> = (0..3).map(|_| one.take().unwrap()).collect();
        assert_eq!(ones.iter().map(|slot| slot.number).collect::<Vec<_>>(), [0, 1, 2]);
        let last = two.take().unwrap();
        assert!(two.take().is_none() && one.take().is_none() && other.take().is_some());
        drop(ones.remove(1));
        assert_eq!(two.take().map(|slot| slot.number), Some(1));
        let again = two.take().unwrap();
        assert!(two.take().is_none());
        drop(one);
        assert!(two.take().is_none(), "its connections are there");
        drop(ones);
        let places = [two.take().unwrap(), two.take().unwrap()];
        assert!(two.take().is_none());
        drop((last, again, places));
    }

    /// The first reader on a machine made the folder so that other users could enter it, and from
    /// then on no two `farroot run` shared a proxy.
    #[test]
    fn the_folder_can_be_entered_by_its_user_alone() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("farroot");
        let _slots = open(&folder, 4);
        assert_eq!(std::fs::metadata(&folder).unwrap().mode() & 0o777, 0o700);
    }

    #[test]
    fn the_share_follows_from_how_many_there_are() {
        let folder = tempfile::tempdir().unwrap();
        let one = open(folder.path(), 16);
        assert_eq!(one.share(), 16);
        let others: Vec<Arc<Slots>> = (0..4).map(|_| open(folder.path(), 16)).collect();
        assert_eq!((one.share(), others[0].share()), (3, 3));
        let many: Vec<Arc<Slots>> = (0..20).map(|_| open(folder.path(), 16)).collect();
        assert_eq!(one.share(), 1, "never none");
        drop((others, many));
        assert_eq!(one.share(), 16);
    }

    #[test]
    fn the_others_see_who_waits() {
        let folder = tempfile::tempdir().unwrap();
        let (one, two) = (open(folder.path(), 4), open(folder.path(), 4));
        one.set_waiting(true);
        assert!(two.is_another_waiting() && !one.is_another_waiting());
        one.set_waiting(false);
        assert!(!two.is_another_waiting());
        one.set_waiting(true);
        drop(one);
        assert!(!two.is_another_waiting(), "it has ended");
        let files = || std::fs::read_dir(folder.path().join("farroot-connections")).unwrap();
        assert_eq!(files().count(), 2, "beside what says whose folder it is");
        drop(two);
        assert_eq!(files().count(), 1);
    }
}
