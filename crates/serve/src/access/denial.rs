//! Reasons for which a client may not read, in words for it.

use std::fmt;
use std::io;

use super::x509::{CertificateFault, GroupFault};

const FORBIDDEN: &str = "you may not read this, whether it exists or not";

/// Why a client may not read. It says nothing of the file: neither whether it exists, nor which
/// rule is for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Denial {
    /// The client has not proved who it is.
    Unknown(Option<ProofFault>),
    /// It has, and may not read this; why it has not all the groups that it has shown.
    Forbidden(Option<GroupFault>),
}

/// Why that by which a client would prove who it is proves nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProofFault {
    Token(TokenFault),
    Certificate(CertificateFault),
    /// A ticket of Kerberos was accepted, and has expired since.
    TicketExpired,
}

/// Why a token proves nothing. The words repeat nothing of the token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenFault {
    /// It is not on the list, and is no signed token.
    Unlisted,
    Malformed,
    TooLong,
    /// It is not signed by RS256 or ES256.
    Algorithm,
    /// No issuer that is listed has made it.
    Issuer,
    /// The issuer has no such key.
    Key,
    /// The keys of its issuer cannot be fetched now.
    NoKeys,
    Signature,
    /// It is for other servers.
    Audience,
    Expired,
    /// It is not valid yet.
    Early,
    /// It came without TLS.
    Exposed,
}

impl fmt::Display for Denial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Denial::Unknown(None) => f.write_str("prove who you are to read this"),
            Denial::Unknown(Some(fault)) => write!(f, "prove who you are to read this: {fault}"),
            Denial::Forbidden(None) => f.write_str(FORBIDDEN),
            Denial::Forbidden(Some(fault)) => write!(f, "{FORBIDDEN}: {fault}"),
        }
    }
}

impl fmt::Display for ProofFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProofFault::Token(fault) => fault.fmt(f),
            ProofFault::Certificate(fault) => fault.fmt(f),
            ProofFault::TicketExpired => f.write_str("the Kerberos ticket has expired"),
        }
    }
}

impl std::error::Error for Denial {}

impl Denial {
    /// The denial that an error is.
    pub fn of(error: &io::Error) -> Option<&Denial> {
        error.get_ref()?.downcast_ref()
    }
}

impl fmt::Display for TokenFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TokenFault::Unlisted => "the token is not known here",
            TokenFault::Malformed => "the token is malformed",
            TokenFault::TooLong => "the token is too long",
            TokenFault::Algorithm => "the token is not signed by RS256 or ES256",
            TokenFault::Issuer => "the issuer of the token is not accepted here",
            TokenFault::Key => "the issuer of the token has no such key",
            TokenFault::NoKeys => "the keys of the token's issuer cannot be fetched now",
            TokenFault::Signature => "the signature of the token is wrong",
            TokenFault::Audience => "the token is for other servers, by its audience",
            TokenFault::Expired => "the token has expired",
            TokenFault::Early => "the token is not valid yet",
            TokenFault::Exposed => "a token is taken within TLS only (roots://, https://)",
        })
    }
}
