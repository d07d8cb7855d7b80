//! What has entries: trees and RNTuples, and columns of either.

use std::ops::Range;

use rootfile::Array;

use super::batches::Batches;
use super::columns::{Batch, Column};
use super::cut::Cut;
use super::file::File;
pub use super::friends::Friend;
pub use super::joined::{Joined, JoinedColumn};
use super::ntuple::{FieldColumn, Ntuple};
use super::outline::Outline;
use super::plan::Step;
use super::tree::{Rank, Tree};
use crate::Engine;
use crate::error::{Error, ErrorKind, Result};

/// What has entries to be read.
#[derive(Clone)]
pub enum Table {
    Tree(Tree),
    Ntuple(Ntuple),
}

/// Which columns of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wanted {
    /// All that can be read.
    All,
    /// Names, paths and globs.
    Named(Vec<String>),
    /// Branches, each with how it is wanted.
    Chosen(Vec<Chosen>),
    /// Fields of an RNTuple by their paths: each in the lists that it is in or, with paths of
    /// fields to keep, one at the top with only those.
    Fields(Vec<(String, Option<Vec<String>>)>),
}

/// A branch, and how it is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chosen {
    /// Name or path.
    pub name: String,
    /// Nobody has named it: see [`Column::optional`].
    pub optional: bool,
    /// As the bytes of its entries: see [`Tree::read_as_bytes`].
    pub as_bytes: bool,
}

/// Columns of a tree or of an RNTuple. Cheap to clone.
#[derive(Clone)]
pub enum Selected {
    Tree(Tree, Vec<Column>),
    /// Columns of a tree and of its friends.
    Joined(Joined),
    Ntuple(Ntuple, Vec<FieldColumn>),
}

impl Table {
    pub fn file(&self) -> &File {
        match self {
            Table::Tree(tree) => tree.file(),
            Table::Ntuple(ntuple) => ntuple.file(),
        }
    }

    pub fn num_entries(&self) -> u64 {
        match self {
            Table::Tree(tree) => tree.num_entries(),
            Table::Ntuple(ntuple) => ntuple.num_entries(),
        }
    }

    /// Chooses columns.
    ///
    /// # Errors
    /// `NotInFile` and `Unsupported`, as of [`Tree::columns`] and [`Ntuple::columns`];
    /// `InvalidArgument` for fields of a tree.
    pub fn select(&self, wanted: &Wanted) -> Result<Selected> {
        Ok(match self {
            Table::Tree(tree) => {
                let columns = match wanted {
                    Wanted::All => tree.all_columns(),
                    Wanted::Named(patterns) => tree.columns(patterns)?,
                    Wanted::Chosen(chosen) => {
                        chosen.iter().map(|each| tree.chosen(each)).collect::<Result<_>>()?
                    }
                    Wanted::Fields(_) => return Err(another_kind(tree)),
                };
                Selected::Tree(tree.clone(), columns)
            }
            Table::Ntuple(ntuple) => {
                let columns = match wanted {
                    Wanted::All => ntuple.all_columns(),
                    Wanted::Named(patterns) => ntuple.columns(patterns)?,
                    Wanted::Chosen(chosen) => {
                        let names = chosen.iter().map(|each| each.name.clone());
                        ntuple.columns(&names.collect::<Vec<_>>())?
                    }
                    Wanted::Fields(fields) => {
                        fields.iter().map(|each| ntuple.field(each)).collect::<Result<_>>()?
                    }
                };
                Selected::Ntuple(ntuple.clone(), columns)
            }
        })
    }
}

impl Engine {
    /// Chooses columns of a table, also of a tree's friends: `friend.branch`. A friend is opened
    /// where a name needs it.
    ///
    /// # Errors
    /// As [`Table::select`] and [`Engine::friends`].
    pub async fn select(&self, table: &Table, wanted: &Wanted) -> Result<Selected> {
        self.select_for(table, wanted, None).await
    }

    /// As [`Engine::select`], with the friends that a cut is about.
    ///
    /// # Errors
    /// As [`Engine::select`].
    pub async fn select_for(
        &self,
        table: &Table,
        wanted: &Wanted,
        cut: Option<&Cut>,
    ) -> Result<Selected> {
        let Table::Tree(tree) = table else { return table.select(wanted) };
        let patterns: Vec<(&str, Option<&Chosen>)> = match wanted {
            Wanted::Named(patterns) => patterns.iter().map(|name| (&**name, None)).collect(),
            Wanted::Chosen(all) => all.iter().map(|one| (&*one.name, Some(one))).collect(),
            _ => return table.select(wanted),
        };
        let decide = cut.iter().flat_map(|cut| &cut.columns).map(|name| &**name);
        let names = patterns.iter().map(|(name, _)| *name).chain(decide);
        let friends = self.friends_in(tree, names).await?;
        if friends.is_empty() {
            return table.select(wanted);
        }
        let mut joined = Joined::new(tree);
        for (pattern, chosen) in patterns {
            match of_friend(tree, &friends, pattern) {
                Some((friend, branches)) => {
                    for column in meant(&friend.tree, branches, chosen)? {
                        joined.add(friend, column)?;
                    }
                }
                None => {
                    let columns = meant(tree, pattern, chosen)?;
                    columns.into_iter().for_each(|column| joined.add_own(column));
                }
            }
        }
        friends.iter().try_for_each(|friend| joined.admit(friend))?;
        Ok(Selected::Joined(joined))
    }

