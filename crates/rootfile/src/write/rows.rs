//! Entries of a table that wait until they are encoded: the caller's arrays, by reference.
//!
//! Small arrays are copied together, so that a caller who adds entries one by one costs as much
//! memory as one who adds them all at once, and no more time for each.

use std::collections::VecDeque;
use std::ops::{Range, RangeInclusive};
use std::sync::Arc;

use super::schema::TableColumn;
use crate::array::Array;
use crate::error::{Error, Result};

/// Arrays of fewer bytes a column are copied together; those of all columns are within the range.
const COLUMN_LEN_MIN: usize = 16 << 10;
const PART_LEN_MIN: RangeInclusive<usize> = 1 << 20..=16 << 20;

/// The entries, in parts as they were added.
#[derive(Debug)]
pub struct Rows {
    columns: Vec<TableColumn>,
    parts: VecDeque<Part>,
    /// The last entries, where they were too few to be a part.
    tail: Tail,
    /// Entries that were added, those that have been dropped included.
    end: u64,
    /// Bytes of all that is there.
    bytes: usize,
}

/// Entries that were added together.
#[derive(Debug)]
struct Part {
    first: u64,
    entries: usize,
    /// Entries that have not been dropped, and their bytes.
    kept: usize,
    bytes: usize,
    columns: Vec<Arc<Array>>,
}

#[derive(Debug, Default)]
struct Tail {
    entries: usize,
    bytes: usize,
    columns: Vec<Array>,
}

/// A run of entries of one column.
#[derive(Debug, Clone, Default)]
pub struct ColumnRun {
    pub pieces: Vec<Piece>,
}

/// Some entries of an array.
#[derive(Debug, Clone)]
pub struct Piece {
    pub array: Arc<Array>,
    pub entries: Range<usize>,
}

impl Rows {
    /// No entries of those columns.
    pub fn new(columns: Vec<TableColumn>) -> Self {
        Rows { columns, parts: VecDeque::new(), tail: Tail::default(), end: 0, bytes: 0 }
    }

    pub fn columns(&self) -> &[TableColumn] {
        &self.columns
    }

    /// Takes entries: an array a column.
    ///
    /// # Errors
    /// `Unsupported` for arrays of other types or lengths, `Corrupt` for offsets that do not
    /// ascend within the content; nothing is then taken.
    pub fn push(&mut self, columns: Vec<Arc<Array>>) -> Result<()> {
        let entries = self.check(&columns)?;
        self.push_checked(columns, entries)
    }

    /// The same of so many entries that [`Rows::check`] has found to be right.
    ///
    /// # Errors
    /// As [`Rows::push`].
    pub fn push_checked(&mut self, columns: Vec<Arc<Array>>, entries: usize) -> Result<()> {
        if entries == 0 {
            return Ok(());
        }
        let bytes: usize = columns.iter().map(|array| array.nbytes()).sum();
        let part_len_min = COLUMN_LEN_MIN * columns.len();
        let part_len_min = part_len_min.clamp(*PART_LEN_MIN.start(), *PART_LEN_MIN.end());
        self.bytes += bytes;
        if bytes < part_len_min {
            self.tail.add(&columns, entries, bytes)?;
            self.end += entries as u64;
            if self.tail.bytes >= part_len_min {
                self.seal();
            }
            return Ok(());
        }
        self.seal();
        self.parts.push_back(Part { first: self.end, entries, kept: entries, bytes, columns });
        self.end += entries as u64;
        Ok(())
    }

    /// Entries of all arrays.
    ///
    /// # Errors
    /// As [`Rows::push`].
    pub fn check(&self, arrays: &[Arc<Array>]) -> Result<usize> {
        if arrays.len() != self.columns.len() {
            let there = arrays.len();
            let wanted = self.columns.len();
            return Err(Error::unsupported(format!("{there} arrays for {wanted} columns")));
        }
        let entries = arrays.first().map_or(0, |array| array.len());
        for (array, column) in arrays.iter().zip(&self.columns) {
            let len = array.len();
            let first = &self.columns[0].name;
            let checked = match len == entries {
                true => column.entry.check(array).and_then(|()| check_content(array)),
                false => Err(Error::unsupported(format!("{len} entries, {first} has {entries}"))),
            };
            checked.map_err(|error| error.within(&column.name))?;
        }
        Ok(entries)
    }

    /// Makes a part of the tail.
    fn seal(&mut self) {
        let Tail { entries, bytes, columns } = std::mem::take(&mut self.tail);
        if entries > 0 {
            let columns = columns.into_iter().map(Arc::new).collect();
            let first = self.end - entries as u64;
            self.parts.push_back(Part { first, entries, kept: entries, bytes, columns });
        }
    }

