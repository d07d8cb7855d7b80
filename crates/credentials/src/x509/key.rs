//! Keys, and the signatures that gsi makes with them.

use rsa::pkcs1::DecodeRsaPrivateKey;
use rsa::pkcs8::{DecodePrivateKey, DecodePublicKey};
use rsa::rand_core::OsRng;
use rsa::traits::PublicKeyParts;
use rsa::{BigUint, Pkcs1v15Sign, RsaPrivateKey, RsaPublicKey};

/// How the DER of a private key is built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyForm {
    /// `RSAPrivateKey` (RFC 8017, appendix A.1.2).
    Pkcs1,
    /// `PrivateKeyInfo` (RFC 5958).
    Pkcs8,
    /// `ECPrivateKey` (RFC 5915).
    Sec1,
}

/// Bytes of padding in a signature: 00 01, eight times ff, 00.
const PADDING: usize = 11;
/// No key has more bits; one with more only takes time.
const BITS_MAX: usize = 16_384;

/// An RSA key, or nothing where it is of another kind.
pub(super) fn rsa(der: &[u8], form: KeyForm) -> Option<RsaPrivateKey> {
    match form {
        KeyForm::Pkcs1 => RsaPrivateKey::from_pkcs1_der(der).ok(),
        KeyForm::Pkcs8 => RsaPrivateKey::from_pkcs8_der(der).ok(),
        KeyForm::Sec1 => None,
    }
}

/// Whether a private key belongs to a public one (DER of `SubjectPublicKeyInfo`).
pub(super) fn belongs(key: &RsaPrivateKey, public: &[u8]) -> bool {
    RsaPublicKey::from_public_key_der(public).is_ok_and(|public| public == key.to_public_key())
}

/// Signs bytes as they are (PKCS#1 v1.5, type 1, without the name of a digest), in pieces of the
/// key's length less eleven bytes, as XRootD's gsi wants them. With blinding.
pub(super) fn sign_raw(key: &RsaPrivateKey, raw: &[u8]) -> Option<Vec<u8>> {
    let piece = key.size().checked_sub(PADDING).filter(|&piece| piece > 0)?;
    let mut signed = Vec::with_capacity((raw.len() / piece + 1) * key.size());
    for piece in raw.chunks(piece) {
        let scheme = Pkcs1v15Sign::new_unprefixed();
        signed.extend(key.sign_with_rng(&mut OsRng, scheme, piece).ok()?);
    }
    Some(signed)
}

/// An RSA public key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicKey {
    /// The modulus, the most significant byte first.
    pub modulus: Vec<u8>,
    /// The exponent, the most significant byte first.
    pub exponent: Vec<u8>,
}

impl PublicKey {
    /// That of a certificate, from the DER of its `SubjectPublicKeyInfo`; `None` where it is not
    /// of RSA.
    pub fn of(public_key: &[u8]) -> Option<Self> {
        let key = RsaPublicKey::from_public_key_der(public_key).ok()?;
        Some(PublicKey { modulus: key.n().to_bytes_be(), exponent: key.e().to_bytes_be() })
    }

    /// The bytes that were signed raw, in pieces
    /// ([`Identity::sign_raw`](crate::Identity::sign_raw)); the error names the fault of the
    /// signature.
    pub fn recover_raw(&self, signature: &[u8]) -> Result<Vec<u8>, &'static str> {
        let modulus = BigUint::from_bytes_be(&self.modulus);
        let exponent = BigUint::from_bytes_be(&self.exponent);
        let size = modulus.bits().div_ceil(8);
        if size <= PADDING || modulus.bits() > BITS_MAX || exponent.bits() > 64 {
            return Err("the key is not one of RSA as certificates have it");
        }
        if signature.is_empty() || !signature.len().is_multiple_of(size) {
            return Err("the signature has not the length of the key");
        }
        let mut raw = Vec::with_capacity(signature.len());
        for piece in signature.chunks(size) {
            let piece = BigUint::from_bytes_be(piece);
            if piece >= modulus {
                return Err("the signature is larger than the key");
            }
            let opened = piece.modpow(&exponent, &modulus).to_bytes_be();
            // The leading zero is not there any more.
            let filled = opened.strip_prefix(&[1]).ok_or("the signature has no padding")?;
            let filler = filled.iter().take_while(|&&byte| byte == 0xff).count();
            if opened.len() + 1 != size || filler < 8 || filled.get(filler) != Some(&0) {
                return Err("the signature has no padding");
            }
            raw.extend_from_slice(&filled[filler + 1..]);
        }
        Ok(raw)
    }
}
