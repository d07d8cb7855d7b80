//! Properties of any conversation: its cuts do not matter, no bytes make either side panic, and
//! every request ends exactly once with the right bytes.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::pair::{Pair, byte};
use bytes::Bytes;
use farroot_xrootd::client::{Client, ClientConfig, Event, FileId, RequestId};
use farroot_xrootd::error::ErrorCode;
use farroot_xrootd::message::Request;
use farroot_xrootd::message::dirlist::DirlistOptions;
use farroot_xrootd::message::login::SessionId;
use farroot_xrootd::message::open::OpenOptions;
use farroot_xrootd::profile::{Profile, Start};
use farroot_xrootd::server::{Server, ServerConfig};
use proptest::prelude::*;

const NOW: Duration = Duration::from_secs(1);
const READING: OpenOptions = OpenOptions::FOR_READING;

/// A client that has asked for a bit of everything.
fn curious() -> Client {
    let config = ClientConfig::new("tester", "test", 7);
    let mut client = Client::new(config, Profile::default(), Start::Burst);
    let (a, _) = client.open(NOW, "/a", READING);
    let (b, _) = client.open(NOW, "/b", READING);
    client.open(NOW, "/none", READING);
    client.read(NOW, a, 0..3000);
    client.readv(NOW, &[(a, 5..50), (b, 0..10), (a, 9_000..9_900)]);
    client.read(NOW, b, 0..100_000);
    client.pgread(NOW, a, 4_000..9_000, false);
    client.stat(NOW, "/a");
    client.dirlist(NOW, "/", DirlistOptions::WITH_STAT);
    client.query_config(NOW, &["readv_iov_max", "nonsense"]);
    client.ping(NOW);
    client.pgwrite(NOW, a, 4_000, Bytes::from_static(&[7; 5_000]));
    client.sync(NOW, a);
    client.rm(NOW, "/b");
    client
}

/// A server's answers to it, in one piece.
fn recorded() -> Bytes {
    let mut pair = Pair::new(Start::Burst);
    pair.client = curious();
    let mut said = Vec::new();
    while let Some(bytes) = pair.client.poll_transmit(NOW) {
        pair.server.handle_bytes(NOW, bytes).unwrap();
    }
    pair.serve();
    while let Some(bytes) = pair.server.poll_transmit() {
        said.extend_from_slice(&bytes);
    }
    said.into()
}

/// Events with the pieces of data of one request joined, as how they are cut follows the input.
fn joined(client: &mut Client) -> Vec<Event> {
    let mut out: Vec<Event> = Vec::new();
    while let Some(event) = client.poll_event() {
        if let (
            Some(Event::Data { request, file, offset, bytes }),
            Event::Data { request: r, file: f, offset: o, bytes: more },
        ) = (out.last_mut(), &event)
            && (*request, *file, *offset + bytes.len() as u64) == (*r, *f, *o)
        {
            *bytes = [&bytes[..], more].concat().into();
            continue;
        }
        out.push(event);
    }
    out
}

fn feed(cuts: impl Iterator<Item = usize>, said: &Bytes) -> Vec<Event> {
    let mut client = curious();
    let mut rest = said.clone();
    for cut in cuts {
        client.handle_bytes(NOW, rest.split_to(cut.min(rest.len()))).unwrap();
    }
    client.handle_bytes(NOW, rest).unwrap();
    joined(&mut client)
}

#[test]
fn a_conversation_byte_by_byte_tells_the_same() {
    let said = recorded();
    let whole = feed(std::iter::empty(), &said);
    assert!(whole.iter().filter(|event| matches!(event, Event::Done { .. })).count() == 4);
    assert_eq!(feed(std::iter::repeat_n(1, said.len()), &said), whole);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

    #[test]
    fn the_way_a_conversation_is_cut_does_not_matter(cuts in prop::collection::vec(1..500_usize, 0..60)) {
        let said = recorded();
        prop_assert_eq!(feed(cuts.into_iter(), &said), feed(std::iter::empty(), &said));
    }

    #[test]
    fn a_damaged_conversation_ends_in_an_error_or_none_but_never_in_a_panic(
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut said = recorded().to_vec();
        for (at, value) in damage {
            let at = at.index(said.len());
            said[at] = value;
        }
        let end = cut.index(said.len() + 1);
        let mut client = curious();
        let _ = client.handle_bytes(NOW, Bytes::from(said).slice(..end));
        client.handle_eof(NOW);
        let seen = joined(&mut client);
        let over = matches!(seen.last(), Some(Event::SessionFailed { .. }));
        prop_assert!(over);
        // Fourteen requests, each with one end.
        let ends = seen.iter().filter_map(end_of).collect::<Vec<_>>();
        let distinct = ends.iter().collect::<std::collections::BTreeSet<_>>();
        prop_assert_eq!((ends.len(), distinct.len()), (14, 14));
    }

    #[test]
    fn no_bytes_make_the_client_panic(bytes in prop::collection::vec(any::<u8>(), 0..400), start in 0..3_usize) {
        let said = recorded();
        let mut client = curious();
        // From the very beginning, after the handshake, or in the middle of things.
        client.handle_bytes(NOW, said.slice(..[0, 16, said.len() / 2][start])).unwrap();
        let _ = client.handle_bytes(NOW, bytes.into());
    }

    #[test]
    fn no_bytes_make_the_served_side_panic(bytes in prop::collection::vec(any::<u8>(), 0..400), greeted in any::<bool>()) {
        let mut server = Server::new(ServerConfig::data_server(SessionId([1; 16])));
        if greeted {
            let said = curious().poll_transmit(NOW).unwrap();
            server.handle_bytes(NOW, said).unwrap();
        }
        let _ = server.handle_bytes(NOW, bytes.into());
        while server.poll_event().is_some() {}
    }
}

