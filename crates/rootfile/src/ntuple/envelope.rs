//! Envelopes: the blocks that RNTuple's metadata come in.
//!
//! ```text
//! type:u16 length:u48   content   checksum:u64      XXH3 of all in front of it
//! ```

use bytes::Bytes;
use twox_hash::XxHash3_64;

use super::reader::EnvelopeReader;
use crate::block;
use crate::codec::Codecs;
use crate::error::{Error, Result};

/// Metadata beyond this are refused: page lists of a million pages take 30 MB.
pub(super) const ENVELOPE_LEN_MAX: u64 = 1 << 29;
/// An envelope longer than this may be so many times as long as its compressed bytes: its content
/// takes several times its length in memory.
const EXPANSION_FREE: u64 = 1 << 24;
const EXPANSION_MAX: u64 = 128;
/// Bytes of the head and of the checksum.
const FRAME_LEN: usize = 8 + CHECKSUM_LEN;
pub(super) const CHECKSUM_LEN: usize = 8;

/// Kinds of envelopes, by their content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EnvelopeKind {
    Header = 1,
    Footer = 2,
    PageList = 3,
}

/// An envelope whose checksum is right.
#[derive(Debug, Clone)]
pub(super) struct Envelope {
    content: Bytes,
    pub checksum: u64,
}

impl Envelope {
    /// Takes an envelope out of its stored bytes.
    ///
    /// # Errors
    /// `Corrupt` where lengths or types contradict each other, `Checksum`, `Limit`.
    pub fn open(kind: EnvelopeKind, stored: &Bytes, length: u64) -> Result<Envelope> {
        if length > ENVELOPE_LEN_MAX {
            return Err(Error::limit(format!("an envelope of {length} bytes")));
        }
        let stored_len = stored.len() as u64;
        if length > EXPANSION_FREE && length / EXPANSION_MAX > stored_len {
            let message = format!("an envelope of {length} bytes in {stored_len}");
            return Err(Error::limit(message));
        }
        let length = length as usize;
        let whole = if stored.len() == length {
            stored.clone()
        } else {
            block::decompress(&mut Codecs::default(), stored, length)?.into()
        };
        let Some((covered, checksum)) = whole.split_last_chunk::<CHECKSUM_LEN>() else {
            return Err(Error::corrupt(format!("an envelope of {length} bytes")));
        };
        let checksum = u64::from_le_bytes(*checksum);
        verify(covered, checksum, "envelope")?;
        let mut reader = EnvelopeReader::new(covered);
        let head = reader.u64()?;
        if head & 0xffff != kind as u64 {
            let found = head & 0xffff;
            let expected = kind as u64;
            let message = format!("an envelope of type {found} where {expected} was expected");
            return Err(Error::corrupt(message));
        }
        if head >> 16 != length as u64 {
            let message = format!("an envelope of {length} bytes that says it has {}", head >> 16);
            return Err(Error::corrupt(message));
        }
        let content = whole.slice(FRAME_LEN - CHECKSUM_LEN..length - CHECKSUM_LEN);
        Ok(Envelope { content, checksum })
    }

    /// All that is between its head and its checksum.
    pub fn content(&self) -> &Bytes {
        &self.content
    }

    pub fn reader(&self) -> EnvelopeReader<'_> {
        EnvelopeReader::new(&self.content)
    }
}

/// Compares a checksum of the file with that of the bytes.
///
/// # Errors
/// `Checksum` where they differ.
pub(super) fn verify(bytes: &[u8], stored: u64, part_name: &str) -> Result<()> {
    let computed = XxHash3_64::oneshot(bytes);
    if computed == stored {
        return Ok(());
    }
    Err(Error::checksum(format!(
        "{part_name} has XXH3 {computed:016x}, the file says {stored:016x}"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn envelope(kind: u64, length: u64, content: &[u8]) -> Bytes {
        let mut bytes = (kind | length << 16).to_le_bytes().to_vec();
        bytes.extend(content);
        bytes.extend(XxHash3_64::oneshot(&bytes).to_le_bytes());
        bytes.into()
    }

    #[test]
    fn a_right_envelope_opens() {
        let stored = envelope(2, 19, b"abc");
        let opened = Envelope::open(EnvelopeKind::Footer, &stored, 19).unwrap();
        assert_eq!(&opened.content[..], b"abc");
    }

    #[test]
    fn wrong_ones_say_what_is_wrong() {
        let good = envelope(2, 19, b"abc");
        for at in 0..good.len() {
            let mut bad = good.to_vec();
            bad[at] ^= 1;
            let error = Envelope::open(EnvelopeKind::Footer, &bad.into(), 19).unwrap_err();
            assert!(error.to_string().contains("XXH3"), "{at}: {error}");
        }
        for len in 0..good.len() {
            assert!(Envelope::open(EnvelopeKind::Footer, &good.slice(..len), len as u64).is_err());
            assert!(Envelope::open(EnvelopeKind::Footer, &good.slice(..len), 19).is_err());
        }
        assert!(Envelope::open(EnvelopeKind::Header, &good, 19).is_err());
        assert!(Envelope::open(EnvelopeKind::Footer, &envelope(2, 18, b"abc"), 19).is_err());
        assert!(Envelope::open(EnvelopeKind::Footer, &good, u64::MAX).is_err());
        let error = Envelope::open(EnvelopeKind::Footer, &good, 1 << 28).unwrap_err();
        assert!(error.to_string().contains("268435456 bytes in 19"), "{error}");
    }
}
