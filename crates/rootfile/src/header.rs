//! The first record of a file (ROOT: `TFile`).
//!
//! ```text
//! "root"  version:i32  begin:u32  end  free_offset  nbytes_free:u32  free_count:u32
//! nbytes_name:u32  units:u8  compress:u32  infos_offset  nbytes_info:u32  uuid
//! ```
//!
//! `end`, `free_offset` and `infos_offset` have four bytes, or eight where the version is at least
//! 1,000,000, which ROOT writes once a file has passed 2 GB.
//! Where uproot adds to a small file, it takes that number from its version, which is then
//! negative.
//! (Source: ROOT, `io/doc/TFile/header.md`.)

use bytes::Bytes;

use crate::cursor::Cursor;
use crate::error::{Error, Result};

/// Bytes of the header in a big file; a small one has fewer, and something else follows.
pub const HEADER_LEN: u64 = 75;

/// Added to the version of a file whose offsets have eight bytes.
const BIG: i32 = 1_000_000;

/// Earlier files have other records than those read here.
const VERSION_MIN: u32 = 30_000;

/// Fields of the header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// Version of the ROOT that wrote it: 62 806 is 6.28/06 (`fVersion`, without the mark of
    /// big files).
    pub version: u32,
    /// Whether the header's offsets have eight bytes.
    pub big: bool,
    /// Offset of the first record, which is the top directory (`fBEGIN`).
    pub begin: u64,
    /// Offset behind the last record (`fEND`).
    pub end: u64,
    /// The record of the free ranges of the file (`fSeekFree`, `fNbytesFree`).
    pub free_offset: u64,
    pub free_len: u64,
    /// Bytes from `begin` to the top directory's content (`fNbytesName`).
    pub name_len: u64,
    /// Algorithm * 100 + level (`fCompress`).
    pub compress: i32,
    /// The record of the streamer infos (`fSeekInfo`, `fNbytesInfo`); empty where there is none.
    pub infos_offset: u64,
    pub info_len: u64,
    /// The file's own number (`fUUID`); `None` where the bytes end before it.
    pub uuid: Option<u128>,
}

impl Header {
    /// Reads the header from the file's first bytes, [`HEADER_LEN`] of them or the whole file.
    ///
    /// # Errors
    /// `Corrupt` where they are not a ROOT file's or contradict each other, `Unsupported` for
    /// files from before ROOT 3.
    pub fn read(bytes: &Bytes) -> Result<Header> {
        let mut cursor = Cursor::new(bytes, 0);
        if bytes.get(..4) != Some(b"root") {
            let start = bytes[..bytes.len().min(8)].escape_ascii().to_string();
            let message = format!("not a ROOT file: it starts with \"{start}\", not with \"root\"");
            return Err(Error::corrupt(message).at(0));
        }
        cursor.skip(4)?;
        let marked = cursor.i32()?;
        let big = marked >= BIG;
        let version = marked.rem_euclid(BIG) as u32;
        if version < VERSION_MIN {
            return Err(cursor.unsupported(format!("file of ROOT version {version}, before 3.00")));
        }
        let begin = u64::from(cursor.u32()?);
        let end = read_offset(&mut cursor, big)?;
        let free_offset = read_offset(&mut cursor, big)?;
        let free_len = u64::from(cursor.u32()?);
        let _free = cursor.u32()?;
        let name_len = u64::from(cursor.u32()?);
        let _units = cursor.u8()?;
        let compress = cursor.i32()?;
        let infos_offset = read_offset(&mut cursor, big)?;
        let info_len = u64::from(cursor.u32()?);
        let own = uuid(&mut cursor).ok();
        let uuid = own.filter(|_| cursor.position() as u64 <= begin);
        let header = Header {
            version,
            big,
            begin,
            end,
            free_offset,
            free_len,
            name_len,
            compress,
            infos_offset,
            info_len,
            uuid,
        };
        header.check().map_err(|error| error.within("header"))
    }

