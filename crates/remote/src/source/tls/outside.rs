//! Certificates that servers show outside TLS, as gsi does: judged by the same rules, in the same
//! words.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use rustls::client::danger::ServerCertVerifier;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};

use super::failure::of_certificate;
use super::trust::Trust;
use super::verifier::Verifier;
use crate::error::{Error, ErrorKind, Result};

/// Whether a certificate, given as DER, is that of a host.
///
/// # Errors
/// Why it is not trusted.
pub fn verify_host(trust: &Arc<Trust>, host: &str, der: &[u8], now: SystemTime) -> Result<()> {
    let bare = host.trim_start_matches('[').trim_end_matches(']').to_owned();
    let name = ServerName::try_from(bare).map_err(|_| {
        let message = format!("no certificate can have the name {host:?}");
        Error::new(ErrorKind::InvalidArgument, message)
    })?;
    let now = UnixTime::since_unix_epoch(now.duration_since(UNIX_EPOCH).unwrap_or_default());
    let verifier = Verifier::new(trust.clone(), false);
    match verifier.verify_server_cert(&CertificateDer::from(der), &[], &name, &[], now) {
        Ok(_) => Ok(()),
        Err(rustls::Error::InvalidCertificate(why)) => Err(of_certificate(host, &why)),
        Err(error) => {
            let message = format!("the certificate of {host} cannot be used: {error}");
            Err(Error::new(ErrorKind::Connection, message).retryable(false))
        }
    }
}
