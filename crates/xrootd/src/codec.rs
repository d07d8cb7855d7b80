//! Big-endian fields, bounded strings and sets of flags: the parts of every message.

use bytes::{BufMut, Bytes, BytesMut};
use thiserror::Error;

/// Bytes that are not the message they should be.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum DecodeError {
    #[error("{subject}: ends before its last field")]
    Short { subject: &'static str },
    #[error("{subject}: {why}")]
    Invalid { subject: &'static str, why: &'static str },
}

/// Takes fields off the front of a body. Every take is checked against the bytes that are left.
#[derive(Debug, Clone)]
pub struct Fields<'a> {
    rest: &'a [u8],
    subject: &'static str,
}

impl<'a> Fields<'a> {
    /// `subject` names the message in errors.
    pub fn new(subject: &'static str, bytes: &'a [u8]) -> Self {
        Fields { rest: bytes, subject }
    }

    /// The next `N` bytes.
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let (head, rest) = self
            .rest
            .split_first_chunk::<N>()
            .ok_or(DecodeError::Short { subject: self.subject })?;
        self.rest = rest;
        Ok(*head)
    }

    /// Passes over `N` reserved bytes.
    pub fn skip<const N: usize>(&mut self) -> Result<(), DecodeError> {
        self.array::<N>().map(|_| ())
    }

    pub fn u8(&mut self) -> Result<u8, DecodeError> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub fn u16(&mut self) -> Result<u16, DecodeError> {
        self.array().map(u16::from_be_bytes)
    }

    pub fn u32(&mut self) -> Result<u32, DecodeError> {
        self.array().map(u32::from_be_bytes)
    }

    pub fn i32(&mut self) -> Result<i32, DecodeError> {
        self.array().map(i32::from_be_bytes)
    }

    pub fn i64(&mut self) -> Result<i64, DecodeError> {
        self.array().map(i64::from_be_bytes)
    }

    /// A 32-bit length, which must not be negative.
    pub fn length(&mut self) -> Result<u32, DecodeError> {
        u32::try_from(self.i32()?)
            .map_err(|_| DecodeError::Invalid { subject: self.subject, why: "a negative length" })
    }

    /// A 64-bit file offset, which must not be negative.
    pub fn offset(&mut self) -> Result<u64, DecodeError> {
        u64::try_from(self.i64()?)
            .map_err(|_| DecodeError::Invalid { subject: self.subject, why: "a negative offset" })
    }

    /// Whether all bytes have been taken.
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Everything that is left.
    pub fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.rest)
    }
}

/// The text of a body: up to the first NUL, or all of it where there is none. Bytes that are not
/// UTF-8 become replacement characters: texts of a server are for people.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(until_nul(bytes)).into_owned()
}

/// The text of a body where its exact bytes matter, as in a path.
pub fn exact_text(subject: &'static str, bytes: &[u8]) -> Result<String, DecodeError> {
    std::str::from_utf8(until_nul(bytes))
        .map(str::to_owned)
        .map_err(|_| DecodeError::Invalid { subject, why: "a text that is not UTF-8" })
}

fn until_nul(bytes: &[u8]) -> &[u8] {
    bytes.split(|&byte| byte == 0).next().unwrap_or_default()
}

/// A text with the NUL that servers end it with.
pub fn put_text(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
    out.push(0);
}

/// Bytes on their way out: small pieces are gathered into one write, large ones pass through
/// without a copy.
#[derive(Debug, Default)]
pub struct Outbox {
    gathered: BytesMut,
    ready: std::collections::VecDeque<Bytes>,
}

/// From here on a copy costs more than another element in the list of writes.
const PASS_THROUGH_BYTES_MIN: usize = 4096;

impl Outbox {
    /// Appends bytes that are cheap to copy: headers, parameters, texts.
    pub fn put(&mut self, bytes: &[u8]) {
        self.gathered.put_slice(bytes);
    }

    /// Appends a body.
    pub fn put_body(&mut self, bytes: Bytes) {
        if bytes.len() < PASS_THROUGH_BYTES_MIN {
            self.put(&bytes);
        } else {
            self.flush();
            self.ready.push_back(bytes);
        }
    }

