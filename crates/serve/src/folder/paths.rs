//! A folder of this machine: paths that stay inside, names that may be shown, positioned reads.
//! Blocks.

use std::ffi::OsStr;
use std::fs::{self, DirEntry, File, Metadata, ReadDir};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::FileExt;
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use remote::source::FileInfo;
use remote::source::local::info_in;
use rustix::io::Errno;

/// Whether a client may read at a path below the folder.
pub type PathCheck<'a> = &'a dyn Fn(&Path) -> io::Result<()>;

/// A folder, its files readable by clients as far as each may.
#[derive(Debug)]
pub struct Folder {
    root: PathBuf,
    hidden: bool,
    writable: bool,
}

/// The stat of a file or folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat {
    /// Bytes.
    pub size: u64,
    /// Modification time since 1970.
    pub modified: Duration,
    pub is_folder: bool,
    /// The file system's number for it.
    pub inode: u64,
}

impl Stat {
    pub fn of(metadata: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        let modified = metadata.modified().unwrap_or(UNIX_EPOCH);
        Stat {
            size: metadata.len(),
            modified: modified.duration_since(UNIX_EPOCH).unwrap_or_default(),
            is_folder: metadata.is_dir(),
            inode: metadata.ino(),
        }
    }

    /// The modification time as the standard library has it.
    pub fn modified_at(&self) -> SystemTime {
        UNIX_EPOCH + self.modified
    }

    /// Changes whenever the file does.
    pub fn etag(&self) -> String {
        format!("\"{:x}-{:x}-{:x}\"", self.inode, self.size, self.modified.as_nanos())
    }
}

/// One name in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Bytes as the file system has them: any but a slash and NUL.
    pub name: Vec<u8>,
    pub stat: Stat,
}

/// A folder of which some names have been taken.
#[derive(Debug)]
pub struct Listed {
    /// As the client wrote it, and its real path.
    asked: PathBuf,
    path: PathBuf,
    entries: ReadDir,
}

impl Folder {
    /// All below `folder`; without names that begin with a dot unless `hidden`, or they are those
    /// of uploads to a `writable` one.
    ///
    /// # Errors
    /// The folder is not there, or is none.
    pub fn new(folder: &Path, hidden: bool, writable: bool) -> io::Result<Self> {
        let root = folder.canonicalize()?;
        if !root.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        Ok(Folder { root, hidden, writable })
    }

    /// The real path of a client's `path`.
    ///
    /// # Errors
    /// `NotFound`, also for links that lead in a circle, for names too long for the file system,
    /// and for hidden files, by whichever name; `PermissionDenied` for whatever lies outside, also
    /// by way of `..` or of a symbolic link. (Who may change links in the folder while it is served
    /// may race with this.)
    pub(super) fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        let mut inside = self.root.clone();
        for part in path.components() {
            match part {
                Component::Normal(name) => inside.push(name),
                Component::CurDir | Component::RootDir => {}
                _ => return Err(io::ErrorKind::PermissionDenied.into()),
            }
        }
        if path.as_os_str().as_bytes().contains(&0) || !self.may_be_seen(&inside) {
            return Err(io::ErrorKind::NotFound.into());
        }
        let real = inside.canonicalize().map_err(|error| match Errno::from_io_error(&error) {
            Some(Errno::LOOP | Errno::NAMETOOLONG) => io::ErrorKind::NotFound.into(),
            _ => error,
        })?;
        if !real.starts_with(&self.root) {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        match self.may_be_seen(&real) {
            true => Ok(real),
            false => Err(io::ErrorKind::NotFound.into()),
        }
    }

    /// The real path of a file that a client may read by this path: the one decision, for the name
    /// as it is written and for the place to which links lead.
    ///
    /// # Errors
    /// As [`resolve`](Self::resolve); those of `may`, which say nothing of whether it exists.
    fn readable(&self, path: &Path, may: PathCheck<'_>) -> io::Result<PathBuf> {
        may(path)?;
        match self.resolve(path) {
            Ok(real) => may(self.below(&real)).map(|()| real),
            // Behind a link to a place that is not for the client, nothing tells whether a file is
            // there.
            Err(error) => may(&self.reached(path)).and(Err(error)),
        }
    }

