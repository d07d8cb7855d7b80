//! The two formats of the cache on disk, as bytes: nothing here reads or writes a file.
//!
//! A segment (`.far`) is a header and then records, one behind the other, never changed:
//!
//! ```text
//!   header   "farroot extents1" | content, 16 bytes | begun, s | CRC32C | used, s | uses
//!   record   "fxt\x01" | length u32 | offset u64 | CRC32C of content and these | bytes
//! ```
//!
//! `used` and `uses` are the only bytes that are written in place; a wrong value there makes a
//! segment leave sooner or later than it should, nothing else. The content is part of each record's
//! checksum: a record of another file, or of another version of it, is never taken for one of this.
//!
//! An index (`.idx`) saves the walk through a segment: which records there are up to a position.
//! All numbers are little-endian. CRC32C is the checksum of RFC 3720, section 12.1.

use std::ops::Range;

use crc32c::{crc32c, crc32c_append};

/// Names the content of one version of a file: the same bytes, wherever they are read.
pub type ContentId = [u8; 16];

/// Bytes in front of the records of a segment.
pub const HEADER_BYTES: u64 = 56;
/// Where a segment's header has `used` and `uses`.
pub const USE_AT: u64 = 44;
/// Bytes in front of the bytes of a record.
pub const RECORD_BYTES: u64 = 20;
/// Bytes of a record at the most; longer ranges become several.
pub const DATA_BYTES_MAX: u64 = 1 << 20;

const SEGMENT_MAGIC: &[u8; 16] = b"farroot extents1";
const INDEX_MAGIC: &[u8; 16] = b"farroot index  1";
const RECORD_MAGIC: &[u8; 4] = b"fxt\x01";
const INDEX_ENTRY_BYTES: usize = 20;

/// The header of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// The content of the records.
    pub content: ContentId,
    /// When it was begun, seconds since 1970.
    pub begun: u64,
    /// How it has been used.
    pub usage: Usage,
}

/// How a segment has been used, as the rule of eviction counts it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// When it was last read from or added to, seconds since 1970.
    pub used: u64,
    /// Opens of its file that read from it, as far as they are counted.
    pub uses: u32,
}

/// Where the bytes of a record are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    /// Of its first byte in the file that is cached.
    pub offset: u64,
    /// Bytes.
    pub length: u32,
    /// Of the record in the segment, its own header included.
    pub position: u64,
}

impl Record {
    /// Which bytes of the file it has.
    pub fn range(&self) -> Range<u64> {
        self.offset..self.offset + u64::from(self.length)
    }

    /// Bytes that it takes in the segment.
    pub fn bytes(&self) -> u64 {
        RECORD_BYTES + u64::from(self.length)
    }

    /// Where the next record begins.
    pub fn end(&self) -> u64 {
        self.position + self.bytes()
    }
}

/// The records of a segment up to a position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Index {
    /// The content of the records.
    pub content: ContentId,
    /// Up to which byte of the segment it speaks.
    pub covers: u64,
    /// In any order.
    pub records: Vec<Record>,
}

/// The first bytes of a segment.
pub fn encode_header(header: &Header) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADER_BYTES as usize);
    bytes.extend_from_slice(SEGMENT_MAGIC);
    bytes.extend_from_slice(&header.content);
    bytes.extend_from_slice(&header.begun.to_le_bytes());
    bytes.extend_from_slice(&crc32c(&bytes).to_le_bytes());
    bytes.extend_from_slice(&encode_usage(&header.usage));
    bytes
}

/// The bytes at [`USE_AT`].
pub fn encode_usage(usage: &Usage) -> [u8; 12] {
    let mut bytes = [0; 12];
    bytes[..8].copy_from_slice(&usage.used.to_le_bytes());
    bytes[8..].copy_from_slice(&usage.uses.to_le_bytes());
    bytes
}

