//! Options, progress and summary of a merge.

use std::time::Duration;

use remote::Written;
pub use rootfile::write::copy::{ClusterCounts, Missing};
use rootfile::write::{Compression, CompressionAlgorithm};

/// How to merge.
#[derive(Debug, Clone)]
pub struct MergeOptions {
    /// Replaces a file that is there already.
    pub overwrite: bool,
    /// Adds the inputs to an existing output, which keeps all that it has. It grows in place where
    /// possible, and is otherwise replaced by the result. Until the end it has its old content.
    pub append: bool,
    /// The objects and tables that are merged, by path or a directory above, which may be globs;
    /// without one, all. Those of an output that is appended to stay.
    pub only: Vec<String>,
    /// Those that are left out.
    pub without: Vec<String>,
    pub missing: Missing,
    /// Leaves trees and RNTuples out.
    pub without_tables: bool,
    /// Leaves out inputs that are not there or cannot be read, with a note.
    pub skip_bad: bool,
    /// Compression of records that are not copied as they are: objects and trees' metadata.
    pub compression: Compression,
    /// Compresses baskets and pages anew.
    pub recompress: Option<Compression>,
    /// Joins baskets of trees up to so many bytes before compression.
    pub basket_bytes: Option<u64>,
    /// The same inputs give the same bytes, with no time in them.
    pub reproducible: bool,
}

impl Default for MergeOptions {
    fn default() -> Self {
        MergeOptions {
            overwrite: false,
            append: false,
            only: Vec::new(),
            without: Vec::new(),
            missing: Missing::Strict,
            without_tables: false,
            skip_bad: false,
            compression: Compression::new(CompressionAlgorithm::Zstd, 5),
            recompress: None,
            basket_bytes: None,
            reproducible: false,
        }
    }
}

/// How far a merge is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MergeProgress {
    pub inputs: usize,
    /// Inputs whose metadata have been read.
    pub read: usize,
    /// Bytes of baskets and pages that have been copied, and that are to be, as far as is known.
    pub copied_bytes: u64,
    pub total_bytes: u64,
}

/// How many entries an input has, and how many of them are in the output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputEntries {
    /// Its address, without secrets.
    pub url: String,
    pub entries: u64,
    pub kept: u64,
    /// How many of its clusters are copied, taken from, or left out.
    pub clusters: ClusterCounts,
}

/// Result of a merge.
#[derive(Debug, Clone, PartialEq)]
pub struct MergeReport {
    pub inputs: usize,
    /// Path and entries of each tree and RNTuple.
    pub tables: Vec<(String, u64)>,
    /// Of each input, those of its first table.
    pub input_entries: Vec<InputEntries>,
    /// Histograms that were added up, and other objects.
    pub histograms: usize,
    pub objects: usize,
    /// Baskets and pages that were copied as they are, and their bytes.
    pub records: u64,
    pub copied_bytes: u64,
    /// Notes for the user: differences between the inputs.
    pub notes: Vec<String>,
    pub written: Written,
    pub time: Duration,
}
