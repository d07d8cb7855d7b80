//! Fields of a certificate, for decisions about one's own and for messages about others'.

use std::net::IpAddr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use x509_parser::extensions::{GeneralName, ParsedExtension};
use x509_parser::prelude::{FromDer, X509Certificate};

use super::names;

/// The extension of a VOMS attribute certificate.
pub(super) const VOMS: &str = "1.3.6.1.4.1.8005.100.100.5";
/// `proxyCertInfo` of RFC 3820, and of the draft before it.
const PROXY: [&str; 2] = ["1.3.6.1.5.5.7.1.14", "1.3.6.1.4.1.3536.1.222"];

/// The fields of a certificate. Nothing here is verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Certificate {
    /// Whose it is, as grid users write names.
    pub subject: String,
    /// Who signed it.
    pub issuer: String,
    /// The same two as DER.
    pub names: (Vec<u8>, Vec<u8>),
    /// From when and until when it is valid.
    pub validity: (SystemTime, SystemTime),
    /// The names of hosts in its `subjectAltName`.
    pub hosts: Vec<String>,
    /// The addresses in its `subjectAltName`.
    pub addresses: Vec<IpAddr>,
    /// Whether it may sign others: `None` where it does not state it, as certificates of version 1.
    pub authority: Option<bool>,
    /// Whether it is a proxy: by its extension, or by the names that the first proxies had.
    pub is_proxy: bool,
    /// Whether it carries attributes of a virtual organisation (VOMS).
    pub voms: bool,
    /// Its public key as DER (`SubjectPublicKeyInfo`).
    pub public_key: Vec<u8>,
}

impl Certificate {
    /// Looks at a certificate; the error says why it is none.
    pub fn parse(der: &[u8]) -> Result<Self, String> {
        let parsed = X509Certificate::from_der(der);
        let (_, parsed) = parsed.map_err(|_| "it is no X.509 certificate".to_owned())?;
        let subject = parsed.subject().as_raw().to_vec();
        let issuer = parsed.issuer().as_raw().to_vec();
        let mut hosts = Vec::new();
        let mut addresses = Vec::new();
        let mut authority = None;
        let mut is_proxy = false;
        let mut voms = false;
        for extension in parsed.extensions() {
            let kind = extension.oid.to_id_string();
            is_proxy |= PROXY.contains(&kind.as_str());
            voms |= kind == VOMS;
            match extension.parsed_extension() {
                ParsedExtension::BasicConstraints(constraints) => authority = Some(constraints.ca),
                ParsedExtension::SubjectAlternativeName(names) => {
                    for name in &names.general_names {
                        match name {
                            GeneralName::DNSName(host) => hosts.push(shown(host)),
                            GeneralName::IPAddress(bytes) => addresses.extend(address(bytes)),
                            _ => {}
                        }
                    }
                }
                _ => {}
            }
        }
        let added = names::last_common_name(&subject);
        is_proxy |= matches!(added.as_deref(), Some("proxy" | "limited proxy"));
        Ok(Certificate {
            subject: names::one_line(&subject),
            issuer: names::one_line(&issuer),
            names: (subject, issuer),
            validity: validity(&parsed),
            hosts,
            addresses,
            authority,
            is_proxy,
            voms,
            public_key: parsed.public_key().raw.to_vec(),
        })
    }

    /// Whether it is signed by its own subject, as roots are.
    pub fn is_own_issuer(&self) -> bool {
        self.names.0 == self.names.1
    }
}

fn shown(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_control()).take(255).collect()
}

fn address(bytes: &[u8]) -> Option<IpAddr> {
    match bytes.len() {
        4 => Some(<[u8; 4]>::try_from(bytes).ok()?.into()),
        16 => Some(<[u8; 16]>::try_from(bytes).ok()?.into()),
        _ => None,
    }
}

/// From when and until when a certificate is valid.
pub(super) fn validity(parsed: &X509Certificate<'_>) -> (SystemTime, SystemTime) {
    let validity = parsed.validity();
    let [from, until] = [validity.not_before, validity.not_after];
    (instant(from.timestamp()), instant(until.timestamp()))
}

/// Seconds since 1970; certificates of roots may begin before.
pub(super) fn instant(seconds: i64) -> SystemTime {
    let span = Duration::from_secs(seconds.unsigned_abs());
    let instant =
        if seconds < 0 { UNIX_EPOCH.checked_sub(span) } else { UNIX_EPOCH.checked_add(span) };
    instant.unwrap_or(UNIX_EPOCH)
}
