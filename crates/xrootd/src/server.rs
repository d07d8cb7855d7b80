//! One served connection: the mirror of the client. It never sends; it is asked what to send.
//!
//! Handshake, kXR_protocol and kXR_login are answered here, and so is everything that a read-only
//! server refuses. The rest is handed up as [`Served::Request`] and answered, in any order, by the
//! `answer_*` methods under the request's [`Tag`]. A request is answered by any number of parts
//! (`more`) and one last answer; what is answered twice, or under a tag that is not waiting, is
//! dropped. After [`Server::answer_waitresp`] the answer may come at any time: it is sent as the
//! attention message that the protocol wants; an answer of pages cannot be put off.
//!
//! The run-loop law is the client's: after every `handle_*` and every answer, call the `poll_*`
//! until they return nothing.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use bytes::{Buf, Bytes};

use crate::Time;
use crate::codec::Outbox;
use crate::error::{ErrorCode, ProtocolError, ServerError};
use crate::frame::{Body, FrameReader, Piece};
use crate::header::{Handle, RequestHeader, ResponseHeader, Status, StreamId};
use crate::message::dirlist::Entry;
use crate::message::handshake::{self, Greeting, Kind};
use crate::message::locate::Location;
use crate::message::login::{LoginAnswer, SessionId};
use crate::message::open::OpenAnswer;
use crate::message::pgread::PartHead;
use crate::message::protocol::{ProtocolAnswer, ServerFlags};
use crate::message::readv::Segment;
use crate::message::stat::StatInfo;
use crate::message::{Dirlist, Locate, Login, Message, Open, Protocol, Request};
use crate::pages;
use crate::response::{Redirect, encode_wait};
use crate::states::{Machine, ServedState, ServedStep};

mod refuse;

pub use crate::message::query::config_answer;

/// What a served connection says of its server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerConfig {
    /// The protocol version, as in `0x511` for 5.1.1.
    pub version: u32,
    pub kind: Kind,
    pub flags: ServerFlags,
    /// This connection's session; no two of a server may be the same.
    pub session: SessionId,
}

impl ServerConfig {
    /// A data server that offers nothing beyond reading.
    pub fn data_server(session: SessionId) -> ServerConfig {
        ServerConfig {
            version: 0x511,
            kind: Kind::DataServer,
            flags: ServerFlags::IS_SERVER,
            session,
        }
    }
}

/// The served side's name for a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Tag(pub u64);

/// What a client wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Served {
    /// Somebody has logged in. Already answered.
    Login(Login),
    /// To be answered under its tag.
    Request { tag: Tag, request: Request },
}

/// A request that waits for its answer.
#[derive(Debug)]
struct Waiting {
    stream: StreamId,
    /// The client has been told that the answer will come later.
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
    /// Bytes of data to drop that follow a refused request.
    skip: u64,
    waiting: BTreeMap<Tag, Waiting>,
    next_tag: u64,
    events: VecDeque<Served>,
    outbox: Outbox,
}

