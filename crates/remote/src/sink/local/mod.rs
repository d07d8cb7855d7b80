//! Files of this machine: written beside their name, and renamed when they are whole.
//!
//! Written bytes are gathered and go to the system in runs of some MiB, by a thread on which
//! blocking is allowed, one run at a time. While it writes one, the next is gathered, and another
//! thread waits for the disk to write earlier ones ([`write_back`](mod@write_back)). Disk space is
//! reserved ahead of the writes ([`room`]).

mod naming;
mod part;
mod room;
mod write_back;

use std::fs::{File, Metadata, TryLockError};
use std::io::{self, IoSlice, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use mutex::Mutex;
use tokio::task::{JoinHandle, spawn_blocking};

use self::naming::{beside, cannot_name, name_new, remove_held};
pub use self::part::LocalPart;
use self::room::DiskRoom;
use self::write_back::write_back;
use super::{Content, CreateOptions, Sink, Written};
use crate::checksum::Algorithm;
use crate::disk::{self, FolderEntry, Mark, Temporary};
use crate::error::{Error, ErrorKind, Result};

/// Gathered before it is written: large enough for any disk to be as fast as it can.
const RUN_BYTES: usize = 4 << 20;
/// Bytes that the system has before they are written to the disk, beside further writes, so that
/// little is left to sync at the end. At [`CACHED_BYTES_MAX`] writes wait for the disk.
const CACHED_BYTES: u64 = 8 << 20;
const CACHED_BYTES_MAX: u64 = 64 << 20;
/// Pieces of one system call (Linux: `UIO_MAXIOV`).
const PIECES_MAX: usize = 1024;
/// Why a file is not as its writer has made it.
const CHANGED: &str =
    "another program has removed, replaced, moved or changed the file while it was written";

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

/// The thread's part of it.
struct Disk {
    file: File,
    target: FolderEntry,
    place: Mutex<Place>,
    room: Mutex<DiskRoom>,
}

/// Where it is, and how it ends.
enum Place {
    /// Beside its name.
    Beside { part: Temporary, options: CreateOptions },
    /// Under its name, which goes where it is abandoned.
    Under(Temporary),
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
    blocking(move || open_at(&target)).await
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
            // A file that has appeared since the check is not ours.
            let file = target.create_in_place(options.overwrite);
            let file = file.map_err(|error| cannot_name(&target, &error))?;
            lock(&file)?;
            file.set_len(0).map_err(|error| cannot_begin(&target, &error))?;
            (file, Place::Under(Temporary::new(target.clone())))
        }
        false => {
            let (file, part) = beside(&target, options)?;
            (file, Place::Beside { part, options })
        }
    };
    Ok(LocalFile::of(file, target, place))
}

fn open_at(target: &Path) -> Result<(LocalFile, u64)> {
    let target = disk::followed(target)?;
    let there = target.target_metadata().map_err(|error| Error::from_io(&error))?;
    check_regular(&there)?;
    let file = target.open_to_write().map_err(|error| cannot_begin(&target, &error))?;
    lock(&file)?;
    if !target.names(&file) {
        return Err(is_written());
    }
    // Checked again: the writer that had it may have made it longer.
    let behind = Behind::of(&file).map_err(|error| cannot_begin(&target, &error))?;
    let before = behind.before;
    Ok((LocalFile::of(file, target, Place::Behind(behind)), before))
}

/// Whether a file may be made.
fn check_there(target: &FolderEntry, options: CreateOptions) -> Result<()> {
    let Ok(there) = target.target_metadata() else { return Ok(()) };
    check_regular(&there)?;
    if !options.overwrite {
        return Err(Error::target_is_there());
    }
    // A file that its owner has protected is not replaced, and neither is one that is written to.
    let file = target.open_to_write().map_err(|error| cannot_begin(target, &error))?;
    // A writer that has given it the name has it locked for a moment longer.
    if options.shared { Ok(()) } else { lock(&file) }
}

fn check_regular(there: &Metadata) -> Result<()> {
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

impl LocalFile {
    fn of(file: File, target: FolderEntry, place: Place) -> Self {
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

    /// Hands the gathered pieces to the thread, once it has written the run before.
    async fn flush(&mut self) -> Result<()> {
        self.wait().await?;
        self.write_behind().await?;
        if !self.gathered.is_empty() {
            let disk = self.disk.clone();
            let pieces = std::mem::take(&mut self.gathered);
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
        let disk = self.disk.clone();
        let written = self.written;
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
            let address = self.disk.target.path().to_string_lossy().into_owned();
            let checksum = content.checksum(Algorithm::Adler32);
            Ok(Written::new(address, content.len(), checksum))
        }
        .boxed()
    }

    fn abandon(mut self: Box<Self>) -> BoxFuture<'static, ()> {
        let disk = self.disk.clone();
        async move {
            // A thread that writes, or waits for the disk, has the file open: it keeps its lock.
            let _ = ended(&mut self.running).await;
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
    /// Writes pieces at their offsets: neighbours as one.
    fn write(&self, pieces: &[(u64, Bytes)]) -> io::Result<()> {
        // Held, so that no run is written to a file that is given up meanwhile.
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
            Place::Beside { part, options } => {
                if !part.entry().names(&self.file) {
                    // The file of this name is another program's now.
                    part.keep();
                    return Err(self.changed());
                }
                let overwrite = options.overwrite;
                if overwrite {
                    check_there(&self.target, options)?;
                }
                let dressed = disk::dress(&self.file, overwrite.then_some(&self.target));
                dressed.map_err(|error| cannot_name(&self.target, &error))?;
                let named = match overwrite {
                    true => part.rename(&self.target),
                    false => name_new(part, &self.target),
                };
                named.map_err(|error| cannot_name(&self.target, &error))?;
                if !(options.shared || self.has_name()) {
                    return Err(self.changed());
                }
                self.target.sync_folder();
            }
            Place::Under(path) => {
                path.keep();
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
        self.target.names(&self.file)
    }

    /// The written file is not where it was to be.
    fn changed(&self) -> Error {
        Error::new(ErrorKind::Changed, CHANGED)
            .with_url(self.target.path().to_string_lossy())
            .with_advice("see which program it was, and write again")
    }

    /// Leaves the earlier file. It waits for a run that is being written.
    fn give_up(&self) {
        match std::mem::replace(&mut *self.place.lock(), Place::Over) {
            Place::Behind(behind) if !behind.replaced => {
                // Bytes that another program has written meanwhile stay.
                if behind.is_ours(&self.file) {
                    let _ = self.file.set_len(behind.before);
                }
            }
            // Space that cannot be given back is no error here.
            Place::Behind(_) => drop(self.room.lock().give_back(&self.file)),
            // Another writer may have renamed a file over it.
            Place::Under(name) | Place::Beside { part: name, .. }
                if !name.entry().names(&self.file) =>
            {
                name.keep();
            }
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
        error.with_url(self.target.path().to_string_lossy())
    }
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

/// Of a target, also "no such file" is no missing source.
fn cannot_begin(target: &FolderEntry, error: &io::Error) -> Error {
    let known = Error::from_io(error);
    let url = target.path().to_string_lossy();
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
mod model;
#[cfg(test)]
mod tests;
