//! One connection's protocol state, and the driver's tags of its parts.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use xrootd::client::{Client, FileId, RequestId};

use super::pages::Pages;
use crate::clock::Clock;
use crate::error::Error;
use crate::source::{Command, ConnectionEvent, DriverLink, FileInfo, FileRef, RequestTag};

/// Commands that came before the connection was up.
#[derive(Default)]
pub struct Early {
    pub commands: Vec<Command>,
}

impl Early {
    pub fn take(&mut self, command: Command, link: &DriverLink) {
        let Command::Cancel { request: cancelled } = command else {
            return self.commands.push(command);
        };
        let before = self.commands.len();
        self.commands.retain(|command| match command {
            Command::Open { request, .. } | Command::Fetch { request, .. } => *request != cancelled,
            _ => true,
        });
        if self.commands.len() < before {
            link.send(ConnectionEvent::Done { request: cancelled });
        }
    }
}

/// For how long the server's last answer about an open file counts as current. After that a
/// kXR_stat of the handle leaves in front of the next read, which does not wait for its answer: a
/// file that is written to while it is open keeps its handle.
const KNOWN_FOR: Duration = Duration::from_millis(100);

/// The description of a file at its last check.
pub(super) struct Known {
    at: Duration,
    info: FileInfo,
}

/// One connection's protocol state and the driver's tags of its parts.
pub struct Session {
    pub client: Client,
    pub clock: Clock,
    /// Files open (or being opened) on this session, by the driver's tag.
    pub files: BTreeMap<u32, FileId>,
    pub requests: BTreeMap<RequestId, Purpose>,
    /// The driver's latest request for each file, by its tag.
    pub(super) latest: BTreeMap<u32, RequestTag>,
    /// Where each of the driver's requests is. Ranges with checksums take a request each.
    pub tags: BTreeMap<RequestTag, Vec<RequestId>>,
    /// Events of files, by the driver's tag, whose identity is still to be received: no more than
    /// was requested meanwhile.
    held: BTreeMap<u32, Vec<ConnectionEvent>>,
    /// Descriptions of files by the server's last answer.
    pub(super) known: BTreeMap<u32, Known>,
    /// The same of those that are opened again, because the stat of their handles differed.
    pub(super) doubted: BTreeMap<u32, FileInfo>,
    /// The server answers opens without a stat of the file, as some session has learnt.
    pub(super) opens_say_nothing: Arc<AtomicBool>,
    /// The server says the same of a handle as of the open that has given it.
    asks_again: bool,
    /// Whether to request checksums.
    pub(super) pages: Arc<Pages>,
}

/// The purpose of a protocol request.
pub enum Purpose {
    /// Opening for the driver's `Open`: its size is sent; the read behind it answers.
    Open {
        request: RequestTag,
        file: FileRef,
    },
    /// Opening on the way to a `Fetch` on a connection that had not seen the file.
    OpenForFetch {
        file: FileRef,
    },
    /// Checks the identity of a file that has been open for a while.
    Check {
        file: FileRef,
        id: FileId,
    },
    /// Asks for the identity of a file whose open was answered without it; the driver's request if
    /// it was an `Open`.
    Stat {
        request: Option<RequestTag>,
        file: FileRef,
    },
    Read {
        request: RequestTag,
        file: FileRef,
        /// Requested with checksums.
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
    /// The server's clock.
    Clock {
        request: RequestTag,
        file: FileRef,
    },
    Limits,
}

impl Session {
    pub fn new(client: Client, pages: Arc<Pages>, opens_say_nothing: Arc<AtomicBool>) -> Self {
        Session {
            client,
            clock: Clock::start(),
            files: BTreeMap::new(),
            requests: BTreeMap::new(),
            latest: BTreeMap::new(),
            tags: BTreeMap::new(),
            held: BTreeMap::new(),
            known: BTreeMap::new(),
            doubted: BTreeMap::new(),
            opens_say_nothing,
            asks_again: true,
            pages,
        }
    }

    /// Passes on events of a file, once its identity has been received.
    pub fn send(&mut self, link: &DriverLink, file: u32, event: ConnectionEvent) {
        match self.held.get_mut(&file) {
            Some(held) => held.push(event),
            None => link.send(event),
        }
    }

