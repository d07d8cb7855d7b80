//! The content of a large record, whose compression blocks are decompressed as reading comes to
//! them.
//!
//! A block that an array of numbers covers is never kept: it is decompressed into a buffer that
//! serves again, and its numbers go to their place. Such a record takes the memory of its numbers,
//! not twice that, and fresh memory costs about as much as decompressing. Its blocks wait for
//! nothing, so that they can be decompressed side by side.

use std::cell::RefCell;
use std::ops::Range;
use std::sync::OnceLock;

use bytes::Bytes;

use crate::array::{Number, Numbers};
use crate::block::{self, BlockHeader};
use crate::codec::Codecs;
use crate::error::Result;
use crate::memory;

/// Blocks that are shorter are not worth it. ROOT's are of 16 MiB, but for the last one.
const BLOCK_LEN_MIN: usize = 1 << 20;

/// Some work, with the codecs of the thread that does it.
pub type Work<'w> = Box<dyn FnOnce(&mut Codecs) + Send + 'w>;

/// Does work side by side. Here are no threads: the caller has them.
pub trait Workers {
    /// How much can be done at the same time.
    fn count(&self) -> usize;

    /// Does all of the work, in any order.
    fn run(&self, work: Vec<Work<'_>>);

    /// Does work now and here, with the codecs of this thread.
    fn here(&self, work: &mut dyn FnMut(&mut Codecs)) {
        work(&mut Codecs::default());
    }

    /// The function to call before fresh memory is written to, with its addresses.
    fn before_writing(&self) -> fn(Range<usize>) {
        |_| ()
    }
}

/// One piece of work after the other.
pub struct Alone;

impl Workers for Alone {
    fn count(&self) -> usize {
        1
    }

    fn run(&self, work: Vec<Work<'_>>) {
        let mut codecs = Codecs::default();
        work.into_iter().for_each(|work| work(&mut codecs));
    }
}

/// Content in several blocks.
pub struct Content<'w> {
    payload: Bytes,
    blocks: Vec<Block>,
    workers: &'w dyn Workers,
    codecs: RefCell<Codecs>,
    /// The buffer of a cursor that has not come to a block yet.
    pub(crate) nothing: Bytes,
}

struct Block {
    header: BlockHeader,
    /// Its place in the content, and its compressed bytes' in the payload.
    range: Range<usize>,
    source: Range<usize>,
    /// Kept where it has more than numbers.
    bytes: OnceLock<Bytes>,
}

/// The part of an array that is in one block.
struct Run<'t, T> {
    block: &'t Block,
    /// Its bytes, counted from the block's first one and from the array's.
    within: Range<usize>,
    bytes: Range<usize>,
    /// Position of the first number that is wholly in the block, and all of those.
    first: usize,
    target: &'t mut [T],
    /// Bytes of the numbers that are torn, at its beginning and at its end.
    ends: [Vec<u8>; 2],
}

impl<'w> Content<'w> {
    /// The content of a payload; `None` where it is better decompressed at once.
    ///
    /// # Errors
    /// `Corrupt` where block headers and `uncompressed_len` contradict each other.
    pub fn new(
        payload: Bytes,
        uncompressed_len: usize,
        workers: &'w dyn Workers,
    ) -> Result<Option<Self>> {
        if payload.len() == uncompressed_len || uncompressed_len <= BLOCK_LEN_MIN {
            return Ok(None);
        }
        let mut blocks: Vec<Block> = Vec::new();
        block::walk(&payload, uncompressed_len, |header, range, source| {
            blocks.push(Block { header, range, source, bytes: OnceLock::new() });
        })?;
        let is_short = |block: &Block| block.range.len() < BLOCK_LEN_MIN;
        let but_the_last = blocks.split_last().map_or(&[][..], |(_, others)| others);
        if but_the_last.is_empty() || but_the_last.iter().any(is_short) {
            return Ok(None);
        }
        let codecs = RefCell::default();
        Ok(Some(Content { payload, blocks, workers, codecs, nothing: Bytes::new() }))
    }

    /// Bytes, decompressed.
    pub(crate) fn len(&self) -> usize {
        self.blocks.last().map_or(0, |block| block.range.end)
    }

    /// The block that a place within the content is in, and where it begins.
    pub(crate) fn at(&self, position: usize) -> Result<(usize, &Bytes)> {
        let block = &self.blocks[self.blocks.partition_point(|block| block.range.end <= position)];
        let bytes = block.kept(&self.payload, &mut self.codecs.borrow_mut())?;
        Ok((block.range.start, bytes))
    }

    /// `count` big-endian numbers, which lie within the content.
    pub(crate) fn numbers(&self, at: usize, number: Number, count: usize) -> Result<Numbers> {
        macro_rules! read {
            ($variant:ident, $type:ty) => {
                Numbers::$variant(self.read(at, count, <$type>::from_be_bytes)?)
            };
        }
        Ok(match number {
            Number::Bool => Numbers::Bool(self.read(at, count, |[byte]| u8::from(byte != 0))?),
            Number::I8 => read!(I8, i8),
            Number::I16 => read!(I16, i16),
            Number::I32 => read!(I32, i32),
            Number::I64 => read!(I64, i64),
            Number::U8 => read!(U8, u8),
            Number::U16 => read!(U16, u16),
            Number::U32 => read!(U32, u32),
            Number::U64 => read!(U64, u64),
            Number::F32 => read!(F32, f32),
            Number::F64 => read!(F64, f64),
        })
    }

