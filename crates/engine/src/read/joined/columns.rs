//! Joined columns as columns, and a cut on any.

use std::ops::{Range, RangeInclusive};
use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt};
use rootfile::Array;

#[cfg(feature = "select")]
use super::elsewhere::{self, WantedEntries};
use super::{Joined, cutting, lazy, run};
use crate::read::core::batches::{BatchSender, Batches};
use crate::read::core::columns::Batch;
use crate::read::core::cut::Cut;
use crate::read::core::footprint::ReadFootprint;
use crate::read::core::lazy::{LazyColumns, Learning};
use crate::read::core::steps::{ReadPriority, Step, borders, forwards};
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

    fn len(&self) -> usize {
        self.columns.len()
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

    fn entries_stored(&self) -> RangeInclusive<u64> {
        let all = self.num_entries()..=self.num_entries();
        // Entries that a friend lacks are none of the file's faults.
        let own = self.lists().ok().and_then(|(lists, _)| Some(lists.first()?.entries_stored()));
        own.filter(|own| !own.is_empty()).unwrap_or(all)
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
        let rank = ReadPriority::of(&entries);
        let mut batches = self.start_where(cut, entries, Step::Whole, rank).await?;
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
        let rank = ReadPriority::of(&entries);
        self.start_where(cut, entries, step, rank).await
    }

    /// As [`Columns::batches`](Self::batches). Of many steps some are planned at one time.
    pub(crate) async fn start_where(
        &self,
        cut: Option<&Cut>,
        entries: Range<u64>,
        step: Step,
        rank: ReadPriority,
    ) -> Result<Batches> {
        forwards(&entries)?;
        let covered = self.covered(entries.clone())?;
        let planned = self.planned_at_once(&covered, step).await?;
        #[cfg(feature = "select")]
        if planned.is_none() {
            let wanted = WantedEntries { cut, entries: covered.clone(), step, rank };
            if let Some(batches) = elsewhere::start(self, wanted).await? {
                return Ok(batches);
            }
        }
        match planned {
            Some(count) => {
                let part = Part { entries: covered, count, step, rank };
                part.start(self.boxed(), cut.cloned()).await
            }
            None => self.start_planned(cut, entries, step, rank).await,
        }
    }

    /// Columns that cannot decide for themselves are read as a join of one table, whose cut sends
    /// its pipelines the survivors.
    pub(super) async fn start_planned(
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

/// A read that is planned and read part by part.
struct Part {
    entries: Range<u64>,
    /// Entries of a part.
    count: u64,
    step: Step,
    rank: ReadPriority,
}

impl Part {
    /// Starts with the first part; its errors are those of the call.
    async fn start(self, columns: Box<dyn Columns>, cut: Option<Cut>) -> Result<Batches> {
        let Part { entries, count, step, rank } = self;
        let part = move |start: u64| start..start.saturating_add(count).min(entries.end);
        let mut present = part(entries.start);
        let first = columns.start_planned(cut.as_ref(), present.clone(), step, rank).await?;
        let remote = columns.file().remote().clone();
        let batches = Batches::start(&remote, async move |mut output: BatchSender| {
            let mut batches = first;
            loop {
                while let Some(batch) = batches.next_unreported().await {
                    if !output.hand_over(batch?).await {
                        return Ok(());
                    }
                }
                present = part(present.end);
                if present.is_empty() {
                    return Ok(());
                }
                let next = columns.start_planned(cut.as_ref(), present.clone(), step, rank);
                batches = next.await?;
            }
        });
        let steps = match step {
            Step::Entries(length) => {
                usize::try_from((entries.end - entries.start).div_ceil(length.max(1))).ok()
            }
            Step::Whole | Step::Bytes(_) => None,
        };
        Ok(match steps {
            Some(steps) => batches.in_steps(steps),
            None => batches,
        })
    }
}
