//! Inputs of gsi from outside: the user's certificates and key, randomness, and a judgement of the
//! server's certificate.

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use credentials::x509::{Certificate, certificates};
use credentials::{CredentialStore, Identity, advice, x509};
use secrecy::SecretBox;
use xrootd::auth::gsi::{GsiCredential, Peer, PublicKey, RANDOM_BYTES};

use crate::source::tls::{Trust, provider, verify_host};

/// The credential for one exchange with a host. Reads files: call it where that may wait.
///
/// # Errors
/// Why there is none, and a hint.
pub fn credential(
    credential_store: &CredentialStore,
    host: &str,
) -> Result<Box<GsiCredential>, String> {
    let identity = credential_store.identity().map_err(|unusable| unusable.to_string())?;
    let identity = identity.ok_or_else(|| {
        let user = credential_store.environment().user_id;
        format!(
            "no proxy in X509_USER_PROXY or /tmp/x509up_u{user}, and no certificate with an open \
             key in ~/.globus; {}",
            advice::MAKE_PROXY
        )
    })?;
    // Says that the key is not one of RSA before a server is troubled with it.
    identity.sign_raw(&[]).map_err(|unusable| unusable.to_string())?;
    let mut random = SecretBox::new(Box::new([0; RANDOM_BYTES]));
    let filled =
        provider().secure_random.fill(secrecy::ExposeSecretMut::expose_secret_mut(&mut random));
    filled.map_err(|_| "the operating system gives no random numbers".to_owned())?;
    let (new, old) = &identity.issuer_hashes;
    Ok(Box::new(GsiCredential {
        chain_pem: identity.chain_pem(),
        public_key_pem: identity.public_key_pem(),
        issuer_hash: format!("{new}.0|{old}.0"),
        random,
        peer: Arc::new(Judge {
            trust: Trust::of(credential_store.environment()),
            host: host.to_owned(),
            identity,
        }),
    }))
}

/// Signs for a user, and judges one server.
struct Judge {
    identity: Identity,
    host: String,
    trust: Arc<Trust>,
}

impl fmt::Debug for Judge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Judge({})", self.host)
    }
}

impl Peer for Judge {
    fn sign(&self, raw: &[u8]) -> Result<Vec<u8>, String> {
        self.identity.sign_raw(raw).map_err(|unusable| unusable.to_string())
    }

    /// By the authorities that are trusted here; which ones the server names decides nothing. There
    /// is no way around it: a server that is not verified would be given signatures.
    fn verify(&self, pem: &str, _authorities: &[&str]) -> Result<PublicKey, String> {
        let shown = certificates(pem.as_bytes());
        let [der, ..] = shown.as_slice() else {
            return Err(format!("{} shows no certificate", self.host));
        };
        verify_host(&self.trust, &self.host, der, SystemTime::now()).map_err(|error| {
            let advice = error.advice().map(|advice| format!("; {advice}")).unwrap_or_default();
            format!("{}{advice}", error.message())
        })?;
        let key = Certificate::parse(der).ok();
        let key = key.and_then(|certificate| x509::PublicKey::of(&certificate.public_key));
        let key = key.ok_or_else(|| format!("the key of {} is not one of RSA", self.host))?;
        Ok(PublicKey::new(&key.modulus, &key.exponent))
    }
}

#[cfg(test)]
mod bed;
#[cfg(test)]
mod fake;
#[cfg(test)]
mod tests;
