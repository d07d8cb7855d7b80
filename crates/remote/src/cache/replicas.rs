//! Replicas: files that programs read faster, with the content of a file elsewhere. Each is made of
//! one version of that file, is kept whole or not at all, and goes with the version.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use data_encoding::HEXLOWER;

use super::content::{PIN, lock_shared, make_folder};
use super::disks::DiskNumber;
use super::evict::{Held, LimitScope};
use super::format::ContentId;
use super::names::replica_content;
use super::quota::decided;
use super::recompressed::recompressed_id;
use super::replica_files::{ABOUT, MAKING, REPLICA, ReplicaFacts, checksum, facts};
use super::segment::UNFINISHED;
use super::{Cache, place, room, space};
use crate::charges::Charges;
use crate::checksum::{Algorithm, Checksum};
use crate::clock::seconds_since_1970;
use crate::disk::FolderEntry;
use crate::error::{Error, ErrorKind, Result};
use crate::origin::FileOrigin;
use crate::source::FileInfo;

/// A replica that can be read. Dropping it lets it be evicted.
#[derive(Debug)]
pub struct Replica {
    /// Where it is.
    pub path: PathBuf,
    /// Its own size, and not that of the file that it was made of.
    pub size: u64,
    _lock: File,
}

/// A replica that is being made. Dropping it removes what there is of it.
#[derive(Debug)]
pub struct ReplicaDraft {
    /// Where its file is to be written.
    pub path: PathBuf,
    folder: PathBuf,
    disk: DiskNumber,
    id: ContentId,
    of: FileInfo,
    /// Where bytes of the file are cached, if any are.
    content: Option<ContentId>,
    charges: Charges,
    _making: File,
    _lock: File,
}

impl Replica {
    /// The checksum of all its bytes. Blocks.
    ///
    /// # Errors
    /// An error of the disk.
    pub fn checksum(&self, algorithm: Algorithm) -> Result<Checksum> {
        checksum(&self.path, algorithm).map_err(|error| Error::from_io(&error))
    }
}

impl Drop for ReplicaDraft {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

impl Cache {
    /// The replica of the version of a file that a server has just described, or that is trusted as
    /// the settings have it. Blocks.
    pub fn replica(&self, origin: &FileOrigin, info: &FileInfo) -> Option<Replica> {
        let id = replica_id(origin, info)?;
        self.folders(&id).into_iter().find_map(|folder| self.replica_in(&folder, &id, info))
    }

    fn replica_in(&self, folder: &Path, id: &ContentId, info: &FileInfo) -> Option<Replica> {
        let about = facts(folder).filter(|about| about.of == *info)?;
        let lock = lock_shared(folder).ok()?;
        let path = folder.join(REPLICA);
        let is_whole = fs::symlink_metadata(&path)
            .is_ok_and(|found| found.is_file() && found.len() == about.size);
        let key = (*id, about.made);
        if !is_whole || !self.inner.checked_replicas.lock().contains(&key) {
            // Once in each process: later readers trust it as any file of this machine.
            let found = checksum(&path, Algorithm::Adler32).ok();
            if !is_whole || found.is_none_or(|found| found.to_string() != about.adler32) {
                self.inner.counting.damaged();
                room::remove(folder);
                return None;
            }
            self.inner.checked_replicas.lock().insert(key);
        }
        let used = File::options().write(true).open(folder.join(ABOUT));
        let _ = used.and_then(|file| file.set_modified(SystemTime::now()));
        Some(Replica { path, size: about.size, _lock: lock })
    }

    /// Begins a replica of about so many bytes. Waits while another process makes the same one:
    /// look for that first. Segments may go for it. Blocks.
    ///
    /// # Errors
    /// `Unsupported` where nothing distinguishes versions of the file; `LimitReached` where the
    /// cache has no room; an error of the disk.
    pub fn draft_replica(
        &self,
        origin: &FileOrigin,
        info: &FileInfo,
        bytes: u64,
    ) -> Result<ReplicaDraft> {
        let id = replica_id(origin, info).ok_or_else(|| {
            let text = "nothing says when it changes: a replica of it could be an old one";
            Error::new(ErrorKind::Unsupported, text)
        })?;
        let (disk, data) = self.roomiest()?;
        let charges = self.file_charges(origin);
        self.make_room(&data, bytes, charges)?;
        let folder = place::content_folder(&data, &id);
        let begin = || -> io::Result<(File, File)> {
            make_folder(&folder)?;
            self.inner.quotas.note(&folder, charges)?;
            let lock = lock_shared(&folder)?;
            let making = FolderEntry::at(&folder.join(MAKING))?.open_or_create()?;
            making.lock()?;
            Ok((lock, making))
        };
        let (lock, making) = begin().map_err(|error| {
            self.inner.disks.note_failed_write(disk, &error, seconds_since_1970());
            Error::from_io(&error)
        })?;
        let path = folder.join(format!("{UNFINISHED}fast.root"));
        let of = info.clone();
        let content = self.inner.names.find(&origin.key(None)).map(|name| name.content);
        Ok(ReplicaDraft {
            path,
            folder,
            disk,
            id,
            of,
            content,
            charges,
            _making: making,
            _lock: lock,
        })
    }

