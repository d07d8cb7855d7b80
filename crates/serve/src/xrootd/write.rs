//! Changes: one at a time, in the order in which they come, and before the requests behind them.

use std::io;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::OwnedSemaphorePermit;
use xrootd::header::Handle;
use xrootd::message::mkdir::MkdirOptions;
use xrootd::message::open::OpenOptions;
use xrootd::message::{Open, Request};
use xrootd::server::Tag;

use super::Connection;
use super::answer::Outcome;
use crate::clients::Client;
use crate::files::{Opened, path_of};
use crate::folder::{Damaged, FolderFile, FolderFiles, WriteMode};

/// How often is looked whether a long write goes on, and how many bytes have to come meanwhile.
const LOOKED_AFTER: Duration = Duration::from_secs(1);
const LOOKED_AFTER_BYTES: usize = 256 << 10;

/// A change, with the open file that it is about.
#[derive(Debug)]
enum Change {
    Write { file: FolderFile, offset: u64, bytes: Bytes },
    Pages { file: FolderFile, offset: u64, pages: Bytes },
    Sync(FolderFile),
    Cut { file: FolderFile, size: u64 },
    CutPath { path: String, size: u64 },
    Finish(FolderFile),
    Move { from: String, to: String },
    Remove { path: String, own: Vec<FolderFile> },
    RemoveFolder { path: String },
    MakeFolder { path: String, with_path: bool },
}

/// The outcome of one.
#[derive(Debug)]
pub enum Changed {
    Done,
    Pages { offset: u64, damaged: Damaged },
}

/// Room in memory for a long write.
#[derive(Debug)]
pub enum WriteRoom {
    None,
    Asked,
    Held(OwnedSemaphorePermit),
    /// Has given up room for which others wait, since the write arrives slowly.
    Slow(OwnedSemaphorePermit),
}

impl WriteRoom {
    fn take(&mut self) -> Option<OwnedSemaphorePermit> {
        match std::mem::replace(self, WriteRoom::None) {
            WriteRoom::Held(permit) | WriteRoom::Slow(permit) => Some(permit),
            other => {
                *self = other;
                None
            }
        }
    }
}

impl Connection {
    /// Starts a change, behind which all other requests wait; `false` for requests that change
    /// nothing.
    pub(super) fn take_up_change(&mut self, tag: Tag, request: &Request) -> bool {
        if self.is_done_elsewhere(tag, request) {
            return true;
        }
        let change = match request {
            Request::Write(write) => self.open_file(write.handle).map(|file| {
                let bytes = write.bytes.clone();
                Change::Write { file, offset: write.offset, bytes }
            }),
            Request::Pgwrite(write) => self.open_file(write.handle).map(|file| {
                let pages = write.pages.clone();
                Change::Pages { file, offset: write.offset, pages }
            }),
            // Nothing of a file that is only read waits to be written.
            Request::Sync(sync) if self.is_only_read(sync.handle) => {
                self.server.answer_done(tag);
                return true;
            }
            Request::Sync(sync) => self.open_file(sync.handle).map(Change::Sync),
            Request::Truncate(cut) if cut.path.is_empty() => {
                self.open_file(cut.handle).map(|file| Change::Cut { file, size: cut.size })
            }
            Request::Truncate(cut) => {
                Some(Change::CutPath { path: path_of(&cut.path).to_owned(), size: cut.size })
            }
            Request::Close(close)
                if self.open_file(close.handle).is_some_and(|file| file.is_writable()) =>
            {
                let file = self.open_file(close.handle);
                drop(self.opened.take(close.handle));
                file.map(Change::Finish)
            }
            Request::Mv(names) => Some(Change::Move {
                from: path_of(&names.from).to_owned(),
                to: path_of(&names.to).to_owned(),
            }),
            Request::Rm(rm) => Some(Change::Remove {
                path: path_of(&rm.path).to_owned(),
                own: self.opened.iter().filter_map(Opened::of_folder).cloned().collect(),
            }),
            Request::Rmdir(rm) => Some(Change::RemoveFolder { path: path_of(&rm.path).to_owned() }),
            Request::Mkdir(make) => Some(Change::MakeFolder {
                path: path_of(&make.path).to_owned(),
                with_path: make.options.intersects(MkdirOptions::MAKE_PATH),
            }),
            _ => return false,
        };
        let room = self.write_room.take();
        let Some(change) = change else {
            self.not_open(tag);
            return true;
        };
        self.is_changing = true;
        let files = self.files.clone();
        let client = self.client.clone();
        self.work.spawn(async move {
            let found = match files.folder() {
                Ok(folder) => change.make(folder, &client).await,
                Err(error) => Err(error),
            };
            drop(room);
            Outcome::Changed { tag, found }
        });
        true
    }

