//! Attribute certificates of VOMS (RFC 5755, and the VOMS attribute certificate profile, OGF
//! GFD.182): the groups and roles that a server vouches for, in an extension of a proxy.

use std::time::SystemTime;

use x509_parser::prelude::FromDer;
use x509_parser::time::ASN1Time;

use super::certificate::instant;
use super::chain::Signed;
use super::der::{
    BITS, BOOLEAN, Element, Fields, IDENTIFIER, INTEGER, OCTETS, SEQUENCE, SET, TIME, all, element,
    only,
};
use super::names::dotted;

/// The first choice of a SEQUENCE that has several.
const FIRST: u8 = 0xa0;
/// A `GeneralName` that is a name of the directory, and one that is an address.
const DIRECTORY_NAME: u8 = 0xa4;
const ADDRESS: u8 = 0x86;

/// The attribute with groups and roles.
const GROUPS: &str = "1.3.6.1.4.1.8005.100.100.4";
/// The extension with the certificates of the server.
const CERTIFICATES: &str = "1.3.6.1.4.1.8005.100.100.10";
/// The extension with the servers that it is for.
const TARGETS: &str = "2.5.29.55";
/// Extensions that may be critical: the two above, generic attributes, and two that say where
/// signatures are to be looked up.
const KNOWN: [&str; 5] =
    [CERTIFICATES, TARGETS, "1.3.6.1.4.1.8005.100.100.11", "2.5.29.35", "2.5.29.56"];

/// Attribute certificates, groups of one, and certificates in it, at the most.
const CERTIFICATES_MAX: usize = 16;
const GROUPS_MAX: usize = 1000;

/// An attribute certificate. Nothing here is verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttributeCertificate {
    /// All of it, which [`Signed`] takes apart.
    pub der: Vec<u8>,
    /// The name of the holder, or of who signed the holder's certificate, as DER.
    pub holder: Vec<u8>,
    /// The number of the holder's certificate.
    pub holder_serial: Vec<u8>,
    /// The name of the server that signed it, as DER.
    pub issuer: Vec<u8>,
    /// From when and until when it is valid.
    pub validity: (SystemTime, SystemTime),
    /// The virtual organisation.
    pub organisation: String,
    /// The name of the server's host.
    pub host: String,
    /// Groups and roles as they are written: `/cms/Role=NULL/Capability=NULL`.
    pub groups: Vec<String>,
    /// Certificates of the server, its own first, as DER.
    pub certificates: Vec<Vec<u8>>,
    /// It is for some servers only.
    pub has_targets: bool,
    /// It has a critical extension that nothing here takes into account.
    pub has_unknown: bool,
}

/// The attribute certificates of a proxy's extension; `None` where there are other bytes.
pub fn attribute_certificates(extension: &[u8]) -> Option<Vec<AttributeCertificate>> {
    let outer = all(only(extension, SEQUENCE)?)?;
    let mut found = Vec::new();
    for one in outer {
        // VOMS has one more SEQUENCE around all of them than its profile.
        let inner = match Signed::parse(one.whole) {
            Some(_) => vec![one],
            None => all(only(one.whole, SEQUENCE)?)?,
        };
        for one in inner {
            if found.len() == CERTIFICATES_MAX {
                return None;
            }
            found.push(AttributeCertificate::parse(one.whole)?);
        }
    }
    (!found.is_empty()).then_some(found)
}

impl AttributeCertificate {
    fn parse(der: &[u8]) -> Option<Self> {
        let signed = Signed::parse(der)?;
        let mut fields = Fields(only(signed.content, SEQUENCE)?);
        // Version 2.
        if fields.take(INTEGER)?.content != [1] {
            return None;
        }
        let (holder, holder_serial) = holder(fields.take(SEQUENCE)?.content)?;
        let issuer = issuer(&mut fields)?;
        if fields.take(SEQUENCE)?.content != signed.algorithm {
            return None;
        }
        fields.take(INTEGER)?;
        let mut times = Fields(fields.take(SEQUENCE)?.content);
        let validity = (time(&mut times)?, time(&mut times)?);
        let (address, groups) = groups(fields.take(SEQUENCE)?.content)?;
        let (organisation, host) = authority(&address)?;
        fields.take(BITS);
        let mut one = AttributeCertificate {
            der: der.to_vec(),
            holder,
            holder_serial,
            issuer,
            validity,
            organisation,
            host,
            groups,
            certificates: Vec::new(),
            has_targets: false,
            has_unknown: false,
        };
        if let Some(extensions) = fields.take(SEQUENCE) {
            one.take_extensions(extensions.content)?;
        }
        fields.are_over().then_some(one)
    }

