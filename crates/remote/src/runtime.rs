//! The folder for the locks and sockets that running processes of one user share.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// The permissions of a folder that only its owner can enter.
const PRIVATE: u32 = 0o700;
/// The permission bits of the group and of other users.
const OTHERS: u32 = 0o077;

/// The path of the user's folder: `farroot` in `XDG_RUNTIME_DIR`, or else `farroot-UID` in the
/// folder for temporary files. It need not exist: see [`claim`].
pub fn folder() -> PathBuf {
    let given = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    match given.filter(|given| given.is_absolute() && given.is_dir()) {
        Some(given) => given.join("farroot"),
        None => std::env::temp_dir().join(format!("farroot-{}", own_id())),
    }
}

/// Makes a folder that only this user can enter, if there is none.
///
/// # Errors
/// `PermissionDenied` where the path is no folder, or one that belongs to another user or that
/// other users can enter: in `/tmp` any user may have made it. Errors of the file system.
pub fn claim(folder: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(PRIVATE).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            return Err(io::Error::new(error.kind(), format!("{}: {error}", folder.display())));
        }
        _ => {}
    }
    let there = fs::symlink_metadata(folder)?;
    let why = if !there.is_dir() {
        "is no folder: remove it"
    } else if there.uid() != own_id() {
        "belongs to another user"
    } else if there.mode() & OTHERS != 0 {
        "can be entered by other users: chmod 700"
    } else {
        return Ok(());
    };
    Err(io::Error::new(io::ErrorKind::PermissionDenied, format!("{} {why}", folder.display())))
}

/// The effective user id of this process.
fn own_id() -> u32 {
    rustix::process::geteuid().as_raw()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_folder_that_others_can_enter_is_refused_with_the_reason() {
        let parent = tempfile::tempdir().unwrap();
        let path = |name: &str| parent.path().join(name);
        claim(&path("own")).unwrap();
        assert_eq!(fs::metadata(path("own")).unwrap().mode() & 0o777, PRIVATE);
        claim(&path("own")).unwrap();
        fs::write(path("file"), "").unwrap();
        symlink(path("own"), path("link")).unwrap();
        symlink(path("absent"), path("dangling")).unwrap();
        for (name, mode) in [("group", 0o770), ("readable", 0o755), ("sticky", 0o1777)] {
            fs::create_dir(path(name)).unwrap();
            fs::set_permissions(path(name), fs::Permissions::from_mode(mode)).unwrap();
        }
        for (name, why) in [
            ("file", "no folder"),
            ("link", "no folder"),
            ("dangling", "no folder"),
            ("group", "other users"),
            ("readable", "other users"),
            ("sticky", "other users"),
        ] {
            let error = claim(&path(name)).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::PermissionDenied, "{name}");
            assert!(error.to_string().contains(why), "{name}: {error}");
        }
        match std::os::unix::fs::chown(path("own"), Some(own_id() + 1), None) {
            Ok(()) => {
                let error = claim(&path("own")).unwrap_err();
                assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
                assert!(error.to_string().contains("belongs to another user"), "{error}");
            }
            Err(error) => eprintln!("SKIPPED: a folder of another user: {error}"),
        }
        assert!(claim(&path("absent/deeper")).unwrap_err().to_string().contains("deeper"));
    }
}
