//! Byte ranges as HTTP writes them (RFC 9110, section 14), and the ranges of a request that are
//! still missing.

use std::fmt::Write;
use std::ops::Range;

use bytes::Bytes;

/// Longest `Range` value sent: common servers take header lines of 8 KiB.
const HEADER_BYTES_MAX: usize = 7000;

/// The values of a `Content-Range` header; the range is half open here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContentRange {
    /// `None`: the requested range cannot be had.
    pub range: Option<Range<u64>>,
    /// The size of the whole file, where the server reports it.
    pub size: Option<u64>,
}

/// Reads `bytes 0-99/1000`, `bytes 0-99/*` or `bytes */1000`; `None` for a range that ends before
/// it begins. One that ends behind the end of the file is returned, though RFC 9110, section 14.4,
/// calls it invalid: XRootD 5 repeats the range of the request, whatever the file holds.
pub fn parse_content_range(text: &str) -> Option<ContentRange> {
    let (unit, rest) = text.trim().split_once(' ')?;
    if !unit.eq_ignore_ascii_case("bytes") {
        return None;
    }
    let (range, size) = rest.trim().split_once('/')?;
    let size = match size.trim() {
        "*" => None,
        digits => Some(parse_digits(digits)?),
    };
    if range.trim() == "*" {
        return Some(ContentRange { range: None, size: Some(size?) });
    }
    let (first, last) = range.split_once('-')?;
    let first = parse_digits(first.trim())?;
    let last = parse_digits(last.trim())?;
    if first > last {
        return None;
    }
    Some(ContentRange { range: Some(first..last.checked_add(1)?), size })
}

/// Digits only: `u64::from_str` would let a sign pass.
fn parse_digits(text: &str) -> Option<u64> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) { text.parse().ok() } else { None }
}

/// The bytes of a request that have not been delivered: ascending, disjoint, none empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemainingRanges {
    ranges: Vec<Range<u64>>,
}

impl RemainingRanges {
    /// Ranges in any order; those that touch or overlap become one.
    pub fn new(mut segments: Vec<Range<u64>>) -> Self {
        segments.retain(|segment| segment.start < segment.end);
        segments.sort_by_key(|segment| segment.start);
        segments.dedup_by(|next, last| {
            let joined = next.start <= last.end;
            if joined {
                last.end = last.end.max(next.end);
            }
            joined
        });
        RemainingRanges { ranges: segments }
    }

    pub fn one(range: Range<u64>) -> Self {
        RemainingRanges::new(Vec::from_iter([range]))
    }

    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    pub fn bytes(&self) -> u64 {
        self.ranges.iter().map(|range| range.end - range.start).sum()
    }

    pub fn first(&self) -> Option<&Range<u64>> {
        self.ranges.first()
    }

    /// From the first byte to the last.
    pub fn hull(&self) -> Option<Range<u64>> {
        Some(self.ranges.first()?.start..self.ranges.last()?.end)
    }

    /// Nothing past the end of the file is owed.
    pub fn clip(&mut self, size: u64) {
        self.ranges.retain_mut(|range| {
            range.end = range.end.min(size);
            range.start < range.end
        });
    }

    /// The first ranges, at most `count` and as many as fit into a header, and how many they are.
    pub fn header(&self, count: usize) -> (String, usize) {
        let mut header = String::from("bytes=");
        let mut written = 0;
        for range in self.ranges.iter().take(count.max(1)) {
            if header.len() > HEADER_BYTES_MAX {
                break;
            }
            let comma = if written == 0 { "" } else { "," };
            let _ = write!(header, "{comma}{}-{}", range.start, range.end - 1);
            written += 1;
        }
        (header, written)
    }

    /// How many bytes of `range` are owed.
    pub fn bytes_within(&self, range: &Range<u64>) -> u64 {
        let from = self.ranges.partition_point(|owed| owed.end <= range.start);
        let owed = self.ranges[from..].iter().take_while(|owed| owed.start < range.end);
        owed.map(|owed| owed.end.min(range.end) - owed.start.max(range.start)).sum()
    }

