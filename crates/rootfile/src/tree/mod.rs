//! TTree: its metadata as plain data, its baskets, and what they mean.

pub mod model;

pub use model::*;
