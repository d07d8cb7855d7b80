//! The moment at which each request leaves.

use std::collections::BTreeSet;
use std::time::Duration;

use bytes::Bytes;

use super::change::{Change, Guess};
use super::event::{Answer, Event, FileId, HowToRetry, RequestId};
use super::fetch::{FileRange, ReadKind, Receiving, SentRange, segment};
use super::files::State;
use super::streams::{BodyKind, Owner};
use super::{Client, TaskKind};
use crate::Time;
use crate::error::{Misuse, RequestError, SessionError};
use crate::header::{Handle, RequestHeader, StreamId};
use crate::message::bind::PathId;
use crate::message::open::OpenOptions;
use crate::message::pgread::PgreadArguments;
use crate::message::readv::Segment;
use crate::message::{Close, Message, Pgread, Ping, Read, Readv, Request};
use crate::response::Redirect;
use crate::states::ClientState;

/// Whether a request could leave.
pub(super) enum Sent {
    /// It left, was answered without the server, or waits for an open.
    Yes,
    /// All stream ids are in use, or bytes that it may not overtake are on other paths. Those
    /// behind it wait, too.
    NotYet,
}

/// Why a read cannot name its file.
enum Unknown {
    /// The open is under way.
    Wait(FileId),
    Failed(RequestError),
    Moved(Box<Redirect>),
}

/// Facts about its file that a read needs when it leaves.
struct Known {
    handle: Handle,
    size: Option<u64>,
    guessed: bool,
}

impl Client {
    /// Sends all requests that may be sent.
    pub(super) fn pump(&mut self) {
        if let Some(error) = self.ended.clone() {
            self.fail_all(&error);
            return;
        }
        while self.may_send() {
            let Some(id) = self.ready.pop_front() else { return };
            if let Sent::NotYet = self.send(id) {
                self.ready.push_front(id);
                return;
            }
        }
    }

    fn may_send(&self) -> bool {
        match self.machine.state() {
            ClientState::Up => true,
            ClientState::Closed => false,
            _ => self.login_sent && self.may_send_behind_auth(),
        }
    }

    fn send(&mut self, id: RequestId) -> Sent {
        // A request that was cancelled or has failed meanwhile is no longer in the table.
        let Some(task) = self.tasks.get(&id) else { return Sent::Yes };
        if task.stream.is_some() {
            // Two reasons to send it met; it is under way.
            return Sent::Yes;
        }
        match &task.kind {
            TaskKind::Open { .. } => self.send_open(id),
            TaskKind::Fetch { .. } => self.send_fetch(id),
            TaskKind::Change { .. } => self.send_change(id),
            TaskKind::Close { file } => {
                let file = *file;
                self.send_close(id, file)
            }
            TaskKind::Plain(request) => {
                let request = request.clone();
                let kind = match request {
                    Request::Dirlist(_) => BodyKind::Listing,
                    _ => BodyKind::Control,
                };
                self.launch(id, kind, |stream| request.frame(stream))
            }
        }
    }

    fn send_open(&mut self, id: RequestId) -> Sent {
        let Some(TaskKind::Open { file, request, tries }) =
            self.tasks.get_mut(&id).map(|task| &mut task.kind)
        else {
            return Sent::Yes;
        };
        let file = *file;
        let again = *tries > 0;
        if again {
            // The server has been asked once to look again.
            request.options = request.options.without(OpenOptions::REFRESH);
        }
        let request = request.clone();
        let sent = self.launch(id, BodyKind::Control, |stream| request.frame(stream));
        if let Sent::Yes = sent {
            self.files.opening(file, self.profile.handles, again);
            if let Some(TaskKind::Open { tries, .. }) = self.tasks.get_mut(&id).map(|t| &mut t.kind)
            {
                *tries += 1;
            }
        }
        sent
    }

    fn send_close(&mut self, id: RequestId, file: FileId) -> Sent {
        match self.files.get(file).map(|file| &file.state) {
            // It is sent when the open has been answered.
            Some(State::Opening { .. }) => Sent::Yes,
            Some(State::Open { .. }) if self.would_overtake() => Sent::NotYet,
            Some(&State::Open { handle, .. }) => {
                let close = Close { handle };
                let sent = self.launch(id, BodyKind::Control, |stream| close.frame(stream));
                if let Sent::Yes = sent {
                    self.files.closing(file);
                }
                sent
            }
            _ => self.close_nothing(id, file),
        }
    }

