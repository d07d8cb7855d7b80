//! Incoming answers, frame by frame: the request of each, and its meaning.

use bytes::Bytes;

use super::event::{Answer, Event, RequestId};
use super::fetch::{Outcome, ReadKind};
use super::streams::Owner;
use super::{Client, TaskKind};
use crate::error::{ErrorCode, ProtocolError, RequestError, ServerError};
use crate::frame::Piece;
use crate::header::{ResponseHeader, Status, StreamId};
use crate::message::pgread::PartHead;
use crate::message::query::{QueryKind, config_values};
use crate::message::{
    Close, Dirlist, Endsess, Locate, Message, Open, Pgread, Pgwrite, Ping, Query, Request, Stat,
};
use crate::response::{Attention, Redirect, decode_wait};
use crate::states::{ClientState, ClientStep};

impl Client {
    /// Takes everything that has come.
    pub(super) fn take_frames(&mut self, input: &mut Bytes) -> Result<(), ProtocolError> {
        while !self.is_closed() {
            let streams = &self.streams;
            match self.frames.next(input, |head| streams.body_of(head))? {
                None => break,
                Some(Piece::Whole { head, body }) => self.take_whole(&head, body)?,
                Some(Piece::Part { head, bytes, last }) => {
                    self.take_part(head.stream, head.status, bytes, last)?;
                }
            }
            if std::mem::take(&mut self.tls_begins) {
                self.start_tls(std::mem::take(input));
                break;
            }
        }
        Ok(())
    }

    /// A frame that was kept whole.
    fn take_whole(&mut self, head: &ResponseHeader, body: Bytes) -> Result<(), ProtocolError> {
        if head.status == Status::Status {
            return self.take_part_head(head.stream, &body);
        }
        if head.stream != StreamId::NONE {
            return self.take_answer(head.stream, head.status, body);
        }
        match head.status {
            Status::Attention => self.attend(&body),
            Status::Ok if self.machine.state() == ClientState::Greeting => {
                self.has_answered();
                self.greeted(&body)
            }
            _ => Err(ProtocolError::UnknownStream(StreamId::NONE)),
        }
    }

    /// The head of a part of a checksummed read, whose pages follow.
    fn take_part_head(&mut self, stream: StreamId, body: &Bytes) -> Result<(), ProtocolError> {
        let owner = self.streams.owner(stream)?;
        let task = match owner {
            Owner::Request(id) => self.tasks.get_mut(&id),
            _ => None,
        };
        let request = task.as_ref().map_or("nothing", |task| task.kind.name());
        let writes = request == Pgwrite::NAME;
        let parts = task.and_then(|task| task.receiving.as_mut()?.parts());
        if parts.is_none() && !writes && owner != Owner::None {
            let status = Status::Status.name();
            return Err(ProtocolError::UnexpectedStatus { status, request });
        }
        let head = match owner {
            // Of a request that was given up the kind is not known any more.
            Owner::None => PartHead::decode(Pgread::CODE, body)
                .or_else(|_| PartHead::decode(Pgwrite::CODE, body))?,
            _ if writes => PartHead::decode(Pgwrite::CODE, body)?,
            _ => PartHead::decode(Pgread::CODE, body)?,
        };
        if head.stream != stream {
            return Err(ProtocolError::UnknownStream(head.stream));
        }
        if let Some(parts) = parts {
            parts.begin(&head)?;
        }
        let status = if head.last { Status::Ok } else { Status::OkSoFar };
        self.frames.follow(ResponseHeader { stream, status, length: head.length });
        Ok(())
    }

    /// Handles an unsolicited message of the server.
    fn attend(&mut self, body: &Bytes) -> Result<(), ProtocolError> {
        match Attention::decode(body)? {
            Attention::Answer { header, body } => {
                if !self.streams.is_deferred(header.stream) {
                    return Err(ProtocolError::UnknownStream(header.stream));
                }
                match self.streams.body_of(&header)? {
                    crate::frame::Body::AsItComes => {
                        self.take_part(header.stream, header.status, body, true)
                    }
                    crate::frame::Body::Whole { .. } => {
                        self.take_answer(header.stream, header.status, body)
                    }
                }
            }
            Attention::Message(text) => {
                self.has_chattered()?;
                self.events.push_back(Event::Notice { text });
                Ok(())
            }
            Attention::Other(_) => self.has_chattered(),
        }
    }

