//! DER (X.690) as far as names and attribute certificates need it: tags of one byte, definite
//! lengths.

/// Tags that documents here have.
pub(super) const BOOLEAN: u8 = 0x01;
pub(super) const INTEGER: u8 = 0x02;
pub(super) const BITS: u8 = 0x03;
pub(super) const OCTETS: u8 = 0x04;
pub(super) const IDENTIFIER: u8 = 0x06;
pub(super) const TIME: u8 = 0x18;
pub(super) const SEQUENCE: u8 = 0x30;
pub(super) const SET: u8 = 0x31;

/// One element: its tag, its content, all of its bytes, and the bytes behind it.
#[derive(Clone, Copy)]
pub(super) struct Element<'a> {
    pub tag: u8,
    pub content: &'a [u8],
    pub whole: &'a [u8],
    pub rest: &'a [u8],
}

/// The first element; `None` where the bytes are none, or too few.
pub(super) fn element(all: &[u8]) -> Option<Element<'_>> {
    let (&tag, bytes) = all.split_first()?;
    let (&first, bytes) = bytes.split_first()?;
    let (length, bytes) = match first {
        0..=0x7f => (usize::from(first), bytes),
        0x81..=0x84 => {
            let (length, bytes) = bytes.split_at_checked(usize::from(first & 0x7f))?;
            (length.iter().fold(0, |sum, &byte| sum << 8 | usize::from(byte)), bytes)
        }
        _ => return None,
    };
    let (content, rest) = bytes.split_at_checked(length)?;
    let whole = all.get(..all.len() - rest.len())?;
    Some(Element { tag, content, whole, rest })
}

/// The content of the one element that the bytes are, if it has this tag.
pub(super) fn only(bytes: &[u8], tag: u8) -> Option<&[u8]> {
    let found = element(bytes)?;
    (found.tag == tag && found.rest.is_empty()).then_some(found.content)
}

/// Elements that are taken one after the other, as a SEQUENCE lists them.
pub(super) struct Fields<'a>(pub &'a [u8]);

impl<'a> Fields<'a> {
    /// The next element, which has this tag.
    pub fn take(&mut self, tag: u8) -> Option<Element<'a>> {
        let next = element(self.0).filter(|next| next.tag == tag)?;
        self.0 = next.rest;
        Some(next)
    }

    /// Whether all have been taken.
    pub fn are_over(&self) -> bool {
        self.0.is_empty()
    }
}

/// All elements that follow one another; `None` where other bytes are among them.
pub(super) fn all(mut bytes: &[u8]) -> Option<Vec<Element<'_>>> {
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let next = element(bytes)?;
        bytes = next.rest;
        found.push(next);
    }
    Some(found)
}

/// The elements that follow one another; ends where the bytes are no longer any.
pub(super) fn elements(mut bytes: &[u8]) -> impl Iterator<Item = Element<'_>> {
    std::iter::from_fn(move || {
        let next = element(bytes)?;
        bytes = next.rest;
        Some(next)
    })
}

/// An element with this content.
pub(super) fn encode(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut bytes = vec![tag];
    match content.len() {
        length @ 0..=0x7f => bytes.push(length as u8),
        length => {
            let digits = length.to_be_bytes();
            let digits = &digits[digits.iter().take_while(|&&digit| digit == 0).count()..];
            bytes.push(0x80 | digits.len() as u8);
            bytes.extend_from_slice(digits);
        }
    }
    bytes.extend_from_slice(content);
    bytes
}
