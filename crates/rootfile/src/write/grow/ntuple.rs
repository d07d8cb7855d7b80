//! An RNTuple that gets further entries and columns.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::fields::{NewField, add_column, columns_of, encode_like, place_of};
use super::stages::{Adds, GrowthStages, check_length};
use crate::array::Array;
use crate::error::{Error, Result};
use crate::ntuple::anchor::{Anchor, NEWEST};
use crate::ntuple::{Cluster, ClusterGroup, ColumnPages, Page, Schema};
use crate::tree::ClassTable;
use crate::write::compression::Encoders;
use crate::write::copy::SourceNTuple;
use crate::write::ntuple::anchor::TitledAnchor;
use crate::write::ntuple::attributes::{self, LinkedSet};
use crate::write::ntuple::description::LateColumns;
use crate::write::ntuple::envelope::EnvelopeWriter;
use crate::write::ntuple::lists::{self, Group, KeptFooter, PageLists};
use crate::write::ntuple::pages::PlacedPage;
use crate::write::ntuple::records::Records;
use crate::write::ntuple::writer::WrittenCluster;
use crate::write::ntuple::{RNTupleOptions, RNTupleWriter};
use crate::write::schema::TableColumn;
use crate::write::table::{Encoded, Finished, RecordPlace, TableWriter, Work};

/// An RNTuple of an existing file that gets further entries and, with values for all its entries,
/// further columns.
///
/// Its header and its pages stay as they are. Without further columns its page lists do, too: the
/// footer names them and those of new clusters. Further columns are described in the footer, and
/// all page lists are written anew.
pub struct GrowingNTuple {
    existing: SourceNTuple,
    /// Its fields and columns, and those that have been added.
    schema: Schema,
    columns: Vec<TableColumn>,
    options: RNTupleOptions,
    stages: GrowthStages<RNTupleWriter>,
    /// Of each stage.
    written: Vec<WrittenColumns>,
    /// Attribute sets that have been added.
    linked: Vec<LinkedSet>,
}

/// The columns of the schema that a stage writes.
enum WrittenColumns {
    /// Of each column the one that is written.
    OfAll(Vec<Option<usize>>),
    /// Those that it adds.
    New,
}

/// The parts of a finished RNTuple that its footer names or has.
struct Listing {
    /// Page lists that stay.
    groups: Vec<Group>,
    /// Clusters for new page lists.
    clusters: Vec<ListedCluster>,
    /// Elements of each column in front of these clusters.
    elements: Vec<u64>,
    extension: Bytes,
}

/// A cluster of the finished RNTuple.
struct ListedCluster {
    entries: Range<u64>,
    columns: Vec<ListedColumn>,
}

/// The pages of a column in a cluster.
enum ListedColumn {
    Suppressed,
    Pages { pages: Vec<PlacedPage>, first: Option<u64>, compression: u32 },
}

impl GrowingNTuple {
    /// `options` are those of new clusters.
    ///
    /// # Errors
    /// `Unsupported` with the field of a form that [`RNTupleWriter`] does not write.
    pub fn of_existing(
        existing: SourceNTuple,
        classes: &ClassTable,
        options: RNTupleOptions,
    ) -> Result<Self> {
        let schema = existing.ntuple.schema.clone();
        let within = |error: Error| error.within(&existing.ntuple.schema.name);
        let columns = columns_of(&schema, classes).map_err(within)?;
        let last = existing.clusters.last().map(|last| last.columns.len());
        if last.is_some_and(|count| count < schema.columns.len()) {
            // The elements that such a field has without pages are in no list.
            let message =
                "further entries of an RNTuple with fields that came after its last cluster";
            return Err(within(Error::unsupported(message)));
        }
        if has_left_out(&existing) && !can_be_listed(&existing) {
            let message = "further entries of an RNTuple with clusters without entries, and with \
                           fields that came late or pages in several records: a skim writes it anew";
            return Err(within(Error::unsupported(message)));
        }
        // uproot sets no limit.
        let limit = Some(existing.ntuple.anchor.max_key_size).filter(|limit| *limit > 0);
        let max_key_size = limit.map_or(options.max_key_size, |most| most.min(1 << 30));
        let options = RNTupleOptions { max_key_size, ..options };
        let written = Vec::new();
        let stages = GrowthStages::new();
        let linked = Vec::new();
        let mut ntuple =
            GrowingNTuple { schema, columns, options, stages, written, linked, existing };
        // One for entries: whether the fields are written is known before there are some.
        let begun = ntuple.begin_entries().map(drop);
        begun.map_err(|error| error.within(&ntuple.existing.ntuple.schema.name))?;
        Ok(ntuple)
    }

