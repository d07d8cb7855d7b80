//! Finding an RNTuple in a file, in few round trips.
//!
//! ```text
//! head                                                    tail
//! header   pages …   page lists   footer   anchor   key list   streamer infos
//! ```
//!
//! ROOT writes it so: the bytes that are read with the key list (see [`crate::file`]) hold all but
//! the header, which was read with the head, where it is not long.

use std::ops::Range;

use bytes::Bytes;

use super::anchor::{Anchor, EnvelopeLink, is_class};
use super::attributes::AttributeSet;
use super::envelope::ENVELOPE_LEN_MAX;
use super::footer::{ClusterGroup, Footer};
use super::page_list::{self, Cluster};
use super::records::{self, Several};
use super::schema::{self, Schema};
use crate::directory::Directory;
use crate::error::{Error, Result};
use crate::file::{File, bytes_of, ready};
use crate::key::Key;
use crate::known::{Known, Needs, Progress};

/// Clusters, columns of them and pages that are listed at once: many groups may name one page list.
const LISTED_MAX: u64 = 1 << 25;

/// An RNTuple's metadata, but for the places of its pages.
#[derive(Debug, Clone, PartialEq)]
pub struct RNTuple {
    pub anchor: Anchor,
    pub schema: Schema,
    /// By first entry.
    pub groups: Vec<ClusterGroup>,
    pub entries: u64,
    /// RNTuples about its entries.
    pub attribute_sets: Vec<AttributeSet>,
    /// Whether the footer has a list of them, which may be empty.
    pub(crate) has_attribute_list: bool,
    header_checksum: u64,
}

impl File {
    /// The RNTuple at a path; `path/name` is an attribute set of the one at `path`.
    ///
    /// # Errors
    /// `NotFound`; `Unsupported` where it is something else, or of a format that is not known;
    /// `Corrupt`, `Checksum` and `Limit`.
    pub fn ntuple(&self, known: &Known, path: &str) -> Result<Progress<RNTuple>> {
        let key = ready!(self.find(known, path)?);
        if !is_class(&key.class) {
            let message = format!("of class {}, not an RNTuple", key.class);
            return Err(Error::unsupported(message).within(path));
        }
        let content = ready!(self.content_of(known, &key)?);
        let anchor = Anchor::read(&key.class, &content, key.offset.saturating_add(key.key_len))
            .map_err(|error| error.within(path))?;
        RNTuple::read(known, anchor).map_err(|error| error.within(path))
    }

    /// The attribute sets of the RNTuple of a key, as a directory; `path` is its name.
    pub(crate) fn attribute_sets(
        &self,
        known: &Known,
        key: &Key,
        path: &str,
    ) -> Result<Progress<Directory>> {
        let content = ready!(self.content_of(known, key)?);
        let anchor = Anchor::read(&key.class, &content, key.offset.saturating_add(key.key_len))
            .map_err(|error| error.within(path))?;
        let footer = ready!(footer(known, &anchor).map_err(|error| error.within(path))?);
        let keys = footer.attribute_sets.iter().filter_map(AttributeSet::key).collect();
        let listing = format!("the list of attribute sets of {path}");
        Ok(Progress::Ready(Directory::new(&listing, keys, 0..0)))
    }
}

impl RNTuple {
    /// Reads header and footer, to which an anchor points.
    ///
    /// # Errors
    /// As [`File::ntuple`].
    pub fn read(known: &Known, anchor: Anchor) -> Result<Progress<RNTuple>> {
        let header = stored(known, &anchor, &anchor.header, "header")?;
        let footer = match footer(known, &anchor)? {
            Progress::Ready(footer) => footer,
            Progress::NeedsData(needs) => {
                let required = [lacks(&header), needs.required].concat();
                // The last page list mostly lies right in front of the footer.
                let end = anchor.footer.range.start;
                let front =
                    end.saturating_sub(known.sizes().record()).max(anchor.header.range.end)..end;
                let speculative = known.missing(front);
                return Ok(Progress::NeedsData(Needs {
                    required,
                    speculative,
                    ..Needs::default()
                }));
            }
        };
        let Progress::Ready(header) = &header else {
            let required = lacks(&header);
            let next = footer.page_lists(known);
            return Ok(Progress::NeedsData(Needs { required, next, ..Needs::default() }));
        };
        let (mut schema, header_checksum) =
            schema::header(header, anchor.header.length).map_err(at(&anchor.header, "header"))?;
        footer.extend(&mut schema, header_checksum).map_err(at(&anchor.footer, "footer"))?;
        let Footer { mut groups, attribute_sets, has_attribute_list, .. } = footer;
        groups.sort_by_key(|group| group.first_entry);
        let entries = contiguous(groups.iter().map(|group| {
            let end = group.first_entry.checked_add(group.entries);
            group.first_entry..end.unwrap_or(u64::MAX)
        }))?;
        let ntuple = RNTuple {
            anchor,
            schema,
            groups,
            entries,
            attribute_sets,
            has_attribute_list,
            header_checksum,
        };
        Ok(Progress::Ready(ntuple))
    }

    /// The payloads of records that an envelope is in, piece by piece.
    pub(crate) fn pieces(
        &self,
        known: &Known,
        envelope: &Range<u64>,
    ) -> Result<Progress<Vec<Range<u64>>>> {
        match Several::of(envelope, self.anchor.max_key_size)? {
            Some(several) => several.pieces(known, "envelope"),
            None => Ok(Progress::Ready(vec![envelope.clone()])),
        }
    }

