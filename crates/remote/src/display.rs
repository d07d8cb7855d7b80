//! Text as it may leave this program: on a terminal, in an error, in a log.
//!
//! Names, titles and messages come from others. A control character among them may clear the
//! screen, change the window's title or make a line look like another, and so may marks of the
//! direction of writing. And whatever names an address may name with it who may read there: a
//! password, a token or a signature is left out wherever it stands in a text.

use std::borrow::Cow;
use std::fmt::Write;

use crate::proofs::is_proof;

/// Behind the text of an address that another one led to: the origin that the caller has named. A
/// fragment, so that it is never sent, and by which a caller could only give up their own rights.
pub(crate) const MEANT: &str = "#named-by=";
/// Ends an address in a text.
const ENDS: [char; 6] = ['"', '\'', '<', '>', '|', '`'];
/// The text after each is a secret, also where it is in no address.
const SECRETS: [&str; 24] = [
    "authz=",
    "access_token=",
    "refresh_token=",
    "id_token=",
    "bearer_token=",
    "token=",
    "logintoken=",
    "xrdhttptk=",
    "macaroon=",
    "password=",
    "passwd=",
    "secret=",
    "signature=",
    "sig=",
    "api_key=",
    "apikey=",
    "awsaccesskeyid=",
    "x-amz-signature=",
    "x-amz-security-token=",
    "x-amz-credential=",
    "x-goog-signature=",
    "x-goog-credential=",
    "authorization: ",
    "bearer%20",
];
/// Tokens (RFC 7519) begin so: `{"` in base64.
const TOKEN_BEGINS: &str = "eyJ";
/// No token is as short.
const TOKEN_LEN_MIN: usize = 20;

/// Without passwords, tokens and signatures.
pub fn without_secrets(text: &str) -> Cow<'_, str> {
    let mut text = Cow::Borrowed(text);
    for hide in [hide_in_addresses, hide_by_names, hide_tokens] {
        if let Some(hidden) = hide(&text) {
            text = Cow::Owned(hidden);
        }
    }
    text
}

/// Query keys whose values choose how and where to read, and give no access.
const QUERY_SHOWN: [&str; 8] =
    ["xrdcl.", "xrd.", "tried", "triedrc", "cms.", "svc", "filetype", "version"];

/// Begins the names of the parameters by which addresses carry what a call has chosen.
const OWN_PARAMETERS: &str = "farroot.";

/// A text that may be an address, without its secrets and without parameters that no caller wrote.
pub(crate) fn shown_address(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://").filter(|(scheme, _)| *scheme != "file")
    else {
        return text.to_owned();
    };
    // In the path of an XRootD server it is a name as any other.
    let is_http = !scheme.to_ascii_lowercase().contains("root");
    let rest = rest.split(MEANT).next().filter(|_| is_http).unwrap_or(rest);
    let host = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, rest) = rest.split_at(host);
    let authority = match authority.rsplit_once('@') {
        Some((user, host)) => {
            format!("{}@{host}", user.split(':').next().unwrap_or_default())
        }
        None => authority.to_owned(),
    };
    let (path, query) = match rest.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (rest, None),
    };
    let query = query.map(|query| {
        // The library has added its own parameters, which say how a call reads.
        let written = query.split('&').filter(|part| !part.starts_with(OWN_PARAMETERS));
        let parts: Vec<String> = written.map(shown_parameter).collect();
        parts.join("&")
    });
    let query = query.filter(|query| !query.is_empty()).map(|query| format!("?{query}"));
    format!("{scheme}://{authority}{path}{}", query.unwrap_or_default())
}

fn shown_parameter(parameter: &str) -> String {
    let Some((key, value)) = parameter.split_once('=') else { return "...".into() };
    let is_shown = QUERY_SHOWN.iter().any(|shown| match shown.strip_suffix('.') {
        Some(_) => key.starts_with(shown),
        None => key == *shown,
    });
    if is_shown && !is_proof(parameter) { format!("{key}={value}") } else { format!("{key}=...") }
}

/// Hides the secrets of addresses in a text.
fn hide_in_addresses(text: &str) -> Option<String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let is_of_scheme = |letter: char| letter.is_ascii_alphanumeric() || "+.-".contains(letter);
        let begin = rest[..at].trim_end_matches(is_of_scheme).len();
        let ends = |letter: char| letter.is_whitespace() || ENDS.contains(&letter);
        let end = rest[at..].find(ends).map_or(rest.len(), |length| at + length);
        // The punctuation of a sentence behind an address is none of it.
        let end = begin + rest[begin..end].trim_end_matches([';', ',', ':', ')']).len();
        let end = end.max(at + 3);
        out.push_str(&rest[..begin]);
        out.push_str(&shown_address(&rest[begin..end]));
        rest = &rest[end..];
    }
    out.push_str(rest);
    (out != text).then_some(out)
}

fn hide_by_names(text: &str) -> Option<String> {
    let lower = text.to_ascii_lowercase();
    let is_of_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    // A longer name is another one, and == no assignment.
    let is_whole = |at: usize, name: &str| {
        !lower[..at].ends_with(is_of_name) && !lower[at + name.len()..].starts_with('=')
    };
    let of_name = |name: &&str| {
        let places = lower.match_indices(name).filter(|(at, name)| is_whole(*at, name));
        places.map(|(at, name)| at + name.len()).collect::<Vec<_>>()
    };
    let mut found: Vec<usize> = SECRETS.iter().flat_map(of_name).collect();
    found.sort_unstable();
    let ends =
        |letter: char| letter.is_whitespace() || ENDS.contains(&letter) || "&;,)".contains(letter);
    replaced(text, &found, |rest| {
        // A header has its kind before the secret.
        let kind = ["bearer ", "basic "].iter().find(|kind| {
            rest.get(..kind.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(kind))
        });
        let kind = kind.map_or(0, |kind| kind.len());
        kind + rest[kind..].find(ends).unwrap_or(rest.len() - kind)
    })
}

