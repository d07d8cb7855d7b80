//! The metadata of a file as its server sends them beside the open: it knows where they are, and a
//! reader learns that from one part after the other. A new connection of TCP sends few bytes in its
//! first round trip, so each of several connections brings a part.

use std::ops::Range;

use bytes::{BufMut, Bytes};
use serde::{Deserialize, Serialize};
use twox_hash::XxHash64;

use crate::source::http::selected::WINDOW_BYTES;

/// Connections that bring the metadata of a file.
pub const PARTS: usize = super::CONNECTIONS_MAX;
/// Bytes of each part: those of a connection's first round trip. A shorter part is filled up, so
/// that the connection's next answer begins with twice as many.
pub const PART_BYTES: usize = WINDOW_BYTES;
/// In front of a part: a number of the whole, and the part's length.
const HEAD_BYTES: usize = 12;
/// Bytes of all parts.
const ALL_BYTES: usize = PARTS * (PART_BYTES - HEAD_BYTES);

/// Bytes of a file by which it is opened, and those that are probably needed next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileMetadata {
    /// Bytes of the file.
    pub size: u64,
    /// Seconds since 1970.
    pub modified: Option<i64>,
    /// By offset; the most important ones first.
    pub pieces: Vec<(u64, Bytes)>,
}

/// The description in front of the bytes.
#[derive(Serialize, Deserialize)]
struct MetadataHead {
    size: u64,
    modified: Option<i64>,
    pieces: Vec<Range<u64>>,
}

impl FileMetadata {
    /// One of [`PARTS`]. What they have no room for is left out.
    pub fn part(&self, index: usize) -> Vec<u8> {
        let all = self.encoded();
        let start = (index * all.len()).div_ceil(PARTS).min(all.len());
        let end = ((index + 1) * all.len()).div_ceil(PARTS).min(all.len());
        let slice = &all[start..end];
        let mut part = Vec::with_capacity(PART_BYTES);
        part.put_u64_le(XxHash64::oneshot(0, &all));
        part.put_u32_le(slice.len() as u32);
        part.extend_from_slice(slice);
        part.resize(part.len().max(PART_BYTES), 0);
        part
    }

    /// What all parts say together; `None` where they are not of one whole.
    pub fn joined(parts: &[Vec<u8>]) -> Option<Self> {
        let mut all = Vec::new();
        let mut number = None;
        for part in parts {
            let (head, rest) = part.split_first_chunk::<8>()?;
            let (length, rest) = rest.split_first_chunk::<4>()?;
            let own = u64::from_le_bytes(*head);
            if *number.get_or_insert(own) != own {
                return None;
            }
            all.extend_from_slice(rest.get(..u32::from_le_bytes(*length) as usize)?);
        }
        (number? == XxHash64::oneshot(0, &all)).then(|| decoded(&Bytes::from(all)))?
    }

    fn encoded(&self) -> Vec<u8> {
        // Less room than there is: the ranges are written as text.
        let mut room = ALL_BYTES.saturating_sub(256);
        let mut kept = Vec::new();
        for (offset, piece) in &self.pieces {
            room = room.saturating_sub(64);
            let piece = piece.slice(..piece.len().min(room));
            if piece.is_empty() {
                break;
            }
            room -= piece.len();
            kept.push((*offset, piece));
        }
        let range = |(offset, piece): &(u64, Bytes)| *offset..*offset + piece.len() as u64;
        let pieces = kept.iter().map(range).collect();
        let head = MetadataHead { size: self.size, modified: self.modified, pieces };
        let head = serde_json::to_vec(&head).unwrap_or_default();
        let mut all = Vec::new();
        all.put_u32_le(head.len() as u32);
        all.extend_from_slice(&head);
        kept.iter().for_each(|(_, piece)| all.extend_from_slice(piece));
        all
    }
}

fn decoded(all: &Bytes) -> Option<FileMetadata> {
    let (length, rest) = all.split_first_chunk::<4>()?;
    let (head, mut rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    let MetadataHead { size, modified, pieces: ranges } = serde_json::from_slice(head).ok()?;
    let mut pieces = Vec::with_capacity(ranges.len());
    for range in ranges {
        let length = usize::try_from(range.end.checked_sub(range.start)?).ok()?;
        let (piece, behind) = rest.split_at_checked(length)?;
        if range.end > size {
            return None;
        }
        pieces.push((range.start, all.slice_ref(piece)));
        rest = behind;
    }
    rest.is_empty().then_some(FileMetadata { size, modified, pieces })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metadata(lengths: &[usize]) -> FileMetadata {
        let mut pieces = Vec::new();
        let mut offset = 0;
        for (number, length) in lengths.iter().enumerate() {
            pieces.push((offset, Bytes::from(vec![number as u8; *length])));
            offset += *length as u64 + 1000;
        }
        FileMetadata { size: offset, modified: Some(17), pieces }
    }

    fn parts(metadata: &FileMetadata) -> Vec<Vec<u8>> {
        (0..PARTS).map(|index| metadata.part(index)).collect()
    }

    #[test]
    fn all_parts_together_have_what_was_sent() {
        for lengths in [&[300, 4000, 13_000][..], &[], &[1]] {
            let metadata = metadata(lengths);
            let parts = parts(&metadata);
            assert!(parts.iter().all(|part| part.len() == PART_BYTES));
            assert_eq!(FileMetadata::joined(&parts), Some(metadata));
        }
    }

    #[test]
    fn the_most_important_bytes_come_where_not_all_have_room() {
        let metadata = metadata(&[300, 4000, 1 << 20, 50]);
        let parts = parts(&metadata);
        assert!(parts.iter().all(|part| part.len() == PART_BYTES));
        let found = FileMetadata::joined(&parts).unwrap();
        assert_eq!(found.pieces[..2], metadata.pieces[..2]);
        assert_eq!(found.pieces.len(), 3);
        assert!(found.pieces[2].1.len() > 40_000);
    }

    #[test]
    fn parts_of_two_files_or_damaged_ones_are_none() {
        let one = parts(&metadata(&[300, 4000]));
        let other = parts(&metadata(&[300, 4001]));
        assert!(FileMetadata::joined(&[&one[..1], &other[1..]].concat()).is_none());
        assert!(FileMetadata::joined(&one[1..]).is_none());
        // Behind them the parts are filled up.
        for at in 0..1000 {
            let mut damaged = one.clone();
            damaged[0][at] ^= 1;
            assert!(FileMetadata::joined(&damaged).is_none(), "{at}");
            let cut: Vec<_> = one.iter().map(|part| part[..at].to_vec()).collect();
            assert!(FileMetadata::joined(&cut).is_none(), "{at}");
        }
    }
}
