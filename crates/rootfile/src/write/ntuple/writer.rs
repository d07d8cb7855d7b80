//! The writer of an RNTuple.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::attributes::{self, LinkedSet};
use super::cut::Cutter;
use super::description;
use super::envelope::EnvelopeWriter;
use super::lists::{self, Group, KeptFooter, PageLists};
use super::options::RNTupleOptions;
use super::pages::{ClusterPages, PlacedPage};
use super::records::Records;
use super::schema::{Plan, StoredColumn};
use super::work::{PageFacts, PageRun};
use crate::array::Array;
use crate::error::{Error, Result};
use crate::ntuple::Schema;
use crate::ntuple::anchor::{Anchor, EnvelopeLink};
use crate::write::compression::{Compression, Encoders};
use crate::write::schema::TableColumn;
use crate::write::table::{Encoded, Finished, RecordPlace, TableWriter, Work};

/// The version of the format: nothing newer is needed.
const VERSION: [u16; 4] = [1, 0, 0, 1];
/// Bytes of a page's checksum.
const CHECKSUM_LEN: usize = 8;
/// A record must hold at least so many.
const KEY_SIZE_MIN: u64 = 64;

/// An RNTuple that is being written.
pub struct RNTupleWriter {
    options: RNTupleOptions,
    schema: Schema,
    cutter: Cutter,
    is_closed: bool,
    /// Pages that have been cut.
    runs: VecDeque<PageRun>,
    runs_bytes: usize,
    /// How each column is compressed.
    levels: Vec<Level>,
    /// Clusters that have been cut, and not been placed.
    clusters: VecDeque<OpenCluster>,
    /// The header, once it has been written, and the lists of pages.
    placed: Option<Placed>,
    /// Attribute sets that have been written for it.
    linked: Vec<LinkedSet>,
    /// The clusters, where another table lists their pages.
    listed_elsewhere: Option<Vec<WrittenCluster>>,
}

/// State of the search for the compression of a column.
#[derive(Debug, Clone, Copy)]
enum Level {
    Untried,
    /// The result is awaited.
    Tried,
    Known(Compression),
}

#[derive(Debug)]
struct OpenCluster {
    entries: Range<u64>,
    /// Runs of pages that have no place yet.
    runs: usize,
    pages: ClusterPages,
}

/// A cluster whose pages have their places.
#[derive(Debug)]
pub(in crate::write) struct WrittenCluster {
    pub entries: Range<u64>,
    /// By column.
    pub pages: BTreeMap<usize, Vec<PlacedPage>>,
    /// ROOT's number.
    pub compression: u32,
}

#[derive(Debug, Clone)]
struct Placed {
    header: EnvelopeLink,
    header_checksum: u64,
    lists: PageLists,
    /// Elements of each column in front of the next cluster.
    elements: Vec<u64>,
}

impl RNTupleWriter {
    /// An RNTuple of those columns.
    ///
    /// # Errors
    /// `Unsupported` for types and names that RNTuple does not have, and for options that
    /// contradict them.
    pub fn new(columns: Vec<TableColumn>, options: RNTupleOptions) -> Result<Self> {
        if !(KEY_SIZE_MIN..=1 << 30).contains(&options.max_key_size) {
            let message = format!("records of at most {} bytes", options.max_key_size);
            return Err(Error::unsupported(message));
        }
        let Plan { schema, columns: stored } = Plan::new(&columns, &options)?;
        let stored: Vec<Arc<StoredColumn>> = stored.into_iter().map(Arc::new).collect();
        let level = match options.compression.is_class() {
            true => Level::Untried,
            false => Level::Known(options.compression),
        };
        Ok(RNTupleWriter {
            levels: vec![level; stored.len()],
            cutter: Cutter::new(columns, stored, &options),
            schema,
            is_closed: false,
            runs: VecDeque::new(),
            runs_bytes: 0,
            clusters: VecDeque::new(),
            placed: None,
            linked: Vec::new(),
            listed_elsewhere: None,
            options,
        })
    }