fn hide_tokens(text: &str) -> Option<String> {
    let found: Vec<usize> = text.match_indices(TOKEN_BEGINS).map(|(at, _)| at).collect();
    let is_of_token = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    replaced(text, &found, |rest| {
        let length = rest.find(|letter| !is_of_token(letter)).unwrap_or(rest.len());
        let is_token = length >= TOKEN_LEN_MIN && rest[..length].contains('.');
        if is_token { length } else { 0 }
    })
}

/// With dots for so many bytes at each of these places, ascending.
fn replaced(text: &str, places: &[usize], length: impl Fn(&str) -> usize) -> Option<String> {
    let mut out = String::new();
    let mut done = 0;
    for at in places.iter().copied() {
        let length = if at < done { 0 } else { length(&text[at..]) };
        if length > 0 {
            out.push_str(&text[done..at]);
            out.push_str("...");
            done = at + length;
        }
    }
    out.push_str(&text[done..]);
    (out != text).then_some(out)
}

/// Without secrets, and with an escape sequence for each control character, line ends among them.
pub fn shown(text: &str) -> Cow<'_, str> {
    escaped(text, is_control)
}

/// The same of text of several lines.
pub fn shown_lines(text: &str) -> Cow<'_, str> {
    escaped(text, |letter| letter != '\n' && is_control(letter))
}

fn escaped(text: &str, is_escaped: impl Fn(char) -> bool) -> Cow<'_, str> {
    let text = without_secrets(text);
    if !text.contains(&is_escaped) {
        return text;
    }
    let mut out = String::with_capacity(text.len() + 8);
    for letter in text.chars() {
        // Writing to a string cannot fail.
        let _ = match letter {
            letter if !is_escaped(letter) => write!(out, "{letter}"),
            '\n' | '\r' | '\t' => write!(out, "{}", letter.escape_default()),
            '\0'..='\u{ff}' => write!(out, "\\x{:02x}", u32::from(letter)),
            _ => write!(out, "\\u{:04x}", u32::from(letter)),
        };
    }
    out.into()
}

/// Control characters (C0, C1), ends of lines and paragraphs, and marks of direction.
fn is_control(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{61c}' | '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each verb had hidden the secrets of the addresses that it thought of.
    #[test]
    fn no_text_has_a_secret_that_an_address_had() {
        let token = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhZGEifQ.c2VjcmV0";
        for (text, expected) in [
            (
                "no file matches root://h//no*.root?authz=SECRET",
                "no file matches root://h//no*.root?authz=...",
            ),
            (
                "root://a:SECRET@h//f?authz=SECRET|https://h/g?sig=SECRET&tried=b",
                "root://a@h//f?authz=...|https://h/g?sig=...&tried=b",
            ),
            (
                "it is there; in root://h//d?farroot.left_out=token&farroot.given=SECRET",
                "it is there; in root://h//d",
            ),
            ("in https://h/f?x=SECRET&farroot.near=on&svc=1", "in https://h/f?x=...&svc=1"),
            ("<Tree 't' in 'root://h//f?authz=SECRET'>", "<Tree 't' in 'root://h//f?authz=...'>"),
            (
                "it failed; in https://h/f?x-y=SECRET; try again",
                "it failed; in https://h/f?x-y=...; try again",
            ),
            ("GET /f?a=1&authz=SECRET HTTP/1.1", "GET /f?a=1&authz=... HTTP/1.1"),
            ("Authorization: Bearer SECRET", "Authorization: ..."),
            ("authz=Bearer%20SECRET", "authz=..."),
            (
                "sent on with ?farroot.logintoken=SECRET here",
                "sent on with ?farroot.logintoken=... here",
            ),
            ("BEARER_TOKEN=SECRET X=1", "BEARER_TOKEN=... X=1"),
            ("root://h//f?xrd.authz=SECRET", "root://h//f?xrd.authz=..."),
            ("give token= a path", "give token= a path"),
            ("nsig=1 && sig==2 && my_token=3", "nsig=1 && sig==2 && my_token=3"),
            (
                "root://h//f?authz=...; in root://h//f?authz=...",
                "root://h//f?authz=...; in root://h//f?authz=...",
            ),
        ] {
            assert_eq!(without_secrets(text), expected);
            assert_eq!(without_secrets(expected), expected, "nothing more is hidden");
        }
        assert_eq!(shown(&format!("a\n{token} b")), "a\\n... b");
        for plain in ["Muon_pt", "a://", "://", "see https://root.cern/doc/", "eyJ", "/data/f?x=1"]
        {
            assert!(matches!(without_secrets(plain), Cow::Borrowed(_)), "{plain}");
        }
    }

    #[test]
    fn nothing_reaches_a_terminal_but_what_can_be_seen() {
        let text = "a\x1b]0;x\x07\r\n\tb\u{9b}2J\u{202e}c\0\u{2066}µ\\";
        let expected = r"a\x1b]0;x\x07\r\n\tb\x9b2J\u202ec\x00\u2066µ\";
        assert_eq!(shown(text), expected);
        assert_eq!(shown_lines("a\nb\x1b"), "a\nb\\x1b");
        assert!(matches!(shown("Muon_pt µ"), Cow::Borrowed(_)));
    }
}
