//! TTree: its metadata as plain data, its baskets, and their interpretation.

pub mod basket;
mod chain;
mod cluster;
mod decode;
pub mod interpret;
pub mod model;
mod owner;
mod read;
pub mod related;

pub use basket::Basket;
pub(crate) use chain::read_chain;
pub use chain::{Chain, ChainElement};
pub use interpret::{ClassTable, Interpretation};
pub use model::*;
pub(crate) use read::{read_tree, read_tree_and_columns};
pub use related::{FriendPlace, TreeIndex};
