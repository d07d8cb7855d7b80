//! The bytes of one file that have been delivered and that a handle still wants.

use std::collections::BTreeMap;
use std::ops::Range;

use bytes::Bytes;

/// Delivered bytes by offset; pieces never overlap.
#[derive(Debug, Default)]
pub struct ByteStore {
    pieces: BTreeMap<u64, Bytes>,
    /// The ranges of these bytes that [`ByteStore::count`] has counted: end by start.
    counted: BTreeMap<u64, u64>,
}

impl ByteStore {
    /// Adds bytes at `offset`; where bytes are buffered already, those stay.
    pub fn insert(&mut self, offset: u64, bytes: Bytes) {
        let end = offset + bytes.len() as u64;
        let mut at = offset;
        for (start, stop) in self.held(offset..end) {
            if start > at {
                self.put(offset, &bytes, at..start);
            }
            at = at.max(stop);
        }
        if at < end {
            self.put(offset, &bytes, at..end);
        }
    }

    fn put(&mut self, offset: u64, bytes: &Bytes, part: Range<u64>) {
        let piece = bytes.slice((part.start - offset) as usize..(part.end - offset) as usize);
        self.pieces.insert(part.start, piece);
    }

    /// The bytes of `range`, copied only where they arrived in several pieces; `None` where any
    /// is not here, or there is no memory for the copy.
    pub fn get(&self, range: Range<u64>) -> Option<Bytes> {
        let length = (range.end - range.start) as usize;
        if length == 0 {
            return Some(Bytes::new());
        }
        let (start, piece) = self.pieces.range(..=range.start).next_back()?;
        let from = (range.start - start) as usize;
        if from + length <= piece.len() {
            return Some(piece.slice(from..from + length));
        }
        let mut joined = Vec::new();
        joined.try_reserve_exact(length).ok()?;
        let mut at = range.start;
        for (start, piece) in self.pieces.range(*start..range.end) {
            if *start > at {
                return None;
            }
            let from = (at - start) as usize;
            let to = ((range.end - start) as usize).min(piece.len());
            if from < to {
                joined.extend_from_slice(&piece[from..to]);
                at = start + to as u64;
            }
        }
        (at == range.end).then(|| joined.into())
    }

    /// Whether all of `range` is here.
    pub fn has(&self, range: &Range<u64>) -> bool {
        let part = |(start, stop): (u64, u64)| stop.min(range.end) - start.max(range.start);
        self.held(range.clone()).into_iter().map(part).sum::<u64>() == range.end - range.start
    }

    /// Counts the bytes of `range` as handed to a want; returns how many of them were counted
    /// before, for another want.
    pub fn count(&mut self, range: &Range<u64>) -> u64 {
        let mut others = 0;
        let mut whole = range.clone();
        for (start, stop) in self.counted_within(range) {
            others += stop.min(range.end) - start.max(range.start);
            whole = whole.start.min(start)..whole.end.max(stop);
            self.counted.remove(&start);
        }
        if !whole.is_empty() {
            self.counted.insert(whole.start, whole.end);
        }
        others
    }

    fn counted_within(&self, range: &Range<u64>) -> Vec<(u64, u64)> {
        let before = self.counted.range(..range.start).next_back();
        let inside = self.counted.range(range.start..range.end.max(range.start));
        let all = before.into_iter().chain(inside).map(|(start, stop)| (*start, *stop));
        all.filter(|(_, stop)| *stop > range.start).collect()
    }

    /// Drops the bytes of `range`.
    pub fn forget(&mut self, range: Range<u64>) {
        for (start, stop) in self.counted_within(&range) {
            self.counted.remove(&start);
            if start < range.start {
                self.counted.insert(start, range.start);
            }
            if stop > range.end {
                self.counted.insert(range.end, stop);
            }
        }
        for (start, stop) in self.held(range.clone()) {
            let Some(piece) = self.pieces.remove(&start) else { continue };
            if start < range.start {
                self.pieces.insert(start, piece.slice(..(range.start - start) as usize));
            }
            if stop > range.end {
                self.pieces.insert(range.end, piece.slice((range.end - start) as usize..));
            }
        }
    }

    /// All buffered ranges, ascending.
    pub fn drain(&mut self) -> Vec<(u64, Bytes)> {
        self.counted.clear();
        std::mem::take(&mut self.pieces).into_iter().collect()
    }

    fn held(&self, range: Range<u64>) -> Vec<(u64, u64)> {
        let before = self.pieces.range(..range.start).next_back();
        before
            .into_iter()
            .chain(self.pieces.range(range.clone()))
            .map(|(start, piece)| (*start, start + piece.len() as u64))
            .filter(|(start, stop)| *stop > range.start && *start < range.end)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: Option<Bytes>) -> Option<String> {
        bytes.map(|b| String::from_utf8(b.to_vec()).unwrap())
    }

    #[test]
    fn pieces_join_and_the_first_delivery_stays() {
        let mut store = ByteStore::default();
        store.insert(10, Bytes::from_static(b"cde"));
        store.insert(8, Bytes::from_static(b"ab??f"));
        store.insert(8, Bytes::from_static(b"??????g"));
        assert_eq!(text(store.get(8..15)), Some("abcde?g".into()));
        assert_eq!(text(store.get(9..12)), Some("bcd".into()));
        assert_eq!(store.get(7..9), None);
        assert_eq!(store.get(14..16), None);
        assert_eq!(text(store.get(99..99)), Some(String::new()));
    }

    #[test]
    fn a_byte_counts_for_one_want_as_long_as_it_is_here() {
        let mut store = ByteStore::default();
        let counts = [(10..20, 0), (12..14, 2), (5..12, 2), (18..30, 2), (0..0, 0), (0..40, 25)];
        for (range, others) in counts {
            assert_eq!(store.count(&range), others, "{range:?}");
        }
        store.forget(8..12);
        assert_eq!((store.count(&(0..8)), store.count(&(8..14))), (8, 2));
    }

    #[test]
    fn forgetting_cuts_pieces() {
        let mut store = ByteStore::default();
        store.insert(0, Bytes::from_static(b"0123456789"));
        store.forget(3..5);
        store.forget(8..20);
        assert_eq!(store.get(2..6), None);
        let held: Vec<_> = store.drain().into_iter().map(|(at, b)| (at, b.len())).collect();
        assert_eq!(held, [(0, 3), (5, 3)]);
    }
}