    /// A run of entries of a column.
    ///
    /// # Panics
    /// Where they have been dropped, or not been added.
    pub fn run(&mut self, column: usize, entries: Range<u64>) -> ColumnRun {
        if entries.end > self.end - self.tail.entries as u64 {
            self.seal();
        }
        assert!(self.first() <= entries.start && entries.end <= self.end, "entries out of range");
        let from =
            self.parts.partition_point(|part| part.first + part.entries as u64 <= entries.start);
        let parts = self.parts.range(from..).take_while(|part| part.first < entries.end);
        let pieces = parts.map(|part| {
            let within = |entry: u64| entry.saturating_sub(part.first).min(part.entries as u64);
            let entries = within(entries.start) as usize..within(entries.end) as usize;
            Piece { array: part.columns[column].clone(), entries }
        });
        ColumnRun { pieces: pieces.collect() }
    }

    /// Forgets entries in front of this one. Arrays go when none of their entries are left.
    pub fn drop_before(&mut self, entry: u64) {
        while self.parts.front().is_some_and(|part| part.first + part.entries as u64 <= entry) {
            self.bytes -= self.parts.pop_front().map_or(0, |part| part.bytes);
        }
        if let Some(part) = self.parts.front_mut() {
            // The bytes that are left are in proportion to the entries that are left.
            let kept = part.kept.min((part.first + part.entries as u64 - entry) as usize);
            let bytes = (part.bytes as u128 * kept as u128 / part.kept.max(1) as u128) as usize;
            self.bytes -= part.bytes - bytes;
            (part.kept, part.bytes) = (kept, bytes);
        }
    }

    /// The first entry that is there; the end where there is none.
    pub fn first(&self) -> u64 {
        let tail = self.end - self.tail.entries as u64;
        self.parts.front().map_or(tail, |part| part.first)
    }

    /// Entries that were added.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Bytes of the entries that are there.
    pub fn held_bytes(&self) -> usize {
        self.bytes
    }
}

impl Tail {
    /// Adds a copy of the arrays, which have been checked.
    fn add(&mut self, columns: &[Arc<Array>], entries: usize, bytes: usize) -> Result<()> {
        if self.columns.is_empty() {
            self.columns = columns.iter().map(|array| plain(array)).collect();
        } else {
            for (all, more) in self.columns.iter_mut().zip(columns) {
                if is_plain(more) { all.append(more)? } else { all.append(&plain(more))? }
            }
        }
        self.entries += entries;
        self.bytes += bytes;
        Ok(())
    }
}