    fn read<T: Copy + Default + Send, const N: usize>(
        &self,
        at: usize,
        count: usize,
        convert: impl Fn([u8; N]) -> T + Copy + Send,
    ) -> Result<Vec<T>> {
        let mut numbers = memory::filled(T::default(), count)?;
        let mut runs = self.runs::<T, N>(at, &mut numbers);
        let each = runs.len().div_ceil(self.workers.count().max(1)).max(1);
        let payload = &self.payload;
        let before = self.workers.before_writing();
        let fill = move |runs: &mut [Run<'_, T>], codecs: &mut Codecs| {
            fill(runs, payload, codecs, before, convert)
        };
        if each >= runs.len() {
            fill(&mut runs, &mut self.codecs.borrow_mut())?;
        } else {
            let mut done: Vec<Result<()>> = runs.chunks(each).map(|_| Ok(())).collect();
            let parts = runs.chunks_mut(each).zip(&mut done);
            let work = parts.map(|(part, done)| -> Work<'_> {
                Box::new(move |codecs| *done = fill(part, codecs))
            });
            self.workers.run(work.collect());
            done.into_iter().collect::<Result<()>>()?;
        }
        for (position, bytes) in torn(&runs) {
            numbers[position] = convert(bytes);
        }
        Ok(numbers)
    }

    /// The parts of an array, one for each block.
    fn runs<'t, T, const N: usize>(&'t self, at: usize, numbers: &'t mut [T]) -> Vec<Run<'t, T>> {
        let end = at + numbers.len() * N;
        let mut rest = numbers;
        let mut next = 0;
        let reached = |block: &&Block| block.range.end > at && block.range.start < end;
        let run = |block: &'t Block| {
            let part = block.range.start.max(at)..block.range.end.min(end);
            let bytes = part.start - at..part.end - at;
            let first = bytes.start.div_ceil(N);
            let stop = (bytes.end / N).max(first);
            let (_torn, others) = std::mem::take(&mut rest).split_at_mut(first - next);
            let (target, behind) = others.split_at_mut(stop - first);
            (rest, next) = (behind, stop);
            let within = part.start - block.range.start..part.end - block.range.start;
            Run { block, within, bytes, first, target, ends: Default::default() }
        };
        self.blocks.iter().filter(reached).map(run).collect()
    }
}

impl Block {
    fn decompress(&self, payload: &[u8], codecs: &mut Codecs, target: &mut [u8]) -> Result<()> {
        let source = &payload[self.source.clone()];
        let done = codecs.decompress(self.header.algorithm, source, target);
        done.map_err(|error| error.within(&block::name_of(self.source.start)))
    }

    /// All of it, which is kept.
    fn kept(&self, payload: &[u8], codecs: &mut Codecs) -> Result<&Bytes> {
        if let Some(bytes) = self.bytes.get() {
            return Ok(bytes);
        }
        let mut bytes = memory::filled(0, self.range.len())?;
        self.decompress(payload, codecs, &mut bytes)?;
        Ok(self.bytes.get_or_init(|| bytes.into()))
    }
}

fn fill<T, const N: usize>(
    runs: &mut [Run<'_, T>],
    payload: &[u8],
    codecs: &mut Codecs,
    before_writing: fn(Range<usize>),
    convert: impl Fn([u8; N]) -> T + Copy,
) -> Result<()> {
    let longest = runs.iter().map(|run| run.block.range.len()).max().unwrap_or(0);
    let mut buffer = Vec::new();
    for run in runs {
        let block = run.block;
        let target = run.target.as_ptr_range();
        before_writing(target.start.addr()..target.end.addr());
        let is_numbers_only = run.within.len() == block.range.len();
        if is_numbers_only && block.bytes.get().is_none() {
            if buffer.is_empty() {
                buffer = memory::filled(0, longest)?;
            }
            let buffer = &mut buffer[..block.range.len()];
            block.decompress(payload, codecs, buffer)?;
            run.fill(buffer, convert);
        } else {
            run.fill(block.kept(payload, codecs)?, convert);
        }
    }
    Ok(())
}

impl<T> Run<'_, T> {
    fn fill<const N: usize>(&mut self, block: &[u8], convert: impl Fn([u8; N]) -> T) {
        let bytes = &block[self.within.clone()];
        let (head, others) = bytes.split_at((self.first * N - self.bytes.start).min(bytes.len()));
        let (numbers, tail) = others.as_chunks::<N>();
        for (to, number) in self.target.iter_mut().zip(numbers) {
            *to = convert(*number);
        }
        self.ends = [head.to_vec(), tail.to_vec()];
    }
}

/// The numbers that begin in one block and end in another, and their positions.
fn torn<T, const N: usize>(runs: &[Run<'_, T>]) -> Vec<(usize, [u8; N])> {
    let mut found = Vec::new();
    let mut bytes = Vec::with_capacity(N);
    for Run { first, ends: [head, tail], .. } in runs {
        bytes.extend_from_slice(head);
        if let Ok(whole) = <[u8; N]>::try_from(&bytes[..]) {
            found.push((first - 1, whole));
            bytes.clear();
        }
        bytes.extend_from_slice(tail);
    }
    found
}

#[cfg(test)]
mod tests;
