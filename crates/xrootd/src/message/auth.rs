//! kXR_auth: who says so. Specification: "kXR_auth Request". The credentials themselves are the
//! business of the protocols in [`crate::auth`].

use std::fmt;

use bytes::Bytes;

use super::Message;
use crate::codec::Fields;
use crate::error::DecodeError;

/// The request. `Debug` does not show the credential.
#[derive(Clone, PartialEq, Eq)]
pub struct Auth {
    /// The protocol's name, filled up with NUL.
    pub protocol: [u8; 4],
    pub credential: Bytes,
}

impl fmt::Debug for Auth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let protocol = String::from_utf8_lossy(&self.protocol);
        write!(f, "Auth {{ {protocol:?}, {} bytes }}", self.credential.len())
    }
}

impl Message for Auth {
    const CODE: u16 = 3000;
    const NAME: &'static str = "kXR_auth";
    /// Bytes that a server may add to its consent.
    type Answer = Bytes;

    fn decode(parameters: &[u8; 16], body: &Bytes) -> Result<Self, DecodeError> {
        let mut fields = Fields::new(Self::NAME, parameters);
        fields.skip::<12>()?;
        Ok(Auth { protocol: fields.array()?, credential: body.clone() })
    }

    fn encode(&self, parameters: &mut [u8; 16], body: &mut Vec<u8>) {
        parameters[12..16].copy_from_slice(&self.protocol);
        body.extend_from_slice(&self.credential);
    }

    fn decode_answer(body: &Bytes) -> Result<Bytes, DecodeError> {
        Ok(body.clone())
    }

    fn encode_answer(answer: &Bytes) -> Vec<u8> {
        answer.to_vec()
    }
}