impl ColumnRun {
    /// How many entries.
    pub fn len(&self) -> usize {
        self.pieces.iter().map(|piece| piece.entries.len()).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Whether arrays of the same entries' type can be appended to this one.
fn is_plain(array: &Array) -> bool {
    match array {
        Array::Numbers { .. } | Array::Strings { .. } => true,
        Array::List { content, .. } | Array::Option { content, .. } => is_plain(content),
        Array::Record { class, fields, .. } => {
            class.is_none() && fields.iter().all(|(_, field)| is_plain(field))
        }
        Array::Regular { .. } | Array::WithParameter { .. } | Array::Union { .. } => false,
    }
}

/// A copy of the same entries in the one form that arrays of their type share: without classes and
/// meanings, and with dimensions of a fixed length in the shape of the numbers.
fn plain(array: &Array) -> Array {
    match array {
        Array::Numbers { .. } | Array::Strings { .. } | Array::Union { .. } => array.clone(),
        Array::List { offsets, content } => Array::List {
            offsets: offsets.to_vec().into(),
            content: Box::new(match offsets.last() {
                Some(end) if (*end as usize) < content.len() => {
                    plain(&content.slice(0..*end as usize))
                }
                _ => plain(content),
            }),
        },
        Array::Record { entries, fields, .. } => Array::Record {
            class: None,
            entries: *entries,
            fields: fields.iter().map(|(name, field)| (name.clone(), plain(field))).collect(),
        },
        Array::Regular { length, entries, content } => match plain(content) {
            Array::Numbers { numbers, mut shape } => {
                shape.insert(0, *length);
                Array::Numbers { numbers, shape }
            }
            content => {
                Array::Regular { length: *length, entries: *entries, content: Box::new(content) }
            }
        },
        Array::Option { index, content } => {
            Array::Option { index: index.clone(), content: Box::new(plain(content)) }
        }
        Array::WithParameter { content, .. } => plain(content),
    }
}

/// That offsets ascend, from zero, within the content, and that all parts of an entry are there.
fn check_content(array: &Array) -> Result<()> {
    let wrong = |fault: &str| Err(Error::corrupt(format!("an array whose {fault}")));
    let ascend = |offsets: &[i64], len: usize| {
        offsets.first() == Some(&0)
            && offsets.is_sorted()
            && offsets.last().is_some_and(|end| *end as usize <= len)
    };
    match array {
        Array::Numbers { numbers, shape } => {
            let width: usize = shape.iter().product();
            match width > 0 && numbers.len() % width == 0 {
                true => Ok(()),
                false => wrong("numbers are not a multiple of its shape"),
            }
        }
        Array::Strings { offsets, bytes } => match ascend(offsets, bytes.len()) {
            true => Ok(()),
            false => wrong("offsets do not ascend within its bytes"),
        },
        Array::List { offsets, content } => match ascend(offsets, content.len()) {
            true => check_content(content),
            false => wrong("offsets do not ascend within its content"),
        },
        Array::Record { entries, fields, .. } => {
            fields.iter().try_for_each(|(name, field)| match field.len() == *entries {
                true => check_content(field).map_err(|error| error.within(name)),
                false => wrong("fields are of different lengths"),
            })
        }
        Array::Regular { length, entries, content } => {
            match length.checked_mul(*entries) == Some(content.len()) {
                true => check_content(content),
                false => wrong("content is not of its length"),
            }
        }
        Array::Option { index, content } => {
            match index.iter().all(|at| *at < 0 || (*at as usize) < content.len()) {
                true => check_content(content),
                false => wrong("index is beyond its content"),
            }
        }
        Array::WithParameter { content, .. } => check_content(content),
        Array::Union { .. } => wrong("values are of several types"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::{ArrayParameter, Numbers};
    use crate::write::schema::EntryType;

    /// Lists of `0, 1, 2, 0, 1, 2, …` numbers, which count up.
    fn lists(entries: Range<i32>) -> Array {
        let numbers = entries.clone().flat_map(|n| (0..n % 3).map(move |i| n * 10 + i)).collect();
        let ends = entries.scan(0, |end, n| {
            *end += i64::from(n % 3);
            Some(*end)
        });
        let content = Array::Numbers { numbers: Numbers::I32(numbers), shape: vec![] };
        let offsets: Vec<i64> = std::iter::once(0).chain(ends).collect();
        Array::List { offsets: offsets.into(), content: Box::new(content) }
    }

    fn rows() -> Rows {
        let entry = EntryType::of(&lists(0..3)).unwrap();
        Rows::new(vec![TableColumn { name: "x".into(), title: String::new(), entry }])
    }

    fn joined(run: &ColumnRun) -> Array {
        let parts = run.pieces.iter().map(|piece| piece.array.slice(piece.entries.clone()));
        Array::concat(parts.collect()).unwrap().unwrap()
    }

    #[test]
    fn runs_are_the_same_however_entries_were_added() {
        for step in [1, 7, 5000, 20_000] {
            let mut rows = rows();
            for first in (0..20_000).step_by(step) {
                let last = (first + step as i32).min(20_000);
                rows.push(vec![Arc::new(lists(first..last))]).unwrap();
            }
            assert_eq!((rows.first(), rows.end()), (0, 20_000));
            assert!(rows.parts.len() < 100, "small arrays are copied together");
            for run in [0..20_000, 4999..5001, 3..4, 15_000..20_000] {
                let wanted = lists(0..20_000).slice(run.start..run.end);
                assert_eq!(joined(&rows.run(0, run.start as u64..run.end as u64)), wanted);
            }
            let held = rows.held_bytes();
            rows.drop_before(15_000);
            assert!(rows.held_bytes() < held / 3 && rows.held_bytes() > held / 5);
            rows.drop_before(20_000);
            assert_eq!((rows.first(), rows.held_bytes()), (20_000, 0));
        }
    }

    #[test]
    fn what_an_array_means_does_not_matter() {
        let mut rows = rows();
        rows.push(vec![Arc::new(lists(0..3).with_parameter(ArrayParameter::Set))]).unwrap();
        rows.push(vec![Arc::new(lists(3..6))]).unwrap();
        assert_eq!(joined(&rows.run(0, 0..6)), lists(0..6));
    }

    #[test]
    fn arrays_that_contradict_themselves_are_refused() {
        let content =
            || Box::new(Array::Numbers { numbers: Numbers::I32(vec![1; 3]), shape: vec![] });
        let mut rows = rows();
        for offsets in [vec![], vec![0, 4], vec![1, 3], vec![0, 3, 2], vec![-1, 3]] {
            let array = Array::List { offsets: offsets.clone().into(), content: content() };
            if !offsets.is_empty() {
                assert!(rows.push(vec![Arc::new(array)]).is_err(), "{offsets:?}");
            }
        }
        assert!(rows.push(vec![]).is_err());
        assert!(rows.push(vec![Arc::new(*content())]).is_err());
        assert_eq!(rows.end(), 0);
    }
}
