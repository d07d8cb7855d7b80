//! A client and a served connection joined by queues, in virtual time. Not a socket, not a clock.

mod tunnel;

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use bytes::Bytes;
use farroot_xrootd::Time;
use farroot_xrootd::auth::{Credential, Method};
use farroot_xrootd::client::{Client, ClientConfig, Event};
use farroot_xrootd::error::ErrorCode;
use farroot_xrootd::header::Handle;
use farroot_xrootd::message::Request;
use farroot_xrootd::message::login::SessionId;
use farroot_xrootd::message::query::QueryKind;
use farroot_xrootd::message::stat::{StatFlags, StatInfo};
use farroot_xrootd::profile::{Profile, Start};
use farroot_xrootd::server::{Served, Server, ServerConfig, Tag, config_answer};
use tunnel::{HELLO, READY, Tunnel};

/// One way. A round trip takes two.
pub const LATENCY: Duration = Duration::from_millis(50);
pub const RTT: Duration = Duration::from_millis(100);

/// Answers requests in a test's own way; `true` if it has answered this one.
pub type Answerer = Box<dyn FnMut(&mut Server, Tag, &Request) -> bool>;

/// The credential for an offer with these arguments, or why there is none.
pub type CredentialStore = Box<dyn FnMut(&Method, &str) -> Result<Credential, String>>;

/// A file server of the plainest kind: files in memory, handles by lowest free slot.
pub struct World {
    pub files: BTreeMap<String, Bytes>,
    pub open: BTreeMap<u32, Bytes>,
    /// The handle of a slot.
    pub name_slot: fn(u32) -> Handle,
    pub special: Answerer,
    /// The names of the requests that came, for counting.
    pub seen: Vec<&'static str>,
}

impl World {
    fn serve(&mut self, server: &mut Server, tag: Tag, request: &Request) {
        self.seen.push(request.name());
        if (self.special)(server, tag, request) {
            return;
        }
        match request {
            Request::Open(open) => self.serve_open(server, tag, &open.path),
            Request::Stat(stat) => match self.files.get(&stat.path) {
                Some(bytes) => server.answer_stat(tag, &info(bytes)),
                None => server.answer_error(tag, ErrorCode::NOT_FOUND, "no such file"),
            },
            Request::Read(read) => match self.file(read.handle) {
                Some(bytes) => {
                    let part = slice(&bytes, read.offset, read.length.into());
                    server.answer_data(tag, part, false);
                }
                None => server.answer_error(tag, ErrorCode::FILE_NOT_OPEN, "not open"),
            },
            Request::Pgread(read) => match self.file(read.handle) {
                Some(bytes) => {
                    // A page more than is aligned, then the rest.
                    let part = slice(&bytes, read.offset, read.length.into());
                    let first = part.len().min(8192 - read.offset as usize % 4096);
                    server.answer_pages(tag, read.offset, &part[..first], true);
                    let offset = read.offset + first as u64;
                    server.answer_pages(tag, offset, &part[first..], false);
                }
                None => server.answer_error(tag, ErrorCode::FILE_NOT_OPEN, "not open"),
            },
            Request::Readv(readv) => {
                let mut records = Vec::new();
                for segment in &readv.segments {
                    let Some(bytes) = self.file(segment.handle) else {
                        return server.answer_error(tag, ErrorCode::FILE_NOT_OPEN, "not open");
                    };
                    let part = slice(&bytes, segment.offset, segment.length.into());
                    if part.len() < segment.length as usize {
                        return server.answer_error(tag, ErrorCode::FS_ERROR, "illegal seek");
                    }
                    records.push((segment.handle, segment.offset, part));
                }
                server.answer_readv(tag, &records, false);
            }
            Request::Close(close) => {
                self.open.retain(|slot, _| (self.name_slot)(*slot) != close.handle);
                server.answer_done(tag);
            }
            Request::Query(query) if query.kind == QueryKind::CONFIG => {
                let value = |key: &str| (key == "readv_iov_max").then(|| "16".to_owned());
                server.answer_text(tag, &config_answer(&query.argument, &value));
            }
            _ => server.answer_done(tag),
        }
    }

    fn serve_open(&mut self, server: &mut Server, tag: Tag, path: &str) {
        let Some(bytes) = self.files.get(path).cloned() else {
            return server.answer_error(tag, ErrorCode::NOT_FOUND, "no such file");
        };
        let slot = (0..).find(|slot| !self.open.contains_key(slot)).unwrap();
        server.answer_open(tag, (self.name_slot)(slot), Some(&info(&bytes)));
        self.open.insert(slot, bytes);
    }

    fn file(&self, handle: Handle) -> Option<Bytes> {
        let mut open = self.open.iter();
        open.find(|(slot, _)| (self.name_slot)(**slot) == handle).map(|(_, bytes)| bytes.clone())
    }
}

