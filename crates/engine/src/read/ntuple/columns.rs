//! An RNTuple as a table, and columns of it.

use std::ops::Range;
use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt, ready};
use rootfile::Array;

use super::follow::Prefetcher;
use super::{FieldColumn, RNTuple};
use crate::read::core::batches::Batches;
use crate::read::core::column_set::{ColumnSet, KeyedColumn};
use crate::read::core::columns::joined;
use crate::read::core::cut::SurvivorFeed;
use crate::read::core::footprint::ReadFootprint;
use crate::read::core::lazy::{LazyColumns, Learning};
use crate::read::core::names::NameList;
use crate::read::core::request::ColumnRequest;
use crate::read::core::spec::{ColumnSpec, FormulaSpec};
use crate::read::core::steps::{ReadPriority, Step};
use crate::read::core::table::{Columns, Table, TablePlace, not_added};
use crate::read::file::File;
use crate::read::file::layout_hints::MetadataHints;
use remote::Result;

/// Columns of one RNTuple.
#[derive(Clone)]
pub struct RNTupleColumns {
    ntuple: RNTuple,
    columns: ColumnSet<FieldColumn>,
}

impl KeyedColumn for FieldColumn {
    /// Its name: there may be several, which have other parts of the field.
    type Key = String;

    fn key(&self) -> String {
        self.name.clone()
    }

    fn is(&self, other: &FieldColumn) -> bool {
        self.interpretation == other.interpretation
    }
}

impl Table for RNTuple {
    fn list(&self) -> &NameList {
        RNTuple::list(self)
    }

    fn file(&self) -> &File {
        RNTuple::file(self)
    }

    fn path(&self) -> &str {
        RNTuple::path(self)
    }

    fn asked(&self) -> &str {
        RNTuple::asked(self)
    }

    fn num_entries(&self) -> u64 {
        RNTuple::num_entries(self)
    }

    fn has(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    fn require(&self, name: &str) -> Result<Box<dyn Columns>> {
        let column = self.column(self.require_field(name)?)?;
        Ok(RNTupleColumns::boxed(self, vec![column]))
    }

    fn select(&self, wanted: &ColumnSpec) -> Result<Box<dyn Columns>> {
        let columns = match wanted {
            ColumnSpec::All => self.all_columns(),
            ColumnSpec::Named(patterns) => self.columns(patterns)?,
            ColumnSpec::Requested(reads) | ColumnSpec::Formulas(FormulaSpec { reads, .. }) => {
                reads.iter().map(|each| self.chosen(each)).collect::<Result<_>>()?
            }
        };
        Ok(RNTupleColumns::boxed(self, columns))
    }

    fn no_columns(&self) -> Box<dyn Columns> {
        RNTupleColumns::boxed(self, Vec::new())
    }

    fn add_hints(&self, hints: &MetadataHints) {
        self.file().add_hints(hints, |file, known| self.all_again(file, known));
    }
}

impl File {
    /// The RNTuple at `path` (`directory/name` or `directory/name;cycle`).
    ///
    /// # Errors
    /// `NotFound` with the names that there are; `Unsupported` for an object of another class.
    pub async fn ntuple(&self, path: &str) -> Result<RNTuple> {
        let metadata = self.reading(|file, known| file.ntuple(known, path)).await?;
        let place = TablePlace { asked: path.into(), path: self.found(path).await?.path.into() };
        Ok(RNTuple::new(self.clone(), place, metadata))
    }
}

impl RNTupleColumns {
    pub fn new(ntuple: RNTuple, columns: Vec<FieldColumn>) -> Self {
        RNTupleColumns { ntuple, columns: ColumnSet::new(columns) }
    }

    fn boxed(ntuple: &RNTuple, columns: Vec<FieldColumn>) -> Box<dyn Columns> {
        Box::new(RNTupleColumns::new(ntuple.clone(), columns))
    }
}

impl Columns for RNTupleColumns {
    fn of(&self) -> &dyn Table {
        &self.ntuple
    }

    fn requests(&self) -> Vec<ColumnRequest> {
        self.columns.iter().map(FieldColumn::request).collect()
    }

    fn table(&self) -> Arc<dyn Table> {
        Arc::new(self.ntuple.clone())
    }

    fn boxed(&self) -> Box<dyn Columns> {
        Box::new(self.clone())
    }

    fn names(&self) -> Vec<&str> {
        self.columns.iter().map(|column| &*column.name).collect()
    }

    fn len(&self) -> usize {
        self.columns.len()
    }

    fn pieces(&self) -> &'static str {
        "pages"
    }

