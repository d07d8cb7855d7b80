//! Addresses of files: `root://user@host:port//path?cgi`.

use std::fmt;

use thiserror::Error;

/// Where XRootD servers listen unless configured otherwise.
pub const DEFAULT_PORT: u16 = 1094;

/// The longest URL that is looked at, bytes.
const URL_BYTES_MAX: usize = 64 * 1024;

/// Why a text is no URL of an XRootD server.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("not an XRootD URL: {0}")]
pub struct UrlError(&'static str);

/// The address of a file or directory.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Url {
    /// `root`, `xroot`, `roots` or `xroots`.
    pub scheme: String,
    /// A password behind it is left out: the protocol has no place for one.
    pub user: Option<String>,
    /// Name or address; an IPv6 address without its brackets.
    pub host: String,
    pub port: u16,
    /// Absolute, byte for byte as it is written: nothing in it is escaped. One slash after the host
    /// only separates, so `root://h//a` and `root://h/a` both mean `/a`.
    pub path: String,
    /// The text behind `?`.
    pub cgi: Option<String>,
    /// The token that a redirection gives for the login at its target, written behind `?` as well.
    pub login_token: Option<String>,
}

/// The key of [`Url::login_token`] in a text.
const LOGIN_TOKEN: &str = "farroot.logintoken=";

impl Url {
    pub fn parse(text: &str) -> Result<Url, UrlError> {
        if text.len() > URL_BYTES_MAX {
            return Err(UrlError("too long"));
        }
        if text.chars().any(char::is_control) {
            return Err(UrlError("a control character"));
        }
        let (scheme, rest) = text.split_once("://").ok_or(UrlError("no scheme"))?;
        if !matches!(scheme, "root" | "xroot" | "roots" | "xroots") {
            return Err(UrlError("another scheme than root, xroot, roots, xroots"));
        }
        let (place, cgi) = match rest.split_once('?') {
            Some((place, cgi)) => (place, Some(cgi).filter(|cgi| !cgi.is_empty())),
            None => (rest, None),
        };
        let login_token = pairs(cgi).find_map(|pair| pair.strip_prefix(LOGIN_TOKEN));
        let login_token = login_token.map(|text| text.replace("%26", "&").replace("%25", "%"));
        let cgi = match &login_token {
            None => cgi.map(str::to_owned),
            Some(_) => {
                let kept: Vec<_> =
                    pairs(cgi).filter(|pair| !pair.starts_with(LOGIN_TOKEN)).collect();
                (!kept.is_empty()).then(|| kept.join("&"))
            }
        };
        let (authority, path) = place.split_once('/').unwrap_or((place, ""));
        let (user, address) = match authority.rsplit_once('@') {
            Some((user, address)) => (user.split(':').next().map(str::to_owned), address),
            None => (None, authority),
        };
        let (host, port) = split_address(address)?;
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        Ok(Url { scheme: scheme.to_owned(), user, host, port, path, cgi, login_token })
    }

    /// Whether the scheme insists on TLS.
    pub fn is_encrypted(&self) -> bool {
        self.scheme.ends_with('s')
    }

    /// Whether there is a token in the opaque part, which is for the server alone (`authz=`).
    pub fn has_token(&self) -> bool {
        pairs(self.cgi.as_deref()).any(|pair| pair.starts_with("authz="))
    }

    /// The path with its opaque part, as requests carry it.
    pub fn full_path(&self) -> String {
        match &self.cgi {
            Some(cgi) => format!("{}?{cgi}", self.path),
            None => self.path.clone(),
        }
    }

    /// `host:port`, with the brackets an IPv6 address needs.
    pub fn address(&self) -> String {
        if self.host.contains(':') {
            format!("[{}]:{}", self.host, self.port)
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }
}

fn split_address(address: &str) -> Result<(String, u16), UrlError> {
    let (host, port) = if let Some(inner) = address.strip_prefix('[') {
        let (host, rest) = inner.split_once(']').ok_or(UrlError("a bracket left open"))?;
        (host, rest.strip_prefix(':').or(rest.is_empty().then_some("")))
    } else {
        let (host, port) = address.split_once(':').unwrap_or((address, ""));
        (host, Some(port))
    };
    if host.is_empty() {
        return Err(UrlError("no host"));
    }
    let port = match port {
        Some("") => DEFAULT_PORT,
        Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            digits.parse().ok().filter(|&port| port != 0).ok_or(UrlError("a port out of range"))?
        }
        _ => return Err(UrlError("a port that is no number")),
    };
    Ok((host.to_owned(), port))
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://", self.scheme)?;
        if let Some(user) = &self.user {
            write!(f, "{user}@")?;
        }
        write!(f, "{}/{}", self.address(), self.full_path())?;
        match &self.login_token {
            Some(token) => {
                let mark = if self.cgi.is_some() { '&' } else { '?' };
                let token = token.replace('%', "%25").replace('&', "%26");
                write!(f, "{mark}{LOGIN_TOKEN}{token}")
            }
            None => Ok(()),
        }
    }
}