    /// The place below the folder that a path would have, were it there: behind the last of its
    /// folders that is, by the real path of that one.
    fn reached(&self, path: &Path) -> PathBuf {
        let mut reached = PathBuf::new();
        let mut parts = path.components();
        while let Some(part) = parts.next() {
            let Component::Normal(name) = part else { continue };
            let next = reached.join(name);
            match self.resolve(&next) {
                Ok(real) => reached = self.below(&real).to_owned(),
                Err(_) => return next.join(parts.as_path()),
            }
        }
        reached
    }

    /// A real path as seen from the folder.
    fn below<'a>(&self, real: &'a Path) -> &'a Path {
        real.strip_prefix(&self.root).unwrap_or(real)
    }

    /// The path below the folder of a path of this machine, which is one of a served file.
    ///
    /// # Errors
    /// As for [`open`](Self::open).
    pub fn inside(&self, path: &Path, may: PathCheck<'_>) -> io::Result<PathBuf> {
        let inside = path.strip_prefix(&self.root).map_err(|_| io::ErrorKind::PermissionDenied)?;
        self.readable(inside, may)?;
        Ok(inside.to_owned())
    }

    /// The real path of a file, for a reader in this process, with its size and version.
    ///
    /// # Errors
    /// As for [`open`](Self::open); `Unsupported` for a path that is no text.
    pub fn real_file(&self, path: &Path, may: PathCheck<'_>) -> io::Result<(String, FileInfo)> {
        let real = self.readable(path, may)?;
        match fs::metadata(&real)? {
            kind if kind.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
            kind if kind.is_file() => {
                let real = real.into_os_string().into_string();
                let real = real.map_err(|_| io::ErrorKind::Unsupported)?;
                Ok((real, info_in(&kind).map_err(io::Error::other)?))
            }
            _ => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// Whether no part of a path below the folder is hidden. Clients upload to names such as
    /// `.f.root.0123.part`, which they may use, although no listing has them.
    pub(super) fn may_be_seen(&self, path: &Path) -> bool {
        let inside = path.strip_prefix(&self.root).unwrap_or(path);
        let is_hidden = |part: Component<'_>| part.as_os_str().as_bytes().starts_with(b".");
        let is_half = |name: &OsStr| {
            name.as_bytes().starts_with(b".farroot-") && name.as_bytes().ends_with(b".half")
        };
        let is_part = self.writable
            && inside.file_name().is_some_and(|name| name.as_bytes().ends_with(b".part"));
        let folders = if is_part { inside.parent().unwrap_or(inside) } else { inside };
        match self.hidden {
            true => !self.writable || !inside.file_name().is_some_and(is_half),
            false => !folders.components().any(is_hidden),
        }
    }

    /// The stat of `path`.
    ///
    /// # Errors
    /// As for [`open`](Self::open); folders are fine.
    pub fn stat(&self, path: &Path, may: PathCheck<'_>) -> io::Result<Stat> {
        Ok(Stat::of(&fs::metadata(self.readable(path, may)?)?))
    }

    /// Opens a file for reading.
    ///
    /// # Errors
    /// `NotFound`, `PermissionDenied`, `IsADirectory`; `Unsupported` for devices, pipes and
    /// sockets; where the client may not read it.
    pub fn open(&self, path: &Path, may: PathCheck<'_>) -> io::Result<(File, Stat)> {
        let real = self.readable(path, may)?;
        let kind = fs::metadata(&real)?;
        if kind.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        // Checked before opening: opening a pipe would wait for its writer.
        if !kind.is_file() {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let file = File::open(&real)?;
        let stat = Stat::of(&file.metadata()?);
        Ok((file, stat))
    }

    /// The names in a folder.
    ///
    /// # Errors
    /// As for [`open`](Self::open); `NotADirectory`.
    pub fn list(&self, asked: &Path, may: PathCheck<'_>) -> io::Result<Listed> {
        let path = self.readable(asked, may)?;
        let entries = fs::read_dir(&path)?;
        Ok(Listed { asked: asked.to_owned(), path, entries })
    }

    /// One entry as a client sees it: files and folders that it can open here.
    fn entry(&self, listed: &Listed, entry: &DirEntry, may: PathCheck<'_>) -> Option<Entry> {
        let name = entry.file_name();
        if !self.hidden && name.as_bytes().starts_with(b".") {
            return None;
        }
        may(&listed.asked.join(&name)).ok()?;
        let path = listed.path.join(&name);
        let metadata = match entry.file_type().ok()? {
            kind if kind.is_symlink() => fs::metadata(self.readable(self.below(&path), may).ok()?),
            kind if kind.is_file() || kind.is_dir() => {
                may(self.below(&path)).ok()?;
                entry.metadata()
            }
            _ => return None,
        };
        let metadata = metadata.ok().filter(|found| found.is_file() || found.is_dir())?;
        Some(Entry { name: name.into_vec(), stat: Stat::of(&metadata) })
    }
}

impl Listed {
    /// The next names that the client may know, sorted, of which one of so many bytes takes
    /// `text_bytes` of `room`; and whether there may be more. A large folder comes in several such
    /// parts.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn next(
        &mut self,
        folder: &Folder,
        may: PathCheck<'_>,
        room: usize,
        text_bytes: impl Fn(usize) -> usize,
    ) -> io::Result<(Vec<Entry>, bool)> {
        let mut entries = Vec::new();
        let mut taken = 0;
        let mut more = true;
        // The longest name that there can be still has room.
        while taken + text_bytes(NAME_BYTES_MAX) <= room || entries.is_empty() {
            let Some(entry) = self.entries.next() else {
                more = false;
                break;
            };
            if let Some(entry) = folder.entry(self, &entry?, may) {
                taken += text_bytes(entry.name.len());
                entries.push(entry);
            }
        }
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok((entries, more))
    }
}

/// Bytes of the longest name in the file systems of today.
const NAME_BYTES_MAX: usize = 255;

/// Fills the buffer from `offset` of the file on; how many bytes there were.
///
/// # Errors
/// Those of the file system.
pub fn fill(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        let Some(at) = offset.checked_add(filled as u64) else { break };
        match file.read_at(&mut buffer[filled..], at) {
            Ok(0) => break,
            Ok(more) => filled += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    const ALL: PathCheck<'static> = &|_| Ok(());

    fn folder() -> (tempfile::TempDir, Folder) {
        let top = tempfile::tempdir().unwrap();
        let inside = top.path().join("inside");
        fs::create_dir_all(inside.join("sub")).unwrap();
        fs::write(inside.join("a.txt"), "0123456789").unwrap();
        fs::write(top.path().join("secret"), "secret").unwrap();
        symlink(top.path().join("secret"), inside.join("leak")).unwrap();
        symlink(top.path(), inside.join("up")).unwrap();
        symlink("a.txt", inside.join("alias")).unwrap();
        let folder = Folder::new(&inside, false, false).unwrap();
        (top, folder)
    }

    fn names(folder: &Folder, path: &str, room: usize) -> Vec<Vec<String>> {
        let mut listed = folder.list(Path::new(path), ALL).unwrap();
        let mut parts = Vec::new();
        loop {
            let (entries, more) = listed.next(folder, ALL, room, |bytes| bytes).unwrap();
            let name = |entry: Entry| String::from_utf8_lossy(&entry.name).into_owned();
            parts.push(entries.into_iter().map(name).collect());
            if !more {
                return parts;
            }
        }
    }

    fn refusal(folder: &Folder, path: &str) -> io::ErrorKind {
        folder.open(Path::new(path), ALL).unwrap_err().kind()
    }

    #[test]
    fn nothing_outside_is_reached() {
        let (_top, folder) = folder();
        for path in
            ["../secret", "/../secret", "sub/../../secret", "leak", "up/secret", "//..//secret"]
        {
            assert_eq!(refusal(&folder, path), io::ErrorKind::PermissionDenied, "{path}");
            let path = Path::new(path);
            assert!(folder.stat(path, ALL).is_err() && folder.list(path, ALL).is_err(), "{path:?}");
        }
        assert_eq!(refusal(&folder, "a\0b"), io::ErrorKind::NotFound);
        assert_eq!(names(&folder, "/", 10_000), [["a.txt", "alias", "sub"]]);
    }

    /// Keys and notes that lay in a served folder (`.ssh`, `.git`) were listed and could be read.
    #[test]
    fn hidden_names_are_served_only_when_asked_for() {
        let (top, plain) = folder();
        let inside = top.path().join("inside");
        fs::create_dir_all(inside.join(".ssh/deep")).unwrap();
        fs::write(inside.join(".ssh/deep/key"), "key").unwrap();
        fs::write(inside.join("sub/.note"), "note").unwrap();
        symlink(".ssh", inside.join("keys")).unwrap();
        symlink("../.ssh/deep/key", inside.join("sub/key")).unwrap();
        let hidden = [
            "/.ssh",
            ".ssh/deep/key",
            "sub/.note",
            "keys",
            "keys/deep/key",
            "sub/key",
            "./.ssh/deep/key",
        ];
        let all = Folder::new(&inside, true, false).unwrap();
        for path in hidden {
            assert_eq!(refusal(&plain, path), io::ErrorKind::NotFound, "{path}");
            let path = Path::new(path);
            assert_eq!(
                plain.stat(path, ALL).unwrap_err().kind(),
                io::ErrorKind::NotFound,
                "{path:?}"
            );
            assert!(all.stat(path, ALL).is_ok(), "{path:?}");
        }
        assert_eq!(names(&plain, "/", 10_000), [["a.txt", "alias", "sub"]]);
        assert!(names(&plain, "sub", 10_000).concat().is_empty());
        assert_eq!(names(&all, "/", 10_000), [[".ssh", "a.txt", "alias", "keys", "sub"]]);
        // A folder that is itself hidden is served when it is named.
        let below = Folder::new(&inside.join(".ssh"), false, false).unwrap();
        assert!(below.open(Path::new("deep/key"), ALL).is_ok());
        // The way up is refused as before, not shown to be hidden.
        assert_eq!(refusal(&plain, "../secret"), io::ErrorKind::PermissionDenied);
    }

    /// A loop of links was an error of the server (500), as was a name too long for the file
    /// system.
    #[test]
    fn what_leads_nowhere_is_not_found() {
        let (top, folder) = folder();
        let inside = top.path().join("inside");
        symlink("b", inside.join("a")).unwrap();
        symlink("a", inside.join("b")).unwrap();
        symlink("self", inside.join("self")).unwrap();
        symlink("gone", inside.join("dangling")).unwrap();
        let long = "x".repeat(300);
        let deep = "sub/".repeat(2000);
        for path in ["a", "b/c", "self", "dangling", "none", "none/deeper", &long, &deep] {
            let kind = refusal(&folder, path);
            assert_eq!(kind, io::ErrorKind::NotFound, "{path:.20}");
        }
        assert_eq!(refusal(&folder, "a.txt/below"), io::ErrorKind::NotADirectory);
        assert_eq!(names(&folder, "/", 10_000), [["a.txt", "alias", "sub"]]);
    }

    #[test]
    fn reads_end_where_the_file_does() {
        let (_top, folder) = folder();
        let (file, stat) = folder.open(Path::new("//alias"), ALL).unwrap();
        assert_eq!(stat.size, 10);
        let read = |offset, count| {
            let mut buffer = vec![0; count];
            let filled = fill(&file, &mut buffer, offset).unwrap();
            buffer[..filled].to_vec()
        };
        assert_eq!(read(3, 4), b"3456");
        assert_eq!(read(8, 10), b"89");
        assert_eq!(read(11, 10), b"");
        assert_eq!(refusal(&folder, "sub"), io::ErrorKind::IsADirectory);
        let _socket = std::os::unix::net::UnixListener::bind(folder.root.join("socket")).unwrap();
        assert_eq!(refusal(&folder, "socket"), io::ErrorKind::Unsupported);
        assert_eq!(names(&folder, "/", 10_000), [["a.txt", "alias", "sub"]], "no socket");
    }

    #[test]
    fn a_large_folder_comes_in_parts_that_fit() {
        let (_top, folder) = folder();
        for number in 0..500 {
            fs::write(folder.root.join(format!("sub/{number:03}")), "").unwrap();
        }
        fs::write(folder.root.join("sub").join(OsStr::from_bytes(b"\xff\n")), "").unwrap();
        let parts = names(&folder, "sub", 300);
        assert!(parts.iter().all(|part| part.len() <= 50) && parts.len() > 10);
        let mut all = parts.concat();
        all.sort();
        assert_eq!(all.len(), 501);
        assert_eq!((all[0].as_str(), all[499].as_str()), ("000", "499"));
    }

    /// Rules saw the written name only: `public/link -> ../secret/s` gave a secret away.
    #[test]
    fn a_link_gives_no_right_to_where_it_leads() {
        let (top, folder) = folder();
        let inside = top.path().join("inside");
        fs::create_dir_all(inside.join("secret/deep")).unwrap();
        fs::create_dir_all(inside.join("public/sub")).unwrap();
        for file in ["secret/s", "secret/deep/s", "public/p", "public/sub/p"] {
            fs::write(inside.join(file), file).unwrap();
        }
        for (target, link) in [
            ("../secret/s", "public/link"),
            ("../secret", "public/folder"),
            ("link", "public/twice"),
            ("../public/p", "secret/out"),
            ("sub", "public/fine"),
        ] {
            symlink(target, inside.join(link)).unwrap();
        }
        let may: PathCheck<'_> = &|path| match path.strip_prefix("/").unwrap_or(path) {
            path if path.starts_with("public") => Ok(()),
            _ => Err(io::Error::other("denied")),
        };
        let denied = [
            "public/link",
            "public/twice",
            "public/folder",
            "public/folder/s",
            "public/folder/none",
            "public/folder/deep/s",
            "public/folder/deep/none/s",
            "public/folder/s/below",
            "secret/out",
            "secret/none",
        ];
        for path in denied.into_iter().flat_map(|path| [path.to_owned(), format!("/{path}")]) {
            let path = Path::new(&path);
            let real = inside.canonicalize().unwrap().join(path.strip_prefix("/").unwrap_or(path));
            for error in [
                folder.open(path, may).err(),
                folder.stat(path, may).err(),
                folder.list(path, may).err(),
                folder.real_file(path, may).err(),
                folder.inside(&real, may).err(),
            ] {
                assert_eq!(error.expect("a refusal").to_string(), "denied", "{path:?}");
            }
        }
        for path in ["public/p", "/public/fine/p", "public/sub/p"] {
            assert!(folder.open(Path::new(path), may).is_ok(), "{path}");
        }
        let missing = folder.open(Path::new("public/none"), may).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
        let mut listed = folder.list(Path::new("public"), may).unwrap();
        let (entries, _) = listed.next(&folder, may, 10_000, |bytes| bytes).unwrap();
        let names: Vec<_> = entries.iter().map(|entry| entry.name.as_slice()).collect();
        assert_eq!(names, [&b"fine"[..], b"p", b"sub"]);
    }
}
