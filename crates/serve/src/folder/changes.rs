//! Changes of a folder of this machine: new content, other names, new folders. Blocks.
//!
//! A new file is written under a name that no client can use, and gets its own when it is whole: a
//! client that reads the file before goes on reading that one. The file of one name is changed by
//! one client at a time.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use mutex::Mutex;

use super::paths::{Folder, Stat};

/// Pages that came damaged and have not been sent again, of one file.
const DAMAGED_MAX: usize = 1024;

/// How a file is opened for writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteMode {
    /// The existing file is changed in its place.
    Update,
    /// A new file, with the folders above it.
    Create { may_replace: bool },
}

/// Names that are being changed.
#[derive(Debug, Default)]
pub struct Claims(Mutex<BTreeSet<PathBuf>>);

/// The right to change the file or folder of one name, and all below; given back when dropped.
#[derive(Debug)]
struct Claim {
    claims: Arc<Claims>,
    path: PathBuf,
}

impl Claims {
    /// # Errors
    /// `ResourceBusy` while another client changes it, or something in it.
    fn claim(self: &Arc<Self>, path: &Path) -> io::Result<Claim> {
        let mut claimed = self.0.lock();
        if claimed.iter().any(|other| other.starts_with(path) || path.starts_with(other)) {
            return Err(io::ErrorKind::ResourceBusy.into());
        }
        claimed.insert(path.to_owned());
        Ok(Claim { claims: self.clone(), path: path.to_owned() })
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.claims.0.lock().remove(&self.path);
    }
}

/// The state of a file that is open for writing. A new one that is dropped without
/// [`finish`](Self::finish) leaves nothing behind.
#[derive(Debug)]
pub struct Writing {
    claim: Claim,
    may_replace: bool,
    state: Mutex<WritingState>,
}

#[derive(Debug, Default)]
struct WritingState {
    /// Where a new file is until it is whole.
    part: Option<PathBuf>,
    /// Where pages begin that came damaged.
    damaged: BTreeSet<u64>,
    /// Why the file lacks bytes that its client has sent, whatever it sends further.
    failed: Option<io::ErrorKind>,
}

impl WritingState {
    /// Whether all that the client has sent is there.
    fn is_whole(&self) -> io::Result<()> {
        match self.failed {
            Some(kind) => Err(kind.into()),
            None if !self.damaged.is_empty() => Err(io::ErrorKind::InvalidData.into()),
            None => Ok(()),
        }
    }
}

impl Writing {
    /// Notes which pages came damaged, and that those before it at the same place are replaced.
    ///
    /// # Errors
    /// `FileTooLarge` where they are too many to keep in mind.
    pub fn note_damage(&self, written: std::ops::Range<u64>, starts: &[u64]) -> io::Result<()> {
        let mut state = self.state.lock();
        state.damaged.retain(|start| !written.contains(start));
        state.damaged.extend(starts);
        match state.damaged.len() > DAMAGED_MAX {
            true => Err(io::ErrorKind::FileTooLarge.into()),
            false => Ok(()),
        }
    }

    /// Does a part of the writing; where it fails the file will not be finished. A full quota of
    /// the disk counts as a full disk.
    ///
    /// # Errors
    /// Those of the work.
    pub fn attempt<T>(&self, work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        work().map_err(|error| {
            let error = match error.kind() {
                io::ErrorKind::QuotaExceeded => io::ErrorKind::StorageFull.into(),
                _ => error,
            };
            self.note_failure(error.kind());
            error
        })
    }

    /// The file lacks bytes that its client has sent.
    pub fn note_failure(&self, kind: io::ErrorKind) {
        self.state.lock().failed.get_or_insert(kind);
    }

    /// Drops a new file that is to have this name, which then gets none; whether it was to have it.
    fn give_up(&self, place: &Path) -> io::Result<bool> {
        let mut state = self.state.lock();
        match state.part.take_if(|_| self.claim.path == place) {
            Some(part) => fs::remove_file(part).map(|()| true),
            None => Ok(false),
        }
    }

    /// Gives a new file its name; nothing of it stays where that fails.
    ///
    /// # Errors
    /// That of the first write that has failed; `InvalidData` where damaged pages have not been
    /// sent again; `AlreadyExists`.
    pub fn finish(&self, file: &File) -> io::Result<()> {
        let mut state = self.state.lock();
        let whole = state.is_whole();
        let Some(part) = state.part.take() else { return whole };
        let target = &self.claim.path;
        let named = match whole {
            Ok(()) if !self.may_replace && fs::symlink_metadata(target).is_ok() => {
                Err(io::ErrorKind::AlreadyExists.into())
            }
            Ok(()) => file.sync_all().and_then(|()| fs::rename(&part, target)),
            Err(error) => Err(error),
        };
        if named.is_err() {
            // A part that cannot be removed either is hidden.
            let _ = fs::remove_file(&part);
        }
        named
    }
}

