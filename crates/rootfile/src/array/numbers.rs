//! Numbers of one type, and their conversion from the big-endian order of ROOT files.

use std::ops::Range;

use super::different_types;
use crate::error::Result;
use crate::memory;

/// Numbers of one type, in host byte order.
#[derive(Debug, Clone, PartialEq)]
pub enum Numbers {
    /// One byte each, zero or one.
    Bool(Vec<u8>),
    I8(Vec<i8>),
    I16(Vec<i16>),
    I32(Vec<i32>),
    I64(Vec<i64>),
    U8(Vec<u8>),
    U16(Vec<u16>),
    U32(Vec<u32>),
    U64(Vec<u64>),
    F32(Vec<f32>),
    F64(Vec<f64>),
}

/// Runs the same expression for the vector of whichever type it is.
macro_rules! for_any {
    ($numbers:expr, $vec:ident => $body:expr) => {
        match $numbers {
            Numbers::Bool($vec) => $body,
            Numbers::I8($vec) => $body,
            Numbers::I16($vec) => $body,
            Numbers::I32($vec) => $body,
            Numbers::I64($vec) => $body,
            Numbers::U8($vec) => $body,
            Numbers::U16($vec) => $body,
            Numbers::U32($vec) => $body,
            Numbers::U64($vec) => $body,
            Numbers::F32($vec) => $body,
            Numbers::F64($vec) => $body,
        }
    };
}

/// As `for_any`, where the result is again `Numbers` of the same type.
macro_rules! map_any {
    ($numbers:expr, $vec:ident => $body:expr) => {
        match $numbers {
            Numbers::Bool($vec) => Numbers::Bool($body),
            Numbers::I8($vec) => Numbers::I8($body),
            Numbers::I16($vec) => Numbers::I16($body),
            Numbers::I32($vec) => Numbers::I32($body),
            Numbers::I64($vec) => Numbers::I64($body),
            Numbers::U8($vec) => Numbers::U8($body),
            Numbers::U16($vec) => Numbers::U16($body),
            Numbers::U32($vec) => Numbers::U32($body),
            Numbers::U64($vec) => Numbers::U64($body),
            Numbers::F32($vec) => Numbers::F32($body),
            Numbers::F64($vec) => Numbers::F64($body),
        }
    };
}

/// A copy of several runs of numbers, one after the other.
pub(super) fn gather<T: Copy>(numbers: &[T], runs: &[Range<usize>]) -> Vec<T> {
    let mut gathered = Vec::with_capacity(runs.iter().map(ExactSizeIterator::len).sum());
    for run in runs {
        gathered.extend_from_slice(&numbers[run.clone()]);
    }
    gathered
}

impl Numbers {
    /// How many.
    pub fn len(&self) -> usize {
        for_any!(self, vec => vec.len())
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of one number.
    pub fn item_len(&self) -> usize {
        fn of<T>(_: &[T]) -> usize {
            size_of::<T>()
        }
        for_any!(self, vec => of(vec))
    }

    pub fn nbytes(&self) -> usize {
        for_any!(self, vec => size_of_val(&vec[..]))
    }

    /// NumPy's name of the type, without byte order: `float32`.
    pub fn dtype(&self) -> &'static str {
        match self {
            Numbers::Bool(_) => "bool",
            Numbers::I8(_) => "int8",
            Numbers::I16(_) => "int16",
            Numbers::I32(_) => "int32",
            Numbers::I64(_) => "int64",
            Numbers::U8(_) => "uint8",
            Numbers::U16(_) => "uint16",
            Numbers::U32(_) => "uint32",
            Numbers::U64(_) => "uint64",
            Numbers::F32(_) => "float32",
            Numbers::F64(_) => "float64",
        }
    }

    /// Appends numbers of another type, each as near as this one can hold it.
    pub(crate) fn extend_converted(&mut self, more: &Numbers) -> Result<()> {
        self.room(more.len())?;
        macro_rules! convert {
            ($to:expr, $type:ty) => {
                for_any!(more, from => $to.extend(from.iter().map(|number| *number as $type)))
            };
        }
        match self {
            Numbers::Bool(to) => {
                for_any!(more, from => to.extend(from.iter().map(|number| u8::from(*number != Default::default()))));
            }
            Numbers::I8(to) => convert!(to, i8),
            Numbers::I16(to) => convert!(to, i16),
            Numbers::I32(to) => convert!(to, i32),
            Numbers::I64(to) => convert!(to, i64),
            Numbers::U8(to) => convert!(to, u8),
            Numbers::U16(to) => convert!(to, u16),
            Numbers::U32(to) => convert!(to, u32),
            Numbers::U64(to) => convert!(to, u64),
            Numbers::F32(to) => convert!(to, f32),
            Numbers::F64(to) => convert!(to, f64),
        }
        Ok(())
    }

