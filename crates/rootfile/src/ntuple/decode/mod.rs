//! Pages to elements: decompressed, checked, and in host order.
//!
//! Every loop is over whole pages and free of branches, so that the compiler makes vector code.

use std::ops::Range;

use super::column::Encoding;
use super::envelope::{CHECKSUM_LEN, verify};
use super::page_list::Page;
use super::schema::Column;
use crate::array::Number;
use crate::array::Numbers;
use crate::block;
use crate::codec::{Codecs, Unpacked};
use crate::error::{Error, Result};
use crate::memory;

/// Decompressed bytes of one page; ROOT writes pages of at most 1 MiB unless configured otherwise.
const PAGE_LEN_MAX: u64 = 1 << 30;

/// Decoded elements of a column.
#[derive(Debug, Clone, PartialEq)]
pub enum Elements {
    /// Ends of collections are `I64`, bits `Bool`.
    Numbers(Numbers),
    /// Positions in, and numbers of, the alternatives of variants; the first one is 1, 0 is none.
    Switches { index: Vec<i64>, tags: Vec<u32> },
}

/// Decodes the stored bytes of a page, its checksum included, and appends its elements.
///
/// # Errors
/// `Checksum`; `Corrupt` where the bytes contradict the page list, or the elements are of another
/// type; `Limit`.
pub fn page(
    codecs: &mut Codecs,
    column: &Column,
    page: &Page,
    stored: &[u8],
    elements: &mut Elements,
) -> Result<()> {
    page_as(Encoding::of(column)?, codecs, column.bits, page, stored, elements)
}

/// As [`page`], with `encoding` in place of the column's own; `bits` is the size of an element.
///
/// # Errors
/// As [`page`].
pub fn page_as(
    encoding: Encoding,
    codecs: &mut Codecs,
    bits: u16,
    page: &Page,
    stored: &[u8],
    elements: &mut Elements,
) -> Result<()> {
    let payload = if page.checksum {
        let Some((payload, checksum)) = stored.split_last_chunk::<CHECKSUM_LEN>() else {
            return Err(Error::corrupt("a page without its checksum"));
        };
        verify(payload, u64::from_le_bytes(*checksum), "page")?;
        payload
    } else {
        stored
    };
    let length = (u64::from(page.elements) * u64::from(bits)).div_ceil(8);
    if length > PAGE_LEN_MAX {
        return Err(Error::limit(format!("a page of {length} bytes")));
    }
    let count = page.elements as usize;
    let length = length as usize;
    if payload.len() == length {
        return encoding.decode(payload, count, elements);
    }
    if payload.len() > length {
        let message = format!("a page of {length} bytes that takes {}", payload.len());
        return Err(Error::corrupt(message));
    }
    let mut raw = std::mem::take(&mut codecs.scratch);
    let decompressed = block::decompress_into(codecs, payload, length, &mut raw);
    let decoded = decompressed.and_then(|raw| {
        if page.further.is_none() && block::is_slow(payload) {
            codecs.unpacked.add(raw.len(), || Unpacked {
                at: page.range.start,
                key: Vec::new(),
                content: raw.to_vec(),
                stored: payload.len(),
                has_checksum: page.checksum,
            });
        }
        encoding.decode(raw, count, elements)
    });
    codecs.scratch = raw;
    decoded
}

