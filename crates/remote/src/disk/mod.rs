//! Files of this machine that are made, gone on with or replaced, where others may write, too.
//!
//! In a folder that several users share, any name may be a link to somewhere else, a pipe, or
//! another user's file. So files are made where nothing is, opened without following a link or
//! waiting for a pipe, and gone on with only where this user owns them; they are private until they
//! get the permissions of the file that they replace; and the writer looks whether the name still
//! leads to the same file before it says that it was written.

mod folder;

use std::fs::{self, File, Metadata, Permissions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::path::Path;

use crate::error::{self, Error};

pub use folder::{CHANCE_LEN, FolderEntry, Temporary, make_folders};

/// Links that one name may lead through, as Linux has it.
const LINKS_MAX: usize = 40;
/// Bytes at either end of a file by which its writer sees that another one has changed it.
const MARK_BYTES: u64 = 512;
/// An access control list is longer nowhere.
const ACL_BYTES_MAX: usize = 64 << 10;
const ACL: &str = "system.posix_acl_access";

/// The content of a regular file, up to so many bytes.
///
/// # Errors
/// `InvalidInput` for anything else of this name.
pub fn read(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    content(&FolderEntry::at(path)?, bytes_max)
}

/// As [`read`], in an open folder.
///
/// # Errors
/// `InvalidInput` for anything else of this name.
pub fn content(entry: &FolderEntry, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    entry.open_regular(false)?.take(bytes_max).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The name that a path means, as `cp` has it: that which a symbolic link leads to, as far as the
/// system would follow it. A device, a pipe or a socket keeps the name by which the caller opened
/// it.
///
/// # Errors
/// `InvalidArgument` for a link that leads nowhere, or that another user has put into a folder
/// where all may write, and where the folder is not there.
pub fn followed(target: &Path) -> error::Result<FolderEntry> {
    let wrong = |text: &str| Error::new(error::ErrorKind::InvalidArgument, text);
    let path = std::path::absolute(target).map_err(|error| Error::from_io(&error))?;
    let mut at = FolderEntry::at(&path).map_err(|error| cannot_open_folder(&path, &error))?;
    for _ in 0..LINKS_MAX {
        if !at.metadata().is_ok_and(|there| there.is_symlink()) {
            return Ok(at);
        }
        if !may_follow(&at) {
            let text =
                "the target is another user's symbolic link, in a folder where all may write";
            return Err(wrong(text).with_advice("write elsewhere, or name the file it leads to"));
        }
        let there = at.target_metadata().map_err(|_| {
            let text = "the target is a symbolic link that leads nowhere";
            wrong(text).with_advice("remove it first")
        })?;
        if !there.is_file() && !there.is_dir() {
            return Ok(at);
        }
        at = at.link_target().map_err(|error| cannot_open_folder(at.path(), &error))?;
    }
    Err(wrong("the target is a symbolic link that leads to itself"))
}

fn cannot_open_folder(path: &Path, error: &io::Error) -> Error {
    let wrong = |text: &str| Error::new(error::ErrorKind::InvalidArgument, text);
    let error = match error.kind() {
        ErrorKind::NotFound => {
            wrong("the target's directory is not there").with_advice("make it first")
        }
        ErrorKind::InvalidInput => wrong("the target is a directory"),
        ErrorKind::NotADirectory => wrong("what should be the target's directory is a file"),
        _ => Error::from_io(error),
    };
    error.with_url(path.to_string_lossy())
}

fn may_follow(link: &FolderEntry) -> bool {
    let Ok(own) = link.metadata() else { return false };
    let Ok(folder) = link.folder_metadata() else { return false };
    folder::may_follow(&own, &folder, link.path()).is_ok()
}

/// Whether a file system refuses a call that it does not have: EOPNOTSUPP, ENOSYS, EINVAL, EPERM.
pub fn is_unsupported(error: &io::Error) -> bool {
    use ErrorKind::{InvalidInput, PermissionDenied, Unsupported};
    matches!(error.kind(), InvalidInput | PermissionDenied | Unsupported)
}

/// Opens a pipe, a device or a socket, to be written into and never replaced; `None` for a regular
/// file, and where nothing is.
///
/// # Errors
/// `Unsupported` for a pipe from which no program reads, and for a socket.
pub fn open_special(target: &FolderEntry) -> error::Result<Option<File>> {
    let Ok(there) = target.target_metadata() else { return Ok(None) };
    if there.is_file() || there.is_dir() {
        return Ok(None);
    }
    let wrong = |text: &str| Error::new(error::ErrorKind::Unsupported, text);
    if there.file_type().is_socket() {
        return Err(wrong("the target is a socket, into which nothing is written"));
    }
    let file = target.open_target().map_err(|error| match error.raw_os_error() {
        Some(libc::ENXIO) => wrong("the target is a pipe from which no program reads"),
        _ => Error::from_io(&error),
    })?;
    let flags = rustix::fs::fcntl_getfl(&file).map_err(|error| Error::from_io(&error.into()))?;
    let waits = flags - rustix::fs::OFlags::NONBLOCK;
    rustix::fs::fcntl_setfl(&file, waits).map_err(|error| Error::from_io(&error.into()))?;
    Ok(Some(file))
}

/// Gives a file that was private the permissions, group and access control list of the one that it
/// replaces; without one, those of any new file. Where the group is refused, it gets no more than
/// others have; where a file system refuses its permissions, it stays private.
pub fn dress(file: &File, replaced: Option<&FolderEntry>) -> io::Result<()> {
    let there = replaced.and_then(|entry| entry.open_regular(false).ok());
    let seen = replaced.and_then(|entry| entry.metadata().ok()).filter(Metadata::is_file);
    let Some(seen) = seen else {
        let _ = file.set_permissions(Permissions::from_mode(0o666 & !umask()));
        return Ok(());
    };
    let mut mode = seen.mode() & 0o777;
    if seen.gid() != file.metadata()?.gid() {
        let group = rustix::fs::Gid::from_raw(seen.gid());
        if rustix::fs::fchown(file, None, Some(group)).is_err() {
            mode = mode & !0o070 | mode & (mode & 0o007) << 3;
        }
    }
    let _ = file.set_permissions(Permissions::from_mode(mode));
    if let Some(there) = there {
        let mut list = vec![0; ACL_BYTES_MAX];
        if let Ok(length) = rustix::fs::fgetxattr(&there, ACL, &mut list) {
            let _ =
                rustix::fs::fsetxattr(file, ACL, &list[..length], rustix::fs::XattrFlags::empty());
        }
    }
    Ok(())
}

/// The permissions that new files do not get.
fn umask() -> u32 {
    // Any other call that returns it also sets it, for all threads.
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("Umask:"));
    mask.and_then(|mask| u32::from_str_radix(mask.trim(), 8).ok()).unwrap_or(0o022)
}

/// Replaces a small file of this user's own.
///
/// # Errors
/// An error of writing it.
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    replace_at(&FolderEntry::at(path)?, content)
}

