//! Names of certificates: OpenSSL's hashes of them, by which grid directories call their files,
//! and the line in which grid users write them.

use data_encoding::HEXLOWER;
use md5::{Digest, Md5};
use sha1::Sha1;

use super::der::{Element, Fields, all, element, elements, encode, only};

const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const UTF8: u8 = 0x0c;
const COMMON_NAME: &[u8] = &[0x55, 4, 3];

/// The hashes of a name, given as DER: as OpenSSL 1.0 and later have it (`-subject_hash`), and the
/// one before (`-subject_hash_old`). Eight hexadecimal digits each.
pub fn hashes(name: &[u8]) -> (String, String) {
    let new = Sha1::digest(canonical(name));
    let old = Md5::digest(name);
    (hexadecimal(new.as_slice()), hexadecimal(old.as_slice()))
}

/// The first four bytes as a little-endian number.
fn hexadecimal(digest: &[u8]) -> String {
    let bytes: Vec<u8> = digest.iter().take(4).rev().copied().collect();
    HEXLOWER.encode(&bytes)
}

/// As `x509_name_canon` of OpenSSL: the sets without the sequence around them, each text as UTF-8
/// in small letters, with single blanks.
fn canonical(name: &[u8]) -> Vec<u8> {
    let content = element(name).map_or(&[][..], |name| name.content);
    let mut bytes = Vec::new();
    for set in elements(content).filter(|set| set.tag == SET) {
        let mut attributes: Vec<Vec<u8>> = elements(set.content).filter_map(attribute).collect();
        // A set is encoded in the order of its encoded members (X.690, section 11.6).
        attributes.sort();
        bytes.extend(encode(SET, &attributes.concat()));
    }
    bytes
}

fn attribute(pair: super::der::Element<'_>) -> Option<Vec<u8>> {
    let kind = element(pair.content)?;
    let value = element(kind.rest)?;
    let value = match text(value.tag, value.content) {
        Some(text) => encode(UTF8, plain(&text).as_bytes()),
        None => encode(value.tag, value.content),
    };
    Some(encode(SEQUENCE, &[encode(kind.tag, kind.content), value].concat()))
}

/// Without blanks at its ends, with single ones within, and with small letters of ASCII.
fn plain(text: &str) -> String {
    let blank = |letter: char| letter.is_ascii_whitespace() || letter == '\x0b';
    let words: Vec<&str> = text.split(blank).filter(|word| !word.is_empty()).collect();
    words.join(" ").to_ascii_lowercase()
}

/// The text of an element; `None` where it is not one of the kinds that OpenSSL compares as text.
fn text(tag: u8, content: &[u8]) -> Option<String> {
    match tag {
        // UTF8String, PrintableString, IA5String, VisibleString
        0x0c | 0x13 | 0x16 | 0x1a => Some(String::from_utf8_lossy(content).into_owned()),
        // TeletexString, which all take for Latin-1
        0x14 => Some(content.iter().map(|&byte| char::from(byte)).collect()),
        // BMPString
        0x1e => {
            let units = content.chunks_exact(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]]));
            Some(char::decode_utf16(units).map(|unit| unit.unwrap_or('\u{fffd}')).collect())
        }
        // UniversalString
        0x1c => {
            let units = content.chunks_exact(4);
            let units = units.map(|four| u32::from_be_bytes([four[0], four[1], four[2], four[3]]));
            Some(units.map(|unit| char::from_u32(unit).unwrap_or('\u{fffd}')).collect())
        }
        _ => None,
    }
}

/// A name, given as DER, as grid users write it: `/DC=ch/DC=cern/CN=Ada`.
pub fn one_line(name: &[u8]) -> String {
    let content = element(name).map_or(&[][..], |name| name.content);
    let mut line = String::new();
    for pair in elements(content).flat_map(|set| elements(set.content).collect::<Vec<_>>()) {
        let Some(kind) = element(pair.content) else { continue };
        let Some(value) = element(kind.rest) else { continue };
        let value = text(value.tag, value.content).unwrap_or_else(|| "?".to_owned());
        let value: String = value.chars().filter(|letter| !letter.is_control()).collect();
        line.push_str(&format!("/{}={value}", label(kind.content)));
    }
    line
}

/// Whether the line of a name stands for this name alone: no value of it looks like further names,
/// and all can be shown.
pub fn is_plain(name: &[u8]) -> bool {
    let is_plain_pair = |pair: &Element<'_>| {
        let kind = element(pair.content)?;
        let value = element(kind.rest)?;
        let value = text(value.tag, value.content)?;
        let looks_like_names = value.split('/').skip(1).any(|part| part.contains('='));
        Some(
            !looks_like_names && !value.contains(|one: char| one.is_control() || one == '\u{fffd}'),
        )
    };
    let Some(sets) = only(name, SEQUENCE).and_then(all) else { return false };
    let pairs: Option<Vec<_>> = sets.iter().map(|set| all(set.content)).collect();
    let pairs = pairs.unwrap_or_default().concat();
    !pairs.is_empty() && pairs.iter().all(|pair| is_plain_pair(pair) == Some(true))
}

/// A line of names as it is compared: `emailAddress` and `UID` have other labels in some programs.
pub fn comparable(line: &str) -> String {
    let line = line.trim().replace("/Email=", "/emailAddress=").replace("/E=", "/emailAddress=");
    line.replace("/USERID=", "/UID=")
}

/// Whether two names, given as DER, are the same to OpenSSL.
pub fn are_same(one: &[u8], other: &[u8]) -> bool {
    let one = canonical(one);
    !one.is_empty() && one == canonical(other)
}

