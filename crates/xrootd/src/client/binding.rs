//! The beginning of a connection that is added to a session. Specification: "kXR_bind Request".

use bytes::Bytes;

use super::streams::CONTROL_BYTES_MAX;
use crate::codec::Outbox;
use crate::error::{ProtocolError, ServerError, SessionError};
use crate::frame::{Body, FrameReader, Piece};
use crate::header::{ResponseHeader, Status, StreamId};
use crate::message::bind::PathId;
use crate::message::login::SessionId;
use crate::message::protocol::{ClientFlags, Expect, ServerFlags};
use crate::message::{Bind, Message, Protocol, handshake};

/// A path, as its session knows it.
#[derive(Debug)]
pub(super) struct Path {
    pub frames: FrameReader<ResponseHeader>,
    pub outbox: Outbox,
}

impl Default for Path {
    fn default() -> Self {
        Path { frames: FrameReader::new(), outbox: Outbox::default() }
    }
}

impl Path {
    pub fn put_body(&mut self, body: Bytes) {
        self.outbox.put_body(body);
    }
}

/// A step of a [`Binding`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BindStep {
    /// The next byte in both directions belongs to TLS, of which `rest` has come already.
    StartTls { rest: Bytes },
    /// The connection is a path of the session. `rest` has come behind the answer.
    Bound { path: PathId, rest: Bytes },
}

/// The beginning of a connection that becomes a path of a session. As [`Client`], it never sends:
/// the caller polls it for bytes.
///
/// ```
/// use farroot_xrootd::client::Binding;
/// use farroot_xrootd::message::login::SessionId;
///
/// let mut binding = Binding::new(SessionId([7; 16]), false);
/// // The handshake, kXR_protocol and kXR_bind leave together.
/// assert_eq!(binding.poll_transmit().unwrap().len(), 20 + 24 + 24);
/// ```
#[derive(Debug)]
pub struct Binding {
    session: SessionId,
    wants_tls: bool,
    frames: FrameReader<ResponseHeader>,
    outbox: Outbox,
}

const PROTOCOL: StreamId = StreamId(1);
const BIND: StreamId = StreamId(2);

impl Binding {
    /// Begins; `tls` where the session is inside TLS, as the path is to be then.
    pub fn new(session: SessionId, tls: bool) -> Binding {
        let frames = FrameReader::new();
        let mut binding = Binding { session, wants_tls: tls, frames, outbox: Outbox::default() };
        let flags = if tls { ClientFlags::WANT_TLS } else { ClientFlags::default() };
        let protocol = Protocol { version: Protocol::CLIENT_VERSION, flags, expect: Expect::BIND };
        binding.outbox.put(&handshake::REQUEST);
        binding.outbox.put(&protocol.frame(PROTOCOL));
        if !tls {
            binding.bind();
        }
        binding
    }

    fn bind(&mut self) {
        self.outbox.put(&Bind { session: self.session }.frame(BIND));
    }

    /// The next bytes to send.
    pub fn poll_transmit(&mut self) -> Option<Bytes> {
        self.outbox.take()
    }