    /// Takes in bytes of the file, and returns those that were still missing, with their offsets.
    pub fn take(&mut self, offset: u64, bytes: &Bytes) -> Vec<(u64, Bytes)> {
        let end = offset.saturating_add(bytes.len() as u64);
        let from = self.ranges.partition_point(|range| range.end <= offset);
        let to = self.ranges.partition_point(|range| range.start < end);
        let mut taken = Vec::new();
        let mut left = Vec::new();
        for range in self.ranges.get(from..to).unwrap_or_default() {
            let part = range.start.max(offset)..range.end.min(end);
            let at = |position: u64| (position - offset) as usize;
            taken.push((part.start, bytes.slice(at(part.start)..at(part.end))));
            left.extend([range.start..part.start, part.end..range.end]);
        }
        left.retain(|range| range.start < range.end);
        if from < to {
            self.ranges.splice(from..to, left);
        }
        taken
    }
}

#[cfg(test)]
#[allow(clippy::single_range_in_vec_init)]
mod tests {
    use super::*;

    #[test]
    fn content_ranges_are_read_strictly() {
        let read = |text| parse_content_range(text).map(|c| (c.range, c.size));
        assert_eq!(read("bytes 0-99/1000"), Some((Some(0..100), Some(1000))));
        assert_eq!(read("Bytes 5-5/*"), Some((Some(5..6), None)));
        assert_eq!(read("bytes */0"), Some((None, Some(0))));
        for wrong in [
            "",
            "bytes",
            "bytes 0-99",
            "bytes 9-0/10",
            "bytes -5/10",
            "bytes +1-2/3",
            "bytes */*",
            "items 0-1/2",
            "bytes 0-18446744073709551615/*",
            "bytes 0-99999999999999999999/*",
        ] {
            assert_eq!(read(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn touching_segments_become_one() {
        let remaining = RemainingRanges::new(vec![20..30, 0..5, 5..9, 7..8, 40..40]);
        assert_eq!(remaining.ranges, [0..9, 20..30]);
        assert_eq!(remaining.header(10), ("bytes=0-8,20-29".into(), 2));
        assert_eq!(remaining.header(1), ("bytes=0-8".into(), 1));
        assert_eq!(remaining.bytes(), 19);
        assert_eq!(remaining.hull(), Some(0..30));
    }

    #[test]
    fn a_header_stays_within_what_servers_take() {
        let far = 1 << 50;
        let remaining =
            RemainingRanges::new((0..1000).map(|i| far + 10 * i..far + 10 * i + 1).collect());
        let (header, count) = remaining.header(usize::MAX);
        assert!(header.len() < 8000 - 100);
        assert_eq!(header.split(',').count(), count);
        assert!(count > 100);
    }

    #[test]
    fn only_what_is_owed_is_taken_and_only_once() {
        let file = Bytes::from_static(b"0123456789abcdef");
        let mut remaining = RemainingRanges::new(vec![2..5, 8..10, 14..20]);
        remaining.clip(16);
        // A merged part: it bridges the gap between the first two ranges.
        assert_eq!(
            remaining.take(3, &file.slice(3..9)),
            [(3, Bytes::from_static(b"34")), (8, Bytes::from_static(b"8"))]
        );
        assert_eq!(remaining.ranges, [2..3, 9..10, 14..16]);
        assert_eq!(remaining.take(3, &file.slice(3..9)), []);
        assert_eq!(remaining.take(0, &file).len(), 3);
        assert!(remaining.is_empty());
        assert_eq!(remaining.take(0, &file), []);
    }

    #[test]
    fn what_is_owed_of_a_range_is_counted() {
        let remaining = RemainingRanges::new(vec![2..5, 8..10, 14..20]);
        let owed =
            [0..2, 0..3, 3..9, 0..100, 5..8, 19..30, 20..30].map(|r| remaining.bytes_within(&r));
        assert_eq!(owed, [0, 1, 3, 11, 0, 1, 0]);
    }

    #[test]
    fn bytes_from_within_a_range_leave_both_ends() {
        let mut remaining = RemainingRanges::new(vec![0..10]);
        assert_eq!(remaining.take(4, &Bytes::from_static(b"45")).len(), 1);
        assert_eq!(remaining.ranges, [0..4, 6..10]);
        assert_eq!(remaining.take(u64::MAX, &Bytes::from_static(b"x")), []);
    }
}
