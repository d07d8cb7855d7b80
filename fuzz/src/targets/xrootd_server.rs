//! The served side of XRootD against whatever a client may send.

use std::time::Duration;

use bytes::Bytes;
use xrootd::header::{ResponseHeader, Status};
use xrootd::message::pgread::PartHead;
use xrootd::message::{Message, Pgread, Pgwrite};
use xrootd::server::{Served, Server};

use super::{pieces, xrootd_client};
use crate::Target;

pub const TARGET: Target =
    Target { name: "xrootd_server", run, seeds, rounds: 10_000, memory: (2 << 20, 4096) };

pub fn run(data: &[u8]) {
    let mut server = Server::new(xrootd_client::writable());
    let mut sent = Vec::new();
    let mut opened = 0;
    for piece in pieces(data) {
        let taken = server.handle_bytes(Duration::ZERO, Bytes::copy_from_slice(piece));
        while let Some(served) = server.poll_event() {
            if let Served::Request { tag, request } = served {
                xrootd_client::answer(&mut server, tag, &request, &mut opened);
            }
        }
        while let Some(bytes) = server.poll_transmit() {
            sent.extend_from_slice(&bytes);
        }
        if taken.is_err() {
            break;
        }
    }
    server.handle_eof(Duration::ZERO);
    check_frames(&sent);
}

/// Whatever came in, the server sends whole answers.
fn check_frames(mut sent: &[u8]) {
    while let Some((head, rest)) = sent.split_first_chunk::<{ ResponseHeader::BYTES }>() {
        let header = ResponseHeader::decode(head).expect("our own header");
        let (body, behind) = rest.split_at_checked(header.length as usize).expect("our own length");
        sent = behind;
        if header.status == Status::Status {
            let head = [Pgread::CODE, Pgwrite::CODE].map(|code| PartHead::decode(code, body).ok());
            let head = head.into_iter().flatten().next().expect("our own head of a part");
            sent = behind.get(head.length as usize..).expect("our own pages");
        }
    }
    assert!(sent.is_empty(), "ends inside a header");
}

fn seeds() -> Vec<Vec<u8>> {
    vec![xrootd_client::conversation().1]
}
