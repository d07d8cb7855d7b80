//! Entries of one table from several producers, in an order that does not depend on who is first.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Bound::{Excluded, Unbounded};
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
        let begun = flow.with(|state| state.parts.begin(table, number));
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
        let table = self.table;
        let number = self.number;
        let bytes = bytes_of(&columns);
        self.flow
            .once(
                |state, memory| match state.parts.is_next(table, number) {
                    true => state.file.is_settled(Some(table)) && state.has_room(memory, bytes),
                    false => state.held_bytes() < memory,
                },
                |state| match state.parts.is_next(table, number) {
                    true => state.counts.extend(&mut state.file, table, columns),
                    false => {
                        state.parts.hold(table, number, columns);
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
        let table = self.table;
        let number = self.number;
        let finish = |state: &mut FlowState| {
            state.parts.finish(table, number);
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
    /// Those that can advance: no change goes over the others.
    ready: BTreeSet<TableId>,
    /// Bytes of all entries that are held.
    bytes: usize,
}

/// The parts of one table that are not finished, or whose turn has not come.
#[derive(Default)]
struct Line {
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
    /// Begins a part; `false` where it has been begun before.
    fn begin(&mut self, table: TableId, number: u64) -> bool {
        let line = self.lines.entry(table).or_default();
        let is_new = number >= line.next && !line.parts.contains_key(&number);
        if is_new {
            line.parts.insert(number, Part::default());
        }
        is_new
    }

    /// Takes entries whose turn has not come.
    fn hold(&mut self, table: TableId, number: u64, columns: Extend) {
        self.bytes += bytes_of(&columns);
        self.change(table, number, |part| part.held.push_back(columns));
    }

    fn finish(&mut self, table: TableId, number: u64) {
        self.change(table, number, |part| part.is_finished = true);
    }

    fn change(&mut self, table: TableId, number: u64, change: impl FnOnce(&mut Part)) {
        let line = self.lines.entry(table).or_default();
        change(line.parts.entry(number).or_default());
        if line.next == number {
            self.ready.insert(table);
        }
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
        self.bytes
    }

    /// Gives a table the next entries whose turn has come; whether there were any.
    pub fn advance(
        &mut self,
        file: &mut FileWriter,
        counts: &mut Counts,
    ) -> rootfile::Result<bool> {
        let mut from = self.ready.first().copied();
        while let Some(table) = from {
            let line = self.lines.entry(table).or_default();
            line.drop_finished();
            match line.parts.get_mut(&line.next) {
                Some(part) if !part.held.is_empty() => {
                    if file.is_settled(Some(table)) {
                        let columns = part.held.pop_front().unwrap_or_default();
                        self.bytes -= bytes_of(&columns);
                        counts.extend(file, table, columns)?;
                        return Ok(true);
                    }
                }
                _ => {
                    self.ready.remove(&table);
                }
            }
            from = self.ready.range((Excluded(table), Unbounded)).next().copied();
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
    /// Goes on to the first part that is not finished, or of which entries are held.
    fn drop_finished(&mut self) {
        let is_done = |part: &Part| part.held.is_empty() && part.is_finished;
        while self.parts.get(&self.next).is_some_and(is_done) {
            self.parts.remove(&self.next);
            self.next += 1;
        }
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
        let before = file.table(table).entries();
        let bytes = bytes_of(&columns);
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rootfile::Numbers;
    use rootfile::write::tree::{TreeOptions, TreeWriter};
    use rootfile::write::{Compression, DirectoryId, EntryType, FileOptions, TableColumn};

    use super::*;

    fn numbers(count: i32) -> Extend {
        let numbers = Numbers::I32((0..count).collect());
        vec![Arc::new(Array::Numbers { numbers, shape: vec![] })]
    }

    fn file(tables: usize) -> (FileWriter, Vec<TableId>) {
        let options = FileOptions {
            name: String::new(),
            title: String::new(),
            compression: Compression::NONE,
            uuid: 0,
            datime: 0,
        };
        let mut file = FileWriter::new(options).unwrap();
        let tables = (0..tables).map(|number| {
            let entry = EntryType::of(&numbers(0)[0]).unwrap();
            let column = TableColumn { name: "x".into(), title: String::new(), entry };
            let tree = TreeWriter::new(vec![column], TreeOptions::default()).unwrap();
            file.add_table(DirectoryId::TOP, &number.to_string(), Box::new(tree))
        });
        let tables = tables.collect();
        (file, tables)
    }

    /// Each change summed up the held bytes of all parts, and went over all tables that had some.
    #[test]
    fn only_tables_that_can_advance_are_looked_at() {
        let (mut file, tables) = file(100);
        let mut counts = Counts::begin(Duration::ZERO);
        let mut parts = Parts::default();
        for table in &tables {
            for number in [0, 2, 1] {
                assert!(parts.begin(*table, number) && !parts.begin(*table, number));
            }
            parts.hold(*table, 1, numbers(10));
            parts.hold(*table, 2, numbers(5));
            parts.hold(*table, 1, numbers(20));
            parts.finish(*table, 2);
        }
        assert!(parts.ready.is_empty());
        assert_eq!(parts.bytes(), 100 * 35 * 4);
        for (at, table) in tables.iter().enumerate() {
            parts.finish(*table, 0);
            assert!(parts.ready.iter().eq([table]));
            assert!(!parts.is_next(*table, 1), "entries of it are held");
            let mut entries = Vec::new();
            while parts.advance(&mut file, &mut counts).unwrap() {
                entries.push(file.table(*table).entries());
            }
            assert_eq!(entries, [10, 30]);
            assert!(parts.ready.is_empty() && parts.is_next(*table, 1));
            parts.finish(*table, 1);
            assert!(parts.advance(&mut file, &mut counts).unwrap());
            assert!(!parts.advance(&mut file, &mut counts).unwrap());
            assert!(parts.ready.is_empty() && parts.lines[table].parts.is_empty());
            assert_eq!(parts.bytes(), (99 - at) * 35 * 4);
        }
        assert!(parts.check_finished(&[]).is_ok());
    }
}
