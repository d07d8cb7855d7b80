//! The last baskets of a client that reads one column after the other.
//!
//! A chunk of entries mostly ends within a basket, which the next chunk begins with. ROOT and
//! uproot's `iterate` keep this basket; coffea's virtual arrays read it again, column by column.

use std::collections::BTreeMap;
use std::ops::Range;

use bytes::Bytes;

use super::places::{Places, StoredAt};

/// Maximum of bytes that are kept for one client.
const KEPT_MAX: usize = 8 << 20;

#[derive(Debug, Default)]
pub struct LastBaskets {
    by_start: BTreeMap<u64, Bytes>,
    /// Offset of the last basket or page, by table and column.
    starts: BTreeMap<(usize, u32), u64>,
    bytes: usize,
}

impl LastBaskets {
    /// Keeps the bytes of a range that is one basket or page, in place of its column's last one.
    pub fn keep(&mut self, places: &Places, range: &Range<u64>, bytes: &Bytes) {
        let mut within = places.within(range);
        let (Some(StoredAt { table, column, number }), None) = (within.next(), within.next())
        else {
            return;
        };
        let is_whole =
            places.tables[table].unit(column, number).is_some_and(|unit| unit.range == *range);
        if !is_whole || self.by_start.contains_key(&range.start) {
            return;
        }
        if let Some(before) = self.starts.remove(&(table, column)) {
            self.bytes -= self.by_start.remove(&before).map_or(0, |bytes| bytes.len());
        }
        if self.bytes + bytes.len() <= KEPT_MAX {
            self.bytes += bytes.len();
            self.starts.insert((table, column), range.start);
            // Copied, as a slice would keep the whole buffer in memory.
            self.by_start.insert(range.start, Bytes::copy_from_slice(bytes));
        }
    }

    /// The bytes of a range, if it is kept.
    pub fn get(&self, range: &Range<u64>) -> Option<Bytes> {
        let kept = self.by_start.get(&range.start)?;
        (kept.len() as u64 == range.end - range.start).then(|| kept.clone())
    }

    pub fn clear(&mut self) {
        *self = LastBaskets::default();
    }
}

#[cfg(test)]
mod tests {
    use super::super::places::{TablePlaces, Unit};
    use super::*;

    #[test]
    fn one_basket_of_each_column_is_kept() {
        let unit = |start: u64, bytes: u64| Unit { range: start..start + bytes, entry: start };
        let columns = vec![vec![unit(0, 10), unit(20, 10)], vec![unit(10, 10), unit(30, 9 << 20)]];
        let places = Places::new(vec![TablePlaces { columns, ..TablePlaces::default() }]);
        let mut last = LastBaskets::default();
        let bytes = |length: usize| Bytes::from(vec![1; length]);
        for range in [0..10, 10..20] {
            last.keep(&places, &range, &bytes(10));
            assert_eq!(last.get(&range), Some(bytes(10)));
        }
        for other in [0..9, 5..10, 0..20, 20..30] {
            assert_eq!(last.get(&other), None, "{other:?}");
        }
        last.keep(&places, &(20..25), &bytes(5));
        last.keep(&places, &(0..20), &bytes(20));
        assert_eq!((last.get(&(20..25)), last.get(&(0..20)), last.bytes), (None, None, 20));
        last.keep(&places, &(20..30), &bytes(10));
        assert_eq!((last.get(&(0..10)), last.get(&(20..30))), (None, Some(bytes(10))));
        let long = 30..30 + (9 << 20);
        last.keep(&places, &long, &bytes(9 << 20));
        assert_eq!((last.get(&long), last.bytes), (None, 10), "too long");
    }
}
