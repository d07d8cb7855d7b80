//! DER (X.690) as far as names need it: tags of one byte, definite lengths.

/// One element: its tag, its content, and the bytes behind it.
pub(super) struct Element<'a> {
    pub tag: u8,
    pub content: &'a [u8],
    pub rest: &'a [u8],
}

/// The first element; `None` where the bytes are none, or too few.
pub(super) fn element(bytes: &[u8]) -> Option<Element<'_>> {
    let (&tag, bytes) = bytes.split_first()?;
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
    Some(Element { tag, content, rest })
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
