//! A column that is being filled. Columns with lists of the same lengths share their offsets.
//!
//! Columns of lists often have the same lengths: those of one counter, the members of one
//! collection. The first to reach an entry adds its offset for all; those that follow verify that
//! they have the same, and write none. One that has others goes on alone. Which columns belong
//! together shows in their first lists: nothing that a file says of it is believed.

use std::ops::Range;
use std::sync::Arc;

use crate::read::threads::prefault::{PrefaultThread, Ready};
use mutex::Mutex;
use rootfile::array::{Offsets, agree};
use rootfile::tree::{Basket, Interpretation};
use rootfile::{Array, Result, memory};

/// Batches of fewer entries are not worth looking for columns to share offsets with.
const LISTS_MIN: usize = 4096;
/// Lists that have to be alike: fewer are by chance.
const ALIKE_MIN: usize = 256;
/// Different lengths that are kept for others to be compared with.
const SHARED_MAX: usize = 64;

/// The offsets that columns of one batch share.
pub struct SharedOffsetsPool {
    found: Mutex<Vec<Arc<SharedOffsets>>>,
    /// Lists of each column.
    lists: usize,
    prefault: Option<PrefaultThread>,
}

/// The offsets of some columns.
struct SharedOffsets {
    held: Mutex<Held>,
}

struct Held {
    /// Stops before the offsets go.
    ready: Ready,
    /// No other holder before the batch is complete.
    offsets: Arc<Vec<i64>>,
}

/// A column as far as it has been filled.
pub struct ColumnBuilder {
    /// Stops before the array goes.
    ready: Ready,
    array: Array,
    owner: OffsetsOwner,
    /// Lists whose offsets are not in the array.
    lists: usize,
    /// Bytes that it has added to the shared offsets.
    added: usize,
}

/// Where a column's offsets are.
enum OffsetsOwner {
    /// In the array.
    Own,
    /// It has none yet, and may find columns to share them with.
    Open(Arc<SharedOffsetsPool>),
    Shared(Arc<SharedOffsets>),
}

impl SharedOffsetsPool {
    /// For columns of so many entries; a `prefault` thread populates the memory of offsets.
    pub fn of(lists: usize, prefault: Option<&PrefaultThread>) -> Option<Arc<Self>> {
        let new =
            || SharedOffsetsPool { found: Mutex::default(), lists, prefault: prefault.cloned() };
        (lists >= LISTS_MIN).then(|| Arc::new(new()))
    }

    /// The offsets of lists like these, the first of a column, with these added; `None` where there
    /// are too many different ones.
    fn join(
        &self,
        lists: usize,
        mut agree: impl FnMut(&mut Vec<i64>) -> Result<bool>,
    ) -> Result<Option<Arc<SharedOffsets>>> {
        let mut found = self.found.lock();
        for shared in &*found {
            let mut held = shared.held.lock();
            let alike = lists.min(held.offsets.len() - 1);
            if alike >= ALIKE_MIN.min(self.lists) && held.agree(lists, &mut agree)? {
                drop(held);
                return Ok(Some(shared.clone()));
            }
        }
        if found.len() == SHARED_MAX {
            return Ok(None);
        }
        let mut offsets = Vec::new();
        // Only a hint: where there is no room, adding will say so.
        let _ = offsets.try_reserve(self.lists + 1);
        offsets.push(0);
        let ready = Ready::new(self.prefault.clone());
        let mut held = Held { ready, offsets: Arc::new(offsets) };
        if !held.agree(lists, &mut agree)? {
            return Ok(None);
        }
        let shared = Arc::new(SharedOffsets { held: Mutex::new(held) });
        found.push(shared.clone());
        Ok(Some(shared))
    }
}

impl Held {
    /// Whether so many lists are like these, some of which may have been added.
    fn agree(
        &mut self,
        lists: usize,
        agree: impl FnOnce(&mut Vec<i64>) -> Result<bool>,
    ) -> Result<bool> {
        let bytes = lists * size_of::<i64>();
        self.ready.stop();
        self.ready.make(spare(&self.offsets), bytes);
        // Offsets have other holders only in a complete batch, to which no column is added.
        let agreed = agree(Arc::make_mut(&mut self.offsets))?;
        self.ready.make_ahead(spare(&self.offsets), bytes);
        Ok(agreed)
    }
}

/// The addresses behind the offsets for which there is room.
fn spare(offsets: &Vec<i64>) -> Range<usize> {
    let first = offsets.as_ptr().addr();
    first + size_of_val(&offsets[..])..first + offsets.capacity() * size_of::<i64>()
}

impl SharedOffsets {
    /// The offsets of the first lists.
    fn of(&self, lists: usize) -> Offsets {
        let offsets = &self.held.lock().offsets;
        match offsets.get(..=lists) {
            Some(all) if all.len() == offsets.len() => Offsets::from(offsets.clone()),
            Some(first) => Offsets::from(first.to_vec()),
            None => Offsets::none(),
        }
    }
}

