//! Tables that get further entries and columns: those of an existing file, and new ones.
//!
//! The baskets and pages that a table has stay where they are. New ones are written behind them,
//! and the metadata of the whole table take the place of the old ones at the end, as in a merge
//! that copies nothing (ROOT: `TTree::Fill` in a file that is opened with `UPDATE`).

mod fields;
mod like;
mod ntuple;
mod stages;
#[cfg(test)]
mod tests;
mod tree;

pub use ntuple::GrowingNTuple;
pub use tree::GrowingTree;

use crate::error::Error;

/// The error for a branch or a field that is not written as it is.
fn not_written(part: &str, why: &Error) -> Error {
    let advice = "a merge copies it from another file";
    Error::unsupported(format!("no entries can be added to the {part}, {advice}: {why}"))
}
