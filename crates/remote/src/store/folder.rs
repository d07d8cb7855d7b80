//! A folder in which there is nothing but farroot's own files.
//!
//! The user names a folder that may hold anything, and farroot makes one of its own in it for each
//! kind of thing that it keeps. Nothing else is read, replaced or removed: the folder must carry
//! the marker that farroot put there and belong to this user, and only those regular files in it
//! count whose names and first bytes are those that farroot gives. Links are not followed. Where
//! any of it does not hold, nothing is kept.

use std::ffi::OsStr;
use std::fs::{self, File, Metadata, Permissions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use twox_hash::XxHash64;

/// The name and the first line are the convention for caches, by which programs that make backups
/// know them.
const MARKER: &str = "CACHEDIR.TAG";
const MARKER_TEXT: &str = "Signature: 8a477f597d28d172789f06886806bc55
# What farroot remembers of remote files from one process to the next. It may be removed at any time.
";
/// First bytes of every file; another number for another layout.
const MAGIC: &[u8] = b"farroot store 2\n";
/// Begins the name of a file that is being written.
const UNFINISHED: &str = "unfinished-";
/// A file that is unfinished for so long is of a process that was killed.
const UNFINISHED_FOR: Duration = Duration::from_secs(3600);

/// One of farroot's own folders. Cheap to clone; any number of processes may share one.
#[derive(Debug, Clone)]
pub struct Folder {
    path: Arc<Path>,
}

/// A file of the folder. Ordered by age, the oldest first.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Kept {
    modified: SystemTime,
    /// Bytes.
    pub size: u64,
    path: PathBuf,
}

impl Folder {
    /// The folder for things of one kind in `parent`. Neither needs to exist yet.
    pub fn new(parent: &Path, kind: &str) -> Self {
        Folder { path: parent.join(format!("farroot-{kind}")).into() }
    }

    /// The path of the folder, which may not exist yet.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The content kept under a number, if that is whole and of `bytes_max` at the most.
    pub fn load(&self, number: u64, bytes_max: u64) -> Option<Bytes> {
        if !self.is_own() {
            return None;
        }
        let (mut file, size) = open(&self.file(number)).ok()?;
        if size > bytes_max {
            return None;
        }
        let mut bytes = Vec::with_capacity(usize::try_from(size).ok()?);
        (&mut file).take(bytes_max).read_to_end(&mut bytes).ok()?;
        unframed(&Bytes::from(bytes))
    }

    /// Keeps something under a number, in place of its earlier content. Other processes see the old
    /// or the new, whole.
    ///
    /// # Errors
    /// An error of writing it; `AlreadyExists` where something is in the way that is not farroot's.
    pub fn save(&self, number: u64, content: &[u8]) -> io::Result<()> {
        self.claim()?;
        let path = self.file(number);
        if fs::symlink_metadata(&path).is_ok() && !is_own_file(&path) {
            return Err(ErrorKind::AlreadyExists.into());
        }
        let mut unfinished = tempfile::Builder::new().prefix(UNFINISHED).tempfile_in(&self.path)?;
        unfinished.write_all(&framed(content))?;
        unfinished.persist(path).map(drop).map_err(|error| error.error)
    }

    /// The numbers under which anything is kept, in no order.
    pub fn numbers(&self) -> Vec<u64> {
        let name = |kept: Kept| kept.path.file_name()?.to_str().map(str::to_owned);
        let names = self.kept().into_iter().filter_map(name);
        names.filter_map(|name| u64::from_str_radix(&name, 16).ok()).collect()
    }

    /// Makes the folder where it is not there, for users with a layout of their own.
    ///
    /// # Errors
    /// An error of making it; `AlreadyExists` where the existing one is not farroot's.
    pub fn claimed(&self) -> io::Result<&Path> {
        self.claim().map(|()| &*self.path)
    }

    /// Removes the content kept under a number.
    pub fn forget(&self, number: u64) {
        self.remove(&self.file(number));
    }

    /// Removes the oldest files for as long as `is_too_much` is true of those that are left: their
    /// number and their bytes.
    pub fn trim(&self, mut is_too_much: impl FnMut(usize, u64) -> bool) {
        let mut kept = self.kept();
        kept.sort();
        let mut count = kept.len();
        let mut bytes = kept.iter().map(|kept| kept.size).sum::<u64>();
        for oldest in kept {
            if !is_too_much(count, bytes) {
                break;
            }
            self.remove(&oldest.path);
            count -= 1;
            bytes -= oldest.size;
        }
    }

