//! Columns of a table and of its friends, entry by entry.
//!
//! Each is read by a pipeline of its own, in the same steps; they are served side by side, since
//! wants are ordered by their entries (`joined/run.rs`). A friend with an index is read where the
//! numbers of the table's entries say so, one step behind them (`joined/lookup.rs`). A cut decides
//! window by window, and each pipeline receives the survivors (`joined/cutting.rs`).

pub(crate) mod alignment;
mod columns;
mod cutting;
#[cfg(feature = "select")]
mod elsewhere;
mod lazy;
mod lookup;
mod run;

use std::ops::Range;
use std::sync::Arc;

use rootfile::Array;

use crate::read::core::columns::optional;
use crate::read::core::cut::Cut;
use crate::read::core::footprint::ReadFootprint;
use crate::read::core::friends::Friend;
use crate::read::core::table::{Columns, Table};
use alignment::Alignment;
use remote::Result;

/// Columns of a table and of friends. Cheap to clone.
#[derive(Clone)]
pub struct Joined {
    /// The table itself, and then those of its friends that something is read of.
    parts: Vec<JoinedTable>,
    /// The columns to read, and the part of each.
    columns: Vec<JoinedColumn>,
}

#[derive(Clone)]
struct JoinedTable {
    friend: Friend,
    alignment: Alignment,
    columns: Box<dyn Columns>,
}

/// A column of the table itself, or of a friend.
#[derive(Debug, Clone)]
pub struct JoinedColumn {
    /// As the user gets it: the column's path, with `friend.` before it where it was asked for so.
    pub name: String,
    place: Place,
}

/// Which part, and which of its columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Place {
    part: usize,
    at: usize,
}

/// Names of the table's columns that say which entries of a friend are meant, and their positions
/// among the columns that are read of the table.
type Keys = Vec<(String, usize)>;

/// The columns that are read of each part.
type Lists = Vec<Box<dyn Columns>>;

impl Joined {
    pub(super) fn new(table: &dyn Table) -> Self {
        Joined::of(table.no_columns())
    }

    /// Columns of one table alone.
    pub(super) fn of(columns: Box<dyn Columns>) -> Self {
        let name = |(at, name): (usize, &str)| JoinedColumn {
            name: name.to_owned(),
            place: Place { part: 0, at },
        };
        let named = columns.names().into_iter().enumerate().map(name).collect();
        let friend = Friend::new("", columns.table());
        let own = JoinedTable { friend, alignment: Alignment::Entry, columns };
        Joined { parts: vec![own], columns: named }
    }

    /// The table itself.
    fn own(&self) -> &Arc<dyn Table> {
        &self.parts[0].friend.table
    }

    pub fn columns(&self) -> &[JoinedColumn] {
        &self.columns
    }

    /// The columns without entries, by name.
    pub(super) fn empty_columns(&self) -> impl Iterator<Item = (String, Array)> {
        self.columns.iter().map(|column| (column.name.clone(), self.empty_of(column.place)))
    }

    /// The ranges that reading entries would fetch of each table.
    async fn outlines_of(&self, entries: Range<u64>) -> Result<Vec<ReadFootprint>> {
        let entries = self.within(entries);
        let mut footprints = Vec::with_capacity(self.parts.len());
        for (part, columns) in self.parts.iter().zip(self.lists_with_keys()?.0) {
            let there = part.entries_covered();
            let own = match part.alignment {
                Alignment::Entry => {
                    let start = entries.start.min(there);
                    let end = entries.end.min(there);
                    part.friend.to_friend_entry(start)..part.friend.to_friend_entry(end)
                }
                Alignment::Index(..) => 0..u64::MAX,
            };
            footprints.append(&mut columns.footprints(own).await?);
        }
        Ok(footprints)
    }

    /// Adds columns of the table itself. None is left out here because its data cannot be read.
    ///
    /// # Errors
    /// `Unsupported` for columns of another kind of table.
    pub(super) fn add_own(&mut self, columns: &dyn Columns) -> Result<()> {
        for (at, name) in columns.names().into_iter().enumerate() {
            let place = Place { part: 0, at: self.parts[0].columns.add(columns, at)? };
            self.columns.push(JoinedColumn { name: name.to_owned(), place });
        }
        Ok(())
    }

    /// Adds columns of a friend, under their own names or with a prefix and a dot before them.
    ///
    /// # Errors
    /// Why the friend's index cannot be used.
    pub(super) fn add_of(
        &mut self,
        friend: &Friend,
        columns: &dyn Columns,
        prefix: Option<&str>,
    ) -> Result<()> {
        let part = self.part(friend)?;
        for (at, name) in columns.names().into_iter().enumerate() {
            let place = Place { part, at: self.parts[part].columns.add(columns, at)? };
            let name = match prefix {
                Some(prefix) => format!("{prefix}.{name}"),
                None => name.to_owned(),
            };
            self.columns.push(JoinedColumn { name, place });
        }
        Ok(())
    }

