//! Reads of the keys of baskets alone. Pure: reads go in, ranges come out.
//!
//! uproot divides a tree into steps of so many bytes by the sizes that the keys of the baskets
//! state. It reads the keys of all these baskets one by one, column by column. From the first of
//! them on, the keys behind it are expected: those of its column, and some of the next columns,
//! more of them where columns have followed each other so far.

use std::collections::VecDeque;
use std::ops::{Range, RangeInclusive};

use crate::read::predict::fills::Advice;
use crate::read::predict::table_places::{TablePlaces, Unit};

/// A read of a basket's first bytes that is no longer is one of its key.
pub const KEY_BYTES_MAX: u64 = 64;
/// Keys that are expected at a time, at most.
const KEYS_MAX: usize = 4096;
/// Those of them that are of further columns.
const GUESSED: RangeInclusive<usize> = 16..=KEYS_MAX;
const GUESSED_FIRST: usize = 256;

/// A basket: its column, and its number there.
type Basket = (u32, u32);

/// One client's reads of keys in one table.
#[derive(Debug)]
pub struct KeyReads {
    /// Bytes that the client reads of each.
    length: u64,
    /// Keys that are expected, in the order of columns.
    expected: VecDeque<(Basket, Range<u64>)>,
    /// The column of the last key that was read.
    column: Option<u32>,
    /// How many keys of further columns are expected.
    guessed: usize,
}

impl Default for KeyReads {
    fn default() -> Self {
        let expected = VecDeque::new();
        KeyReads { length: 0, expected, column: None, guessed: GUESSED_FIRST }
    }
}

impl KeyReads {
    /// The client reads so many first bytes of a basket. Returns the ranges to fetch, of which the
    /// first is that of the read where it was not expected, and to drop.
    pub fn read(&mut self, table: &TablePlaces, basket: Basket, length: u64) -> Advice {
        let was_column = self.column.replace(basket.0);
        let is_new_column = was_column.is_some_and(|column| column != basket.0);
        let mut drop = Vec::new();
        while let Some((expected, range)) = self.expected.front().cloned()
            && expected <= basket
        {
            self.expected.pop_front();
            if expected == basket && self.length == length {
                if is_new_column {
                    self.guessed = (self.guessed * 4).min(*GUESSED.end());
                }
                let fetch = if is_new_column { self.extend(table, basket) } else { Vec::new() };
                return Advice { fetch, drop };
            }
            drop.push(range);
        }
        if is_new_column {
            self.guessed = (self.guessed / 4).max(*GUESSED.start());
        }
        drop.extend(self.end());
        self.length = length;
        Advice { fetch: self.extend(table, basket), drop }
    }

    /// The client has gone, or reads other keys. Returns the ranges that were expected.
    pub fn end(&mut self) -> Vec<Range<u64>> {
        self.expected.drain(..).map(|(_, range)| range).collect()
    }

    /// Expects keys behind those that are expected, or from `basket` on; returns the new ones.
    fn extend(&mut self, table: &TablePlaces, basket: Basket) -> Vec<Range<u64>> {
        let begin = match self.expected.back() {
            Some(((column, number), _)) => (*column, number + 1),
            None => basket,
        };
        let column = basket.0;
        let mut guessed = self.expected.iter().filter(|(at, _)| at.0 != column).count();
        let mut fetch = Vec::new();
        for (at, unit) in following(table, begin) {
            guessed += usize::from(at.0 != column);
            if guessed > self.guessed || self.expected.len() >= KEYS_MAX {
                break;
            }
            let range = unit.range.start..unit.range.end.min(unit.range.start + self.length);
            if at > basket {
                self.expected.push_back((at, range.clone()));
            }
            fetch.push(range);
        }
        fetch
    }
}

