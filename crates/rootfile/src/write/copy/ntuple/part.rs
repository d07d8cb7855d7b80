//! The part of an output's RNTuple that one input adds: where its pages are.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::error::{Error, Result};
use crate::ntuple::{Cluster, Column};

/// The pages of one input's RNTuple.
#[derive(Debug, Clone, PartialEq)]
pub struct NTuplePart {
    pub entries: u64,
    /// Its schema, by the position in `CopiedNTuple::schemas`.
    pub(super) schema: usize,
    pub(super) clusters: Vec<ClusterPart>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct ClusterPart {
    pub entries: Range<u64>,
    /// Ranges of pages, each once: several columns may share a page.
    pub places: Vec<Range<u64>>,
    /// For each place the page's bytes before compression, and whether a checksum follows it.
    contents: Vec<(usize, bool)>,
    /// By number; columns that were added while the input was written may be missing.
    columns: Vec<ColumnPart>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct ColumnPart {
    /// Number of elements, negative where a checksum follows, and position in `places`.
    pub pages: Vec<(i32, u32)>,
    pub compression: u32,
    /// Whether the cluster has another representation of the field instead.
    suppressed: bool,
}

impl NTuplePart {
    /// Every range of pages, behind its cluster and its position in that.
    pub fn places(&self) -> impl Iterator<Item = (usize, usize, &Range<u64>)> {
        let clusters = self.clusters.iter().enumerate();
        clusters.flat_map(|(cluster, part)| {
            part.places.iter().enumerate().map(move |(at, range)| (cluster, at, range))
        })
    }

    /// Bytes of a page before compression, and whether a checksum follows it.
    pub fn content(&self, (cluster, at): (usize, usize)) -> (usize, bool) {
        self.clusters[cluster].contents[at]
    }
}

impl ClusterPart {
    pub fn of(cluster: &Cluster, columns: &[Column]) -> Result<ClusterPart> {
        let mut places: BTreeMap<(u64, u64), (u32, (usize, bool))> = BTreeMap::new();
        for (pages, column) in cluster.columns.iter().zip(columns) {
            for page in &pages.pages {
                if page.further.is_some() {
                    return Err(Error::unsupported("copying a page that is in several records"));
                }
                let bits = u64::from(page.elements) * u64::from(column.bits);
                let content = (bits.div_ceil(8) as usize, page.checksum);
                places.insert((page.range.start, page.range.end), (0, content));
            }
        }
        places.values_mut().zip(0..).for_each(|((place, _), at)| *place = at);
        let columns = cluster.columns.iter().map(|column| {
            if column.elsewhere.is_some() {
                return Err(Error::unsupported("copying columns that are stored elsewhere"));
            }
            let pages = column.pages.iter().map(|page| {
                let elements = page.elements as i32;
                let place = places.get(&(page.range.start, page.range.end)).copied();
                let elements = if page.checksum { elements.wrapping_neg() } else { elements };
                (elements, place.map_or(0, |(at, _)| at))
            });
            let (compression, suppressed) = (column.compression, column.suppressed);
            Ok(ColumnPart { pages: pages.collect(), compression, suppressed })
        });
        Ok(ClusterPart {
            entries: cluster.entries.clone(),
            columns: columns.collect::<Result<_>>()?,
            contents: places.values().map(|(_, content)| *content).collect(),
            places: places.into_keys().map(|(start, end)| start..end).collect(),
        })
    }

    /// The stored pages of a column; `None` where the cluster does not have the column.
    pub fn column(&self, column: u32) -> Option<&ColumnPart> {
        self.columns.get(column as usize).filter(|column| !column.suppressed)
    }

    /// The number of elements stored for these columns together.
    pub fn elements(&self, columns: &[u32]) -> u64 {
        let stored = columns.iter().filter_map(|column| self.column(*column));
        stored.map(ColumnPart::elements).sum()
    }
}

impl ColumnPart {
    pub fn elements(&self) -> u64 {
        self.pages.iter().map(|(elements, _)| u64::from(elements.unsigned_abs())).sum()
    }
}
