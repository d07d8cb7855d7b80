//! One outgoing connection. It never sends; the caller polls it for bytes to send.
//!
//! The methods of [`Client`] are of four kinds:
//!
//! * commands (`open`, `read`, `readv`, `close`, `stat`, ...): may be given at any time, also
//!   before the session is up. They return a [`RequestId`] at once; events report its outcome.
//! * `handle_bytes`, `handle_eof`, `handle_timeout`: report events from outside.
//! * `poll_transmit`, `poll_event`, `poll_timeout`: return the work for the caller.
//! * getters: `profile`, `limits`.
//!
//! The run-loop law: after every command and every `handle_*`, call the `poll_*` until they return
//! nothing; then sleep until `poll_timeout`. Time is an argument and never goes back.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;
use std::time::Duration;

use bytes::Bytes;

use crate::Time;
use crate::auth::Method;
use crate::codec::Outbox;
use crate::error::{Misuse, ProtocolError, READ_BYTES_MAX, RequestError, SessionError};
use crate::frame::FrameReader;
use crate::header::{ResponseHeader, StreamId};
use crate::message::bind::PathId;
use crate::message::dirlist::DirlistOptions;
use crate::message::handshake::Greeting;
use crate::message::locate::LocateOptions;
use crate::message::login::SessionId;
use crate::message::mkdir::MkdirOptions;
use crate::message::open::OpenOptions;
use crate::message::protocol::ServerFlags;
use crate::message::{
    Dirlist, Endsess, Locate, Mkdir, Mv, Open, Ping, Query, Request, Rm, Rmdir, Stat,
};
use crate::profile::{Profile, ReadvLimits, Start};
use crate::states::{ClientState, ClientStep, Machine};

mod answers;
mod authenticate;
mod binding;
mod change;
mod checked;
mod encryption;
mod event;
mod fetch;
mod files;
mod opens;
mod paths;
mod send;
mod session;
mod signing;
mod streams;

pub use binding::{BindStep, Binding};
pub use change::WRITE_BYTES_MAX;
pub use event::{Answer, Event, FileId, HowToRetry, RequestId, ServerInfo};

use authenticate::Authenticating;
use binding::Path;
use change::{Change, Guess};
use encryption::Encryption;
use fetch::{FileRange, ReadKind, Receiving};
use files::{Files, State};
use signing::Signing;
use streams::{Owner, Streams};

/// Whether the session is to be encrypted. The caller sees to the encryption, see
/// [`Event::StartTls`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tls {
    /// The client does not ask for it. Where a server refuses the login without it, and nothing has
    /// been sent behind the login, it is asked for then.
    #[default]
    NotOffered,
    /// Asked for. A server without it is spoken to in clear.
    Wanted,
    /// Asked for. To a server without it nothing is said beyond kXR_protocol.
    Required,
}

/// Who the client is, and how long it waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientConfig {
    /// The user name for the server; its first eight bytes count.
    pub user: String,
    /// The program's name, for the server's records.
    pub app: String,
    pub pid: u32,
    /// The token that a redirecting server has given for the login.
    pub login_token: Option<String>,
    /// Methods to try where a server wants authentication. The server's order of preference
    /// decides.
    pub authentication: Vec<Method>,
    /// Names of protocols that the user does not want, for errors: they are not among
    /// `authentication`.
    pub excluded: Vec<String>,
    /// The method to use with an unknown server before it asks, if its credential is there: `gsi`
    /// right behind the login; a token only inside TLS, and to servers that want TLS for logins,
    /// with the first requests behind it.
    pub unasked: Option<Method>,
    pub tls: Tls,
    /// The caller writes the beginning of TLS right behind the first flight, without waiting for
    /// the server's consent; see [`Profile::takes_early_hello`].
    pub early_hello: bool,
    /// A server that owes an answer and sends nothing that answers anything for this long is taken
    /// for dead.
    pub silence_max: Duration,
    /// An idle session is asked for a sign of life this often.
    pub keepalive: Option<Duration>,
    /// How long a server may make one request wait in all.
    pub wait_max: Duration,
}

