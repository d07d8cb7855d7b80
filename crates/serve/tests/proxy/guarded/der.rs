//! A small DER, for certificates that no library makes: proxies, and those with a fault.

use std::ops::Range;

use super::grid::Party;

/// `ecdsa-with-SHA256`.
pub const ALGORITHM: &[u8] = &[0x06, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 2];

/// An element: its tag, its length, its content.
pub fn element(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let content = parts.concat();
    let length = content.len();
    let head = match length {
        0..=0x7f => vec![tag, length as u8],
        _ => vec![tag, 0x82, (length >> 8) as u8, length as u8],
    };
    [head, content].concat()
}

pub fn sequence(parts: &[&[u8]]) -> Vec<u8> {
    element(0x30, parts)
}

/// Bytes, with the signature of a key for them.
pub fn signed(content: &[u8], signer: &Party) -> Vec<u8> {
    let signature = element(0x03, &[&[0], &signer.signature(content)]);
    sequence(&[content, &sequence(&[ALGORITHM]), &signature])
}

/// A name with one more common name.
pub fn with_name(name: &[u8], more: &str) -> Vec<u8> {
    let pair = sequence(&[&[6, 3, 0x55, 4, 3], &element(0x0c, &[more.as_bytes()])]);
    let head = if name[1] < 0x80 { 2 } else { usize::from(name[1] & 0x7f) + 2 };
    sequence(&[&name[head..], &element(0x31, &[&pair])])
}

/// The fields of a proxy.
pub struct ProxyFields {
    pub issuer: Vec<u8>,
    pub subject: Vec<u8>,
    pub years: Range<i32>,
    /// The identifier of each, whether it is critical, and its value.
    pub extensions: Vec<(&'static [u8], bool, Vec<u8>)>,
    pub public_key: Vec<u8>,
}

impl ProxyFields {
    pub fn signed(&self, signer: &Party) -> Vec<u8> {
        let time = |year: i32| element(0x18, &[format!("{year}0101000000Z").as_bytes()]);
        let validity = sequence(&[&time(self.years.start), &time(self.years.end)]);
        let extension = |(kind, is_critical, value): &(&[u8], bool, Vec<u8>)| {
            let critical: &[u8] = if *is_critical { &[1, 1, 0xff] } else { &[] };
            sequence(&[&element(0x06, &[kind]), critical, &element(0x04, &[value])])
        };
        let extensions: Vec<u8> = self.extensions.iter().flat_map(extension).collect();
        let content = sequence(&[
            &[0xa0, 3, 2, 1, 2],
            &[2, 1, 5],
            &sequence(&[ALGORITHM]),
            &self.issuer,
            &validity,
            &self.subject,
            &self.public_key,
            &element(0xa3, &[&sequence(&[&extensions])]),
        ]);
        signed(&content, signer)
    }
}
