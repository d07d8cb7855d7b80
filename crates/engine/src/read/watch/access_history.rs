//! The columns that clients read of tables of one shape, for the next file with such a table. Kept
//! in memory, and as a note in the store for later processes.

use std::collections::VecDeque;
use std::hash::Hasher;
use std::sync::Arc;

use mutex::Mutex;
use remote::store::Notes;
use serde::{Deserialize, Serialize};
use twox_hash::XxHash64;

use crate::read::predict::table_places::TablePlaces;

/// Hashes of shapes differ from those that other notes are kept under.
const SEED: u64 = 1;
/// Maximum of histories in memory, some kilobytes each.
const KEPT_MAX: usize = 64;

/// The columns of a client's last fill, and its bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccessHistory {
    /// Sorted.
    pub columns: Vec<String>,
    pub bytes: u64,
}

/// The histories of the clients of one engine, by shape. A clone shares them.
#[derive(Debug, Clone, Default)]
pub struct AccessHistories {
    /// In the order in which they were saved.
    in_memory: Arc<Mutex<VecDeque<(u64, AccessHistory)>>>,
}

impl AccessHistories {
    /// The last history of a table's shape: of a client of this engine, else of another process.
    pub fn load(&self, notes: &Notes, table: &TablePlaces) -> Option<AccessHistory> {
        let shape = shape(table);
        let here = self.in_memory.lock().iter().find(|(of, _)| *of == shape).cloned();
        here.map(|(_, history)| history).or_else(|| notes.load(shape))
    }

    /// Keeps the history of a table's shape; in memory only where a note cannot be written.
    pub fn save(&self, notes: &Notes, table: &TablePlaces, history: AccessHistory) {
        let is_new = self.load(notes, table).as_ref() != Some(&history);
        let shape = shape(table);
        if is_new {
            notes.save(shape, &history);
        }
        let mut in_memory = self.in_memory.lock();
        in_memory.retain(|(of, _)| *of != shape);
        in_memory.push_back((shape, history));
        if in_memory.len() > KEPT_MAX {
            in_memory.pop_front();
        }
    }
}

impl AccessHistory {
    pub fn of(table: &TablePlaces, columns: &[u32], bytes: u64) -> Self {
        let name = |column: &u32| table.names.get(*column as usize).cloned();
        let mut columns: Vec<String> = columns.iter().filter_map(name).collect();
        columns.sort_unstable();
        columns.dedup();
        AccessHistory { columns, bytes }
    }

    /// Its columns as a table numbers them.
    pub fn columns_in(&self, table: &TablePlaces) -> Vec<u32> {
        let is_read = |name: &String| self.columns.binary_search(name).is_ok();
        let named = (0u32..).zip(&table.names);
        named.filter_map(|(column, name)| is_read(name).then_some(column)).collect()
    }
}

/// Tables with the same columns in the same order have the same shape.
fn shape(table: &TablePlaces) -> u64 {
    let mut hasher = XxHash64::with_seed(SEED);
    for name in &table.names {
        hasher.write(name.as_bytes());
        hasher.write_u8(0);
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression: a process without a store kept no histories.
    #[test]
    fn habits_are_kept_without_a_store() {
        let table = |name: String| TablePlaces { names: vec![name], ..TablePlaces::default() };
        let histories = AccessHistories::default();
        let notes = Notes::default();
        let of = |number: usize| AccessHistory { columns: Vec::new(), bytes: number as u64 };
        for number in 0..=KEPT_MAX {
            histories.clone().save(&notes, &table(format!("t{number}")), of(number));
        }
        let load = |number: usize| histories.load(&notes, &table(format!("t{number}")));
        assert_eq!((load(0), load(1), load(KEPT_MAX)), (None, Some(of(1)), Some(of(KEPT_MAX))));
        histories.save(&notes, &table("t1".to_owned()), of(7));
        assert_eq!(load(1), Some(of(7)));
    }
}
