//! What a file holds, where in it, and what reading it costs.

pub mod describe;
mod examine;
pub mod exercise;
pub mod map;
mod picture;
mod walk;
