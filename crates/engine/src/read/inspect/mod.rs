//! What a file holds, where in it, and what reading it costs.

pub(crate) mod check;
pub mod describe;
pub(crate) mod examine;
pub mod exercise;
pub mod map;
mod picture;
mod walk;
