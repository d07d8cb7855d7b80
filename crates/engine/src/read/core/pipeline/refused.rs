//! Items that cannot be read, and columns that only their data show to be unreadable.
//!
//! A list of a class that the file does not describe can be read as long as it is empty. Where the
//! caller did not name such a column, it is left out of the whole read: the first batch decides.
//! A batch that was handed out cannot be taken back, so a later one of which a column turns out to
//! be unreadable is an error, which names the column.

use super::Source;
use super::run::Pipeline;
use super::slot::State;
use crate::read::core::columns::{SkippedColumn, too_late};
use remote::{Error, Result};

impl<S: Source> Pipeline<S> {
    /// An item cannot be read, and its column may be left out.
    pub(super) fn refuse(&mut self, at: usize, error: Error) {
        self.counted(at);
        if matches!(self.slots[at].state, State::Gone) || self.is_forgotten(at) {
            self.slots[at].state = State::Gone;
            return;
        }
        self.slots[at].state = State::Refused(error);
        self.count_in(at);
    }

    /// An item cannot be read. Without a cut, and of the columns that decide one, that is an error
    /// of the read. Of another column it is one of the batches for which entries of the item
    /// survive: items are also read before that is known, and how many depends on the link.
    ///
    /// # Errors
    /// The error of the read.
    pub(super) fn fail(&mut self, at: usize, error: Error) -> Result<()> {
        let column = self.plan.items[at].column;
        let decides = self.undecided.as_ref().is_none_or(|undecided| undecided.decides(column));
        if decides {
            return Err(error);
        }
        self.counted(at);
        // Without the counts in it they cannot be decoded.
        let dependents = std::mem::take(&mut self.slots[at].dependents);
        let is_needless = self.is_dropped(at) || self.is_forgotten(at);
        if matches!(self.slots[at].state, State::Gone) || is_needless && dependents.is_empty() {
            self.slots[at].state = State::Gone;
            return Ok(());
        }
        self.slots[at].state = State::Failed(error.clone());
        self.count_in(at);
        for dependent in dependents {
            if matches!(self.slots[dependent].state, State::Idle | State::Asked(_)) {
                self.give_up(dependent);
                for batch in &self.slots[dependent].needed_by {
                    self.absent[*batch] -= 1;
                }
            }
            self.fail(dependent, error.clone())?;
        }
        Ok(())
    }

    /// That all items which a batch needs could be read.
    ///
    /// # Errors
    /// That of the first of them that could not.
    pub(super) fn check_failed(&self, batch: usize) -> Result<()> {
        let items = self.plan.batches[batch].items.iter();
        let needed = items.filter(|at| self.slots[**at].needed_by.contains(&batch));
        let failed = needed.filter_map(|at| match &self.slots[*at].state {
            State::Failed(error) => Some((at, error)),
            _ => None,
        });
        let place = |(at, _): &(&usize, &Error)| {
            let item = &self.plan.items[**at];
            (item.column, item.entries.start)
        };
        failed.min_by_key(place).map_or(Ok(()), |(_, error)| Err(error.clone()))
    }

    /// Decides, with the first batch, which columns are left out.
    ///
    /// # Errors
    /// That of a column of a later batch.
    pub(super) fn leave_out(&mut self, batch: usize) -> Result<()> {
        let mut found: Vec<SkippedColumn> = Vec::new();
        for at in &self.plan.batches[batch].items {
            let column = self.plan.items[*at].column;
            let slot = &self.slots[*at];
            let new = column < self.job.shown
                && !self.left_out.has(column)
                && found.iter().all(|other| other.position != column);
            if let State::Refused(error) = &slot.state
                && new
                && slot.needed_by.contains(&batch)
            {
                let name = self.source.name(column).to_owned();
                found.push(SkippedColumn { position: column, column: name, error: error.clone() });
            }
        }
        found.sort_by_key(|column| column.position);
        if self.left_out.columns.is_none() {
            found.iter().for_each(|column| self.drop_column(column.position));
            self.left_out.columns = Some(found);
            return Ok(());
        }
        found.into_iter().next().map_or(Ok(()), |column| Err(too_late(column.error)))
    }

    /// Nothing more of a column is waited for.
    fn drop_column(&mut self, column: usize) {
        for at in 0..self.plan.items.len() {
            if self.plan.items[at].column != column {
                continue;
            }
            self.give_up(at);
            let slot = &mut self.slots[at];
            let (coming, lacking) = match &slot.state {
                State::Idle | State::Asked(_) => (true, true),
                State::Parked(..) | State::Decoding => (false, true),
                State::Held(..)
                | State::Put(_)
                | State::Refused(_)
                | State::Failed(_)
                | State::Gone => (false, false),
            };
            for batch in std::mem::take(&mut slot.needed_by) {
                self.absent[batch] -= usize::from(coming);
                self.lacking[batch] -= usize::from(lacking);
            }
            slot.state = State::Gone;
            self.counted(at);
        }
    }
}
