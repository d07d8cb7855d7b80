//! The files of a session: their handles, known or guessed, and who waits for them.
//!
//! A server gives the lowest free slot of its table as handle. The handle of a file that is being
//! opened can therefore be guessed, and reads of it can leave with the open. The guess is verified
//! against the open's answer before any byte of such a read is passed on.
//!
//! A handle that a file has had is not guessed again until the close of that file has been
//! answered: a server that serves requests side by side could still take it for the old file, and
//! the open's answer would not show it.

use std::collections::{BTreeMap, BTreeSet};

use super::event::{FileId, RequestId};
use crate::error::RequestError;
use crate::header::Handle;
use crate::profile::HandleOrder;
use crate::response::Redirect;

/// How far a file is.
#[derive(Debug)]
pub enum State {
    /// The open has no answer yet. `guess` stands while the open is under way and can be guessed.
    Opening { guess: Option<Handle> },
    /// Open; the size in bytes as the answer to the open gave it.
    Open { handle: Handle, size: Option<u64> },
    /// The open has failed.
    Failed(RequestError),
    /// The open was sent elsewhere.
    Moved(Redirect),
    /// Closed by the caller; the handle that the file had.
    Closed { handle: Option<Handle> },
}

#[derive(Debug)]
pub struct File {
    pub state: State,
    /// The slot the file has, or is thought to get.
    slot: Option<u32>,
    /// Reads that wait for the open.
    pub waiting: Vec<RequestId>,
    /// Reads that left with a guessed handle.
    pub speculative: Vec<RequestId>,
    /// A close that waits for the open.
    pub close: Option<RequestId>,
    /// It was opened for writing.
    pub writes: bool,
}

/// Whether a guess came true.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HandleGuess {
    /// Nothing had been guessed.
    NoGuess,
    Right,
    Wrong,
}

#[derive(Debug)]
pub struct Files {
    table: BTreeMap<FileId, File>,
    taken: BTreeSet<u32>,
    /// Handles that stand or have stood for a file.
    used: BTreeSet<Handle>,
    /// Those of `used` whose close the server has answered.
    freed: BTreeSet<Handle>,
    next: u32,
    /// Whether every open so far went as foreseen; a mismatch after one that did not says
    /// nothing about the server.
    clean: bool,
}

impl Files {
    pub fn new() -> Self {
        Files {
            table: BTreeMap::new(),
            taken: BTreeSet::new(),
            used: BTreeSet::new(),
            freed: BTreeSet::new(),
            next: 0,
            clean: true,
        }
    }

    /// A new file, not yet asked for.
    pub fn add(&mut self, writes: bool) -> FileId {
        let id = FileId(self.next);
        self.next = self.next.wrapping_add(1);
        let file = File {
            state: State::Opening { guess: None },
            slot: None,
            waiting: Vec::new(),
            speculative: Vec::new(),
            close: None,
            writes,
        };
        self.table.insert(id, file);
        id
    }

    pub fn get(&self, id: FileId) -> Option<&File> {
        self.table.get(&id)
    }

    pub fn get_mut(&mut self, id: FileId) -> Option<&mut File> {
        self.table.get_mut(&id)
    }

    /// Whether a guessed handle of this file can name no other: it is the only one that the
    /// session has had.
    pub fn is_alone(&self, id: FileId) -> bool {
        self.used.is_empty() && self.table.len() == 1 && self.table.contains_key(&id)
    }

    /// Whether a file was opened for writing.
    pub fn writes(&self, id: FileId) -> bool {
        self.table.get(&id).is_some_and(|file| file.writes)
    }

    /// The open leaves: the file is thought to get the lowest free slot. The handle is guessed
    /// unless `again` (the open was put off once), the server is known to be unpredictable, or
    /// the handle may still be another file's.
    pub fn opening(&mut self, id: FileId, order: HandleOrder, again: bool) {
        let slot = (0..).find(|slot| !self.taken.contains(slot));
        if let (Some(file), Some(slot)) = (self.table.get_mut(&id), slot) {
            self.taken.insert(slot);
            file.slot = Some(slot);
            self.clean &= !again;
            let is_free = |at: &Handle| !self.used.contains(at) || self.freed.contains(at);
            let guess = order.guess(slot).filter(|handle| !again && is_free(handle));
            file.state = State::Opening { guess };
        }
    }

    /// The open has not been answered as foreseen: its slot is free, its guess void.
    pub fn unguess(&mut self, id: FileId) {
        self.clean = false;
        if let Some(file) = self.table.get_mut(&id) {
            if let Some(slot) = file.slot.take() {
                self.taken.remove(&slot);
            }
            if let State::Opening { guess } = &mut file.state {
                *guess = None;
            }
        }
    }

    /// The open has been answered. Says whether the guess was right, and learns the order.
    pub fn opened(
        &mut self,
        id: FileId,
        handle: Handle,
        size: Option<u64>,
        order: &mut HandleOrder,
    ) -> HandleGuess {
        self.note_handle(handle);
        let Some(file) = self.table.get_mut(&id) else { return HandleGuess::NoGuess };
        let guess = match file.state {
            State::Opening { guess } => guess,
            _ => None,
        };
        file.state = State::Open { handle, size };
        if let Some(slot) = file.slot {
            let seen = HandleOrder::of(slot, handle);
            if seen != HandleOrder::Unpredictable {
                // Slot 0 looks the same in both orders: it says nothing new.
                if slot != 0 || *order == HandleOrder::Unknown {
                    *order = seen;
                }
            } else {
                if self.clean {
                    *order = HandleOrder::Unpredictable;
                }
                self.taken.remove(&slot);
                file.slot = order.slot_of(handle);
                self.taken.extend(file.slot);
            }
        }
        match guess {
            None => HandleGuess::NoGuess,
            Some(guess) if guess == handle => HandleGuess::Right,
            Some(_) => HandleGuess::Wrong,
        }
    }

