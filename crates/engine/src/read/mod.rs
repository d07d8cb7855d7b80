//! ROOT over fetched bytes: opening, planning, decoding, columns. Never sees a socket.

pub mod core;
pub mod export;
pub mod file;
pub mod inspect;
pub mod joined;
pub mod many;
#[cfg(feature = "select")]
pub mod near;
pub mod ntuple;
pub mod open;
mod predict;
#[cfg(feature = "select")]
pub mod select;
pub mod threads;
pub mod tree;
pub mod watch;

pub(crate) use threads::decoders::Decoders;
