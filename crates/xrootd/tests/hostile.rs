//! Servers and clients that break the rules: an error, never a panic, never wrong bytes.

use std::time::Duration;

use crate::frames::{answers, error_of, request};
use bytes::Bytes;
use farroot_xrootd::client::{Answer, Client, ClientConfig, Event, FileId, HowToRetry, RequestId};
use farroot_xrootd::error::{ErrorCode, ProtocolError, RequestError, ServerError, SessionError};
use farroot_xrootd::header::{Handle, RequestHeader, ResponseHeader, Status, StreamId};
use farroot_xrootd::message::dirlist::DirlistOptions;
use farroot_xrootd::message::handshake::{self, Greeting, ServerKind};
use farroot_xrootd::message::login::SessionId;
use farroot_xrootd::message::open::OpenOptions;
use farroot_xrootd::message::pgread::PartHead;
use farroot_xrootd::message::protocol::{ProtocolAnswer, ServerFlags};
use farroot_xrootd::message::readv::Segment;
use farroot_xrootd::message::{Login, Message, Open, Ping, Protocol};
use farroot_xrootd::profile::{Authentication, Profile, Start};
use farroot_xrootd::response::Redirect;
use farroot_xrootd::server::{Served, Server, ServerConfig};

/// The request that heads of parts answer here.
const PGREAD: u16 = 3030;
const NOW: Duration = Duration::from_secs(1);

// The client numbers its streams from 1.
const PROTOCOL: u16 = 1;
const LOGIN: u16 = 2;
const OPEN: u16 = 3;
const READ: u16 = 4;

fn frame(stream: u16, status: Status, body: &[u8]) -> Vec<u8> {
    let length = body.len() as u32;
    let header = ResponseHeader { stream: StreamId(stream), status, length };
    [&header.encode()[..], body].concat()
}

fn greeting() -> Vec<u8> {
    Greeting { version: 0x511, kind: ServerKind::DataServer }.frame()
}

fn negotiated(flags: ServerFlags) -> Vec<u8> {
    let answer = ProtocolAnswer { version: 0x511, flags, details: Bytes::new() };
    frame(PROTOCOL, Status::Ok, &Protocol::encode_answer(&answer))
}

/// A server's messages until all requests are allowed.
fn up() -> Vec<u8> {
    let login = frame(LOGIN, Status::Ok, &[7; 16]);
    [greeting(), negotiated(ServerFlags::IS_SERVER), login].concat()
}

fn opened() -> Vec<u8> {
    frame(OPEN, Status::Ok, &[0; 4])
}

struct Asked {
    client: Client,
    file: FileId,
    read: RequestId,
}

/// A client that has asked for ten bytes of a file, in a burst.
fn asked() -> Asked {
    let config = ClientConfig::new("tester", "test", 7);
    let mut client = Client::new(config, Profile::default(), Start::Burst);
    let (file, _) = client.open(NOW, "/a", OpenOptions::FOR_READING);
    let read = client.read(NOW, file, 100..110);
    while client.poll_transmit(NOW).is_some() {}
    Asked { client, file, read }
}

fn events(client: &mut Client) -> Vec<Event> {
    std::iter::from_fn(|| client.poll_event()).collect()
}

/// Feeds messages of a server; the session must end with the returned error, in all its requests
/// and events.
fn breaks(said: &[u8]) -> ProtocolError {
    let Asked { mut client, .. } = asked();
    let error = client.handle_bytes(NOW, Bytes::copy_from_slice(said)).unwrap_err();
    assert!(client.is_closed());
    let events = events(&mut client);
    let session = SessionError::Protocol(error.clone());
    let last = Event::SessionFailed { error: session.clone(), retry: HowToRetry::No };
    assert_eq!(events.last(), Some(&last));
    // The open and the read: each has ended, if not well then by this error.
    let ended = events.iter().filter(|event| match event {
        Event::Failed { error, .. } => *error == RequestError::Session(session.clone()),
        Event::Opened { .. } | Event::Done { .. } => true,
        _ => false,
    });
    assert_eq!(ended.count(), 2);
    assert_eq!(client.poll_transmit(NOW), None);
    assert_eq!(client.poll_timeout(), None);
    // Further bytes are ignored.
    assert_eq!(client.handle_bytes(NOW, Bytes::from_static(b"more")), Ok(()));
    error
}

