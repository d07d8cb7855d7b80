//! The keys that a directory lists, in the order of its list, to be found by name and cycle as
//! well: a directory may have many thousands.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;

/// Which cycle the key of an object gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyCycle {
    /// The next one of its name.
    Next,
    /// That which it got when it was added.
    Reserved(u16),
    /// That of the object of the file as it was, in whose place it is listed.
    InPlaceOf(u16),
}

/// Where a key is in the list: behind so many names, and among the keys of one name by its cycle,
/// the highest first; those of an existing file come last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct KeyPlace(u64, i64);

impl KeyPlace {
    const FIRST: KeyPlace = KeyPlace(0, i64::MIN);
    const LAST: KeyPlace = KeyPlace(u64::MAX, i64::MAX);

    /// That of a cycle, and that directly in front of this one. Only keys of the same name have
    /// such places.
    fn of_cycle(self, cycle: u16) -> Self {
        KeyPlace(self.0, -i64::from(cycle))
    }

    fn in_front(self) -> Self {
        KeyPlace(self.0, self.1 - 1)
    }
}

#[derive(Debug, Clone, Default)]
pub(super) struct KeyList {
    /// As they were written.
    images: BTreeMap<KeyPlace, Bytes>,
    /// Each has a number, which stays when its last key is removed.
    names: BTreeMap<String, usize>,
    /// The highest cycle that each has reached.
    highest: Vec<u16>,
    of_name: BTreeSet<(usize, KeyPlace)>,
    of_cycle: BTreeSet<(usize, u16, KeyPlace)>,
    /// How many keys have been added behind all others.
    pushed: u64,
}

impl KeyList {
    /// The next cycle of a name.
    pub fn next_cycle(&mut self, name: &str) -> u16 {
        let name = self.name(name);
        self.highest[name] = self.highest[name].saturating_add(1);
        self.highest[name]
    }

    /// Lets the cycles of a name begin with this one, where none is as high.
    pub fn begin_with(&mut self, name: &str, cycle: u16) {
        let name = self.name(name);
        self.highest[name] = self.highest[name].max(cycle.saturating_sub(1));
    }

    /// Adds a key of an existing file behind all others.
    pub fn push_existing(&mut self, name: &str, cycle: u16, image: Bytes) {
        let place = KeyPlace(self.pushed, 0);
        self.pushed += 1;
        self.insert(name, cycle, place, image);
    }

    /// Adds a key behind all others.
    pub fn push(&mut self, name: &str, cycle: u16, image: Bytes) {
        let place = KeyPlace(self.pushed, 0).of_cycle(cycle);
        self.pushed += 1;
        self.insert(name, cycle, place, image);
    }

    /// Adds a key in front of all others of its name, but those of higher cycles.
    pub fn push_front(&mut self, name: &str, cycle: u16, image: Bytes) {
        let of = self.name(name);
        let mut same = self.of_name.range((of, KeyPlace::FIRST)..=(of, KeyPlace::LAST));
        match same.next() {
            Some((_, first)) => {
                let own = first.of_cycle(cycle);
                // Cycles end, and the last one may come again.
                let is_there = self.images.contains_key(&own);
                let place = if is_there { first.in_front() } else { own };
                self.insert(name, cycle, place, image);
            }
            None => self.push(name, cycle, image),
        }
    }

    /// Adds a key at a place where none is.
    pub fn insert(&mut self, name: &str, cycle: u16, place: KeyPlace, image: Bytes) {
        let name = self.name(name);
        self.highest[name] = self.highest[name].max(cycle);
        self.of_name.insert((name, place));
        self.of_cycle.insert((name, cycle, place));
        self.images.insert(place, image);
    }

    /// The keys of a name and cycle, in the order of the list.
    pub fn find(&self, name: &str, cycle: u16) -> impl Iterator<Item = (KeyPlace, &Bytes)> {
        let range = |name| (name, cycle, KeyPlace::FIRST)..=(name, cycle, KeyPlace::LAST);
        let places = self.names.get(name).map(|name| self.of_cycle.range(range(*name)));
        let places = places.into_iter().flatten().map(|(_, _, place)| *place);
        places.filter_map(|place| Some((place, self.images.get(&place)?)))
    }

    pub fn remove(&mut self, name: &str, cycle: u16, place: KeyPlace) {
        let name = self.name(name);
        self.of_name.remove(&(name, place));
        self.of_cycle.remove(&(name, cycle, place));
        self.images.remove(&place);
    }

    pub fn len(&self) -> usize {
        self.images.len()
    }

    /// In the order of the list.
    pub fn images(&self) -> impl Iterator<Item = &Bytes> {
        self.images.values()
    }

    fn name(&mut self, name: &str) -> usize {
        if let Some(number) = self.names.get(name) {
            return *number;
        }
        self.names.insert(name.to_owned(), self.highest.len());
        self.highest.push(0);
        self.highest.len() - 1
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Keys as they were listed before there were many: a plain list, which is searched.
    #[derive(Default)]
    struct Plain(Vec<(String, u16, Bytes)>);

    impl Plain {
        fn push_front(&mut self, name: &str, cycle: u16, image: Bytes) {
            let at = self.0.iter().position(|(known, ..)| known == name);
            self.0.insert(at.unwrap_or(self.0.len()), (name.to_owned(), cycle, image));
        }
    }

    fn image(number: usize) -> Bytes {
        number.to_be_bytes().to_vec().into()
    }

    proptest! {
        /// Existing files list keys of one name anywhere, and may repeat a cycle.
        #[test]
        fn the_order_is_that_of_a_plain_list(
            existing in prop::collection::vec((0..5_u8, 0..3_u16), 0..12),
            steps in prop::collection::vec((0..3_u8, 0..6_u8, 0..6_u16), 0..40),
        ) {
            let mut keys = KeyList::default();
            let mut plain = Plain::default();
            let mut count = 0;
            for (name, cycle) in existing {
                let name = name.to_string();
                keys.push_existing(&name, cycle, image(count));
                plain.0.push((name, cycle, image(count)));
                count += 1;
            }
            for (step, name, cycle) in steps {
                let name = name.to_string();
                let highest = plain.0.iter().filter(|(known, ..)| *known == name);
                let highest = highest.map(|(_, cycle, _)| *cycle).max().unwrap_or(0);
                let at = plain.0.iter().position(|key| (&key.0, key.1) == (&name, cycle));
                let found = keys.find(&name, cycle).next().map(|(place, _)| place);
                prop_assert_eq!(at.is_some(), found.is_some());
                match (step, at, found) {
                    (0, ..) => {
                        let next = keys.next_cycle(&name);
                        prop_assert!(next > highest);
                        keys.push_front(&name, next, image(count));
                        plain.push_front(&name, next, image(count));
                        count += 1;
                    }
                    (1, Some(at), Some(place)) => {
                        keys.remove(&name, cycle, place);
                        plain.0.remove(at);
                    }
                    (2, Some(at), Some(place)) => {
                        keys.remove(&name, cycle, place);
                        keys.insert(&name, cycle, place, image(count));
                        plain.0[at].2 = image(count);
                        count += 1;
                    }
                    _ => {}
                }
                prop_assert!(keys.images().eq(plain.0.iter().map(|(.., image)| image)));
                prop_assert_eq!(keys.len(), plain.0.len());
            }
        }
    }
}