/// The header of a segment, from its first [`HEADER_BYTES`]; `None` where it is no segment.
pub fn decode_header(bytes: &[u8]) -> Option<Header> {
    let mut rest = Reader(bytes.get(..HEADER_BYTES as usize)?);
    let is_segment = rest.take::<16>()? == *SEGMENT_MAGIC;
    let content = rest.take::<16>()?;
    let begun = u64::from_le_bytes(rest.take()?);
    let sum = u32::from_le_bytes(rest.take()?);
    let used = u64::from_le_bytes(rest.take()?);
    let uses = u32::from_le_bytes(rest.take()?);
    let is_whole = is_segment && sum == crc32c(&bytes[..USE_AT as usize - 4]);
    is_whole.then_some(Header { content, begun, usage: Usage { used, uses } })
}

/// Adds a record to `into`. `data` is not longer than [`DATA_BYTES_MAX`].
pub fn encode_record(content: &ContentId, offset: u64, data: &[u8], into: &mut Vec<u8>) {
    let length = data.len() as u32;
    into.extend_from_slice(RECORD_MAGIC);
    into.extend_from_slice(&length.to_le_bytes());
    into.extend_from_slice(&offset.to_le_bytes());
    into.extend_from_slice(&record_sum(content, length, offset, data).to_le_bytes());
    into.extend_from_slice(data);
}

/// The offset and the bytes of the record with which `bytes` begin; `None` where they do not begin
/// with a whole one of this content.
pub fn decode_record<'a>(content: &ContentId, bytes: &'a [u8]) -> Option<(u64, &'a [u8])> {
    let (length, offset, sum) = record_head(bytes)?;
    let data = bytes.get(RECORD_BYTES as usize..)?.get(..length as usize)?;
    (record_sum(content, length, offset, data) == sum).then_some((offset, data))
}

/// How many bytes the record takes with which `bytes` begin, as far as its head can be trusted.
pub fn record_length(bytes: &[u8]) -> Option<u64> {
    record_head(bytes).map(|(length, _, _)| RECORD_BYTES + u64::from(length))
}

fn record_head(bytes: &[u8]) -> Option<(u32, u64, u32)> {
    let mut rest = Reader(bytes);
    let is_record = rest.take::<4>()? == *RECORD_MAGIC;
    let length = u32::from_le_bytes(rest.take()?);
    let offset = u64::from_le_bytes(rest.take()?);
    let sum = u32::from_le_bytes(rest.take()?);
    let is_sane = u64::from(length) <= DATA_BYTES_MAX && offset <= crate::source::FILE_BYTES_MAX;
    (is_record && is_sane).then_some((length, offset, sum))
}

fn record_sum(content: &ContentId, length: u32, offset: u64, data: &[u8]) -> u32 {
    let sum = crc32c_append(crc32c(content), &length.to_le_bytes());
    crc32c_append(crc32c_append(sum, &offset.to_le_bytes()), data)
}

/// An index as a file.
pub fn encode_index(index: &Index) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(48 + index.records.len() * INDEX_ENTRY_BYTES);
    bytes.extend_from_slice(INDEX_MAGIC);
    bytes.extend_from_slice(&index.content);
    bytes.extend_from_slice(&index.covers.to_le_bytes());
    for record in &index.records {
        bytes.extend_from_slice(&record.offset.to_le_bytes());
        bytes.extend_from_slice(&record.length.to_le_bytes());
        bytes.extend_from_slice(&record.position.to_le_bytes());
    }
    bytes.extend_from_slice(&crc32c(&bytes).to_le_bytes());
    bytes
}

