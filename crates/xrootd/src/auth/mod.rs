//! Authentication: a server's offers, and the protocols that can answer them, one file each.
//!
//! A [`Method`] says which protocol may be used and holds no secret. Where one needs a secret, the
//! client asks its caller for a [`Credential`]. Either becomes an [`Exchange`], which gives the
//! messages to the server until the server is content.

use std::fmt;

use secrecy::{SecretSlice, SecretString};

mod exchange;
pub mod gsi;
mod host;
pub mod krb5;
mod unix;
mod ztn;

pub use exchange::{Exchange, Step};
pub use ztn::token_of;

/// A protocol that a client may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Method {
    /// Says who one is; servers believe it.
    Unix { user: String, group: String },
    /// Says nothing; servers go by the address.
    Host,
    /// A bearer token, inside TLS only.
    Ztn,
    /// A Kerberos ticket.
    Krb5,
    /// A grid proxy, or a certificate and its key.
    Gsi,
}

/// A proof of the client's identity, made for one connection. `Debug` does not show it.
#[derive(Debug)]
pub enum Credential {
    /// A bearer token.
    Ztn(SecretString),
    /// An AP-REQ message for the server's principal. Servers refuse to see one twice.
    Krb5(SecretSlice<u8>),
    /// Certificates and their key.
    Gsi(Box<gsi::GsiCredential>),
}

impl Method {
    /// The protocol's name on the wire.
    pub fn name(&self) -> &'static str {
        match self {
            Method::Unix { .. } => "unix",
            Method::Host => "host",
            Method::Ztn => "ztn",
            Method::Krb5 => "krb5",
            Method::Gsi => "gsi",
        }
    }

    /// The name as kXR_auth carries it, filled up with NUL.
    pub fn wire_name(&self) -> [u8; 4] {
        let mut name = [0; 4];
        for (to, from) in name.iter_mut().zip(self.name().bytes()) {
            *to = from;
        }
        name
    }

    /// Why it cannot answer an offer with these arguments, on a connection inside TLS or not.
    pub fn objection(&self, arguments: &str, encrypted: bool) -> Option<String> {
        match self {
            Method::Ztn if !encrypted => {
                Some("a token is sent inside TLS only, and the connection is not encrypted".into())
            }
            Method::Krb5 => krb5::principal(arguments).err(),
            Method::Gsi => gsi::objection(arguments),
            _ => None,
        }
    }

    /// Begins an authentication for which no credential is needed; none for the others.
    pub fn exchange(&self) -> Option<Box<dyn Exchange>> {
        match self {
            Method::Unix { user, group } => Some(Box::new(unix::Unix::new(user, group))),
            Method::Host => Some(Box::new(host::Host)),
            Method::Ztn | Method::Krb5 | Method::Gsi => None,
        }
    }
}

impl Credential {
    /// For which method it is.
    pub fn method(&self) -> Method {
        match self {
            Credential::Ztn(_) => Method::Ztn,
            Credential::Krb5(_) => Method::Krb5,
            Credential::Gsi(_) => Method::Gsi,
        }
    }

    /// Begins an authentication.
    pub fn exchange(self) -> Box<dyn Exchange> {
        match self {
            Credential::Ztn(token) => Box::new(ztn::Ztn::new(token)),
            Credential::Krb5(request) => Box::new(krb5::Krb5::new(request)),
            Credential::Gsi(credential) => Box::new(gsi::GsiClient::new(credential)),
        }
    }
}

/// An offer that was not used, or that the server refused, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// The protocol's name.
    pub name: String,
    pub why: String,
    /// The server has seen a credential and refused it.
    pub by_server: bool,
}

impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.why)
    }
}

/// One protocol that a server offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    pub name: String,
    pub arguments: String,
}

/// Offers that are read, at the most: a server has not so many protocols.
const OFFERS_MAX: usize = 64;

/// Reads a login's security text, `&P=name,arguments&P=...`, in the server's order of preference.
pub fn offers(security: &str) -> Vec<Offer> {
    security
        .split("&P=")
        .filter(|part| !part.trim_matches('&').is_empty())
        .map(|part| {
            let (name, arguments) = part.split_once(',').unwrap_or((part, ""));
            Offer { name: name.trim().to_owned(), arguments: arguments.to_owned() }
        })
        .take(OFFERS_MAX)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offers_are_read_in_the_servers_order() {
        let found = offers("&P=gsi,v:10600,c:ssl,ca:d1bfdaf0.0|a48310c5.0&P=unix");
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].name, "gsi");
        assert_eq!(found[0].arguments, "v:10600,c:ssl,ca:d1bfdaf0.0|a48310c5.0");
        assert_eq!(found[1], Offer { name: "unix".to_owned(), arguments: String::new() });
        assert!(offers("").is_empty());
        assert_eq!(offers(&"&P=x".repeat(1000)).len(), OFFERS_MAX);
    }

    #[test]
    fn credentials_do_not_show_what_they_hold() {
        let token = Credential::Ztn("MARKER".to_owned().into());
        let ticket = Credential::Krb5(b"MARKER".to_vec().into());
        for credential in [token, ticket] {
            assert!(!format!("{credential:?}").contains("MARKER"));
            let mut exchange = credential.exchange();
            assert!(!format!("{exchange:?}").contains("MARKER"));
            let step = exchange.begin("xrootd/host@REALM").unwrap();
            assert!(!format!("{step:?}").contains("MARKER") && step.last);
            assert!(exchange.proceed(b"more").is_err());
        }
    }

    #[test]
    fn a_token_is_not_sent_in_clear() {
        assert!(Method::Ztn.objection("0:4096:", false).is_some());
        assert!(Method::Ztn.objection("0:4096:", true).is_none());
        assert!(Method::Host.objection("", false).is_none());
    }
}
