//! Changes of open files: writes, with checksums or without, and the steps that make them safe.
//!
//! A write may leave with a guessed handle, but only behind the first open of a session: a guess
//! that is wrong can then name no other file, and the server refuses it. So may the close of a
//! file that is written.

use std::collections::VecDeque;
use std::ops::Range;

use bytes::Bytes;

use super::event::{Answer, FileId, RequestId};
use super::streams::Owner;
use super::{Client, TaskKind};
use crate::Time;
use crate::error::{ErrorCode, Misuse, ProtocolError, RequestError, ServerError};
use crate::header::{Handle, RequestHeader, StreamId};
use crate::message::bind::PathId;
use crate::message::pgwrite::BadPages;
use crate::message::{Close, Message, Pgwrite, Sync, Truncate, Write};
use crate::pages::{self, PAGE_BYTES};
use crate::profile::HandleOrder;

/// The most that one write brings, bytes: with the checksums its length is a signed 32-bit field.
pub const WRITE_BYTES_MAX: usize = 1 << 30;
/// How often pages of one write may come damaged before that is no accident.
const RETRIES_MAX: u32 = 16;
/// Bytes that name one bad page, and those before the list.
const BAD_PAGE_BYTES: usize = 8;

/// Changes to an open file.
#[derive(Debug, Clone)]
pub(super) enum Change {
    Write(WritePart),
    Sync,
    /// To this size, bytes.
    Truncate(u64),
    /// Before the open has been answered; [`What::Close`] otherwise.
    Close,
}

/// Bytes on their way to a file.
#[derive(Debug, Clone)]
pub(super) struct WritePart {
    pub offset: u64,
    pub bytes: Bytes,
    /// With a checksum of every page.
    pub checked: bool,
    /// The path on which the bytes have left.
    pub path: PathId,
    /// Pages that came damaged and are sent again one after the other.
    bad: VecDeque<Range<u64>>,
    retries: u32,
    /// Received bytes of the list of bad pages.
    said: Vec<u8>,
}

/// Whether a change relies on a guessed handle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Guess {
    None,
    /// Not confirmed yet, with the outcome that has arrived meanwhile.
    Open(Option<ChangeOutcome>),
    Confirmed,
}

/// How a change ended whose handle is still a guess.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChangeOutcome {
    Done,
    /// To be asked again, with the handle that turns out to be right.
    Again,
}

impl WritePart {
    /// Whether both write some of the same bytes.
    pub fn overlaps(&self, other: &WritePart) -> bool {
        let end = |part: &WritePart| part.offset.saturating_add(part.bytes.len() as u64);
        self.offset < end(other) && other.offset < end(self)
    }

    /// Whether only damaged pages of it are to be sent.
    pub fn repairs(&self) -> bool {
        !self.bad.is_empty()
    }

    /// How long the list of bad pages can be, bytes.
    fn said_max(&self) -> usize {
        BAD_PAGE_BYTES + (self.bytes.len() / PAGE_BYTES as usize + 2) * BAD_PAGE_BYTES
    }

    /// The pages of this write that a list names.
    fn pages_of(&self, bad: &BadPages) -> Result<Vec<Range<u64>>, ProtocolError> {
        let range = self.offset..self.offset + self.bytes.len() as u64;
        let page = |&start: &u64| {
            let begins = start == range.start || start % PAGE_BYTES == 0;
            let end = (start - start % PAGE_BYTES).saturating_add(PAGE_BYTES).min(range.end);
            match begins && range.contains(&start) {
                true => Ok(start..end),
                false => Err(ProtocolError::StrangePart { offset: start }),
            }
        };
        bad.offsets.iter().map(page).collect()
    }

    /// The bytes of a range that lies within.
    fn part(&self, range: &Range<u64>) -> Bytes {
        let at = |offset: u64| (offset - self.offset) as usize;
        self.bytes.slice(at(range.start)..at(range.end))
    }
}

impl Client {
    /// Writes bytes into a file that was opened for it, also behind its end. Answered by
    /// [`Answer::Changed`].
    pub fn write(&mut self, now: Time, file: FileId, offset: u64, bytes: Bytes) -> RequestId {
        self.put_piece(now, file, offset, bytes, false)
    }

