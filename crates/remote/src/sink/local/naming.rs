//! The temporary name of a file that is being written, and how it gets its own.

use std::ffi::{OsStr, OsString};
use std::fs::{File, TryLockError};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;

use super::super::{CreateOptions, NAME_LEN_MAX};
use super::{cannot_begin, is_written};
use crate::disk::{CHANCE_LEN, FolderEntry, Temporary, is_unsupported};
use crate::error::{Error, Result};

/// Tries to make a file under a name of chance.
const TRIES: u32 = 100;

/// A new file beside the target, `.NAME.CHANCE.part`, locked. Files that writers of the same target
/// have left behind are removed.
pub fn beside(target: &FolderEntry, options: CreateOptions) -> Result<(File, Temporary)> {
    let wrong = |error: &io::Error| cannot_begin(target, error);
    let prefix = part_prefix(target);
    for _ in 0..TRIES {
        let part = target.unguessable(&prefix, SUFFIX);
        let file = match part.create_new() {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            created => created.map_err(|error| wrong(&error))?,
        };
        let part = Temporary::new(part);
        // Another writer may take it for one that was left, until it is locked.
        let is_ours = !matches!(file.try_lock(), Err(TryLockError::WouldBlock));
        if is_ours && file.metadata().map_err(|error| wrong(&error))?.nlink() > 0 {
            remove_left(target, part.entry(), options)?;
            return Ok((file, part));
        }
    }
    Err(wrong(&io::ErrorKind::AlreadyExists.into()))
}

const SUFFIX: &str = ".part";

/// The first letters of the names of a target's parts.
fn part_prefix(target: &FolderEntry) -> OsString {
    let name = target.name().as_bytes();
    let mut prefix = OsString::from(".");
    prefix.push(OsStr::from_bytes(&name[..name.len().min(NAME_LEN_MAX)]));
    prefix.push(".");
    prefix
}

/// The parts of a target; none where the folder cannot be listed, which may be written to all the
/// same.
fn parts(target: &FolderEntry) -> Vec<FolderEntry> {
    let prefix = part_prefix(target);
    let is_part = |entry: &FolderEntry| {
        let rest = entry.name().as_bytes().strip_prefix(prefix.as_bytes());
        let chance = rest.and_then(|rest| rest.strip_suffix(SUFFIX.as_bytes()));
        chance.is_some_and(|c| c.len() == CHANCE_LEN && c.iter().all(u8::is_ascii_hexdigit))
    };
    let mut siblings = target.siblings().unwrap_or_default();
    siblings.retain(is_part);
    siblings
}

/// Removes the file that a crash in [`name_held`] has left under the target's name: it names the
/// part of a writer that has ended. That is not known of an empty file, which may be a user's.
pub fn remove_held(target: &FolderEntry) {
    let has_ended = |part: &FolderEntry| part.open_own().is_ok_and(|part| part.try_lock().is_ok());
    let holds = |part: &FolderEntry| is_held(target, part).is_ok_and(|held| held);
    if parts(target).iter().any(|part| holds(part) && has_ended(part)) {
        // Where that is refused, the target is there already.
        let _ = target.remove();
    }
}

/// Removes the parts that writers of the same target have left which have ended.
fn remove_left(target: &FolderEntry, ours: &FolderEntry, options: CreateOptions) -> Result<()> {
    for part in parts(target) {
        if part.name() == ours.name() {
            continue;
        }
        let Ok(other) = part.open_own() else { continue };
        match other.try_lock() {
            Ok(()) => drop(part.remove()),
            Err(TryLockError::WouldBlock) if options.shared => {}
            Err(TryLockError::WouldBlock) => return Err(is_written()),
            Err(TryLockError::Error(_)) => {}
        }
    }
    Ok(())
}

/// Renames a file, if no other file has the name `target`.
pub fn name_new(part: Temporary, target: &FolderEntry) -> io::Result<()> {
    match part.entry().rename_new(target) {
        Ok(()) => {
            part.keep();
            Ok(())
        }
        // The file system may have neither hard links nor a rename that replaces nothing.
        Err(error) if is_unsupported(&error) => name_held(part, target),
        Err(error) => Err(error),
    }
}

/// As [`name_new`]: creates a file of that name, which the rename then replaces. A crash in between
/// leaves it beside the part: see [`remove_held`].
pub fn name_held(part: Temporary, target: &FolderEntry) -> io::Result<()> {
    let mut held = target.create_new()?;
    if let Err(error) = held.write_all(&held_text(part.entry())) {
        if target.names(&held) {
            let _ = target.remove();
        }
        return Err(error);
    }
    drop(held);
    name_over(part, target)
}

/// Renames a file over the one that holds the name for it, if no other writer has that by now.
pub fn name_over(part: Temporary, target: &FolderEntry) -> io::Result<()> {
    let held_for = part.entry().clone();
    if !is_held(target, &held_for)? {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    part.rename(target).inspect_err(|_| {
        if is_held(target, &held_for).is_ok_and(|held| held) {
            let _ = target.remove();
        }
    })
}

/// The content of a file that holds a name for a part; no other writer puts that into one.
pub fn held_text(part: &FolderEntry) -> Vec<u8> {
    [b"farroot is about to give this name to ", part.name().as_bytes(), b"\n"].concat()
}

/// Whether a name is held for a part, by a file that no other process has replaced or written to.
fn is_held(target: &FolderEntry, part: &FolderEntry) -> io::Result<bool> {
    let text = held_text(part);
    let there = target.metadata()?;
    let may_be = there.is_file() && there.len() == text.len() as u64;
    Ok(may_be && crate::disk::content(target, text.len() as u64)? == text)
}

pub fn cannot_name(target: &FolderEntry, error: &io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::AlreadyExists => Error::target_is_there(),
        _ => cannot_begin(target, error),
    }
}
