//! Whether a server is who it says.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use credentials::x509::Certificate;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{
    WebPkiServerVerifier, verify_server_cert_signed_by_trust_anchor, verify_server_name,
};
use rustls::crypto::{WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, OtherError, SignatureScheme};

use super::provider::provider;
use super::trust::Trust;

/// The extension `nameConstraints` (RFC 5280, section 4.2.1.10), as DER writes its name.
const CONSTRAINTS: [u8; 5] = [0x06, 0x03, 0x55, 0x1d, 0x1e];

/// Checks chain, validity and name, and names the offending certificate of a failure. The name is
/// looked for among the alternative names, and in the subject only of a certificate without any, as
/// the field's oldest ones are (RFC 6125, section 6.4.4).
pub struct Verifier {
    trust: Arc<Trust>,
    algorithms: WebPkiSupportedAlgorithms,
    /// Chain and name are not looked at.
    is_insecure: bool,
}

/// The fault of a certificate, and whose it was.
#[derive(Debug)]
pub struct Unverified {
    pub why: CertificateError,
    /// Of the last certificate of the chain, as far as the server has sent it.
    pub issuer: String,
    pub is_self_signed: bool,
    pub common_name: Option<String>,
    /// Where the authorities are from.
    pub trusted: String,
}

impl fmt::Display for Unverified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.why)
    }
}

impl std::error::Error for Unverified {}

impl Verifier {
    pub fn new(trust: Arc<Trust>, is_insecure: bool) -> Self {
        let algorithms = provider().signature_verification_algorithms;
        Verifier { trust, algorithms, is_insecure }
    }

    fn check(
        &self,
        end: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        now: UnixTime,
    ) -> Result<(), Error> {
        let certificate = ParsedCertificate::try_from(end)?;
        match self.trust.has(end) {
            // The user, or the system, trusts this very certificate, whatever it says of itself.
            true => check_time(end, now)?,
            false => {
                let anchors = self.trust.anchors();
                let all = self.algorithms.all;
                verify_server_cert_signed_by_trust_anchor(
                    &certificate,
                    anchors,
                    intermediates,
                    now,
                    all,
                )?;
            }
        }
        self.check_revocation(end, intermediates, name, now)?;
        verify_server_name(&certificate, name).or_else(|error| {
            let ServerName::DnsName(wanted) = name else { return Err(error) };
            // Constraints of authorities are about alternative names; nothing holds a common name
            // against them.
            let may_be_old = !self.is_constrained(end, intermediates);
            let old = may_be_old.then(|| name_of_old(end)).flatten();
            let is_meant = old.is_some_and(|old| old.eq_ignore_ascii_case(wanted.as_ref()));
            if is_meant { Ok(()) } else { Err(error) }
        })
    }

    /// Whether one of the authorities that may have signed a certificate may do so for some names
    /// only.
    fn is_constrained(
        &self,
        end: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
    ) -> bool {
        let has_constraints =
            |der: &&CertificateDer<'_>| der.windows(CONSTRAINTS.len()).any(|at| at == CONSTRAINTS);
        if intermediates.iter().any(|der| has_constraints(&der)) {
            return true;
        }
        let all = std::iter::once(end).chain(intermediates);
        let issuers: Vec<Vec<u8>> =
            all.filter_map(|der| Some(Certificate::parse(der).ok()?.names.1)).collect();
        // An anchor's subject is kept without the header that it has in a certificate.
        let signed = |subject: &[u8]| issuers.iter().any(|issuer| issuer.ends_with(subject));
        let anchors = &self.trust.anchors().roots;
        anchors.iter().any(|it| it.name_constraints.is_some() && signed(&it.subject))
    }

    /// Whether an authority has revoked one of the certificates, where it has a list. The chain is
    /// verified; here it is gone through once more for those that have lists.
    fn check_revocation(
        &self,
        end: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        now: UnixTime,
    ) -> Result<(), Error> {
        let all = std::iter::once(end).chain(intermediates);
        let issuers: BTreeSet<Vec<u8>> =
            all.filter_map(|der| Some(Certificate::parse(der).ok()?.names.1)).collect();
        let time = UNIX_EPOCH + Duration::from_secs(now.as_secs());
        let lists = issuers.iter().flat_map(|issuer| self.trust.revoked_by(issuer, time).to_vec());
        let lists: Vec<_> = lists.collect();
        if lists.is_empty() {
            return Ok(());
        }
        let anchors = self.trust.anchors().clone();
        let builder = WebPkiServerVerifier::builder_with_provider(anchors, provider());
        let builder = builder.with_crls(lists).allow_unknown_revocation_status();
        let Ok(verifier) = builder.build() else { return Ok(()) };
        match verifier.verify_server_cert(end, intermediates, name, &[], now) {
            Err(revoked @ Error::InvalidCertificate(CertificateError::Revoked)) => Err(revoked),
            _ => Ok(()),
        }
    }

    fn seen(
        &self,
        why: CertificateError,
        end: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
    ) -> Unverified {
        let own = Certificate::parse(end).ok();
        let last = intermediates.last().and_then(|last| Certificate::parse(last).ok());
        let last = last.as_ref().or(own.as_ref());
        Unverified {
            why,
            issuer: last.map_or("unreadable".into(), |last| last.issuer.clone()),
            is_self_signed: own.as_ref().is_some_and(Certificate::is_own_issuer),
            common_name: own.as_ref().and_then(common_name),
            trusted: self.trust.said().to_owned(),
        }
    }
}

/// Whether a certificate is valid now.
fn check_time(der: &CertificateDer<'_>, now: UnixTime) -> Result<(), Error> {
    let encoding = |_| Error::InvalidCertificate(CertificateError::BadEncoding);
    let certificate = Certificate::parse(der).map_err(encoding)?;
    let now = UNIX_EPOCH + Duration::from_secs(now.as_secs());
    match () {
        () if now > certificate.validity.1 => {
            Err(Error::InvalidCertificate(CertificateError::Expired))
        }
        () if now < certificate.validity.0 => {
            Err(Error::InvalidCertificate(CertificateError::NotValidYet))
        }
        () => Ok(()),
    }
}

/// The last common name of the subject; the grid's host certificates had `host/` before it.
fn common_name(certificate: &Certificate) -> Option<String> {
    let (_, name) = certificate.subject.rsplit_once("/CN=")?;
    Some(name.strip_prefix("host/").unwrap_or(name).to_owned())
}

/// The common name of a certificate that names no host elsewhere.
fn name_of_old(der: &CertificateDer<'_>) -> Option<String> {
    let certificate = Certificate::parse(der).ok()?;
    let is_old = certificate.hosts.is_empty() && certificate.addresses.is_empty();
    if is_old { common_name(&certificate) } else { None }
}

impl fmt::Debug for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let insecure = if self.is_insecure { ", insecure" } else { "" };
        write!(f, "Verifier({}{insecure})", self.trust.said())
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        _ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if self.is_insecure {
            return Ok(ServerCertVerified::assertion());
        }
        match self.check(end, intermediates, name, now) {
            Ok(()) => Ok(ServerCertVerified::assertion()),
            Err(Error::InvalidCertificate(why)) => {
                let seen = Arc::new(self.seen(why, end, intermediates));
                let other = CertificateError::Other(OtherError(seen));
                Err(Error::InvalidCertificate(other))
            }
            Err(error) => Err(error),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signature, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signature, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}
