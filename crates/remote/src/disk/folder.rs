//! Names in open folders.
//!
//! A path is followed once, when its folder is opened: name after name, and no link of another user
//! in a folder where all may write. From then on its names are looked up in the open folder: so
//! another user who renames a folder above it, or puts a link in its place, changes nothing.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, CWD, Mode, OFlags, RenameFlags};

/// Neither a link of this name is followed, nor the other end of a pipe waited for.
const CAREFUL: OFlags = OFlags::NOFOLLOW.union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);
/// Enough to look names up in a folder, and to see the target of a name.
const HANDLE: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);

/// A name in an open folder, with a file behind it or none.
#[derive(Debug, Clone)]
pub struct FolderEntry {
    folder: Arc<OwnedFd>,
    name: OsString,
    /// The path by which it was found, for messages.
    path: PathBuf,
}

/// Opens a folder by the names of its path. The folder that is looked at is the one that is taken:
/// another user cannot put a link in its place between the two.
fn open_folder(from: impl std::os::fd::AsFd, path: &Path) -> io::Result<OwnedFd> {
    let open = |folder: &dyn std::os::fd::AsFd, name: &OsStr| {
        rustix::fs::openat(folder.as_fd(), name, HANDLE | OFlags::DIRECTORY, Mode::empty())
    };
    let mut at: Option<OwnedFd> = None;
    for component in path.components() {
        let name = component.as_os_str();
        let below: &dyn std::os::fd::AsFd = at.as_ref().map_or(&from, |at| at);
        at = Some(match component {
            Component::Normal(_) => {
                let flags = HANDLE | OFlags::NOFOLLOW;
                let own = File::from(rustix::fs::openat(below, name, flags, Mode::empty())?);
                let facts = own.metadata()?;
                if facts.is_symlink() {
                    let above = rustix::fs::openat(below, ".", HANDLE, Mode::empty())?;
                    may_follow(&facts, &File::from(above).metadata()?, path)?;
                    open(below, name)?
                } else if facts.is_dir() {
                    own.into()
                } else {
                    return Err(ErrorKind::NotADirectory.into());
                }
            }
            _ => open(below, name)?,
        });
    }
    match at {
        Some(opened) => Ok(opened),
        None => Ok(open(&from, OsStr::new("."))?),
    }
}

/// Makes a folder, with those above it; one that is there stays. As for files, no link of another
/// user in a folder where all may write is followed on the way.
///
/// # Errors
/// `NotADirectory` where something else has a name of the path; those of the file system.
pub fn make_folders(path: &Path) -> io::Result<()> {
    let there = match open_folder(CWD, path) {
        Err(error) if error.kind() == ErrorKind::NotFound => error,
        opened => return opened.map(drop),
    };
    let Some(above) = path.parent() else { return Err(there) };
    make_folders(above)?;
    let Some(name) = path.file_name() else { return open_folder(CWD, path).map(drop) };
    let folder = open_folder(CWD, above)?;
    match rustix::fs::mkdirat(folder, name, Mode::from_raw_mode(0o777)) {
        // Another program was faster.
        Err(rustix::io::Errno::EXIST) => open_folder(CWD, path).map(drop),
        made => Ok(made?),
    }
}

/// The rule of Linux for the last name of a path (`fs.protected_symlinks`), for all of them and
/// wherever it is in force: in a folder where all may write and none may remove, links count that
/// this user or the folder's owner has made.
///
/// # Errors
/// `PermissionDenied` for another one.
pub fn may_follow(link: &Metadata, folder: &Metadata, path: &Path) -> io::Result<()> {
    let is_shared = folder.mode() & 0o1002 == 0o1002;
    let user = rustix::process::geteuid().as_raw();
    if !is_shared || link.uid() == user || link.uid() == folder.uid() {
        return Ok(());
    }
    let place = path.display();
    let text = format!("{place}: another user's symbolic link, in a folder where all may write");
    Err(io::Error::new(ErrorKind::PermissionDenied, text))
}

impl FolderEntry {
    /// The last name of a path, in the folder that the others lead to.
    ///
    /// # Errors
    /// `InvalidInput` for a path without a last name, or that ends with a slash, as only folders'
    /// do; those of opening the folder.
    pub fn at(path: &Path) -> io::Result<FolderEntry> {
        FolderEntry::from(CWD, path, path.to_owned())
    }

