//! Columns of a table, each of which is found again without looking at all of them.

use std::collections::HashMap;
use std::hash::Hash;
use std::ops::Deref;
use std::sync::OnceLock;

/// A column of one kind of table.
pub trait KeyedColumn {
    /// Equal for columns that are the same.
    type Key: Clone + Eq + Hash;

    fn key(&self) -> Self::Key;

    /// Whether both are the same, read in the same way.
    fn is(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

/// Columns in the order in which they are read.
#[derive(Debug, Clone)]
pub struct ColumnSet<C: KeyedColumn> {
    columns: Vec<C>,
    /// The positions of columns by key; made when the first one is looked for.
    places: OnceLock<HashMap<C::Key, Vec<usize>>>,
}

impl<C: KeyedColumn> ColumnSet<C> {
    pub fn new(columns: Vec<C>) -> Self {
        ColumnSet { columns, places: OnceLock::new() }
    }

    /// The first position of a column.
    pub fn position(&self, column: &C) -> Option<usize> {
        let places = self.places.get_or_init(|| {
            let mut places: HashMap<C::Key, Vec<usize>> = HashMap::new();
            for (at, column) in self.columns.iter().enumerate() {
                places.entry(column.key()).or_default().push(at);
            }
            places
        });
        let mut same = places.get(&column.key())?.iter().copied();
        same.find(|at| self.columns[*at].is(column))
    }

    /// Adds a column behind the others; returns its position.
    pub fn push(&mut self, column: C) -> usize {
        let at = self.columns.len();
        if let Some(places) = self.places.get_mut() {
            places.entry(column.key()).or_default().push(at);
        }
        self.columns.push(column);
        at
    }

    pub fn into_vec(self) -> Vec<C> {
        self.columns
    }

    /// Changes a column, but for its key.
    pub fn change(&mut self, at: usize, change: impl FnOnce(&mut C)) {
        change(&mut self.columns[at]);
    }
}

impl<C: KeyedColumn> Deref for ColumnSet<C> {
    type Target = [C];

    fn deref(&self) -> &[C] {
        &self.columns
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    thread_local! {
        static COMPARED: Cell<usize> = const { Cell::new(0) };
    }

    #[derive(Clone)]
    struct Named(usize);

    impl KeyedColumn for Named {
        type Key = usize;

        fn key(&self) -> usize {
            self.0 / 2
        }

        fn is(&self, other: &Self) -> bool {
            COMPARED.set(COMPARED.get() + 1);
            self.0 == other.0
        }
    }

    /// Regression: a cut of 31,623 fields took 23 s, as each field was compared with all.
    #[test]
    fn a_column_is_compared_with_few() {
        let count = 10_000;
        let mut set = ColumnSet::new((0..count).map(Named).collect());
        (0..count).for_each(|name| assert_eq!(set.position(&Named(name)), Some(name)));
        assert_eq!(set.position(&Named(count)), None);
        assert_eq!(set.push(Named(count)), count);
        assert_eq!(set.position(&Named(count)), Some(count));
        assert!(COMPARED.get() <= 2 * count + 2, "{}", COMPARED.get());
    }

    #[test]
    fn of_two_the_first_is_found() {
        let set = ColumnSet::new([1, 0, 1, 0].map(Named).to_vec());
        assert_eq!([0, 1].map(|name| set.position(&Named(name))), [Some(1), Some(0)]);
    }
}
