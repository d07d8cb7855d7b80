//! Content of a file that has been written so far.

use std::collections::BTreeMap;

use bytes::Bytes;
use simd_adler32::Adler32;

use crate::checksum::{Algorithm, Checksum};
use crate::error::{Error, ErrorKind, Result};

/// Adler-32 counts modulo this (RFC 1950, section 9).
const ADLER_BASE: u64 = 65_521;

/// The length of a file that is being written, the places that may be replaced, and the checksums
/// that its [`Sink`](super::Sink) wants: computed as bytes pass, and corrected at the end for
/// replaced bytes.
#[derive(Default)]
pub struct Content {
    /// Bytes that were there before, any of which may be replaced.
    before: u64,
    len: u64,
    adler32: Option<Adler32>,
    crc32c: Option<u32>,
    /// Bytes that are replaced later, by their offset.
    announced: BTreeMap<u64, Announced>,
}

struct Announced {
    /// As they have passed.
    first: Bytes,
    now: Vec<u8>,
}

impl Content {
    /// For a file that has `before` bytes; if that is 0, with checksums of these kinds.
    pub(super) fn behind(before: u64, kinds: &[Algorithm]) -> Self {
        let is_made = |kind| before == 0 && kinds.contains(&kind);
        Content {
            before,
            len: before,
            adler32: is_made(Algorithm::Adler32).then(Adler32::new),
            crc32c: is_made(Algorithm::Crc32c).then_some(0),
            announced: BTreeMap::new(),
        }
    }

    /// Bytes of the file.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether the file has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Takes note of bytes that are written.
    ///
    /// # Errors
    /// `InvalidArgument` where they neither follow nor replace.
    pub(super) fn add(&mut self, offset: u64, bytes: &Bytes, is_replaced: bool) -> Result<()> {
        if offset != self.len {
            return self.replace(offset, bytes);
        }
        self.len += bytes.len() as u64;
        if let Some(sum) = &mut self.adler32 {
            sum.write(bytes);
        }
        if let Some(sum) = &mut self.crc32c {
            *sum = crc32c::crc32c_append(*sum, bytes);
        }
        if is_replaced {
            let announced = Announced { first: bytes.clone(), now: bytes.to_vec() };
            self.announced.insert(offset, announced);
        }
        Ok(())
    }

    fn replace(&mut self, offset: u64, bytes: &[u8]) -> Result<()> {
        let end = offset.saturating_add(bytes.len() as u64);
        if end <= self.before {
            return Ok(());
        }
        if let Some((start, announced)) = self.announced.range_mut(..=offset).next_back() {
            let at = (offset - start) as usize;
            if let Some(place) = announced.now.get_mut(at..at.saturating_add(bytes.len())) {
                place.copy_from_slice(bytes);
                return Ok(());
            }
        }
        let text = format!("a file of {} bytes is written forward", self.len);
        Err(Error::new(ErrorKind::InvalidArgument, text).with_range(offset..end))
    }

    /// The checksum of the whole file, replaced bytes included. `None` for kinds that the sink does
    /// not want, for MD5, which cannot be corrected, and for files that had bytes before.
    pub fn checksum(&self, algorithm: Algorithm) -> Option<Checksum> {
        let value = match algorithm {
            Algorithm::Adler32 => self.with_replaced_adler32(self.adler32.as_ref()?.finish()),
            Algorithm::Crc32c => self.with_replaced_crc32c(self.crc32c?),
            _ => return None,
        };
        Checksum::from_bytes(algorithm, value.to_be_bytes().to_vec()).ok()
    }

    /// The byte at `i` of `n` counts once in the first sum, and `n - i` times in the second.
    fn with_replaced_adler32(&self, passed: u32) -> u32 {
        let mut first = u64::from(passed & 0xffff);
        let mut second = u64::from(passed >> 16);
        for (start, announced) in &self.announced {
            for (at, (old, new)) in announced.first.iter().zip(&announced.now).enumerate() {
                let more = ADLER_BASE + u64::from(*new) - u64::from(*old);
                let times = (self.len - start - at as u64) % ADLER_BASE;
                first = (first + more) % ADLER_BASE;
                second = (second + more * times) % ADLER_BASE;
            }
        }
        (second << 16 | first) as u32
    }

    /// Of bytes of which some are flipped it is flipped by that of the flips among zeros.
    fn with_replaced_crc32c(&self, passed: u32) -> u32 {
        self.announced.iter().fold(passed, |crc, (start, Announced { first, now })| {
            let flips: Vec<u8> = first.iter().zip(now).map(|(old, new)| old ^ new).collect();
            let zeros = vec![0; flips.len()];
            let flipped = crc32c::crc32c(&flips) ^ crc32c::crc32c(&zeros);
            let behind = self.len - start - flips.len() as u64;
            crc ^ crc32c::crc32c_combine(flipped, 0, behind as usize)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checksum::Hasher;

    const BOTH: [Algorithm; 2] = [Algorithm::Adler32, Algorithm::Crc32c];

    fn bytes(len: usize, seed: u8) -> Bytes {
        (0..len).map(|at| (at as u8).wrapping_mul(31).wrapping_add(seed)).collect()
    }

    #[test]
    fn checksums_are_those_of_the_bytes_that_stay() {
        let parts = [(100, true), (65_600, false), (60, true), (70_001, false), (1, true)];
        let mut content = Content::behind(0, &BOTH);
        let mut file = Vec::new();
        for (at, (len, is_replaced)) in parts.into_iter().enumerate() {
            let part = bytes(len, at as u8);
            content.add(file.len() as u64, &part, is_replaced).unwrap();
            file.extend_from_slice(&part);
        }
        for (offset, len) in [(65_700, 60), (0, 63), (10, 5), (135_761, 1)] {
            let part = bytes(len, 200);
            content.add(offset as u64, &part, false).unwrap();
            file[offset..offset + len].copy_from_slice(&part);
        }
        assert_eq!(content.len(), file.len() as u64);
        for algorithm in BOTH {
            let mut hasher = Hasher::new(algorithm);
            hasher.update(&file);
            assert_eq!(content.checksum(algorithm), Some(hasher.finish()));
        }
        assert_eq!(content.checksum(Algorithm::Md5), None);
        let one = Content::behind(0, &BOTH[..1]);
        assert!(one.checksum(BOTH[0]).is_some() && one.checksum(BOTH[1]).is_none());
    }

    #[test]
    fn only_what_was_announced_is_replaced() {
        let mut content = Content::default();
        content.add(0, &bytes(100, 0), true).unwrap();
        content.add(100, &bytes(50, 0), false).unwrap();
        for (offset, len) in [(151, 1), (90, 20), (100, 1), (140, 5), (u64::MAX, 2)] {
            let error = content.add(offset, &bytes(len, 0), false).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{offset}");
        }
        assert_eq!(content.len(), 150);
        let mut content = Content::behind(150, &BOTH);
        content.add(140, &bytes(10, 0), false).unwrap();
        assert!(content.add(149, &bytes(2, 0), false).is_err());
        assert_eq!(content.checksum(Algorithm::Adler32), None);
    }
}
