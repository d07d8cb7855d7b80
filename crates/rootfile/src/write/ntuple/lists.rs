//! Page lists and the footer (read in [`crate::ntuple::page_list`] and [`crate::ntuple::footer`]).
//!
//! (Source: ROOT, `BinaryFormatSpecification.md`, "Footer Envelope" and "Page List Envelope".)

use std::ops::Range;

use bytes::Bytes;

use super::description;
use super::envelope::EnvelopeWriter;
use super::pages::PlacedPage;
use crate::ntuple::anchor::{EnvelopeLink, WITH_ATTRIBUTE_SETS};
use crate::ntuple::{EnvelopeKind, Schema};

/// Clusters of one page list, and bytes of their pages' places: a reader fetches it as a whole.
const CLUSTERS_MAX: usize = 4000;
const BYTES_MAX: usize = 8 << 20;

/// The clusters so far: page lists that are full, and the one that is open.
#[derive(Debug, Clone)]
pub(in crate::write) struct PageLists {
    header_checksum: u64,
    open: Clusters,
    full: Vec<Clusters>,
}

/// Clusters of one page list: their entries, and the list frames of their columns.
#[derive(Debug, Clone, Default)]
struct Clusters {
    entries: Vec<Range<u64>>,
    columns: Vec<u8>,
}

/// The first element of a column whose field has another representation in a cluster.
const SUPPRESSED: i64 = i64::MIN;
/// Bytes of a list frame before its items: its size and their number.
const LIST_HEAD: usize = 12;

/// A page list that has no place yet.
#[derive(Debug, Clone)]
pub(in crate::write) struct PageList {
    pub entries: Range<u64>,
    pub clusters: usize,
    pub envelope: Vec<u8>,
}

/// Appends the places of the pages of a cluster's column, and adds the pages' elements to
/// `elements`, the number of those in front of them. `compression` is ROOT's number.
pub(in crate::write) fn column(
    to: &mut EnvelopeWriter,
    pages: &[PlacedPage],
    elements: &mut u64,
    compression: u32,
) {
    let first = *elements;
    to.list(pages.len(), |to| {
        for page in pages {
            *elements += u64::from(page.elements.unsigned_abs());
            to.i32(page.elements);
            to.locator(page.offset, page.stored);
        }
        to.i64(first as i64);
        to.u32(compression);
    });
}

/// Appends the place of a column whose field has another representation in the cluster.
pub(in crate::write) fn suppressed(to: &mut EnvelopeWriter) {
    to.list(0, |to| to.i64(SUPPRESSED));
}

impl Clusters {
    /// The page list's envelope, in which each cluster has at least so many columns: those that
    /// came after it are suppressed in it.
    fn envelope(&self, header_checksum: u64, columns: usize) -> Vec<u8> {
        let mut to = EnvelopeWriter::new(EnvelopeKind::PageList);
        to.u64(header_checksum);
        to.list(self.entries.len(), |to| {
            for entries in &self.entries {
                to.record(|to| {
                    to.u64(entries.start);
                    to.u64(entries.end - entries.start);
                });
            }
        });
        to.list(self.entries.len(), |to| {
            let mut rest = &self.columns[..];
            while let Some((list, count)) = first_list(rest) {
                to.list(count.max(columns), |to| {
                    to.bytes(&list[LIST_HEAD..]);
                    (count..columns).for_each(|_| suppressed(to));
                });
                rest = &rest[list.len()..];
            }
        });
        to.finish().0
    }
}

/// The list frame at the beginning of some that were written here, and the number of its items.
fn first_list(frames: &[u8]) -> Option<(&[u8], usize)> {
    let size = i64::from_le_bytes(*frames.first_chunk()?).unsigned_abs();
    let count = u32::from_le_bytes(*frames.get(8..)?.first_chunk()?);
    Some((frames.get(..size as usize)?, count as usize))
}

impl PageLists {
    /// No lists, for the RNTuple whose header has this checksum.
    pub fn new(header_checksum: u64) -> Self {
        PageLists { header_checksum, open: Clusters::default(), full: Vec::new() }
    }

    /// Adds the next cluster; `columns` is the list frame of its columns, written by [`column`].
    pub fn add(&mut self, entries: Range<u64>, columns: &[u8]) {
        self.open.entries.push(entries);
        self.open.columns.extend_from_slice(columns);
        if self.open.entries.len() >= CLUSTERS_MAX || self.open.columns.len() >= BYTES_MAX {
            self.full.push(std::mem::take(&mut self.open));
        }
    }

    /// All page lists, of clusters of at least so many columns.
    pub fn finish(mut self, columns: usize) -> Vec<PageList> {
        self.full.push(self.open);
        let list = |all: Clusters| {
            let entries = all.entries.first()?.start..all.entries.last()?.end;
            let envelope = all.envelope(self.header_checksum, columns);
            Some(PageList { entries, clusters: all.entries.len(), envelope })
        };
        self.full.into_iter().filter_map(list).collect()
    }
}

/// A page list in its place, as the footer names it.
#[derive(Debug, Clone)]
pub(in crate::write) struct Group {
    pub entries: Range<u64>,
    pub clusters: usize,
    pub link: EnvelopeLink,
}

/// The parts of a footer that an RNTuple keeps.
#[derive(Debug, Clone, Default)]
pub(in crate::write) struct KeptFooter {
    /// The record frame of the fields that were added while the RNTuple was written; empty without
    /// any.
    pub extension: Bytes,
    /// The list frame of attribute sets, and whatever follows it; empty in an older format.
    pub attribute_list: Bytes,
}

/// The footer's envelope, of an RNTuple of that version of the format.
pub(in crate::write) fn footer(
    version: [u16; 4],
    header_checksum: u64,
    kept: &KeptFooter,
    groups: &[Group],
) -> Vec<u8> {
    let mut to = EnvelopeWriter::new(EnvelopeKind::Footer);
    to.u64(0);
    to.u64(header_checksum);
    match kept.extension.is_empty() {
        false => to.bytes(&kept.extension),
        true => to.record(|to| description::describe(&Schema::default(), to)),
    }
    to.list(groups.len(), |to| {
        for Group { entries, clusters, link } in groups {
            to.record(|to| {
                to.u64(entries.start);
                to.u64(entries.end - entries.start);
                to.u32(*clusters as u32);
                to.u64(link.length);
                to.locator(link.range.start, link.range.end - link.range.start);
            });
        }
    });
    match kept.attribute_list.is_empty() {
        false => to.bytes(&kept.attribute_list),
        // Readers rely on the list, also where it is empty.
        true if version >= WITH_ATTRIBUTE_SETS => to.list(0, |_| {}),
        true => {}
    }
    to.finish().0
}