/// The baskets from one on, column after column.
fn following(table: &TablePlaces, from: Basket) -> impl Iterator<Item = (Basket, &Unit)> {
    let (first, number) = from;
    let columns = table.columns.iter().enumerate().skip(first as usize);
    columns.flat_map(move |(column, units)| {
        let begin = if column == first as usize { number as usize } else { 0 };
        let units = units.iter().enumerate().skip(begin);
        units.map(move |(number, unit)| ((column as u32, number as u32), unit))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LENGTH: u64 = 26;

    /// Columns of so many baskets of 1,000 bytes, one column behind the other.
    fn table(columns: u64, baskets: u64) -> TablePlaces {
        let unit = |column: u64, number: u64| {
            let start = (column * baskets + number) * 1000;
            Unit { range: start..start + 1000, entry: number }
        };
        let column = |column| (0..baskets).map(|number| unit(column, number)).collect();
        let columns = (0..columns).map(column).collect();
        TablePlaces { columns, ..TablePlaces::default() }
    }

    /// Reads the keys of columns; returns the reads whose key had not been fetched, the number of
    /// keys that were fetched, and that of those that were dropped.
    fn read(table: &TablePlaces, columns: impl Iterator<Item = u32>) -> (usize, usize, usize) {
        let mut reads = KeyReads::default();
        let mut fetched: Vec<Range<u64>> = Vec::new();
        let mut waits = 0;
        let mut count = 0;
        let mut dropped = 0;
        for column in columns {
            for (number, unit) in table.columns[column as usize].iter().enumerate() {
                let range = unit.range.start..unit.range.start + LENGTH;
                waits += usize::from(!fetched.contains(&range));
                let advice = reads.read(table, (column, number as u32), LENGTH);
                dropped += advice.drop.len();
                assert!(advice.drop.iter().all(|range| fetched.contains(range)));
                fetched.retain(|range| !advice.drop.contains(range));
                assert!(advice.fetch.iter().all(|range| !fetched.contains(range)), "once");
                count += advice.fetch.len();
                fetched.extend(advice.fetch);
                let at = fetched.iter().position(|there| *there == range);
                fetched.swap_remove(at.expect("each key that is read is fetched"));
            }
        }
        (waits, count, dropped + reads.end().len())
    }

    #[test]
    fn the_keys_of_a_column_are_one_wait() {
        assert_eq!(read(&table(1, 500), 0..1), (1, 500, 0));
        let (waits, fetched, dropped) = read(&table(3, 300), [1].into_iter());
        assert_eq!((waits, fetched, dropped), (1, 300 + GUESSED_FIRST, GUESSED_FIRST));
    }

    #[test]
    fn the_keys_of_columns_that_follow_each_other_are_few_waits() {
        let (waits, fetched, dropped) = read(&table(200, 10), 0..200);
        assert_eq!((waits, fetched, dropped), (1, 2000, 0));
    }

    #[test]
    fn columns_that_lie_apart_are_a_wait_each_and_cost_less_and_less() {
        let (waits, fetched, dropped) = read(&table(1000, 10), (0..1000).step_by(100));
        assert_eq!(waits, 10);
        assert!(dropped < 2 * GUESSED_FIRST && fetched == dropped + 100, "{fetched} {dropped}");
    }

    #[test]
    fn columns_in_another_order_are_read_as_well() {
        let (waits, ..) = read(&table(40, 10), (0..40).rev());
        assert!(waits <= 40, "{waits}");
    }

    #[test]
    fn another_length_is_another_sequence() {
        let table = table(1, 4);
        let mut reads = KeyReads::default();
        assert_eq!(reads.read(&table, (0, 0), 26).fetch.len(), 4);
        let advice = reads.read(&table, (0, 1), 32);
        assert_eq!(advice.fetch, [1000..1032, 2000..2032, 3000..3032]);
        assert_eq!(advice.drop, [1000..1026, 2000..2026, 3000..3026]);
        assert_eq!(reads.read(&table, (7, 0), 26).fetch, [], "no such column");
    }
}
