//! The client's side of XRootD against whatever a server may send.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::time::Duration;

use bytes::Bytes;
use xrootd::auth::{Credential, Method};
use xrootd::client::{Client, ClientConfig, Event, FileId, RequestId};
use xrootd::error::ErrorCode;
use xrootd::header::Handle;
use xrootd::message::Request;
use xrootd::message::dirlist::DirlistOptions;
use xrootd::message::login::SessionId;
use xrootd::message::open::OpenOptions;
use xrootd::message::stat::{StatFlags, StatInfo};
use xrootd::pages;
use xrootd::profile::{Profile, Start};
use xrootd::server::{Served, Server, ServerConfig};

use super::pieces;
use crate::Target;

pub const TARGET: Target =
    Target { name: "xrootd_client", run, seeds, rounds: 10_000, memory: (1 << 20, 64) };

/// A client with requests under way.
struct Session {
    client: Client,
    now: Duration,
    /// The ranges that each read has requested and not got.
    owed: BTreeMap<RequestId, Vec<(FileId, Range<u64>)>>,
    /// Requests without an answer.
    open: BTreeSet<RequestId>,
}

impl Session {
    fn new() -> Self {
        let mut config = ClientConfig::new("user", "fuzz", 1);
        config.authentication.extend([Method::Ztn, Method::Krb5, Method::Gsi]);
        let mut client = Client::new(config, Profile::default(), Start::Burst);
        let now = Duration::ZERO;
        let (a, open_a) = client.open(now, "/a", OpenOptions::FOR_READING);
        let (b, open_b) = client.open(now, "/b", OpenOptions::FOR_READING);
        let vector = vec![(a, 0..10), (b, 5..50), (a, 100..164)];
        let read = client.read(now, a, 10..200);
        let readv = client.readv(now, &vector);
        let pages = client.pgread(now, a, 300..9000, true);
        let list = client.dirlist(now, "/", DirlistOptions::WITH_STAT);
        let options = OpenOptions::NEW | OpenOptions::MAKE_PATH;
        let (c, open_c) = client.open_to_write(now, "/c", options, 0o644);
        let changes = [
            open_c,
            client.write(now, c, 0, Bytes::from_static(b"abc")),
            client.pgwrite(now, c, 4000, Bytes::from_static(&[7; 9000])),
            client.sync(now, c),
            client.truncate(now, c, 5),
            client.mkdir(now, "/d", 0o755),
            client.mv(now, "/d", "/e"),
            client.rm(now, "/e"),
        ];
        let others = [
            client.stat(now, "/a"),
            client.query_config(now, &["readv_iov_max"]),
            client.ping(now),
            client.close(now, b),
        ];
        let reads = [open_a, open_b, read, readv, pages, list];
        let open = others.into_iter().chain(reads).chain(changes).collect();
        let owed = BTreeMap::from([
            (read, vec![(a, 10..200)]),
            (pages, vec![(a, 300..9000)]),
            (readv, vector),
        ]);
        Session { client, now, owed, open }
    }

    /// Takes the events, and checks them.
    fn events(&mut self) {
        while let Some(event) = self.client.poll_event() {
            match event {
                Event::Data { request, file, offset, bytes } => {
                    self.got(request, file, offset..offset + bytes.len() as u64)
                }
                Event::Damaged { request, file, range } => self.got(request, file, range),
                Event::Opened { request, .. }
                | Event::Done { request }
                | Event::Answer { request, .. }
                | Event::Failed { request, .. }
                | Event::Redirected { request, .. } => {
                    assert!(self.open.remove(&request), "{request:?} is answered twice");
                }
                Event::CredentialWanted { method: Method::Ztn, .. } => {
                    self.client.provide(self.now, Credential::Ztn("a.b.c".into()));
                }
                Event::CredentialWanted { method: Method::Krb5, .. } => {
                    self.client.provide(self.now, Credential::Krb5(vec![0x6e, 0].into()));
                }
                Event::CredentialWanted { method, .. } => {
                    self.client.lack(self.now, &method, "there is none".to_owned());
                }
                _ => {}
            }
        }
    }

    fn got(&mut self, request: RequestId, file: FileId, range: Range<u64>) {
        assert!(self.open.contains(&request), "data after the answer of {request:?}");
        let owed = self.owed.get_mut(&request).expect("data of a read");
        let (other, whole) = owed
            .iter()
            .position(|(f, r)| *f == file && r.start <= range.start && range.end <= r.end)
            .map(|at| owed.swap_remove(at))
            .unwrap_or_else(|| panic!("{range:?} of {file:?} was not asked for, or came before"));
        owed.push((other, whole.start..range.start));
        owed.push((other, range.end..whole.end));
    }
}

