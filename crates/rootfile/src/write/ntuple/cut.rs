//! Ends of clusters and pages: a matter of the entries alone.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use super::options::RNTupleOptions;
use super::schema::StoredColumn;
use super::way;
use super::work::{self, Chunk, PageRun};
use crate::array::Array;
use crate::error::Result;
use crate::write::rows::{ColumnRun, Rows};
use crate::write::schema::{EntryType, TableColumn};

/// Bytes of pages that one thread encodes at a time, about.
const RUN_LEN: usize = 4 << 20;
/// Bits between two marks, at least: callers add entries one by one.
const MARK_BITS: u64 = 1 << 19;

/// The entries that were added, and the columns made of them.
#[derive(Debug)]
pub(in crate::write) struct Cutter {
    types: Vec<ColumnType>,
    rows: Rows,
    columns: Vec<Arc<StoredColumn>>,
    /// First entry of the cluster that is open, and bits in front of it.
    start: Mark,
    /// After each time that entries came, but for few of them.
    marks: VecDeque<Mark>,
    /// Bits after which a cluster ends.
    cluster_bits: u64,
    /// Entries after which it ends instead.
    cluster_entries: Option<u64>,
    /// The entries behind which clusters end, where these do not follow from their bits.
    ends: Option<VecDeque<u64>>,
}

#[derive(Debug)]
struct ColumnType {
    name: String,
    entry: EntryType,
    /// Whether entries are stored as another type.
    changes: bool,
}

#[derive(Debug, Clone, Copy, Default)]
struct Mark {
    entry: u64,
    /// Of all elements in front of it.
    bits: u64,
}

impl Cutter {
    pub fn new(
        columns: Vec<TableColumn>,
        stored: Vec<Arc<StoredColumn>>,
        options: &RNTupleOptions,
    ) -> Self {
        let types = columns.iter().map(|TableColumn { name, entry, .. }| ColumnType {
            name: name.clone(),
            entry: entry.clone(),
            changes: way::listed(entry) != *entry,
        });
        let types = types.collect();
        let listed = columns
            .into_iter()
            .map(|column| TableColumn { entry: way::listed(&column.entry), ..column });
        Cutter {
            types,
            rows: Rows::new(listed.collect()),
            columns: stored,
            start: Mark::default(),
            marks: VecDeque::new(),
            cluster_bits: options.cluster_bytes.max(1).saturating_mul(8),
            cluster_entries: options.cluster_entries.map(|entries| entries.max(1)),
            ends: None,
        }
    }

    /// The columns that are made of them.
    pub fn stored(&self) -> &[Arc<StoredColumn>] {
        &self.columns
    }

    /// Stores the columns in another way, before there are entries.
    pub fn set_stored(&mut self, columns: Vec<Arc<StoredColumn>>) {
        self.columns = columns;
    }

    /// Ends clusters behind these entries only.
    pub fn set_ends(&mut self, ends: VecDeque<u64>) {
        self.ends = Some(ends);
    }

    /// Takes entries.
    ///
    /// # Errors
    /// As [`Rows::push`]; nothing is then taken.
    pub fn push(&mut self, arrays: Vec<Arc<Array>>) -> Result<()> {
        let mut listed = Vec::with_capacity(arrays.len());
        for (at, array) in arrays.into_iter().enumerate() {
            let Some(ColumnType { name, entry, changes }) = self.types.get(at) else {
                listed.push(array);
                continue;
            };
            let changed = entry.check(&array).and_then(|()| match changes {
                true => way::with_lists(entry, &array).map(Arc::new),
                false => Ok(array),
            });
            listed.push(changed.map_err(|error| error.within(name))?);
        }
        let added = self.rows.check(&listed)?;
        let last = self.marks.back().unwrap_or(&self.start);
        let mut bits = last.bits;
        for column in &self.columns {
            let (_, range) = column.way.elements(&listed[column.top], 0..added)?;
            bits += range.len() as u64 * u64::from(column.bits);
        }
        self.rows.push_checked(listed, added)?;
        self.mark(Mark { entry: self.rows.end(), bits });
        Ok(())
    }

    /// Adds a mark, in place of the last one where that is close to the one before.
    fn mark(&mut self, mark: Mark) {
        let before = self.marks.len().checked_sub(2).map_or(self.start, |at| self.marks[at]);
        match self.marks.back_mut() {
            Some(last) if last.bits - before.bits < MARK_BITS => *last = mark,
            _ => self.marks.push_back(mark),
        }
    }

    /// The entries of the next cluster that is full; of a last one that is not, where no more come.
    pub fn next_cluster(&mut self, is_closed: bool) -> Result<Option<Range<u64>>> {
        if let Some(ends) = &mut self.ends {
            let there = self.rows.end();
            let Some(end) = ends.pop_front_if(|end| *end <= there) else { return Ok(None) };
            return Ok(Some(std::mem::replace(&mut self.start.entry, end)..end));
        }
        if let Some(entries) = self.cluster_entries {
            return self.next_of_entries(entries, is_closed);
        }
        let goal = self.start.bits.saturating_add(self.cluster_bits);
        if !is_closed && self.marks.back().is_none_or(|last| last.bits < goal) {
            return Ok(None);
        }
        let full = self.marks.partition_point(|mark| mark.bits < goal);
        let end = match self.marks.get(full) {
            Some(last) => {
                let front = full.checked_sub(1).map_or(self.start, |at| self.marks[at]);
                self.end_between(front, *last, goal)?
            }
            None if is_closed && self.rows.end() > self.start.entry => {
                *self.marks.back().unwrap_or(&self.start)
            }
            None => return Ok(None),
        };
        Ok(Some(self.end_at(end)))
    }

