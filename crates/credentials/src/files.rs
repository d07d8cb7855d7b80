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
    let Some((mut file, facts)) = open(path)? else { return Ok(None) };
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

/// The permissions of a file, for lists.
pub(crate) fn mode(path: &Path) -> Option<u32> {
    Some(std::fs::metadata(path).ok()?.mode() & 0o7777)
}

fn open(path: &Path) -> Result<Option<(File, Metadata)>, Reason> {
    let flags = nix::libc::O_NONBLOCK | nix::libc::O_NOCTTY;
    let opened = OpenOptions::new().read(true).custom_flags(flags).open(path);
    match opened.and_then(|file| file.metadata().map(|facts| (file, facts))) {
        Ok(opened) => Ok(Some(opened)),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(error) => Err(Reason::Unreadable(error.kind().to_string())),
    }
}

fn judge(facts: &Metadata, user: u32, access: Access) -> Result<(), Reason> {
    let mode = facts.mode();
    if !facts.is_file() {
        Err(Reason::NotAFile)
    } else if facts.uid() != user && facts.uid() != 0 {
        Err(Reason::Owner(facts.uid()))
    } else if access == Access::Secret && mode & 0o077 != 0 {
        Err(Reason::Mode(mode & 0o7777))
    } else if facts.len() > LARGEST {
        Err(Reason::TooLarge(facts.len()))
    } else {
        Ok(())
    }
}
