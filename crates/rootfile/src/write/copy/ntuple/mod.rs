//! An RNTuple of copied pages, with the first input's header or, for further columns, a new one.

mod bridge;
mod groups;
mod joined;
mod layout;
mod new_columns;
mod part;
mod replaced;
mod take;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use twox_hash::XxHash3_64;

use super::new_columns::KeptEntries;
use super::remake::CHECKSUM_LEN;
use super::tree::Missing;
use crate::error::{Error, Result};
use crate::file::{File, ready};
use crate::key::Key;
use crate::known::{Known, Progress};
use crate::ntuple::anchor::NEWEST;
use crate::ntuple::column::Encoding;
use crate::ntuple::{Anchor, Cluster, EnvelopeLink, RNTuple, Role, Schema};
use crate::write::compression::{Coding, Compression};
use crate::write::copy::BlockNumbers;
use crate::write::file::TableDestination;
use crate::write::ntuple::anchor::TitledAnchor;
use crate::write::ntuple::attributes::{self, LinkedSet};
use crate::write::ntuple::description;
use crate::write::ntuple::envelope::EnvelopeWriter;
use crate::write::ntuple::lists::{self, Group, KeptFooter, PageLists};
use crate::write::ntuple::pages::{PlacedPage, place_all};
use crate::write::ntuple::records::{self, Records};
use crate::write::table::{RecordPlace, WritableObject};
use bridge::{Bridge, FieldPages, zero_pages};
use groups::Groups;
use joined::OpenCluster;
use layout::{ColumnPlace, UnionField, UnionSchema};
use new_columns::{top_names, with_new};
use part::ClusterPart;

pub use joined::JoinedFields;
pub use new_columns::{NTupleColumns, NTupleColumnsWriter};
pub use part::NTuplePart;
pub use replaced::ReplacedColumns;
pub use take::TakenField;

/// The anchor's maximum key size: longer envelopes are in several records.
const RECORD_MAX: u64 = 1 << 30;

/// An RNTuple of an input.
#[derive(Debug)]
pub struct SourceNTuple {
    pub ntuple: RNTuple,
    pub(in crate::write) title: String,
    /// The header as it is stored, and parts of the footer.
    header: Bytes,
    pub(in crate::write) kept: KeptFooter,
    pub(in crate::write) clusters: Vec<Cluster>,
}

/// An RNTuple of the output, copied from those of several inputs.
#[derive(Debug)]
pub struct CopiedNTuple {
    first: SourceNTuple,
    /// The newest version of the format among the inputs.
    version: [u16; 4],
    /// The new fields.
    new: Option<Arc<Schema>>,
    layout: UnionSchema,
    /// The schemas of the inputs, each once.
    schemas: Vec<InputSchema>,
    /// Whether the first input is in the output's file already, so that its header stays.
    is_in_place: bool,
    /// The place and checksum of the header, and the page lists of the clusters so far.
    header: Option<(EnvelopeLink, u64)>,
    lists: PageLists,
    /// The first input's record of fields that were added later; `None` with a new header.
    extension: Option<Bytes>,
    columns: Vec<ColumnPlace>,
    /// Columns of further inputs of a skim, in other encodings: the footer describes them.
    late: Vec<ColumnPlace>,
    /// Entries of all inputs that are planned, and of those that have ended.
    planned: u64,
    entries: u64,
    /// Elements so far, by field and position of the column in its representation.
    elements: Vec<Vec<u64>>,
    /// The present input's pages, by cluster and place.
    placed: Vec<Vec<StoredPage>>,
    /// Which clusters of the planned inputs become one cluster of the output.
    groups: Groups,
    /// The last cluster, while it may get entries of further inputs.
    open: Option<OpenCluster>,
    /// Pages of taken entries, by cluster of the output and column of the inputs.
    joined: BTreeMap<usize, BTreeMap<usize, Vec<PlacedPage>>>,
    /// Stored pages of zeros, by bytes before compression; where the present input's are.
    zeros: BTreeMap<usize, Bytes>,
    zeros_placed: BTreeMap<usize, StoredPage>,
    /// Compression of pages that are compressed anew; `None` where they are copied.
    compression: Option<Compression>,
    /// Attribute sets that have been written for it.
    linked: Vec<LinkedSet>,
}

