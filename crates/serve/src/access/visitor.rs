//! The identity that a client has proved, for one request.

use std::fmt;
use std::sync::Arc;

use remote::credentials::KerberosClient;
use secrecy::SecretString;
use sha2::{Digest, Sha256};

use super::denial::{Denial, ProofFault, TokenFault};
use super::token::TokenClaims;
use super::x509::{self, CertificateProof, Judged};

/// A client as rules see it: it may read all files that one of its proofs is for.
#[derive(Debug, Clone, Default)]
pub struct Visitor {
    /// By a token, a password or a ticket.
    pub proved: Proved,
    /// Why its token proves nothing.
    pub fault: Option<TokenFault>,
    /// The token that it has sent within TLS, for origins that decide by themselves.
    pub bearer: Option<Bearer>,
    /// The certificates of its connection.
    pub certificate: Option<Arc<Judged>>,
}

/// The identity that a client has proved by a token, a password or a ticket.
#[derive(Debug, Clone, Default)]
pub enum Proved {
    #[default]
    Nothing,
    /// It knows a token of the list.
    Listed,
    /// It knows the password of this user.
    User(String),
    /// An issuer has signed these claims.
    Token(Box<TokenClaims>),
    /// It has a ticket of Kerberos for this service.
    Ticket(KerberosClient),
}

/// A token as a client has sent it.
#[derive(Clone)]
pub struct Bearer {
    pub secret: SecretString,
    /// A hash, by which answers for this token are told from those for others.
    pub hash: [u8; 32],
}

impl Visitor {
    /// One whose token proves nothing.
    pub fn with_fault(fault: TokenFault) -> Self {
        Visitor { fault: Some(fault), ..Visitor::default() }
    }

    /// The claims of its token, if that is valid now.
    pub fn token(&self, now: u64) -> Option<&TokenClaims> {
        match &self.proved {
            Proved::Token(claims) if now < claims.expires => Some(claims),
            _ => None,
        }
    }

    /// The owner of its ticket of Kerberos, if that is valid now.
    pub fn ticket(&self, now: u64) -> Option<&KerberosClient> {
        match &self.proved {
            Proved::Ticket(client) if now < client.expires => Some(client),
            _ => None,
        }
    }

    /// Who it is by its certificates, if these count now.
    pub fn certificate(&self, now: u64) -> Option<&CertificateProof> {
        x509::proof(self.certificate.as_ref(), now)
    }

    /// Whether it has proved who it is, and the proof still counts.
    pub fn is_known(&self, now: u64) -> bool {
        let is_proved = match &self.proved {
            Proved::Nothing => false,
            Proved::Listed | Proved::User(_) => true,
            Proved::Token(_) => self.token(now).is_some(),
            Proved::Ticket(_) => self.ticket(now).is_some(),
        };
        is_proved || self.certificate(now).is_some()
    }

    /// Why its token, its ticket or its certificate proves nothing.
    pub fn fault(&self, now: u64) -> Option<ProofFault> {
        let of_login = match &self.proved {
            Proved::Ticket(_) => Some(ProofFault::TicketExpired),
            Proved::Token(_) => Some(ProofFault::Token(TokenFault::Expired)),
            _ => self.fault.map(ProofFault::Token),
        };
        let of_certificate = || x509::fault(self.certificate.as_ref(), now);
        of_login.or_else(|| of_certificate().map(ProofFault::Certificate))
    }

    /// Why it may not read something.
    pub fn denial(&self, now: u64) -> Denial {
        if !self.is_known(now) {
            return Denial::Unknown(self.fault(now));
        }
        Denial::Forbidden(self.certificate(now).and_then(|proof| proof.fault_of_groups(now)))
    }
}

impl Bearer {
    pub fn new(token: &str) -> Self {
        Bearer { secret: token.into(), hash: Sha256::digest(token.as_bytes()).into() }
    }
}

impl fmt::Debug for Bearer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Bearer")
    }
}
