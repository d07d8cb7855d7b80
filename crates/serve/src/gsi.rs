//! This server's side of `gsi`, XRootD's login by certificates without TLS.

use std::fs;
use std::io::{Error, Result};
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use remote::credentials::x509::{Certificate, PublicKey, certificates};
use remote::credentials::{Identity, Place};
use ring::rand::{SecureRandom, SystemRandom};
use secrecy::SecretBox;
use xrootd::auth::gsi::{self, Group, GsiServer, Peer, Primes, RANDOM_BYTES};

use crate::access::ShownChain;

/// Digests that clients may name; none is computed.
const DIGESTS: &str = "sha256";

/// The name of the protocol in requests.
pub const GSI: [u8; 4] = *b"gsi\0";

/// A login by gsi that may be under way.
#[derive(Debug, Default)]
pub struct GsiLogin {
    pub begun: Option<GsiServer>,
    pub attempts: usize,
}

/// The effect of a client's message.
#[derive(Debug)]
pub enum GsiStep {
    /// The exchange waits for its last message, and this is the answer until then.
    More(Box<GsiServer>, Bytes),
    /// The client has the key of the first of these certificates.
    Proved(ShownChain),
}

/// The certificate and key of a host, as `gsi` needs them.
#[derive(Debug)]
pub struct GsiHost {
    identity: Identity,
    group: Group,
}

impl GsiHost {
    /// From PEM files; `None` where the key is not of RSA, with which nobody can log in by gsi.
    pub fn read(certificate: &Path, key: &Path) -> Result<Option<Self>> {
        let named = |path: &Path, why: String| Error::other(format!("{}: {why}", path.display()));
        let text = |path: &Path| fs::read(path).map_err(|why| named(path, why.to_string()));
        let identity = Identity::read(&text(certificate)?, &text(key)?, Place::Argument, None);
        let identity = identity.map_err(|why| named(certificate, format!("it {why}")))?;
        let group = Group::of_rfc3526();
        Ok(identity.has_rsa_key().then_some(GsiHost { identity, group }))
    }

    /// The offer in answers to logins: version, module, and the authority of this host.
    pub fn offer(&self) -> String {
        let (new, old) = &self.identity.issuer_hashes;
        format!("&P=gsi,v:{},c:ssl,ca:{new}.0|{old}.0", gsi::VERSION)
    }

    /// Takes a message of a client: its first one, or that of an exchange that has begun.
    pub fn step(
        self: &Arc<Self>,
        begun: Option<GsiServer>,
        message: &[u8],
    ) -> std::result::Result<GsiStep, String> {
        match begun {
            None => {
                let exchange = self.exchange()?;
                let answer = exchange.begin(message).map_err(|why| why.to_string())?;
                Ok(GsiStep::More(Box::new(exchange), answer))
            }
            Some(exchange) => {
                let chain = exchange.proceed(message).map_err(|why| why.to_string())?;
                Ok(GsiStep::Proved(ShownChain::new(certificates(chain.as_bytes()))))
            }
        }
    }

    /// The exchange with one client.
    fn exchange(self: &Arc<Self>) -> std::result::Result<GsiServer, String> {
        let mut random = Box::new([0; RANDOM_BYTES]);
        let filled = SystemRandom::new().fill(&mut random[..]);
        filled.map_err(|_| "this server has no random numbers now".to_owned())?;
        let primes = Primes { group: self.group.clone(), digests: DIGESTS.to_owned() };
        let certificate = self.identity.chain_pem().concat();
        Ok(GsiServer::new(certificate, primes, SecretBox::new(random), self.clone()))
    }
}

impl Peer for GsiHost {
    fn sign(&self, raw: &[u8]) -> std::result::Result<Vec<u8>, String> {
        self.identity.sign_raw(raw).map_err(|error| error.to_string())
    }

    /// The key of the client's certificate, which the exchange has it prove. Whether the
    /// certificate is accepted is judged afterwards.
    fn verify(
        &self,
        chain: &str,
        _authorities: &[&str],
    ) -> std::result::Result<gsi::PublicKey, String> {
        let first = certificates(chain.as_bytes()).into_iter().next();
        let facts = first.and_then(|der| Certificate::parse(&der).ok());
        let key = facts.and_then(|facts| PublicKey::of(&facts.public_key));
        let key = key.ok_or("the certificate has no RSA key, which gsi needs")?;
        Ok(gsi::PublicKey::new(&key.modulus, &key.exponent))
    }
}
