//! Options and summary of a skim.

use std::time::Duration;

use remote::Written;
use rootfile::write::{Compression, CompressionAlgorithm};

use crate::read::core::cut::Cut;
use crate::read::core::define::Definition;
use crate::write::copy::ClusterCounts;

/// Kinds in which a table is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TableFormat {
    /// The kind that it has in the first input.
    #[default]
    Same,
    Tree,
    RNTuple,
}

impl TableFormat {
    /// Whether a tree is written, of an input that is one or not.
    pub(super) fn is_tree(self, of_tree: bool) -> bool {
        match self {
            TableFormat::Same => of_tree,
            TableFormat::Tree => true,
            TableFormat::RNTuple => false,
        }
    }
}

/// The columns and entries to keep, and how to write them.
#[derive(Debug, Clone)]
pub struct SkimOptions {
    /// Names, paths and globs; all columns where there are none.
    pub columns: Vec<String>,
    /// Which entries; all where there is none.
    pub cut: Option<Cut>,
    /// New columns: their names are in no input. The cut may name them.
    pub define: Vec<Definition>,
    pub format: TableFormat,
    /// Keeps the inputs' other tables and objects, merged; only where baskets or pages are copied.
    pub keep_rest: bool,
    /// Replaces a file that is there already.
    pub overwrite: bool,
    pub reproducible: bool,
    pub compression: Compression,
}

impl Default for SkimOptions {
    fn default() -> Self {
        SkimOptions {
            columns: Vec::new(),
            cut: None,
            define: Vec::new(),
            format: TableFormat::Same,
            keep_rest: false,
            overwrite: false,
            reproducible: false,
            compression: Compression::new(CompressionAlgorithm::Zstd, 5),
        }
    }
}

/// Result of a skim.
#[derive(Debug, Clone, PartialEq)]
pub struct SkimReport {
    /// The table's path in the output.
    pub table: String,
    /// Of each input its address, its entries and those that are kept.
    pub inputs: Vec<(String, u64, u64)>,
    /// Whether all baskets or pages were copied as they are stored.
    pub is_copied: bool,
    /// How many clusters were copied, taken from, or left out; `None` where columns were encoded.
    pub clusters: Option<ClusterCounts>,
    pub notes: Vec<String>,
    pub written: Written,
    pub time: Duration,
}
