//! Parts of a file that are cached with another codec than the file has: how they are addressed,
//! and their format. Pure.
//!
//! A part is a basket or a page. Such parts of a file are the bytes of a content of its own, with
//! the same segments, records and rules as any other: earlier versions of farroot count, verify and
//! evict them, and never read them. In this content the part for the bytes from `offset` on begins
//! at [`SCALE`] times `offset`, and is shorter than so many times its length in the file. So parts
//! never touch each other, and end where nothing follows.
//!
//! ```text
//!   part   "rec\x01" | offset u64 | length u32 | CRC32C of those bytes of the file
//!          | packed length u32 | CRC32C of all before and of the packed bytes | packed bytes
//! ```
//!
//! A part may be several records, and these may have been written by two processes with different
//! encoders. Only the part's own checksum shows that it is whole.

use std::ops::Range;

use bytes::Bytes;
use crc32c::{crc32c, crc32c_append};
use sha2::{Digest, Sha256};

use super::format::ContentId;
use crate::source::FILE_BYTES_MAX;

/// Bytes of the content for each byte of the file.
const SCALE: u64 = 4;
/// Bytes in front of the packed ones.
const PART_HEADER_BYTES: usize = 28;
/// A part is no longer: of longer baskets the original is kept.
const PART_BYTES_MAX: usize = 64 << 20;
const PART_MAGIC: &[u8; 4] = b"rec\x01";

/// The name of the content of such parts of a file, whose own content is `of`.
pub fn recompressed_id(of: &ContentId) -> ContentId {
    let mut id = ContentId::default();
    let hash = Sha256::new().chain_update(b"recompressed").chain_update(of).finalize();
    id.copy_from_slice(&hash[..16]);
    id
}

/// The size of the content of a file of so many bytes.
pub fn recompressed_size(size: u64) -> u64 {
    size.saturating_mul(SCALE)
}

/// Where the part for a range of the file is, as far as it may go; `None` where it has no place.
pub fn room_of(range: &Range<u64>) -> Option<Range<u64>> {
    let is_placed = range.start < range.end && range.end <= FILE_BYTES_MAX / SCALE;
    is_placed.then(|| range.start * SCALE..range.end * SCALE)
}

/// The part for `range` of the file, with its offset in the content; `None` where it is too long.
/// `original` is the CRC32C of those bytes of the file.
pub fn encode_part(range: &Range<u64>, original: u32, packed: &[u8]) -> Option<(u64, Bytes)> {
    let room = room_of(range)?;
    let length = u32::try_from(range.end - range.start).ok()?;
    let bytes = PART_HEADER_BYTES + packed.len();
    if bytes > PART_BYTES_MAX || bytes as u64 >= room.end - room.start {
        return None;
    }
    let mut part = Vec::with_capacity(bytes);
    part.extend_from_slice(PART_MAGIC);
    part.extend_from_slice(&range.start.to_le_bytes());
    part.extend_from_slice(&length.to_le_bytes());
    part.extend_from_slice(&original.to_le_bytes());
    part.extend_from_slice(&(packed.len() as u32).to_le_bytes());
    part.extend_from_slice(&crc32c_append(crc32c(&part), packed).to_le_bytes());
    part.extend_from_slice(packed);
    Some((room.start, part.into()))
}

/// The packed bytes of the part for `range` of the file; `None` where it is damaged, or stands for
/// other bytes.
pub fn decode_part(range: &Range<u64>, part: &Bytes) -> Option<Bytes> {
    let (header, packed) = part.split_first_chunk::<PART_HEADER_BYTES>()?;
    let (described, sum) = header.split_last_chunk::<4>()?;
    let mut expected = Vec::with_capacity(described.len());
    expected.extend_from_slice(PART_MAGIC);
    expected.extend_from_slice(&range.start.to_le_bytes());
    expected.extend_from_slice(&u32::try_from(range.end - range.start).ok()?.to_le_bytes());
    expected.extend_from_slice(&described[16..20]);
    expected.extend_from_slice(&u32::try_from(packed.len()).ok()?.to_le_bytes());
    let is_it = described == expected
        && crc32c_append(crc32c(described), packed) == u32::from_le_bytes(*sum);
    is_it.then(|| part.slice(PART_HEADER_BYTES..))
}

#[cfg(test)]
mod tests {
    use super::*;

    const RANGE: Range<u64> = 1000..1050;

    fn part() -> Bytes {
        let (at, part) = encode_part(&RANGE, 7, b"a packed basket").unwrap();
        assert_eq!(at, 4000);
        part
    }

    #[test]
    fn a_part_is_whole_or_nothing() {
        let whole = part();
        assert_eq!(decode_part(&RANGE, &whole).as_deref(), Some(&b"a packed basket"[..]));
        for at in 0..whole.len() {
            assert_eq!(decode_part(&RANGE, &whole.slice(..at)), None, "cut at {at}");
            for bit in 0..8 {
                let mut changed = whole.to_vec();
                changed[at] ^= 1 << bit;
                assert_eq!(decode_part(&RANGE, &changed.into()), None, "bit {bit} of {at}");
            }
        }
        let longer = [&whole[..], &[0]].concat();
        assert_eq!(decode_part(&RANGE, &longer.into()), None);
    }

    #[test]
    fn a_part_stands_for_its_own_bytes_alone() {
        for other in [1000..1049, 1001..1051, 0..50, 1000..5_000_001_000] {
            assert_eq!(decode_part(&other, &part()), None, "{other:?}");
        }
    }

    #[test]
    fn parts_never_touch_each_other() {
        let longest = vec![0; 200 - PART_HEADER_BYTES - 1];
        let (at, part) = encode_part(&RANGE, 0, &longest).unwrap();
        assert!(at + (part.len() as u64) < room_of(&(1050..1051)).unwrap().start);
        assert!(encode_part(&RANGE, 0, &[&longest[..], &[0]].concat()).is_none());
        assert!(encode_part(&(0..0), 0, b"").is_none());
        assert!(room_of(&(0..FILE_BYTES_MAX)).is_none());
    }
}