    /// The next bytes to write, in order.
    pub fn take(&mut self) -> Option<Bytes> {
        if self.ready.is_empty() {
            self.flush();
        }
        self.ready.pop_front()
    }

    fn flush(&mut self) {
        if !self.gathered.is_empty() {
            self.ready.push_back(self.gathered.split().freeze());
        }
    }
}

/// Defines a set of flags kept in one integer: unknown bits survive decoding and encoding.
macro_rules! flags {
    ($(#[$about:meta])* $name:ident: $int:ty { $($(#[$each:meta])* $flag:ident = $value:expr,)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
        pub struct $name(pub $int);

        impl $name {
            $($(#[$each])* pub const $flag: $name = $name($value);)*

            /// Whether all of `other`'s flags are set.
            pub const fn contains(self, other: $name) -> bool {
                self.0 & other.0 == other.0
            }

            /// Whether any of `other`'s flags is set.
            pub const fn intersects(self, other: $name) -> bool {
                self.0 & other.0 != 0
            }

            /// These flags without `other`'s.
            pub const fn without(self, other: $name) -> $name {
                $name(self.0 & !other.0)
            }
        }

        impl std::ops::BitOr for $name {
            type Output = $name;
            fn bitor(self, other: $name) -> $name {
                $name(self.0 | other.0)
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                let mut rest = self.0;
                f.write_str(concat!(stringify!($name), "("))?;
                let mut between = "";
                $(if self.contains($name::$flag) {
                    rest &= !$value;
                    write!(f, "{between}{}", stringify!($flag))?;
                    between = " | ";
                })*
                if rest != 0 || between.is_empty() {
                    write!(f, "{between}{rest:#x}")?;
                }
                f.write_str(")")
            }
        }
    };
}
pub(crate) use flags;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_taken_in_order_and_never_beyond_the_end() {
        let bytes = [0, 1, 0xff, 0xff, 0xff, 0xfe, 7];
        let mut fields = Fields::new("test", &bytes);
        assert_eq!(fields.u16(), Ok(1));
        assert_eq!(fields.i32(), Ok(-2));
        assert_eq!(fields.u16(), Err(DecodeError::Short { subject: "test" }));
        assert_eq!(fields.u8(), Ok(7));
        assert!(fields.is_empty());
    }

    #[test]
    fn a_negative_length_or_offset_is_invalid() {
        assert!(Fields::new("test", &[0xff; 4]).length().is_err());
        assert!(Fields::new("test", &[0xff; 8]).offset().is_err());
    }

    #[test]
    fn a_text_ends_at_its_first_nul() {
        assert_eq!(text(b"abc\0def"), "abc");
        assert_eq!(text(b"abc"), "abc");
        assert_eq!(text(b"\0"), "");
        assert!(exact_text("test", b"\xff\xfe").is_err());
    }

    #[test]
    fn small_pieces_leave_together_and_large_ones_uncopied() {
        let large = Bytes::from(vec![1_u8; PASS_THROUGH_BYTES_MIN]);
        let address = large.as_ptr();
        let mut outbox = Outbox::default();
        outbox.put(b"ab");
        outbox.put(b"cd");
        outbox.put_body(large);
        outbox.put(b"ef");
        assert_eq!(outbox.take().as_deref(), Some(&b"abcd"[..]));
        assert_eq!(outbox.take().map(|bytes| bytes.as_ptr()), Some(address));
        assert_eq!(outbox.take().as_deref(), Some(&b"ef"[..]));
        assert_eq!(outbox.take(), None);
    }

    flags! {
        /// For the test below.
        Colours: u8 { RED = 1, BLUE = 4, }
    }

    #[test]
    fn flags_keep_bits_they_do_not_know() {
        let colours = Colours::RED | Colours(0x80);
        assert!(colours.contains(Colours::RED) && !colours.intersects(Colours::BLUE));
        assert_eq!(format!("{colours:?}"), "Colours(RED | 0x80)");
        assert_eq!(colours.without(Colours::RED), Colours(0x80));
        assert_eq!(format!("{:?}", Colours(0)), "Colours(0x0)");
    }
}
