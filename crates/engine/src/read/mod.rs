//! ROOT over fetched bytes: opening, planning, decoding, columns. Never sees a socket.

mod ahead;
#[cfg(feature = "arrow")]
pub mod arrow;
pub mod batches;
pub mod chain;
mod circle;
pub mod columns;
pub mod cut;
pub mod dataset;
mod decoders;
pub mod describe;
pub mod events;
mod examine;
pub mod exercise;
pub mod file;
mod formula;
pub mod friends;
pub mod joined;
pub mod lazy;
pub mod learn;
pub mod map;
mod memory;
pub mod ntuple;
pub mod objects;
pub mod outline;
mod picture;
pub mod pipeline;
pub mod plan;
mod profile;
mod recover;
pub mod select;
mod series;
pub mod skip;
pub mod table;
pub mod tree;
mod walk;

pub(crate) use decoders::Decoders;
pub(crate) use profile::Profiles;
