//! ElementsOf to pages (read in [`crate::ntuple`]).
//!
//! Every loop is over many elements and free of branches, so that the compiler makes vector code.

use super::way::ElementsOf;
use crate::array::{Array, Number, Numbers};
use crate::error::{Error, Result};
use crate::ntuple::column::Encoding;

/// ElementsOf of a block whose bytes are split together: they stay in the nearest cache.
const BLOCK: usize = 2048;

/// Some elements of an array.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slice<'a> {
    pub elements: ElementsOf<'a>,
    pub start: usize,
    pub len: usize,
    /// Added to where lists end; of a union, to where those of each alternative do.
    pub shifts: &'a [i64],
}

/// The numbers of all slices, in one type; an error where a slice has another type.
macro_rules! numbers {
    ($slices:expr, $kind:ident) => {
        $slices
            .iter()
            .map(|slice| match slice.elements {
                ElementsOf::Numbers(Numbers::$kind(all)) => {
                    Ok(&all[slice.start..slice.start + slice.len])
                }
                _ => Err(another_type()),
            })
            .collect::<Result<Vec<_>>>()
    };
}

/// Appends a page of all those elements.
///
/// # Errors
/// `Unsupported` for quantised reals that are out of their range.
pub(super) fn page(encoding: Encoding, slices: &[Slice<'_>], page: &mut Vec<u8>) -> Result<()> {
    let count: usize = slices.iter().map(|slice| slice.len).sum();
    match encoding {
        Encoding::Bit => bits(slices, page)?,
        Encoding::Number { number, split } => number_page(number, split, slices, count, page)?,
        Encoding::Index { wide: true, split } => {
            let ends = ends(slices, count)?;
            match split {
                false => plain(&[&ends[..]], count, page),
                true => {
                    let deltas: Vec<i64> = differences(&ends).collect();
                    split_bytes(&[&deltas[..]], count, |delta| delta as u64, page);
                }
            }
        }
        Encoding::Index { wide: false, split } => {
            let ends = ends(slices, count)?;
            if ends.last().is_some_and(|last| u32::try_from(*last).is_err()) {
                let message = "a cluster of more than 4,294,967,295 items in a column of 32 bits";
                return Err(Error::limit(message));
            }
            let numbers = |all: &mut dyn Iterator<Item = i64>| -> Vec<u32> {
                all.map(|end| end as u32).collect()
            };
            match split {
                false => plain(&[&numbers(&mut ends.into_iter())[..]], count, page),
                true => {
                    let deltas = numbers(&mut differences(&ends));
                    split_bytes(&[&deltas[..]], count, |delta| delta, page);
                }
            }
        }
        Encoding::Real16 { .. } => {
            let reals = singles(slices, count)?.into_iter();
            let halves = reals.map(checked_half).collect::<Result<Vec<u16>>>()?;
            plain(&[&halves[..]], count, page);
        }
        Encoding::Truncated { bits } => {
            let reals = singles(slices, count)?;
            pack(reals.into_iter().map(|real| real.to_bits() >> (32 - bits)), bits, page);
        }
        Encoding::Quantised { bits, min, max } => {
            let steps = quantised(&doubles(slices, count)?, bits, min, max)?;
            pack(steps.into_iter(), bits, page);
        }
        Encoding::Switch => switches(slices, page)?,
        Encoding::Packed { bits } => {
            let all = numbers!(slices, U32)?.concat();
            pack(all.into_iter(), bits, page);
        }
    }
    Ok(())
}

fn number_page(
    number: Number,
    split: bool,
    slices: &[Slice<'_>],
    count: usize,
    page: &mut Vec<u8>,
) -> Result<()> {
    macro_rules! with {
        ($kind:ident, $word:expr) => {{
            let all = numbers!(slices, $kind)?;
            match split {
                false => plain(&all, count, page),
                true => split_bytes(&all, count, $word, page),
            }
        }};
    }
    macro_rules! zigzag {
        ($signed:ty, $unsigned:ty) => {
            |number: $signed| ((number << 1) ^ (number >> (<$signed>::BITS - 1))) as $unsigned
        };
    }
    match number {
        Number::Bool => return Err(another_type()),
        Number::I8 => plain(&numbers!(slices, I8)?, count, page),
        Number::U8 => bytes(slices, page)?,
        Number::I16 => with!(I16, zigzag!(i16, u16)),
        Number::I32 => with!(I32, zigzag!(i32, u32)),
        Number::I64 => with!(I64, zigzag!(i64, u64)),
        Number::U16 => with!(U16, |number: u16| number),
        Number::U32 => with!(U32, |number: u32| number),
        Number::U64 => with!(U64, |number: u64| number),
        // Doubles that are stored in single precision, too.
        Number::F32 => match numbers!(slices, F32) {
            Ok(all) if split => split_bytes(&all, count, f32::to_bits, page),
            Ok(all) => plain(&all, count, page),
            Err(_) if split => {
                split_bytes(&[&singles(slices, count)?[..]], count, f32::to_bits, page)
            }
            Err(_) => plain(&[&singles(slices, count)?[..]], count, page),
        },
        Number::F64 => with!(F64, f64::to_bits),
    }
    Ok(())
}

/// Bytes of strings, and numbers of one byte.
fn bytes(slices: &[Slice<'_>], page: &mut Vec<u8>) -> Result<()> {
    for slice in slices {
        let all = match slice.elements {
            ElementsOf::Bytes(all) => all,
            ElementsOf::Numbers(Numbers::U8(all)) => all,
            _ => return Err(another_type()),
        };
        page.extend_from_slice(&all[slice.start..slice.start + slice.len]);
    }
    Ok(())
}

/// A number whose bytes can be had.
trait Plain: Copy {
    fn write(all: &[Self], to: &mut [u8]);
}

/// A word whose bytes can be split.
trait Word: Copy {
    const LEN: usize;
    fn byte(self, at: usize) -> u8;
}

macro_rules! plain {
    ($($kind:ty),*) => {$(
        impl Plain for $kind {
            fn write(all: &[Self], to: &mut [u8]) {
                for (to, number) in to.as_chunks_mut().0.iter_mut().zip(all) {
                    *to = number.to_le_bytes();
                }
            }
        }
    )*};
}

macro_rules! word {
    ($($kind:ty),*) => {$(
        impl Word for $kind {
            const LEN: usize = size_of::<$kind>();

            #[inline]
            fn byte(self, at: usize) -> u8 {
                (self >> (8 * at)) as u8
            }
        }
    )*};
}

plain!(i8, i16, u16, i32, u32, i64, u64, f32, f64);
word!(u16, u32, u64);

fn plain<T: Plain>(all: &[&[T]], count: usize, page: &mut Vec<u8>) {
    let mut at = page.len();
    page.resize(at + count * size_of::<T>(), 0);
    for part in all {
        let len = size_of_val(*part);
        T::write(part, &mut page[at..at + len]);
        at += len;
    }
}

/// Appends the first bytes of all elements, then all second ones, and so on.
fn split_bytes<T: Copy, W: Word>(
    all: &[&[T]],
    count: usize,
    word: impl Fn(T) -> W,
    page: &mut Vec<u8>,
) {
    let start = page.len();
    page.resize(start + count * W::LEN, 0);
    let planes = &mut page[start..];
    let mut at = 0;
    for block in all.iter().flat_map(|part| part.chunks(BLOCK)) {
        for byte in 0..W::LEN {
            let plane = &mut planes[byte * count + at..][..block.len()];
            for (to, element) in plane.iter_mut().zip(block) {
                *to = word(*element).byte(byte);
            }
        }
        at += block.len();
    }
}

/// Where lists end, counted from the cluster's beginning.
fn ends(slices: &[Slice<'_>], count: usize) -> Result<Vec<i64>> {
    let mut all = Vec::with_capacity(count);
    for Slice { elements, start, len, shifts } in slices {
        let (ElementsOf::Ends(offsets), [shift]) = (elements, shifts) else {
            return Err(another_type());
        };
        all.extend(offsets[start + 1..start + 1 + len].iter().map(|end| end + shift));
    }
    Ok(all)
}

/// The first number, then the difference of each to the one in front.
fn differences(all: &[i64]) -> impl Iterator<Item = i64> {
    let first = all.first().copied();
    first.into_iter().chain(all.windows(2).map(|pair| pair[1] - pair[0]))
}

/// Where each entry of a union is among those of its alternative in the cluster, and the number of
/// that, from one on; zeros for none.
fn switches(slices: &[Slice<'_>], page: &mut Vec<u8>) -> Result<()> {
    for Slice { elements, start, len, shifts } in slices {
        let ElementsOf::Switches([(_, Array::Numbers { numbers: Numbers::I8(tags), .. }), ..]) =
            elements
        else {
            return Err(another_type());
        };
        let offsets = elements.offsets();
        for entry in *start..start + len {
            let (index, tag) = match usize::try_from(tags[entry]) {
                Ok(at) => (offsets[at][entry] + shifts[at], at as u32 + 1),
                Err(_) => (0, 0),
            };
            page.extend_from_slice(&index.to_le_bytes());
            page.extend_from_slice(&tag.to_le_bytes());
        }
    }
    Ok(())
}

/// Bools, eight to a byte, the lowest bit first.
fn bits(slices: &[Slice<'_>], page: &mut Vec<u8>) -> Result<()> {
    let all = numbers!(slices, Bool)?.concat();
    let (eights, rest) = all.as_chunks::<8>();
    let byte = |bools: &[u8]| {
        let bits = bools.iter().zip(0..).map(|(bool, bit)| u8::from(*bool != 0) << bit);
        bits.fold(0, |byte, bit| byte | bit)
    };
    page.extend(eights.iter().map(|eight| byte(eight)));
    if !rest.is_empty() {
        page.push(byte(rest));
    }
    Ok(())
}

/// Reals in single precision.
fn singles(slices: &[Slice<'_>], count: usize) -> Result<Vec<f32>> {
    let mut all = Vec::with_capacity(count);
    for Slice { elements, start, len, .. } in slices {
        let range = *start..start + len;
        match elements {
            ElementsOf::Numbers(Numbers::F32(reals)) => all.extend_from_slice(&reals[range]),
            ElementsOf::Numbers(Numbers::F64(reals)) => {
                for real in &reals[range] {
                    all.push(*real as f32);
                    check_kept(*real, f64::from(*real as f32), "single")?;
                }
            }
            _ => return Err(another_type()),
        }
    }
    Ok(all)
}

/// That a real is rounded only: neither too large for another precision, nor so small that it
/// becomes zero.
fn check_kept(real: f64, stored: f64, precision: &str) -> Result<()> {
    let is_lost = stored.is_infinite() && real.is_finite() || stored == 0.0 && real != 0.0;
    match is_lost {
        false => Ok(()),
        true => {
            let message = format!(
                "{real} in a column of {precision} precision, of which it is \
                                   outside the range"
            );
            Err(Error::unsupported(message))
        }
    }
}

/// The nearest half-precision real.
fn checked_half(real: f32) -> Result<u16> {
    let half = half(real);
    let stored = match half & 0x7fff {
        0 => 0.0,
        0x7c00 => f64::INFINITY,
        _ => return Ok(half),
    };
    check_kept(f64::from(real), stored, "half").map(|()| half)
}

/// Reals in double precision.
fn doubles(slices: &[Slice<'_>], count: usize) -> Result<Vec<f64>> {
    let mut all = Vec::with_capacity(count);
    for Slice { elements, start, len, .. } in slices {
        let range = *start..start + len;
        match elements {
            ElementsOf::Numbers(Numbers::F32(reals)) => {
                all.extend(reals[range].iter().map(|real| f64::from(*real)));
            }
            ElementsOf::Numbers(Numbers::F64(reals)) => all.extend_from_slice(&reals[range]),
            _ => return Err(another_type()),
        }
    }
    Ok(all)
}

/// The nearest of the values that a range has in so many bits.
fn quantised(reals: &[f64], bits: u32, min: f64, max: f64) -> Result<Vec<u32>> {
    if let Some(outside) = reals.iter().find(|real| !(min..=max).contains(*real)) {
        let message = format!("{outside} in a column of reals from {min} to {max}");
        return Err(Error::unsupported(message));
    }
    let scale = ((1u64 << bits) - 1) as f64 / (max - min);
    Ok(reals.iter().map(|real| ((real - min) * scale + 0.5) as u32).collect())
}

/// Appends numbers of 1 to 32 bits without gaps, the lowest bits first.
fn pack(all: impl Iterator<Item = u32>, bits: u32, page: &mut Vec<u8>) {
    let mut held = 0u64;
    let mut len = 0;
    for number in all {
        held |= u64::from(number) << len;
        len += bits;
        while len >= 8 {
            page.push(held as u8);
            held >>= 8;
            len -= 8;
        }
    }
    if len > 0 {
        page.push(held as u8);
    }
}

/// The nearest half-precision real; of two that are as near the even one (IEEE 754).
fn half(real: f32) -> u16 {
    const INFINITY: u32 = 0xff << 23;
    /// Half precision's smallest real that is not subnormal.
    const NORMAL: u32 = (127 - 14) << 23;
    /// A number whose last bit is worth as much as half precision's smallest number.
    const SMALL: f32 = 0.5;
    let magnitude = real.to_bits() & 0x7fff_ffff;
    let sign = (real.to_bits() >> 16 & 0x8000) as u16;
    sign | match magnitude {
        0..NORMAL => ((f32::from_bits(magnitude) + SMALL).to_bits() - SMALL.to_bits()) as u16,
        NORMAL..INFINITY => {
            let odd = magnitude >> 13 & 1;
            let rounded = (magnitude - ((127 - 15) << 23) + 0xfff + odd) >> 13;
            rounded.min(0x7c00) as u16
        }
        INFINITY => 0x7c00,
        _ => 0x7e00,
    }
}

fn another_type() -> Error {
    Error::unsupported("numbers of another type than their column's")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values beyond the range became infinity or zero without a word.
    #[test]
    fn reals_outside_the_range_of_a_column_are_refused() {
        let kept = [0.0, -0.0, 65504.0, 65519.0, 6e-8, f32::INFINITY, f32::NEG_INFINITY, f32::NAN];
        for real in kept {
            assert_eq!(checked_half(real).unwrap(), half(real), "{real}");
        }
        for real in [65520.0, -70000.0, 1e30, 1e-9, -2e-8, f32::MIN_POSITIVE] {
            let error = checked_half(real).unwrap_err().to_string();
            assert!(error.contains("half precision"), "{error}");
        }
        assert!(check_kept(1e300, f64::INFINITY, "single").is_err());
        assert!(check_kept(1e-60, 0.0, "single").is_err());
    }

    #[test]
    fn halves_are_the_nearest() {
        let of = [
            (0.0, 0),
            (-0.0, 0x8000),
            (1.0, 0x3c00),
            (-2.0, 0xc000),
            (65504.0, 0x7bff),
            (65519.0, 0x7bff),
            (65520.0, 0x7c00),
            (1e30, 0x7c00),
            (f32::NEG_INFINITY, 0xfc00),
            (6.103_515_6e-5, 0x0400),
            (6.1e-5, 0x03ff),
            (5.960_464_5e-8, 1),
            (2.980_232_2e-8, 0),
            (1.0 + 1.0 / 2048.0, 0x3c00),
            (1.0 + 3.0 / 2048.0, 0x3c02),
        ];
        for (real, bits) in of {
            assert_eq!(half(real), bits, "{real}");
        }
        assert!(half(f32::NAN) & 0x7fff > 0x7c00);
    }

    #[test]
    fn packed_numbers_have_no_gaps() {
        let mut page = Vec::new();
        pack([1, 2, 3, 0x3ff].into_iter(), 10, &mut page);
        let word = 1u64 | 2 << 10 | 3 << 20 | 0x3ff << 30;
        assert_eq!(page, word.to_le_bytes()[..5]);
    }

    #[test]
    fn bytes_are_split_across_parts() {
        let mut page = vec![9];
        split_bytes(&[&[0x0102u16, 0x0304][..], &[0x0506]], 3, |word| word, &mut page);
        assert_eq!(page, [9, 2, 4, 6, 1, 3, 5]);
    }

    #[test]
    fn reals_out_of_their_range_are_refused() {
        assert_eq!(quantised(&[0.0, 1.0, 0.5], 8, 0.0, 1.0).unwrap(), [0, 255, 128]);
        assert_eq!(quantised(&[1.0], 32, 0.0, 1.0).unwrap(), [u32::MAX]);
        for real in [-0.1, 1.1, f64::NAN] {
            assert!(quantised(&[real], 8, 0.0, 1.0).is_err(), "{real}");
        }
    }
}
