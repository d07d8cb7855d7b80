//! What a cut decides: which items are read at all.
//!
//! Deciding columns are read ahead. Where all of them are here for a window of entries, the
//! predicate is called on a decoding thread, and what survives of the other columns is asked for
//! at once, long before the consumer comes to it: only the first window's decision is a wait that
//! nothing hides.
//!
//! The predicate may also be somebody else's, who reads other tables for it: then each window is told.
//!
//! Two kinds of items are not kept waiting for a decision: the first ones, as many bytes as the link
//! brings in the round trip that waiting takes, where that is little; and all, once nearly
//! everything has survived so far.

use std::ops::{Range, RangeInclusive};
use std::sync::Arc;

use rootfile::Array;

use super::item::State;
use super::{Decision, Pipeline, Work, stored};
use crate::error::Result;
use crate::located::Located;
use crate::read::core::columns::Batch;
use crate::read::core::cut;
use crate::read::core::decoders::AT_ONCE;
use crate::read::tree::plan::Plan;

/// Bytes of deciding columns asked for and not yet decided about, at least; on a link that holds
/// more, twice what it holds.
const UNDECIDED_BYTES: u64 = 8 << 20;
/// Bytes asked for before the first decision: what the link holds, but no less than a handful of
/// new connections bring in their first flight, and no more than may well be for nothing.
const UNSEEN_BYTES: RangeInclusive<u64> = 64 << 10..=1 << 20;
/// Where at least this part of all bytes has survived, waiting for a decision brings nothing.
const NEARLY_ALL: (u64, u64) = (31, 32);

pub struct Deciding {
    decision: Decision,
    /// Windows whose deciding items have been asked for: those before this one.
    asked: usize,
    /// Windows before this one are decided.
    decided: usize,
    /// Items that each window lacks to be decided.
    lacking: Vec<usize>,
    /// What each decided window has left.
    survivors: Vec<Option<Vec<Range<u64>>>>,
    /// Bytes of deciding items that were asked for and that some window still needs.
    undecided_bytes: u64,
    /// Bytes that may be asked for without a decision.
    unseen_bytes: u64,
    /// Bytes of the other items about which all is decided, and of those that are needed.
    seen: u64,
    kept: u64,
}

impl Deciding {
    pub fn new(decision: Decision, plan: &Plan, urgent: bool, pipe_bytes: u64) -> Self {
        let unseen_bytes =
            if urgent { pipe_bytes.clamp(*UNSEEN_BYTES.start(), *UNSEEN_BYTES.end()) } else { 0 };
        let decides = |at: &&usize| decision.columns.contains(&plan.items[**at].column);
        let lacking = plan.windows.iter().map(|window| window.items.iter().filter(decides).count());
        Deciding {
            lacking: lacking.collect(),
            decision,
            asked: 0,
            decided: 0,
            survivors: vec![None; plan.windows.len()],
            undecided_bytes: 0,
            unseen_bytes,
            seen: 0,
            kept: 0,
        }
    }

    pub fn decides(&self, column: usize) -> bool {
        self.decision.columns.contains(&column)
    }
}