fn end_of(event: &Event) -> Option<RequestId> {
    match event {
        Event::Opened { request, .. }
        | Event::Done { request }
        | Event::Answer { request, .. }
        | Event::Failed { request, .. }
        | Event::Redirected { request, .. } => Some(*request),
        _ => None,
    }
}

/// Steps of a client.
#[derive(Debug, Clone)]
enum Step {
    Open(bool),
    Read { file: prop::sample::Index, offset: u64, length: u64 },
    Readv { files: Vec<prop::sample::Index>, offset: u64, length: u64 },
    Close(prop::sample::Index),
    Cancel(prop::sample::Index),
    Settle,
}

fn step() -> impl Strategy<Value = Step> {
    let index = any::<prop::sample::Index>;
    prop_oneof![
        any::<bool>().prop_map(Step::Open),
        (index(), 0..12_000_u64, 0..4000_u64).prop_map(|(file, offset, length)| Step::Read {
            file,
            offset,
            length
        }),
        (prop::collection::vec(index(), 0..6), 0..300_u64, 1..90_u64)
            .prop_map(|(files, offset, length)| Step::Readv { files, offset, length }),
        index().prop_map(Step::Close),
        index().prop_map(Step::Cancel),
        Just(Step::Settle),
    ]
}

/// How a server may take a request.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Mood {
    Plain,
    Wait,
    PutOff,
    Refuse,
}

fn mood() -> impl Strategy<Value = Mood> {
    prop_oneof![6 => Just(Mood::Plain), 1 => Just(Mood::Wait), 1 => Just(Mood::PutOff), 1 => Just(Mood::Refuse)]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn every_request_ends_once_and_every_byte_is_right(
        steps in prop::collection::vec(step(), 1..25),
        moods in prop::collection::vec(mood(), 1..12),
        burst in any::<bool>(),
        big_endian in any::<bool>(),
        chunk in 1..3000_usize,
    ) {
        let mut pair = Pair::new(if burst { Start::Burst } else { Start::Careful });
        pair.chunk = chunk;
        if big_endian {
            pair.world.name_slot = |slot| farroot_xrootd::header::Handle(slot.to_be_bytes());
        }
        let mut turn = 0;
        pair.world.special = Box::new(move |server, tag, request| {
            if matches!(request, Request::Close(_)) {
                return false;
            }
            turn += 1;
            match moods[turn % moods.len()] {
                Mood::Plain => return false,
                Mood::Wait => server.answer_wait(tag, Duration::from_secs(1), ""),
                // The answer itself follows, as attention.
                Mood::PutOff => {
                    server.answer_waitresp(tag, Duration::from_secs(9), "");
                    return false;
                }
                Mood::Refuse => server.answer_error(tag, ErrorCode::IO_ERROR, "bad mood"),
            }
            true
        });
        let mut files: Vec<(FileId, bool)> = Vec::new();
        let mut asked: BTreeMap<RequestId, bool> = BTreeMap::new();
        for step in steps {
            let now = pair.now;
            let client = &mut pair.client;
            match step {
                Step::Open(first) => {
                    let (file, open) = client.open(now, if first { "/a" } else { "/b" }, READING);
                    files.push((file, first));
                    asked.insert(open, true);
                }
                Step::Read { file, offset, length } if !files.is_empty() => {
                    let (file, _) = *file.get(&files);
                    asked.insert(client.read(now, file, offset..offset + length), true);
                }
                Step::Readv { files: chosen, offset, length } if !files.is_empty() => {
                    let wanted: Vec<_> = (0..).zip(chosen).map(|(i, file)| {
                        let start = offset + i * 100;
                        (file.get(&files).0, start..start + length)
                    }).collect();
                    asked.insert(client.readv(now, &wanted), true);
                }
                Step::Close(file) if !files.is_empty() => {
                    asked.insert(client.close(now, file.get(&files).0), true);
                }
                Step::Cancel(which) if !asked.is_empty() => {
                    let all: Vec<_> = asked.keys().copied().collect();
                    let request = *which.get(&all);
                    client.cancel(now, request);
                    asked.insert(request, false);
                }
                Step::Settle => pair.settle(),
                _ => {}
            }
        }
        pair.run(Duration::from_secs(10_000));
        let mut ends: BTreeMap<RequestId, u32> = BTreeMap::new();
        for (_, event) in &pair.log {
            let over = matches!(event, Event::SessionFailed { .. });
            prop_assert!(!over, "{:?}", event);
            if let Some(request) = end_of(event) {
                *ends.entry(request).or_default() += 1;
            }
        }
        for (request, wanted) in &asked {
            let count = ends.get(request).copied().unwrap_or(0);
            // A cancelled request may have ended before.
            prop_assert!(count == 1 || (!wanted && count == 0), "{:?} ended {} times", request, count);
            for ((file, at), got) in pair.data(*request) {
                let shift = if files[file as usize].1 { 0 } else { 100 };
                prop_assert_eq!(got, byte(at + shift));
            }
        }
        prop_assert!(pair.client.poll_timeout().is_none(), "nothing is left to wait for");
    }
}
