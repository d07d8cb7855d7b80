//! The tables of a file, and sums over all of them. A file may have thousands, so a change of one
//! corrects the sums without a look at the others.

use std::ops::Index;

use super::{OpenTable, TableId};

#[derive(Default)]
pub(super) struct OpenTables {
    all: Vec<OpenTable>,
    /// Bytes that all of them hold.
    held: usize,
    /// How many will have work once results are there.
    unsettled: usize,
}

impl OpenTables {
    pub fn add(&mut self, table: OpenTable) -> TableId {
        self.held += table.writer.held_bytes();
        self.unsettled += usize::from(!table.is_settled());
        self.all.push(table);
        TableId(self.all.len() - 1)
    }

    /// Changes a table: the only way, so that the sums are right.
    pub fn change<T>(&mut self, id: TableId, change: impl FnOnce(&mut OpenTable) -> T) -> T {
        let table = &mut self.all[id.0];
        self.held -= table.writer.held_bytes();
        self.unsettled -= usize::from(!table.is_settled());
        let result = change(table);
        self.held += table.writer.held_bytes();
        self.unsettled += usize::from(!table.is_settled());
        result
    }

    /// In the order in which they were added.
    pub fn iter(&self) -> impl Iterator<Item = &OpenTable> {
        self.all.iter()
    }

    /// The same, of as many as there are now.
    pub fn ids(&self) -> impl Iterator<Item = TableId> + use<> {
        (0..self.all.len()).map(TableId)
    }

    pub fn held_bytes(&self) -> usize {
        self.held
    }

    /// Whether all but that one are settled.
    pub fn are_settled(&self, but: Option<TableId>) -> bool {
        let own = but.is_some_and(|id| !self.all[id.0].is_settled());
        self.unsettled == usize::from(own)
    }
}

impl Index<TableId> for OpenTables {
    type Output = OpenTable;

    fn index(&self, id: TableId) -> &OpenTable {
        &self.all[id.0]
    }
}