impl ColumnBuilder {
    /// A column on its own.
    pub fn alone(array: Array) -> Self {
        ColumnBuilder {
            array,
            owner: OffsetsOwner::Own,
            lists: 0,
            added: 0,
            ready: Ready::default(),
        }
    }

    /// A column without entries, which may share offsets with others.
    pub fn new(
        array: Array,
        pool: Option<&Arc<SharedOffsetsPool>>,
        prefault: Option<&PrefaultThread>,
    ) -> Self {
        let owner = match (&array, pool) {
            (Array::List { .. }, Some(pool)) => OffsetsOwner::Open(pool.clone()),
            _ => OffsetsOwner::Own,
        };
        let mut ready = Ready::new(prefault.cloned());
        ready.make_ahead(array.spare(), 1);
        ColumnBuilder { owner, ready, ..ColumnBuilder::alone(array) }
    }

    /// Bytes that it takes.
    pub fn nbytes(&self) -> usize {
        self.array.nbytes() + self.added
    }

    /// About so many bytes come next.
    pub fn expect(&mut self, bytes: usize) {
        self.ready.stop();
        self.ready.make(self.array.spare(), bytes);
    }

    /// About so many bytes come later.
    pub fn expect_later(&mut self, bytes: usize) {
        self.ready.make_ahead(self.array.spare(), bytes);
    }

    /// Appends some entries of a basket.
    pub fn decode(
        &mut self,
        interpretation: &Interpretation,
        basket: &Basket<'_>,
        entries: Range<usize>,
    ) -> Result<()> {
        let bytes = basket.data.len();
        self.check_growth(bytes)?;
        self.expect(bytes);
        self.add(interpretation, basket, entries)?;
        self.expect_later(bytes);
        Ok(())
    }

    /// Checks that there is memory for the decoded objects of so many bytes. They are added value
    /// by value, and their columns grow by as much as they have.
    fn check_growth(&self, bytes: usize) -> Result<()> {
        /// Fewer bytes than these are always there.
        const FREE: usize = 32 << 20;
        /// A byte may be a list, which has an offset.
        const GROWTH: usize = size_of::<i64>();
        if !self.array.spare().is_empty() {
            return Ok(());
        }
        let bytes = bytes.saturating_mul(GROWTH).saturating_add(self.array.nbytes());
        if bytes < FREE { Ok(()) } else { memory::check(bytes) }
    }

    fn add(
        &mut self,
        interpretation: &Interpretation,
        basket: &Basket<'_>,
        entries: Range<usize>,
    ) -> Result<()> {
        if !interpretation.has_bare_lists() {
            return self.fill(|array| interpretation.decode(basket, entries, array));
        }
        let agree = |first, shared: &mut Vec<i64>| {
            interpretation.agree(basket, entries.clone(), first, shared)
        };
        let agreed = self.agreed(entries.len(), agree)?;
        match (agreed, &mut self.array) {
            (true, Array::List { content, .. }) => {
                interpretation.decode_items(basket, entries, content)
            }
            _ => interpretation.decode(basket, entries, self.on_its_own()),
        }
    }

    /// Appends the entries that `fill` appends to an array of this type: it sees those entries only
    /// that it has added itself, where the items before them are.
    pub fn fill(&mut self, fill: impl FnOnce(&mut Array) -> Result<()>) -> Result<()> {
        self.ready.stop();
        let (Array::List { offsets, content }, false) =
            (&mut self.array, matches!(self.owner, OffsetsOwner::Own))
        else {
            return fill(&mut self.array);
        };
        *offsets = vec![content.len() as i64].into();
        fill(&mut self.array)?;
        let Array::List { offsets, .. } = &mut self.array else { return Ok(()) };
        let ends = std::mem::replace(offsets, Offsets::none()).into_vec();
        if !self.agreed(ends.len() - 1, |first, shared| Ok(agree(shared, first, &ends)))?
            && let Array::List { offsets, .. } = self.on_its_own()
        {
            offsets.to_mut().extend_from_slice(&ends[1..]);
        }
        Ok(())
    }

    /// Appends entries that have been decoded.
    pub fn append(&mut self, part: &Array) -> Result<()> {
        self.fill(|array| array.append(part))
    }

    /// The whole column.
    pub fn whole(mut self) -> Array {
        if let (OffsetsOwner::Shared(shared), Array::List { offsets, .. }) =
            (&self.owner, &mut self.array)
        {
            *offsets = shared.of(self.lists);
        }
        self.array
    }

    /// The array with offsets of its own.
    fn on_its_own(&mut self) -> &mut Array {
        let owner = std::mem::replace(&mut self.owner, OffsetsOwner::Own);
        if let (OffsetsOwner::Shared(shared), Array::List { offsets, .. }) =
            (owner, &mut self.array)
        {
            *offsets = shared.of(self.lists).into_vec().into();
        }
        &mut self.array
    }

