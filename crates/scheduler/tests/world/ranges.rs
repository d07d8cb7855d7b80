//! A set of offsets, as disjoint ranges.

use std::collections::BTreeMap;
use std::ops::Range;

#[derive(Debug, Default, Clone)]
pub struct Ranges(BTreeMap<u64, u64>);

impl Ranges {
    pub fn insert(&mut self, range: Range<u64>) {
        let mut start = range.start;
        let mut end = range.end;
        for (other_start, other_end) in self.touching(&range) {
            self.0.remove(&other_start);
            start = start.min(other_start);
            end = end.max(other_end);
        }
        self.0.insert(start, end);
    }

    pub fn remove(&mut self, range: &Range<u64>) {
        for (start, end) in self.touching(range) {
            self.0.remove(&start);
            if start < range.start {
                self.0.insert(start, range.start);
            }
            if end > range.end {
                self.0.insert(range.end, end);
            }
        }
    }

    pub fn contains(&self, range: &Range<u64>) -> bool {
        let at = self.0.range(..=range.start).next_back();
        range.is_empty() || at.is_some_and(|(_, end)| *end >= range.end)
    }

    pub fn overlaps(&self, range: &Range<u64>) -> bool {
        let before = self.0.range(..range.end).next_back();
        before.is_some_and(|(_, end)| *end > range.start)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn touching(&self, range: &Range<u64>) -> Vec<(u64, u64)> {
        let all = self.0.range(..=range.end).rev();
        all.take_while(|(_, end)| **end >= range.start).map(|(s, e)| (*s, *e)).collect()
    }
}
