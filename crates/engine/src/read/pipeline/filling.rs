//! A column that is being filled, whose offsets may be those of other columns, too.
//!
//! Columns of lists that have one counter have the same offsets. The first to reach an entry adds
//! its offset for all; those that follow verify that they have the same, and write none. One that has
//! others goes on alone.

use std::ops::Range;
use std::sync::Arc;

use parking_lot::Mutex;
use rootfile::array::{Offsets, agree};
use rootfile::tree::{Basket, Interpretation};
use rootfile::{Array, Result};

/// The offsets of some columns of one batch.
pub struct Common {
    /// Not shared with anybody before the batch is complete.
    offsets: Mutex<Arc<Vec<i64>>>,
}

/// A column as far as it has been filled.
pub struct Filling {
    array: Array,
    /// What has its offsets, as long as they are the same: the array has none then.
    common: Option<Arc<Common>>,
    /// Lists whose offsets are there.
    lists: usize,
    /// Bytes that it has added to what it has in common with others.
    added: usize,
}

impl Common {
    /// With room for so many lists.
    pub fn with_room(lists: usize) -> Self {
        let mut offsets = Vec::new();
        // Only a hint: where there is no room, adding will say so.
        let _ = offsets.try_reserve(lists.saturating_add(1));
        offsets.push(0);
        Common { offsets: Mutex::new(Arc::new(offsets)) }
    }

    /// The offsets of the first lists.
    fn of(&self, lists: usize) -> Offsets {
        let offsets = self.offsets.lock();
        match offsets.get(..=lists) {
            Some(all) if all.len() == offsets.len() => Offsets::from(offsets.clone()),
            Some(first) => Offsets::from(first.to_vec()),
            None => Offsets::none(),
        }
    }
}

impl Filling {
    /// A column on its own.
    pub fn alone(array: Array) -> Self {
        Filling { array, common: None, lists: 0, added: 0 }
    }

    /// A column without entries, of lists whose items can be decoded apart from their offsets.
    pub fn together(array: Array, common: Arc<Common>) -> Self {
        Filling { common: Some(common), ..Filling::alone(array) }
    }

    /// Bytes that it takes.
    pub fn nbytes(&self) -> usize {
        self.array.nbytes() + self.added
    }

    /// Appends some entries of a basket.
    pub fn decode(
        &mut self,
        interpretation: &Interpretation,
        basket: &Basket<'_>,
        entries: Range<usize>,
    ) -> Result<()> {
        let lists = entries.len();
        let agreed = self.agreed(lists, |first, common| {
            interpretation.agree(basket, entries.clone(), first, common)
        })?;
        match (agreed, &mut self.array) {
            (true, Array::List { content, .. }) => {
                interpretation.decode_items(basket, entries, content)
            }
            _ => interpretation.decode(basket, entries, self.array()),
        }
    }

    /// Appends entries that have been decoded.
    pub fn append(&mut self, part: &Array) -> Result<()> {
        let Array::List { offsets, content } = part else { return self.array().append(part) };
        let agreed = self.agreed(part.len(), |first, common| Ok(agree(common, first, offsets)))?;
        match (agreed, &mut self.array) {
            (true, Array::List { content: items, .. }) => items.append(content),
            _ => self.array().append(part),
        }
    }

    /// The column on its own, for whoever appends to it.
    pub fn array(&mut self) -> &mut Array {
        if let (Some(common), Array::List { offsets, .. }) = (self.common.take(), &mut self.array) {
            *offsets = common.of(self.lists).into_vec().into();
        }
        &mut self.array
    }

    /// The whole column.
    pub fn whole(mut self) -> Array {
        if let (Some(common), Array::List { offsets, .. }) = (&self.common, &mut self.array) {
            *offsets = common.of(self.lists);
        }
        self.array
    }

    /// Whether so many more lists are as long as those of others; they may be the first.
    fn agreed(
        &mut self,
        lists: usize,
        agree: impl FnOnce(usize, &mut Vec<i64>) -> Result<bool>,
    ) -> Result<bool> {
        let Some(common) = &self.common else { return Ok(false) };
        let mut offsets = common.offsets.lock();
        // A batch is complete when it is shared: nobody adds to it.
        let offsets = Arc::make_mut(&mut offsets);
        let before = offsets.len();
        if !agree(self.lists, offsets)? {
            return Ok(false);
        }
        self.lists += lists;
        self.added += (offsets.len() - before) * size_of::<i64>();
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

    fn columns<const N: usize>() -> [Filling; N] {
        let common = Arc::new(Common::with_room(5));
        std::array::from_fn(|_| Filling::together(lists(&[]), common.clone()))
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
        let (a, b) = (a.whole(), b.whole());
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
        let (a, b, c) = (a.whole(), b.whole(), c.whole());
        assert_eq!(&offsets(&a)[..], [0, 2, 2, 3, 7]);
        assert_eq!(&offsets(&b)[..], [0, 2, 5, 6, 7]);
        assert!(offsets(&b).shared().is_none());
        assert_eq!(c, lists(&[2, 0, 1, 4]));
        assert!(offsets(&c).shared().is_some());
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
