//! One served connection: the mirror of the client. It never sends; the caller polls it for bytes
//! to send.
//!
//! Handshake, kXR_protocol and kXR_login are answered here, and so is everything that the server
//! refuses: a read-only one ([`ServerConfig::write_bytes_max`]) all that changes files. The rest is
//! handed up as [`Served::Request`] and answered, in any order, by the `answer_*` methods under the
//! request's [`Tag`]. A request is answered by any number of parts
//! (`more`) and one last answer; a second answer, or one under a tag that is not waiting, is
//! dropped. After [`Server::answer_waitresp`] the answer may come at any time: it is sent as the
//! attention message that the protocol wants; an answer of pages cannot be put off.
//!
//! The run-loop law is the client's: after every `handle_*` and every answer, call the `poll_*`
//! until they return nothing.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::time::Duration;

use bytes::{Buf, Bytes};

use crate::Time;
use crate::codec::Outbox;
use crate::error::{ErrorCode, ProtocolError, ServerError};
use crate::frame::{Body, FrameReader, Piece};
use crate::header::{Handle, RequestHeader, ResponseHeader, Status, StreamId};
use crate::message::dirlist::Entry;
use crate::message::handshake::{self, Greeting, ServerKind};
use crate::message::locate::Location;
use crate::message::login::SessionId;
use crate::message::open::OpenAnswer;
use crate::message::pgread::PartHead;
use crate::message::pgwrite::BadPages;
use crate::message::protocol::ServerFlags;
use crate::message::readv::Segment;
use crate::message::stat::StatInfo;
use crate::message::{Dirlist, Locate, Login, Message, Open, Pgread, Pgwrite, Request};
use crate::pages;
use crate::response::{Redirect, encode_wait};
use crate::states::{Machine, ServedState, ServedStep};

mod refuse;
mod session;

pub use crate::message::query::config_answer;

/// A server's facts and limits, for one served connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerConfig {
    /// The protocol version, as in `0x511` for 5.1.1.
    pub version: u32,
    pub kind: ServerKind,
    pub flags: ServerFlags,
    /// This connection's session; no two of a server may be the same.
    pub session: SessionId,
    /// Requests that may wait for their answers; bytes behind them are left undecoded.
    pub requests_max: usize,
    /// Bytes beyond their headers of requests that wait; requests behind so many are left
    /// undecoded.
    pub waiting_bytes_max: u64,
    /// Longest request that is served, bytes beyond its header. Longer ones are refused, those of
    /// more than 1 MiB by the end of the session.
    pub request_bytes_max: u32,
    /// Longest write that is served, bytes beyond its header; longer ones are refused. 0: the
    /// server is read-only, and says so to everything that would change a file.
    pub write_bytes_max: u32,
    /// Of a read-only server: changes that name a path are handed up, to be answered by a
    /// redirection to where they are made.
    pub redirects_changes: bool,
    /// Why this client is not served: every request is refused with this text.
    pub refusal: Option<String>,
    pub tls: ServedTls,
    /// The authentication that is wanted, as offers to the client: `&P=ztn,0:4096:&P=unix`. Empty
    /// where none is wanted. Tokens are offered inside TLS only.
    pub security: String,
}

/// Whether a served connection may be encrypted. The caller sees to the encryption, see
/// [`Served::StartTls`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ServedTls {
    #[default]
    None,
    /// For clients that want it.
    Offered,
    /// Logins outside TLS are refused.
    Demanded,
}

impl ServerConfig {
    /// A data server that offers nothing beyond reading.
    pub fn data_server(session: SessionId) -> ServerConfig {
        ServerConfig {
            version: 0x511,
            kind: ServerKind::DataServer,
            flags: ServerFlags::IS_SERVER,
            session,
            requests_max: usize::MAX,
            waiting_bytes_max: u64::MAX,
            request_bytes_max: REQUEST_BYTES_MAX,
            write_bytes_max: 0,
            redirects_changes: false,
            refusal: None,
            tls: ServedTls::None,
            security: String::new(),
        }
    }

    /// Whether changes by requests of this code are handed up.
    fn takes_changes(&self, code: u16) -> bool {
        self.write_bytes_max > 0 || self.redirects_changes && refuse::names_path(code)
    }

    /// Longest request of this code, bytes beyond its header.
    fn limit_of(&self, code: u16) -> u32 {
        match refuse::is_write(code) {
            true => self.write_bytes_max,
            false => self.request_bytes_max,
        }
    }
}

/// The served side's name for a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Tag(pub u64);

