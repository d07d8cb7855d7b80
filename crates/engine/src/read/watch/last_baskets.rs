//! The last baskets of a client that reads one column after the other.
//!
//! A chunk of entries mostly ends within a basket, which the next chunk begins with. ROOT and
//! uproot's `iterate` keep this basket; coffea's virtual arrays read it again, column by column.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use remote::fetch::{Fetcher, LentMemory};

use super::places::{Places, StoredAt};

/// Maximum of bytes that are kept for one client.
const KEPT_MAX: u64 = 8 << 20;
/// The clients of an engine keep at most 1/16 of its memory budget.
const MEMORY_PART: u64 = 16;

/// Bytes of the last baskets of all clients of an engine. A clone shares the count.
#[derive(Debug, Clone, Default)]
pub struct KeptTotal(Arc<AtomicU64>);

/// The memory of one kept basket, until it is dropped.
#[derive(Debug)]
pub struct KeptShare {
    total: KeptTotal,
    bytes: u64,
    /// Counts `bytes` in the fetcher's budget, which leaves less for reading ahead.
    _counted: Option<LentMemory>,
}

#[derive(Debug, Default)]
pub struct LastBaskets {
    by_start: BTreeMap<u64, Kept>,
    /// Offset of the last basket or page, by table and column.
    starts: BTreeMap<(usize, u32), u64>,
    bytes: u64,
}

#[derive(Debug)]
struct Kept {
    bytes: Bytes,
    _share: KeptShare,
}

impl KeptTotal {
    /// Memory for `bytes`, which counts in the budget of `fetcher`; `None` where the clients of the
    /// engine keep too much already.
    pub fn share(&self, bytes: u64, fetcher: &Fetcher) -> Option<KeptShare> {
        let mut share = self.share_of(bytes, fetcher.memory_bytes_max() / MEMORY_PART)?;
        share._counted = Some(fetcher.hand_out(bytes));
        Some(share)
    }

    fn share_of(&self, bytes: u64, most: u64) -> Option<KeptShare> {
        let before = self.0.fetch_add(bytes, Ordering::Relaxed);
        let share = KeptShare { total: self.clone(), bytes, _counted: None };
        (before.saturating_add(bytes) <= most).then_some(share)
    }
}

impl Drop for KeptShare {
    fn drop(&mut self) {
        self.total.0.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

impl LastBaskets {
    /// Keeps the bytes of a range that is one basket or page, in place of its column's last one, if
    /// `share` has memory for them.
    pub fn keep(
        &mut self,
        places: &Places,
        range: &Range<u64>,
        bytes: &Bytes,
        share: impl FnOnce(u64) -> Option<KeptShare>,
    ) {
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
            self.bytes -= self.by_start.remove(&before).map_or(0, |kept| kept.bytes.len() as u64);
        }
        let length = bytes.len() as u64;
        if self.bytes + length <= KEPT_MAX
            && let Some(share) = share(length)
        {
            self.bytes += length;
            self.starts.insert((table, column), range.start);
            // Copied, as a slice would keep the whole buffer in memory.
            let bytes = Bytes::copy_from_slice(bytes);
            self.by_start.insert(range.start, Kept { bytes, _share: share });
        }
    }

    /// The bytes of a range, if it is kept.
    pub fn get(&self, range: &Range<u64>) -> Option<Bytes> {
        let Kept { bytes, .. } = self.by_start.get(&range.start)?;
        (bytes.len() as u64 == range.end - range.start).then(|| bytes.clone())
    }

    pub fn clear(&mut self) {
        *self = LastBaskets::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::predict::table_places::{TablePlaces, Unit};

    fn places() -> Places {
        let unit = |start: u64, bytes: u64| Unit { range: start..start + bytes, entry: start };
        let columns = vec![vec![unit(0, 10), unit(20, 10)], vec![unit(10, 10), unit(30, 9 << 20)]];
        Places::new(vec![TablePlaces { columns, ..TablePlaces::default() }])
    }

    #[test]
    fn one_basket_of_each_column_is_kept() {
        let places = places();
        let total = KeptTotal::default();
        let mut last = LastBaskets::default();
        let keep = |last: &mut LastBaskets, range: &Range<u64>| {
            let bytes = Bytes::from(vec![1; (range.end - range.start) as usize]);
            last.keep(&places, range, &bytes, |bytes| total.share_of(bytes, u64::MAX));
            last.get(range) == Some(bytes)
        };
        assert!(keep(&mut last, &(0..10)) && keep(&mut last, &(10..20)));
        for other in [0..9, 5..10, 0..20, 20..30] {
            assert_eq!(last.get(&other), None, "{other:?}");
        }
        assert!(!keep(&mut last, &(20..25)) && !keep(&mut last, &(0..20)));
        assert_eq!(last.bytes, 20);
        assert!(keep(&mut last, &(20..30)));
        assert_eq!(last.get(&(0..10)), None);
        let long = 30..30 + (9 << 20);
        assert!(!keep(&mut last, &long), "too long");
        assert_eq!((last.bytes, total.0.load(Ordering::Relaxed)), (10, 10));
        last.clear();
        assert_eq!(total.0.load(Ordering::Relaxed), 0);
    }

    /// Regression: each client kept up to 8 MiB that counted in no budget.
    #[test]
    fn the_baskets_of_all_clients_are_bounded() {
        let places = places();
        let total = KeptTotal::default();
        let mut clients: Vec<LastBaskets> = Vec::new();
        for _ in 0..5 {
            let mut last = LastBaskets::default();
            let bytes = Bytes::from_static(&[1; 10]);
            last.keep(&places, &(0..10), &bytes, |bytes| total.share_of(bytes, 30));
            clients.push(last);
        }
        let kept: Vec<u64> = clients.iter().map(|last| last.bytes).collect();
        assert_eq!((kept, total.0.load(Ordering::Relaxed)), (vec![10, 10, 10, 0, 0], 30));
        drop(clients);
        assert_eq!(total.0.load(Ordering::Relaxed), 0);
    }
}
