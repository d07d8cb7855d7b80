//! Batches whose columns are read when they are looked at.

use std::collections::VecDeque;
use std::ops::Range;

use futures::future::BoxFuture;
use rootfile::Array;
use tokio::sync::Mutex;

use super::columns::joined;
use super::table::Selected;
use crate::error::Result;
use crate::read::core::steps::Step;
use crate::read::joined::LazyJoined;
use crate::read::many::chain::ChainColumns;
use crate::read::many::parts::Place;
use crate::read::ntuple::follow::Follower;
use crate::read::tree::learn::Learner;

/// The rules beside reading ahead, each of which can be left out to see what it brings: then
/// neither is what an earlier reader touched believed, nor is what this one touches kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Learning {
    /// With the first basket, those of all branches come that hold the first entries.
    pub startup: bool,
    /// What is touched now and then comes together, and before its next time.
    pub together: bool,
}

impl Default for Learning {
    fn default() -> Self {
        Learning { startup: true, together: true }
    }
}

/// The entries of columns in batches of which nothing is read before somebody asks for a column.
///
/// What is asked for in one batch is fetched ahead for the next ones.
pub struct LazyBatches {
    columns: Selected,
    state: Mutex<State>,
}

struct State {
    source: Source,
    present: Range<u64>,
}

enum Source {
    /// One table.
    Table(Selected, Reader),
    Joined(LazyJoined),
    Chain(Series),
}

/// Watches what is touched of a table.
pub(crate) enum Reader {
    Tree(Box<Learner>),
    Ntuple(Box<Follower>),
    /// There is nothing.
    Nothing,
}

/// The tables of a chain, one after the other.
struct Series {
    columns: ChainColumns,
    /// Those to come, with the first entries of their tables.
    left: VecDeque<(u64, Place)>,
    step: Step,
    present: Option<(u64, Box<LazyBatches>)>,
}

impl Selected {
    /// Goes through entries (cut to those there are) in steps; one in bytes is the size that the
    /// columns together would have. Of a chain, no step reaches over the end of a file.
    ///
    /// # Errors
    /// Of RNTuples those of reading page lists.
    pub async fn lazy_batches(&self, entries: Range<u64>, step: Step) -> Result<LazyBatches> {
        self.lazy_batches_with(entries, step, Learning::default()).await
    }

    pub(crate) async fn lazy_batches_with(
        &self,
        entries: Range<u64>,
        step: Step,
        learning: Learning,
    ) -> Result<LazyBatches> {
        let end = entries.end.min(self.num_entries());
        let entries = entries.start.min(end)..end;
        let step = self.step_entries_of(step, entries.end - entries.start).await?;
        let source = match self {
            Selected::Joined(joined) => {
                Source::Joined(LazyJoined::start(joined, entries, step, learning).await?)
            }
            Selected::Chain(columns) => Source::Chain(Series {
                left: columns.places(&entries).into(),
                columns: columns.clone(),
                step: Step::Entries(step),
                present: None,
            }),
            table => {
                let reader = Reader::start(table, entries, step, learning).await?;
                Source::Table(table.clone(), reader)
            }
        };
        let state = Mutex::new(State { source, present: 0..0 });
        Ok(LazyBatches { columns: self.clone(), state })
    }
}

impl LazyBatches {
    /// What the batches are of.
    pub fn columns(&self) -> &Selected {
        &self.columns
    }

    /// Goes to the next batch; its entries, or `None` after the last one. Waits for nothing but
    /// columns that are being got and, of a chain, the next file.
    ///
    /// # Errors
    /// Of a chain those of opening the next file.
    pub async fn next(&self) -> Option<Result<Range<u64>>> {
        let mut state = self.state.lock().await;
        let next = match &mut state.source {
            Source::Table(_, reader) => reader.advance().map(Ok),
            Source::Joined(joined) => joined.advance().map(Ok),
            Source::Chain(series) => series.advance().await,
        }?;
        Some(next.inspect(|entries| state.present = entries.clone()))
    }

    /// The values of the column at a position for some entries. Those of the present batch teach
    /// what the next ones will need; others are read for themselves.
    ///
    /// # Errors
    /// Whatever goes wrong in fetching and decoding them.
    ///
    /// # Panics
    /// Where there is no column at that position.
    pub async fn get(&self, column: usize, entries: Range<u64>) -> Result<Array> {
        let mut state = self.state.lock().await;
        if entries != state.present {
            drop(state);
            let mut batch = self.columns.pick(&[column]).read(entries).await?;
            return Ok(batch.columns.swap_remove(0).1);
        }
        match &mut state.source {
            Source::Table(columns, reader) => reader.touch(columns, column, &entries).await,
            Source::Joined(joined) => joined.touch(column).await,
            Source::Chain(series) => series.touch(column, entries).await,
        }
    }
}

impl Reader {
    pub async fn start(
        columns: &Selected,
        entries: Range<u64>,
        step: u64,
        learning: Learning,
    ) -> Result<Self> {
        Ok(match columns {
            Selected::Tree(tree, _) => {
                Reader::Tree(Box::new(Learner::new(tree, entries, step, learning)))
            }
            Selected::Ntuple(ntuple, columns) => {
                let clusters = ntuple.clusters(&entries).await?;
                let columns = columns.clone();
                let follower = Follower::new(ntuple, columns, clusters, entries, step, learning);
                Reader::Ntuple(Box::new(follower))
            }
            Selected::Joined(_) | Selected::Chain(_) => Reader::Nothing,
        })
    }

    /// Goes to the next step; its entries, or `None` after the last one.
    pub fn advance(&mut self) -> Option<Range<u64>> {
        match self {
            Reader::Tree(learner) => learner.advance(),
            Reader::Ntuple(follower) => follower.advance(),
            Reader::Nothing => None,
        }
    }

    /// The values of a column for the entries of the present step.
    pub async fn touch(
        &mut self,
        columns: &Selected,
        column: usize,
        entries: &Range<u64>,
    ) -> Result<Array> {
        let pieces = match (self, columns) {
            (Reader::Tree(learner), Selected::Tree(_, columns)) => {
                learner.touch(columns[column].branch).await?
            }
            (Reader::Ntuple(follower), _) => follower.touch(column).await?,
            _ => Vec::new(),
        };
        Ok(joined(&pieces, entries)?.unwrap_or_else(|| columns.empty_at(column)))
    }
}

// Boxed, since batches of a table are in those of the chain.
impl Series {
    fn advance(&mut self) -> BoxFuture<'_, Option<Result<Range<u64>>>> {
        Box::pin(async {
            loop {
                if let Some((first, present)) = &mut self.present {
                    // Behind the last step that one stays the present one.
                    if let Some(next) = present.next().await {
                        return Some(next.map(|own| own.start + *first..own.end + *first));
                    }
                }
                let (first, place) = self.left.pop_front()?;
                match self.columns.lazy(place, self.step).await {
                    Ok(batches) => self.present = Some((first, Box::new(batches))),
                    Err(error) => {
                        self.left.clear();
                        return Some(Err(error));
                    }
                }
            }
        })
    }

    fn touch(&mut self, column: usize, entries: Range<u64>) -> BoxFuture<'_, Result<Array>> {
        Box::pin(async move {
            match &self.present {
                Some((first, present)) => {
                    present.get(column, entries.start - first..entries.end - first).await
                }
                None => Ok(self.columns.lead().empty_at(column)),
            }
        })
    }
}