/// Events of a served connection for the caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Served {
    /// From here on everything in both directions is inside TLS. Bytes to send before that have to
    /// leave first.
    StartTls {
        /// Bytes received behind the client's request, which belong to TLS.
        rest: Bytes,
    },
    /// A client has logged in. Already answered.
    Login(Login),
    /// To be answered under its tag. A [`Request::Auth`] is accepted by [`Server::answer_done`];
    /// requests behind it wait until it is answered.
    Request { tag: Tag, request: Request },
    /// A change of an open file has been refused: the file is not as its client wants it. Already
    /// answered.
    WriteRefused {
        /// The file; none where any of those that are open may be meant.
        handle: Option<Handle>,
    },
}

/// A request that waits for its answer.
#[derive(Debug)]
struct Waiting {
    stream: StreamId,
    /// Of the request, beyond its header.
    bytes: u32,
    /// The client has been sent word (`kXR_waitresp`) that the answer will come later.
    deferred: bool,
}

/// One served connection.
#[derive(Debug)]
pub struct Server {
    config: ServerConfig,
    machine: Machine<ServedState, ServedStep>,
    /// The beginning of the first 20 bytes.
    greeting: Vec<u8>,
    frames: FrameReader<RequestHeader>,
    /// Bytes received behind as many requests as may wait.
    input: Bytes,
    /// Bytes of data to drop that follow a refused request.
    skip: u64,
    waiting: BTreeMap<Tag, Waiting>,
    waiting_bytes: u64,
    next_tag: u64,
    /// The credential that waits to be accepted.
    credential: Option<Tag>,
    encrypted: bool,
    /// The client has been told to begin TLS: the next bytes belong to that.
    tls_begins: bool,
    events: VecDeque<Served>,
    outbox: Outbox,
    /// Bytes that the frame begun by [`Server::begin_records`] still lacks.
    unfinished: u64,
    /// Frames that follow the unfinished one.
    behind: Outbox,
}

/// Largest request that any server takes, bytes: a vector of 65,536 segments.
const REQUEST_BYTES_MAX: u32 = 1 << 20;
/// Answers to vector reads are cut between records at about this many bytes.
const READV_FRAME_BYTES: usize = 2 << 20;
/// Largest frame, bytes; its length is a signed 32-bit field.
const FRAME_BYTES_MAX: usize = 1 << 30;

impl Server {
    pub fn new(config: ServerConfig) -> Server {
        Server {
            config,
            machine: Machine::served(),
            greeting: Vec::new(),
            frames: FrameReader::new(),
            input: Bytes::new(),
            skip: 0,
            waiting: BTreeMap::new(),
            waiting_bytes: 0,
            next_tag: 0,
            credential: None,
            encrypted: false,
            tls_begins: false,
            events: VecDeque::new(),
            outbox: Outbox::default(),
            unfinished: 0,
            behind: Outbox::default(),
        }
    }

    /// Bytes have come from the client, cut anywhere. After an error the connection is to be
    /// closed. Bytes behind [`ServerConfig::requests_max`] waiting requests are kept until some are
    /// answered, and [`wants_bytes`](Self::wants_bytes) is `false` until then.
    pub fn handle_bytes(&mut self, now: Time, bytes: Bytes) -> Result<(), ProtocolError> {
        self.input = match self.input.is_empty() {
            true => bytes,
            false => [&self.input[..], &bytes].concat().into(),
        };
        self.handle_room(now)
    }

    /// Requests have been answered: decodes the bytes that were kept behind them. After an error
    /// the connection is to be closed.
    pub fn handle_room(&mut self, _now: Time) -> Result<(), ProtocolError> {
        let mut input = std::mem::take(&mut self.input);
        let taken = self.take(&mut input);
        if taken.is_err() {
            self.close();
        }
        if self.machine.state() != ServedState::Closed {
            self.input = input;
        }
        taken
    }

    /// Whether all that came has been decoded: otherwise the rest of the requests may stay in the
    /// socket.
    pub fn wants_bytes(&self) -> bool {
        self.input.is_empty()
    }

    /// Bytes beyond its header of the request that is arriving, those to come and those that are
    /// kept until then; 0 where none is.
    pub fn arriving_bytes(&self) -> u32 {
        self.frames.arriving_bytes()
    }

    /// Whether a request has begun to arrive, its header included, and is not complete.
    pub fn is_amid_request(&self) -> bool {
        self.frames.is_amid_a_frame() || self.skip > 0
    }

    /// Requests that wait for their answers.
    pub fn requests_waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Whether the client has logged in, and not gone.
    pub fn is_up(&self) -> bool {
        self.machine.state() == ServedState::Up
    }

