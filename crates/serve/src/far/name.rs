//! From a client's name of a file to its address at the origin.
//!
//! Over XRootD the path is `/root://origin:1094//path?query`, as the forwarding servers of XRootD
//! have it, and over HTTP `/https://origin/path?query`. A proxy of one user wants its secret in
//! front: `/k-SECRET/root://...`, since every user of a machine can connect to its loopback.

use std::path::Path;

use percent_encoding::percent_decode;
use remote::address::{Address, Scheme};
use remote::{Error, ErrorKind, Result};
use secrecy::{ExposeSecret, SecretString};

use crate::files::Name;
use crate::guard::is_same;
use crate::origin::scheme;

/// The parameter of a query that has a client's token.
const TOKEN: &str = "authz=";
/// Stands before an address whose replica is meant.
const FAST: &str = "fast/";
/// Stands before a secret in a path.
const SECRET_MARK: &str = "k-";
/// Parameters that clients write by themselves for the client, the redirector or the server that
/// takes the request, which is this one: an origin is not sent them, and none of them chooses a
/// credential of the user who runs the proxy.
const NOT_FORWARDED: [&str; 12] = [
    "xrd.",
    "xrdcl.",
    "farroot.",
    "tried",
    "triedrc",
    "cms.",
    // The kind of a checksum.
    "cks.",
    // The size that a copy will have, and how its server stores it.
    "oss.",
    "ofs.",
    // Copies between two servers.
    "tpc.",
    // XRootD's own proxies, and labels of a transfer for the network.
    "xrdposix.",
    "scitag.",
];

/// The part of a name behind the secret.
///
/// # Errors
/// `PermissionDenied` where the secret is missing or another.
pub fn behind_secret<'a>(written: &'a str, secret: Option<&SecretString>) -> Result<&'a str> {
    let name = written.trim_start_matches('/');
    let Some(secret) = secret else { return Ok(name) };
    let refused = || {
        let text = "this proxy is another user's, or another one than this address is for";
        Error::new(ErrorKind::PermissionDenied, text)
            .with_advice("start your own: farroot run -- COMMAND")
    };
    let (first, rest) = name.split_once('/').unwrap_or((name, ""));
    let shown = first.strip_prefix(SECRET_MARK).ok_or_else(refused)?;
    match is_same(secret.expose_secret().as_bytes(), shown.as_bytes()) {
        true => Ok(rest.trim_start_matches('/')),
        false => Err(refused()),
    }
}

/// Whether a client asks for the replica of a file: `/fast//root://...`.
pub fn wants_replica(name: Name<'_>, secret: Option<&SecretString>) -> bool {
    behind_secret(name.written, secret).is_ok_and(|text| text.starts_with(FAST))
}

/// The prefix of names that [`behind_secret`] accepts.
pub fn secret_prefix(secret: &SecretString) -> String {
    format!("{SECRET_MARK}{}/", secret.expose_secret())
}

/// The file's address at the origin.
///
/// # Errors
/// `InvalidArgument` for a name that is no address of a server's file, or leads upwards;
/// `PermissionDenied` without the secret.
pub fn address_of(name: Name<'_>, secret: Option<&SecretString>) -> Result<Address> {
    let wrong = |message: &str| {
        let advice = "a name here is root://HOST//PATH or https://HOST/PATH, behind this proxy's";
        Error::new(ErrorKind::InvalidArgument, message).with_advice(advice)
    };
    let text = behind_secret(name.written, secret)?;
    let text = text.strip_prefix(FAST).map_or(text, |rest| rest.trim_start_matches('/'));
    // The | would separate several addresses, each of them any.
    if text.chars().any(|letter| letter.is_control() || letter == '|') {
        return Err(wrong("a control character or a | in the name"));
    }
    let (place, query) =
        text.split_once('?').map_or((text, None), |(place, query)| (place, Some(query)));
    // Clients make one slash of several.
    let (scheme_name, place) =
        place.split_once(":/").ok_or_else(|| wrong("no address of an origin"))?;
    let scheme = scheme(scheme_name).ok_or_else(|| wrong("no address that is forwarded"))?;
    let place = place.trim_start_matches('/');
    if leads_elsewhere(place) {
        return Err(wrong("a path that leads upwards, or hides what it is"));
    }
    if scheme == Scheme::Local {
        return mounted(place, name.is_encoded).ok_or_else(|| wrong("a path that is no text"));
    }
    let is_xrootd = scheme.name().starts_with("root");
    if !is_xrootd && text.contains('#') {
        return Err(wrong("a fragment, which origins never see: %23 stands for a # in a name"));
    }
    let decoded = match name.is_encoded && is_xrootd {
        // The protocol of the origin escapes nothing.
        true => match percent_decode(place.as_bytes()).decode_utf8() {
            Ok(text)
                if !text.chars().any(|letter| letter.is_control() || "|?".contains(letter)) =>
            {
                text.into_owned()
            }
            _ => return Err(wrong("a path that is no text")),
        },
        false => place.to_owned(),
    };
    let query = query.map(forwarded).filter(|query| !query.is_empty());
    let query = query.map(|query| format!("?{query}")).unwrap_or_default();
    let address = Address::parse(&format!("{}://{decoded}{query}", scheme.name()))?;
    match remote::is_metalink(&address) {
        // It names files of any servers.
        true => Err(wrong("a Metalink, which is read without a proxy")),
        false => Ok(address),
    }
}

