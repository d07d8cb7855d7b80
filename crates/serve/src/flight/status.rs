//! Errors as gRPC has them.

use remote::ErrorKind;
use tonic::{Code, Status};

use crate::access::Denial;

/// The status of an error, with its words.
pub fn status_of(error: &remote::Error) -> Status {
    let code = match error.kind() {
        _ if error.is_busy() => Code::Unavailable,
        ErrorKind::NotFound | ErrorKind::NotInFile => Code::NotFound,
        ErrorKind::PermissionDenied | ErrorKind::Unauthenticated => Code::PermissionDenied,
        ErrorKind::InvalidArgument => Code::InvalidArgument,
        ErrorKind::Unsupported => Code::Unimplemented,
        ErrorKind::TimedOut => Code::DeadlineExceeded,
        ErrorKind::Changed => Code::FailedPrecondition,
        ErrorKind::LimitReached => Code::ResourceExhausted,
        ErrorKind::Corrupt => Code::DataLoss,
        _ => Code::Unavailable,
    };
    Status::new(code, error.message())
}

/// The answer to a client that may not read something.
pub fn denied(denial: &Denial) -> Status {
    match denial {
        Denial::Unknown(_) => Status::unauthenticated(denial.to_string()),
        Denial::Forbidden(_) => Status::permission_denied(denial.to_string()),
    }
}
