//! Failures of TLS, in words: the cause, with its names and times, and advice.

use std::fmt;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use credentials::advice;
use rustls::pki_types::UnixTime;
use rustls::{
    AlertDescription, CertificateError, Error as TlsError, InvalidMessage, PeerIncompatible,
    ProtocolVersion,
};

use super::config::TlsConfig;
use super::verifier::Unverified;
use crate::error::{Error, ErrorKind};

/// How a session within TLS has failed.
#[derive(Debug, Clone)]
pub struct Failure(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    host: String,
    stage: Stage,
    why: Why,
    version: Option<ProtocolVersion>,
    /// The server has requested a certificate of the client.
    is_asked: bool,
    /// The subject of the one that was sent.
    shown: Option<String>,
}

/// When it has failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Before keys were agreed on.
    Handshake,
    /// After that, and before anything came: in TLS 1.3 a server judges a client's certificate
    /// when the client already believes to be connected.
    FirstRead,
    Later,
}

#[derive(Debug)]
pub enum Why {
    Tls(TlsError),
    /// The connection has ended without TLS's own end.
    Cut,
    Io(io::ErrorKind),
}

impl Failure {
    pub(super) fn new(
        host: &str,
        stage: Stage,
        why: Why,
        version: Option<ProtocolVersion>,
        config: &TlsConfig,
    ) -> Self {
        let is_asked = config.is_asked();
        let shown = config.subject().map(str::to_owned);
        Failure(Arc::new(Inner { host: host.into(), stage, why, version, is_asked, shown }))
    }

    pub(super) fn into_io(self) -> io::Error {
        let kind = match &self.0.why {
            Why::Tls(_) => io::ErrorKind::InvalidData,
            Why::Cut => io::ErrorKind::UnexpectedEof,
            Why::Io(kind) => *kind,
        };
        io::Error::new(kind, self)
    }

