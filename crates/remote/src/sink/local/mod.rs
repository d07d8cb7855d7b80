//! Files of this machine: written beside their name, and renamed when they are whole.
//!
//! Written bytes are gathered and go to the system in runs of some MiB, by a thread on which
//! blocking is allowed, one run at a time. While it writes one, the next is gathered, and another
//! thread waits for the disk to write earlier ones ([`write_back`](mod@write_back)). Disk space is
//! reserved ahead of the writes ([`room`]).

mod part;
mod room;
mod write_back;

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, TryLockError};
use std::io::{self, IoSlice, Seek, SeekFrom, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use mutex::Mutex;
use tempfile::TempPath;
use tokio::task::{JoinHandle, spawn_blocking};

pub use self::part::LocalPart;
use self::room::DiskRoom;
use self::write_back::write_back;
use super::{Content, CreateOptions, NAME_LEN_MAX, Sink, Written};
use crate::checksum::Algorithm;
use crate::disk::{self, Mark};
use crate::error::{Error, ErrorKind, Result};

/// Gathered before it is written: large enough for any disk to be as fast as it can.
const RUN_BYTES: usize = 4 << 20;
/// Bytes that the system has before they are written to the disk, beside further writes, so that
/// little is left to sync at the end. At [`CACHED_BYTES_MAX`] writes wait for the disk.
const CACHED_BYTES: u64 = 8 << 20;
const CACHED_BYTES_MAX: u64 = 64 << 20;
/// Pieces of one system call (Linux: `UIO_MAXIOV`).
const PIECES_MAX: usize = 1024;
/// Why a file is not what its writer has made.
const CHANGED: &str =
    "another program has removed, replaced, moved or changed the file while it was written";
/// Letters of chance in the temporary name.
const CHANCE_LEN: usize = 8;

/// A file that is being written.
pub struct LocalFile {
    disk: Arc<Disk>,
    gathered: Vec<(u64, Bytes)>,
    gathered_bytes: usize,
    /// The run that the thread writes.
    running: Option<JoinHandle<io::Result<()>>>,
    /// The thread that waits for the disk.
    writing_back: Option<JoinHandle<io::Result<()>>>,
    /// Bytes that have been handed to the system.
    written: u64,
    /// Of those, the bytes that this thread waits for, or earlier ones have.
    written_back: u64,
}

/// What the thread has of it.
struct Disk {
    file: File,
    /// What an error names.
    target: PathBuf,
    place: Mutex<Place>,
    room: Mutex<DiskRoom>,
}

/// Where it is, and how it ends.
enum Place {
    /// Beside its name.
    Beside { part: TempPath, overwrite: bool },
    /// Under its name, which goes where it is abandoned.
    Under(TempPath),
    /// In a file that was there.
    Behind(Behind),
    /// Whole, or given up: nothing is written any more.
    Over,
}

/// A file that was there, and is gone on with.
struct Behind {
    /// Its bytes then.
    before: u64,
    /// Some of them have been replaced.
    replaced: bool,
    /// Up to where this writer has added bytes.
    end: u64,
    /// As it was then; `None` where it may be written and not read.
    mark: Option<Mark>,
}

impl Behind {
    fn of(file: &File) -> io::Result<Self> {
        let before = file.metadata()?.len();
        Ok(Behind { before, replaced: false, end: before, mark: Mark::of(file).ok() })
    }

    /// Whether no other program has written to the file since, as far as its old bytes show.
    fn is_ours(&self, file: &File) -> bool {
        let length = || file.metadata().is_ok_and(|there| there.len() == self.end);
        match &self.mark {
            Some(mark) if !self.replaced => mark.holds(file, self.end),
            _ => length(),
        }
    }
}

/// Begins a file.
pub async fn create(target: PathBuf, options: CreateOptions) -> Result<LocalFile> {
    blocking(move || create_at(&target, options)).await
}

/// Opens a file to write behind its end; also says where that is.
pub async fn append_to(target: PathBuf) -> Result<(LocalFile, u64)> {
    blocking(move || open_at(target)).await
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    let ended = |error| Error::new(ErrorKind::Io, format!("the disk's thread ended: {error}"));
    spawn_blocking(work).await.map_err(ended)?
}

fn create_at(target: &Path, options: CreateOptions) -> Result<LocalFile> {
    let target = disk::followed(target)?;
    remove_held(&target);
    check_there(&target, options)?;
    let (file, place) = match options.in_place {
        true => {
            let mut open = File::options();
            // A file that came since it was asked for is not ours.
            open.write(true).create(true).create_new(!options.overwrite).truncate(false);
            open.custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
            let file = open.open(&target).map_err(|error| cannot_name(&target, &error))?;
            lock(&file)?;
            file.set_len(0).map_err(|error| cannot_begin(&target, &error))?;
            let path = TempPath::try_from_path(&target);
            (file, Place::Under(path.map_err(|error| cannot_begin(&target, &error))?))
        }
        false => {
            let (file, part) = beside(&target)?;
            (file, Place::Beside { part, overwrite: options.overwrite })
        }
    };
    Ok(LocalFile::of(file, target, place))
}

fn open_at(target: PathBuf) -> Result<(LocalFile, u64)> {
    let target = disk::followed(&target)?;
    let there = fs::metadata(&target).map_err(|error| Error::from_io(&error))?;
    check_regular(&there)?;
    let open = |reads: bool| {
        let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
        File::options().read(reads).write(true).custom_flags(flags).open(&target)
    };
    let file = open(true).or_else(|_| open(false));
    let file = file.map_err(|error| cannot_begin(&target, &error))?;
    lock(&file)?;
    if !disk::has_name(&file, &target) {
        return Err(is_written());
    }
    // Asked again: the writer that had it may have made it longer.
    let behind = Behind::of(&file).map_err(|error| cannot_begin(&target, &error))?;
    let before = behind.before;
    Ok((LocalFile::of(file, target, Place::Behind(behind)), before))
}

/// Whether a file may be made.
fn check_there(target: &Path, options: CreateOptions) -> Result<()> {
    let Ok(there) = fs::metadata(target) else { return Ok(()) };
    check_regular(&there)?;
    if !options.overwrite {
        return Err(Error::target_is_there());
    }
    // A file that its owner has protected is not replaced, and neither is one that is written to.
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let open = File::options().write(true).custom_flags(flags).open(target);
    lock(&open.map_err(|error| cannot_begin(target, &error))?)
}

fn check_regular(there: &fs::Metadata) -> Result<()> {
    let wrong = |kind, text| Err(Error::new(kind, text));
    match () {
        () if there.is_dir() => wrong(ErrorKind::InvalidArgument, "the target is a directory"),
        () if !there.is_file() => {
            wrong(ErrorKind::Unsupported, "the target is a device or a pipe, not a file")
        }
        () => Ok(()),
    }
}

/// Some network file systems have no locks; there the last writer's file stays.
fn lock(file: &File) -> Result<()> {
    match file.try_lock() {
        Ok(()) | Err(TryLockError::Error(_)) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(is_written()),
    }
}

fn is_written() -> Error {
    Error::new(ErrorKind::InvalidArgument, "another writer has this file")
        .with_advice("wait until it is done, or write to another name")
}

/// A new file beside the target, `.NAME.CHANCE.part`, locked. What writers that have ended left of
/// the same name is removed.
fn beside(target: &Path) -> Result<(File, TempPath)> {
    let wrong = |error: &io::Error| cannot_begin(target, error);
    let nameless = || Error::new(ErrorKind::InvalidArgument, "the target has no name");
    let (folder, prefix) = part_place(target).ok_or_else(nameless)?;
    let mut builder = tempfile::Builder::new();
    builder.prefix(&prefix).suffix(".part").rand_bytes(CHANCE_LEN);
    loop {
        let (file, part) =
            builder.make_in(folder, disk::create_new).map_err(|error| wrong(&error))?.into_parts();
        // Another writer may take it for one that was left, until it is locked.
        let is_ours = !matches!(file.try_lock(), Err(TryLockError::WouldBlock));
        if is_ours && file.metadata().map_err(|error| wrong(&error))?.nlink() > 0 {
            remove_left(folder, &prefix, &part)?;
            return Ok((file, part));
        }
    }
}

/// The folder of a target, and how the names of its parts begin.
fn part_place(target: &Path) -> Option<(&Path, OsString)> {
    let (folder, name) = target.parent().zip(target.file_name())?;
    let name = name.as_bytes();
    let mut prefix = OsString::from(".");
    prefix.push(OsStr::from_bytes(&name[..name.len().min(NAME_LEN_MAX)]));
    prefix.push(".");
    Some((folder, prefix))
}

/// The parts in a folder whose names begin so; none where the folder cannot be listed, which may
/// be written to all the same.
fn parts(folder: &Path, prefix: &OsStr) -> Vec<PathBuf> {
    let is_part = |name: &OsStr| {
        let rest = name.as_bytes().strip_prefix(prefix.as_bytes());
        let chance = rest.and_then(|rest| rest.strip_suffix(b".part"));
        chance.is_some_and(|c| c.len() == CHANCE_LEN && c.iter().all(u8::is_ascii_alphanumeric))
    };
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter(|entry| is_part(&entry.file_name())).map(|entry| entry.path()).collect()
}

/// Removes what a crash in [`name_held`] has left under the target's name: it names the part of a
/// writer that has ended. That is not known of an empty file, which may be a user's.
fn remove_held(target: &Path) {
    let has_ended = |part: &PathBuf| disk::open_own(part).is_ok_and(|part| part.try_lock().is_ok());
    let Some((folder, prefix)) = part_place(target) else { return };
    let holds = |part: &PathBuf| is_held(target, part).is_ok_and(|held| held);
    if parts(folder, &prefix).iter().any(|part| holds(part) && has_ended(part)) {
        // Where that is refused, the target is there already.
        let _ = fs::remove_file(target);
    }
}

/// Removes what writers of the same name have left that have ended.
fn remove_left(folder: &Path, prefix: &OsStr, ours: &Path) -> Result<()> {
    for part in parts(folder, prefix) {
        if part.file_name() == ours.file_name() {
            continue;
        }
        let Ok(other) = disk::open_own(&part) else { continue };
        match other.try_lock() {
            Ok(()) => drop(fs::remove_file(&part)),
            Err(TryLockError::WouldBlock) => return Err(is_written()),
            Err(TryLockError::Error(_)) => {}
        }
    }
    Ok(())
}

impl LocalFile {
    fn of(file: File, target: PathBuf, place: Place) -> Self {
        LocalFile {
            disk: Arc::new(Disk { file, target, place: Mutex::new(place), room: Mutex::default() }),
            gathered: Vec::new(),
            gathered_bytes: 0,
            running: None,
            writing_back: None,
            written: 0,
            written_back: 0,
        }
    }

    /// Hands what is gathered to the thread, once it has written the run before.
    async fn flush(&mut self) -> Result<()> {
        self.wait().await?;
        self.write_behind().await?;
        if !self.gathered.is_empty() {
            let (disk, pieces) = (self.disk.clone(), std::mem::take(&mut self.gathered));
            self.written += std::mem::take(&mut self.gathered_bytes) as u64;
            self.running = Some(spawn_blocking(move || disk.write(&pieces)));
        }
        Ok(())
    }

    async fn wait(&mut self) -> Result<()> {
        let done = ended(&mut self.running).await;
        done.map_err(|error| self.disk.failed(&error, self.written))
    }

    /// Starts to write back where the system has enough bytes, one thread at a time.
    async fn write_behind(&mut self) -> Result<()> {
        let cached = self.written - self.written_back;
        let is_busy = self.writing_back.as_ref().is_some_and(|thread| !thread.is_finished());
        if cached < CACHED_BYTES || is_busy && cached < CACHED_BYTES_MAX {
            return Ok(());
        }
        self.wait_for_disk().await?;
        self.written_back = self.written;
        let disk = self.disk.clone();
        self.writing_back = Some(spawn_blocking(move || write_back(&disk.file)));
        Ok(())
    }

    async fn wait_for_disk(&mut self) -> Result<()> {
        let done = ended(&mut self.writing_back).await;
        done.map_err(|error| self.disk.failed(&error, self.written))
    }

    /// Waits for all writes, then does something on the thread.
    async fn after_all<T: Send + 'static>(
        &mut self,
        work: impl FnOnce(&Disk) -> io::Result<T> + Send + 'static,
    ) -> Result<T> {
        self.flush().await?;
        self.wait().await?;
        // The system reports an error of the disk to one call only.
        self.wait_for_disk().await?;
        let (disk, written) = (self.disk.clone(), self.written);
        blocking(move || work(&disk).map_err(|error| disk.failed(&error, written))).await
    }
}

