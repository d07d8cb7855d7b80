//! Directories: the record that says where the key list is, and the key list.
//! (ROOT: `TDirectoryFile`; source: `io/doc/TFile/tdirectory.md`, `keyslist.md`.)

use std::borrow::Borrow;
use std::ops::Range;

use bytes::Bytes;

use crate::cursor::Cursor;
use crate::error::{Error, Result};
use crate::header::seek;
use crate::key::{KEY_LEN_MIN, Key};

/// Bytes of a directory's content up to the end of its offsets, at most.
pub const DIRECTORY_LEN: u64 = 42;

/// Where a directory's key list is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirectoryRecord {
    /// Offset and length of the record of the key list (`fSeekKeys`, `fNbytesKeys`); zero where
    /// the directory was never closed.
    pub seek_keys: u64,
    pub keys_len: u64,
    /// Offset of the directory's own record (`fSeekDir`).
    pub seek_directory: u64,
}

impl DirectoryRecord {
    /// Reads a directory's content.
    ///
    /// # Errors
    /// `Corrupt` where the bytes end.
    pub fn read(cursor: &mut Cursor<'_>) -> Result<DirectoryRecord> {
        let version = cursor.u16()?;
        let _times = (cursor.u32()?, cursor.u32()?);
        let keys_len = u64::from(cursor.u32()?);
        let _name_len = cursor.u32()?;
        let big = version > 1000;
        let seek_directory = seek(cursor, big)?;
        let _parent = seek(cursor, big)?;
        let seek_keys = seek(cursor, big)?;
        Ok(DirectoryRecord { seek_keys, keys_len, seek_directory })
    }
}

/// A directory's keys, in the order of its list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Directory {
    /// Names of the directories from the top to here, joined by `/`; empty for the top.
    pub path: String,
    pub keys: Vec<Key>,
    /// Where its key list is; empty where there is none.
    pub range: Range<u64>,
    /// Positions of the keys by name and cycle: there may be very many.
    by_name: Vec<usize>,
}

impl Directory {
    /// A directory of these keys.
    pub fn new(path: &str, keys: Vec<Key>, range: Range<u64>) -> Directory {
        let mut by_name: Vec<usize> = (0..keys.len()).collect();
        by_name.sort_by_key(|at| by_name_and_cycle(&keys[*at]));
        Directory { path: path.into(), keys, range, by_name }
    }

    /// Reads the record of a key list, which starts at `offset` in the file.
    ///
    /// # Errors
    /// `Corrupt` where it ends early or counts more keys than its bytes can hold.
    pub fn read(path: &str, record: &Bytes, offset: u64) -> Result<Directory> {
        let mut cursor = Cursor::new(record, offset);
        let own = Key::read(&mut cursor)?;
        let content = usize::try_from(own.key_len).unwrap_or(usize::MAX);
        let mut cursor = Cursor::new(record, offset);
        cursor.skip(content)?;
        let count = cursor.count(KEY_LEN_MIN)?;
        let keys = (0..count).map(|_| Key::read(&mut cursor)).collect::<Result<Vec<Key>>>();
        let keys = keys.map_err(|error| error.within("key list"))?;
        let range = offset..offset.saturating_add(record.len() as u64);
        Ok(Directory::new(path, keys, range))
    }

    /// The key of that name and cycle; the highest cycle where none is given.
    pub fn key(&self, name: &str, cycle: Option<u16>) -> Option<&Key> {
        let key = |at: &usize| &self.keys[*at];
        let last = (name, cycle.unwrap_or(u16::MAX));
        let behind = self.by_name.partition_point(|at| by_name_and_cycle(key(at)) <= last);
        let found = key(self.by_name.get(behind.checked_sub(1)?)?);
        (found.name == name && cycle.is_none_or(|cycle| found.cycle == cycle)).then_some(found)
    }

