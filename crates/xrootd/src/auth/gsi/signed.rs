//! Signatures of gsi: the bytes themselves, in pieces that fit the RSA key, each padded as PKCS #1
//! v1.5 pads signatures (type 1), without a digest and its name.

use rsa::pkcs8::DecodePublicKey;
use rsa::traits::PublicKeyParts;
use rsa::{BigUint, RsaPublicKey};

/// The padding's least length: two bytes in front, eight of 0xff, one behind.
const PADDING_BYTES_MIN: usize = 11;

/// Keys that are worth anything, and whose powers take no noticeable time.
const KEY_BYTES: std::ops::RangeInclusive<usize> = 128..=1024;

/// The most that is taken apart: 64 pieces of the shortest key.
const SIGNED_BYTES_MAX: usize = 64 * 128;

/// An RSA public key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicKey {
    modulus: BigUint,
    exponent: BigUint,
}

impl PublicKey {
    /// From numbers, big-endian.
    pub fn new(modulus: &[u8], exponent: &[u8]) -> PublicKey {
        PublicKey {
            modulus: BigUint::from_bytes_be(modulus),
            exponent: BigUint::from_bytes_be(exponent),
        }
    }

    /// From PEM; none where it is none, or not of RSA.
    pub fn of_pem(pem: &str) -> Option<PublicKey> {
        let key = RsaPublicKey::from_public_key_pem(pem).ok()?;
        Some(PublicKey { modulus: key.n().clone(), exponent: key.e().clone() })
    }

    /// The bytes that were signed with this key.
    ///
    /// # Errors
    ///
    /// The reason why key or signature is refused.
    pub fn recover(&self, signed: &[u8]) -> Result<Vec<u8>, &'static str> {
        let PublicKey { modulus, exponent } = self;
        let length = modulus.bits().div_ceil(8);
        let odd = modulus.to_bytes_le().first().is_some_and(|byte| byte & 1 == 1);
        if !KEY_BYTES.contains(&length) || !odd {
            return Err("a key of less than 1024 or more than 8192 bits, or not of RSA");
        }
        if !(2..=33).contains(&exponent.bits()) {
            return Err("a key with a strange exponent");
        }
        if signed.is_empty()
            || signed.len() > SIGNED_BYTES_MAX
            || !signed.len().is_multiple_of(length)
        {
            return Err("a signature of another length than the key's");
        }
        let mut raw = Vec::new();
        for piece in signed.chunks(length) {
            let piece = BigUint::from_bytes_be(piece);
            if piece >= *modulus {
                return Err("a signature out of range");
            }
            let block = piece.modpow(exponent, modulus).to_bytes_be();
            raw.extend_from_slice(unpadded(&block, length)?);
        }
        Ok(raw)
    }
}

/// The content behind the padding 00 01 ff .. ff 00; the first zero is lost in a number.
fn unpadded(block: &[u8], length: usize) -> Result<&[u8], &'static str> {
    let wrong = "not signed with the key of the certificate";
    let padded = block.strip_prefix(&[1]).filter(|rest| rest.len() + 2 == length).ok_or(wrong)?;
    let count = padded.iter().take_while(|&&byte| byte == 0xff).count();
    let content = padded[count..].strip_prefix(&[0]).ok_or(wrong)?;
    if count + 3 < PADDING_BYTES_MIN { Err(wrong) } else { Ok(content) }
}
