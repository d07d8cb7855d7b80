//! Little-endian reading of envelopes: numbers, strings, frames, locators.
//!
//! ```text
//! record frame  size:i64 > 0               content
//! list frame    size:i64 < 0  count:u32    content      sizes include these first bytes
//! string        length:u32    UTF-8
//! locator       size:i32 >= 0 offset:u64                the usual one
//!               -(size:u16 reserved:u8 type:u8) content where the first four bytes are below zero
//! ```
//!
//! Content behind the known fields is skipped: later versions of the format add fields there.

use std::ops::Range;

use crate::error::{Error, Result};

/// Type of a locator with 64 bits of size.
const LOCATOR_LARGE: u8 = 1;
/// Features that the format has names for.
const FEATURES: [&str; 1] = ["nested deferred columns"];

/// Where something is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Locator {
    /// In the file.
    Range(Range<u64>),
    /// In another store than a file, by a locator of this type.
    Elsewhere(u8),
}

impl Locator {
    /// The range of the file.
    ///
    /// # Errors
    /// `Unsupported` naming the type for any other place.
    pub fn range(self) -> Result<Range<u64>> {
        match self {
            Locator::Range(range) => Ok(range),
            Locator::Elsewhere(kind) => Err(elsewhere(kind)),
        }
    }
}

/// The error where something is not in the file.
pub fn elsewhere(kind: u8) -> Error {
    Error::unsupported(format!("an RNTuple locator of type {kind}, which is no place in a file"))
}

/// A place in an envelope, and how far reading may go.
#[derive(Debug, Clone)]
pub struct EnvelopeReader<'a> {
    rest: &'a [u8],
    /// Bytes from the start of the envelope.
    position: u64,
}

macro_rules! numbers {
    ($($name:ident $kind:ty),*) => {$(
        /// The next little-endian number.
        ///
        /// # Errors
        /// `Corrupt` where it would end behind the end.
        pub fn $name(&mut self) -> Result<$kind> {
            Ok(<$kind>::from_le_bytes(self.chunk()?))
        }
    )*};
}

