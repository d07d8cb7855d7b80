//! kXR_endsess: ends a session that another connection has left behind, and frees its handles.
//! Specification: "kXR_endsess Request".

use bytes::Bytes;

use super::login::SessionId;
use super::{Message, no_answer};
use crate::error::DecodeError;

/// The request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endsess {
    pub session: SessionId,
}

impl Message for Endsess {
    const CODE: u16 = 3023;
    const NAME: &'static str = "kXR_endsess";
    type Answer = ();

    fn decode(parameters: &[u8; 16], _body: &Bytes) -> Result<Self, DecodeError> {
        Ok(Endsess { session: SessionId(*parameters) })
    }

    fn encode(&self, parameters: &mut [u8; 16], _body: &mut Vec<u8>) {
        *parameters = self.session.0;
    }

    fn decode_answer(body: &Bytes) -> Result<(), DecodeError> {
        no_answer("kXR_endsess answer", body)
    }

    fn encode_answer(_answer: &()) -> Vec<u8> {
        Vec::new()
    }
}