/// An index from its file; `None` where it is not whole, or has a record that cannot be.
pub fn decode_index(bytes: &[u8]) -> Option<Index> {
    let (before, sum) = bytes.split_last_chunk::<4>()?;
    if crc32c(before) != u32::from_le_bytes(*sum) {
        return None;
    }
    let mut rest = Reader(before);
    let is_index = rest.take::<16>()? == *INDEX_MAGIC;
    let content = rest.take::<16>()?;
    let covers = u64::from_le_bytes(rest.take()?);
    let (entries, tail) = rest.0.as_chunks::<INDEX_ENTRY_BYTES>();
    let record = |entry: &[u8; INDEX_ENTRY_BYTES]| {
        let mut rest = Reader(entry);
        let record = Record {
            offset: u64::from_le_bytes(rest.take()?),
            length: u32::from_le_bytes(rest.take()?),
            position: u64::from_le_bytes(rest.take()?),
        };
        let is_sane = record.offset <= crate::source::FILE_BYTES_MAX
            && u64::from(record.length) <= DATA_BYTES_MAX
            && (HEADER_BYTES..=covers).contains(&record.position)
            && record.end() <= covers;
        is_sane.then_some(record)
    };
    let records = entries.iter().map(record).collect::<Option<Vec<Record>>>()?;
    (is_index && tail.is_empty()).then_some(Index { content, covers, records })
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONTENT: ContentId = *b"0123456789abcdef";

    fn record() -> Vec<u8> {
        let mut bytes = Vec::new();
        encode_record(&CONTENT, 1000, b"basket", &mut bytes);
        bytes
    }

    #[test]
    fn a_record_is_whole_or_nothing() {
        let whole = record();
        assert_eq!(decode_record(&CONTENT, &whole), Some((1000, &b"basket"[..])));
        assert_eq!(record_length(&whole), Some(whole.len() as u64));
        for at in 0..whole.len() {
            assert_eq!(decode_record(&CONTENT, &whole[..at]), None, "cut at {at}");
            let mut changed = whole.clone();
            changed[at] ^= 0x10;
            assert_eq!(decode_record(&CONTENT, &changed), None, "changed at {at}");
        }
        let followed = [whole.clone(), b"the next one".to_vec()].concat();
        assert_eq!(decode_record(&CONTENT, &followed), Some((1000, &b"basket"[..])));
    }

    #[test]
    fn a_record_of_another_content_is_none_of_this() {
        assert_eq!(decode_record(b"another content.", &record()), None);
    }

    #[test]
    fn a_header_says_what_was_written_and_only_its_use_changes() {
        let usage = Usage { used: 1_800_000_000, uses: 3 };
        let header = Header { content: CONTENT, begun: 1_790_000_000, usage };
        let whole = encode_header(&header);
        assert_eq!(whole.len() as u64, HEADER_BYTES);
        assert_eq!(decode_header(&whole), Some(header));
        for at in 0..whole.len() {
            assert_eq!(decode_header(&whole[..at]), None, "cut at {at}");
            let mut changed = whole.clone();
            changed[at] ^= 1;
            let is_use = at as u64 >= USE_AT;
            assert_eq!(decode_header(&changed).is_some(), is_use, "changed at {at}");
        }
        assert_eq!(whole[USE_AT as usize..], encode_usage(&usage));
    }

    #[test]
    fn an_index_is_whole_or_nothing() {
        let record = |offset, position| Record { offset, length: 10, position };
        let records = vec![record(5, HEADER_BYTES), record(100, HEADER_BYTES + 30)];
        let index = Index { content: CONTENT, covers: HEADER_BYTES + 60, records };
        let whole = encode_index(&index);
        assert_eq!(decode_index(&whole), Some(index.clone()));
        for at in 0..whole.len() {
            assert_eq!(decode_index(&whole[..at]), None, "cut at {at}");
            let mut changed = whole.clone();
            changed[at] ^= 4;
            assert_eq!(decode_index(&changed), None, "changed at {at}");
        }
        assert_eq!(decode_index(&[whole, vec![0]].concat()), None, "with a tail");
        let beyond = Index { covers: HEADER_BYTES + 59, ..index };
        assert_eq!(decode_index(&encode_index(&beyond)), None, "a record beyond what it covers");
    }
}
