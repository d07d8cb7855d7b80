//! Keys with which issuers sign: a JSON Web Key Set (RFC 7517), and signatures (RFC 7518). Pure.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents, UnparsedPublicKey,
};
use serde::Deserialize;
use serde_json::Value;

use super::denial::TokenFault;

/// Keys of one issuer that are looked at.
const KEYS_MAX: usize = 64;
/// Bytes of a coordinate of a point on P-256.
const COORDINATE_BYTES: usize = 32;
/// Stands before the coordinates of a point (SEC 1, section 2.3.3).
const UNCOMPRESSED: u8 = 4;

/// How a token is signed. There are no others: neither without a key (`none`), nor with one that
/// both sides know (`HS256`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignatureKind {
    /// RSA with SHA-256.
    Rs256,
    /// ECDSA on P-256 with SHA-256.
    Es256,
}

impl SignatureKind {
    /// By its name in the head of a token.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "RS256" => Some(SignatureKind::Rs256),
            "ES256" => Some(SignatureKind::Es256),
            _ => None,
        }
    }
}

/// The keys of one issuer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeySet(Vec<IssuerKey>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct IssuerKey {
    id: Option<String>,
    material: KeyMaterial,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum KeyMaterial {
    Rsa { modulus: Vec<u8>, exponent: Vec<u8> },
    P256(Vec<u8>),
}

/// A key as a set has it.
#[derive(Debug, Deserialize)]
struct WrittenKey {
    kty: String,
    kid: Option<String>,
    alg: Option<String>,
    #[serde(rename = "use")]
    purpose: Option<String>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

impl KeySet {
    /// Reads a set. Keys of other kinds and for other purposes are left out.
    ///
    /// # Errors
    /// A text for what is no set, or has no key that signs tokens.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        #[derive(Deserialize)]
        struct WrittenKeys {
            keys: Vec<Value>,
        }
        let written: WrittenKeys =
            serde_json::from_slice(bytes).map_err(|error| format!("no set of keys: {error}"))?;
        let keys = written.keys.into_iter().take(KEYS_MAX);
        let keys = keys.filter_map(|key| IssuerKey::read(serde_json::from_value(key).ok()?));
        let keys: Vec<IssuerKey> = keys.collect();
        match keys.is_empty() {
            true => Err("no key for RS256 or ES256 in it".to_owned()),
            false => Ok(KeySet(keys)),
        }
    }

    /// Whether there is a key that a token may mean.
    pub fn has(&self, id: Option<&str>) -> bool {
        self.0.iter().any(|key| key.may_be(id))
    }

    /// Whether one of the keys with this name has signed a message in this way.
    ///
    /// # Errors
    /// `Key` where no key has the name and is for the way; `Signature`.
    pub fn verify(
        &self,
        kind: SignatureKind,
        id: Option<&str>,
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), TokenFault> {
        let mut keys = self.0.iter().filter(|key| key.may_be(id) && key.kind() == kind).peekable();
        if keys.peek().is_none() {
            return Err(TokenFault::Key);
        }
        let is_right = keys.any(|key| key.has_signed(message, signature));
        is_right.then_some(()).ok_or(TokenFault::Signature)
    }
}

impl IssuerKey {
    fn read(written: WrittenKey) -> Option<Self> {
        let WrittenKey { kty, kid: id, alg, purpose, crv, n, e, x, y } = written;
        let bytes = |text: Option<String>| URL_SAFE_NO_PAD.decode(text?).ok();
        let material = match (&*kty, crv.as_deref()) {
            ("RSA", _) => KeyMaterial::Rsa { modulus: bytes(n)?, exponent: bytes(e)? },
            ("EC", Some("P-256")) => {
                let both = [bytes(x)?, bytes(y)?];
                if both.iter().any(|one| one.len() != COORDINATE_BYTES) {
                    return None;
                }
                KeyMaterial::P256([vec![UNCOMPRESSED], both.concat()].concat())
            }
            _ => return None,
        };
        let key = IssuerKey { id, material };
        let is_for_signatures = purpose.is_none_or(|purpose| purpose == "sig");
        let is_of_kind = alg.is_none_or(|alg| SignatureKind::named(&alg) == Some(key.kind()));
        (is_for_signatures && is_of_kind).then_some(key)
    }

    /// The one way in which it signs.
    fn kind(&self) -> SignatureKind {
        match self.material {
            KeyMaterial::Rsa { .. } => SignatureKind::Rs256,
            KeyMaterial::P256(_) => SignatureKind::Es256,
        }
    }

    /// Whether a token may mean it: one that names no key may mean any.
    fn may_be(&self, id: Option<&str>) -> bool {
        id.is_none_or(|id| self.id.as_deref() == Some(id))
    }

    fn has_signed(&self, message: &[u8], signature: &[u8]) -> bool {
        let verified =
            match &self.material {
                KeyMaterial::Rsa { modulus: n, exponent: e } => RsaPublicKeyComponents { n, e }
                    .verify(&RSA_PKCS1_2048_8192_SHA256, message, signature),
                KeyMaterial::P256(point) => UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point)
                    .verify(message, signature),
            };
        verified.is_ok()
    }
}