    /// Its columns.
    pub fn columns(&self) -> &[TableColumn] {
        &self.columns
    }

    /// Begins with entries of all columns.
    fn begin_entries(&mut self) -> Result<&mut RNTupleWriter> {
        let writer = RNTupleWriter::new(self.columns.clone(), self.options.clone())?;
        let mut stored = writer.stored().to_vec();
        let written = encode_like(&self.schema, writer.schema(), &mut stored)?;
        self.written.push(WrittenColumns::OfAll(written));
        Ok(self.stages.begin(writer.of_another(stored), Adds::Entries))
    }

    /// The number of entries up to the end of each cluster.
    fn cluster_ends(&mut self) -> Result<Vec<u64>> {
        let mut ends: Vec<u64> = self.existing.ends_of_clusters().collect();
        let mut before = self.existing.ntuple.entries;
        for stage in self.stages.all.iter_mut().filter(|stage| stage.adds == Adds::Entries) {
            ends.extend(stage.writer.cluster_ends()?.into_iter().map(|end| before + end));
            before += stage.writer.entries();
        }
        Ok(ends)
    }

    /// That the names of new columns are not there, and that all page lists can be written anew.
    fn check_new(&self, new: &[NewField]) -> Result<()> {
        let fields = &self.schema.fields;
        let mut known: BTreeSet<(Option<u32>, &str)> =
            fields.iter().map(|field| (field.parent, &*field.name)).collect();
        for NewField { parent, name } in new {
            if !known.insert((*parent, name)) {
                return Err(Error::unsupported("a new field that is there already").within(name));
            }
        }
        match can_be_listed(&self.existing) {
            true => Ok(()),
            false => {
                let message = "new fields of an RNTuple with fields that came late, or pages in \
                               several records: a skim writes it anew";
                Err(Error::unsupported(message))
            }
        }
    }

    /// Without new columns only new clusters are listed, if all that are listed stay.
    fn listing(&mut self) -> Result<Listing> {
        let ntuple = &self.existing.ntuple;
        let has_new_columns = self.schema.columns.len() > ntuple.schema.columns.len();
        if !has_new_columns && !has_left_out(&self.existing) {
            return Ok(Listing {
                groups: ntuple.groups.iter().map(group).collect(),
                elements: elements(&self.existing),
                extension: self.existing.kept.extension.clone(),
                clusters: self.with_stages(Vec::new()),
            });
        }
        let extension = match has_new_columns {
            true => self.extension()?,
            false => self.existing.kept.extension.clone(),
        };
        let existing = self.existing.clusters.iter().map(listed).collect();
        let clusters = self.with_stages(existing);
        let elements = vec![0; self.schema.columns.len()];
        Ok(Listing { groups: Vec::new(), clusters, elements, extension })
    }

    /// Adds the clusters and columns of all stages, in the order of the schema.
    fn with_stages(&mut self, mut all: Vec<ListedCluster>) -> Vec<ListedCluster> {
        let mut entries = self.existing.ntuple.entries;
        let stages = std::mem::take(&mut self.stages.all);
        for (mut stage, written) in stages.into_iter().zip(&self.written) {
            let placed = stage.writer.placed_clusters();
            match written {
                WrittenColumns::OfAll(columns) => {
                    all.extend(placed.into_iter().map(|one| added(one, entries, columns)));
                    entries += stage.writer.entries();
                }
                WrittenColumns::New => {
                    let count = stage.writer.schema().columns.len();
                    for (cluster, mut placed) in all.iter_mut().zip(placed) {
                        cluster.columns.extend((0..count).map(|at| placed_column(&mut placed, at)));
                    }
                }
            }
        }
        all
    }

    /// The fields and columns that have been added, behind those of the record `before`.
    fn extension(&self) -> Result<Bytes> {
        let own = &self.existing.ntuple.schema;
        let fields = self.schema.fields.iter().enumerate().skip(own.fields.len());
        let late = LateColumns {
            fields: fields.map(|(id, field)| (id as u32, field.clone())).collect(),
            columns: self.schema.columns[own.columns.len()..].to_vec(),
            aliases: Vec::new(),
        };
        let extension = late.extension(Some(&self.existing.kept.extension));
        let message = "the record of fields that were added later";
        Ok(extension.ok_or_else(|| Error::corrupt(message))?.into())
    }
}