/// A session was kept alive by messages that answer nothing: empty parts without end, and notices.
#[test]
fn messages_that_answer_nothing_are_no_sign_of_life_and_have_an_end() {
    let empty = frame(READ, Status::OkSoFar, b"");
    let notice = frame(0, Status::Attention, &[&5002_u32.to_be_bytes()[..], b"wait\0"].concat());
    for idle in [empty, notice] {
        let begin = [up(), opened()].concat();
        let said = [begin.clone(), idle.repeat(1001)].concat();
        assert_eq!(breaks(&said), ProtocolError::Chatter(1001));
        let Asked { mut client, .. } = asked();
        client.handle_bytes(NOW, Bytes::from(begin)).unwrap();
        for second in 1..30 {
            let now = NOW + Duration::from_secs(second);
            client.handle_bytes(now, Bytes::from(idle.clone())).unwrap();
        }
        client.handle_timeout(NOW + Duration::from_secs(30));
        assert!(client.is_closed());
    }
}

/// A server that takes requests up before it has judged the credential in front of them.
#[test]
fn what_is_refused_before_the_credential_is_answered_is_asked_again_behind_it() {
    const AUTH: u16 = 3;
    let config = ClientConfig::new("tester", "test", 7);
    let authentication = Authentication::Needed("&P=unix".to_owned());
    let profile = Profile { authentication, ..Profile::default() };
    let mut client = Client::new(config, profile, Start::Burst);
    let (file, _) = client.open(NOW, "/a", OpenOptions::FOR_READING);
    let read = client.read(NOW, file, 100..110);
    let sent = |client: &mut Client| -> Vec<u8> {
        std::iter::from_fn(|| client.poll_transmit(NOW)).flatten().collect()
    };
    assert!(sent(&mut client).windows(2).any(|path| path == b"/a"), "all left at once");
    let offered = [&[7; 16][..], b"&P=unix\0"].concat();
    let early = [&ErrorCode::NOT_AUTHORIZED.0.to_be_bytes()[..], b"Authentication required\0"];
    let early = early.concat();
    let said = [
        greeting(),
        negotiated(ServerFlags::IS_SERVER),
        frame(LOGIN, Status::Ok, &offered),
        // The open and the read, which left behind the credential.
        frame(AUTH + 1, Status::Error, &early),
        frame(AUTH + 2, Status::Error, &early),
    ];
    client.handle_bytes(NOW, Bytes::from(said.concat())).unwrap();
    assert_eq!(sent(&mut client), b"", "nothing more before the credential is answered");
    client.handle_bytes(NOW, Bytes::from(frame(AUTH, Status::Ok, b""))).unwrap();
    let again = sent(&mut client);
    assert!(again.windows(2).any(|path| path == b"/a"));
    let open = u16::from_be_bytes([again[0], again[1]]);
    client.handle_bytes(NOW, Bytes::from(frame(open, Status::Ok, &[0; 4]))).unwrap();
    let again = sent(&mut client);
    let asked = u16::from_be_bytes([again[0], again[1]]);
    let bytes = Bytes::from(frame(asked, Status::Ok, b"0123456789"));
    client.handle_bytes(NOW, bytes).unwrap();
    assert!(events(&mut client).contains(&Event::Done { request: read }));
    // The next connection waits.
    assert_eq!(client.profile().burst, Some(false));
}

#[test]
fn an_answer_to_nothing() {
    let error = breaks(&[up(), frame(99, Status::Ok, b"")].concat());
    assert_eq!(error, ProtocolError::UnknownStream(StreamId(99)));
    let error = breaks(&[up(), opened(), opened()].concat());
    assert_eq!(error, ProtocolError::UnknownStream(StreamId(OPEN)));
    let error = breaks(&[up(), greeting()].concat());
    assert_eq!(error, ProtocolError::UnknownStream(StreamId::NONE));
}

