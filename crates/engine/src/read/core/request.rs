//! A caller's request for columns of a table.

use std::sync::Arc;

use super::expressions::Wanted;

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

/// A branch or a field, and how it is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnRequest {
    /// Name or path.
    pub name: String,
    /// The caller did not name it: see [`Column::optional`](super::columns::Column::optional).
    pub optional: bool,
    /// As the bytes of its entries: see `Tree::column_of_bytes`.
    pub as_bytes: bool,
    /// Of objects whose members are columns, their number in each entry.
    pub counts: bool,
    /// A field comes in the lists that it is in or, with paths of fields to keep, is one at the top
    /// with only those.
    pub keep: Option<Vec<String>>,
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

impl ColumnRequest {
    /// The column that the caller names, as its type says.
    pub fn named(name: impl Into<String>) -> Self {
        ColumnRequest {
            name: name.into(),
            optional: false,
            as_bytes: false,
            counts: false,
            keep: None,
        }
    }
}
