//! The columns of a table, and the baskets or pages of each.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use super::history::{AccessHistory, TableShape};

/// A basket or a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unit {
    pub range: Range<u64>,
    /// The first of its entries; of a page the first of its cluster.
    pub entry: u64,
}

impl Unit {
    pub fn bytes(&self) -> u64 {
        self.range.end.saturating_sub(self.range.start)
    }
}

/// One table's columns, and the baskets or pages of each, in the order of entries.
#[derive(Debug, Clone, Default)]
pub struct TablePlaces {
    pub names: Vec<String>,
    pub columns: Vec<Vec<Unit>>,
    /// First entries of clusters, ascending; empty where the file does not say.
    pub cluster_starts: Vec<u64>,
}

impl TablePlaces {
    pub fn unit(&self, column: u32, number: u32) -> Option<&Unit> {
        self.columns.get(column as usize)?.get(number as usize)
    }

    /// The first entry of the cluster of an entry.
    pub fn cluster_of(&self, entry: u64) -> u64 {
        let behind = self.cluster_starts.partition_point(|start| *start <= entry);
        behind.checked_sub(1).map_or(0, |at| self.cluster_starts[at])
    }

    /// The baskets and pages of columns in ascending `order`, each column from its number in `from`
    /// on.
    pub fn in_order<'a>(
        &'a self,
        from: impl Iterator<Item = (u32, u32)>,
        order: impl Fn(u32, u32, &Unit) -> (u64, u64) + 'a,
    ) -> impl Iterator<Item = (u32, u32, &'a Unit)> + 'a {
        let place = move |column: u32, number: u32| {
            let unit = self.unit(column, number)?;
            Some(Reverse((order(column, number, unit), number, column)))
        };
        let first = from.filter_map(|(column, number)| place(column, number));
        let mut next: BinaryHeap<_> = first.collect();
        std::iter::from_fn(move || {
            let Reverse((_, number, column)) = next.pop()?;
            next.extend(place(column, number + 1));
            Some((column, number, self.unit(column, number)?))
        })
    }

    pub fn shape(&self) -> TableShape {
        TableShape::of(self.names.iter().map(String::as_str))
    }

    /// The history of a client that read these columns.
    pub fn history_of(&self, columns: &[u32]) -> AccessHistory {
        let name = |column: &u32| self.names.get(*column as usize).cloned();
        AccessHistory::steady(columns.iter().filter_map(name))
    }

    /// The columns of a history that the table has.
    pub fn columns_of(&self, history: &AccessHistory) -> Vec<u32> {
        let is_read = |name: &String| history.steady.binary_search(name).is_ok();
        let named = (0u32..).zip(&self.names);
        named.filter_map(|(column, name)| is_read(name).then_some(column)).collect()
    }
}