    /// Clusters of further entries or columns of an RNTuple, which lists their pages itself.
    pub(in crate::write) fn of_another(mut self, stored: Vec<Arc<StoredColumn>>) -> Self {
        self.cutter.set_stored(stored);
        self.listed_elsewhere = Some(Vec::new());
        self
    }

    /// Ends clusters behind these entries only.
    pub(in crate::write) fn with_cluster_ends(mut self, ends: VecDeque<u64>) -> Self {
        self.cutter.set_ends(ends);
        self
    }

    /// Its fields and columns.
    pub(in crate::write) fn schema(&self) -> &Schema {
        &self.schema
    }

    /// The columns that are stored for the table's.
    pub(in crate::write) fn stored(&self) -> &[Arc<StoredColumn>] {
        self.cutter.stored()
    }

    /// The number of entries up to the end of each cluster, of a table that has been closed.
    ///
    /// # Errors
    /// As [`TableWriter::extend`].
    pub(in crate::write) fn cluster_ends(&mut self) -> Result<Vec<u64>> {
        self.cut()?;
        let placed = self.listed_elsewhere.iter().flatten().map(|cluster| cluster.entries.end);
        Ok(placed.chain(self.clusters.iter().map(|cluster| cluster.entries.end)).collect())
    }

    /// The clusters of further entries or columns of an RNTuple, after all work has been placed.
    pub(in crate::write) fn placed_clusters(&mut self) -> Vec<WrittenCluster> {
        self.listed_elsewhere.take().unwrap_or_default()
    }

    /// Cuts all clusters whose entries are there.
    fn cut(&mut self) -> Result<()> {
        while let Some(entries) = self.cutter.next_cluster(self.is_closed)? {
            let runs = self.cutter.page_runs(entries.clone(), &self.options)?;
            let pages = ClusterPages::default();
            self.clusters.push_back(OpenCluster { entries, runs: runs.len(), pages });
            self.runs_bytes += runs.iter().map(PageRun::content_len).sum::<usize>();
            self.runs.extend(runs);
        }
        Ok(())
    }

    /// The header, written if it has not been.
    fn placed(&mut self, records: &mut Records, encoders: &mut Encoders) -> Result<&mut Placed> {
        if self.placed.is_none() {
            let (envelope, header_checksum) = description::header(&self.schema);
            let header = records.envelope(&envelope, self.options.compression, encoders)?;
            let lists = PageLists::new(header_checksum);
            let elements = vec![0; self.levels.len()];
            self.placed = Some(Placed { header, header_checksum, lists, elements });
        }
        self.placed.as_mut().ok_or_else(|| Error::corrupt("an RNTuple without a header"))
    }

    /// Writes the clusters all of whose pages are there.
    fn place_clusters(&mut self, records: &mut Records) -> Result<()> {
        let compression = self.options.compression.number();
        while let Some(cluster) = self.clusters.pop_front_if(|cluster| cluster.runs == 0) {
            let pages = cluster.pages.place(records)?;
            if let Some(all) = &mut self.listed_elsewhere {
                all.push(WrittenCluster { entries: cluster.entries, pages, compression });
                continue;
            }
            let Some(Placed { lists, elements, .. }) = &mut self.placed else { continue };
            let mut to = EnvelopeWriter::part();
            to.list(elements.len(), |to| {
                for (column, elements) in elements.iter_mut().enumerate() {
                    let pages = pages.get(&column).map_or(&[][..], |pages| pages);
                    lists::column(to, pages, elements, compression);
                }
            });
            lists.add(cluster.entries, &to.into_part());
        }
        Ok(())
    }