/// Joins two opaque parts; where both have a key, the newer one's values stand.
pub fn merge_cgi(older: Option<&str>, newer: Option<&str>) -> Option<String> {
    let key = |pair: &str| pair.split('=').next().unwrap_or_default().to_owned();
    let newer: Vec<_> = pairs(newer).collect();
    let kept = pairs(older).filter(|old| !newer.iter().any(|new| key(new) == key(old)));
    let all: Vec<_> = kept.chain(newer.iter().copied()).collect();
    (!all.is_empty()).then(|| all.join("&"))
}

fn pairs(cgi: Option<&str>) -> impl Iterator<Item = &str> {
    cgi.unwrap_or_default().split('&').filter(|pair| !pair.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// It was sent to the target's file system, and not with the login.
    #[test]
    fn a_token_for_the_login_is_no_part_of_the_file() {
        for cgi in ["", "a=b&c=d"] {
            let login_token = Some("k=%26&l=m".to_owned());
            let plain = Url::parse(&format!("root://host//f?{cgi}")).unwrap();
            let url = Url { login_token, ..plain.clone() };
            assert_eq!(Url::parse(&url.to_string()).unwrap(), url);
            assert_eq!(url.full_path(), plain.full_path());
        }
    }

    #[test]
    fn every_part_is_found() {
        let url = Url::parse("root://me@host.example:1095//store/f.root?a=b&c=d").unwrap();
        assert_eq!(url.user.as_deref(), Some("me"));
        assert_eq!((url.host.as_str(), url.port), ("host.example", 1095));
        assert_eq!(url.full_path(), "/store/f.root?a=b&c=d");
        assert_eq!(url.to_string(), "root://me@host.example:1095//store/f.root?a=b&c=d");
    }

    #[test]
    fn what_is_left_out_has_its_default() {
        let url = Url::parse("xroot://host").unwrap();
        assert_eq!((url.port, url.path.as_str(), &url.cgi), (DEFAULT_PORT, "/", &None));
        assert_eq!(Url::parse("root://host/a/b").unwrap().path, "/a/b");
        assert_eq!(Url::parse("root://host//a/b").unwrap().path, "/a/b");
    }

    #[test]
    fn an_ipv6_address_is_in_brackets() {
        let url = Url::parse("root://[2001:db8::1]:1095//f").unwrap();
        assert_eq!((url.host.as_str(), url.port), ("2001:db8::1", 1095));
        assert_eq!(url.to_string(), "root://[2001:db8::1]:1095//f");
        assert_eq!(Url::parse("root://[::1]//f").unwrap().port, DEFAULT_PORT);
    }

    #[test]
    fn a_path_may_itself_be_a_url() {
        let url = Url::parse("root://cache//root://origin:1//f").unwrap();
        assert_eq!(url.path, "/root://origin:1//f");
    }

    #[test]
    fn a_path_is_taken_as_it_is_written() {
        for path in ["/a%20b", "/a b", "/\u{e9}#1", "/a/../b", "/100%", "/a%2Fb", "/x|y*[z]"] {
            let url = Url::parse(&format!("root://h/{path}?k=%20")).unwrap();
            assert_eq!((&*url.path, url.cgi.as_deref()), (path, Some("k=%20")));
        }
    }

    #[test]
    fn a_password_is_left_out() {
        let url = Url::parse("root://me:secret@h//f").unwrap();
        assert_eq!(url.to_string(), "root://me@h:1094//f");
    }

    #[test]
    fn what_is_no_url_is_an_error() {
        for text in [
            "",
            "host//f",
            "http://host/f",
            "root://",
            "root:///f",
            "root://:1094//f",
            "root://host:0//f",
            "root://host:65536//f",
            "root://host:+1//f",
            "root://host:x//f",
            "root://[::1//f",
            "root://[::1]x//f",
            "root://host//f\n",
        ] {
            assert!(Url::parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn merging_prefers_the_newer_value() {
        assert_eq!(merge_cgi(Some("a=1&b=2"), Some("b=3&c=4")).as_deref(), Some("a=1&b=3&c=4"));
        assert_eq!(merge_cgi(None, Some("a=1")).as_deref(), Some("a=1"));
        assert_eq!(merge_cgi(Some(""), None), None);
    }
}
