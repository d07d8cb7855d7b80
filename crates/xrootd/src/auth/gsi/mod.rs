//! `gsi`: grid certificates and proxies, without TLS, as xrootd 5.5.3 and 6.1 and dCache speak it.
//!
//! Three messages: *certreq* of the client (step 1000), the server's certificate and its part of a
//! Diffie-Hellman exchange (2001), and the client's part with its chain of certificates, encrypted
//! (1001). Each side proves its key by signing the other's challenge, raw. So a server chooses
//! bytes that the user's key signs: nothing is signed before the server's certificate and its own
//! signature are verified, and only challenges of eight bytes are, which are no digest that a
//! signature could be taken for. A proxy is never delegated.
//!
//! [`GsiClient`] is the client's side, [`GsiServer`] the served one. Randomness, keys and
//! trust are arguments: [`GsiCredential`], [`Peer`].

use std::sync::Arc;

use secrecy::SecretBox;
use thiserror::Error;

pub mod buffer;
mod cipher;
mod client;
mod dh;
mod server;
mod signed;

pub use cipher::SessionKey;
pub use client::GsiClient;
pub use dh::{Group, Part};
pub use server::{GsiServer, Primes};
pub use signed::PublicKey;

use buffer::{BucketType, Buffer};

use crate::codec::DecodeError;

/// The version of the protocol that we speak: that of xrootd 5 and 6.
pub const VERSION: i32 = 10_600;

/// From this version on servers sign their part and put initial vectors in front of ciphertexts.
const VERSION_MIN: i32 = 10_400;

/// The module that every server has.
const CRYPTO_MODULE: &str = "ssl";

const TAG_BYTES: usize = 8;

/// How many random bytes one exchange uses.
pub const RANDOM_BYTES: usize = 2 * TAG_BYTES + 16 + dh::PRIVATE_BYTES;

/// The steps, as messages are numbered.
mod step {
    pub const CERTREQ: i32 = 1000;
    pub const CERT: i32 = 1001;
    pub const SERVER_CERT: i32 = 2001;
    /// The server asks for a delegated proxy.
    pub const PROXY_REQUEST: i32 = 2002;
}

/// Our key, and our opinion of the other side's certificate.
pub trait Peer: Send + Sync + std::fmt::Debug {
    /// Signs bytes as they are (PKCS #1 v1.5, type 1, without a digest's name), in pieces of the
    /// key's length less eleven bytes, one signature behind the other.
    ///
    /// # Errors
    ///
    /// Why the key cannot sign.
    fn sign(&self, raw: &[u8]) -> Result<Vec<u8>, String>;

    /// Verifies the other side's certificates (PEM, its own first): issuer, validity, and the name
    /// that they must have. `authorities` are the hashes that the server has announced, which
    /// decide nothing.
    ///
    /// # Errors
    ///
    /// Why it is not believed.
    fn verify(&self, certificates_pem: &str, authorities: &[&str]) -> Result<PublicKey, String>;
}

/// A credential with which a client authenticates once.
#[derive(Debug)]
pub struct GsiCredential {
    /// PEM: proxy (or user certificate) first, then each one's issuer, without the authority.
    pub chain_pem: Vec<String>,
    /// Of the first certificate: PEM of its SubjectPublicKeyInfo, as OpenSSL writes it. Servers
    /// compare the text.
    pub public_key_pem: String,
    /// Of the authority of the user certificate, `new.0|old.0`: the hashes of its name as OpenSSL
    /// since 1.0 and before has calculated them.
    pub issuer_hash: String,
    /// Never used for another exchange.
    pub random: SecretBox<[u8; RANDOM_BYTES]>,
    pub peer: Arc<dyn Peer>,
}

/// Why an exchange does not go on.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Refusal {
    #[error(transparent)]
    Malformed(#[from] DecodeError),
    #[error(
        "gsi of version {0}, which does not sign its part of the key; 10400 or later is needed"
    )]
    OldVersion(i32),
    #[error("gsi without {0}, which is all that this client has")]
    Lacking(&'static str),
    #[error("a message without {0}")]
    Missing(&'static str),
    #[error("a message of step {0} out of turn")]
    OutOfTurn(i32),
    #[error("the server asks for a delegated proxy, and none is ever delegated")]
    Delegation,
    #[error("{0}")]
    NotTrusted(String),
    #[error("{subject}: {why}")]
    Unsigned { subject: &'static str, why: &'static str },
    #[error("our challenge came back changed: the certificate may belong to another server")]
    StrangeTag,
    #[error(
        "the server wants {0} bytes signed where a challenge has 8: nothing was signed, for that \
         could be a signature under anything"
    )]
    StrangeChallenge(usize),
    #[error("the server's part of the key exchange: {0}")]
    StrangePart(&'static str),
    #[error("the key does not sign: {0}")]
    Key(String),
    #[error("a message that does not decrypt")]
    NotDecrypted,
    #[error("the client's public key is not that of its certificate")]
    OtherKey,
}

/// Why this client cannot take an offer, `v:10600,c:ssl,ca:HASH|HASH`.
pub(super) fn objection(arguments: &str) -> Option<String> {
    let value = |name| arguments.split(',').find_map(|each| each.trim().strip_prefix(name));
    let version = value("v:").and_then(|version| version.parse().ok()).unwrap_or(VERSION_MIN);
    if version < VERSION_MIN {
        return Some(Refusal::OldVersion(version).to_string());
    }
    let known = value("c:").is_none_or(|names| names.split('|').any(|each| each == CRYPTO_MODULE));
    (!known).then(|| Refusal::Lacking("the crypto module ssl").to_string())
}

/// The text of a bucket.
fn text<'a>(buffer: &Buffer<'a>, kind: BucketType, part: &'static str) -> Result<&'a str, Refusal> {
    let content = bytes(buffer, kind, part)?;
    let end = content.iter().position(|&byte| byte == 0).unwrap_or(content.len());
    std::str::from_utf8(&content[..end]).map_err(|_| {
        DecodeError::Invalid { subject: "a gsi message", why: "a text not UTF-8" }.into()
    })
}

/// The bytes of a bucket.
fn bytes<'a>(
    buffer: &Buffer<'a>,
    kind: BucketType,
    part: &'static str,
) -> Result<&'a [u8], Refusal> {
    buffer.get(kind).ok_or(Refusal::Missing(part))
}

/// The other side's challenge, if it has the size of one.
fn challenge<'a>(main: &Buffer<'a>) -> Result<&'a [u8; TAG_BYTES], Refusal> {
    let tag = bytes(main, BucketType::TAG, "a challenge")?;
    tag.try_into().map_err(|_| Refusal::StrangeChallenge(tag.len()))
}

/// A challenge of letters and digits: dCache takes it for text.
fn tag(random: &[u8]) -> [u8; TAG_BYTES] {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789./";
    std::array::from_fn(|i| LETTERS[usize::from(random[i] % 64)])
}

#[cfg(test)]
mod tests;
