//! Offsets of the lists of a column.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// Offsets of lists: they start at zero, ascend, and are one more than there are lists. Columns of
/// lists of the same lengths may share them.
#[derive(Clone)]
pub struct Offsets(Held);

#[derive(Clone)]
enum Held {
    Own(Vec<i64>),
    Shared(Arc<Vec<i64>>),
}

impl Offsets {
    /// Of no lists.
    pub fn none() -> Self {
        vec![0].into()
    }

    /// Those that others have as well; `None` where they are this column's own.
    pub fn shared(&self) -> Option<&Arc<Vec<i64>>> {
        match &self.0 {
            Held::Own(_) => None,
            Held::Shared(shared) => Some(shared),
        }
    }

    /// For changes: a copy where they are shared.
    pub fn to_mut(&mut self) -> &mut Vec<i64> {
        if let Held::Shared(shared) = &mut self.0 {
            self.0 = Held::Own(std::mem::take(Arc::make_mut(shared)));
        }
        match &mut self.0 {
            Held::Own(own) => own,
            Held::Shared(_) => unreachable!("they have just been copied"),
        }
    }

    /// The offsets themselves: a copy where they are still shared.
    pub fn into_vec(self) -> Vec<i64> {
        match self.0 {
            Held::Own(own) => own,
            Held::Shared(shared) => Arc::unwrap_or_clone(shared),
        }
    }
}

/// Adds to offsets that several columns fill together, or verifies them: lists that end at `ends`,
/// of which the first ends where the first list begins, are those from number `first` on. `false`
/// where any of them that is there has another length; nothing is then added.
///
/// # Panics
/// Where there are no lists before number `first`.
pub fn agree(common: &mut Vec<i64>, first: usize, ends: &[i64]) -> bool {
    let there = &common[first..];
    let begun = ends[0];
    let shift = there[0] - begun;
    let known = there.len().min(ends.len());
    if there[known - 1] != ends[known - 1] + shift {
        return false;
    }
    // All are looked at, many at a time.
    let difference = |(there, end): (&i64, &i64)| there ^ (end + shift);
    if there.iter().zip(ends).map(difference).fold(0, |all, one| all | one) != 0 {
        return false;
    }
    common.extend(ends[known..].iter().map(|end| end + shift));
    true
}

impl From<Vec<i64>> for Offsets {
    fn from(own: Vec<i64>) -> Self {
        Offsets(Held::Own(own))
    }
}

impl From<Arc<Vec<i64>>> for Offsets {
    fn from(shared: Arc<Vec<i64>>) -> Self {
        Offsets(Held::Shared(shared))
    }
}

impl Deref for Offsets {
    type Target = [i64];

    fn deref(&self) -> &[i64] {
        match &self.0 {
            Held::Own(own) => own,
            Held::Shared(shared) => shared,
        }
    }
}

impl PartialEq for Offsets {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl fmt::Debug for Offsets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_agree_or_add_to_what_is_there() {
        let mut common = vec![0, 2, 5];
        assert!(agree(&mut common, 1, &[7, 10, 10, 11]));
        assert_eq!(common, [0, 2, 5, 5, 6]);
        assert!(agree(&mut common, 0, &[0, 2, 5]));
        assert!(agree(&mut common, 4, &[3, 4]), "all of them are new");
        assert!(!agree(&mut common, 1, &[0, 3, 4, 5, 6, 7, 8, 9]));
        assert_eq!(common, [0, 2, 5, 5, 6, 7]);
    }

    #[test]
    fn a_change_of_shared_offsets_is_one_s_own() {
        let shared = Arc::new(vec![0, 2]);
        let mut one = Offsets::from(shared.clone());
        let other = Offsets::from(shared);
        one.to_mut().push(5);
        assert_eq!((&one[..], &other[..]), (&[0, 2, 5][..], &[0, 2][..]));
        assert!(one.shared().is_none());
        assert_eq!(other.into_vec(), [0, 2]);
        assert_ne!(one, Offsets::none());
    }
}