    /// Answers the close of a file that is not open here.
    fn close_nothing(&mut self, id: RequestId, file: FileId) -> Sent {
        self.files.remove(file);
        self.tasks.remove(&id);
        self.answer(id, Answer::Closed);
        Sent::Yes
    }

    fn send_fetch(&mut self, id: RequestId) -> Sent {
        let Some(task) = self.tasks.get(&id) else { return Sent::Yes };
        let TaskKind::Fetch { wanted, how } = &task.kind else { return Sent::Yes };
        let how = *how;
        let mut asked = Vec::with_capacity(wanted.len());
        let mut unconfirmed = BTreeSet::new();
        for FileRange { file, range } in wanted {
            let known = match self.known(*file, task.careful) {
                Ok(known) => known,
                Err(unknown) => return self.hold_back(id, unknown),
            };
            let mut range = range.clone();
            if let (ReadKind::Vector, Some(size)) = (how, known.size) {
                // One segment beyond the end would fail them all.
                range.end = range.end.min(size);
            }
            if range.is_empty() {
                continue;
            }
            if known.guessed {
                unconfirmed.insert(*file);
            }
            asked.push(SentRange { file: *file, segment: segment(known.handle, &range) });
        }
        let Some(&first) = asked.first() else {
            self.tasks.remove(&id);
            self.events.push_back(Event::Done { request: id });
            return Sent::Yes;
        };
        let Segment { handle, length, offset } = first.segment;
        let request: Request = match how {
            ReadKind::Plain => Read { handle, offset, length, arguments: None }.into(),
            ReadKind::Checked { again } => {
                let arguments = again.then(PgreadArguments::retry);
                Pgread { handle, offset, length, arguments }.into()
            }
            ReadKind::Vector => {
                let segments = asked.iter().map(|asked| asked.segment).collect();
                Readv { path: 0, segments }.into()
            }
        };
        let sent = self.launch(id, BodyKind::Data, |stream| request.frame(stream));
        if let Sent::Yes = sent {
            for file in &unconfirmed {
                if let Some(file) = self.files.get_mut(*file) {
                    file.speculative.push(id);
                }
            }
            let receiving = match how {
                ReadKind::Plain => Receiving::plain(first, unconfirmed),
                ReadKind::Checked { .. } => Receiving::checked(first, unconfirmed),
                ReadKind::Vector => Receiving::vector(asked, unconfirmed),
            };
            if let Some(task) = self.tasks.get_mut(&id) {
                task.receiving = Some(receiving);
            }
        }
        sent
    }

    fn send_change(&mut self, id: RequestId) -> Sent {
        let Some(task) = self.tasks.get(&id) else { return Sent::Yes };
        let TaskKind::Change { file, change, .. } = &task.kind else { return Sent::Yes };
        let file = *file;
        let change = change.clone();
        let careful = task.careful || !self.files.is_alone(file);
        let known = match self.known(file, careful) {
            Ok(known) => known,
            Err(Unknown::Failed(_) | Unknown::Moved(_)) if matches!(change, Change::Close) => {
                return self.close_nothing(id, file);
            }
            Err(unknown) => return self.hold_back(id, unknown),
        };
        let path = match &change {
            Change::Write(_) if known.guessed => Some(PathId::OWN),
            Change::Write(piece) => self.path_for(piece),
            _ => (!self.would_overtake()).then_some(PathId::OWN),
        };
        let Some(path) = path else { return Sent::NotYet };
        let Some(stream) = self.put_change(id, &change, known.handle, path) else {
            return Sent::NotYet;
        };
        self.note_launch(id, stream);
        if known.guessed
            && let Some(file) = self.files.get_mut(file)
        {
            file.speculative.push(id);
        }
        if let Some(TaskKind::Change { change, guess, .. }) =
            self.tasks.get_mut(&id).map(|t| &mut t.kind)
        {
            *guess = if known.guessed { Guess::Open(None) } else { Guess::None };
            if let Change::Write(piece) = change {
                piece.path = path;
            }
        }
        Sent::Yes
    }

    /// The handle and the size of a file for a read or a change. A careful one does not take a
    /// guessed handle.
    fn known(&self, id: FileId, careful: bool) -> Result<Known, Unknown> {
        let Some(file) = self.files.get(id) else {
            return Err(Unknown::Failed(Misuse::UnknownFile.into()));
        };
        match &file.state {
            State::Opening { guess: Some(handle) } if !careful => {
                Ok(Known { handle: *handle, size: None, guessed: true })
            }
            State::Opening { .. } => Err(Unknown::Wait(id)),
            State::Open { handle, size } => {
                Ok(Known { handle: *handle, size: *size, guessed: false })
            }
            State::Failed(error) => Err(Unknown::Failed(error.clone())),
            State::Moved(target) => Err(Unknown::Moved(Box::new(target.clone()))),
            State::Closed { .. } => Err(Unknown::Failed(Misuse::ClosedFile.into())),
        }
    }