impl Drop for Writing {
    fn drop(&mut self) {
        if let Some(part) = self.state.get_mut().part.take() {
            let _ = fs::remove_file(part);
        }
    }
}

impl Folder {
    /// Opens a file for writing.
    ///
    /// # Errors
    /// As for reading; `AlreadyExists`; `ResourceBusy` while another client changes it;
    /// `PermissionDenied` for hidden names.
    pub fn open_to_write(
        &self,
        path: &Path,
        mode: WriteMode,
        claims: &Arc<Claims>,
    ) -> io::Result<(File, Stat, Writing)> {
        let WriteMode::Create { may_replace } = mode else {
            let real = self.resolve(path)?;
            expect_file(&real)?;
            let claim = claims.claim(&real)?;
            let file = OpenOptions::new().read(true).write(true).open(&real)?;
            let stat = Stat::of(&file.metadata()?);
            let state = Mutex::default();
            return Ok((file, stat, Writing { claim, may_replace: true, state }));
        };
        if let Some(folders) = path.parent() {
            self.make_folders(folders)?;
        }
        let place = self.place(path)?;
        if fs::symlink_metadata(&place).is_ok() {
            if place.exists() {
                expect_file(&place)?;
            }
            if !may_replace {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
        }
        let claim = claims.claim(&place)?;
        let (file, part) = new_part(&place)?;
        let stat = Stat::of(&file.metadata()?);
        let state = Mutex::new(WritingState { part: Some(part), ..WritingState::default() });
        Ok((file, stat, Writing { claim, may_replace, state }))
    }

    /// Gives a file or folder another name; a file that has it already is replaced.
    ///
    /// # Errors
    /// As for [`open_to_write`](Self::open_to_write); `AlreadyExists` unless it may be replaced;
    /// `InvalidInput` for a name that is its own, or is below it.
    pub fn rename(
        &self,
        from: &Path,
        to: &Path,
        may_replace: bool,
        claims: &Arc<Claims>,
    ) -> io::Result<()> {
        let real = self.resolve(from)?;
        let from = self.name_in_folder(from)?;
        let to = self.place(to)?;
        // A link that replaced the file that it leads to would lead to itself.
        if to.starts_with(&from) || to == real {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let _from = claims.claim(&from)?;
        // A folder above it, which is refused below, has not been claimed by another client either.
        let _to = (!from.starts_with(&to)).then(|| claims.claim(&to)).transpose()?;
        match fs::symlink_metadata(&to) {
            Ok(_) if !may_replace => Err(io::ErrorKind::AlreadyExists.into()),
            Ok(found) if found.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
            _ => fs::rename(from, to),
        }
    }

    /// Removes a file; of a link, the link. One of `own`, which the caller writes, leaves nothing.
    ///
    /// # Errors
    /// As for [`open_to_write`](Self::open_to_write).
    pub fn remove<'a>(
        &self,
        path: &Path,
        mut own: impl Iterator<Item = &'a Writing>,
        claims: &Arc<Claims>,
    ) -> io::Result<()> {
        let place = self.place(path)?;
        if own
            .try_fold(false, |done, writing| Ok::<_, io::Error>(done | writing.give_up(&place)?))?
        {
            return Ok(());
        }
        expect_file(&self.resolve(path)?)?;
        let name = self.name_in_folder(path)?;
        let _claim = claims.claim(&name)?;
        fs::remove_file(name)
    }

    /// Removes an empty folder.
    ///
    /// # Errors
    /// As for [`open_to_write`](Self::open_to_write); `DirectoryNotEmpty`; `NotADirectory`.
    pub fn remove_folder(&self, path: &Path, claims: &Arc<Claims>) -> io::Result<()> {
        self.resolve(path)?;
        let name = self.name_in_folder(path)?;
        let _claim = claims.claim(&name)?;
        fs::remove_dir(name)
    }

    /// Makes a folder.
    ///
    /// # Errors
    /// `AlreadyExists`; `NotFound` where the one above is not there; `PermissionDenied`.
    pub fn make_folder(&self, path: &Path) -> io::Result<()> {
        match self.resolve(path) {
            Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                fs::create_dir(self.name_in_folder(path)?)
            }
            Err(error) => Err(error),
        }
    }

