//! Consequences of the answer to an open: guesses come true or not, and reads go on, start again,
//! or fail with their file.

use super::event::{Event, FileId, RequestId};
use super::fetch::{Outcome, ReadKind};
use super::files::{HandleGuess, State};
use super::streams::{BodyKind, Owner};
use super::{Client, TaskKind};
use crate::error::{ErrorCode, ServerError};
use crate::header::Handle;
use crate::message::open::OpenAnswer;
use crate::message::{Close, Message};
use crate::profile::HandleOrder;
use crate::response::Redirect;

impl Client {
    /// The open has succeeded.
    pub(super) fn opened(&mut self, request: RequestId, file: FileId, answer: OpenAnswer) {
        let OpenAnswer { handle, stat, .. } = answer;
        let size = stat.as_ref().map(|stat| stat.size);
        let verdict = self.files.opened(file, handle, size, &mut self.profile.handles);
        self.events.push_back(Event::Opened { request, file, stat });
        let Some(known) = self.files.get_mut(file) else { return };
        let speculative = std::mem::take(&mut known.speculative);
        let waiting = std::mem::take(&mut known.waiting);
        let close = known.close;
        for id in speculative {
            match verdict {
                HandleGuess::Right => {
                    self.confirm(id, file);
                    self.confirm_change(id);
                }
                HandleGuess::Wrong | HandleGuess::NoGuess => self.start_again(id),
            }
        }
        self.ready.extend(waiting);
        self.ready.extend(close);
    }

    /// One of the guesses that a read relies on has come true.
    fn confirm(&mut self, id: RequestId, file: FileId) {
        let Some(task) = self.tasks.get_mut(&id) else { return };
        let Some(receiving) = &mut task.receiving else { return };
        receiving.unconfirmed.remove(&file);
        if !receiving.unconfirmed.is_empty() {
            return;
        }
        receiving.delivered |= !receiving.held.is_empty();
        for arrived in std::mem::take(&mut receiving.held) {
            self.events.push_back(arrived.into_event(id));
        }
        match receiving.outcome {
            None => {}
            Some(Outcome::Done) => {
                self.tasks.remove(&id);
                self.events.push_back(Event::Done { request: id });
            }
            Some(Outcome::Again) => self.start_again(id),
        }
    }

    /// A read whose guess was wrong, or was not understood, starts again with real handles.
    pub(super) fn start_again(&mut self, id: RequestId) {
        let Some(task) = self.tasks.get_mut(&id) else { return };
        task.careful = true;
        task.receiving = None;
        if let Some(stream) = task.stream.take() {
            self.streams.abandon(stream, Owner::None);
        }
        self.ready.push_back(id);
    }

    /// The server puts the open off: reads that relied on its handle wait with it.
    pub(super) fn open_put_off(&mut self, file: FileId) {
        self.files.unguess(file);
        let Some(known) = self.files.get_mut(file) else { return };
        for id in std::mem::take(&mut known.speculative) {
            self.start_again(id);
        }
    }

    /// The file will not be open on this session: its waiting reads end.
    pub(super) fn give_up(&mut self, file: FileId, why: State) {
        self.files.unguess(file);
        let Some(known) = self.files.get_mut(file) else { return };
        let mut readers = std::mem::take(&mut known.speculative);
        readers.append(&mut known.waiting);
        let close = known.close;
        known.state = why;
        for id in readers {
            // Sends nothing: it meets the file's state and ends there.
            self.start_again(id);
        }
        self.ready.extend(close);
    }

    /// The server has redirected the open, and with it the waiting reads of the file.
    pub(super) fn moved(&mut self, request: RequestId, target: Redirect) {
        let Some(task) = self.tasks.remove(&request) else { return };
        self.events.push_back(Event::Redirected { request, target: target.clone() });
        if let TaskKind::Open { file, .. } = task.kind {
            self.give_up(file, State::Moved(target));
        }
    }

    /// A read that the server refused. If its handle was a guess, it is asked once more.
    pub(super) fn fetch_refused(&mut self, id: RequestId, error: ServerError) {
        let Some(task) = self.tasks.get_mut(&id) else { return };
        let checked = matches!(task.kind, TaskKind::Fetch { how: ReadKind::Checked { .. }, .. });
        let unknown = matches!(error.code, ErrorCode::UNSUPPORTED | ErrorCode::INVALID_REQUEST);
        if checked && unknown {
            // It would be no other with the real handle.
            return self.fail(id, error.into());
        }
        match &mut task.receiving {
            Some(receiving) if receiving.speculative && !receiving.delivered => {
                if !receiving.unconfirmed.is_empty() {
                    receiving.outcome = Some(Outcome::Again);
                    return;
                }
                if error.code == ErrorCode::FILE_NOT_OPEN {
                    // The guess was right, but the server did not know the handle so early.
                    self.profile.handles = HandleOrder::Unpredictable;
                }
                self.start_again(id);
            }
            _ => self.fail(id, error.into()),
        }
    }

    /// An open that was given up has succeeded: the file is closed at once.
    pub(super) fn close_abandoned(&mut self, handle: Handle, slot: Option<u32>) {
        // Without a free stream id the handle is kept until the session ends.
        self.put(Owner::None, BodyKind::Control, |stream| Close { handle }.frame(stream));
        self.files.note_handle(handle);
        self.files.free_slot(slot);
    }
}
