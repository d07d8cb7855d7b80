//! Errors of connections and of servers as those of this crate, with the server of the request.

use std::time::SystemTime;

use credentials::{Claims, Token};
use xrootd::client::{Client, HowToRetry};
use xrootd::error::{ErrorCode, RequestError, ServerError, SessionError};

use super::{XrootdServer, causes};
use crate::address::Address;
use crate::error::{Error, ErrorKind};
use crate::source::tls::{self, Failure};

/// How a session was logged in.
pub struct Login {
    /// The protocol; none where no proof was wanted.
    pub by: Option<&'static str>,
    /// Each offer that was not used, and why.
    pub skipped: Vec<String>,
}

/// The rights of a token, by its own words, as servers do not say why they refuse it.
fn token_in_words(claims: &Claims) -> String {
    let mut text = format!("a token of {}", claims.subject.as_deref().unwrap_or("no one"));
    if let Some(issuer) = &claims.issuer {
        text.push_str(&format!(" from {issuer}"));
    }
    if !claims.audience.is_empty() {
        text.push_str(&format!(", for {}", claims.audience.join(" and ")));
    }
    match claims.scope.is_empty() {
        true => text.push_str(", which allows nothing by itself,"),
        false => text.push_str(&format!(", which allows {},", claims.scope.join(" "))),
    }
    text
}

/// Servers have no code for it: xrootd sends the one of any error of its file system.
fn is_no_directory(refused: &ServerError) -> bool {
    let message = refused.message.to_ascii_lowercase();
    message.contains("not a directory") || message.contains("is no directory")
}

impl XrootdServer {
    pub(super) fn unreachable(&self, error: &std::io::Error) -> Error {
        Error::from_io(error)
            .with_source(&*self.name)
            .with_advice("check the address, or whether the server is up")
    }

    pub(super) fn broken(&self, error: &std::io::Error) -> Error {
        if Failure::of(error).is_some() {
            return tls::explain(error).with_source(&*self.name);
        }
        Error::from_io(error).retryable(true).with_source(&*self.name)
    }

    /// Notes how a session was logged in.
    pub(super) fn note_login(&self, client: &Client) {
        let by = client.authenticated_by();
        let skipped = client.skipped().iter().map(ToString::to_string).collect();
        *self.login.lock() = Some(Login { by, skipped });
        self.starts.lock().logged_in();
        *self.refused_login.lock() = None;
    }

    /// Whether a refused login may be a slip: beside others, or after some that were accepted.
    fn may_be_a_slip(&self, error: &SessionError) -> bool {
        let SessionError::NoAuthentication { skipped, .. } = error else { return false };
        skipped.iter().any(|skipped| skipped.by_server) && self.starts.lock().may_be_a_slip()
    }

    pub(super) fn session_error(&self, error: &SessionError, retry: HowToRetry) -> Error {
        // Its requests came before a login. The login of another connection was refused meanwhile,
        // which is why no connection can have them.
        let refused = self.refused_login.lock().clone();
        if let (SessionError::AuthenticationFirst { .. }, Some(refused)) = (error, refused) {
            return self.session_error(&refused, HowToRetry::No);
        }
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
        let may_be_a_slip = self.may_be_a_slip(error);
        let (text, advice) = self.explained(error);
        let said = Error::new(kind, self.with_user(kind, text))
            .retryable(may_be_a_slip || self.may_recover(error) || retry != HowToRetry::No)
            .with_source(&*self.name);
        match advice.is_empty() {
            true => said,
            false => said.with_advice(advice),
        }
    }

    /// In words, with the known facts of each credential that was refused; and hints.
    fn explained(&self, error: &SessionError) -> (String, String) {
        let SessionError::NoAuthentication { offered, skipped } = error else {
            return (error.to_string(), String::new());
        };
        let mut skipped = skipped.clone();
        let mut advice = Vec::new();
        for refused in &mut skipped {
            if let Some(cause) =
                causes::of_login(&self.credential_store, refused, SystemTime::now())
            {
                refused.why.push_str(&format!(" ({})", cause.why));
                advice.push(cause.advice);
            }
        }
        let offered = offered.clone();
        (SessionError::NoAuthentication { offered, skipped }.to_string(), advice.join("; or "))
    }

