//! Decisions of a cut: which items are read at all.
//!
//! Deciding columns are read ahead. Where all of them are here for a window of entries, the
//! predicate is called on a decoding thread, and the surviving entries of the other columns are
//! requested at once, long before the consumer comes to it: only the first window's decision is a
//! wait that nothing hides.
//!
//! The predicate may also be evaluated by a reader of other tables, which then sends the survivors
//! of each window.
//!
//! Two kinds of items are not kept waiting for a decision: the first ones, as many bytes as the
//! link brings in the round trip that waiting takes, where that is little; and all, once nearly
//! everything has survived so far.

use std::ops::Range;
use std::sync::Arc;

use rootfile::Array;

use super::Source;
use super::plan::Item;
use super::run::{Pipeline, Work};
use super::slot::{Slot, State};
use super::undecided::{NEARLY_ALL, UNDECIDED_BYTES, Undecided};
use crate::located::Located;
use crate::read::core::columns::Batch;
use crate::read::core::cut;
use crate::read::threads::decoders::{AT_ONCE, caught};
use remote::Result;

impl<S: Source> Pipeline<S> {
    /// Asks for the deciding columns of further windows.
    pub(super) fn ask_ahead(&mut self) {
        let pipe_bytes = self.job.remote.pipe_bytes();
        let bytes_max = UNDECIDED_BYTES.max(pipe_bytes.saturating_mul(2));
        while let Some(undecided) = &mut self.undecided {
            let window = undecided.asked;
            let needed = window <= undecided.decided + 1
                || (undecided.predicate.is_some() && undecided.undecided_bytes < bytes_max);
            if window == self.plan.windows.len() || !needed {
                return;
            }
            undecided.asked += 1;
            let (first, others): (Vec<usize>, Vec<usize>) = self.plan.windows[window]
                .items
                .iter()
                .filter(|at| matches!(self.slots[**at].state, State::Idle))
                .partition(|at| undecided.decides(self.plan.items[**at].column));
            let bytes = |items: &[usize]| -> u64 {
                items.iter().map(|at| self.plan.items[*at].stored()).sum()
            };
            undecided.undecided_bytes += bytes(&first);
            let unseen = bytes(&others);
            let little = unseen <= undecided.unseen_bytes;
            undecided.unseen_bytes = if little { undecided.unseen_bytes - unseen } else { 0 };
            let nearly_all = undecided.seen > 0
                && undecided.kept / NEARLY_ALL.0 >= undecided.seen / NEARLY_ALL.1;
            let lacks_nothing = undecided.lacking[window] == 0 && undecided.predicate.is_some();
            let mut items = first;
            if little || nearly_all {
                items.extend(others);
                items.sort_unstable();
            }
            self.ask(items);
            if lacks_nothing {
                self.decide(window);
            }
        }
    }

    /// A deciding item is decoded.
    pub(super) fn feed_windows(&mut self, at: usize) {
        let Some(undecided) = &mut self.undecided else { return };
        let item = &self.plan.items[at];
        if !undecided.decides(item.column) {
            return;
        }
        let from = self.plan.windows.partition_point(|w| w.entries.end <= item.entries.start);
        let mut complete = Vec::new();
        for (number, window) in self.plan.windows.iter().enumerate().skip(from) {
            if window.entries.start >= item.entries.end {
                break;
            }
            undecided.lacking[number] -= 1;
            if undecided.lacking[number] == 0 && number < undecided.asked {
                complete.push(number);
            }
        }
        complete.into_iter().for_each(|window| self.decide(window));
    }

    /// Calls the predicate for a window.
    fn decide(&mut self, number: usize) {
        let Some(undecided) = &self.undecided else { return };
        let Some(predicate) = undecided.predicate.clone() else { return };
        let window = &self.plan.windows[number];
        let entries = window.entries.clone();
        let mut columns = Vec::with_capacity(undecided.columns.len());
        for column in &undecided.columns {
            let mut parts: Vec<(Range<u64>, Arc<Array>)> = Vec::new();
            for at in &window.items {
                let item = &self.plan.items[*at];
                if let State::Held(array, _) = &self.slots[*at].state
                    && item.column == *column
                {
                    parts.push((item.entries.clone(), array.clone()));
                }
            }
            parts.sort_by_key(|(held, _)| held.start);
            let name = self.source.name(*column).to_owned();
            columns.push((name, self.source.empty(*column), parts));
        }
        let done = self.done.clone();
        let url = self.job.remote.url().to_owned();
        self.job.decoders.run(self.job.remote.tag(), AT_ONCE, move |_| {
            let join = || {
                let mut joined = Vec::with_capacity(columns.len());
                for (name, empty, parts) in columns {
                    let slice = |(held, array): (Range<u64>, Arc<Array>)| {
                        let from = entries.start.max(held.start);
                        let to = entries.end.min(held.end);
                        array.slice((from - held.start) as usize..(to - held.start) as usize)
                    };
                    let array =
                        Array::concat(parts.into_iter().map(slice).collect()).located(&*url)?;
                    joined.push((name, array.unwrap_or(empty)));
                }
                let columns = joined;
                let left_out = Vec::new();
                predicate.decide(Batch { entries, survivors: None, columns, left_out })
            };
            let mask = caught("the function of a cut", join);
            let _ = done.send(Work::Decided { window: number, mask });
        });
    }

