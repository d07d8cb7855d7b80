//! kXR_truncate: a file gets another size. Specification: "kXR_truncate Request".

use bytes::Bytes;

use super::{Message, no_answer};
use crate::codec::{Fields, exact_text};
use crate::error::DecodeError;
use crate::header::Handle;

/// The request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Truncate {
    /// Used where the path is empty.
    pub handle: Handle,
    /// Bytes that the file has afterwards.
    pub size: u64,
    pub path: String,
}

impl Message for Truncate {
    const CODE: u16 = 3028;
    const NAME: &'static str = "kXR_truncate";
    type Answer = ();

    fn decode(parameters: &[u8; 16], body: &Bytes) -> Result<Self, DecodeError> {
        let mut fields = Fields::new(Self::NAME, parameters);
        let handle = Handle(fields.array()?);
        let size = fields.offset()?;
        Ok(Truncate { handle, size, path: exact_text(Self::NAME, body)? })
    }

    fn encode(&self, parameters: &mut [u8; 16], body: &mut Vec<u8>) {
        parameters[0..4].copy_from_slice(&self.handle.0);
        parameters[4..12].copy_from_slice(&self.size.to_be_bytes());
        body.extend_from_slice(self.path.as_bytes());
    }

    fn decode_answer(body: &Bytes) -> Result<(), DecodeError> {
        no_answer("kXR_truncate answer", body)
    }

    fn encode_answer(_answer: &()) -> Vec<u8> {
        Vec::new()
    }
}