    /// The charges of a file: those of its bytes that are cached, if any are.
    fn file_charges(&self, origin: &FileOrigin) -> Charges {
        let name = self.inner.names.find(&origin.key(None));
        let kept = name.and_then(|name| {
            let contents = [name.content, recompressed_id(&name.content)];
            let folders: Vec<PathBuf> = contents.iter().flat_map(|id| self.folders(id)).collect();
            room::kept_charges(&self.inner.quotas, &folders)
        });
        decided(kept, self.asked_by(origin))
    }

    /// Keeps a replica whose file has been written. Blocks.
    ///
    /// # Errors
    /// `LimitReached` where it takes more room than there is; an error of the disk.
    pub fn keep_replica(&self, draft: ReplicaDraft) -> Result<Replica> {
        let kept = self.keep_draft(&draft);
        if let Err(error) = &kept {
            self.inner.disks.note_failed_write(draft.disk, error, seconds_since_1970());
        }
        let about = kept.map_err(|error| Error::from_io(&error))?;
        let path = draft.folder.join(REPLICA);
        if let Some(data) = draft.folder.parent().and_then(Path::parent) {
            // Its room was an estimate.
            if let Err(error) = self.make_room(data, 0, draft.charges) {
                let _ = fs::remove_file(&path);
                return Err(error);
            }
        }
        self.inner.checked_replicas.lock().insert((draft.id, about.made));
        let lock = lock_shared(&draft.folder).map_err(|error| Error::from_io(&error))?;
        Ok(Replica { path, size: about.size, _lock: lock })
    }

    fn keep_draft(&self, draft: &ReplicaDraft) -> io::Result<ReplicaFacts> {
        let ReplicaDraft { path, folder, of, .. } = draft;
        let size = fs::metadata(path)?.len();
        let adler32 = checksum(path, Algorithm::Adler32)?.to_string();
        let about = ReplicaFacts { of: of.clone(), size, adler32, made: seconds_since_1970() };
        File::open(path)?.sync_all()?;
        // Never the facts of one with the bytes of another.
        let _ = fs::remove_file(folder.join(ABOUT));
        fs::rename(path, folder.join(REPLICA))?;
        // From now on a pin of the file finds the replica itself.
        if draft.content.is_some_and(|content| self.is_pinned_content(&content)) {
            fs::write(folder.join(PIN), b"")?;
        }
        let mut facts = tempfile::Builder::new().prefix(UNFINISHED).tempfile_in(folder)?;
        facts.write_all(&serde_json::to_vec(&about)?)?;
        facts.persist(folder.join(ABOUT)).map_err(|error| error.error)?;
        Ok(about)
    }

    /// The disk with most free bytes.
    fn roomiest(&self) -> Result<(DiskNumber, PathBuf)> {
        self.inner.disks.check_all();
        let free = |data: &Path| place::free_bytes(data).map_or(0, |(free, _)| free);
        let disks = self.inner.disks.in_use().map(|(disk, data)| (free(data), disk, data));
        let (_, disk, data) = disks
            .max()
            .ok_or_else(|| Error::new(ErrorKind::Io, "no disk of the cache can be used"))?;
        Ok((disk, data.to_owned()))
    }

    /// Lets segments of quotas go until they have room for so many bytes.
    fn make_quota_room(&self, bytes: u64, charges: Charges) -> Result<()> {
        let quotas = &self.inner.quotas;
        let data: Vec<&Path> = self.inner.disks.in_use().map(|(_, data)| data).collect();
        for at in charges.positions() {
            let Some(quota) = quotas.all().get(at) else { continue };
            let limit = (at, quota.bytes_max.saturating_sub(bytes));
            let taken = room::shrink_quota(&data, quotas, limit, &self.inner.counting);
            quota.check_room(taken, bytes)?;
        }
        Ok(())
    }

    /// Lets segments go until there is room for so many bytes on a disk.
    fn make_room(&self, data: &Path, bytes: u64, charges: Charges) -> Result<()> {
        self.make_quota_room(bytes, charges)?;
        let config = &self.inner.config;
        room::shrink(&[data], config.bytes_max.saturating_sub(bytes), &self.inner.counting);
        let space = room::space_of(data, config);
        if space.has(bytes) { Ok(()) } else { Err(space.no_room(bytes)) }
    }

    /// `LimitReached` where reads of so many bytes of a file are not cached, for lack of room on
    /// the disks or in one of its quotas. Blocks.
    pub(crate) fn check_room(&self, origin: &FileOrigin, bytes: u64) -> Result<()> {
        let (_, data) = self.roomiest()?;
        let config = &self.inner.config;
        let space = room::space_of(&data, config);
        if !space.has(bytes.max(space::step(config))) {
            return Err(space.no_room(bytes));
        }
        let held: Vec<Held> = self.segments().into_iter().map(|found| found.held).collect();
        for at in self.file_charges(origin).positions() {
            let Some(quota) = self.inner.quotas.all().get(at) else { continue };
            quota.check_room(LimitScope::Quota(at).bytes(&held), bytes)?;
        }
        Ok(())
    }
}

/// The content of the replica of one version of a file.
fn replica_id(origin: &FileOrigin, info: &FileInfo) -> Option<ContentId> {
    let key = HEXLOWER.encode(&origin.key(None));
    (!info.says_only_size()).then(|| replica_content(&key, &origin.query(), info))
}
