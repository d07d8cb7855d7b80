//! The HTTP proxy between this machine and a server, as in the variables that curl reads.

use core::net::IpAddr;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::header::HeaderValue;
use percent_encoding::percent_decode_str;
use secrecy::{ExposeSecret, SecretString};
use url::Url;

use crate::error::{Error, ErrorKind, Result};

/// The port of a proxy that names none, as curl has it.
const USUAL_PORT: u16 = 1080;
/// Which proxy is used for which server.
#[derive(Clone, Default, PartialEq)]
pub struct Proxies {
    /// For `http` and for `https`; empty: none.
    http: String,
    https: String,
    /// Servers that are reached without one.
    exceptions: String,
}

impl fmt::Debug for Proxies {
    /// Without passwords.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Proxies").field(&self.shown()).finish()
    }
}

impl Proxies {
    /// The proxies that the variables of the environment name, by the rules of curl: `http_proxy`
    /// in lower case only, since clients of a CGI server choose its variable `HTTP_PROXY`.
    pub fn of_variables(variable: impl Fn(&str) -> Option<String>) -> Self {
        let first = |names: &[&str]| {
            let mut said = names.iter().filter_map(|name| variable(name));
            said.find(|text| !text.trim().is_empty()).unwrap_or_default()
        };
        Proxies {
            http: first(&["http_proxy", "all_proxy", "ALL_PROXY"]),
            https: first(&["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]),
            exceptions: first(&["no_proxy", "NO_PROXY"]),
        }
    }

    /// One for all servers but those of the variables; `none` is none.
    pub fn set(&mut self, address: &str) -> Option<()> {
        let address = if address == "none" { "" } else { address };
        if !address.is_empty() {
            Proxy::parse(address).ok()?;
        }
        (self.http, self.https) = (address.to_owned(), address.to_owned());
        Some(())
    }

    /// As [`set`](Self::set) takes it, without a password.
    pub fn shown(&self) -> String {
        match Proxy::parse(&self.https) {
            _ if self.https.is_empty() && self.http.is_empty() => "none".to_owned(),
            Ok(proxy) => proxy.to_string(),
            Err(_) => "unusable".to_owned(),
        }
    }

    /// The proxy for a server; `None` where it is reached without.
    ///
    /// # Errors
    /// `InvalidArgument` where the named proxy cannot be used.
    pub fn for_server(&self, is_encrypted: bool, host: &str, port: u16) -> Result<Option<Proxy>> {
        let address = if is_encrypted { &self.https } else { &self.http };
        if address.is_empty() || is_excepted(&self.exceptions, host, port) {
            return Ok(None);
        }
        Proxy::parse(address).map(Some)
    }
}

/// Whether a list like `no_proxy` has a server: names with all below them, addresses, networks as
/// `10.0.0.0/8`, each with a port where it names one, or `*`.
fn is_excepted(list: &str, host: &str, port: u16) -> bool {
    let host = host.trim_matches(['[', ']']).trim_end_matches('.').to_ascii_lowercase();
    let number: Option<IpAddr> = host.parse().ok();
    let mut entries = list.split(|letter: char| letter == ',' || letter.is_whitespace());
    entries.any(|entry| {
        let entry = entry.trim().to_ascii_lowercase();
        if entry.is_empty() {
            return false;
        }
        if entry == "*" {
            return true;
        }
        let (name, its_port) = match entry.rsplit_once(':') {
            Some((name, digits)) if !name.contains(':') || name.ends_with(']') => {
                (name, digits.parse::<u16>().ok())
            }
            _ => (&*entry, None),
        };
        if its_port.is_some_and(|its| its != port) {
            return false;
        }
        let name = name.trim_matches(['[', ']']);
        match number {
            Some(number) => is_in_network(name, number),
            None => {
                let domain = name.trim_start_matches('.').trim_end_matches('.');
                let is_below = |rest: &str| rest.is_empty() || rest.ends_with('.');
                !domain.is_empty() && host.strip_suffix(domain).is_some_and(is_below)
            }
        }
    })
}

/// Whether an address is another, or in a network.
fn is_in_network(network: &str, number: IpAddr) -> bool {
    let (base, bits) = match network.split_once('/') {
        Some((base, bits)) => (base, bits.parse::<u32>().ok()),
        None => (network, Some(128)),
    };
    let Ok(base) = base.trim_matches(['[', ']']).parse::<IpAddr>() else { return false };
    let Some(bits) = bits else { return false };
    let shifted = |number: u128, width: u32| number.checked_shr(width - bits.min(width));
    match (base, number) {
        (IpAddr::V4(base), IpAddr::V4(number)) => {
            let of = |one: u32| shifted(u128::from(one), 32);
            of(base.to_bits()) == of(number.to_bits())
        }
        (IpAddr::V6(base), IpAddr::V6(number)) => {
            shifted(base.to_bits(), 128) == shifted(number.to_bits(), 128)
        }
        _ => false,
    }
}

/// A proxy.
#[derive(Debug, Clone)]
pub struct Proxy {
    pub(crate) host: String,
    pub(crate) port: u16,
    /// We speak with it within TLS.
    pub is_encrypted: bool,
    /// The value of `Proxy-Authorization`.
    pub(crate) credentials: Option<SecretString>,
}

impl fmt::Display for Proxy {
    /// Without user and password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.is_encrypted { "https" } else { "http" };
        write!(f, "{scheme}://{}:{}", self.host, self.port)
    }
}

impl Proxy {
    /// # Errors
    /// `InvalidArgument` for a text that is no address of a proxy, `Unsupported` for kinds of
    /// proxies that are not known.
    pub fn parse(text: &str) -> Result<Proxy> {
        let advice = "a proxy is http://HOST:PORT, or http://USER:PASSWORD@HOST:PORT";
        // The text may hold a password.
        let wrong =
            |message: &str| Error::new(ErrorKind::InvalidArgument, message).with_advice(advice);
        let text = text.trim();
        let whole = match text.contains("://") {
            true => text.to_owned(),
            false => format!("http://{text}"),
        };
        let url = Url::parse(&whole).map_err(|_| wrong("the proxy that is set is no address"))?;
        let is_encrypted = match url.scheme() {
            "http" => false,
            "https" => true,
            other => {
                let message = format!("proxies of kind {other}:// are not supported");
                return Err(Error::new(ErrorKind::Unsupported, message).with_advice(advice));
            }
        };
        let host = url.host_str().ok_or_else(|| wrong("the proxy that is set has no host"))?;
        // `Url` takes many more letters, as `*` of a list of exceptions.
        let is_letter = |letter: char| letter.is_ascii_alphanumeric() || "-._".contains(letter);
        if matches!(url.host(), Some(url::Host::Domain(name)) if !name.chars().all(is_letter)) {
            return Err(wrong("the proxy that is set names no host"));
        }
        let usual = if is_encrypted { 443 } else { USUAL_PORT };
        // `Url` leaves out a port that is that of the scheme.
        let is_said = whole.trim_end_matches('/').ends_with(":80");
        let port = url.port().unwrap_or(if is_said && !is_encrypted { 80 } else { usual });
        let is_known = !url.username().is_empty() || url.password().is_some();
        let credentials = is_known.then(|| {
            let mut both: Vec<u8> = percent_decode_str(url.username()).collect();
            both.push(b':');
            both.extend(percent_decode_str(url.password().unwrap_or_default()));
            format!("Basic {}", STANDARD.encode(both)).into()
        });
        Ok(Proxy { host: host.to_owned(), port, is_encrypted, credentials })
    }

