//! Both sides against each other, the client against messages of xrootd 5.5.3, and against servers
//! that lie.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use rsa::pkcs8::{EncodePublicKey, LineEnding};
use rsa::rand_core::{CryptoRng, RngCore, impls};
use rsa::traits::PublicKeyParts;
use rsa::{Pkcs1v15Sign, RsaPrivateKey, RsaPublicKey};

use super::*;

const CERTREQ: &[u8] = include_bytes!("../../../samples/gsi.certreq.bin");
const SERVER: &[u8] = include_bytes!("../../../samples/gsi.server.bin");

/// Numbers that look random and are the same in every run.
struct Seeded(u64);

impl RngCore for Seeded {
    fn next_u32(&mut self) -> u32 {
        (self.next_u64() >> 32) as u32
    }

    fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
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

fn random(seed: u64) -> SecretBox<[u8; RANDOM_BYTES]> {
    let mut random = [0; RANDOM_BYTES];
    Seeded(seed).fill_bytes(&mut random);
    SecretBox::new(Box::new(random))
}

/// Three keys of 1,024 bits: of a client, a server and another server.
fn keys() -> &'static [RsaPrivateKey; 3] {
    static KEYS: OnceLock<[RsaPrivateKey; 3]> = OnceLock::new();
    KEYS.get_or_init(|| [1, 2, 3].map(|seed| RsaPrivateKey::new(&mut Seeded(seed), 1024).unwrap()))
}

fn public(key: &RsaPrivateKey) -> PublicKey {
    PublicKey::new(&key.n().to_bytes_be(), &key.e().to_bytes_be())
}

/// Accepts every certificate as that of one key, and counts its own signatures.
#[derive(Debug)]
struct Believer {
    own: RsaPrivateKey,
    other: Result<PublicKey, String>,
    signed: AtomicUsize,
}

impl Believer {
    fn new(own: &RsaPrivateKey, other: PublicKey) -> Arc<Believer> {
        Arc::new(Believer { own: own.clone(), other: Ok(other), signed: AtomicUsize::new(0) })
    }

    fn signed(&self) -> usize {
        self.signed.load(Ordering::Relaxed)
    }
}

impl Peer for Believer {
    fn sign(&self, raw: &[u8]) -> Result<Vec<u8>, String> {
        self.signed.fetch_add(1, Ordering::Relaxed);
        let sign = |piece| self.own.sign(Pkcs1v15Sign::new_unprefixed(), piece);
        let signed: Result<Vec<_>, _> = raw.chunks(self.own.size() - 11).map(sign).collect();
        signed.map(|pieces| pieces.concat()).map_err(|error| error.to_string())
    }

    fn verify(&self, _pem: &str, authorities: &[&str]) -> Result<PublicKey, String> {
        assert!(authorities.is_empty() || authorities == ["d1bfdaf0.0", "a48310c5.0"]);
        self.other.clone()
    }
}

const OFFER: &str = "v:10600,c:ssl,ca:d1bfdaf0.0|a48310c5.0";
const CHAIN: [&str; 2] = ["the proxy\n", "the user certificate\n"];

fn client(peer: Arc<dyn Peer>, random: SecretBox<[u8; RANDOM_BYTES]>) -> GsiClient {
    let public_key_pem = RsaPublicKey::from(&keys()[0]).to_public_key_pem(LineEnding::LF).unwrap();
    GsiClient::new(Box::new(GsiCredential {
        chain_pem: CHAIN.map(str::to_owned).to_vec(),
        public_key_pem,
        issuer_hash: "d1bfdaf0.0|a48310c5.0".to_owned(),
        random,
        peer,
    }))
}

/// As xrootd 5 makes one up.
fn primes_512() -> Primes {
    let group = Group::of_pem(include_str!("../../../samples/gsi.prime512.pem")).unwrap();
    Primes { group, digests: "sha1:md5".to_owned() }
}

