//! The column of each byte of a file: baskets of trees and pages of RNTuples by offset.

use std::ops::Range;
use std::sync::Arc;

use futures::future::join_all;

use crate::read::file::File;
use crate::read::ntuple::RNTuple;
use crate::read::predict::table_places::{TablePlaces, Unit};
use crate::read::tree::Tree;
use remote::Result;

/// Most baskets and pages that the map of one file holds: 40 bytes of memory each.
const UNITS_MAX: usize = 1 << 20;
/// Tables of one file whose metadata are read before a client asks for them.
const TABLES_MAX: usize = 32;

/// All tables of a file.
#[derive(Debug, Default)]
pub struct Places {
    pub tables: Vec<Arc<TablePlaces>>,
    /// By offset.
    index: Vec<Indexed>,
}

/// Where a basket or page begins, and which it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Indexed {
    offset: u64,
    table: u32,
    column: u32,
    number: u32,
}

/// One basket or page of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredAt {
    pub table: usize,
    pub column: u32,
    pub number: u32,
}

impl Places {
    /// Those of all tables of a file, or of the first where they are many. Tables that cannot be
    /// read have no places.
    ///
    /// # Errors
    /// Those of reading key lists.
    pub async fn of_file(file: &File) -> Result<Self> {
        let paths = file.table_paths().await?;
        let places = paths.iter().take(TABLES_MAX).map(async |path| {
            let key = file.key(path).await?;
            match rootfile::ntuple::is_class(&key.class) {
                true => of_ntuple(&file.ntuple(path).await?).await,
                false => Ok(of_tree(&file.tree(path).await?)),
            }
        });
        Ok(Places::new(join_all(places).await.into_iter().flatten().collect()))
    }

    /// Those of these tables.
    pub fn new(tables: Vec<TablePlaces>) -> Self {
        let mut index = Vec::new();
        for (table, places) in tables.iter().enumerate() {
            for (column, units) in places.columns.iter().enumerate() {
                index.extend(units.iter().enumerate().map(|(number, unit)| Indexed {
                    offset: unit.range.start,
                    table: table as u32,
                    column: column as u32,
                    number: number as u32,
                }));
            }
            if index.len() > UNITS_MAX {
                return Places::default();
            }
        }
        index.sort_unstable();
        // Columns of an RNTuple may share a page.
        index.dedup_by_key(|place| place.offset);
        Places { tables: tables.into_iter().map(Arc::new).collect(), index }
    }

    /// The baskets and pages of which some bytes are in a range, by offset.
    pub fn within(&self, range: &Range<u64>) -> impl Iterator<Item = StoredAt> + '_ {
        let start = range.start;
        let end = range.end;
        let first = self.index.partition_point(|place| place.offset <= start).saturating_sub(1);
        let from_first = self.index[first..].iter();
        from_first.take_while(move |place| place.offset < end).filter_map(move |at| {
            let place = StoredAt { table: at.table as usize, column: at.column, number: at.number };
            let unit = self.tables[place.table].unit(place.column, place.number)?;
            (unit.range.end > start && start < end).then_some(place)
        })
    }
}

fn of_tree(tree: &Tree) -> TablePlaces {
    let metadata = tree.metadata();
    let mut places = TablePlaces {
        names: vec![String::new(); metadata.branches.len()],
        columns: vec![Vec::new(); metadata.branches.len()],
        cluster_starts: metadata.cluster_starts.clone(),
    };
    for (branch, name) in tree.names().iter() {
        places.names[branch.0 as usize] = name.to_owned();
    }
    for (branch, entries, range) in tree.stored_baskets() {
        places.columns[branch.0 as usize].push(Unit { range, entry: entries.start });
    }
    places
}

async fn of_ntuple(ntuple: &RNTuple) -> Result<TablePlaces> {
    let clusters = ntuple.clusters(&(0..u64::MAX)).await?;
    let columns = ntuple.metadata().schema.columns.len();
    let mut places = TablePlaces {
        names: (0..columns).map(|column| ntuple.column_path(column)).collect(),
        columns: vec![Vec::new(); columns],
        cluster_starts: clusters.iter().map(|cluster| cluster.entries.start).collect(),
    };
    for cluster in &clusters {
        let entry = cluster.entries.start;
        for (column, pages) in cluster.columns.iter().enumerate().take(columns) {
            let ranges = pages.pages.iter().flat_map(|page| page.pieces());
            let units = ranges.map(|range| Unit { range: range.clone(), entry });
            places.columns[column].extend(units);
        }
    }
    Ok(places)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(units: &[(u32, Range<u64>)]) -> TablePlaces {
        let mut places = TablePlaces { columns: vec![Vec::new(); 3], ..TablePlaces::default() };
        for (column, range) in units {
            places.columns[*column as usize].push(Unit { range: range.clone(), entry: 0 });
        }
        places
    }

    #[test]
    fn a_range_has_the_baskets_of_which_some_bytes_are_in_it() {
        let tables =
            vec![table(&[(0, 100..200), (1, 200..250), (0, 300..400)]), table(&[(2, 50..60)])];
        let places = Places::new(tables);
        let within = |range: Range<u64>| -> Vec<(usize, u32, u32)> {
            let found = places.within(&range);
            found.map(|place| (place.table, place.column, place.number)).collect()
        };
        let a = (0, 0, 0);
        let b = (0, 1, 0);
        let c = (0, 0, 1);
        let d = (1, 2, 0);
        assert_eq!(within(0..1000), [d, a, b, c]);
        assert_eq!(within(199..201), [a, b]);
        assert_eq!(within(100..200), [a]);
        assert_eq!(within(399..u64::MAX), [c]);
        for nothing in [0..50, 60..100, 250..300, 400..500, 120..120] {
            assert_eq!(within(nothing.clone()), [], "{nothing:?}");
        }
        assert_eq!(Places::default().within(&(0..10)).count(), 0);
    }

    #[test]
    fn an_entry_is_in_the_last_cluster_that_begins_before_it() {
        let places = TablePlaces { cluster_starts: vec![0, 10, 20], ..TablePlaces::default() };
        assert_eq!([0, 9, 10, 500].map(|entry| places.cluster_of(entry)), [0, 0, 10, 20]);
        assert_eq!(TablePlaces::default().cluster_of(7), 0);
    }
}
