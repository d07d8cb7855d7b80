//! A caller's request for columns of a table.

/// Which columns of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ColumnSpec {
    /// All that can be read.
    All,
    /// Names, paths and globs.
    Named(Vec<String>),
    /// Branches or fields, each with how it is wanted.
    Requested(Vec<ColumnRequest>),
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
    /// A field comes in the lists that it is in or, with paths of fields to keep, is one at the top
    /// with only those.
    pub keep: Option<Vec<String>>,
}

impl ColumnSpec {
    /// Columns by name.
    pub fn named<C: AsRef<str>>(columns: impl IntoIterator<Item = C>) -> Self {
        ColumnSpec::Named(columns.into_iter().map(|name| name.as_ref().to_owned()).collect())
    }
}

impl ColumnRequest {
    /// The column that the caller names, as its type says.
    pub fn named(name: impl Into<String>) -> Self {
        ColumnRequest { name: name.into(), optional: false, as_bytes: false, keep: None }
    }
}
