//! An RNTuple of copied pages, with the header of the first input's.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::remake::CHECKSUM_LEN;
use crate::error::{Error, Result};
use crate::file::{File, ready};
use crate::key::Key;
use crate::known::{Known, Progress};
use crate::ntuple::{Anchor, Cluster, Column, EnvelopeKind, EnvelopeLink, Field, RNTuple, Schema};
use crate::write::buffer::Buffer;
use crate::write::compression::{Compression, Encoders};
use crate::write::file::{DirectoryId, FileWriter};
use crate::write::key::KeyHead;
use crate::write::ntuple::envelope::EnvelopeWriter;
use crate::write::table::RecordPlace;

/// ClusterRun of one page list, and bytes of their pages' places: a reader fetches it as a whole.
const CLUSTERS_MAX: usize = 4000;
const PLACES_MAX: usize = 8 << 20;
/// The longest record that readers are told of; nothing here comes near.
const RECORD_MAX: u64 = 1 << 30;

/// An RNTuple of an input.
#[derive(Debug)]
pub struct SourceNTuple {
    pub ntuple: RNTuple,
    title: String,
    /// The header as it is stored, and the record of the fields that came later.
    header: Bytes,
    extension: Bytes,
    clusters: Vec<Cluster>,
}

/// The pages of one input's RNTuple.
#[derive(Debug, Clone, PartialEq)]
pub struct NTuplePart {
    pub entries: u64,
    clusters: Vec<ClusterPart>,
}

#[derive(Debug, Clone, PartialEq)]
struct ClusterPart {
    entries: Range<u64>,
    /// Where pages are, each once: several columns may have the same.
    places: Vec<Range<u64>>,
    /// Of each its bytes before compression, and whether a checksum follows.
    contents: Vec<(usize, bool)>,
    columns: Vec<ColumnPart>,
}

#[derive(Debug, Clone, PartialEq)]
struct ColumnPart {
    /// Elements, negative where a checksum follows, and which of the places.
    pages: Vec<(i32, u32)>,
    first_element: u64,
    compression: u32,
}

/// An RNTuple that is put together of those of several inputs.
#[derive(Debug)]
pub struct CopiedNTuple {
    first: SourceNTuple,
    header: Option<EnvelopeLink>,
    entries: u64,
    /// Elements of each column in front of the present input.
    elements: Vec<u64>,
    /// Where the pages of the present input are, by cluster, and how long with their checksums.
    placed: Vec<Vec<(u64, u64)>>,
    /// How pages are compressed, where that is done anew.
    compression: Option<Compression>,
    lists: Lists,
    inputs: usize,
}

/// Page lists that are full, and the one that is open.
#[derive(Debug, Default)]
struct Lists {
    entries: Vec<Range<u64>>,
    places: Vec<u8>,
    full: Vec<(Range<u64>, usize, Vec<u8>)>,
}

impl SourceNTuple {
    /// The RNTuple of a key.
    ///
    /// # Errors
    /// As [`File::ntuple`]; `Unsupported` where its pages cannot be copied as they are.
    pub fn read(file: &File, known: &Known, key: &Key) -> Result<Progress<SourceNTuple>> {
        let read = || {
            let content = ready!(file.content_of(known, key)?);
            let anchor = Anchor::read(&content, key.offset.saturating_add(key.key_len))?;
            let ntuple = ready!(RNTuple::read(known, anchor)?);
            let clusters = ready!(ntuple.clusters(known, 0..ntuple.groups.len())?);
            let (header, extension) = ready!(ntuple.envelopes(known)?);
            let title = key.title.clone();
            Ok(Progress::Ready(SourceNTuple { ntuple, title, header, extension, clusters }))
        };
        read().map_err(|error: Error| error.within(&key.name))
    }

    fn part(&self) -> Result<NTuplePart> {
        let clusters = self
            .clusters
            .iter()
            .map(|cluster| ClusterPart::of(cluster, &self.ntuple.schema.columns));
        let clusters = clusters.collect::<Result<_>>()?;
        Ok(NTuplePart { entries: self.ntuple.entries, clusters })
    }
}

impl ClusterPart {
    fn of(cluster: &Cluster, columns: &[Column]) -> Result<ClusterPart> {
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
            if column.suppressed || column.elsewhere.is_some() {
                let what = "copying columns that are stored in several ways, or elsewhere";
                return Err(Error::unsupported(what));
            }
            let pages = column.pages.iter().map(|page| {
                let elements = page.elements as i32;
                let place = places.get(&(page.range.start, page.range.end)).copied();
                (if page.checksum { -elements } else { elements }, place.map_or(0, |(at, _)| at))
            });
            Ok(ColumnPart {
                pages: pages.collect(),
                first_element: column.first_element,
                compression: column.compression,
            })
        });
        Ok(ClusterPart {
            entries: cluster.entries.clone(),
            columns: columns.collect::<Result<_>>()?,
            contents: places.values().map(|(_, content)| *content).collect(),
            places: places.into_keys().map(|(start, end)| start..end).collect(),
        })
    }
}

