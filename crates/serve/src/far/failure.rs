//! Errors of origins, as the protocols of this server have errors.

use std::io;

use remote::{Error, ErrorKind};

/// The error with all that is known of it, to be found again by [`known`].
pub fn failure(error: Error) -> io::Error {
    let kind = match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotInFile => io::ErrorKind::NotFound,
        ErrorKind::PermissionDenied | ErrorKind::Unauthenticated => io::ErrorKind::PermissionDenied,
        ErrorKind::TimedOut => io::ErrorKind::TimedOut,
        ErrorKind::Unsupported => io::ErrorKind::Unsupported,
        ErrorKind::InvalidArgument => io::ErrorKind::InvalidInput,
        _ => io::ErrorKind::Other,
    };
    io::Error::new(kind, error)
}

/// The error of an origin, or about it.
pub fn known(error: &io::Error) -> Option<&Error> {
    error.get_ref()?.downcast_ref()
}
