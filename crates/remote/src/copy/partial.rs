//! The file beside the final name, and those of its ranges that are known to be complete.
//!
//! `NAME.farroot-part` holds the bytes at their places, `NAME.farroot-part.json` says of which file
//! they are and which ranges are there. The record is written after the bytes have reached the
//! disk, every few seconds and when a copy breaks off; it may name fewer bytes than are there,
//! never more. Both are gone on with only where they are this user's own; where anything else has
//! the name, the bytes go to a name of chance, and nothing is taken up.

use std::ffi::{OsStr, OsString};
use std::fs::{File, TryLockError};
use std::io::{self, Read};
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::task::spawn_blocking;
use tokio::time::Instant;
use twox_hash::XxHash64;

use super::spans::Spans;
use crate::checksum::{self, Checksum};
use crate::disk::{self, FolderEntry};
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::Delivery;
use crate::source::FileInfo;

/// How often the record is brought up to date: this much is fetched again after a crash.
const RECORD_EVERY: Duration = Duration::from_secs(5);
/// How often a file is opened again that lost its name before it was locked.
const LOCK_TRIES: u32 = 8;
const SUFFIX: &str = ".farroot-part";
/// Bytes of a name that, with what is added to it, file systems allow; those of it that are kept
/// where it is longer.
const NAME_BYTES_MAX: usize = 200;
const CUT_NAME_BYTES: usize = 160;
/// No record is longer.
const RECORD_BYTES_MAX: u64 = 64 << 20;

/// Whether a copy can go on from the bytes of an earlier try. Where only the size of the file is
/// known, the copy may be `compared` in the end.
fn agrees(before: &FileInfo, now: &FileInfo, compared: bool) -> bool {
    before.is_still(now).is_ok() && (compared || !now.says_only_size())
}

#[derive(Debug, Serialize, Deserialize)]
struct Record {
    of: FileInfo,
    /// Ascending and disjoint.
    done: Vec<Range<u64>>,
}

/// A copy that is not complete. Dropped, it leaves its bytes for the next try.
#[derive(Debug)]
pub struct Partial {
    part: FolderEntry,
    record: FolderEntry,
    file: Arc<File>,
    of: FileInfo,
    done: Spans,
    recorded: Instant,
    /// It has its final name, or is gone.
    is_over: bool,
}

impl Partial {
    /// Takes up an earlier copy of the same file, or begins anew; with `compared` a checksum will
    /// show whether it was the same.
    ///
    /// # Errors
    /// An error of writing it; `InvalidArgument` where another copy is under way to it.
    pub fn open(target: &FolderEntry, of: &FileInfo, compared: bool) -> Result<Self> {
        let named = target.sibling(fitting(target));
        let mut part = with_suffix(&named, SUFFIX);
        let mut found = locked(&part);
        if let Err(TryLockError::Error(error)) = &found
            && error.kind() == io::ErrorKind::AlreadyExists
        {
            let mut prefix = named.name().to_owned();
            prefix.push(".");
            part = target.unguessable(&prefix, SUFFIX);
            found = locked(&part);
        }
        let record = with_suffix(&part, ".json");
        let wrong = |error: &io::Error| failed(&part, error);
        let file = found.map_err(|error| match error {
            TryLockError::WouldBlock => {
                let text = "another copy to this file is under way";
                Error::new(ErrorKind::InvalidArgument, text)
                    .with_url(target.path().to_string_lossy())
            }
            TryLockError::Error(error) => wrong(&error),
        })?;
        let there = file.metadata().map_err(|error| wrong(&error))?.len();
        let done = known(&record, of, compared).filter(|_| there == of.size).unwrap_or_default();
        if done.bytes() == 0 {
            let emptied = file.set_len(0).and_then(|()| file.set_len(of.size));
            emptied.map_err(|error| wrong(&error))?;
        }
        let file = Arc::new(file);
        let recorded = Instant::now();
        Ok(Partial { part, record, file, of: of.clone(), done, recorded, is_over: false })
    }

    /// Bytes that are there.
    pub fn done(&self) -> u64 {
        self.done.bytes()
    }

    pub fn gaps(&self) -> Vec<Range<u64>> {
        self.done.gaps(self.of.size)
    }

    /// Writes pieces at their places, and gives back the memory that they hold.
    pub async fn write(&mut self, pieces: Vec<(Range<u64>, Delivery)>) -> Result<()> {
        let come: Vec<Range<u64>> = pieces.iter().map(|(range, _)| range.clone()).collect();
        let file = self.file.clone();
        let write = move || {
            let mut pieces = pieces.into_iter();
            pieces.try_for_each(|(range, delivery)| file.write_all_at(&delivery.bytes, range.start))
        };
        self.on_disk(write).await?;
        come.into_iter().for_each(|range| self.done.insert(range));
        if self.recorded.elapsed() >= RECORD_EVERY {
            self.recorded = Instant::now();
            let file = self.file.clone();
            let record = self.record.clone();
            let text = self.text();
            self.on_disk(move || keep(&file, &record, &text)).await?;
        }
        Ok(())
    }