/// As [`replace`], in an open folder.
///
/// # Errors
/// An error of writing it.
pub fn replace_at(target: &FolderEntry, content: &[u8]) -> io::Result<()> {
    replace_with(target, content, |_| Ok(()))
}

fn replace_with(
    target: &FolderEntry,
    content: &[u8],
    dress: impl FnOnce(&File) -> io::Result<()>,
) -> io::Result<()> {
    let new = target.unguessable(".farroot-".as_ref(), "");
    let mut file = new.create_new()?;
    let new = Temporary::new(new);
    file.write_all(content)?;
    dress(&file)?;
    new.rename(target)
}

/// Writes a small file that this user alone can read, where `cp` would: through links, and into
/// devices and pipes.
///
/// # Errors
/// As [`followed`] and [`open_special`]; errors of the file system.
pub fn write_private(target: &Path, content: &[u8]) -> error::Result<()> {
    write_with(target, content, |_, _| Ok(()))
}

/// As [`write_private`], with the permissions of the file that it replaces, or of any new file.
///
/// # Errors
/// As [`write_private`].
pub fn write(target: &Path, content: &[u8]) -> error::Result<()> {
    write_with(target, content, |file, replaced| dress(file, Some(replaced)))
}

fn write_with(
    target: &Path,
    content: &[u8],
    dress: impl FnOnce(&File, &FolderEntry) -> io::Result<()>,
) -> error::Result<()> {
    let target = followed(target)?;
    let written = match open_special(&target)? {
        Some(mut special) => special.write_all(content),
        None if target.metadata().is_ok_and(|there| there.is_dir()) => {
            Err(ErrorKind::IsADirectory.into())
        }
        None => replace_with(&target, content, |file| dress(file, &target)),
    };
    written.map_err(|error| Error::from_io(&error).with_url(target.path().to_string_lossy()))
}

