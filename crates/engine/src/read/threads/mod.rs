//! The threads of an engine: those that decode, and one that populates memory before it is used.

pub mod decoders;
pub mod prefault;
