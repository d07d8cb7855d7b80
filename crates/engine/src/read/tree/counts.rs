//! Baskets that leave out entry offsets, since these follow from another branch's values, or how
//! long the arrays in them are.
//!
//! ROOT calls it `kGenerateOffsetMap`. Most often the branch says it, and the counter's baskets are
//! asked for together with those that need them. Where only a basket says it (baskets are copied
//! as they are), it waits until those have come.

use std::collections::BTreeMap;

use rootfile::tree::BranchId;

use super::baskets::Baskets;
use super::plan::{baskets_of, pieces_of};
use crate::located::Located;
use crate::read::core::pipeline::Pipeline;
use crate::read::core::pipeline::plan::Item;
use crate::read::core::pipeline::slot::{Slot, State};
use remote::Result;

/// Items that hold counts.
#[derive(Default)]
pub struct Counting {
    /// By column and basket.
    items: BTreeMap<(usize, usize), usize>,
    columns: BTreeMap<BranchId, usize>,
}

impl Pipeline<Baskets> {
    /// Plans the counts of branches that say that they will be needed.
    pub(super) fn expect_counts(&mut self) -> Result<()> {
        let says = |column: &usize| {
            let column_of = &self.source.columns[*column];
            let branch = &self.source.tree.branches[column_of.branch.0 as usize];
            (branch.generates_offsets || column_of.interpretation.always_needs_counts())
                && self.source.counters[*column].is_some()
        };
        let columns: Vec<usize> = (0..self.source.columns.len()).filter(says).collect();
        self.plan_counts(&columns)?;
        Ok(())
    }

    /// A basket of this column turns out to need counts; so will those that are not decoded.
    pub(super) fn count(&mut self, column: usize) -> Result<()> {
        let waiting = self.plan_counts(&[column])?;
        self.ask(waiting.clone());
        waiting.into_iter().for_each(|at| self.feed(at));
        Ok(())
    }

    /// Plans the counts of all items of some columns that are not decoded; returns those of them
    /// that have been asked for.
    fn plan_counts(&mut self, columns: &[usize]) -> Result<Vec<usize>> {
        let mut counted = BTreeMap::new();
        for column in columns {
            counted.insert(*column, self.counting_column(*column)?);
        }
        let mut asked = Vec::new();
        for at in 0..self.plan.items.len() {
            let Some(hidden) = counted.get(&self.plan.items[at].column) else { continue };
            let slot = &self.slots[at];
            let open = matches!(slot.state, State::Idle | State::Asked(_) | State::Parked(..));
            if open && slot.counts.is_empty() {
                if !matches!(slot.state, State::Idle) {
                    asked.push(at);
                }
                self.plan_counts_of(at, *hidden)?;
            }
        }
        Ok(asked)
    }

    /// The column, not handed out, that holds the counts of another one.
    fn counting_column(&mut self, column: usize) -> Result<usize> {
        let Some(counter) = self.source.counters[column].clone() else {
            let error = rootfile::Error::unsupported("baskets without their entry offsets");
            let error =
                error.within(&self.source.columns[column].name).within(&self.source.tree_path);
            return Err(error.located(self.job.remote.url()));
        };
        if let Some(known) = self.source.counting.columns.get(&counter.branch) {
            return Ok(*known);
        }
        let new = self.source.columns.len();
        self.source.counting.columns.insert(counter.branch, new);
        self.source.columns.push(counter);
        self.source.counters.push(None);
        Ok(new)
    }

    fn plan_counts_of(&mut self, at: usize, hidden: usize) -> Result<()> {
        let tree = self.source.tree.clone();
        let item = self.plan.items[at].clone();
        let counted = &tree.branches[self.source.columns[item.column].branch.0 as usize];
        let counter = &tree.branches[self.source.columns[hidden].branch.0 as usize];
        let baskets = baskets_of(counter, &counted.baskets[item.locator].entries);
        if baskets.is_empty() {
            let error = rootfile::Error::corrupt("its counter has no entries");
            let error = error.within(&self.source.columns[item.column].name);
            return Err(error.located(self.job.remote.url()));
        }
        for basket in baskets {
            let known = self.source.counting.items.get(&(hidden, basket)).copied();
            let counts = known
                .filter(|at| !matches!(self.slots[*at].state, State::Gone | State::Failed(_)))
                .unwrap_or_else(|| self.add_counts(hidden, basket, &item));
            self.slots[at].counts.push(counts);
            self.slots[counts].dependents.push(at);
            let planned = &mut self.plan.items[counts];
            for batch in planned.batches.end.max(item.batches.start)..item.batches.end {
                self.plan.batches[batch].items.push(counts);
            }
            planned.batches.end = planned.batches.end.max(item.batches.end);
        }
        Ok(())
    }

    /// Plans one basket of counts, needed first by `item`.
    fn add_counts(&mut self, column: usize, basket: usize, item: &Item<usize>) -> usize {
        let branch = &self.source.tree.branches[self.source.columns[column].branch.0 as usize];
        let reference = &branch.baskets[basket];
        let decoded = (reference.entries.end - reference.entries.start).saturating_mul(4);
        let (pieces, decoded) = pieces_of(reference, decoded);
        let counts = Item {
            column,
            entries: reference.entries.clone(),
            pieces,
            decoded,
            batches: item.batches.start..item.batches.start,
            locator: basket,
            survivors: None,
        };
        let at = self.plan.items.len();
        self.plan.items.push(counts);
        self.slots.push(Slot::default());
        self.source.counting.items.insert((column, basket), at);
        at
    }
}
