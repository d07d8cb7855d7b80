//! Locks on single bytes of a file, by which processes show each other the files that they use.
//!
//! They are Linux's open file description locks (fcntl(2), `F_OFD_SETLK`): the kernel frees them
//! when the file is closed, also by the end of a killed process. Two open files of one process
//! exclude each other as two processes do. No function here waits. Other systems: no lock succeeds.

use std::fs::File;
use std::ops::Range;

#[cfg(target_os = "linux")]
use nix::{fcntl, libc};

/// Locks bytes of a file exclusively; false if another handle has a lock on any of them.
pub fn lock(file: &File, bytes: Range<u64>) -> bool {
    set(file, Kind::Alone, bytes)
}

/// Takes a shared lock in place of this handle's own; false if another handle's is exclusive.
pub fn share(file: &File, bytes: Range<u64>) -> bool {
    set(file, Kind::Shared, bytes)
}

/// Frees this handle's locks on bytes of a file.
pub fn unlock(file: &File, bytes: Range<u64>) {
    set(file, Kind::None, bytes);
}

#[derive(Clone, Copy)]
enum Kind {
    None,
    Shared,
    Alone,
}

#[cfg(target_os = "linux")]
fn set(file: &File, kind: Kind, bytes: Range<u64>) -> bool {
    fcntl::fcntl(file, fcntl::FcntlArg::F_OFD_SETLK(&described(kind, &bytes))).is_ok()
}

/// The first byte of a range on which another handle has a lock, exclusive or shared.
pub fn first_locked(file: &File, bytes: Range<u64>) -> Option<u64> {
    let before = |found: &u64| any_locked(file, bytes.start..*found);
    std::iter::successors(any_locked(file, bytes.clone()), before).last()
}

/// The last byte of a range on which another handle has a lock, where each lock is on one byte.
pub fn last_locked(file: &File, bytes: Range<u64>) -> Option<u64> {
    let behind = |found: &u64| any_locked(file, *found + 1..bytes.end);
    std::iter::successors(any_locked(file, bytes.clone()), behind).last()
}

/// A byte of a range on which another handle has a lock: of several the kernel names that of the
/// oldest handle, wherever in the range it is.
#[cfg(target_os = "linux")]
fn any_locked(file: &File, bytes: Range<u64>) -> Option<u64> {
    // To the kernel a length of 0 means all bytes up to the end of the file.
    if bytes.is_empty() {
        return None;
    }
    let mut found = described(Kind::Alone, &bytes);
    fcntl::fcntl(file, fcntl::FcntlArg::F_OFD_GETLK(&mut found)).ok()?;
    let is_locked = found.l_type != libc::F_UNLCK as libc::c_short;
    is_locked.then(|| (found.l_start as u64).max(bytes.start))
}

#[cfg(target_os = "linux")]
fn described(kind: Kind, bytes: &Range<u64>) -> libc::flock {
    let kind = match kind {
        Kind::None => libc::F_UNLCK,
        Kind::Shared => libc::F_RDLCK,
        Kind::Alone => libc::F_WRLCK,
    };
    libc::flock {
        l_type: kind as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: bytes.start as libc::off_t,
        l_len: (bytes.end - bytes.start) as libc::off_t,
        l_pid: 0,
    }
}

#[cfg(not(target_os = "linux"))]
fn set(_: &File, _: Kind, _: Range<u64>) -> bool {
    false
}

#[cfg(not(target_os = "linux"))]
fn any_locked(_: &File, _: Range<u64>) -> Option<u64> {
    None
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    /// Regression: the kernel names locks of older handles first. After a process had ended and
    /// another had taken its byte, the processes behind that byte were not counted.
    #[test]
    fn the_first_and_the_last_byte_are_found_in_whatever_order_they_were_locked() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("locks");
        let open = || {
            let mut options = File::options();
            options.read(true).write(true).create(true).truncate(false).open(&path).unwrap()
        };
        let locked = [7, 3, 9, 5].map(|at| {
            let file = open();
            assert!(lock(&file, at..at + 1));
            file
        });
        let other = open();
        assert_eq!(first_locked(&other, 0..100), Some(3));
        assert_eq!(first_locked(&other, 4..100), Some(5));
        assert_eq!(last_locked(&other, 0..100), Some(9));
        assert_eq!(last_locked(&other, 0..9), Some(7));
        assert_eq!((first_locked(&other, 10..100), last_locked(&other, 0..3)), (None, None));
        drop(locked);
        assert_eq!((first_locked(&other, 0..100), last_locked(&other, 0..100)), (None, None));
    }

    #[test]
    fn what_one_has_locked_another_sees_until_it_is_closed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("locks");
        let open = || {
            let mut options = File::options();
            options.read(true).write(true).create(true).truncate(false).open(&path).unwrap()
        };
        let one = open();
        let two = open();
        assert!(lock(&one, 5..6) && lock(&one, 1000..1001));
        assert_eq!(first_locked(&one, 0..2000), None, "its own");
        assert_eq!(first_locked(&two, 0..2000), Some(5));
        assert_eq!(first_locked(&two, 6..2000), Some(1000));
        assert!(!lock(&two, 5..6) && !share(&two, 0..10) && lock(&two, 6..7));
        unlock(&one, 1000..1001);
        assert_eq!(first_locked(&two, 7..2000), None, "freed");
        assert!(share(&one, 5..6) && share(&two, 5..6) && !lock(&one, 5..6));
        drop(two);
        assert!(lock(&one, 5..6), "what was shared becomes one's own");
        assert_eq!(first_locked(&open(), 0..2000), Some(5));
        drop(one);
        assert_eq!(first_locked(&open(), 0..2000), None);
    }
}
