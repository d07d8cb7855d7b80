//! kXR_mv: a path gets another name. Specification: "kXR_mv Request".

use bytes::Bytes;

use super::{Message, no_answer};
use crate::codec::{Fields, exact_text};
use crate::error::DecodeError;

/// The request. A file that has the new name already is replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mv {
    pub from: String,
    pub to: String,
}

const INVALID: fn(&'static str) -> DecodeError =
    |why| DecodeError::Invalid { subject: Mv::NAME, why };

impl Message for Mv {
    const CODE: u16 = 3009;
    const NAME: &'static str = "kXR_mv";
    type Answer = ();

    /// The length of the first path may be left out (0): then it ends at the first blank.
    fn decode(parameters: &[u8; 16], body: &Bytes) -> Result<Self, DecodeError> {
        let mut fields = Fields::new(Self::NAME, parameters);
        fields.skip::<14>()?;
        let length = usize::from(fields.u16()?);
        let length = match length {
            0 => body.iter().position(|&byte| byte == b' ').ok_or(INVALID("one path only"))?,
            length => length,
        };
        match (body.get(..length), body.get(length), body.get(length + 1..)) {
            (Some(from), Some(b' '), Some(to)) => Ok(Mv {
                from: exact_text(Self::NAME, from)?,
                to: exact_text(Self::NAME, to)?,
            }),
            _ => Err(INVALID("no blank between its paths")),
        }
    }

    fn encode(&self, parameters: &mut [u8; 16], body: &mut Vec<u8>) {
        // Of a path beyond 65,535 bytes, which no server takes, it says 0.
        let length = u16::try_from(self.from.len()).unwrap_or(0);
        parameters[14..16].copy_from_slice(&length.to_be_bytes());
        body.extend_from_slice(self.from.as_bytes());
        body.push(b' ');
        body.extend_from_slice(self.to.as_bytes());
    }

    fn decode_answer(body: &Bytes) -> Result<(), DecodeError> {
        no_answer("kXR_mv answer", body)
    }

    fn encode_answer(_answer: &()) -> Vec<u8> {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(length: u16, body: &'static [u8]) -> Result<Mv, DecodeError> {
        let mut parameters = [0; 16];
        parameters[14..].copy_from_slice(&length.to_be_bytes());
        Mv::decode(&parameters, &Bytes::from_static(body))
    }

    #[test]
    fn a_path_may_have_blanks_where_its_length_is_given() {
        let expected = Mv { from: "/a b".to_owned(), to: "/c d".to_owned() };
        assert_eq!(decoded(4, b"/a b /c d"), Ok(expected));
        let expected = Mv { from: "/a".to_owned(), to: "b /c d".to_owned() };
        assert_eq!(decoded(0, b"/a b /c d"), Ok(expected), "old clients");
    }

    #[test]
    fn a_length_that_does_not_end_at_a_blank_is_invalid() {
        for (length, body) in [(3, &b"/a /b"[..]), (9, b"/a /b"), (5, b"/a /b"), (0, b"/a")] {
            assert!(decoded(length, body).is_err(), "{length}");
        }
    }
}
