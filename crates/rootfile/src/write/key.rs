//! The key in front of a record (ROOT: `TKey`; read in [`crate::key`]).

use super::buffer::Buffer;
use crate::error::{Error, Result};
use crate::header::LONG_OFFSETS;

/// Offsets above this need eight bytes (ROOT: `TFile::kStartBigFile`).
pub const BIG: u64 = 2_000_000_000;
/// The version of TKey that is written.
const VERSION: u16 = 4;
/// A free stretch has no fewer bytes: it begins with its length.
pub const GAP_MIN: u64 = 4;

/// Bytes of a key without its three strings, with offsets of four and of eight bytes.
const LEN_SHORT: usize = 26;
const LEN_LONG: usize = 34;

/// Fields of the key of a record whose offset is not known yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyHead {
    pub class: String,
    pub name: String,
    pub title: String,
    /// When it was written, packed as ROOT does (`fDatime`).
    pub datime: u32,
    /// Which of several keys of one name, from 1.
    pub cycle: u16,
    /// Offset of the directory that the record belongs to (`fSeekPdir`); 0 for the file's own.
    pub directory: u64,
    /// Bytes that the class adds to the key (19 for a `TBasket`), which follow it.
    pub extra: usize,
}

impl KeyHead {
    /// Bytes of the key of a record at `offset`, those that its class adds included (`fKeylen`).
    ///
    /// Baskets and blobs always have long offsets, so that their content need not wait for the
    /// place; others where the file has passed 2 GB.
    pub fn len(&self, offset: u64) -> usize {
        let fixed = if self.is_long(offset) { LEN_LONG } else { LEN_SHORT };
        let strings = [&self.class, &self.name, &self.title];
        fixed + strings.map(|text| string_len(text)).iter().sum::<usize>() + self.extra
    }

    /// Whether the key takes no bytes: never.
    pub fn is_empty(&self) -> bool {
        false
    }

    fn is_long(&self, offset: u64) -> bool {
        matches!(&*self.class, "TBasket" | "RBlob") || offset.max(self.directory) > BIG
    }

    /// Appends the key of a record at `offset` whose payload has `stored` bytes, and `content`
    /// when it is not compressed. The bytes that the class adds are left to the caller.
    ///
    /// # Errors
    /// `Limit` where key and payload are more than 2 GB - 1, or the key more than 64 kB.
    pub fn write(&self, to: &mut Buffer, offset: u64, stored: u64, content: u64) -> Result<()> {
        let key_len = self.len(offset);
        let too_long = |part: &str| {
            let name = &self.name;
            Error::limit(format!("{part} of \"{name}\", {} bytes", stored + key_len as u64))
        };
        let whole = i32::try_from(stored + key_len as u64).map_err(|_| too_long("the record"))?;
        let content = u32::try_from(content).map_err(|_| too_long("the content"))?;
        to.i32(whole);
        to.u16(if self.is_long(offset) { VERSION + LONG_OFFSETS } else { VERSION });
        to.u32(content);
        to.u32(self.datime);
        to.u16(u16::try_from(key_len).map_err(|_| too_long("names"))?);
        to.u16(self.cycle);
        for place in [offset, self.directory] {
            write_offset(to, self.is_long(offset), place);
        }
        for text in [&self.class, &self.name, &self.title] {
            to.string(text);
        }
        Ok(())
    }
}

/// Bytes of a counted string.
pub(super) fn string_len(text: &str) -> usize {
    if text.len() < 255 { 1 + text.len() } else { 5 + text.len() }
}

/// An offset of eight bytes, or of four.
pub(super) fn write_offset(to: &mut Buffer, long: bool, offset: u64) {
    if long { to.u64(offset) } else { to.u32(offset as u32) }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::cursor::Cursor;
    use crate::key::Key;

    fn head(class: &str, name: &str) -> KeyHead {
        let class = class.to_owned();
        let name = name.to_owned();
        KeyHead { class, name, title: "t".into(), datime: 7, cycle: 2, directory: 100, extra: 0 }
    }

    #[test]
    fn what_is_written_is_read() {
        for (class, offset) in [("TH1D", 200), ("TH1D", 3_000_000_000), ("TBasket", 200)] {
            let head = head(class, &"n".repeat(300));
            let mut buffer = Buffer::default();
            head.write(&mut buffer, offset, 50, 80).unwrap();
            assert_eq!(buffer.len(), head.len(offset));
            let bytes = Bytes::from(buffer.into_vec());
            let key = Key::read(&mut Cursor::new(&bytes, 0)).unwrap();
            assert_eq!((key.offset, key.directory_offset, key.cycle), (offset, 100, 2));
            assert_eq!((key.record_len, key.content_len), (50 + key.key_len, 80));
            assert_eq!((&key.class, &key.name, &key.title), (&head.class, &head.name, &head.title));
        }
    }

    #[test]
    fn a_record_that_is_too_long_is_refused() {
        let mut buffer = Buffer::default();
        assert!(head("TH1D", "h").write(&mut buffer, 200, 1 << 31, 1 << 31).is_err());
    }
}
