//! The served side of an exchange.

use std::sync::Arc;

use bytes::Bytes;
use secrecy::{ExposeSecret, SecretBox};

use super::buffer::{BucketType, Buffer};
use super::cipher::{self, SessionKey};
use super::dh::{Group, PRIVATE_BYTES, Part};
use super::{
    CRYPTO_MODULE, Peer, RANDOM_BYTES, Refusal, TAG_BYTES, bytes, challenge, step, tag, text,
};

/// A server's group and digests for the key exchange.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Primes {
    pub group: Group,
    /// As lists of digests go, `sha256` or `sha1:md5`.
    pub digests: String,
}

/// One authentication of a client.
#[derive(Debug)]
pub struct GsiServer {
    certificate_pem: String,
    primes: Primes,
    random: SecretBox<[u8; RANDOM_BYTES]>,
    peer: Arc<dyn Peer>,
}

impl GsiServer {
    /// `peer` has the key of the certificate, and says which clients are believed. `random` is
    /// never used again.
    pub fn new(
        certificate_pem: String,
        primes: Primes,
        random: SecretBox<[u8; RANDOM_BYTES]>,
        peer: Arc<dyn Peer>,
    ) -> GsiServer {
        GsiServer { certificate_pem, primes, random, peer }
    }

    /// The answer to a client's first message: the body of kXR_authmore.
    ///
    /// # Errors
    ///
    /// Another message, or a key that does not sign.
    pub fn begin(&self, certreq: &[u8]) -> Result<Bytes, Refusal> {
        let (buffer, _) = Buffer::decode(certreq)?;
        if buffer.step != step::CERTREQ {
            return Err(Refusal::OutOfTurn(buffer.step));
        }
        let (main, _) = Buffer::decode(bytes(&buffer, BucketType::MAIN, "its main part")?)?;
        let signed_tag = self.peer.sign(challenge(&main)?).map_err(Refusal::Key)?;
        let part = self.primes.group.part(self.private()).encode();
        let signed_part = self.peer.sign(part.as_bytes()).map_err(Refusal::Key)?;
        let own = self.own_tag();
        let main = Buffer {
            step: step::SERVER_CERT,
            buckets: vec![(BucketType::SIGNED_TAG, &signed_tag), (BucketType::TAG, &own)],
        }
        .encode();
        let answer = Buffer {
            step: step::SERVER_CERT,
            buckets: vec![
                (BucketType::CRYPTO_MODULE, CRYPTO_MODULE.as_bytes()),
                (BucketType::MAIN, &main),
                (BucketType::EXCHANGE_PART, &signed_part),
                (BucketType::CIPHERS, cipher::NAME.as_bytes()),
                (BucketType::DIGESTS, self.primes.digests.as_bytes()),
                (BucketType::CERTIFICATES, self.certificate_pem.as_bytes()),
            ],
        };
        Ok(answer.encode().into())
    }

    /// Takes the client's certificates, and gives them once it has proven that it has their key.
    ///
    /// # Errors
    ///
    /// A client that is not believed.
    pub fn proceed(&self, cert: &[u8]) -> Result<String, Refusal> {
        let (buffer, _) = Buffer::decode(cert)?;
        if buffer.step != step::CERT {
            return Err(Refusal::OutOfTurn(buffer.step));
        }
        if text(&buffer, BucketType::CIPHERS, "a cipher")? != format!("{}#16", cipher::NAME) {
            return Err(Refusal::Lacking("the cipher aes-128-cbc"));
        }
        let digest = text(&buffer, BucketType::DIGESTS, "a digest")?;
        if !self.primes.digests.split(':').any(|each| each == digest) {
            return Err(Refusal::Lacking("a digest of the list"));
        }
        let signed_part = bytes(&buffer, BucketType::EXCHANGE_PART, "a part of the key exchange")?;
        let public = text(&buffer, BucketType::PUBLIC_KEY, "a public key")?;
        let main = bytes(&buffer, BucketType::MAIN, "its main part")?;
        // The key is believed once the certificates that it decrypts have it, too.
        let key =
            super::signed::PublicKey::of_pem(public).ok_or(Refusal::Missing("a key of RSA"))?;
        let unsigned = |subject| move |why| Refusal::Unsigned { subject, why };
        let part = key.recover(signed_part).map_err(unsigned("the client's part"))?;
        let part = Part::decode(&part).map_err(Refusal::StrangePart)?;
        if part.group != self.primes.group {
            return Err(Refusal::StrangePart("of another prime"));
        }
        let secret = SessionKey::new(&part.secret(self.private())).ok_or(Refusal::NotDecrypted)?;
        let inner = secret.decrypt(main).ok_or(Refusal::NotDecrypted)?;
        let (inner, _) = Buffer::decode(&inner)?;
        let chain = text(&inner, BucketType::CERTIFICATES, "certificates")?;
        if self.peer.verify(chain, &[]).map_err(Refusal::NotTrusted)? != key {
            return Err(Refusal::OtherKey);
        }
        let signed_tag = bytes(&inner, BucketType::SIGNED_TAG, "our challenge, signed")?;
        let recovered = key.recover(signed_tag).map_err(unsigned("the client's answer"))?;
        if recovered != self.own_tag() {
            return Err(Refusal::StrangeTag);
        }
        Ok(chain.to_owned())
    }

    fn own_tag(&self) -> [u8; TAG_BYTES] {
        tag(self.random.expose_secret())
    }

    fn private(&self) -> &[u8; PRIVATE_BYTES] {
        self.random.expose_secret().last_chunk().expect("a constant")
    }
}
