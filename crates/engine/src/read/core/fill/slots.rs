//! Where decoded baskets are put: straight into the arrays that are handed out, unless a cut has
//! still to decide what of them is.
//!
//! Files are read forwards, so nearly every basket is decoded right behind the one before it in
//! its column, and nothing is copied. One that comes early is decoded into an array of its own and
//! appended when its turn comes, by whoever closes the gap.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use parking_lot::Mutex;
use rootfile::{Array, Result};

use super::filling::{Company, Filling};
use super::prefault::Helper;
use crate::read::core::columns::Column;
use crate::read::tree::plan::{Item, Plan};

/// What a file says of its size is believed up to so many times its stored bytes; beyond that,
/// arrays grow as they are filled.
const EXPANSION_TRUSTED: u64 = 32;

/// The arrays of the batches of one read that are being filled.
pub struct Assembly {
    /// By batch; one shelf a column.
    shelves: BTreeMap<usize, Vec<Arc<Shelf>>>,
    helper: Option<Helper>,
}

/// One column of one batch.
pub struct Shelf {
    state: Mutex<State>,
}

struct State {
    /// The first entry of the tree that is not yet in the array; of an RNTuple, the first part.
    next: u64,
    /// `None` while somebody fills it.
    column: Option<Filling>,
    /// What came early, by its first entry or part.
    early: BTreeMap<u64, (u64, Array)>,
}

/// Where some of a basket's entries go.
pub struct Place {
    pub shelf: Arc<Shelf>,
    /// In entries of the tree.
    pub entries: Range<u64>,
}

impl Assembly {
    /// No arrays yet; a `helper` makes their memory ready.
    pub fn new(helper: Option<Helper>) -> Self {
        Assembly { shelves: BTreeMap::new(), helper }
    }

    /// Where the entries of an item go, in order.
    pub fn places(&mut self, plan: &Plan, columns: &[Arc<Column>], item: &Item) -> Vec<Place> {
        let place = |batch: usize| {
            let new = || new_shelves(plan, columns, batch, self.helper.as_ref());
            let shelves = self.shelves.entry(batch).or_insert_with(new);
            let there = &plan.batches[batch].entries;
            let entries = item.entries.start.max(there.start)..item.entries.end.min(there.end);
            Place { shelf: shelves[item.column].clone(), entries }
        };
        item.batches.clone().map(place).collect()
    }

    /// The arrays of a batch all of whose items have been put, in the order of the columns: of
    /// those columns that are kept.
    pub fn take(
        &mut self,
        plan: &Plan,
        columns: &[Arc<Column>],
        batch: usize,
        kept: impl Fn(usize) -> bool,
    ) -> Result<Vec<(String, Array)>> {
        let shelves = self.shelves.remove(&batch);
        let shelves = shelves.unwrap_or_else(|| new_shelves(plan, columns, batch, None));
        let kept = shelves.iter().zip(columns).enumerate().filter(|(position, _)| kept(*position));
        kept.map(|(_, (shelf, column))| Ok((column.name.clone(), shelf.take()?))).collect()
    }
}

fn new_shelves(
    plan: &Plan,
    columns: &[Arc<Column>],
    batch: usize,
    helper: Option<&Helper>,
) -> Vec<Arc<Shelf>> {
    let batch = &plan.batches[batch];
    let mut rooms = vec![0u64; columns.len()];
    for item in batch.items.iter().map(|at| &plan.items[*at]) {
        let stored = item.range.as_ref().map_or(0, |range| range.end - range.start);
        let room = item.decoded.min(stored.saturating_mul(EXPANSION_TRUSTED));
        // Counts are items too, of columns that are not handed out.
        if let Some(sum) = rooms.get_mut(item.column) {
            *sum = sum.saturating_add(room);
        }
    }
    let entries = usize::try_from(batch.entries.end - batch.entries.start).unwrap_or(0);
    let company = Company::of(entries, helper);
    let shelf = |(column, room): (&Arc<Column>, u64)| {
        let mut array = column.interpretation.empty();
        let room = usize::try_from(room).unwrap_or(0);
        let is_list = matches!(array, Array::List { .. });
        let offsets = if is_list { entries.saturating_mul(size_of::<i64>()) } else { 0 };
        let shares = company.is_some() && is_list;
        array.reserve(if shares { 0 } else { entries.min(room) }, room.saturating_sub(offsets));
        let filling = Filling::new(array, company.as_ref(), helper);
        Arc::new(Shelf::new(batch.entries.start, filling))
    };
    columns.iter().zip(rooms).map(shelf).collect()
}

impl Shelf {
    /// A column whose entries, or parts, count from `first`.
    pub fn new(first: u64, column: Filling) -> Self {
        let state = State { next: first, column: Some(column), early: BTreeMap::new() };
        Shelf { state: Mutex::new(state) }
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
        fill: impl FnOnce(&mut Filling) -> Result<()>,
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
        let mut part = Filling::alone(own());
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

    /// Puts the column back, with what came early and now has its turn.
    fn close_gap(&self, mut column: Filling, mut next: u64) -> Result<()> {
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
            .map(Filling::whole)
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

    fn shelf() -> Shelf {
        Shelf::new(10, Filling::alone(numbers(&[])))
    }

    fn put(shelf: &Shelf, first: u64, values: &[u8]) -> usize {
        let entries = first..first + values.len() as u64;
        shelf.put(entries, || numbers(&[]), |column| column.append(&numbers(values))).unwrap()
    }

    #[test]
    fn entries_end_up_in_order_however_they_come() {
        let shelf = shelf();
        assert_eq!(put(&shelf, 14, &[4, 5]), 2);
        assert_eq!(put(&shelf, 12, &[2, 3]), 2);
        assert_eq!(put(&shelf, 10, &[0, 1]), 2);
        assert_eq!(put(&shelf, 16, &[6]), 1);
        assert_eq!(shelf.take().unwrap(), numbers(&[0, 1, 2, 3, 4, 5, 6]));
    }

    #[test]
    fn what_comes_while_another_is_being_put_is_appended_by_that_one() {
        let shelf = shelf();
        let fill = |column: &mut Filling| {
            put(&shelf, 11, &[1]);
            column.append(&numbers(&[0]))
        };
        assert_eq!(shelf.put(10..11, || unreachable!("it is its turn"), fill).unwrap(), 1);
        assert_eq!(shelf.take().unwrap(), numbers(&[0, 1]));
    }

    #[test]
    fn a_column_with_a_gap_is_an_error() {
        let shelf = shelf();
        put(&shelf, 11, &[1]);
        assert!(shelf.take().is_err());
    }
}