    /// Writes as [`Client::write`] does, with a checksum of every page
    /// ([`ServerFlags::CHECKSUMMED_PAGES`](crate::message::protocol::ServerFlags)): pages that
    /// arrive otherwise than sent are sent again. Answered by [`Answer::Changed`] when all are
    /// right.
    pub fn pgwrite(&mut self, now: Time, file: FileId, offset: u64, bytes: Bytes) -> RequestId {
        self.put_piece(now, file, offset, bytes, true)
    }

    /// Has the server commit written data to its storage. Answered by [`Answer::Changed`].
    pub fn sync(&mut self, now: Time, file: FileId) -> RequestId {
        self.change(now, file, Change::Sync)
    }

    /// Gives an open file another size in bytes. Answered by [`Answer::Changed`].
    pub fn truncate(&mut self, now: Time, file: FileId, size: u64) -> RequestId {
        self.change(now, file, Change::Truncate(size))
    }

    fn put_piece(
        &mut self,
        now: Time,
        file: FileId,
        offset: u64,
        bytes: Bytes,
        checked: bool,
    ) -> RequestId {
        let bad = VecDeque::new();
        let said = Vec::new();
        let path = PathId::OWN;
        let piece = WritePart { offset, bytes, checked, path, bad, retries: 0, said };
        self.change(now, file, Change::Write(piece))
    }

    /// Closes a file whose open has no answer yet; the caller has noted the close.
    pub(super) fn close_early(&mut self, id: RequestId, file: FileId) {
        self.add_task(id, TaskKind::Change { file, change: Change::Close, guess: Guess::None });
    }

    fn change(&mut self, now: Time, file: FileId, change: Change) -> RequestId {
        let checked = match self.files.get(file) {
            None => Err(Misuse::UnknownFile),
            Some(known) if known.close.is_some() => Err(Misuse::ClosedFile),
            Some(_) => change.check(),
        };
        let id = self.name_request();
        self.touch(now);
        self.add_task(id, TaskKind::Change { file, change, guess: Guess::None });
        match checked {
            Ok(()) => self.pump(),
            Err(misuse) => self.fail(id, misuse.into()),
        }
        id
    }

    /// Puts a change on the wire under a handle, its bytes on a path.
    pub(super) fn put_change(
        &mut self,
        id: RequestId,
        change: &Change,
        handle: Handle,
        path: PathId,
    ) -> Option<StreamId> {
        let mut parameters = [0; 16];
        let mut none = Vec::new();
        let (code, body) = match change {
            Change::Sync => {
                Sync { handle }.encode(&mut parameters, &mut none);
                (Sync::CODE, Bytes::new())
            }
            Change::Close => {
                Close { handle }.encode(&mut parameters, &mut none);
                (Close::CODE, Bytes::new())
            }
            Change::Truncate(size) => {
                let truncate = Truncate { handle, size: *size, path: String::new() };
                truncate.encode(&mut parameters, &mut none);
                (Truncate::CODE, Bytes::new())
            }
            Change::Write(piece) if piece.checked => {
                let (offset, bytes, flags) = match piece.bad.front() {
                    Some(page) => (page.start, piece.part(page), Pgwrite::RETRY),
                    None => (piece.offset, piece.bytes.clone(), 0),
                };
                let pages = Bytes::new();
                let request = Pgwrite { handle, offset, path: path.0, flags, pages };
                request.encode(&mut parameters, &mut none);
                (Pgwrite::CODE, pages::encode(offset, &bytes).into())
            }
            Change::Write(piece) => {
                let offset = piece.offset;
                let bytes = Bytes::new();
                Write { handle, offset, path: path.0, bytes }.encode(&mut parameters, &mut none);
                (Write::CODE, piece.bytes.clone())
            }
        };
        self.put_with_body(Owner::Request(id), path, |stream| {
            let length = body.len() as u32;
            (RequestHeader { stream, code, parameters, length }, body)
        })
    }

    /// The server has done it; of pages with checksums, `bad` ones came damaged.
    pub(super) fn changed(
        &mut self,
        id: RequestId,
        bad: Option<&BadPages>,
    ) -> Result<(), ProtocolError> {
        let Some(TaskKind::Change { change, guess, .. }) =
            self.tasks.get_mut(&id).map(|t| &mut t.kind)
        else {
            return Ok(());
        };
        if let Change::Write(piece) = change
            && piece.checked
        {
            let bad = bad.ok_or(ProtocolError::Unchecked)?;
            piece.bad.pop_front();
            let pages = piece.pages_of(bad)?;
            piece.retries += u32::from(!pages.is_empty());
            piece.bad.extend(pages);
            if piece.retries > RETRIES_MAX {
                self.fail(id, RequestError::AlwaysDamaged);
                return Ok(());
            }
            if !piece.bad.is_empty() {
                if let Guess::Open(outcome) = guess {
                    *outcome = Some(ChangeOutcome::Again);
                } else {
                    self.start_again(id);
                }
                return Ok(());
            }
        }
        match guess {
            Guess::Open(outcome) => *outcome = Some(ChangeOutcome::Done),
            Guess::None | Guess::Confirmed => self.change_done(id),
        }
        Ok(())
    }