    /// Of an error of a stream, or of something that it is the cause of.
    pub fn of<'a>(error: &'a (dyn std::error::Error + 'static)) -> Option<&'a Failure> {
        let mut cause = Some(error);
        while let Some(error) = cause {
            if let Some(failure) = error.downcast_ref::<Failure>() {
                return Some(failure);
            }
            let inner = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
            if let Some(failure) = inner.and_then(|inner| inner.downcast_ref::<Failure>()) {
                return Some(failure);
            }
            cause = error.source();
        }
        None
    }

    /// The error for a caller.
    pub fn explain(&self) -> Error {
        let Inner { host, stage, why, .. } = &*self.0;
        match (why, stage) {
            (Why::Tls(TlsError::AlertReceived(alert)), _) => self.of_alert(*alert),
            (Why::Tls(error), _) => self.of_tls(error),
            (Why::Cut | Why::Io(_), Stage::FirstRead) if self.0.is_asked => {
                // Mostly a refusal comes with an alert; and servers end connections that are idle.
                let shown = match &self.0.shown {
                    Some(subject) => format!("the certificate of {subject:?} was shown"),
                    None => "none was shown".into(),
                };
                let message = format!(
                    "{host} closed the connection right after the handshake, in which it had \
                     asked for a certificate; {shown}"
                );
                let advice = format!(
                    "if it stays so, the server does not take it: {}; or {}",
                    advice::MAKE_PROXY,
                    advice::FETCH_TOKEN
                );
                Error::new(ErrorKind::Connection, message).with_advice(advice)
            }
            (Why::Cut | Why::Io(_), Stage::Handshake) => {
                let how = match why {
                    Why::Io(kind) => format!("was cut ({kind})"),
                    _ => "was closed by the server".into(),
                };
                let message = format!("the connection to {host} {how} in the TLS handshake");
                Error::new(ErrorKind::Connection, message)
                    .with_advice("check that the server speaks TLS on this port")
            }
            (Why::Cut, _) => {
                let message = "the connection ended without TLS's own end: bytes may be missing";
                Error::new(ErrorKind::Connection, message)
            }
            (Why::Io(kind), _) => Error::new(ErrorKind::Connection, kind.to_string()),
        }
    }

    fn of_tls(&self, error: &TlsError) -> Error {
        let Inner { host, stage, .. } = &*self.0;
        let failed = |message: String| Error::new(ErrorKind::Connection, message).retryable(false);
        match error {
            TlsError::InvalidCertificate(why) => of_certificate(host, why),
            TlsError::InvalidMessage(
                InvalidMessage::InvalidContentType
                | InvalidMessage::UnknownProtocolVersion
                | InvalidMessage::MessageTooLarge
                | InvalidMessage::InvalidEmptyPayload,
            ) if *stage == Stage::Handshake && self.0.version.is_none() => {
                failed(format!("{host} does not speak TLS on this port"))
                    .with_advice("check the port, or the scheme of the address")
            }
            TlsError::PeerIncompatible(PeerIncompatible::ServerDoesNotSupportTls12Or13) => failed(
                format!("{host} speaks older versions of TLS only than 1.2, which are broken"),
            ),
            TlsError::PeerIncompatible(why) => {
                failed(format!("{host} and farroot have no way of TLS in common: {why:?}"))
            }
            TlsError::DecryptError | TlsError::PeerSentOversizedRecord => {
                let message = format!("what came from {host} is damaged or was forged on its way");
                Error::new(ErrorKind::Connection, message)
            }
            error => failed(format!("TLS with {host} failed: {error}")),
        }
    }

    fn of_alert(&self, alert: AlertDescription) -> Error {
        use AlertDescription as A;
        let Inner { host, .. } = &*self.0;
        let failed = |message: String| Error::new(ErrorKind::Connection, message).retryable(false);
        match alert {
            A::BadCertificate
            | A::UnsupportedCertificate
            | A::CertificateRevoked
            | A::CertificateExpired
            | A::CertificateUnknown
            | A::UnknownCA
            | A::AccessDenied
            | A::CertificateRequired => self.of_refusal(alert),
            A::HandshakeFailure if self.0.is_asked => self.of_refusal(alert),
            A::ProtocolVersion => failed(format!(
                "{host} speaks older versions of TLS only than 1.2, which are broken"
            )),
            A::HandshakeFailure | A::InsufficientSecurity => {
                failed(format!("{host} and farroot have no cipher in common ({alert:?})"))
            }
            A::UnrecognisedName => failed(format!("{host} has no certificate for this name"))
                .with_advice("use the full name of the server"),
            alert => failed(format!("{host} ended TLS: {alert:?}")),
        }
    }

    /// The server does not take the client's certificate, or wants one.
    fn of_refusal(&self, alert: AlertDescription) -> Error {
        let Inner { host, shown, .. } = &*self.0;
        let said = match alert {
            AlertDescription::CertificateExpired => " and calls it expired",
            AlertDescription::CertificateRevoked => " and calls it revoked",
            AlertDescription::UnknownCA => ", whose authority it does not know",
            AlertDescription::UnsupportedCertificate => " and does not support its kind",
            _ => "",
        };
        let message = match shown {
            Some(subject) => format!("{host} refuses the certificate of {subject:?}{said}"),
            None => format!("{host} wants a certificate of the user, and there was none to show"),
        };
        let advice = match (shown, alert) {
            (Some(_), AlertDescription::UnknownCA | AlertDescription::UnsupportedCertificate) => {
                format!(
                    "the server may not take proxies, or not those of this authority: show the \
                     certificate itself (X509_USER_PROXY=~/.globus/usercert.pem), or {}",
                    advice::FETCH_TOKEN
                )
            }
            (Some(_), _) => advice::MAKE_PROXY.to_owned(),
            (None, _) => format!("{}, or name one in X509_USER_PROXY", advice::MAKE_PROXY),
        };
        Error::new(ErrorKind::Unauthenticated, message).with_advice(advice)
    }
}

pub(super) fn of_certificate(host: &str, why: &CertificateError) -> Error {
    let failed = |message: String| Error::new(ErrorKind::Connection, message).retryable(false);
    let (why, seen) = match why {
        CertificateError::Other(other) => match other.0.downcast_ref::<Unverified>() {
            Some(seen) => (&seen.why, Some(seen)),
            None => (why, None),
        },
        why => (why, None),
    };
    let issuer = seen.map_or("an unknown authority", |seen| &seen.issuer);
    match why {
        CertificateError::UnknownIssuer => {
            let trusted = seen.map_or("", |seen| &seen.trusted);
            let message = match seen {
                Some(seen) if seen.is_self_signed => {
                    format!("{host} shows a certificate that it has signed itself ({issuer})")
                }
                _ => format!(
                    "the certificate of {host} is from an authority that is not trusted: {issuer}"
                ),
            };
            failed(format!("{message}; trusted are {trusted}")).with_advice(advice::GET_AUTHORITIES)
        }
        CertificateError::ExpiredContext { time, not_after } => {
            let ago = span(*not_after, *time);
            failed(format!("the certificate of {host} expired {ago} ago, on {}", date(*not_after)))
                .with_advice(format!("tell the site; or {}", advice::SET_CLOCK))
        }
        CertificateError::NotValidYetContext { time, not_before } => {
            let when = date(*not_before);
            let after = span(*time, *not_before);
            failed(format!("the certificate of {host} is valid from {when} on, in {after}"))
                .with_advice(advice::SET_CLOCK)
        }
        CertificateError::NotValidForNameContext { presented, .. } if presented.is_empty() => {
            let name = seen.and_then(|seen| seen.common_name.as_deref());
            let name = name.map_or("it has no name at all".into(), |name| {
                format!("its subject's old common name is {name:?}")
            });
            failed(format!("the certificate of {host} names no host (no SAN); {name}"))
                .with_advice("use the name that the certificate has, or tell the site")
        }
        CertificateError::NotValidForNameContext { presented, .. } => {
            let names: Vec<&str> = presented.iter().map(|name| bare_name(name)).collect();
            failed(format!("the certificate of {host} is for {}", names.join(", ")))
                .with_advice(another_name(host, &names))
        }
        CertificateError::Revoked => {
            failed(format!("the certificate of {host} is revoked by its authority, {issuer}"))
                .with_advice("tell the site; until it has another one, use another replica")
        }
        CertificateError::BadSignature => {
            failed(format!("the certificate of {host} is not signed by whom it names: {issuer}"))
                .with_advice(
                    "an older key of that authority may be trusted here: update the directory of \
                     X509_CERT_DIR",
                )
        }
        CertificateError::InvalidPurposeContext { .. } | CertificateError::InvalidPurpose => {
            failed(format!("the certificate of {host} is not one for servers"))
        }
        CertificateError::UnsupportedSignatureAlgorithmContext { .. }
        | CertificateError::UnsupportedSignatureAlgorithmForPublicKeyContext { .. } => failed(
            format!("the certificate of {host} is signed in a way that is not safe any more"),
        ),
        CertificateError::Other(other) if format!("{other:?}").contains("CaUsedAsEndEntity") => {
            failed(format!("{host} shows the certificate of an authority (CA:TRUE) as its own"))
                .with_advice("tell the site: a server needs a certificate with CA:FALSE")
        }
        why => failed(format!("the certificate of {host} cannot be used: {why}")),
    }
}

/// The name to write instead of one that is not among those of the certificate.
fn another_name(host: &str, names: &[&str]) -> String {
    let is_full = |name: &&&str| {
        name.split_once('.').is_some_and(|(first, _)| first.eq_ignore_ascii_case(host))
    };
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    match (names.iter().find(is_full), bare.parse::<IpAddr>()) {
        (Some(full), _) => format!("write the name in full: {full}"),
        (None, Ok(_)) => "write the server's name in full, and not its number; if a redirector \
                          has sent here by number, tell the site"
            .to_owned(),
        (None, Err(_)) => "use a name that the certificate has, in full".to_owned(),
    }
}

/// `DnsName("a.b")`, as webpki writes it.
fn bare_name(presented: &str) -> &str {
    presented.split('"').nth(1).unwrap_or(presented)
}

fn date(time: UnixTime) -> String {
    httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(time.as_secs()))
}

/// From one time to another: `3 days`, `2 h`, `40 s`.
fn span(from: UnixTime, to: UnixTime) -> String {
    let seconds = to.as_secs().saturating_sub(from.as_secs());
    match seconds {
        0..180 => format!("{seconds} s"),
        180..7200 => format!("{} min", seconds / 60),
        7200..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} days", seconds / 86_400),
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.explain().message())
    }
}

impl std::error::Error for Failure {}