    /// The identity of a file has been learnt by opening it, for the driver's `Open` or on the way
    /// to a fetch.
    pub fn identified(
        &mut self,
        link: &DriverLink,
        file: &FileRef,
        info: FileInfo,
        request: Option<RequestTag>,
    ) {
        link.send(ConnectionEvent::Seen { file: file.tag, info: info.clone() });
        if let Some(request) = request {
            link.send(ConnectionEvent::Opened { request, info: info.clone() });
        }
        if let Some(before) = self.doubted.remove(&file.tag) {
            self.asks_again &= before != info;
        }
        let at = self.clock.now();
        self.known.insert(file.tag, Known { at, info });
        if !self.asks_stat(file.tag) {
            let held = self.held.remove(&file.tag).unwrap_or_default();
            held.into_iter().for_each(|event| link.send(event));
        }
    }

    /// An open has been answered without the file's identity, which has to be requested; from now
    /// on together with opens.
    pub fn ask_stat(&mut self, file: FileRef, request: Option<RequestTag>) {
        self.opens_say_nothing.store(true, Ordering::Relaxed);
        if !self.asks_stat(file.tag) {
            self.send_stat(file, request);
        }
    }

    pub fn send_stat(&mut self, file: FileRef, request: Option<RequestTag>) {
        let path = path(&file);
        let asked = self.client.stat(self.clock.now(), &path);
        self.held.entry(file.tag).or_default();
        self.requests.insert(asked, Purpose::Stat { request, file });
    }

    pub fn asks_stat(&self, tag: u32) -> bool {
        let asks = |asked: &Purpose| matches!(asked, Purpose::Stat { file, .. } if file.tag == tag);
        self.requests.values().any(asks)
    }

    /// Requests the identity of an open file, where its last check is a while ago.
    pub fn check(&mut self, id: FileId, file: &FileRef) {
        let now = self.clock.now();
        let is_old = |known: &&mut Known| now.saturating_sub(known.at) >= KNOWN_FOR;
        let Some(known) = self.known.get_mut(&file.tag).filter(is_old) else { return };
        if self.asks_again
            && let Some(asked) = self.client.stat_open(now, id)
        {
            known.at = now;
            self.requests.insert(asked, Purpose::Check { file: file.clone(), id });
        }
    }

    /// Takes the identity of a file that has been open for a while. Where it was another, the file
    /// is opened anew, and the answer to that counts: servers may know less of a handle than of a
    /// file.
    pub fn checked(&mut self, file: &FileRef, id: FileId, now: Option<FileInfo>) {
        let was = self.known.get(&file.tag).map(|known| known.info.clone());
        let Some(was) = was.filter(|was| Some(was) != now.as_ref()) else { return };
        // Unless that has been done already.
        if self.files.get(&file.tag) == Some(&id) {
            self.doubted.insert(file.tag, was);
            self.held.entry(file.tag).or_default();
            self.forget(file.tag);
            self.open(file, None);
        }
    }

    /// Whether this was a request for the identity of a file, which has failed.
    pub fn fail_stat(
        &mut self,
        link: &DriverLink,
        id: RequestId,
        why: impl Fn(&FileRef) -> Error,
    ) -> bool {
        let (file, request) = match self.requests.get(&id) {
            Some(Purpose::Stat { file, request }) => (file.clone(), *request),
            // Opened again while its earlier events are held.
            Some(Purpose::OpenForFetch { file }) if self.doubted.contains_key(&file.tag) => {
                (file.clone(), None)
            }
            Some(Purpose::Check { file, id: of }) => {
                let file = file.clone();
                let of = *of;
                self.requests.remove(&id);
                self.checked(&file, of, None);
                return true;
            }
            _ => return false,
        };
        self.requests.remove(&id);
        self.fail_file(link, &file, request, &why(&file));
        true
    }

    /// The identity of a file cannot be learnt: all its requests, held answers included, fail.
    pub fn fail_file(
        &mut self,
        link: &DriverLink,
        file: &FileRef,
        request: Option<RequestTag>,
        why: &Error,
    ) {
        let reads = self.requests.values().filter_map(|asked| match asked {
            Purpose::Read { request, file: of, .. } if of.tag == file.tag => Some(*request),
            _ => None,
        });
        let mut failed: BTreeSet<RequestTag> = reads.chain(request).collect();
        for event in self.held.remove(&file.tag).unwrap_or_default() {
            if let ConnectionEvent::Done { request } = event {
                failed.insert(request);
            }
        }
        for request in failed {
            self.drop_all(request);
            link.send(ConnectionEvent::Failed { request, error: why.clone() });
        }
        self.doubted.remove(&file.tag);
        self.forget(file.tag);
    }

