//! TBasket: one compressed record of one branch (ROOT: `TBasket::Streamer`, `ReadBasketBuffers`).
//!
//! ```text
//! stored in the file                          streamed into the tree (`fBaskets`)
//!   TKey header                                 TKey header
//!   TBasket fields, counted in fKeylen          TBasket fields
//!   payload: blocks, or fObjlen plain bytes     entry offsets, displacements  (flag says which)
//!     entries          up to fLast              buffer of fLast bytes: fKeylen to be ignored,
//!     entry offsets    count, then i32 each       then the entries
//!     displacements    the same, unused here
//! ```
//!
//! `fLast` and the entry offsets count from the start of the record, key included; here they are
//! made relative to the first entry.

use std::ops::RangeInclusive;

use crate::block;
use crate::codec::{Codecs, Unpacked};
use crate::error::{Error, Result};
use crate::header::has_long_offsets;
use crate::hole;
use crate::key::KEY_LEN_MIN;
use crate::memory;
use crate::tree::model::{BasketPlace, BasketRef};

/// `TBasket::kDisplacementMask`: the upper byte of an entry offset is not part of it.
const DISPLACEMENT_MASK: u32 = 0xff00_0000;
/// `TBasket::EIOBits::kGenerateOffsetMap`
pub(super) const IO_GENERATE_OFFSET_MAP: u8 = 1;
/// Added to the flag of a basket whose entry offsets are not stored but follow from a counter.
const FLAG_GENERATE_OFFSETS: u8 = 80;
/// Versions of `TBasket` with one layout: 2 up to ROOT 6.10, and 3 (`TBasket::Streamer`).
const VERSIONS: RangeInclusive<i16> = 2..=3;

/// The decompressed content of a basket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Basket<'a> {
    /// The entries, one after the other, and nothing else.
    pub data: &'a [u8],
    /// Where each entry starts in `data`, and at last where the last one ends: one element more
    /// than there are entries, ascending, the last one `data.len()`. `None` where the file does
    /// not say: entries of fixed size, or ones whose size follows from a counter.
    pub entry_offsets: Option<Vec<u32>>,
    /// Number of entries (`fNevBuf`).
    pub entries: usize,
    /// How long the arrays of each entry are, where another branch says that and has
    /// been read.
    pub lengths: Option<Vec<Vec<usize>>>,
    /// Where `data` begins in the record, which pointers between objects count from.
    pub start: u32,
    /// Whether its entries are of before there was the branch. They have no bytes.
    pub is_nothing: bool,
}

