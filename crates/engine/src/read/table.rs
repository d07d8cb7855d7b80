//! What has entries: trees and RNTuples, and columns of either.

use std::ops::Range;

use super::batches::Batches;
use super::columns::{Batch, Column};
use super::cut::Cut;
use super::file::File;
use super::ntuple::{FieldColumn, Ntuple};
use super::outline::Outline;
use super::plan::Step;
use super::tree::{Rank, Tree};
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

fn another_kind(tree: &Tree) -> Error {
    let what = format!("{} is a tree, not an RNTuple as what is read with it", tree.path());
    Error::new(ErrorKind::InvalidArgument, what).with_url(tree.file().url())
}

impl Selected {
    pub fn file(&self) -> &File {
        match self {
            Selected::Tree(tree, _) => tree.file(),
            Selected::Ntuple(ntuple, _) => ntuple.file(),
        }
    }

    /// Where the table is in the file, without the cycle.
    pub fn path(&self) -> &str {
        match self {
            Selected::Tree(tree, _) => tree.path(),
            Selected::Ntuple(ntuple, _) => ntuple.path(),
        }
    }

    pub fn num_entries(&self) -> u64 {
        match self {
            Selected::Tree(tree, _) => tree.num_entries(),
            Selected::Ntuple(ntuple, _) => ntuple.num_entries(),
        }
    }

    /// Names of the columns.
    pub fn names(&self) -> Vec<&str> {
        match self {
            Selected::Tree(_, columns) => columns.iter().map(|column| &*column.name).collect(),
            Selected::Ntuple(_, columns) => columns.iter().map(|column| &*column.name).collect(),
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
        match self {
            Selected::Tree(tree, columns) => {
                let total = tree.num_entries();
                Ok(super::plan::step_entries(tree.metadata(), columns, step, total))
            }
            Selected::Ntuple(ntuple, columns) => ntuple.step_entries(columns, step).await,
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
            Selected::Ntuple(ntuple, columns) => ntuple.read(columns.clone(), entries).await,
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
            Selected::Ntuple(ntuple, columns) => {
                ntuple.start(columns.clone(), cut, entries, step, rank).await
            }
        }
    }
}