/// The sizes of xrootd 6; the prime is that of RFC 3526, group 15.
fn primes_3072() -> Primes {
    let group = Group::of_rfc3526();
    Primes { group, digests: "sha256".to_owned() }
}

fn server(primes: Primes) -> (GsiServer, Arc<Believer>) {
    let peer = Believer::new(&keys()[1], public(&keys()[0]));
    (GsiServer::new("the server\n".to_owned(), primes, random(77), peer.clone()), peer)
}

/// The client with the tag that XrdCl had when the samples were recorded.
fn recorded_client() -> (GsiClient, Arc<Believer>) {
    let key = PublicKey::of_pem(include_str!("../../../samples/gsi.server.pem")).unwrap();
    let peer = Believer::new(&keys()[0], key);
    let letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789./";
    let mut random = [3; RANDOM_BYTES];
    for (byte, letter) in random.iter_mut().zip(b"Ty1CinMd") {
        *byte = letters.iter().position(|each| each == letter).unwrap() as u8;
    }
    (client(peer.clone(), SecretBox::new(Box::new(random))), peer)
}

#[test]
fn the_first_message_is_that_of_xrdcl_but_for_the_options() {
    let (mut client, peer) = recorded_client();
    let ours = client.certreq(OFFER);
    let (theirs, _) = Buffer::decode(CERTREQ).unwrap();
    let without_options = Buffer {
        buckets: theirs
            .buckets
            .iter()
            .map(|&(kind, content)| match kind {
                BucketType::OPTIONS => (kind, &[0, 0, 0, 0][..]),
                _ => (kind, content),
            })
            .collect(),
        ..theirs
    };
    assert_eq!(ours, without_options.encode());
    assert_eq!(peer.signed(), 0);
}

#[test]
fn what_xrootd_has_sent_is_understood_and_answered() {
    let (mut client, _) = recorded_client();
    client.certreq(OFFER);
    let answer = client.cert(SERVER).unwrap();
    let (answer, rest) = Buffer::decode(&answer).unwrap();
    assert!(rest.is_empty());
    assert_eq!(answer.step, 1001);
    assert_eq!(answer.get(BucketType::DIGESTS), Some(&b"sha1"[..]));
    assert_eq!(answer.get(BucketType::CIPHERS), Some(&b"aes-128-cbc#16"[..]));
    let part = answer.get(BucketType::EXCHANGE_PART).unwrap();
    let part = public(&keys()[0]).recover(part).unwrap();
    assert_eq!(dh::Part::decode(&part).unwrap().group, primes_512().group);
    // The message answers one exchange, once.
    assert_eq!(client.cert(SERVER), Err(Refusal::OutOfTurn(2001)));
}

#[test]
fn every_shorter_message_is_refused_and_a_longer_one_is_not() {
    for end in 0..SERVER.len() {
        let (mut client, peer) = recorded_client();
        client.certreq(OFFER);
        assert!(client.cert(&SERVER[..end]).is_err(), "{end}");
        assert_eq!(peer.signed(), 0, "{end}");
    }
    let (mut client, _) = recorded_client();
    client.certreq(OFFER);
    assert!(client.cert(&[SERVER, b"tail"].concat()).is_ok());
}

#[test]
fn both_sides_understand_each_other() {
    for primes in [primes_512(), primes_3072()] {
        let (server, _) = server(primes.clone());
        let peer = Believer::new(&keys()[0], public(&keys()[1]));
        let mut client = client(peer, random(5));
        let certreq = client.certreq(OFFER);
        let cert = client.cert(&server.begin(&certreq).unwrap()).unwrap();
        assert_eq!(server.proceed(&cert), Ok(CHAIN.concat()));
        // The chain cannot be read on the way, and a changed message is refused, or the change has
        // no effect.
        assert!(!cert.windows(9).any(|window| window == b"the proxy"));
        let (buffer, _) = Buffer::decode(&cert).unwrap();
        let digest = primes.digests.split(':').next().unwrap();
        assert_eq!(buffer.get(BucketType::DIGESTS), Some(digest.as_bytes()));
        for at in (0..cert.len()).step_by(97) {
            let mut changed = cert.to_vec();
            changed[at] ^= 1;
            let taken = server.proceed(&changed);
            assert!(taken.is_err() || taken == Ok(CHAIN.concat()), "{at}");
        }
    }
}

