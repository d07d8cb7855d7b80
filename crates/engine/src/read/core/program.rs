//! Columns that a program read of tables with the same columns, kept as a note for its next run.

use std::hash::Hasher;

use twox_hash::XxHash64;

use super::names::NameList;
use super::table::Table;

/// Seed of the hashes of these notes, so that they differ from those of other notes.
const SEED: u64 = 2;

impl dyn Table {
    /// The columns that the program of this name read in its last run, of a table with the same
    /// column names; empty where that is not known.
    pub fn columns_read_by(&self, program: &str) -> Vec<String> {
        let notes = self.file().profiles().notes();
        notes.load(number(program, self.list())).unwrap_or_default()
    }

    /// Saves the columns for the program's next run; a failure to save is ignored.
    pub fn keep_columns_read_by(&self, program: &str, columns: &[String]) {
        self.file().profiles().notes().save(number(program, self.list()), &columns);
    }
}

/// Hash of the program's name and of the paths of the table's columns, in their order.
fn number(program: &str, columns: &NameList) -> u64 {
    let mut hasher = XxHash64::with_seed(SEED);
    let paths = columns.all().iter().map(|column| column.path.as_str());
    for text in std::iter::once(program).chain(paths) {
        hasher.write(text.as_bytes());
        hasher.write_u8(0);
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::super::names::{ColumnKind, ColumnName};
    use super::*;

    fn list(names: &[&str]) -> NameList {
        let column = |name: &&str| {
            let path = name.to_string();
            let name = name.to_string();
            ColumnName { name, path, parent: None }
        };
        NameList::new(ColumnKind::Branch, names.iter().map(column).collect())
    }

    #[test]
    fn programs_and_tables_are_told_apart() {
        let same = number("analysis.Muons", &list(&["run", "pt"]));
        assert_eq!(same, number("analysis.Muons", &list(&["run", "pt"])));
        assert_ne!(same, number("analysis.Jets", &list(&["run", "pt"])));
        assert_ne!(same, number("analysis.Muons", &list(&["run", "pt", "eta"])));
        assert_ne!(same, number("analysis.Muons", &list(&["runpt"])));
    }
}