    /// The friends that names are about, opened side by side.
    async fn friends_in<'a>(
        &self,
        tree: &Tree,
        mut names: impl Iterator<Item = &'a str>,
    ) -> Result<Vec<Friend>> {
        let unknown = |name: &&str| name.contains('.') && tree.names().find(name).is_none();
        let places = match tree.friend_places() {
            Ok(places) if places.is_empty() => return Ok(Vec::new()),
            Ok(places) => places,
            // What reads nothing of friends is not concerned.
            Err(error) => {
                return if names.any(|name| unknown(&name)) { Err(error) } else { Ok(Vec::new()) };
            }
        };
        let mut named: Vec<String> = Vec::new();
        for name in names.filter(unknown) {
            for place in &places {
                if behind(name, &place.name).is_some() && !named.contains(&place.name) {
                    named.push(place.name.clone());
                }
            }
        }
        self.some_friends(tree, named).await
    }
}

/// The columns of a tree that a pattern, or a choice of that name, means.
fn meant(tree: &Tree, pattern: &str, chosen: Option<&Chosen>) -> Result<Vec<Column>> {
    let name = pattern.to_owned();
    match chosen {
        Some(chosen) => Ok(vec![tree.chosen(&Chosen { name, ..chosen.clone() })?]),
        None => tree.columns(&[name]),
    }
}

/// The friend that a pattern is about, and its branches.
fn of_friend<'a>(
    tree: &Tree,
    friends: &'a [Friend],
    pattern: &'a str,
) -> Option<(&'a Friend, &'a str)> {
    if tree.names().find(pattern).is_some() {
        return None;
    }
    friends.iter().find_map(|friend| Some((friend, behind(pattern, &friend.name)?)))
}

/// What follows `friend.`
fn behind<'a>(name: &'a str, friend: &str) -> Option<&'a str> {
    name.strip_prefix(friend)?.strip_prefix('.')
}

fn another_kind(tree: &Tree) -> Error {
    let what = format!("{} is a tree, not an RNTuple as what is read with it", tree.path());
    Error::new(ErrorKind::InvalidArgument, what).with_url(tree.file().url())
}

impl Selected {
    pub fn file(&self) -> &File {
        match self {
            Selected::Tree(tree, _) => tree.file(),
            Selected::Joined(joined) => joined.tree().file(),
            Selected::Ntuple(ntuple, _) => ntuple.file(),
        }
    }

    /// Where the table is in the file, without the cycle.
    pub fn path(&self) -> &str {
        match self {
            Selected::Tree(tree, _) => tree.path(),
            Selected::Joined(joined) => joined.tree().path(),
            Selected::Ntuple(ntuple, _) => ntuple.path(),
        }
    }

    pub fn num_entries(&self) -> u64 {
        match self {
            Selected::Tree(tree, _) => tree.num_entries(),
            Selected::Joined(joined) => joined.tree().num_entries(),
            Selected::Ntuple(ntuple, _) => ntuple.num_entries(),
        }
    }

    /// Names of the columns.
    pub fn names(&self) -> Vec<&str> {
        match self {
            Selected::Tree(_, columns) => columns.iter().map(|column| &*column.name).collect(),
            Selected::Joined(joined) => joined.columns().iter().map(|c| &*c.name).collect(),
            Selected::Ntuple(_, columns) => columns.iter().map(|column| &*column.name).collect(),
        }
    }

    /// The columns without entries, by name.
    pub fn empty(&self) -> Vec<(String, Array)> {
        match self {
            Selected::Tree(_, columns) => {
                let empty = |column: &Column| (column.name.clone(), column.interpretation.empty());
                columns.iter().map(empty).collect()
            }
            Selected::Joined(joined) => joined.empty_columns().collect(),
            Selected::Ntuple(_, columns) => columns.iter().map(FieldColumn::empty).collect(),
        }
    }

