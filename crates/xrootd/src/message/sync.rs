//! kXR_sync: commits data written to an open file to storage. Specification: "kXR_sync Request".

use bytes::Bytes;

use super::{Message, no_answer};
use crate::codec::Fields;
use crate::error::DecodeError;
use crate::header::Handle;

/// The request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sync {
    pub handle: Handle,
}

impl Message for Sync {
    const CODE: u16 = 3016;
    const NAME: &'static str = "kXR_sync";
    type Answer = ();

    fn decode(parameters: &[u8; 16], _body: &Bytes) -> Result<Self, DecodeError> {
        Ok(Sync { handle: Handle(Fields::new(Self::NAME, parameters).array()?) })
    }

    fn encode(&self, parameters: &mut [u8; 16], _body: &mut Vec<u8>) {
        parameters[0..4].copy_from_slice(&self.handle.0);
    }

    fn decode_answer(body: &Bytes) -> Result<(), DecodeError> {
        no_answer("kXR_sync answer", body)
    }

    fn encode_answer(_answer: &()) -> Vec<u8> {
        Vec::new()
    }
}