impl ClientConfig {
    /// With times that suit a wide-area link.
    pub fn new(user: &str, app: &str, pid: u32) -> ClientConfig {
        ClientConfig {
            user: user.to_owned(),
            app: app.to_owned(),
            pid,
            login_token: None,
            authentication: vec![
                Method::Unix { user: user.to_owned(), group: user.to_owned() },
                Method::Host,
            ],
            excluded: Vec::new(),
            unasked: None,
            tls: Tls::NotOffered,
            early_hello: false,
            silence_max: Duration::from_secs(30),
            keepalive: None,
            wait_max: Duration::from_secs(600),
        }
    }
}

/// A request, for as long as it has no final event.
#[derive(Debug)]
struct Task {
    kind: TaskKind,
    /// Under which id it is under way.
    stream: Option<StreamId>,
    /// How long the server has made it wait.
    waited: Duration,
    /// It has been tried with a guessed handle; the next try waits for the real one.
    careful: bool,
    receiving: Option<Receiving>,
}

#[derive(Debug)]
enum TaskKind {
    Open {
        file: FileId,
        request: Open,
        tries: u32,
    },
    Fetch {
        wanted: Vec<FileRange>,
        how: ReadKind,
    },
    Change {
        file: FileId,
        change: Change,
        guess: Guess,
    },
    Close {
        file: FileId,
    },
    /// Everything whose answer is kept whole and depends on no file.
    Plain(Request),
}

/// One outgoing connection.
#[derive(Debug)]
pub struct Client {
    config: ClientConfig,
    profile: Profile,
    start: Start,
    machine: Machine<ClientState, ClientStep>,
    frames: FrameReader<ResponseHeader>,
    outbox: Outbox,
    paths: BTreeMap<PathId, Path>,
    events: VecDeque<Event>,
    sent: VecDeque<RequestId>,
    streams: Streams,
    files: Files,
    tasks: BTreeMap<RequestId, Task>,
    next_request: u64,
    /// To be sent as soon as the session allows, in this order.
    ready: VecDeque<RequestId>,
    /// To be sent again at a time the server has named.
    delayed: BTreeSet<(Time, RequestId)>,
    /// Whether anything was asked before the session was up.
    ahead: bool,
    encryption: Encryption,
    /// The server has consented to TLS: the next bytes belong to that.
    tls_begins: bool,
    /// The login has been refused, because it was not encrypted.
    refused_in_clear: bool,
    login_sent: bool,
    authenticating: Authenticating,
    signing: Signing,
    greeting: Option<Greeting>,
    flags: ServerFlags,
    session: SessionId,
    /// Why the session is over, once it is.
    ended: Option<SessionError>,
    now: Time,
    /// When the server last answered anything, or first owed an answer.
    heard: Option<Time>,
    /// Messages since then that answer nothing: empty parts, notices.
    idle_messages: u32,
}

impl Client {
    /// A connection that has just been made, or is about to be. A server whose profile says that
    /// it dislikes bursts is always met with care.
    pub fn new(config: ClientConfig, profile: Profile, start: Start) -> Client {
        let start = if profile.start() == Start::Careful { Start::Careful } else { start };
        let mut client = Client {
            config,
            profile,
            start,
            machine: Machine::client(),
            frames: FrameReader::new(),
            outbox: Outbox::default(),
            paths: BTreeMap::new(),
            events: VecDeque::new(),
            sent: VecDeque::new(),
            streams: Streams::new(),
            files: Files::new(),
            tasks: BTreeMap::new(),
            next_request: 0,
            ready: VecDeque::new(),
            delayed: BTreeSet::new(),
            ahead: false,
            encryption: Encryption::Off,
            tls_begins: false,
            refused_in_clear: false,
            login_sent: false,
            authenticating: Authenticating::default(),
            signing: Signing::default(),
            greeting: None,
            flags: ServerFlags::default(),
            session: SessionId::default(),
            ended: None,
            now: Time::ZERO,
            heard: None,
            idle_messages: 0,
        };
        client.greet();
        client
    }