    /// Makes a folder and those above it where they are not there.
    ///
    /// # Errors
    /// `PermissionDenied`; those of the file system.
    pub fn make_folders(&self, path: &Path) -> io::Result<()> {
        let mut so_far = PathBuf::new();
        for part in path.components() {
            so_far.push(part);
            match self.make_folder(&so_far) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                made => made?,
            }
        }
        Ok(())
    }

    /// The real path of a client's `path`, also of one that is not there yet.
    fn place(&self, path: &Path) -> io::Result<PathBuf> {
        match self.resolve(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => self.name_in_folder(path),
            found => found,
        }
    }

    /// A name in the real path of its folder; of a link, the link's.
    fn name_in_folder(&self, path: &Path) -> io::Result<PathBuf> {
        let name = path.file_name().ok_or(io::ErrorKind::PermissionDenied)?;
        let place = self.resolve(path.parent().unwrap_or(Path::new("")))?.join(name);
        match self.may_be_seen(&place) && !name.as_bytes().contains(&0) {
            true => Ok(place),
            false => Err(io::ErrorKind::PermissionDenied.into()),
        }
    }
}

/// # Errors
/// `IsADirectory`; `Unsupported` for devices, pipes and sockets.
fn expect_file(real: &Path) -> io::Result<()> {
    match fs::metadata(real)? {
        found if found.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        found if found.is_file() => Ok(()),
        _ => Err(io::ErrorKind::Unsupported.into()),
    }
}

