//! Room on a disk that is kept for a file while it grows: what another process fills meanwhile does
//! not end a file that has begun, and the file lies in fewer pieces.
//!
//! Linux has `fallocate` with `FALLOC_FL_KEEP_SIZE` for that; elsewhere, and on file systems that
//! do not know it, nothing is kept.

use std::fs::File;
use std::io;
use std::ops::Range;

/// Kept beyond what is written: a cluster of a table, as it is compressed.
const AHEAD: u64 = 32 << 20;
/// Shorter files are written at once.
const LEN_MIN: u64 = 4 << 20;

/// What is kept for one file.
#[derive(Debug, Default)]
pub struct DiskRoom {
    /// Where it ends; 0 where nothing is kept.
    end: u64,
    /// The file system does not know how.
    is_unknown: bool,
}

impl DiskRoom {
    /// Makes sure that there is room for bytes, and keeps some beyond them. Where the disk has less
    /// than that, all that it has in halves of it: a file that fits is not refused.
    ///
    /// # Errors
    /// That the disk, or a quota, has no room for those bytes: before any of them is written.
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

    /// Gives back what lies beyond the file's end.
    ///
    /// # Errors
    /// What the file system says.
    pub fn give_back(&mut self, file: &File) -> io::Result<()> {
        match std::mem::take(&mut self.end) {
            0 => Ok(()),
            _ => file.set_len(file.metadata()?.len()),
        }
    }
}

/// Keeps room for bytes from an offset on, beyond the file's end too; false where that is not known
/// how.
///
/// # Errors
/// Where there is none.
#[cfg(target_os = "linux")]
fn keep(file: &File, offset: u64, len: u64) -> io::Result<bool> {
    use rustix::fs::{FallocateFlags, fallocate};
    use rustix::io::Errno;

    loop {
        match fallocate(file, FallocateFlags::KEEP_SIZE, offset, len) {
            Ok(()) => return Ok(true),
            Err(Errno::INTR) => {}
            Err(error @ (Errno::NOSPC | Errno::DQUOT | Errno::FBIG)) => return Err(error.into()),
            // Writing will say what is wrong, if anything is.
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
        // What lies within it asks for nothing.
        room.ensure(&file, LEN..AHEAD).unwrap();
        assert_eq!(room.end, LEN + AHEAD);
        room.give_back(&file).unwrap();
        assert_eq!(file.metadata().unwrap().len(), LEN);
        assert!(taken(&file) < LEN + (1 << 20));
    }
}
