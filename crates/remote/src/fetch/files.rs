//! The driver's tables: files and their bytes, servers and their connections, groups of wants.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use scheduler::{ConnectionId, FileId, ServerId, SourceId, Time, WantFailure, WantId};
use tokio::sync::{mpsc, oneshot};

use super::activity::Activity;
use super::cached::{Cached, WantPlace};
use super::command::{CameFrom, Opened, Want, WantResult, WantedForm};
use super::store::ByteStore;
use crate::address::{Address, FileUse};
use crate::checksum::Checksum;
use crate::error::{Error, ErrorKind, Result};
use crate::origin::Exposure;
use crate::report::count;
use crate::source::{Command, FileInfo, FileLocation, FileRef, Server};

/// An open that has not been answered.
pub struct PendingOpen {
    pub reply: oneshot::Sender<Result<Opened>>,
    /// Records the phases in which the caller waits.
    pub activity: Activity,
    /// The first bytes, which the open brings and others may want as well, of a file that is read
    /// from before it is open.
    pub early_head: Option<Range<u64>>,
}

/// A file to which a caller holds a handle, or will.
#[derive(Default)]
pub struct FileState {
    pub store: ByteStore,
    /// None once it is open.
    pub opening: Option<PendingOpen>,
    /// Each server's description of the file.
    pub infos: BTreeMap<ServerId, FileInfo>,
    /// The server whose answer identifies the file that is read.
    pub first: Option<ServerId>,
    pub sources: BTreeMap<SourceId, (ServerId, FileRef)>,
    /// Those of them that have to agree with the others.
    pub replicas: BTreeSet<SourceId>,
    /// Whether one of its sources so far was reached without TLS.
    pub exposure: Exposure,
    pub redirects: u32,
    /// How those sources were found that others have sent to.
    pub led: BTreeMap<SourceId, Led>,
    /// Its bytes are not decoded.
    pub file_use: FileUse,
    /// Why each server last failed, for the error of the wants that fail with it.
    pub errors: Vec<(String, Error)>,
    /// Its size, as another server reports it.
    pub claimed_size: Option<u64>,
    /// Whether its sources have the same checksum.
    pub replica_check: ReplicaCheck,
    /// Sources that have turned out to have another file.
    pub rejected: BTreeSet<SourceId>,
    /// Where else it may be, if a redirector has sent its reads on.
    pub search: Option<Search>,
    /// Connections that have had a request for this file.
    pub touched: Vec<ConnectionId>,
    /// The cache's part in it.
    pub cached: Option<Cached>,
    /// The cache's description of it, until the first request to one of its servers.
    pub believed: Option<FileInfo>,
    /// Of which file it is the part that the cache has: the report knows it as that one.
    pub shadow_of: Option<FileId>,
}

/// How a source was found that another one has sent to.
#[derive(Debug, Clone)]
pub struct Led {
    /// The address that sent on, the first of several.
    pub named: Address,
    /// It has brought bytes.
    pub has_served: bool,
}

impl FileState {
    pub fn new(activity: Activity, reply: oneshot::Sender<Result<Opened>>) -> Self {
        let opening = Some(PendingOpen { reply, activity, early_head: None });
        FileState { opening, ..FileState::default() }
    }

    /// The state of a file's cached part.
    pub fn of_shadow(file: FileId) -> Self {
        FileState { shadow_of: Some(file), ..FileState::default() }
    }

    /// A server has failed it, for this reason.
    pub fn remember(&mut self, server: &str, error: Error) {
        // Of connections that fail side by side, one may only have been the first to try.
        let is_final = |(name, known): &(String, Error)| name == server && !known.is_retryable();
        if error.is_retryable() && self.errors.iter().any(is_final) {
            return;
        }
        let error = error.with_source(server);
        self.errors.retain(|(name, _)| name != server);
        self.errors.push((server.to_owned(), error));
    }

