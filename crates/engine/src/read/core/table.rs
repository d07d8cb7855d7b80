//! What has entries: trees and RNTuples, and columns of either.

use std::ops::Range;

use rootfile::Array;
use rootfile::tree::FriendPlace;

use super::batches::Batches;
use super::columns::{Batch, Column};
use super::cut::Cut;
use super::footprint::Outline;
use super::request::{Chosen, Wanted};
use super::steps::{Rank, Step};
use crate::error::{Error, ErrorKind, Result};
use crate::read::core::cut::Told;
use crate::read::file::File;
pub use crate::read::joined::friends::Friend;
use crate::read::joined::friends::FriendBook;
pub use crate::read::joined::{Joined, JoinedColumn};
use crate::read::many::chain::{Chain, ChainColumns};
use crate::read::ntuple::{FieldColumn, Ntuple};
use crate::read::tree::Tree;
use crate::read::tree::plan;

/// What has entries to be read.
#[derive(Clone)]
pub enum Table {
    Tree(Tree),
    Ntuple(Ntuple),
    /// Tables of many files, one after the other.
    Chain(Chain),
}

/// Columns of a tree or of an RNTuple. Cheap to clone.
#[derive(Clone)]
pub enum Selected {
    Tree(Tree, Vec<Column>),
    /// Columns of a tree and of its friends.
    Joined(Joined),
    Ntuple(Ntuple, Vec<FieldColumn>),
    /// Columns of a chain, and of friends of it.
    Chain(ChainColumns),
}

impl Table {
    pub fn file(&self) -> &File {
        match self {
            Table::Tree(tree) => tree.file(),
            Table::Ntuple(ntuple) => ntuple.file(),
            Table::Chain(chain) => chain.lead().file(),
        }
    }

    /// Where it is in the file, without the cycle.
    pub fn path(&self) -> &str {
        match self {
            Table::Tree(tree) => tree.path(),
            Table::Ntuple(ntuple) => ntuple.path(),
            Table::Chain(chain) => chain.name(),
        }
    }

    pub fn num_entries(&self) -> u64 {
        match self {
            Table::Tree(tree) => tree.num_entries(),
            Table::Ntuple(ntuple) => ntuple.num_entries(),
            Table::Chain(chain) => chain.num_entries(),
        }
    }

    /// Where the friends are that its file names, or of a chain also its first table's;
    /// [`Engine::friends`] opens them.
    ///
    /// # Errors
    /// Why the file's list of them cannot be read.
    ///
    /// [`Engine::friends`]: crate::Engine::friends
    pub fn friend_places(&self) -> Result<Vec<FriendPlace>> {
        let places = self.friend_books().into_iter().map(FriendBook::places);
        Ok(places.collect::<Result<Vec<_>>>()?.concat())
    }

    pub(crate) fn friend_books(&self) -> Vec<&FriendBook> {
        match self {
            Table::Tree(tree) => vec![tree.friend_book()],
            Table::Ntuple(_) => Vec::new(),
            Table::Chain(chain) => {
                let mut books = vec![chain.friend_book()];
                books.extend(chain.lead().friend_books());
                books
            }
        }
    }

    /// Whether there is a branch or a field of that path or, of a branch, that last name.
    pub(crate) fn has(&self, name: &str) -> bool {
        match self {
            Table::Tree(tree) => tree.names().find(name).is_some(),
            Table::Ntuple(ntuple) => ntuple.find(name).is_some(),
            Table::Chain(chain) => chain.lead().has(name),
        }
    }

    /// The column of a name.
    ///
    /// # Errors
    /// `NotInFile` and `Unsupported`.
    pub(crate) fn the(&self, name: &str) -> Result<Selected> {
        Ok(match self {
            Table::Tree(tree) => {
                let column = tree.column(tree.names().the(name)?)?;
                Selected::Tree(tree.clone(), vec![column])
            }
            Table::Ntuple(ntuple) => {
                let column = ntuple.column(ntuple.the(name)?)?;
                Selected::Ntuple(ntuple.clone(), vec![column])
            }
            Table::Chain(chain) => return chain.lead().the(name),
        })
    }

    /// The columns that a pattern, or a choice of that name, means.
    pub(crate) fn meant(&self, pattern: &str, chosen: Option<&Chosen>) -> Result<Selected> {
        let name = pattern.to_owned();
        self.select(&match chosen {
            Some(chosen) => Wanted::Chosen(vec![Chosen { name, ..chosen.clone() }]),
            None => Wanted::Named(vec![name]),
        })
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
                    Wanted::Chosen(chosen) if chosen.iter().any(|each| each.keep.is_some()) => {
                        return Err(another_kind(tree));
                    }
                    Wanted::Chosen(chosen) => {
                        chosen.iter().map(|each| tree.chosen(each)).collect::<Result<_>>()?
                    }
                };
                Selected::Tree(tree.clone(), columns)
            }
            Table::Ntuple(ntuple) => {
                let columns = match wanted {
                    Wanted::All => ntuple.all_columns(),
                    Wanted::Named(patterns) => ntuple.columns(patterns)?,
                    Wanted::Chosen(chosen) => {
                        chosen.iter().map(|each| ntuple.chosen(each)).collect::<Result<_>>()?
                    }
                };
                Selected::Ntuple(ntuple.clone(), columns)
            }
            Table::Chain(chain) => Selected::Chain(chain.columns(wanted)?),
        })
    }
}

