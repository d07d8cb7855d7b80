//! Writing: the order in which requests leave, the requests that a guessed handle allows, and
//! damaged pages.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use crate::pair::{Pair, RTT, contents};
use bytes::Bytes;
use farroot_xrootd::client::{Answer, Client, ClientConfig, Event, FileId, RequestId};
use farroot_xrootd::error::{ErrorCode, Misuse, ProtocolError, RequestError};
use farroot_xrootd::header::Handle;
use farroot_xrootd::message::Request;
use farroot_xrootd::message::bind::PathId;
use farroot_xrootd::message::login::SessionId;
use farroot_xrootd::message::open::OpenOptions;
use farroot_xrootd::pages;
use farroot_xrootd::profile::{Profile, Start};
use farroot_xrootd::server::{Server, ServerConfig};

const NEW: OpenOptions =
    OpenOptions(OpenOptions::NEW.0 | OpenOptions::MAKE_PATH.0 | OpenOptions::PERSIST_ON_CLOSE.0);
const NOW: Duration = Duration::from_secs(1);

/// One file that is written to, and the requests for it.
#[derive(Default)]
struct Disk {
    bytes: Vec<u8>,
    said: Vec<&'static str>,
    /// Pages that are taken for damaged although they are not.
    doubts: usize,
    closes: bool,
}

impl Disk {
    fn put(&mut self, offset: u64, bytes: &[u8]) {
        let end = offset as usize + bytes.len();
        self.bytes.resize(self.bytes.len().max(end), 0);
        self.bytes[offset as usize..end].copy_from_slice(bytes);
    }
}

fn writable(handle: Handle) -> (Pair, Rc<RefCell<Disk>>) {
    let config = ClientConfig::new("tester", "test", 7);
    let client = Client::new(config, Profile::default(), Start::Burst);
    let mut server = ServerConfig::data_server(SessionId([3; 16]));
    server.write_bytes_max = 1 << 20;
    let mut pair = Pair::with(client, server);
    let disk = Rc::new(RefCell::new(Disk { closes: true, ..Disk::default() }));
    let shared = disk.clone();
    pair.world.special = Box::new(move |server, tag, request| {
        let mut disk = shared.borrow_mut();
        disk.said.push(request.name());
        let refuse = |server: &mut Server, code| server.answer_error(tag, code, "no");
        match request {
            Request::Open(_) => server.answer_open(tag, handle, None),
            Request::Write(write) if write.handle == handle => {
                disk.put(write.offset, &write.bytes);
                server.answer_done(tag);
            }
            Request::Pgwrite(write) if write.handle == handle => {
                let (bytes, mut damaged) = pages::decode(write.offset, &write.pages).unwrap();
                if damaged.is_empty() && disk.doubts > 0 {
                    disk.doubts -= 1;
                    let end = (write.offset / 4096 + 1) * 4096;
                    let length = bytes.len() as u64;
                    damaged.push(write.offset..end.min(write.offset + length));
                }
                disk.put(write.offset, &bytes);
                server.answer_pgwrite(tag, write.offset, &damaged);
            }
            Request::Write(_) | Request::Pgwrite(_) => refuse(server, ErrorCode::FILE_NOT_OPEN),
            Request::Sync(sync) if sync.handle != handle => {
                refuse(server, ErrorCode::FILE_NOT_OPEN);
            }
            Request::Truncate(truncate) => {
                disk.bytes.resize(truncate.size as usize, 0);
                server.answer_done(tag);
            }
            Request::Close(close) if close.handle != handle => {
                refuse(server, ErrorCode::FILE_NOT_OPEN);
            }
            Request::Close(_) if !disk.closes => refuse(server, ErrorCode::CHECKSUM_ERROR),
            _ => server.answer_done(tag),
        }
        true
    });
    (pair, disk)
}

fn end(pair: &Pair, wanted: RequestId) -> Event {
    let mut ends = pair.log.iter().filter(|(_, event)| match event {
        Event::Opened { request, .. }
        | Event::Answer { request, .. }
        | Event::Failed { request, .. } => *request == wanted,
        _ => false,
    });
    let found = ends.next().expect("an end").1.clone();
    assert!(ends.next().is_none(), "two ends");
    found
}

fn changed(request: RequestId) -> Event {
    Event::Answer { request, answer: Answer::Changed }
}