/// Offset and bytes, with the checksum, of a page in the output.
#[derive(Debug, Clone, Copy, Default)]
struct StoredPage {
    offset: u64,
    len: u64,
}

/// A cluster of the output.
struct PlacedCluster<'a> {
    cluster: Cow<'a, ClusterPart>,
    /// Its entries, counted in the output.
    entries: Range<u64>,
    /// Its pages in the output, by place.
    placed: Vec<StoredPage>,
}

/// A schema of inputs, the number of each of its fields in the output, and the bridge between both.
#[derive(Debug)]
struct InputSchema {
    schema: Arc<Schema>,
    fields: Arc<[Option<u32>]>,
    bridge: Option<Bridge>,
}

impl SourceNTuple {
    /// The RNTuple of a key.
    ///
    /// # Errors
    /// As [`File::ntuple`]; `Unsupported` where its pages cannot be copied as they are.
    pub fn read(file: &File, known: &Known, key: &Key) -> Result<Progress<SourceNTuple>> {
        let read = || {
            let content = ready!(file.content_of(known, key)?);
            let at = key.offset.saturating_add(key.key_len);
            let anchor = Anchor::read(&key.class, &content, at)?;
            SourceNTuple::of(known, anchor, &key.title)
        };
        read().map_err(|error: Error| error.within(&key.name))
    }

    /// The RNTuple of an anchor; `title` is that of the anchor's key.
    ///
    /// # Errors
    /// As [`RNTuple::read`].
    pub fn of(known: &Known, anchor: Anchor, title: &str) -> Result<Progress<SourceNTuple>> {
        let ntuple = ready!(RNTuple::read(known, anchor)?);
        let mut clusters = ready!(ntuple.clusters(known, 0..ntuple.groups.len())?);
        // uproot writes clusters without entries, and ROOT opens no file with such.
        clusters.retain(|cluster| !cluster.entries.is_empty());
        let (header, extension, attribute_list) = ready!(ntuple.envelopes(known)?);
        let kept = KeptFooter { extension, attribute_list };
        let title = title.to_owned();
        Ok(Progress::Ready(SourceNTuple { ntuple, title, header, kept, clusters }))
    }

    /// The columns of fields at the top that hold one number each.
    ///
    /// # Errors
    /// `Unsupported` with the field that is not there, or has other columns.
    pub fn number_columns(&self, names: &[String]) -> Result<ReplacedColumns> {
        ReplacedColumns::of(&self.ntuple.schema, names)
    }

    /// The number of entries up to the end of each cluster.
    pub fn ends_of_clusters(&self) -> impl Iterator<Item = u64> {
        self.clusters.iter().map(|cluster| cluster.entries.end)
    }
}

impl CopiedNTuple {
    /// An RNTuple like the first input's, without entries; and the part that this input adds.
    /// `only` are the names of the fields at the top that are copied; `None` for all.
    ///
    /// # Errors
    /// `Unsupported` where its pages cannot be copied as they are, and for new columns that it has
    /// already.
    pub fn new(
        first: SourceNTuple,
        only: Option<&[String]>,
        taken: KeptEntries<'_, NTupleColumns>,
    ) -> Result<(CopiedNTuple, NTuplePart)> {
        let mut ntuple = CopiedNTuple {
            version: first.ntuple.anchor.version,
            first,
            new: taken.new_columns.and_then(NTupleColumns::added).cloned(),
            layout: UnionSchema::default(),
            schemas: Vec::new(),
            is_in_place: false,
            header: None,
            lists: PageLists::new(0),
            extension: None,
            columns: Vec::new(),
            late: Vec::new(),
            planned: 0,
            entries: 0,
            elements: Vec::new(),
            placed: Vec::new(),
            groups: Groups::default(),
            open: None,
            joined: BTreeMap::new(),
            zeros: BTreeMap::new(),
            zeros_placed: BTreeMap::new(),
            compression: None,
            linked: Vec::new(),
        };
        let new = ntuple.new.iter().flat_map(|new| top_names(new));
        ntuple.layout.only = only.map(|only| only.iter().chain(new).cloned().collect());
        ntuple.layout.is_extended = ntuple.new.is_some();
        let own = &ntuple.first.ntuple.schema;
        let schema = with_new(own, ntuple.new.as_deref(), own)?;
        let own = own.columns.len();
        let fields = ntuple.layout.add(&schema, Missing::Strict)?.into();
        ntuple.schemas.push(InputSchema { schema: schema.into(), fields, bridge: None });
        let clusters = std::mem::take(&mut ntuple.first.clusters);
        let entries = ntuple.first.ntuple.entries;
        let part = ntuple.part(0, &clusters, entries, own, taken)?;
        Ok((ntuple, part))
    }

