//! Lists of columns that have one counter: their offsets are the same, and are made once.
//!
//! Each basket still has the offsets of its entries. They are compared with the offsets that are
//! there, which costs less than to store them again.

use std::ops::Range;

use super::column::{extend, wrong_column};
use super::{no_offsets, push_ends};
use crate::array::Array;
use crate::error::Result;
use crate::tree::basket::Basket;
use crate::tree::interpret::Interpretation;
use crate::tree::interpret::layout::{Entry, Layout};
use crate::types::scalar::Scalar;

impl Interpretation {
    /// Whether entries are lists of numbers with nothing between: their offsets may be kept apart
    /// from their items, by [`Interpretation::agree`] and [`Interpretation::decode_items`].
    pub fn has_bare_lists(&self) -> bool {
        let bare = matches!(self.entry, Entry::Items { header: 0, .. });
        bare && match &self.layout {
            Layout::Scalars { scalar, .. } => *scalar != Scalar::Bits,
            _ => false,
        }
    }

    /// Adds some entries of a basket to offsets that several columns fill together, or verifies
    /// them: they are the lists from number `first` on. `false` where any list that is there has
    /// another length; nothing is then added.
    ///
    /// # Errors
    /// `Corrupt` where an entry is no whole number of items; nothing is then added.
    ///
    /// # Panics
    /// Where there are no lists before number `first`, or no such entries.
    pub fn agree(
        &self,
        basket: &Basket<'_>,
        entries: Range<usize>,
        first: usize,
        common: &mut Vec<i64>,
    ) -> Result<bool> {
        let size = self.layout.fixed_size().filter(|size| *size > 0).ok_or_else(no_offsets)?;
        let stored = basket.entry_offsets.as_ref().ok_or_else(no_offsets)?;
        let stored = &stored[entries.start..=entries.end];
        let there = &common[first..];
        let known = there.len().min(stored.len());
        if !are_ends(&there[..known], &stored[..known], size) {
            return Ok(false);
        }
        let before = common.len();
        push_ends(common, &stored[known - 1..], size).inspect_err(|_| common.truncate(before))?;
        Ok(true)
    }

    /// Appends the items of some entries of a basket: all of a column of lists but its offsets.
    ///
    /// # Errors
    /// `Corrupt` where the basket has no entry offsets.
    ///
    /// # Panics
    /// Where `content` is of another type, or there are no such entries.
    pub fn decode_items(
        &self,
        basket: &Basket<'_>,
        entries: Range<usize>,
        content: &mut Array,
    ) -> Result<()> {
        let (Layout::Scalars { scalar, .. }, Array::Numbers { numbers, .. }) =
            (&self.layout, content)
        else {
            wrong_column()
        };
        let stored = basket.entry_offsets.as_ref().ok_or_else(no_offsets)?;
        let bytes = &basket.data[stored[entries.start] as usize..stored[entries.end] as usize];
        extend(*scalar, numbers, bytes)
    }
}

/// Whether offsets in items of `size` bytes are those in bytes. Both ascend.
fn are_ends(there: &[i64], stored: &[u32], size: usize) -> bool {
    let Some((first, last)) = ends(there) else { return false };
    let Some((begun, end)) = ends(stored) else { return false };
    let reach = usize::try_from(last - first).ok().and_then(|items| items.checked_mul(size));
    if reach != Some((end - begun) as usize) {
        return false;
    }
    // None reaches farther than the last one, which fits: in 32 bits, which are twice as many in a
    // vector.
    let pairs = there.iter().zip(stored);
    let differences = if size.is_power_of_two() {
        // A shift of vectors, which takes half as long.
        let shift = size.ilog2();
        let difference =
            |(there, stored): (&i64, &u32)| (((there - first) as u32) << shift) ^ (stored - begun);
        pairs.map(difference).fold(0, |all, one| all | one)
    } else {
        let difference = |(there, stored): (&i64, &u32)| {
            ((there - first) as u32).wrapping_mul(size as u32) ^ (stored - begun)
        };
        pairs.map(difference).fold(0, |all, one| all | one)
    };
    differences == 0
}