#[test]
fn a_small_file_is_written_in_one_flight_and_closed_in_another() {
    let (mut pair, disk) = writable(Handle::from_slot(0));
    let bytes = contents(9_000);
    let (file, _) = pair.client.open_to_write(pair.now, "/new", NEW, 0o644);
    let first = pair.client.pgwrite(pair.now, file, 0, bytes.slice(..5000));
    let second = pair.client.write(pair.now, file, 5000, bytes.slice(5000..));
    let sync = pair.client.sync(pair.now, file);
    pair.settle();
    assert_eq!(pair.now - NOW, RTT);
    for request in [first, second, sync] {
        assert_eq!(end(&pair, request), changed(request));
    }
    let close = pair.client.close(pair.now, file);
    pair.settle();
    assert_eq!(pair.now - NOW, 2 * RTT);
    assert_eq!(end(&pair, close), Event::Answer { request: close, answer: Answer::Closed });
    assert_eq!(disk.borrow().bytes, bytes);
    let said = ["kXR_open", "kXR_pgwrite", "kXR_write", "kXR_sync", "kXR_close"];
    assert_eq!(disk.borrow().said, said);
}

#[test]
fn what_left_with_a_wrong_guess_is_written_under_the_real_handle() {
    let (mut pair, disk) = writable(Handle([9, 8, 7, 6]));
    let bytes = contents(300);
    let (file, _) = pair.client.open_to_write(pair.now, "/new", NEW, 0o644);
    let write = pair.client.write(pair.now, file, 0, bytes.clone());
    let checked = pair.client.pgwrite(pair.now, file, 300, bytes.clone());
    let sync = pair.client.sync(pair.now, file);
    pair.settle();
    for request in [write, checked, sync] {
        assert_eq!(end(&pair, request), changed(request));
    }
    assert_eq!(disk.borrow().bytes, [&bytes[..], &bytes].concat());
}

#[test]
fn a_close_leaves_with_the_open_and_counts_once_that_is_answered() {
    for (handle, trips) in [(Handle::from_slot(0), 1), (Handle([9, 8, 7, 6]), 2)] {
        let (mut pair, disk) = writable(handle);
        let bytes = contents(300);
        let (file, _) = pair.client.open_to_write(pair.now, "/new", NEW, 0o644);
        let write = pair.client.write(pair.now, file, 0, bytes.clone());
        let sync = pair.client.sync(pair.now, file);
        let close = pair.client.close(pair.now, file);
        pair.settle();
        assert_eq!(pair.now - NOW, trips * RTT, "another one where the guess is wrong");
        assert_eq!(end(&pair, write), changed(write));
        assert_eq!(end(&pair, sync), changed(sync));
        assert_eq!(end(&pair, close), Event::Answer { request: close, answer: Answer::Closed });
        assert_eq!(disk.borrow().bytes, bytes);
        let again = pair.client.close(pair.now, file);
        pair.settle();
        assert_eq!(end(&pair, again), Event::Answer { request: again, answer: Answer::Closed });
    }
}

#[test]
fn an_early_close_fails_where_the_server_keeps_nothing() {
    let (mut pair, disk) = writable(Handle::from_slot(0));
    disk.borrow_mut().closes = false;
    let (file, _) = pair.client.open_to_write(pair.now, "/new", NEW, 0o644);
    let close = pair.client.close(pair.now, file);
    pair.settle();
    let Event::Failed { error: RequestError::Server(error), .. } = end(&pair, close) else {
        panic!("{:?}", end(&pair, close));
    };
    assert_eq!(error.code, ErrorCode::CHECKSUM_ERROR);
}

/// Another file of the session may have the handle that is guessed: bytes would go into it.
#[test]
fn nothing_is_written_by_a_guess_where_another_file_is_open() {
    let (mut pair, disk) = writable(Handle::from_slot(0));
    let (_, _) = pair.client.open(pair.now, "/a", OpenOptions::FOR_READING);
    let (file, open) = pair.client.open_to_write(pair.now, "/new", NEW, 0o644);
    pair.client.write(pair.now, file, 0, contents(5));
    pair.settle();
    assert!(matches!(end(&pair, open), Event::Opened { .. }));
    let opened = pair
        .log
        .iter()
        .find(|(_, event)| matches!(event, Event::Opened { request, .. } if *request == open));
    assert_eq!(opened.unwrap().0 - NOW, RTT);
    assert_eq!(pair.now - NOW, 2 * RTT, "the write waits for the open");
    assert_eq!(disk.borrow().said, ["kXR_open", "kXR_open", "kXR_write"]);
}

