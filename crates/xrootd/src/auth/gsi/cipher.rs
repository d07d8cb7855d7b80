//! AES-128 in CBC mode with the initial vector in front, the one cipher that every server has.

use aes::Aes128;
use aes::cipher::block_padding::Pkcs7;
use aes::cipher::{BlockModeDecrypt, BlockModeEncrypt, KeyIvInit};
use secrecy::zeroize::Zeroizing;
use sha2::{Digest, Sha256};

/// The name that servers know it by.
pub const NAME: &str = "aes-128-cbc";

const BLOCK_BYTES: usize = 16;

/// Made of the first bytes of the common secret.
pub struct SessionKey(Zeroizing<[u8; BLOCK_BYTES]>);

impl std::fmt::Debug for SessionKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SessionKey")
    }
}

impl SessionKey {
    /// None where the secret is too short.
    pub fn new(secret: &[u8]) -> Option<SessionKey> {
        secret.first_chunk().map(|head| SessionKey(Zeroizing::new(*head)))
    }

    /// A vector for the message of this number, which tells nothing of the key or of others.
    pub fn vector(&self, number: u64) -> [u8; BLOCK_BYTES] {
        let digest = Sha256::new_with_prefix(*self.0).chain_update(number.to_be_bytes());
        let mut vector = [0; BLOCK_BYTES];
        vector.copy_from_slice(&digest.finalize()[..BLOCK_BYTES]);
        vector
    }

    /// The vector and the encrypted bytes.
    pub fn encrypt(&self, vector: &[u8; BLOCK_BYTES], plain: &[u8]) -> Vec<u8> {
        let padded = plain.len() - plain.len() % BLOCK_BYTES + BLOCK_BYTES;
        let mut out = vec![0; BLOCK_BYTES + padded];
        let (head, body) = out.split_at_mut(BLOCK_BYTES);
        head.copy_from_slice(vector);
        cbc::Encryptor::<Aes128>::new(&(*self.0).into(), &(*vector).into())
            .encrypt_padded_b2b::<Pkcs7>(plain, body)
            .expect("the padding fits");
        out
    }

    /// The decrypted bytes; `None` where these were not encrypted, or with another key.
    pub fn decrypt(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let (vector, body) = bytes.split_first_chunk::<BLOCK_BYTES>()?;
        let mut out = body.to_vec();
        let length = cbc::Decryptor::<Aes128>::new(&(*self.0).into(), &(*vector).into())
            .decrypt_padded::<Pkcs7>(&mut out)
            .ok()?
            .len();
        out.truncate(length);
        Some(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first block of the example F.2.1 of NIST SP 800-38A, and a block of padding behind it.
    #[test]
    fn a_known_block_becomes_what_the_standard_says() {
        let hex = |text: &str| -> Vec<u8> {
            let digits = text.as_bytes().chunks(2);
            digits
                .map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap())
                .collect()
        };
        let key = SessionKey::new(&hex("2b7e151628aed2a6abf7158809cf4f3cffff")).unwrap();
        let vector: [u8; 16] = hex("000102030405060708090a0b0c0d0e0f").try_into().unwrap();
        let plain = hex("6bc1bee22e409f96e93d7e117393172a");
        let encrypted = key.encrypt(&vector, &plain);
        assert_eq!(encrypted[..16], vector);
        assert_eq!(encrypted[16..32], hex("7649abac8119b246cee98e9b12e9197d"));
        assert_eq!(encrypted.len(), 48);
        assert_eq!(key.decrypt(&encrypted), Some(plain));
    }

    #[test]
    fn what_was_not_encrypted_is_not_decrypted() {
        let key = SessionKey::new(&[1; 16]).unwrap();
        for length in 0..40 {
            assert_eq!(key.decrypt(&vec![3; length]), None, "{length}");
        }
        assert!(SessionKey::new(&[1; 15]).is_none());
    }
}