    /// The files that are farroot's by their names. Files that killed processes have left
    /// unfinished are removed on the way.
    fn kept(&self) -> Vec<Kept> {
        if !self.is_own() {
            return Vec::new();
        }
        let Ok(entries) = fs::read_dir(&self.path) else { return Vec::new() };
        let mut kept = Vec::new();
        for entry in entries.flatten() {
            // Of the entry itself: links are not followed.
            let Ok(metadata) = entry.metadata() else { continue };
            let Ok(modified) = metadata.modified() else { continue };
            let name = entry.file_name();
            let path = entry.path();
            if metadata.is_file() && is_number(&name) {
                kept.push(Kept { modified, size: metadata.len(), path });
            } else if name.to_string_lossy().starts_with(UNFINISHED)
                && modified.elapsed().is_ok_and(|age| age > UNFINISHED_FOR)
            {
                self.remove(&path);
            }
        }
        kept
    }

    fn remove(&self, path: &Path) {
        if self.is_own() && is_own_file(path) {
            let _ = fs::remove_file(path);
        }
    }

    fn file(&self, number: u64) -> PathBuf {
        self.path.join(format!("{number:016x}"))
    }

    /// Whether the folder is there, and is farroot's.
    fn is_own(&self) -> bool {
        let is_mine = |metadata: Metadata| {
            metadata.is_dir() && metadata.uid() == rustix::process::geteuid().as_raw()
        };
        let marker = || {
            let (file, _) = open(&self.path.join(MARKER)).ok()?;
            let mut text = Vec::new();
            file.take(MARKER_TEXT.len() as u64 + 1).read_to_end(&mut text).ok()?;
            (text == MARKER_TEXT.as_bytes()).then_some(())
        };
        fs::symlink_metadata(&self.path).is_ok_and(is_mine) && marker().is_some()
    }

