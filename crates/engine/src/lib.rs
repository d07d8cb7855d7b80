//! The engine that reads ROOT data from far away.

pub mod config;
pub mod error;
pub mod source;

pub use config::Config;
pub use error::{Error, ErrorKind, Result};