    /// As [`FolderEntry::at`], for a path from an open folder.
    fn from(
        folder: impl std::os::fd::AsFd,
        path: &Path,
        shown: PathBuf,
    ) -> io::Result<FolderEntry> {
        let name = path.file_name().ok_or(ErrorKind::InvalidInput)?.to_owned();
        if path.as_os_str().as_bytes().ends_with(b"/") {
            return Err(ErrorKind::InvalidInput.into());
        }
        let above = path.parent().filter(|above| !above.as_os_str().is_empty());
        let above = above.unwrap_or(Path::new("."));
        let opened = open_folder(folder, above)?;
        Ok(FolderEntry { folder: Arc::new(opened), name, path: shown })
    }

    /// Another name in the same folder.
    pub fn sibling(&self, name: impl Into<OsString>) -> FolderEntry {
        let name = name.into();
        let path = self.path.with_file_name(&name);
        FolderEntry { folder: self.folder.clone(), name, path }
    }

    /// A name in the same folder that another user cannot guess: a prefix, letters of chance, a
    /// suffix.
    pub fn unguessable(&self, prefix: &OsStr, suffix: &str) -> FolderEntry {
        // Keyed by the system's randomness.
        let chance = RandomState::new().build_hasher().finish();
        let mut name = prefix.to_owned();
        name.push(format!("{chance:0CHANCE_LEN$x}{suffix}"));
        self.sibling(name)
    }

    pub fn name(&self) -> &OsStr {
        &self.name
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Of the name itself: links are not followed.
    ///
    /// # Errors
    /// `NotFound` where nothing has this name.
    pub fn metadata(&self) -> io::Result<Metadata> {
        self.handle(OFlags::NOFOLLOW)?.metadata()
    }

    /// Of whatever the name leads to.
    ///
    /// # Errors
    /// `NotFound` where nothing has this name, or a link leads nowhere.
    pub fn target_metadata(&self) -> io::Result<Metadata> {
        self.handle(OFlags::empty())?.metadata()
    }

    /// Of the folder.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn folder_metadata(&self) -> io::Result<Metadata> {
        File::from(self.folder.try_clone()?).metadata()
    }

    /// Makes a file that this user alone can open.
    ///
    /// # Errors
    /// `AlreadyExists` where anything has this name.
    pub fn create_new(&self) -> io::Result<File> {
        self.create(OFlags::RDWR | OFlags::EXCL, 0o600)
    }

    /// Makes a file to write to, or opens the one that has this name, which is not emptied.
    ///
    /// # Errors
    /// `AlreadyExists` where a file has this name, unless `overwrite`.
    pub fn create_in_place(&self, overwrite: bool) -> io::Result<File> {
        let exclusive = if overwrite { OFlags::empty() } else { OFlags::EXCL };
        self.create(OFlags::WRONLY | exclusive, 0o666)
    }

    fn create(&self, flags: OFlags, mode: u32) -> io::Result<File> {
        self.open(flags | OFlags::CREATE | CAREFUL, Mode::from_raw_mode(mode))
    }

