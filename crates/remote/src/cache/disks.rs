//! The disks of a cache: one folder each. One that fails is left out for as long as the program
//! runs, and its bytes are fetched again.

use std::io::{Error as IoError, ErrorKind as IoErrorKind, Result as IoResult};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rustix::io::Errno;

use super::format::ContentId;
use super::place;
use crate::error::{Error, ErrorKind, Result};

/// The number of a disk, by its position in the settings.
pub type DiskNumber = u32;

/// Maximum of disks: the number has eight bits in the key of a segment.
const DISKS_MAX: usize = 256;
/// After a write that found a disk full, nothing is written to it for so many seconds.
const PAUSE: u64 = 10;

/// All disks of a cache.
#[derive(Debug)]
pub struct Disks {
    disks: Vec<CacheDisk>,
    /// Counts those that are left out: readers compare it with the number that they know.
    left_out: AtomicU64,
}

#[derive(Debug)]
struct CacheDisk {
    /// As the user names it.
    folder: PathBuf,
    /// Where contents are.
    data: PathBuf,
    /// Device and inode of `data`: without its disk, a path leads to another folder.
    identity: (u64, u64),
    is_left_out: AtomicBool,
    /// Nothing is written before this time, seconds since 1970.
    rests_until: AtomicU64,
}

impl Disks {
    /// Makes the place of a cache in each of these folders. One in which that fails is left out.
    ///
    /// # Errors
    /// `InvalidArgument` where it fails in all of them, with the reason of the first.
    pub fn claim(folders: &[&Path]) -> Result<Self> {
        if folders.is_empty() {
            return Err(Error::new(ErrorKind::InvalidArgument, "there is no folder for a cache"));
        }
        if folders.len() > DISKS_MAX {
            let text =
                format!("a cache has at most {DISKS_MAX} folders, and not {}", folders.len());
            return Err(Error::new(ErrorKind::InvalidArgument, text));
        }
        let mut first = None;
        let mut disks = Vec::with_capacity(folders.len());
        for folder in folders {
            let claimed = place::claim(folder).and_then(|data| {
                let identity = identity(&data).map_err(|error| Error::from_io(&error))?;
                Ok((data, identity))
            });
            let is_left_out = AtomicBool::new(claimed.is_err());
            let (data, identity) = claimed.unwrap_or_else(|error| {
                if folders.len() > 1 {
                    tracing::warn!("{error}: the other folders of the cache are used");
                }
                first.get_or_insert(error);
                (PathBuf::new(), (0, 0))
            });
            let folder = folder.to_path_buf();
            let rests_until = AtomicU64::default();
            disks.push(CacheDisk { folder, data, identity, is_left_out, rests_until });
        }
        let left_out = disks.iter().filter(|disk| disk.is_left_out()).count();
        match first {
            Some(error) if left_out == disks.len() => Err(error),
            _ => Ok(Disks { disks, left_out: AtomicU64::new(left_out as u64) }),
        }
    }

    /// How many there are, and how many of them are left out.
    pub fn counts(&self) -> (u64, u64) {
        (self.disks.len() as u64, self.left_out.load(Ordering::Acquire))
    }

    /// The disks that are in use, with the folder of their contents.
    pub fn in_use(&self) -> impl Iterator<Item = (DiskNumber, &Path)> {
        let numbered = (0..).zip(&self.disks);
        let in_use = numbered.filter(|(_, disk)| !disk.is_left_out());
        in_use.map(|(number, disk)| (number, &*disk.data))
    }

    /// Whether a disk is in use.
    pub fn is_in_use(&self, number: DiskNumber) -> bool {
        self.disks.get(number as usize).is_some_and(|disk| !disk.is_left_out())
    }

    /// Whether something may be written to a disk now.
    pub fn is_writable(&self, number: DiskNumber, now: u64) -> bool {
        let rests = |disk: &CacheDisk| now < disk.rests_until.load(Ordering::Relaxed);
        self.is_in_use(number) && !self.disks.get(number as usize).is_some_and(rests)
    }

    /// The folder of a content on one disk.
    pub fn folder(&self, number: DiskNumber, id: &ContentId) -> PathBuf {
        let data = self.disks.get(number as usize).map_or(Path::new(""), |disk| &disk.data);
        place::content_folder(data, id)
    }

    /// The folders of a content on the disks in use.
    pub fn folders(&self, id: &ContentId) -> Vec<PathBuf> {
        self.in_use().map(|(number, _)| self.folder(number, id)).collect()
    }

    /// Whether the path of a disk still leads to it: a disk that was taken away leaves an empty
    /// folder, of another disk.
    ///
    /// # Errors
    /// An error if it does not; the disk is left out.
    pub fn check(&self, number: DiskNumber) -> IoResult<()> {
        let Some(disk) = self.disks.get(number as usize) else {
            return Err(IoErrorKind::NotFound.into());
        };
        let here = identity(&disk.data);
        let is_here = here.as_ref().is_ok_and(|here| *here == disk.identity);
        if is_here && !disk.is_left_out() {
            return Ok(());
        }
        let error = match here {
            Ok(_) => IoError::other("another folder is in its place"),
            Err(error) => error,
        };
        self.leave_out(number, &error);
        Err(error)
    }

