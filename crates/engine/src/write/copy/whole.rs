//! Copies that have all of their input, under the same names and cycles: a program that opens the
//! copy in place of the input finds the same.

use std::collections::BTreeSet;

use remote::{Error, ErrorKind, Result};
use rootfile::directory::Directory;

use super::inputs::path_of;

/// That a copy of one key of each name has all of these directories.
///
/// # Errors
/// `Unsupported` with the key or the directory that it would lack.
pub fn check_directories(directories: &[Directory]) -> Result<()> {
    for directory in directories {
        if directory.keys.is_empty() && !directory.path.is_empty() {
            let text = format!("the directory {} is empty, and would be left out", directory.path);
            return Err(Error::new(ErrorKind::Unsupported, text));
        }
        check_cycles(directory)?;
        for key in &directory.keys {
            let path = path_of(&directory.path, &key.name);
            // ROOT gives keys that are not to be purged a negative cycle.
            let is_kept = key.cycle as i16 > 0 && (key.cycle == 1 || !key.is_directory());
            if !is_kept {
                let text = format!("{path};{} would have another cycle", key.cycle as i16);
                return Err(Error::new(ErrorKind::Unsupported, text));
            }
        }
    }
    Ok(())
}

/// That a copy of one key of each name has all of a directory.
///
/// # Errors
/// `Unsupported` with the name of several keys.
pub fn check_cycles(directory: &Directory) -> Result<()> {
    let mut names = BTreeSet::new();
    match directory.keys.iter().find(|key| !names.insert(&*key.name)) {
        Some(key) => {
            let path = path_of(&directory.path, &key.name);
            let text = format!("{path} has several cycles, of which one alone would be copied");
            Err(Error::new(ErrorKind::Unsupported, text))
        }
        None => Ok(()),
    }
}

/// That nothing is left out or changed: of a single input all notes say that something is.
///
/// # Errors
/// `Unsupported` with the first note.
pub fn check_notes(notes: &[String]) -> Result<()> {
    match notes.first() {
        Some(note) => Err(Error::new(ErrorKind::Unsupported, note.clone())),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use rootfile::key::Key;

    use super::*;

    fn directory(path: &str, keys: &[(&str, &str, u16)]) -> Directory {
        let key = |(name, class, cycle): &(&str, &str, u16)| Key {
            name: (*name).to_owned(),
            class: (*class).to_owned(),
            cycle: *cycle,
            title: String::new(),
            record_len: 0,
            content_len: 0,
            key_len: 0,
            datime: 0,
            offset: 0,
            directory_offset: 0,
        };
        Directory::new(path, keys.iter().map(key).collect(), 0..0)
    }

    /// Replicas had the newest cycles alone, as cycle 1, and no empty directories.
    #[test]
    fn all_that_a_copy_would_lack_is_named() {
        let folder = "TDirectoryFile";
        let said = |all: &[Directory]| check_directories(all).map_err(|error| error.to_string());
        let good = directory("", &[("d", folder, 1), ("t", "TTree", 3)]);
        let below = directory("d", &[("t", "TTree", 1)]);
        assert_eq!(said(&[good.clone(), below]), Ok(()));
        assert_eq!(said(&[directory("", &[])]), Ok(()), "an empty file");
        for (lacking, text) in [
            (vec![good.clone(), directory("d", &[])], "directory d is empty"),
            (vec![directory("", &[("t", "TTree", 2), ("t", "TTree", 1)])], "t has several cycles"),
            (vec![good.clone(), directory("d", &[("e", folder, 2)])], "d/e;2"),
            (vec![directory("", &[("t", "TTree", u16::MAX)])], "t;-1"),
        ] {
            let error = said(&lacking).unwrap_err();
            assert!(error.contains(text), "{error}");
        }
        assert!(check_notes(&[]).is_ok() && check_notes(&["h is left out".to_owned()]).is_err());
    }
}