    /// A piece of data.
    fn take_part(
        &mut self,
        stream: StreamId,
        status: Status,
        mut bytes: Bytes,
        last: bool,
    ) -> Result<(), ProtocolError> {
        let complete = last && status == Status::Ok;
        if complete || !bytes.is_empty() {
            self.has_answered();
        } else {
            self.has_chattered()?;
        }
        if let Owner::Request(id) = self.streams.owner(stream)? {
            self.machine.step(ClientStep::RequestAnswered)?;
            self.receive(id, &mut bytes, complete)?;
            self.take_bad_pages(id, &bytes, complete)?;
        }
        if complete {
            self.streams.release(stream);
        }
        Ok(())
    }

    /// Bytes of a read: passed on, or held while the handle they came by is a guess.
    fn receive(
        &mut self,
        id: RequestId,
        bytes: &mut Bytes,
        complete: bool,
    ) -> Result<(), ProtocolError> {
        let Some(task) = self.tasks.get_mut(&id) else { return Ok(()) };
        let Some(receiving) = &mut task.receiving else { return Ok(()) };
        while let Some(arrived) = receiving.next(bytes)? {
            if receiving.unconfirmed.is_empty() {
                receiving.delivered = true;
                self.events.push_back(arrived.into_event(id));
            } else {
                receiving.held.push(arrived);
            }
        }
        if complete {
            receiving.finish()?;
            task.stream = None;
            if receiving.unconfirmed.is_empty() {
                self.tasks.remove(&id);
                self.events.push_back(Event::Done { request: id });
            } else {
                receiving.outcome = Some(Outcome::Done);
            }
        }
        Ok(())
    }

    /// An answer that was kept whole.
    fn take_answer(
        &mut self,
        stream: StreamId,
        status: Status,
        body: Bytes,
    ) -> Result<(), ProtocolError> {
        if status == Status::OkSoFar && body.is_empty() {
            self.has_chattered()?;
        } else {
            self.has_answered();
        }
        match self.streams.owner(stream)? {
            step @ (Owner::Protocol | Owner::Login | Owner::Auth) => {
                self.streams.release(stream);
                self.session_answer(step, status, &body)
            }
            Owner::Keepalive => {
                // Any answer is a sign of life.
                self.streams.release(stream);
                Ok(())
            }
            Owner::None => {
                self.ignore(stream, status);
                Ok(())
            }
            Owner::AbandonedOpen { slot } => self.undo_open(stream, status, &body, slot),
            Owner::Request(id) if self.is_too_early(status) => {
                self.machine.step(ClientStep::RequestTooEarly)?;
                ServerError::decode(&body)?;
                self.finished(id, stream);
                self.ask_later(id);
                Ok(())
            }
            Owner::Request(id) => {
                self.machine.step(ClientStep::RequestAnswered)?;
                self.request_answer(id, stream, status, body)
            }
        }
    }

    /// Whether a server refuses a request that it has read before it had judged the credential.
    fn is_too_early(&self, status: Status) -> bool {
        status == Status::Error && self.machine.state() == ClientState::Authenticating
    }

    /// A request that was sent too early is sent once more when the session is up; from now on
    /// nothing is sent behind a credential here.
    fn ask_later(&mut self, id: RequestId) {
        self.ahead = false;
        self.profile.burst = Some(false);
        if let Some(TaskKind::Open { file, .. }) = self.tasks.get(&id).map(|task| &task.kind) {
            self.open_put_off(*file);
        }
        self.start_again(id);
    }

    /// An answer to a request that was given up: only whether it is the last one matters.
    fn ignore(&mut self, stream: StreamId, status: Status) {
        match status {
            Status::OkSoFar => {}
            Status::WaitResponse => self.streams.defer(stream, self.now),
            _ => {
                self.streams.release(stream);
            }
        }
    }

