//! Baskets and pages on their way from an input to the output.

use std::ops::Range;

use bytes::Bytes;
use rootfile::write::copy::BlockNumbers;

/// A basket or a page that has arrived.
pub struct ArrivedBlock {
    pub numbers: BlockNumbers,
    /// Its offset in the input's file.
    pub offset: u64,
    pub bytes: Bytes,
}

/// A basket or a page among those of all outputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct BlockId {
    /// The number of its table among the outputs.
    pub output: usize,
    pub numbers: BlockNumbers,
}

/// A basket or a page, and its range in the input's file.
pub struct StoredBlock {
    pub numbers: BlockNumbers,
    pub range: Range<u64>,
}

/// A basket or a page of an input's file.
pub struct CopiedPiece {
    pub range: Range<u64>,
    pub output: usize,
    pub numbers: BlockNumbers,
}

/// Blocks of a table that are compressed or joined together, before those behind them.
pub struct Section {
    pub blocks: Vec<StoredBlock>,
    /// They go to the threads in any order.
    pub is_taken: bool,
    /// New columns of the same entries; `None` where each cluster waits for its own.
    pub new: Option<Vec<BlockNumbers>>,
    /// Behind how many entries of the input the held baskets are made anew.
    pub cut: Option<u64>,
    /// No entries of the input are behind it.
    pub is_last: bool,
}

impl BlockId {
    /// For all pages of a cluster.
    pub fn of_cluster(output: usize, cluster: usize) -> Self {
        BlockId { output, numbers: BlockNumbers { owner: cluster, number: 0 } }
    }
}

impl CopiedPiece {
    pub fn len(&self) -> u64 {
        self.range.end - self.range.start
    }
}
