//! Page lists and the footer (read in [`crate::ntuple::page_list`] and [`crate::ntuple::footer`]).
//!
//! (Source: ROOT, `BinaryFormatSpecification.md`, "Footer Envelope" and "Page List Envelope".)

use std::ops::Range;

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
    /// Entries and columns of the clusters of the list that is open.
    entries: Vec<Range<u64>>,
    columns: Vec<u8>,
    full: Vec<PageList>,
}

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

impl PageLists {
    /// No lists, for the RNTuple whose header has this checksum.
    pub fn new(header_checksum: u64) -> Self {
        PageLists { header_checksum, entries: Vec::new(), columns: Vec::new(), full: Vec::new() }
    }

    /// Adds the next cluster; `columns` is the list frame of its columns, written by [`column`].
    pub fn add(&mut self, entries: Range<u64>, columns: &[u8]) {
        self.entries.push(entries);
        self.columns.extend_from_slice(columns);
        if self.entries.len() >= CLUSTERS_MAX || self.columns.len() >= BYTES_MAX {
            self.close();
        }
    }

    fn close(&mut self) {
        let (Some(first), Some(last)) = (self.entries.first(), self.entries.last()) else { return };
        let entries = first.start..last.end;
        let mut to = EnvelopeWriter::new(EnvelopeKind::PageList);
        to.u64(self.header_checksum);
        to.list(self.entries.len(), |to| {
            for entries in &self.entries {
                to.record(|to| {
                    to.u64(entries.start);
                    to.u64(entries.end - entries.start);
                });
            }
        });
        to.list(self.entries.len(), |to| to.bytes(&self.columns));
        let clusters = self.entries.len();
        self.full.push(PageList { entries, clusters, envelope: to.finish().0 });
        self.entries.clear();
        self.columns.clear();
    }

    /// All page lists.
    pub fn finish(mut self) -> Vec<PageList> {
        self.close();
        self.full
    }
}

/// A page list in its place, as the footer names it.
#[derive(Debug)]
pub(in crate::write) struct Group {
    pub entries: Range<u64>,
    pub clusters: usize,
    pub link: EnvelopeLink,
}

/// The footer's envelope, of an RNTuple of that version of the format. `extension` is the record
/// frame of the fields that were added while the RNTuple was written; `None` without such fields.
pub(in crate::write) fn footer(
    version: [u16; 4],
    header_checksum: u64,
    extension: Option<&[u8]>,
    groups: &[Group],
) -> Vec<u8> {
    let mut to = EnvelopeWriter::new(EnvelopeKind::Footer);
    to.u64(0);
    to.u64(header_checksum);
    match extension {
        Some(extension) => to.bytes(extension),
        None => to.record(|to| description::describe(&Schema::default(), to)),
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
    if version >= WITH_ATTRIBUTE_SETS {
        // Readers rely on the list, also where it is empty.
        to.list(0, |_| {});
    }
    to.finish().0
}