    /// Whether this server has another file.
    pub fn has_rejected(&self, server: ServerId) -> bool {
        self.sources.iter().any(|(source, (of, _))| *of == server && self.rejected.contains(source))
    }

    /// Why it can be had nowhere, as far as that is known.
    pub fn failure(&self) -> Option<Error> {
        match &self.errors[..] {
            [] => None,
            [(_, only)] => Some(only.clone()),
            several => Some(Error::of_sources(several.to_vec())),
        }
    }

    /// The error of a want or an open that has failed so.
    pub fn error_of(&self, why: &WantFailure) -> Error {
        let none = || Error::new(ErrorKind::Io, "no server is left that could deliver the bytes");
        let error = match why {
            WantFailure::BeyondEnd { size } => {
                let text = format!("the file says something lies beyond its end at byte {size}");
                return Error::new(ErrorKind::Corrupt, text);
            }
            WantFailure::TooSlow { waited, bytes } => {
                let came = count(*bytes, "byte");
                let seconds = waited.as_secs();
                let places = match self.sources.len() {
                    0 | 1 => String::new(),
                    several => format!(" from {several} servers"),
                };
                let last = self.failure().map(|last| format!("; before that: {}", last.message()));
                let last = last.unwrap_or_default();
                let text = format!(
                    "{came} came{places} within {seconds} s, too few to wait for more{last}"
                );
                Error::new(ErrorKind::TimedOut, text)
                    .with_advice("FARROOT_READ_TIMEOUT says how long bytes are waited for")
            }
            WantFailure::Source { .. } | WantFailure::NoSource => {
                return self.failure().unwrap_or_else(none);
            }
        };
        match self.sources.values().next() {
            Some((_, file)) => error.with_url(file.url.to_string()),
            None => error,
        }
    }

    /// Answers an open that cannot even begin.
    pub fn refuse(self, error: Error) {
        if let Some(opening) = self.opening {
            let _ = opening.reply.send(Err(error));
        }
    }

    /// Updates the activity of an open that has not been answered.
    pub fn with_activity(&self, update: impl FnOnce(&Activity)) {
        if let Some(opening) = &self.opening {
            update(&opening.activity);
        }
    }

    /// Size, time and version of the file that is read, once they are known.
    pub fn info(&self) -> Option<&FileInfo> {
        self.infos.get(&self.first?)
    }

    pub fn file_ref(&self, source: SourceId) -> Option<&FileRef> {
        self.sources.get(&source).map(|(_, file)| file)
    }
}

/// Other locations that a file may have.
pub struct Search {
    /// The redirector, as it was named.
    pub origin: Address,
    /// It has sent the read to another server, and accepts a list of those that have been tried.
    pub sends_on: bool,
    /// Locations that were named without a request.
    pub named: Vec<FileLocation>,
    /// The hosts that it has named, and why they are not enough, in its own words.
    pub tried: BTreeMap<String, &'static str>,
    /// A server has failed, and no other was found.
    pub no_replica_left: bool,
    /// When its next request is due.
    pub next: Option<Time>,
    pub begun: Option<Time>,
    pub is_running: bool,
    pub failures: u32,
}

/// How far the sources of a file have been compared.
#[derive(Debug, Default)]
pub struct ReplicaCheck {
    pub is_planned: bool,
    pub asked: BTreeSet<SourceId>,
    /// The checksum that all of them must have.
    pub checksum: Option<Checksum>,
    /// The first bytes of the file that is read, as far as they have come.
    pub head: ComparedHead,
    /// Those of sources that have not shown yet that theirs are the same.
    pub heads: BTreeMap<SourceId, ComparedHead>,
    /// The size of the file at sources that have answered, but not with those bytes.
    pub sizes: BTreeMap<SourceId, u64>,
}

/// The first bytes of a file, from its begin, and no more than are compared.
#[derive(Debug, Default)]
pub struct ComparedHead(Vec<u8>);