impl Pipeline {
    /// Asks for the deciding columns of further windows.
    pub(super) fn ask_ahead(&mut self) {
        let pipe_bytes = self.job.remote.pipe_bytes();
        let bytes_max = UNDECIDED_BYTES.max(pipe_bytes.saturating_mul(2));
        while let Some(deciding) = &mut self.deciding {
            let window = deciding.asked;
            let needed = window <= deciding.decided + 1
                || (deciding.decision.predicate.is_some() && deciding.undecided_bytes < bytes_max);
            if window == self.plan.windows.len() || !needed {
                return;
            }
            deciding.asked += 1;
            let (first, others): (Vec<usize>, Vec<usize>) = self.plan.windows[window]
                .items
                .iter()
                .filter(|at| matches!(self.slots[**at].state, State::Idle))
                .partition(|at| deciding.decides(self.plan.items[**at].column));
            let bytes = |items: &[usize]| -> u64 {
                items.iter().map(|at| stored(&self.plan.items[*at])).sum()
            };
            deciding.undecided_bytes += bytes(&first);
            let unseen = bytes(&others);
            let little = unseen <= deciding.unseen_bytes;
            deciding.unseen_bytes = if little { deciding.unseen_bytes - unseen } else { 0 };
            let nearly_all =
                deciding.seen > 0 && deciding.kept / NEARLY_ALL.0 >= deciding.seen / NEARLY_ALL.1;
            let lacks_nothing =
                deciding.lacking[window] == 0 && deciding.decision.predicate.is_some();
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
        let Some(deciding) = &mut self.deciding else { return };
        let item = &self.plan.items[at];
        if !deciding.decides(item.column) {
            return;
        }
        let from = self.plan.windows.partition_point(|w| w.entries.end <= item.entries.start);
        let mut complete = Vec::new();
        for (number, window) in self.plan.windows.iter().enumerate().skip(from) {
            if window.entries.start >= item.entries.end {
                break;
            }
            deciding.lacking[number] -= 1;
            if deciding.lacking[number] == 0 && number < deciding.asked {
                complete.push(number);
            }
        }
        complete.into_iter().for_each(|window| self.decide(window));
    }

    /// Calls the predicate for a window.
    fn decide(&mut self, number: usize) {
        let Some(deciding) = &self.deciding else { return };
        let Some(predicate) = deciding.decision.predicate.clone() else { return };
        let window = &self.plan.windows[number];
        let entries = window.entries.clone();
        let mut columns = Vec::with_capacity(deciding.decision.columns.len());
        for column in &deciding.decision.columns {
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
            columns.push((self.job.columns[*column].clone(), parts));
        }
        let done = self.done.clone();
        let url = self.job.remote.url().to_owned();
        self.job.decoders.run(self.job.remote.tag(), AT_ONCE, move |_| {
            let join = || {
                let mut joined = Vec::with_capacity(columns.len());
                for (column, parts) in columns {
                    let slice = |(held, array): (Range<u64>, Arc<Array>)| {
                        let (from, to) = (entries.start.max(held.start), entries.end.min(held.end));
                        array.slice((from - held.start) as usize..(to - held.start) as usize)
                    };
                    let array =
                        Array::concat(parts.into_iter().map(slice).collect()).located(&*url)?;
                    let array = array.unwrap_or_else(|| column.interpretation.empty());
                    joined.push((column.name.clone(), array));
                }
                let (columns, left_out) = (joined, Vec::new());
                predicate.decide(Batch { entries, survivors: None, columns, left_out })
            };
            let _ = done.send(Work::Decided { window: number, mask: join() });
        });
    }

    /// The predicate has spoken.
    pub(super) fn hear(&mut self, number: usize, mask: &[bool]) -> Result<()> {
        let runs = cut::survivors(&self.plan.windows[number].entries, mask)?;
        self.settle(number, runs);
        Ok(())
    }

    /// Who decides elsewhere has told what is left of the next window.
    pub(super) fn told(&mut self, runs: Vec<Range<u64>>) {
        if let Some(number) = self.deciding.as_ref().map(|deciding| deciding.decided) {
            self.settle(number, runs);
        }
    }

    /// Whether somebody else has still to tell about some window.
    pub(super) fn listens(&self) -> bool {
        let of_others = |deciding: &Deciding| deciding.decision.predicate.is_none();
        self.deciding.as_ref().is_some_and(|deciding| {
            of_others(deciding) && deciding.decided < self.plan.windows.len()
        })
    }

    /// These runs of a window are left.
    fn settle(&mut self, number: usize, runs: Vec<Range<u64>>) {
        let Some(deciding) = &mut self.deciding else { return };
        let window = &self.plan.windows[number];
        let batch = window.batch;
        let (mut needed, mut gone) = (Vec::new(), Vec::new());
        for at in window.items.clone() {
            let item = &self.plan.items[at];
            let slot = &mut self.slots[at];
            slot.undecided -= 1;
            let shown = item.column < self.job.shown && self.refused.keeps(item.column);
            if shown
                && !slot.needed_by.contains(&batch)
                && cut::within(&runs, &item.entries).next().is_some()
            {
                slot.needed_by.push(batch);
                let coming = matches!(slot.state, State::Idle | State::Asked(_));
                self.absent[batch] += usize::from(coming);
                self.lacking[batch] +=
                    usize::from(!matches!(slot.state, State::Held(..) | State::Refused(_)));
                needed.push(at);
            }
            if slot.undecided == 0 {
                let (bytes, kept) = (stored(item), !slot.needed_by.is_empty());
                if deciding.decides(item.column) {
                    deciding.undecided_bytes -= bytes.min(deciding.undecided_bytes);
                } else {
                    deciding.seen += bytes;
                    deciding.kept += if kept { bytes } else { 0 };
                }
                if !kept {
                    gone.push(at);
                }
            }
        }
        deciding.survivors[number] = Some(runs);
        while deciding.survivors.get(deciding.decided).is_some_and(Option::is_some) {
            deciding.decided += 1;
        }
        self.ask(needed);
        gone.into_iter().for_each(|at| self.forget(at));
    }

    /// Nothing of an item has survived, or it has served to decide.
    fn forget(&mut self, at: usize) {
        let slot = &mut self.slots[at];
        match slot.state {
            // It comes to its end when decoded.
            State::Decoding => return,
            State::Asked(want) => self.wants.give_up(want..want + 1),
            _ => {}
        }
        slot.state = State::Gone;
        self.counted(at);
    }

    /// The windows of a batch.
    fn windows_of(&self, batch: usize) -> Range<usize> {
        let windows = &self.plan.windows;
        let first = windows.partition_point(|window| window.batch < batch);
        first..windows.partition_point(|window| window.batch <= batch)
    }

    pub(super) fn is_decided(&self, batch: usize) -> bool {
        let Some(deciding) = &self.deciding else { return true };
        self.windows_of(batch).end <= deciding.decided
    }

    /// What has survived of a batch, once; `None` where there is no cut.
    pub(super) fn survivors_of(&mut self, batch: usize) -> Option<Vec<Range<u64>>> {
        let windows = self.windows_of(batch);
        let deciding = self.deciding.as_mut()?;
        let mut survivors = Vec::new();
        for runs in &mut deciding.survivors[windows] {
            let runs = std::mem::take(runs).unwrap_or_default();
            runs.into_iter().for_each(|run| cut::add(&mut survivors, run));
        }
        Some(survivors)
    }
}