/// Opens a file to write behind its end, where `cp` would write; a new one is this user's alone.
///
/// # Errors
/// As [`followed`] and [`open_special`]; errors of the file system.
pub fn open_to_append(target: &Path) -> error::Result<File> {
    let target = followed(target)?;
    if let Some(special) = open_special(&target)? {
        return Ok(special);
    }
    let url = target.path().to_string_lossy();
    target.open_to_append().map_err(|error| Error::from_io(&error).with_url(&*url))
}

/// The state of a file, by which a writer that goes on with it sees whether another one has changed
/// it.
#[derive(Debug)]
pub struct Mark {
    /// Length of the file.
    before: u64,
    head: Vec<u8>,
    tail: Vec<u8>,
}

impl Mark {
    /// Of a file as it is now.
    ///
    /// # Errors
    /// An error of reading it.
    pub fn of(file: &File) -> io::Result<Self> {
        Mark::within(file, file.metadata()?.len())
    }

    /// Whether the bytes that were there are there, and none but those that its writer has added.
    pub fn holds(&self, file: &File, written_to: u64) -> bool {
        let length = file.metadata().map(|there| there.len());
        length.is_ok_and(|length| length == self.before.max(written_to))
            && Mark::within(file, self.before)
                .is_ok_and(|now| now.head == self.head && now.tail == self.tail)
    }

    fn within(file: &File, before: u64) -> io::Result<Self> {
        let length = before.min(MARK_BYTES);
        let read = |at: u64| {
            let mut bytes = vec![0; length as usize];
            file.read_exact_at(&mut bytes, at).map(|()| bytes)
        };
        Ok(Mark { before, head: read(0)?, tail: read(before - length)? })
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{lchown, symlink};

    use super::*;

    /// A link in /tmp that another user has made, as a folder of the target's path: what was
    /// written went where that user wanted.
    #[test]
    fn folders_are_made_with_those_above_them() {
        let home = tempfile::tempdir().unwrap();
        let path = |name: &str| home.path().join(name);
        for name in ["a/b/c", "a/b/c", "a/b/../d/", "a/./e"] {
            make_folders(&path(name)).unwrap();
            assert!(path(name).is_dir(), "{name}");
        }
        assert!(path("a/d").is_dir());
        symlink(path("a"), path("own")).unwrap();
        make_folders(&path("own/f")).unwrap();
        assert!(path("a/f").is_dir(), "a link of this user leads on");
        std::fs::write(path("file"), b"").unwrap();
        for name in ["file", "file/below"] {
            let error = make_folders(&path(name)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::NotADirectory, "{name}");
        }
        assert!(make_folders(Path::new("/")).is_ok() && make_folders(Path::new(".")).is_ok());
    }

    #[test]
    fn folders_that_are_links_of_another_user_are_refused() {
        let home = tempfile::tempdir().unwrap();
        let shared = home.path().join("shared");
        std::fs::create_dir_all(home.path().join("private/deep")).unwrap();
        std::fs::create_dir(&shared).unwrap();
        std::fs::set_permissions(&shared, std::fs::Permissions::from_mode(0o1777)).unwrap();
        symlink("../private", shared.join("sub")).unwrap();
        for path in ["shared/sub/out", "shared/sub/deep/out", "shared/./sub/../shared/sub/out"] {
            assert!(FolderEntry::at(&home.path().join(path)).is_ok(), "{path}: an own link");
        }
        if !rustix::process::geteuid().is_root() {
            return eprintln!("SKIPPED: only root can give a link to another user");
        }
        lchown(shared.join("sub"), Some(4_000), None).unwrap();
        for path in ["shared/sub/out", "shared/sub/deep/out"] {
            let error = FolderEntry::at(&home.path().join(path)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{path}: {error}");
        }
        let error = make_folders(&shared.join("sub/new/one")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{error}");
        std::fs::set_permissions(&shared, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert!(FolderEntry::at(&shared.join("sub/out")).is_ok(), "no other may write there");
    }

    fn pipe(path: &Path) {
        rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, 0o600.into(), 0)
            .unwrap();
    }

    #[test]
    fn only_this_users_own_regular_file_is_gone_on_with() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let entry = |name: &str| FolderEntry::at(&path(name)).unwrap();
        drop(entry("own").create_new().unwrap());
        assert_eq!(fs::metadata(path("own")).unwrap().mode() & 0o777, 0o600);
        assert!(entry("own").create_new().is_err() && entry("own").open_own().is_ok());
        symlink(path("own"), path("link")).unwrap();
        pipe(&path("pipe"));
        for name in ["link", "pipe"] {
            let there = entry(name).open_own().unwrap_err();
            assert_eq!(there.kind(), ErrorKind::AlreadyExists, "{name}");
            assert!(entry(name).create_new().is_err() && entry(name).open_regular(true).is_err());
        }
        fs::hard_link(path("own"), path("other")).unwrap();
        assert!(entry("own").open_own().is_err(), "it has another name");
        assert_eq!(entry("none").open_own().unwrap_err().kind(), ErrorKind::NotFound);
    }

    #[test]
    fn links_lead_where_cp_would_follow_them() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("file"), "").unwrap();
        symlink("file", path("one")).unwrap();
        symlink("one", path("two")).unwrap();
        symlink("none", path("dangling")).unwrap();
        symlink("circle", path("circle")).unwrap();
        symlink("/dev/null", path("null")).unwrap();
        for (asked, meant) in [("two", "file"), ("new", "new"), ("null", "null")] {
            assert_eq!(followed(&path(asked)).unwrap().path(), path(meant));
        }
        assert!(followed(&path("dangling")).is_err() && followed(&path("circle")).is_err());
        let special = |name: &str| open_special(&FolderEntry::at(&path(name)).unwrap());
        assert!(special("null").unwrap().is_some() && special("two").unwrap().is_none());
        pipe(&path("pipe"));
        write_private(&path("two"), b"new").unwrap();
        assert_eq!(fs::read(path("file")).unwrap(), b"new");
        assert_eq!(fs::metadata(path("file")).unwrap().mode() & 0o777, 0o600);
        assert!(path("two").is_symlink() && write_private(&path("null"), b"x").is_ok());
        assert!(write_private(folder.path(), b"x").is_err());
        let error = special("pipe").unwrap_err();
        assert!(error.to_string().contains("no program reads"), "{error}");
    }

