//! The pages of a cluster, from encoded to placed.

use std::collections::BTreeMap;

use bytes::Bytes;
use twox_hash::XxHash3_64;

use super::records::Records;
use super::work::PageFacts;
use crate::error::Result;

/// A page that has a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::write) struct PlacedPage {
    /// Number of elements as in a page list: negative where a checksum follows the page.
    pub elements: i32,
    pub offset: u64,
    /// Bytes without its checksum.
    pub stored: u64,
}

/// A page by its elements, as in [`PlacedPage`], and its number among those that are stored.
pub(in crate::write) type NumberedPage = (i32, u32);

/// The pages of one cluster. Equal ones are stored once.
#[derive(Debug, Default)]
pub(in crate::write) struct ClusterPages {
    /// By column, and there one after the other.
    pages: BTreeMap<usize, Vec<HeldPage>>,
    /// Each with its checksum.
    stored: Vec<Bytes>,
    /// Where among them bytes of that hash and length are.
    known: BTreeMap<(u64, usize), usize>,
    /// Of all that are stored.
    bytes: usize,
}

#[derive(Debug)]
struct HeldPage {
    /// As in [`PlacedPage`].
    elements: i32,
    len: usize,
    /// Which of the stored ones.
    stored: usize,
}

impl ClusterPages {
    /// Adds a column's next pages, whose bytes are one behind the other.
    pub fn add(&mut self, facts: &PageFacts, mut bytes: Bytes, checksum_len: usize) {
        for (elements, len) in &facts.pages {
            let page = bytes.split_to(len + checksum_len);
            let hash = match page[*len..].first_chunk() {
                Some(checksum) => u64::from_le_bytes(*checksum),
                None => XxHash3_64::oneshot(&page),
            };
            let key = (hash, page.len());
            let known = self.known.get(&key).filter(|at| self.stored[**at] == page);
            let stored = match known {
                Some(at) => *at,
                None => {
                    self.bytes += page.len();
                    self.stored.push(page);
                    self.known.insert(key, self.stored.len() - 1);
                    self.stored.len() - 1
                }
            };
            let elements = *elements as i32;
            let elements = if checksum_len > 0 { -elements } else { elements };
            let page = HeldPage { elements, len: *len, stored };
            self.pages.entry(facts.column).or_default().push(page);
        }
    }

    /// Each page that is stored, with its checksum; and by column the pages one after the other.
    pub fn into_parts(self) -> (Vec<Bytes>, BTreeMap<usize, Vec<NumberedPage>>) {
        let numbered = |page: HeldPage| (page.elements, page.stored as u32);
        let columns = self.pages.into_iter();
        let columns = columns
            .map(|(column, pages)| (column, pages.into_iter().map(numbered).collect()))
            .collect();
        (self.stored, columns)
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Writes all, as few records as there can be, and says where the pages of each column are.
    ///
    /// # Errors
    /// As [`Records::blob`].
    pub fn place(self, records: &mut Records) -> Result<BTreeMap<usize, Vec<PlacedPage>>> {
        let offsets = place_all(&self.stored, records)?;
        let placed = |page: HeldPage| PlacedPage {
            elements: page.elements,
            offset: offsets[page.stored],
            stored: page.len as u64,
        };
        let columns = self.pages.into_iter();
        Ok(columns
            .map(|(column, pages)| (column, pages.into_iter().map(placed).collect()))
            .collect())
    }
}

/// Writes pages in as few records as there can be, and says where each is.
///
/// # Errors
/// As [`Records::blob`].
pub(in crate::write) fn place_all(pages: &[Bytes], records: &mut Records) -> Result<Vec<u64>> {
    let mut offsets = Vec::with_capacity(pages.len());
    let mut rest = pages;
    while let Some(first) = rest.first() {
        if first.len() as u64 > records.max() {
            offsets.push(records.blob(first.clone())?);
            rest = &rest[1..];
            continue;
        }
        let mut len = 0;
        let fits = |page: &&Bytes| {
            len += page.len() as u64;
            len <= records.max()
        };
        let count = rest.iter().take_while(fits).count();
        let (together, after) = rest.split_at(count);
        let mut at = records.begin(together.iter().map(|page| page.len() as u64).sum())?;
        for page in together {
            offsets.push(at);
            at += page.len() as u64;
            records.add(page.clone());
        }
        rest = after;
    }
    Ok(offsets)
}
