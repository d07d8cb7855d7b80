//! The arrays that are being filled, of all batches of a read.

use std::collections::BTreeMap;
use std::sync::Arc;

use rootfile::{Array, Result};

use super::Source;
use super::plan::{Item, Plan, Survivors};
use crate::read::core::fill::builder::{ColumnBuilder, SharedOffsetsPool};
use crate::read::core::fill::slots::{ColumnAssembler, Destination};
use crate::read::threads::prefault::PrefaultThread;

/// The arrays of the batches of one read that are being filled.
pub struct Assembly {
    /// By batch, one for each column.
    assemblers: BTreeMap<usize, Vec<Arc<ColumnAssembler>>>,
    prefault: Option<PrefaultThread>,
}

impl Assembly {
    /// No arrays yet; a `prefault` thread populates their memory.
    pub fn new(prefault: Option<PrefaultThread>) -> Self {
        Assembly { assemblers: BTreeMap::new(), prefault }
    }

    /// Where the entries of an item of one of the first columns go, in order.
    pub fn places<S: Source>(
        &mut self,
        plan: &Plan<S::Locator>,
        source: &S,
        columns: usize,
        item: &Item<S::Locator>,
    ) -> Vec<Destination> {
        let place = |batch: usize| {
            let new = || new_assemblers(plan, source, columns, batch, self.prefault.as_ref());
            let assembler = self.assemblers.entry(batch).or_insert_with(new)[item.column].clone();
            let there = &plan.batches[batch].entries;
            let entries = item.entries.start.max(there.start)..item.entries.end.min(there.end);
            match &item.survivors {
                None => Destination { assembler, position: entries.clone(), runs: vec![entries] },
                Some(Survivors { position, runs }) => {
                    let count: u64 = runs.iter().map(|run| run.end - run.start).sum();
                    Destination {
                        assembler,
                        position: *position..position + count,
                        runs: runs.clone(),
                    }
                }
            }
        };
        item.batches.clone().map(place).collect()
    }

    /// Those arrays of a batch, all of whose items have been put, that are `shown`.
    pub fn take<S: Source>(
        &mut self,
        plan: &Plan<S::Locator>,
        source: &S,
        columns: usize,
        batch: usize,
        shown: impl Iterator<Item = usize>,
    ) -> Result<Vec<(String, Array)>> {
        let assemblers = self.assemblers.remove(&batch);
        let assemblers =
            assemblers.unwrap_or_else(|| new_assemblers(plan, source, columns, batch, None));
        shown
            .map(|column| Ok((source.name(column).to_owned(), assemblers[column].take()?)))
            .collect()
    }
}

fn new_assemblers<S: Source>(
    plan: &Plan<S::Locator>,
    source: &S,
    columns: usize,
    batch: usize,
    prefault: Option<&PrefaultThread>,
) -> Vec<Arc<ColumnAssembler>> {
    let batch = &plan.batches[batch];
    let mut items: Vec<Vec<&Item<S::Locator>>> = vec![Vec::new(); columns];
    for item in batch.items.iter().map(|at| &plan.items[*at]) {
        // Counts are items too, of columns that are not handed out.
        if let Some(own) = items.get_mut(item.column) {
            own.push(item);
        }
    }
    let entries = usize::try_from(batch.entries.end - batch.entries.start).unwrap_or(0);
    let pool = SharedOffsetsPool::of(entries, prefault);
    let assembler = |(column, items): (usize, Vec<&Item<S::Locator>>)| {
        let mut array = source.empty(column);
        source.reserve(&items, entries, pool.is_some(), &mut array);
        let builder = ColumnBuilder::new(array, pool.as_ref(), prefault);
        Arc::new(ColumnAssembler::new(batch.entries.start, builder))
    };
    items.into_iter().enumerate().map(assembler).collect()
}
