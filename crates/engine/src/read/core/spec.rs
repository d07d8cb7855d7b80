//! A caller's request for columns of a table, and for formulas over them.

use std::sync::Arc;

use super::formula::Program;
use super::request::ColumnRequest;

/// Which columns of a table.
#[derive(Debug, Clone, PartialEq)]
pub enum ColumnSpec {
    /// All that can be read.
    All,
    /// Names, paths and globs.
    Named(Vec<String>),
    /// Branches or fields, each with how it is wanted.
    Requested(Vec<ColumnRequest>),
    /// Columns, and formulas over them. Each of several tables computes them by its own types.
    Formulas(FormulaSpec),
}

/// Columns to read, and formulas over them.
#[derive(Debug, Clone, PartialEq)]
pub struct FormulaSpec {
    /// Columns of the table, or aliases that each file has for itself.
    pub reads: Vec<ColumnRequest>,
    /// The columns that the caller gets.
    pub wanted: Arc<[Wanted]>,
    /// Formulas of the caller, in Python's grammar, that go before aliases of the files.
    pub aliases: Vec<(String, String)>,
}

/// A column that a caller gets.
#[derive(Debug, Clone)]
pub enum Wanted {
    /// The one at this position of those that are read; under the name by which the caller asked
    /// for it, if that is another one.
    Read(usize, Option<String>),
    /// The value of a formula, by its text.
    Computed(String, Arc<Program>),
}

impl PartialEq for Wanted {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Wanted::Read(at, name), Wanted::Read(other, others)) => (at, name) == (other, others),
            (Wanted::Computed(text, program), Wanted::Computed(other, others)) => {
                text == other && Arc::ptr_eq(program, others)
            }
            _ => false,
        }
    }
}

impl ColumnSpec {
    /// The columns to read by how they are wanted; `None` of all, and of names and patterns.
    pub(crate) fn requested(&self) -> Option<&[ColumnRequest]> {
        match self {
            ColumnSpec::All | ColumnSpec::Named(_) => None,
            ColumnSpec::Requested(reads) | ColumnSpec::Formulas(FormulaSpec { reads, .. }) => {
                Some(reads)
            }
        }
    }

    /// Columns by name.
    pub fn named<C: AsRef<str>>(columns: impl IntoIterator<Item = C>) -> Self {
        ColumnSpec::Named(columns.into_iter().map(|name| name.as_ref().to_owned()).collect())
    }
}
