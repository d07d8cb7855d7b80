//! Commands of the driver become requests of the protocol.

use std::ops::Range;
use std::sync::atomic::Ordering;

use xrootd::client::{FileId, RequestId};
use xrootd::message::dirlist::DirlistOptions;
use xrootd::message::locate::LocateOptions;
use xrootd::message::open::OpenOptions;
use xrootd::message::query::SELECTS_KEY;

use super::pages::How;
use super::session::{Purpose, Session, path};
use crate::address::FileUse;
use crate::source::{Command, ConnectionEvent, DriverLink, FileEnd, FileRef, RequestTag};

impl Session {
    pub fn command(&mut self, command: Command, link: &DriverLink) {
        let now = self.clock.now();
        match command {
            Command::Open { request, file, part } => {
                self.latest.insert(file.tag, request);
                let (FileEnd::Head(bytes)
                | FileEnd::Tail(bytes)
                | FileEnd::Both { head: bytes, .. }) = part;
                // Opened anew also where it is open already: the answer carries the size.
                self.forget(file.tag);
                let id = self.open(&file, Some(request));
                self.read(id, 0..bytes, request, file);
            }
            Command::Fetch { request, file, segments } => {
                self.latest.insert(file.tag, request);
                let id = match self.files.get(&file.tag).copied() {
                    Some(id) => {
                        self.check(id, &file);
                        id
                    }
                    None => self.open(&file, None),
                };
                if segments.len() == 1 || self.how(&file) == How::Checked {
                    let read = |range| self.read(id, range, request, file.clone());
                    return segments.into_iter().for_each(read);
                }
                let segments: Vec<_> = segments.into_iter().map(|range| (id, range)).collect();
                let asked = self.client.readv(now, &segments);
                self.remember(asked, request, file, None);
            }
            Command::Cancel { request } => {
                let was_held = self.drop_held(request);
                if self.drop_all(request) || was_held {
                    link.send(ConnectionEvent::Done { request });
                }
            }
            Command::Close { file } => self.forget(file.tag),
            Command::List { request, directory, with_facts } => {
                let path = path(&directory);
                let options = match with_facts {
                    true => DirlistOptions::WITH_STAT,
                    false => DirlistOptions::default(),
                };
                let id = self.client.dirlist(now, &path, options);
                self.tags.insert(request, vec![id]);
                self.requests.insert(id, Purpose::List { request, directory });
            }
            Command::Checksum { request, file, algorithm } => {
                let mut path = path(&file);
                if let Some(algorithm) = algorithm {
                    path.push(if path.contains('?') { '&' } else { '?' });
                    path.push_str("cks.type=");
                    path.push_str(algorithm.name());
                }
                let id = self.client.query_checksum(now, &path);
                self.tags.insert(request, vec![id]);
                self.requests.insert(id, Purpose::Checksum { request, file });
            }
            Command::Clock { request, file } => {
                let id = self.client.query_summary(now);
                self.tags.insert(request, vec![id]);
                self.requests.insert(id, Purpose::Clock { request, file });
            }
            Command::Locate { request, file } => {
                let path = path(&file);
                // As redirections name them, where servers have names.
                let id = self.client.locate(now, &path, LocateOptions::PREFER_NAMES);
                self.tags.insert(request, vec![id]);
                self.requests.insert(id, Purpose::Locate { request, file });
            }
        }
    }

    pub fn forget(&mut self, file: u32) {
        self.known.remove(&file);
        if let Some(id) = self.files.remove(&file) {
            self.client.close(self.clock.now(), id);
        }
    }

    pub fn open(&mut self, file: &FileRef, request: Option<RequestTag>) -> FileId {
        let path = path(file);
        let options = match file.file_use {
            FileUse::Grown => OpenOptions::FOR_READING | OpenOptions::FORCE,
            _ => OpenOptions::FOR_READING,
        };
        let (id, opening) = self.client.open(self.clock.now(), &path, options);
        self.files.insert(file.tag, id);
        let asked = match request {
            Some(request) => Purpose::Open { request, file: file.clone() },
            None => Purpose::OpenForFetch { file: file.clone() },
        };
        self.requests.insert(opening, asked);
        if self.opens_say_nothing.load(Ordering::Relaxed) {
            self.send_stat(file.clone(), request);
        }
        id
    }

    fn how(&self, file: &FileRef) -> How {
        self.pages.how(file, self.client.answers_are_encrypted())
    }

    /// Reads one range, with checksums or without.
    pub fn read(&mut self, id: FileId, range: Range<u64>, request: RequestTag, file: FileRef) {
        let now = self.clock.now();
        let (asked, checked) = match self.how(&file) {
            How::Plain => (self.client.read(now, id, range), None),
            How::Checked => {
                let again = self.pages.were_damaged(file.tag, &range);
                (self.client.pgread(now, id, range.clone(), again), Some(range))
            }
        };
        self.remember(asked, request, file, checked);
    }

    pub fn is_checked(&self, id: RequestId) -> bool {
        matches!(self.requests.get(&id), Some(Purpose::Read { checked: Some(_), .. }))
    }

    /// Repeats without checksums a request that was made with them; false where it was not.
    pub fn read_unchecked(&mut self, refused: RequestId) -> bool {
        let Some(Purpose::Read { request, file, checked: Some(range) }) =
            self.requests.get(&refused)
        else {
            return false;
        };
        let request = *request;
        let file = file.clone();
        let range = range.clone();
        let Some(id) = self.files.get(&file.tag).copied() else { return false };
        self.requests.remove(&refused);
        self.is_last(request, refused);
        let asked = self.client.read(self.clock.now(), id, range);
        self.remember(asked, request, file, None);
        true
    }

    pub fn remember(
        &mut self,
        id: RequestId,
        request: RequestTag,
        file: FileRef,
        checked: Option<Range<u64>>,
    ) {
        self.requests.insert(id, Purpose::Read { request, file, checked });
        self.tags.entry(request).or_default().push(id);
    }

    /// Requests limits of the server and, where `selects`, whether it selects entries.
    pub fn ask_limits(&mut self, selects: bool) {
        let keys = ["readv_iov_max", "readv_ior_max", SELECTS_KEY];
        let keys = &keys[..keys.len() - usize::from(!selects)];
        let request = self.client.query_config(self.clock.now(), keys);
        self.requests.insert(request, Purpose::Limits);
    }
}
