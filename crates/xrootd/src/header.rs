//! The 24 bytes before every request and the 8 bytes before every response.
//!
//! Protocol reference: "Client Request Format" and "Server Response Format". All integers are
//! big-endian; stream ids and file handles are opaque to the side that did not make them.

use crate::codec::Fields;
use crate::error::DecodeError;

/// The tag that pairs a response with its request. The client chooses it, the server echoes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StreamId(pub u16);

impl StreamId {
    /// Carried by messages that belong to no request: the handshake's answer, and attention
    /// messages.
    pub const NONE: StreamId = StreamId(0);
}

/// A server's name for an open file. Opaque; xrootd uses the index of a slot in host order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Handle(pub [u8; 4]);

impl Handle {
    /// The handle an x86 xrootd gives to the file in this slot.
    pub const fn from_slot(slot: u32) -> Handle {
        Handle(slot.to_le_bytes())
    }
}

/// The head of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestHeader {
    pub stream: StreamId,
    pub code: u16,
    /// Meaning depends on the code.
    pub parameters: [u8; 16],
    /// Bytes that follow.
    pub length: u32,
}

impl RequestHeader {
    pub const BYTES: usize = 24;

    pub fn decode(bytes: &[u8; Self::BYTES]) -> Result<Self, DecodeError> {
        let mut fields = Fields::new("request header", bytes);
        Ok(RequestHeader {
            stream: StreamId(fields.u16()?),
            code: fields.u16()?,
            parameters: fields.array()?,
            length: fields.length()?,
        })
    }

    pub fn encode(&self) -> [u8; Self::BYTES] {
        let mut out = [0; Self::BYTES];
        out[0..2].copy_from_slice(&self.stream.0.to_be_bytes());
        out[2..4].copy_from_slice(&self.code.to_be_bytes());
        out[4..20].copy_from_slice(&self.parameters);
        out[20..24].copy_from_slice(&self.length.to_be_bytes());
        out
    }
}

/// Kinds of responses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// kXR_ok: the whole answer, or its last part.
    Ok,
    /// kXR_oksofar: a part; more follows under the same stream id.
    OkSoFar,
    /// kXR_attn: unsolicited, or an answer that was deferred.
    Attention,
    /// kXR_authmore: the authentication wants another step.
    AuthMore,
    /// kXR_error: a code and a text.
    Error,
    /// kXR_redirect: ask elsewhere.
    Redirect,
    /// kXR_wait: ask again later.
    Wait,
    /// kXR_waitresp: the answer will come later, as an attention message.
    WaitResponse,
    /// kXR_status: a part of the answer to a checksummed request; data follow that its header does
    /// not count.
    Status,
}

impl Status {
    /// Its name in the specification.
    pub fn name(self) -> &'static str {
        match self {
            Status::Ok => "kXR_ok",
            Status::OkSoFar => "kXR_oksofar",
            Status::Attention => "kXR_attn",
            Status::AuthMore => "kXR_authmore",
            Status::Error => "kXR_error",
            Status::Redirect => "kXR_redirect",
            Status::Wait => "kXR_wait",
            Status::WaitResponse => "kXR_waitresp",
            Status::Status => "kXR_status",
        }
    }

    pub const fn from_code(code: u16) -> Option<Status> {
        Some(match code {
            0 => Status::Ok,
            4000 => Status::OkSoFar,
            4001 => Status::Attention,
            4002 => Status::AuthMore,
            4003 => Status::Error,
            4004 => Status::Redirect,
            4005 => Status::Wait,
            4006 => Status::WaitResponse,
            4007 => Status::Status,
            _ => return None,
        })
    }

    pub const fn code(self) -> u16 {
        match self {
            Status::Ok => 0,
            Status::OkSoFar => 4000,
            Status::Attention => 4001,
            Status::AuthMore => 4002,
            Status::Error => 4003,
            Status::Redirect => 4004,
            Status::Wait => 4005,
            Status::WaitResponse => 4006,
            Status::Status => 4007,
        }
    }
}

/// The head of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResponseHeader {
    pub stream: StreamId,
    pub status: Status,
    /// Bytes that follow.
    pub length: u32,
}

impl ResponseHeader {
    pub const BYTES: usize = 8;

    pub fn decode(bytes: &[u8; Self::BYTES]) -> Result<Self, DecodeError> {
        let mut fields = Fields::new("response header", bytes);
        let stream = StreamId(fields.u16()?);
        let status = Status::from_code(fields.u16()?)
            .ok_or(DecodeError::Invalid { subject: "response header", why: "an unknown status" })?;
        Ok(ResponseHeader { stream, status, length: fields.length()? })
    }

    pub fn encode(&self) -> [u8; Self::BYTES] {
        let mut out = [0; Self::BYTES];
        out[0..2].copy_from_slice(&self.stream.0.to_be_bytes());
        out[2..4].copy_from_slice(&self.status.code().to_be_bytes());
        out[4..8].copy_from_slice(&self.length.to_be_bytes());
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request_header_is_read_field_by_field() {
        #[rustfmt::skip]
        let bytes = [
            0x01, 0x02,             // stream id
            0x0b, 0xc5,             // 3013, kXR_read
            9, 0, 0, 0,             // parameters
            0, 0, 0, 0, 0, 0, 0, 0,
            0, 0, 0, 8,
            0, 0, 0, 3,             // length of the body
        ];
        let header = RequestHeader::decode(&bytes).unwrap();
        assert_eq!((header.stream, header.code, header.length), (StreamId(0x102), 3013, 3));
        assert_eq!((header.parameters[0], header.parameters[15]), (9, 8));
        assert_eq!(header.encode(), bytes);
    }

    #[test]
    fn response_header_is_read_field_by_field() {
        #[rustfmt::skip]
        let bytes = [
            0x01, 0x02,             // stream id
            0x0f, 0xa0,             // 4000, kXR_oksofar
            0, 0, 1, 0,             // length of the body
        ];
        let header = ResponseHeader::decode(&bytes).unwrap();
        assert_eq!(header.status, Status::OkSoFar);
        assert_eq!((header.stream, header.length), (StreamId(0x102), 256));
        assert_eq!(header.encode(), bytes);
    }

    #[test]
    fn an_unknown_status_and_a_negative_length_are_invalid() {
        assert!(ResponseHeader::decode(&[0, 0, 0x0f, 0xff, 0, 0, 0, 0]).is_err());
        assert!(ResponseHeader::decode(&[0, 0, 0, 0, 0x80, 0, 0, 0]).is_err());
    }

    #[test]
    fn every_status_has_its_own_code() {
        let known: Vec<_> = (0..=u16::MAX).filter_map(Status::from_code).collect();
        assert_eq!(known.len(), 9);
        for status in known {
            assert_eq!(Status::from_code(status.code()), Some(status));
        }
    }
}