    // Commands.

    /// Opens a file. `path` is absolute and may carry an opaque part (`?key=value&...`).
    /// Reads may be asked for at once. Answered by [`Event::Opened`]. The client remembers the
    /// file, also one whose open has failed, until it is closed.
    pub fn open(&mut self, now: Time, path: &str, options: OpenOptions) -> (FileId, RequestId) {
        self.open_as(now, Open::reading(path, options))
    }

    /// Opens a file as [`Client::open`] does, for writing with the permissions that a new one is
    /// to have (as in `0o644`). Writes may be asked for at once. A close of it fails where the
    /// server says so.
    pub fn open_to_write(
        &mut self,
        now: Time,
        path: &str,
        options: OpenOptions,
        mode: u16,
    ) -> (FileId, RequestId) {
        self.open_as(now, Open { mode, ..Open::reading(path, options) })
    }

    fn open_as(&mut self, now: Time, request: Open) -> (FileId, RequestId) {
        let file = self.files.add(request.options.writes());
        let path = request.path.clone();
        let id = self.ask_about(now, &path, TaskKind::Open { file, request, tries: 0 });
        (file, id)
    }

    /// Reads a range of a file, at most [`READ_BYTES_MAX`] bytes. Answered by [`Event::Data`] as
    /// the bytes come, then [`Event::Done`].
    pub fn read(&mut self, now: Time, file: FileId, range: Range<u64>) -> RequestId {
        self.fetch(now, vec![FileRange { file, range }], ReadKind::Plain)
    }

    /// Reads a range of a file as [`Client::read`] does, with a checksum of every page
    /// ([`ServerFlags::CHECKSUMMED_PAGES`]): bytes that arrive otherwise than sent are reported by
    /// [`Event::Damaged`] and not passed on. `again`: they have been damaged before.
    pub fn pgread(&mut self, now: Time, file: FileId, range: Range<u64>, again: bool) -> RequestId {
        self.fetch(now, vec![FileRange { file, range }], ReadKind::Checked { again })
    }

    /// Reads many ranges, of one or several files, in one request; see [`Client::limits`].
    /// Answered by [`Event::Data`] as the bytes come, then [`Event::Done`].
    pub fn readv(&mut self, now: Time, segments: &[(FileId, Range<u64>)]) -> RequestId {
        let wanted =
            segments.iter().map(|(file, range)| FileRange { file: *file, range: range.clone() });
        self.fetch(now, wanted.collect(), ReadKind::Vector)
    }

    /// Gives a file back. Reads asked for before are served first; none can be asked for after.
    /// Answered by [`Answer::Closed`], for which the caller need not wait.
    pub fn close(&mut self, now: Time, file: FileId) -> RequestId {
        self.touch(now);
        let id = self.name_request();
        match self.files.get_mut(file) {
            Some(known) if known.close.is_none() => {
                known.close = Some(id);
                match &known.state {
                    State::Failed(_) | State::Moved(_) => {
                        self.files.remove(file);
                        self.answer(id, Answer::Closed);
                    }
                    State::Opening { .. } if known.writes => self.close_early(id, file),
                    _ => self.add_task(id, TaskKind::Close { file }),
                }
            }
            // Closing twice does no harm.
            _ => self.answer(id, Answer::Closed),
        }
        self.pump();
        id
    }

    /// Asks for the status of a path. Answered by [`Answer::Stat`].
    pub fn stat(&mut self, now: Time, path: &str) -> RequestId {
        self.ask_about(now, path, TaskKind::Plain(Stat::of(path).into()))
    }

