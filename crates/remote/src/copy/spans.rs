//! Ranges of a file that a copy has so far.

use std::collections::BTreeMap;
use std::ops::Range;

/// Disjoint ranges that do not touch.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Spans {
    /// Start and end of each.
    spans: BTreeMap<u64, u64>,
    bytes: u64,
}

impl Spans {
    /// Bytes in all.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    pub fn insert(&mut self, range: Range<u64>) {
        let Range { mut start, mut end } = range;
        if start >= end {
            return;
        }
        // Those that begin before its end, from the last on, until one ends before its start.
        while let Some((&from, &to)) = self.spans.range(..=end).next_back()
            && to >= start
        {
            self.spans.remove(&from);
            self.bytes -= to - from;
            (start, end) = (start.min(from), end.max(to));
        }
        self.spans.insert(start, end);
        self.bytes += end - start;
    }

    pub fn ranges(&self) -> impl Iterator<Item = Range<u64>> {
        self.spans.iter().map(|(&start, &end)| start..end)
    }

    /// The missing ranges of a file of this size.
    pub fn gaps(&self, size: u64) -> Vec<Range<u64>> {
        let mut gaps = Vec::new();
        let mut at = 0;
        for Range { start, end } in self.ranges() {
            if at < start.min(size) {
                gaps.push(at..start.min(size));
            }
            at = end;
        }
        if at < size {
            gaps.push(at..size);
        }
        gaps
    }
}

impl FromIterator<Range<u64>> for Spans {
    fn from_iter<I: IntoIterator<Item = Range<u64>>>(ranges: I) -> Self {
        let mut spans = Spans::default();
        ranges.into_iter().for_each(|range| spans.insert(range));
        spans
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_touches_or_overlaps_becomes_one() {
        let mut spans: Spans = [10..20, 30..40, 50..60].into_iter().collect();
        assert_eq!(spans.gaps(55), [0..10, 20..30, 40..50]);
        spans.insert(20..30);
        assert_eq!(spans.ranges().collect::<Vec<_>>(), [10..40, 50..60]);
        spans.insert(5..70);
        assert_eq!(spans.ranges().collect::<Vec<_>>(), [5..70]);
        spans.insert(6..7);
        assert_eq!((spans.bytes(), spans.gaps(70)), (65, vec![0..5]));
        spans.insert(0..5);
        assert_eq!(spans.gaps(80), [70..80]);
        assert!(Spans::default().gaps(0).is_empty());
    }
}