    /// A refusal depends on who asks.
    fn with_user(&self, kind: ErrorKind, text: String) -> String {
        let login = self.login.lock();
        match (kind, login.as_ref()) {
            (ErrorKind::PermissionDenied, Some(Login { by: Some(by), skipped })) => {
                let mut text = format!("{text}; {} was logged in by {by}", self.whom(by));
                if !skipped.is_empty() {
                    text.push_str(&format!(" (not used: {})", skipped.join("; ")));
                }
                text
            }
            (ErrorKind::PermissionDenied | ErrorKind::Unauthenticated, _) => {
                format!("{text}; it was asked as user {:?}", self.config.user)
            }
            _ => text,
        }
    }

    /// How the last connection was encrypted, and as whom it was logged in.
    pub(super) fn introduced(&self) -> String {
        let encryption = match &*self.encryption.lock() {
            Some(peer) => format!("within {}", peer.version),
            None => "not encrypted".to_owned(),
        };
        let login = self.login.lock();
        let Some(Login { by, skipped }) = login.as_ref() else { return encryption };
        let by = match by {
            Some(by) => format!("logged in by {by} as {}", self.whom(by).trim_end_matches(',')),
            None => format!("no proof was wanted of user {:?}", self.config.user),
        };
        match skipped.is_empty() {
            true => format!("{encryption}; {by}"),
            false => format!("{encryption}; {by}; not used: {}", skipped.join("; ")),
        }
    }

    /// Who the server takes a client for.
    fn whom(&self, by: &str) -> String {
        match by {
            "unix" | "host" => format!("user {:?}, without proof,", self.config.user),
            "ztn" => match self.credential_store.token() {
                Ok(Some(Token { claims: Some(claims), .. })) => token_in_words(&claims),
                _ => "the token's owner".to_owned(),
            },
            "gsi" => match self.credential_store.identity() {
                Ok(Some(identity)) => identity.subject,
                _ => "the certificate's owner".to_owned(),
            },
            _ => "the ticket's owner".to_owned(),
        }
    }

    /// A new session may fare better. A server that sends one message without sense need not send
    /// another, but one that has never made sense is no such server.
    fn may_recover(&self, error: &SessionError) -> bool {
        let slip = matches!(error, SessionError::Protocol(_));
        error.is_retryable() || (slip && self.starts.lock().profile().version.is_some())
    }

    /// Of a request for the file of this address.
    pub(super) fn request_error(&self, error: &RequestError, url: &Address) -> Error {
        // Whichever comes first, the end of the session or that of its requests, says the same.
        if let RequestError::Session(
            error @ (SessionError::NoAuthentication { .. } | SessionError::Refused { .. }),
        ) = error
        {
            return self.session_error(error, HowToRetry::No);
        }
        let RequestError::Server(refused) = error else {
            let kind = match error {
                RequestError::TimedOut | RequestError::WaitedTooLong(_) => ErrorKind::TimedOut,
                RequestError::Session(_) => ErrorKind::Connection,
                _ => ErrorKind::Io,
            };
            let retryable = match error {
                RequestError::Session(error) => {
                    self.may_recover(error) || self.may_be_a_slip(error)
                }
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
            // farroot's proxy says so of a file that has changed at its origin.
            ErrorCode::CONFLICT => ErrorKind::Changed,
            _ if is_no_directory(refused) => ErrorKind::InvalidArgument,
            _ => ErrorKind::Io,
        };
        let mut text = refused.to_string();
        if let Some(plain) = causes::in_plain_words(&refused.message) {
            text.push_str(&format!(" ({plain})"));
        }
        let said = Error::new(kind, self.with_user(kind, text))
            .retryable(refused.code.is_retryable() && !is_no_directory(refused))
            .directory(refused.code == ErrorCode::IS_DIRECTORY)
            .with_source(&*self.name);
        let by = self.login.lock().as_ref().and_then(|login| login.by);
        let by = by.filter(|_| kind == ErrorKind::PermissionDenied);
        match by.and_then(|by| causes::of_denial(&self.credential_store, by, &url.path())) {
            Some(advice) => said.with_advice(advice),
            None => said,
        }
    }
}