    /// Leaves out the disks that are gone.
    pub fn check_all(&self) {
        let numbers: Vec<DiskNumber> = self.in_use().map(|(number, _)| number).collect();
        numbers.into_iter().for_each(|number| drop(self.check(number)));
    }

    /// A write has failed: after an error of the disk itself it is left out, and after any other
    /// one, as of a full disk, nothing is written for a while.
    pub fn note_failed_write(&self, number: DiskNumber, error: &IoError, now: u64) {
        let Some(disk) = self.disks.get(number as usize) else { return };
        if is_of_disk(error) {
            return self.leave_out(number, error);
        }
        // A content was evicted, or the disk is gone.
        if error.kind() == IoErrorKind::NotFound {
            return drop(self.check(number));
        }
        let before = disk.rests_until.swap(now + PAUSE, Ordering::Relaxed);
        if before == 0 {
            tracing::warn!("the cache in {} cannot be added to: {error}", disk.folder.display());
        }
    }

    /// A read has failed: after an error of the disk itself it is left out.
    pub fn note_failed_read(&self, number: DiskNumber, error: &IoError) {
        if is_of_disk(error) {
            self.leave_out(number, error);
        }
    }

    /// Uses a disk no more.
    pub fn leave_out(&self, number: DiskNumber, error: &IoError) {
        let Some(disk) = self.disks.get(number as usize) else { return };
        if disk.is_left_out.swap(true, Ordering::AcqRel) {
            return;
        }
        self.left_out.fetch_add(1, Ordering::AcqRel);
        tracing::warn!(
            "the folder {} of the cache is not used any more, until the program is started again: \
             {error}",
            disk.folder.display()
        );
    }
}

impl CacheDisk {
    fn is_left_out(&self) -> bool {
        self.is_left_out.load(Ordering::Acquire)
    }
}

/// Whether an error is one of the disk, and not of one file or of this process.
fn is_of_disk(error: &IoError) -> bool {
    let of_disk = [
        Errno::IO,
        Errno::NXIO,
        Errno::NODEV,
        Errno::ROFS,
        Errno::STALE,
        #[cfg(target_os = "linux")]
        Errno::REMOTEIO,
        #[cfg(target_os = "linux")]
        Errno::UCLEAN,
        Errno::SHUTDOWN,
        Errno::NOTCONN,
    ];
    Errno::from_io_error(error).is_some_and(|errno| of_disk.contains(&errno))
}

fn identity(path: &Path) -> IoResult<(u64, u64)> {
    let metadata = std::fs::metadata(path)?;
    Ok((metadata.dev(), metadata.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_that_fails_is_left_out_and_a_full_one_rests() {
        let top = tempfile::tempdir().unwrap();
        let [one, two] = ["one", "two"].map(|name| top.path().join(name));
        let disks = Disks::claim(&[&one, &two]).unwrap();
        assert_eq!(disks.in_use().count(), 2);
        disks.note_failed_write(0, &IoErrorKind::StorageFull.into(), 100);
        assert!(disks.is_in_use(0) && !disks.is_writable(0, 109) && disks.is_writable(0, 110));
        disks.note_failed_read(0, &IoErrorKind::InvalidData.into());
        disks.note_failed_write(0, &IoErrorKind::NotFound.into(), 100);
        disks.note_failed_write(0, &IoErrorKind::WouldBlock.into(), 100);
        assert_eq!(disks.counts(), (2, 0), "a content was evicted, or is being");
        disks.note_failed_read(0, &IoError::from_raw_os_error(libc::EIO));
        assert!(!disks.is_in_use(0) && disks.is_writable(1, 0));
        std::fs::remove_dir_all(&two).unwrap();
        disks.note_failed_write(1, &IoErrorKind::NotFound.into(), 100);
        assert_eq!(disks.counts(), (2, 2));
    }

    #[test]
    fn another_folder_in_the_place_of_a_disk_is_not_written_to() {
        let top = tempfile::tempdir().unwrap();
        let one = top.path().join("one");
        let disks = Disks::claim(&[&one]).unwrap();
        assert!(disks.check(0).is_ok());
        std::fs::rename(&one, top.path().join("gone")).unwrap();
        Disks::claim(&[&one]).unwrap();
        assert!(disks.check(0).is_err() && !disks.is_in_use(0));
    }

    #[test]
    fn a_folder_that_cannot_be_used_at_first_leaves_the_others() {
        let top = tempfile::tempdir().unwrap();
        let file = top.path().join("file");
        std::fs::write(&file, "").unwrap();
        let two = top.path().join("two");
        let disks = Disks::claim(&[&file, &two]).unwrap();
        assert_eq!(disks.in_use().map(|(number, _)| number).collect::<Vec<_>>(), [1]);
        assert!(Disks::claim(&[&file]).is_err() && Disks::claim(&[]).is_err());
    }
}