fn not_one(table: &Table) -> Error {
    let what = format!("it takes one table: {} is of several, or read with friends", table.path());
    Error::new(ErrorKind::Unsupported, what).with_url(table.file().url())
}

fn another_kind(tree: &Tree) -> Error {
    let what = format!("{} is a tree, not an RNTuple as what is read with it", tree.path());
    Error::new(ErrorKind::InvalidArgument, what).with_url(tree.file().url())
}

impl Selected {
    /// No column of a table.
    pub(crate) fn none(table: &Table) -> Self {
        match table {
            Table::Tree(tree) => Selected::Tree(tree.clone(), Vec::new()),
            Table::Ntuple(ntuple) => Selected::Ntuple(ntuple.clone(), Vec::new()),
            Table::Chain(chain) => Selected::none(chain.lead()),
        }
    }

    /// What the columns are of.
    pub fn table(&self) -> Table {
        match self {
            Selected::Tree(tree, _) => Table::Tree(tree.clone()),
            Selected::Joined(joined) => joined.table().clone(),
            Selected::Ntuple(ntuple, _) => Table::Ntuple(ntuple.clone()),
            Selected::Chain(columns) => Table::Chain(columns.chain().clone()),
        }
    }

    /// The same columns by their names, for other tables.
    pub(crate) fn chosen(&self) -> Vec<Chosen> {
        let optional = |at: usize| match self {
            Selected::Tree(_, columns) => columns[at].optional,
            _ => false,
        };
        let chosen = |(at, name): (usize, &str)| Chosen {
            name: name.to_owned(),
            optional: optional(at),
            as_bytes: false,
            keep: None,
        };
        self.names().into_iter().enumerate().map(chosen).collect()
    }

    /// Where the column at a position of `others` is among these.
    pub(crate) fn position(&self, others: &Selected, at: usize) -> Option<usize> {
        match (self, others) {
            (Selected::Tree(_, columns), Selected::Tree(_, others)) => {
                columns.iter().position(|column| column.branch == others[at].branch)
            }
            (Selected::Ntuple(_, columns), Selected::Ntuple(_, others)) => {
                let same =
                    |column: &FieldColumn| column.interpretation == others[at].interpretation;
                columns.iter().position(same)
            }
            _ => None,
        }
    }

    /// Adds the column at a position of `others`, of the same table, if it is not there; where it
    /// is. It is then one that somebody has named.
    pub(crate) fn add(&mut self, others: &Selected, at: usize) -> usize {
        if let Some(known) = self.position(others, at) {
            return known;
        }
        match (&mut *self, others) {
            (Selected::Tree(_, columns), Selected::Tree(_, others)) => {
                columns.push(Column { optional: false, ..others[at].clone() });
            }
            (Selected::Ntuple(_, columns), Selected::Ntuple(_, others)) => {
                columns.push(others[at].clone());
            }
            _ => {}
        }
        self.names().len() - 1
    }

    /// The column at a position without entries.
    pub(crate) fn empty_at(&self, at: usize) -> Array {
        self.pick(&[at]).empty().swap_remove(0).1
    }

    /// Bytes that an entry of columns of one table takes decoded.
    ///
    /// # Errors
    /// Of an RNTuple those of reading page lists.
    pub(crate) async fn bytes_per_entry(&self) -> Result<f64> {
        match self {
            Selected::Tree(tree, columns) => {
                let bytes = |column| plan::decoded_bytes_per_entry(tree.metadata(), column);
                Ok(columns.iter().map(bytes).sum())
            }
            Selected::Joined(_) | Selected::Chain(_) => Err(not_one(&self.table())),
            Selected::Ntuple(_, columns) if columns.is_empty() => Ok(0.0),
            Selected::Ntuple(ntuple, columns) => ntuple.bytes_per_entry(columns).await,
        }
    }

    /// Reads columns of one table in batches that begin at `starts`, whose last is the end: all
    /// entries or, of windows, what is told.
    pub(crate) async fn start_at(
        &self,
        starts: &[u64],
        told: Option<(&[u64], Told)>,
        rank: Rank,
    ) -> Result<Batches> {
        match self {
            Selected::Tree(tree, columns) => tree.start_at(columns.clone(), starts, told, rank),
            Selected::Ntuple(ntuple, columns) => {
                ntuple.start_at(columns.clone(), starts, told, rank).await
            }
            Selected::Joined(_) | Selected::Chain(_) => Err(not_one(&self.table())),
        }
    }

