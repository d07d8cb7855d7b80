//! Reads files that hold secrets, where they are the user's own and of no other.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use zeroize::Zeroizing;

use crate::Reason;

/// No credential is larger, in bytes.
pub(crate) const LARGEST: u64 = 64 << 10;

/// Who may read the file besides its owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Only its owner: it has a secret.
    Secret,
    /// Every user: a certificate, or settings.
    Open,
}

/// The bytes of a file, and its permissions.
pub(crate) type Contents = (Zeroizing<Vec<u8>>, u32);

/// A file of `user` or of root; `None` where nothing is there.
///
/// The file is opened first and looked at then, so that the one that is judged is the one that is
/// read. A pipe does not hold this up.
pub(crate) fn read(path: &Path, user: u32, access: Access) -> Result<Option<Contents>, Reason> {
    let Some((mut file, facts)) = open(path, user)? else { return Ok(None) };
    judge(&facts, user, access)?;
    let mut bytes = Zeroizing::new(Vec::with_capacity(facts.len() as usize + 1));
    // It may have grown since: one byte more than allowed shows it.
    let read = file.by_ref().take(LARGEST + 1).read_to_end(&mut bytes);
    read.map_err(|error| Reason::Unreadable(error.kind().to_string()))?;
    match bytes.len() as u64 > LARGEST {
        true => Err(Reason::TooLarge(facts.len().max(LARGEST + 1))),
        false => Ok(Some((bytes, facts.mode() & 0o7777))),
    }
}

/// The first byte of a file of `user` or of root, which a library is to read; `None` where nothing
/// is there, or nothing in it.
pub(crate) fn first_byte(path: &Path, user: u32) -> Result<Option<u8>, Reason> {
    let Some((mut file, facts)) = open(path, user)? else { return Ok(None) };
    is_own(&facts, user)?;
    let mut first = [0];
    let read = file.read(&mut first).map_err(|error| Reason::Unreadable(error.kind().to_string()));
    Ok((read? > 0).then_some(first[0]))
}

/// The permissions of a file, for lists.
pub(crate) fn mode(path: &Path) -> Option<u32> {
    Some(std::fs::metadata(path).ok()?.mode() & 0o7777)
}

/// A link of another user is not followed: it would name any file of `user` as one that is meant
/// for this place. Another user cannot put one in place of a link of `user` in a folder of all.
fn open(path: &Path, user: u32) -> Result<Option<(File, Metadata)>, Reason> {
    let flags = nix::libc::O_NONBLOCK | nix::libc::O_NOCTTY;
    let open = |flags| OpenOptions::new().read(true).custom_flags(flags).open(path);
    let mut opened = open(flags | nix::libc::O_NOFOLLOW);
    if opened.as_ref().is_err_and(|error| error.raw_os_error() == Some(nix::libc::ELOOP)) {
        match std::fs::symlink_metadata(path) {
            Ok(link) if link.uid() != user && link.uid() != 0 => {
                return Err(Reason::Owner(link.uid()));
            }
            _ => opened = open(flags),
        }
    }
    match opened.and_then(|file| file.metadata().map(|facts| (file, facts))) {
        Ok(opened) => Ok(Some(opened)),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(error) => Err(Reason::Unreadable(error.kind().to_string())),
    }
}

fn is_own(facts: &Metadata, user: u32) -> Result<(), Reason> {
    if !facts.is_file() {
        Err(Reason::NotAFile)
    } else if facts.uid() != user && facts.uid() != 0 {
        Err(Reason::Owner(facts.uid()))
    } else {
        Ok(())
    }
}

fn judge(facts: &Metadata, user: u32, access: Access) -> Result<(), Reason> {
    is_own(facts, user)?;
    let mode = facts.mode();
    if access == Access::Secret && mode & 0o077 != 0 {
        Err(Reason::Mode(mode & 0o7777))
    } else if facts.len() > LARGEST {
        Err(Reason::TooLarge(facts.len()))
    } else {
        Ok(())
    }
}
