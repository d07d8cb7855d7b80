//! Contents of a file, their offsets, and the cost of reading them.

pub(crate) mod check;
pub mod describe;
pub(crate) mod examine;
pub mod exercise;
pub mod map;
mod picture;
mod walk;
