//! Reasons why a credential that is there, or that was named, cannot be used.

use std::fmt;
use std::time::Duration;

use crate::{Kind, Place, advice};

/// A credential that was named or found and cannot be used. Its text is one sentence with the cause
/// and the command to type; nothing of the credential is in it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name} in {place} {reason}{}", self.rest())]
pub struct Unusable {
    /// Of which kind.
    pub kind: Kind,
    /// Its name in the message: `token`, `proxy`, `key of the certificate`.
    pub name: &'static str,
    /// Where.
    pub place: Place,
    /// Why not.
    pub reason: Reason,
}

/// Why a credential cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// It was named, and nothing is there.
    Missing,
    /// The operating system does not let it be read; its words.
    Unreadable(String),
    /// A directory, a pipe, a device.
    NotAFile,
    /// The file belongs to another user, who could have put it there; their number.
    Owner(u32),
    /// Others than its owner may read or write the file; its permissions.
    Mode(u32),
    /// It is larger than any credential, in bytes.
    TooLarge(u64),
    /// It names the servers that it is for, and this one is none of them; those.
    Elsewhere(String),
    /// It is malformed; the fault.
    Malformed(String),
    /// The key has a passphrase, and a library cannot request it from the user.
    Encrypted,
    /// Since when it is no longer valid, by this machine's clock.
    Expired(Duration),
    /// A certificate without its private key, or the other way round; the missing part.
    Incomplete(&'static str),
    /// The key does not belong to the certificate.
    WrongKey,
    /// The kind of key cannot do the requested operation; the kind that can.
    OtherKey(&'static str),
    /// No library of Kerberos is installed; the names that were tried.
    NoLibrary(String),
    /// The Kerberos library refuses; its words.
    Kerberos(String),
    /// The Kerberos library has no ticket for a service; its words, and the service's realm.
    NoTicket(String, String),
    /// The profile gets its keys from a program or a service, which farroot does not ask.
    Indirect(&'static str),
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Missing => write!(f, "is not there on this machine ({})", host_name()),
            Reason::Unreadable(why) => write!(f, "cannot be read: {why}"),
            Reason::NotAFile => f.write_str("is not a regular file"),
            Reason::Owner(user) => write!(f, "belongs to another user (number {user})"),
            Reason::Mode(mode) => {
                write!(f, "is open to other users (mode {:03o})", mode & 0o777)
            }
            Reason::TooLarge(bytes) => write!(f, "is too large ({bytes} bytes)"),
            Reason::Elsewhere(audience) => {
                write!(f, "says that it is for {audience}, not for this server")
            }
            Reason::Malformed(fault) => write!(f, "is not valid: {fault}"),
            Reason::Encrypted => f.write_str("has a passphrase, which farroot does not ask for"),
            Reason::Expired(ago) => write!(f, "expired {} ago", Span(*ago)),
            Reason::Incomplete(part) => write!(f, "lacks {part}"),
            Reason::WrongKey => f.write_str("has a key that belongs to another certificate"),
            Reason::OtherKey(kind) => write!(f, "has no {kind} key, which gsi needs"),
            Reason::NoLibrary(tried) => write!(f, "needs a Kerberos library ({tried})"),
            Reason::Kerberos(why) | Reason::NoTicket(why, _) => {
                write!(f, "cannot be used: {why}")
            }
            Reason::Indirect(how) => {
                write!(f, "gets its keys by {how}, which farroot does not use")
            }
        }
    }
}

impl Unusable {
    /// A hint for the user; empty where the cause has it.
    pub fn advice(&self) -> String {
        let path = self.place.path().map(|path| path.display().to_string());
        let path = path.unwrap_or_default();
        match (&self.reason, self.kind) {
            (Reason::Mode(_), _) => format!("chmod 600 {path}"),
            (Reason::Owner(_), _) => match self.place.is_named() {
                true => "name a file of your own".to_owned(),
                false => format!("remove {path}, or name your own file"),
            },
            // Jobs and workers run elsewhere than where their files were made.
            (Reason::Missing, Kind::X509) if self.name == "the proxy" => {
                format!("{} -out {path}, or copy it to there", advice::MAKE_PROXY)
            }
            (Reason::Missing, Kind::Token) => {
                format!("{} into it, or copy it to there", advice::FETCH_TOKEN)
            }
            (Reason::Encrypted, _) => advice::MAKE_PROXY.to_owned(),
            (Reason::Missing | Reason::Expired(_) | Reason::WrongKey, Kind::X509)
            | (Reason::Incomplete(_) | Reason::Malformed(_), Kind::X509) => {
                advice::MAKE_PROXY.to_owned()
            }
            (Reason::OtherKey(_), _) => {
                "use a token or https, or ask for a certificate with an RSA key".to_owned()
            }
            (Reason::Expired(_) | Reason::Malformed(_), Kind::Token) => {
                advice::FETCH_TOKEN.to_owned()
            }
            (Reason::Elsewhere(_), _) => {
                "fetch one for it, or name the token in the call if it is to be shown".to_owned()
            }
            (Reason::NoLibrary(_), _) => {
                "install libgssapi-krb5-2 (Debian), krb5-libs (RHEL) or krb5 (conda)".to_owned()
            }
            (Reason::Kerberos(why) | Reason::NoTicket(why, _), _) if why.contains("skew") => {
                advice::SET_CLOCK.to_owned()
            }
            (Reason::NoTicket(_, realm), _) => advice::get_ticket(Some(realm)),
            (Reason::Kerberos(_) | Reason::Missing | Reason::Expired(_), Kind::Kerberos) => {
                advice::get_ticket(None)
            }
            (Reason::Indirect(_), _) => {
                "eval \"$(aws configure export-credentials --format env)\"".to_owned()
            }
            (Reason::Missing | Reason::Incomplete(_), Kind::S3) => "aws configure".to_owned(),
            _ => String::new(),
        }
    }

    fn rest(&self) -> String {
        match self.advice() {
            advice if advice.is_empty() => advice,
            advice => format!("; {advice}"),
        }
    }
}

fn host_name() -> String {
    let name = nix::unistd::gethostname().ok().and_then(|name| name.into_string().ok());
    name.unwrap_or_else(|| "without a name".to_owned())
}

/// A time as one reads it: the two largest units at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span(pub Duration);

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.as_secs();
        let days = seconds / 86_400;
        let hours = seconds / 3_600 % 24;
        let minutes = seconds / 60 % 60;
        match (days, hours, minutes) {
            (0, 0, 0) => write!(f, "{seconds} s"),
            (0, 0, _) => write!(f, "{minutes} min"),
            (0, ..) => write!(f, "{hours} h {minutes} min"),
            _ => write!(f, "{days} d {hours} h"),
        }
    }
}
