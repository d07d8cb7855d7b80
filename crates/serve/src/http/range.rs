//! The `Range` header (RFC 9110, section 14).

use std::ops::Range;

/// More ranges than this in one request are refused, as by other servers of this field.
pub const RANGES_MAX: usize = 1024;

/// The requested bytes of a file.
#[derive(Debug, PartialEq, Eq)]
pub enum RangeRequest {
    /// All of it: there is no range, or one that this server may ignore.
    Whole,
    /// These, in the requested order; never empty ones.
    Ranges(Vec<Range<u64>>),
    /// No byte that is there.
    Unsatisfiable,
}

/// Reads the header's value for a file of `size` bytes. A value that is not a list of byte ranges
/// is ignored, as the specification wants.
pub fn parse(value: &str, size: u64) -> RangeRequest {
    let Some(list) = value.trim().strip_prefix("bytes=") else { return RangeRequest::Whole };
    let mut ranges = Vec::new();
    for item in list.split(',').map(str::trim).filter(|item| !item.is_empty()) {
        let Some(range) = parse_one(item, size) else { return RangeRequest::Whole };
        if !range.is_empty() {
            ranges.push(range);
        }
        if ranges.len() > RANGES_MAX {
            return RangeRequest::Unsatisfiable;
        }
    }
    // Ranges that overlap make of a small request an answer many times as large as the file: they
    // are answered with the file.
    let bytes =
        ranges.iter().fold(0, |sum: u64, range| sum.saturating_add(range.end - range.start));
    match ranges.is_empty() {
        true => RangeRequest::Unsatisfiable,
        false if ranges.len() > 1 && bytes > size => RangeRequest::Whole,
        false => RangeRequest::Ranges(ranges),
    }
}

/// One item, clipped to the file; empty where it lies beyond; `None` where it cannot be read.
fn parse_one(item: &str, size: u64) -> Option<Range<u64>> {
    let number = |text: &str| {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        // More than 64 bits is beyond every file.
        digits.then(|| text.parse::<u64>().unwrap_or(u64::MAX))
    };
    let (first, last) = item.split_once('-')?;
    if first.is_empty() {
        let count = number(last)?;
        return Some(size.saturating_sub(count)..size);
    }
    let start = number(first)?;
    let stop = match last {
        "" => size,
        _ => number(last).filter(|last| *last >= start)?.saturating_add(1).min(size),
    };
    Some(start.min(size)..stop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_clipped_to_the_file() {
        let cases: [(&str, &[Range<u64>]); 8] = [
            ("bytes=0-9", &[0..10]),
            ("bytes=90-", &[90..100]),
            ("bytes=-5", &[95..100]),
            ("bytes=-500", &[0..100]),
            ("bytes=95-1000", &[95..100]),
            ("bytes=5-5, 0-0 ,-1", &[5..6, 0..1, 99..100]),
            ("bytes=200-300,1-2", &[1..3]),
            ("bytes=0-99999999999999999999999", &[0..100]),
        ];
        for (value, wanted) in cases {
            assert_eq!(parse(value, 100), RangeRequest::Ranges(wanted.to_vec()), "{value}");
        }
    }

    /// A request of 5 kB for the whole file a thousand times over was answered with a thousand
    /// files.
    #[test]
    fn ranges_that_overlap_never_make_more_than_the_file() {
        for value in ["bytes=0-,0-", "bytes=0-99,5-5", "bytes=-60,20-90"] {
            assert_eq!(parse(value, 100), RangeRequest::Whole, "{value}");
        }
        let many = format!("bytes={}", "0-,".repeat(RANGES_MAX));
        assert_eq!(parse(&many, 1 << 40), RangeRequest::Whole);
        assert_eq!(parse("bytes=0-49,0-49", 100), RangeRequest::Ranges(vec![0..50, 0..50]));
    }

    #[test]
    fn what_is_not_there_and_what_cannot_be_read() {
        for value in ["bytes=100-", "bytes=-0", "bytes=,", "bytes="] {
            assert_eq!(parse(value, 100), RangeRequest::Unsatisfiable, "{value}");
        }
        for value in ["items=0-1", "bytes=5-1", "bytes=x-2", "bytes=1", "bytes=+1-2", "bytes=--1"] {
            assert_eq!(parse(value, 100), RangeRequest::Whole, "{value}");
        }
        assert_eq!(parse("bytes=-1", 0), RangeRequest::Unsatisfiable);
        let many = format!("bytes={}", "0-0,".repeat(RANGES_MAX + 1));
        assert_eq!(parse(&many, 100), RangeRequest::Unsatisfiable);
    }
}