/// Largest request that is kept whole, bytes: a vector of 65,536 segments.
const REQUEST_BYTES_MAX: u64 = 1 << 20;
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
            skip: 0,
            waiting: BTreeMap::new(),
            next_tag: 0,
            events: VecDeque::new(),
            outbox: Outbox::default(),
        }
    }

    /// Bytes have come from the client, cut anywhere. After an error the connection is to be
    /// closed.
    pub fn handle_bytes(&mut self, _now: Time, mut bytes: Bytes) -> Result<(), ProtocolError> {
        let taken = self.take(&mut bytes);
        if taken.is_err() {
            self.close();
        }
        taken
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

    /// Answers [`Request::Open`]. The stat text is for [`crate::message::open::OpenOptions::RETSTAT`].
    pub fn answer_open(&mut self, tag: Tag, handle: Handle, stat: Option<&StatInfo>) {
        let answer = OpenAnswer { handle, compression: None, stat: stat.cloned() };
        self.answer_ok(tag, Open::encode_answer(&answer));
    }

    /// Answers [`Request::Read`]: all the bytes, or a part of them if there is `more` to come.
    pub fn answer_data(&mut self, tag: Tag, mut bytes: Bytes, more: bool) {
        while bytes.len() > FRAME_BYTES_MAX {
            let part = bytes.split_to(FRAME_BYTES_MAX);
            self.reply(tag, Status::OkSoFar, vec![part]);
        }
        self.reply(tag, if more { Status::OkSoFar } else { Status::Ok }, vec![bytes]);
    }

    /// Answers [`Request::Pgread`]: the bytes at `offset` of the file, or a part of them if there is
    /// `more` to come. All parts but the last end where a page ends.
    pub fn answer_pages(&mut self, tag: Tag, offset: u64, bytes: &[u8], more: bool) {
        let Some(stream) = self.waiting.get(&tag).map(|waiting| waiting.stream) else { return };
        let pages = Bytes::from(pages::encode(offset, bytes));
        let length = pages.len() as u32;
        let head = PartHead { stream, last: !more, offset, length };
        if !more {
            self.waiting.remove(&tag);
        }
        self.send(stream, Status::Status, vec![Bytes::copy_from_slice(&head.encode())]);
        if self.machine.state() != ServedState::Closed {
            self.outbox.put_body(pages);
        }
    }

    /// Answers [`Request::Readv`]: all the records, or some of them if there is `more` to come.
    /// Each is a segment's handle, its offset, and exactly its bytes.
    pub fn answer_readv(&mut self, tag: Tag, records: &[(Handle, u64, Bytes)], more: bool) {
        let (mut frame, mut frame_bytes) = (Vec::new(), 0);
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

    /// Answers [`Request::Stat`].
    pub fn answer_stat(&mut self, tag: Tag, stat: &StatInfo) {
        self.answer_text(tag, &stat.to_string());
    }

    /// Answers [`Request::Query`], and anything else that is answered by a text. It is ended by
    /// a NUL unless it is made of whole lines, as [`config_answer`] is: that is what xrootd does,
    /// and there are clients that rely on it.
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

    /// Answers what is answered by consent alone: [`Request::Close`], [`Request::Ping`],
    /// [`Request::Endsess`].
    pub fn answer_done(&mut self, tag: Tag) {
        self.answer_ok(tag, Vec::new());
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

    /// Tells the client that the answer will come, at the latest after this time; counts whole
    /// seconds. The tag goes on waiting for its answer.
    pub fn answer_waitresp(&mut self, tag: Tag, time: Duration, why: &str) {
        self.reply(tag, Status::WaitResponse, vec![encode_wait(time, why).into()]);
    }

    /// Says something that people should read.
    pub fn notify(&mut self, text: &str) {
        let body = crate::response::Attention::Message(text.to_owned()).encode();
        self.send(StreamId::NONE, Status::Attention, vec![body.into()]);
    }

    // What is shared.

    fn close(&mut self) {
        // Every state may end, so this never fails.
        let _ended = self.machine.step(ServedStep::Ended);
        self.waiting.clear();
        self.events.clear();
    }

    fn take(&mut self, input: &mut Bytes) -> Result<(), ProtocolError> {
        if self.machine.state() == ServedState::Greeting {
            self.greet(input)?;
        }
        while !matches!(self.machine.state(), ServedState::Greeting | ServedState::Closed) {
            let dropped = self.skip.min(input.len() as u64);
            input.advance(dropped as usize);
            self.skip -= dropped;
            if self.skip > 0 {
                break;
            }
            match self.frames.next(input, body_of)? {
                None => break,
                Some(Piece::Whole { head, body }) => self.request(&head, &body),
                Some(Piece::Part { last: false, .. }) => {}
                Some(Piece::Part { head, .. }) => self.request(&head, &Bytes::new()),
            }
        }
        Ok(())
    }

    fn greet(&mut self, input: &mut Bytes) -> Result<(), ProtocolError> {
        let missing = handshake::REQUEST.len() - self.greeting.len();
        self.greeting.extend_from_slice(&input.split_to(missing.min(input.len())));
        if !handshake::REQUEST.starts_with(&self.greeting) {
            let (what, why) = ("handshake", "not the handshake of this protocol");
            return Err(crate::error::DecodeError::Invalid { what, why }.into());
        }
        if self.greeting.len() == handshake::REQUEST.len() {
            self.machine.step(ServedStep::Handshake)?;
            let ServerConfig { version, kind, .. } = self.config;
            self.outbox.put(&Greeting { version, kind }.frame());
        }
        Ok(())
    }

    /// One request: answered here, or handed up.
    fn request(&mut self, head: &RequestHeader, body: &Bytes) {
        let tag = Tag(self.next_tag);
        self.next_tag += 1;
        self.waiting.insert(tag, Waiting { stream: head.stream, deferred: false });
        let request = match Request::decode(head, body) {
            Ok(request) => request,
            Err(error) => {
                return self.answer_error(tag, ErrorCode::ARG_INVALID, &error.to_string());
            }
        };
        let step = match request {
            Request::Protocol(_) => ServedStep::Protocol,
            Request::Ping(_) => ServedStep::Ping,
            Request::Login(_) => ServedStep::Login,
            _ => ServedStep::Request,
        };
        if self.machine.step(step).is_err() {
            return self.answer_error(tag, ErrorCode::INVALID_REQUEST, "not at this point");
        }
        self.skip = refuse::data_behind(head.code, body);
        match request {
            Request::Protocol(_) => self.answer_protocol(tag),
            Request::Login(login) => self.answer_login(tag, login),
            request => match refuse::verdict(&request) {
                refuse::Verdict::Serve => self.events.push_back(Served::Request { tag, request }),
                refuse::Verdict::Refuse(code, text) => self.answer_error(tag, code, text),
                refuse::Verdict::Consent => self.answer_done(tag),
                refuse::Verdict::Ignore => {
                    self.waiting.remove(&tag);
                }
            },
        }
    }

    fn answer_protocol(&mut self, tag: Tag) {
        let ServerConfig { version, flags, .. } = self.config;
        let answer = ProtocolAnswer { version, flags, details: Bytes::new() };
        self.answer_ok(tag, Protocol::encode_answer(&answer));
    }

    fn answer_login(&mut self, tag: Tag, login: Login) {
        let answer = LoginAnswer { session: self.config.session, security: String::new() };
        self.answer_ok(tag, Login::encode_answer(&answer));
        self.events.push_back(Served::Login(login));
    }

    fn answer_ok(&mut self, tag: Tag, body: Vec<u8>) {
        self.reply(tag, Status::Ok, vec![body.into()]);
    }

    /// Sends one answer, as it is or wrapped as a deferred one.
    fn reply(&mut self, tag: Tag, status: Status, body: Vec<Bytes>) {
        let Some(waiting) = self.waiting.get_mut(&tag) else { return };
        let Waiting { stream, deferred } = *waiting;
        match status {
            Status::OkSoFar => {}
            Status::WaitResponse => waiting.deferred = true,
            _ => {
                self.waiting.remove(&tag);
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
        self.outbox.put(&ResponseHeader { stream, status, length }.encode());
        for part in body {
            self.outbox.put_body(part);
        }
    }
}

/// Bodies of writes are refused, and never kept.
fn body_of(head: &RequestHeader) -> Result<Body, ProtocolError> {
    if refuse::is_dropped(head.code) {
        Ok(Body::AsItComes)
    } else {
        Ok(Body::Whole { what: "a request", limit: REQUEST_BYTES_MAX })
    }
}
