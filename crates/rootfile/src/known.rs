//! The bytes of a file that are here, and the ranges that are not.
//!
//! Reading the format is a push decoder without callbacks: a reading function looks only into a
//! [`Known`] and answers [`Progress::NeedsData`] when it lacks something; the caller fetches,
//! supplies and calls again. Calling again starts over, which is cheap for metadata.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use crate::error::Result;
use crate::header::HEADER_LEN;
use crate::memory;

/// Either the result, or the ranges without which there is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress<T> {
    NeedsData(Needs),
    Ready(T),
}

impl<T> Progress<T> {
    /// The result as another one.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Progress<U> {
        match self {
            Progress::NeedsData(needs) => Progress::NeedsData(needs),
            Progress::Ready(result) => Progress::Ready(change(result)),
        }
    }
}

/// Ranges that a reading function lacks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Needs {
    /// Without these there is no progress.
    pub required: Vec<Range<u64>>,
    /// Likely to be asked for next: worth fetching in the same round trip, and nothing breaks
    /// where they are not.
    pub speculative: Vec<Range<u64>>,
    /// No guess: a reader that goes on asks for them next.
    pub next: Vec<Range<u64>>,
}

impl Needs {
    pub fn required(range: Range<u64>) -> Self {
        Needs { required: vec![range], ..Needs::default() }
    }

    /// Adds the ranges that another reading function lacks.
    pub fn add(&mut self, other: Needs) {
        self.required.extend(other.required);
        self.speculative.extend(other.speculative);
        self.next.extend(other.next);
    }
}

/// How many bytes are asked for at once, where it is not known how many are needed. The caller
/// knows how many bytes a round trip brings; without it, as few as possible are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestSizes {
    /// Of the beginning of a file of which nothing is known: the header and the top directory's
    /// record are usually within 300 bytes, and the records of directories that were made first, of
    /// about 100 bytes each, follow.
    pub head: u64,
    /// Of metadata together.
    pub flight: u64,
}

impl RequestSizes {
    /// Of one record that may lie in either of two places. Records of trees are 4 to 20 kB for a
    /// hundred branches, 100 to 400 kB for 1,600.
    pub(crate) fn record(self) -> u64 {
        self.flight / 2
    }
}

impl Default for RequestSizes {
    fn default() -> Self {
        RequestSizes { head: HEADER_LEN, flight: 0 }
    }
}

/// Sparse bytes of one file. Overlapping supplies must agree; the first one is kept.
#[derive(Debug, Clone, Default)]
pub struct Known {
    size: Option<u64>,
    sizes: RequestSizes,
    /// Shared by copies until one of them gets more: many are made, and few do.
    pieces: Arc<BTreeMap<u64, Bytes>>,
}

impl Known {
    pub fn new(size: Option<u64>) -> Self {
        Known { size, sizes: RequestSizes::default(), pieces: Arc::default() }
    }

    /// The same, of which as many bytes are asked for at once.
    #[must_use]
    pub fn asking_for(self, sizes: RequestSizes) -> Self {
        Known { sizes, ..self }
    }

    pub(crate) fn sizes(&self) -> RequestSizes {
        self.sizes
    }

    /// The same file, of which no byte is here.
    #[must_use]
    pub fn without_bytes(&self) -> Self {
        Known { pieces: Arc::default(), ..*self }
    }

    /// Size of the whole file in bytes, once it is known.
    pub fn size(&self) -> Option<u64> {
        self.size
    }

    pub fn set_size(&mut self, size: u64) {
        self.size = Some(size);
    }

    /// Adds the bytes at `offset`; the parts already known are left as they are.
    pub fn supply(&mut self, offset: u64, bytes: Bytes) {
        for gap in self.missing(offset..offset.saturating_add(bytes.len() as u64)) {
            let piece = bytes.slice((gap.start - offset) as usize..(gap.end - offset) as usize);
            Arc::make_mut(&mut self.pieces).insert(gap.start, piece);
        }
    }

    /// Drops the bytes before `offset`, for those who go through a file once.
    pub fn forget_before(&mut self, offset: u64) {
        let pieces = Arc::make_mut(&mut self.pieces);
        let kept = pieces.split_off(&offset);
        let last = std::mem::replace(pieces, kept).pop_last();
        if let Some((start, piece)) = last
            && start + piece.len() as u64 > offset
        {
            pieces.insert(offset, piece.slice((offset - start) as usize..));
        }
    }

    /// All that is here, ascending by offset.
    pub fn pieces(&self) -> impl Iterator<Item = (u64, &Bytes)> {
        self.pieces.iter().map(|(start, piece)| (*start, piece))
    }

    /// Bytes that are here.
    pub fn held_bytes(&self) -> u64 {
        self.pieces.values().map(|piece| piece.len() as u64).sum()
    }