    fn take_extensions(&mut self, extensions: &[u8]) -> Option<()> {
        for extension in all(extensions)? {
            let mut parts = Fields(extension.content);
            let kind = dotted(parts.take(IDENTIFIER)?.content);
            let is_critical = parts.take(BOOLEAN).is_some_and(|is| is.content != [0]);
            let value = parts.take(OCTETS)?.content;
            self.has_targets |= kind == TARGETS;
            self.has_unknown |= is_critical && !KNOWN.contains(&kind.as_str());
            if kind == CERTIFICATES {
                let certificates = all(only(only(value, SEQUENCE)?, SEQUENCE)?)?;
                if certificates.len() > CERTIFICATES_MAX || !self.certificates.is_empty() {
                    return None;
                }
                self.certificates = certificates.iter().map(|one| one.whole.to_vec()).collect();
            }
        }
        Some(())
    }
}

/// A name and a number: `baseCertificateID`.
fn holder(content: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let mut choices = Fields(content);
    let mut parts = Fields(choices.take(FIRST)?.content);
    let name = directory_name(parts.take(SEQUENCE)?.content)?;
    let serial = parts.take(INTEGER)?.content.to_vec();
    Some((name, serial))
}

/// The name of who signed, in one of two forms.
fn issuer(fields: &mut Fields<'_>) -> Option<Vec<u8>> {
    match fields.take(FIRST) {
        Some(form) => directory_name(Fields(form.content).take(SEQUENCE)?.content),
        None => directory_name(fields.take(SEQUENCE)?.content),
    }
}

/// The one name of `GeneralNames`, as DER.
fn directory_name(names: &[u8]) -> Option<Vec<u8>> {
    Some(element(only(names, DIRECTORY_NAME)?)?.whole.to_vec())
}

fn time(fields: &mut Fields<'_>) -> Option<SystemTime> {
    let (_, time) = ASN1Time::from_der(fields.take(TIME)?.whole).ok()?;
    Some(instant(time.timestamp()))
}

/// The server's address, and the groups, of the one attribute that has them (`IetfAttrSyntax`).
fn groups(attributes: &[u8]) -> Option<(String, Vec<String>)> {
    let mut found = None;
    for attribute in all(attributes)? {
        let mut parts = Fields(attribute.content);
        if dotted(parts.take(IDENTIFIER)?.content) != GROUPS {
            continue;
        }
        let mut parts = Fields(only(parts.take(SET)?.content, SEQUENCE)?);
        let names = all(parts.take(FIRST)?.content)?;
        let address = names.iter().find_map(|name| match name.tag {
            ADDRESS => text(name.content),
            SEQUENCE => text(only(name.content, ADDRESS)?),
            _ => None,
        });
        let groups: Vec<Element<'_>> = all(parts.take(SEQUENCE)?.content)?;
        if groups.len() > GROUPS_MAX || found.is_some() {
            return None;
        }
        let name = |one: &Element<'_>| (one.tag == OCTETS).then(|| text(one.content))?;
        found = Some((address?, groups.iter().map(name).collect::<Option<Vec<_>>>()?));
    }
    found
}

/// Text without control characters.
fn text(bytes: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(bytes).ok()?;
    (!text.contains(char::is_control)).then(|| text.to_owned())
}

/// The organisation and the host of `cms://voms.example:15002`.
fn authority(address: &str) -> Option<(String, String)> {
    let (organisation, server) = address.split_once("://")?;
    let host = server.rsplit_once(':').map_or(server, |(host, _)| host);
    Some((organisation.to_owned(), host.to_owned()))
}

/// A group or role without the parts that are `NULL`: `/cms/Role=production`.
pub fn plain_group(name: &str) -> &str {
    let name = name.strip_suffix("/Capability=NULL").unwrap_or(name);
    name.strip_suffix("/Role=NULL").unwrap_or(name)
}

/// The servers of an organisation in a file `HOST.lsc`: names of certificates as lines, each with
/// the name of who signed it; several chains have lines of dashes between them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerNames(Vec<Vec<String>>);

impl ServerNames {
    /// Reads a file.
    pub fn parse(text: &str) -> Self {
        let lines = text.lines().map(str::trim);
        let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
        let mut chains = vec![Vec::new()];
        for line in lines {
            match (line.starts_with('-'), chains.last_mut()) {
                (false, Some(chain)) => chain.push(super::comparable(line)),
                _ => chains.push(Vec::new()),
            }
        }
        ServerNames(chains)
    }

