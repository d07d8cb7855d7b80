//! Tokens of WLCG and SciTokens: JSON Web Tokens (RFC 7519) that their issuer has signed (RFC 7515)
//! with RS256 or ES256. Pure: keys and the time are arguments.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Number;

use super::denial::TokenFault;
use super::keys::{KeySet, SignatureKind};
use super::place::PathParts;

/// The longest token that is looked at.
pub const TOKEN_BYTES_MAX: usize = 8192;
/// Clocks may differ by so many seconds: a token that was made a moment ago is valid.
const SKEW: u64 = 60;

/// The claims of a token whose signature is right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenClaims {
    pub issuer: String,
    pub subject: Option<String>,
    /// The folders that may be read, from where the issuer's part of a server begins.
    pub reads: Vec<PathParts>,
    pub groups: Vec<String>,
    /// Seconds since 1970.
    pub expires: u64,
}

/// A token of which nothing has been checked.
#[derive(Debug)]
pub struct UncheckedToken<'a> {
    header: TokenHeader,
    payload: Payload,
    signed: &'a str,
    signature: Vec<u8>,
    kind: SignatureKind,
}

/// The head of a token (RFC 7515, section 4.1). It may name a place of its key (`jku`, `x5u`) or
/// bring one (`jwk`, `x5c`): these are not looked at.
#[derive(Debug, Deserialize)]
struct TokenHeader {
    alg: String,
    kid: Option<String>,
    /// Extensions that have to be understood; none is.
    crit: Option<serde_json::Value>,
}

/// The claims (RFC 7519, section 4.1).
#[derive(Debug, Deserialize)]
struct Payload {
    iss: String,
    sub: Option<String>,
    aud: Option<OneOrMany>,
    exp: Number,
    nbf: Option<Number>,
    scope: Option<String>,
    #[serde(rename = "wlcg.groups")]
    groups: Option<Vec<String>>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl<'a> UncheckedToken<'a> {
    /// Takes a token apart.
    ///
    /// # Errors
    /// `Unlisted` for a text that is no JSON Web Token.
    pub fn parse(token: &'a str) -> Result<Self, TokenFault> {
        if token.len() > TOKEN_BYTES_MAX {
            return Err(TokenFault::TooLong);
        }
        let (signed, signature) = token.rsplit_once('.').ok_or(TokenFault::Unlisted)?;
        let (header, payload) = signed.split_once('.').ok_or(TokenFault::Unlisted)?;
        let header: TokenHeader = decoded(header)?;
        let kind = SignatureKind::named(&header.alg).ok_or(TokenFault::Algorithm)?;
        if header.crit.is_some() {
            return Err(TokenFault::Malformed);
        }
        let payload = decoded(payload)?;
        let signature = URL_SAFE_NO_PAD.decode(signature).map_err(|_| TokenFault::Malformed)?;
        Ok(UncheckedToken { header, payload, signed, signature, kind })
    }

    /// The issuer that it names.
    pub fn issuer(&self) -> &str {
        &self.payload.iss
    }

    /// The key that it names.
    pub fn key_id(&self) -> Option<&str> {
        self.header.kid.as_deref()
    }

    /// The claims, if one of the issuer's keys has signed them, and they are valid now (seconds
    /// since 1970) for one of these audiences.
    ///
    /// # Errors
    /// Why not.
    pub fn claims(
        self,
        keys: &KeySet,
        audience: &[String],
        now: u64,
    ) -> Result<TokenClaims, TokenFault> {
        keys.verify(self.kind, self.key_id(), self.signed.as_bytes(), &self.signature)?;
        let Payload { iss: issuer, sub: subject, aud, exp, nbf, scope, groups } = self.payload;
        let expires = seconds(&exp).ok_or(TokenFault::Malformed)?;
        let begins = nbf.as_ref().map(seconds).map_or(Some(0), |begins| begins);
        let begins = begins.ok_or(TokenFault::Malformed)?;
        let is_ours = |one: &String| audience.contains(one);
        let is_for_us = match &aud {
            None => false,
            Some(OneOrMany::One(one)) => is_ours(one),
            Some(OneOrMany::Many(many)) => many.iter().any(is_ours),
        };
        if !is_for_us {
            return Err(TokenFault::Audience);
        }
        if expires <= now {
            return Err(TokenFault::Expired);
        }
        if begins > now.saturating_add(SKEW) {
            return Err(TokenFault::Early);
        }
        let words = scope.as_deref().unwrap_or_default().split(' ');
        let reads = words.filter_map(readable).collect();
        let groups = groups.unwrap_or_default();
        Ok(TokenClaims { issuer, subject, reads, groups, expires })
    }
}

/// The folder that a word of a scope allows to read: `storage.read:/store` of WLCG, `read:/store`
/// of SciTokens. Without a path the word allows nothing.
fn readable(word: &str) -> Option<PathParts> {
    let (right, path) = word.split_once(':')?;
    let is_read = matches!(right, "storage.read" | "read") && path.starts_with('/');
    is_read.then(|| PathParts::escaped(path)).flatten()
}

/// A part of a token.
fn decoded<T: DeserializeOwned>(part: &str) -> Result<T, TokenFault> {
    let bytes = URL_SAFE_NO_PAD.decode(part).map_err(|_| TokenFault::Malformed)?;
    serde_json::from_slice(&bytes).map_err(|_| TokenFault::Malformed)
}

/// A date of a token, which may have a fraction.
fn seconds(number: &Number) -> Option<u64> {
    let rounded = number.as_f64().filter(|seconds| *seconds >= 0.0 && *seconds < 1e15);
    number.as_u64().or(rounded.map(|seconds| seconds as u64))
}