    /// Asks for the status of an open file. Answered by [`Answer::Stat`]; `None` where it is not
    /// open.
    pub fn stat_open(&mut self, now: Time, file: FileId) -> Option<RequestId> {
        let State::Open { handle, .. } = self.files.get(file)?.state else { return None };
        Some(self.ask(now, TaskKind::Plain(Stat::of_open(handle).into())))
    }

    /// Asks for a sign of life. Answered by [`Answer::Pong`].
    pub fn ping(&mut self, now: Time) -> RequestId {
        self.ask(now, TaskKind::Plain(Ping.into()))
    }

    /// Asks for configuration values. Answered by [`Answer::Config`]; those about vector reads go
    /// into [`Client::limits`].
    pub fn query_config(&mut self, now: Time, keys: &[&str]) -> RequestId {
        self.ask(now, TaskKind::Plain(Query::config(keys).into()))
    }

    /// Asks for a checksum, `?cks.type=` choosing which. Answered by [`Answer::Text`], as in
    /// `adler32 5bdad19a`.
    pub fn query_checksum(&mut self, now: Time, path: &str) -> RequestId {
        self.ask_about(now, path, TaskKind::Plain(Query::checksum(path).into()))
    }

    /// Asks for the server's summary of itself, which begins with its time of day. Answered by
    /// [`Answer::Text`].
    pub fn query_summary(&mut self, now: Time) -> RequestId {
        self.ask(now, TaskKind::Plain(Query::summary().into()))
    }

    /// Lists a directory. Answered by [`Answer::Entries`].
    pub fn dirlist(&mut self, now: Time, path: &str, options: DirlistOptions) -> RequestId {
        let request = Dirlist { options, path: path.to_owned() };
        self.ask_about(now, path, TaskKind::Plain(request.into()))
    }

    /// Asks where a file is. Answered by [`Answer::Locations`].
    pub fn locate(&mut self, now: Time, path: &str, options: LocateOptions) -> RequestId {
        let request = Locate { options, path: path.to_owned() };
        self.ask_about(now, path, TaskKind::Plain(request.into()))
    }

    /// Gives a file another name; one that has it already is replaced. Answered by
    /// [`Answer::Changed`].
    pub fn mv(&mut self, now: Time, from: &str, to: &str) -> RequestId {
        let request = Mv { from: from.to_owned(), to: to.to_owned() };
        match check_path(to) {
            Ok(()) => self.ask_about(now, from, TaskKind::Plain(request.into())),
            Err(_) => self.ask_about(now, to, TaskKind::Plain(request.into())),
        }
    }

    /// Removes a file. Answered by [`Answer::Changed`].
    pub fn rm(&mut self, now: Time, path: &str) -> RequestId {
        self.ask_about(now, path, TaskKind::Plain(Rm { path: path.to_owned() }.into()))
    }

    /// Removes an empty directory. Answered by [`Answer::Changed`].
    pub fn rmdir(&mut self, now: Time, path: &str) -> RequestId {
        self.ask_about(now, path, TaskKind::Plain(Rmdir { path: path.to_owned() }.into()))
    }

    /// Makes a directory, with those above it, and with these permissions (as in `0o755`).
    /// Answered by [`Answer::Changed`].
    pub fn mkdir(&mut self, now: Time, path: &str, mode: u16) -> RequestId {
        let request = Mkdir { options: MkdirOptions::MAKE_PATH, mode, path: path.to_owned() };
        self.ask_about(now, path, TaskKind::Plain(request.into()))
    }

    /// Ends a session that another connection has left behind. Answered by
    /// [`Answer::SessionEnded`], also where the server does not know it any more.
    pub fn endsess(&mut self, now: Time, session: SessionId) -> RequestId {
        self.ask(now, TaskKind::Plain(Endsess { session }.into()))
    }

