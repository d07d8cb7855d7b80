//! Page lists and the footer (read in [`crate::ntuple::page_list`] and [`crate::ntuple::footer`]).
//!
//! (Source: ROOT, `BinaryFormatSpecification.md`, "Footer Envelope" and "Page List Envelope".)

use std::collections::BTreeMap;
use std::ops::Range;

use super::description;
use super::envelope::EnvelopeWriter;
use super::pages::PlacedPage;
use crate::ntuple::anchor::EnvelopeLink;
use crate::ntuple::{EnvelopeKind, Schema};

/// Clusters of one page list, and bytes of their pages' places: a reader fetches it as a whole.
const CLUSTERS_MAX: usize = 4000;
const BYTES_MAX: usize = 8 << 20;

/// The clusters so far.
#[derive(Debug, Clone)]
pub(super) struct PageLists {
    header_checksum: u64,
    checksums: bool,
    /// ROOT's number of the compression.
    compression: u32,
    /// Elements of each column in front of the next cluster.
    elements: Vec<u64>,
    /// Entries and places of the clusters of the list that is open.
    entries: Vec<Range<u64>>,
    places: Vec<u8>,
    full: Vec<PageList>,
}

/// A page list that has no place yet.
#[derive(Debug, Clone)]
pub(super) struct PageList {
    pub entries: Range<u64>,
    pub clusters: usize,
    pub envelope: Vec<u8>,
}

impl PageLists {
    pub fn new(columns: usize, header_checksum: u64, checksums: bool, compression: u32) -> Self {
        PageLists {
            header_checksum,
            checksums,
            compression,
            elements: vec![0; columns],
            entries: Vec::new(),
            places: Vec::new(),
            full: Vec::new(),
        }
    }

    /// Adds the next cluster.
    pub fn add(&mut self, entries: Range<u64>, columns: &BTreeMap<usize, Vec<PlacedPage>>) {
        let mut to = EnvelopeWriter::part();
        to.list(self.elements.len(), |to| {
            for column in 0..self.elements.len() {
                self.column(column, columns.get(&column).map_or(&[], |pages| pages), to);
            }
        });
        self.entries.push(entries);
        self.places.extend(to.into_part());
        if self.entries.len() >= CLUSTERS_MAX || self.places.len() >= BYTES_MAX {
            self.close();
        }
    }

    fn column(&mut self, column: usize, pages: &[PlacedPage], to: &mut EnvelopeWriter) {
        let first = self.elements[column];
        to.list(pages.len(), |to| {
            for page in pages {
                self.elements[column] += page.elements as u64;
                let elements = page.elements as i32;
                to.i32(if self.checksums { -elements } else { elements });
                to.locator(page.offset, page.stored as u64);
            }
            to.i64(first as i64);
            to.u32(self.compression);
        });
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
        to.list(self.entries.len(), |to| to.bytes(&self.places));
        let clusters = self.entries.len();
        self.full.push(PageList { entries, clusters, envelope: to.finish().0 });
        self.entries.clear();
        self.places.clear();
    }

    /// All page lists.
    pub fn finish(mut self) -> Vec<PageList> {
        self.close();
        self.full
    }
}

/// A page list in its place, as the footer names it.
#[derive(Debug)]
pub(super) struct Group {
    pub entries: Range<u64>,
    pub clusters: usize,
    pub link: EnvelopeLink,
}

/// The footer's envelope.
pub(super) fn footer(header_checksum: u64, groups: &[Group]) -> Vec<u8> {
    let mut to = EnvelopeWriter::new(EnvelopeKind::Footer);
    to.u64(0);
    to.u64(header_checksum);
    // No fields that came while writing.
    to.record(|to| description::describe(&Schema::default(), to));
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
    to.finish().0
}
