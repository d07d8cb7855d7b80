//! Disk space reserved for a file while it grows: other processes that fill the disk do not stop a
//! file that has begun, and the file has fewer extents.
//!
//! Linux has `fallocate` with `FALLOC_FL_KEEP_SIZE` for that; other systems, and file systems
//! without it, reserve nothing.

use std::fs::File;
use std::io;
use std::ops::Range;

/// Bytes reserved beyond those written: a compressed cluster of a table.
const AHEAD: u64 = 32 << 20;
/// Files up to this length reserve nothing: they are written at once.
const LEN_MIN: u64 = 4 << 20;

/// The space reserved for one file.
#[derive(Debug, Default)]
pub struct DiskRoom {
    /// Offset at which it ends; 0 if nothing is reserved.
    end: u64,
    /// The file system cannot reserve space.
    is_unknown: bool,
}

impl DiskRoom {
    /// Reserves space for `bytes` and up to `AHEAD` beyond them: if the disk has less, half as much
    /// again and again, down to none. A file that fits is not refused.
    ///
    /// # Errors
    /// The disk or a quota has no space for `bytes`, of which none is written yet.
    pub fn ensure(&mut self, file: &File, bytes: Range<u64>) -> io::Result<()> {
        if self.is_unknown || bytes.end <= self.end.max(LEN_MIN) {
            return Ok(());
        }
        let start = self.end.max(bytes.start);
        let mut ahead = AHEAD;
        loop {
            match keep(file, start, bytes.end + ahead - start) {
                Ok(true) => break,
                Ok(false) => {
                    self.is_unknown = true;
                    return Ok(());
                }
                Err(error) if ahead == 0 => return Err(error),
                Err(_) => ahead = if ahead > AHEAD / 64 { ahead / 2 } else { 0 },
            }
        }
        self.end = bytes.end + ahead;
        Ok(())
    }

    /// Frees the space beyond the file's end.
    ///
    /// # Errors
    /// Errors of the file system.
    pub fn give_back(&mut self, file: &File) -> io::Result<()> {
        match std::mem::take(&mut self.end) {
            0 => Ok(()),
            _ => file.set_len(file.metadata()?.len()),
        }
    }
}

/// Reserves `len` bytes from an offset, also beyond the file's end; false if that is unsupported.
///
/// # Errors
/// No space is left on the disk or in the quota, or the file would be too long.
#[cfg(target_os = "linux")]
fn keep(file: &File, offset: u64, len: u64) -> io::Result<bool> {
    use rustix::fs::{FallocateFlags, fallocate};
    use rustix::io::Errno;

    loop {
        match fallocate(file, FallocateFlags::KEEP_SIZE, offset, len) {
            Ok(()) => return Ok(true),
            Err(Errno::INTR) => {}
            Err(error @ (Errno::NOSPC | Errno::DQUOT | Errno::FBIG)) => return Err(error.into()),
            // Any other error shows again in the write, if it matters.
            Err(_) => return Ok(false),
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn keep(_: &File, _: u64, _: u64) -> io::Result<bool> {
    Ok(false)
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::fs::MetadataExt;

    use super::*;

    /// Bytes of the disk that a file takes.
    fn taken(file: &File) -> u64 {
        file.metadata().unwrap().blocks() * 512
    }

    #[test]
    fn room_is_kept_ahead_and_given_back() {
        const LEN: u64 = 5 << 20;
        let mut file = tempfile::tempfile().unwrap();
        let mut room = DiskRoom::default();
        room.ensure(&file, 0..4096).unwrap();
        assert_eq!((room.end, taken(&file)), (0, 0), "of a short file nothing");
        room.ensure(&file, 4096..LEN).unwrap();
        if room.is_unknown {
            eprintln!("SKIPPED: this file system keeps no room");
            return;
        }
        file.write_all(&vec![1; LEN as usize]).unwrap();
        assert_eq!((file.metadata().unwrap().len(), room.end), (LEN, LEN + AHEAD));
        assert!(taken(&file) >= AHEAD);
        // Bytes within the reserved space need no system call.
        room.ensure(&file, LEN..AHEAD).unwrap();
        assert_eq!(room.end, LEN + AHEAD);
        room.give_back(&file).unwrap();
        assert_eq!(file.metadata().unwrap().len(), LEN);
        assert!(taken(&file) < LEN + (1 << 20));
    }
}