    /// The part that a further input's RNTuple adds.
    ///
    /// # Errors
    /// `Unsupported` with the field that does not fit those of the inputs before.
    pub fn plan(
        &mut self,
        other: &SourceNTuple,
        missing: Missing,
        taken: KeptEntries<'_, NTupleColumns>,
    ) -> Result<NTuplePart> {
        self.version = self.version.max(other.ntuple.anchor.version);
        let own = &other.ntuple.schema;
        let new = match taken.new_columns {
            // Without entries, the types may be others than of those with entries.
            Some(new_columns) if new_columns.entries() == 0 && self.new.is_some() => {
                self.new.as_deref()
            }
            new_columns => new_columns.and_then(NTupleColumns::added).map(|schema| &**schema),
        };
        let schema = &with_new(own, new, &self.first.ntuple.schema)?;
        let own = own.columns.len();
        let known = self.schemas.iter().position(|known| *known.schema == *schema);
        let at = match known {
            Some(at) => at,
            None => {
                let known = self.layout.columns();
                let fields = self.layout.add(schema, missing)?;
                if missing == Missing::Filter {
                    self.add_late(&known);
                }
                let schema = schema.clone().into();
                let fields = fields.into();
                self.schemas.push(InputSchema { schema, fields, bridge: None });
                self.schemas.len() - 1
            }
        };
        self.part(at, &other.clusters, other.ntuple.entries, own, taken)
    }

    /// Columns that an input of a skim has brought. The footer describes them, whether the header
    /// is written or not: so the output does not depend on the order of events.
    fn add_late(&mut self, known: &[ColumnPlace]) {
        let known: BTreeSet<&ColumnPlace> = known.iter().collect();
        let mut new = self.layout.columns();
        new.retain(|place| !known.contains(place));
        if self.header.is_some() {
            self.columns.extend_from_slice(&new);
        }
        self.late.extend(new);
    }

    /// The part that an input adds, from its clusters and its numbers of entries and of columns.
    fn part(
        &mut self,
        schema: usize,
        clusters: &[Cluster],
        entries: u64,
        own: usize,
        taken: KeptEntries<'_, NTupleColumns>,
    ) -> Result<NTuplePart> {
        let InputSchema { schema: described, fields, .. } = &self.schemas[schema];
        let described = (schema, described.clone());
        let fields = fields.clone();
        let part =
            NTuplePart::of(clusters, entries, own, described, fields, taken, &mut self.groups)?;
        // Readers refuse more.
        let planned = self.planned.checked_add(part.entries);
        self.planned = planned.filter(|all| *all <= i64::MAX as u64).ok_or_else(|| {
            let message = format!("{} entries behind {}: too many", part.entries, self.planned);
            Error::limit(message).within(&self.first.ntuple.schema.name)
        })?;
        Ok(part)
    }

    /// Plans the zeros of fields that an input lacks, once all fields of the output are known.
    ///
    /// # Errors
    /// `Unsupported` with the field that the input must not lack; `Limit` for too many zeros.
    pub fn complete(&mut self, part: &NTuplePart, missing: Missing) -> Result<()> {
        if part.entries == 0 && missing == Missing::Union {
            return Ok(());
        }
        let InputSchema { schema, fields, bridge } = &mut self.schemas[part.schema.0];
        let bridge = match bridge {
            Some(bridge) => bridge,
            None => bridge.insert(Bridge::new(&self.layout, schema, fields, missing)?),
        };
        bridge.check(&self.layout, part)
    }

    /// The first input is in the file that is written: its header and its pages stay where they
    /// are.
    pub fn stay_in_place(&mut self) {
        self.is_in_place = true;
    }

