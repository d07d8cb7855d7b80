//! Page lists: the clusters of a group, and where the pages of each column are.
//!
//! ```text
//! page list = header checksum:u64   list of cluster summaries   list of clusters
//! summary   = first entry:u64  entries:u56 flags:u8
//! cluster   = list of columns, each a list of pages and then
//!             first element:i64  [compression:u32]         negative: suppressed
//! page      = elements:i32 locator                         negative: a checksum follows the page
//! ```

use std::ops::Range;

use bytes::Bytes;

use super::envelope::{Envelope, EnvelopeKind};
use super::footer::{ClusterGroup, belongs};
use super::reader::{EnvelopeReader, Locator};
use crate::error::{Error, Result};

const SHARDED: u64 = 1;

/// A run of entries and the pages of all its columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cluster {
    /// Half open.
    pub entries: Range<u64>,
    /// By column; those that came with a later extension of the schema may be missing.
    pub columns: Vec<ColumnPages>,
}

impl Cluster {
    /// How many things it lists: itself, columns and pages.
    pub(super) fn listed(&self) -> u64 {
        let of = |column: &ColumnPages| 1 + column.pages.len() as u64;
        1 + self.columns.iter().map(of).sum::<u64>()
    }
}

/// The pages of a column in a cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ColumnPages {
    pub pages: Vec<Page>,
    /// Another representation of the field is stored in this cluster.
    pub suppressed: bool,
    /// The type of the locators, where a page is not in the file.
    pub elsewhere: Option<u8>,
    /// Elements of the column in front of them.
    pub first_element: u64,
    /// ROOT's number of how they are compressed: algorithm * 100 + level.
    pub compression: u32,
}

/// A compressed run of elements of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    pub elements: u32,
    /// Where it is in the file, its checksum included.
    pub range: Range<u64>,
    /// Where it goes on, if it is longer than the longest record.
    pub further: Option<Box<[Range<u64>]>>,
    /// Whether eight bytes of checksum end it.
    pub checksum: bool,
}

impl Page {
    /// Where it is in the file, piece by piece.
    pub fn pieces(&self) -> impl Iterator<Item = &Range<u64>> {
        std::iter::once(&self.range).chain(self.further.iter().flatten())
    }

    /// Bytes that it takes in the file.
    pub fn stored(&self) -> u64 {
        let lengths = self.pieces().map(|piece| piece.end.saturating_sub(piece.start));
        lengths.fold(0, u64::saturating_add)
    }
}

/// Opens the page list of a group.
pub(super) fn page_list(
    stored: &Bytes,
    group: &ClusterGroup,
    header_checksum: u64,
) -> Result<Vec<Cluster>> {
    let envelope = Envelope::open(EnvelopeKind::PageList, stored, group.page_list.length)?;
    let mut reader = envelope.reader();
    belongs(reader.u64()?, header_checksum)?;
    let (count, mut summaries) = reader.list(8 + 16)?;
    let (locations, mut clusters) = reader.list(12)?;
    if count != group.clusters as usize || locations != count {
        let message = format!(
            "a group of {} clusters with {count} summaries and the pages of {locations}",
            group.clusters
        );
        return Err(reader.corrupt(message));
    }
    let mut all = Vec::with_capacity(count);
    for number in 0..count {
        let entries = summary(&mut summaries.record()?)
            .map_err(|error| error.within(&format!("cluster {number}")))?;
        let (count, mut list) = clusters.list(12 + 8)?;
        let mut columns = Vec::with_capacity(count);
        for column in 0..count {
            let pages = column_pages(&mut list)
                .map_err(|error| error.within(&format!("cluster {number}/column {column}")))?;
            columns.push(pages);
        }
        all.push(Cluster { entries, columns });
    }
    Ok(all)
}

fn summary(reader: &mut EnvelopeReader<'_>) -> Result<Range<u64>> {
    let at = reader.clone();
    let first = reader.u64()?;
    let word = reader.u64()?;
    let entries = word & (u64::MAX >> 8);
    let flags = word >> 56;
    if flags & SHARDED != 0 {
        return Err(Error::unsupported("an RNTuple with sharded clusters"));
    }
    match first.checked_add(entries) {
        Some(end) if end <= i64::MAX as u64 => Ok(first..end),
        _ => Err(at.corrupt(format!("{entries} entries from {first} on"))),
    }
}

fn column_pages(reader: &mut EnvelopeReader<'_>) -> Result<ColumnPages> {
    let (count, mut list) = reader.list(4 + 12)?;
    let mut pages = Vec::with_capacity(count);
    let mut elsewhere = None;
    for _ in 0..count {
        let elements = list.i32()?;
        let place = match list.locator()? {
            Locator::Range(range) => range,
            Locator::Elsewhere(kind) => {
                elsewhere = Some(kind);
                0..0
            }
        };
        let checksum = elements < 0;
        let end = place.end.checked_add(if checksum { 8 } else { 0 });
        let end = end.ok_or_else(|| list.corrupt("a page behind the end of all files"))?;
        let range = place.start..end;
        pages.push(Page { elements: elements.unsigned_abs(), range, further: None, checksum });
    }
    let first = list.i64()?;
    let suppressed = first < 0;
    if suppressed && !pages.is_empty() {
        return Err(list.corrupt("a suppressed column with pages"));
    }
    let compression = if suppressed || list.remaining() == 0 { 0 } else { list.u32()? };
    let first_element = first.max(0) as u64;
    Ok(ColumnPages { pages, suppressed, elsewhere, first_element, compression })
}
