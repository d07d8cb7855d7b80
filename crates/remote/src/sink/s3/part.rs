//! A part of an object, and how long it is (S3 User Guide, "Multipart upload limits").

use bytes::Bytes;

use crate::error::{Error, ErrorKind, Result};

/// Parts of an object.
pub const PARTS_MAX: u32 = 10_000;
/// Of the first parts; those of some servers take 5 MiB or more.
const PART_BYTES: usize = 8 << 20;
/// After so many parts the next ones are half as long again: ten thousand are 900 GB.
const PARTS_OF_A_LENGTH: u32 = 1000;

/// Bytes of a part, counted from 1, of an object of this size. Where the size is known all parts
/// have the same, as some servers want it.
pub fn part_bytes(number: u32, size: Option<u64>) -> usize {
    if let Some(size) = size {
        let least = size.div_ceil(u64::from(PARTS_MAX)).next_multiple_of(1 << 20);
        return PART_BYTES.max(usize::try_from(least).unwrap_or(usize::MAX));
    }
    let steps = number.saturating_sub(1) / PARTS_OF_A_LENGTH;
    (0..steps).fold(PART_BYTES, |bytes, _| bytes / 2 * 3)
}

/// Bytes of one part, so far.
pub struct ObjectPart {
    pub number: u32,
    /// In the object.
    pub offset: u64,
    pub bytes: Vec<u8>,
    /// Some of them are replaced later.
    pub is_kept: bool,
}

impl ObjectPart {
    pub fn first() -> Self {
        ObjectPart { number: 1, offset: 0, bytes: Vec::new(), is_kept: false }
    }

    pub fn next(&self) -> Self {
        ObjectPart {
            number: self.number + 1,
            offset: self.end(),
            bytes: Vec::new(),
            is_kept: false,
        }
    }

    /// In the object.
    pub fn end(&self) -> u64 {
        self.offset + self.bytes.len() as u64
    }

    /// Replaces those of some bytes that are in this part, which is the last one.
    ///
    /// # Errors
    /// `InvalidArgument` where others are among them.
    pub fn replace(&mut self, rest: Option<(u64, Bytes)>) -> Result<()> {
        let Some((offset, bytes)) = rest else { return Ok(()) };
        let place = offset.checked_sub(self.offset).and_then(|start| {
            let start = usize::try_from(start).ok()?;
            self.bytes.get_mut(start..start.checked_add(bytes.len())?)
        });
        let wrong = || {
            let text = "bytes are replaced that have been sent already";
            Error::new(ErrorKind::InvalidArgument, text)
        };
        place.ok_or_else(wrong)?.copy_from_slice(&bytes);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_grow_with_their_number_unless_the_size_is_known() {
        let mib = |number, size| part_bytes(number, size) >> 20;
        assert_eq!([1, 1000, 1001, 2001].map(|number| mib(number, None)), [8, 8, 12, 18]);
        let all: u64 = (1..=PARTS_MAX).map(|number| part_bytes(number, None) as u64).sum();
        assert!(all > 900_000_000_000);
        assert_eq!([1, 9999].map(|number| mib(number, Some(80_000 << 20))), [8, 8]);
        let most = 5 << 40;
        assert_eq!(mib(1, Some(most)), 525);
        assert!(part_bytes(1, Some(most)) as u64 * u64::from(PARTS_MAX) >= most);
    }
}
