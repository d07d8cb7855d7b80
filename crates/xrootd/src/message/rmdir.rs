//! kXR_rmdir: an empty directory is removed. Specification: "kXR_rmdir Request".

use bytes::Bytes;

use super::{Message, no_answer};
use crate::codec::exact_text;
use crate::error::DecodeError;

/// The request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rmdir {
    pub path: String,
}

impl Message for Rmdir {
    const CODE: u16 = 3015;
    const NAME: &'static str = "kXR_rmdir";
    type Answer = ();

    fn decode(_parameters: &[u8; 16], body: &Bytes) -> Result<Self, DecodeError> {
        Ok(Rmdir { path: exact_text(Self::NAME, body)? })
    }

    fn encode(&self, _parameters: &mut [u8; 16], body: &mut Vec<u8>) {
        body.extend_from_slice(self.path.as_bytes());
    }

    fn decode_answer(body: &Bytes) -> Result<(), DecodeError> {
        no_answer("kXR_rmdir answer", body)
    }

    fn encode_answer(_answer: &()) -> Vec<u8> {
        Vec::new()
    }
}