impl Encoding {
    /// Appends the elements of `raw`, which has the bytes of exactly `count`.
    fn decode(&self, raw: &[u8], count: usize, elements: &mut Elements) -> Result<()> {
        elements.room(count)?;
        match (*self, elements) {
            (Encoding::Bit, Elements::Numbers(Numbers::Bool(all))) => bits(raw, count, all),
            (Encoding::Number { number, split: false }, Elements::Numbers(all))
                if !is_widened(number, all) =>
            {
                return plain(number, raw, all);
            }
            (Encoding::Number { number, split: true }, Elements::Numbers(all))
                if !is_widened(number, all) =>
            {
                return split(number, raw, count, all);
            }
            (Encoding::Index { wide, split }, Elements::Numbers(Numbers::I64(all))) => {
                ends(wide, split, raw, count, all);
            }
            (Encoding::Switch, Elements::Switches { index, tags }) => switches(raw, index, tags),
            (Encoding::Packed { bits }, Elements::Numbers(Numbers::U32(all))) => {
                all.extend(packed(raw, count, bits));
            }
            (encoding, Elements::Numbers(Numbers::F32(all))) => {
                return encoding.singles(raw, count, all);
            }
            (Encoding::Quantised { bits, min, max }, Elements::Numbers(Numbers::F64(all))) => {
                all.extend(steps(packed(raw, count, bits), bits, min, max));
            }
            // Another representation of the field has doubles.
            (encoding, Elements::Numbers(Numbers::F64(all))) => {
                let mut narrow = Vec::new();
                encoding.singles(raw, count, &mut narrow)?;
                all.extend(narrow.into_iter().map(f64::from));
            }
            _ => return Err(different_types()),
        }
        Ok(())
    }

    /// Appends single-precision reals, however they are stored.
    fn singles(&self, raw: &[u8], count: usize, all: &mut Vec<f32>) -> Result<()> {
        match *self {
            Encoding::Number { number: Number::F32, split: false } => {
                all.extend(chunks(raw).map(f32::from_le_bytes))
            }
            Encoding::Number { number: Number::F32, split: true } => {
                all.extend(unsplit(raw, count).map(f32::from_le_bytes))
            }
            Encoding::Real16 { split: false } => {
                all.extend(chunks(raw).map(|half| real16(u16::from_le_bytes(half))));
            }
            Encoding::Real16 { split: true } => {
                all.extend(unsplit(raw, count).map(|half| real16(u16::from_le_bytes(half))));
            }
            Encoding::Truncated { bits } => {
                let value = |packed: u32| f32::from_bits(packed << (32 - bits));
                all.extend(packed(raw, count, bits).map(value));
            }
            Encoding::Quantised { bits, min, max } => {
                let reals = steps(packed(raw, count, bits), bits, min, max);
                all.extend(reals.map(|real| real as f32));
            }
            _ => return Err(different_types()),
        }
        Ok(())
    }
}

/// Quantised reals, rounded as ROOT rounds them (`UnquantizeReals`).
fn steps(
    numbers: impl Iterator<Item = u32>,
    bits: u32,
    min: f64,
    max: f64,
) -> impl Iterator<Item = f64> {
    let scale = (max - min) / ((1u64 << bits) - 1) as f64;
    numbers.map(move |number| f64::from(number) * scale + min)
}

/// Whether single-precision reals are wanted as doubles.
fn is_widened(number: Number, all: &Numbers) -> bool {
    matches!((number, all), (Number::F32, Numbers::F64(_)))
}

fn chunks<const N: usize>(raw: &[u8]) -> impl ExactSizeIterator<Item = [u8; N]> {
    raw.as_chunks().0.iter().copied()
}

fn plain(number: Number, raw: &[u8], all: &mut Numbers) -> Result<()> {
    macro_rules! plain {
        ($all:ident, $kind:ty) => {
            $all.extend(chunks(raw).map(<$kind>::from_le_bytes))
        };
    }
    match (number, all) {
        (Number::U8, Numbers::U8(all)) => all.extend_from_slice(raw),
        (Number::I8, Numbers::I8(all)) => plain!(all, i8),
        (Number::I16, Numbers::I16(all)) => plain!(all, i16),
        (Number::U16, Numbers::U16(all)) => plain!(all, u16),
        (Number::I32, Numbers::I32(all)) => plain!(all, i32),
        (Number::U32, Numbers::U32(all)) => plain!(all, u32),
        (Number::I64, Numbers::I64(all)) => plain!(all, i64),
        (Number::U64, Numbers::U64(all)) => plain!(all, u64),
        (Number::F32, Numbers::F32(all)) => plain!(all, f32),
        (Number::F64, Numbers::F64(all)) => plain!(all, f64),
        _ => return Err(different_types()),
    }
    Ok(())
}

