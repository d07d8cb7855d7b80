//! Pages and their checksums: how data lie in the answer to kXR_pgread.
//!
//! A page ends where the file's offset is a multiple of [`PAGE_BYTES`], so the first and the last
//! page of a part may be shorter. Each stands behind its CRC32C.

use std::ops::Range;

use bytes::{Buf, Bytes, BytesMut};

/// Bytes of a page.
pub const PAGE_BYTES: u64 = 4096;
/// Bytes of the checksum before it.
const CHECKSUM_BYTES: u64 = 4;

/// Bytes of the page that begins at `offset`, of which the file has enough.
fn page_at(offset: u64) -> u64 {
    PAGE_BYTES - offset % PAGE_BYTES
}

/// Writes the bytes at `offset` of a file as pages.
pub fn encode(offset: u64, mut bytes: &[u8]) -> Vec<u8> {
    let pages = bytes.len() / PAGE_BYTES as usize + 2;
    let mut out = Vec::with_capacity(bytes.len() + pages * CHECKSUM_BYTES as usize);
    let mut length = page_at(offset) as usize;
    while !bytes.is_empty() {
        let (page, rest) = bytes.split_at(length.min(bytes.len()));
        out.extend_from_slice(&crc32c::crc32c(page).to_be_bytes());
        out.extend_from_slice(page);
        bytes = rest;
        length = PAGE_BYTES as usize;
    }
    out
}

/// Reads all pages of the bytes at `offset`: the bytes, and the ranges of pages that do not have
/// their checksums. `None` where the last page would have no byte, or the range would end behind
/// the largest offset.
pub fn decode(offset: u64, mut wire: &[u8]) -> Option<(Vec<u8>, Vec<Range<u64>>)> {
    let mut bytes = Vec::with_capacity(wire.len());
    let mut damaged = Vec::new();
    offset.checked_add(wire.len() as u64)?;
    let mut at = offset;
    while !wire.is_empty() {
        let (checksum, rest) = wire.split_first_chunk::<{ CHECKSUM_BYTES as usize }>()?;
        let length = rest.len().min(page_at(at) as usize);
        let (page, rest) = rest.split_at(length);
        if page.is_empty() {
            return None;
        }
        let end = at + length as u64;
        if crc32c::crc32c(page) != u32::from_be_bytes(*checksum) {
            damaged.push(at..end);
        }
        bytes.extend_from_slice(page);
        (at, wire) = (end, rest);
    }
    Some((bytes, damaged))
}

/// How many bytes of the file a part holds that begins at `offset` and takes `wire` bytes; none
/// where it would end within a checksum.
pub fn data_bytes(offset: u64, wire: u32) -> Option<u32> {
    let wire = u64::from(wire);
    let first = CHECKSUM_BYTES + page_at(offset);
    let (whole, rest) = match wire.checked_sub(first) {
        None => (0, wire),
        Some(more) => {
            let each = CHECKSUM_BYTES + PAGE_BYTES;
            (1 + more / each, more % each)
        }
    };
    if (1..=CHECKSUM_BYTES).contains(&rest) {
        return None;
    }
    let pages = whole + u64::from(rest > 0);
    u32::try_from(wire - pages * CHECKSUM_BYTES).ok()
}

/// Bytes of a file whose checksums have been looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Checked {
    /// As their checksums say.
    Right { offset: u64, bytes: BytesMut },
    /// Not as their checksums say: whole pages, of which nothing can be used.
    Damaged(Range<u64>),
}

/// Reads the pages of one part wherever the pieces are cut. Holds at most one page.
#[derive(Debug)]
pub struct PageReader {
    /// Where in the file the present page begins.
    offset: u64,
    /// Bytes of the part on the wire that have not come.
    left: u64,
    /// The present page's checksum, as far as it has come.
    checksum: [u8; CHECKSUM_BYTES as usize],
    filled: usize,
    /// The beginning of a page that comes in several pieces.
    page: BytesMut,
}

