//! Joined columns as columns, and a cut on any.

use std::ops::Range;
use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt};
use rootfile::Array;

use super::{Joined, cutting, lazy, run};
use crate::read::core::batches::Batches;
use crate::read::core::columns::Batch;
use crate::read::core::cut::Cut;
use crate::read::core::footprint::ReadFootprint;
use crate::read::core::lazy::{LazyColumns, Learning};
use crate::read::core::steps::{ReadPriority, Step, borders};
use crate::read::core::table::{Columns, Table};
use remote::Result;

impl Columns for Joined {
    fn of(&self) -> &dyn Table {
        &**self.own()
    }

    fn table(&self) -> Arc<dyn Table> {
        self.own().clone()
    }

    fn boxed(&self) -> Box<dyn Columns> {
        Box::new(self.clone())
    }

    fn names(&self) -> Vec<&str> {
        self.columns.iter().map(|column| &*column.name).collect()
    }

    fn empty(&self) -> Vec<(String, Array)> {
        self.empty_columns().collect()
    }

    fn pick(&self, positions: &[usize]) -> Box<dyn Columns> {
        let columns = positions.iter().map(|at| self.columns[*at].clone()).collect();
        Box::new(Joined { parts: self.parts.clone(), columns })
    }

    fn friends(&self) -> Vec<&str> {
        self.parts.iter().skip(1).map(|part| &*part.friend.name).collect()
    }

    fn footprints(&self, entries: Range<u64>) -> BoxFuture<'_, Result<Vec<ReadFootprint>>> {
        self.outlines_of(entries).boxed()
    }

    fn step_entries_of(&self, step: Step, total: u64) -> BoxFuture<'_, Result<u64>> {
        async move {
            let bytes = match step {
                Step::Bytes(_) => self.bytes_of_entry().await?,
                Step::Whole | Step::Entries(_) => 0.0,
            };
            Ok(step.entries(total, || bytes))
        }
        .boxed()
    }

    fn steps(&self, entries: Range<u64>, step: Step) -> BoxFuture<'_, Result<Vec<u64>>> {
        async move {
            let entries = self.within(entries);
            let total = entries.end - entries.start;
            Ok(borders(&entries, self.step_entries_of(step, total).await?, &[]))
        }
        .boxed()
    }

    fn start(
        &self,
        entries: Range<u64>,
        step: Step,
        rank: ReadPriority,
    ) -> BoxFuture<'_, Result<Batches>> {
        async move { run::start(self, self.steps(entries, step).await?, rank).await }.boxed()
    }

    fn start_cut<'a>(
        &'a self,
        cut: &'a Cut,
        entries: Range<u64>,
        step: Step,
        rank: ReadPriority,
    ) -> Option<BoxFuture<'a, Result<Batches>>> {
        let start = async move {
            let starts = self.steps(entries, step).await?;
            cutting::start(self, cut, starts, rank).await
        };
        Some(start.boxed())
    }

    fn lazily(
        &self,
        entries: Range<u64>,
        step: u64,
        learning: Learning,
    ) -> BoxFuture<'_, Result<Box<dyn LazyColumns>>> {
        async move {
            let reader = lazy::LazyJoined::start(self, entries, step, learning).await?;
            Ok(Box::new(reader) as Box<dyn LazyColumns>)
        }
        .boxed()
    }
}

impl dyn Columns {
    /// Reads a range of entries (cut to those there are), all at once, or those of them only that
    /// survive a cut, if there is one.
    ///
    /// # Errors
    /// As [`Columns::batches`](Self::batches), and the predicate's.
    pub async fn read_where(&self, cut: Option<&Cut>, entries: Range<u64>) -> Result<Batch> {
        let entries = self.covered(entries)?;
        let nothing = Batch::empty(entries.clone(), cut, self.empty().into_iter());
        let mut batches = self.start_where(cut, entries, Step::Whole, ReadPriority::FIRST).await?;
        batches.next().await.unwrap_or(Ok(nothing))
    }

    /// Starts reading in steps, of those entries only that survive a cut, if there is one. Its
    /// columns are read first, and of the others only the baskets or pages with survivors.
    ///
    /// # Errors
    /// Those of planning; `NotInFile` and `Unsupported` for columns of the cut.
    pub async fn batches(
        &self,
        entries: Range<u64>,
        step: Step,
        cut: Option<&Cut>,
    ) -> Result<Batches> {
        self.start_where(cut, entries, step, ReadPriority::FIRST).await
    }

    /// As [`Columns::batches`](Self::batches). Columns that cannot decide for themselves are read
    /// as a join of one table, whose cut sends its pipelines the survivors.
    pub(crate) async fn start_where(
        &self,
        cut: Option<&Cut>,
        entries: Range<u64>,
        step: Step,
        rank: ReadPriority,
    ) -> Result<Batches> {
        let Some(cut) = cut else { return self.start(entries, step, rank).await };
        match self.start_cut(cut, entries.clone(), step, rank) {
            Some(started) => started.await,
            None => {
                let starts = self.steps(entries, step).await?;
                cutting::start(&Joined::of(self.boxed()), cut, starts, rank).await
            }
        }
    }
}
