//! kXR_write: bytes for an open file. Specification: "kXR_write Request".

use bytes::Bytes;

use super::{Message, no_answer};
use crate::codec::Fields;
use crate::error::DecodeError;
use crate::header::Handle;

/// The request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Write {
    pub handle: Handle,
    /// Where in the file; also behind its end.
    pub offset: u64,
    /// On which path the bytes come: 0 for that of the request.
    pub path: u8,
    pub bytes: Bytes,
}

impl Message for Write {
    const CODE: u16 = 3019;
    const NAME: &'static str = "kXR_write";
    type Answer = ();

    fn decode(parameters: &[u8; 16], body: &Bytes) -> Result<Self, DecodeError> {
        let mut fields = Fields::new(Self::NAME, parameters);
        let handle = Handle(fields.array()?);
        let offset = fields.offset()?;
        let path = fields.u8()?;
        if offset.saturating_add(body.len() as u64) > i64::MAX as u64 {
            let why = "a range behind the largest offset";
            return Err(DecodeError::Invalid { subject: Self::NAME, why });
        }
        Ok(Write { handle, offset, path, bytes: body.clone() })
    }

    fn encode(&self, parameters: &mut [u8; 16], body: &mut Vec<u8>) {
        parameters[0..4].copy_from_slice(&self.handle.0);
        parameters[4..12].copy_from_slice(&self.offset.to_be_bytes());
        parameters[12] = self.path;
        body.extend_from_slice(&self.bytes);
    }

    fn decode_answer(body: &Bytes) -> Result<(), DecodeError> {
        no_answer("kXR_write answer", body)
    }

    fn encode_answer(_answer: &()) -> Vec<u8> {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_behind_the_largest_offset_are_invalid() {
        let mut parameters = [0; 16];
        parameters[4..12].copy_from_slice(&(i64::MAX - 1).to_be_bytes());
        assert!(Write::decode(&parameters, &Bytes::from_static(b"a")).is_ok());
        assert!(Write::decode(&parameters, &Bytes::from_static(b"ab")).is_err());
        parameters[4] = 0x80;
        assert!(Write::decode(&parameters, &Bytes::new()).is_err(), "a negative offset");
    }
}