    /// Writes the header, in front of all pages.
    ///
    /// # Errors
    /// As [`FileWriter::place`].
    pub fn write_header(&mut self, to: TableDestination<'_>, coding: Coding<'_>) -> Result<()> {
        let first = &self.first.ntuple;
        let representations =
            |field: &UnionField| field.representations.first().map_or(0, Vec::len);
        self.elements = self.layout.fields.iter().map(|f| vec![0; representations(f)]).collect();
        let (link, checksum) = match self.layout.is_extended {
            false => {
                self.columns = columns_of(&first.schema);
                self.extension = Some(self.first.kept.extension.clone());
                let link = match self.is_in_place && is_in_one_record(&first.anchor) {
                    true => first.anchor.header.clone(),
                    false => {
                        let header = self.first.header.clone();
                        blob(to, header, first.anchor.header.length)?
                    }
                };
                (link, first.header_checksum())
            }
            true => {
                self.columns = self.layout.columns();
                self.columns.retain(|place| !self.late.contains(place));
                let schema = self.layout.schema(&first.schema, &self.columns);
                let (header, checksum) = description::header(&schema);
                (compressed(to, &header, coding)?, checksum)
            }
        };
        self.columns.extend_from_slice(&self.late);
        self.header = Some((link, checksum));
        self.lists = PageLists::new(checksum);
        Ok(())
    }

    /// Begins the next input: its pages are placed from now on, in any order.
    pub fn begin(&mut self, part: &NTuplePart) {
        let pages = |one: &ClusterPart| one.places.len() + one.new_columns.len();
        self.placed =
            part.clusters.iter().map(|one| vec![StoredPage::default(); pages(one)]).collect();
    }

    /// The key of a record with `len` bytes of pages.
    ///
    /// # Errors
    /// `Limit` where it would be too long.
    pub fn key(place: RecordPlace, len: usize) -> Result<Vec<u8>> {
        records::key_of(place, len as u64)
    }

    /// Sets offset and bytes, with the checksum, of pages of the present input.
    pub fn place(&mut self, page: BlockNumbers, offset: u64, len: usize) {
        self.placed[page.owner][page.number] = StoredPage { offset, len: len as u64 };
    }

    /// Places the pages of new columns of a cluster that is copied.
    ///
    /// # Errors
    /// As [`FileWriter::place`].
    pub fn place_new(
        &mut self,
        part: &NTuplePart,
        cluster: usize,
        mut to: TableDestination<'_>,
    ) -> Result<()> {
        let (at, pages): (Vec<usize>, Vec<Bytes>) = part.new_pages(cluster).unzip();
        let mut records = Records::new(to.place()?, RECORD_MAX);
        let offsets = place_all(&pages, &mut records)?;
        records.into_bytes().into_iter().for_each(|bytes| to.writer.append(bytes));
        for ((at, offset), page) in at.into_iter().zip(offsets).zip(&pages) {
            self.place(BlockNumbers { owner: cluster, number: at }, offset, page.len());
        }
        Ok(())
    }

    /// Places the pages of entries taken for the output's cluster `group`: see
    /// [`NTuplePart::group`].
    ///
    /// # Errors
    /// As [`FileWriter::place`].
    pub fn place_joined(
        &mut self,
        group: usize,
        fields: JoinedFields,
        mut to: TableDestination<'_>,
    ) -> Result<()> {
        let mut records = Records::new(to.place()?, RECORD_MAX);
        let pages = fields.pages.place(&mut records)?;
        records.into_bytes().into_iter().for_each(|bytes| to.writer.append(bytes));
        self.joined.entry(group).or_default().extend(pages);
        Ok(())
    }

    /// Sets the compression of pages, all of which are then compressed anew.
    pub fn remake(&mut self, compression: Compression) {
        self.compression = Some(compression);
    }

    /// The number of the cluster that is open after an input: it may get entries of further inputs.
    /// `None` if no cluster is open.
    pub fn open_after(&self, part: &NTuplePart) -> Option<usize> {
        match part.groups.last() {
            Some(last) => last.is_open.then_some(last.number),
            None => self.open.as_ref().map(|open| open.number),
        }
    }

    /// Whether a cluster is open that has to end before the input `next` or, if that is `None`, at
    /// the end.
    pub fn must_end_open(&self, next: Option<&NTuplePart>) -> bool {
        self.open.as_ref().is_some_and(|open| match next.map(|next| &next.groups[..]) {
            None => true,
            Some([first, ..]) => first.number != open.number,
            Some([]) => false,
        })
    }