    fn hold_back(&mut self, id: RequestId, unknown: Unknown) -> Sent {
        match unknown {
            Unknown::Wait(file) => {
                if let Some(file) = self.files.get_mut(file) {
                    file.waiting.push(id);
                }
            }
            Unknown::Failed(error) => self.fail(id, error),
            Unknown::Moved(target) => {
                self.tasks.remove(&id);
                self.events.push_back(Event::Redirected { request: id, target: *target });
            }
        }
        Sent::Yes
    }

    /// Puts a request on the wire.
    fn launch(
        &mut self,
        id: RequestId,
        kind: BodyKind,
        frame: impl FnOnce(StreamId) -> Vec<u8>,
    ) -> Sent {
        let Some(stream) = self.put(Owner::Request(id), kind, frame) else {
            return Sent::NotYet;
        };
        self.note_launch(id, stream);
        Sent::Yes
    }

    fn note_launch(&mut self, id: RequestId, stream: StreamId) {
        self.sent.push_back(id);
        if let Some(task) = self.tasks.get_mut(&id) {
            task.stream = Some(stream);
        }
        if self.machine.state() != ClientState::Up {
            self.ahead = true;
        }
    }

    /// Puts a frame on the wire under a new stream id.
    pub(super) fn put(
        &mut self,
        owner: Owner,
        kind: BodyKind,
        frame: impl FnOnce(StreamId) -> Vec<u8>,
    ) -> Option<StreamId> {
        let stream = self.allocate(owner, kind)?;
        let frame = frame(stream);
        if let Some((header, body)) = frame.split_first_chunk() {
            self.sign(header, body);
        }
        self.outbox.put(&frame);
        Some(stream)
    }

    /// Puts a header and its body on the wire under a new stream id, the body without a copy and on
    /// a path.
    pub(super) fn put_with_body(
        &mut self,
        owner: Owner,
        path: PathId,
        frame: impl FnOnce(StreamId) -> (RequestHeader, Bytes),
    ) -> Option<StreamId> {
        let stream = self.allocate(owner, BodyKind::Control)?;
        let (header, body) = frame(stream);
        let header = header.encode();
        self.sign(&header, &body);
        self.outbox.put(&header);
        match self.paths.get_mut(&path) {
            Some(path) => path.put_body(body),
            None => self.outbox.put_body(body),
        }
        Some(stream)
    }

    /// Puts a signature in front of a request, where the server wants one.
    fn sign(&mut self, header: &[u8; RequestHeader::BYTES], body: &[u8]) {
        if let Some(signature) = self.signing.sign(header, body) {
            self.outbox.put(&signature);
        }
    }

    fn allocate(&mut self, owner: Owner, kind: BodyKind) -> Option<StreamId> {
        if !self.streams.any_due() && self.heard.is_some() {
            // From now on the server owes an answer.
            self.heard = Some(self.now);
        }
        self.streams.allocate(owner, kind)
    }

    /// When a server that owes an answer has been silent too long, or an idle one should be asked
    /// for a sign of life.
    pub(super) fn silence_deadline(&self) -> Option<Time> {
        let heard = self.heard.filter(|_| !self.is_closed())?;
        if self.streams.any_due() {
            return Some(heard.saturating_add(self.config.silence_max));
        }
        let idle = self.config.keepalive.filter(|_| self.machine.state() == ClientState::Up)?;
        Some(heard.saturating_add(idle.max(Duration::from_millis(1))))
    }

    pub(super) fn check_silence(&mut self) {
        if self.silence_deadline().is_none_or(|deadline| deadline > self.now) {
            return;
        }
        if self.streams.any_due() {
            self.end(SessionError::Silent(self.config.silence_max), HowToRetry::Again);
        } else {
            self.put(Owner::Keepalive, BodyKind::Control, |stream| Ping.frame(stream));
        }
    }

    /// Gives up requests that the server has put off and never answered.
    pub(super) fn drop_overdue(&mut self) {
        while let Some((stream, owner)) = self.streams.overdue(self.now) {
            self.streams.abandon(stream, Owner::None);
            if let Owner::Request(id) = owner {
                self.fail(id, RequestError::TimedOut);
            }
        }
    }
}
