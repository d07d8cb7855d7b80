//! Ranges of a file that are cached, and the record of each. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::format::Record;

/// A record and the segment that has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordPlace {
    /// The number of the segment.
    pub segment: u32,
    /// Where in it.
    pub record: Record,
}

/// A part of a record that stands for its bytes of the file; those of a file never overlap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct View {
    end: u64,
    place: RecordPlace,
}

/// The cached bytes of one file.
#[derive(Debug, Default)]
pub struct Extents {
    views: BTreeMap<u64, View>,
    bytes: u64,
}

impl Extents {
    /// Bytes of the file that are cached.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Adds a record; bytes that are cached already stay where they are.
    pub fn insert(&mut self, place: RecordPlace) {
        for missing in self.missing(place.record.range()) {
            self.bytes += missing.end - missing.start;
            self.views.insert(missing.start, View { end: missing.end, place });
        }
    }

    /// The parts of `range` that are not cached, ascending.
    pub fn missing(&self, range: Range<u64>) -> Vec<Range<u64>> {
        let mut missing = Vec::new();
        let mut at = range.start;
        for (start, view) in self.within(range.clone()) {
            if start > at {
                missing.push(at..start);
            }
            at = at.max(view.end);
        }
        if at < range.end {
            missing.push(at..range.end);
        }
        missing
    }

    /// Whether all of `range` is cached, and there is any of it.
    pub fn holds(&self, range: &Range<u64>) -> bool {
        let mut at = range.start;
        for (start, view) in self.within(range.clone()) {
            if start > at {
                return false;
            }
            at = view.end;
        }
        range.start < range.end && at >= range.end
    }

