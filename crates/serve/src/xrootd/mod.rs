//! Files over XRootD: drives one served connection of the protocol crate over a byte stream.
//!
//! Requests are taken up in the order in which they come. A read may name the handle of an open
//! that is still under way, and waits for that one alone. Reads are then served side by side, a
//! part at a time, and answered in the order in which they are done. Changes are made one by one.
//! The memory of a connection is bounded: requests are read from the socket while few wait, and
//! files while the client takes its answers.

mod answer;
mod asking;
mod elsewhere;
mod gsi;
mod incoming;
mod lane;
mod login;
mod read;
mod slots;
mod unsent;
mod write;

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio::task::JoinSet;
use xrootd::error::ErrorCode;
use xrootd::header::Handle;
use xrootd::message::Request;
use xrootd::message::login::{Ability, SessionId};
use xrootd::message::protocol::ServerFlags;
use xrootd::server::{Served, ServedTls, Server, ServerConfig, Tag};

use self::answer::Outcome;
use self::lane::Lane;
use self::read::Job;
use self::slots::Slots;
use self::unsent::Unsent;
use self::write::WriteRoom;
use super::files::{Files, Opened};
use crate::access::Visitor;
use crate::clients::Client;
use crate::gsi::GsiLogin;
use crate::guard::Guard;
use crate::peer::Peer;
use crate::stream::{Preceded, Stream};

/// Parts of answers that are read at the same time for one connection.
const STEPS_MAX: usize = 2;
/// The same of far files, whose bytes are on their way at any rate.
const FAR_STEPS_MAX: usize = 256;
/// Paths that are looked up at the same time for one connection.
const LOOKUPS_MAX: usize = 4;
/// Bytes of answers that wait to be sent before no further part is read.
const UNSENT_BYTES_MAX: usize = 1 << 20;
const RECEIVE_BYTES: usize = 16 << 10;
/// A client that waits for a far file's bytes is sent word so often: XRootD's own gives a silent
/// connection up after 60 s.
const WORD: Duration = Duration::from_secs(20);

/// What connections are answered with.
pub struct XrootdContent {
    pub files: Files,
    /// Whether entries are selected, over HTTP.
    pub selects: bool,
}

/// Serves one connection until it ends. `address` is where clients find this server.
pub async fn serve(
    stream: Box<dyn Stream>,
    content: XrootdContent,
    guard: Guard,
    client: Arc<Client>,
    address: SocketAddr,
) {
    // How a connection ended concerns its client only, which knows.
    let _ = Connection::new(content, guard, client, address).run(stream).await;
}

/// Refuses every request of a client beyond the limits, until it hangs up.
pub async fn refuse(mut stream: impl AsyncRead + AsyncWrite + Unpin, why: &str) {
    let mut config = ServerConfig::data_server(new_session());
    config.refusal = Some(why.to_owned());
    let mut server = Server::new(config);
    let started = Instant::now();
    let mut received = BytesMut::new();
    loop {
        received.reserve(RECEIVE_BYTES);
        if stream.read_buf(&mut received).await.is_ok_and(|count| count > 0)
            && server.handle_bytes(started.elapsed(), received.split().freeze()).is_ok()
        {
            let mut unsent = Unsent::default();
            while let Some(bytes) = server.poll_transmit() {
                unsent.push(bytes);
            }
            if unsent.send_all(&mut stream).await.is_err() {
                return;
            }
        } else {
            return;
        }
    }
}

/// No two of this process are the same.
fn new_session() -> SessionId {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let mut id = [0; 16];
    id[..8].copy_from_slice(&COUNT.fetch_add(1, Ordering::Relaxed).to_be_bytes());
    id[8..12].copy_from_slice(&std::process::id().to_be_bytes());
    SessionId(id)
}

