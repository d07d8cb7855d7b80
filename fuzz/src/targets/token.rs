//! Tokens of clients, and the keys of their issuers: text from strangers that decides who may read.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serve::{KeySet, UncheckedToken};

use crate::Target;

pub const TARGET: Target =
    Target { name: "token", run, seeds, rounds: 20_000, memory: (1 << 20, 200) };

/// The audience of the seeds, and a time at which they are valid.
const AUDIENCE: &str = "https://cache.example";
const NOW: u64 = 1_800_000_000;

/// The input has the keys, and a token's head, claims and signature, a line each. Nobody has the
/// private keys of the seeds, so the decoder accepts no token.
pub fn run(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data) {
        let _ = UncheckedToken::parse(text);
    }
    let mut lines = data.split(|byte| *byte == b'\n');
    let keys = KeySet::parse(lines.next().unwrap_or_default()).unwrap_or_default();
    let parts: Vec<String> = lines.take(3).map(|part| URL_SAFE_NO_PAD.encode(part)).collect();
    let text = parts.join(".");
    let Ok(token) = UncheckedToken::parse(&text) else { return };
    let known = keys.has(token.key_id());
    let claims = token.claims(&keys, &[AUDIENCE.to_owned()], NOW);
    assert!(
        claims.is_err(),
        "the decoder accepts a token that nobody has signed (its key is known: {known})"
    );
}

fn seeds() -> Vec<Vec<u8>> {
    let point = "axfR8uEsQkf4vOblY6RA8ncDfYEt6zOg9KE5RdiYwpY";
    let other = "T-NC4v4af5uO5-tKfA-eFivOM1drMV7Oy7ZAaDe_UfU";
    let keys = format!(
        r#"{{"keys": [{{"kty": "EC", "crv": "P-256", "kid": "1", "use": "sig", "x": "{point}",
        "y": "{other}"}}, {{"kty": "RSA", "kid": "2", "n": "{}Q", "e": "AQAB"}}]}}"#,
        "q".repeat(341)
    )
    .replace('\n', " ");
    let claims = r#"{"iss": "https://issuer.example/", "sub": "ada", "aud":
        ["https://cache.example"], "exp": 1900000000, "nbf": 1.7e9, "scope": "storage.read:/a/%2e
        read:/store", "wlcg.groups": ["/cms", "/cms/uscms"]}"#
        .replace('\n', " ");
    let heads =
        [r#"{"alg": "ES256", "typ": "JWT", "kid": "1"}"#, r#"{"alg": "RS256", "kid": "2"}"#];
    let lengths = [64, 256];
    let seed = |(head, length): (&str, usize)| {
        [keys.as_bytes(), head.as_bytes(), claims.as_bytes(), &vec![7; length]].join(&b'\n')
    };
    heads.into_iter().zip(lengths).map(seed).collect()
}

/// A seed that is refused before its signature is looked at would try little.
#[test]
fn the_seeds_fail_by_their_signature() {
    for seed in seeds() {
        let lines: Vec<&[u8]> = seed.split(|byte| *byte == b'\n').collect();
        let keys = KeySet::parse(lines[0]).unwrap();
        let text: Vec<String> =
            lines[1..].iter().map(|part| URL_SAFE_NO_PAD.encode(part)).collect();
        let text = text.join(".");
        let token = UncheckedToken::parse(&text).unwrap();
        assert!(keys.has(token.key_id()));
        let fault = token.claims(&keys, &[AUDIENCE.to_owned()], NOW).unwrap_err();
        assert_eq!(fault, serve::TokenFault::Signature);
    }
}
