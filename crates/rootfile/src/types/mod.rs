//! Names of classes and members, and the storage of numbers: parts that streamer infos, objects and
//! branches have in common.

pub mod code;
pub(crate) mod cpp;
pub(crate) mod framing;
pub(crate) mod names;
pub mod reduced;
pub mod scalar;
pub(crate) mod special;

pub use names::{told_apart, told_apart_from_first};
