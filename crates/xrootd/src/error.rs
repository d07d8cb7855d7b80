//! Errors, by whose fault they are: the bytes (`DecodeError`), the peer (`ProtocolError`), the
//! server's own decision (`ServerError`), the session as a whole (`SessionError`), or one request
//! (`RequestError`).

use std::fmt;
use std::time::Duration;

use thiserror::Error;

use crate::auth::Skipped;
pub use crate::codec::DecodeError;
use crate::header::StreamId;
use crate::response::Redirect;
use crate::states::Illegal;

/// The peer broke the protocol. Nothing that comes after it on the connection can be trusted.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ProtocolError {
    #[error("a malformed message: {0}")]
    Malformed(#[from] DecodeError),
    #[error("a message out of turn: {0}")]
    OutOfTurn(#[from] Illegal),
    #[error("an answer to no request (stream id {})", .0.0)]
    UnknownStream(StreamId),
    #[error("{subject} of {bytes} bytes, more than the {limit} allowed")]
    TooLarge { subject: &'static str, bytes: u64, limit: u64 },
    #[error("a read of {asked} bytes was answered with more")]
    LongRead { asked: u64 },
    #[error("a vector read was answered with a record that was not asked for (offset {offset})")]
    StrangeRecord { offset: u64 },
    #[error("a vector read was answered without {missing} of its segments")]
    MissingRecords { missing: usize },
    #[error(
        "a checksummed request was answered with a part that was not asked for (offset {offset})"
    )]
    StrangePart { offset: u64 },
    #[error("a checksummed request was answered without checksums")]
    Unchecked,
    #[error("{status} does not answer {request}")]
    UnexpectedStatus { status: &'static str, request: &'static str },
    #[error("the session's own path was given to another connection")]
    OwnPath,
    #[error("{0} messages one after the other that answer nothing")]
    Chatter(u32),
}

/// The number in a kXR_error. Unknown numbers are kept.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ErrorCode(pub u32);

macro_rules! error_codes {
    ($($(#[$each:meta])* $name:ident = $value:literal,)*) => {
        impl ErrorCode {
            $($(#[$each])* pub const $name: ErrorCode = ErrorCode($value);)*

            /// The code's name in capitals, where it has one.
            pub const fn name(self) -> Option<&'static str> {
                match self.0 {
                    $($value => Some(stringify!($name)),)*
                    _ => None,
                }
            }
        }
    };
}

error_codes! {
    ARG_INVALID = 3000,
    ARG_MISSING = 3001,
    ARG_TOO_LONG = 3002,
    FILE_LOCKED = 3003,
    FILE_NOT_OPEN = 3004,
    FS_ERROR = 3005,
    INVALID_REQUEST = 3006,
    IO_ERROR = 3007,
    NO_MEMORY = 3008,
    NO_SPACE = 3009,
    NOT_AUTHORIZED = 3010,
    NOT_FOUND = 3011,
    SERVER_ERROR = 3012,
    UNSUPPORTED = 3013,
    NO_SERVER = 3014,
    NOT_FILE = 3015,
    IS_DIRECTORY = 3016,
    CANCELLED = 3017,
    ITEM_EXISTS = 3018,
    CHECKSUM_ERROR = 3019,
    IN_PROGRESS = 3020,
    OVER_QUOTA = 3021,
    SIGNATURE_ERROR = 3022,
    DECRYPT_ERROR = 3023,
    OVERLOADED = 3024,
    READ_ONLY = 3025,
    BAD_PAYLOAD = 3026,
    ATTRIBUTE_NOT_FOUND = 3027,
    TLS_REQUIRED = 3028,
    NO_REPLICAS = 3029,
    AUTH_FAILED = 3030,
    IMPOSSIBLE = 3031,
    CONFLICT = 3032,
    TOO_MANY_ERRORS = 3033,
    REQUEST_TIMED_OUT = 3034,
    TIMER_EXPIRED = 3035,
}

impl ErrorCode {
    /// Whether the same request, asked again later or of another server, may succeed.
    pub const fn is_retryable(self) -> bool {
        matches!(
            self,
            ErrorCode::FILE_LOCKED
                | ErrorCode::FS_ERROR
                | ErrorCode::IO_ERROR
                | ErrorCode::NO_MEMORY
                | ErrorCode::SERVER_ERROR
                | ErrorCode::NO_SERVER
                | ErrorCode::CANCELLED
                | ErrorCode::IN_PROGRESS
                | ErrorCode::OVERLOADED
                | ErrorCode::NO_REPLICAS
                | ErrorCode::TOO_MANY_ERRORS
                | ErrorCode::REQUEST_TIMED_OUT
                | ErrorCode::TIMER_EXPIRED
        )
    }
}

impl fmt::Debug for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => write!(f, "{name}"),
            None => write!(f, "ErrorCode({})", self.0),
        }
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// kXR_error: the server understood and refuses.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message} (error {code})")]
pub struct ServerError {
    pub code: ErrorCode,
    /// In the server's words.
    pub message: String,
}

/// A request that cannot be put on the wire as it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Misuse {
    #[error("no such file is open on this connection")]
    UnknownFile,
    #[error("the file has been closed")]
    ClosedFile,
    #[error("a read of more than {READ_BYTES_MAX} bytes, or beyond the largest offset")]
    RangeTooLarge,
    #[error("a vector read of more segments than the server allows")]
    TooManySegments,
    #[error("a vector read with a segment longer than the server allows")]
    SegmentTooLong,
    #[error(
        "a write of more than {} bytes, or beyond the largest offset",
        crate::client::WRITE_BYTES_MAX
    )]
    WriteTooLarge,
    #[error("a write of no bytes")]
    EmptyWrite,
    #[error("a path that is empty, too long or contains a control character")]
    BadPath,
}