/// The file of this machine that a path names; the query of its address is of the request alone.
fn mounted(place: &str, is_encoded: bool) -> Option<Address> {
    let decoded = match is_encoded {
        true => percent_decode(place.as_bytes()).decode_utf8().ok()?,
        false => place.into(),
    };
    let separators = |text: &str| text.matches(['/', '\\']).count();
    // An escaped separator is part of a name, and no name has one.
    let is_name = separators(&decoded) == separators(place) && !decoded.contains('\\');
    let is_text = !decoded.chars().any(char::is_control);
    let path = Path::new("/").join(&*decoded);
    let address = Address::local(&path).ok().filter(|_| is_name && is_text)?;
    (!remote::is_metalink(&address)).then_some(address)
}

/// The address without the token by which a client proves to this proxy who it is.
pub fn without_token(address: &Address) -> Address {
    let query = address.query().unwrap_or_default();
    let is_other = |part: &&str| !part.starts_with(TOKEN);
    let rest: Vec<&str> = query.split('&').filter(is_other).collect();
    match rest.len() == query.split('&').count() {
        true => address.clone(),
        false => address.with_query(Some(&*rest.join("&")).filter(|rest| !rest.is_empty())),
    }
}

/// The token of a name, as XRootD's clients write it: `authz=Bearer%20TOKEN`.
pub fn token_of(written: &str) -> Option<String> {
    let (_, query) = written.split_once('?')?;
    let value = query.split(['&', '?']).find_map(|part| part.strip_prefix(TOKEN))?;
    let value = percent_decode(value.as_bytes()).decode_utf8_lossy();
    let token = value.strip_prefix("Bearer ").unwrap_or(&value).trim().to_owned();
    Some(token)
}

/// The part of a query that is for the origin.
fn forwarded(query: &str) -> String {
    let is_kept = |part: &&str| {
        let key = part.split('=').next().unwrap_or_default();
        !part.is_empty()
            && !NOT_FORWARDED.iter().any(|own| match own.ends_with('.') {
                true => key.starts_with(own),
                false => key == *own,
            })
    };
    query.split(['&', '?']).filter(is_kept).collect::<Vec<_>>().join("&")
}

