//! Options, progress and summary of a merge.

use std::time::Duration;

use remote::{Error, ErrorKind, Written};
use rootfile::write::copy::Remake;
pub use rootfile::write::copy::{ClusterCounts, Missing};
use rootfile::write::{Compression, CompressionAlgorithm};

use crate::read::core::cut::Cut;
use crate::read::core::define::Definition;

/// Where some entries are taken, baskets of these are joined up to so many bytes before
/// compression, and whole baskets that are shorter with them.
const CUT_BASKET_BYTES: u64 = 256 << 10;
const CUT_ALONE_BYTES: u64 = 16 << 10;

/// A part of the inputs.
#[derive(Debug, Clone)]
pub struct Only {
    /// The path of a table.
    pub table: String,
    /// Names, paths and globs of a tree's branches, names of an RNTuple's fields at the top; all
    /// where there are none.
    pub columns: Vec<String>,
    /// Which entries; all where there is none.
    pub cut: Option<Cut>,
    /// New columns.
    pub define: Vec<Definition>,
    /// All other tables and objects as well.
    pub keep_rest: bool,
}

impl Only {
    /// Whether columns of the inputs are read before anything is copied.
    pub(super) fn reads(&self) -> bool {
        self.cut.is_some() || !self.define.is_empty()
    }

    pub(super) fn wants(&self, path: &str) -> bool {
        self.keep_rest || path == self.table
    }
}

/// How to merge.
#[derive(Debug, Clone)]
pub struct MergeOptions {
    /// Replaces a file that is there already.
    pub overwrite: bool,
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
    /// The part of the inputs to take; `None` takes all.
    pub only: Option<Only>,
}

impl MergeOptions {
    /// How baskets and pages are made anew, if they are; `is_cut` where some entries are taken.
    pub(super) fn remake(&self, is_cut: bool) -> Option<Remake> {
        let compression = self.recompress;
        let bytes = self.basket_bytes.unwrap_or(0);
        match is_cut {
            true => Some(Remake {
                compression,
                joined: Some(self.compression),
                basket_bytes: bytes.max(CUT_BASKET_BYTES),
                alone_bytes: bytes.max(CUT_ALONE_BYTES),
            }),
            false => (compression.is_some() || bytes > 0).then_some(Remake {
                compression,
                joined: None,
                basket_bytes: bytes,
                alone_bytes: bytes,
            }),
        }
    }

    /// Whether an input that gives this error is left out.
    pub(super) fn skips(&self, error: &Error) -> bool {
        let is_ours = matches!(
            error.kind(),
            ErrorKind::Unsupported | ErrorKind::InvalidArgument | ErrorKind::Cancelled
        );
        self.skip_bad && !is_ours
    }
}

impl Default for MergeOptions {
    fn default() -> Self {
        MergeOptions {
            overwrite: false,
            missing: Missing::Strict,
            without_tables: false,
            skip_bad: false,
            compression: Compression::new(CompressionAlgorithm::Zstd, 5),
            recompress: None,
            basket_bytes: None,
            reproducible: false,
            only: None,
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
