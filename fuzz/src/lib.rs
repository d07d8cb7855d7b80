//! Arbitrary bytes against every decoder.
//!
//! Each target is a function of bytes with one property: a good result or an error, never anything
//! else, in memory in proportion. `cargo test` calls each with seeds and their mutations, the same
//! ones every time; `cargo fuzz` calls the same functions for as long as one likes (see README.md).

pub mod memory;
pub mod mutate;
mod target;
pub mod targets;

pub use target::Target;

/// All of them.
pub const TARGETS: [Target; 16] = [
    targets::answer::TARGET,
    targets::block::TARGET,
    targets::cache::TARGET,
    targets::credentials::TARGET,
    targets::file::TARGET,
    targets::gsi::TARGET,
    targets::http::TARGET,
    targets::messages::TARGET,
    targets::ntuple::TARGET,
    targets::request::TARGET,
    targets::s3::TARGET,
    targets::token::TARGET,
    targets::update::TARGET,
    targets::xrootd_client::TARGET,
    targets::xrootd_server::TARGET,
    targets::scheduler::TARGET,
];
