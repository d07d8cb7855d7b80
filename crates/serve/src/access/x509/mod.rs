//! X.509 certificates of clients: a user's own, or a proxy of it (RFC 3820), with the groups and
//! roles that a VOMS server has put into the proxy.
//!
//! `asking` asks for them within TLS, `chain` takes proxies off a chain, `trust` asks the
//! authorities about the rest, and `groups` judges the attribute certificates. A client without a
//! certificate has proved nothing. One whose certificate is not accepted has proved nothing either,
//! and is told why.

mod asking;
mod chain;
mod groups;
mod trust;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use sha2::{Digest, Sha256};

pub use self::asking::AskForCertificate;
pub use self::groups::GroupFault;
pub use self::trust::{ClientTrust, is_weak};

/// Certificates that are looked at, and their bytes, at the most.
const CHAIN_MAX: usize = 16;
const CHAIN_BYTES_MAX: usize = 128 << 10;
/// Clocks may differ by so many seconds: a proxy that was made a moment ago is valid.
const SKEW: u64 = 60;

/// Where authorities and VOMS servers of clients are listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct X509Settings {
    /// A folder with the authorities' certificates (`HASH.0`) and revocation lists (`HASH.r0`).
    pub authorities: PathBuf,
    /// A folder with a file `ORGANISATION/HOST.lsc` for each VOMS server.
    pub vomsdir: PathBuf,
    /// Whether clients may also show them by XRootD's `gsi`, with and without TLS.
    pub gsi: bool,
}

/// The certificates that a client has shown, and the key of which it has proved to have: its own
/// first, each as DER.
#[derive(Clone, PartialEq, Eq)]
pub struct ShownChain {
    certificates: Vec<Vec<u8>>,
    /// Of all of them.
    hash: [u8; 32],
}

/// A client's certificates, judged.
pub type Judged = Result<CertificateProof, CertificateFault>;

/// Who a client is by its certificates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertificateProof {
    /// The name of the user's own certificate, as the grid writes it: `/DC=ch/DC=cern/CN=Ada`.
    pub subject: String,
    /// Groups and roles (`/cms`, `/cms/Role=production`), each with the second since 1970 at which
    /// it ends.
    pub groups: Vec<(String, u64)>,
    /// Why groups of the proxy do not count.
    pub group_fault: Option<GroupFault>,
    /// Seconds since 1970: the end of the first of the certificates that ends.
    pub expires: u64,
}

/// Why a client's certificates prove nothing. The words repeat nothing of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CertificateFault {
    Malformed,
    TooLong,
    /// A proxy came without the certificate that has signed it.
    Incomplete,
    /// A proxy as there were before RFC 3820.
    OldProxy,
    /// A proxy that its issuer could not make; the rule that it breaks.
    Proxy(&'static str),
    /// A proxy is not signed by its issuer's key.
    Signature,
    /// By a kind of signature that is not accepted.
    Algorithm,
    /// No listed authority has signed it.
    Authority,
    /// The chain to an authority breaks a rule.
    Chain,
    /// It is for servers only.
    Purpose,
    Revoked,
    Expired,
    /// It is not valid yet.
    Early,
    WeakKey,
    /// The name could be taken for another one.
    Name,
    /// The authorities cannot be read now.
    NoAuthorities,
}

impl ShownChain {
    pub fn new(certificates: Vec<Vec<u8>>) -> Self {
        let mut hasher = Sha256::new();
        for certificate in &certificates {
            hasher.update((certificate.len() as u64).to_be_bytes());
            hasher.update(certificate);
        }
        ShownChain { certificates, hash: hasher.finalize().into() }
    }
}

impl fmt::Debug for ShownChain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ShownChain({} certificates)", self.certificates.len())
    }
}

impl CertificateProof {
    /// Whether it counts now (seconds since 1970).
    pub fn counts(&self, now: u64) -> bool {
        now < self.expires
    }

    /// Whether the client has a group or role now.
    pub fn has_group(&self, name: &str, now: u64) -> bool {
        self.counts(now) && self.groups.iter().any(|(group, until)| group == name && now < *until)
    }

    /// Why groups of the proxy do not count now.
    pub fn fault_of_groups(&self, now: u64) -> Option<GroupFault> {
        let is_over = || self.groups.iter().any(|(_, until)| now >= *until);
        self.group_fault.or_else(|| is_over().then_some(GroupFault::Expired))
    }
}

/// Who a client is, as far as its certificates count now.
pub fn proof(judged: Option<&Arc<Judged>>, now: u64) -> Option<&CertificateProof> {
    judged?.as_ref().as_ref().ok().filter(|proof| proof.counts(now))
}

/// Why a client's certificates prove nothing now.
pub fn fault(judged: Option<&Arc<Judged>>, now: u64) -> Option<CertificateFault> {
    match judged?.as_ref() {
        Ok(proof) if proof.counts(now) => None,
        Ok(_) => Some(CertificateFault::Expired),
        Err(fault) => Some(*fault),
    }
}

impl fmt::Display for CertificateFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            CertificateFault::Malformed => "the certificate is malformed",
            CertificateFault::TooLong => "too many certificates were shown",
            CertificateFault::Incomplete => {
                "the proxy came without the certificate that has signed it"
            }
            CertificateFault::OldProxy => {
                "proxies of before RFC 3820 are not accepted; voms-proxy-init -rfc makes another"
            }
            CertificateFault::Proxy(why) => {
                return write!(f, "the proxy is not accepted: {why}");
            }
            CertificateFault::Signature => "the signature of the proxy is wrong",
            CertificateFault::Algorithm => {
                "the certificate is signed in a way that is not accepted, such as with SHA-1"
            }
            CertificateFault::Authority => {
                "no authority that is accepted here has signed the certificate"
            }
            CertificateFault::Chain => "the authorities of the certificate may not sign it",
            CertificateFault::Purpose => "the certificate is not for clients",
            CertificateFault::Revoked => "the certificate has been revoked",
            CertificateFault::Expired => "the certificate, or its proxy, has expired",
            CertificateFault::Early => "the certificate, or its proxy, is not valid yet",
            CertificateFault::WeakKey => "the key of the certificate has fewer than 2048 bits",
            CertificateFault::Name => "the name in the certificate could be taken for another one",
            CertificateFault::NoAuthorities => "the authorities of certificates cannot be read now",
        })
    }
}
