//! Where the lists of a column begin and end.

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
    fn a_change_of_shared_offsets_is_one_s_own() {
        let shared = Arc::new(vec![0, 2]);
        let (mut one, other) = (Offsets::from(shared.clone()), Offsets::from(shared));
        one.to_mut().push(5);
        assert_eq!((&one[..], &other[..]), (&[0, 2, 5][..], &[0, 2][..]));
        assert!(one.shared().is_none());
        assert_eq!(other.into_vec(), [0, 2]);
        assert_ne!(one, Offsets::none());
    }
}
