//! The interface of a fuzz target.

/// A decoder and the inputs to try on it.
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