#[test]
fn writes_to_a_file_that_is_not_opened_fail_with_it() {
    let (mut pair, _) = writable(Handle::from_slot(0));
    pair.world.special = Box::new(|server, tag, request| {
        let code = match request {
            Request::Open(_) => ErrorCode::ITEM_EXISTS,
            _ => ErrorCode::FILE_NOT_OPEN,
        };
        server.answer_error(tag, code, "no");
        true
    });
    let (file, open) = pair.client.open_to_write(pair.now, "/a", NEW, 0o644);
    let write = pair.client.write(pair.now, file, 0, contents(5));
    let sync = pair.client.sync(pair.now, file);
    pair.settle();
    for request in [open, write, sync] {
        let Event::Failed { error: RequestError::Server(error), .. } = end(&pair, request) else {
            panic!("{:?}", end(&pair, request));
        };
        assert_eq!(error.code, ErrorCode::ITEM_EXISTS);
    }
}

#[test]
fn damaged_pages_are_sent_again_one_by_one() {
    let (mut pair, disk) = writable(Handle::from_slot(0));
    disk.borrow_mut().doubts = 3;
    let bytes = contents(10_000);
    let (file, _) = pair.client.open_to_write(pair.now, "/new", NEW, 0o644);
    let write = pair.client.pgwrite(pair.now, file, 100, bytes.clone());
    pair.settle();
    assert_eq!(end(&pair, write), changed(write));
    assert_eq!(disk.borrow().bytes[100..], bytes);
    let count = disk.borrow().said.iter().filter(|name| **name == "kXR_pgwrite").count();
    assert_eq!(count, 4, "the whole, and its first page three times");
    disk.borrow_mut().doubts = usize::MAX;
    let write = pair.client.pgwrite(pair.now, file, 0, bytes);
    pair.settle();
    let Event::Failed { error, .. } = end(&pair, write) else { panic!("{:?}", end(&pair, write)) };
    assert_eq!(error, RequestError::AlwaysDamaged);
}

#[test]
fn pages_that_were_not_sent_cannot_be_damaged() {
    for strange in [0..5, 8192..8196, 4097..4100] {
        let (mut pair, _) = writable(Handle::from_slot(0));
        pair.world.special = Box::new(move |server, tag, request| {
            match request {
                Request::Open(_) => server.answer_open(tag, Handle::from_slot(0), None),
                Request::Pgwrite(_) => {
                    server.answer_pgwrite(tag, 100, std::slice::from_ref(&strange));
                }
                _ => return false,
            }
            true
        });
        let (file, _) = pair.client.open_to_write(pair.now, "/new", NEW, 0o644);
        pair.client.pgwrite(pair.now, file, 100, contents(8000));
        pair.settle();
        let failed = pair.log.iter().find_map(|(_, event)| match event {
            Event::SessionFailed { error, .. } => Some(error.clone()),
            _ => None,
        });
        let text = failed.expect("the end of the session").to_string();
        assert!(text.contains("not asked for"), "{text}");
    }
}

/// The server reports at the close that a file is not complete: the close of a file that is read
/// cannot fail, that of one which is written has to.
#[test]
fn a_close_that_the_server_refuses_fails_for_a_writer() {
    let (mut pair, disk) = writable(Handle::from_slot(0));
    disk.borrow_mut().closes = false;
    let (file, _) = pair.client.open_to_write(pair.now, "/new", NEW, 0o644);
    pair.client.truncate(pair.now, file, 77);
    pair.settle();
    assert_eq!(disk.borrow().bytes.len(), 77);
    let close = pair.client.close(pair.now, file);
    pair.settle();
    assert!(matches!(end(&pair, close), Event::Failed { .. }));

    let (mut pair, _) = writable(Handle::from_slot(0));
    let (file, _) = pair.client.open_to_write(pair.now, "/new", NEW, 0o644);
    pair.settle();
    let close = pair.client.close(pair.now, file);
    pair.client.handle_eof(pair.now);
    pair.settle();
    assert!(matches!(end(&pair, close), Event::Failed { .. }), "lost before it was answered");
}

#[test]
fn a_name_is_changed_and_removed() {
    let (mut pair, disk) = writable(Handle::from_slot(0));
    let asked = [
        pair.client.mkdir(pair.now, "/d/e", 0o755),
        pair.client.mv(pair.now, "/d/a b", "/d/c"),
        pair.client.rm(pair.now, "/d/c"),
    ];
    let bad = pair.client.mv(pair.now, "/d/a", "/d/\n");
    pair.settle();
    for request in asked {
        assert_eq!(end(&pair, request), changed(request));
    }
    let Event::Failed { error, .. } = end(&pair, bad) else { panic!("{:?}", end(&pair, bad)) };
    assert_eq!(error, Misuse::BadPath.into());
    assert_eq!(disk.borrow().said, ["kXR_mkdir", "kXR_mv", "kXR_rm"]);
}