    fn part(&mut self, friend: &Friend) -> Result<usize> {
        let known = self.parts.iter().skip(1).position(|part| part.friend.name == friend.name);
        if let Some(known) = known {
            return Ok(known + 1);
        }
        let alignment = Alignment::of(&**self.own(), friend)?;
        let columns = friend.table.no_columns();
        self.parts.push(JoinedTable { friend: friend.clone(), alignment, columns });
        Ok(self.parts.len() - 1)
    }

    /// Has a friend at hand that a cut needs.
    pub(super) fn admit(&mut self, friend: &Friend) -> Result<()> {
        self.part(friend).map(|_| ())
    }

    /// The columns of each part that something is read of, and the place of each column among them.
    fn lists(&self) -> Result<(Lists, Vec<Place>)> {
        let mut lists: Lists =
            self.parts.iter().map(|part| part.friend.table.no_columns()).collect();
        let place = |column: &JoinedColumn| {
            let Place { part, at } = column.place;
            Ok(Place { part, at: lists[part].add(&*self.parts[part].columns, at)? })
        };
        let places = self.columns.iter().map(place).collect::<Result<_>>()?;
        Ok((lists, places))
    }

    /// As [`Joined::lists`], with the columns by which the entries of each part are looked up.
    fn lists_with_keys(&self) -> Result<(Lists, Vec<Place>, Vec<Keys>)> {
        let (mut lists, places) = self.lists()?;
        let mut keys = vec![Keys::new(); lists.len()];
        for (at, part) in self.parts.iter().enumerate() {
            if lists[at].names().is_empty() {
                continue;
            }
            for name in part.alignment.columns() {
                let column = self.own().require(name)?;
                keys[at].push((name.clone(), lists[0].add(&*column, 0)?));
            }
        }
        Ok((lists, places, keys))
    }

    /// Bytes that an entry of these columns takes decoded.
    async fn bytes_of_entry(&self) -> Result<f64> {
        let mut bytes = 0.0;
        for list in self.lists()?.0 {
            bytes += list.bytes_per_entry().await?;
        }
        Ok(bytes)
    }

    fn empty_of(&self, place: Place) -> Array {
        let part = &self.parts[place.part];
        let empty = part.columns.empty_at(place.at);
        if part.lacks_entries(&**self.own()) { optional(empty) } else { empty }
    }

    /// Entries of the table that can be asked for.
    fn within(&self, entries: Range<u64>) -> Range<u64> {
        let end = entries.end.min(self.own().num_entries());
        entries.start.min(end)..end
    }

    /// The columns of names in a cut.
    ///
    /// # Errors
    /// `NotInFile` where there is none, `Unsupported` where it cannot be read.
    fn deciding(&self, cut: &Cut) -> Result<Joined> {
        let mut deciding = Joined { parts: self.parts.clone(), columns: Vec::new() };
        for chosen in &cut.columns {
            let name = &chosen.name;
            let part = self.part_of(name);
            let own = match part {
                0 => &**name,
                part => self.parts[part].friend.column_of(name).unwrap_or(name),
            };
            let column = self.parts[part].friend.table.matching(own, Some(chosen))?;
            let at = deciding.parts[part].columns.add(&*column, 0)?;
            let place = Place { part, at };
            deciding.columns.push(JoinedColumn { name: name.clone(), place });
        }
        Ok(deciding)
    }

    /// The part that a name is about: the table itself where it has such a column, the friend whose
    /// name is before the dot, or the one that has such a column.
    fn part_of(&self, name: &str) -> usize {
        if self.own().has(name) {
            return 0;
        }
        let friends = || self.parts.iter().enumerate().skip(1);
        let named = friends().find(|(_, part)| part.friend.column_of(name).is_some());
        let having = || friends().find(|(_, part)| part.friend.table.has(name));
        named.or_else(having).map_or(0, |(at, _)| at)
    }
}

impl JoinedTable {
    /// Entries of the table for which the friend has one.
    fn entries_covered(&self) -> u64 {
        match self.alignment {
            Alignment::Entry => self.friend.entries_covered(),
            Alignment::Index(..) => u64::MAX,
        }
    }

    /// Whether it may lack entries of the table, which are then missing values.
    fn lacks_entries(&self, table: &dyn Table) -> bool {
        match self.alignment {
            Alignment::Entry => self.friend.lacks_entries(table.num_entries()),
            Alignment::Index(..) => true,
        }
    }
}
