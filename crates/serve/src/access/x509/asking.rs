//! Certificates that clients are asked for within TLS.

use remote::credentials::x509::{Certificate, key_parts};
use remote::source::tls::provider;
use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::verify_tls13_signature_with_raw_key;
use rustls::pki_types::{CertificateDer, SubjectPublicKeyInfoDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{CertificateError, DigitallySignedStruct, DistinguishedName, Error, SignatureScheme};

use super::is_weak;

/// Asks clients for certificates, and has them prove that they have the key. Whether a certificate
/// is accepted is judged after the handshake, by [`ClientTrust`](super::ClientTrust): a client
/// whose certificate is not may read public files. No signature of a weak key can be verified, and
/// so a certificate with one is never accepted.
#[derive(Debug)]
pub struct AskForCertificate;

impl ClientCertVerifier for AskForCertificate {
    fn client_auth_mandatory(&self) -> bool {
        false
    }

    /// None: a proxy has the user as its issuer, who is on no list.
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let key = public_key(certificate)?;
        let algorithms = provider().signature_verification_algorithms;
        let of_scheme = algorithms.mapping.iter().find(|(scheme, _)| *scheme == signature.scheme);
        let (kind, bytes) = key_parts(&key).ok_or(CertificateError::BadEncoding)?;
        let mut fitting = of_scheme.into_iter().flat_map(|(_, all)| *all);
        let is_made = fitting.any(|one| {
            one.public_key_alg_id().as_ref() == kind
                && one.verify_signature(bytes, message, signature.signature()).is_ok()
        });
        match is_made || is_weak(&key) {
            true => Ok(HandshakeSignatureValid::assertion()),
            false => Err(CertificateError::BadSignature.into()),
        }
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let key = public_key(certificate)?;
        let algorithms = provider().signature_verification_algorithms;
        let der = SubjectPublicKeyInfoDer::from(key.as_slice());
        let verified = verify_tls13_signature_with_raw_key(message, &der, signature, &algorithms);
        match is_weak(&key) {
            true => Ok(HandshakeSignatureValid::assertion()),
            false => verified,
        }
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        provider().signature_verification_algorithms.supported_schemes()
    }
}

/// The key of a certificate, also of a proxy, which rustls does not read.
fn public_key(certificate: &CertificateDer<'_>) -> Result<Vec<u8>, Error> {
    let facts = Certificate::parse(certificate).map_err(|_| CertificateError::BadEncoding)?;
    Ok(facts.public_key)
}