    /// Appends the number in front of some bytes, and gives those behind it; `None` where there
    /// are too few.
    #[inline]
    pub(crate) fn push_big_endian<'b>(&mut self, bytes: &'b [u8]) -> Option<&'b [u8]> {
        macro_rules! push {
            ($vec:expr, $type:ty) => {{
                let (number, rest) = bytes.split_first_chunk()?;
                $vec.push(<$type>::from_be_bytes(*number));
                Some(rest)
            }};
        }
        match self {
            Numbers::Bool(vec) => {
                let (byte, rest) = bytes.split_first()?;
                vec.push(u8::from(*byte != 0));
                Some(rest)
            }
            Numbers::I8(vec) => push!(vec, i8),
            Numbers::I16(vec) => push!(vec, i16),
            Numbers::I32(vec) => push!(vec, i32),
            Numbers::I64(vec) => push!(vec, i64),
            Numbers::U8(vec) => push!(vec, u8),
            Numbers::U16(vec) => push!(vec, u16),
            Numbers::U32(vec) => push!(vec, u32),
            Numbers::U64(vec) => push!(vec, u64),
            Numbers::F32(vec) => push!(vec, f32),
            Numbers::F64(vec) => push!(vec, f64),
        }
    }

    /// The same for a `float` that becomes a `double`; `None` also where this holds no `double`.
    pub(crate) fn push_widened<'b>(&mut self, bytes: &'b [u8]) -> Option<&'b [u8]> {
        let Numbers::F64(vec) = self else { return None };
        let (number, rest) = bytes.split_first_chunk()?;
        vec.push(f64::from(f32::from_be_bytes(*number)));
        Some(rest)
    }

    pub(crate) fn empty_like(&self) -> Numbers {
        map_any!(self, _vec => Vec::new())
    }

    pub(crate) fn slice(&self, range: Range<usize>) -> Numbers {
        map_any!(self, vec => vec[range].to_vec())
    }

    pub(super) fn gather(&self, runs: &[Range<usize>]) -> Numbers {
        map_any!(self, vec => gather(vec, runs))
    }

    /// The addresses behind the numbers for which there is room.
    pub(super) fn spare(&self) -> Range<usize> {
        fn of<T>(numbers: &Vec<T>) -> Range<usize> {
            let first = numbers.as_ptr().addr();
            first + size_of_val(&numbers[..])..first + numbers.capacity() * size_of::<T>()
        }
        for_any!(self, vec => of(vec))
    }

    pub(crate) fn reserve(&mut self, additional: usize) {
        for_any!(self, vec => super::reserve(vec, additional));
    }

    /// Room for so many more.
    pub(crate) fn room(&mut self, additional: usize) -> Result<()> {
        for_any!(self, vec => memory::room(vec, additional))
    }

    pub(crate) fn push_zeros(&mut self, count: usize) -> Result<()> {
        self.room(count)?;
        for_any!(self, vec => vec.resize(vec.len() + count, Default::default()));
        Ok(())
    }

    pub(crate) fn append(&mut self, more: &Numbers) -> Result<()> {
        use Numbers::*;
        self.room(more.len())?;
        match (self, more) {
            (Bool(vec), Bool(more)) | (U8(vec), U8(more)) => vec.extend_from_slice(more),
            (I8(vec), I8(more)) => vec.extend_from_slice(more),
            (I16(vec), I16(more)) => vec.extend_from_slice(more),
            (I32(vec), I32(more)) => vec.extend_from_slice(more),
            (I64(vec), I64(more)) => vec.extend_from_slice(more),
            (U16(vec), U16(more)) => vec.extend_from_slice(more),
            (U32(vec), U32(more)) => vec.extend_from_slice(more),
            (U64(vec), U64(more)) => vec.extend_from_slice(more),
            (F32(vec), F32(more)) => vec.extend_from_slice(more),
            (F64(vec), F64(more)) => vec.extend_from_slice(more),
            _ => return Err(different_types()),
        }
        Ok(())
    }

    /// Adds big-endian numbers; trailing bytes that make no whole number are left out.
    ///
    /// # Errors
    /// `Limit` where there is no memory for them.
    pub(crate) fn extend_big_endian(&mut self, bytes: &[u8]) -> Result<()> {
        self.room(bytes.len() / self.item_len())?;
        // as_chunks and a plain map: the compiler makes vector shuffles of this.
        macro_rules! extend {
            ($vec:ident, $type:ty) => {{
                let (numbers, _) = bytes.as_chunks::<{ size_of::<$type>() }>();
                $vec.extend(numbers.iter().map(|number| <$type>::from_be_bytes(*number)));
            }};
        }
        match self {
            Numbers::Bool(vec) => vec.extend(bytes.iter().map(|byte| u8::from(*byte != 0))),
            Numbers::U8(vec) => vec.extend_from_slice(bytes),
            Numbers::I8(vec) => extend!(vec, i8),
            Numbers::I16(vec) => extend!(vec, i16),
            Numbers::I32(vec) => extend!(vec, i32),
            Numbers::I64(vec) => extend!(vec, i64),
            Numbers::U16(vec) => extend!(vec, u16),
            Numbers::U32(vec) => extend!(vec, u32),
            Numbers::U64(vec) => extend!(vec, u64),
            Numbers::F32(vec) => extend!(vec, f32),
            Numbers::F64(vec) => extend!(vec, f64),
        }
        Ok(())
    }

    /// Adds the big-endian numbers of many pieces of `bytes`, each of which is a whole number of
    /// them.
    ///
    /// # Errors
    /// `Limit` where there is no memory for them.
    ///
    /// # Panics
    /// Where a piece is not within the bytes.
    pub(crate) fn extend_big_endian_pieces(
        &mut self,
        bytes: &[u8],
        pieces: impl Iterator<Item = Range<usize>> + Clone,
    ) -> Result<()> {
        let count = pieces.clone().map(|piece| piece.len()).sum::<usize>() / self.item_len();
        self.room(count)?;
        macro_rules! extend {
            ($vec:ident, $type:ty) => {{
                const SIZE: usize = size_of::<$type>();
                const BLOCK: usize = BLOCK_NUMBERS * SIZE;
                let mut at = $vec.len();
                let count: usize = pieces.clone().map(|piece| piece.len() / SIZE).sum();
                $vec.resize(at + count, Default::default());
                for piece in pieces {
                    let len = piece.len().next_multiple_of(BLOCK);
                    let count = piece.len() / SIZE;
                    let blocks = bytes.get(piece.start..piece.start + len);
                    let numbers = $vec.get_mut(at..at + len / SIZE);
                    match (blocks, numbers) {
                        (Some(blocks), Some(numbers)) => {
                            let blocks = blocks.as_chunks::<BLOCK>().0;
                            let numbers = numbers.as_chunks_mut::<BLOCK_NUMBERS>().0;
                            for (block, numbers) in blocks.iter().zip(numbers) {
                                let block = block.as_chunks::<SIZE>().0;
                                *numbers =
                                    std::array::from_fn(|n| <$type>::from_be_bytes(block[n]));
                            }
                        }
                        (_, _) => {
                            let numbers = &mut $vec[at..at + count];
                            for (number, big) in numbers.iter_mut().zip(bytes[piece].as_chunks().0)
                            {
                                *number = <$type>::from_be_bytes(*big);
                            }
                        }
                    }
                    at += count;
                }
            }};
        }
        match self {
            Numbers::Bool(vec) => {
                pieces.for_each(|piece| vec.extend(bytes[piece].iter().map(|b| u8::from(*b != 0))));
            }
            Numbers::U8(vec) => pieces.for_each(|piece| vec.extend_from_slice(&bytes[piece])),
            Numbers::I8(vec) => extend!(vec, i8),
            Numbers::I16(vec) => extend!(vec, i16),
            Numbers::I32(vec) => extend!(vec, i32),
            Numbers::I64(vec) => extend!(vec, i64),
            Numbers::U16(vec) => extend!(vec, u16),
            Numbers::U32(vec) => extend!(vec, u32),
            Numbers::U64(vec) => extend!(vec, u64),
            Numbers::F32(vec) => extend!(vec, f32),
            Numbers::F64(vec) => extend!(vec, f64),
        }
        Ok(())
    }
}