    fn undo_open(
        &mut self,
        stream: StreamId,
        status: Status,
        body: &Bytes,
        slot: Option<u32>,
    ) -> Result<(), ProtocolError> {
        if status == Status::Ok {
            let answer = Open::decode_answer(body)?;
            self.streams.release(stream);
            self.close_abandoned(answer.handle, slot);
        } else {
            if !matches!(status, Status::OkSoFar | Status::WaitResponse) {
                self.files.free_slot(slot);
            }
            self.ignore(stream, status);
        }
        Ok(())
    }

    fn request_answer(
        &mut self,
        id: RequestId,
        stream: StreamId,
        status: Status,
        body: Bytes,
    ) -> Result<(), ProtocolError> {
        match status {
            Status::OkSoFar => {
                self.streams.gather(stream, &body);
                Ok(())
            }
            Status::WaitResponse => self.put_off(id, stream, &body),
            Status::Ok => {
                let mut gathered = self.finished(id, stream);
                if gathered.is_empty() {
                    return self.answered(id, &body);
                }
                gathered.extend_from_slice(&body);
                self.answered(id, &Bytes::from(gathered))
            }
            Status::Error => {
                self.finished(id, stream);
                self.refused(id, ServerError::decode(&body)?);
                Ok(())
            }
            Status::Redirect => {
                self.finished(id, stream);
                match Redirect::decode(&body) {
                    Ok(target) => self.moved(id, target),
                    Err(error) => self.fail(id, RequestError::StrangeRedirect(error)),
                }
                Ok(())
            }
            Status::Wait => {
                self.finished(id, stream);
                self.wait(id, &body)
            }
            Status::Attention | Status::AuthMore | Status::Status => {
                let request = self.tasks.get(&id).map_or("nothing", |task| task.kind.name());
                Err(ProtocolError::UnexpectedStatus { status: status.name(), request })
            }
        }
    }

    /// The last answer under a stream id has come.
    fn finished(&mut self, id: RequestId, stream: StreamId) -> Vec<u8> {
        if let Some(task) = self.tasks.get_mut(&id) {
            task.stream = None;
        }
        self.streams.release(stream)
    }

    /// kXR_waitresp: the answer will come when it comes.
    fn put_off(
        &mut self,
        request: RequestId,
        stream: StreamId,
        body: &Bytes,
    ) -> Result<(), ProtocolError> {
        let (time, why) = decode_wait(body)?;
        let Some(task) = self.tasks.get_mut(&request) else { return Ok(()) };
        // As with kXR_wait: said again and again, it would never end.
        task.waited = task.waited.saturating_add(time.max(std::time::Duration::from_secs(1)));
        let over = task.waited.saturating_sub(self.config.wait_max);
        let until = self.now.saturating_add(time.saturating_sub(over));
        self.streams.defer(stream, until);
        self.events.push_back(Event::Wait { request, time, why });
        if let Some(TaskKind::Open { file, .. }) = self.tasks.get(&request).map(|task| &task.kind) {
            self.open_put_off(*file);
        }
        Ok(())
    }

    /// kXR_wait: to be asked again.
    fn wait(&mut self, request: RequestId, body: &Bytes) -> Result<(), ProtocolError> {
        let (time, why) = decode_wait(body)?;
        let Some(task) = self.tasks.get_mut(&request) else { return Ok(()) };
        if task.receiving.take().is_some_and(|receiving| receiving.delivered) {
            // Asked again, the bytes passed on already would come twice.
            let status = Status::Wait.name();
            return Err(ProtocolError::UnexpectedStatus { status, request: task.kind.name() });
        }
        task.careful = true;
        // A wait of no time counts, too, or a server could make a request go round for ever.
        task.waited = task.waited.saturating_add(time.max(std::time::Duration::from_secs(1)));
        let open = match &task.kind {
            TaskKind::Open { file, .. } => Some(*file),
            _ => None,
        };
        if task.waited > self.config.wait_max {
            self.fail(request, RequestError::WaitedTooLong(self.config.wait_max));
            return Ok(());
        }
        self.events.push_back(Event::Wait { request, time, why });
        self.delayed.insert((self.now.saturating_add(time), request));
        if let Some(file) = open {
            self.open_put_off(file);
        }
        Ok(())
    }