impl PageReader {
    /// Of a part that begins at `offset` of the file and takes `wire` bytes.
    pub fn new(offset: u64, wire: u32) -> PageReader {
        let checksum = [0; CHECKSUM_BYTES as usize];
        let page = BytesMut::new();
        PageReader { offset, left: wire.into(), checksum, filled: 0, page }
    }

    /// Takes the bytes that belong to the part off the front of `input`, and appends the pages that
    /// it completes: runs of right ones and runs of damaged ones.
    pub fn read(&mut self, input: &mut Bytes, out: &mut Vec<Checked>) {
        while self.left > 0 && !input.is_empty() {
            if self.filled < self.checksum.len() {
                let count = input.len().min(self.checksum.len() - self.filled);
                input.copy_to_slice(&mut self.checksum[self.filled..self.filled + count]);
                self.filled += count;
                self.left -= count as u64;
                continue;
            }
            let length = page_at(self.offset).min(self.left + self.page.len() as u64) as usize;
            if self.page.is_empty() && input.len() >= length {
                let page = input.split_to(length);
                self.left -= length as u64;
                self.finish(&page, input.len(), out);
                continue;
            }
            let count = input.len().min(length - self.page.len());
            self.page.extend_from_slice(&input.split_to(count));
            self.left -= count as u64;
            if self.page.len() == length {
                let page = self.page.split();
                self.finish(&page, input.len(), out);
            }
        }
    }

