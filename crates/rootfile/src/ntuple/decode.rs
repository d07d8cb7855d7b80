//! Pages to elements: decompressed, checked, and in host order.
//!
//! Every loop is over whole pages and free of branches, so that the compiler makes vector code.

use super::column::{Element, Encoding, Number};
use super::envelope::{CHECKSUM_LEN, verify};
use super::page_list::Page;
use super::schema::Column;
use crate::array::Numbers;
use crate::block;
use crate::codec::Codecs;
use crate::error::{Error, Result};

/// Decompressed bytes of one page; ROOT writes pages of at most 1 MiB unless told otherwise.
const PAGE_LEN_MAX: u64 = 1 << 30;

/// Decoded elements of a column.
#[derive(Debug, Clone, PartialEq)]
pub enum Elements {
    /// Ends of collections are `I64`, bits `Bool`.
    Numbers(Numbers),
    /// Positions in, and numbers of, the alternatives of variants; the first one is 1, 0 is none.
    Switches { index: Vec<i64>, tags: Vec<u32> },
}

/// Decodes the stored bytes of a page, its checksum included.
///
/// # Errors
/// `Checksum`; `Corrupt` where the bytes contradict the page list; `Limit`.
pub fn page(codecs: &mut Codecs, column: &Column, page: &Page, stored: &[u8]) -> Result<Elements> {
    let encoding = Encoding::of(column)?;
    let payload = if page.checksum {
        let Some((payload, checksum)) = stored.split_last_chunk::<CHECKSUM_LEN>() else {
            return Err(Error::corrupt("a page without its checksum"));
        };
        verify(payload, u64::from_le_bytes(*checksum), "page")?;
        payload
    } else {
        stored
    };
    let length = (u64::from(page.elements) * u64::from(column.bits)).div_ceil(8);
    if length > PAGE_LEN_MAX {
        return Err(Error::limit(format!("a page of {length} bytes")));
    }
    let (count, length) = (page.elements as usize, length as usize);
    if payload.len() == length {
        return Ok(encoding.decode(payload, count));
    }
    if payload.len() > length {
        let what = format!("a page of {length} bytes that takes {}", payload.len());
        return Err(Error::corrupt(what));
    }
    let mut raw = std::mem::take(&mut codecs.scratch);
    let decompressed = block::decompress_into(codecs, payload, length, &mut raw);
    let decoded = decompressed.map(|()| encoding.decode(&raw, count));
    codecs.scratch = raw;
    decoded
}

impl Encoding {
    /// `raw` has the bytes of exactly `count` elements.
    fn decode(&self, raw: &[u8], count: usize) -> Elements {
        Elements::Numbers(match *self {
            Encoding::Bit => Numbers::Bool(bits(raw, count)),
            Encoding::Number { number, split: false } => plain(number, raw),
            Encoding::Number { number, split: true } => split(number, raw, count),
            Encoding::Real16 { split: false } => Numbers::F32(
                raw.as_chunks().0.iter().map(|half| real16(u16::from_le_bytes(*half))).collect(),
            ),
            Encoding::Real16 { split: true } => {
                Numbers::F32(unsplit(raw, count).map(|b| real16(u16::from_le_bytes(b))).collect())
            }
            Encoding::Index { wide: false, split: false } => Numbers::I64(
                raw.as_chunks().0.iter().map(|end| i64::from(u32::from_le_bytes(*end))).collect(),
            ),
            Encoding::Index { wide: true, split: false } => plain(Number::I64, raw),
            Encoding::Index { wide: false, split: true } => {
                Numbers::I64(sums(unsplit(raw, count).map(|b| i64::from(u32::from_le_bytes(b)))))
            }
            Encoding::Index { wide: true, split: true } => {
                Numbers::I64(sums(unsplit(raw, count).map(i64::from_le_bytes)))
            }
            Encoding::Truncated { bits } => {
                let value = |packed: u32| f32::from_bits(packed << (32 - bits));
                Numbers::F32(packed(raw, count, bits).map(value).collect())
            }
            Encoding::Quantised { bits, min, max } => {
                let steps = ((1u64 << bits) - 1) as f64;
                let value = |packed| (min + f64::from(packed) * (max - min) / steps) as f32;
                Numbers::F32(packed(raw, count, bits).map(value).collect())
            }
            Encoding::Switch => return switches(raw),
        })
    }
}

