//! Work of a thread: the elements of some pages of a column to their bytes.

use std::sync::Arc;

use twox_hash::XxHash3_64;

use super::encode::{self, Slice};
use super::schema::StoredColumn;
use crate::array::Array;
use crate::error::Result;
use crate::ntuple::column::Encoding;
use crate::write::compression::{Compression, Encoders, SAMPLE_LEN};
use crate::write::table::{Encode, Encoded};

/// Some elements of an array, for a column.
#[derive(Debug, Clone)]
pub(in crate::write) struct Chunk {
    pub array: Arc<Array>,
    /// The first of them, among all of the array.
    pub start: usize,
    pub len: usize,
    /// Added to where lists end; of a union, to where those of each alternative do.
    pub shifts: Vec<i64>,
}

/// Pages of a column, one after the other.
#[derive(Debug)]
pub(in crate::write) struct PageRun {
    /// Number of the column.
    pub column: usize,
    pub stored: Arc<StoredColumn>,
    pub chunks: Vec<Chunk>,
    /// Elements of each page.
    pub pages: Vec<usize>,
    pub compression: Compression,
    /// Whether the level is to be found first.
    pub is_trial: bool,
    pub checksums: bool,
}

/// Facts about a run of pages that the writer keeps.
#[derive(Debug)]
pub(in crate::write) struct PageFacts {
    pub column: usize,
    /// Elements and stored bytes of each page; without its checksum.
    pub pages: Vec<(usize, usize)>,
    pub compression: Compression,
}

impl Encode for PageRun {
    fn encode(self: Box<Self>, encoders: &mut Encoders) -> Result<Encoded> {
        let mut raw = std::mem::take(&mut encoders.scratch);
        let encoded = self.pages(encoders, &mut raw);
        encoders.scratch = raw;
        encoded
    }
}

impl PageRun {
    /// Bytes of the pages before compression.
    pub fn content_len(&self) -> usize {
        let bits = usize::from(self.stored.bits);
        self.pages.iter().map(|elements| (elements * bits).div_ceil(8)).sum()
    }

    fn pages(&self, encoders: &mut Encoders, raw: &mut Vec<u8>) -> Result<Encoded> {
        let compression = match self.is_trial {
            true => self.tried(encoders, raw)?,
            false => self.compression,
        };
        // Capacity that is never written to costs nothing.
        let mut bytes = Vec::with_capacity(self.content_len());
        let mut pages = Vec::new();
        let mut first = 0;
        let mut content_len = 0;
        for elements in &self.pages {
            let start = bytes.len();
            if compression.level == 0 {
                self.page(first, *elements, &mut bytes)?;
                content_len += bytes.len() - start;
            } else {
                raw.clear();
                self.page(first, *elements, raw)?;
                content_len += raw.len();
                let plane = self.plane_len(*elements, raw.len());
                encoders.compress_planes(compression, raw, plane, &mut bytes)?;
            }
            first += elements;
            pages.push((*elements, bytes.len() - start));
            if self.checksums {
                let checksum = XxHash3_64::oneshot(&bytes[start..]);
                bytes.extend_from_slice(&checksum.to_le_bytes());
            }
        }
        // They are held until the cluster is whole.
        bytes.shrink_to_fit();
        let facts = Box::new(PageFacts { column: self.column, pages, compression });
        Ok(Encoded { bytes, content_len, facts })
    }

    /// Bytes of a page of which each is the same one of an element, one after the other.
    fn plane_len(&self, elements: usize, page: usize) -> usize {
        match self.stored.encoding {
            Encoding::Number { split: true, .. } | Encoding::Index { split: true, .. } => elements,
            _ => page,
        }
    }

    /// The level for the column, found on its first elements.
    fn tried(&self, encoders: &mut Encoders, raw: &mut Vec<u8>) -> Result<Compression> {
        let most = SAMPLE_LEN * 8 / usize::from(self.stored.bits);
        let sample = self.pages.first().map_or(0, |elements| most.min(*elements));
        raw.clear();
        self.page(0, sample, raw)?;
        let plane = self.plane_len(sample, raw.len());
        Ok(encoders.lowest_level(self.compression, raw, plane)?.0)
    }

    /// Appends a page of so many elements from the first on.
    fn page(&self, first: usize, count: usize, to: &mut Vec<u8>) -> Result<()> {
        let chunks = part(&self.chunks, first, count);
        let mut slices = Vec::with_capacity(chunks.len());
        for Chunk { array, start, len, shifts } in &chunks {
            let (elements, _) = self.stored.way.elements(array, 0..0)?;
            slices.push(Slice { elements, start: *start, len: *len, shifts });
        }
        encode::page(self.stored.encoding, &slices, to)
    }
}

/// So many elements from the first on.
pub(super) fn part(chunks: &[Chunk], first: usize, count: usize) -> Vec<Chunk> {
    let mut skip = first;
    let mut left = count;
    let mut chosen = Vec::new();
    for chunk in chunks {
        let skipped = skip.min(chunk.len);
        let len = left.min(chunk.len - skipped);
        (skip, left) = (skip - skipped, left - len);
        if len > 0 {
            chosen.push(Chunk { start: chunk.start + skipped, len, ..chunk.clone() });
        }
    }
    chosen
}