    /// Drops the held events of a request, and returns whether it was done, but for the file's
    /// identity.
    pub fn drop_held(&mut self, dropped: RequestTag) -> bool {
        let mut was_done = false;
        for held in self.held.values_mut() {
            held.retain(|event| match event {
                ConnectionEvent::Done { request } => {
                    was_done |= *request == dropped;
                    *request != dropped
                }
                ConnectionEvent::Data { request, .. }
                | ConnectionEvent::Damaged { request, .. } => *request != dropped,
                _ => true,
            });
        }
        was_done
    }

    /// Gives up the reads of a request that the driver cancelled; false where it has none.
    pub fn drop_all(&mut self, request: RequestTag) -> bool {
        let Some(ids) = self.tags.remove(&request) else { return false };
        for id in ids {
            self.requests.remove(&id);
            self.client.cancel(self.clock.now(), id);
        }
        true
    }

    /// Whether no other request is under way for the driver's one that this was a part of.
    pub fn is_last(&mut self, request: RequestTag, id: RequestId) -> bool {
        let others = self.tags.get_mut(&request);
        others.is_none_or(|ids| {
            ids.retain(|other| *other != id);
            ids.is_empty()
        })
    }

    /// The driver's request that has come to its end with this one, and the tag of its file.
    pub fn finish(&mut self, id: RequestId) -> Option<(RequestTag, u32)> {
        let Purpose::Read { request, file, .. } = self.requests.get(&id)? else { return None };
        let request = *request;
        let file = file.tag;
        self.requests.remove(&id);
        let is_last = self.is_last(request, id);
        if is_last {
            self.tags.remove(&request);
        }
        is_last.then_some((request, file))
    }

    /// The driver's request that a read was for, and the file's address. An open is not the end
    /// of any: the read behind it fails, or goes elsewhere, with it.
    pub fn finish_with_file(&mut self, id: RequestId) -> Option<(RequestTag, FileRef)> {
        match self.requests.remove(&id)? {
            Purpose::Read { request, file, .. }
            | Purpose::Checksum { request, file }
            | Purpose::Locate { request, file }
            | Purpose::Clock { request, file }
            | Purpose::List { request, directory: file } => {
                self.is_last(request, id);
                self.drop_all(request);
                Some((request, file))
            }
            Purpose::Open { .. }
            | Purpose::OpenForFetch { .. }
            | Purpose::Stat { .. }
            | Purpose::Check { .. }
            | Purpose::Limits => None,
        }
    }

    /// Reports which requests of the driver have left.
    pub fn send_sent(&mut self, link: &DriverLink) {
        while let Some(sent) = self.client.poll_sent() {
            let request = match self.requests.get(&sent) {
                Some(
                    Purpose::Open { request, .. }
                    | Purpose::Read { request, .. }
                    | Purpose::List { request, .. }
                    | Purpose::Checksum { request, .. }
                    | Purpose::Locate { request, .. }
                    | Purpose::Clock { request, .. },
                ) => Some(*request),
                Some(
                    Purpose::OpenForFetch { file }
                    | Purpose::Check { file, .. }
                    | Purpose::Stat { file, .. },
                ) => self.latest.get(&file.tag).copied(),
                Some(Purpose::Limits) | None => None,
            };
            if let Some(request) = request {
                link.send(ConnectionEvent::Sent { request });
            }
        }
    }

    /// A file whose open came to nothing is opened anew at the next request.
    pub fn lost_file(&mut self, id: RequestId) {
        if let Some(Purpose::Open { file, .. } | Purpose::OpenForFetch { file }) =
            self.requests.get(&id)
        {
            let tag = file.tag;
            self.files.remove(&tag);
            self.requests
                .retain(|_, asked| !matches!(asked, Purpose::Stat { file, .. } if file.tag == tag));
            self.held.remove(&tag);
        }
    }
}

/// The path by which requests name a file.
pub fn path(file: &FileRef) -> String {
    // No other address comes to this server, which refuses an empty path.
    file.url.to_xrootd().map(xrootd::url::Url::full_path).unwrap_or_default()
}