    #[test]
    fn a_file_gets_the_permissions_of_the_one_that_it_replaces() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let mode = |name: &str| fs::metadata(path(name)).unwrap().mode() & 0o777;
        fs::write(path("usual"), "").unwrap();
        for (name, permissions) in [("a", 0o640), ("b", 0o604), ("c", 0o600)] {
            fs::write(path("there"), "").unwrap();
            fs::set_permissions(path("there"), Permissions::from_mode(permissions)).unwrap();
            let there = FolderEntry::at(&path("there")).unwrap();
            dress(&there.sibling(name).create_new().unwrap(), Some(&there)).unwrap();
            assert_eq!(mode(name), permissions);
        }
        let none = FolderEntry::at(&path("none")).unwrap();
        dress(&none.sibling("new").create_new().unwrap(), Some(&none)).unwrap();
        assert_eq!(mode("new"), mode("usual"));
    }

    /// Another user who owns a folder above may rename it while a file is written, and put a link
    /// to somewhere else in its place.
    #[test]
    fn an_open_folder_stays_the_same_whatever_becomes_of_its_path() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in ["ours", "victim"] {
            fs::create_dir(path(name)).unwrap();
        }
        fs::write(path("victim/f"), "precious").unwrap();
        let target = FolderEntry::at(&path("ours/f")).unwrap();
        fs::rename(path("ours"), path("moved")).unwrap();
        symlink("victim", path("ours")).unwrap();
        replace_at(&target, b"new").unwrap();
        assert_eq!(fs::read(path("victim/f")).unwrap(), b"precious");
        assert_eq!(fs::read(path("moved/f")).unwrap(), b"new");
        assert_eq!(fs::read_dir(path("moved")).unwrap().count(), 1);
    }

    #[test]
    fn a_mark_shows_what_another_writer_has_done() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        let begin = || {
            fs::write(&path, [7; 2000]).unwrap();
            let file = FolderEntry::at(&path).unwrap().open_own().unwrap();
            let mark = Mark::of(&file).unwrap();
            file.write_all_at(&[8; 100], 2000).unwrap();
            (file, mark)
        };
        let (file, mark) = begin();
        assert!(mark.holds(&file, 2100));
        let others: [&dyn Fn(&File); 4] = [
            &|file| file.set_len(200).unwrap(),
            &|file| file.set_len(5000).unwrap(),
            &|file| file.write_all_at(b"x", 10).unwrap(),
            &|file| file.write_all_at(b"x", 1990).unwrap(),
        ];
        for other in others {
            let (file, mark) = begin();
            other(&file);
            assert!(!mark.holds(&file, 2100));
        }
        let (file, mark) = begin();
        file.set_len(200).unwrap();
        file.write_all_at(&[8; 10], 2090).unwrap();
        assert!(!mark.holds(&file, 2100), "cut, and grown again");
    }
}
