//! The answers of HTTP servers: `Content-Range`, and bodies of several ranges in pieces of all
//! sizes.

use bytes::Bytes;
use remote::source::http::multipart::{Item, Multipart, boundary};
use remote::source::http::range::parse_content_range;

use super::pieces;
use crate::Target;

pub const TARGET: Target =
    Target { name: "http", run, seeds, rounds: 20_000, memory: (1 << 20, 16) };

const HULL: std::ops::Range<u64> = 100..5_000;
const RANGES_MAX: usize = 64;

pub fn run(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    for line in text.lines() {
        if let Some(range) = parse_content_range(line).and_then(|said| said.range) {
            assert!(range.start < range.end);
        }
        if let Some(name) = boundary(line) {
            assert!(!name.is_empty() && line.contains(&name));
        }
    }
    let mut parser = Multipart::new("b", HULL, RANGES_MAX);
    let mut delivered = 0;
    for piece in pieces(data) {
        let mut piece = Bytes::copy_from_slice(piece);
        loop {
            match parser.next(&mut piece) {
                Ok(Some(Item::Data { offset, bytes })) => {
                    delivered += bytes.len();
                    let end = offset.checked_add(bytes.len() as u64).expect("no overflow");
                    assert!(HULL.start <= offset && end <= HULL.end, "outside of what was asked");
                }
                Ok(Some(Item::Held(held))) => assert!(held.start < held.end),
                Ok(Some(Item::Size(_))) => {}
                Ok(None) => break,
                Err(_) => return,
            }
        }
        assert!(piece.is_empty(), "input is left, and no error");
    }
    assert!(delivered <= data.len());
}

/// A good body of two parts, and headers.
fn seeds() -> Vec<Vec<u8>> {
    let body = "preamble\r\n--b\r\nContent-Type: x/y\r\nContent-Range: bytes 100-104/9000\r\n\r\n\
                hello\r\n--b\r\ncontent-range: bytes 200-203/9000\r\n\r\nroot\r\n--b--\r\n";
    let headers = "bytes 0-99/1000\nbytes 0-99/*\nbytes */1000\n\
                   multipart/byteranges; boundary=\"b\"\n";
    vec![body.into(), headers.into()]
}

#[test]
fn the_seed_is_read() {
    let mut parser = Multipart::new("b", HULL, RANGES_MAX);
    let mut body = Bytes::from(seeds().remove(0));
    let mut text = Vec::new();
    while let Ok(Some(item)) = parser.next(&mut body) {
        if let Item::Data { bytes, .. } = item {
            text.extend_from_slice(&bytes);
        }
    }
    assert_eq!(text, b"helloroot");
    assert!(parser.is_complete());
}