    /// Ends the open cluster, if there is one; all its pages must be placed.
    ///
    /// # Errors
    /// As [`CopiedNTuple::end`].
    pub fn end_open(&mut self, to: TableDestination<'_>, coding: Coding<'_>) -> Result<()> {
        let Some(open) = self.open.take() else { return Ok(()) };
        let cluster = self.made(&open, self.compression.unwrap_or(coding.compression))?;
        self.add_clusters(open.schema, &[cluster], to, coding)
    }

    /// Ends an input, all of whose pages are placed: adds zeros for the fields that it lacks, and
    /// clusters.
    ///
    /// # Errors
    /// As [`FileWriter::place`]; `Corrupt` for columns that do not fit together.
    pub fn end(
        &mut self,
        part: &NTuplePart,
        to: TableDestination<'_>,
        coding: Coding<'_>,
    ) -> Result<()> {
        let clusters = self.clusters(part, self.compression.unwrap_or(coding.compression))?;
        self.add_clusters(part.schema.0, &clusters, to, coding)?;
        self.entries += part.entries;
        Ok(())
    }

    /// Adds clusters of one schema of the inputs.
    fn add_clusters(
        &mut self,
        schema: usize,
        clusters: &[PlacedCluster<'_>],
        to: TableDestination<'_>,
        coding: Coding<'_>,
    ) -> Result<()> {
        let compression = self.compression.unwrap_or(coding.compression);
        let coding = Coding { compression, ..coding };
        let schemas = std::mem::take(&mut self.schemas);
        if let Some(bridge) = &schemas[schema].bridge {
            self.place_zeros(clusters, bridge, to, coding)?;
            for cluster in clusters {
                self.cluster(cluster, bridge, compression)?;
            }
        }
        self.schemas = schemas;
        Ok(())
    }

    /// The clusters that an input adds to the output; the last one may stay open.
    fn clusters<'a>(
        &mut self,
        part: &'a NTuplePart,
        compression: Compression,
    ) -> Result<Vec<PlacedCluster<'a>>> {
        let mut placed = std::mem::take(&mut self.placed);
        let mut clusters = Vec::new();
        for group in &part.groups {
            let first = &part.clusters[group.clusters.start];
            if first.kept.is_none() {
                let entries = self.entries + first.entries.start..self.entries + first.entries.end;
                let placed = std::mem::take(&mut placed[group.clusters.start]);
                clusters.push(PlacedCluster { cluster: Cow::Borrowed(first), entries, placed });
                continue;
            }
            let mut open = OpenCluster::of(part, group, self.entries);
            if let Some(before) = self.open.take_if(|before| before.number == open.number) {
                open.entries.start = before.entries.start;
                open.has_pages |= before.has_pages;
            }
            match group.is_open {
                true => self.open = Some(open),
                false => clusters.push(self.made(&open, compression)?),
            }
        }
        Ok(clusters)
    }

    /// A cluster of taken entries.
    ///
    /// # Errors
    /// `Corrupt` if no pages of its entries were placed, though the inputs have some.
    fn made(
        &mut self,
        open: &OpenCluster,
        compression: Compression,
    ) -> Result<PlacedCluster<'static>> {
        let pages = self.joined.remove(&open.number);
        if open.has_pages && pages.is_none() {
            let message = format!("entries from {} on without their pages", open.entries.start);
            return Err(Error::corrupt(message));
        }
        // Clusters of records without members have no pages.
        let pages = pages.unwrap_or_default();
        let (cluster, placed) = open.made(&pages, compression.number());
        let entries = open.entries.clone();
        Ok(PlacedCluster { cluster: Cow::Owned(cluster), entries, placed })
    }

    /// Writes the pages of zeros for the fields that an input lacks, each length once.
    fn place_zeros(
        &mut self,
        clusters: &[PlacedCluster<'_>],
        bridge: &Bridge,
        mut to: TableDestination<'_>,
        mut coding: Coding<'_>,
    ) -> Result<()> {
        let mut pages: BTreeMap<usize, Bytes> = BTreeMap::new();
        for PlacedCluster { cluster, .. } in clusters {
            for (place, field) in self.layout.fields.iter().enumerate() {
                let FieldPages { representation, zeros, .. } = bridge.stored(place, cluster)?;
                for (_, len) in zero_pages(zeros, field.bits(representation, 0)) {
                    let page = match self.zeros.get(&len) {
                        Some(page) => page.clone(),
                        None => zero_page(len, coding.again())?,
                    };
                    self.zeros.insert(len, page.clone());
                    pages.insert(len, page);
                }
            }
        }
        self.zeros_placed.clear();
        if pages.is_empty() {
            return Ok(());
        }
        let place = to.place()?;
        let key = CopiedNTuple::key(place, pages.values().map(Bytes::len).sum())?;
        let mut offset = place.offset + key.len() as u64;
        to.writer.append(key.into());
        for (len, page) in pages {
            self.zeros_placed.insert(len, StoredPage { offset, len: page.len() as u64 });
            offset += page.len() as u64;
            to.writer.append(page);
        }
        Ok(())
    }

    /// Adds a cluster to the page lists.
    fn cluster(
        &mut self,
        PlacedCluster { cluster, entries, placed }: &PlacedCluster<'_>,
        bridge: &Bridge,
        compression: Compression,
    ) -> Result<()> {
        let stored = (0..self.layout.fields.len()).map(|place| bridge.stored(place, cluster));
        let stored: Vec<FieldPages<'_>> = stored.collect::<Result<_>>()?;
        let mut to = EnvelopeWriter::part();
        to.list(self.columns.len(), |to| {
            for ColumnPlace { field: place, representation, position } in &self.columns {
                let FieldPages { columns, zeros, .. } = stored[*place];
                if stored[*place].representation != *representation {
                    lists::suppressed(to);
                    continue;
                }
                let bits = self.layout.fields[*place].bits(*representation, *position);
                let zeros = zero_pages(if *position == 0 { zeros } else { 0 }, bits);
                let zeros = zeros.map(|(count, len)| placed_page(-count, self.zeros_placed[&len]));
                let column = columns.get(*position).and_then(|column| cluster.column(*column));
                let pages = column.map_or(&[][..], |column| &column.pages);
                let pages =
                    pages.iter().map(|(count, page)| placed_page(*count, placed[*page as usize]));
                let usual = column.map(|column| column.compression);
                let usual = usual.filter(|_| self.compression.is_none());
                let elements = &mut self.elements[*place][*position];
                let pages: Vec<PlacedPage> = zeros.chain(pages).collect();
                lists::column(to, &pages, elements, usual.unwrap_or(compression.number()));
            }
        });
        self.lists.add(entries.clone(), &to.into_part());
        Ok(())
    }

    /// Links attribute sets of its entries, which have been written.
    pub fn link(&mut self, sets: Vec<LinkedSet>) {
        self.linked = sets;
    }

    /// Writes page lists and footer; returns the object for a directory and the number of entries.
    ///
    /// # Errors
    /// As [`FileWriter::place`]; `Limit`.
    pub fn finish(
        mut self,
        to: TableDestination<'_>,
        coding: Coding<'_>,
    ) -> Result<(Arc<dyn WritableObject>, u64)> {
        let title = std::mem::take(&mut self.first.title);
        let entries = self.entries;
        let anchor = self.finish_anchor(to, coding)?;
        Ok((Arc::new(TitledAnchor { anchor, title }), entries))
    }

    /// The same of an attribute set, which no directory lists.
    ///
    /// # Errors
    /// As [`CopiedNTuple::finish`].
    pub fn finish_set(
        self,
        name: &str,
        schema_version: [u16; 2],
        mut to: TableDestination<'_>,
        coding: Coding<'_>,
    ) -> Result<LinkedSet> {
        let anchor = self.finish_anchor(to.again(), coding)?;
        let mut records = Records::new(to.place()?, RECORD_MAX);
        let set = LinkedSet::write(&mut records, &anchor, name, schema_version)?;
        records.into_bytes().into_iter().for_each(|bytes| to.writer.append(bytes));
        Ok(set)
    }

    fn finish_anchor(self, mut to: TableDestination<'_>, mut coding: Coding<'_>) -> Result<Anchor> {
        let (header, checksum) =
            self.header.ok_or_else(|| Error::corrupt("an RNTuple without a header"))?;
        let mut groups = Vec::new();
        let extension = match self.late.is_empty() {
            true => self.extension,
            false => {
                let first = self.columns.len() - self.late.len();
                let late = self.layout.late_columns(&self.columns, first);
                let extension = late.extension(self.extension.as_deref());
                let message = "the record of fields that were added later";
                Some(extension.ok_or_else(|| Error::corrupt(message))?.into())
            }
        };
        for list in self.lists.finish(self.columns.len()) {
            let link = compressed(to.again(), &list.envelope, coding.again())?;
            groups.push(Group { entries: list.entries, clusters: list.clusters, link });
        }
        let version = attributes::version_with(self.version.min(NEWEST), &self.linked);
        let attribute_list = attributes::list(&self.linked);
        let kept = KeptFooter { extension: extension.unwrap_or_default(), attribute_list };
        let footer = lists::footer(version, checksum, &kept, &groups);
        let footer = compressed(to, &footer, coding)?;
        Ok(Anchor { version, header, footer, max_key_size: RECORD_MAX })
    }
}

