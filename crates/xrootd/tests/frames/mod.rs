//! Encodes requests, and decodes the answers of a server.

use bytes::Bytes;
use farroot_xrootd::error::{ErrorCode, ServerError};
use farroot_xrootd::header::{RequestHeader, ResponseHeader, Status, StreamId};
use farroot_xrootd::server::Server;

pub fn request(stream: u16, code: u16, body: &[u8]) -> Vec<u8> {
    let length = body.len() as u32;
    let header = RequestHeader { stream: StreamId(stream), code, parameters: [0; 16], length };
    [&header.encode()[..], body].concat()
}

/// The answers of a server, as stream, status and body.
pub fn answers(server: &mut Server) -> Vec<(u16, Status, Vec<u8>)> {
    let sent: Vec<Bytes> = std::iter::from_fn(|| server.poll_transmit()).collect();
    let bytes = sent.concat();
    let mut found = Vec::new();
    let mut rest = &bytes[..];
    while let Some((head, body)) = rest.split_first_chunk() {
        let head = ResponseHeader::decode(head).unwrap();
        let (body, next) = body.split_at(head.length as usize);
        found.push((head.stream.0, head.status, body.to_vec()));
        rest = next;
    }
    found
}

pub fn error_of(answer: &(u16, Status, Vec<u8>)) -> ErrorCode {
    assert_eq!(answer.1, Status::Error);
    ServerError::decode(&answer.2).unwrap().code
}
