//! Objects and columns found by their names.

pub mod objects;
mod resolve;