    fn open_file(&self, handle: Handle) -> Option<FolderFile> {
        self.file(handle).and_then(Opened::of_folder).cloned()
    }

    fn is_only_read(&self, handle: Handle) -> bool {
        let is_written = |file: &Opened| file.of_folder().is_some_and(FolderFile::is_writable);
        self.file(handle).is_some_and(|file| !is_written(file))
    }

    pub(super) fn finish_change(&mut self, tag: Tag, found: io::Result<Changed>) {
        self.is_changing = false;
        match found {
            Ok(Changed::Done) => self.server.answer_done(tag),
            Ok(Changed::Pages { offset, damaged }) => {
                self.server.answer_pgwrite(tag, offset, &damaged);
            }
            Err(error) => self.refuse(tag, &error),
        }
    }

    /// Requests room in memory for a write that arrives, if it is a long one. Until there is some
    /// the rest of it stays in the socket; whether that is so.
    pub(super) fn waits_for_room(&mut self) -> bool {
        let arriving = self.server.arriving_bytes() as usize;
        let is_long = arriving > self.client.limits().answer_bytes;
        match self.write_room {
            WriteRoom::None if is_long => {
                self.write_room = WriteRoom::Asked;
                let client = self.client.clone();
                self.work.spawn(async move { Outcome::Room(client.write_room().await) });
                true
            }
            WriteRoom::Asked => is_long,
            // The write has been refused.
            WriteRoom::Held(_) | WriteRoom::Slow(_) if arriving == 0 && self.queue.is_empty() => {
                self.write_room = WriteRoom::None;
                false
            }
            _ => false,
        }
    }

    /// How long the client may take for the next of a write that has room, and for how many bytes
    /// of it; `None` where it has none.
    pub(super) fn pace(&self) -> Option<(Duration, usize)> {
        match self.write_room {
            WriteRoom::Held(_) => Some((LOOKED_AFTER, LOOKED_AFTER_BYTES)),
            WriteRoom::Slow(_) => Some((self.client.limits().stalled_when_full, 1)),
            _ => None,
        }
    }

    /// The write does not keep pace, and others wait for its room; whether the connection has to
    /// end.
    pub(super) fn falls_behind(&mut self) -> bool {
        match (&self.write_room, self.client.slow_write_room()) {
            (WriteRoom::Held(_), Some(room)) => {
                self.write_room = WriteRoom::Slow(room);
                false
            }
            _ => true,
        }
    }
}

impl Change {
    async fn make(self, files: &FolderFiles, client: &Client) -> io::Result<Changed> {
        match self {
            Change::Write { file, offset, bytes } => {
                files.write(client, &file, offset, bytes).await?;
            }
            Change::Pages { file, offset, pages } => {
                let damaged = files.write_pages(client, &file, offset, pages).await?;
                return Ok(Changed::Pages { offset, damaged });
            }
            Change::Sync(file) => files.sync(client, &file).await?,
            Change::Cut { file, size } => files.truncate(client, &file, size).await?,
            Change::CutPath { path, size } => {
                let file = files.open_to_write(client, path, WriteMode::Update).await?;
                files.truncate(client, &file, size).await?;
            }
            Change::Finish(file) => files.finish(client, file).await?,
            Change::Move { from, to } => files.rename(client, from, to, true).await?,
            Change::Remove { path, own } => files.remove(client, path, own).await?,
            Change::RemoveFolder { path } => files.remove_folder(client, path).await?,
            Change::MakeFolder { path, with_path } => {
                files.make_folder(client, path, with_path).await?;
            }
        }
        Ok(Changed::Done)
    }
}

/// How a file is to be opened; `None` for reading.
pub fn write_mode(open: &Open) -> Option<WriteMode> {
    let has = |option| open.options.intersects(option);
    if !open.options.writes() {
        return None;
    }
    Some(match has(OpenOptions::NEW | OpenOptions::DELETE) {
        // As xrootd, it makes folders, also for clients that do not ask for them.
        true => WriteMode::Create { may_replace: has(OpenOptions::DELETE) },
        false => WriteMode::Update,
    })
}
