//! gsi: the container of its messages, parts of a key exchange, and a client's answer to a server's
//! message whose certificate it trusts.

use std::sync::Arc;

use secrecy::SecretBox;
use xrootd::auth::gsi::buffer::Buffer;
use xrootd::auth::gsi::{GsiClient, GsiCredential, Part, Peer, PublicKey, RANDOM_BYTES};

use crate::Target;

pub const TARGET: Target =
    Target { name: "gsi", run, seeds, rounds: 10_000, memory: (1 << 20, 64) };

const CERTREQ: &[u8] = include_bytes!("../../../crates/xrootd/samples/gsi.certreq.bin");
const SERVER: &[u8] = include_bytes!("../../../crates/xrootd/samples/gsi.server.bin");
const SERVER_KEY: &str = include_str!("../../../crates/xrootd/samples/gsi.server.pem");
const PRIME: &str = include_str!("../../../crates/xrootd/samples/gsi.prime512.pem");

/// Believes the server of the samples, and signs nothing that matters.
#[derive(Debug)]
struct Believer;

impl Peer for Believer {
    fn sign(&self, _raw: &[u8]) -> Result<Vec<u8>, String> {
        Ok(vec![1; 128])
    }

    fn verify(&self, _pem: &str, _authorities: &[&str]) -> Result<PublicKey, String> {
        Ok(PublicKey::of_pem(SERVER_KEY).expect("a key"))
    }
}

pub fn run(data: &[u8]) {
    if let Ok((buffer, rest)) = Buffer::decode(data) {
        assert_eq!([&buffer.encode(), rest].concat(), data);
    }
    if let Ok(part) = Part::decode(data) {
        assert_eq!(Part::decode(part.encode().as_bytes()), Ok(part));
    }
    if let Ok(text) = std::str::from_utf8(data)
        && let Some(key) = PublicKey::of_pem(text)
    {
        let _ = key.recover(data);
    }
    let mut client = GsiClient::new(Box::new(GsiCredential {
        chain_pem: vec!["a chain".to_owned()],
        public_key_pem: SERVER_KEY.to_owned(),
        issuer_hash: "d1bfdaf0.0|a48310c5.0".to_owned(),
        random: SecretBox::new(Box::new(random())),
        peer: Arc::new(Believer),
    }));
    let _ = client.certreq(&String::from_utf8_lossy(data));
    let _ = client.cert(data);
}

/// The challenge to which the server of the samples has answered, in the first eight bytes.
fn random() -> [u8; RANDOM_BYTES] {
    let mut random = [0; RANDOM_BYTES];
    random[..8].copy_from_slice(&[19, 50, 53, 2, 34, 39, 12, 29]);
    random
}

fn seeds() -> Vec<Vec<u8>> {
    let part = format!("{PRIME}---BPUB---79D921264BBD0512CB09E7A9310CDB10---EPUB---");
    vec![
        CERTREQ.to_vec(),
        SERVER.to_vec(),
        part.into_bytes(),
        SERVER_KEY.as_bytes().to_vec(),
        b"v:10600,c:ssl,ca:d1bfdaf0.0|a48310c5.0".to_vec(),
    ]
}

#[test]
fn the_recorded_message_is_answered() {
    let part = String::from_utf8(seeds().swap_remove(2)).unwrap();
    assert!(Part::decode(part.as_bytes()).is_ok());
    let mut client = GsiClient::new(Box::new(GsiCredential {
        chain_pem: Vec::new(),
        public_key_pem: String::new(),
        issuer_hash: String::new(),
        random: SecretBox::new(Box::new(random())),
        peer: Arc::new(Believer),
    }));
    client.certreq("");
    assert!(client.cert(SERVER).is_ok());
}