impl<'a> Basket<'a> {
    /// The basket that `reference` names. `record` has the bytes of the file at its
    /// [`BasketPlace::Stored`] range; for an embedded one it is ignored.
    ///
    /// # Errors
    /// `Corrupt` or `Checksum` where the record contradicts itself or the number of entries that
    /// the branch says it holds; `Unsupported` for I/O features later than ROOT 6.40.
    pub fn read(
        reference: &'a BasketRef,
        record: &'a [u8],
        codecs: &'a mut Codecs,
    ) -> Result<Basket<'a>> {
        let entries = usize::try_from(reference.entries.end - reference.entries.start)
            .map_err(|_| Error::limit("more entries in a basket than this machine can address"))?;
        match &reference.place {
            BasketPlace::Stored(range) => {
                let read = Self::stored(record, Some(range.start), entries, codecs);
                read.map_err(|error| error.at(range.start))
            }
            BasketPlace::Embedded(bytes) if bytes.is_empty() => Self::nothing(entries),
            BasketPlace::Embedded(bytes) => Self::embedded(bytes, entries),
        }
    }

    /// A basket from its record, at that offset of its file, which must hold `entries` entries.
    fn stored(
        record: &'a [u8],
        at: Option<u64>,
        entries: usize,
        codecs: &'a mut Codecs,
    ) -> Result<Basket<'a>> {
        if let Some(message) = hole::in_front(record, KEY_LEN_MIN) {
            return Err(Error::corrupt(message));
        }
        let mut fields = Fields { rest: record };
        let header = Header::read(&mut fields)?;
        let payload = record
            .get(..header.record_len)
            .and_then(|record| record.get(header.key_len..))
            .ok_or_else(|| {
                Error::corrupt(format!(
                    "basket's key says {} bytes with {} of header; {} are here",
                    header.record_len,
                    header.key_len,
                    record.len()
                ))
            })?;
        header.check(entries)?;
        at.map_or(Ok(()), |at| header.check_place(at))?;
        let content = if payload.len() == header.content_len {
            payload
        } else {
            let mut scratch = std::mem::take(&mut codecs.scratch);
            let outcome = block::decompress_into(codecs, payload, header.content_len, &mut scratch);
            let outcome = outcome.map(<[u8]>::len).map_err(|error| hole::noted(error, payload));
            codecs.scratch = scratch;
            let content_len = outcome?;
            if let Some(at) = at.filter(|_| block::is_slow(payload)) {
                let Codecs { unpacked, scratch, .. } = &mut *codecs;
                unpacked.add(header.key_len + content_len, || Unpacked {
                    at,
                    key: record[..header.key_len].to_vec(),
                    content: scratch[..content_len].to_vec(),
                    stored: payload.len(),
                    has_checksum: false,
                });
            }
            &codecs.scratch[..content_len]
        };
        let (data, tail) = content.split_at_checked(header.data_len()?).ok_or_else(|| {
            Error::corrupt(format!(
                "basket's entries end at {}, its content at {}",
                header.last - header.key_len,
                content.len()
            ))
        })?;
        let entry_offsets = if tail.is_empty() {
            None
        } else {
            let raw = header.offsets_in(tail)?;
            if header.io_bits & IO_GENERATE_OFFSET_MAP != 0 {
                Some(offsets_from_sizes(raw, entries, data.len())?)
            } else {
                Some(relative_offsets(raw, &header, entries, data.len())?)
            }
        };
        Ok(Basket { start: header.key_len as u32, ..Self::of(data, entry_offsets, entries) })
    }

    /// Entries of before there was the branch.
    ///
    /// # Errors
    /// `Limit` where there is no memory for their offsets.
    pub fn nothing(entries: usize) -> Result<Basket<'a>> {
        let offsets = memory::filled(0, entries.saturating_add(1))?;
        Ok(Basket { is_nothing: true, ..Self::of(&[], Some(offsets), entries) })
    }

    fn of(data: &'a [u8], entry_offsets: Option<Vec<u32>>, entries: usize) -> Basket<'a> {
        Basket { data, entry_offsets, entries, lengths: None, start: 0, is_nothing: false }
    }

    /// A basket streamed into the tree's own record, from its TKey header on; bytes after it are
    /// left alone.
    pub fn embedded(bytes: &'a [u8], entries: usize) -> Result<Basket<'a>> {
        let mut fields = Fields { rest: bytes };
        let header = Header::read(&mut fields)?;
        header.check(entries)?;
        let flag = header.flag % FLAG_GENERATE_OFFSETS;
        let mut raw = None;
        if !header.generates_offsets() && flag != 0 && flag % 10 != 2 {
            if entries > 0 {
                raw = Some(fields.counted_array()?);
            }
            if flag > 40 {
                fields.counted_array()?;
            }
        }
        if flag != 1 && flag <= 10 {
            return Err(Error::corrupt(format!("embedded basket (flag {flag}) without a buffer")));
        }
        if header.version <= 1 {
            fields.take(4)?;
        }
        let data_len = header.data_len()?;
        let data = &fields.take(header.last)?[header.key_len..];
        let entry_offsets = match raw {
            Some(raw) => Some(relative_offsets(raw, &header, entries, data_len)?),
            None => None,
        };
        Ok(Basket { start: header.key_len as u32, ..Self::of(data, entry_offsets, entries) })
    }
}

/// The key of a stored basket, for those who copy the basket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BasketKey {
    pub key_len: usize,
    /// Bytes of the payload before compression.
    pub content_len: usize,
    pub entries: u32,
    /// Bytes of the entries alone.
    pub data_len: usize,
    /// Where entries begin is stored as offsets, or nowhere as all are of one size.
    pub is_usual: bool,
}

