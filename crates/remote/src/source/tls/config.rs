//! A client's side of TLS: authorities that it trusts, and the certificate that it sends.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use credentials::Identity;
use credentials::x509::KeyForm;
use mutex::PerProcess;
use rustls::client::{ResolvesClientCert, Resumption};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use rustls::{ClientConfig, SignatureScheme};
use secrecy::ExposeSecret;

use super::provider::provider;
use super::trust::Trust;
use super::verifier::Verifier;
use crate::error::{Error, ErrorKind, Result};

/// Sessions of one server that can be resumed: a few more than connections to it.
const SESSIONS: usize = 32;
/// Servers of which sessions are kept.
const SERVERS_MAX: usize = 256;

static KEPT: PerProcess<VecDeque<Kept>> = PerProcess::new();

struct Kept {
    server: String,
    trust: Arc<Trust>,
    chain: Vec<Vec<u8>>,
    is_insecure: bool,
    config: Arc<TlsConfig>,
}

/// The client's side of TLS with one server. Sessions are resumed within one such configuration,
/// and never on behalf of another identity.
pub struct TlsConfig {
    pub(super) rustls: Arc<ClientConfig>,
    shown: Arc<Shown>,
    is_insecure: bool,
}

impl TlsConfig {
    /// The server has requested a certificate of the client.
    pub fn is_asked(&self) -> bool {
        self.shown.asked.load(Ordering::Relaxed)
    }

    /// The owner of the certificate that the server gets, if it requests one.
    pub fn subject(&self) -> Option<&str> {
        self.shown.subject.as_deref()
    }

    /// Any server is trusted without verification.
    pub fn is_insecure(&self) -> bool {
        self.is_insecure
    }
}

impl fmt::Debug for TlsConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let subject = self.subject();
        let is_insecure = self.is_insecure;
        f.debug_struct("TlsConfig")
            .field("subject", &subject)
            .field("insecure", &is_insecure)
            .finish()
    }
}

/// TLS 1.2 or 1.3 with servers that `trust` vouches for, and this certificate for those that ask.
///
/// # Errors
/// `InvalidArgument` for a key that cannot sign.
pub fn client_config(
    trust: &Arc<Trust>,
    identity: Option<&Identity>,
    is_insecure: bool,
) -> Result<Arc<TlsConfig>> {
    let shown = Arc::new(match identity {
        Some(identity) => Shown::new(identity)?,
        None => Shown::default(),
    });
    let verifier = Arc::new(Verifier::new(trust.clone(), is_insecure));
    let unusable = |error: rustls::Error| Error::new(ErrorKind::Unsupported, error.to_string());
    let mut config = ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13, &rustls::version::TLS12])
        .map_err(unusable)?
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_client_cert_resolver(shown.clone());
    config.resumption = Resumption::in_memory_sessions(SESSIONS);
    Ok(Arc::new(TlsConfig { rustls: Arc::new(config), shown, is_insecure }))
}

/// As [`client_config`], and the same again for the same server, trust and identity, so that
/// sessions are resumed.
///
/// # Errors
/// As [`client_config`].
pub fn config_for(
    server: &str,
    trust: &Arc<Trust>,
    identity: Option<&Identity>,
    is_insecure: bool,
) -> Result<Arc<TlsConfig>> {
    let chain = identity.map_or(&[][..], |identity| &identity.chain);
    let mut kept = KEPT.lock();
    let is_it = |kept: &&Kept| {
        kept.server == server
            && Arc::ptr_eq(&kept.trust, trust)
            && kept.chain == chain
            && kept.is_insecure == is_insecure
    };
    if let Some(known) = kept.iter().find(is_it) {
        return Ok(known.config.clone());
    }
    let config = client_config(trust, identity, is_insecure)?;
    if kept.len() >= SERVERS_MAX {
        kept.pop_front();
    }
    kept.push_back(Kept {
        server: server.to_owned(),
        trust: trust.clone(),
        chain: chain.to_vec(),
        is_insecure,
        config: config.clone(),
    });
    Ok(config)
}

/// The certificate for servers that ask. rustls's own way would refuse proxies, whose extension
/// is critical and unknown to it (RFC 3820, section 3.8).
#[derive(Default)]
struct Shown {
    key: Option<Arc<CertifiedKey>>,
    subject: Option<String>,
    asked: AtomicBool,
}

impl Shown {
    fn new(identity: &Identity) -> Result<Self> {
        let der = identity.key.expose_secret();
        let der = match identity.key_form {
            KeyForm::Pkcs1 => PrivateKeyDer::Pkcs1(der.into()),
            KeyForm::Pkcs8 => PrivateKeyDer::Pkcs8(der.into()),
            KeyForm::Sec1 => PrivateKeyDer::Sec1(der.into()),
        };
        let key = provider().key_provider.load_private_key(der.clone_key()).map_err(|error| {
            let message = format!("the key in {} cannot be used for TLS: {error}", identity.place);
            Error::new(ErrorKind::InvalidArgument, message)
        })?;
        let chain = identity.chain.iter().map(|der| CertificateDer::from(der.clone())).collect();
        Ok(Shown {
            key: Some(Arc::new(CertifiedKey::new(chain, key))),
            subject: Some(identity.subject.clone()),
            asked: AtomicBool::new(false),
        })
    }
}

impl fmt::Debug for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Shown({:?})", self.subject)
    }
}

impl ResolvesClientCert for Shown {
    fn resolve(
        &self,
        _authorities: &[&[u8]],
        schemes: &[SignatureScheme],
    ) -> Option<Arc<CertifiedKey>> {
        self.asked.store(true, Ordering::Relaxed);
        // The authorities that servers list know nothing of proxies: not compared.
        self.key.clone().filter(|certified| certified.key.choose_scheme(schemes).is_some())
    }

    fn has_certs(&self) -> bool {
        self.key.is_some()
    }
}