    /// Bytes have come, cut anywhere. Behind [`BindStep::Bound`] they are for
    /// [`Client::handle_path_bytes`].
    ///
    /// # Errors
    /// Why there will be no path: the server's refusal, or answers that break the protocol.
    pub fn handle_bytes(&mut self, mut bytes: Bytes) -> Result<Option<BindStep>, SessionError> {
        let whole =
            |_: &ResponseHeader| Ok(Body::Whole { subject: "an answer", limit: CONTROL_BYTES_MAX });
        while let Some(piece) = self.frames.next(&mut bytes, whole)? {
            let Piece::Whole { head, body } = piece else { continue };
            let step = match head.stream {
                PROTOCOL => Protocol::NAME,
                BIND => Bind::NAME,
                // The answer to the handshake.
                _ => continue,
            };
            match head.status {
                Status::Ok => {}
                Status::Error => {
                    let error = ServerError::decode(&body).map_err(ProtocolError::from)?;
                    return Err(SessionError::Refused { step, error });
                }
                status => {
                    let status = status.name();
                    return Err(ProtocolError::UnexpectedStatus { status, request: step }.into());
                }
            }
            if head.stream == BIND {
                let path = Bind::decode_answer(&body).map_err(ProtocolError::from)?;
                return match path {
                    PathId::OWN => Err(ProtocolError::OwnPath.into()),
                    path => Ok(Some(BindStep::Bound { path, rest: bytes })),
                };
            }
            let answer = Protocol::decode_answer(&body).map_err(ProtocolError::from)?;
            match (answer.flags.contains(ServerFlags::GO_TO_TLS), self.wants_tls) {
                (true, true) => {
                    self.bind();
                    return Ok(Some(BindStep::StartTls { rest: bytes }));
                }
                (true, false) => return Err(SessionError::TlsRequired),
                (false, true) => return Err(SessionError::NoTls),
                (false, false) => {}
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(stream: StreamId, status: Status, body: &[u8]) -> Vec<u8> {
        let head = ResponseHeader { stream, status, length: body.len() as u32 };
        [&head.encode()[..], body].concat()
    }

    fn begun(flags: u32) -> Vec<u8> {
        let protocol = [0x520_u32.to_be_bytes(), flags.to_be_bytes()].concat();
        let greeting = answer(StreamId::NONE, Status::Ok, &[0, 0, 5, 0x20, 0, 0, 0, 1]);
        [greeting, answer(PROTOCOL, Status::Ok, &protocol)].concat()
    }

    /// Whole, byte by byte, and with bytes of the path behind it.
    #[test]
    fn a_connection_becomes_a_path() {
        let mut bytes = begun(1);
        bytes.extend(answer(BIND, Status::Ok, &[5]));
        let bound = |rest: &'static [u8]| {
            Some(BindStep::Bound { path: PathId(5), rest: Bytes::from_static(rest) })
        };
        let mut whole = Binding::new(SessionId([1; 16]), false);
        let with_more = [&bytes[..], b"more"].concat();
        assert_eq!(whole.handle_bytes(with_more.into()).unwrap(), bound(b"more"));
        let mut single = Binding::new(SessionId([1; 16]), false);
        let (last, first) = bytes.split_last().unwrap();
        for byte in first {
            assert_eq!(single.handle_bytes(vec![*byte].into()).unwrap(), None);
        }
        assert_eq!(single.handle_bytes(vec![*last].into()).unwrap(), bound(b""));
    }

    #[test]
    fn within_tls_it_is_bound_behind_the_consent() {
        let mut binding = Binding::new(SessionId([1; 16]), true);
        assert_eq!(binding.poll_transmit().unwrap().len(), 20 + 24);
        let consent = [&begun(ServerFlags::GO_TO_TLS.0)[..], b"tls"].concat();
        let rest = Bytes::from_static(b"tls");
        assert_eq!(
            binding.handle_bytes(consent.into()).unwrap(),
            Some(BindStep::StartTls { rest })
        );
        assert_eq!(binding.poll_transmit().unwrap().len(), 24);
        let in_clear = Binding::new(SessionId([1; 16]), true).handle_bytes(begun(1).into());
        assert_eq!(in_clear, Err(SessionError::NoTls));
        let consent = begun(ServerFlags::GO_TO_TLS.0);
        let unasked = Binding::new(SessionId([1; 16]), false).handle_bytes(consent.into());
        assert_eq!(unasked, Err(SessionError::TlsRequired));
    }

    #[test]
    fn a_refusal_and_strange_answers_are_errors() {
        let refusal = [&3005_u32.to_be_bytes()[..], b"no\0"].concat();
        let cases = [
            answer(BIND, Status::Error, &refusal),
            answer(BIND, Status::Ok, &[]),
            answer(BIND, Status::Ok, &[0]),
            answer(BIND, Status::Redirect, b"elsewhere"),
            answer(PROTOCOL, Status::Ok, &[]),
        ];
        for bytes in cases {
            let mut binding = Binding::new(SessionId([1; 16]), false);
            let end = binding.handle_bytes(bytes.clone().into());
            assert!(end.is_err(), "{bytes:?}: {end:?}");
        }
    }
}