    /// The parts of `range` that are cached, ascending, each with its record.
    pub fn parts(&self, range: Range<u64>) -> impl Iterator<Item = (Range<u64>, RecordPlace)> + '_ {
        let part = move |(start, view): (u64, View)| {
            (start.max(range.start)..view.end.min(range.end), view.place)
        };
        self.within(range.clone()).map(part)
    }

    /// The range that begins with a view at `start`, up to the first byte that is not cached.
    pub fn run_from(&self, start: u64) -> Option<Range<u64>> {
        let mut end = start;
        for (at, view) in self.views.range(start..) {
            if *at != end {
                break;
            }
            end = view.end;
        }
        (end > start).then_some(start..end)
    }

    /// Forgets the bytes of `range`; returns the segments that have records of them.
    pub fn give_up(&mut self, range: &Range<u64>) -> BTreeSet<u32> {
        let views: Vec<(u64, View)> = self.within(range.clone()).collect();
        let mut segments = BTreeSet::new();
        for (start, view) in views {
            segments.insert(view.place.segment);
            self.remove(start);
            for rest in [start..range.start, range.end..view.end] {
                if rest.start < rest.end {
                    self.bytes += rest.end - rest.start;
                    self.views.insert(rest.start, View { end: rest.end, place: view.place });
                }
            }
        }
        segments
    }

    /// Forgets a record: its bytes are not cached any more.
    pub fn forget(&mut self, place: RecordPlace) {
        let parts: Vec<u64> = self
            .within(place.record.range())
            .filter(|(_, view)| view.place == place)
            .map(|(start, _)| start)
            .collect();
        parts.into_iter().for_each(|start| self.remove(start));
    }

    /// Forgets those records that are in a segment at or behind a position.
    pub fn forget_segment(&mut self, segment: u32, from: u64) {
        let is_gone =
            |view: &View| view.place.segment == segment && view.place.record.position >= from;
        let gone: Vec<u64> =
            self.views.iter().filter(|(_, view)| is_gone(view)).map(|(at, _)| *at).collect();
        gone.into_iter().for_each(|start| self.remove(start));
    }

    /// Forgets the records of all these segments.
    pub fn forget_segments(&mut self, is_gone: impl Fn(u32) -> bool) {
        let gone = self.views.iter().filter(|(_, view)| is_gone(view.place.segment));
        let gone: Vec<u64> = gone.map(|(at, _)| *at).collect();
        gone.into_iter().for_each(|start| self.remove(start));
    }

    /// The records of a segment that any cached bytes are in, by position.
    pub fn of_segment(&self, segment: u32) -> Vec<Record> {
        let of = self.views.values().filter(|view| view.place.segment == segment);
        let mut records: Vec<Record> = of.map(|view| view.place.record).collect();
        records.sort_unstable_by_key(|record| record.position);
        records.dedup();
        records
    }

    /// All cached ranges, ascending, neighbours as one range.
    pub fn ranges(&self) -> Vec<Range<u64>> {
        let mut ranges: Vec<Range<u64>> = Vec::new();
        for (start, view) in &self.views {
            match ranges.last_mut() {
                Some(last) if last.end == *start => last.end = view.end,
                _ => ranges.push(*start..view.end),
            }
        }
        ranges
    }

    fn remove(&mut self, start: u64) {
        if let Some(view) = self.views.remove(&start) {
            self.bytes -= view.end - start;
        }
    }

    /// Views that overlap `range`, ascending.
    fn within(&self, range: Range<u64>) -> impl Iterator<Item = (u64, View)> + '_ {
        let before = self.views.range(..range.start).next_back();
        let before = before.filter(|(_, view)| view.end > range.start);
        let inside = self.views.range(range.start..range.end.max(range.start));
        before.into_iter().chain(inside).map(|(start, view)| (*start, *view))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(offset: u64, length: u32, position: u64) -> RecordPlace {
        RecordPlace { segment: 1, record: Record { offset, length, position } }
    }

    #[test]
    fn what_is_held_first_stays_and_the_rest_is_added() {
        let mut extents = Extents::default();
        extents.insert(place(10, 10, 100));
        extents.insert(place(5, 30, 200));
        extents.insert(place(12, 3, 300));
        assert_eq!(extents.bytes(), 30);
        let parts: Vec<_> =
            extents.parts(8..25).map(|(part, place)| (part, place.record.position)).collect();
        assert_eq!(parts, [(8..10, 200), (10..20, 100), (20..25, 200)]);
        assert_eq!(extents.ranges(), [5..35]);
    }

    #[test]
    fn a_range_is_held_whole_or_says_what_is_missing() {
        let mut extents = Extents::default();
        extents.insert(place(10, 10, 100));
        extents.insert(place(20, 5, 200));
        extents.insert(place(30, 5, 300));
        for (range, held) in [
            (10..20, true),
            (11..24, true),
            (10..25, true),
            (9..12, false),
            (24..26, false),
            (24..31, false),
            (30..35, true),
            (40..50, false),
            (12..12, false),
        ] {
            assert_eq!(extents.holds(&range), held, "{range:?}");
        }
        assert_eq!(extents.missing(0..40), [0..10, 25..30, 35..40]);
        assert_eq!(extents.missing(12..15), []);
    }

    #[test]
    fn a_part_of_a_record_is_given_up_and_the_rest_stays() {
        let mut extents = Extents::default();
        extents.insert(place(0, 100, 100));
        extents.insert(RecordPlace { segment: 2, ..place(100, 50, 56) });
        assert_eq!(extents.give_up(&(20..30)).into_iter().collect::<Vec<_>>(), [1]);
        assert_eq!(extents.missing(0..150), [20..30]);
        assert_eq!(extents.give_up(&(90..120)).into_iter().collect::<Vec<_>>(), [1, 2]);
        assert_eq!((extents.ranges(), extents.bytes()), (vec![0..20, 30..90, 120..150], 110));
        assert_eq!((extents.of_segment(1).len(), extents.of_segment(2).len()), (1, 1));
        assert!(extents.give_up(&(20..30)).is_empty());
    }

    #[test]
    fn a_run_goes_up_to_the_first_byte_that_is_not_cached() {
        let mut extents = Extents::default();
        extents.insert(place(10, 10, 100));
        extents.insert(place(20, 5, 200));
        extents.insert(place(26, 5, 300));
        assert_eq!(extents.run_from(10), Some(10..25));
        assert_eq!(extents.run_from(26), Some(26..31));
        assert_eq!([extents.run_from(11), extents.run_from(25)], [None, None]);
    }

    #[test]
    fn records_are_forgotten_one_by_one_and_with_the_end_of_a_segment() {
        let mut extents = Extents::default();
        for at in 0..5 {
            extents.insert(place(at * 10, 10, 100 + at * 30));
        }
        extents.forget(place(10, 10, 130));
        assert_eq!(extents.missing(0..50), [10..20]);
        extents.forget_segment(2, 0);
        extents.forget_segment(1, 190);
        assert_eq!(extents.ranges(), [0..10, 20..30]);
        assert_eq!(extents.bytes(), 20);
        assert_eq!(extents.of_segment(1).len(), 2);
    }
}