    /// Holds the bytes on the disk against a checksum.
    ///
    /// # Errors
    /// `Corrupt` where they differ; the copy is then thrown away.
    pub async fn compare(&self, said: Checksum, by: &str) -> Result<()> {
        let file = self.file.clone();
        let algorithm = said.algorithm();
        let found = self.on_disk(move || checksum::of_file(&file, algorithm)).await?;
        if found == said {
            return Ok(());
        }
        self.discard();
        let verb = if by == "you" { "say" } else { "says" };
        let text = format!("the copy has {found}, but {by} {verb} {said}");
        Err(Error::new(ErrorKind::Corrupt, text)
            .with_advice("it has been thrown away; copy again, or from another source"))
    }

    /// Gives the complete file its name, once its bytes are on the disk: a crash must leave no file
    /// of that name with holes.
    pub async fn finish(mut self, target: &FolderEntry) -> Result<()> {
        let file = self.file.clone();
        self.on_disk(move || file.sync_data()).await?;
        let taken = || {
            let text = "another program has removed or replaced the copy while it was written";
            Error::new(ErrorKind::Changed, text).with_url(target.path().to_string_lossy())
        };
        if !self.part.names(&self.file) {
            self.is_over = true;
            return Err(taken());
        }
        disk::dress(&self.file, Some(target)).map_err(|error| failed(target, &error))?;
        self.part.rename(target).map_err(|error| failed(target, &error))?;
        self.is_over = true;
        if !target.names(&self.file) {
            return Err(taken());
        }
        let _ = self.record.remove();
        Ok(())
    }

    fn discard(&self) {
        // The record first: bytes without a record are never taken up again.
        let _ = self.record.remove();
        if self.part.names(&self.file) {
            let _ = self.part.remove();
        }
    }

    fn text(&self) -> String {
        let record = Record { of: self.of.clone(), done: self.done.ranges().collect() };
        serde_json::to_string(&record).unwrap_or_default()
    }

    async fn on_disk<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> io::Result<T> + Send + 'static,
    ) -> Result<T> {
        let worked = spawn_blocking(work).await.map_err(|error| {
            Error::new(ErrorKind::Io, format!("the disk's thread ended: {error}"))
        })?;
        worked.map_err(|error| failed(&self.part, &error))
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        if self.is_over || !self.part.names(&self.file) {
            return;
        }
        if self.done.bytes() == 0 {
            self.discard();
        } else {
            // Where the record cannot be written, the next try begins with the one before. Bytes
            // without a record are of no use, and may have filled the disk.
            let kept = keep(&self.file, &self.record, &self.text());
            if kept.is_err() && self.record.metadata().is_err() {
                self.discard();
            }
        }
    }
}

/// Opens and locks a part. A copy that ends between the two takes the name away from the file: then
/// there is another one, or none.
fn locked(part: &FolderEntry) -> std::result::Result<File, TryLockError> {
    for _ in 0..LOCK_TRIES {
        let file = part.open_or_create().map_err(TryLockError::Error)?;
        match file.try_lock() {
            // Some network file systems have no locks.
            Ok(()) | Err(TryLockError::Error(_)) => {}
            Err(TryLockError::WouldBlock) => return Err(TryLockError::WouldBlock),
        }
        if part.names(&file) {
            return Ok(file);
        }
    }
    Err(TryLockError::WouldBlock)
}

/// Puts the bytes on the disk, then the record that names them.
fn keep(file: &File, record: &FolderEntry, text: &str) -> io::Result<()> {
    file.sync_data()?;
    disk::replace_at(record, text.as_bytes())
}

/// The ranges of this file that a record names; `None` where it is of another file or version.
fn known(record: &FolderEntry, of: &FileInfo, compared: bool) -> Option<Spans> {
    let mut text = Vec::new();
    record.open_own().ok()?.take(RECORD_BYTES_MAX).read_to_end(&mut text).ok()?;
    let record: Record = serde_json::from_slice(&text).ok()?;
    let fits = record.done.iter().all(|range| range.start < range.end && range.end <= of.size);
    (fits && agrees(&record.of, of, compared)).then(|| record.done.into_iter().collect())
}

/// The file's name, or one that is short enough for what is added to it: the same for the next try,
/// and another one for another file.
fn fitting(target: &FolderEntry) -> OsString {
    let name = target.name().as_bytes();
    if name.len() <= NAME_BYTES_MAX {
        return target.name().to_owned();
    }
    let mut cut = OsStr::from_bytes(&name[..CUT_NAME_BYTES]).to_owned();
    cut.push(format!(".{:016x}", XxHash64::oneshot(0, name)));
    cut
}