    /// The client has closed the connection, or the connection broke. Requests that wait for an
    /// answer need none any more.
    pub fn handle_eof(&mut self, _now: Time) {
        self.close();
    }

    /// The next bytes to send.
    pub fn poll_transmit(&mut self) -> Option<Bytes> {
        self.outbox.take()
    }

    /// The next thing a client wants.
    pub fn poll_event(&mut self) -> Option<Served> {
        self.events.pop_front()
    }

    // Answers.

    /// Answers [`Request::Open`]. The stat text is for
    /// [`crate::message::open::OpenOptions::RETSTAT`].
    pub fn answer_open(&mut self, tag: Tag, handle: Handle, stat: Option<&StatInfo>) {
        let answer = OpenAnswer { handle, compression: None, stat: stat.cloned() };
        self.answer_ok(tag, Open::encode_answer(&answer));
    }

    /// Answers [`Request::Read`]: all the bytes, or a part of them if there is `more` to come.
    /// Parts of other answers in their wire form go the same way: records of [`Request::Readv`],
    /// and for [`Request::Dirlist`] the bytes that
    /// [`encode_part`](crate::message::dirlist::encode_part) makes of names.
    pub fn answer_data(&mut self, tag: Tag, mut bytes: Bytes, more: bool) {
        while bytes.len() > FRAME_BYTES_MAX {
            let part = bytes.split_to(FRAME_BYTES_MAX);
            self.reply(tag, Status::OkSoFar, vec![part]);
        }
        self.reply(tag, if more { Status::OkSoFar } else { Status::Ok }, vec![bytes]);
    }

    /// Answers [`Request::Pgread`]: the bytes at `offset` of the file, or a part of them if there
    /// is `more` to come. All parts but the last end where a page ends.
    pub fn answer_pages(&mut self, tag: Tag, offset: u64, bytes: &[u8], more: bool) {
        self.answer_encoded_pages(tag, offset, pages::encode(offset, bytes).into(), more);
    }

    /// The same, with the pages as [`pages::encode`] writes them.
    pub fn answer_encoded_pages(&mut self, tag: Tag, offset: u64, pages: Bytes, more: bool) {
        let Some(stream) = self.waiting.get(&tag).map(|waiting| waiting.stream) else { return };
        let length = pages.len() as u32;
        let head = PartHead { stream, last: !more, offset, length };
        if !more {
            self.forget(tag);
        }
        self.send(stream, Status::Status, vec![Bytes::copy_from_slice(&head.encode(Pgread::CODE))]);
        if self.machine.state() != ServedState::Closed {
            let outbox = if self.unfinished == 0 { &mut self.outbox } else { &mut self.behind };
            outbox.put_body(pages);
        }
    }

    /// Answers [`Request::Readv`]: all the records, or some of them if there is `more` to come.
    /// Each is a segment's handle, its offset, and exactly its bytes.
    pub fn answer_readv(&mut self, tag: Tag, records: &[(Handle, u64, Bytes)], more: bool) {
        let mut frame = Vec::new();
        let mut frame_bytes = 0;
        for (handle, offset, bytes) in records {
            let record_bytes = Segment::BYTES + bytes.len();
            if !frame.is_empty() && frame_bytes + record_bytes > READV_FRAME_BYTES {
                self.reply(tag, Status::OkSoFar, std::mem::take(&mut frame));
                frame_bytes = 0;
            }
            let length = bytes.len() as u32;
            let head = Segment { handle: *handle, length, offset: *offset };
            frame.push(Bytes::copy_from_slice(&head.encode()));
            frame.push(bytes.clone());
            frame_bytes += record_bytes;
        }
        self.reply(tag, if more { Status::OkSoFar } else { Status::Ok }, frame);
    }

    /// Answers [`Request::Readv`] with records in their wire form, all or some of them, of which
    /// only the first `bytes` are here: the frame has `length` bytes in all, and
    /// [`continue_records`](Self::continue_records) brings the others. Answers given meanwhile
    /// follow behind the frame. One frame at a time can be unfinished.
    pub fn begin_records(&mut self, tag: Tag, length: u32, bytes: Bytes, more: bool) {
        debug_assert!(self.unfinished == 0 && bytes.len() <= length as usize);
        let Some(Waiting { stream, .. }) = self.waiting.get(&tag) else { return };
        let status = if more { Status::OkSoFar } else { Status::Ok };
        let stream = *stream;
        if !more {
            self.forget(tag);
        }
        if self.machine.state() != ServedState::Closed {
            self.outbox.put(&ResponseHeader { stream, status, length }.encode());
            self.unfinished = length.into();
            self.continue_records(bytes);
        }
    }