/// Whether the fields at the top with the names `only` (`None`: all) can be copied alone: none is a
/// projection of a field that is left out. With a cut, also whether entries can be taken of each.
pub fn may_copy(schema: &Schema, only: Option<&[String]>, is_cut: bool) -> bool {
    let is_kept = |field: u32| {
        let top = schema.ancestors(field).last().unwrap_or(field);
        only.is_none_or(|only| only.contains(&schema.fields[top as usize].name))
    };
    let is_known = |column: &u32| Encoding::of(&schema.columns[*column as usize]).is_ok();
    (0..).zip(&schema.fields).filter(|(id, _)| is_kept(*id)).all(|(_, field)| match field.source {
        Some(source) => schema.fields.len() > source as usize && is_kept(source),
        None if is_cut => {
            !matches!(field.role, Role::Unknown(_)) && field.columns.iter().all(is_known)
        }
        None => true,
    })
}

/// Whether the pages of a cluster can be copied.
pub fn may_copy_pages(cluster: &Cluster) -> bool {
    cluster.columns.iter().all(|column| {
        column.elsewhere.is_none() && column.pages.iter().all(|page| page.further.is_none())
    })
}

/// The columns of a schema in their order, by field, representation and position.
fn columns_of(schema: &Schema) -> Vec<ColumnPlace> {
    let mut all = vec![ColumnPlace::default(); schema.columns.len()];
    for (field, description) in schema.fields.iter().enumerate() {
        if description.source.is_some() {
            continue;
        }
        let representations = schema.representations(field as u32);
        for (representation, columns) in representations.iter().enumerate() {
            for (position, column) in columns.iter().enumerate() {
                all[*column as usize] = ColumnPlace { field, representation, position };
            }
        }
    }
    all
}

