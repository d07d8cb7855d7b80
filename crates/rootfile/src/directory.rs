//! Directories: the record that says where the key list is, and the key list.
//! (ROOT: `TDirectoryFile`; source: `io/doc/TFile/tdirectory.md`, `keyslist.md`.)

use std::borrow::Borrow;
use std::ops::Range;

use bytes::Bytes;

use crate::cursor::Cursor;
use crate::error::{Error, Result};
use crate::header::{has_long_offsets, read_offset};
use crate::key::{KEY_LEN_MIN, Key};

/// Bytes of a directory's content up to the end of its offsets, at most.
pub const DIRECTORY_LEN: u64 = 42;

/// Where a directory's key list is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirectoryRecord {
    /// Offset and length of the record of the key list (`fSeekKeys`, `fNbytesKeys`); zero where
    /// the directory was never closed.
    pub keys_offset: u64,
    pub keys_len: u64,
    /// Bytes in front of this in the directory's own record (`fNbytesName`), and its offset
    /// (`fSeekDir`).
    pub name_len: u64,
    pub directory_offset: u64,
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
        let name_len = u64::from(cursor.u32()?);
        let big = has_long_offsets(version);
        let directory_offset = read_offset(cursor, big)?;
        let _parent = read_offset(cursor, big)?;
        let keys_offset = read_offset(cursor, big)?;
        Ok(DirectoryRecord { keys_offset, keys_len, name_len, directory_offset })
    }

    /// Compares the directory's own statement of its offset with the real one: `name_len` bytes
    /// behind `offset`.
    ///
    /// # Errors
    /// `Corrupt` where they differ.
    pub fn check(&self, offset: u64, name_len: u64) -> Result<()> {
        if (self.directory_offset, self.name_len) == (offset, name_len) {
            return Ok(());
        }
        let message = format!(
            "a directory at {offset}, its names {name_len} bytes long, that says {} and {}",
            self.directory_offset, self.name_len
        );
        Err(Error::corrupt(message).at(offset))
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
    /// `Corrupt` where it ends early, counts more keys than its bytes can hold or fewer than there
    /// are, or where its own key is not that of a record in this place and of this length.
    pub fn read(path: &str, record: &Bytes, offset: u64) -> Result<Directory> {
        let keys = listed_keys(record, offset).map_err(|error| error.within("key list"))?;
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

fn listed_keys(record: &Bytes, offset: u64) -> Result<Vec<Key>> {
    let own = Key::of_record(record, offset)?;
    // A writer that knows neither place nor length when it writes the key leaves the place empty
    // and a wrong fNbytes; its fObjlen is right.
    let is_here = own.offset == offset || own.offset == 0;
    if !is_here || own.key_len.checked_add(own.content_len) != Some(record.len() as u64) {
        let message = format!(
            "a list of {} bytes at {offset} whose key says {} + {} at {}",
            record.len(),
            own.key_len,
            own.content_len,
            own.offset
        );
        return Err(Error::corrupt(message).at(offset));
    }
    let mut cursor = Cursor::new(record, offset);
    cursor.skip(usize::try_from(own.key_len).unwrap_or(usize::MAX))?;
    let count = cursor.count(KEY_LEN_MIN)?;
    let keys = (0..count).map(|_| listed_key(&mut cursor)).collect::<Result<Vec<Key>>>()?;
    check_rest(count, own.content_len, cursor)?;
    Ok(keys)
}

/// A key of a list, which is as long as it says.
fn listed_key(cursor: &mut Cursor<'_>) -> Result<Key> {
    /// Some writers count the letters of `TDirectory` and write `TDirectoryFile`.
    const LONGER: u64 = "File".len() as u64;
    let start = cursor.clone();
    let key = Key::read(cursor)?;
    let length = (cursor.position() - start.position()) as u64;
    let longer = length.checked_sub(key.key_len);
    if longer == Some(0) || longer == Some(LONGER) && key.is_directory() {
        return Ok(key);
    }
    Err(start.corrupt(format!("a key of {length} bytes that says it has {}", key.key_len)))
}

/// Refuses lists that go on behind the keys that they count.
///
/// ROOT leaves nothing there, or eight bytes in files of more than 2 GB. uproot takes more room
/// than a list needs, whose rest has zeros, keys of deleted objects, or the bytes that were there
/// before.
fn check_rest(count: usize, content_len: u64, mut rest: Cursor<'_>) -> Result<()> {
    const SPARE: usize = 8;
    /// Room for the list of a new directory of uproot.
    const NEW: std::ops::RangeInclusive<u64> = 256..=272;
    let start = rest.clone();
    let mut more = 0;
    while rest.remaining() > SPARE && listed_key(&mut rest).is_ok() {
        more += 1;
    }
    let is_full = rest.remaining() <= SPARE;
    if more > 0 && (is_full || count == 0) {
        return Err(start.corrupt(format!("{count} keys are counted, and {more} more follow")));
    }
    let left = start.remaining();
    if count == 0 && left > SPARE && !NEW.contains(&content_len) {
        return Err(start.corrupt(format!("no keys are counted, and {left} bytes follow")));
    }
    Ok(())
}

/// Names as messages list them: the first twenty.
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
        let expected = DirectoryRecord {
            keys_offset: 512,
            keys_len: 200,
            name_len: 58,
            directory_offset: 100,
        };
        assert_eq!(record, expected);
        record.check(100, 58).unwrap();
        assert!(record.check(100, 59).is_err() && record.check(0, 58).is_err());
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

    const KEYS: &[(&str, u16)] = &[("a", 1), ("b", 3), ("b", 4), ("b", 2)];

    /// The record of a list at byte 768 which counts so many keys, and has these and the bytes
    /// `behind` them.
    fn key_list(count: i32, keys: &[(&str, u16)], behind: &[u8]) -> Bytes {
        let mut content = count.to_be_bytes().to_vec();
        keys.iter().for_each(|(name, cycle)| content.extend(key_bytes(name, *cycle)));
        content.extend(behind);
        let mut raw = key_bytes("", 1);
        raw[6..10].copy_from_slice(&(content.len() as u32).to_be_bytes());
        raw.extend(content);
        Bytes::from(raw)
    }

    fn read(list: &Bytes) -> Result<Directory> {
        Directory::read("", list, 768)
    }

    #[test]
    fn the_highest_cycle_is_the_default() {
        let directory = read(&key_list(4, KEYS, &[])).unwrap();
        assert_eq!(directory.keys.len(), 4);
        assert_eq!(directory.key("b", None).unwrap().cycle, 4);
        assert_eq!(directory.key("b", Some(2)).unwrap().cycle, 2);
        assert_eq!(directory.key("b", Some(9)), None);
        assert_eq!(directory.key("b", Some(1)), None);
        assert_eq!(directory.key("a", None).unwrap().cycle, 1);
        assert_eq!((directory.key("", None), directory.key("c", None)), (None, None));
        assert_eq!(Directory::default().key("a", None), None);
        assert!(directory.lacks("c").to_string().contains("which has a, b"));
        let empty = read(&key_list(0, &[], &[])).unwrap();
        assert!(empty.lacks("c").to_string().contains("the file, which is empty"));
    }

    #[test]
    fn a_count_of_keys_that_cannot_be_is_refused() {
        for count in [i32::MAX, 5, -1] {
            assert!(read(&key_list(count, KEYS, &[])).is_err(), "{count}");
        }
    }

    /// Lists of which a copy had left zeros were empty directories without a word.
    #[test]
    fn zeros_are_no_list_and_no_key() {
        let good = key_list(4, KEYS, &[]);
        let own_len = good.len() - 4 - 4 * key_bytes("a", 1).len();
        let said = |range: Range<usize>| {
            let mut list = good.to_vec();
            list[range].fill(0);
            read(&list.into()).unwrap_err().to_string()
        };
        assert!(said(0..good.len()).contains("zeros instead of a record"));
        assert!(said(0..own_len).contains("zeros instead of a record"));
        assert!(said(own_len..own_len + 4).contains("0 keys are counted, and 4 more follow"));
        assert!(said(own_len..good.len()).contains("no keys are counted, and 140 bytes follow"));
        assert!(said(own_len + 4..good.len()).contains("a key of"));
        assert!(said(own_len + 40..good.len()).contains("a key of"));
    }

    #[test]
    fn a_list_is_where_and_as_long_as_its_own_key_says() {
        let good = key_list(4, KEYS, &[]);
        assert!(Directory::read("", &good, 769).is_err());
        assert!(read(&good.slice(..good.len() - 1)).is_err());
        let mut nowhere = good.to_vec();
        nowhere[18..22].fill(0);
        nowhere[..4].copy_from_slice(&38u32.to_be_bytes());
        assert_eq!(read(&nowhere.into()), read(&good), "neither place nor length were known yet");
        assert!(read(&key_list(3, KEYS, &[])).unwrap_err().to_string().contains("1 more"));
    }

    #[test]
    fn what_root_and_uproot_leave_behind_a_list() {
        assert_eq!(read(&key_list(4, KEYS, &[9; 8])).unwrap().keys.len(), 4);
        let new = vec![0; 256 - 4];
        assert_eq!(read(&key_list(0, &[], &new)).unwrap().keys, []);
        // Of two keys the second was deleted.
        assert_eq!(read(&key_list(1, &KEYS[..2], &new)).unwrap().keys.len(), 1);
        // Other things were in its place before.
        assert_eq!(read(&key_list(4, KEYS, &[0xa7; 77])).unwrap().keys.len(), 4);
    }
}
