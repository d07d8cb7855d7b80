//! The first 20 bytes of a connection, and their answer. Specification: "Initial Handshake".
//!
//! The only message without a request header. Its answer has a response header with stream id 0.

use crate::codec::Fields;
use crate::error::DecodeError;
use crate::header::{ResponseHeader, Status, StreamId};

/// A client's first bytes: five 32-bit integers 0, 0, 0, 4, 2012.
pub const REQUEST: [u8; 20] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 7, 220];

/// Role of a server, as it states it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerKind {
    /// A manager: it knows where files are.
    Manager,
    /// Serves files.
    DataServer,
}

/// A server's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Greeting {
    /// The protocol version, as in `0x511` for 5.1.1.
    pub version: u32,
    pub kind: ServerKind,
}

impl Greeting {
    /// Bytes of an answer's body.
    pub const BYTES: u32 = 8;

    pub fn decode(body: &[u8]) -> Result<Self, DecodeError> {
        let mut fields = Fields::new("handshake answer", body);
        let version = fields.u32()?;
        let kind = match fields.i32()? {
            0 => ServerKind::Manager,
            1 => ServerKind::DataServer,
            _ => {
                return Err(DecodeError::Invalid {
                    subject: "handshake answer",
                    why: "a server that is neither manager nor data server",
                });
            }
        };
        Ok(Greeting { version, kind })
    }

    /// The whole answer, header included.
    pub fn frame(&self) -> Vec<u8> {
        let header =
            ResponseHeader { stream: StreamId::NONE, status: Status::Ok, length: Self::BYTES };
        let mut frame = header.encode().to_vec();
        frame.extend_from_slice(&self.version.to_be_bytes());
        let kind: i32 = match self.kind {
            ServerKind::Manager => 0,
            ServerKind::DataServer => 1,
        };
        frame.extend_from_slice(&kind.to_be_bytes());
        frame
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sample_survives() {
        assert_eq!(&REQUEST, include_bytes!("../../samples/handshake.req.bin"));
        let answer = include_bytes!("../../samples/handshake.resp.bin");
        let greeting = Greeting::decode(&answer[ResponseHeader::BYTES..]).unwrap();
        assert_eq!(greeting, Greeting { version: 0x511, kind: ServerKind::DataServer });
        assert_eq!(greeting.frame(), answer);
    }

    #[test]
    fn a_kind_that_does_not_exist_is_invalid() {
        assert!(Greeting::decode(&[0, 0, 5, 0x11, 0, 0, 0, 2]).is_err());
        assert!(Greeting::decode(&[0, 0, 5]).is_err());
    }
}
