//! Errors of the ROOT format as errors of the engine: with the file that they are about.

use remote::{Error, ErrorKind, Result};

/// Names the file in which the ROOT format was not as it should be.
pub(crate) trait Located {
    type Output;

    fn located(self, url: impl Into<String>) -> Self::Output;
}

impl Located for rootfile::Error {
    type Output = Error;

    fn located(self, url: impl Into<String>) -> Error {
        unlocated(self).with_url(url)
    }
}

impl<T> Located for rootfile::Result<T> {
    type Output = Result<T>;

    fn located(self, url: impl Into<String>) -> Result<T> {
        self.map_err(|error| error.located(url))
    }
}

/// For the few places that know no file: their callers name it.
pub(crate) fn unlocated(error: rootfile::Error) -> Error {
    use rootfile::ErrorKind as K;
    let kind = match error.kind {
        K::Corrupt(_) | K::Checksum(_) | K::Unclosed => ErrorKind::Corrupt,
        K::Unsupported(_) => ErrorKind::Unsupported,
        K::Limit(_) => ErrorKind::LimitReached,
        K::NotFound(_) => ErrorKind::NotInFile,
    };
    Error::new(kind, error.to_string())
}
