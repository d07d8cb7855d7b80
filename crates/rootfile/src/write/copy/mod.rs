//! Copies of trees, RNTuples and objects of other files, without decoding them.
//!
//! A tree's baskets and an RNTuple's pages are copied as they are stored; only the metadata with
//! their offsets are written anew. A tree's own record is that of the first input, with other
//! numbers in it: so classes, titles, aliases and user infos stay the same, whichever version of
//! ROOT wrote them.

mod aliases;
pub mod basket;
mod fill;
mod friends;
mod in_place;
mod index;
mod memory;
mod new_columns;
mod ntuple;
mod object;
mod plan;
mod pointers;
mod record;
mod remake;
mod source;
mod sum;
#[cfg(test)]
mod tests;
mod tree;
mod union;

/// The number of a basket or a page within its table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct BlockNumbers {
    /// Of a basket its branch, of a page its cluster.
    pub owner: usize,
    /// Its number there.
    pub number: usize,
}

/// The content of a page of an RNTuple.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageContent {
    /// Bytes before compression.
    pub len: usize,
    /// Whether a checksum follows it.
    pub has_checksum: bool,
}

pub use fill::FilledBasket;
pub use new_columns::{KeptEntries, NewColumns, TreeColumns, TreeColumnsWriter};
pub use ntuple::{
    CopiedNTuple, JoinedFields, NTupleColumns, NTupleColumnsWriter, NTuplePart, ReplacedColumns,
    SourceNTuple, TakenField, may_copy, may_copy_pages,
};
pub use object::CopiedObject;
pub(super) use plan::last_cluster;
pub use plan::{BasketPart, ClusterCounts, PlannedBasket, Survivors, TreePart, ends_of_clusters};
pub use pointers::unselectable;
pub use record::SourceRecord;
pub use remake::{BranchRemake, HeldBasket, Remake};
pub use source::SourceTree;
pub use sum::ObjectSum;
pub use tree::{CopiedTree, Missing};
pub use union::{Counts, FillInputs};
