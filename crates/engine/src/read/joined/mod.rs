//! Columns of a table and of its friends, entry by entry.
//!
//! Each is read by a pipeline of its own, in the same steps; they are served side by side, since
//! what is wanted is ordered by its entry (`joined/run.rs`). A friend with an index is read where the
//! numbers of the table's entries say so, one step behind them (`joined/lookup.rs`). A cut decides
//! window by window, and each pipeline is told what is left (`joined/cutting.rs`).

mod cutting;
pub mod friends;
mod lazy;
mod lookup;
mod run;

pub(super) use lazy::LazyJoined;

use std::ops::Range;

use rootfile::Array;

use crate::error::Result;
use crate::read::core::batches::Batches;
use crate::read::core::columns::{Batch, optional};
use crate::read::core::cut::Cut;
use crate::read::core::footprint::Outline;
use crate::read::core::steps::{Rank, Step, borders};
use crate::read::core::table::{Selected, Table};
use friends::{Alignment, Friend};

/// Columns of a table and of friends. Cheap to clone.
#[derive(Clone)]
pub struct Joined {
    /// The table itself, and then those of its friends that something is read of.
    parts: Vec<Part>,
    /// What is read: which of a part.
    columns: Vec<JoinedColumn>,
}

#[derive(Clone)]
struct Part {
    friend: Friend,
    alignment: Alignment,
    columns: Selected,
}

/// A column of the table itself, or of a friend.
#[derive(Debug, Clone)]
pub struct JoinedColumn {
    /// As the user gets it: the column's path, with `friend.` before it where it was asked for so.
    pub name: String,
    place: Place,
}

/// Which part, and which of its columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    part: usize,
    at: usize,
}

/// Names of the table's columns that say which entries of a friend are meant, and where they are
/// among what is read of it.
type Keys = Vec<(String, usize)>;

impl Joined {
    pub(super) fn new(table: &Table) -> Self {
        Joined::of(Selected::none(table))
    }

    /// Columns of one table alone.
    pub(super) fn of(columns: Selected) -> Self {
        let name = |(at, name): (usize, &str)| JoinedColumn {
            name: name.to_owned(),
            place: Place { part: 0, at },
        };
        let named = columns.names().into_iter().enumerate().map(name).collect();
        let friend = Friend::new("", columns.table());
        let own = Part { friend, alignment: Alignment::Entry, columns };
        Joined { parts: vec![own], columns: named }
    }

    /// The table itself.
    pub fn table(&self) -> &Table {
        &self.parts[0].friend.table
    }

    pub fn columns(&self) -> &[JoinedColumn] {
        &self.columns
    }

    /// The columns without entries, by name.
    pub(super) fn empty_columns(&self) -> impl Iterator<Item = (String, Array)> {
        self.columns.iter().map(|column| (column.name.clone(), self.empty(column.place)))
    }

    /// What reading entries would fetch of each table.
    pub(super) async fn outlines(&self, entries: Range<u64>) -> Result<Vec<Outline>> {
        let entries = self.there(entries);
        let mut outlines = Vec::with_capacity(self.parts.len());
        for (part, columns) in self.parts.iter().zip(self.lists_with_keys()?.0) {
            let there = part.there();
            let own = match part.alignment {
                Alignment::Entry => {
                    let (start, end) = (entries.start.min(there), entries.end.min(there));
                    part.friend.own(start)..part.friend.own(end)
                }
                Alignment::Index(..) => 0..u64::MAX,
            };
            outlines.push(columns.outline(own).await?);
        }
        Ok(outlines)
    }

    /// Names of the friends.
    pub(super) fn friends(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().skip(1).map(|part| &*part.friend.name)
    }

    /// What is read of each table: of the table itself, then of the friends.
    pub(super) fn selections(&self) -> impl Iterator<Item = (&str, Selected)> {
        let lists = self.lists().0.into_iter();
        self.parts.iter().zip(lists).map(|(part, columns)| (&*part.friend.name, columns))
    }

    /// Adds columns of the table itself. None is left out here because its data cannot be read.
    pub(super) fn add_own(&mut self, columns: &Selected) {
        for (at, name) in columns.names().into_iter().enumerate() {
            let place = Place { part: 0, at: self.parts[0].columns.add(columns, at) };
            self.columns.push(JoinedColumn { name: name.to_owned(), place });
        }
    }

    /// Adds columns of a friend, under their own names or with the friend's before them.
    ///
    /// # Errors
    /// Why the friend's index cannot be used.
    pub(super) fn add(&mut self, friend: &Friend, columns: &Selected, prefix: bool) -> Result<()> {
        let part = self.part(friend)?;
        for (at, name) in columns.names().into_iter().enumerate() {
            let place = Place { part, at: self.parts[part].columns.add(columns, at) };
            let name = if prefix { format!("{}.{name}", friend.name) } else { name.to_owned() };
            self.columns.push(JoinedColumn { name, place });
        }
        Ok(())
    }

    fn part(&mut self, friend: &Friend) -> Result<usize> {
        let known = self.parts.iter().skip(1).position(|part| part.friend.name == friend.name);
        if let Some(known) = known {
            return Ok(known + 1);
        }
        let alignment = Alignment::of(self.table(), friend)?;
        let columns = Selected::none(&friend.table);
        self.parts.push(Part { friend: friend.clone(), alignment, columns });
        Ok(self.parts.len() - 1)
    }

    /// Has a friend at hand that a cut needs.
    pub(super) fn admit(&mut self, friend: &Friend) -> Result<()> {
        self.part(friend).map(|_| ())
    }

    pub(super) fn pick(&self, positions: &[usize]) -> Joined {
        let columns = positions.iter().map(|at| self.columns[*at].clone()).collect();
        Joined { parts: self.parts.clone(), columns }
    }

