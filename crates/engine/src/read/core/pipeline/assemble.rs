//! Batches from decoded items.

use std::ops::Range;
use std::sync::Arc;

use rootfile::Array;

use super::Source;
use super::run::Pipeline;
use super::slot::State;
use crate::located::Located;
use crate::read::core::batches::{AccountedBatch, BatchSender};
use crate::read::core::columns::Batch;
use crate::read::core::cut;
use remote::Result;

impl<S: Source> Pipeline<S> {
    pub(super) fn batch(&mut self, number: usize, output: &BatchSender) -> Result<AccountedBatch> {
        self.leave_out(number)?;
        self.check_failed(number)?;
        let entries = self.plan.batches[number].entries.clone();
        let survivors = self.survivors_of(number);
        let items = std::mem::take(&mut self.plan.batches[number].items);
        let columns = match self.undecided.is_some() && !S::PLANS_SURVIVORS {
            true => self.join(number, &items, &entries, survivors.as_deref())?,
            false => {
                let shown = (0..self.job.shown).filter(|column| !self.left_out.has(*column));
                self.assembly
                    .take(&self.plan, &self.source, self.job.shown, number, shown)
                    .located(self.job.remote.url())?
            }
        };
        let left_out = self.left_out.all();
        let batch = Batch { entries, survivors, columns, left_out };
        // It counts as handed out before the memory of its items ceases to count.
        let accounted = output.accounted(batch);
        for at in items {
            if self.plan.items[at].batches.end == number + 1 && self.slots[at].dependents.is_empty()
            {
                self.slots[at].state = State::Gone;
            }
        }
        Ok(accounted)
    }

    /// The surviving entries of the items of a batch, column by column.
    fn join(
        &mut self,
        number: usize,
        items: &[usize],
        entries: &Range<u64>,
        survivors: Option<&[Range<u64>]>,
    ) -> Result<Vec<(String, Array)>> {
        let mut by_column: Vec<Vec<usize>> = vec![Vec::new(); self.job.shown];
        for at in items {
            let column = self.plan.items[*at].column;
            if column < self.job.shown && self.slots[*at].needed_by.contains(&number) {
                by_column[column].push(*at);
            }
        }
        let mut columns = Vec::with_capacity(by_column.len());
        for (position, mut items) in by_column.into_iter().enumerate() {
            if self.left_out.has(position) {
                continue;
            }
            items.sort_by_key(|at| self.plan.items[*at].entries.start);
            let mut parts = Vec::with_capacity(items.len());
            for at in items {
                parts.extend(self.part(at, number, entries, survivors));
            }
            let array = Array::concat(parts)
                .located(self.job.remote.url())?
                .unwrap_or_else(|| self.source.empty(position));
            columns.push((self.source.name(position).to_owned(), array));
        }
        Ok(columns)
    }

    /// The share of an item in a batch; the last batch that needs an item takes it away.
    fn part(
        &mut self,
        at: usize,
        number: usize,
        entries: &Range<u64>,
        survivors: Option<&[Range<u64>]>,
    ) -> Option<Array> {
        let item = &self.plan.items[at];
        let wanted = entries.start.max(item.entries.start)..entries.end.min(item.entries.end);
        let local = |run: Range<u64>| {
            (run.start - item.entries.start) as usize..(run.end - item.entries.start) as usize
        };
        let runs: Vec<Range<usize>> = match survivors {
            Some(survivors) => cut::within(survivors, &wanted).map(local).collect(),
            None => vec![local(wanted)],
        };
        let whole = runs == [local(item.entries.clone())];
        let last = item.batches.end == number + 1;
        let slot = &mut self.slots[at];
        if whole && last && slot.dependents.is_empty() {
            let State::Held(array, _share) = std::mem::take(&mut slot.state) else { return None };
            slot.state = State::Gone;
            return Some(Arc::try_unwrap(array).unwrap_or_else(|shared| shared.gather(&runs)));
        }
        match &slot.state {
            State::Held(array, _) => Some(array.gather(&runs)),
            _ => None,
        }
    }
}