fn split(number: Number, raw: &[u8], count: usize, all: &mut Numbers) -> Result<()> {
    macro_rules! unsplit {
        ($all:ident, $kind:ty) => {
            $all.extend(unsplit(raw, count).map(<$kind>::from_le_bytes))
        };
    }
    macro_rules! zigzag {
        ($all:ident, $signed:ty, $unsigned:ty) => {
            $all.extend(unsplit(raw, count).map(|bytes| {
                let coded = <$unsigned>::from_le_bytes(bytes);
                ((coded >> 1) as $signed) ^ -((coded & 1) as $signed)
            }))
        };
    }
    match (number, all) {
        (Number::I8 | Number::U8, all) => return plain(number, raw, all),
        (Number::I16, Numbers::I16(all)) => zigzag!(all, i16, u16),
        (Number::I32, Numbers::I32(all)) => zigzag!(all, i32, u32),
        (Number::I64, Numbers::I64(all)) => zigzag!(all, i64, u64),
        (Number::U16, Numbers::U16(all)) => unsplit!(all, u16),
        (Number::U32, Numbers::U32(all)) => unsplit!(all, u32),
        (Number::U64, Numbers::U64(all)) => unsplit!(all, u64),
        (Number::F32, Numbers::F32(all)) => unsplit!(all, f32),
        (Number::F64, Numbers::F64(all)) => unsplit!(all, f64),
        _ => return Err(different_types()),
    }
    Ok(())
}

/// The bytes of each element, where all first bytes come first, then all second ones.
fn unsplit<B: Split>(raw: &[u8], count: usize) -> impl ExactSizeIterator<Item = B> {
    B::unsplit(move |byte| &raw[byte * count..][..count])
}

/// Elements of so many bytes. Each length has its own loop over all planes at a time, which the
/// compiler makes vectors of; of one loop over any number of planes it does not.
trait Split: Sized {
    fn unsplit<'a>(plane: impl Fn(usize) -> &'a [u8]) -> impl ExactSizeIterator<Item = Self>;
}

impl Split for [u8; 2] {
    fn unsplit<'a>(plane: impl Fn(usize) -> &'a [u8]) -> impl ExactSizeIterator<Item = Self> {
        plane(0).iter().zip(plane(1)).map(|(a, b)| [*a, *b])
    }
}

impl Split for [u8; 4] {
    fn unsplit<'a>(plane: impl Fn(usize) -> &'a [u8]) -> impl ExactSizeIterator<Item = Self> {
        let planes = plane(0).iter().zip(plane(1)).zip(plane(2)).zip(plane(3));
        planes.map(|(((a, b), c), d)| [*a, *b, *c, *d])
    }
}

impl Split for [u8; 8] {
    fn unsplit<'a>(plane: impl Fn(usize) -> &'a [u8]) -> impl ExactSizeIterator<Item = Self> {
        let low = plane(0).iter().zip(plane(1)).zip(plane(2)).zip(plane(3));
        let planes = low.zip(plane(4)).zip(plane(5)).zip(plane(6)).zip(plane(7));
        planes.map(|(((((((a, b), c), d), e), f), g), h)| [*a, *b, *c, *d, *e, *f, *g, *h])
    }
}

/// Ends of collections; those of a page begin anew where they are stored as differences.
fn ends(wide: bool, split: bool, raw: &[u8], count: usize, all: &mut Vec<i64>) {
    let narrow = |end| i64::from(u32::from_le_bytes(end));
    let begun = all.len();
    match (wide, split) {
        (false, false) => all.extend(chunks(raw).map(narrow)),
        (true, false) => all.extend(chunks(raw).map(i64::from_le_bytes)),
        (false, true) => all.extend(unsplit(raw, count).map(narrow)),
        (true, true) => all.extend(unsplit(raw, count).map(i64::from_le_bytes)),
    }
    if split {
        let mut sum = 0i64;
        for end in &mut all[begun..] {
            sum = sum.wrapping_add(*end);
            *end = sum;
        }
    }
}