impl Sink for LocalFile {
    /// The kind for reports and catalogues: a disk has no checksum to compare with.
    fn checksums(&self) -> &'static [Algorithm] {
        &[Algorithm::Adler32]
    }

    fn write(&mut self, offset: u64, bytes: Bytes, _: bool) -> BoxFuture<'_, Result<()>> {
        self.gathered_bytes += bytes.len();
        self.gathered.push((offset, bytes));
        async move {
            match self.gathered_bytes >= RUN_BYTES {
                true => self.flush().await,
                false => Ok(()),
            }
        }
        .boxed()
    }

    fn sync(&mut self) -> BoxFuture<'_, Result<()>> {
        self.after_all(|disk| disk.file.sync_all()).boxed()
    }

    fn finish(mut self: Box<Self>, content: Content) -> BoxFuture<'static, Result<Written>> {
        async move {
            self.after_all(|disk| {
                disk.room.lock().give_back(&disk.file)?;
                disk.file.sync_all()
            })
            .await?;
            let disk = self.disk.clone();
            blocking(move || disk.give_name()).await?;
            let address = self.disk.target.to_string_lossy().into_owned();
            let checksum = content.checksum(Algorithm::Adler32);
            Ok(Written { address, size: content.len(), checksum })
        }
        .boxed()
    }

    fn abandon(mut self: Box<Self>) -> BoxFuture<'static, ()> {
        let disk = self.disk.clone();
        async move {
            // A thread that waits for the disk has the file open, and so keeps its lock.
            let _ = ended(&mut self.writing_back).await;
            drop(spawn_blocking(move || disk.give_up()).await);
        }
        .boxed()
    }
}