fn ends<T: Copy>(offsets: &[T]) -> Option<(T, T)> {
    Some((*offsets.first()?, *offsets.last()?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::array::Number;

    fn lists() -> Interpretation {
        Interpretation::for_tests(
            Layout::number(Number::I16),
            Entry::Items { header: 0, counted: false },
        )
    }

    /// Lists of so many numbers each, of `size` bytes.
    fn basket<'a>(lengths: &[u32], size: u32, data: &'a [u8]) -> Basket<'a> {
        let mut offsets = vec![0];
        offsets.extend(lengths.iter().scan(0, |end, length| {
            *end += length * size;
            Some(*end)
        }));
        let data = &data[..offsets[lengths.len()] as usize];
        Basket {
            data,
            entry_offsets: Some(offsets),
            entries: lengths.len(),
            lengths: None,
            is_nothing: false,
            start: 0,
        }
    }

    proptest! {
        /// Two columns with baskets of their own, in any order: items and common offsets are those
        /// of each alone.
        #[test]
        fn columns_together_are_what_they_are_alone(
            lengths in prop::collection::vec(0u32..5, 1..40),
            cuts in prop::collection::vec(0usize..40, 0..6),
            turns in prop::collection::vec(any::<bool>(), 40),
        ) {
            let data: Vec<u8> = (0..400).map(|at| at as u8).collect();
            let how = lists();
            let mut alone = how.empty();
            how.decode(&basket(&lengths, 2, &data), 0..lengths.len(), &mut alone).unwrap();
            let Array::List { offsets, content } = alone else { panic!("no lists") };
            let mut cuts: Vec<usize> = cuts.into_iter().filter(|cut| *cut < lengths.len()).collect();
            cuts.extend([0, lengths.len()]);
            cuts.sort_unstable();
            let pieces: [Vec<Range<usize>>; 2] = [
                cuts.windows(2).map(|cut| cut[0]..cut[1]).filter(|piece| !piece.is_empty()).collect(),
                vec![0..lengths.len()],
            ];
            let mut common = vec![0];
            let mut columns = [content.empty_like(), content.empty_like()];
            let mut next = [pieces[0].iter(), pieces[1].iter()];
            for turn in turns.into_iter().chain([false; 40]).chain([true; 40]) {
                let column = usize::from(turn);
                let Some(piece) = next[column].next() else { continue };
                let start = offsets[piece.start] as usize * 2;
                let own = basket(&lengths[piece.clone()], 2, &data[start..]);
                let agreed = how.agree(&own, 0..piece.len(), piece.start, &mut common).unwrap();
                prop_assert!(agreed);
                how.decode_items(&own, 0..piece.len(), &mut columns[column]).unwrap();
            }
            prop_assert_eq!(&common[..], &offsets[..]);
            prop_assert_eq!(&columns[0], &*content);
            prop_assert_eq!(&columns[1], &*content);
        }

        /// A column that contradicts the others is found out, whichever list it is, and whatever
        /// follows.
        #[test]
        fn a_column_that_contradicts_the_others_is_told(
            lengths in prop::collection::vec(0u32..5, 1..40),
            at in any::<prop::sample::Index>(),
            more in 1u32..4,
            moved in any::<bool>(),
        ) {
            let data = [0; 400];
            let how = lists();
            let mut common = vec![0];
            prop_assert!(how.agree(&basket(&lengths, 2, &data), 0..lengths.len(), 0, &mut common).unwrap());
            let before = common.clone();
            let mut other = lengths.clone();
            let at = at.index(lengths.len());
            other[at] += more;
            // The ends of those behind it may be right again.
            if moved && at + 1 < lengths.len() && other[at + 1] >= more {
                other[at + 1] -= more;
            }
            let other = basket(&other, 2, &data);
            prop_assert!(!how.agree(&other, 0..lengths.len(), 0, &mut common).unwrap());
            prop_assert_eq!(common, before);
        }
    }

    #[test]
    fn entries_that_are_no_whole_items_are_corrupt_and_leave_nothing() {
        let data = [0; 8];
        let mut common = vec![0, 1];
        // Three bytes of items of two.
        let odd = basket(&[2, 3], 1, &data);
        assert!(lists().agree(&odd, 0..2, 0, &mut common).is_err());
        assert_eq!(common, [0, 1]);
        assert!(!lists().agree(&basket(&[1, 3], 1, &data), 0..2, 0, &mut common).unwrap());
        let none = Basket {
            data: &data,
            entry_offsets: None,
            entries: 2,
            lengths: None,
            is_nothing: false,
            start: 0,
        };
        assert!(lists().agree(&none, 0..2, 0, &mut common).is_err());
    }

    #[test]
    fn only_lists_of_numbers_without_a_header_are_bare() {
        assert!(lists().has_bare_lists());
        let bare = Entry::Items { header: 0, counted: false };
        let bits = Layout::Scalars { scalar: Scalar::Bits, shape: Vec::new() };
        let framed = Entry::Items { header: 10, counted: true };
        for (layout, entry) in [
            (bits, bare),
            (Layout::number(Number::I16), framed),
            (Layout::number(Number::I16), Entry::Fixed),
        ] {
            assert!(!Interpretation::for_tests(layout, entry).has_bare_lists());
        }
    }
}