    /// Opens a file to write to, and to read from if that is allowed; no link, and no pipe that
    /// waits for a reader.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn open_to_write(&self) -> io::Result<File> {
        let open = |flags: OFlags| self.open(flags | CAREFUL, Mode::empty());
        open(OFlags::RDWR).or_else(|_| open(OFlags::WRONLY))
    }

    /// Opens a file to write behind its end, or makes one that this user alone can open.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn open_to_append(&self) -> io::Result<File> {
        self.create(OFlags::WRONLY | OFlags::APPEND, 0o600)
    }

    /// Opens whatever the name leads to, to write to.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn open_target(&self) -> io::Result<File> {
        // An open that waited for a pipe's reader would wait without end.
        self.open(OFlags::WRONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty())
    }

    /// Opens a regular file, which a link is not.
    ///
    /// # Errors
    /// `InvalidInput` for anything else of this name.
    pub fn open_regular(&self, may_write: bool) -> io::Result<File> {
        let access = if may_write { OFlags::RDWR } else { OFlags::RDONLY };
        let file = self.open(access | CAREFUL, Mode::empty())?;
        match file.metadata()?.is_file() {
            true => Ok(file),
            false => Err(ErrorKind::InvalidInput.into()),
        }
    }

    /// Opens a regular file that this user has made, under this name alone, to go on with it.
    ///
    /// # Errors
    /// `AlreadyExists` where something else has this name.
    pub fn open_own(&self) -> io::Result<File> {
        let is_own = |there: &Metadata| {
            let user = rustix::process::geteuid().as_raw();
            there.is_file() && there.uid() == user && there.nlink() == 1
        };
        if !is_own(&self.metadata()?) {
            return Err(ErrorKind::AlreadyExists.into());
        }
        let file = self.open(OFlags::RDWR | CAREFUL, Mode::empty())?;
        match is_own(&file.metadata()?) {
            true => Ok(file),
            false => Err(ErrorKind::AlreadyExists.into()),
        }
    }

    /// Opens this user's own file, or makes it.
    ///
    /// # Errors
    /// `AlreadyExists` where something else has this name.
    pub fn open_or_create(&self) -> io::Result<File> {
        match self.open_own() {
            Err(error) if error.kind() == ErrorKind::NotFound => match self.create_new() {
                // Another process was faster.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => self.open_own(),
                created => created,
            },
            opened => opened,
        }
    }

    /// Whether an open file still has this name.
    pub fn names(&self, file: &File) -> bool {
        let identity = |there: Metadata| (there.dev(), there.ino());
        let there = self.metadata().map(identity);
        file.metadata().map(identity).is_ok_and(|ours| there.is_ok_and(|there| there == ours))
    }

    /// Gives the file another name in the same folder, in place of the file that has it.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn rename(&self, to: &FolderEntry) -> io::Result<()> {
        Ok(rustix::fs::renameat(&self.folder, &self.name, &to.folder, &to.name)?)
    }

    /// As [`FolderEntry::rename`], where no file has that name.
    ///
    /// # Errors
    /// `AlreadyExists` where one has; those of a file system that has no such call.
    pub fn rename_new(&self, to: &FolderEntry) -> io::Result<()> {
        let from = &self.folder;
        let name = &self.name;
        let flags = RenameFlags::NOREPLACE;
        let renamed = rustix::fs::renameat_with(from, name, &to.folder, &to.name, flags);
        match renamed.map_err(io::Error::from) {
            Err(error) if super::is_unsupported(&error) => {
                rustix::fs::linkat(from, name, &to.folder, &to.name, AtFlags::empty())?;
                self.remove()
            }
            renamed => renamed,
        }
    }

    /// # Errors
    /// Those of the file system.
    pub fn remove(&self) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.folder, &self.name, AtFlags::empty())?)
    }

    /// All names in the folder.
    ///
    /// # Errors
    /// Where the folder cannot be listed, which may be written to all the same.
    pub fn siblings(&self) -> io::Result<Vec<FolderEntry>> {
        let mut entries = Vec::new();
        for entry in rustix::fs::Dir::new(self.open_folder()?)? {
            let name = OsStr::from_bytes(entry?.file_name().to_bytes()).to_owned();
            entries.push(self.sibling(name));
        }
        Ok(entries)
    }

    /// Puts the folder's names on the disk, as far as the file system syncs folders.
    pub fn sync_folder(&self) {
        let _ = self.open_folder().and_then(|folder| File::from(folder).sync_all());
    }

    /// The name that a symbolic link leads to, one step on.
    ///
    /// # Errors
    /// Where it is no link, or its folder cannot be opened.
    pub fn link_target(&self) -> io::Result<FolderEntry> {
        let target = rustix::fs::readlinkat(&self.folder, &self.name, Vec::new())?;
        let target = PathBuf::from(OsString::from_vec(target.into_bytes()));
        let above = self.path.parent().unwrap_or(Path::new(""));
        FolderEntry::from(&self.folder, &target, above.join(&target))
    }

    fn handle(&self, flags: OFlags) -> io::Result<File> {
        self.open(HANDLE | flags, Mode::empty())
    }

    fn open(&self, flags: OFlags, mode: Mode) -> io::Result<File> {
        Ok(rustix::fs::openat(&self.folder, &self.name, flags, mode)?.into())
    }

    fn open_folder(&self) -> io::Result<OwnedFd> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(rustix::fs::openat(&self.folder, ".", flags, Mode::empty())?)
    }
}

/// Letters of chance in a name, hexadecimal.
pub const CHANCE_LEN: usize = 16;

/// A name that goes with its file when it is dropped.
#[derive(Debug)]
pub struct Temporary {
    entry: FolderEntry,
    is_kept: bool,
}

impl Temporary {
    pub fn new(entry: FolderEntry) -> Temporary {
        Temporary { entry, is_kept: false }
    }

    pub fn entry(&self) -> &FolderEntry {
        &self.entry
    }

    /// Leaves the file where it is.
    pub fn keep(mut self) {
        self.is_kept = true;
    }

    /// Gives the file another name, and leaves it there.
    ///
    /// # Errors
    /// As [`FolderEntry::rename`]; the file is then removed.
    pub fn rename(self, to: &FolderEntry) -> io::Result<()> {
        self.entry.rename(to)?;
        self.keep();
        Ok(())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.is_kept {
            let _ = self.entry.remove();
        }
    }
}
