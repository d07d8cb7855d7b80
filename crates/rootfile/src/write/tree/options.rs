//! Options of a tree that is written.

use std::collections::BTreeMap;

use super::super::compression::{Compression, CompressionAlgorithm};

/// Options of a new tree.
#[derive(Debug, Clone, PartialEq)]
pub struct TreeOptions {
    pub title: String,
    /// Weight of the entries, as ROOT's `TTree::Draw` multiplies by it.
    pub weight: f64,
    pub compression: Compression,
    /// Whether ROOT's levels of ZSTD, such as 505, may mean the lowest level of each column whose
    /// size on its first entries is within 0.5 % of that at ROOT's level.
    pub is_level_tried: bool,
    pub cluster: ClusterSize,
    /// Bytes of a basket before compression, at most; one entry may have more.
    pub basket_bytes: usize,
    pub jagged: Jagged,
    /// The same of single columns, in place of `jagged`.
    pub jagged_of: BTreeMap<String, Jagged>,
    /// The name of the branch that counts a column's lists: `{name}` stands for the column's name,
    /// `{stem}` for the part of it before the first `_`. Columns with the same counter must have
    /// lists of the same lengths, and a column of 32-bit integers of that name is the counter.
    pub counter_name: String,
    /// The name of a record's member: of `{outer}` and `{inner}`.
    pub field_name: String,
    pub text: TextBranch,
    /// The same of single columns, in place of `text`.
    pub text_of: BTreeMap<String, TextBranch>,
    /// Counters of single columns, in place of the names that `counter_name` makes.
    pub counters: BTreeMap<String, String>,
    /// Branches of single members, by the names of record and member, in place of the names that
    /// `field_name` makes.
    pub fields: BTreeMap<(String, String), String>,
}

/// Where a tree's clusters end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClusterSize {
    /// After as many entries as have about so many compressed bytes, by the first of them.
    Bytes(u64),
    /// After so many entries.
    Entries(u64),
}

/// How lists of numbers are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Jagged {
    /// As arrays of variable length with a branch that counts them: `x[nx]/F`. Lists of lists, and
    /// lists of texts, are vectors nevertheless.
    Counter,
    /// As `std::vector`.
    Vector,
}

/// How texts are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextBranch {
    /// As `x/C`.
    Leaf,
    /// As `std::string`.
    StdString,
}

impl Default for TreeOptions {
    fn default() -> Self {
        TreeOptions {
            title: String::new(),
            weight: 1.0,
            compression: Compression::new(CompressionAlgorithm::Zstd, 5),
            is_level_tried: true,
            cluster: ClusterSize::Bytes(30_000_000),
            basket_bytes: 1 << 20,
            jagged: Jagged::Counter,
            jagged_of: BTreeMap::new(),
            counter_name: "n{name}".into(),
            field_name: "{outer}_{inner}".into(),
            text: TextBranch::Leaf,
            text_of: BTreeMap::new(),
            counters: BTreeMap::new(),
            fields: BTreeMap::new(),
        }
    }
}

impl TreeOptions {
    /// That compression, with the level that it names itself where none may be tried.
    pub(super) fn tried(&self, compression: Compression) -> Compression {
        match self.is_level_tried {
            true => compression,
            false => Compression { exact: Some(compression.effort()), ..compression },
        }
    }

    pub(super) fn jagged_of(&self, column: &str) -> Jagged {
        self.jagged_of.get(column).copied().unwrap_or(self.jagged)
    }

    pub(super) fn text_of(&self, column: &str) -> TextBranch {
        self.text_of.get(column).copied().unwrap_or(self.text)
    }

    pub(super) fn counter_of(&self, name: &str) -> String {
        if let Some(counter) = self.counters.get(name) {
            return counter.clone();
        }
        let stem = name.split('_').next().unwrap_or(name);
        self.counter_name.replace("{name}", name).replace("{stem}", stem)
    }

    pub(super) fn name_of_field(&self, outer: &str, inner: &str) -> String {
        if let Some(branch) = self.fields.get(&(outer.to_owned(), inner.to_owned())) {
            return branch.clone();
        }
        // One pass, as a name may contain the placeholder of another.
        let parts = self.field_name.split("{outer}");
        let parts = parts.map(|part| part.replace("{inner}", inner));
        parts.collect::<Vec<_>>().join(outer)
    }
}
