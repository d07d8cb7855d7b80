//! The key in front of every record, and in a directory's key list (ROOT: `TKey`).
//!
//! ```text
//! nbytes:i32  version:u16  objlen:u32  datime:u32  keylen:u16  cycle:u16
//! offset  directory_offset  class:string  name:string  title:string
//! ```
//!
//! The two offsets have eight bytes where the version is above 1000, else four.
//! (Source: ROOT, `io/doc/TFile/datarecord.md`.)

use bytes::Bytes;

use crate::cursor::Cursor;
use crate::error::{Error, Result};
use crate::header::{has_long_offsets, read_offset};
use crate::hole;

/// Bytes of a key without names and with short offsets: no key is shorter.
pub const KEY_LEN_MIN: usize = 29;

/// A record's description.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    /// Bytes of the whole record, this header included (`fNbytes`).
    pub record_len: u64,
    /// Bytes of the record's content, decompressed (`fObjlen`).
    pub content_len: u64,
    /// Bytes of this header (`fKeylen`).
    pub key_len: u64,
    /// Which of several keys of one name; the highest is the newest (`fCycle`).
    pub cycle: u16,
    /// When it was written, packed as ROOT does (`fDatime`).
    pub datime: u32,
    /// Offset of the record (`fSeekKey`).
    pub offset: u64,
    /// Offset of the directory that the object is in (`fSeekPdir`).
    pub directory_offset: u64,
    pub class: String,
    pub name: String,
    pub title: String,
}

impl Key {
    /// When it was written, by the clock of the writer: `2026-11-29 20:14:05`. `None` where the
    /// number is no time.
    pub fn written(&self) -> Option<String> {
        written(self.datime)
    }

    /// Reads one key. Lengths that contradict each other are left to readers of records, so that
    /// one bad key does not hide the others of its directory.
    ///
    /// # Errors
    /// `Corrupt` where the bytes end or the length is negative.
    pub fn read(cursor: &mut Cursor<'_>) -> Result<Key> {
        let at = cursor.clone();
        let record_len = cursor.i32()?;
        let version = cursor.u16()?;
        let content_len = u64::from(cursor.u32()?);
        let datime = cursor.u32()?;
        let key_len = u64::from(cursor.u16()?);
        let cycle = cursor.u16()?;
        let big = has_long_offsets(version);
        let offset = read_offset(cursor, big)?;
        let directory_offset = read_offset(cursor, big)?;
        Ok(Key {
            record_len: u64::try_from(record_len)
                .map_err(|_| at.corrupt(format!("a key of a record of {record_len} bytes")))?,
            content_len,
            key_len,
            cycle,
            datime,
            offset,
            directory_offset,
            class: cursor.string()?,
            name: cursor.string()?,
            title: cursor.string()?,
        })
    }

    /// The key that a record at `offset` begins with. No more of the record need be there.
    ///
    /// # Errors
    /// `Corrupt` where there are zeros, or a key of another length than it says.
    pub fn of_record(record: &Bytes, offset: u64) -> Result<Key> {
        if let Some(message) = hole::in_front(record, KEY_LEN_MIN) {
            return Err(Error::corrupt(message).at(offset));
        }
        let mut cursor = Cursor::new(record, offset);
        let key = Key::read(&mut cursor)?;
        let length = cursor.position() as u64;
        // More than a key is in front of a basket's content.
        let is_whole = key.key_len == length || key.key_len > length && key.class == "TBasket";
        if !is_whole {
            let message =
                format!("a record with a key of {length} bytes that says {}", key.key_len);
            return Err(Error::corrupt(message).at(offset));
        }
        Ok(key)
    }

