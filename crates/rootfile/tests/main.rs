//! Files that are read and written, beside those of other writers.
#![allow(clippy::disallowed_methods, reason = "tests read files and run programs")]

mod columns;
mod corpus;
mod corrupt;
mod ntuple;
mod ntuple_format;
mod ntuple_hostile;
mod open;
mod skimmed_ntuple;
mod support;
mod written;
mod written_ntuple;
mod written_tree;
