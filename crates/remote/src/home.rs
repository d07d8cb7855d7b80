//! `~` in paths, which a shell expands only where it stands first in a word and without quotes.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use nix::unistd::{Uid, User};

/// The home that the system's list of users has, whatever `HOME` says: where XRootD's client looks.
pub fn home_of_user() -> Option<PathBuf> {
    let user = User::from_uid(Uid::effective()).ok().flatten()?;
    Some(user.dir).filter(|home| home.is_absolute())
}

/// The path, in the user's home where it is `~` or begins with `~/`. A slash at its end stays.
pub fn expanded(path: &Path) -> PathBuf {
    let text = path.as_os_str().as_bytes();
    let Ok(home) = etcetera::home_dir() else { return path.to_owned() };
    match text.strip_prefix(b"~") {
        _ if !home.is_absolute() => path.to_owned(),
        Some([]) => home,
        Some([b'/', rest @ ..]) => {
            let below = rest.iter().position(|byte| *byte != b'/').unwrap_or(rest.len());
            home.join(OsStr::from_bytes(&rest[below..]))
        }
        _ => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_first_part_of_its_own_is_the_home() {
        let home = etcetera::home_dir().unwrap();
        assert_eq!(expanded(Path::new("~/data/f.root")), home.join("data/f.root"));
        assert_eq!(expanded(Path::new("~")), home);
        assert_eq!(expanded(Path::new("~//data/")).as_os_str(), home.join("data/").as_os_str());
        for other in ["~alice/f", "./~/f", "a/~/f", "/~", "root://h//~/f"] {
            assert_eq!(expanded(Path::new(other)), Path::new(other));
        }
    }
}
