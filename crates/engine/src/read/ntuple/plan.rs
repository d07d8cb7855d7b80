//! Pages that a read of an RNTuple needs, in their order: decided before any is fetched.

use std::ops::Range;
use std::sync::Arc;

use rootfile::ntuple::{Cluster, PageUse, Schema};

use super::FieldColumn;
use crate::read::core::cut::within;
use crate::read::core::pipeline::plan::{Item, Piece, Plan, Survivors, batches_of};
use crate::read::core::steps::{Step, borders};

/// Pages of a field in a cluster, which are decoded together.
#[derive(Debug, Clone)]
pub struct Pages {
    pub cluster: Arc<Cluster>,
    /// Of the cluster, among those that the entries of the read are in.
    pub number: usize,
    /// In the order in which they are put together.
    pub uses: Vec<PageUse>,
}

/// Everything a read of fields will fetch.
pub type RNTuplePlan = Plan<Pages>;

/// Plans reading `columns` in batches that begin at `starts`, whose last is the end; `clusters`
/// hold these entries.
///
/// # Errors
/// `Corrupt` and `Unsupported`.
pub fn plan(
    schema: &Schema,
    columns: &[FieldColumn],
    clusters: &[Arc<Cluster>],
    starts: &[u64],
) -> rootfile::Result<RNTuplePlan> {
    let entries = starts.first().copied().unwrap_or(0)..starts.last().copied().unwrap_or(0);
    let mut items = Vec::new();
    for (number, cluster) in clusters.iter().enumerate() {
        let own = &cluster.entries;
        let held = entries.start.max(own.start)..entries.end.min(own.end);
        if !held.is_empty() {
            items.extend(cluster_items(schema, columns, number, cluster, starts, &[held], None)?);
        }
    }
    Ok(Plan::without_items(starts).with_items(items))
}

/// Plans reading some runs of the entries of a cluster. Where these are the survivors of a cut,
/// their `position` is given as in [`Survivors`].
pub fn cluster_items(
    schema: &Schema,
    columns: &[FieldColumn],
    number: usize,
    cluster: &Arc<Cluster>,
    starts: &[u64],
    runs: &[Range<u64>],
    position: Option<u64>,
) -> rootfile::Result<Vec<Item<Pages>>> {
    let mut items = Vec::new();
    let local: Vec<Range<u64>> = runs.iter().map(|run| local(cluster, run)).collect();
    for (at, column) in columns.iter().enumerate() {
        let place =
            |error: rootfile::Error| error.within(&format!("{}/cluster {number}", column.name));
        for stretch in column.interpretation.stretches(cluster, &local).map_err(place)? {
            let uses = column.interpretation.pages(cluster, stretch.clone()).map_err(place)?;
            let first = cluster.entries.start;
            let entries = first + stretch.start..first + stretch.end;
            let pieces = pieces(schema, &uses);
            items.push(Item {
                column: at,
                decoded: pieces.iter().map(|piece| piece.decoded).fold(0, u64::saturating_add),
                pieces,
                batches: batches_of(starts, &entries),
                locator: Pages { cluster: cluster.clone(), number, uses },
                survivors: position.map(|position| {
                    let before = 0..entries.start;
                    let before = within(runs, &before).map(|run| run.end - run.start);
                    let position = position + before.sum::<u64>();
                    Survivors { position, runs: within(runs, &entries).collect() }
                }),
                entries,
            });
        }
    }
    Ok(items)
}

/// Where pages are in the file: some in several records.
fn pieces(schema: &Schema, uses: &[PageUse]) -> Vec<Piece> {
    let of = |used: &PageUse| {
        let column = &schema.columns[used.column as usize];
        let wide = u64::from(column.bits.max(32)) / 8;
        let mut decoded = u64::from(used.page.elements) * wide;
        // The first piece carries the decoded bytes of all.
        let piece = |range: &Range<u64>| Piece {
            range: range.clone(),
            decoded: std::mem::take(&mut decoded),
        };
        used.page.pieces().map(piece).collect::<Vec<_>>()
    };
    uses.iter().flat_map(of).collect()
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
