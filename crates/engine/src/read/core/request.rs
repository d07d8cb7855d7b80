//! A caller's request for a column of a table.

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