impl NTuplePart {
    /// Every place of pages, with its cluster and its position there.
    pub fn places(&self) -> impl Iterator<Item = (usize, usize, &Range<u64>)> {
        let clusters = self.clusters.iter().enumerate();
        clusters.flat_map(|(cluster, part)| {
            part.places.iter().enumerate().map(move |(at, range)| (cluster, at, range))
        })
    }
}

impl NTuplePart {
    /// Of pages their bytes before compression, and whether a checksum follows.
    pub fn content(&self, (cluster, at): (usize, usize)) -> (usize, bool) {
        self.clusters[cluster].contents[at]
    }
}

impl CopiedNTuple {
    /// An RNTuple like the first input's, without entries.
    pub fn new(first: SourceNTuple) -> CopiedNTuple {
        let elements = vec![0; first.ntuple.schema.columns.len()];
        CopiedNTuple {
            first,
            header: None,
            entries: 0,
            elements,
            placed: Vec::new(),
            compression: None,
            lists: Lists::default(),
            inputs: 0,
        }
    }

    /// The RNTuple of the first input.
    pub fn first(&self) -> &SourceNTuple {
        &self.first
    }

    /// What an input's RNTuple adds, also that of the first.
    ///
    /// # Errors
    /// `Unsupported` with the field where the two differ.
    pub fn plan(&self, other: &SourceNTuple, is_first: bool) -> Result<NTuplePart> {
        let within = |error: Error| error.within(&other.ntuple.schema.name);
        same(&self.first.ntuple.schema, &other.ntuple.schema).map_err(within)?;
        if !is_first && other.ntuple.schema.columns.iter().any(|column| column.deferred) {
            let what = "fields that were added while it was written: it can only be first";
            return Err(within(Error::unsupported(what)));
        }
        other.part().map_err(within)
    }

    /// Writes the header, in front of all pages.
    ///
    /// # Errors
    /// As [`FileWriter::place`].
    pub fn write_header(&mut self, to: &mut FileWriter, directory: DirectoryId) -> Result<()> {
        let (header, length) = (self.first.header.clone(), self.first.ntuple.anchor.header.length);
        self.header = Some(blob(to, directory, header, length)?);
        Ok(())
    }

    /// Begins with the next input: its pages are now placed, in any order.
    pub fn begin(&mut self, part: &NTuplePart) {
        self.placed = part.clusters.iter().map(|one| vec![(0, 0); one.places.len()]).collect();
        self.inputs += 1;
    }

    /// The key of a record of pages that go to a place.
    ///
    /// # Errors
    /// `Limit` where it would be too long.
    pub fn key(place: RecordPlace, len: usize) -> Result<Vec<u8>> {
        let mut key = Buffer::default();
        head(place).write(&mut key, place.offset, len as u64, len as u64)?;
        Ok(key.into_vec())
    }

    /// Says where pages of the present input are, and how long with their checksum.
    pub fn place(&mut self, (cluster, at): (usize, usize), offset: u64, len: usize) {
        self.placed[cluster][at] = (offset, len as u64);
    }

    /// All pages are compressed anew.
    pub fn remake(&mut self, compression: Compression) {
        self.compression = Some(compression);
    }

    /// Ends an input, all of whose pages are placed.
    pub fn end(&mut self, part: &NTuplePart) {
        let mut elements = self.elements.clone();
        for (cluster, placed) in part.clusters.iter().zip(&self.placed) {
            let mut to = EnvelopeWriter::part();
            to.list(cluster.columns.len(), |to| {
                for (at, column) in cluster.columns.iter().enumerate() {
                    let first = self.elements[at] + column.first_element;
                    let compression =
                        self.compression.map_or(column.compression, Compression::number);
                    elements[at] = column_pages(to, (column, placed), first, compression);
                }
            });
            let entries = &cluster.entries;
            let entries = self.entries + entries.start..self.entries + entries.end;
            self.lists.add(entries, &to.into_part(), self.first.ntuple.header_checksum());
        }
        self.elements = elements;
        self.entries += part.entries;
        self.placed = Vec::new();
    }

    /// Writes page lists and footer, and gives the anchor; with the entries.
    ///
    /// # Errors
    /// As [`FileWriter::place`]; `Limit`.
    pub fn finish(
        mut self,
        to: &mut FileWriter,
        directory: DirectoryId,
        (compression, encoders): (Compression, &mut Encoders),
    ) -> Result<(Arc<Anchor>, u64)> {
        let checksum = self.first.ntuple.header_checksum();
        self.lists.close(checksum);
        let mut groups = Vec::new();
        for (entries, clusters, envelope) in std::mem::take(&mut self.lists.full) {
            let link = compressed(to, directory, &envelope, (compression, encoders))?;
            groups.push((entries, clusters, link));
        }
        let mut footer = EnvelopeWriter::new(EnvelopeKind::Footer);
        footer.u64(0);
        footer.u64(checksum);
        footer.bytes(&self.first.extension);
        footer.list(groups.len(), |to| {
            for (entries, clusters, link) in &groups {
                to.record(|to| {
                    to.u64(entries.start);
                    to.u64(entries.end - entries.start);
                    to.u32(*clusters as u32);
                    to.u64(link.length);
                    to.locator(link.range.start, link.range.end - link.range.start);
                });
            }
        });
        let footer = compressed(to, directory, &footer.finish().0, (compression, encoders))?;
        let header = self.header.ok_or_else(|| Error::corrupt("an RNTuple without a header"))?;
        let version = self.first.ntuple.anchor.version;
        let anchor = Anchor { version, header, footer, max_key_size: RECORD_MAX };
        Ok((Arc::new(anchor), self.entries))
    }

