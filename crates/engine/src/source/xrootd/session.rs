//! One connection's protocol state: what the driver asks becomes requests of the protocol.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use xrootd::client::{Client, FileId, RequestId};
use xrootd::message::dirlist::DirlistOptions;
use xrootd::message::locate::LocateOptions;
use xrootd::message::open::OpenOptions;

use super::pages::{How, Pages};
use super::parse;
use crate::clock::Clock;
use crate::source::{Command, FileRef, Link, Notice, Part, RequestTag};

/// Commands that came before the connection was up.
#[derive(Default)]
pub struct Early {
    pub commands: Vec<Command>,
}

impl Early {
    pub fn take(&mut self, command: Command, link: &Link) {
        let Command::Cancel { request: cancelled } = command else {
            return self.commands.push(command);
        };
        let before = self.commands.len();
        self.commands.retain(|command| match command {
            Command::Open { request, .. } | Command::Fetch { request, .. } => *request != cancelled,
            _ => true,
        });
        if self.commands.len() < before {
            link.tell(Notice::Done { request: cancelled });
        }
    }
}

/// One connection's protocol state and what the driver calls its parts.
pub struct Session {
    pub client: Client,
    pub clock: Clock,
    /// Files open (or being opened) on this session, by the driver's tag.
    pub files: BTreeMap<u32, FileId>,
    pub requests: BTreeMap<RequestId, Asked>,
    /// Where each of the driver's requests is. Ranges with checksums take a request each.
    pub tags: BTreeMap<RequestTag, Vec<RequestId>>,
    /// What came for an open whose file's size is still to be told: no more than one end of a file.
    pub held: BTreeMap<RequestTag, Vec<Notice>>,
    /// Whether to ask for checksums.
    pages: Arc<Pages>,
}

/// What a protocol request was sent for.
pub enum Asked {
    /// Opening for the driver's `Open`: its size is told; the read behind it answers.
    Open {
        request: RequestTag,
        file: FileRef,
    },
    /// Opening on the way to a `Fetch` on a connection that had not seen the file.
    OpenForFetch {
        file: FileRef,
    },
    /// The size of a file whose open was answered without it.
    Size {
        request: RequestTag,
        file: FileRef,
    },
    Read {
        request: RequestTag,
        file: FileRef,
        /// Asked for with checksums.
        checked: Option<Range<u64>>,
    },
    List {
        request: RequestTag,
        directory: FileRef,
    },
    Checksum {
        request: RequestTag,
        file: FileRef,
    },
    Locate {
        request: RequestTag,
        file: FileRef,
    },
    Limits,
}

impl Session {
    pub fn new(client: Client, pages: Arc<Pages>) -> Self {
        Session {
            client,
            clock: Clock::start(),
            files: BTreeMap::new(),
            requests: BTreeMap::new(),
            tags: BTreeMap::new(),
            held: BTreeMap::new(),
            pages,
        }
    }

    /// Passes on what belongs to a request, when its turn has come.
    pub fn tell(&mut self, link: &Link, request: RequestTag, notice: Notice) {
        match self.held.get_mut(&request) {
            Some(held) => held.push(notice),
            None => link.tell(notice),
        }
    }

    pub fn ask_size(&mut self, request: RequestTag, file: FileRef) {
        let path = parse(&file.url).map(|url| url.full_path()).unwrap_or_default();
        let asked = self.client.stat(self.clock.now(), &path);
        self.requests.insert(asked, Asked::Size { request, file });
        self.held.insert(request, Vec::new());
    }

    pub fn command(&mut self, command: Command, link: &Link) {
        let now = self.clock.now();
        match command {
            Command::Open { request, file, part } => {
                let (Part::Head(bytes) | Part::Tail(bytes)) = part;
                // Opened anew also where it is open already: the answer carries the size.
                self.forget(file.tag);
                let id = self.open(&file, Some(request));
                self.read(id, 0..bytes, request, file);
            }
            Command::Fetch { request, file, segments } => {
                let id = match self.files.get(&file.tag) {
                    Some(id) => *id,
                    None => self.open(&file, None),
                };
                if segments.len() == 1 || self.pages.how(&file) == How::Checked {
                    let read = |range| self.read(id, range, request, file.clone());
                    return segments.into_iter().for_each(read);
                }
                let segments: Vec<_> = segments.into_iter().map(|range| (id, range)).collect();
                let asked = self.client.readv(now, &segments);
                self.remember(asked, request, file, None);
            }
            Command::Cancel { request } => {
                let held = self.held.remove(&request).is_some();
                if self.drop_all(request) {
                    link.tell(Notice::Done { request });
                } else if held {
                    // Its read is through; only the size was awaited.
                    link.tell(Notice::Done { request });
                }
            }
            Command::Close { file } => self.forget(file.tag),
            Command::List { request, directory } => {
                let path = parse(&directory.url).map(|url| url.full_path()).unwrap_or_default();
                let id = self.client.dirlist(now, &path, DirlistOptions::default());
                self.tags.insert(request, vec![id]);
                self.requests.insert(id, Asked::List { request, directory });
            }
            Command::Checksum { request, file, algorithm } => {
                let mut path = parse(&file.url).map(|url| url.full_path()).unwrap_or_default();
                if let Some(algorithm) = algorithm {
                    path.push(if path.contains('?') { '&' } else { '?' });
                    path.push_str("cks.type=");
                    path.push_str(algorithm.name());
                }
                let id = self.client.query_checksum(now, &path);
                self.tags.insert(request, vec![id]);
                self.requests.insert(id, Asked::Checksum { request, file });
            }
            Command::Locate { request, file } => {
                let path = parse(&file.url).map(|url| url.full_path()).unwrap_or_default();
                // As redirections name them, where servers have names.
                let id = self.client.locate(now, &path, LocateOptions::PREFER_NAMES);
                self.tags.insert(request, vec![id]);
                self.requests.insert(id, Asked::Locate { request, file });
            }
        }
    }