    /// The records behind those clusters, and the anchor.
    fn finished(
        &self,
        placed: Placed,
        mut records: Records,
        encoders: &mut Encoders,
    ) -> Result<Finished> {
        let Placed { header, header_checksum, lists, .. } = placed;
        let compression = self.options.compression;
        let mut groups = Vec::new();
        for list in lists.finish(0) {
            let link = records.envelope(&list.envelope, compression, encoders)?;
            groups.push(Group { entries: list.entries, clusters: list.clusters, link });
        }
        let version = attributes::version_with(VERSION, &self.linked);
        let attribute_list = attributes::list(&self.linked);
        let kept = KeptFooter { attribute_list, ..KeptFooter::default() };
        let footer = lists::footer(version, header_checksum, &kept, &groups);
        let footer = records.envelope(&footer, compression, encoders)?;
        let max_key_size = self.options.max_key_size;
        let anchor = Anchor { version, header, footer, max_key_size };
        let records = records.into_bytes().concat();
        Ok(Finished { records, object: Arc::new(anchor) })
    }
}

impl TableWriter for RNTupleWriter {
    fn named(&mut self, name: &str) {
        self.schema.name = name.to_owned();
    }

    fn extend(&mut self, columns: Vec<Arc<Array>>) -> Result<()> {
        self.cutter.push(columns)?;
        self.cut()
    }

    fn close(&mut self) {
        self.is_closed = true;
    }

    fn poll_work(&mut self) -> Option<Work> {
        if self.is_closed {
            // Entries that were taken can be cut.
            self.cut().ok()?;
        }
        let mut run = self.runs.pop_front()?;
        match self.levels[run.column] {
            Level::Known(compression) => run.compression = compression,
            Level::Untried => {
                run.is_trial = true;
                self.levels[run.column] = Level::Tried;
            }
            Level::Tried => {
                self.runs.push_front(run);
                return None;
            }
        }
        let content_len = run.content_len();
        self.runs_bytes -= content_len;
        Some(Work { content_len, encode: Box::new(run) })
    }

    fn waits(&self) -> bool {
        let next = self.runs.front().map(|run| self.levels[run.column]);
        matches!(next, Some(Level::Tried))
    }

    fn place(&mut self, encoded: Encoded, place: RecordPlace) -> Result<Vec<Bytes>> {
        let mut records = Records::new(place, self.options.max_key_size);
        if self.listed_elsewhere.is_none() {
            self.placed(&mut records, &mut Encoders::default())?;
        }
        let facts = encoded.facts.downcast::<PageFacts>();
        let facts = facts.map_err(|_| Error::corrupt("the result of another table's work"))?;
        self.levels[facts.column] = Level::Known(facts.compression);
        let cluster = self.clusters.front_mut();
        let cluster = cluster.ok_or_else(|| Error::corrupt("a result of no work"))?;
        let checksum_len = if self.options.checksums { CHECKSUM_LEN } else { 0 };
        cluster.pages.add(&facts, encoded.bytes.into(), checksum_len);
        cluster.runs -= 1;
        self.place_clusters(&mut records)?;
        Ok(records.into_bytes())
    }

    fn attribute_sets(&self) -> Option<Vec<&str>> {
        Some(self.linked.iter().map(LinkedSet::name).collect())
    }

    fn link(&mut self, set: LinkedSet) {
        self.linked.push(set);
    }

    fn interim(&mut self, place: RecordPlace, encoders: &mut Encoders) -> Result<Option<Finished>> {
        let Some(placed) = self.placed.clone() else { return Ok(None) };
        let records = Records::new(place, self.options.max_key_size);
        self.finished(placed, records, encoders).map(Some)
    }

    fn finish(&mut self, place: RecordPlace, encoders: &mut Encoders) -> Result<Finished> {
        let mut records = Records::new(place, self.options.max_key_size);
        self.placed(&mut records, encoders)?;
        self.place_clusters(&mut records)?;
        let Some(placed) = self.placed.take() else {
            return Err(Error::corrupt("an RNTuple without a header"));
        };
        self.finished(placed, records, encoders)
    }

    fn entries(&self) -> u64 {
        self.cutter.entries()
    }

    fn held_bytes(&self) -> usize {
        let pages = self.clusters.iter().map(|cluster| cluster.pages.bytes());
        self.cutter.open_bytes() + self.runs_bytes + pages.sum::<usize>()
    }
}