    /// The same for clusters of so many entries.
    fn next_of_entries(&mut self, entries: u64, is_closed: bool) -> Result<Option<Range<u64>>> {
        let first = self.start.entry;
        let there = self.rows.end();
        let full = first.saturating_add(entries);
        let entry = if is_closed { full.min(there) } else { full };
        if entry > there || entry == first {
            return Ok(None);
        }
        let bits = self.start.bits + self.bits(first..entry)?;
        Ok(Some(self.end_at(Mark { entry, bits })))
    }

    /// The entries of the open cluster, which ends there.
    fn end_at(&mut self, end: Mark) -> Range<u64> {
        let entries = self.start.entry..end.entry;
        self.start = end;
        while self.marks.front().is_some_and(|mark| mark.entry <= end.entry) {
            self.marks.pop_front();
        }
        entries
    }

    /// The first entry behind which there are as many bits.
    fn end_between(&mut self, front: Mark, last: Mark, goal: u64) -> Result<Mark> {
        let mut low = front.entry + 1;
        let mut high = last;
        while low < high.entry {
            let middle = low + (high.entry - low) / 2;
            let bits = front.bits + self.bits(front.entry..middle)?;
            if bits >= goal {
                high = Mark { entry: middle, bits };
            } else {
                low = middle + 1;
            }
        }
        Ok(high)
    }

    fn bits(&mut self, entries: Range<u64>) -> Result<u64> {
        let mut bits = 0;
        for column in &self.columns {
            for piece in self.rows.run(column.top, entries.clone()).pieces {
                let (_, range) = column.way.elements(&piece.array, piece.entries)?;
                bits += range.len() as u64 * u64::from(column.bits);
            }
        }
        Ok(bits)
    }

    /// The pages of a cluster, which is then forgotten.
    pub fn page_runs(
        &mut self,
        entries: Range<u64>,
        options: &RNTupleOptions,
    ) -> Result<Vec<PageRun>> {
        let mut runs = Vec::new();
        for (column, stored) in self.columns.iter().enumerate() {
            let entries = self.rows.run(stored.top, entries.clone());
            runs.extend(column_runs(column, stored, &entries, options)?);
        }
        self.rows.drop_before(entries.end);
        Ok(runs)
    }

    /// Entries that have come.
    pub fn entries(&self) -> u64 {
        self.rows.end()
    }

    /// Bytes of the entries that are in no cluster yet, as they will be stored.
    pub fn open_bytes(&self) -> usize {
        let last = self.marks.back().unwrap_or(&self.start);
        ((last.bits - self.start.bits) / 8) as usize
    }
}

/// The pages of a column in a cluster, in runs for one thread each.
///
/// # Errors
/// `Unsupported` where an array is of another type.
pub(in crate::write) fn column_runs(
    column: usize,
    stored: &Arc<StoredColumn>,
    entries: &ColumnRun,
    options: &RNTupleOptions,
) -> Result<Vec<PageRun>> {
    let chunks = chunks(stored, entries)?;
    let elements = chunks.iter().map(|chunk| chunk.len).sum();
    let page_bits = options.page_bytes.max(1).saturating_mul(8);
    let mut first = 0;
    let runs = pages(elements, usize::from(stored.bits), page_bits).into_iter().map(|pages| {
        let count = pages.iter().sum();
        let chunks = work::part(&chunks, first, count);
        first += count;
        PageRun {
            column,
            stored: stored.clone(),
            chunks,
            pages,
            compression: options.compression,
            is_trial: false,
            checksums: options.checksums,
        }
    });
    Ok(runs.collect())
}

/// The elements of a column in a cluster.
fn chunks(stored: &StoredColumn, run: &ColumnRun) -> Result<Vec<Chunk>> {
    let mut chunks = Vec::with_capacity(run.pieces.len());
    // Of lists, or of each alternative, in the cluster so far.
    let mut items: Vec<i64> = Vec::new();
    for piece in &run.pieces {
        let (elements, range) = stored.way.elements(&piece.array, piece.entries.clone())?;
        let offsets = elements.offsets();
        items.resize(offsets.len(), 0);
        let shifts = offsets.iter().zip(&mut items).map(|(offsets, items)| {
            let shift = *items - offsets[range.start];
            *items += offsets[range.end] - offsets[range.start];
            shift
        });
        let array = piece.array.clone();
        let shifts = shifts.collect();
        chunks.push(Chunk { array, start: range.start, len: range.len(), shifts });
    }
    Ok(chunks)
}

/// ElementsOf of each page, in runs of pages for one thread. Pages are about equally long.
fn pages(elements: usize, bits: usize, page_bits: usize) -> Vec<Vec<usize>> {
    let most = (page_bits / bits).clamp(1, i32::MAX as usize);
    let count = elements.div_ceil(most).max(1);
    let each = elements.div_ceil(count).max(1);
    let per_run = (RUN_LEN * 8 / (each * bits)).max(1);
    let pages: Vec<usize> =
        (0..elements).step_by(each).map(|first| each.min(elements - first)).collect();
    pages.chunks(per_run).map(<[usize]>::to_vec).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_page_is_much_shorter_than_the_others() {
        assert_eq!(pages(0, 32, 1 << 20), Vec::<Vec<usize>>::new());
        assert_eq!(pages(10, 32, 10 * 32), [[10]]);
        assert_eq!(pages(11, 32, 10 * 32), [[6, 5]]);
        assert_eq!(pages(3, 96, 8), [[1, 1, 1]]);
        let many = pages(10 << 20, 64, 8 << 20);
        assert_eq!(many.iter().map(Vec::len).sum::<usize>(), 80);
        assert!(many.len() >= 20 && many.iter().flatten().sum::<usize>() == 10 << 20);
    }
}