struct Connection {
    server: Server,
    started: Instant,
    files: Files,
    selects: bool,
    guard: Guard,
    client: Arc<Client>,
    /// Who the client has proved to be at its login.
    visitor: Arc<Visitor>,
    peer: Peer,
    gsi: GsiLogin,
    address: SocketAddr,
    /// The bytes behind the request for TLS, which begins there.
    tls: Option<Bytes>,
    opened: Slots,
    /// Requests behind a change that is under way.
    queue: VecDeque<Served>,
    is_changing: bool,
    /// The client follows redirections that are whole addresses.
    takes_urls: bool,
    write_room: WriteRoom,
    lookups: Lane<(Tag, Request)>,
    checksums: Lane<(Tag, String)>,
    reads: Lane<Job>,
    /// A record is being read that is sent in pieces, between which nothing else may be sent.
    is_alone: bool,
    work: JoinSet<Outcome>,
    unsent: Unsent,
    /// Bytes of the client, and since when so many of them are waited for.
    arrived: usize,
    watched: Option<(tokio::time::Instant, usize)>,
}

impl Connection {
    fn new(content: XrootdContent, guard: Guard, client: Arc<Client>, address: SocketAddr) -> Self {
        let XrootdContent { files, selects } = content;
        let limits = client.limits();
        let mut config = ServerConfig::data_server(new_session());
        config.flags = config.flags | ServerFlags::CHECKSUMMED_PAGES;
        config.requests_max = limits.requests;
        config.request_bytes_max = u32::try_from(limits.request_bytes).unwrap_or(u32::MAX);
        config.waiting_bytes_max = limits.request_bytes as u64;
        if files.are_writable() {
            config.write_bytes_max = u32::try_from(limits.write_bytes).unwrap_or(u32::MAX);
        }
        config.redirects_changes = files.are_far();
        config.tls = match (guard.has_tls(), guard.has_public() || guard.has_plain_logins()) {
            (false, _) => ServedTls::None,
            (true, true) => ServedTls::Offered,
            (true, false) => ServedTls::Demanded,
        };
        config.security = guard.logins();
        let is_far = files.are_far();
        Connection {
            server: Server::new(config),
            started: Instant::now(),
            files,
            selects,
            guard,
            client,
            visitor: Arc::default(),
            peer: Peer::default(),
            gsi: GsiLogin::default(),
            address,
            tls: None,
            opened: Slots::default(),
            queue: VecDeque::new(),
            is_changing: false,
            takes_urls: false,
            write_room: WriteRoom::None,
            lookups: Lane::new(LOOKUPS_MAX),
            checksums: Lane::new(1),
            reads: Lane::new(if is_far { FAR_STEPS_MAX } else { STEPS_MAX }),
            is_alone: false,
            work: JoinSet::new(),
            unsent: Unsent::default(),
            arrived: 0,
            watched: None,
        }
    }

    /// Ends when a long write has not brought the bytes that are due by then.
    fn behind(&mut self, pace: Option<(Duration, usize)>) -> tokio::time::Sleep {
        let now = tokio::time::Instant::now();
        let Some((time_limit, due)) = pace else {
            self.watched = None;
            return tokio::time::sleep_until(now);
        };
        let (until, _) = match self.watched {
            Some((until, goal)) if self.arrived < goal => (until, goal),
            _ => *self.watched.insert((now + time_limit, self.arrived + due)),
        };
        tokio::time::sleep_until(until)
    }

    async fn run(mut self, stream: Box<dyn Stream>) -> io::Result<()> {
        let (mut source, mut sink) = tokio::io::split(stream);
        let mut received = BytesMut::new();
        loop {
            self.advance()?;
            if let Some(rest) = self.tls.take() {
                self.unsent.send_all(&mut sink).await?;
                let stream = Preceded { rest, stream: source.unsplit(sink) };
                let (stream, peer) = self.guard.within(stream).await?;
                (source, sink) = tokio::io::split(stream);
                self.peer = peer;
            }
            let may_take = self.server.wants_bytes()
                && !self.waits_for_room()
                && self.unsent.bytes() < self.client.limits().answer_bytes;
            let pace = self.pace().filter(|_| may_take);
            let behind = self.behind(pace);
            let gone = tokio::select! {
                takes_none = self.unsent.send(&mut sink), if !self.unsent.is_empty() => {
                    takes_none?
                }
                count = receive(&mut source, &mut received), if may_take => {
                    let count = count?;
                    self.arrived += count;
                    count == 0 || {
                        let now = self.started.elapsed();
                        self.server.handle_bytes(now, received.split().freeze()).is_err()
                    }
                }
                () = tokio::time::sleep(WORD), if self.waits_for_origin() => {
                    self.server.notify("the proxy waits for the file's own server");
                    false
                }
                // Others wait for the room of a write that does not go on.
                () = behind, if pace.is_some() => {
                    self.watched = None;
                    self.falls_behind()
                }
                Some(outcome) = self.work.join_next(), if !self.work.is_empty() => {
                    self.finish(outcome.map_err(io::Error::other)?)?;
                    false
                }
            };
            if gone {
                return Ok(());
            }
        }
    }