impl<'a> EnvelopeReader<'a> {
    /// Starts at the beginning of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        EnvelopeReader { rest: bytes, position: 0 }
    }

    numbers!(u16 u16, u32 u32, i32 i32, u64 u64, i64 i64, f64 f64);

    /// Bytes until the end.
    pub fn remaining(&self) -> usize {
        self.rest.len()
    }

    /// An error at this place; positions count decompressed bytes of the envelope.
    pub fn corrupt(&self, message: impl AsRef<str>) -> Error {
        Error::corrupt(format!("{} (byte {} of the envelope)", message.as_ref(), self.position))
    }

    /// The next `count` bytes.
    ///
    /// # Errors
    /// `Corrupt` where fewer are left.
    pub fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        let Some((taken, rest)) = self.rest.split_at_checked(count) else {
            let message = format!("{count} bytes wanted, {} left", self.rest.len());
            return Err(self.corrupt(message));
        };
        self.rest = rest;
        self.position += count as u64;
        Ok(taken)
    }

    /// A string; bytes that are not UTF-8 are replaced.
    ///
    /// # Errors
    /// `Corrupt` where it would end behind the end.
    pub fn string(&mut self) -> Result<String> {
        let length = self.u32()?;
        Ok(String::from_utf8_lossy(self.take(length as usize)?).into_owned())
    }

    /// The content of a record frame, which this reader moves over.
    ///
    /// # Errors
    /// `Corrupt` for a list frame, or one that is longer than the bytes that are left.
    pub fn record(&mut self) -> Result<EnvelopeReader<'a>> {
        let at = self.clone();
        let size = self.i64()?;
        if size < 0 {
            return Err(at.corrupt("a list where a record was expected"));
        }
        self.frame(&at, size.unsigned_abs(), 8)
    }

    /// The number of items of a list frame, each of at least `bytes_each` bytes, and its content.
    ///
    /// # Errors
    /// As [`EnvelopeReader::record`]; `Corrupt` where that many items cannot be there.
    pub fn list(&mut self, bytes_each: usize) -> Result<(usize, EnvelopeReader<'a>)> {
        let at = self.clone();
        let size = self.i64()?;
        if size >= 0 {
            return Err(at.corrupt("a record where a list was expected"));
        }
        let count = self.u32()? as usize;
        let content = self.frame(&at, size.unsigned_abs(), 12)?;
        if count.saturating_mul(bytes_each) > content.remaining() {
            let message = format!("a list of {count} items in {} bytes", content.remaining());
            return Err(at.corrupt(message));
        }
        Ok((count, content))
    }

    fn frame(
        &mut self,
        at: &EnvelopeReader<'a>,
        size: u64,
        preamble: u64,
    ) -> Result<EnvelopeReader<'a>> {
        let content = size.checked_sub(preamble).and_then(|size| usize::try_from(size).ok());
        let Some(content) = content.filter(|content| *content <= self.rest.len()) else {
            let message = format!("a frame of {size} bytes, {} left", at.rest.len());
            return Err(at.corrupt(message));
        };
        let position = self.position;
        Ok(EnvelopeReader { rest: self.take(content)?, position })
    }

    /// Reads feature flags.
    ///
    /// # Errors
    /// `Unsupported` naming the bits for any: ROOT writes none yet.
    pub fn feature_flags(&mut self) -> Result<()> {
        let mut first = 0;
        loop {
            let flags = self.u64()?;
            let more = flags >> 63 == 1;
            let bits = flags & (u64::MAX >> 1);
            if bits != 0 {
                let spelled = |flag: usize| match FEATURES.get(flag) {
                    Some(name) => format!("{flag} ({name})"),
                    None => flag.to_string(),
                };
                // ROOT counts 64 bits a word, too, though the highest only says that more follow.
                let set = (0..63).filter(|bit| bits >> bit & 1 == 1);
                let set: Vec<String> = set.map(|bit| spelled(first + bit)).collect();
                let message = format!("an RNTuple with feature flag {}", set.join(", "));
                return Err(Error::unsupported(message));
            }
            if !more {
                return Ok(());
            }
            first += 64;
        }
    }

    /// Where something is.
    ///
    /// # Errors
    /// `Corrupt`.
    pub fn locator(&mut self) -> Result<Locator> {
        let at = self.clone();
        let head = self.i32()?;
        let bits = head.unsigned_abs();
        let (size, offset) = if head >= 0 {
            (u64::from(bits), self.u64()?)
        } else {
            // ROOT negates all of it, not just the sign bit.
            let kind = (bits >> 24) as u8;
            let mut content = self.frame(&at, u64::from(bits & 0xffff), 4)?;
            if kind != LOCATOR_LARGE {
                return Ok(Locator::Elsewhere(kind));
            }
            (content.u64()?, content.u64()?)
        };
        match offset.checked_add(size) {
            Some(end) => Ok(Locator::Range(offset..end)),
            None => Err(at.corrupt(format!("{size} bytes at {offset}"))),
        }
    }

    fn chunk<const N: usize>(&mut self) -> Result<[u8; N]> {
        let taken = self.take(N)?;
        taken.first_chunk().copied().ok_or_else(|| self.corrupt("no bytes left"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn framed(size: i64, count: Option<u32>, content: &[u8]) -> Vec<u8> {
        let count = count.map_or(Vec::new(), |count| count.to_le_bytes().to_vec());
        [&size.to_le_bytes()[..], &count, content].concat()
    }

    #[test]
    fn a_frame_is_skipped_as_a_whole() {
        let mut bytes = framed(13, None, &[1, 0, 0, 0, 99]);
        bytes.push(7);
        let mut reader = EnvelopeReader::new(&bytes);
        let mut frame = reader.record().unwrap();
        assert_eq!((frame.u32().unwrap(), frame.remaining()), (1, 1), "unknown content is left");
        assert_eq!(reader.take(1).unwrap(), [7]);
        assert!(EnvelopeReader::new(&bytes).list(0).is_err());
    }

    #[test]
    fn a_list_cannot_have_more_items_than_bytes() {
        let bytes = framed(-16, Some(2), &[1, 2, 3, 4]);
        let (count, content) = EnvelopeReader::new(&bytes).list(2).unwrap();
        assert_eq!((count, content.remaining()), (2, 4));
        assert!(EnvelopeReader::new(&bytes).list(3).is_err());
        assert!(EnvelopeReader::new(&bytes).record().is_err());
        for size in [0, 11, 17, i64::MAX, i64::MIN] {
            let bytes = framed(-size.max(i64::MIN + 1), Some(0), &[1, 2, 3, 4]);
            assert!(EnvelopeReader::new(&bytes).list(0).is_err(), "{size}");
        }
    }

    #[test]
    fn features_nobody_knows_are_named() {
        let none = [&(1u64 << 63).to_le_bytes()[..], &[0; 8]].concat();
        EnvelopeReader::new(&none).feature_flags().unwrap();
        let some = [&(1u64 << 63).to_le_bytes()[..], &5u64.to_le_bytes()].concat();
        let error = EnvelopeReader::new(&some).feature_flags().unwrap_err();
        assert!(error.to_string().ends_with("feature flag 64, 66"), "{error}");
        assert!(EnvelopeReader::new(&some[..8]).feature_flags().is_err(), "cut");
        let error = EnvelopeReader::new(&1u64.to_le_bytes()).feature_flags().unwrap_err();
        assert!(error.to_string().ends_with("flag 0 (nested deferred columns)"), "{error}");
    }

    #[test]
    fn locators_of_both_sizes() {
        let short = [&10i32.to_le_bytes()[..], &200u64.to_le_bytes()].concat();
        assert_eq!(EnvelopeReader::new(&short).locator().unwrap(), Locator::Range(200..210));
        // As ROOT writes it: size, a reserved byte and the type, negated as one number.
        let large = |kind: i32, size: u64| {
            let head = -(20 | 5 << 16 | kind << 24);
            [&head.to_le_bytes()[..], &size.to_le_bytes(), &200u64.to_le_bytes()].concat()
        };
        assert_eq!(large(1, 0)[..4], [0xec, 0xff, 0xfa, 0xfe]);
        let range = Locator::Range(200..200 + (1 << 40));
        assert_eq!(EnvelopeReader::new(&large(1, 1 << 40)).locator().unwrap(), range);
        assert!(EnvelopeReader::new(&large(1, u64::MAX)).locator().is_err());
        let error = EnvelopeReader::new(&large(2, 1)).locator().unwrap().range().unwrap_err();
        assert!(error.to_string().contains("type 2"), "{error}");
    }
}
