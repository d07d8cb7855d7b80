//! XRootD's messages: a request's code and parameters, then the bytes behind it; the same bytes
//! also as an answer to every request.

use std::fmt::Debug;

use bytes::Bytes;
use xrootd::header::{RequestHeader, StreamId};
use xrootd::message::{
    Auth, Bind, Close, Dirlist, Endsess, Locate, Login, Message, Mkdir, Mv, Open, Pgread, Pgwrite,
    Ping, Protocol, Query, Read, Readv, Request, Rm, Rmdir, Stat, Sync, Truncate, Write,
};
use xrootd::response::Redirect;
use xrootd::url::Url;

use crate::Target;

pub const TARGET: Target =
    Target { name: "messages", run, seeds, rounds: 30_000, memory: (1 << 20, 256) };

pub fn run(data: &[u8]) {
    if let Some((head, body)) = data.split_first_chunk::<{ RequestHeader::BYTES }>()
        && let Ok(header) = RequestHeader::decode(head)
    {
        request(&header, &Bytes::copy_from_slice(body));
    }
    let body = Bytes::copy_from_slice(data);
    answer::<Auth>(&body);
    answer::<Bind>(&body);
    answer::<Close>(&body);
    answer::<Dirlist>(&body);
    answer::<Endsess>(&body);
    answer::<Locate>(&body);
    answer::<Login>(&body);
    answer::<Mkdir>(&body);
    answer::<Mv>(&body);
    answer::<Open>(&body);
    answer::<Pgread>(&body);
    answer::<Pgwrite>(&body);
    answer::<Ping>(&body);
    answer::<Protocol>(&body);
    answer::<Query>(&body);
    answer::<Read>(&body);
    answer::<Readv>(&body);
    answer::<Rm>(&body);
    answer::<Rmdir>(&body);
    answer::<Stat>(&body);
    answer::<Sync>(&body);
    answer::<Truncate>(&body);
    answer::<Write>(&body);
    if let Ok(redirect) = Redirect::decode(data) {
        let original = Url::parse("root://host//path?a=b").expect("a URL");
        let _ = redirect.follow(&original);
    }
    if let Ok(text) = std::str::from_utf8(data)
        && let Ok(url) = Url::parse(text)
    {
        assert_eq!(Url::parse(&url.to_string()), Ok(url));
    }
}

/// A decoded request can be written, and decodes to the same again.
fn request(header: &RequestHeader, body: &Bytes) {
    let Ok(request) = Request::decode(header, body) else { return };
    if matches!(request, Request::Unknown { .. }) {
        return;
    }
    let frame = Bytes::from(request.frame(StreamId(7)));
    let head = frame.first_chunk().expect("a frame begins with its header");
    let again = RequestHeader::decode(head).expect("our own header");
    assert_eq!((again.stream, again.code), (StreamId(7), header.code));
    assert_eq!(Request::decode(&again, &frame.slice(RequestHeader::BYTES..)), Ok(request));
}

fn answer<M: Message>(body: &Bytes)
where
    M::Answer: PartialEq + Debug,
{
    if let Ok(answer) = M::decode_answer(body) {
        let written = Bytes::from(M::encode_answer(&answer));
        assert_eq!(M::decode_answer(&written).as_ref(), Ok(&answer), "{}", M::NAME);
    }
}

fn seeds() -> Vec<Vec<u8>> {
    use xrootd::header::Handle;
    use xrootd::message::dirlist::DirlistOptions;
    use xrootd::message::open::OpenOptions;
    use xrootd::message::pgread::{PagePart, PartHead, PgreadArguments};
    use xrootd::message::readv::Segment;

    let segment = Segment { handle: Handle([1, 0, 0, 0]), length: 100, offset: 1 << 33 };
    let arguments = Some(PgreadArguments::retry());
    let requests: [Request; 7] = [
        Open::reading("/store/f.root?tried=a", OpenOptions::FOR_READING).into(),
        Readv { path: 0, segments: vec![segment; 3] }.into(),
        Read { handle: Handle([1, 0, 0, 0]), offset: 5, length: 6, arguments: None }.into(),
        Pgread { handle: Handle([1, 0, 0, 0]), offset: 5, length: 6, arguments }.into(),
        Stat::of("/store").into(),
        Query::config(&["readv_iov_max"]).into(),
        Dirlist { options: DirlistOptions::WITH_STAT, path: "/store".into() }.into(),
    ];
    let mut seeds: Vec<Vec<u8>> = requests.iter().map(|r| r.frame(StreamId(1))).collect();
    // Answers and URLs.
    for text in [
        &b".\n0 0 0 0\na.root\n1 2 16 3\nb\n4 5 19 6\0"[..],
        b"\0\0\x04\x46host.example?cgi=1",
        b"\xff\xff\xff\xffroot://[::1]:1095//path?x",
        b"Sr127.0.0.1:1094 Mw[::1]:1213\0",
        b"root://user@host:1094//store/f.root?a=b",
        b"\x01\0\0\0\0\0\0\0\0\0\0\x001 2 16 3\0",
        b"0123456789abcdef&P=unix&P=gsi,v:10600\0",
    ] {
        seeds.push(text.to_vec());
    }
    let pages = Bytes::from(xrootd::pages::encode(4090, b"twelve bytes"));
    let length = pages.len() as u32;
    let head = PartHead { stream: StreamId(1), last: true, offset: 4090, length };
    seeds.push(Pgread::encode_answer(&PagePart { head, pages }));
    seeds
}