#[test]
fn a_read_only_server_refuses_whatever_changes_files_and_goes_on() {
    let mut pair = Pair::new(Start::Burst);
    let (file, _) = pair.client.open(pair.now, "/a", OpenOptions::FOR_READING);
    let (_, open) = pair.client.open_to_write(pair.now, "/new", NEW, 0o644);
    pair.settle();
    let asked = [
        open,
        pair.client.write(pair.now, file, 0, contents(3 << 20)),
        pair.client.pgwrite(pair.now, file, 0, contents(5000)),
        pair.client.sync(pair.now, file),
        pair.client.mv(pair.now, "/a", "/b"),
        pair.client.rm(pair.now, "/a"),
    ];
    let read = pair.client.read(pair.now, file, 0..10);
    pair.settle();
    for request in asked {
        let Event::Failed { error: RequestError::Server(error), .. } = end(&pair, request) else {
            panic!("{:?}", end(&pair, request));
        };
        assert_eq!(error.code, ErrorCode::READ_ONLY);
    }
    assert_eq!(pair.data(read).len(), 10);
}

#[test]
fn a_write_longer_than_the_server_takes_is_refused_and_dropped() {
    let (mut pair, disk) = writable(Handle::from_slot(0));
    let (file, _) = pair.client.open_to_write(pair.now, "/new", NEW, 0o644);
    let long = pair.client.write(pair.now, file, 0, contents((1 << 20) + 1));
    let fits = pair.client.write(pair.now, file, 0, contents(1 << 20));
    pair.settle();
    assert!(matches!(end(&pair, long), Event::Failed { .. }));
    assert_eq!(pair.refused_writes, [Some(Handle::from_slot(0))]);
    assert_eq!(end(&pair, fits), changed(fits));
    assert_eq!(disk.borrow().bytes.len(), 1 << 20);
    let misused = [
        (pair.client.write(pair.now, file, 0, Bytes::new()), Misuse::EmptyWrite),
        (pair.client.write(pair.now, file, u64::MAX, contents(1)), Misuse::WriteTooLarge),
        (pair.client.truncate(pair.now, file, u64::MAX), Misuse::WriteTooLarge),
    ];
    pair.settle();
    for (request, misuse) in misused {
        let Event::Failed { error, .. } = end(&pair, request) else { panic!("{misuse:?}") };
        assert_eq!(error, misuse.into());
    }
}

#[test]
fn an_upload_byte_by_byte_writes_the_same() {
    let (mut pair, disk) = writable(Handle::from_slot(0));
    pair.chunk = 1;
    disk.borrow_mut().doubts = 2;
    let (file, _) = pair.client.open_to_write(pair.now, "/new", NEW, 0o644);
    let write = pair.client.pgwrite(pair.now, file, 4000, contents(9_000));
    let sync = pair.client.sync(pair.now, file);
    pair.settle();
    assert_eq!((end(&pair, write), end(&pair, sync)), (changed(write), changed(sync)));
    assert_eq!(disk.borrow().bytes[4000..], contents(9_000));
}

#[test]
fn a_checksummed_write_must_not_be_answered_without_its_checksums() {
    let (mut pair, _) = writable(Handle::from_slot(0));
    pair.world.special = Box::new(|server, tag, request| {
        match request {
            Request::Open(_) => server.answer_open(tag, Handle::from_slot(0), None),
            _ => server.answer_done(tag),
        }
        true
    });
    let (file, _) = pair.client.open_to_write(pair.now, "/new", NEW, 0o644);
    pair.client.pgwrite(pair.now, file, 0, contents(10));
    pair.settle();
    let unchecked = |(_, event): &(_, Event)| match event {
        Event::SessionFailed { error, .. } => *error == ProtocolError::Unchecked.into(),
        _ => false,
    };
    assert!(pair.log.iter().any(unchecked), "{:?}", pair.log);
}

