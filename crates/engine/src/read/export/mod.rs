//! Batches in the forms of other libraries.

#[cfg(feature = "arrow")]
pub mod arrow;
