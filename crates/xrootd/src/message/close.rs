//! kXR_close: gives a handle back. Specification: "kXR_close Request".

use bytes::Bytes;

use super::{Message, no_answer};
use crate::codec::Fields;
use crate::error::DecodeError;
use crate::header::Handle;

/// The request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Close {
    pub handle: Handle,
}

impl Message for Close {
    const CODE: u16 = 3003;
    const NAME: &'static str = "kXR_close";
    type Answer = ();

    fn decode(parameters: &[u8; 16], _body: &Bytes) -> Result<Self, DecodeError> {
        Ok(Close { handle: Handle(Fields::new(Self::NAME, parameters).array()?) })
    }

    fn encode(&self, parameters: &mut [u8; 16], _body: &mut Vec<u8>) {
        parameters[0..4].copy_from_slice(&self.handle.0);
    }

    fn decode_answer(body: &Bytes) -> Result<(), DecodeError> {
        no_answer("kXR_close answer", body)
    }

    fn encode_answer(_answer: &()) -> Vec<u8> {
        Vec::new()
    }
}
