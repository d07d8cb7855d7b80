//! An issuer's keys, and the tokens that it signs.

use std::sync::OnceLock;
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::digest::{SHA256, digest};
use ring::hmac;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use rsa::rand_core::{CryptoRng, RngCore, impls};
use rsa::traits::PublicKeyParts;
use rsa::{Pkcs1v15Sign, RsaPrivateKey};
use serde_json::{Value, json};

/// The audience of the proxies of these tests.
pub const AUDIENCE: &str = "https://cache.example";
/// Stands before a digest that RSA signs (RFC 8017, section 9.2).
const SHA256_PREFIX: &[u8] =
    b"\x30\x31\x30\x0d\x06\x09\x60\x86\x48\x01\x65\x03\x04\x02\x01\x05\x00\x04\x20";

/// Numbers that look random and are the same in every run.
struct Seeded(fastrand::Rng);

impl RngCore for Seeded {
    fn next_u32(&mut self) -> u32 {
        self.0.u32(..)
    }

    fn next_u64(&mut self) -> u64 {
        self.0.u64(..)
    }

    fn fill_bytes(&mut self, out: &mut [u8]) {
        impls::fill_bytes_via_next(self, out);
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), rsa::rand_core::Error> {
        self.fill_bytes(out);
        Ok(())
    }
}

impl CryptoRng for Seeded {}

/// A key that signs tokens.
pub enum Signer {
    Rsa(&'static RsaPrivateKey),
    P256(Box<EcdsaKeyPair>),
}

fn rsa_key() -> &'static RsaPrivateKey {
    static KEY: OnceLock<RsaPrivateKey> = OnceLock::new();
    KEY.get_or_init(|| RsaPrivateKey::new(&mut Seeded(fastrand::Rng::with_seed(7)), 2048).unwrap())
}

fn text(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

impl Signer {
    pub fn rsa() -> Self {
        Signer::Rsa(rsa_key())
    }

    pub fn p256() -> Self {
        let random = SystemRandom::new();
        let kind = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let document = EcdsaKeyPair::generate_pkcs8(kind, &random).unwrap();
        let key = EcdsaKeyPair::from_pkcs8(kind, document.as_ref(), &random).unwrap();
        Signer::P256(Box::new(key))
    }

    /// The public key, as a set of keys has it.
    pub fn public(&self, id: &str) -> Value {
        match self {
            Signer::Rsa(key) => {
                let n = text(key.n().to_bytes_be());
                let e = text(key.e().to_bytes_be());
                json!({"kty": "RSA", "kid": id, "use": "sig", "alg": "RS256", "n": n, "e": e})
            }
            Signer::P256(key) => {
                let point = key.public_key().as_ref();
                let x = text(&point[1..33]);
                let y = text(&point[33..]);
                json!({"kty": "EC", "kid": id, "use": "sig", "crv": "P-256", "x": x, "y": y})
            }
        }
    }

    fn algorithm(&self) -> &'static str {
        match self {
            Signer::Rsa(_) => "RS256",
            Signer::P256(_) => "ES256",
        }
    }

    /// A token with this head and these claims.
    pub fn signed(&self, head: &Value, claims: &Value) -> String {
        let signed = format!("{}.{}", text(head.to_string()), text(claims.to_string()));
        let signature = match self {
            Signer::Rsa(key) => {
                let hash = digest(&SHA256, signed.as_bytes());
                let message = [SHA256_PREFIX, hash.as_ref()].concat();
                key.sign(Pkcs1v15Sign::new_unprefixed(), &message).unwrap()
            }
            Signer::P256(key) => {
                key.sign(&SystemRandom::new(), signed.as_bytes()).unwrap().as_ref().to_vec()
            }
        };
        format!("{signed}.{}", text(signature))
    }

    /// A token with the key's name.
    pub fn token(&self, id: &str, claims: &Value) -> String {
        self.signed(&json!({"alg": self.algorithm(), "typ": "JWT", "kid": id}), claims)
    }
}

/// A token that nothing has signed.
pub fn unsigned(head: &Value, claims: &Value) -> String {
    format!("{}.{}.", text(head.to_string()), text(claims.to_string()))
}

/// A token whose signature anyone can make who knows the public key.
pub fn with_public_key(secret: &[u8], head: &Value, claims: &Value) -> String {
    let signed = format!("{}.{}", text(head.to_string()), text(claims.to_string()));
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret);
    format!("{signed}.{}", text(hmac::sign(&key, signed.as_bytes())))
}

/// Seconds since 1970.
pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

/// The claims of a token of an issuer that is valid now.
pub fn claims(issuer: &str) -> Value {
    json!({
        "iss": issuer,
        "sub": "ada",
        "aud": AUDIENCE,
        "exp": now() + 3600,
        "nbf": now() - 10,
        "scope": "storage.read:/store",
    })
}

/// These claims, with other values for some names; `null` leaves one out.
pub fn changed(claims: &Value, other: Value) -> Value {
    let mut claims = claims.clone();
    let Value::Object(all) = &mut claims else { panic!("an object") };
    let Value::Object(other) = other else { panic!("an object") };
    for (name, value) in other {
        match value {
            Value::Null => drop(all.remove(&name)),
            value => drop(all.insert(name, value)),
        }
    }
    claims
}
