//! Certificates as links of a chain: the fields that decide whether one may have signed the next.

use std::time::SystemTime;

use x509_parser::extensions::ParsedExtension;
use x509_parser::prelude::{FromDer, X509Certificate};

use super::der::{BITS, Fields, IDENTIFIER, INTEGER, OCTETS, SEQUENCE, only};
use super::{certificate, names};

/// `proxyCertInfo` (RFC 3820, section 3.8).
const PROXY: &str = "1.3.6.1.5.5.7.1.14";
/// The same in the draft before it.
const PROXY_OF_DRAFT: &str = "1.3.6.1.4.1.3536.1.222";
/// Extensions that are taken into account here, or by who asks.
const KNOWN: [&str; 4] = ["2.5.29.15", "2.5.29.19", "2.5.29.37", PROXY];
/// `subjectAltName` and `issuerAltName`, which proxies lack.
const OTHER_NAMES: [&str; 2] = ["2.5.29.17", "2.5.29.18"];

/// A certificate as a link of a chain. Nothing here is verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainLink {
    /// Whose it is, as DER.
    pub subject: Vec<u8>,
    /// Who signed it, as DER.
    pub issuer: Vec<u8>,
    /// Its number, as the issuer has given it.
    pub serial: Vec<u8>,
    /// From when and until when it is valid.
    pub validity: (SystemTime, SystemTime),
    /// Its public key as DER (`SubjectPublicKeyInfo`).
    pub public_key: Vec<u8>,
    /// Whether it is a proxy.
    pub kind: LinkKind,
    /// Whether it may sign certificates of others: by `basicConstraints` or `keyUsage`.
    pub is_authority: bool,
    /// Whether its key may sign, also proxies.
    pub may_sign: bool,
    /// Whether it is for clients of TLS, or for all.
    pub is_for_clients: bool,
    /// Whether it has names besides its subject.
    pub has_other_names: bool,
    /// Whether it has a critical extension that nothing here takes into account.
    pub has_unknown: bool,
    /// The content of VOMS's extension.
    pub attributes: Option<Vec<u8>>,
}

/// Whether a certificate is a proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LinkKind {
    /// Of a user, a host or an authority.
    Plain,
    /// A proxy of RFC 3820.
    Proxy(ProxyInfo),
    /// A proxy as there were before RFC 3820: by its name, or by the draft's extension.
    OldProxy,
}

/// The content of `proxyCertInfo`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProxyInfo {
    /// Whether who does not know it has to refuse the certificate.
    pub is_critical: bool,
    /// How many proxies may follow.
    pub length_max: Option<u64>,
    /// The numbers of the language of its policy, with dots.
    pub language: String,
    /// Whether a text in that language follows.
    pub has_policy: bool,
}

/// The parts of a signed document: a certificate, an attribute certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Signed<'a> {
    /// The bytes that are signed.
    pub content: &'a [u8],
    /// The content of the algorithm's SEQUENCE.
    pub algorithm: &'a [u8],
    /// The signature's bytes.
    pub signature: &'a [u8],
}

impl ChainLink {
    /// Takes a certificate apart; `None` where it is none, or says something twice.
    pub fn parse(der: &[u8]) -> Option<Self> {
        let (rest, parsed) = X509Certificate::from_der(der).ok()?;
        if !rest.is_empty() || parsed.tbs_certificate.signature != parsed.signature_algorithm {
            return None;
        }
        let subject = parsed.subject().as_raw().to_vec();
        let mut link = ChainLink {
            issuer: parsed.issuer().as_raw().to_vec(),
            serial: parsed.raw_serial().to_vec(),
            validity: certificate::validity(&parsed),
            public_key: parsed.public_key().raw.to_vec(),
            kind: LinkKind::Plain,
            is_authority: false,
            may_sign: true,
            is_for_clients: true,
            has_other_names: false,
            has_unknown: false,
            attributes: None,
            subject,
        };
        let mut seen = Vec::new();
        for extension in parsed.extensions() {
            let kind = extension.oid.to_id_string();
            if seen.contains(&kind) {
                return None;
            }
            link.has_other_names |= OTHER_NAMES.contains(&kind.as_str());
            link.has_unknown |= extension.critical && !KNOWN.contains(&kind.as_str());
            match extension.parsed_extension() {
                ParsedExtension::BasicConstraints(constraints) => {
                    link.is_authority |= constraints.ca;
                }
                ParsedExtension::KeyUsage(usage) => {
                    link.is_authority |= usage.key_cert_sign();
                    link.may_sign = usage.digital_signature();
                }
                ParsedExtension::ExtendedKeyUsage(usage) => {
                    link.is_for_clients = usage.client_auth || usage.any;
                }
                ParsedExtension::ParseError { .. } => return None,
                _ => {}
            }
            match kind.as_str() {
                PROXY => {
                    let info = ProxyInfo::parse(extension.value, extension.critical)?;
                    link.kind = LinkKind::Proxy(info);
                }
                PROXY_OF_DRAFT => link.kind = LinkKind::OldProxy,
                certificate::VOMS => link.attributes = Some(extension.value.to_vec()),
                _ => {}
            }
            seen.push(kind);
        }
        let last = names::last_common_name(&link.subject);
        let is_of_old = matches!(last.as_deref(), Some("proxy" | "limited proxy"));
        if is_of_old && link.kind == LinkKind::Plain {
            link.kind = LinkKind::OldProxy;
        }
        Some(link)
    }
}

impl ProxyInfo {
    fn parse(value: &[u8], is_critical: bool) -> Option<Self> {
        let mut fields = Fields(only(value, SEQUENCE)?);
        let length_max = match fields.take(INTEGER) {
            None => None,
            Some(length) => Some(number(length.content)?),
        };
        let policy = fields.take(SEQUENCE)?;
        let mut parts = Fields(policy.content);
        let language = names::dotted(parts.take(IDENTIFIER)?.content);
        let has_policy = parts.take(OCTETS).is_some();
        let is_over = fields.are_over() && parts.are_over();
        is_over.then_some(ProxyInfo { is_critical, length_max, language, has_policy })
    }
}

impl<'a> Signed<'a> {
    /// The parts; `None` where there are others.
    pub fn parse(der: &'a [u8]) -> Option<Self> {
        let mut fields = Fields(only(der, SEQUENCE)?);
        let content = fields.take(SEQUENCE)?.whole;
        let algorithm = fields.take(SEQUENCE)?.content;
        let signature = fields.take(BITS)?.content.strip_prefix(&[0])?;
        fields.are_over().then_some(Signed { content, algorithm, signature })
    }
}

/// The content of a key's algorithm, and the key's bytes, of a `SubjectPublicKeyInfo`.
pub fn key_parts(public_key: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut fields = Fields(only(public_key, SEQUENCE)?);
    let algorithm = fields.take(SEQUENCE)?.content;
    let key = fields.take(BITS)?.content.strip_prefix(&[0])?;
    fields.are_over().then_some((algorithm, key))
}

/// A number that is not negative.
fn number(content: &[u8]) -> Option<u64> {
    let is_fit = content.first().is_some_and(|first| first & 0x80 == 0) && content.len() <= 8;
    is_fit.then(|| content.iter().fold(0, |sum, &byte| sum << 8 | u64::from(byte)))
}