    /// Does all that can be done without waiting.
    fn advance(&mut self) -> io::Result<()> {
        self.server.handle_room(self.started.elapsed()).map_err(io::Error::other)?;
        while let Some(served) = self.server.poll_event() {
            match served {
                Served::Login(login) => {
                    self.takes_urls = login.ability.intersects(Ability::FULL_URL);
                    self.client.works();
                }
                Served::StartTls { rest } => self.tls = Some(rest),
                // In their order: the file of a refused write may be opened by a request before it.
                served @ (Served::Request { .. } | Served::WriteRefused { .. }) => {
                    self.queue.push_back(served);
                }
            }
        }
        while !self.is_changing
            && let Some(served) = self.queue.pop_front()
        {
            match served {
                Served::Request { tag, request } => {
                    if let Some((tag, request)) = self.opened.keep(tag, request) {
                        self.take_up(tag, request);
                    }
                }
                Served::WriteRefused { handle } => self.opened.note_refused(handle),
                Served::Login(_) | Served::StartTls { .. } => {}
            }
        }
        self.look_up();
        self.collect();
        self.read_on();
        self.report_activity();
        Ok(())
    }

    /// Starts reading the next parts of answers while the client takes those that are there.
    fn read_on(&mut self) {
        let mut unsent = self.unsent.bytes();
        while unsent < UNSENT_BYTES_MAX
            && !self.is_alone
            && let Some(job) = self.reads.next(|job, running| running == 0 || !job.is_alone())
        {
            self.is_alone = job.is_alone();
            let files = self.files.clone();
            let client = self.client.clone();
            unsent += job.bytes_max();
            self.work.spawn(async move { Outcome::Read(job.step(&files, &client).await) });
        }
    }

    /// Moves the bytes to be sent out of the protocol's hands.
    fn collect(&mut self) {
        while let Some(bytes) = self.server.poll_transmit() {
            self.unsent.push(bytes);
        }
    }

    /// Reports whether the client has requests under way.
    fn report_activity(&self) {
        if self.unsent.is_empty() {
            self.client.has_all();
        }
        if !self.server.is_up() {
            return;
        }
        // A long write may arrive for longer than `Limits::opening`.
        let is_short = self.server.arriving_bytes() as usize <= self.client.limits().request_bytes;
        if self.server.requests_waiting() > 0 || !self.unsent.is_empty() {
            self.client.works();
        } else if !self.server.is_amid_request() || !is_short {
            self.client.rests();
        } else {
            self.client.goes_on_asking();
        }
    }

    /// Whether the client hears nothing because a far file's server is slow.
    fn waits_for_origin(&self) -> bool {
        self.files.are_far() && self.server.requests_waiting() > 0 && self.unsent.is_empty()
    }

    fn file(&self, handle: Handle) -> Option<&Opened> {
        self.opened.get(handle)
    }

    fn not_open(&mut self, tag: Tag) {
        self.server.answer_error(tag, ErrorCode::FILE_NOT_OPEN, "no such file is open here");
    }
}

/// Reads the bytes that are there, into a buffer that is made only now: idle connections have none.
async fn receive(
    source: &mut (impl AsyncRead + Unpin),
    received: &mut BytesMut,
) -> io::Result<usize> {
    received.reserve(RECEIVE_BYTES);
    source.read_buf(received).await
}
