//! Bytes and requests that a read would cost.

use std::ops::Range;

/// Ranges that a read would fetch, found without reading them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadFootprint {
    /// The file's address, without secrets, and the table in it.
    pub url: String,
    pub path: String,
    pub columns: Vec<FootprintColumn>,
    /// In the file's order, neighbours joined.
    pub ranges: Vec<Range<u64>>,
}

/// Pieces that would be fetched for one column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FootprintColumn {
    pub name: String,
    /// Baskets of a tree, pages of an RNTuple.
    pub pieces: usize,
    pub stored_bytes: u64,
    /// As expected from metadata.
    pub decoded_bytes: u64,
    /// From the first to the last byte in the file; `None` where nothing is to be fetched.
    pub span: Option<Range<u64>>,
    /// In the file's order, neighbours joined.
    pub ranges: Vec<Range<u64>>,
}

impl ReadFootprint {
    pub(crate) fn new<'a>(
        url: &str,
        path: &str,
        names: impl Iterator<Item = &'a String>,
        pieces: impl Iterator<Item = (usize, Option<&'a Range<u64>>, u64)>,
    ) -> Self {
        let empty = |name: &String| FootprintColumn {
            name: name.clone(),
            pieces: 0,
            stored_bytes: 0,
            decoded_bytes: 0,
            span: None,
            ranges: Vec::new(),
        };
        let mut columns: Vec<FootprintColumn> = names.map(empty).collect();
        let mut ranges: Vec<Range<u64>> = Vec::new();
        for (column, range, decoded) in pieces {
            let column = &mut columns[column];
            column.pieces += 1;
            column.decoded_bytes += decoded;
            let Some(range) = range else { continue };
            column.stored_bytes += range.end - range.start;
            let span = column.span.get_or_insert_with(|| range.clone());
            *span = span.start.min(range.start)..span.end.max(range.end);
            ranges.push(range.clone());
            column.ranges.push(range.clone());
        }
        for column in &mut columns {
            column.ranges = joined(std::mem::take(&mut column.ranges));
        }
        ReadFootprint {
            url: url.to_owned(),
            path: path.to_owned(),
            columns,
            ranges: joined(ranges),
        }
    }

    pub fn pieces(&self) -> usize {
        self.columns.iter().map(|column| column.pieces).sum()
    }

    /// Bytes to be fetched; columns of RNTuples may share some.
    pub fn stored_bytes(&self) -> u64 {
        self.ranges.iter().map(|range| range.end - range.start).sum()
    }
}

/// Ranges in order, neighbours and those that overlap joined.
pub(crate) fn joined(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.sort_by_key(|range| range.start);
    let mut joined: Vec<Range<u64>> = Vec::new();
    for range in ranges {
        match joined.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => joined.push(range),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_add_up_and_neighbours_join() {
        let names = ["a".to_owned(), "b".to_owned()];
        let pieces = [(1, Some(&(30..40)), 20), (0, None, 5), (1, Some(&(10..30)), 50)];
        let footprint = ReadFootprint::new("f.root", "t", names.iter(), pieces.into_iter());
        assert_eq!((footprint.pieces(), footprint.stored_bytes()), (3, 30));
        assert_eq!((footprint.columns[0].pieces, &footprint.columns[0].span), (1, &None));
        assert_eq!(footprint.columns[1].span, Some(10..40));
        assert_eq!(footprint.ranges, [10..40]);
    }
}