    /// Compares this key, from a directory's list, with the one that its record begins with.
    ///
    /// ROOT writes both from the same object. Not compared are the time, and the directory, which
    /// some writers fill in later. A record without a key of its own has nothing to compare.
    ///
    /// # Errors
    /// `Corrupt` where they differ.
    pub fn check_record(&self, record: &Bytes) -> Result<()> {
        if self.key_len == 0 {
            return Ok(());
        }
        let own = Key::of_record(record, self.offset)?;
        let number = |name, own: u64, listed: u64| {
            (own != listed).then(|| format!("{name} {own}, the list of keys says {listed}"))
        };
        let text = |name, own: &str, listed: &str| {
            (own != listed).then(|| format!("{name} \"{own}\", the list of keys says \"{listed}\""))
        };
        let same_class = self.is_directory() && own.is_directory();
        let difference = number("fSeekKey", own.offset, self.offset)
            .or_else(|| number("fNbytes", own.record_len, self.record_len))
            .or_else(|| number("fObjlen", own.content_len, self.content_len))
            .or_else(|| number("fKeylen", own.key_len, self.key_len))
            .or_else(|| number("fCycle", own.cycle.into(), self.cycle.into()))
            .or_else(|| text("class", &own.class, &self.class).filter(|_| !same_class))
            .or_else(|| text("name", &own.name, &self.name))
            .or_else(|| text("title", &own.title, &self.title));
        match difference {
            Some(difference) => {
                Err(Error::corrupt(format!("a record of {difference}")).at(self.offset))
            }
            None => Ok(()),
        }
    }

    /// Whether the record is a directory's.
    pub fn is_directory(&self) -> bool {
        matches!(self.class.as_str(), "TDirectory" | "TDirectoryFile")
    }
}

/// A time as ROOT packs it (`TDatime`): years from 1995 in 6 bits, then month, day, hour, minute
/// and second.
pub fn written(datime: u32) -> Option<String> {
    let part = |shift: u32, bits: u32| datime >> shift & ((1 << bits) - 1);
    let [month, day, hour, minute, second] =
        [part(22, 4), part(17, 5), part(12, 5), part(6, 6), part(0, 6)];
    let is_time = (1..=12).contains(&month) && day > 0 && hour < 24 && minute < 60 && second < 60;
    let year = 1995 + part(26, 6);
    is_time.then(|| format!("{year}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rustfmt::skip]
    const KEY: &[u8] = &[
        0, 0, 1, 0,             // nbytes 256
        0, 4,                   // version 4
        0, 0, 4, 0,             // objlen 1024
        0x6e, 0x12, 0, 0,       // datime
        0, 43,                  // keylen
        0, 2,                   // cycle
        0, 0, 0x10, 0,          // offset
        0, 0, 0, 100,           // directory
        5, b'T', b'T', b'r', b'e', b'e',
        6, b'E', b'v', b'e', b'n', b't', b's',
        3, b'a', b'l', b'l',
    ];

    #[test]
    fn a_key_with_short_offsets_and_a_tail() {
        let mut raw = KEY.to_vec();
        raw.push(77);
        let buffer = Bytes::from(raw);
        let mut cursor = Cursor::new(&buffer, 0);
        let key = Key::read(&mut cursor).unwrap();
        assert_eq!((key.record_len, key.content_len, key.key_len), (256, 1024, 43));
        assert_eq!((key.offset, key.directory_offset, key.cycle), (4096, 100, 2));
        assert_eq!((&*key.class, &*key.name, &*key.title), ("TTree", "Events", "all"));
        assert_eq!(cursor.u8().unwrap(), 77);
    }

    #[test]
    fn a_key_with_long_offsets() {
        let mut raw = KEY.to_vec();
        raw[4..6].copy_from_slice(&1004u16.to_be_bytes());
        raw.splice(18..26, [0, 0, 0, 9, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 100]);
        let buffer = Bytes::from(raw);
        let key = Key::read(&mut Cursor::new(&buffer, 0)).unwrap();
        assert_eq!((key.offset, &*key.name), ((9 << 32) + 1, "Events"));
    }

    #[test]
    fn a_cut_or_impossible_key_is_refused() {
        for len in 0..KEY.len() {
            let buffer = Bytes::from_static(&KEY[..len]);
            assert!(Key::read(&mut Cursor::new(&buffer, 0)).is_err(), "{len} bytes");
        }
        let mut negative = KEY.to_vec();
        negative[0] = 0xff;
        let buffer = Bytes::from(negative);
        assert!(Key::read(&mut Cursor::new(&buffer, 0)).is_err());
    }
}
