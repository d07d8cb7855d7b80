//! Pages of an RNTuple's fields, on their way from a plan to a batch.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use rootfile::Array;
use rootfile::ntuple::{Cluster, PageUse, RNTuple};

use super::FieldColumn;
use super::plan::{Pages, cluster_items, local};
use crate::located::Located;
use crate::read::core::cut::{add, within};
use crate::read::core::fill::builder::ColumnBuilder;
use crate::read::core::fill::slots;
use crate::read::core::pipeline::plan::Item;
use crate::read::core::pipeline::{Arrived, Decoded, Decoder, Source};
use remote::Result;

/// Columns of an RNTuple. An item is the pages of a field in a cluster: when the last of them has
/// come, all are decoded.
pub struct Fields {
    pub ntuple: Arc<RNTuple>,
    pub path: Arc<str>,
    pub url: String,
    pub columns: Arc<[FieldColumn]>,
    /// Where a cut decides which entries are read.
    pub shares: Option<Shares>,
}

/// The units of planning where a cut decides which entries are read: the entries of a cluster in a
/// batch, since nothing less of a collection can be fetched.
pub struct Shares {
    clusters: Vec<Arc<Cluster>>,
    /// First entries of the batches and, last, the end.
    batches: Vec<u64>,
    /// The same of the shares that are not planned.
    starts: std::collections::VecDeque<u64>,
    /// The surviving entries of these, as far as they are known.
    runs: Vec<Range<u64>>,
    /// Where the next survivor goes: see [`Survivors::position`].
    ///
    /// [`Survivors::position`]: crate::read::core::pipeline::plan::Survivors::position
    position: u64,
}

impl Shares {
    /// Batches begin at `batches`, whose last is the end, shares at `starts`; `clusters` hold them.
    pub fn new(clusters: Vec<Arc<Cluster>>, batches: Vec<u64>, starts: Vec<u64>) -> Self {
        let position = starts.first().copied().unwrap_or(0);
        Shares { clusters, batches, starts: starts.into(), runs: Vec::new(), position }
    }
}

impl Source for Fields {
    type Locator = Pages;
    const PLANS_SURVIVORS: bool = true;

    fn name(&self, column: usize) -> &str {
        &self.columns[column].name
    }

    fn empty(&self, column: usize) -> Array {
        self.columns[column].interpretation.empty()
    }

    fn reserve(&self, items: &[&Item<Pages>], _entries: usize, _shared: bool, array: &mut Array) {
        let Some(column) = items.first().map(|item| item.column) else { return };
        // Of others only a share goes in, and how large it is shows when they are decoded.
        let whole = items.iter().filter(|item| item.survivors.is_none() && item.batches.len() == 1);
        let uses = whole.flat_map(|item| &item.locator.uses);
        self.columns[column].interpretation.reserve(uses, array);
    }

    fn at_hand(&self, item: &Item<Pages>) -> Option<Vec<Bytes>> {
        item.pieces.is_empty().then(Vec::new)
    }

    fn decoder(&self, item: &mut Item<Pages>) -> Decoder {
        let Pages { cluster, number, uses } = &mut item.locator;
        let cluster = cluster.clone();
        let uses = std::mem::take(uses);
        let columns = self.columns.clone();
        let column = item.column;
        let place = format!("{}/{}/cluster {number}", self.path, columns[column].name);
        let ntuple = self.ntuple.clone();
        let url = self.url.clone();
        let entries = item.entries.clone();
        Box::new(move |Arrived { bytes, places, .. }, codecs| {
            let mut pieces = bytes.into_iter();
            let pages: Vec<(PageUse, Bytes)> =
                uses.into_iter().map(|used| joined(used, &mut pieces)).collect();
            let how = &columns[column].interpretation;
            let own = || {
                let mut array = how.empty();
                how.reserve(pages.iter().map(|(page, _)| page), &mut array);
                array
            };
            let memory = how.decoded_bytes(&ntuple.schema, &cluster) as usize;
            let fill = |column: &mut ColumnBuilder| {
                column.expect(memory);
                let entries = local(&cluster, &entries);
                column.fill(|array| {
                    how.append(&ntuple.schema, &cluster, entries, &pages, codecs, array)
                })?;
                column.expect_later(memory);
                Ok(())
            };
            slots::put(&places.unwrap_or_default(), &entries, own, fill)
                .map(Decoded::Put)
                .map_err(|error| error.within(&place).located(url))
        })
    }

    fn plan_survivors(&mut self, until: u64, runs: &[Range<u64>]) -> Result<Vec<Item<Pages>>> {
        let mut items = Vec::new();
        let Some(shares) = &mut self.shares else { return Ok(items) };
        runs.iter().for_each(|run| add(&mut shares.runs, run.clone()));
        while let (Some(start), Some(end)) = (shares.starts.front(), shares.starts.get(1))
            && *end <= until
        {
            let entries = *start..*end;
            shares.starts.pop_front();
            if shares.batches.contains(&entries.start) {
                shares.position = entries.start;
            }
            let runs: Vec<Range<u64>> = within(&shares.runs, &entries).collect();
            shares.runs.retain(|run| run.end > entries.end);
            let clusters = shares.clusters.iter().enumerate();
            let mut holding = clusters.filter(|(_, cluster)| cluster.entries.end > entries.start);
            if let Some((number, cluster)) = holding.next().filter(|_| !runs.is_empty()) {
                let schema = &self.ntuple.schema;
                let position = Some(shares.position);
                let starts = &shares.batches;
                let planned =
                    cluster_items(schema, &self.columns, number, cluster, starts, &runs, position);
                let located = |error: rootfile::Error| error.within(&self.path).located(&*self.url);
                items.extend(planned.map_err(located)?);
            }
            shares.position += runs.iter().map(|run| run.end - run.start).sum::<u64>();
        }
        Ok(items)
    }
}

/// A page with its bytes, which are the next pieces.
fn joined(used: PageUse, pieces: &mut impl Iterator<Item = Bytes>) -> (PageUse, Bytes) {
    let first = pieces.next().unwrap_or_default();
    let Some(further) = &used.page.further else { return (used, first) };
    let mut whole = first.to_vec();
    pieces.take(further.len()).for_each(|piece| whole.extend_from_slice(&piece));
    (used, whole.into())
}
