//! `gsi`: a grid proxy, or a certificate and its key, shown in two messages.
//!
//! The exchange itself computes no signature with the user's key and decides nothing about
//! certificates: its [`Peer`] does.

use std::fmt::Debug;
use std::sync::Arc;

use secrecy::SecretSlice;

/// An RSA public key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicKey {
    /// Big-endian bytes.
    pub modulus: Vec<u8>,
    /// Big-endian bytes.
    pub exponent: Vec<u8>,
}

/// The side that has the user's key, and that knows which certificates are believed.
pub trait Peer: Send + Sync + Debug {
    /// Signs with the user's key: PKCS#1 v1.5 padding of type 1 around the bytes as they are.
    ///
    /// # Errors
    /// Why it cannot be done, for people.
    fn sign(&self, raw: &[u8]) -> Result<Vec<u8>, String>;

    /// Checks the certificate of the server, PEM, against the authorities, the clock and the name
    /// of the host. `authorities`: hashes of the names that the server says have signed it.
    ///
    /// # Errors
    /// Why it is not believed, for people.
    fn verify(&self, certificate: &str, authorities: &[&str]) -> Result<PublicKey, String>;
}

/// What an exchange needs.
#[derive(Debug)]
pub struct GsiCredential {
    /// PEM of each certificate, the proxy first, up to that of the user.
    pub chain_pem: Vec<String>,
    /// The key of the first certificate, PEM as OpenSSL writes it: servers compare the text.
    pub public_key_pem: String,
    /// Hashes of the name of the authority of the user's certificate, `new|old`.
    pub issuer_hash: String,
    /// At least 64 bytes of randomness, good for one exchange.
    pub random: SecretSlice<u8>,
    pub peer: Arc<dyn Peer>,
}