    /// Those of the columns at these positions.
    ///
    /// # Panics
    /// Where there is no column of a position.
    #[must_use]
    pub fn pick(&self, positions: &[usize]) -> Selected {
        match self {
            Selected::Tree(tree, columns) => Selected::Tree(
                tree.clone(),
                positions.iter().map(|p| columns[*p].clone()).collect(),
            ),
            Selected::Joined(joined) => Selected::Joined(joined.pick(positions)),
            Selected::Ntuple(ntuple, columns) => Selected::Ntuple(
                ntuple.clone(),
                positions.iter().map(|p| columns[*p].clone()).collect(),
            ),
        }
    }

    /// What reading entries would fetch.
    ///
    /// # Errors
    /// Those of planning; of an RNTuple also those of reading page lists.
    pub async fn outline(&self, entries: Range<u64>) -> Result<Outline> {
        match self {
            Selected::Joined(joined) => {
                let what = "friends are in other files, where they are planned by themselves";
                Err(Error::new(ErrorKind::Unsupported, what).with_url(joined.tree().file().url()))
            }
            Selected::Tree(tree, columns) => {
                Ok(Outline::of_tree(columns, &tree.plan(columns, entries, Step::Whole)?))
            }
            Selected::Ntuple(ntuple, columns) => {
                Ok(Outline::of_ntuple(columns, &ntuple.plan(columns, entries, Step::Whole).await?))
            }
        }
    }

    /// Entries of a step.
    ///
    /// # Errors
    /// As [`Selected::outline`].
    pub async fn step_entries(&self, step: Step) -> Result<u64> {
        self.step_entries_of(step, self.num_entries()).await
    }

    /// The same of `total` entries.
    pub(super) async fn step_entries_of(&self, step: Step, total: u64) -> Result<u64> {
        match self {
            Selected::Tree(tree, columns) => {
                Ok(super::plan::step_entries(tree.metadata(), columns, step, total))
            }
            Selected::Joined(joined) => Ok(joined.step_entries(step, total)),
            Selected::Ntuple(ntuple, columns) => ntuple.step_entries(columns, step, total).await,
        }
    }

    /// The first of the steps in which entries are read; `None` where there are none.
    pub(super) async fn first_step(
        &self,
        entries: Range<u64>,
        step: Step,
    ) -> Result<Option<Range<u64>>> {
        if entries.is_empty() {
            return Ok(None);
        }
        Ok(match self {
            Selected::Tree(tree, columns) => {
                let plan = tree.plan(columns, entries, step)?;
                plan.batches.first().map(|batch| batch.entries.clone())
            }
            Selected::Joined(joined) => joined.first_step(entries, step),
            Selected::Ntuple(ntuple, columns) => {
                let plan = ntuple.plan(columns, entries, step).await?;
                plan.batches.first().map(|batch| batch.entries.clone())
            }
        })
    }

    /// Reads a range of entries (cut to those there are), all at once.
    ///
    /// # Errors
    /// As [`Tree::read`] and [`Ntuple::read`].
    pub async fn read(&self, entries: Range<u64>) -> Result<Batch> {
        match self {
            Selected::Tree(tree, columns) => tree.read(columns.clone(), entries).await,
            Selected::Joined(joined) => joined.read(None, entries).await,
            Selected::Ntuple(ntuple, columns) => ntuple.read(columns.clone(), entries).await,
        }
    }

    /// As [`Selected::read`], of those entries only that survive a cut, if there is one.
    ///
    /// # Errors
    /// As [`Selected::batches`], and the predicate's.
    pub async fn read_where(&self, cut: Option<&Cut>, entries: Range<u64>) -> Result<Batch> {
        match (self, cut) {
            (_, None) => self.read(entries).await,
            (Selected::Tree(tree, columns), Some(cut)) => {
                tree.read_where(columns.clone(), cut, entries).await
            }
            (Selected::Joined(joined), cut) => joined.read(cut, entries).await,
            (Selected::Ntuple(ntuple, columns), Some(cut)) => {
                ntuple.read_where(columns.clone(), cut, entries).await
            }
        }
    }

    /// Starts reading in steps, of those entries only that survive a cut, if there is one.
    ///
    /// # Errors
    /// As [`Tree::batches_where`] and [`Ntuple::batches_where`].
    pub async fn batches(
        &self,
        entries: Range<u64>,
        step: Step,
        cut: Option<&Cut>,
    ) -> Result<Batches> {
        self.start(cut, entries, step, Rank::FIRST).await
    }

    pub(super) async fn start(
        &self,
        cut: Option<&Cut>,
        entries: Range<u64>,
        step: Step,
        rank: Rank,
    ) -> Result<Batches> {
        match self {
            Selected::Tree(tree, columns) => tree.start(columns.clone(), cut, entries, step, rank),
            Selected::Joined(joined) => joined.start(cut, entries, step, rank),
            Selected::Ntuple(ntuple, columns) => {
                ntuple.start(columns.clone(), cut, entries, step, rank).await
            }
        }
    }
}