#[test]
fn an_answer_out_of_turn() {
    let steps = [
        opened(),
        frame(LOGIN, Status::Ok, &[7; 16]),
        [greeting(), opened()].concat(),
        [greeting(), negotiated(ServerFlags::IS_SERVER), opened()].concat(),
        [greeting(), frame(READ, Status::Ok, b"0123456789")].concat(),
    ];
    for said in steps {
        assert!(matches!(breaks(&said), ProtocolError::OutOfTurn(_)));
    }
}

#[test]
fn lengths_that_lie() {
    let long = frame(READ, Status::Ok, &[1; 11]);
    assert_eq!(breaks(&[up(), opened(), long].concat()), ProtocolError::LongRead { asked: 10 });
    let parts = [frame(READ, Status::OkSoFar, &[1; 6]), frame(READ, Status::Ok, &[1; 5])].concat();
    assert_eq!(breaks(&[up(), opened(), parts].concat()), ProtocolError::LongRead { asked: 10 });
    let negative = [0, OPEN as u8, 0, 0, 0xff, 0xff, 0xff, 0xff];
    assert!(matches!(breaks(&[&up()[..], &negative].concat()), ProtocolError::Malformed(_)));
    let huge = [0, OPEN as u8, 0, 0, 0x7f, 0xff, 0xff, 0xff];
    let error = breaks(&[&up()[..], &huge].concat());
    assert!(matches!(error, ProtocolError::TooLarge { bytes: 0x7fff_ffff, .. }));
    let mut gathered = up();
    for _ in 0..3 {
        gathered.extend(frame(OPEN, Status::OkSoFar, &[0; 400_000]));
    }
    assert!(matches!(breaks(&gathered), ProtocolError::TooLarge { .. }));
}

#[test]
fn answers_that_do_not_fit_the_question() {
    for status in [Status::AuthMore, Status::Attention, Status::Status] {
        let error = breaks(&[up(), frame(OPEN, status, &[0; 24])].concat());
        assert!(matches!(error, ProtocolError::UnexpectedStatus { .. }));
    }
    for body in [&b""[..], b"\0\0\0", b"\0\0\0\0\0\0\0\0\0\0\0\0nonsense\0"] {
        let error = breaks(&[up(), frame(OPEN, Status::Ok, body)].concat());
        assert!(matches!(error, ProtocolError::Malformed(_)), "{body:?}");
    }
    let part_then_wait = [
        up(),
        opened(),
        frame(READ, Status::OkSoFar, &[1; 6]),
        frame(READ, Status::Wait, &[0, 0, 0, 1]),
    ];
    assert!(matches!(breaks(&part_then_wait.concat()), ProtocolError::UnexpectedStatus { .. }));
    let attention = |body: &[u8]| [up(), frame(0, Status::Attention, body)].concat();
    for body in [&b""[..], b"\0\0\x13\x90", b"\0\0\x13\x90\0\0\0\0\0\x03\0\0\0\0\0\x09abc"] {
        assert!(matches!(breaks(&attention(body)), ProtocolError::Malformed(_)));
    }
    // A deferred answer to a request that was never deferred.
    let early = attention(b"\0\0\x13\x90\0\0\0\0\0\x03\0\0\0\0\0\x04\0\0\0\0");
    assert_eq!(breaks(&early), ProtocolError::UnknownStream(StreamId(OPEN)));
}

/// The client's result and events for an answer to its checksummed read of bytes 100 to 110.
fn after_checked(said: &[u8], cancelled: bool) -> (Result<(), ProtocolError>, Vec<Event>) {
    let Asked { mut client, file, read } = asked();
    let pages = client.pgread(NOW, file, 100..110, false);
    let first = [up(), opened(), frame(READ, Status::Ok, &[1; 10])].concat();
    client.handle_bytes(NOW, first.into()).unwrap();
    if cancelled {
        client.cancel(NOW, pages);
    }
    let taken = client.handle_bytes(NOW, Bytes::copy_from_slice(said));
    let mut seen = events(&mut client);
    seen.retain(|event| match event {
        Event::Data { request, .. } | Event::Done { request } => *request != read,
        Event::Damaged { .. } => true,
        _ => false,
    });
    (taken, seen)
}

/// A part of pages under the stream of that read.
fn part(offset: u64, bytes: &[u8], last: bool) -> Vec<u8> {
    let pages = farroot_xrootd::pages::encode(offset, bytes);
    let stream = StreamId(READ + 1);
    let length = pages.len() as u32;
    let head = PartHead { stream, last, offset, length }.encode(PGREAD);
    [frame(READ + 1, Status::Status, &head), pages].concat()
}

