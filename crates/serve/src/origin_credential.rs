//! Credentials that origins are shown.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use remote::address::Scheme;
use remote::credentials::{Choice, CredentialStore, Kind, TokenFrom};

/// The credential that a proxy shows to an origin. Its files are read for each connection, as the
/// tools of the field renew them in place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OriginCredential {
    /// A file with a bearer token.
    Token(PathBuf),
    /// A file with an X.509 proxy, or with a certificate and its key.
    Proxy(PathBuf),
    /// A cache of Kerberos tickets, as `KRB5CCNAME` names one.
    Ccache(String),
    /// The client's own token: the origin decides for each token and file, and that it lets the
    /// client read counts so long.
    Passthrough(Duration),
}

impl OriginCredential {
    /// The choice of credentials of addresses; `None` for those of clients.
    pub fn choice(&self) -> Option<Choice> {
        let choice = Choice::default();
        Some(match self.clone() {
            OriginCredential::Token(path) => {
                Choice { token: Some(TokenFrom::File(path)), ..choice }
            }
            OriginCredential::Proxy(path) => Choice { proxy: Some(path), ..choice },
            OriginCredential::Ccache(name) => Choice { ccache: Some(name), ..choice },
            OriginCredential::Passthrough(_) => return None,
        })
    }

    /// Whether servers of a scheme can be shown it.
    ///
    /// # Errors
    /// A text with the reason.
    pub fn suits(&self, scheme: Option<Scheme>) -> Result<(), String> {
        let why = match (self, scheme) {
            (OriginCredential::Ccache(_), Some(Scheme::Http | Scheme::Https)) => {
                "a Kerberos ticket is shown to servers of XRootD only"
            }
            (_, Some(Scheme::Local)) => "a directory of this machine is shown no credential",
            (_, Some(Scheme::Http)) => "no credential is shown without TLS: write https://",
            _ => return Ok(()),
        };
        Err(why.to_owned())
    }

    /// Whether it can be used now.
    ///
    /// # Errors
    /// A text with the reason.
    pub fn check(&self, credential_store: &CredentialStore) -> Result<(), String> {
        let Some(choice) = self.choice() else { return Ok(()) };
        let credential_store = credential_store.with(choice);
        let said = |why: &dyn std::fmt::Display| why.to_string();
        match self {
            OriginCredential::Token(_) => {
                credential_store.token().map(drop).map_err(|why| said(&why))
            }
            OriginCredential::Proxy(_) => {
                credential_store.identity().map(drop).map_err(|why| said(&why))
            }
            OriginCredential::Ccache(_) | OriginCredential::Passthrough(_) => {
                let candidates = credential_store.candidates(SystemTime::now());
                let mut tickets = candidates.iter().filter(|one| one.kind == Kind::Kerberos);
                match tickets.find(|one| one.is_unusable()) {
                    Some(ticket) => Err(format!("{}: {}", ticket.place, ticket.verdict())),
                    None => Ok(()),
                }
            }
        }
    }
}