/// Changes a server's message on its way; returns the client's refusal, and how often the client
/// has signed.
fn told(
    change: impl FnOnce(&mut Vec<(BucketType, Vec<u8>)>, &mut Vec<(BucketType, Vec<u8>)>),
) -> (Refusal, usize) {
    let (server, _) = server(primes_512());
    let peer = Believer::new(&keys()[0], public(&keys()[1]));
    let mut client = client(peer.clone(), random(5));
    let said = server.begin(&client.certreq(OFFER)).unwrap();
    let owned = |buffer: &Buffer<'_>| -> Vec<(BucketType, Vec<u8>)> {
        buffer.buckets.iter().map(|(kind, content)| (*kind, content.to_vec())).collect()
    };
    let borrowed = |buckets: &[(BucketType, Vec<u8>)]| {
        Buffer {
            step: 2001,
            buckets: buckets.iter().map(|(kind, content)| (*kind, &content[..])).collect(),
        }
        .encode()
    };
    let (buffer, _) = Buffer::decode(&said).unwrap();
    let mut outer = owned(&buffer);
    let mut inner = owned(&Buffer::decode(buffer.get(BucketType::MAIN).unwrap()).unwrap().0);
    change(&mut outer, &mut inner);
    for (kind, content) in &mut outer {
        if *kind == BucketType::MAIN {
            *content = borrowed(&inner);
        }
    }
    (client.cert(&borrowed(&outer)).unwrap_err(), peer.signed())
}

fn set(buckets: &mut [(BucketType, Vec<u8>)], kind: BucketType, content: &[u8]) {
    let found = buckets.iter_mut().find(|(each, _)| *each == kind).unwrap();
    found.1 = content.to_vec();
}

/// Signed raw, 35 bytes that a server chooses are a digest of SHA-1 with its name, and 51 one of
/// SHA-256: a signature of the user under any certificate request or proxy.
#[test]
fn challenges_that_are_not_eight_bytes_are_refused_before_anything_is_signed() {
    for length in [0, 1, 7, 9, 35, 40, 51, 117] {
        let refusal = told(|_, inner| set(inner, BucketType::TAG, &vec![b'x'; length]));
        assert_eq!(refusal, (Refusal::StrangeChallenge(length), 0));
    }
}

#[test]
fn a_server_that_lies_gets_no_signature() {
    let missing: [(BucketType, &str); 6] = [
        (BucketType::MAIN, "its main part"),
        (BucketType::CERTIFICATES, "the server's certificate"),
        (BucketType::CIPHERS, "a list of ciphers"),
        (BucketType::DIGESTS, "a list of digests"),
        (BucketType::EXCHANGE_PART, "a part of the key exchange"),
        (BucketType::TAG, "a challenge"),
    ];
    for (kind, part) in missing {
        let refusal = told(|outer, inner| {
            outer.retain(|(each, _)| *each != kind);
            inner.retain(|(each, _)| *each != kind);
        });
        assert_eq!(refusal, (Refusal::Missing(part), 0));
    }
    let refusal = told(|outer, _| set(outer, BucketType::CIPHERS, b"bf-cbc:des-ede3-cbc"));
    assert_eq!(refusal, (Refusal::Lacking("the cipher aes-128-cbc"), 0));
    let refusal = told(|outer, _| set(outer, BucketType::DIGESTS, b":"));
    assert_eq!(refusal, (Refusal::Missing("a digest"), 0));
    // Signed by another key, or with the right one under something else.
    let by =
        |key: usize, raw: &[u8]| keys()[key].sign(Pkcs1v15Sign::new_unprefixed(), raw).unwrap();
    let refusal = told(|_, inner| set(inner, BucketType::SIGNED_TAG, &by(2, b"12345678")));
    assert!(matches!(refusal, (Refusal::Unsigned { .. }, 0)), "{refusal:?}");
    let refusal = told(|_, inner| set(inner, BucketType::SIGNED_TAG, &by(1, b"12345678")));
    assert_eq!(refusal, (Refusal::StrangeTag, 0));
    let refusal = told(|outer, _| set(outer, BucketType::EXCHANGE_PART, &by(2, b"part")));
    assert!(matches!(refusal, (Refusal::Unsigned { .. }, 0)), "{refusal:?}");
    let refusal = told(|outer, _| set(outer, BucketType::EXCHANGE_PART, &by(1, b"part")));
    assert_eq!(refusal, (Refusal::StrangePart("no public number"), 0));
}