/// Eight to a byte, the lowest first.
fn bits(raw: &[u8], count: usize, all: &mut Vec<u8>) {
    let end = all.len() + count;
    for byte in raw {
        all.extend::<[u8; 8]>(std::array::from_fn(|bit| byte >> bit & 1));
    }
    all.truncate(end);
}

/// Numbers of 1 to 32 bits without gaps, the lowest bits first.
fn packed(raw: &[u8], count: usize, bits: u32) -> impl Iterator<Item = u32> {
    let mask = (1u64 << bits) - 1;
    (0..count as u64).map(move |at| {
        let bit = at * u64::from(bits);
        let from = (bit / 8) as usize;
        let word = match raw[from..].first_chunk() {
            Some(word) => u64::from_le_bytes(*word),
            None => {
                let mut word = [0; 8];
                word[..raw.len() - from].copy_from_slice(&raw[from..]);
                u64::from_le_bytes(word)
            }
        };
        (word >> (bit % 8) & mask) as u32
    })
}

/// Half to single precision, without branches: the product moves the exponent, subnormal or not.
fn real16(half: u16) -> f32 {
    const SHIFT: f32 = f32::from_bits((127 + 112) << 23);
    let magnitude = f32::from_bits(u32::from(half & 0x7fff) << 13) * SHIFT;
    let infinite = u32::from(half & 0x7c00 == 0x7c00) * (0xff << 23);
    f32::from_bits(magnitude.to_bits() | infinite | u32::from(half & 0x8000) << 16)
}

fn switches(raw: &[u8], index: &mut Vec<i64>, tags: &mut Vec<u32>) {
    let (words, _) = raw.as_chunks::<12>();
    index.extend(words.iter().map(|word| {
        let [a, b, c, d, e, f, g, h, ..] = *word;
        i64::from_le_bytes([a, b, c, d, e, f, g, h])
    }));
    let tag = |word: &[u8; 12]| u32::from_le_bytes([word[8], word[9], word[10], word[11]]);
    tags.extend(words.iter().map(tag));
}

impl Elements {
    pub fn empty_like(&self) -> Elements {
        match self {
            Elements::Numbers(numbers) => Elements::Numbers(numbers.empty_like()),
            Elements::Switches { .. } => Elements::Switches { index: Vec::new(), tags: Vec::new() },
        }
    }

    /// Room for so many more.
    fn room(&mut self, additional: usize) -> Result<()> {
        match self {
            Elements::Numbers(numbers) => numbers.room(additional),
            Elements::Switches { index, tags } => {
                memory::room(index, additional)?;
                memory::room(tags, additional)
            }
        }
    }

    /// Adds zeros, as columns have that were added while writing.
    pub fn push_zeros(&mut self, count: usize) -> Result<()> {
        self.room(count)?;
        match self {
            Elements::Numbers(numbers) => return numbers.push_zeros(count),
            Elements::Switches { index, tags } => {
                index.resize(index.len() + count, 0);
                tags.resize(tags.len() + count, 0);
            }
        }
        Ok(())
    }

    /// Adds some elements of another page.
    pub fn append_part(&mut self, more: &Elements, part: Range<usize>) -> Result<()> {
        match (self, more) {
            (Elements::Numbers(all), Elements::Numbers(more)) => all.append(&more.slice(part)),
            (
                Elements::Switches { index, tags },
                Elements::Switches { index: more_index, tags: more_tags },
            ) => {
                index.extend_from_slice(&more_index[part.clone()]);
                tags.extend_from_slice(&more_tags[part]);
                Ok(())
            }
            _ => Err(different_types()),
        }
    }
}

pub(super) fn different_types() -> Error {
    Error::corrupt("pages of one column are of different types")
}

#[cfg(test)]
mod tests;