    fn refused(&mut self, id: RequestId, error: ServerError) {
        if error.code == ErrorCode::TLS_REQUIRED && !self.is_encrypted() {
            return self.tls_required();
        }
        match self.tasks.get(&id).map(|task| &task.kind) {
            Some(TaskKind::Fetch { .. }) => self.fetch_refused(id, error),
            Some(TaskKind::Change { .. }) => self.change_refused(id, error),
            Some(&TaskKind::Close { file }) if self.files.writes(file) => {
                self.files.remove(file);
                self.fail(id, error.into());
            }
            // The server does not have the file open, or does not know the session: this is the
            // wanted state.
            Some(&TaskKind::Close { file }) => {
                self.tasks.remove(&id);
                self.files.remove(file);
                self.answer(id, Answer::Closed);
            }
            Some(TaskKind::Plain(Request::Endsess(_))) if error.code == ErrorCode::NOT_FOUND => {
                self.tasks.remove(&id);
                self.answer(id, Answer::SessionEnded);
            }
            _ => self.fail(id, error.into()),
        }
    }

    /// A complete answer. One that cannot be read leaves the request to fail with its session.
    fn answered(&mut self, id: RequestId, body: &Bytes) -> Result<(), ProtocolError> {
        let Some(task) = self.tasks.get(&id) else { return Ok(()) };
        match &task.kind {
            &TaskKind::Open { file, .. } => {
                let answer = Open::decode_answer(body)?;
                self.tasks.remove(&id);
                self.opened(id, file, answer);
            }
            &TaskKind::Close { file } => {
                Close::decode_answer(body)?;
                self.tasks.remove(&id);
                self.files.closed(file);
                self.answer(id, Answer::Closed);
            }
            TaskKind::Plain(request) => {
                let answer = plain_answer(request, body)?;
                self.tasks.remove(&id);
                self.learn(&answer);
                self.answer(id, answer);
            }
            TaskKind::Change { .. } => self.changed(id, None)?,
            // The answers to reads are data and never kept whole.
            TaskKind::Fetch { .. } => {}
        }
        Ok(())
    }

    fn learn(&mut self, answer: &Answer) {
        if let Answer::Config(values) = answer {
            for (key, value) in values {
                self.profile.readv.learn(key, value.as_deref());
            }
        }
    }
}

/// The decoded answer to a request that reads no file.
fn plain_answer(request: &Request, body: &Bytes) -> Result<Answer, ProtocolError> {
    Ok(match request {
        Request::Stat(_) => Answer::Stat(Stat::decode_answer(body)?.0),
        Request::Query(query) => {
            let text = Query::decode_answer(body)?.text();
            if query.kind == QueryKind::CONFIG {
                Answer::Config(config_values(&query.argument, &text))
            } else {
                Answer::Text(text)
            }
        }
        Request::Dirlist(_) => Answer::Entries(Dirlist::decode_answer(body)?),
        Request::Locate(_) => Answer::Locations(Locate::decode_answer(body)?),
        Request::Endsess(_) => {
            Endsess::decode_answer(body)?;
            Answer::SessionEnded
        }
        Request::Mv(_) | Request::Rm(_) | Request::Rmdir(_) | Request::Mkdir(_) => Answer::Changed,
        _ => {
            Ping::decode_answer(body)?;
            Answer::Pong
        }
    })
}

impl TaskKind {
    fn name(&self) -> &'static str {
        match self {
            TaskKind::Open { .. } => Open::NAME,
            TaskKind::Fetch { how: ReadKind::Plain, .. } => crate::message::Read::NAME,
            TaskKind::Fetch { how: ReadKind::Vector, .. } => crate::message::Readv::NAME,
            TaskKind::Fetch { how: ReadKind::Checked { .. }, .. } => crate::message::Pgread::NAME,
            TaskKind::Change { change, .. } => change.name(),
            TaskKind::Close { .. } => Close::NAME,
            TaskKind::Plain(request) => request.name(),
        }
    }
}