impl TableWriter for GrowingNTuple {
    fn named(&mut self, _: &str) {}

    fn extend(&mut self, columns: Vec<Arc<Array>>) -> Result<()> {
        match self.stages.open() {
            Some(writer) => writer.extend(columns),
            None => self.begin_entries()?.extend(columns),
        }
    }

    fn add_columns(&mut self, columns: Vec<TableColumn>, arrays: Vec<Arc<Array>>) -> Result<()> {
        check_length(arrays.first().map_or(0, |array| array.len() as u64), self.entries())?;
        let places = columns.iter().map(|column| place_of(&self.schema, &column.name));
        let places: Vec<NewField> = places.collect::<Result<_>>()?;
        self.check_new(&places)?;
        let named = columns.iter().zip(&places).enumerate();
        let named = named.map(|(at, (column, place))| place.numbered(at, column));
        let mut options = self.options.clone();
        if places.iter().any(|place| place.parent.is_some()) {
            // They count columns by their names in the table.
            options.counter_name = None;
        }
        let writer = RNTupleWriter::new(named.collect(), options)?;
        let stored = writer.stored().to_vec();
        let mut added = writer.schema().clone();
        let mut parents = BTreeMap::new();
        let tops: Vec<u32> = added.top().collect();
        for (top, place) in tops.into_iter().zip(&places) {
            added.fields[top as usize].name.clone_from(&place.name);
            parents.extend(place.parent.map(|parent| (top, parent)));
        }
        self.stages.close_last();
        let ends = self.cluster_ends()?;
        let mut writer = writer.of_another(stored).with_cluster_ends(ends.into());
        writer.extend(arrays)?;
        self.stages.begin(writer, Adds::Columns);
        self.stages.close_last();
        self.written.push(WrittenColumns::New);
        self.schema.append_within(&added, &parents);
        for column in columns {
            add_column(&mut self.columns, column);
        }
        Ok(())
    }

    fn close(&mut self) {
        self.stages.close_last();
    }

    fn poll_work(&mut self) -> Option<Work> {
        self.stages.poll_work()
    }

    fn waits(&self) -> bool {
        self.stages.waits()
    }

    fn place(&mut self, encoded: Encoded, place: RecordPlace) -> Result<Vec<Bytes>> {
        self.stages.place(encoded, place)
    }

    fn finish(&mut self, place: RecordPlace, encoders: &mut Encoders) -> Result<Finished> {
        let mut records = Records::new(place, self.options.max_key_size);
        let compression = self.options.compression;
        let checksum = self.existing.ntuple.header_checksum();
        let Listing { mut groups, clusters, mut elements, extension } = self.listing()?;
        let mut lists = PageLists::new(checksum);
        for cluster in clusters {
            let columns = cluster.list(&mut elements);
            lists.add(cluster.entries, &columns);
        }
        for list in lists.finish(0) {
            let link = records.envelope(&list.envelope, compression, encoders)?;
            groups.push(Group { entries: list.entries, clusters: list.clusters, link });
        }
        let Anchor { version, header, max_key_size, .. } = self.existing.ntuple.anchor.clone();
        let version = attributes::version_with(version.min(NEWEST), &self.linked);
        let attribute_list = match self.linked.is_empty() {
            true => self.existing.kept.attribute_list.clone(),
            false => {
                let existing = self.existing.ntuple.attribute_sets.iter().map(LinkedSet::existing);
                let elsewhere = || Error::unsupported("an attribute set that is in no file");
                let existing: Option<Vec<LinkedSet>> = existing.collect();
                let mut all = existing.ok_or_else(elsewhere)?;
                all.append(&mut self.linked);
                attributes::list(&all)
            }
        };
        let kept = KeptFooter { extension, attribute_list };
        let footer = lists::footer(version, checksum, &kept, &groups);
        let footer = records.envelope(&footer, compression, encoders)?;
        let anchor = Anchor { version, header, footer, max_key_size };
        let records = records.into_bytes().concat();
        let title = self.existing.title.clone();
        Ok(Finished { records, object: Arc::new(TitledAnchor { anchor, title }) })
    }

