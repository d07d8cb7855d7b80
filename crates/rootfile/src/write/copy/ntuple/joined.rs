//! Taken entries of some clusters, as one cluster of the output.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use super::StoredPage;
use super::groups::InputGroup;
use super::part::{ClusterPart, ColumnPart, NTuplePart};
use super::take::TakenField;
use crate::error::{Error, Result};
use crate::ntuple::column::Encoding;
use crate::write::compression::{Compression, Encoders};
use crate::write::copy::remake::CHECKSUM_LEN;
use crate::write::ntuple::RNTupleOptions;
use crate::write::ntuple::cut::column_runs;
use crate::write::ntuple::pages::{ClusterPages, PlacedPage};
use crate::write::ntuple::schema::StoredColumn;
use crate::write::ntuple::way::{Way, WayEnd};
use crate::write::ntuple::work::{PageFacts, PageRun};
use crate::write::rows::{ColumnRun, Piece};
use crate::write::table::Encode;

/// Pages of some fields of a cluster that is made of taken entries, by column of the input.
#[derive(Debug, Default)]
pub struct JoinedFields {
    pub(super) pages: ClusterPages,
}

impl NTuplePart {
    /// Encodes the taken entries of some fields: of each field those of the clusters that become
    /// one, in their order. Where [`Compression::is_class`] is true, the first pages of a column
    /// decide its level.
    ///
    /// # Errors
    /// `Limit` for ends of collections that need more bits than the column has; as
    /// [`Encoders::compress`].
    pub fn join(
        &self,
        taken: Vec<Vec<TakenField>>,
        compression: Compression,
        encoders: &mut Encoders,
    ) -> Result<JoinedFields> {
        let options = RNTupleOptions { compression, ..RNTupleOptions::default() };
        let mut joined = JoinedFields::default();
        let mut columns: BTreeMap<u32, ColumnRun> = BTreeMap::new();
        for (column, array) in taken.into_iter().flatten().flat_map(|field| field.columns) {
            let entries = 0..array.len();
            columns.entry(column).or_default().pieces.push(Piece { array, entries });
        }
        for (column, entries) in columns {
            let described = &self.schema.1.columns[column as usize];
            let encoding = Encoding::of(described)?.undecoded();
            let end = match encoding {
                Encoding::Switch => WayEnd::Switches,
                _ => WayEnd::Values,
            };
            let way = Way { steps: Vec::new(), end };
            let stored = Arc::new(StoredColumn { top: 0, way, encoding, bits: described.bits });
            joined.add(column as usize, &stored, &entries, &options, encoders)?;
        }
        Ok(joined)
    }
}

/// A cluster of the output, of entries taken out of clusters of one input or of several.
#[derive(Debug)]
pub(super) struct OpenCluster {
    pub number: usize,
    /// The position of the inputs' schema among all schemas.
    pub schema: usize,
    /// Counted in the output.
    pub entries: Range<u64>,
    /// For each column of the inputs, whether it is suppressed: the clusters have another
    /// representation of its field.
    suppressed: Vec<bool>,
    /// Whether the inputs' clusters have pages: then this one must have some, too.
    pub has_pages: bool,
}

impl OpenCluster {
    /// The taken entries of some clusters of an input; `before` is the number of entries in the
    /// output from earlier inputs.
    pub fn of(part: &NTuplePart, group: &InputGroup, before: u64) -> OpenCluster {
        let clusters = &part.clusters[group.clusters.clone()];
        let entries = |of: fn(&ClusterPart) -> u64| clusters.iter().map(of);
        let start = entries(|cluster| cluster.entries.start).min().unwrap_or(0);
        let end = entries(|cluster| cluster.entries.end).max().unwrap_or(start);
        let mut suppressed = Vec::new();
        for cluster in clusters {
            suppressed.resize(suppressed.len().max(cluster.columns.len()), false);
            cluster.suppressed().for_each(|column| suppressed[column] = true);
        }
        let entries = before + start..before + end;
        let has_pages = clusters.iter().any(ClusterPart::has_pages);
        OpenCluster { number: group.number, schema: part.schema.0, entries, suppressed, has_pages }
    }

    /// The cluster made of these pages, by column; and for each page its offset and its stored
    /// bytes, with the checksum.
    pub fn made(
        &self,
        pages: &BTreeMap<usize, Vec<PlacedPage>>,
        compression: u32,
    ) -> (ClusterPart, Vec<StoredPage>) {
        let mut placed = Vec::new();
        let column = |(at, suppressed): (usize, &bool)| {
            let pages = pages.get(&at).into_iter().flatten().map(|page| {
                let len = page.stored + CHECKSUM_LEN as u64;
                placed.push(StoredPage { offset: page.offset, len });
                (page.elements, placed.len() as u32 - 1)
            });
            let pages = pages.collect();
            let suppressed = *suppressed;
            ColumnPart { pages, element_len: 0, compression, suppressed }
        };
        let columns = self.suppressed.iter().enumerate().map(column).collect();
        (ClusterPart::made(self.entries.end - self.entries.start, columns), placed)
    }
}

impl JoinedFields {
    fn add(
        &mut self,
        column: usize,
        stored: &Arc<StoredColumn>,
        entries: &ColumnRun,
        options: &RNTupleOptions,
        encoders: &mut Encoders,
    ) -> Result<()> {
        let mut compression = options.compression;
        for (at, run) in column_runs(column, stored, entries, options)?.into_iter().enumerate() {
            let is_trial = at == 0 && compression.is_class();
            let encoded = Box::new(PageRun { compression, is_trial, ..run }).encode(encoders)?;
            let facts = encoded.facts.downcast::<PageFacts>();
            let facts = facts.map_err(|_| Error::corrupt("the result of other work"))?;
            compression = facts.compression;
            self.pages.add(&facts, encoded.bytes.into(), CHECKSUM_LEN);
        }
        Ok(())
    }
}
