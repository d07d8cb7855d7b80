//! The client's side of an exchange.

use bytes::Bytes;
use secrecy::ExposeSecret;

use super::super::exchange::{Exchange, Step};
use super::buffer::{BucketType, Buffer};
use super::cipher::{self, SessionKey};
use super::dh::{PRIVATE_BYTES, Part};
use super::{
    CRYPTO_MODULE, GsiCredential, PublicKey, RANDOM_BYTES, Refusal, TAG_BYTES, VERSION, bytes,
    challenge, step, tag, text,
};

/// One authentication under way.
#[derive(Debug)]
pub struct GsiClient {
    credential: Box<GsiCredential>,
    authorities: String,
    answered: bool,
    /// Both sides have it once the certificate has been shown.
    key: Option<SessionKey>,
}

/// Content of a server's message, verified.
struct Verified {
    part: Part,
    challenge: [u8; TAG_BYTES],
    /// The first of the server's list: no digest is calculated, one has to be named.
    digest: String,
}

impl GsiClient {
    pub fn new(credential: Box<GsiCredential>) -> GsiClient {
        GsiClient { credential, authorities: String::new(), answered: false, key: None }
    }

    /// The first message, which depends on nothing that a server chooses. `arguments` are those of
    /// its offer, `v:10600,c:ssl,ca:HASH|HASH`.
    pub fn certreq(&mut self, arguments: &str) -> Bytes {
        let hashes = arguments.split(',').find_map(|each| each.trim().strip_prefix("ca:"));
        self.authorities = hashes.unwrap_or_default().to_owned();
        let own = self.own_tag();
        let version = VERSION.to_be_bytes();
        // None: above all, no proxy will be delegated.
        let options = 0_i32.to_be_bytes();
        let main = Buffer { step: step::CERTREQ, buckets: vec![(BucketType::TAG, &own)] }.encode();
        let certreq = Buffer {
            step: step::CERTREQ,
            buckets: vec![
                (BucketType::CRYPTO_MODULE, CRYPTO_MODULE.as_bytes()),
                (BucketType::VERSION, &version),
                (BucketType::ISSUER_HASH, self.credential.issuer_hash.as_bytes()),
                (BucketType::OPTIONS, &options),
                (BucketType::MAIN, &main),
            ],
        };
        certreq.encode().into()
    }

    /// The answer to the server's message, which is verified first. Requests may follow the answer
    /// at once.
    ///
    /// # Errors
    ///
    /// A server that is not believed, or a message that no server sends. Nothing has been signed.
    pub fn cert(&mut self, message: &[u8]) -> Result<Bytes, Refusal> {
        let (buffer, _) = Buffer::decode(message)?;
        match buffer.step {
            step::PROXY_REQUEST => return Err(Refusal::Delegation),
            step::SERVER_CERT if !self.answered => {}
            other => return Err(Refusal::OutOfTurn(other)),
        }
        self.answered = true;
        let verified = self.verify(&buffer)?;
        let (message, key) = self.answer(&verified).map_err(Refusal::Key)?;
        self.key = Some(key);
        Ok(message)
    }

    fn verify(&self, buffer: &Buffer<'_>) -> Result<Verified, Refusal> {
        let (main, _) = Buffer::decode(bytes(buffer, BucketType::MAIN, "its main part")?)?;
        let challenge = *challenge(&main)?;
        let ciphers = text(buffer, BucketType::CIPHERS, "a list of ciphers")?;
        if !ciphers.split(':').any(|each| each.split('#').next() == Some(cipher::NAME)) {
            return Err(Refusal::Lacking("the cipher aes-128-cbc"));
        }
        let digests = text(buffer, BucketType::DIGESTS, "a list of digests")?;
        let digest = digests.split(':').find(|each| !each.is_empty());
        let digest = digest.ok_or(Refusal::Missing("a digest"))?.to_owned();
        let certificate = text(buffer, BucketType::CERTIFICATES, "the server's certificate")?;
        let authorities: Vec<&str> =
            self.authorities.split('|').filter(|hash| !hash.is_empty()).collect();
        let key = self.credential.peer.verify(certificate, &authorities);
        let key: PublicKey = key.map_err(Refusal::NotTrusted)?;
        let signed = bytes(&main, BucketType::SIGNED_TAG, "our challenge, signed")?;
        let recovered = key.recover(signed).map_err(|why| Refusal::Unsigned {
            subject: "the server's answer to our challenge",
            why,
        })?;
        if recovered != self.own_tag() {
            return Err(Refusal::StrangeTag);
        }
        let part = bytes(buffer, BucketType::EXCHANGE_PART, "a part of the key exchange")?;
        let part = key.recover(part).map_err(|why| Refusal::Unsigned {
            subject: "the server's part of the key exchange",
            why,
        })?;
        let part = Part::decode(&part).map_err(Refusal::StrangePart)?;
        Ok(Verified { part, challenge, digest })
    }

    fn answer(&self, verified: &Verified) -> Result<(Bytes, SessionKey), String> {
        let Verified { part, challenge, digest } = verified;
        let credential = &*self.credential;
        let peer = &*credential.peer;
        let random = credential.random.expose_secret();
        let (rest, private) = random.split_last_chunk::<PRIVATE_BYTES>().expect("a constant");
        let (tags, vector) = rest.split_last_chunk::<16>().expect("a constant");
        let key = SessionKey::new(&part.secret(private)).expect("512 bits or more");
        let own_part = peer.sign(part.group.part(private).encode().as_bytes())?;
        let signed_tag = peer.sign(challenge)?;
        let own_tag = tag(&tags[TAG_BYTES..]);
        let chain = credential.chain_pem.concat();
        let inner = Buffer {
            step: step::CERT,
            buckets: vec![
                (BucketType::SIGNED_TAG, &signed_tag),
                (BucketType::TAG, &own_tag),
                (BucketType::CERTIFICATES, chain.as_bytes()),
            ],
        };
        let main = key.encrypt(vector, &inner.encode());
        // The length of the initial vector is part of the cipher's name.
        let cipher = format!("{}#16", cipher::NAME);
        let cert = Buffer {
            step: step::CERT,
            buckets: vec![
                (BucketType::CRYPTO_MODULE, CRYPTO_MODULE.as_bytes()),
                (BucketType::MAIN, &main),
                (BucketType::CIPHERS, cipher.as_bytes()),
                (BucketType::DIGESTS, digest.as_bytes()),
                (BucketType::EXCHANGE_PART, &own_part),
                (BucketType::PUBLIC_KEY, credential.public_key_pem.as_bytes()),
            ],
        };
        Ok((cert.encode().into(), key))
    }

    fn own_tag(&self) -> [u8; TAG_BYTES] {
        let random: &[u8; RANDOM_BYTES] = self.credential.random.expose_secret();
        tag(random)
    }
}

impl Exchange for GsiClient {
    fn begin(&mut self, arguments: &str) -> Result<Step, String> {
        Ok(Step::more(self.certreq(arguments)))
    }

    fn proceed(&mut self, challenge: &[u8]) -> Result<Step, String> {
        self.cert(challenge).map(Step::last).map_err(|refusal| refusal.to_string())
    }

    fn session_key(&mut self) -> Option<SessionKey> {
        self.key.take()
    }
}
