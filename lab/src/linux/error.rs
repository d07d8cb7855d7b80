//! Errors of the system, with the step that it refused.

use std::io;

/// Why a lab could not be built or used.
#[derive(Debug, thiserror::Error)]
#[error("{doing}: {source}")]
pub struct Error {
    doing: String,
    source: io::Error,
}

pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// An error of the lab's own, without a system call behind it.
    pub fn other(doing: impl Into<String>, why: impl Into<String>) -> Error {
        Error { doing: doing.into(), source: io::Error::other(why.into()) }
    }
}

/// Adds the failed operation to a system error.
pub(crate) trait Doing<T> {
    fn doing(self, operation: impl FnOnce() -> String) -> Result<T>;
}

impl<T, E: Into<io::Error>> Doing<T> for std::result::Result<T, E> {
    fn doing(self, operation: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|error| Error { doing: operation(), source: error.into() })
    }
}