/// Pieces are converted so many numbers at a time: those of the next piece overwrite the surplus.
const BLOCK_NUMBERS: usize = 4;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Pieces of any lengths, at any offsets, give the same numbers as one by one.
        #[test]
        fn pieces_are_converted_as_each_of_them_is(
            bytes in prop::collection::vec(any::<u8>(), 0..200),
            cuts in prop::collection::vec((any::<prop::sample::Index>(), 0usize..12), 0..20),
        ) {
            let all = [
                Numbers::Bool(vec![1]), Numbers::I8(vec![1]), Numbers::U8(vec![1]),
                Numbers::I16(vec![1]), Numbers::U16(vec![1]), Numbers::I32(vec![1]),
                Numbers::U32(vec![1]), Numbers::I64(vec![1]), Numbers::U64(vec![1]),
            ];
            for mut together in all {
                let size = together.item_len();
                let piece = |(start, count): &(prop::sample::Index, usize)| {
                    let start = start.index(bytes.len() + 1);
                    let count = (*count).min((bytes.len() - start) / size);
                    start..start + count * size
                };
                let mut alone = together.clone();
                for piece in cuts.iter().map(piece) {
                    alone.extend_big_endian(&bytes[piece]).unwrap();
                }
                together.extend_big_endian_pieces(&bytes, cuts.iter().map(piece)).unwrap();
                prop_assert_eq!(together, alone);
            }
        }
    }
}