    fn attribute_sets(&self) -> Option<Vec<&str>> {
        let existing = self.existing.ntuple.attribute_sets.iter().map(|set| &*set.name);
        Some(existing.chain(self.linked.iter().map(LinkedSet::name)).collect())
    }

    fn link(&mut self, set: LinkedSet) {
        self.linked.push(set);
    }

    fn is_unchanged(&self) -> bool {
        self.stages.are_empty() && self.linked.is_empty()
    }

    fn entries(&self) -> u64 {
        self.existing.ntuple.entries + self.stages.entries()
    }

    fn held_bytes(&self) -> usize {
        self.stages.held_bytes()
    }
}

impl ListedCluster {
    /// The list frame of its columns; `elements` are those of each column in front of it.
    fn list(&self, elements: &mut [u64]) -> Vec<u8> {
        let mut to = EnvelopeWriter::part();
        to.list(self.columns.len(), |to| {
            for (column, elements) in self.columns.iter().zip(elements) {
                match column {
                    ListedColumn::Suppressed => lists::suppressed(to),
                    ListedColumn::Pages { pages, first, compression } => {
                        *elements = first.unwrap_or(*elements);
                        lists::column(to, pages, elements, *compression);
                    }
                }
            }
        });
        to.into_part()
    }
}

/// Whether the file lists clusters that are left out: those without entries.
fn has_left_out(existing: &SourceNTuple) -> bool {
    let listed = existing.ntuple.groups.iter().map(|group| u64::from(group.clusters));
    listed.sum::<u64>() > existing.clusters.len() as u64
}

/// Whether the page lists of all clusters can be written anew.
fn can_be_listed(existing: &SourceNTuple) -> bool {
    let count = existing.ntuple.schema.columns.len();
    let is_usual = |column: &ColumnPages| {
        let is_long = column.pages.iter().any(|page| page.further.is_some());
        column.elsewhere.is_none() && !is_long
    };
    let is_whole =
        |cluster: &Cluster| cluster.columns.len() == count && cluster.columns.iter().all(is_usual);
    existing.clusters.iter().all(is_whole)
}

/// A cluster that the file has.
fn listed(cluster: &Cluster) -> ListedCluster {
    let page = |page: &Page| {
        let len = page.range.end - page.range.start;
        let (sign, checksum) = if page.checksum { (-1, 8) } else { (1, 0) };
        PlacedPage {
            elements: sign * page.elements as i32,
            offset: page.range.start,
            stored: len.saturating_sub(checksum),
        }
    };
    let column = |column: &ColumnPages| match column.suppressed {
        true => ListedColumn::Suppressed,
        false => ListedColumn::Pages {
            pages: column.pages.iter().map(page).collect(),
            first: Some(column.first_element),
            compression: column.compression,
        },
    };
    let columns = cluster.columns.iter().map(column).collect();
    ListedCluster { entries: cluster.entries.clone(), columns }
}

/// A cluster of further entries, of which so many are before its table's.
fn added(mut placed: WrittenCluster, before: u64, columns: &[Option<usize>]) -> ListedCluster {
    let entries = before + placed.entries.start..before + placed.entries.end;
    let column = |written: &Option<usize>| match written {
        Some(at) => placed_column(&mut placed, *at),
        None => ListedColumn::Suppressed,
    };
    ListedCluster { entries, columns: columns.iter().map(column).collect() }
}

fn placed_column(placed: &mut WrittenCluster, at: usize) -> ListedColumn {
    let pages = placed.pages.remove(&at).unwrap_or_default();
    ListedColumn::Pages { pages, first: None, compression: placed.compression }
}

fn group(group: &ClusterGroup) -> Group {
    Group {
        entries: group.first_entry..group.first_entry.saturating_add(group.entries),
        clusters: group.clusters as usize,
        link: group.page_list.clone(),
    }
}

/// The elements of each column in front of the next cluster.
fn elements(existing: &SourceNTuple) -> Vec<u64> {
    let mut elements = vec![0; existing.ntuple.schema.columns.len()];
    for cluster in &existing.clusters {
        for (elements, column) in elements.iter_mut().zip(&cluster.columns) {
            if !column.suppressed {
                let here: u64 = column.pages.iter().map(|page| u64::from(page.elements)).sum();
                *elements = column.first_element.saturating_add(here);
            }
        }
    }
    elements
}
