//! Batches whose columns are read when they are looked at.

use std::ops::Range;

use futures::future::BoxFuture;
use rootfile::Array;
use tokio::sync::Mutex;

use super::alike::{ColumnTypes, TypeRule};
use super::steps::Step;
use super::table::Columns;
use remote::{Error, ErrorKind, Result};

/// The rules beyond prefetching, each of which can be switched off to measure its gain: then the
/// reader neither uses the access history of an earlier one nor stores its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Learning {
    /// With the first basket, those of all branches come that hold the first entries.
    pub startup: bool,
    /// Columns that are touched now and then are fetched together, and before their next time.
    pub together: bool,
}

impl Default for Learning {
    fn default() -> Self {
        Learning { startup: true, together: true }
    }
}

/// Goes through entries of columns step by step, and watches which columns are looked at.
pub trait LazyColumns: Send {
    /// Goes to the next step; its entries, or `None` after the last one.
    ///
    /// # Errors
    /// Of a chain those of opening the next file.
    fn advance(&mut self) -> BoxFuture<'_, Option<Result<Range<u64>>>>;

    /// The values of the column at a position for the entries of the present step.
    ///
    /// # Errors
    /// Those of fetching and decoding them.
    fn touch(&mut self, column: usize, entries: Range<u64>) -> BoxFuture<'_, Result<Array>>;
}

/// The entries of columns in batches of which nothing is read before a column is asked for.
///
/// Columns that are requested in one batch are prefetched for the next ones.
pub struct LazyBatches {
    columns: Box<dyn Columns>,
    state: Mutex<State>,
}

struct State {
    reader: Box<dyn LazyColumns>,
    present: Range<u64>,
}

impl dyn Columns {
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
        if !self.names().is_empty() && *self.entries_stored().end() < entries.end {
            let message = format!("no column has bytes for entry {}", end - 1);
            let error = Error::new(ErrorKind::Corrupt, format!("{message}: {}", self.path()));
            return Err(error.with_url(self.file().url()));
        }
        let step = self.step_entries_of(step, entries.end - entries.start).await?;
        let reader = self.lazily(entries, step, learning).await?;
        let state = Mutex::new(State { reader, present: 0..0 });
        Ok(LazyBatches { columns: self.boxed(), state })
    }
}

impl LazyBatches {
    /// The columns of the batches.
    pub fn columns(&self) -> &dyn Columns {
        &*self.columns
    }

    /// Goes to the next batch; its entries, or `None` after the last one. Waits for nothing but
    /// columns that are being read and, of a chain, the next file.
    ///
    /// # Errors
    /// Of a chain those of opening the next file.
    pub async fn next(&self) -> Option<Result<Range<u64>>> {
        let mut state = self.state.lock().await;
        let next = state.reader.advance().await?;
        Some(next.inspect(|entries| state.present = entries.clone()))
    }

    /// The values of the column at a position for some entries. Those of the present batch predict
    /// the columns that the next ones will need; others are read for themselves.
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
            let declared = self.columns.pick(&[column]);
            let mut batch = declared.read(entries).await?;
            let types = ColumnTypes::of(TypeRule::First, &declared.types());
            let (name, array) = batch.columns.swap_remove(0);
            return types.declared(&name, array);
        }
        state.reader.touch(column, entries).await
    }
}