/// Whether a path has parts that servers take for another directory, however often it is escaped.
fn leads_elsewhere(place: &str) -> bool {
    let mut bytes = place.as_bytes().to_vec();
    for _ in 0..3 {
        let mut parts = bytes.split(|byte| matches!(byte, b'/' | b'\\'));
        if bytes.contains(&0) || parts.any(|part| matches!(part, b"." | b"..")) {
            return true;
        }
        let decoded: Vec<u8> = percent_decode(&bytes).collect();
        if decoded == bytes {
            return false;
        }
        bytes = decoded;
    }
    // Escaped again and again: no file is called so.
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn over(written: &str, is_encoded: bool) -> Result<String> {
        let name = Name { path: std::path::Path::new(""), written, is_encoded };
        address_of(name, None).map(|address| address.as_str().to_owned())
    }

    #[test]
    fn names_are_addresses_of_origins() {
        for (written, is_encoded, wanted) in [
            ("/root://h:2094//a/f", false, "root://h:2094//a/f"),
            ("//root://h//f?authz=x&xrd.wantprot=ztn&tried=h", false, "root://h//f?authz=x"),
            ("/root://h//f?cks.type=adler32&oss.asize=9&tpc.key=1&x=1", false, "root://h//f?x=1"),
            ("/xroots://u@h//f", false, "roots://u@h//f"),
            ("/root:/h:1094//f%20g", false, "root://h:1094//f%20g"),
            ("/root://h//f%20g", true, "root://h//f g"),
            ("/https://h/a%20b?farroot.given=0", true, "https://h/a%20b"),
            ("/davs:/h:8443/f?x=1&y", true, "https://h:8443/f?x=1&y"),
            ("/root://h//f?", false, "root://h//f"),
            ("/root://h//a..b/...", false, "root://h//a..b/..."),
            ("/file:///lustre/f%20g", false, "/lustre/f%20g"),
            ("//file:/lustre//f?authz=x", false, "/lustre//f"),
            ("/file:///lustre/f%20g%23", true, "/lustre/f g#"),
            ("/file:///etc/passwd", true, "/etc/passwd"),
            ("/fast//root://h//f", false, "root://h//f"),
            ("//fast/https:/h/f?x=1", true, "https://h/f?x=1"),
        ] {
            assert_eq!(over(written, is_encoded).unwrap(), wanted, "{written}");
        }
    }

    #[test]
    fn what_is_no_file_of_a_server_is_refused() {
        for written in [
            "",
            "/",
            "/f.root",
            "/file:///a/../b",
            "/file:///a/%2e%2e/b",
            "/file:///a\\b",
            "/file:///f|/etc/passwd",
            "/file:///f.meta4",
            "/s3://b/k",
            "/root://",
            "/root://h//a/../b",
            "/root://h//..",
            "/https://h/%2e%2E/f",
            "/https://h/%252e%252e/f",
            "/https://h/a%2f..%2fb",
            "/https://h/a%00",
            "/root://h//a%00",
            "/root://h//a\n",
            "/root://h//./f",
            "/https://h/a\\..\\b",
            "/https://h/%25252525252e",
            "/https://h/a%ff%2f..%2fb",
            "/https://h/%zz%2f%2e%2e",
            "/https://h/f#named-by=x",
            "/localfile:/f",
            "/root://h//f|/etc/passwd",
            "/root://h//f.meta4",
        ] {
            for is_encoded in [false, true] {
                let error = over(written, is_encoded).expect_err(written);
                assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{written}");
            }
        }
    }

    #[test]
    fn an_escaped_separator_is_no_part_of_a_name() {
        for written in ["/file:///a%2Fb", "/file:///a%5cb", "/file:///a%0ab", "/file:///a%ffb"] {
            assert!(over(written, true).is_err(), "{written}");
        }
    }

    #[test]
    fn a_secret_is_wanted_in_front() {
        let secret = SecretString::from("3f9c");
        assert_eq!(secret_prefix(&secret), "k-3f9c/");
        let behind = |written: &'static str| behind_secret(written, Some(&secret));
        assert_eq!(behind("/k-3f9c/root://h//f").unwrap(), "root://h//f");
        assert_eq!(behind("//k-3f9c//root://h//f").unwrap(), "root://h//f");
        let wants = |written, secret| {
            let name = Name { path: std::path::Path::new(""), written, is_encoded: false };
            wants_replica(name, secret)
        };
        assert!(
            wants("/k-3f9c/fast//root://h//f", Some(&secret)) && wants("fast/root://h//f", None)
        );
        assert!(!wants("/k-3f9c/root://h//fast/f", Some(&secret)) && !wants("/faster/f", None));
        for wrong in ["/root://h//f", "/k-3f9/root://h//f", "/k-3f9cc/x", "/3f9c/x", "/k-/x", ""] {
            let error = behind(wrong).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{wrong}");
            assert!(!error.to_string().contains("3f9c"), "{error}");
        }
    }
}