#[test]
fn checksummed_reads_with_strange_parts() {
    let (taken, seen) = after_checked(&part(100, &[5; 10], true), false);
    assert_eq!((taken, seen.len()), (Ok(()), 2));
    let bare = frame(READ + 1, Status::Ok, &[5; 10]);
    assert_eq!(after_checked(&bare, false), (Err(ProtocolError::Unchecked), vec![]));
    let empty = frame(READ + 1, Status::Ok, b"");
    assert_eq!(after_checked(&empty, false).0, Err(ProtocolError::Unchecked));
    for (offset, bytes) in [(99, 2), (100, 11), (5000, 1)] {
        let strange = part(offset, &[5; 11][..bytes], true);
        let error = ProtocolError::StrangePart { offset };
        assert_eq!(after_checked(&strange, false), (Err(error), vec![]));
    }
    let twice = [part(100, &[5; 2], false), part(101, &[5; 2], false)].concat();
    let (taken, seen) = after_checked(&twice, false);
    assert_eq!((taken, seen.len()), (Err(ProtocolError::StrangePart { offset: 101 }), 1));
    let mut wrong = part(100, &[5; 10], true);
    wrong[8 + 20] ^= 1;
    assert!(matches!(after_checked(&wrong, false).0, Err(ProtocolError::Malformed(_))));
    let mut other = part(100, &[5; 10], true);
    let head = PartHead { stream: StreamId(9), last: true, offset: 100, length: 14 };
    other[8..32].copy_from_slice(&head.encode(PGREAD));
    let error = ProtocolError::UnknownStream(StreamId(9));
    assert_eq!(after_checked(&other, false).0, Err(error));
    // Parts of an answer whose request was given up are passed over, whatever they hold.
    let after = [part(4000, &[5; 11], false), part(0, b"", true), frame(77, Status::Ok, b"")];
    let (taken, seen) = after_checked(&after.concat(), true);
    assert_eq!((taken, seen), (Err(ProtocolError::UnknownStream(StreamId(77))), vec![]));
}

#[test]
fn vector_reads_with_strange_records() {
    let record = |offset: u64, bytes: &[u8]| {
        let head = Segment { handle: Handle::default(), length: bytes.len() as u32, offset };
        [&head.encode()[..], bytes].concat()
    };
    let good = [record(0, b"ab"), record(10, b"cd")].concat();
    let after = |status, body: &[u8]| {
        let Asked { mut client, file, .. } = asked();
        client.readv(NOW, &[(file, 0..2), (file, 10..12)]);
        let read = frame(READ, Status::Ok, &[1; 10]);
        let said = [up(), opened(), read, frame(READ + 1, status, body)].concat();
        client.handle_bytes(NOW, Bytes::from(said))
    };
    assert_eq!(after(Status::Ok, &good), Ok(()));
    for missing in [&good[..0], &good[..18], &good[..20], &good[..good.len() - 1]] {
        let error = after(Status::Ok, missing);
        assert!(matches!(error, Err(ProtocolError::MissingRecords { .. })), "{error:?}");
        assert_eq!(after(Status::OkSoFar, missing), Ok(()), "the rest may still come");
    }
    for strange in [record(1, b"ab"), record(0, b"abc"), record(0, b"a")] {
        let error = after(Status::Ok, &strange);
        assert!(matches!(error, Err(ProtocolError::StrangeRecord { .. })), "{error:?}");
    }
}