/// Whether a name is another one with one more common name behind it, as proxies have it.
pub fn is_extension(longer: &[u8], name: &[u8]) -> bool {
    let added = || {
        let [longer, name] = [longer, name].map(|name| only(name, SEQUENCE));
        let added = longer?.strip_prefix(name?)?;
        let pair = only(only(added, SET)?, SEQUENCE)?;
        let mut fields = Fields(pair);
        let kind = fields.take(0x06)?;
        let value = element(fields.0)?;
        Some(kind.content == COMMON_NAME && value.rest.is_empty() && !value.content.is_empty())
    };
    added() == Some(true)
}

/// The last name in one, if it is a common one: in a proxy's subject, the name that the proxy
/// added.
pub(super) fn last_common_name(name: &[u8]) -> Option<String> {
    let set = elements(element(name)?.content).last()?;
    let pair = elements(set.content).last()?;
    let kind = element(pair.content)?;
    let value = element(kind.rest)?;
    (kind.content == COMMON_NAME).then(|| text(value.tag, value.content))?
}

/// As OpenSSL abbreviates the kinds of names that certificates have.
fn label(kind: &[u8]) -> String {
    let known = match kind {
        [0x55, 4, 3] => "CN",
        [0x55, 4, 4] => "SN",
        [0x55, 4, 5] => "serialNumber",
        [0x55, 4, 6] => "C",
        [0x55, 4, 7] => "L",
        [0x55, 4, 8] => "ST",
        [0x55, 4, 9] => "street",
        [0x55, 4, 10] => "O",
        [0x55, 4, 11] => "OU",
        [0x55, 4, 12] => "title",
        [0x55, 4, 42] => "GN",
        // 0.9.2342.19200300.100.1.25 and .1, 1.2.840.113549.1.9.1
        [0x09, 0x92, 0x26, 0x89, 0x93, 0xf2, 0x2c, 0x64, 1, 25] => "DC",
        [0x09, 0x92, 0x26, 0x89, 0x93, 0xf2, 0x2c, 0x64, 1, 1] => "UID",
        [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 9, 1] => "emailAddress",
        other => return dotted(other),
    };
    known.to_owned()
}

/// The numbers of an object identifier, given as the content of its DER.
pub(super) fn dotted(kind: &[u8]) -> String {
    let mut numbers = Vec::new();
    let mut number: u64 = 0;
    for &byte in kind.iter().take(64) {
        number = number << 7 | u64::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            numbers.push(number);
            number = 0;
        }
    }
    // The first two are one (X.690, section 8.19.4).
    let both = numbers.first().copied().unwrap_or_default();
    let first = (both / 40).min(2);
    let rest = numbers.iter().skip(1).copied();
    let all = [first, both - 40 * first].into_iter().chain(rest);
    all.map(|number| number.to_string()).collect::<Vec<_>>().join(".")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(pairs: &[(&[u8], &str)]) -> Vec<u8> {
        let pair = |(kind, value): &(&[u8], &str)| {
            let pair = [encode(0x06, kind), encode(UTF8, value.as_bytes())].concat();
            encode(SET, &encode(SEQUENCE, &pair))
        };
        encode(SEQUENCE, &pairs.iter().map(pair).collect::<Vec<_>>().concat())
    }

    #[test]
    fn a_line_that_stands_for_two_names_is_not_plain() {
        let postal = &[0x55, 4, 17][..];
        for (pairs, line, plain) in [
            (&[(&[0x55, 4, 10][..], "x"), (COMMON_NAME, "Ada")][..], "/O=x/CN=Ada", true),
            (&[(COMMON_NAME, "host/a.example")], "/CN=host/a.example", true),
            (&[(postal, "8057")], "/2.5.4.17=8057", true),
            (&[(COMMON_NAME, "x/CN=Ada")], "/CN=x/CN=Ada", false),
            (&[(COMMON_NAME, "A\nda")], "/CN=Ada", false),
            (&[], "", false),
        ] {
            let name = name(pairs);
            assert_eq!((one_line(&name), is_plain(&name)), (line.to_owned(), plain));
            assert!(!is_plain(&name[..name.len() - 1]) && !is_plain(&[&name[..], b"x"].concat()));
        }
    }

    #[test]
    fn a_proxy_has_one_common_name_more() {
        let user = name(&[(&[0x55, 4, 10], "x"), (COMMON_NAME, "Ada")]);
        for (longer, wanted) in [
            (name(&[(&[0x55, 4, 10], "x"), (COMMON_NAME, "Ada"), (COMMON_NAME, "1")]), true),
            (name(&[(&[0x55, 4, 10], "x"), (COMMON_NAME, "Ada"), (&[0x55, 4, 11], "1")]), false),
            (name(&[(&[0x55, 4, 10], "x"), (COMMON_NAME, "Bob"), (COMMON_NAME, "1")]), false),
            (name(&[(&[0x55, 4, 10], "x"), (COMMON_NAME, "Ada"), (COMMON_NAME, "")]), false),
            (user.clone(), false),
        ] {
            assert_eq!(is_extension(&longer, &user), wanted, "{}", one_line(&longer));
        }
    }

    #[test]
    fn numbers_of_identifiers_are_those_of_openssl() {
        let voms = [0x2b, 6, 1, 4, 1, 0xbe, 0x45, 100, 100, 4];
        assert_eq!(dotted(&voms), "1.3.6.1.4.1.8005.100.100.4");
        assert_eq!(dotted(&[0x88, 0x37, 3]), "2.999.3");
        assert_eq!(dotted(&[]), "0.0");
    }
}