    /// Whether so many more lists are as long as those of others; they may be the first.
    fn agreed(
        &mut self,
        lists: usize,
        agree: impl Fn(usize, &mut Vec<i64>) -> Result<bool>,
    ) -> Result<bool> {
        let added = |before: usize, offsets: &Vec<i64>| (offsets.len() - before) * size_of::<i64>();
        match &self.owner {
            OffsetsOwner::Own => return Ok(false),
            OffsetsOwner::Open(pool) => {
                let mut grown = 0;
                let joined = pool.join(lists, |offsets| {
                    let before = offsets.len();
                    let agreed = agree(0, offsets)?;
                    grown = added(before, offsets);
                    Ok(agreed)
                })?;
                let Some(shared) = joined else { return Ok(false) };
                self.added += grown;
                self.owner = OffsetsOwner::Shared(shared);
            }
            OffsetsOwner::Shared(shared) => {
                let mut held = shared.held.lock();
                let before = held.offsets.len();
                if !held.agree(lists, |offsets| agree(self.lists, offsets))? {
                    return Ok(false);
                }
                self.added += added(before, &held.offsets);
            }
        }
        self.lists += lists;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rootfile::Numbers;

    fn lists(lengths: &[i64]) -> Array {
        let mut offsets = vec![0];
        for length in lengths {
            offsets.push(offsets[offsets.len() - 1] + length);
        }
        let numbers = Numbers::I64((0..offsets[lengths.len()]).collect());
        let content = Box::new(Array::Numbers { numbers, shape: Vec::new() });
        Array::List { offsets: offsets.into(), content }
    }

    fn columns<const N: usize>() -> [ColumnBuilder; N] {
        let pool =
            Arc::new(SharedOffsetsPool { found: Mutex::default(), lists: 1, prefault: None });
        std::array::from_fn(|_| ColumnBuilder::new(lists(&[]), Some(&pool), None))
    }

    fn offsets(array: &Array) -> &Offsets {
        let Array::List { offsets, .. } = array else { panic!("no lists") };
        offsets
    }

    #[test]
    fn columns_of_the_same_lengths_have_one_set_of_offsets() {
        let [mut a, mut b] = columns();
        a.append(&lists(&[2, 0])).unwrap();
        b.append(&lists(&[2, 0, 1])).unwrap();
        a.append(&lists(&[1])).unwrap();
        let taken = a.nbytes() + b.nbytes();
        assert_eq!(taken, 2 * 3 * 8 + 3 * 8 + 2 * 8, "items, three offsets, a zero each");
        let a = a.whole();
        let b = b.whole();
        assert_eq!(b, lists(&[2, 0, 1]));
        assert_eq!(offsets(&a), offsets(&b));
        let shared = |array| Arc::as_ptr(offsets(array).shared().unwrap());
        assert_eq!(shared(&a), shared(&b));
    }

    /// A file may say anything of each branch: none is believed for another.
    #[test]
    fn a_column_of_other_lengths_goes_on_alone() {
        let [mut a, mut b, mut c] = columns();
        a.append(&lists(&[2, 0])).unwrap();
        b.append(&lists(&[2])).unwrap();
        b.append(&lists(&[3])).unwrap();
        b.append(&lists(&[1, 1])).unwrap();
        a.append(&lists(&[1, 4])).unwrap();
        c.append(&lists(&[2, 0, 1, 4])).unwrap();
        let a = a.whole();
        let b = b.whole();
        let c = c.whole();
        assert_eq!(&offsets(&a)[..], [0, 2, 2, 3, 7]);
        assert_eq!(&offsets(&b)[..], [0, 2, 5, 6, 7]);
        assert!(offsets(&b).shared().is_none());
        assert_eq!(c, lists(&[2, 0, 1, 4]));
        assert!(offsets(&c).shared().is_some());
    }

    #[test]
    fn a_column_may_grow_while_a_helper_makes_it_ready() {
        let prefault = PrefaultThread::start().unwrap();
        let pool = SharedOffsetsPool::of(LISTS_MIN, Some(&prefault));
        let part = lists(&vec![3; LISTS_MIN]);
        let mut column = ColumnBuilder::new(lists(&[]), pool.as_ref(), Some(&prefault));
        for _ in 0..20 {
            column.expect(part.nbytes());
            column.append(&part).unwrap();
            column.expect_later(part.nbytes());
        }
        let whole = Array::concat(vec![part; 20]).unwrap().unwrap();
        assert_eq!(column.whole(), whole);
    }

    #[test]
    fn a_shorter_column_has_its_own_part() {
        let [mut a, mut b] = columns();
        a.append(&lists(&[2, 0, 1])).unwrap();
        b.append(&lists(&[2])).unwrap();
        assert_eq!(b.whole(), lists(&[2]));
        assert_eq!(a.whole(), lists(&[2, 0, 1]));
        let [empty] = columns();
        assert_eq!(empty.whole(), lists(&[]));
    }
}
