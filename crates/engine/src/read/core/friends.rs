//! Friends of a table: other tables, often in other files, whose entries belong to its own.

use std::sync::Arc;

use mutex::Mutex;
use rootfile::tree::FriendPlace;

use super::table::Table;
use crate::located::{Located, unlocated};
use crate::read::file::File;
use remote::Result;

/// How the entries of a friend are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum EntryLookup {
    /// By its index, if it has one of numbers that the table has too; else by their number.
    #[default]
    Own,
    /// By their number: it is one of the tables of a chain without an index.
    Number,
    /// By its index: it is a chain of tables that have one.
    Index,
}

/// A friend that is open.
#[derive(Clone)]
pub struct Friend {
    /// The name before the dot in `friend.branch`.
    pub name: String,
    pub table: Arc<dyn Table>,
    /// Number of its entry that belongs to the first of the table.
    pub(crate) entry_offset: i64,
    /// It is one of several that are read one after the other, of which some lack entries.
    pub(crate) sometimes_lacks: bool,
    pub(crate) lookup: EntryLookup,
}

impl Friend {
    /// A table whose entries belong to those of another one.
    pub fn new(name: &str, table: Arc<dyn Table>) -> Self {
        let name = name.to_owned();
        let lookup = EntryLookup::Own;
        Friend { name, table, entry_offset: 0, sometimes_lacks: false, lookup }
    }

    /// The column that `friend.column` names, where this friend is called so: by its own name or,
    /// as in ROOT, by that of its tree without directories.
    pub(crate) fn column_of<'a>(&self, name: &'a str) -> Option<&'a str> {
        column_behind(name, &self.name)
            .or_else(|| column_behind(name, last_name(self.table.path())))
    }

    /// Its entry that belongs to one of the table.
    pub(crate) fn to_friend_entry(&self, entry: u64) -> u64 {
        entry.checked_add_signed(self.entry_offset).unwrap_or(0)
    }

    /// The table's entry that belongs to one of its own.
    pub(crate) fn to_table_entry(&self, entry: u64) -> u64 {
        entry.checked_add_signed(self.entry_offset.saturating_neg()).unwrap_or(0)
    }

    /// Entries of the table before the first that it lacks.
    pub(crate) fn entries_covered(&self) -> u64 {
        self.to_table_entry(self.table.num_entries())
    }

    /// Whether it lacks some of the entries of the table.
    pub(crate) fn lacks_entries(&self, num_entries: u64) -> bool {
        self.sometimes_lacks || self.entries_covered() < num_entries
    }
}

/// The text behind `friend.`
pub(crate) fn column_behind<'a>(name: &'a str, friend: &str) -> Option<&'a str> {
    name.strip_prefix(friend)?.strip_prefix('.')
}

/// As [`Friend::column_of`], of a friend that need not be open.
pub(crate) fn column_of_place<'a>(name: &'a str, place: &FriendPlace) -> Option<&'a str> {
    column_behind(name, &place.name).or_else(|| column_behind(name, last_name(&place.tree)))
}

/// Whether a friend that a file names is called so.
pub(crate) fn is_called(place: &FriendPlace, name: &str) -> bool {
    place.name == name || last_name(&place.tree) == name
}

/// The name behind the directories and before the cycle of a path.
pub(crate) fn last_name(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or_default();
    match name.rsplit_once(';') {
        Some((name, cycle)) if cycle.parse::<u16>().is_ok() => name,
        _ => name,
    }
}

/// The friends that a tree's or a chain's file names, and those of them that are open.
pub struct FriendList {
    /// Where the tree is; `None` for one that is in no file.
    pub(crate) home: Option<(File, Arc<str>)>,
    places: rootfile::Result<Vec<FriendPlace>>,
    open: Mutex<Vec<Friend>>,
}

impl Default for FriendList {
    fn default() -> Self {
        FriendList { home: None, places: Ok(Vec::new()), open: Mutex::default() }
    }
}

impl FriendList {
    pub(crate) fn new(file: File, path: &str, places: rootfile::Result<Vec<FriendPlace>>) -> Self {
        FriendList { home: Some((file, path.into())), places, open: Mutex::default() }
    }

    /// # Errors
    /// Why the file's list of them cannot be read.
    pub fn places(&self) -> Result<Vec<FriendPlace>> {
        let home = self.home.as_ref();
        self.places.clone().map_err(|error| match home {
            Some((file, _)) => error.located(file.url()),
            None => unlocated(error),
        })
    }

    pub(crate) fn known(&self, name: &str) -> Option<Friend> {
        self.open.lock().iter().find(|friend| friend.name == name).cloned()
    }

    pub(crate) fn remember(&self, friend: Friend) {
        let mut open = self.open.lock();
        if open.iter().all(|other| other.name != friend.name) {
            open.push(friend);
        }
    }
}