pub fn run(data: &[u8]) {
    let mut session = Session::new();
    for piece in pieces(data) {
        session.now += Duration::from_millis(1);
        let taken = session.client.handle_bytes(session.now, Bytes::copy_from_slice(piece));
        while session.client.poll_transmit(session.now).is_some() {}
        session.events();
        if taken.is_err() {
            break;
        }
    }
    session.client.handle_eof(session.now);
    session.events();
    assert!(session.open.is_empty(), "never answered: {:?}", session.open);
}

/// A server to which may be written.
pub(super) fn writable() -> ServerConfig {
    let mut config = ServerConfig::data_server(SessionId([7; 16]));
    config.write_bytes_max = 64 << 10;
    config
}

/// The bytes that a server sends to a [`Session`]; and those that the session has sent.
pub(super) fn conversation() -> (Vec<u8>, Vec<u8>) {
    let mut session = Session::new();
    let mut server = Server::new(writable());
    let mut to_client = Vec::new();
    let mut to_server = Vec::new();
    loop {
        let mut quiet = true;
        while let Some(bytes) = session.client.poll_transmit(session.now) {
            quiet = false;
            to_server.extend_from_slice(&bytes);
            server.handle_bytes(session.now, bytes).expect("a good client");
        }
        let mut opened = 0;
        while let Some(served) = server.poll_event() {
            if let Served::Request { tag, request } = served {
                answer(&mut server, tag, &request, &mut opened);
            }
        }
        while let Some(bytes) = server.poll_transmit() {
            quiet = false;
            to_client.extend_from_slice(&bytes);
            session.client.handle_bytes(session.now, bytes).expect("a good server");
        }
        session.events();
        if quiet {
            assert!(session.open.is_empty(), "never answered: {:?}", session.open);
            return (to_client, to_server);
        }
    }
}

/// Answers as a server would whose files hold zeros.
pub(super) fn answer(
    server: &mut Server,
    tag: xrootd::server::Tag,
    request: &Request,
    opened: &mut u32,
) {
    let stat =
        StatInfo { id: "1".into(), size: 1000, flags: StatFlags::READABLE, mtime: 1, more: None };
    match request {
        Request::Open(_) => {
            server.answer_open(tag, Handle::from_slot(*opened), Some(&stat));
            *opened += 1;
        }
        Request::Read(read) => {
            let length = read.length.min(1000) as usize;
            server.answer_data(tag, Bytes::from(vec![0; length / 2]), true);
            server.answer_data(tag, Bytes::from(vec![0; length - length / 2]), false);
        }
        Request::Pgread(read) => {
            // Two pages and the bytes behind them, or as many as there are.
            let length = read.length.min(10_000) as usize;
            let first = length.min(8192 - read.offset as usize % 4096);
            server.answer_pages(tag, read.offset, &vec![0; first], true);
            let offset = read.offset.saturating_add(first as u64);
            server.answer_pages(tag, offset, &vec![0; length - first], false);
        }
        Request::Pgwrite(write) => match pages::decode(write.offset, &write.pages) {
            // The first page was not as it should be, unless it is sent again.
            Some((bytes, _)) if write.flags == 0 => {
                let length = (4096 - write.offset % 4096).min(bytes.len() as u64);
                let page = write.offset..write.offset + length;
                server.answer_pgwrite(tag, write.offset, std::slice::from_ref(&page));
            }
            Some((_, damaged)) => server.answer_pgwrite(tag, write.offset, &damaged),
            None => server.answer_error(tag, ErrorCode::ARG_INVALID, "no pages"),
        },
        Request::Readv(readv) => {
            let records: Vec<_> = (readv.segments.iter())
                .map(|s| (s.handle, s.offset, Bytes::from(vec![0; s.length.min(1000) as usize])))
                .collect();
            server.answer_readv(tag, &records, false);
        }
        Request::Stat(_) => server.answer_stat(tag, &stat),
        Request::Dirlist(_) => {
            let entry =
                xrootd::message::dirlist::Entry { name: "a".into(), stat: Some(stat.clone()) };
            server.answer_entries(tag, &[entry]);
        }
        Request::Query(query) => {
            let values = |_: &str| Some("1024".to_owned());
            let text = xrootd::server::config_answer(&query.argument, &values);
            server.answer_text(tag, &text);
        }
        _ => server.answer_done(tag),
    }
}

fn seeds() -> Vec<Vec<u8>> {
    vec![conversation().0]
}