    /// The file's slot will be free once the requests that were sent are done.
    pub fn closing(&mut self, id: FileId) {
        if let Some(file) = self.table.get_mut(&id) {
            let handle = match file.state {
                State::Open { handle, .. } => Some(handle),
                _ => None,
            };
            file.state = State::Closed { handle };
            if let Some(slot) = file.slot.take() {
                self.taken.remove(&slot);
            }
        }
    }

    /// Takes the slot of a file whose open was given up, so that it can be freed later.
    pub fn take_slot(&mut self, id: FileId) -> Option<u32> {
        self.table.get_mut(&id).and_then(|file| file.slot.take())
    }

    /// A file whose open was given up has this handle.
    pub fn note_handle(&mut self, handle: Handle) {
        self.used.insert(handle);
        self.freed.remove(&handle);
    }

    /// The server has answered a close: the handle is free, unless another file has had it since.
    pub fn closed(&mut self, id: FileId) {
        let Some(State::Closed { handle: Some(handle) }) = self.table.remove(&id).map(|f| f.state)
        else {
            return;
        };
        let has_it = |file: &File| match file.state {
            State::Open { handle: own, .. } => own == handle,
            State::Closed { handle: own } => own == Some(handle),
            _ => false,
        };
        if !self.table.values().any(has_it) {
            self.freed.insert(handle);
        }
    }

    /// A slot taken by [`Files::take_slot`] is free.
    pub fn free_slot(&mut self, slot: Option<u32>) {
        if let Some(slot) = slot {
            self.taken.remove(&slot);
        }
    }

    pub fn remove(&mut self, id: FileId) {
        self.table.remove(&id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guess(files: &Files, id: FileId) -> Option<Handle> {
        match files.get(id).unwrap().state {
            State::Opening { guess } => guess,
            _ => None,
        }
    }

    #[test]
    fn files_opened_together_are_guessed_one_slot_after_the_other() {
        let mut files = Files::new();
        let mut order = HandleOrder::Unknown;
        let ids = [files.add(false), files.add(false), files.add(false)];
        for id in ids {
            files.opening(id, order, false);
        }
        for (slot, id) in ids.into_iter().enumerate() {
            assert_eq!(guess(&files, id), Some(Handle::from_slot(slot as u32)));
            let handle = Handle::from_slot(slot as u32);
            assert_eq!(files.opened(id, handle, None, &mut order), HandleGuess::Right);
        }
        assert_eq!(order, HandleOrder::LittleEndian);
        let next = files.add(false);
        files.opening(next, order, false);
        assert_eq!(guess(&files, next), Some(Handle::from_slot(3)));
        files.closing(ids[1]);
        let again = files.add(false);
        files.opening(again, order, false);
        assert_eq!(guess(&files, again), None, "its handle will have stood for another file");
        let verdict = files.opened(again, Handle::from_slot(1), None, &mut order);
        assert_eq!(verdict, HandleGuess::NoGuess);
    }

    #[test]
    fn a_handle_is_guessed_again_when_its_close_has_been_answered() {
        let mut files = Files::new();
        let mut order = HandleOrder::Unknown;
        let first = Handle::from_slot(0);
        let mut open = |files: &mut Files| {
            let id = files.add(false);
            files.opening(id, order, false);
            let guessed = guess(files, id);
            files.opened(id, first, None, &mut order);
            (id, guessed)
        };
        let (one, guessed) = open(&mut files);
        assert_eq!(guessed, Some(first));
        files.closing(one);
        files.closed(one);
        let (other, guessed) = open(&mut files);
        assert_eq!(guessed, Some(first));
        files.closing(other);
        // Given to a third file before the answer, which does not free that file's handle.
        let (third, guessed) = open(&mut files);
        assert_eq!(guessed, None);
        files.closed(other);
        files.closing(third);
        assert_eq!(open(&mut files).1, None);
    }

    #[test]
    fn a_strange_handle_is_learnt_from_only_if_all_went_as_foreseen() {
        let mut files = Files::new();
        let mut order = HandleOrder::Unknown;
        let lost = files.add(false);
        let found = files.add(false);
        files.opening(lost, order, false);
        files.opening(found, order, false);
        files.unguess(lost);
        let verdict = files.opened(found, Handle::from_slot(0), None, &mut order);
        assert_eq!((verdict, order), (HandleGuess::Wrong, HandleOrder::Unknown));
        let next = files.add(false);
        files.opening(next, order, false);
        assert_eq!(guess(&files, next), Some(Handle::from_slot(1)));

        let mut files = Files::new();
        let mut order = HandleOrder::Unknown;
        let file = files.add(false);
        files.opening(file, order, false);
        let verdict = files.opened(file, Handle([9, 8, 7, 6]), None, &mut order);
        assert_eq!((verdict, order), (HandleGuess::Wrong, HandleOrder::Unpredictable));
    }

    #[test]
    fn a_server_in_network_order_is_recognised() {
        let mut files = Files::new();
        let mut order = HandleOrder::Unknown;
        for (slot, verdict) in
            [(0, HandleGuess::Right), (1, HandleGuess::Wrong), (2, HandleGuess::Right)]
        {
            let file = files.add(false);
            files.opening(file, order, false);
            let handle = Handle(u32::to_be_bytes(slot));
            assert_eq!(files.opened(file, handle, None, &mut order), verdict, "slot {slot}");
        }
        assert_eq!(order, HandleOrder::BigEndian);
    }
}