    /// Looks at a page that is complete; about `more` bytes may follow it at once.
    fn finish(&mut self, page: &[u8], more: usize, out: &mut Vec<Checked>) {
        let range = self.offset..self.offset + page.len() as u64;
        self.offset = range.end;
        self.filled = 0;
        if crc32c::crc32c(page) == u32::from_be_bytes(self.checksum) {
            if let Some(Checked::Right { bytes, .. }) = out.last_mut() {
                bytes.extend_from_slice(page);
            } else {
                let more = more.min(usize::try_from(self.left).unwrap_or(more));
                let mut bytes = BytesMut::with_capacity(page.len() + more);
                bytes.extend_from_slice(page);
                out.push(Checked::Right { offset: range.start, bytes });
            }
        } else if let Some(Checked::Damaged(before)) = out.last_mut() {
            before.end = range.end;
        } else {
            out.push(Checked::Damaged(range));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contents(range: Range<u64>) -> Vec<u8> {
        range.map(|at| (at % 251) as u8).collect()
    }

    /// Reads pages in pieces of one size; returns the checked pages, and the number of input bytes
    /// left.
    fn read(offset: u64, wire: &[u8], part: u32, size: usize) -> (Vec<Checked>, usize) {
        let mut reader = PageReader::new(offset, part);
        let mut all: Vec<Checked> = Vec::new();
        let mut left: usize = 0;
        for piece in wire.chunks(size) {
            let mut input = Bytes::copy_from_slice(piece);
            let mut out = Vec::new();
            reader.read(&mut input, &mut out);
            left += input.len();
            for checked in out {
                match (all.last_mut(), checked) {
                    (Some(Checked::Right { bytes: all, .. }), Checked::Right { bytes, .. }) => {
                        all.extend_from_slice(&bytes);
                    }
                    (Some(Checked::Damaged(all)), Checked::Damaged(range)) => {
                        assert_eq!(std::mem::replace(&mut all.end, range.end), range.start);
                    }
                    (_, checked) => all.push(checked),
                }
            }
        }
        (all, left)
    }

    const RANGES: [Range<u64>; 7] = [
        0..4096,
        0..4097,
        1..4096,
        4095..4097,
        5000..5001,
        100..20_000,
        (1 << 40) - 1..(1 << 40) + 8200,
    ];

    #[test]
    fn pages_are_read_whole_and_byte_by_byte_and_the_tail_stays() {
        for range in RANGES {
            let wire = encode(range.start, &contents(range.clone()));
            let length = wire.len() as u32;
            assert_eq!(data_bytes(range.start, length), Some((range.end - range.start) as u32));
            let with_tail = [&wire[..], b"tail"].concat();
            for size in [1, 2, 3, 5, 4095, 4096, 4100, 4101, with_tail.len()] {
                let (got, tail) = read(range.start, &with_tail, length, size);
                let bytes = BytesMut::from(&contents(range.clone())[..]);
                let expected = vec![Checked::Right { offset: range.start, bytes }];
                assert_eq!((got, tail), (expected, 4), "{range:?} in pieces of {size}");
            }
        }
    }

    #[test]
    fn a_wrong_bit_costs_its_page_and_no_other() {
        let range = 100..20_000;
        let wire = encode(range.start, &contents(range.clone()));
        for (at, page) in
            [(0, 100..4096), (4, 100..4096), (4002, 4096..8192), (12_300, 12_288..16_384)]
        {
            let mut wire = wire.clone();
            wire[at] ^= 0x10;
            for size in [1, 4099, wire.len()] {
                let (got, _) = read(range.start, &wire, wire.len() as u32, size);
                let damaged: Vec<_> = (got.iter())
                    .filter_map(|checked| match checked {
                        Checked::Damaged(range) => Some(range.clone()),
                        Checked::Right { .. } => None,
                    })
                    .collect();
                assert_eq!(damaged, std::slice::from_ref(&page), "byte {at}, in pieces of {size}");
                for checked in got {
                    if let Checked::Right { offset, bytes } = checked {
                        let end = offset + bytes.len() as u64;
                        assert_eq!(bytes[..], contents(offset..end)[..]);
                    }
                }
            }
        }
    }

    #[test]
    fn pages_that_are_written_are_read_with_the_damaged_ones_named() {
        for range in RANGES {
            let wire = encode(range.start, &contents(range.clone()));
            let bytes = contents(range.clone());
            assert_eq!(decode(range.start, &wire), Some((bytes.clone(), Vec::new())), "{range:?}");
            let mut wrong = wire.clone();
            wrong[4] ^= 1;
            let (got, damaged) = decode(range.start, &wrong).unwrap();
            assert_eq!(got.len(), bytes.len());
            let end = (range.start + page_at(range.start)).min(range.end);
            assert_eq!(damaged, std::slice::from_ref(&(range.start..end)));
            for cut in 0..wire.len().min(9000) {
                // Cut within a checksum, or right behind it, nothing is read.
                let part = decode(range.start, &wire[..cut]).map(|(bytes, _)| bytes.len() as u32);
                assert_eq!(part, data_bytes(range.start, cut as u32), "{range:?} {cut}");
            }
        }
        assert_eq!(decode(u64::MAX, &[0; 5]), None);
    }

    #[test]
    fn damaged_pages_beside_each_other_are_one_run() {
        let mut wire = encode(0, &contents(0..3 * 4096));
        wire[10] ^= 1;
        wire[4110] ^= 1;
        let (got, _) = read(0, &wire, wire.len() as u32, wire.len());
        assert_eq!(got[0], Checked::Damaged(0..8192));
        assert_eq!(got.len(), 2);
    }

    #[test]
    fn a_part_cannot_end_within_a_checksum() {
        assert_eq!(data_bytes(0, 0), Some(0));
        for (offset, wire, data) in [
            (0, 1, None),
            (0, 4, None),
            (0, 5, Some(1)),
            (0, 4100, Some(4096)),
            (0, 4104, None),
            (0, 4105, Some(4097)),
            (4095, 5, Some(1)),
            (4095, 9, None),
            (4095, 10, Some(2)),
            (4095, u32::MAX, Some(u32::MAX - 4 * 1_047_554)),
        ] {
            assert_eq!(data_bytes(offset, wire), data, "{wire} bytes at {offset}");
        }
    }
}