    fn check(self) -> Result<Header> {
        if self.begin < 40 || self.begin > self.end {
            let message = format!("first record at {}, end at {}", self.begin, self.end);
            return Err(Error::corrupt(message).at(8));
        }
        let some = self.infos_offset != 0 && self.info_len != 0;
        let fits =
            self.infos_offset.checked_add(self.info_len).is_some_and(|stop| stop <= self.end);
        if some && (!fits || self.infos_offset < self.begin) {
            let message = format!(
                "streamer infos of {} bytes at {} in a file that ends at {}",
                self.info_len, self.infos_offset, self.end
            );
            return Err(Error::corrupt(message).at(8));
        }
        Ok(self)
    }
}

/// A `TUUID`, behind its version.
fn uuid(cursor: &mut Cursor<'_>) -> Result<u128> {
    let _version = cursor.u16()?;
    let high = cursor.u64()?;
    let low = cursor.u64()?;
    Ok(u128::from(high) << 64 | u128::from(low))
}

/// Added to the version of a record whose offsets have eight bytes: keys, directories, free ranges.
pub(crate) const LONG_OFFSETS: u16 = 1000;

/// Whether the offsets of a record of this version have eight bytes, else four.
pub(crate) fn has_long_offsets(version: u16) -> bool {
    version > LONG_OFFSETS
}

/// An offset of four or eight bytes.
pub(crate) fn read_offset(cursor: &mut Cursor<'_>, big: bool) -> Result<u64> {
    if big { cursor.u64() } else { Ok(cursor.u32()?.into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: &[u8] = &[
        b'r', b'o', b'o', b't', //
        0, 0, 0xf5, 0x56, // version 62806
        0, 0, 0, 100, // begin
        0, 0, 0x10, 0, // end
        0, 0, 0x0f, 0, 0, 0, 0, 61, 0, 0, 0, 1, // free list: offset, length, count
        0, 0, 0, 58, // name_len
        4,  // units
        0, 0, 1, 245, // compress: 501
        0, 0, 8, 0, // infos_offset
        0, 0, 2, 0, // info_len
        0, 1, 0, 0, // the UUID starts
    ];

    #[test]
    fn a_small_file() {
        let header = Header::read(&Bytes::from_static(SMALL)).unwrap();
        let expected = Header {
            version: 62806,
            big: false,
            begin: 100,
            end: 4096,
            free_offset: 3840,
            free_len: 61,
            name_len: 58,
            compress: 501,
            infos_offset: 2048,
            info_len: 512,
            uuid: None,
        };
        assert_eq!(header, expected);
        let whole = [&SMALL[..SMALL.len() - 2], &[0xa5; 16]].concat();
        let uuid = Header::read(&Bytes::from(whole)).unwrap().uuid;
        assert_eq!(uuid, Some(u128::from_be_bytes([0xa5; 16])));
    }

    #[test]
    fn a_big_file() {
        let mut raw = b"root".to_vec();
        raw.extend(1_062_806u32.to_be_bytes());
        raw.extend(100u32.to_be_bytes());
        raw.extend((5u64 << 32).to_be_bytes()); // end
        raw.extend([0; 16]); // free list
        raw.extend(58u32.to_be_bytes());
        raw.push(8);
        raw.extend(101u32.to_be_bytes());
        raw.extend((4u64 << 32).to_be_bytes()); // infos_offset
        raw.extend(300u32.to_be_bytes());
        let header = Header::read(&Bytes::from(raw)).unwrap();
        assert!(header.big);
        assert_eq!((header.version, header.end, header.infos_offset), (62806, 5 << 32, 4 << 32));
    }

    /// It was taken for a big file, and refused as one that is cut.
    #[test]
    fn a_small_file_that_uproot_has_added_to() {
        let mut raw = SMALL.to_vec();
        raw[4..8].copy_from_slice(&(62_824 - BIG).to_be_bytes());
        let header = Header::read(&Bytes::from(raw)).unwrap();
        assert_eq!((header.version, header.big, header.end), (62_824, false, 4096));
    }

    #[test]
    fn what_is_not_a_header_is_refused() {
        assert!(Header::read(&Bytes::from_static(b"PK\x03\x04")).is_err());
        for len in 0..45 {
            assert!(Header::read(&Bytes::from_static(&SMALL[..len])).is_err(), "{len} bytes");
        }
        let mut behind = SMALL.to_vec();
        behind[37] = 0x7f; // infos_offset behind the end
        assert!(Header::read(&Bytes::from(behind)).is_err());
    }
}
