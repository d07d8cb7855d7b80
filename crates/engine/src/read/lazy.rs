//! Batches whose columns are read when they are looked at.

use std::ops::Range;

use rootfile::Array;
use tokio::sync::Mutex;

use super::learn::{Learner, Learning, Piece};
use super::ntuple::follow::{Follower, joined};
use super::plan::Step;
use super::table::Selected;
use crate::error::{Error, ErrorKind, Result};

/// The entries of columns in batches of which nothing is read before somebody asks for a column.
///
/// What is asked for in one batch is fetched ahead for the next ones.
pub struct LazyBatches {
    columns: Selected,
    state: Mutex<State>,
}

struct State {
    reader: Reader,
    present: Range<u64>,
}

/// Watches what is touched.
enum Reader {
    Tree(Box<Learner>),
    Ntuple(Box<Follower>),
}

impl Selected {
    /// Goes through entries (cut to those there are) in steps; one in bytes is the size that the
    /// columns together would have.
    ///
    /// # Errors
    /// Of an RNTuple those of reading page lists. `Unsupported` with columns of friends.
    pub async fn lazy_batches(&self, entries: Range<u64>, step: Step) -> Result<LazyBatches> {
        self.lazy_batches_with(entries, step, Learning::default()).await
    }

    pub(super) async fn lazy_batches_with(
        &self,
        entries: Range<u64>,
        step: Step,
        learning: Learning,
    ) -> Result<LazyBatches> {
        let end = entries.end.min(self.num_entries());
        let entries = entries.start.min(end)..end;
        let step = self.step_entries_of(step, entries.end - entries.start).await?;
        let reader = match self {
            Selected::Tree(tree, _) => {
                Reader::Tree(Box::new(Learner::new(tree, entries, step, learning)))
            }
            Selected::Joined(joined) => {
                let what = "columns of friends are not read as they are touched";
                return Err(
                    Error::new(ErrorKind::Unsupported, what).with_url(joined.tree().file().url())
                );
            }
            Selected::Ntuple(ntuple, columns) => {
                let clusters = ntuple.clusters(&entries).await?;
                let columns = columns.clone();
                let follower = Follower::new(ntuple, columns, clusters, entries, step, learning);
                Reader::Ntuple(Box::new(follower))
            }
        };
        let state = Mutex::new(State { reader, present: 0..0 });
        Ok(LazyBatches { columns: self.clone(), state })
    }
}

impl LazyBatches {
    /// What the batches are of.
    pub fn columns(&self) -> &Selected {
        &self.columns
    }

    /// Goes to the next batch; its entries, or `None` after the last one. Waits for nothing but
    /// columns that are being got.
    pub async fn next(&self) -> Option<Range<u64>> {
        let mut state = self.state.lock().await;
        state.present = match &mut state.reader {
            Reader::Tree(learner) => learner.advance(),
            Reader::Ntuple(follower) => follower.advance(),
        }?;
        Some(state.present.clone())
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
        let pieces: Vec<Piece> = match (&mut state.reader, &self.columns) {
            (Reader::Tree(learner), Selected::Tree(_, columns)) => {
                learner.touch(columns[column].branch).await?
            }
            (Reader::Ntuple(follower), _) => follower.touch(column).await?,
            (Reader::Tree(_), Selected::Joined(_) | Selected::Ntuple(..)) => Vec::new(),
        };
        drop(state);
        match joined(&pieces, &entries)? {
            Some(array) => Ok(array),
            None => Ok(self.columns.pick(&[column]).empty().swap_remove(0).1),
        }
    }
}
