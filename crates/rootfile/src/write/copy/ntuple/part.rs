//! The part of an output's RNTuple that one input adds: where its pages are.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::groups::{Groups, InputGroup};
use super::new_columns::NTupleColumns;
use super::replaced::ReplacedColumns;
use crate::error::{Error, Result};
use crate::ntuple::column::{Element, Encoding};
use crate::ntuple::{Cluster, Column, Schema};
use crate::write::copy::fill::content_max;
use crate::write::copy::{BlockNumbers, KeptEntries, PageContent};

/// The pages of one input's RNTuple.
#[derive(Debug, Clone, PartialEq)]
pub struct NTuplePart {
    pub entries: u64,
    /// Entries that the input's pages can hold, those included that are not copied.
    pub(super) entries_max: u64,
    /// The position of its schema in `CopiedNTuple::schemas`, and the schema.
    pub(super) schema: (usize, Arc<Schema>),
    /// The number in the output of each field of the schema; `None` where it is left out.
    pub(super) fields: Arc<[Option<u32>]>,
    pub(super) clusters: Vec<ClusterPart>,
    /// Number of clusters of the inputs before.
    pub(super) clusters_before: usize,
    /// For each cluster of the output the input's clusters in it: one copied, or some joined.
    pub(super) groups: Vec<InputGroup>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct ClusterPart {
    /// The entries that are taken, counted among the taken entries of the input.
    pub entries: Range<u64>,
    /// Entries that its pages hold.
    pub stored_entries: u64,
    /// Runs of the stored entries that are taken; `None` for all.
    pub kept: Option<Vec<Range<u64>>>,
    /// Ranges of pages, each once: several columns may share a page.
    pub places: Vec<Range<u64>>,
    /// Pages of new columns, of the taken entries only; their places follow those in `places`.
    pub new_columns: Vec<Bytes>,
    /// The number of the first new column; that of all columns if none is new.
    new_from: usize,
    /// Columns of the input with new pages instead of their own, in order.
    replaced: Vec<usize>,
    /// For each place the page's bytes before compression, and whether a checksum follows it.
    contents: Vec<PageContent>,
    /// By number; columns that were added while the input was written may be missing.
    pub columns: Vec<ColumnPart>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct ColumnPart {
    /// Number of elements, negative where a checksum follows, and position in `places`, or behind
    /// these in `beside`. Columns that are left out have none.
    pub pages: Vec<(i32, u32)>,
    /// Approximate bytes of a decoded element.
    pub element_len: u64,
    pub compression: u32,
    /// Whether the cluster has another representation of the field instead.
    pub suppressed: bool,
}

impl NTuplePart {
    /// The part of the clusters of an RNTuple of `own` columns that is copied: entries, and of
    /// these the fields that have a number in the output. `schema` has the new columns, too.
    ///
    /// # Errors
    /// `Unsupported` for columns that are stored elsewhere, and for pages in several records;
    /// `Corrupt` for new columns of other clusters.
    pub(super) fn of(
        clusters: &[Cluster],
        entries: u64,
        own: usize,
        schema: (usize, Arc<Schema>),
        fields: Arc<[Option<u32>]>,
        kept: KeptEntries<'_, NTupleColumns>,
        all: &mut Groups,
    ) -> Result<NTuplePart> {
        let KeptEntries { survivors, new_columns } = kept;
        let mut parts = Vec::with_capacity(clusters.len());
        for cluster in clusters {
            let stored = &cluster.entries;
            let runs: Vec<Range<u64>> = match survivors {
                Some(survivors) => survivors.within(stored).collect(),
                None => vec![stored.clone()],
            };
            if survivors.is_some() && runs.is_empty() {
                continue;
            }
            let replaced = new_columns.and_then(|new| new.replaced.as_ref());
            let mut part = ClusterPart::of(cluster, &schema.1, &fields, replaced)?;
            if let Some(survivors) = survivors {
                part.entries = survivors.rank(stored.start)..survivors.rank(stored.end);
                let local = |run: &Range<u64>| run.start - stored.start..run.end - stored.start;
                part.kept = (runs != [stored.clone()]).then(|| runs.iter().map(local).collect());
            }
            match (new_columns, replaced) {
                (Some(new), Some(replaced)) => part.replace(new, replaced, &schema.1)?,
                (Some(new), None) => part.add_new(new, own, &schema.1)?,
                (None, _) => {}
            }
            parts.push(part);
        }
        let (entries, entries_max) = match survivors {
            // They were read.
            Some(survivors) => (survivors.rank(entries), u64::MAX),
            None => (entries, entries_max(clusters)),
        };
        let clusters_before = all.clusters();
        let groups = all.add(schema.0, &schema.1, &parts);
        let clusters = parts;
        Ok(NTuplePart { entries, entries_max, schema, fields, clusters, clusters_before, groups })
    }

    /// Every range of pages, behind its cluster and its position in that.
    pub fn places(&self) -> impl Iterator<Item = (usize, usize, &Range<u64>)> {
        let clusters = self.clusters.iter().enumerate();
        clusters.flat_map(|(cluster, part)| {
            part.places.iter().enumerate().map(move |(at, range)| (cluster, at, range))
        })
    }

    pub fn content(&self, page: BlockNumbers) -> PageContent {
        self.clusters[page.owner].contents[page.number]
    }

    /// The number of the output's cluster that gets the taken entries of a cluster; `None` for a
    /// cluster that is copied.
    pub fn group(&self, cluster: usize) -> Option<usize> {
        self.clusters[cluster].kept.as_ref()?;
        let group = self.groups.partition_point(|group| group.clusters.end <= cluster);
        Some(self.groups[group].number)
    }

    /// The number of clusters with pages that go to the output's cluster `number`; `None` if it may
    /// get clusters of further inputs.
    pub fn joined(&self, number: usize) -> Option<usize> {
        let group = self.groups.iter().find(|group| group.number == number)?;
        let clusters = self.clusters[group.clusters.clone()].iter();
        (!group.is_open).then(|| clusters.filter(|cluster| cluster.has_pages()).count())
    }

    /// The clusters with pages of new columns.
    pub fn new_clusters(&self) -> impl Iterator<Item = usize> {
        let clusters = self.clusters.iter().enumerate();
        clusters.filter(|(_, cluster)| !cluster.new_columns.is_empty()).map(|(at, _)| at)
    }

    /// The pages of new columns of a cluster, each with its place.
    pub fn new_pages(&self, cluster: usize) -> impl Iterator<Item = (usize, Bytes)> {
        let ClusterPart { places, new_columns, .. } = &self.clusters[cluster];
        (places.len()..).zip(new_columns.iter().cloned())
    }

    /// Whether a field at the top is new: a cluster has its taken entries only.
    pub(super) fn is_new(&self, cluster: usize, field: u32) -> bool {
        let schema = &self.schema.1;
        let part = &self.clusters[cluster];
        let columns = schema.columns.iter().enumerate();
        let mut new = columns.filter(|(at, _)| part.is_new_column(*at));
        new.any(|(_, column)| schema.ancestors(column.field).last() == Some(field))
    }

    /// The number of a cluster among those of all inputs.
    pub fn number(&self, cluster: usize) -> usize {
        self.clusters_before + cluster
    }

    /// Approximate decoded bytes of the entries taken out of a cluster, for some fields at the top.
    pub fn decoded_bytes(&self, cluster: usize, fields: &[u32]) -> u64 {
        let schema = &self.schema.1;
        let part = &self.clusters[cluster];
        let is_in = |column: &Column| {
            schema.ancestors(column.field).last().is_some_and(|top| fields.contains(&top))
        };
        part.taken_bytes(|at| is_in(&schema.columns[at]))
    }

    /// The fields at the top that a cluster has, each with the places of its pages.
    pub fn fields(&self, cluster: usize) -> Vec<(u32, Vec<usize>)> {
        let schema = &self.schema.1;
        let cluster = &self.clusters[cluster];
        let mut places: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for field in schema.top().filter(|field| self.fields[*field as usize].is_some()) {
            places.insert(field, Vec::new());
        }
        for (column, described) in cluster.columns.iter().zip(&schema.columns) {
            let top = schema.ancestors(described.field).last();
            let Some(places) = top.and_then(|top| places.get_mut(&top)) else { continue };
            // A page without elements may have no bytes, and is never read.
            let pages = column.pages.iter().filter(|(elements, _)| *elements != 0);
            places.extend(pages.map(|(_, place)| *place as usize));
        }
        for places in places.values_mut() {
            places.sort_unstable();
            places.dedup();
        }
        places.into_iter().collect()
    }
}

/// Entries that the pages of clusters can hold, each in a bit at least. A few may need no pages.
pub(super) fn entries_max(clusters: &[Cluster]) -> u64 {
    let columns = clusters.iter().flat_map(|cluster| &cluster.columns);
    let pages = columns.flat_map(|column| &column.pages);
    let bits_max = pages.map(|page| content_max(page.range.end - page.range.start));
    bits_max.fold(content_max(0), u64::saturating_add).saturating_mul(8)
}

impl ClusterPart {
    fn of(
        cluster: &Cluster,
        schema: &Schema,
        fields: &[Option<u32>],
        replaced: Option<&ReplacedColumns>,
    ) -> Result<ClusterPart> {
        let is_kept = |column: &Column| {
            let is_replaced = replaced.is_some_and(|replaced| replaced.has(column.field));
            fields[column.field as usize].is_some() && !is_replaced
        };
        let columns = cluster.columns.iter().zip(&schema.columns);
        let mut places: BTreeMap<(u64, u64), (u32, PageContent)> = BTreeMap::new();
        for (stored, column) in columns.clone().filter(|(_, column)| is_kept(column)) {
            for page in &stored.pages {
                if page.further.is_some() {
                    return Err(Error::unsupported("copying a page that is in several records"));
                }
                if page.elements > 0 && page.range.is_empty() {
                    return Err(Error::corrupt("a page with elements and no bytes"));
                }
                let bits = u64::from(page.elements) * u64::from(column.bits);
                let len = bits.div_ceil(8) as usize;
                let content = PageContent { len, has_checksum: page.checksum };
                places.insert((page.range.start, page.range.end), (0, content));
            }
        }
        places.values_mut().zip(0..).for_each(|((place, _), at)| *place = at);
        let columns = columns.map(|(stored, column)| {
            let compression = stored.compression;
            let suppressed = stored.suppressed;
            let element_len = decoded_len(schema, column);
            if !is_kept(column) {
                let pages = Vec::new();
                return Ok(ColumnPart { pages, element_len, compression, suppressed });
            }
            if stored.elsewhere.is_some() {
                return Err(Error::unsupported("copying columns that are stored elsewhere"));
            }
            let pages = stored.pages.iter().map(|page| {
                let elements = page.elements as i32;
                let place = places.get(&(page.range.start, page.range.end)).copied();
                let elements = if page.checksum { elements.wrapping_neg() } else { elements };
                (elements, place.map_or(0, |(at, _)| at))
            });
            Ok(ColumnPart { pages: pages.collect(), element_len, compression, suppressed })
        });
        Ok(ClusterPart {
            entries: cluster.entries.clone(),
            stored_entries: cluster.entries.end - cluster.entries.start,
            kept: None,
            new_columns: Vec::new(),
            new_from: schema.columns.len(),
            replaced: Vec::new(),
            columns: columns.collect::<Result<_>>()?,
            contents: places.values().map(|(_, content)| *content).collect(),
            places: places.into_keys().map(|(start, end)| start..end).collect(),
        })
    }

    /// A cluster whose pages hold this number of entries.
    pub fn made(entries: u64, columns: Vec<ColumnPart>) -> ClusterPart {
        ClusterPart {
            entries: 0..entries,
            stored_entries: entries,
            kept: None,
            places: Vec::new(),
            new_columns: Vec::new(),
            new_from: columns.len(),
            replaced: Vec::new(),
            contents: Vec::new(),
            columns,
        }
    }

    /// Adds the columns up to number `own` that the cluster lacks, as columns without pages.
    pub fn pad(&mut self, own: usize, compression: u32) {
        let pages = Vec::new();
        let suppressed = false;
        self.columns.resize(own, ColumnPart { pages, element_len: 0, compression, suppressed });
        self.new_from = own;
    }

    /// Adds a column behind the others, which the schema describes so.
    pub fn push_column(
        &mut self,
        pages: Vec<(i32, u32)>,
        schema: &Schema,
        described: &Column,
        compression: u32,
    ) {
        let element_len = decoded_len(schema, described);
        let suppressed = false;
        self.columns.push(ColumnPart { pages, element_len, compression, suppressed });
    }

    /// Gives a column of the input new pages.
    pub fn set_pages(
        &mut self,
        at: usize,
        pages: Vec<(i32, u32)>,
        compression: u32,
        suppressed: bool,
    ) {
        if let Some(column) = self.columns.get_mut(at) {
            *column = ColumnPart { pages, compression, suppressed, ..*column };
            self.replaced.push(at);
        }
    }

    /// Whether the pages of a column have the taken entries only.
    fn is_new_column(&self, at: usize) -> bool {
        at >= self.new_from || self.replaced.binary_search(&at).is_ok()
    }

    /// Whether any pages are copied of it.
    pub fn has_pages(&self) -> bool {
        !self.places.is_empty() || !self.new_columns.is_empty()
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

    /// Whether it stores any of these columns, the representation of a field.
    pub fn has(&self, columns: &[u32]) -> bool {
        columns.iter().any(|column| self.column(*column).is_some())
    }

    /// The numbers of suppressed columns: the cluster has another representation of their fields.
    pub fn suppressed(&self) -> impl Iterator<Item = usize> {
        let columns = self.columns.iter().enumerate();
        columns.filter(|(_, column)| column.suppressed).map(|(at, _)| at)
    }

    /// Approximate stored bytes of the taken entries.
    pub fn taken_stored_bytes(&self) -> u64 {
        let new: u64 = self.new_columns.iter().map(|page| page.len() as u64).sum();
        self.taken(self.places.iter().map(|range| range.end - range.start).sum()) + new
    }

    /// Approximate bytes of the taken entries once decoded, of all columns.
    pub fn taken_decoded_bytes(&self) -> u64 {
        self.taken_bytes(|_| true)
    }

    /// The same of the columns with some numbers.
    fn taken_bytes(&self, is_in: impl Fn(usize) -> bool) -> u64 {
        let columns = self.columns.iter().enumerate().filter(|(at, _)| is_in(*at));
        let mut own = 0u64;
        let mut new = 0u64;
        for (at, column) in columns {
            let sum = if self.is_new_column(at) { &mut new } else { &mut own };
            *sum = sum.saturating_add(column.decoded_bytes());
        }
        self.taken(own).saturating_add(new)
    }

    /// The taken entries' share of the `bytes` of all entries, in proportion to their number.
    fn taken(&self, bytes: u64) -> u64 {
        let taken = self.entries.end - self.entries.start;
        (u128::from(bytes) * u128::from(taken) / u128::from(self.stored_entries.max(1))) as u64
    }
}

impl ColumnPart {
    pub fn elements(&self) -> u64 {
        self.pages.iter().map(|(elements, _)| u64::from(elements.unsigned_abs())).sum()
    }

    fn decoded_bytes(&self) -> u64 {
        self.elements().saturating_mul(self.element_len)
    }
}

/// Bytes of a column's element once it is decoded.
fn decoded_len(schema: &Schema, column: &Column) -> u64 {
    const OFFSET_LEN: usize = size_of::<i64>();
    let len = match Encoding::of(column).map(|encoding| encoding.undecoded().element()) {
        Ok(Element::Bool) => 1,
        Ok(Element::Number(number)) => number.size(),
        Ok(Element::Index { .. }) => OFFSET_LEN,
        // The number of the alternative, and an offset for each.
        Ok(Element::Switch) => 1 + OFFSET_LEN * schema.fields[column.field as usize].children.len(),
        Err(_) => usize::from(column.bits.div_ceil(8)),
    };
    len as u64
}