    pub fn forget(&mut self, file: u32) {
        if let Some(id) = self.files.remove(&file) {
            self.client.close(self.clock.now(), id);
        }
    }

    pub fn open(&mut self, file: &FileRef, request: Option<RequestTag>) -> FileId {
        // An address that was parsed once parses again; the server refuses an empty path.
        let path = parse(&file.url).map(|url| url.full_path()).unwrap_or_default();
        let (id, opening) = self.client.open(self.clock.now(), &path, OpenOptions::FOR_READING);
        self.files.insert(file.tag, id);
        let file = file.clone();
        let asked = match request {
            Some(request) => Asked::Open { request, file },
            None => Asked::OpenForFetch { file },
        };
        self.requests.insert(opening, asked);
        id
    }

    /// Reads one range, with checksums or without.
    pub fn read(&mut self, id: FileId, range: Range<u64>, request: RequestTag, file: FileRef) {
        let now = self.clock.now();
        let (asked, checked) = match self.pages.how(&file) {
            How::Plain => (self.client.read(now, id, range), None),
            How::Checked => {
                let again = self.pages.were_damaged(file.tag, &range);
                (self.client.pgread(now, id, range.clone(), again), Some(range))
            }
        };
        self.remember(asked, request, file, checked);
    }

    pub fn is_checked(&self, id: RequestId) -> bool {
        matches!(self.requests.get(&id), Some(Asked::Read { checked: Some(_), .. }))
    }

    /// Asks without checksums for what was asked for with them; false where it was not.
    pub fn read_unchecked(&mut self, refused: RequestId) -> bool {
        let Some(Asked::Read { request, file, checked: Some(range) }) = self.requests.get(&refused)
        else {
            return false;
        };
        let (request, file, range) = (*request, file.clone(), range.clone());
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
        self.requests.insert(id, Asked::Read { request, file, checked });
        self.tags.entry(request).or_default().push(id);
    }

    pub fn ask_limits(&mut self) {
        let keys = ["readv_iov_max", "readv_ior_max"];
        let request = self.client.query_config(self.clock.now(), &keys);
        self.requests.insert(request, Asked::Limits);
    }

    /// Nobody waits any more for what was asked for a request; false where nothing was.
    pub fn drop_all(&mut self, request: RequestTag) -> bool {
        let Some(ids) = self.tags.remove(&request) else { return false };
        for id in ids {
            self.requests.remove(&id);
            self.client.cancel(self.clock.now(), id);
        }
        true
    }

    /// Whether nothing else is asked for the request that this was a part of.
    pub fn is_last(&mut self, request: RequestTag, id: RequestId) -> bool {
        let others = self.tags.get_mut(&request);
        others.is_none_or(|ids| {
            ids.retain(|other| *other != id);
            ids.is_empty()
        })
    }

    /// The driver's request that has come to its end with this one.
    pub fn finish(&mut self, id: RequestId) -> Option<RequestTag> {
        let Asked::Read { request, .. } = self.requests.get(&id)? else { return None };
        let request = *request;
        self.requests.remove(&id);
        let is_last = self.is_last(request, id);
        if is_last {
            self.tags.remove(&request);
        }
        is_last.then_some(request)
    }

    /// The driver's request that a read was for, and the file's address. An open is not the end
    /// of any: the read behind it fails, or goes elsewhere, with it.
    pub fn finish_with_file(&mut self, id: RequestId) -> Option<(RequestTag, FileRef)> {
        match self.requests.remove(&id)? {
            Asked::Read { request, file, .. }
            | Asked::Checksum { request, file }
            | Asked::Locate { request, file }
            | Asked::List { request, directory: file } => {
                self.is_last(request, id);
                self.drop_all(request);
                Some((request, file))
            }
            Asked::Open { .. }
            | Asked::OpenForFetch { .. }
            | Asked::Size { .. }
            | Asked::Limits => None,
        }
    }

    /// A file whose open came to nothing is opened anew the next time it is asked for.
    pub fn lost_file(&mut self, id: RequestId) {
        if let Some(Asked::Open { file, .. } | Asked::OpenForFetch { file }) =
            self.requests.get(&id)
        {
            self.files.remove(&file.tag);
        }
    }
}