    /// The predicate has spoken.
    pub(super) fn hear(&mut self, number: usize, mask: &[bool]) -> Result<()> {
        let runs = cut::survivors(&self.plan.windows[number].entries, mask)?;
        self.settle(number, runs)
    }

    /// Takes in the entries of the next window that a cut decided elsewhere has left.
    pub(super) fn take_survivors(&mut self, runs: Vec<Range<u64>>) -> Result<()> {
        let next = self.undecided.as_ref().map(|undecided| undecided.decided);
        next.map_or(Ok(()), |number| self.settle(number, runs))
    }

    /// Whether survivors of some window are still to be received.
    pub(super) fn listens(&self) -> bool {
        let of_others = |undecided: &Undecided| undecided.predicate.is_none();
        self.undecided.as_ref().is_some_and(|undecided| {
            of_others(undecided) && undecided.decided < self.plan.windows.len()
        })
    }

    /// These runs of a window are left.
    fn settle(&mut self, number: usize, runs: Vec<Range<u64>>) -> Result<()> {
        let Some(undecided) = &mut self.undecided else { return Ok(()) };
        let window = &self.plan.windows[number];
        let batch = window.batch;
        let mut needed = Vec::new();
        let mut gone = Vec::new();
        for at in window.items.clone() {
            let item = &self.plan.items[at];
            let slot = &mut self.slots[at];
            slot.undecided -= 1;
            let shown = item.column < self.job.shown && !self.left_out.has(item.column);
            if shown
                && !slot.needed_by.contains(&batch)
                && cut::within(&runs, &item.entries).next().is_some()
            {
                slot.needed_by.push(batch);
                let coming = matches!(slot.state, State::Idle | State::Asked(_));
                self.absent[batch] += usize::from(coming);
                self.lacking[batch] += usize::from(!slot.state.is_settled());
                needed.push(at);
            }
            if slot.undecided == 0 {
                let bytes = item.stored();
                let kept = !slot.needed_by.is_empty();
                if undecided.decides(item.column) {
                    undecided.undecided_bytes -= bytes.min(undecided.undecided_bytes);
                } else {
                    undecided.seen += bytes;
                    undecided.kept += if kept { bytes } else { 0 };
                }
                if !kept {
                    gone.push(at);
                }
            }
        }
        undecided.survivors[number] = Some(runs);
        let mut planned = Vec::new();
        while let Some(Some(runs)) = undecided.survivors.get(undecided.decided) {
            let until = self.plan.windows[undecided.decided].entries.end;
            planned.extend(self.source.plan_survivors(until, runs)?);
            undecided.decided += 1;
        }
        needed.extend(planned.into_iter().map(|item| self.add(item)));
        self.ask(needed);
        gone.into_iter().for_each(|at| self.forget(at));
        Ok(())
    }

    /// Adds an item that its batches need to the plan.
    fn add(&mut self, item: Item<S::Locator>) -> usize {
        let at = self.plan.items.len();
        for batch in item.batches.clone() {
            self.plan.batches[batch].items.push(at);
            self.absent[batch] += 1;
            self.lacking[batch] += 1;
        }
        self.slots.push(Slot { needed_by: item.batches.clone().collect(), ..Slot::default() });
        self.plan.items.push(item);
        at
    }

    /// Nothing of an item has survived, or it has served to decide.
    fn forget(&mut self, at: usize) {
        // It comes to its end when decoded.
        if matches!(self.slots[at].state, State::Decoding) {
            return;
        }
        self.give_up(at);
        self.slots[at].state = State::Gone;
        self.counted(at);
    }

    pub(super) fn is_decided(&self, batch: usize) -> bool {
        let Some(undecided) = &self.undecided else { return true };
        self.plan.windows_of(batch).end <= undecided.decided
    }

    /// The surviving entries of a batch, once; `None` where there is no cut.
    pub(super) fn survivors_of(&mut self, batch: usize) -> Option<Vec<Range<u64>>> {
        let windows = self.plan.windows_of(batch);
        let undecided = self.undecided.as_mut()?;
        let mut survivors = Vec::new();
        for runs in &mut undecided.survivors[windows] {
            let runs = std::mem::take(runs).unwrap_or_default();
            runs.into_iter().for_each(|run| cut::add(&mut survivors, run));
        }
        Some(survivors)
    }
}