    /// Gives up a request: it gets no further event. Answers that the server still sends are
    /// dropped. A cancelled open is undone; a close is not cancelled, as the server would keep the
    /// file open.
    pub fn cancel(&mut self, now: Time, request: RequestId) {
        self.touch(now);
        let closes = |kind: &TaskKind| match kind {
            TaskKind::Close { .. } => true,
            TaskKind::Change { change, .. } => matches!(change, Change::Close),
            _ => false,
        };
        if self.tasks.get(&request).is_some_and(|task| closes(&task.kind)) {
            return;
        }
        let Some(task) = self.tasks.remove(&request) else { return };
        let abandoned = if let TaskKind::Open { file, .. } = task.kind {
            let slot = if task.stream.is_some() { self.files.take_slot(file) } else { None };
            self.give_up(file, State::Failed(Misuse::ClosedFile.into()));
            Owner::AbandonedOpen { slot }
        } else {
            Owner::None
        };
        if let Some(stream) = task.stream {
            self.streams.abandon(stream, abandoned);
        }
        self.pump();
    }

    // Events from outside.

    /// Bytes have come from the server, cut anywhere. After an error the session is over and its
    /// requests have failed, which the events say, too.
    pub fn handle_bytes(&mut self, now: Time, mut bytes: Bytes) -> Result<(), ProtocolError> {
        self.touch(now);
        if self.is_closed() {
            return Ok(());
        }
        let taken = self.take_frames(&mut bytes);
        if self.frames.is_amid_a_body() {
            self.has_answered();
        }
        if let Err(error) = &taken {
            self.end(error.clone().into(), HowToRetry::No);
        }
        self.pump();
        taken
    }

    /// The server has closed the connection, or the connection broke.
    pub fn handle_eof(&mut self, now: Time) {
        self.touch(now);
        self.end_of_connection();
    }

    /// The time that [`Client::poll_timeout`] named has come.
    pub fn handle_timeout(&mut self, now: Time) {
        self.touch(now);
        while let Some(&(time, id)) = self.delayed.first().filter(|&&(time, _)| time <= now) {
            self.delayed.remove(&(time, id));
            self.ready.push_back(id);
        }
        self.drop_overdue();
        self.check_silence();
        self.pump();
    }

    // Work for the caller.