impl Drop for LocalFile {
    fn drop(&mut self) {
        self.disk.give_up();
    }
}

impl Disk {
    /// Writes pieces at their places: as one what lies together.
    fn write(&self, pieces: &[(u64, Bytes)]) -> io::Result<()> {
        // Held, so that no run is written to what is given up meanwhile.
        let mut place = self.place.lock();
        let follows =
            |one: &(u64, Bytes), next: &(u64, Bytes)| one.0 + one.1.len() as u64 == next.0;
        for run in pieces.chunk_by(follows) {
            match &mut *place {
                Place::Over => return Ok(()),
                Place::Behind(behind) => {
                    let replaces = run[0].0 < behind.before;
                    if replaces && !(behind.is_ours(&self.file) && self.has_name()) {
                        return Err(io::Error::other(CHANGED));
                    }
                    behind.replaced |= replaces;
                    let len: usize = run.iter().map(|(_, bytes)| bytes.len()).sum();
                    behind.end = behind.end.max(run[0].0 + len as u64);
                }
                Place::Beside { .. } | Place::Under(_) => {}
            }
            let len: usize = run.iter().map(|(_, bytes)| bytes.len()).sum();
            self.room.lock().ensure(&self.file, run[0].0..run[0].0 + len as u64)?;
            (&self.file).seek(SeekFrom::Start(run[0].0))?;
            for some in run.chunks(PIECES_MAX) {
                write_all(&self.file, some.iter().map(|(_, bytes)| IoSlice::new(bytes)).collect())?;
            }
        }
        Ok(())
    }