impl ComparedHead {
    /// Takes bytes that follow those so far; whether any did.
    pub fn add(&mut self, offset: u64, bytes: &[u8]) -> bool {
        let known = self.0.len();
        let room = (scheduler::COMPARED_BYTES as usize).saturating_sub(known);
        let Some(skipped) = (known as u64).checked_sub(offset) else { return false };
        let new = bytes.get(skipped as usize..).unwrap_or_default();
        self.0.extend_from_slice(&new[..new.len().min(room)]);
        self.0.len() > known
    }

    /// Whether all bytes that are compared of a file of this size are here.
    pub fn is_whole(&self, size: u64) -> bool {
        self.0.len() as u64 >= size.min(scheduler::COMPARED_BYTES)
    }

    /// The first byte that differs, as far as both are known.
    pub fn difference(&self, other: &Self) -> Option<usize> {
        self.0.iter().zip(&other.0).position(|(one, other)| one != other)
    }

    /// Whether all of these bytes are known there.
    pub fn is_within(&self, other: &Self) -> bool {
        self.0.len() <= other.0.len()
    }
}

/// Answers of sources; the first one's counts where no checksum is known yet.
pub type SourceChecksums = Vec<(SourceId, Checksum)>;

/// A server that has been named by some file.
pub struct ServerState {
    pub server: Arc<dyn Server>,
    pub name: Arc<str>,
    /// Its connections have a token that is lent: it is forgotten when nothing needs them.
    pub is_lent: bool,
}

/// A connection that has not ended.
pub struct ConnectionState {
    pub commands: mpsc::UnboundedSender<Command>,
    pub server: ServerId,
    /// The server's name.
    pub source: Arc<str>,
}

/// A request that has not ended.
pub struct RequestState {
    pub file: FileId,
    pub source: SourceId,
    pub connection: ConnectionId,
    /// It opens the file, and brings an end of it.
    pub is_open: bool,
    /// It only shows whether the source has the same file.
    pub joins: bool,
}

/// Wants that were requested together.
pub struct Group {
    pub file: FileId,
    pub form: WantedForm,
    pub sink: mpsc::UnboundedSender<WantResult>,
    pub members: Vec<Member>,
    pub live: usize,
}

#[derive(Clone)]
pub struct Member {
    pub want: WantId,
    pub asked: Want,
    pub place: WantPlace,
    pub state: MemberState,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum MemberState {
    Waiting,
    Delivered,
    Over,
}

impl Group {
    /// Hands a want's outcome over; false where nothing is held by it afterwards.
    pub fn deliver(&mut self, index: usize, bytes: Result<(Bytes, CameFrom)>) -> bool {
        let delivered = bytes.is_ok();
        self.members[index].state = MemberState::Delivered;
        self.sink.send((index, bytes)).is_ok() && delivered
    }

    pub fn end(&mut self, index: usize) {
        if self.members[index].state != MemberState::Over {
            self.members[index].state = MemberState::Over;
            self.live -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;
    use crate::fetch::ledger::Phase;
    use crate::fetch::trace::Trace;

    /// A proxy had expired, as one connection found. Another one had sent an open before its login
    /// and failed later, with an error that did not name the proxy and advised another try.
    #[test]
    fn what_no_retry_helps_is_not_replaced_by_what_one_may_help() {
        let trace = Trace::new(Clock::start());
        let activity = Activity::begin(&trace, Phase::Opening, None);
        let mut file = FileState::new(activity, oneshot::channel().0);
        let expired = Error::new(ErrorKind::Unauthenticated, "the proxy has expired");
        let first = Error::new(ErrorKind::Connection, "authentication first").retryable(true);
        for error in [first.clone(), expired, first] {
            file.remember("root://a", error);
        }
        let failure = file.failure().expect("an error");
        assert_eq!(failure.kind(), ErrorKind::Unauthenticated, "{failure}");
    }
}