fn with_suffix(entry: &FolderEntry, suffix: &str) -> FolderEntry {
    let mut name = entry.name().to_owned();
    name.push(suffix);
    entry.sibling(name)
}

fn failed(entry: &FolderEntry, error: &io::Error) -> Error {
    let known = Error::from_io(error);
    let text = format!("cannot be written: {}", known.message());
    // Of a target, also "no such file" is no missing source.
    let kind = match known.kind() {
        ErrorKind::PermissionDenied => ErrorKind::PermissionDenied,
        _ => ErrorKind::Io,
    };
    Error::new(kind, text).with_url(entry.path().to_string_lossy())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn info(size: u64, modified: Option<i64>, version: Option<&str>) -> FileInfo {
        FileInfo::new(size, modified, version.map(str::to_owned)).unwrap()
    }

    #[test]
    fn only_the_same_version_is_gone_on_with() {
        let first = info(10, Some(1), None);
        for compared in [false, true] {
            assert!(agrees(&first, &first, compared));
            assert!(!agrees(&first, &info(10, Some(2), None), compared));
            let size = info(10, None, None);
            assert!(!agrees(&first, &size, compared));
            assert_eq!(agrees(&size, &size, compared), compared);
        }
    }

    #[test]
    fn what_is_recorded_comes_back_and_nonsense_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let target = FolderEntry::at(&folder.path().join("f")).unwrap();
        let of = info(100, Some(1), None);
        let mut partial = Partial::open(&target, &of, false).unwrap();
        assert!(Partial::open(&target, &of, false).is_err(), "two at a time");
        partial.done.insert(0..40);
        drop(partial);
        assert_eq!(Partial::open(&target, &of, false).unwrap().gaps(), [40..100]);
        assert!(!target.path().exists());
        let other = info(100, Some(2), None);
        assert_eq!(Partial::open(&target, &other, false).unwrap().done(), 0, "another version");
        for text in ["", "{}", r#"{"of":{"size":100,"modified":1},"done":[{"start":0,"end":101}]}"#]
        {
            fs::write(with_suffix(&target, ".farroot-part.json").path(), text).unwrap();
            assert_eq!(Partial::open(&target, &of, false).unwrap().done(), 0, "{text}");
        }
    }

    /// In a folder that several users share, another one could put a link, a pipe or a file with a
    /// record of its own where the next copy would look.
    #[test]
    fn what_is_not_this_users_own_part_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let target = FolderEntry::at(&folder.path().join("f")).unwrap();
        let part = with_suffix(&target, ".farroot-part");
        let victim = folder.path().join("victim");
        fs::write(&victim, "precious").unwrap();
        std::os::unix::fs::symlink(&victim, part.path()).unwrap();
        std::os::unix::fs::symlink(&victim, with_suffix(&part, ".json").path()).unwrap();
        let of = info(100, Some(1), None);
        let mut partial = Partial::open(&target, &of, false).unwrap();
        partial.done.insert(0..40);
        drop(partial);
        assert_eq!(fs::read(&victim).unwrap(), b"precious");
        assert!(part.metadata().unwrap().is_symlink());
        assert_eq!(Partial::open(&target, &of, false).unwrap().done(), 0);
    }

    /// Regression: a file whose name nearly has the length that file systems allow could not be
    /// copied.
    #[test]
    fn a_long_name_has_a_part_too() {
        let folder = tempfile::tempdir().unwrap();
        let of = info(100, Some(1), None);
        let target = |last: &str| {
            let name = format!("{}{last}", "é".repeat(127));
            FolderEntry::at(&folder.path().join(name)).unwrap()
        };
        let mut partial = Partial::open(&target("a"), &of, false).unwrap();
        partial.done.insert(0..40);
        drop(partial);
        assert_eq!(Partial::open(&target("a"), &of, false).unwrap().done(), 40);
        assert_eq!(Partial::open(&target("b"), &of, false).unwrap().done(), 0);
    }

    /// Regression: where the disk was full, the bytes stayed without a record, by which nothing
    /// takes them up again.
    #[test]
    fn bytes_without_a_record_do_not_stay() {
        let folder = tempfile::tempdir().unwrap();
        let target = FolderEntry::at(&folder.path().join("f")).unwrap();
        let mut partial = Partial::open(&target, &info(100, Some(1), None), false).unwrap();
        partial.done.insert(0..40);
        // A name that no file can have takes no record.
        partial.record = FolderEntry::at(&folder.path().join("r".repeat(300))).unwrap();
        drop(partial);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_has_nothing_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let target = FolderEntry::at(&folder.path().join("f")).unwrap();
        drop(Partial::open(&target, &info(100, Some(1), None), false).unwrap());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