    /// Makes the folder where nothing of its name is there.
    fn claim(&self) -> io::Result<()> {
        if self.is_own() {
            return Ok(());
        }
        let parent = self.path.parent().ok_or(ErrorKind::InvalidInput)?;
        fs::create_dir_all(parent)?;
        // Other processes may make the folder at the same time: it gets its name with its marker in
        // it. The rename replaces an empty folder and fails for any other.
        let private = Permissions::from_mode(0o700);
        let mut unfinished = tempfile::Builder::new();
        let made = unfinished.prefix(UNFINISHED).permissions(private).tempdir_in(parent)?;
        fs::write(made.path().join(MARKER), MARKER_TEXT)?;
        match fs::rename(made.path(), &self.path) {
            Ok(()) => drop(made.keep()),
            // Another process has made it meanwhile.
            Err(_) if self.is_own() => {}
            Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty => {
                return Err(ErrorKind::AlreadyExists.into());
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

/// Opens a regular file for reading, with its size; the target of a link is none.
fn open(path: &Path) -> io::Result<(File, u64)> {
    // An open of a pipe without the second flag waits for its other end.
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let file = File::options().read(true).custom_flags(flags).open(path)?;
    let metadata = file.metadata()?;
    match metadata.is_file() {
        true => Ok((file, metadata.len())),
        false => Err(ErrorKind::InvalidInput.into()),
    }
}

fn is_number(name: &OsStr) -> bool {
    name.to_str().is_some_and(|name| {
        name.len() == 16 && name.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'a'..=b'f'))
    })
}

/// Whether farroot has written a file, by its first bytes.
fn is_own_file(path: &Path) -> bool {
    let mut first = [0; MAGIC.len()];
    open(path).is_ok_and(|(mut file, _)| file.read_exact(&mut first).is_ok() && first == MAGIC)
}

fn framed(content: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(MAGIC.len() + content.len() + 8);
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(content);
    let sum = XxHash64::oneshot(0, &bytes);
    bytes.extend_from_slice(&sum.to_be_bytes());
    bytes
}

fn unframed(bytes: &Bytes) -> Option<Bytes> {
    let (before, sum) = bytes.split_last_chunk::<8>()?;
    if XxHash64::oneshot(0, before) != u64::from_be_bytes(*sum) {
        return None;
    }
    Some(bytes.slice_ref(before.strip_prefix(MAGIC)?))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    /// A store whose folder was `~/Documents` removed the documents, oldest first, when the store
    /// was full.
    #[test]
    fn what_others_have_put_there_stays() {
        let parent = tempfile::tempdir().unwrap();
        let thesis = parent.path().join("thesis.tex");
        fs::write(&thesis, "three years").unwrap();
        let folder = Folder::new(parent.path(), "metadata");
        (0..4).for_each(|number| folder.save(number, b"content").unwrap());
        // In farroot's own folder, too: another name, or its names with other content, or links of
        // them.
        let inside = parent.path().join("farroot-metadata");
        fs::write(inside.join("notes.txt"), "not farroot's").unwrap();
        fs::write(inside.join("00000000000000aa"), "not farroot's").unwrap();
        fs::create_dir(inside.join("00000000000000bb")).unwrap();
        symlink(&thesis, inside.join("00000000000000cc")).unwrap();
        let foreign = names(&inside);
        folder.trim(|_, _| true);
        let kept: Vec<_> =
            foreign.into_iter().filter(|n| !n.starts_with("000000000000000")).collect();
        assert_eq!(names(&inside), kept);
        assert_eq!(kept.len(), 5, "{kept:?}");
        for number in [0xaa, 0xbb, 0xcc] {
            assert!(folder.save(number, b"new").is_err());
            assert_eq!(folder.load(number, 100), None);
            folder.forget(number);
        }
        assert_eq!(names(&inside), kept);
        assert_eq!(fs::read_to_string(&thesis).unwrap(), "three years");
    }

    #[test]
    fn a_folder_without_the_marker_is_not_used() {
        let parent = tempfile::tempdir().unwrap();
        let folder = Folder::new(parent.path(), "servers");
        let path = parent.path().join("farroot-servers");
        fs::create_dir(&path).unwrap();
        fs::write(path.join("0000000000000001"), framed(b"made up")).unwrap();
        assert!(folder.save(2, b"x").is_err());
        assert_eq!(folder.load(1, 100), None);
        folder.trim(|_, _| true);
        assert_eq!(names(&path), ["0000000000000001"]);
        // Nor is one that is a link, wherever it leads.
        let linked = Folder::new(parent.path(), "profiles");
        let elsewhere = parent.path().join("elsewhere");
        fs::create_dir(&elsewhere).unwrap();
        symlink(&elsewhere, parent.path().join("farroot-profiles")).unwrap();
        assert!(linked.save(1, b"x").is_err());
        assert_eq!(names(&elsewhere), [""; 0]);
    }

    /// Regression: of processes that began at the same time some found the folder without its
    /// marker, and did not use it.
    #[test]
    fn processes_that_begin_together_all_have_the_folder() {
        for _ in 0..20 {
            let parent = tempfile::tempdir().unwrap();
            let claim = || Folder::new(parent.path(), "servers").claimed().map(drop);
            std::thread::scope(|scope| {
                let each: Vec<_> = (0..16).map(|_| scope.spawn(claim)).collect();
                each.into_iter().for_each(|one| one.join().unwrap().unwrap());
            });
            assert_eq!(names(parent.path()), ["farroot-servers"]);
        }
    }

    #[test]
    fn what_is_damaged_or_too_long_is_not_there() {
        let parent = tempfile::tempdir().unwrap();
        let folder = Folder::new(parent.path(), "metadata");
        assert_eq!(folder.load(1, 100), None);
        folder.save(1, b"content").unwrap();
        assert_eq!(folder.load(1, 100).as_deref(), Some(&b"content"[..]));
        assert_eq!(folder.load(1, 20), None);
        let whole = framed(b"content");
        for at in 0..whole.len() {
            assert_eq!(unframed(&Bytes::from(whole[..at].to_vec())), None, "cut at {at}");
            let mut changed = whole.clone();
            changed[at] ^= 0x20;
            assert_eq!(unframed(&Bytes::from(changed)), None, "changed at {at}");
        }
        folder.save(1, b"newer").unwrap();
        assert_eq!(folder.load(1, 100).as_deref(), Some(&b"newer"[..]));
        folder.forget(1);
        assert_eq!(folder.load(1, 100), None);
    }

    /// A process that was killed leaves a file without its final name.
    #[test]
    fn what_was_left_unfinished_is_removed_when_it_is_old() {
        let parent = tempfile::tempdir().unwrap();
        let folder = Folder::new(parent.path(), "metadata");
        folder.save(1, b"content").unwrap();
        let inside = parent.path().join("farroot-metadata");
        for name in ["unfinished-old", "unfinished-new"] {
            fs::write(inside.join(name), MAGIC).unwrap();
        }
        fs::write(inside.join("unfinished-thesis"), "not farroot's").unwrap();
        let long_ago = SystemTime::now() - 2 * UNFINISHED_FOR;
        for name in ["unfinished-old", "unfinished-thesis"] {
            let file = File::options().write(true).open(inside.join(name)).unwrap();
            file.set_modified(long_ago).unwrap();
        }
        folder.trim(|_, _| false);
        let expected = ["0000000000000001", MARKER, "unfinished-new", "unfinished-thesis"];
        assert_eq!(names(&inside), expected);
    }
}