pub fn info(bytes: &Bytes) -> StatInfo {
    StatInfo {
        id: "1".to_owned(),
        size: bytes.len() as u64,
        flags: StatFlags::READABLE,
        mtime: 1_700_000_000,
        more: None,
    }
}

fn slice(bytes: &Bytes, offset: u64, length: u64) -> Bytes {
    let end = bytes.len() as u64;
    bytes.slice(offset.min(end) as usize..(offset + length).min(end) as usize)
}

pub struct Pair {
    pub now: Time,
    pub client: Client,
    pub server: Server,
    pub world: World,
    to_server: VecDeque<(Time, Bytes)>,
    to_client: VecDeque<(Time, Bytes)>,
    /// One bit that far into the next longer message to the client is to arrive wrong.
    pub damage: Option<usize>,
    /// Largest piece that arrives at once, bytes.
    pub chunk: usize,
    /// The events of the client, and when they came.
    pub log: Vec<(Time, Event)>,
    /// The files of which the server has refused bytes.
    pub refused_writes: Vec<Option<Handle>>,
    pub credential_store: CredentialStore,
    /// All that has left on either side, as it was on the wire.
    pub wire: Vec<u8>,
    /// The client's end and the server's.
    tunnels: (Option<Tunnel>, Option<Tunnel>),
    /// The client's opening of the tunnel leaves with its first flight.
    pub early_hello: bool,
    /// When the client hears that the server has closed.
    closes: Option<Time>,
}

/// Byte `i` of the test file.
pub fn byte(i: u64) -> u8 {
    (i % 251) as u8
}

pub fn contents(length: u64) -> Bytes {
    (0..length).map(byte).collect()
}

impl Pair {
    pub fn new(start: Start) -> Pair {
        Pair::with_profile(start, Profile::default())
    }

    pub fn with_profile(start: Start, profile: Profile) -> Pair {
        let config = ClientConfig::new("tester", "test", 7);
        let server = ServerConfig::data_server(SessionId([3; 16]));
        Pair::with(Client::new(config, profile, start), server)
    }

    pub fn with(client: Client, server: ServerConfig) -> Pair {
        let files =
            [("/a".to_owned(), contents(10_000)), ("/b".to_owned(), contents(500).slice(100..))];
        Pair {
            now: Duration::from_secs(1),
            client,
            server: Server::new(server),
            world: World {
                files: files.into(),
                open: BTreeMap::new(),
                name_slot: Handle::from_slot,
                special: Box::new(|_, _, _| false),
                seen: Vec::new(),
            },
            to_server: VecDeque::new(),
            to_client: VecDeque::new(),
            damage: None,
            chunk: usize::MAX,
            log: Vec::new(),
            refused_writes: Vec::new(),
            credential_store: Box::new(|_, _| Err("there is none".to_owned())),
            wire: Vec::new(),
            tunnels: (None, None),
            early_hello: false,
            closes: None,
        }
    }

    /// Runs until nothing moves any more. Timers of the client beyond `time_limit` are not awaited.
    pub fn run(&mut self, time_limit: Duration) {
        let deadline = self.now + time_limit;
        loop {
            self.exchange();
            let arrivals = [self.to_server.front(), self.to_client.front()];
            let arrivals = arrivals.into_iter().flatten().map(|(time, _)| *time);
            let arrival = arrivals.chain(self.closes).min();
            let timer = self.client.poll_timeout().filter(|&time| time <= deadline);
            let Some(next) = [arrival, timer].into_iter().flatten().min() else { return };
            self.now = self.now.max(next);
            self.arrive();
            if self.client.poll_timeout().is_some_and(|time| time <= self.now) {
                self.client.handle_timeout(self.now);
            }
        }
    }

    /// Runs without waiting for any timer.
    pub fn settle(&mut self) {
        self.run(Duration::ZERO);
    }

    /// Answers the requests that the server has received.
    pub fn serve(&mut self) {
        while let Some(event) = self.server.poll_event() {
            match event {
                Served::Request { tag, request } => {
                    self.world.serve(&mut self.server, tag, &request);
                    self.heard_by_server(|server, now| server.handle_room(now));
                }
                Served::StartTls { rest } => {
                    self.server_sends();
                    self.tunnels.1 = Some(Tunnel::new(HELLO));
                    self.server_hears(rest);
                }
                Served::Login(_) => {}
                Served::WriteRefused { handle } => self.refused_writes.push(handle),
            }
        }
    }

    fn exchange(&mut self) {
        self.serve();
        self.server_sends();
        while let Some(event) = self.client.poll_event() {
            self.log.push((self.now, event.clone()));
            match event {
                Event::CredentialWanted { method, arguments } => {
                    match (self.credential_store)(&method, &arguments) {
                        Ok(credential) => self.client.provide(self.now, credential),
                        Err(why) => self.client.lack(self.now, &method, why),
                    }
                }
                Event::StartTls { rest } => {
                    self.tunnels.0 = Some(Tunnel::new(READY));
                    if !self.early_hello {
                        self.put_to_server(Bytes::from_static(HELLO));
                    }
                    self.client_hears(rest);
                }
                _ => {}
            }
        }
        let first = self.wire.is_empty();
        while let Some(bytes) = self.client.poll_transmit(self.now) {
            match &mut self.tunnels.0 {
                Some(tunnel) => tunnel.send(bytes).into_iter().for_each(|b| self.put_to_server(b)),
                None => self.put_to_server(bytes),
            }
        }
        if first && self.early_hello {
            self.put_to_server(Bytes::from_static(HELLO));
        }
    }

