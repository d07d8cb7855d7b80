//! kXR_protocol: role and abilities of each side. Specification: "kXR_protocol Request".

use bytes::Bytes;

use super::Message;
use crate::codec::{Fields, flags};
use crate::error::DecodeError;

flags! {
    /// Abilities of a client, and the facts that it asks for.
    ClientFlags: u8 {
        /// List the requests that have to be signed.
        SECURITY_REQUIREMENTS = 1,
        /// The client could switch to TLS.
        ABLE_TLS = 2,
        /// The client insists on TLS.
        WANT_TLS = 4,
        /// Say on which interfaces to bind.
        BIND_INTERFACES = 8,
    }
}

flags! {
    /// Role and abilities of a server.
    ServerFlags: u32 {
        IS_SERVER = 0x1,
        IS_MANAGER = 0x2,
        CACHE = 0x80,
        META_MANAGER = 0x100,
        PROXY = 0x200,
        SUPERVISOR = 0x400,
        /// Checksummed reads and writes (kXR_pgread) are served.
        CHECKSUMMED_PAGES = 0x0020_0000,
        TLS_DATA = 0x0100_0000,
        TLS_LOGIN = 0x0400_0000,
        TLS_SESSION = 0x0800_0000,
        /// The next byte on the connection belongs to TLS.
        GO_TO_TLS = 0x4000_0000,
        HAS_TLS = 0x8000_0000,
    }
}

/// Intended next step of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expect(pub u8);

impl Expect {
    pub const NOTHING: Expect = Expect(0);
    pub const BIND: Expect = Expect(1);
    pub const LOGIN: Expect = Expect(3);
}

/// The request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Protocol {
    /// The client's protocol version.
    pub version: u32,
    pub flags: ClientFlags,
    pub expect: Expect,
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProtocolAnswer {
    /// The server's protocol version.
    pub version: u32,
    pub flags: ServerFlags,
    /// Security requirements and bind interfaces, in their wire form; sent when asked for.
    pub details: Bytes,
}

impl Protocol {
    /// The protocol version that farroot's client speaks: 5.2.0.
    pub const CLIENT_VERSION: u32 = 0x520;
}

impl Message for Protocol {
    const CODE: u16 = 3006;
    const NAME: &'static str = "kXR_protocol";
    type Answer = ProtocolAnswer;

    fn decode(parameters: &[u8; 16], _body: &Bytes) -> Result<Self, DecodeError> {
        let mut fields = Fields::new(Self::NAME, parameters);
        Ok(Protocol {
            version: fields.u32()?,
            flags: ClientFlags(fields.u8()?),
            expect: Expect(fields.u8()?),
        })
    }

    fn encode(&self, parameters: &mut [u8; 16], _body: &mut Vec<u8>) {
        parameters[0..4].copy_from_slice(&self.version.to_be_bytes());
        parameters[4] = self.flags.0;
        parameters[5] = self.expect.0;
    }

    fn decode_answer(body: &Bytes) -> Result<ProtocolAnswer, DecodeError> {
        let mut fields = Fields::new("kXR_protocol answer", body);
        let version = fields.u32()?;
        // Servers older than the flags send the version and the handshake's kind.
        let flags = ServerFlags(fields.u32()?);
        Ok(ProtocolAnswer { version, flags, details: body.slice_ref(fields.rest()) })
    }

    fn encode_answer(answer: &ProtocolAnswer) -> Vec<u8> {
        let mut body = Vec::with_capacity(8 + answer.details.len());
        body.extend_from_slice(&answer.version.to_be_bytes());
        body.extend_from_slice(&answer.flags.0.to_be_bytes());
        body.extend_from_slice(&answer.details);
        body
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answer_is_read_field_by_field() {
        #[rustfmt::skip]
        let body = Bytes::from_static(&[
            0, 0, 0x05, 0x11,           // version 5.1.1
            0x00, 0x30, 0x00, 0x01,     // a data server that offers checksummed pages
            b'S', 0, 0, 0, 0, 0,        // no security requirements
        ]);
        let answer = Protocol::decode_answer(&body).unwrap();
        assert_eq!(answer.version, 0x511);
        assert!(answer.flags.contains(ServerFlags::IS_SERVER | ServerFlags::CHECKSUMMED_PAGES));
        assert!(!answer.flags.intersects(ServerFlags::GO_TO_TLS));
        assert_eq!(&answer.details[..], b"S\0\0\0\0\0");
    }
}
