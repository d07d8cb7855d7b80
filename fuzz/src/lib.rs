//! Arbitrary bytes against every decoder.
//!
//! Each target is a function of bytes with one property: a good result or an error, never anything
//! else, in memory in proportion. `cargo test` calls each with seeds and their mutations, the same
//! ones every time; `cargo fuzz` calls the same functions for as long as one likes (see README.md).

pub mod memory;
pub mod mutate;
pub mod targets;

/// A decoder and what to try on it.
pub struct Target {
    pub name: &'static str,
    /// Panics where the property does not hold.
    pub run: fn(&[u8]),
    /// Inputs that are as they should be.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// How many mutations `cargo test` tries: a second or two.
    pub rounds: u64,
    /// Bytes of memory that any input may cost, and how many more for each of its own.
    pub memory: (usize, usize),
}

/// All of them.
pub const TARGETS: [Target; 8] = [
    targets::block::TARGET,
    targets::file::TARGET,
    targets::http::TARGET,
    targets::messages::TARGET,
    targets::ntuple::TARGET,
    targets::xrootd_client::TARGET,
    targets::xrootd_server::TARGET,
    targets::scheduler::TARGET,
];