impl BasketKey {
    /// Reads the key at the beginning of a record.
    ///
    /// # Errors
    /// `Corrupt` where it contradicts itself; `Unsupported` for I/O features later than ROOT 6.40.
    pub fn read(record: &[u8]) -> Result<BasketKey> {
        let mut fields = Fields { rest: record };
        let header = Header::read(&mut fields)?;
        let data_len = header.data_len()?;
        if data_len > header.content_len {
            return Err(Error::corrupt("a basket whose entries end behind its content"));
        }
        let entries = u32::try_from(header.entries)
            .map_err(|_| Error::corrupt(format!("a basket of {} entries", header.entries)))?;
        let is_whole = record.len() - fields.rest.len() == header.key_len;
        let is_plain = header.flag == 0 && header.io_bits == 0;
        Ok(BasketKey {
            key_len: header.key_len,
            content_len: header.content_len,
            entries,
            data_len,
            is_usual: is_whole && is_plain && VERSIONS.contains(&header.version),
        })
    }
}

/// The fields of TKey and TBasket that matter.
#[derive(Debug)]
struct Header {
    /// `fNbytes`
    record_len: usize,
    /// `fObjlen`
    content_len: usize,
    /// `fKeylen`
    key_len: usize,
    /// `fSeekKey`, of which short keys have four bytes.
    offset: u64,
    is_large: bool,
    is_basket: bool,
    /// Version of TBasket, not of TKey.
    version: i16,
    io_bits: u8,
    /// `fNevBuf`
    entries: i32,
    /// `fLast`
    last: usize,
    flag: u8,
}

impl Header {
    fn read(fields: &mut Fields<'_>) -> Result<Header> {
        let record_len = fields.len("fNbytes")?;
        let key_version = u16::from_be_bytes(fields.bytes()?);
        let content_len = fields.len("fObjlen")?;
        fields.take(4)?; // fDatime
        let key_len = fields.i16()?;
        let key_len = usize::try_from(key_len)
            .map_err(|_| Error::corrupt(format!("basket's key has length {key_len}")))?;
        fields.take(2)?; // fCycle
        let is_large = has_long_offsets(key_version);
        let offset = match is_large {
            true => u64::from_be_bytes(fields.bytes()?),
            false => u32::from_be_bytes(fields.bytes()?).into(),
        };
        fields.take(if is_large { 8 } else { 4 })?; // fSeekPdir
        let is_basket = fields.string()? == b"TBasket";
        for _name in ["branch", "tree"] {
            fields.string()?;
        }
        let version = fields.i16()?;
        fields.take(4)?; // fBufferSize
        let entry_buffer_len = fields.i32()?;
        let io_bits = if entry_buffer_len < 0 { fields.u8()? } else { 0 };
        if entry_buffer_len < 0 && io_bits != IO_GENERATE_OFFSET_MAP {
            return Err(Error::unsupported(format!("basket with I/O features {io_bits:#04x}")));
        }
        Ok(Header {
            record_len,
            content_len,
            key_len,
            offset,
            is_large,
            is_basket,
            version,
            io_bits,
            entries: fields.i32()?,
            last: fields.len("fLast")?,
            flag: fields.u8()?,
        })
    }

    fn check(&self, entries: usize) -> Result<()> {
        if usize::try_from(self.entries) == Ok(entries) {
            return Ok(());
        }
        Err(Error::corrupt(format!(
            "basket says it holds {} entries, its branch says {entries}",
            self.entries
        )))
    }

    /// That it is a basket's key, and that of the record at this offset.
    fn check_place(&self, at: u64) -> Result<()> {
        let at = if self.is_large { at } else { at & u64::from(u32::MAX) };
        // Zero where the writer did not know it yet.
        if self.is_basket && (self.offset == at || self.offset == 0) {
            return Ok(());
        }
        let record = if self.is_basket { "a basket" } else { "another record" };
        let offset = self.offset;
        Err(Error::corrupt(format!(
            "{record} that says it is at byte {offset} where one should be"
        )))
    }

    /// The entry offsets behind the entries, and perhaps displacements: nothing else may be there.
    fn offsets_in<'a>(&self, tail: &'a [u8]) -> Result<&'a [u8]> {
        let mut fields = Fields { rest: tail };
        if !self.generates_offsets() {
            let offsets = fields.counted_array()?;
            if !fields.rest.is_empty() {
                fields.counted_array()?;
            }
            if fields.rest.is_empty() {
                return Ok(offsets);
            }
        }
        let left = fields.rest.len();
        Err(Error::corrupt(format!("{left} bytes behind the entries of a basket")))
    }

    fn data_len(&self) -> Result<usize> {
        self.last.checked_sub(self.key_len).ok_or_else(|| {
            Error::corrupt(format!(
                "basket's entries end at {}, within its header of {} bytes",
                self.last, self.key_len
            ))
        })
    }

    fn generates_offsets(&self) -> bool {
        self.flag >= FLAG_GENERATE_OFFSETS
    }
}