    /// Gives a whole file its name.
    fn give_name(&self) -> Result<()> {
        match std::mem::replace(&mut *self.place.lock(), Place::Over) {
            Place::Beside { part, overwrite } => {
                if !disk::has_name(&self.file, &part) {
                    // What has the name now is another program's.
                    drop(part.keep());
                    return Err(self.changed());
                }
                if overwrite {
                    let options = CreateOptions { overwrite, ..CreateOptions::default() };
                    check_there(&self.target, options)?;
                }
                let dressed = disk::dress(&self.file, overwrite.then_some(&*self.target));
                dressed.map_err(|error| cannot_name(&self.target, &error))?;
                let named = match overwrite {
                    true => part.persist(&self.target).map_err(|error| error.error),
                    false => name_new(part, &self.target),
                };
                named.map_err(|error| cannot_name(&self.target, &error))?;
                if !self.has_name() {
                    return Err(self.changed());
                }
                let folder = self.target.parent().map(File::open);
                // Not all file systems sync folders.
                let _ = folder.and_then(io::Result::ok).map(|folder| folder.sync_all());
            }
            Place::Under(path) => {
                drop(path.keep());
                if !self.has_name() {
                    return Err(self.changed());
                }
            }
            Place::Behind(behind) if !(behind.is_ours(&self.file) && self.has_name()) => {
                return Err(self.changed());
            }
            Place::Behind(_) | Place::Over => {}
        }
        Ok(())
    }