/// A new file in the folder of `place`, under a name that clients cannot use.
fn new_part(place: &Path) -> io::Result<(File, PathBuf)> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    loop {
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let part = place.with_file_name(format!(".farroot-{}-{count}.half", std::process::id()));
        match OpenOptions::new().read(true).write(true).create_new(true).open(&part) {
            // Left by a process of the same number.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            opened => return Ok((opened?, part)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    const NEW: WriteMode = WriteMode::Create { may_replace: false };
    const OVER: WriteMode = WriteMode::Create { may_replace: true };

    fn folder() -> (tempfile::TempDir, Folder, Arc<Claims>) {
        let top = tempfile::tempdir().unwrap();
        let inside = top.path().join("inside");
        fs::create_dir_all(inside.join("sub")).unwrap();
        fs::write(inside.join("a"), "before").unwrap();
        fs::write(top.path().join("secret"), "secret").unwrap();
        symlink(top.path().join("secret"), inside.join("leak")).unwrap();
        symlink(top.path(), inside.join("up")).unwrap();
        symlink(top.path().join("none"), inside.join("dangling")).unwrap();
        let folder = Folder::new(&inside, false, true).unwrap();
        (top, folder, Arc::default())
    }

    fn refusal<T>(found: io::Result<T>) -> io::ErrorKind {
        found.err().expect("a refusal").kind()
    }

    #[test]
    fn nothing_outside_is_changed() {
        let (top, folder, claims) = folder();
        let outside = ["../new", "sub/../../new", "up/new", "leak", "up/deep/new", "..", "/"];
        for path in outside.map(Path::new) {
            for mode in [NEW, OVER] {
                let open = folder.open_to_write(path, mode, &claims);
                let kind = refusal(open);
                let denied = io::ErrorKind::PermissionDenied;
                let known = [denied, io::ErrorKind::NotFound, io::ErrorKind::IsADirectory];
                assert!(known.contains(&kind), "{path:?}: {kind}");
            }
            assert!(folder.rename(Path::new("a"), path, true, &claims).is_err(), "{path:?}");
            assert!(folder.rename(path, Path::new("b"), true, &claims).is_err(), "{path:?}");
            assert!(folder.remove(path, [].iter(), &claims).is_err(), "{path:?}");
            assert!(folder.make_folder(path).is_err(), "{path:?}");
        }
        // A link that leads nowhere is replaced, not followed.
        let (file, _, writing) =
            folder.open_to_write(Path::new("dangling"), OVER, &claims).unwrap();
        writing.finish(&file).unwrap();
        let mut names: Vec<_> =
            fs::read_dir(top.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["inside", "secret"]);
        assert_eq!(fs::read(top.path().join("secret")).unwrap(), b"secret");
        assert_eq!(fs::read(top.path().join("inside/a")).unwrap(), b"before");
    }

    #[test]
    fn hidden_names_are_not_written_but_parts_of_uploads() {
        let (_top, folder, claims) = folder();
        for path in [".ssh", ".git/config", "sub/.farroot-1-1.half"] {
            let open = folder.open_to_write(Path::new(path), NEW, &claims);
            assert!(matches!(
                refusal(open),
                io::ErrorKind::PermissionDenied | io::ErrorKind::NotFound
            ));
            assert!(folder.make_folders(Path::new(path)).is_err(), "{path}");
        }
        let part = Path::new("sub/.f.root.0123.part");
        let (file, _, writing) = folder.open_to_write(part, NEW, &claims).unwrap();
        assert_eq!(refusal(folder.stat(part, &|_| Ok(()))), io::ErrorKind::NotFound, "not whole");
        writing.finish(&file).unwrap();
        drop(writing);
        assert!(folder.stat(part, &|_| Ok(())).is_ok());
        folder.rename(part, Path::new("sub/f.root"), false, &claims).unwrap();
        assert!(folder.stat(Path::new("sub/f.root"), &|_| Ok(())).is_ok());
    }

    #[test]
    fn one_writer_has_a_name_and_what_it_does_not_finish_is_gone() {
        let (top, folder, claims) = folder();
        let a = Path::new("a");
        let (_file, _, writing) = folder.open_to_write(a, OVER, &claims).unwrap();
        for mode in [OVER, WriteMode::Update] {
            assert_eq!(
                refusal(folder.open_to_write(a, mode, &claims)),
                io::ErrorKind::ResourceBusy
            );
        }
        assert_eq!(refusal(folder.remove(a, [].iter(), &claims)), io::ErrorKind::ResourceBusy);
        let moved = folder.rename(a, Path::new("b"), true, &claims);
        assert_eq!(refusal(moved), io::ErrorKind::ResourceBusy);
        assert_eq!(fs::read(top.path().join("inside/a")).unwrap(), b"before");
        drop(writing);
        assert_eq!(refusal(folder.open_to_write(a, NEW, &claims)), io::ErrorKind::AlreadyExists);
        let (file, _, writing) = folder.open_to_write(a, WriteMode::Update, &claims).unwrap();
        writing.note_damage(0..8192, &[0, 4096]).unwrap();
        writing.note_damage(0..4096, &[]).unwrap();
        assert_eq!(refusal(writing.finish(&file)), io::ErrorKind::InvalidData);
        drop(writing);
        let left = fs::read_dir(top.path().join("inside")).unwrap();
        let hidden = |name: &std::ffi::OsString| name.as_bytes().starts_with(b".");
        assert!(!left.map(|entry| entry.unwrap().file_name()).any(|name| hidden(&name)));
        folder.remove(a, [].iter(), &claims).unwrap();
        let (file, _, writing) = folder.open_to_write(a, NEW, &claims).unwrap();
        folder.remove(a, [&writing].into_iter(), &claims).unwrap();
        writing.finish(&file).unwrap();
        assert_eq!(refusal(folder.stat(a, &|_| Ok(()))), io::ErrorKind::NotFound);
    }

    /// A disk that was full left a shorter file under the name, also in place of a whole one.
    #[test]
    fn a_file_of_which_a_write_has_failed_gets_no_name() {
        let (top, folder, claims) = folder();
        let inside = top.path().join("inside");
        let full = || Err::<(), _>(io::Error::from(io::ErrorKind::StorageFull));
        for (path, mode) in [("a", OVER), ("new", NEW), ("a", WriteMode::Update)] {
            let (file, _, writing) = folder.open_to_write(Path::new(path), mode, &claims).unwrap();
            assert_eq!(refusal(writing.attempt(full)), io::ErrorKind::StorageFull);
            writing.attempt(|| Ok(())).unwrap();
            assert_eq!(refusal(writing.finish(&file)), io::ErrorKind::StorageFull, "{path}");
            drop(writing);
            let mut names: Vec<_> =
                fs::read_dir(&inside).unwrap().map(|entry| entry.unwrap().file_name()).collect();
            names.sort();
            assert_eq!(names, ["a", "dangling", "leak", "sub", "up"]);
            assert_eq!(fs::read(inside.join("a")).unwrap(), b"before");
        }
    }

    /// It was said that another client wrote it, and a link took the place of its own file.
    #[test]
    fn nothing_moves_onto_or_into_itself() {
        let (top, folder, claims) = folder();
        let inside = top.path().join("inside");
        symlink("a", inside.join("alias")).unwrap();
        fs::write(inside.join("sub/b"), "b").unwrap();
        for (from, to, wanted) in [
            ("a", "a", io::ErrorKind::InvalidInput),
            ("sub", "sub", io::ErrorKind::InvalidInput),
            ("sub", "sub/deeper", io::ErrorKind::InvalidInput),
            ("alias", "a", io::ErrorKind::InvalidInput),
            ("a", "alias", io::ErrorKind::InvalidInput),
            ("sub/b", "sub", io::ErrorKind::IsADirectory),
        ] {
            let moved = folder.rename(Path::new(from), Path::new(to), true, &claims);
            assert_eq!(refusal(moved), wanted, "{from} {to}");
        }
        assert_eq!(fs::read(inside.join("alias")).unwrap(), b"before");
        assert_eq!(fs::read(inside.join("sub/b")).unwrap(), b"b");
    }
}