#[test]
fn a_server_that_is_not_believed_gets_no_signature() {
    let (server, _) = server(primes_512());
    let peer = Arc::new(Believer {
        own: keys()[0].clone(),
        other: Err("no authority has signed it".to_owned()),
        signed: AtomicUsize::new(0),
    });
    let mut client = client(peer.clone(), random(5));
    let said = server.begin(&client.certreq(OFFER)).unwrap();
    let refusal = Refusal::NotTrusted("no authority has signed it".to_owned());
    assert_eq!(client.cert(&said), Err(refusal));
    assert_eq!(peer.signed(), 0);
}

#[test]
fn no_proxy_is_delegated() {
    let (mut client, peer) = recorded_client();
    client.certreq(OFFER);
    let request = Buffer { step: 2002, buckets: Vec::new() }.encode();
    assert_eq!(client.cert(&request), Err(Refusal::Delegation));
    assert_eq!(peer.signed(), 0);
}

#[test]
fn offers_of_another_kind_are_refused() {
    let fine = [OFFER, "v:10400,c:ssl,ca:a48310c5", "", "c:sslnopad|ssl", "v:10700"];
    for offer in fine {
        assert_eq!(objection(offer), None, "{offer}");
    }
    let bad = [("v:10300,c:ssl", "version 10300"), ("v:10600,c:local", "crypto module ssl")];
    for (offer, word) in bad {
        assert!(objection(offer).is_some_and(|why| why.contains(word)), "{offer}");
    }
}

#[test]
fn a_server_refuses_clients_that_lie() {
    let peer = Believer::new(&keys()[0], public(&keys()[1]));
    let mut honest = client(peer, random(5));
    let (one, _) = server(primes_512());
    let said = one.begin(&honest.certreq(OFFER)).unwrap();
    let cert = honest.cert(&said).unwrap();
    assert_eq!(one.begin(&cert), Err(Refusal::OutOfTurn(1001)));
    // Replayed to a server with other random numbers.
    let peer = Believer::new(&keys()[1], public(&keys()[0]));
    let other = GsiServer::new("the server\n".to_owned(), primes_512(), random(78), peer);
    assert!(other.proceed(&cert).is_err());
    // With the certificate of another key.
    let peer = Believer::new(&keys()[1], public(&keys()[2]));
    let other = GsiServer::new("the server\n".to_owned(), primes_512(), random(77), peer);
    assert_eq!(other.proceed(&cert), Err(Refusal::OtherKey));
    for end in 0..cert.len() {
        assert!(one.proceed(&cert[..end]).is_err(), "{end}");
    }
}

#[test]
fn nothing_secret_is_printed() {
    let (client, _) = recorded_client();
    let text = format!("{client:?}");
    assert!(text.contains("GsiCredential"), "{text}");
    assert!(!text.contains("[3, 3"), "{text}");
    assert!(!text.contains("3, 3, 3"), "{text}");
}