    /// More bytes of the unfinished frame.
    pub fn continue_records(&mut self, bytes: Bytes) {
        debug_assert!(bytes.len() as u64 <= self.unfinished);
        self.unfinished = self.unfinished.saturating_sub(bytes.len() as u64);
        self.outbox.put_body(bytes);
        if self.unfinished == 0 {
            while let Some(bytes) = self.behind.take() {
                self.outbox.put_body(bytes);
            }
        }
    }

    /// Answers [`Request::Stat`].
    pub fn answer_stat(&mut self, tag: Tag, stat: &StatInfo) {
        self.answer_text(tag, &stat.to_string());
    }

    /// Answers [`Request::Query`], and anything else that is answered by a text. It is ended by
    /// a NUL unless it is made of whole lines, as [`config_answer`] is: xrootd does so, and there
    /// are clients that rely on it.
    pub fn answer_text(&mut self, tag: Tag, text: &str) {
        let mut body = text.as_bytes().to_vec();
        if !text.ends_with('\n') {
            body.push(0);
        }
        self.answer_ok(tag, body);
    }

    /// Answers [`Request::Dirlist`]. Either all entries have a stat or none.
    pub fn answer_entries(&mut self, tag: Tag, entries: &[Entry]) {
        self.answer_ok(tag, Dirlist::encode_answer(&entries.to_vec()));
    }

    /// Answers [`Request::Locate`].
    pub fn answer_locations(&mut self, tag: Tag, locations: &[Location]) {
        self.answer_ok(tag, Locate::encode_answer(&locations.to_vec()));
    }

    /// Answers [`Request::Pgwrite`]: all pages are written; these ranges of them, each within one
    /// page, came damaged and are to be sent again.
    pub fn answer_pgwrite(&mut self, tag: Tag, offset: u64, damaged: &[Range<u64>]) {
        let Some(stream) = self.waiting.get(&tag).map(|waiting| waiting.stream) else { return };
        let bytes_of = |range: Option<&Range<u64>>| {
            range.map_or(0, |range| range.end.saturating_sub(range.start) as u16)
        };
        let bad = BadPages {
            first: bytes_of(damaged.first()),
            last: bytes_of(damaged.last()),
            offsets: damaged.iter().map(|range| range.start).collect(),
        };
        let list = bad.encode();
        let head = PartHead { stream, last: true, offset, length: list.len() as u32 };
        self.forget(tag);
        let head = Bytes::copy_from_slice(&head.encode(Pgwrite::CODE));
        self.send(stream, Status::Status, vec![head]);
        if self.machine.state() != ServedState::Closed {
            let outbox = if self.unfinished == 0 { &mut self.outbox } else { &mut self.behind };
            outbox.put_body(list.into());
        }
    }

    /// Answers requests that are answered by consent alone: [`Request::Close`], [`Request::Ping`],
    /// [`Request::Endsess`], [`Request::Auth`], and those that change a file but
    /// [`Request::Pgwrite`].
    pub fn answer_done(&mut self, tag: Tag) {
        if self.credential == Some(tag) {
            // It waits in that state alone.
            let _accepted = self.machine.step(ServedStep::Authenticated);
        }
        self.answer_ok(tag, Vec::new());
    }

    /// Answers [`Request::Auth`] by asking for another message.
    pub fn answer_more(&mut self, tag: Tag, challenge: Bytes) {
        self.reply(tag, Status::AuthMore, vec![challenge]);
    }

    /// Refuses any request.
    pub fn answer_error(&mut self, tag: Tag, code: ErrorCode, text: &str) {
        let error = ServerError { code, message: text.to_owned() };
        self.reply(tag, Status::Error, vec![error.encode().into()]);
    }

    /// Sends the client elsewhere.
    pub fn answer_redirect(&mut self, tag: Tag, target: &Redirect) {
        self.reply(tag, Status::Redirect, vec![target.encode().into()]);
    }

    /// Has the client ask again after this time; counts whole seconds.
    pub fn answer_wait(&mut self, tag: Tag, time: Duration, why: &str) {
        self.reply(tag, Status::Wait, vec![encode_wait(time, why).into()]);
    }

    /// Announces that the answer will come, at the latest after this time; counts whole
    /// seconds. The tag goes on waiting for its answer.
    pub fn answer_waitresp(&mut self, tag: Tag, time: Duration, why: &str) {
        self.reply(tag, Status::WaitResponse, vec![encode_wait(time, why).into()]);
    }

    /// Says something that people should read.
    pub fn notify(&mut self, text: &str) {
        let body = crate::response::Attention::Message(text.to_owned()).encode();
        self.send(StreamId::NONE, Status::Attention, vec![body.into()]);
    }