#[test]
fn bytes_by_a_wrong_handle_are_never_passed_on() {
    let Asked { mut client, read, .. } = asked();
    let other = frame(OPEN, Status::Ok, &[5, 0, 0, 0]);
    // The read has hit another file's slot: these are another file's bytes.
    let wrong = frame(READ, Status::Ok, b"wrong byte");
    client.handle_bytes(NOW, [wrong_last(&up(), &other), wrong].concat().into()).unwrap();
    let seen = events(&mut client);
    assert!(!seen.iter().any(|event| matches!(event, Event::Data { .. } | Event::Done { .. })));
    let again = client.poll_transmit(NOW).unwrap();
    let header = RequestHeader::decode(again[..24].try_into().unwrap()).unwrap();
    assert_eq!(header.parameters[..4], [5, 0, 0, 0], "asked again, by the real handle");
    let right = frame(header.stream.0, Status::Ok, b"right byte");
    client.handle_bytes(NOW, right.into()).unwrap();
    let file = FileId(0);
    let offset = 100;
    let bytes = Bytes::from_static(b"right byte");
    let seen = events(&mut client);
    assert_eq!(
        seen,
        [Event::Data { request: read, file, offset, bytes }, Event::Done { request: read }]
    );
}

fn wrong_last(first: &[u8], then: &[u8]) -> Vec<u8> {
    [first, then].concat()
}

