//! What clients read of a table's shape, for the next file that has it. Kept as a note.

use std::hash::Hasher;

use remote::store::Notes;
use serde::{Deserialize, Serialize};
use twox_hash::XxHash64;

use super::places::TablePlaces;

/// Hashes of shapes differ from those that other notes are kept under.
const SEED: u64 = 1;

/// The columns of a client's last fill, and its bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Habit {
    /// Sorted.
    pub columns: Vec<String>,
    pub bytes: u64,
}

impl Habit {
    pub fn load(notes: &Notes, table: &TablePlaces) -> Option<Self> {
        notes.load(shape(table))
    }

    /// Keeps it. Where that fails, nothing is kept.
    pub fn save(&self, notes: &Notes, table: &TablePlaces) {
        if Habit::load(notes, table).as_ref() != Some(self) {
            notes.save(shape(table), self);
        }
    }

    pub fn of(table: &TablePlaces, columns: &[u32], bytes: u64) -> Self {
        let name = |column: &u32| table.names.get(*column as usize).cloned();
        let mut columns: Vec<String> = columns.iter().filter_map(name).collect();
        columns.sort_unstable();
        columns.dedup();
        Habit { columns, bytes }
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