    /// What the directory says about it.
    pub fn title(&self) -> &str {
        &self.first.title
    }
}

/// Writes where the pages of a column are; its elements up to their end.
fn column_pages(
    to: &mut EnvelopeWriter,
    (column, placed): (&ColumnPart, &[(u64, u64)]),
    first: u64,
    compression: u32,
) -> u64 {
    let mut end = first;
    to.list(column.pages.len(), |to| {
        for (elements, place) in &column.pages {
            let (offset, len) = placed[*place as usize];
            let checksum = if *elements < 0 { CHECKSUM_LEN as u64 } else { 0 };
            to.i32(*elements);
            to.locator(offset, len.saturating_sub(checksum));
            end += u64::from(elements.unsigned_abs());
        }
        to.i64(first as i64);
        to.u32(compression);
    });
    end
}

impl Lists {
    fn add(&mut self, entries: Range<u64>, places: &[u8], checksum: u64) {
        self.entries.push(entries);
        self.places.extend_from_slice(places);
        if self.entries.len() >= CLUSTERS_MAX || self.places.len() >= PLACES_MAX {
            self.close(checksum);
        }
    }

    fn close(&mut self, checksum: u64) {
        let (Some(first), Some(last)) = (self.entries.first(), self.entries.last()) else { return };
        let entries = first.start..last.end;
        let mut to = EnvelopeWriter::new(EnvelopeKind::PageList);
        to.u64(checksum);
        to.list(self.entries.len(), |to| {
            for entries in &self.entries {
                to.record(|to| {
                    to.u64(entries.start);
                    to.u64(entries.end - entries.start);
                });
            }
        });
        to.list(self.entries.len(), |to| to.bytes(&self.places));
        self.full.push((entries, self.entries.len(), to.finish().0));
        self.entries.clear();
        self.places.clear();
    }
}

fn head(place: RecordPlace) -> KeyHead {
    KeyHead {
        class: "RBlob".into(),
        name: String::new(),
        title: String::new(),
        datime: place.datime,
        cycle: 1,
        directory: place.directory,
        extra: 0,
    }
}

fn compressed(
    to: &mut FileWriter,
    directory: DirectoryId,
    envelope: &[u8],
    (compression, encoders): (Compression, &mut Encoders),
) -> Result<EnvelopeLink> {
    let mut stored = Vec::new();
    encoders.compress(compression, envelope, &mut stored)?;
    blob(to, directory, stored.into(), envelope.len() as u64)
}

/// Writes an envelope as a record.
fn blob(
    to: &mut FileWriter,
    directory: DirectoryId,
    stored: Bytes,
    length: u64,
) -> Result<EnvelopeLink> {
    let len = stored.len() as u64;
    if len > RECORD_MAX {
        return Err(Error::limit(format!("metadata of {len} bytes")));
    }
    let place = to.place(directory)?;
    let key = CopiedNTuple::key(place, stored.len())?;
    let start = place.offset + key.len() as u64;
    to.append(key.into());
    to.append(stored);
    Ok(EnvelopeLink { range: start..start + len, length })
}

/// That the pages of two RNTuples mean the same.
fn same(mine: &Schema, their: &Schema) -> Result<()> {
    let shape = |field: &Field| {
        let Field { name, typename, type_version, parent, role, array_size, source, .. } = field;
        (name.clone(), typename.clone(), *type_version, *parent, *role, *array_size, *source)
    };
    let storage = |column: &Column| {
        let Column { kind, bits, field, representation, range, .. } = column;
        (*kind, *bits, *field, *representation, *range)
    };
    for (mine, their) in mine.fields.iter().zip(&their.fields) {
        if shape(mine) != shape(their) {
            let types = format!("{} ({})", their.name, their.typename);
            let what = format!("field {types} where the first input has {}", mine.name);
            return Err(Error::unsupported(what));
        }
    }
    if mine.fields.len() != their.fields.len() {
        let longer = if mine.fields.len() > their.fields.len() { mine } else { their };
        let at = mine.fields.len().min(their.fields.len());
        let what = format!("field {} is not in all inputs", longer.fields[at].name);
        return Err(Error::unsupported(what));
    }
    let columns = mine.columns.iter().map(storage).eq(their.columns.iter().map(storage));
    match columns {
        true => Ok(()),
        false => Err(Error::unsupported("columns of other encodings than in the first input")),
    }
}