/// The most that one kXR_read can ask for, bytes: its length is a signed 32-bit field.
pub const READ_BYTES_MAX: u64 = i32::MAX as u64;

/// Why one request has failed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RequestError {
    #[error(transparent)]
    Server(#[from] ServerError),
    #[error("the connection was lost: {0}")]
    Session(#[from] SessionError),
    #[error("the server put the answer off and never gave it")]
    TimedOut,
    #[error("the server sends to an address that cannot be read: {0}")]
    StrangeRedirect(DecodeError),
    #[error("the server asked to wait longer than {} s in all", .0.as_secs())]
    WaitedTooLong(Duration),
    #[error("what was sent arrived damaged again and again")]
    AlwaysDamaged,
    #[error(transparent)]
    Misuse(#[from] Misuse),
}

impl RequestError {
    /// Whether asking again, here or of another server, may succeed.
    pub fn is_retryable(&self) -> bool {
        match self {
            RequestError::Server(error) => error.code.is_retryable(),
            RequestError::Session(error) => error.is_retryable(),
            RequestError::TimedOut | RequestError::WaitedTooLong(_) => true,
            RequestError::AlwaysDamaged
            | RequestError::StrangeRedirect(_)
            | RequestError::Misuse(_) => false,
        }
    }
}

/// Why a session has ended.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SessionError {
    #[error("the server closed the connection")]
    Closed,
    #[error("the server was silent for {} s", .0.as_secs_f32())]
    Silent(Duration),
    #[error("the server sent {0}")]
    Protocol(#[from] ProtocolError),
    #[error("the server wants authentication before anything else (it offers {offered})")]
    AuthenticationFirst { offered: String },
    #[error(
        "the server wants authentication, and nothing it offers could be used: {}",
        tried(offered, skipped)
    )]
    NoAuthentication { offered: String, skipped: Vec<Skipped> },
    #[error("the server refused {step}: {error}")]
    Refused { step: &'static str, error: ServerError },
    #[error("the server wants an encrypted connection")]
    TlsRequired,
    #[error("the server does not speak TLS, which was asked for")]
    NoTls,
    #[error("the server does not speak TLS any more")]
    TlsGone,
    #[error("the server is busy and asks to come back in {} s", .0.as_secs())]
    Busy(Duration),
    #[error("the server sends its clients to {}:{}", .0.host, .0.port)]
    Moved(Box<Redirect>),
}

/// Each offer with the reason why it was not used.
fn tried(offered: &str, skipped: &[Skipped]) -> String {
    if skipped.is_empty() {
        return format!("it offers {offered}");
    }
    let reasons: Vec<String> = skipped.iter().map(Skipped::to_string).collect();
    reasons.join("; ")
}

impl SessionError {
    /// Whether a new connection to the same server may fare better.
    pub fn is_retryable(&self) -> bool {
        match self {
            SessionError::Closed
            | SessionError::Silent(_)
            | SessionError::AuthenticationFirst { .. }
            | SessionError::TlsRequired
            | SessionError::TlsGone
            | SessionError::Busy(_) => true,
            SessionError::Refused { error, .. } => error.code.is_retryable(),
            SessionError::Protocol(_)
            | SessionError::NoAuthentication { .. }
            | SessionError::NoTls
            | SessionError::Moved(_) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_say_what_the_server_said_and_whether_to_try_again() {
        let missing =
            ServerError { code: ErrorCode::NOT_FOUND, message: "no such file".to_owned() };
        assert_eq!(missing.to_string(), "no such file (error 3011)");
        assert!(!RequestError::from(missing).is_retryable());
        assert!(ErrorCode::OVERLOADED.is_retryable());
        assert!(!ErrorCode(9999).is_retryable());
        assert_eq!(
            format!("{:?} {:?}", ErrorCode::IO_ERROR, ErrorCode(9)),
            "IO_ERROR ErrorCode(9)"
        );
        assert!(RequestError::from(SessionError::Closed).is_retryable());
        assert!(!RequestError::from(Misuse::UnknownFile).is_retryable());
    }
}
