//! Which pages a read of an RNTuple needs, in which order: decided before any is fetched.

use std::ops::Range;
use std::sync::Arc;

use rootfile::ntuple::{Cluster, PageUse, Schema};

use super::FieldColumn;
use crate::read::core::cut::within;
use crate::read::core::steps::{Step, borders};

/// The share of a cluster in a column, or a stretch of it.
#[derive(Debug)]
pub struct Part {
    /// Position in the columns of the plan.
    pub column: usize,
    /// Position in the clusters of the plan.
    pub cluster: usize,
    /// The entries of the cluster that are read, in entries of the RNTuple.
    pub entries: Range<u64>,
    /// Its pages, in the order in which they are put together.
    pub pages: Vec<PageUse>,
    /// The batches that need it.
    pub batches: Range<usize>,
}

/// One page to be fetched and decoded, or a piece of one that is in several records.
#[derive(Debug)]
pub struct Item {
    pub part: usize,
    /// Position in the pieces of the part's pages.
    pub piece: usize,
    /// Where it is in the file.
    pub range: Range<u64>,
    /// Bytes that it decodes to.
    pub decoded: u64,
}

/// Entries that are handed out together, with the parts that make them up.
#[derive(Debug)]
pub struct BatchPlan {
    pub entries: Range<u64>,
    pub parts: Vec<usize>,
}

/// Everything a read will fetch.
#[derive(Debug)]
pub struct Plan {
    pub clusters: Vec<Arc<Cluster>>,
    pub parts: Vec<Part>,
    /// In the order in which they are wanted: for the nearest batch first, and forwards in the
    /// file.
    pub items: Vec<Item>,
    pub batches: Vec<BatchPlan>,
    /// The entries that a cut has left, as ascending runs; `None` where all are read.
    pub runs: Option<Vec<Range<u64>>>,
}

impl Plan {
    /// Plans reading `columns` in batches that begin at `starts`, whose last is the end; of these
    /// entries, which `clusters` hold, all or some runs.
    pub fn new(
        schema: &Schema,
        columns: &[FieldColumn],
        clusters: Vec<Arc<Cluster>>,
        starts: &[u64],
        runs: Option<Vec<Range<u64>>>,
    ) -> rootfile::Result<Plan> {
        let (parts, items) = (Vec::new(), Vec::new());
        let entries = starts.first().copied().unwrap_or(0)..starts.last().copied().unwrap_or(0);
        let batch = |pair: &[u64]| BatchPlan { entries: pair[0]..pair[1], parts: Vec::new() };
        let batches = starts.windows(2).map(batch).collect();
        let mut plan = Plan { clusters, parts, items, batches, runs };
        for (at, cluster) in plan.clusters.iter().enumerate() {
            let start = entries.start.max(cluster.entries.start);
            let held = start..entries.end.min(cluster.entries.end);
            if held.is_empty() {
                continue;
            }
            let wanted: Vec<Range<u64>> = match &plan.runs {
                None => vec![local(cluster, &held)],
                Some(runs) => within(runs, &held).map(|run| local(cluster, &run)).collect(),
            };
            for (number, column) in columns.iter().enumerate() {
                let within =
                    |error: rootfile::Error| error.within(&format!("{}/cluster {at}", column.name));
                let stretches = column.interpretation.stretches(cluster, &wanted);
                for stretch in stretches.map_err(within)? {
                    let pages = column.interpretation.pages(cluster, stretch.clone());
                    let first = cluster.entries.start;
                    let read = first + stretch.start..first + stretch.end;
                    plan.parts.push(Part {
                        column: number,
                        cluster: at,
                        pages: pages.map_err(within)?,
                        batches: batches_of(starts, &read),
                        entries: read,
                    });
                }
            }
        }
        plan.order(schema);
        Ok(plan)
    }

    fn order(&mut self, schema: &Schema) {
        for (number, part) in self.parts.iter().enumerate() {
            let pieces = part.pages.iter().flat_map(|used| {
                let column = &schema.columns[used.column as usize];
                let wide = u64::from(column.bits.max(32)) / 8;
                let mut decoded = u64::from(used.page.elements) * wide;
                // The first piece stands for what all decode to.
                used.page.pieces().map(move |range| (range, std::mem::take(&mut decoded)))
            });
            for (piece, (range, decoded)) in pieces.enumerate() {
                self.items.push(Item { part: number, piece, range: range.clone(), decoded });
            }
            for batch in part.batches.clone() {
                self.batches[batch].parts.push(number);
            }
        }
        let parts = &self.parts;
        self.items.sort_by_key(|item| (parts[item.part].batches.start, item.range.start));
    }
}

/// Entries counted from the beginning of their cluster.
pub fn local(cluster: &Cluster, entries: &Range<u64>) -> Range<u64> {
    entries.start - cluster.entries.start..entries.end - cluster.entries.start
}

/// First entries of the batches and, last, the end.
pub fn starts(
    schema: &Schema,
    columns: &[FieldColumn],
    clusters: &[Arc<Cluster>],
    entries: &Range<u64>,
    step: Step,
) -> Vec<u64> {
    let total = entries.end - entries.start;
    let clusters_starts: Vec<u64> = match step {
        Step::Bytes(_) => clusters.iter().map(|cluster| cluster.entries.start).collect(),
        Step::Whole | Step::Entries(_) => Vec::new(),
    };
    borders(entries, step_entries(schema, columns, clusters, step, total), &clusters_starts)
}

/// How many of `total` entries come at a time; at least one.
pub fn step_entries(
    schema: &Schema,
    columns: &[FieldColumn],
    clusters: &[Arc<Cluster>],
    step: Step,
    total: u64,
) -> u64 {
    step.entries(total, || decoded_bytes_per_entry(schema, columns, clusters))
}

/// Bytes that an entry takes decoded, on the average of clusters.
pub fn decoded_bytes_per_entry(
    schema: &Schema,
    columns: &[FieldColumn],
    clusters: &[Arc<Cluster>],
) -> f64 {
    let mut bytes = 0;
    let mut entries = 0;
    for cluster in clusters {
        let of = |column: &FieldColumn| column.interpretation.decoded_bytes(schema, cluster);
        bytes += columns.iter().map(of).fold(0, u64::saturating_add);
        entries += cluster.entries.end - cluster.entries.start;
    }
    bytes as f64 / entries.max(1) as f64
}

fn batches_of(starts: &[u64], entries: &Range<u64>) -> Range<usize> {
    let first = starts.partition_point(|start| *start <= entries.start).saturating_sub(1);
    let last = starts.partition_point(|start| *start < entries.end);
    first..last.min(starts.len().saturating_sub(1))
}
