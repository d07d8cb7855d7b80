//! Errors of connections and of servers as those of this crate, with who was asked.

use xrootd::client::HowToRetry;
use xrootd::error::{ErrorCode, RequestError, SessionError};

use super::XrootdServer;
use crate::error::{Error, ErrorKind};

impl XrootdServer {
    pub(super) fn unreachable(&self, error: &std::io::Error) -> Error {
        Error::from_io(error)
            .with_source(&*self.name)
            .with_advice("check the address, or whether the server is up")
    }

    pub(super) fn broken(&self, error: &std::io::Error) -> Error {
        Error::from_io(error).retryable(true).with_source(&*self.name)
    }

    pub(super) fn session_error(&self, error: &SessionError, retry: HowToRetry) -> Error {
        let kind = match error {
            SessionError::Silent(_) => ErrorKind::TimedOut,
            SessionError::Protocol(_) => ErrorKind::Io,
            SessionError::NoAuthentication { .. } | SessionError::AuthenticationFirst { .. } => {
                ErrorKind::Unauthenticated
            }
            SessionError::TlsRequired | SessionError::NoTls => ErrorKind::Unsupported,
            SessionError::Refused { .. } => ErrorKind::PermissionDenied,
            _ => ErrorKind::Connection,
        };
        Error::new(kind, self.with_user(kind, error.to_string()))
            .retryable(self.may_recover(error) || !matches!(retry, HowToRetry::No))
            .with_source(&*self.name)
    }

    /// A refusal depends on who asks.
    fn with_user(&self, kind: ErrorKind, text: String) -> String {
        match kind {
            ErrorKind::PermissionDenied | ErrorKind::Unauthenticated => {
                format!("{text}; it was asked as user {:?}", self.config.user)
            }
            _ => text,
        }
    }

    /// A new session may fare better. What a server says once that makes no sense need not be said
    /// again, but one that has never made sense is no such server.
    fn may_recover(&self, error: &SessionError) -> bool {
        let slip = matches!(error, SessionError::Protocol(_));
        error.is_retryable() || (slip && self.profile.lock().version.is_some())
    }

    pub(super) fn request_error(&self, error: &RequestError) -> Error {
        let RequestError::Server(refused) = error else {
            let kind = match error {
                RequestError::TimedOut | RequestError::WaitedTooLong(_) => ErrorKind::TimedOut,
                RequestError::Session(_) => ErrorKind::Connection,
                _ => ErrorKind::Io,
            };
            let retryable = match error {
                RequestError::Session(error) => self.may_recover(error),
                error => error.is_retryable(),
            };
            return Error::new(kind, error.to_string())
                .retryable(retryable)
                .with_source(&*self.name);
        };
        let kind = match refused.code {
            ErrorCode::NOT_FOUND | ErrorCode::NO_REPLICAS => ErrorKind::NotFound,
            ErrorCode::NOT_AUTHORIZED => ErrorKind::PermissionDenied,
            ErrorCode::AUTH_FAILED => ErrorKind::Unauthenticated,
            ErrorCode::TLS_REQUIRED | ErrorCode::UNSUPPORTED => ErrorKind::Unsupported,
            ErrorCode::IS_DIRECTORY | ErrorCode::NOT_FILE => ErrorKind::InvalidArgument,
            _ => ErrorKind::Io,
        };
        Error::new(kind, self.with_user(kind, refused.to_string()))
            .retryable(refused.code.is_retryable())
            .with_source(&*self.name)
    }
}
