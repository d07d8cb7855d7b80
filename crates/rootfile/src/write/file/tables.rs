//! The tables of a file, and sums over all of them. A file may have thousands, so a change of one
//! corrects the sums without a look at the others.

use std::collections::BTreeMap;
use std::ops::Index;

use super::keys::KeyCycle;
use crate::write::table::TableWriter;

/// A directory of the file; [`DirectoryId::TOP`] is there from the beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct DirectoryId(pub(super) usize);

impl DirectoryId {
    pub const TOP: DirectoryId = DirectoryId(0);
}

/// A table of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TableId(pub(super) usize);

pub(super) struct OpenTable {
    pub directory: DirectoryId,
    pub name: String,
    pub writer: Box<dyn TableWriter>,
    /// Work of it that has no place yet.
    pub out: usize,
    /// Whether some of its work has a place.
    pub is_placed: bool,
    pub cycle: KeyCycle,
    /// The RNTuple whose footer links it, if it is an attribute set, which no directory lists.
    pub set_of: Option<TableId>,
}

impl OpenTable {
    /// Whether it will have no work before it is given further entries.
    pub fn is_settled(&self) -> bool {
        self.out == 0 || !self.writer.waits()
    }
}

#[derive(Default)]
pub(super) struct OpenTables {
    all: Vec<OpenTable>,
    /// Bytes that all of them hold.
    held: usize,
    /// How many will have work once results are there.
    unsettled: usize,
    /// Those that are listed in place of a table of the file as it was: by its directory, name and
    /// cycle.
    replacing: BTreeMap<(DirectoryId, String, u16), Vec<TableId>>,
}

impl OpenTables {
    pub fn add(&mut self, table: OpenTable) -> TableId {
        self.held += table.writer.held_bytes();
        self.unsettled += usize::from(!table.is_settled());
        let id = TableId(self.all.len());
        if let KeyCycle::InPlaceOf(cycle) = table.cycle {
            let place = (table.directory, table.name.clone(), cycle);
            self.replacing.entry(place).or_default().push(id);
        }
        self.all.push(table);
        id
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

    /// Those that are listed in place of that table.
    pub fn in_place_of(
        &self,
        directory: DirectoryId,
        name: &str,
        cycle: u16,
    ) -> impl Iterator<Item = &OpenTable> {
        let place = (directory, name.to_owned(), cycle);
        self.replacing.get(&place).into_iter().flatten().map(|id| &self[*id])
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