    fn has_name(&self) -> bool {
        disk::has_name(&self.file, &self.target)
    }

    /// What was written is not where it was to be.
    fn changed(&self) -> Error {
        Error::new(ErrorKind::Changed, CHANGED)
            .with_url(self.target.to_string_lossy())
            .with_advice("see which program it was, and write again")
    }

    /// Leaves what was there before. It waits for a run that is being written.
    fn give_up(&self) {
        match std::mem::replace(&mut *self.place.lock(), Place::Over) {
            Place::Behind(behind) if !behind.replaced => {
                // What another program has written meanwhile stays.
                if behind.is_ours(&self.file) {
                    let _ = self.file.set_len(behind.before);
                }
            }
            // Space that cannot be given back is no error here.
            Place::Behind(_) => drop(self.room.lock().give_back(&self.file)),
            // Another writer may have renamed a file over it.
            Place::Under(path) if !disk::has_name(&self.file, &path) => drop(path.keep()),
            Place::Beside { part, .. } if !disk::has_name(&self.file, &part) => drop(part.keep()),
            // A temporary name goes when it is dropped.
            Place::Beside { .. } | Place::Under(_) | Place::Over => {}
        }
    }

    fn failed(&self, error: &io::Error, written: u64) -> Error {
        let (text, advice) = match error.kind() {
            io::ErrorKind::StorageFull => {
                ("the disk is full", "free some room, or write elsewhere")
            }
            io::ErrorKind::QuotaExceeded => {
                ("the quota is used up", "remove some files, or write elsewhere")
            }
            io::ErrorKind::FileTooLarge => {
                ("a file may not become as large", "see ulimit -f, or write elsewhere")
            }
            _ => return cannot_begin(&self.target, error),
        };
        let text = format!("{text}: {written} bytes were written");
        let error = Error::new(ErrorKind::Io, text).with_advice(advice);
        error.with_url(self.target.to_string_lossy())
    }
}

