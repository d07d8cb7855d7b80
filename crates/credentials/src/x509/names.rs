//! Names of certificates: OpenSSL's hashes of them, by which grid directories call their files,
//! and the line in which grid users write them.

use data_encoding::HEXLOWER;
use md5::{Digest, Md5};
use sha1::Sha1;

use super::der::{element, elements, encode};

const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const UTF8: u8 = 0x0c;

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

/// The last name in one, if it is a common one: in a proxy's subject, the name that the proxy
/// added.
pub(super) fn last_common_name(name: &[u8]) -> Option<String> {
    let set = elements(element(name)?.content).last()?;
    let pair = elements(set.content).last()?;
    let kind = element(pair.content)?;
    let value = element(kind.rest)?;
    (kind.content == [0x55, 4, 3]).then(|| text(value.tag, value.content))?
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
        _ => "?",
    };
    known.to_owned()
}
