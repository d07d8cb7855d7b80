//! Entries of one table from several producers, in an order that does not depend on who is first.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use remote::{Error, ErrorKind, Result};
use rootfile::Array;
use rootfile::write::{FileWriter, TableId};

use super::flow::{Flow, FlowState};
use super::report::Counts;

/// Entries of one call.
type Extend = Vec<Arc<Array>>;

/// One part of a table's entries, for one producer. Dropped without [`TablePart::finish`] it ends
/// the file: entries would be missing.
pub struct TablePart {
    flow: Arc<Flow>,
    table: TableId,
    number: u64,
    is_finished: bool,
}

impl TablePart {
    /// # Errors
    /// `InvalidArgument` for a part that there is, or was.
    pub(super) fn begin(flow: &Arc<Flow>, table: TableId, number: u64) -> Result<Self> {
        let begun = flow.with(|state| state.parts.line(table).begin(number));
        match begun {
            true => Ok(TablePart { flow: flow.clone(), table, number, is_finished: false }),
            false => {
                let text = format!("part {number} of the table has been begun before");
                Err(Error::new(ErrorKind::InvalidArgument, text).with_url(flow.url()))
            }
        }
    }

    /// Adds entries behind those of this part and of all parts before it; waits as
    /// [`TableOutput::extend`](super::TableOutput::extend) does. While earlier parts lack entries
    /// these are held, and then counted in; where there is no room for them, it waits until the
    /// earlier parts are finished.
    ///
    /// # Errors
    /// As [`TableOutput::extend`](super::TableOutput::extend). Arrays of other types end the file
    /// where the part has to wait.
    pub async fn extend(&self, columns: Extend) -> Result<()> {
        let (table, number, bytes) = (self.table, self.number, bytes_of(&columns));
        self.flow
            .once(
                |state, memory| match state.parts.is_next(table, number) {
                    true => state.file.is_settled(Some(table)) && state.has_room(memory, bytes),
                    false => state.held_bytes() < memory,
                },
                |state| match state.parts.is_next(table, number) {
                    true => state.counts.extend(&mut state.file, table, columns),
                    false => {
                        state.parts.line(table).hold(number, columns);
                        Ok(())
                    }
                },
            )
            .await
    }

    /// There are no further entries in this part.
    ///
    /// # Errors
    /// Why the file cannot be written.
    pub async fn finish(mut self) -> Result<()> {
        self.is_finished = true;
        let (table, number) = (self.table, self.number);
        let finish = |state: &mut FlowState| {
            state.parts.line(table).finish(number);
            Ok(())
        };
        self.flow.once(|_, _| true, finish).await
    }
}

impl Drop for TablePart {
    fn drop(&mut self) {
        if !self.is_finished {
            let text = format!("part {} of a table was given up", self.number);
            self.flow.break_off(Error::new(ErrorKind::Cancelled, text));
        }
    }
}

/// The parts of all tables of a file.
#[derive(Default)]
pub struct Parts {
    lines: BTreeMap<TableId, Line>,
}

/// The parts of one table that are not finished, or whose turn has not come.
#[derive(Default)]
pub struct Line {
    /// The part whose turn it is.
    next: u64,
    parts: BTreeMap<u64, Part>,
}

#[derive(Default)]
struct Part {
    /// Entries that were given before the turn of their part.
    held: VecDeque<Extend>,
    is_finished: bool,
}

impl Parts {
    pub fn line(&mut self, table: TableId) -> &mut Line {
        self.lines.entry(table).or_default()
    }

    /// Whether entries of that part go into the table at once.
    pub fn is_next(&self, table: TableId, number: u64) -> bool {
        let line = self.lines.get(&table);
        line.filter(|line| line.next == number)
            .and_then(|line| line.parts.get(&number))
            .is_some_and(|part| part.held.is_empty())
    }

    /// Bytes of entries whose turn has not come.
    pub fn bytes(&self) -> usize {
        let held = self.lines.values().flat_map(|line| line.parts.values()).flat_map(|p| &p.held);
        held.map(|columns| bytes_of(columns)).sum()
    }

    /// Gives a table the next entries whose turn has come; whether there were any.
    pub fn advance(
        &mut self,
        file: &mut FileWriter,
        counts: &mut Counts,
    ) -> rootfile::Result<bool> {
        for (table, line) in &mut self.lines {
            while let Some(part) = line.parts.get_mut(&line.next) {
                if !part.held.is_empty() && file.is_settled(Some(*table)) {
                    let columns = part.held.pop_front().unwrap_or_default();
                    counts.extend(file, *table, columns)?;
                    return Ok(true);
                }
                if !part.held.is_empty() || !part.is_finished {
                    break;
                }
                line.parts.remove(&line.next);
                line.next += 1;
            }
        }
        Ok(false)
    }

    /// # Errors
    /// `Unsupported` with the first part that is lacking.
    pub fn check_finished(&self, tables: &[(TableId, String)]) -> rootfile::Result<()> {
        let Some((table, line)) = self.lines.iter().find(|(_, line)| !line.parts.is_empty()) else {
            return Ok(());
        };
        let path = tables.iter().find(|(known, _)| known == table).map_or("", |(_, path)| path);
        let text = format!("a file without part {} of \"{path}\"", line.next);
        Err(rootfile::Error::unsupported(text))
    }
}

impl Line {
    fn begin(&mut self, number: u64) -> bool {
        let is_new = number >= self.next && !self.parts.contains_key(&number);
        if is_new {
            self.parts.insert(number, Part::default());
        }
        is_new
    }

    fn hold(&mut self, number: u64, columns: Extend) {
        self.parts.entry(number).or_default().held.push_back(columns);
    }

    fn finish(&mut self, number: u64) {
        self.parts.entry(number).or_default().is_finished = true;
    }
}

impl Counts {
    /// Adds entries to a table, and to the counts.
    pub fn extend(
        &mut self,
        file: &mut FileWriter,
        table: TableId,
        columns: Extend,
    ) -> rootfile::Result<()> {
        let (before, bytes) = (file.table(table).entries(), bytes_of(&columns));
        file.extend(table, columns)?;
        self.entries += file.table(table).entries() - before;
        self.array_bytes += bytes as u64;
        Ok(())
    }
}

/// Bytes of all arrays together.
pub fn bytes_of(columns: &[Arc<Array>]) -> usize {
    columns.iter().map(|array| array.nbytes()).sum()
}
