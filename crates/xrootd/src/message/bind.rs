//! kXR_bind: one more path for an existing session. Specification: "kXR_bind Request".

use bytes::Bytes;

use super::Message;
use super::login::SessionId;
use crate::codec::Fields;
use crate::error::DecodeError;

/// The request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bind {
    pub session: SessionId,
}

/// The answer: the number by which reads and writes name the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PathId(pub u8);

impl PathId {
    /// The session's own connection.
    pub const OWN: PathId = PathId(0);
}

impl Message for Bind {
    const CODE: u16 = 3024;
    const NAME: &'static str = "kXR_bind";
    type Answer = PathId;

    fn decode(parameters: &[u8; 16], _body: &Bytes) -> Result<Self, DecodeError> {
        Ok(Bind { session: SessionId(*parameters) })
    }

    fn encode(&self, parameters: &mut [u8; 16], _body: &mut Vec<u8>) {
        *parameters = self.session.0;
    }

    fn decode_answer(body: &Bytes) -> Result<PathId, DecodeError> {
        Fields::new("kXR_bind answer", body).u8().map(PathId)
    }

    fn encode_answer(answer: &PathId) -> Vec<u8> {
        vec![answer.0]
    }
}