    fn server_sends(&mut self) {
        while let Some(bytes) = self.server.poll_transmit() {
            match &mut self.tunnels.1 {
                Some(tunnel) => tunnel.send(bytes).into_iter().for_each(|b| self.put_to_client(b)),
                None => self.put_to_client(bytes),
            }
        }
    }

    fn put_to_server(&mut self, bytes: Bytes) {
        self.wire.extend_from_slice(&bytes);
        self.to_server.push_back((self.now + LATENCY, bytes));
    }

    fn put_to_client(&mut self, bytes: Bytes) {
        self.wire.extend_from_slice(&bytes);
        self.to_client.push_back((self.now + LATENCY, bytes));
    }

    fn heard_by_server(
        &mut self,
        hear: impl FnOnce(&mut Server, Time) -> Result<(), farroot_xrootd::error::ProtocolError>,
    ) {
        if hear(&mut self.server, self.now).is_err() {
            self.closes = Some(self.now + LATENCY);
        }
    }

    /// Bytes have come to the server, in its tunnel if there is one.
    fn server_hears(&mut self, bytes: Bytes) {
        let inside = match &mut self.tunnels.1 {
            Some(tunnel) => {
                let (inside, opened) = tunnel.receive(bytes);
                if opened {
                    self.put_to_client(Bytes::from_static(READY));
                }
                inside
            }
            None => bytes,
        };
        self.heard_by_server(|server, now| server.handle_bytes(now, inside));
    }

    /// Bytes have come to the client, in its tunnel if there is one.
    fn client_hears(&mut self, bytes: Bytes) {
        let inside = match &mut self.tunnels.0 {
            Some(tunnel) => {
                let (inside, opened) = tunnel.receive(bytes);
                let held = if opened { tunnel.held() } else { None };
                held.into_iter().for_each(|bytes| self.put_to_server(bytes));
                inside
            }
            None => bytes,
        };
        if !inside.is_empty() {
            // Errors are among the events, too.
            let _ = self.client.handle_bytes(self.now, inside);
        }
    }

    fn arrive(&mut self) {
        while self.to_server.front().is_some_and(|(time, _)| *time <= self.now) {
            let (_, bytes) = self.to_server.pop_front().unwrap();
            for piece in pieces(&bytes, self.chunk) {
                self.server_hears(piece);
                // Whether a tunnel begins decides how the next piece is read.
                self.serve();
            }
        }
        while self.to_client.front().is_some_and(|(time, _)| *time <= self.now) {
            let (_, mut bytes) = self.to_client.pop_front().unwrap();
            if let Some(at) = self.damage.take_if(|at| *at < bytes.len()) {
                let mut copy = bytes.to_vec();
                copy[at] ^= 1;
                bytes = copy.into();
            }
            for piece in pieces(&bytes, self.chunk) {
                self.client_hears(piece);
                self.exchange();
            }
        }
        if self.closes.take_if(|time| *time <= self.now).is_some() {
            self.client.handle_eof(self.now);
        }
    }

    /// The bytes that came for a request, by file and offset. Panics if any byte came twice.
    pub fn data(&self, wanted: farroot_xrootd::client::RequestId) -> BTreeMap<(u32, u64), u8> {
        let mut got = BTreeMap::new();
        for (_, event) in &self.log {
            if let Event::Data { request, file, offset, bytes } = event
                && *request == wanted
            {
                for (at, byte) in bytes.iter().enumerate() {
                    let before = got.insert((file.0, offset + at as u64), *byte);
                    assert_eq!(before, None, "a byte came twice");
                }
            }
        }
        got
    }

    /// When the request came to its end, counted from the pair's beginning.
    pub fn done_after(&self, wanted: farroot_xrootd::client::RequestId) -> Option<Duration> {
        let done = Event::Done { request: wanted };
        let at = self.log.iter().find(|(_, event)| *event == done)?.0;
        Some(at - Duration::from_secs(1))
    }

    /// How many requests of this name came.
    pub fn count(&self, name: &str) -> usize {
        self.world.seen.iter().filter(|seen| **seen == name).count()
    }
}

fn pieces(bytes: &Bytes, chunk: usize) -> Vec<Bytes> {
    let step = chunk.min(bytes.len()).max(1);
    let starts = (0..bytes.len()).step_by(step);
    starts.map(|at| bytes.slice(at..bytes.len().min(at + step))).collect()
}
