//! Proxies of a chain (RFC 3820, section 4): each is signed by the one before it, or by the user's
//! own certificate, and has its name with one more common name.

use std::time::{SystemTime, UNIX_EPOCH};

use remote::credentials::x509::{ChainLink, LinkKind, Signed, is_extension, key_parts};
use remote::source::tls::provider;

use super::{CHAIN_BYTES_MAX, CHAIN_MAX, CertificateFault, SKEW};

/// The policy by which a proxy has all rights of its issuer.
const INHERIT_ALL: &str = "1.3.6.1.5.5.7.21.1";
/// The policy of Globus by which it may do all but start jobs: it may read.
const LIMITED: &str = "1.3.6.1.4.1.3536.1.1.1.9";

/// A certificate as it was shown.
pub struct Shown<'a> {
    pub der: &'a [u8],
    pub link: ChainLink,
}

/// A chain, sorted.
pub struct SortedChain<'a> {
    /// The client's own first.
    pub proxies: Vec<Shown<'a>>,
    /// The user's own certificate.
    pub user: Shown<'a>,
    /// Those that may lead to an authority.
    pub rest: Vec<Shown<'a>>,
}

impl<'a> SortedChain<'a> {
    /// Takes a chain apart. Nothing of it is verified.
    pub fn of(certificates: &'a [Vec<u8>]) -> Result<Self, CertificateFault> {
        let bytes: usize = certificates.iter().map(Vec::len).sum();
        if certificates.len() > CHAIN_MAX || bytes > CHAIN_BYTES_MAX {
            return Err(CertificateFault::TooLong);
        }
        let shown = |der: &'a Vec<u8>| Some(Shown { der, link: ChainLink::parse(der)? });
        let shown: Option<Vec<Shown<'_>>> = certificates.iter().map(shown).collect();
        let mut rest = shown.ok_or(CertificateFault::Malformed)?;
        if rest.is_empty() {
            return Err(CertificateFault::Malformed);
        }
        let mut proxies = Vec::new();
        let mut user = rest.remove(0);
        while user.link.kind != LinkKind::Plain {
            if user.link.kind == LinkKind::OldProxy {
                return Err(CertificateFault::OldProxy);
            }
            let issuer = rest.iter().position(|one| one.link.subject == user.link.issuer);
            let issuer = rest.remove(issuer.ok_or(CertificateFault::Incomplete)?);
            proxies.push(std::mem::replace(&mut user, issuer));
        }
        Ok(SortedChain { proxies, user, rest })
    }

    /// Checks each proxy now (seconds since 1970). Whether the user's certificate is one is another
    /// question.
    pub fn check_proxies(&self, now: u64) -> Result<(), CertificateFault> {
        let issuers = self.proxies.iter().skip(1).chain([&self.user]);
        for (behind, (proxy, issuer)) in self.proxies.iter().zip(issuers).enumerate() {
            check_proxy(&proxy.link, &issuer.link, behind as u64)?;
            check_time(&proxy.link, now)?;
            let signed = Signed::parse(proxy.der).ok_or(CertificateFault::Malformed)?;
            verify(&signed, &issuer.link.public_key)?;
        }
        Ok(())
    }

    /// The second since 1970 at which the first of them ends: proxies, user, and the authorities
    /// that were shown between the user and a root.
    pub fn expires(&self) -> u64 {
        let mut ends: Vec<SystemTime> =
            self.proxies.iter().map(|one| one.link.validity.1).collect();
        let mut last = Some(&self.user.link);
        while let Some(link) = last.filter(|_| ends.len() <= CHAIN_MAX) {
            ends.push(link.validity.1);
            let issuers = self.rest.iter().map(|one| &one.link);
            let issuers =
                issuers.filter(|one| one.subject == link.issuer && one.issuer != one.subject);
            // An authority may be shown with a new certificate beside its old one.
            last = issuers.max_by_key(|one| one.validity.1);
        }
        ends.into_iter().map(seconds).min().unwrap_or_default()
    }
}

/// Whether an issuer may have made a proxy, with so many proxies behind this one.
fn check_proxy(proxy: &ChainLink, issuer: &ChainLink, behind: u64) -> Result<(), CertificateFault> {
    let LinkKind::Proxy(info) = &proxy.kind else { return Err(CertificateFault::OldProxy) };
    let is_whole = matches!(info.language.as_str(), INHERIT_ALL | LIMITED) && !info.has_policy;
    let rules = [
        (info.is_critical, "its extension is not critical"),
        (is_whole, "by its policy it has not the rights of its issuer"),
        (info.length_max.is_none_or(|most| behind <= most), "it has more proxies than it may have"),
        (
            is_extension(&proxy.subject, &issuer.subject),
            "its name is not its issuer's and one more",
        ),
        (!proxy.is_authority, "it says that it is an authority"),
        (!issuer.is_authority, "an authority has signed it"),
        (issuer.may_sign, "the key of its issuer may not sign"),
        (proxy.may_sign, "its key may not sign"),
        (proxy.is_for_clients, "it is not for clients"),
        (!proxy.has_other_names, "it has another name besides its subject"),
        (!proxy.has_unknown, "it has a critical extension that is not known"),
    ];
    let broken = rules.into_iter().find(|(is_kept, _)| !is_kept);
    broken.map_or(Ok(()), |(_, why)| Err(CertificateFault::Proxy(why)))
}

/// Whether a proxy is valid now (seconds since 1970).
fn check_time(link: &ChainLink, now: u64) -> Result<(), CertificateFault> {
    let (from, until) = link.validity;
    match () {
        () if now >= seconds(until) => Err(CertificateFault::Expired),
        () if seconds(from) > now.saturating_add(SKEW) => Err(CertificateFault::Early),
        () => Ok(()),
    }
}

/// Whether a key (`SubjectPublicKeyInfo` as DER) has made a signature.
pub fn verify(signed: &Signed<'_>, public_key: &[u8]) -> Result<(), CertificateFault> {
    let (kind, key) = key_parts(public_key).ok_or(CertificateFault::Malformed)?;
    let all = provider().signature_verification_algorithms.all;
    let is_it = |one: &&&dyn rustls::pki_types::SignatureVerificationAlgorithm| {
        one.signature_alg_id().as_ref() == signed.algorithm
            && one.public_key_alg_id().as_ref() == kind
    };
    let fitting: Vec<_> = all.iter().filter(is_it).collect();
    if fitting.is_empty() {
        return Err(CertificateFault::Algorithm);
    }
    let verified = fitting
        .iter()
        .any(|one| one.verify_signature(key, signed.content, signed.signature).is_ok());
    if verified { Ok(()) } else { Err(CertificateFault::Signature) }
}

/// Since 1970.
pub fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}