/// Offsets as stored, which count from the record's start, made relative to the data.
///
/// ROOT stores one more than there are entries; that last one is not always filled.
fn relative_offsets(
    raw: &[u8],
    header: &Header,
    entries: usize,
    data_len: usize,
) -> Result<Vec<u32>> {
    let masked = (20..40).contains(&(header.flag % FLAG_GENERATE_OFFSETS));
    let mask = if masked { !DISPLACEMENT_MASK } else { !0 };
    let key_len = header.key_len as u32;
    let (numbers, _) = raw.as_chunks::<4>();
    let starts = numbers.get(..entries).ok_or_else(|| too_few(numbers.len(), entries))?;
    let mut offsets = memory::with_room(entries + 1)?;
    offsets.extend(
        starts.iter().map(|start| (u32::from_be_bytes(*start) & mask).wrapping_sub(key_len)),
    );
    finish(offsets, data_len)
}

/// Offsets stored as sizes (`kGenerateOffsetMap` without a counter), which compress better.
fn offsets_from_sizes(raw: &[u8], entries: usize, data_len: usize) -> Result<Vec<u32>> {
    let (numbers, _) = raw.as_chunks::<4>();
    let sizes = numbers.get(..entries).ok_or_else(|| too_few(numbers.len(), entries))?;
    let mut offsets = memory::with_room(entries + 1)?;
    let mut at = 0u32;
    // The first element is a placeholder: element i is the size of entry i - 1.
    for (i, size) in sizes.iter().enumerate() {
        if i > 0 {
            at = at.wrapping_add(u32::from_be_bytes(*size));
        }
        offsets.push(at);
    }
    finish(offsets, data_len)
}

/// Adds the end of the last entry and verifies that all is in order.
fn finish(mut offsets: Vec<u32>, data_len: usize) -> Result<Vec<u32>> {
    let end = u32::try_from(data_len).map_err(|_| Error::limit("basket of 4 GiB or more"))?;
    offsets.push(end);
    if !offsets.is_sorted() || offsets[0] != 0 {
        return Err(Error::corrupt("entry offsets of a basket are not in order"));
    }
    Ok(offsets)
}

fn too_few(offsets: usize, entries: usize) -> Error {
    Error::corrupt(format!("basket has {offsets} entry offsets for {entries} entries"))
}

/// Big-endian fields from a slice that they consume.
struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    fn take(&mut self, len: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(len).ok_or_else(|| {
            Error::corrupt(format!("basket ends {} bytes early", len - self.rest.len()))
        })?;
        self.rest = rest;
        Ok(taken)
    }

    fn bytes<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (taken, rest) = self
            .rest
            .split_first_chunk::<N>()
            .ok_or_else(|| Error::corrupt("basket's header is cut off"))?;
        self.rest = rest;
        Ok(*taken)
    }

    fn u8(&mut self) -> Result<u8> {
        Ok(self.bytes::<1>()?[0])
    }

    fn i16(&mut self) -> Result<i16> {
        Ok(i16::from_be_bytes(self.bytes()?))
    }

    fn i32(&mut self) -> Result<i32> {
        Ok(i32::from_be_bytes(self.bytes()?))
    }

    /// A length, which must not be negative.
    fn len(&mut self, name: &str) -> Result<usize> {
        let len = self.i32()?;
        usize::try_from(len).map_err(|_| Error::corrupt(format!("basket's {name} is {len}")))
    }

    /// TString: one byte of length, or 255 and four.
    fn string(&mut self) -> Result<&'a [u8]> {
        let len = match self.u8()? {
            255 => self.len("name")?,
            short => short as usize,
        };
        self.take(len)
    }

    /// The bytes of an array of i32 that starts with its count (`TBuffer::ReadArray`).
    fn counted_array(&mut self) -> Result<&'a [u8]> {
        let count = self.len("entry offset count")?;
        let bytes = count
            .checked_mul(4)
            .filter(|bytes| *bytes <= self.rest.len())
            .ok_or_else(|| too_few(self.rest.len() / 4, count))?;
        self.take(bytes)
    }
}

#[cfg(test)]
mod tests;