    fn empty(&self) -> Vec<(String, Array)> {
        self.columns.iter().map(FieldColumn::empty).collect()
    }

    fn pick(&self, positions: &[usize]) -> Box<dyn Columns> {
        let columns = positions.iter().map(|at| self.columns[*at].clone()).collect();
        RNTupleColumns::boxed(&self.ntuple, columns)
    }

    fn position(&self, others: &dyn Columns, at: usize) -> Option<usize> {
        let other = &others.downcast_ref::<RNTupleColumns>()?.columns[at];
        self.columns.position(other)
    }

    fn add(&mut self, others: &dyn Columns, at: usize) -> Result<usize> {
        if let Some(known) = self.position(others, at) {
            return Ok(known);
        }
        let own = others.downcast_ref::<RNTupleColumns>();
        let other = &own.ok_or_else(|| not_added(self.ntuple.path(), others))?.columns[at];
        Ok(self.columns.push(other.clone()))
    }

    fn covered(&self, entries: Range<u64>) -> Result<Range<u64>> {
        self.ntuple.covered(entries)
    }

    fn bytes_per_entry(&self) -> BoxFuture<'_, Result<f64>> {
        match self.columns.is_empty() {
            true => ready(Ok(0.0)).boxed(),
            false => self.ntuple.bytes_per_entry(&self.columns).boxed(),
        }
    }

    fn cluster_starts(&self, entries: Range<u64>) -> BoxFuture<'_, Result<Option<Vec<u64>>>> {
        async move {
            if self.columns.is_empty() {
                return Ok(None);
            }
            let clusters = self.ntuple.clusters(&entries).await?;
            Ok(Some(clusters.iter().map(|cluster| cluster.entries.start).collect()))
        }
        .boxed()
    }

    fn start_at<'a>(
        &'a self,
        starts: &'a [u64],
        feed: Option<(&'a [u64], SurvivorFeed)>,
        rank: ReadPriority,
    ) -> BoxFuture<'a, Result<Batches>> {
        self.ntuple.start_at(self.columns.to_vec(), starts, feed, rank).boxed()
    }

    fn footprints(&self, entries: Range<u64>) -> BoxFuture<'_, Result<Vec<ReadFootprint>>> {
        async move {
            let plan = self.ntuple.plan(&self.columns, entries, Step::Whole).await?;
            let names = self.columns.iter().map(|column| &column.name);
            let pieces = plan.items.iter().flat_map(|item| {
                item.pieces.iter().map(|piece| (item.column, Some(&piece.range), piece.decoded))
            });
            Ok(vec![ReadFootprint::new(self.file().url(), self.path(), names, pieces)])
        }
        .boxed()
    }

    fn step_entries_of(&self, step: Step, total: u64) -> BoxFuture<'_, Result<u64>> {
        self.ntuple.step_entries(&self.columns, step, total).boxed()
    }

    fn steps(&self, entries: Range<u64>, step: Step) -> BoxFuture<'_, Result<Vec<u64>>> {
        self.ntuple.starts(&self.columns, entries, step).boxed()
    }

    fn start(
        &self,
        entries: Range<u64>,
        step: Step,
        rank: ReadPriority,
    ) -> BoxFuture<'_, Result<Batches>> {
        self.ntuple.start(self.columns.to_vec(), entries, step, rank).boxed()
    }

    fn lazily(
        &self,
        entries: Range<u64>,
        step: u64,
        learning: Learning,
    ) -> BoxFuture<'_, Result<Box<dyn LazyColumns>>> {
        async move {
            let clusters = self.ntuple.clusters(&entries).await?;
            let columns = self.columns.to_vec();
            let follower =
                Prefetcher::new(&self.ntuple, columns, clusters, entries, step, learning);
            let reader: Box<dyn LazyColumns> = Box::new(Lazy { follower, columns: self.clone() });
            Ok(reader)
        }
        .boxed()
    }
}

/// Columns of an RNTuple that are read when they are looked at.
struct Lazy {
    follower: Prefetcher,
    columns: RNTupleColumns,
}

impl LazyColumns for Lazy {
    fn advance(&mut self) -> BoxFuture<'_, Option<Result<Range<u64>>>> {
        ready(self.follower.advance().map(Ok)).boxed()
    }

    fn touch(&mut self, column: usize, entries: Range<u64>) -> BoxFuture<'_, Result<Array>> {
        async move {
            let pieces = self.follower.touch(column).await?;
            let empty = || self.columns.columns[column].empty().1;
            Ok(joined(&pieces, &entries)?.unwrap_or_else(empty))
        }
        .boxed()
    }
}