/// Whether the header is in one record, whatever the anchor says of the longest one.
fn is_in_one_record(Anchor { header, max_key_size, .. }: &Anchor) -> bool {
    *max_key_size == 0 || header.range.end - header.range.start <= *max_key_size
}

/// A page of zeros as it is stored, with its checksum.
fn zero_page(len: usize, coding: Coding<'_>) -> Result<Bytes> {
    let mut stored = Vec::new();
    coding.encoders.compress(coding.compression, &vec![0; len], &mut stored)?;
    stored.extend_from_slice(&XxHash3_64::oneshot(&stored).to_le_bytes());
    Ok(stored.into())
}

/// A page that has its place, with `elements` as in [`PlacedPage`].
fn placed_page(elements: i32, stored: StoredPage) -> PlacedPage {
    let StoredPage { offset, len } = stored;
    let checksum = if elements < 0 { CHECKSUM_LEN as u64 } else { 0 };
    PlacedPage { elements, offset, stored: len.saturating_sub(checksum) }
}

/// Compresses an envelope and writes it.
fn compressed(
    mut to: TableDestination<'_>,
    envelope: &[u8],
    coding: Coding<'_>,
) -> Result<EnvelopeLink> {
    let mut records = Records::new(to.place()?, RECORD_MAX);
    let link = records.envelope(envelope, coding.compression, coding.encoders)?;
    records.into_bytes().into_iter().for_each(|bytes| to.writer.append(bytes));
    Ok(link)
}

/// Writes an envelope, which has `length` bytes before compression.
fn blob(mut to: TableDestination<'_>, stored: Bytes, length: u64) -> Result<EnvelopeLink> {
    let mut records = Records::new(to.place()?, RECORD_MAX);
    let link = records.stored_envelope(stored, length)?;
    records.into_bytes().into_iter().for_each(|bytes| to.writer.append(bytes));
    Ok(link)
}
