//! Limits of a served connection: bytes that it keeps for a client, and work that it leaves undone.

use std::time::Duration;

use crate::frames::{answers, error_of, request};
use bytes::Bytes;
use farroot_xrootd::error::{ErrorCode, ServerError};
use farroot_xrootd::header::{Status, StreamId};
use farroot_xrootd::message::handshake;
use farroot_xrootd::message::login::{Ability, SessionId, VERSION_5_DEFERRED_ANSWERS};
use farroot_xrootd::message::{Login, Message, Ping};
use farroot_xrootd::server::{Served, Server, ServerConfig, Tag};

const NOW: Duration = Duration::ZERO;

fn config() -> ServerConfig {
    ServerConfig::data_server(SessionId([1; 16]))
}

/// A server whose client has logged in.
fn server(config: ServerConfig) -> Server {
    let mut server = Server::new(config);
    let login = Login {
        pid: 1,
        user: Login::user_field("tester"),
        ability_2: 0,
        ability: Ability::FULL_URL,
        version: VERSION_5_DEFERRED_ANSWERS,
        about: String::new(),
    };
    let said = [&handshake::REQUEST[..], &login.frame(StreamId(1))].concat();
    server.handle_bytes(NOW, said.into()).unwrap();
    assert_eq!(answers(&mut server).len(), 2);
    assert!(matches!(server.poll_event(), Some(Served::Login(_))));
    server
}

fn pings(count: u16) -> Bytes {
    (0..count).flat_map(|stream| Ping.frame(StreamId(stream))).collect()
}

fn waiting(server: &mut Server) -> Vec<Tag> {
    let tag = |served| match served {
        Served::Request { tag, .. } => Some(tag),
        _ => None,
    };
    std::iter::from_fn(|| server.poll_event()).filter_map(tag).collect()
}

/// One packet of 64 kB held 2,700 requests, all decoded and kept at once.
#[test]
fn requests_behind_as_many_as_may_wait_are_decoded_when_there_is_room() {
    let mut server = server(ServerConfig { requests_max: 3, ..config() });
    server.handle_bytes(NOW, pings(8)).unwrap();
    let mut answered = Vec::new();
    for expected in [3, 3, 2] {
        let tags = waiting(&mut server);
        assert_eq!((tags.len(), server.requests_waiting()), (expected, expected));
        assert_eq!(server.wants_bytes(), expected < 3);
        tags.into_iter().for_each(|tag| server.answer_done(tag));
        answered.extend(answers(&mut server).into_iter().map(|(stream, ..)| stream));
        server.handle_room(NOW).unwrap();
    }
    assert_eq!(answered, [0, 1, 2, 3, 4, 5, 6, 7]);
    // Bytes that come in spite of it are kept behind the others.
    server.handle_bytes(NOW, pings(4)).unwrap();
    server.handle_bytes(NOW, pings(1)).unwrap();
    let first = waiting(&mut server);
    first.into_iter().for_each(|tag| server.answer_done(tag));
    server.handle_room(NOW).unwrap();
    assert_eq!(waiting(&mut server).len(), 2);
}

#[test]
fn bytes_of_requests_that_wait_are_counted_too() {
    let mut server = server(ServerConfig { waiting_bytes_max: 100, ..config() });
    let paths: Vec<u8> = (0..10).flat_map(|stream| request(stream, 3017, &[b'a'; 40])).collect();
    server.handle_bytes(NOW, paths.into()).unwrap();
    let mut seen = 0;
    while seen < 10 {
        let tags = waiting(&mut server);
        assert!((1..=3).contains(&tags.len()), "{} wait", tags.len());
        seen += tags.len();
        tags.into_iter().for_each(|tag| server.answer_text(tag, "1 2 3 4"));
        server.handle_room(NOW).unwrap();
    }
    assert!(server.wants_bytes());
}

/// Requests of up to 1 MB were kept whole: 256 paths of that size for each connection.
#[test]
fn a_request_too_long_is_refused_in_words_and_not_kept() {
    let mut server = server(ServerConfig { request_bytes_max: 1000, ..config() });
    let said = [
        request(5, 3010, &[b'a'; 1000]),
        request(6, 3010, &[b'a'; 500_000]),
        request(7, 3011, b""),
    ];
    for part in said.concat().chunks(777) {
        server.handle_bytes(NOW, Bytes::copy_from_slice(part)).unwrap();
    }
    assert_eq!(waiting(&mut server).len(), 2, "the open and the ping");
    let answered = answers(&mut server);
    assert_eq!((answered.len(), answered[0].0), (1, 6));
    assert_eq!(error_of(&answered[0]), ErrorCode::ARG_TOO_LONG);
    // Data whose amount only the body says: the place of the next request is not known without it.
    assert!(server.handle_bytes(NOW, request(8, 3031, &[0; 2000]).into()).is_err());
    assert!(!server.is_up());
}

#[test]
fn a_client_without_a_place_is_told_why_whatever_it_asks() {
    let why = "no place";
    let mut server = Server::new(ServerConfig { refusal: Some(why.to_owned()), ..config() });
    let said = [&handshake::REQUEST[..], &request(1, 3006, b""), &request(2, 3007, b"")].concat();
    server.handle_bytes(NOW, said.into()).unwrap();
    let answered = answers(&mut server);
    assert_eq!((answered.len(), answered[0].1), (3, Status::Ok));
    for answer in &answered[1..] {
        let error = ServerError::decode(&answer.2).unwrap();
        assert_eq!((error.code, error.message.as_str()), (ErrorCode::OVERLOADED, why));
    }
    assert!(waiting(&mut server).is_empty() && !server.is_up());
}

#[test]
fn answers_given_while_a_frame_is_unfinished_follow_behind_it() {
    let mut server = server(config());
    server.handle_bytes(NOW, pings(3)).unwrap();
    let tags = waiting(&mut server);
    let record: Vec<u8> = (0..20_000u32).map(|at| at as u8).collect();
    let pieces: Vec<Bytes> = record.chunks(7000).map(Bytes::copy_from_slice).collect();
    server.begin_records(tags[0], 20_000, pieces[0].clone(), true);
    server.answer_done(tags[1]);
    server.continue_records(pieces[1].clone());
    server.answer_data(tags[2], Bytes::from(vec![7; 5000]), false);
    server.continue_records(pieces[2].clone());
    server.answer_data(tags[0], Bytes::from_static(b"last"), false);
    let expected = [
        (0, Status::OkSoFar, record),
        (1, Status::Ok, vec![]),
        (2, Status::Ok, vec![7; 5000]),
        (0, Status::Ok, b"last".to_vec()),
    ];
    assert_eq!(answers(&mut server), expected);
    assert_eq!(server.requests_waiting(), 0);
}
