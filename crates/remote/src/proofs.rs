//! Parts of an address that prove who asks: a token, a signature, a password. They are kept out of
//! texts, pickles and keys of caches, and no name of an object is looked for in them.

use std::hash::{BuildHasher, RandomState};

/// Parameters of queries by which a caller proves something, or which belong to a proof.
const PROOFS: [&str; 23] = [
    "authz",
    "access_token",
    "token",
    "ticket",
    "signature",
    "policy",
    "key-pair-id",
    "expires",
    "awsaccesskeyid",
    "googleaccessid",
    "farroot.logintoken",
    "sig",
    "se",
    "sp",
    "sv",
    "sr",
    "st",
    "skoid",
    "sktid",
    "skt",
    "ske",
    "sks",
    "skv",
];
/// The same, by how their names begin.
const PROOFS_BEGIN: [&str; 2] = ["x-amz-", "x-goog-"];
/// Of these, the ones that mean something else where no proof stands beside them.
const WEAK: [&str; 14] = [
    "policy", "expires", "ticket", "se", "sp", "sv", "sr", "st", "skoid", "sktid", "skt", "ske",
    "sks", "skv",
];
/// Servers call their proofs as they like: by words that a name has in it.
const WORDS: [&str; 16] = [
    "authz",
    "authorization",
    "token",
    "secret",
    "signature",
    "credential",
    "password",
    "passwd",
    "passphrase",
    "macaroon",
    "bearer",
    "jwt",
    "apikey",
    "api_key",
    "api-key",
    "accesskey",
];
/// Values of proofs begin so, whatever their names: tokens (RFC 7519), of EOS, and macaroons.
const VALUES_BEGIN: [&str; 5] = ["eyj", "bearer%20", "bearer ", "zteos64:", "mda"];
/// No shorter value is one.
const VALUE_LEN_MIN: usize = 20;

fn name_of(parameter: &str) -> String {
    parameter.split('=').next().unwrap_or_default().to_ascii_lowercase()
}

/// Whether a parameter belongs to a proof and chooses no file, by its usual name.
pub fn is_usual(parameter: &str) -> bool {
    let name = name_of(parameter);
    PROOFS.contains(&&*name) || PROOFS_BEGIN.iter().any(|begin| name.starts_with(begin))
}

/// Whether a parameter holds a proof, as far as its name or its value tells.
pub fn is_proof(parameter: &str) -> bool {
    let name = name_of(parameter);
    let value = parameter.split_once('=').map_or("", |(_, value)| value).to_ascii_lowercase();
    let is_value = || VALUES_BEGIN.iter().any(|begin| value.starts_with(begin));
    (is_usual(parameter) && !WEAK.contains(&&*name))
        || WORDS.iter().any(|word| name.contains(word))
        || value.len() >= VALUE_LEN_MIN && is_value()
}

/// A query in two: the parts that others may see, and all that belong to its proofs.
pub fn told_apart(query: &str) -> (Vec<&str>, Vec<&str>) {
    let has_proof = query.split('&').any(is_proof);
    query.split('&').partition(|part| !(has_proof && (is_proof(part) || is_usual(part))))
}

/// A number that no other process guesses, nor has: 32 letters.
pub fn chance() -> String {
    // A forked child has the keys of its parent.
    let half = |place: u8| RandomState::new().hash_one((std::process::id(), place));
    format!("{:016x}{:016x}", half(0), half(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proofs_are_known_by_their_names_and_values() {
        for proof in [
            "authz=a:b/c",
            "X-Amz-Signature=5",
            "x-amz-security-token=5",
            "access_token=1",
            "sig=abc",
            "refreshToken=1",
            "farroot.logintoken=k",
            "api_key=1",
            "q=eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhZGEifQ",
            "any=zteos64:MDAwMDAxZGZ4nKiX",
        ] {
            assert!(is_proof(proof), "{proof}");
        }
        for plain in ["id=1", "xrd.ztn=/tmp/a", "se=1", "policy=x", "name=mdata", "svcClass=t"] {
            assert!(!is_proof(plain), "{plain}");
        }
        let presigned = "id=1&Expires=9&AWSAccessKeyId=5&Signature=6";
        let proof = vec!["Expires=9", "AWSAccessKeyId=5", "Signature=6"];
        assert_eq!(told_apart(presigned), (vec!["id=1"], proof));
        assert_eq!(told_apart("id=1&expires=9"), (vec!["id=1", "expires=9"], vec![]));
        assert_ne!(chance(), chance());
    }
}