fn end_of(said: &[u8], ahead: bool) -> (SessionError, HowToRetry, Profile) {
    let config = ClientConfig::new("tester", "test", 7);
    let mut client = Client::new(config, Profile::default(), Start::Burst);
    if ahead {
        client.open(NOW, "/a", OpenOptions::FOR_READING);
    }
    client.handle_bytes(NOW, Bytes::copy_from_slice(said)).unwrap();
    match events(&mut client).pop() {
        Some(Event::SessionFailed { error, retry }) => (error, retry, client.profile().clone()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn servers_that_want_more_than_a_login() {
    let negotiation = [greeting(), negotiated(ServerFlags::IS_SERVER)].concat();
    let login = |status, body: &[u8]| [&negotiation[..], &frame(LOGIN, status, body)].concat();

    let wants = login(Status::Ok, b"0123456789abcdef&P=unix\0");
    let (error, retry, profile) = end_of(&wants, true);
    assert!(matches!(error, SessionError::AuthenticationFirst { .. }));
    assert_eq!(retry, HowToRetry::Careful);
    assert_eq!(profile.authentication, Authentication::Needed("&P=unix".to_owned()));

    let unknown = login(Status::Ok, b"0123456789abcdef&P=gsi,v:1\0");
    assert!(matches!(end_of(&unknown, false).0, SessionError::NoAuthentication { .. }));

    let refusal = |code| ServerError { code, message: "no".to_owned() }.encode();
    let tls = login(Status::Error, &refusal(ErrorCode::TLS_REQUIRED));
    assert_eq!(end_of(&tls, true).0, SessionError::TlsRequired);
    let flags = ServerFlags::IS_SERVER | ServerFlags::GO_TO_TLS;
    let tls = [greeting(), negotiated(flags)].concat();
    assert_eq!(end_of(&tls, true).0, SessionError::TlsRequired);

    let busy = login(Status::Error, &refusal(ErrorCode::OVERLOADED));
    assert_eq!(end_of(&busy, true).1, HowToRetry::Again);
    let later = login(Status::Wait, &[0, 0, 0, 9]);
    let nine = Duration::from_secs(9);
    assert_eq!(end_of(&later, true).1, HowToRetry::After(nine));
    let moved = login(Status::Redirect, b"\0\0\x04\x46elsewhere");
    let elsewhere = SessionError::Moved(Redirect::to_host("elsewhere", 1094, None).into());
    assert_eq!(end_of(&moved, true).0, elsewhere);
}

#[test]
fn a_credential_sent_ahead_that_is_refused_means_care_the_next_time() {
    let config = ClientConfig::new("tester", "test", 7);
    let authentication = Authentication::Needed("&P=unix".to_owned());
    let profile = Profile { authentication, ..Profile::default() };
    let mut client = Client::new(config, profile, Start::Burst);
    client.stat(NOW, "/a");
    let flight = client.poll_transmit(NOW).unwrap();
    assert!(flight.ends_with(b"/a"), "everything leaves at once");
    let refusal = ServerError { code: ErrorCode::NOT_AUTHORIZED, message: "no".to_owned() };
    let said = [
        greeting(),
        negotiated(ServerFlags::IS_SERVER),
        frame(LOGIN, Status::Ok, b"0123456789abcdef&P=unix\0"),
        frame(3, Status::Error, &refusal.encode()),
    ];
    client.handle_bytes(NOW, said.concat().into()).unwrap();
    let seen = events(&mut client);
    let Some(Event::SessionFailed { retry, .. }) = seen.last() else { panic!("{seen:?}") };
    assert_eq!((*retry, client.profile().start()), (HowToRetry::Careful, Start::Careful));
}

#[test]
fn a_redirection_to_nowhere_fails_its_request_alone() {
    let Asked { mut client, read, .. } = asked();
    let odd = frame(OPEN, Status::Redirect, b"\xff\xff\xff\xffhttp://elsewhere/a");
    client.handle_bytes(NOW, [up(), odd].concat().into()).unwrap();
    let failed = events(&mut client).into_iter().filter_map(|event| match event {
        Event::Failed { request, error: RequestError::StrangeRedirect(_) } => Some(request),
        _ => None,
    });
    assert_eq!(failed.collect::<Vec<_>>(), [RequestId(read.0 - 1), read]);
    assert!(!client.is_closed());
}

#[test]
fn a_listing_in_several_parts_is_put_together() {
    let Asked { mut client, .. } = asked();
    let list = client.dirlist(NOW, "/", DirlistOptions::default());
    let parts = [
        frame(READ + 1, Status::OkSoFar, b"a.tx"),
        frame(READ + 1, Status::OkSoFar, b""),
        frame(READ + 1, Status::OkSoFar, b"t\nb.txt"),
        frame(READ + 1, Status::Ok, b"\0"),
    ];
    client.handle_bytes(NOW, [up(), parts.concat()].concat().into()).unwrap();
    let found = events(&mut client).into_iter().find_map(|event| match event {
        Event::Answer { request, answer: Answer::Entries(entries) } if request == list => {
            Some(entries.into_iter().map(|entry| entry.name).collect::<Vec<_>>())
        }
        _ => None,
    });
    assert_eq!(found, Some(vec!["a.txt".to_owned(), "b.txt".to_owned()]));
}

#[test]
fn authentication_goes_through_what_both_sides_know() {
    let config = ClientConfig::new("tester", "test", 7);
    let dislikes_bursts = Profile { burst: Some(false), ..Profile::default() };
    let mut client = Client::new(config, dislikes_bursts, Start::Careful);
    client.stat(NOW, "/a");
    while client.poll_transmit(NOW).is_some() {}
    let wants = frame(LOGIN, Status::Ok, b"0123456789abcdef&P=gsi&P=host&P=unix\0");
    let said = [greeting(), negotiated(ServerFlags::IS_SERVER), wants].concat();
    client.handle_bytes(NOW, said.into()).unwrap();
    let host = client.poll_transmit(NOW).unwrap();
    assert_eq!(&host[24..], b"host\0", "the server's order decides");
    let refusal = ServerError { code: ErrorCode::NOT_AUTHORIZED, message: "no".to_owned() };
    client.handle_bytes(NOW, frame(3, Status::Error, &refusal.encode()).into()).unwrap();
    let unix = client.poll_transmit(NOW).unwrap();
    assert_eq!(&unix[24..], b"unix\0tester tester\0");
    client.handle_bytes(NOW, frame(4, Status::Ok, b"").into()).unwrap();
    let seen = events(&mut client);
    assert!(matches!(seen[..], [Event::SessionUp { .. }]));
    let stat = client.poll_transmit(NOW).unwrap();
    assert_eq!(&stat[24..], b"/a", "only now");
}

// The served side.

fn server() -> Server {
    Server::new(ServerConfig::data_server(SessionId([1; 16])))
}

/// The messages of a client until it is logged in.
fn logged_in() -> Vec<u8> {
    let config = ClientConfig::new("tester", "test", 7);
    let mut client = Client::new(config, Profile::default(), Start::Careful);
    client.poll_transmit(NOW).unwrap().to_vec()
}

#[test]
fn another_protocol_is_refused_at_its_first_byte() {
    assert!(server().handle_bytes(NOW, Bytes::from_static(b"GET / HTTP/1.1")).is_err());
    assert!(server().handle_bytes(NOW, Bytes::from_static(b"\x16")).is_err());
    let mut patient = server();
    for byte in handshake::REQUEST {
        patient.handle_bytes(NOW, Bytes::copy_from_slice(&[byte])).unwrap();
    }
    assert_eq!(answers(&mut patient).len(), 1);
}

#[test]
fn nothing_is_served_before_the_login() {
    let mut server = server();
    let open = Open::reading("/a", OpenOptions::FOR_READING).frame(StreamId(9));
    let ping = Ping.frame(StreamId(8));
    let said = [&handshake::REQUEST[..], &open, &ping].concat();
    server.handle_bytes(NOW, said.into()).unwrap();
    let answered = answers(&mut server);
    assert_eq!(error_of(&answered[1]), ErrorCode::INVALID_REQUEST);
    let handed_up: Vec<_> = std::iter::from_fn(|| server.poll_event()).collect();
    assert!(matches!(
        handed_up[..],
        [Served::Request { request: farroot_xrootd::message::Request::Ping(_), .. }]
    ));
}

#[test]
fn what_would_change_a_file_is_refused_and_its_data_dropped() {
    let mut server = server();
    server.handle_bytes(NOW, logged_in().into()).unwrap();
    answers(&mut server);
    let update = OpenOptions::READ | OpenOptions::UPDATE;
    let segment = Segment { handle: Handle::default(), length: 300, offset: 0 };
    let said = [
        Open::reading("/a", update).frame(StreamId(10)),
        request(11, 3019, &vec![1; 3_000_000]),
        request(12, 3008, b"/new"),
        [request(13, 3031, &segment.encode()), vec![2; 300]].concat(),
        request(14, 3099, b"what is this"),
        request(15, 3018, b"appid test"),
        request(16, 3022, b"/a"),
        Login::frame(&login(), StreamId(17)),
        request(18, 3013, b"abc"),
        Ping.frame(StreamId(19)),
    ];
    for chunk in said.concat().chunks(1000) {
        server.handle_bytes(NOW, Bytes::copy_from_slice(chunk)).unwrap();
    }
    let answered = answers(&mut server);
    let streams: Vec<_> = answered.iter().map(|answer| answer.0).collect();
    assert_eq!(streams, [10, 11, 12, 13, 14, 15, 16, 17, 18]);
    for answer in &answered[..4] {
        assert_eq!(error_of(answer), ErrorCode::READ_ONLY);
    }
    assert_eq!(error_of(&answered[4]), ErrorCode::INVALID_REQUEST);
    assert_eq!(answered[5].1, Status::Ok);
    assert_eq!(error_of(&answered[6]), ErrorCode::UNSUPPORTED);
    assert_eq!(error_of(&answered[7]), ErrorCode::INVALID_REQUEST);
    assert_eq!(error_of(&answered[8]), ErrorCode::ARG_INVALID);
    let handed_up = std::iter::from_fn(|| server.poll_event()).count();
    assert_eq!(handed_up, 2, "the login and the ping");
}

fn login() -> Login {
    let pid = 1;
    let user = Login::user_field("again");
    let ability = farroot_xrootd::message::login::Ability::FULL_URL;
    Login { pid, user, ability_2: 0, ability, version: 5, about: String::new() }
}

#[test]
fn a_request_of_absurd_length_ends_the_session() {
    let mut server = server();
    server.handle_bytes(NOW, logged_in().into()).unwrap();
    let mut said = request(9, 3010, b"");
    said[20..24].copy_from_slice(&[0x7f, 0xff, 0xff, 0xff]);
    assert!(server.handle_bytes(NOW, said.into()).is_err());
    assert_eq!(server.handle_bytes(NOW, Bytes::from_static(b"more")), Ok(()));
    assert!(server.poll_event().is_none());
}

#[test]
fn an_answer_is_given_once() {
    let mut server = server();
    server.handle_bytes(NOW, logged_in().into()).unwrap();
    server.handle_bytes(NOW, Ping.frame(StreamId(30)).into()).unwrap();
    answers(&mut server);
    let tag = std::iter::from_fn(|| server.poll_event())
        .find_map(|event| match event {
            Served::Request { tag, .. } => Some(tag),
            _ => None,
        })
        .unwrap();
    server.answer_done(tag);
    server.answer_error(tag, ErrorCode::IO_ERROR, "too late");
    assert_eq!(answers(&mut server), [(30, Status::Ok, vec![])]);
}