fn plain(number: Number, raw: &[u8]) -> Numbers {
    macro_rules! plain {
        ($kind:ty) => {
            raw.as_chunks().0.iter().map(|bytes| <$kind>::from_le_bytes(*bytes)).collect()
        };
    }
    match number {
        Number::U8 => Numbers::U8(raw.to_vec()),
        Number::I8 => Numbers::I8(plain!(i8)),
        Number::I16 => Numbers::I16(plain!(i16)),
        Number::U16 => Numbers::U16(plain!(u16)),
        Number::I32 => Numbers::I32(plain!(i32)),
        Number::U32 => Numbers::U32(plain!(u32)),
        Number::I64 => Numbers::I64(plain!(i64)),
        Number::U64 => Numbers::U64(plain!(u64)),
        Number::F32 => Numbers::F32(plain!(f32)),
        Number::F64 => Numbers::F64(plain!(f64)),
    }
}

fn split(number: Number, raw: &[u8], count: usize) -> Numbers {
    macro_rules! unsplit {
        ($kind:ty) => {
            unsplit(raw, count).map(<$kind>::from_le_bytes).collect()
        };
    }
    macro_rules! zigzag {
        ($signed:ty, $unsigned:ty) => {
            unsplit(raw, count)
                .map(|bytes| {
                    let coded = <$unsigned>::from_le_bytes(bytes);
                    ((coded >> 1) as $signed) ^ -((coded & 1) as $signed)
                })
                .collect()
        };
    }
    match number {
        Number::I8 | Number::U8 => plain(number, raw),
        Number::I16 => Numbers::I16(zigzag!(i16, u16)),
        Number::I32 => Numbers::I32(zigzag!(i32, u32)),
        Number::I64 => Numbers::I64(zigzag!(i64, u64)),
        Number::U16 => Numbers::U16(unsplit!(u16)),
        Number::U32 => Numbers::U32(unsplit!(u32)),
        Number::U64 => Numbers::U64(unsplit!(u64)),
        Number::F32 => Numbers::F32(unsplit!(f32)),
        Number::F64 => Numbers::F64(unsplit!(f64)),
    }
}

/// The bytes of each element, where all first bytes come first, then all second ones.
fn unsplit<const N: usize>(raw: &[u8], count: usize) -> impl ExactSizeIterator<Item = [u8; N]> {
    let planes: [&[u8]; N] = std::array::from_fn(|byte| &raw[byte * count..][..count]);
    (0..count).map(move |at| std::array::from_fn(|byte| planes[byte][at]))
}

fn sums(differences: impl Iterator<Item = i64>) -> Vec<i64> {
    let next = |sum: &mut i64, difference| {
        *sum = sum.wrapping_add(difference);
        Some(*sum)
    };
    differences.scan(0, next).collect()
}

/// Eight to a byte, the lowest first.
fn bits(raw: &[u8], count: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(raw.len() * 8);
    for byte in raw {
        out.extend::<[u8; 8]>(std::array::from_fn(|bit| byte >> bit & 1));
    }
    out.truncate(count);
    out
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

fn switches(raw: &[u8]) -> Elements {
    let (words, _) = raw.as_chunks::<12>();
    let index = |word: &[u8; 12]| {
        let [a, b, c, d, e, f, g, h, ..] = *word;
        i64::from_le_bytes([a, b, c, d, e, f, g, h])
    };
    let tag = |word: &[u8; 12]| u32::from_le_bytes([word[8], word[9], word[10], word[11]]);
    Elements::Switches {
        index: words.iter().map(index).collect(),
        tags: words.iter().map(tag).collect(),
    }
}

impl Elements {
    /// So many zeros, as columns have that were added while writing.
    pub(super) fn zeros(element: Element, count: usize) -> Elements {
        match element {
            Element::Bool => Elements::Numbers(Numbers::Bool(vec![0; count])),
            Element::Number(number) => Elements::Numbers(number.zeros(count)),
            Element::Index { .. } => Elements::Numbers(Numbers::I64(vec![0; count])),
            Element::Switch => Elements::Switches { index: vec![0; count], tags: vec![0; count] },
        }
    }

    pub fn len(&self) -> usize {
        match self {
            Elements::Numbers(numbers) => numbers.len(),
            Elements::Switches { tags, .. } => tags.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of memory.
    pub fn nbytes(&self) -> usize {
        match self {
            Elements::Numbers(numbers) => numbers.nbytes(),
            Elements::Switches { .. } => self.len() * 12,
        }
    }

    /// Adds more elements of the same column, in whichever representation they were.
    pub(super) fn append(&mut self, more: Elements) -> Result<()> {
        match (self, more) {
            (Elements::Numbers(Numbers::F64(all)), Elements::Numbers(Numbers::F32(more))) => {
                all.extend(more.into_iter().map(f64::from));
                Ok(())
            }
            (Elements::Numbers(all), Elements::Numbers(more)) => all.append(&more),
            (
                Elements::Switches { index, tags },
                Elements::Switches { index: more_index, tags: more_tags },
            ) => {
                index.extend(more_index);
                tags.extend(more_tags);
                Ok(())
            }
            _ => Err(Error::corrupt("pages of one column are of different types")),
        }
    }
}

#[cfg(test)]
mod tests;