/// Renames a file, if no other file has the name `target`.
fn name_new(part: TempPath, target: &Path) -> io::Result<()> {
    match part.persist_noclobber(target) {
        Ok(()) => Ok(()),
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Err(error.error),
        // The file system may have neither hard links nor a rename that replaces nothing.
        Err(error) if is_unsupported(&error.error) => name_held(error.path, target),
        Err(error) => Err(error.error),
    }
}

/// Whether a file system refuses a call that it does not have: EOPNOTSUPP, ENOSYS, EINVAL, EPERM.
fn is_unsupported(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidInput, PermissionDenied, Unsupported};
    matches!(error.kind(), InvalidInput | PermissionDenied | Unsupported)
}

/// As [`name_new`]: creates a file of that name, which the rename then replaces. A crash in between
/// leaves it beside the part: see [`remove_held`].
fn name_held(part: TempPath, target: &Path) -> io::Result<()> {
    let mut held = disk::create_new(target)?;
    if let Err(error) = held.write_all(&held_text(&part)) {
        if disk::has_name(&held, target) {
            let _ = fs::remove_file(target);
        }
        return Err(error);
    }
    drop(held);
    name_over(part, target)
}

/// Renames a file over the one that holds the name for it, if no other writer has that by now.
fn name_over(part: TempPath, target: &Path) -> io::Result<()> {
    if !is_held(target, &part)? {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    part.persist(target).map_err(|error| {
        if is_held(target, &error.path).is_ok_and(|held| held) {
            let _ = fs::remove_file(target);
        }
        error.error
    })
}

/// What is in a file that holds a name for a part; no other writer puts that into one.
fn held_text(part: &Path) -> Vec<u8> {
    let name = part.file_name().unwrap_or_default().as_bytes();
    [b"farroot is about to give this name to ", name, b"\n"].concat()
}

/// Whether a name is held for a part, by a file that no other process has replaced or written to.
fn is_held(target: &Path, part: &Path) -> io::Result<bool> {
    let text = held_text(part);
    let there = fs::symlink_metadata(target)?;
    let may_be = there.is_file() && there.len() == text.len() as u64;
    Ok(may_be && fs::read(target)? == text)
}

/// Waits for the end of a thread, if there is one.
async fn ended(thread: &mut Option<JoinHandle<io::Result<()>>>) -> io::Result<()> {
    let Some(running) = thread else { return Ok(()) };
    let done = running.await;
    *thread = None;
    done.unwrap_or_else(|error| Err(io::Error::other(error)))
}

fn write_all(mut file: &File, mut pieces: Vec<IoSlice<'_>>) -> io::Result<()> {
    let mut left = &mut pieces[..];
    // Empty pieces at the front are not written.
    IoSlice::advance_slices(&mut left, 0);
    while !left.is_empty() {
        match file.write_vectored(left) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => IoSlice::advance_slices(&mut left, count),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn cannot_name(target: &Path, error: &io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::AlreadyExists => Error::target_is_there(),
        _ => cannot_begin(target, error),
    }
}

/// Of a target, also "no such file" is no missing source.
fn cannot_begin(target: &Path, error: &io::Error) -> Error {
    let known = Error::from_io(error);
    let url = target.to_string_lossy();
    let wrong = |kind, text: &str| Error::new(kind, text).with_url(&*url);
    match known.kind() {
        ErrorKind::NotFound => {
            let error = wrong(ErrorKind::InvalidArgument, "the target's directory is not there");
            error.with_advice("make it first")
        }
        ErrorKind::PermissionDenied => {
            wrong(ErrorKind::PermissionDenied, "the target may not be written to")
        }
        _ => wrong(ErrorKind::Io, &format!("cannot be written: {}", known.message())),
    }
}

#[cfg(test)]
mod tests;
