//! GrowthStages in which a table grows: each is written as a table of its own.

use std::collections::VecDeque;

use bytes::Bytes;

use crate::error::{Error, Result};
use crate::write::table::{Encoded, RecordPlace, TableWriter, Work};

/// Further entries of all columns, or further columns of all entries.
pub(super) struct GrowthStage<W> {
    pub writer: W,
    pub adds: Adds,
    is_closed: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Adds {
    Entries,
    Columns,
}

/// The stages of a table, in their order.
pub(super) struct GrowthStages<W> {
    pub all: Vec<GrowthStage<W>>,
    /// The stage that gives out work: those before it have no more.
    active: usize,
    /// The stages of the work that is out, in its order.
    owners: VecDeque<usize>,
}

impl<W: TableWriter> GrowthStages<W> {
    pub fn new() -> Self {
        GrowthStages { all: Vec::new(), active: 0, owners: VecDeque::new() }
    }

    /// Begins the next stage, after the last one was closed.
    pub fn begin(&mut self, writer: W, adds: Adds) -> &mut W {
        self.all.push(GrowthStage { writer, adds, is_closed: false });
        let last = self.all.len() - 1;
        &mut self.all[last].writer
    }

    /// The writer of further entries, if one has been begun that takes some.
    pub fn open(&mut self) -> Option<&mut W> {
        let last = self.all.last_mut()?;
        (last.adds == Adds::Entries && !last.is_closed).then_some(&mut last.writer)
    }

    pub fn close_last(&mut self) {
        if let Some(last) = self.all.last_mut() {
            last.is_closed = true;
            last.writer.close();
        }
    }

    /// Entries that have been added.
    pub fn entries(&self) -> u64 {
        entries_of(&self.all)
    }

    /// The same before the last stage.
    pub fn entries_before(&self) -> u64 {
        entries_of(self.all.split_last().map_or(&[][..], |(_, before)| before))
    }

    /// Whether nothing has been added.
    pub fn are_empty(&self) -> bool {
        self.all.iter().all(GrowthStage::is_empty)
    }

    pub fn poll_work(&mut self) -> Option<Work> {
        loop {
            let GrowthStage { writer, is_closed, .. } = self.all.get_mut(self.active)?;
            if let Some(work) = writer.poll_work() {
                self.owners.push_back(self.active);
                return Some(work);
            }
            if !*is_closed || writer.waits() || self.active + 1 == self.all.len() {
                return None;
            }
            self.active += 1;
        }
    }

    pub fn waits(&self) -> bool {
        self.all.get(self.active).is_some_and(|stage| stage.writer.waits())
    }

    pub fn place(&mut self, encoded: Encoded, place: RecordPlace) -> Result<Vec<Bytes>> {
        let owner = self.owners.pop_front();
        let owner = owner.and_then(|at| self.all.get_mut(at));
        let owner =
            owner.ok_or_else(|| Error::unsupported("the result of work that is not out"))?;
        owner.writer.place(encoded, place)
    }

    pub fn held_bytes(&self) -> usize {
        self.all.iter().map(|stage| stage.writer.held_bytes()).sum()
    }
}

impl<W: TableWriter> GrowthStage<W> {
    /// Whether it adds nothing.
    pub fn is_empty(&self) -> bool {
        self.adds == Adds::Entries && self.writer.entries() == 0
    }
}

fn entries_of<W: TableWriter>(stages: &[GrowthStage<W>]) -> u64 {
    let of_entries = stages.iter().filter(|stage| stage.adds == Adds::Entries);
    of_entries.map(|stage| stage.writer.entries()).sum()
}

/// That new columns have a value for each entry.
///
/// # Errors
/// `Unsupported` where the table has another number of entries.
pub(super) fn check_length(values: u64, entries: u64) -> Result<()> {
    match values == entries {
        true => Ok(()),
        false => {
            let message = format!("new columns of {values} entries, the table has {entries}");
            Err(Error::unsupported(message))
        }
    }
}