    pub fn file(&self) -> &File {
        match self {
            Selected::Tree(tree, _) => tree.file(),
            Selected::Joined(joined) => joined.table().file(),
            Selected::Ntuple(ntuple, _) => ntuple.file(),
            Selected::Chain(columns) => columns.lead().file(),
        }
    }

    /// Where the table is in the file, without the cycle.
    pub fn path(&self) -> &str {
        match self {
            Selected::Tree(tree, _) => tree.path(),
            Selected::Joined(joined) => joined.table().path(),
            Selected::Ntuple(ntuple, _) => ntuple.path(),
            Selected::Chain(columns) => columns.chain().name(),
        }
    }

    pub fn num_entries(&self) -> u64 {
        match self {
            Selected::Tree(tree, _) => tree.num_entries(),
            Selected::Joined(joined) => joined.table().num_entries(),
            Selected::Ntuple(ntuple, _) => ntuple.num_entries(),
            Selected::Chain(columns) => columns.chain().num_entries(),
        }
    }

    /// Names of the columns.
    pub fn names(&self) -> Vec<&str> {
        match self {
            Selected::Tree(_, columns) => columns.iter().map(|column| &*column.name).collect(),
            Selected::Joined(joined) => joined.columns().iter().map(|c| &*c.name).collect(),
            Selected::Ntuple(_, columns) => columns.iter().map(|column| &*column.name).collect(),
            Selected::Chain(columns) => columns.lead().names(),
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
            Selected::Chain(columns) => columns.lead().empty(),
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
            Selected::Chain(columns) => Selected::Chain(columns.pick(positions)),
        }
    }

    /// What reading entries of columns of one table would fetch.
    ///
    /// # Errors
    /// Those of planning; of an RNTuple also those of reading page lists.
    pub(crate) async fn outline(&self, entries: Range<u64>) -> Result<Outline> {
        match self {
            Selected::Tree(tree, columns) => {
                let plan = tree.plan(columns, entries, Step::Whole)?;
                Ok(Outline::of_tree(tree, columns, &plan))
            }
            Selected::Ntuple(ntuple, columns) => {
                let plan = ntuple.plan(columns, entries, Step::Whole).await?;
                Ok(Outline::of_ntuple(ntuple, columns, &plan))
            }
            Selected::Joined(_) | Selected::Chain(_) => Err(not_one(&self.table())),
        }
    }

    /// What reading entries would fetch of each table: of the table itself and then of its friends,
    /// of a chain file after file. Of a friend whose entries are looked up it is what all take.
    ///
    /// # Errors
    /// Those of planning; of RNTuples also those of reading page lists, of a chain those of opening
    /// its files.
    pub async fn outlines(&self, entries: Range<u64>) -> Result<Vec<Outline>> {
        match self {
            Selected::Joined(joined) => joined.outlines(entries).await,
            Selected::Chain(columns) => columns.outlines(entries).await,
            one => Ok(vec![one.outline(entries).await?]),
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
    pub(crate) async fn step_entries_of(&self, step: Step, total: u64) -> Result<u64> {
        match self {
            Selected::Tree(tree, columns) => {
                Ok(plan::step_entries(tree.metadata(), columns, step, total))
            }
            Selected::Joined(joined) => joined.step_entries(step, total).await,
            Selected::Ntuple(ntuple, columns) => ntuple.step_entries(columns, step, total).await,
            Selected::Chain(columns) => Box::pin(columns.lead().step_entries_of(step, total)).await,
        }
    }

    /// The first of the steps in which entries are read; `None` where there are none.
    pub(crate) async fn first_step(
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
            Selected::Joined(joined) => {
                let starts = joined.starts(entries, step).await?;
                starts.first_chunk().map(|[start, end]| *start..*end)
            }
            Selected::Ntuple(ntuple, columns) => {
                let plan = ntuple.plan(columns, entries, step).await?;
                plan.batches.first().map(|batch| batch.entries.clone())
            }
            Selected::Chain(columns) => columns.first_step(entries, step).await?,
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
            Selected::Chain(columns) => columns.read(None, entries).await,
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
            (Selected::Chain(columns), cut) => columns.read(cut, entries).await,
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

    pub(crate) async fn start(
        &self,
        cut: Option<&Cut>,
        entries: Range<u64>,
        step: Step,
        rank: Rank,
    ) -> Result<Batches> {
        match self {
            Selected::Tree(tree, columns) => tree.start(columns.clone(), cut, entries, step, rank),
            Selected::Joined(joined) => joined.start(cut, entries, step, rank).await,
            Selected::Ntuple(ntuple, columns) => {
                ntuple.start(columns.clone(), cut, entries, step, rank).await
            }
            Selected::Chain(columns) => Ok(columns.start(cut, entries, step)),
        }
    }
}
