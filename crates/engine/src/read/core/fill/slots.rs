//! Destinations of decoded baskets and pages: the arrays that are handed out, unless a cut has
//! still to decide which entries stay.
//!
//! Files are read forwards, so nearly every basket is decoded right behind the one before it in
//! its column, and nothing is copied. One that comes early is decoded into an array of its own and
//! appended when its turn comes, by the decoder that closes the gap.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use mutex::Mutex;
use rootfile::{Array, Result};

use super::builder::ColumnBuilder;

/// One column of one batch.
pub struct ColumnAssembler {
    state: Mutex<State>,
}

struct State {
    /// The first entry of the table that is not yet in the array, where there is no cut.
    next: u64,
    /// `None` while a decoder fills it.
    column: Option<ColumnBuilder>,
    /// Entries that were decoded early, by their position.
    early: BTreeMap<u64, (u64, Array)>,
}

/// Where some of an item's entries go.
pub struct Destination {
    pub assembler: Arc<ColumnAssembler>,
    /// Where they are in the column, counted as in [`ColumnAssembler::new`].
    pub position: Range<u64>,
    /// Which they are, in entries of the table; ascending.
    pub runs: Vec<Range<u64>>,
}

/// Puts those of the entries `decoded` that have a place there: `fill` appends them to the column
/// it is given, which is a new one from `own` unless all go to one place and those before them are
/// there. Returns the bytes that they take.
///
/// # Errors
/// Those of `fill`; the columns are then never complete.
pub fn put(
    destinations: &[Destination],
    decoded: &Range<u64>,
    own: impl Fn() -> Array,
    fill: impl FnOnce(&mut ColumnBuilder) -> Result<()>,
) -> Result<usize> {
    if let [Destination { assembler, position, runs }] = destinations
        && runs[..] == [decoded.clone()]
    {
        return assembler.put(position.clone(), own, fill);
    }
    let mut whole = ColumnBuilder::alone(own());
    fill(&mut whole)?;
    let whole = whole.whole();
    let index =
        |run: &Range<u64>| (run.start - decoded.start) as usize..(run.end - decoded.start) as usize;
    let mut nbytes = 0;
    for Destination { assembler, position, runs } in destinations {
        let share = whole.gather(&runs.iter().map(index).collect::<Vec<_>>());
        let own = || whole.empty_like();
        nbytes += assembler.put(position.clone(), own, |column| column.append(&share))?;
    }
    Ok(nbytes)
}

impl ColumnAssembler {
    /// A column whose entries count from `first`.
    pub fn new(first: u64, column: ColumnBuilder) -> Self {
        let state = State { next: first, column: Some(column), early: BTreeMap::new() };
        ColumnAssembler { state: Mutex::new(state) }
    }

    /// Puts the entries that `fill` appends to the column it is given, which is a new one from
    /// `own` where those before them are not there yet. Returns the bytes that they take.
    ///
    /// # Errors
    /// Those of `fill`; the column is then never complete.
    pub fn put(
        &self,
        entries: Range<u64>,
        own: impl FnOnce() -> Array,
        fill: impl FnOnce(&mut ColumnBuilder) -> Result<()>,
    ) -> Result<usize> {
        let mut state = self.state.lock();
        if state.next == entries.start
            && let Some(mut column) = state.column.take()
        {
            drop(state);
            let before = column.nbytes();
            fill(&mut column)?;
            let bytes = column.nbytes().saturating_sub(before);
            self.close_gap(column, entries.end)?;
            return Ok(bytes);
        }
        drop(state);
        let mut part = ColumnBuilder::alone(own());
        fill(&mut part)?;
        let bytes = part.nbytes();
        let mut state = self.state.lock();
        state.early.insert(entries.start, (entries.end, part.whole()));
        if let Some(column) = state.column.take() {
            let next = state.next;
            drop(state);
            self.close_gap(column, next)?;
        }
        Ok(bytes)
    }

    /// Puts the column back, with the early entries that now have their turn.
    fn close_gap(&self, mut column: ColumnBuilder, mut next: u64) -> Result<()> {
        loop {
            let mut state = self.state.lock();
            let Some((end, part)) = state.early.remove(&next) else {
                state.next = next;
                state.column = Some(column);
                return Ok(());
            };
            drop(state);
            column.append(&part)?;
            next = end;
        }
    }

    /// The array, once nothing is missing.
    ///
    /// # Errors
    /// `Corrupt` where something is.
    pub fn take(&self) -> Result<Array> {
        let mut state = self.state.lock();
        let whole = state.early.is_empty();
        let column = state.column.take().filter(|_| whole);
        column
            .map(ColumnBuilder::whole)
            .ok_or_else(|| rootfile::Error::corrupt("baskets of a column overlap"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rootfile::Numbers;

    fn numbers(numbers: &[u8]) -> Array {
        Array::Numbers { numbers: Numbers::U8(numbers.to_vec()), shape: Vec::new() }
    }

    fn assembler() -> ColumnAssembler {
        ColumnAssembler::new(10, ColumnBuilder::alone(numbers(&[])))
    }

    fn put(assembler: &ColumnAssembler, first: u64, values: &[u8]) -> usize {
        let entries = first..first + values.len() as u64;
        assembler.put(entries, || numbers(&[]), |column| column.append(&numbers(values))).unwrap()
    }

    #[test]
    fn entries_end_up_in_order_however_they_come() {
        let assembler = assembler();
        assert_eq!(put(&assembler, 14, &[4, 5]), 2);
        assert_eq!(put(&assembler, 12, &[2, 3]), 2);
        assert_eq!(put(&assembler, 10, &[0, 1]), 2);
        assert_eq!(put(&assembler, 16, &[6]), 1);
        assert_eq!(assembler.take().unwrap(), numbers(&[0, 1, 2, 3, 4, 5, 6]));
    }

    #[test]
    fn what_comes_while_another_is_being_put_is_appended_by_that_one() {
        let assembler = assembler();
        let fill = |column: &mut ColumnBuilder| {
            put(&assembler, 11, &[1]);
            column.append(&numbers(&[0]))
        };
        assert_eq!(assembler.put(10..11, || unreachable!("it is its turn"), fill).unwrap(), 1);
        assert_eq!(assembler.take().unwrap(), numbers(&[0, 1]));
    }

    #[test]
    fn a_column_with_a_gap_is_an_error() {
        let assembler = assembler();
        put(&assembler, 11, &[1]);
        assert!(assembler.take().is_err());
    }
}
