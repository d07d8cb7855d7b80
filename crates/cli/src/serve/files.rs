//! The folder that is served: paths that stay inside, positioned reads.

use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::{Bytes, BytesMut};
use engine::checksum::{self, Algorithm, Checksum};

/// Names in one listing; a folder with more is refused rather than cut.
const ENTRIES_MAX: usize = 200_000;

/// A folder, its files readable by anyone who connects.
#[derive(Debug, Clone)]
pub struct Export {
    root: Arc<Path>,
}

/// What is known of a file or folder.
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
    fn of(metadata: &Metadata) -> Self {
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

/// An open file. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Opened {
    file: Arc<File>,
    pub stat: Stat,
}

/// One name in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub name: String,
    pub stat: Stat,
}

impl Export {
    /// Serves `folder` and all below it.
    ///
    /// # Errors
    /// The folder is not there, or is none.
    pub fn new(folder: &Path) -> io::Result<Self> {
        let root = folder.canonicalize()?;
        if !root.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        Ok(Export { root: root.into() })
    }

    /// The real path of what a client calls `path`.
    ///
    /// # Errors
    /// `NotFound`; `PermissionDenied` for whatever lies outside, also by way of `..` or of a
    /// symbolic link. (Who may change links in the folder while it is served may race with this.)
    fn resolve(&self, path: &str) -> io::Result<PathBuf> {
        let mut inside = self.root.to_path_buf();
        for part in Path::new(path.trim_start_matches('/')).components() {
            match part {
                Component::Normal(name) => inside.push(name),
                Component::CurDir => {}
                _ => return Err(io::ErrorKind::PermissionDenied.into()),
            }
        }
        if path.contains('\0') {
            return Err(io::ErrorKind::NotFound.into());
        }
        let real = inside.canonicalize()?;
        if !real.starts_with(&self.root) {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        Ok(real)
    }

    /// What is known of `path`.
    ///
    /// # Errors
    /// As for [`open`](Self::open); folders are fine.
    pub fn stat(&self, path: &str) -> io::Result<Stat> {
        Ok(Stat::of(&fs::metadata(self.resolve(path)?)?))
    }

    /// Opens a file for reading.
    ///
    /// # Errors
    /// `NotFound`, `PermissionDenied`, `IsADirectory`; `Unsupported` for devices, pipes and sockets.
    pub fn open(&self, path: &str) -> io::Result<Opened> {
        let real = self.resolve(path)?;
        let kind = fs::metadata(&real)?;
        if kind.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        // Asked before opening: opening a pipe would wait for its writer.
        if !kind.is_file() {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let file = File::open(&real)?;
        let stat = Stat::of(&file.metadata()?);
        Ok(Opened { file: Arc::new(file), stat })
    }

    /// Names in a folder, sorted. Links that lead outside and names that are not UTF-8 are left out.
    ///
    /// # Errors
    /// As for [`open`](Self::open); `NotADirectory`; `QuotaExceeded` for too many names.
    pub fn list(&self, path: &str) -> io::Result<Vec<Entry>> {
        let folder = self.resolve(path)?;
        let mut entries = Vec::new();
        for entry in fs::read_dir(&folder)? {
            let Ok(name) = entry?.file_name().into_string() else { continue };
            let Ok(stat) = self.stat(&format!("{path}/{name}")) else { continue };
            if entries.len() == ENTRIES_MAX {
                return Err(io::ErrorKind::QuotaExceeded.into());
            }
            entries.push(Entry { name, stat });
        }
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(entries)
    }
}

impl Opened {
    /// The file's checksum, of all its bytes.
    ///
    /// # Errors
    /// What the file system says.
    pub fn checksum(&self, algorithm: Algorithm) -> io::Result<Checksum> {
        checksum::of_file(&self.file, algorithm)
    }

    /// Up to `count` bytes from `offset` on; fewer only at the end of the file.
    ///
    /// # Errors
    /// What the file system says.
    pub fn read_at(&self, offset: u64, count: usize) -> io::Result<Bytes> {
        let mut buffer = BytesMut::zeroed(count);
        let mut filled = 0;
        while filled < count {
            match self.file.read_at(&mut buffer[filled..], offset + filled as u64) {
                Ok(0) => break,
                Ok(more) => filled += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        buffer.truncate(filled);
        Ok(buffer.freeze())
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn folder() -> (tempfile::TempDir, Export) {
        let top = tempfile::tempdir().unwrap();
        let inside = top.path().join("inside");
        fs::create_dir_all(inside.join("sub")).unwrap();
        fs::write(inside.join("a.txt"), "0123456789").unwrap();
        fs::write(top.path().join("secret"), "secret").unwrap();
        symlink(top.path().join("secret"), inside.join("leak")).unwrap();
        symlink(top.path(), inside.join("up")).unwrap();
        symlink("a.txt", inside.join("alias")).unwrap();
        let export = Export::new(&inside).unwrap();
        (top, export)
    }

    #[test]
    fn nothing_outside_is_reached() {
        let (_top, export) = folder();
        for path in
            ["../secret", "/../secret", "sub/../../secret", "leak", "up/secret", "//..//secret"]
        {
            let error = export.open(path).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::PermissionDenied, "{path}");
            assert!(export.stat(path).is_err() && export.list(path).is_err(), "{path}");
        }
        assert_eq!(export.open("a\0b").unwrap_err().kind(), io::ErrorKind::NotFound);
        let names: Vec<_> = export.list("/").unwrap().into_iter().map(|entry| entry.name).collect();
        assert_eq!(names, ["a.txt", "alias", "sub"]);
    }

    #[test]
    fn reads_end_where_the_file_does() {
        let (_top, export) = folder();
        let file = export.open("//alias").unwrap();
        assert_eq!(file.stat.size, 10);
        assert_eq!(&file.read_at(3, 4).unwrap()[..], b"3456");
        assert_eq!(&file.read_at(8, 10).unwrap()[..], b"89");
        assert_eq!(&file.read_at(11, 10).unwrap()[..], b"");
        assert_eq!(export.open("sub").unwrap_err().kind(), io::ErrorKind::IsADirectory);
        assert_eq!(export.open("none").unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
