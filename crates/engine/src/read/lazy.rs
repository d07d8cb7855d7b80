//! Batches whose columns are read when they are looked at.

use std::ops::Range;

use rootfile::Array;
use rootfile::tree::BranchId;
use tokio::sync::Mutex;

use super::columns::Column;
use super::learn::{Learner, Learning};
use super::plan::{Step, step_entries};
use super::tree::Tree;
use crate::error::Result;

/// A tree's entries in batches of which nothing is read before somebody asks for a column.
///
/// What is asked for in one batch is fetched ahead for the next ones.
pub struct LazyBatches {
    tree: Tree,
    state: Mutex<State>,
}

struct State {
    learner: Learner,
    present: Range<u64>,
}

impl Tree {
    /// Goes through entries (cut to those there are) in steps; one in bytes is the size that
    /// `columns` together would have.
    pub fn lazy_batches(&self, columns: &[Column], entries: Range<u64>, step: Step) -> LazyBatches {
        let end = entries.end.min(self.num_entries());
        let total = end.saturating_sub(entries.start);
        let step = step_entries(self.metadata(), columns, step, total);
        let learner = Learner::new(self, entries, step, Learning::default());
        LazyBatches { tree: self.clone(), state: Mutex::new(State { learner, present: 0..0 }) }
    }
}

impl LazyBatches {
    /// Goes to the next batch; its entries, or `None` after the last one. Waits for nothing but
    /// columns that are being got.
    pub async fn next(&self) -> Option<Range<u64>> {
        let mut state = self.state.lock().await;
        state.present = state.learner.advance()?;
        Some(state.present.clone())
    }

    /// A branch's values for some entries. Those of the present batch teach what the next ones
    /// will need; others are read for themselves.
    ///
    /// # Errors
    /// `Unsupported` for a branch that cannot be read; whatever goes wrong in fetching it.
    pub async fn get(&self, branch: BranchId, entries: Range<u64>) -> Result<Array> {
        let column = self.tree.column(branch)?;
        let mut state = self.state.lock().await;
        if entries != state.present {
            drop(state);
            let mut batch = self.tree.read(vec![column], entries).await?;
            return Ok(batch.columns.swap_remove(0).1);
        }
        let pieces = state.learner.touch(branch).await?;
        drop(state);
        let mut parts = Vec::with_capacity(pieces.len());
        for (held, array) in pieces {
            let (from, to) = (entries.start.max(held.start), entries.end.min(held.end));
            parts.push(array.slice((from - held.start) as usize..(to - held.start) as usize));
        }
        Ok(Array::concat(parts)?.unwrap_or_else(|| column.interpretation.empty()))
    }
}