    /// The header as it is stored and, of the footer, the record of fields that came later and the
    /// list of attribute sets.
    ///
    /// # Errors
    /// As [`RNTuple::read`].
    pub(crate) fn envelopes(&self, known: &Known) -> Result<Progress<(Bytes, Bytes, Bytes)>> {
        let header = ready!(stored(known, &self.anchor, &self.anchor.header, "header")?);
        let footer = ready!(footer(known, &self.anchor)?);
        Ok(Progress::Ready((header, footer.extension()?, footer.attribute_list()?)))
    }

    /// The checksum of the header, which the envelopes that belong to it state.
    pub(crate) fn header_checksum(&self) -> u64 {
        self.header_checksum
    }

    /// The groups that hold some of these entries.
    pub fn groups_of(&self, entries: &Range<u64>) -> Range<usize> {
        let first = self.groups.partition_point(|g| g.first_entry + g.entries <= entries.start);
        let last = self.groups.partition_point(|group| group.first_entry < entries.end);
        first..last.max(first)
    }

    /// The clusters of some groups, by first entry.
    ///
    /// # Errors
    /// `Corrupt`, `Checksum` and `Limit`; `Unsupported` for clusters in shards.
    ///
    /// # Panics
    /// Where `groups` are not groups of this RNTuple, as with slices.
    pub fn clusters(&self, known: &Known, groups: Range<usize>) -> Result<Progress<Vec<Cluster>>> {
        let mut missing = Needs::default();
        let mut clusters = Vec::new();
        let mut listed = 0;
        for group in &self.groups[groups] {
            let link = &group.page_list;
            match stored(known, &self.anchor, link, "page list")? {
                // Once something is missing, nothing is worth being read: it will be read again.
                Progress::Ready(bytes) if missing.required.is_empty() => {
                    let read = page_list::page_list(&bytes, group, self.header_checksum);
                    let mut read = read.map_err(at(link, "page list"))?;
                    listed += read.iter().map(Cluster::listed).sum::<u64>();
                    if listed > LISTED_MAX {
                        let message = format!("page lists of more than {LISTED_MAX} items");
                        return Err(at(link, "page list")(Error::limit(message)));
                    }
                    read.sort_by_key(|cluster| cluster.entries.start);
                    let end = contiguous_from(
                        group.first_entry,
                        read.iter().map(|cluster| cluster.entries.clone()),
                    )
                    .map_err(at(link, "page list"))?;
                    if end - group.first_entry != group.entries {
                        let message = format!("a group of {} entries ends at {end}", group.entries);
                        return Err(at(link, "page list")(Error::corrupt(message)));
                    }
                    clusters.extend(read);
                }
                Progress::Ready(_) => {}
                Progress::NeedsData(needs) => missing.required.extend(needs.required),
            }
        }
        if missing.required.is_empty() {
            missing.required =
                records::split_pages(known, &mut clusters, self.anchor.max_key_size)?;
        }
        if missing.required.is_empty() {
            Ok(Progress::Ready(clusters))
        } else {
            Ok(Progress::NeedsData(missing))
        }
    }
}

/// The footer that an anchor points to.
fn footer(known: &Known, anchor: &Anchor) -> Result<Progress<Footer>> {
    let stored = ready!(stored(known, anchor, &anchor.footer, "footer")?);
    let footer = Footer::open(&stored, anchor.footer.length);
    footer.map(Progress::Ready).map_err(at(&anchor.footer, "footer"))
}

/// The stored bytes of an envelope.
fn stored(
    known: &Known,
    anchor: &Anchor,
    link: &EnvelopeLink,
    part_name: &str,
) -> Result<Progress<bytes::Bytes>> {
    let start = link.range.start;
    let length = link.range.end - start;
    if length > link.length {
        let message = format!("a {part_name} of {} bytes that takes {length}", link.length);
        return Err(Error::corrupt(message).at(start));
    }
    if length > ENVELOPE_LEN_MAX {
        return Err(Error::limit(format!("a {part_name} of {length} bytes")).at(start));
    }
    match Several::of(&link.range, anchor.max_key_size).map_err(|error| error.within(part_name))? {
        None => bytes_of(known, link.range.clone(), part_name),
        Some(several) => several.bytes(known, part_name),
    }
}

fn at(link: &EnvelopeLink, part_name: &'static str) -> impl Fn(Error) -> Error {
    let start = link.range.start;
    move |error| error.within(part_name).at(start)
}

fn lacks(progress: &Progress<bytes::Bytes>) -> Vec<Range<u64>> {
    match progress {
        Progress::Ready(_) => Vec::new(),
        Progress::NeedsData(needs) => needs.required.clone(),
    }
}

/// The end of ranges of entries that must follow each other from zero on.
fn contiguous(ranges: impl Iterator<Item = Range<u64>>) -> Result<u64> {
    contiguous_from(0, ranges)
}

fn contiguous_from(start: u64, ranges: impl Iterator<Item = Range<u64>>) -> Result<u64> {
    let mut end = start;
    for range in ranges {
        if range.start != end || range.end > i64::MAX as u64 {
            let message = format!("entries {range:?} where {end} is the next");
            return Err(Error::corrupt(message));
        }
        end = range.end;
    }
    Ok(end)
}