    fn change_done(&mut self, id: RequestId) {
        let Some(TaskKind::Change { file, change, .. }) =
            self.tasks.remove(&id).map(|task| task.kind)
        else {
            return;
        };
        let Change::Close = change else { return self.answer(id, Answer::Changed) };
        self.files.closing(file);
        self.files.closed(file);
        self.answer(id, Answer::Closed);
    }

    /// The guess that a change relies on has come true.
    pub(super) fn confirm_change(&mut self, id: RequestId) {
        let Some(TaskKind::Change { guess, .. }) = self.tasks.get_mut(&id).map(|t| &mut t.kind)
        else {
            return;
        };
        match std::mem::replace(guess, Guess::Confirmed) {
            Guess::Open(Some(ChangeOutcome::Done)) => self.change_done(id),
            Guess::Open(Some(ChangeOutcome::Again)) => self.start_again(id),
            _ => {}
        }
    }

    /// A change that the server refused. If its handle was a guess, it is asked once more.
    pub(super) fn change_refused(&mut self, id: RequestId, error: ServerError) {
        let Some(TaskKind::Change { file, change, guess }) =
            self.tasks.get_mut(&id).map(|t| &mut t.kind)
        else {
            return;
        };
        let closes = matches!(change, Change::Close).then_some(*file);
        match guess {
            Guess::Open(outcome) => *outcome = Some(ChangeOutcome::Again),
            Guess::Confirmed if error.code == ErrorCode::FILE_NOT_OPEN => {
                // The guess was right, but the server did not know the handle so early.
                self.profile.handles = HandleOrder::Unpredictable;
                self.start_again(id);
            }
            _ => {
                closes.into_iter().for_each(|file| self.files.remove(file));
                self.fail(id, error.into());
            }
        }
    }

    /// Bytes of a list of bad pages.
    pub(super) fn take_bad_pages(
        &mut self,
        id: RequestId,
        bytes: &[u8],
        complete: bool,
    ) -> Result<(), ProtocolError> {
        let Some(task) = self.tasks.get_mut(&id) else { return Ok(()) };
        let TaskKind::Change { change: Change::Write(piece), .. } = &mut task.kind else {
            return Ok(());
        };
        let limit = piece.said_max();
        if piece.said.len() + bytes.len() > limit {
            let bytes = (piece.said.len() + bytes.len()) as u64;
            return Err(ProtocolError::TooLarge {
                subject: "a list of bad pages",
                bytes,
                limit: limit as u64,
            });
        }
        piece.said.extend_from_slice(bytes);
        if complete {
            let said = std::mem::take(&mut piece.said);
            task.stream = None;
            self.changed(id, Some(&BadPages::decode(&said)?))?;
        }
        Ok(())
    }
}

impl Change {
    fn check(&self) -> Result<(), Misuse> {
        match self {
            Change::Write(WritePart { offset, bytes, .. }) => {
                let end = offset.saturating_add(bytes.len() as u64);
                match bytes.len() > WRITE_BYTES_MAX || end > i64::MAX as u64 {
                    true => Err(Misuse::WriteTooLarge),
                    false if bytes.is_empty() => Err(Misuse::EmptyWrite),
                    false => Ok(()),
                }
            }
            Change::Truncate(size) if *size > i64::MAX as u64 => Err(Misuse::WriteTooLarge),
            Change::Truncate(_) | Change::Sync | Change::Close => Ok(()),
        }
    }

    pub(super) fn name(&self) -> &'static str {
        match self {
            Change::Write(piece) if piece.checked => Pgwrite::NAME,
            Change::Write(_) => Write::NAME,
            Change::Sync => Sync::NAME,
            Change::Close => Close::NAME,
            Change::Truncate(_) => Truncate::NAME,
        }
    }
}