    /// Host and port, as a place that a TLS session is with.
    pub fn place(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }

    /// The credentials for the proxy.
    pub fn authorization(&self) -> Option<HeaderValue> {
        let mut value = HeaderValue::from_str(self.credentials.as_ref()?.expose_secret()).ok()?;
        value.set_sensitive(true);
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variables: &[(&str, &str)]) -> Proxies {
        let find = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        Proxies::of_variables(find)
    }

    fn used(proxies: &Proxies, is_encrypted: bool, host: &str) -> Option<String> {
        let port = if is_encrypted { 443 } else { 80 };
        proxies.for_server(is_encrypted, host, port).unwrap().map(|proxy| proxy.to_string())
    }

    #[test]
    fn variables_count_as_for_curl() {
        let proxies = of(&[("http_proxy", "p:3128"), ("HTTPS_PROXY", "https://u:p%40@q")]);
        assert_eq!(used(&proxies, false, "h").as_deref(), Some("http://p:3128"));
        assert_eq!(used(&proxies, true, "h").as_deref(), Some("https://q:443"));
        let proxy = proxies.for_server(true, "h", 443).unwrap().unwrap();
        assert_eq!(proxy.authorization().unwrap(), "Basic dTpwQA==");
        assert!(!format!("{proxy:?}").contains("dTpw"));
        let proxies = of(&[("HTTP_PROXY", "p:1"), ("ALL_PROXY", "q"), ("all_proxy", " ")]);
        assert_eq!(used(&proxies, false, "h").as_deref(), Some("http://q:1080"));
        assert_eq!(
            used(&of(&[("http_proxy", "http://p:80/")]), false, "h").unwrap(),
            "http://p:80"
        );
        assert_eq!(used(&of(&[]), true, "h"), None);
        let socks = of(&[("all_proxy", "socks5://p:1")]).for_server(true, "h", 1).unwrap_err();
        assert_eq!(socks.kind(), ErrorKind::Unsupported);
        for none in ["*", "http://*:3128", "a,b", "p!"] {
            let error = of(&[("all_proxy", none)]).for_server(true, "h", 1).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{none}");
        }
        let secret = of(&[("all_proxy", "http://user:secret@[p")]).for_server(true, "h", 1);
        assert!(!secret.unwrap_err().to_string().contains("secret"));
    }

    #[test]
    fn exceptions_are_names_with_all_below_numbers_and_networks() {
        let list =
            "localhost, .cern.ch example.org:8443,10.0.0.0/8,192.168.1.7,[::1],fd00::/8,a:80";
        for (host, port, is) in [
            ("localhost", 1, true),
            ("eos.cern.ch", 443, true),
            ("CERN.CH.", 443, true),
            ("notcern.ch", 443, false),
            ("cern.ch.evil", 443, false),
            ("www.example.org", 8443, true),
            ("example.org", 443, false),
            ("10.20.30.40", 1, true),
            ("11.0.0.1", 1, false),
            ("192.168.1.7", 1, true),
            ("192.168.1.70", 1, false),
            ("[::1]", 1, true),
            ("::2", 1, false),
            ("fd12::5", 1, true),
            ("a", 80, true),
            ("a", 81, false),
        ] {
            assert_eq!(is_excepted(list, host, port), is, "{host}:{port}");
        }
        assert!(is_excepted("*", "h", 1) && !is_excepted("", "h", 1));
        assert!(is_excepted("0.0.0.0/0", "1.2.3.4", 1));
    }
}