/// The requests that a client has sent since, as their codes and the paths of their bytes.
fn sent(client: &mut Client, now: Duration) -> Vec<(u16, u8)> {
    let mut bytes = Vec::new();
    while let Some(part) = client.poll_transmit(now) {
        bytes.extend_from_slice(&part);
    }
    // Bytes of writes on other paths do not follow their requests.
    let request = |head: &[u8]| (u16::from_be_bytes([head[2], head[3]]), head[16]);
    bytes.chunks(24).map(request).collect()
}

fn path_bytes(client: &mut Client, path: PathId) -> Vec<u8> {
    std::iter::from_fn(|| client.poll_path(path)).flatten().collect()
}

fn done(stream: u16) -> Bytes {
    [&stream.to_be_bytes()[..], &[0; 6]].concat().into()
}

/// Stream ids of the requests behind the ones that have been answered.
fn with_two_paths() -> (Pair, FileId) {
    let (mut pair, _) = writable(Handle::from_slot(0));
    let (file, _) = pair.client.open_to_write(pair.now, "/new", NEW, 0o644);
    pair.settle();
    pair.client.add_path(PathId(1));
    pair.client.add_path(PathId(2));
    (pair, file)
}

const WRITE: u16 = 3019;
const SYNC: u16 = 3016;
const CLOSE: u16 = 3003;

#[test]
fn bytes_travel_on_the_emptiest_path_and_requests_do_not_overtake_them() {
    let (mut pair, file) = with_two_paths();
    let now = pair.now;
    let bytes = contents(300_000);
    let mut at = 0;
    for length in [100_000, 120_000, 70_000, 10_000] {
        pair.client.write(now, file, at, bytes.slice(at as usize..at as usize + length));
        at += length as u64;
    }
    // A short write stays on the session's own connection: its bytes follow it.
    let mut own = Vec::new();
    while let Some(part) = pair.client.poll_transmit(now) {
        own.extend_from_slice(&part);
    }
    assert_eq!(own.len(), 4 * 24 + 10_000);
    let paths: Vec<u8> = own[..4 * 24].chunks(24).map(|head| head[16]).collect();
    assert_eq!(paths, [1, 2, 1, 0]);
    let first = u16::from_be_bytes([own[0], own[1]]);
    assert_eq!(
        path_bytes(&mut pair.client, PathId(1)),
        [&bytes[..100_000], &bytes[220_000..290_000]].concat()
    );
    assert_eq!(path_bytes(&mut pair.client, PathId(2)), bytes[100_000..220_000]);

    let sync = pair.client.sync(now, file);
    let close = pair.client.close(now, file);
    assert_eq!(sent(&mut pair.client, now), [], "bytes are on their way");
    for (path, stream) in [(1, first), (2, first + 1), (0, first + 3)] {
        pair.client.handle_path_bytes(now, PathId(path), done(stream)).unwrap();
        assert_eq!(sent(&mut pair.client, now), []);
    }
    // The last answer, byte by byte.
    for byte in done(first + 2) {
        assert_eq!(sent(&mut pair.client, now), []);
        pair.client.handle_path_bytes(now, PathId(1), vec![byte].into()).unwrap();
    }
    let codes: Vec<u16> = sent(&mut pair.client, now).into_iter().map(|(code, _)| code).collect();
    assert_eq!(codes, [SYNC, CLOSE]);
    let _ = (sync, close);
}

/// Bytes that replace others must arrive behind them.
#[test]
fn bytes_that_replace_others_take_their_path_or_wait() {
    let (mut pair, file) = with_two_paths();
    let now = pair.now;
    let bytes = contents(200_000);
    pair.client.write(now, file, 0, bytes.slice(..100_000));
    pair.client.write(now, file, 100_000, bytes.slice(100_000..));
    pair.client.write(now, file, 150_000, bytes.slice(..10));
    assert_eq!(sent(&mut pair.client, now), [(WRITE, 1), (WRITE, 2), (WRITE, 2)]);
    pair.client.write(now, file, 99_000, bytes.slice(..2_000));
    assert_eq!(sent(&mut pair.client, now), [], "it replaces bytes on both");
}

#[test]
fn a_session_ends_with_one_of_its_paths() {
    let (mut pair, file) = with_two_paths();
    let now = pair.now;
    let write = pair.client.write(now, file, 0, contents(100_000));
    pair.client.handle_path_eof(now, PathId(9));
    assert!(!pair.client.is_closed(), "no path of this session");
    pair.client.handle_path_eof(now, PathId(1));
    assert!(pair.client.is_closed());
    let failed = |event| matches!(event, Event::Failed { request, .. } if request == write);
    assert!(std::iter::from_fn(|| pair.client.poll_event()).any(failed));
}