    /// The columns of each part that something is read of, and the place of each column among them.
    fn lists(&self) -> (Vec<Selected>, Vec<Place>) {
        let mut lists: Vec<Selected> =
            self.parts.iter().map(|part| Selected::none(&part.friend.table)).collect();
        let place = |column: &JoinedColumn| {
            let Place { part, at } = column.place;
            Place { part, at: lists[part].add(&self.parts[part].columns, at) }
        };
        let places = self.columns.iter().map(place).collect();
        (lists, places)
    }

    /// As [`Joined::lists`], with what the entries of each part are looked up by.
    fn lists_with_keys(&self) -> Result<(Vec<Selected>, Vec<Place>, Vec<Keys>)> {
        let (mut lists, places) = self.lists();
        let mut keys = vec![Keys::new(); lists.len()];
        for (at, part) in self.parts.iter().enumerate() {
            if lists[at].names().is_empty() {
                continue;
            }
            for name in part.alignment.columns() {
                let column = self.table().the(name)?;
                keys[at].push((name.clone(), lists[0].add(&column, 0)));
            }
        }
        Ok((lists, places, keys))
    }

    /// Bytes that an entry of these columns takes decoded.
    async fn bytes_per_entry(&self) -> Result<f64> {
        let mut bytes = 0.0;
        for list in self.lists().0 {
            bytes += list.bytes_per_entry().await?;
        }
        Ok(bytes)
    }

    /// Entries of a step.
    ///
    /// # Errors
    /// Of RNTuples those of reading page lists.
    pub(super) async fn step_entries(&self, step: Step, total: u64) -> Result<u64> {
        let bytes = match step {
            Step::Bytes(_) => self.bytes_per_entry().await?,
            Step::Whole | Step::Entries(_) => 0.0,
        };
        Ok(step.entries(total, || bytes))
    }

    /// First entries of the steps and, last, the end.
    ///
    /// # Errors
    /// As [`Joined::step_entries`].
    pub(super) async fn starts(&self, entries: Range<u64>, step: Step) -> Result<Vec<u64>> {
        let entries = self.there(entries);
        let total = entries.end - entries.start;
        Ok(borders(&entries, self.step_entries(step, total).await?, &[]))
    }

    fn there(&self, entries: Range<u64>) -> Range<u64> {
        let end = entries.end.min(self.table().num_entries());
        entries.start.min(end)..end
    }

    /// Reads a range of entries (cut to those there are), all at once.
    ///
    /// # Errors
    /// As [`Selected::read_where`].
    pub async fn read(&self, cut: Option<&Cut>, entries: Range<u64>) -> Result<Batch> {
        let entries = self.there(entries);
        let nothing = Batch::empty(entries.clone(), cut, self.empty_columns());
        let mut batches = self.start(cut, entries, Step::Whole, Rank::FIRST).await?;
        batches.next().await.unwrap_or(Ok(nothing))
    }

    fn empty(&self, place: Place) -> Array {
        let part = &self.parts[place.part];
        let empty = part.columns.empty_at(place.at);
        if part.lacks(self.table()) { optional(empty) } else { empty }
    }

    /// Starts reading in steps.
    ///
    /// # Errors
    /// As [`Joined::read`].
    pub(super) async fn start(
        &self,
        cut: Option<&Cut>,
        entries: Range<u64>,
        step: Step,
        rank: Rank,
    ) -> Result<Batches> {
        let starts = self.starts(entries, step).await?;
        self.start_at(cut, starts, rank).await
    }

    /// As [`Joined::start`], in batches that begin at `starts`, whose last is the end.
    pub(super) async fn start_at(
        &self,
        cut: Option<&Cut>,
        starts: Vec<u64>,
        rank: Rank,
    ) -> Result<Batches> {
        match cut {
            None => run::start(self, starts, rank).await,
            Some(cut) => cutting::start(self, cut, starts, rank).await,
        }
    }

    /// The columns of names in a cut.
    ///
    /// # Errors
    /// `NotInFile` where there is none, `Unsupported` where it cannot be read.
    fn deciding(&self, cut: &Cut) -> Result<Joined> {
        let mut deciding = Joined { parts: self.parts.clone(), columns: Vec::new() };
        for name in &cut.columns {
            let part = self.part_of(name);
            let own = match part {
                0 => name,
                part => {
                    name.strip_prefix(&format!("{}.", self.parts[part].friend.name)).unwrap_or(name)
                }
            };
            let column = self.parts[part].friend.table.the(own)?;
            let at = deciding.parts[part].columns.add(&column, 0);
            let place = Place { part, at };
            deciding.columns.push(JoinedColumn { name: name.clone(), place });
        }
        Ok(deciding)
    }

    /// The part that a name is about: the table itself where it has such a column, the friend whose
    /// name is before the dot, or the one that has such a column.
    fn part_of(&self, name: &str) -> usize {
        if self.table().has(name) {
            return 0;
        }
        let friends = || self.parts.iter().enumerate().skip(1);
        let named = friends().find(|(_, part)| part.friend.behind(name).is_some());
        let having = || friends().find(|(_, part)| part.friend.table.has(name));
        named.or_else(having).map_or(0, |(at, _)| at)
    }
}

impl Part {
    /// Entries of the table for which the friend has one.
    fn there(&self) -> u64 {
        match self.alignment {
            Alignment::Entry => self.friend.there(),
            Alignment::Index(..) => u64::MAX,
        }
    }

    /// Whether it may lack entries of the table, which are then missing values.
    fn lacks(&self, table: &Table) -> bool {
        match self.alignment {
            Alignment::Entry => self.friend.lacks(table.num_entries()),
            Alignment::Index(..) => true,
        }
    }
}
