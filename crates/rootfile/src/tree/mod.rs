//! TTree: its metadata as plain data, its baskets, and what they mean.

mod cluster;
pub mod model;
mod read;

pub use model::*;
pub(crate) use read::read_tree;