    /// That there is no such key, and which there are.
    pub fn lacks(&self, name: &str) -> Error {
        let mut names: Vec<&str> = self.keys.iter().map(|key| key.name.as_str()).collect();
        names.dedup();
        let place = if self.path.is_empty() { "the file" } else { &self.path };
        if names.is_empty() {
            return Error::not_found(format!("no \"{name}\" in {place}, which is empty"));
        }
        Error::not_found(format!("no \"{name}\" in {place}, which has {}", listed(&names)))
    }
}

/// Names as messages tell them: the first twenty.
pub fn listed(names: &[impl Borrow<str>]) -> String {
    const NAMES_MAX: usize = 20;
    let more = if names.len() > NAMES_MAX { ", …" } else { "" };
    names[..names.len().min(NAMES_MAX)].join(", ") + more
}

fn by_name_and_cycle(key: &Key) -> (&str, u16) {
    (&key.name, key.cycle)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rustfmt::skip]
    const DIRECTORY: &[u8] = &[
        0, 5,                       // version
        0, 0, 0, 1, 0, 0, 0, 2,     // created, modified
        0, 0, 0, 200,               // length of the key list
        0, 0, 0, 58,                // length of the name
        0, 0, 0, 100, 0, 0, 0, 0,   // own offset, the parent's
        0, 0, 2, 0,                 // offset of the key list
    ];

    #[test]
    fn a_directory_record() {
        let buffer = Bytes::from_static(DIRECTORY);
        let record = DirectoryRecord::read(&mut Cursor::new(&buffer, 0)).unwrap();
        let expected = DirectoryRecord { seek_keys: 512, keys_len: 200, seek_directory: 100 };
        assert_eq!(record, expected);
        for len in 0..DIRECTORY.len() {
            let buffer = Bytes::from_static(&DIRECTORY[..len]);
            assert!(DirectoryRecord::read(&mut Cursor::new(&buffer, 0)).is_err(), "{len} bytes");
        }
    }

    fn key_bytes(name: &str, cycle: u16) -> Vec<u8> {
        let mut raw = 100i32.to_be_bytes().to_vec();
        raw.extend([0, 4, 0, 0, 0, 50, 0, 0, 0, 0]);
        raw.extend((26 + 3 + 5 + name.len() as u16).to_be_bytes());
        raw.extend(cycle.to_be_bytes());
        raw.extend([0, 0, 3, 0, 0, 0, 0, 100]);
        raw.extend(b"\x05TTree");
        raw.push(name.len() as u8);
        raw.extend(name.bytes());
        raw.push(0);
        raw
    }

    fn key_list(count: i32) -> Bytes {
        let mut raw = key_bytes("", 1);
        raw.extend(count.to_be_bytes());
        for (name, cycle) in [("a", 1), ("b", 3), ("b", 4), ("b", 2)] {
            raw.extend(key_bytes(name, cycle));
        }
        Bytes::from(raw)
    }

    #[test]
    fn the_highest_cycle_is_the_default() {
        let directory = Directory::read("", &key_list(4), 0).unwrap();
        assert_eq!(directory.keys.len(), 4);
        assert_eq!(directory.key("b", None).unwrap().cycle, 4);
        assert_eq!(directory.key("b", Some(2)).unwrap().cycle, 2);
        assert_eq!(directory.key("b", Some(9)), None);
        assert_eq!(directory.key("b", Some(1)), None);
        assert_eq!(directory.key("a", None).unwrap().cycle, 1);
        assert_eq!((directory.key("", None), directory.key("c", None)), (None, None));
        assert_eq!(Directory::default().key("a", None), None);
        assert!(directory.lacks("c").to_string().contains("which has a, b"));
        let empty = Directory::read("", &key_list(0), 0).unwrap();
        assert!(empty.lacks("c").to_string().contains("the file, which is empty"));
    }

    #[test]
    fn a_count_of_keys_that_cannot_be_is_refused() {
        assert!(Directory::read("", &key_list(i32::MAX), 0).is_err());
        assert!(Directory::read("", &key_list(5), 0).is_err());
        assert!(Directory::read("", &key_list(-1), 0).is_err());
    }
}
