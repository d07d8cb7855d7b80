//! The anchor: the object in the key list from which an RNTuple is found (ROOT: `ROOT::RNTuple`).
//!
//! ```text
//! byte count:u32  version:u16
//! epoch major minor patch:u16   offset, stored and uncompressed length of header and of footer:u64
//! max key size:u64              checksum:u64, XXH3 from epoch on; big-endian as in any object
//! ```

use std::ops::Range;

use bytes::Bytes;

use super::envelope::verify;
use crate::cursor::Cursor;
use crate::error::{Error, Result};

/// Class of the anchor.
pub const CLASS: &str = "ROOT::RNTuple";
/// Footers have a list of attribute sets from this version of the format on.
pub(crate) const WITH_ATTRIBUTE_SETS: [u16; 4] = [1, 0, 1, 0];
/// The newest version of which all parts are known here.
pub(crate) const NEWEST: [u16; 4] = [1, 0, 2, 0];
/// Class of the anchors of formats before version 1.0, which are unlike each other.
const CLASS_BEFORE: &str = "ROOT::Experimental::RNTuple";
/// Bytes in front of those that the checksum covers.
const PREFIX_LEN: usize = 6;

/// Whether objects of a class are RNTuples.
pub fn is_class(name: &str) -> bool {
    name == CLASS || name == CLASS_BEFORE
}

/// Where header and footer are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Anchor {
    /// Epoch, major, minor and patch version of the format that the writer knew.
    pub version: [u16; 4],
    pub header: EnvelopeLink,
    pub footer: EnvelopeLink,
    /// Longest record of the writer; longer envelopes are in several. Zero where it did not say.
    pub max_key_size: u64,
}

/// A range of the file and how long its content is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnvelopeLink {
    pub range: Range<u64>,
    /// Bytes, uncompressed.
    pub length: u64,
}

impl Anchor {
    /// Reads the content of an anchor's record, which is at `offset` in the file, and of the class
    /// that its key says.
    ///
    /// # Errors
    /// `Corrupt`, `Checksum`; `Unsupported` for another epoch of the format.
    pub fn read(class: &str, content: &Bytes, offset: u64) -> Result<Anchor> {
        let before_first = || {
            let message =
                "an RNTuple from before version 1.0 of the format; ROOT from 6.36 on writes it";
            Error::unsupported(message).at(offset)
        };
        if class == CLASS_BEFORE {
            return Err(before_first());
        }
        let mut cursor = Cursor::new(content, offset);
        cursor.skip(PREFIX_LEN)?;
        let mut version = [0; 4];
        let mut fields = cursor.clone();
        for part in &mut version {
            *part = fields.u16()?;
        }
        if version[0] == 0 {
            // The fields that follow, and the checksum, differ among them.
            return Err(before_first());
        }
        let covered_end = content.len().saturating_sub(8).max(PREFIX_LEN);
        let mut tail = Cursor::new(content, offset);
        tail.skip(covered_end)?;
        verify(&content[PREFIX_LEN..covered_end], tail.u64()?, "anchor")
            .map_err(|error| error.at(offset))?;
        if version[0] != 1 {
            let text = version.map(|part| part.to_string()).join(".");
            let message = format!("an RNTuple of format version {text}; 1.x is read");
            return Err(Error::unsupported(message).at(offset));
        }
        let header = link(&mut fields)?;
        let footer = link(&mut fields)?;
        Ok(Anchor { version, header, footer, max_key_size: fields.u64()? })
    }
}

fn link(cursor: &mut Cursor<'_>) -> Result<EnvelopeLink> {
    let at = cursor.clone();
    let offset = cursor.u64()?;
    let stored = cursor.u64()?;
    let length = cursor.u64()?;
    match offset.checked_add(stored) {
        Some(end) => Ok(EnvelopeLink { range: offset..end, length }),
        None => Err(at.corrupt(format!("{stored} bytes at {offset}"))),
    }
}

#[cfg(test)]
mod tests {
    use twox_hash::XxHash3_64;

    use super::*;

    fn anchor(epoch: u16, more: &[u8]) -> Vec<u8> {
        let mut fields = Vec::new();
        for part in [epoch, 0, 2, 0] {
            fields.extend(part.to_be_bytes());
        }
        for part in [100u64, 10, 20, 200, 30, 40, 1 << 30] {
            fields.extend(part.to_be_bytes());
        }
        fields.extend(more);
        let sum = XxHash3_64::oneshot(&fields).to_be_bytes();
        [&[0x40, 0, 0, 74, 0, 2][..], &fields, &sum].concat()
    }

    #[test]
    fn an_anchor_that_later_versions_have_made_longer() {
        for more in [&[][..], &[1, 2, 3, 4]] {
            let read = Anchor::read(CLASS, &anchor(1, more).into(), 1000).unwrap();
            assert_eq!(read.header, EnvelopeLink { range: 100..110, length: 20 });
            assert_eq!(read.footer, EnvelopeLink { range: 200..230, length: 40 });
            assert_eq!((read.version, read.max_key_size), ([1, 0, 2, 0], 1 << 30));
        }
    }

    #[test]
    fn cut_changed_and_foreign_anchors_are_refused() {
        let good = anchor(1, &[]);
        for len in 0..good.len() {
            assert!(Anchor::read(CLASS, &good[..len].to_vec().into(), 0).is_err(), "{len} bytes");
        }
        for at in PREFIX_LEN..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 0x10;
            let error = Anchor::read(CLASS, &bad.into(), 0).unwrap_err();
            assert!(error.to_string().contains("XXH3"), "{at}: {error}");
        }
        let error = Anchor::read(CLASS, &anchor(2, &[]).into(), 0).unwrap_err();
        assert!(error.to_string().contains("2.0.2.0"), "{error}");
    }

    /// Release candidates had anchors of other lengths, and the first of all no checksum.
    #[test]
    fn anchors_from_before_the_first_version_are_told() {
        for length in [PREFIX_LEN + 8, 40, 78] {
            let mut old = anchor(0, &[9; 8]);
            old.truncate(length);
            let error = Anchor::read(CLASS, &old.into(), 0).unwrap_err();
            assert!(error.to_string().contains("before version 1.0"), "{length}: {error}");
        }
        // The class of ROOT 6.28 had no version of the format at its beginning, but a checksum.
        let error = Anchor::read(CLASS_BEFORE, &anchor(1, &[]).into(), 0).unwrap_err();
        assert!(error.to_string().contains("before version 1.0"), "{error}");
    }
}