    /// The parts of `range` that are not here, ascending.
    pub fn missing(&self, range: Range<u64>) -> Vec<Range<u64>> {
        let mut gaps = Vec::new();
        let mut at = range.start;
        for (start, piece) in self.overlapping(&range) {
            if start > at {
                gaps.push(at..start);
            }
            at = at.max(start + piece.len() as u64);
        }
        if at < range.end {
            gaps.push(at..range.end);
        }
        gaps
    }

    /// The parts of `ranges` that are not here, each once.
    pub fn lacking(&self, ranges: impl IntoIterator<Item = Range<u64>>) -> Vec<Range<u64>> {
        let mut lacking = Vec::new();
        // The same, by their beginnings: none overlaps another.
        let mut taken: BTreeMap<u64, u64> = BTreeMap::new();
        for gap in ranges.into_iter().flat_map(|range| self.missing(range)) {
            let before = taken.range(..=gap.start).next_back();
            let first = before.map_or(gap.start, |(start, _)| *start);
            let near = taken.range(first..gap.end).map(|(start, end)| *start..*end);
            let mut new = Vec::new();
            subtract(gap, &near.collect::<Vec<_>>(), &mut new);
            taken.extend(new.iter().map(|range| (range.start, range.end)));
            lacking.append(&mut new);
        }
        lacking
    }

    /// The part of it that lies in a range, sharing the bytes.
    pub fn within(&self, range: Range<u64>) -> Known {
        let mut part = self.without_bytes();
        for (start, piece) in self.overlapping(&range) {
            part.supply(start, piece.clone());
        }
        part
    }

    /// Takes over the bytes of another that are lacking here.
    pub fn absorb(&mut self, other: Known) {
        if Arc::ptr_eq(&self.pieces, &other.pieces) {
            return;
        }
        for (offset, bytes) in other.pieces.iter() {
            self.supply(*offset, bytes.clone());
        }
    }

    /// The bytes of `range`, without copying where one piece holds them all; `None` where any
    /// is missing, or there is no memory to join them.
    pub fn get(&self, range: Range<u64>) -> Option<Bytes> {
        self.joined(range).ok().flatten()
    }

    /// As [`Known::get`].
    ///
    /// # Errors
    /// `Limit` where there is no memory to join the pieces.
    pub fn joined(&self, range: Range<u64>) -> Result<Option<Bytes>> {
        if range.is_empty() {
            return Ok(Some(Bytes::new()));
        }
        let Some((start, piece)) = self.pieces.range(..=range.start).next_back() else {
            return Ok(None);
        };
        if start + piece.len() as u64 >= range.end {
            let part = (range.start - start) as usize..(range.end - start) as usize;
            return Ok(Some(piece.slice(part)));
        }
        if !self.missing(range.clone()).is_empty() {
            return Ok(None);
        }
        let mut joined = memory::with_room((range.end - range.start) as usize)?;
        for (start, piece) in self.overlapping(&range) {
            let from = range.start.max(start) - start;
            let to = range.end.min(start + piece.len() as u64) - start;
            joined.extend_from_slice(&piece[from as usize..to as usize]);
        }
        Ok(Some(joined.into()))
    }

    fn overlapping<'a>(
        &'a self,
        range: &Range<u64>,
    ) -> impl Iterator<Item = (u64, &'a Bytes)> + use<'a> {
        let first = self
            .pieces
            .range(..=range.start)
            .next_back()
            .filter(|(start, piece)| *start + piece.len() as u64 > range.start)
            .map_or(range.start, |(start, _)| *start);
        let end = range.end.max(first);
        self.pieces.range(first..end).map(|(start, piece)| (*start, piece))
    }
}

/// Adds the parts of `range` outside of all `taken` to `left`.
pub(crate) fn subtract(range: Range<u64>, taken: &[Range<u64>], left: &mut Vec<Range<u64>>) {
    let mut taken: Vec<&Range<u64>> =
        taken.iter().filter(|other| other.start < range.end && other.end > range.start).collect();
    taken.sort_by_key(|other| other.start);
    let mut at = range.start;
    for other in taken {
        if other.start > at {
            left.push(at..other.start);
        }
        at = at.max(other.end);
    }
    if at < range.end {
        left.push(at..range.end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_lacking_is_named_once() {
        let mut known = Known::new(Some(100));
        known.supply(10, Bytes::from_static(b"0123456789"));
        let lacking = known.lacking([0..15, 5..30, 12..18, 40..50, 28..45]);
        assert_eq!(lacking, [0..10, 20..30, 40..50, 30..40]);
    }

    #[test]
    fn of_two_readers_neither_loses_what_it_has_fetched() {
        let mut known = Known::new(Some(100));
        known.supply(10, Bytes::from_static(b"0123456789"));
        let mut other = Known::new(Some(100));
        other.supply(15, Bytes::from_static(b"56789abc"));
        known.absorb(other);
        assert_eq!(known.get(10..23).unwrap(), &b"0123456789abc"[..]);
        assert_eq!(known.missing(0..30), [0..10, 23..30]);
    }
}
