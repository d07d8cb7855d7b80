//! RNTuples that are written (the reader is [`crate::ntuple`]).
//!
//! ```text
//! header   pages of a cluster   pages of a cluster   …   page lists   footer   anchor
//! ```
//!
//! A cluster ends with the entry that brings it to some bytes before compression. Its pages, column
//! by column, are one record where they fit into one. The columns of a cluster are cut into pages
//! of about equal length, and equal pages of a cluster are stored once.
//!
//! Types of entries become fields as ROOT spells them: `std::vector<float>`, `std::string`,
//! `std::array<double,3>`, `std::optional<std::int32_t>`. Records, and lists of them, become fields
//! without a type: ROOT reads those without a dictionary.
//! (Source: ROOT, `tree/ntuple/doc/BinaryFormatSpecification.md`.)

pub(super) mod anchor;
pub(super) mod attributes;
pub(super) mod cut;
pub(super) mod description;
mod encode;
pub(super) mod envelope;
pub(super) mod lists;
mod options;
pub(super) mod pages;
pub(super) mod records;
pub(super) mod schema;
#[cfg(test)]
mod tests;
pub(super) mod way;
pub(super) mod work;
pub(super) mod writer;

pub use attributes::LinkedSet;
pub use options::{RNTupleOptions, RealStorage};
pub use writer::RNTupleWriter;
