//! Reading on where something cannot be read: by whole ranges of entries, each of them reported.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use remote::{Error, ErrorKind};

/// The reaction of a read of many files to entries that cannot be read.
#[derive(Clone, Default)]
pub enum OnError {
    /// It ends with the error.
    #[default]
    Raise,
    /// Calls back with the entries that are left out, and goes on behind them.
    Report(Arc<dyn Fn(Skipped) + Send + Sync>),
}

impl OnError {
    pub(crate) fn report(&self, skipped: Skipped) {
        if let OnError::Report(report) = self {
            report(skipped);
        }
    }
}

impl fmt::Debug for OnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            OnError::Raise => "Raise",
            OnError::Report(_) => "Report",
        })
    }
}

/// Entries that were left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// Position of the file in the list.
    pub file: usize,
    pub url: String,
    /// Path of the table, where it is known.
    pub path: Option<String>,
    /// Half open, of this table; `None`: all of them, and their number is not known.
    pub entries: Option<Range<u64>>,
    pub error: Error,
}

/// How far an error reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// The caller's own doing: nothing is left out for it.
    Caller,
    /// The bytes at one offset of the file: other entries can be read.
    Place,
    /// The file, or its server.
    File,
}

impl Reach {
    pub fn of(error: &Error) -> Self {
        match error.kind() {
            ErrorKind::InvalidArgument | ErrorKind::Cancelled => Reach::Caller,
            ErrorKind::Corrupt | ErrorKind::Unsupported | ErrorKind::LimitReached => Reach::Place,
            ErrorKind::Io if !error.is_retryable() => Reach::Place,
            _ => Reach::File,
        }
    }
}