    /// The next bytes to send.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Bytes> {
        self.touch(now);
        self.outbox.take()
    }

    /// The next thing to know.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// The next request that has left for the server, once each time that it was sent, for callers
    /// that count. Neither the messages that begin a session nor keep-alives are among them.
    pub fn poll_sent(&mut self) -> Option<RequestId> {
        self.sent.pop_front()
    }

    /// When to call [`Client::handle_timeout`].
    pub fn poll_timeout(&self) -> Option<Time> {
        let resend = self.delayed.first().map(|&(time, _)| time);
        let deferred = self.streams.first_deadline();
        [resend, deferred, self.silence_deadline()].into_iter().flatten().min()
    }

    // Getters.

    /// How much one vector read may ask for: the server's limits, or safe ones.
    pub fn limits(&self) -> ReadvLimits {
        self.profile.readv
    }

    /// Facts that were learnt about the server, for the next connection to it.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// The session's name, once the server has given it one: for
    /// [`endsess`](Client::endsess) on the connection that takes the place of this one.
    pub fn session_id(&self) -> Option<SessionId> {
        (self.session != SessionId::default()).then_some(self.session)
    }

    /// Whether the session is inside TLS.
    pub fn is_encrypted(&self) -> bool {
        self.encryption == Encryption::On
    }

    /// Whether a request made now is answered inside TLS, or not at all.
    pub fn answers_are_encrypted(&self) -> bool {
        let sworn = self.config.tls == Tls::Required || self.config.early_hello;
        self.is_encrypted() || sworn
    }

    /// Whether the session has ended.
    pub fn is_closed(&self) -> bool {
        self.machine.state() == ClientState::Closed
    }

    // Shared by the parts of the client.

    fn fetch(&mut self, now: Time, wanted: Vec<FileRange>, how: ReadKind) -> RequestId {
        let checked = self.check_fetch(&wanted, how == ReadKind::Vector);
        let wanted = wanted.into_iter().filter(|wanted| !wanted.range.is_empty()).collect();
        match checked {
            Ok(()) => self.ask(now, TaskKind::Fetch { wanted, how }),
            Err(misuse) => {
                let request = self.name_request();
                self.events.push_back(Event::Failed { request, error: misuse.into() });
                request
            }
        }
    }

    fn check_fetch(&self, wanted: &[FileRange], vector: bool) -> Result<(), Misuse> {
        let limits = self.profile.readv;
        if vector && wanted.len() > limits.segments_max as usize {
            return Err(Misuse::TooManySegments);
        }
        for FileRange { file, range } in wanted {
            let length = range.end.saturating_sub(range.start);
            if length > READ_BYTES_MAX || range.end > i64::MAX as u64 {
                return Err(Misuse::RangeTooLarge);
            }
            if vector && length > limits.segment_bytes_max {
                return Err(Misuse::SegmentTooLong);
            }
            match self.files.get(*file) {
                None => return Err(Misuse::UnknownFile),
                Some(known) if known.close.is_some() => return Err(Misuse::ClosedFile),
                Some(_) => {}
            }
        }
        Ok(())
    }

    fn ask_about(&mut self, now: Time, path: &str, kind: TaskKind) -> RequestId {
        match check_path(path) {
            Ok(()) => self.ask(now, kind),
            Err(misuse) => {
                self.touch(now);
                let id = self.name_request();
                self.add_task(id, kind);
                self.fail(id, misuse.into());
                id
            }
        }
    }

    fn ask(&mut self, now: Time, kind: TaskKind) -> RequestId {
        self.touch(now);
        let id = self.name_request();
        self.add_task(id, kind);
        self.pump();
        id
    }

    fn name_request(&mut self) -> RequestId {
        let id = RequestId(self.next_request);
        self.next_request += 1;
        id
    }

    fn add_task(&mut self, id: RequestId, kind: TaskKind) {
        let task =
            Task { kind, stream: None, waited: Duration::ZERO, careful: false, receiving: None };
        self.tasks.insert(id, task);
        self.ready.push_back(id);
    }

    fn answer(&mut self, request: RequestId, answer: Answer) {
        self.events.push_back(Event::Answer { request, answer });
    }

    /// The request has failed. Its id stays reserved until its answer has come; if it was an open,
    /// the waiting reads of the file fail with it.
    fn fail(&mut self, request: RequestId, error: RequestError) {
        let Some(task) = self.tasks.remove(&request) else { return };
        if let Some(stream) = task.stream {
            self.streams.abandon(stream, Owner::None);
        }
        self.events.push_back(Event::Failed { request, error: error.clone() });
        if let TaskKind::Open { file, .. } = task.kind {
            self.give_up(file, State::Failed(error));
        }
    }

    /// Something has come that answers a request, or a part of it.
    fn has_answered(&mut self) {
        self.heard = Some(self.now);
        self.idle_messages = 0;
    }

    /// A message has come that answers nothing.
    fn has_chattered(&mut self) -> Result<(), ProtocolError> {
        self.idle_messages += 1;
        if self.idle_messages > IDLE_MESSAGES_MAX {
            return Err(ProtocolError::Chatter(self.idle_messages));
        }
        Ok(())
    }

    /// Time has passed; the first moment there is starts the wait for the server.
    fn touch(&mut self, now: Time) {
        self.now = self.now.max(now);
        self.heard.get_or_insert(now);
    }
}

/// Messages in a row that answer nothing: more notices than a server has for people.
const IDLE_MESSAGES_MAX: u32 = 1000;

/// The longest path that is sent, bytes.
const PATH_BYTES_MAX: usize = 64 * 1024;

fn check_path(path: &str) -> Result<(), Misuse> {
    let bad = path.is_empty() || path.len() > PATH_BYTES_MAX || path.chars().any(char::is_control);
    if bad { Err(Misuse::BadPath) } else { Ok(()) }
}