    /// Whether certificates, given as lines of their subjects and issuers, the server's own first,
    /// are those of one chain. More certificates may follow.
    pub fn have(&self, certificates: &[(String, String)]) -> bool {
        let shown = certificates.iter().flat_map(|(subject, issuer)| [subject, issuer]);
        let shown: Vec<String> = shown.map(|line| super::comparable(line)).collect();
        let is_it = |chain: &Vec<String>| {
            chain.len() >= 2 && chain.len().is_multiple_of(2) && shown.starts_with(chain)
        };
        self.0.iter().any(is_it)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{ChainLink, LinkKind, are_same, certificates, one_line};
    use super::*;

    /// A proxy as `voms-proxy-fake` 2.1.0 of VOMS makes it, the user's certificate, the authority.
    fn recorded() -> Vec<Vec<u8>> {
        certificates(include_bytes!("../../samples/voms.pem"))
    }

    fn extension() -> Vec<u8> {
        ChainLink::parse(&recorded()[0]).unwrap().attributes.unwrap()
    }

    #[test]
    fn what_voms_writes_is_read() {
        let recorded = recorded();
        let [proxy, user] = [0, 1].map(|at| ChainLink::parse(&recorded[at]).unwrap());
        let LinkKind::Proxy(info) = &proxy.kind else { panic!("{proxy:?}") };
        assert!(info.is_critical && !info.has_policy && !proxy.has_unknown);
        assert_eq!((info.length_max, info.language.as_str()), (Some(1), "1.3.6.1.5.5.7.21.1"));
        assert!(super::super::is_extension(&proxy.subject, &user.subject));
        let found = attribute_certificates(&extension()).unwrap();
        let [one] = &found[..] else { panic!("{found:?}") };
        assert_eq!((&*one.organisation, &*one.host), ("cms", "voms.example.org"));
        let groups: Vec<&str> = one.groups.iter().map(|group| plain_group(group)).collect();
        assert_eq!(groups, ["/cms/Role=production", "/cms", "/cms/uscms"]);
        assert!(are_same(&one.holder, &user.subject) && one.holder_serial == user.serial);
        assert_eq!(one_line(&one.issuer), "/DC=example/CN=host");
        let server = ChainLink::parse(&one.certificates[0]).unwrap();
        assert!(server.subject == one.issuer && one.certificates.len() == 1);
        assert!(!one.has_targets && !one.has_unknown && one.validity.0 < one.validity.1);
    }

    /// Every beginning, and every byte changed, is read or refused, and takes no more memory than
    /// it has bytes.
    #[test]
    fn malformed_bytes_are_refused() {
        let recorded = recorded();
        let extension = extension();
        for end in 0..extension.len() {
            assert_eq!(attribute_certificates(&extension[..end]), None, "{end}");
        }
        let longer = [&extension[..], &[0]].concat();
        assert_eq!(attribute_certificates(&longer), None);
        for at in 0..extension.len() {
            for bit in [0x01, 0x80, 0xff] {
                let mut changed = extension.clone();
                changed[at] ^= bit;
                for one in attribute_certificates(&changed).unwrap_or_default() {
                    assert!(one.der.len() <= changed.len() && one.groups.len() <= GROUPS_MAX);
                }
            }
        }
        for der in &recorded {
            for at in 0..der.len() {
                assert_eq!(ChainLink::parse(&der[..at]), None, "{at}");
                for bit in [0x01, 0x80, 0xff] {
                    let mut changed = der.clone();
                    changed[at] ^= bit;
                    let _ = (ChainLink::parse(&changed), Signed::parse(&changed));
                }
            }
        }
    }

    #[test]
    fn groups_lose_the_parts_that_say_nothing() {
        for (name, plain) in [
            ("/cms", "/cms"),
            ("/cms/Role=NULL/Capability=NULL", "/cms"),
            ("/cms/uscms/Role=NULL", "/cms/uscms"),
            ("/cms/Role=production/Capability=NULL", "/cms/Role=production"),
            ("/cms/Role=NULLs", "/cms/Role=NULLs"),
        ] {
            assert_eq!(plain_group(name), plain);
        }
    }

    #[test]
    fn a_server_has_the_names_of_its_file() {
        let line = |text: &str| text.to_owned();
        let one = (line("/O=x/CN=voms"), line("/O=x/CN=CA"));
        let middle = (line("/O=x/CN=CA"), line("/O=x/emailAddress=r@x/CN=Root"));
        for (text, shown, wanted) in [
            ("/O=x/CN=voms\n/O=x/CN=CA\n", vec![one.clone()], true),
            ("/O=x/CN=voms\n/O=x/CN=CA\n", vec![one.clone(), middle.clone()], true),
            (
                "/O=x/CN=voms\n/O=x/CN=CA\n/O=x/CN=CA\n/O=x/Email=r@x/CN=Root\n",
                vec![one.clone(), middle.clone()],
                true,
            ),
            (
                "/O=x/CN=voms\n/O=x/CN=CA\n/O=x/CN=CA\n/O=x/Email=r@x/CN=Root\n",
                vec![one.clone()],
                false,
            ),
            (
                "/O=x/CN=a\n/O=x/CN=CA\n---NEXT CHAIN---\n/O=x/CN=voms\n/O=x/CN=CA",
                vec![one.clone()],
                true,
            ),
            ("/O=x/CN=a\n/O=x/CN=CA\n", vec![one.clone()], false),
            ("/O=x/CN=voms\n", vec![one.clone()], false),
            ("", vec![one.clone()], false),
            ("", vec![], false),
        ] {
            assert_eq!(ServerNames::parse(text).have(&shown), wanted, "{text:?} {shown:?}");
        }
    }
}