    // Shared steps.

    fn close(&mut self) {
        // Every state may end, so this never fails.
        let _ended = self.machine.step(ServedStep::Ended);
        self.waiting.clear();
        self.credential = None;
        self.waiting_bytes = 0;
        self.events.clear();
        self.input = Bytes::new();
    }

    /// The request waits no longer.
    fn forget(&mut self, tag: Tag) {
        self.credential.take_if(|credential| *credential == tag);
        if let Some(waiting) = self.waiting.remove(&tag) {
            self.waiting_bytes -= u64::from(waiting.bytes);
        }
    }

    fn take(&mut self, input: &mut Bytes) -> Result<(), ProtocolError> {
        if self.machine.state() == ServedState::Greeting {
            self.greet(input)?;
        }
        while !matches!(self.machine.state(), ServedState::Greeting | ServedState::Closed)
            && self.waiting.len() < self.config.requests_max
            && self.waiting_bytes < self.config.waiting_bytes_max
            && self.credential.is_none()
        {
            let dropped = self.skip.min(input.len() as u64);
            input.advance(dropped as usize);
            self.skip -= dropped;
            if self.skip > 0 {
                break;
            }
            let config = &self.config;
            match self.frames.next(input, |head| body_of(head, config))? {
                None => break,
                Some(Piece::Whole { head, body }) => self.request(&head, &body)?,
                Some(Piece::Part { last: false, .. }) => {}
                Some(Piece::Part { head, .. }) => self.request(&head, &Bytes::new())?,
            }
            if std::mem::take(&mut self.tls_begins) {
                self.encrypted = true;
                self.events.push_back(Served::StartTls { rest: std::mem::take(input) });
                break;
            }
        }
        Ok(())
    }

    fn greet(&mut self, input: &mut Bytes) -> Result<(), ProtocolError> {
        let missing = handshake::REQUEST.len() - self.greeting.len();
        self.greeting.extend_from_slice(&input.split_to(missing.min(input.len())));
        if !handshake::REQUEST.starts_with(&self.greeting) {
            let subject = "handshake";
            let why = "not the handshake of this protocol";
            return Err(crate::error::DecodeError::Invalid { subject, why }.into());
        }
        if self.greeting.len() == handshake::REQUEST.len() {
            self.machine.step(ServedStep::Handshake)?;
            let ServerConfig { version, kind, .. } = self.config;
            self.outbox.put(&Greeting { version, kind }.frame());
        }
        Ok(())
    }

    fn answer_ok(&mut self, tag: Tag, body: Vec<u8>) {
        self.reply(tag, Status::Ok, vec![body.into()]);
    }

    /// Sends one answer, as it is or wrapped as a deferred one.
    fn reply(&mut self, tag: Tag, status: Status, body: Vec<Bytes>) {
        let Some(waiting) = self.waiting.get_mut(&tag) else { return };
        let Waiting { stream, deferred, .. } = *waiting;
        match status {
            Status::OkSoFar => {}
            Status::WaitResponse => waiting.deferred = true,
            _ => {
                self.forget(tag);
            }
        }
        if deferred {
            let length = body.iter().map(Bytes::len).sum::<usize>() as u32;
            let inner = ResponseHeader { stream, status, length };
            let mut wrapped = vec![crate::response::deferred_answer_lead(&inner)];
            wrapped.extend(body);
            self.send(StreamId::NONE, Status::Attention, wrapped);
        } else {
            self.send(stream, status, body);
        }
    }

    fn send(&mut self, stream: StreamId, status: Status, body: Vec<Bytes>) {
        if self.machine.state() == ServedState::Closed {
            return;
        }
        let length = body.iter().map(Bytes::len).sum::<usize>() as u32;
        let outbox = if self.unfinished == 0 { &mut self.outbox } else { &mut self.behind };
        outbox.put(&ResponseHeader { stream, status, length }.encode());
        for part in body {
            outbox.put_body(part);
        }
    }
}

/// Bodies of writes to a read-only server are never kept; nor are bodies longer than the limit,
/// unless they cannot be left out without losing the offset of the next request.
fn body_of(head: &RequestHeader, config: &ServerConfig) -> Result<Body, ProtocolError> {
    let limit = config.limit_of(head.code);
    let is_endless = head.length > REQUEST_BYTES_MAX && !refuse::is_write(head.code);
    let within = head.length <= limit || is_endless;
    if refuse::is_dropped(head.code, config.takes_changes(head.code))
        || !(within || refuse::has_data_behind(head.code))
    {
        return Ok(Body::AsItComes);
    }
    Ok(Body::Whole { subject: "a request", limit: limit.into() })
}
