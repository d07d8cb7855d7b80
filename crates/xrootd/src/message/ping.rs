//! kXR_ping: is the server alive? Specification: "kXR_ping Request".

use bytes::Bytes;

use super::{Message, no_answer};
use crate::error::DecodeError;

/// The request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ping;

impl Message for Ping {
    const CODE: u16 = 3011;
    const NAME: &'static str = "kXR_ping";
    type Answer = ();

    fn decode(_parameters: &[u8; 16], _body: &Bytes) -> Result<Self, DecodeError> {
        Ok(Ping)
    }

    fn encode(&self, _parameters: &mut [u8; 16], _body: &mut Vec<u8>) {}

    fn decode_answer(body: &Bytes) -> Result<(), DecodeError> {
        no_answer("kXR_ping answer", body)
    }

    fn encode_answer(_answer: &()) -> Vec<u8> {
        Vec::new()
    }
}
