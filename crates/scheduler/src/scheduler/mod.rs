//! The scheduler's state, and the commands about servers, files and sources.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;

use crate::budget::Budgets;
use crate::chunk::{Chunks, Return, joined};
use crate::connection::Connection;
use crate::counters::Counters;
use crate::demand::Admission;
use crate::estimate::Mark;
use crate::ids::{ConnectionId, FileId, RequestId, ServerId, SourceId, Time, WantId};
use crate::message::{Action, Event, FileEnd, OpenEnds, Urgency, WantFailure};
use crate::progress::Watch;
use crate::readahead::Readahead;
use crate::server::{Server, ServerTraits};
use crate::sources::Sources;
use crate::want::Want;

/// No file is larger than this (a pebibyte), which keeps sums of offsets from overflowing. The
/// caller refuses a file that is reported to be larger.
pub const FILE_BYTES_MAX: u64 = 1 << 50;

/// Decides which bytes next, when, and from where. See the [crate] for how to run it.
///
/// Its methods are of four kinds, all taking the time (which must not go back) where it matters:
///
/// * **Commands**: servers, files and sources (`add_*`, `update_*`, `remove_*`, `open`, `set_size`)
///   and wanted ranges (`want`, `promote`, `cancel`, `resize`, `take`, `release`).
/// * **`handle_*`**: events of connections, requests, time.
/// * **`poll_*`**: actions, events to report, the time of the next call.
/// * **`snapshot`**: figures for a report.
///
/// Names it does not know (any more) are ignored: late answers to things long given up are normal.
#[derive(Debug)]
pub struct Scheduler {
    pub(crate) budgets: Budgets,
    pub(crate) now: Time,
    pub(crate) servers: BTreeMap<ServerId, Server>,
    pub(crate) connections: BTreeMap<ConnectionId, Connection>,
    pub(crate) files: BTreeMap<FileId, File>,
    /// The file of each source.
    pub(crate) sources: BTreeMap<SourceId, FileId>,
    /// Files that have had several sources.
    pub(crate) replicated: BTreeSet<FileId>,
    /// When it was last thought over which sources are active.
    pub(crate) reviewed: Time,
    pub(crate) requests: BTreeMap<RequestId, Request>,
    /// Of files to which bytes are owed.
    pub(crate) watches: BTreeMap<FileId, Watch>,
    pub(crate) wants: BTreeMap<WantId, Want>,
    pub(crate) admission: Admission,
    pub(crate) readahead: Readahead,
    /// Chunks and opens to be tried again, and when.
    pub(crate) resting: BTreeMap<(Time, u64), Resting>,
    /// Servers for which there may be something to do.
    pub(crate) awake: BTreeSet<ServerId>,
    pub(crate) actions: VecDeque<Action>,
    pub(crate) events: VecDeque<Event>,
    pub(crate) counters: Counters,
    names: Names,
}

/// The next free name of each kind.
#[derive(Debug, Default)]
struct Names {
    server: u32,
    file: u32,
    source: u32,
    connection: u32,
    /// Requests, wants and resting entries share this one.
    other: u64,
}

#[derive(Debug, Default)]
pub(crate) struct File {
    pub chunks: Chunks,
    pub sources: Sources,
    pub size: Option<u64>,
    pub wants: BTreeSet<WantId>,
    pub opening: Option<Opening>,
    /// Where the file stands on the agendas of its servers.
    pub listed: Vec<Listed>,
    /// The server whose list of opens it is on.
    pub open_listed: Option<ServerId>,
}

/// An open that is not finished.
#[derive(Debug, Default)]
pub(crate) struct Opening {
    /// Parts to be sent.
    pub todo: Vec<FileEnd>,
    /// Parts sent.
    pub in_flight: u32,
    /// How often a part has failed.
    pub attempts: u32,
    /// The parts to be sent wait for a pause to end.
    pub resting: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Listed {
    pub server: ServerId,
    pub urgency: Urgency,
    pub order: u64,
    pub queued: [u64; 2],
}

/// A request without its last answer.
#[derive(Debug)]
pub(crate) struct Request {
    pub connection: ConnectionId,
    pub source: SourceId,
    pub file: FileId,
    /// None: a fetch.
    pub part: Option<FileEnd>,
    pub segments: Vec<Range<u64>>,
    /// Bytes asked for.
    pub bytes: u64,
    /// Bytes not here.
    pub left: u64,
    pub sent_at: Time,
    /// The connection was usable when it was sent.
    pub warm: bool,
    /// It asks a source whether it has the file.
    pub joins: bool,
    /// Another request for the same bytes; this one was sent because that one was late.
    pub paired: Option<RequestId>,
    pub is_hedge: bool,
    /// It takes longer than it should; when it does, and when its source is left for it.
    pub is_late: bool,
    pub late_at: Time,
    pub left_at: Time,
    /// Something has come.
    pub answered: bool,
    /// Some of its bytes have come damaged.
    pub is_damaged: bool,
    /// No want covers its bytes.
    pub cancelled: bool,
    pub connection_mark: Mark,
    pub server_mark: Mark,
    pub pace_mark: Mark,
    /// With it there were enough bytes in flight to show the rate of the link.
    pub is_load: bool,
    /// Its file's watch counts it.
    pub is_watched: bool,
}

impl Request {
    /// Its source owes bytes that a want waits for.
    pub fn is_owed(&self) -> bool {
        self.is_watched && !self.cancelled
    }
}

#[derive(Debug)]
pub(crate) enum Resting {
    Bytes { file: FileId, ranges: Vec<Range<u64>> },
    Open { file: FileId },
    Join { source: SourceId },
}

impl Scheduler {
    /// A scheduler that knows nothing yet.
    pub fn new(budgets: Budgets) -> Self {
        Scheduler {
            admission: Admission::new(budgets.memory_bytes_max),
            readahead: Readahead::new(budgets.readahead_bytes_floor, budgets.readahead_bytes_max),
            budgets,
            now: Time::ZERO,
            servers: BTreeMap::new(),
            connections: BTreeMap::new(),
            files: BTreeMap::new(),
            sources: BTreeMap::new(),
            replicated: BTreeSet::new(),
            reviewed: Time::ZERO,
            requests: BTreeMap::new(),
            watches: BTreeMap::new(),
            wants: BTreeMap::new(),
            resting: BTreeMap::new(),
            awake: BTreeSet::new(),
            actions: VecDeque::new(),
            events: VecDeque::new(),
            counters: Counters::default(),
            names: Names::default(),
        }
    }

    /// There is a server.
    pub fn add_server(&mut self, now: Time, traits: ServerTraits) -> ServerId {
        self.advance(now);
        let id = ServerId(self.names.server);
        self.names.server += 1;
        let mut server = Server::new(traits);
        server.growth.at_least(self.budgets.connections_initial.max(1));
        self.servers.insert(id, server);
        id
    }

    /// More has been learnt of a server's limits.
    pub fn update_server(&mut self, now: Time, id: ServerId, traits: ServerTraits) {
        self.advance(now);
        let Some(server) = self.servers.get_mut(&id) else { return };
        server.update(traits);
        self.awake.insert(id);
        for file in server.opens.clone() {
            self.refresh(file);
        }
    }

    /// A server is not needed any more; `false` where it has a connection or is a file's source,
    /// and stays.
    pub fn forget_server(&mut self, now: Time, id: ServerId) -> bool {
        self.advance(now);
        let is_source = |file: &File| file.sources.iter().any(|(_, source)| source.server == id);
        let has_connection = self.connections.values().any(|there| there.server == id);
        if has_connection || self.files.values().any(is_source) {
            return false;
        }
        self.awake.remove(&id);
        self.servers.remove(&id).is_some()
    }

    /// There is a file; sources follow.
    pub fn add_file(&mut self, now: Time) -> FileId {
        self.advance(now);
        let id = FileId(self.names.file);
        self.names.file += 1;
        self.files.insert(id, File::default());
        id
    }

    /// The file can be read at this server. Wants that wait for a source go there at once.
    pub fn add_source(&mut self, now: Time, file: FileId, server: ServerId) -> SourceId {
        self.advance(now);
        let id = self.new_source();
        let Some(state) = self.files.get_mut(&file) else { return id };
        state.sources.add(id, server);
        if state.sources.len() > 1 {
            self.replicated.insert(file);
        }
        self.sources.insert(id, file);
        if state.opening.is_some() {
            self.warm_up(server);
        }
        self.refresh(file);
        id
    }

    /// The file is not to be read there any more (it is redirected elsewhere, say). Requested bytes
    /// are queued again and wait for another source if there is none. The requests concerned are
    /// cancelled and, as always, still end by `handle_done` or `handle_failed`; that goes for one
    /// whose answer was the redirection, too.
    pub fn remove_source(&mut self, now: Time, source: SourceId) {
        self.advance(now);
        let Some(file) = self.sources.remove(&source) else { return };
        self.leave_source(source);
        if let Some(state) = self.files.get_mut(&file) {
            state.sources.remove(source);
            state.sources.fill_up(state.size.is_some());
        }
        self.refresh(file);
    }

    /// The consumer has closed the file: its wants are cancelled (without events), its bytes need
    /// no [`Event::Forget`].
    pub fn remove_file(&mut self, now: Time, file: FileId) {
        self.advance(now);
        let Some(state) = self.files.get_mut(&file) else { return };
        let wants = std::mem::take(&mut state.wants);
        state.opening = None;
        let sources: Vec<SourceId> = state.sources.iter().map(|(id, _)| id).collect();
        for want in wants {
            self.drop_want(want);
        }
        for source in sources {
            self.sources.remove(&source);
            self.leave_source(source);
            if let Some(state) = self.files.get_mut(&file) {
                state.sources.remove(source);
            }
        }
        self.refresh(file);
        self.files.remove(&file);
        self.watches.remove(&file);
        self.replicated.remove(&file);
        self.admit();
    }

    /// Opens a file whose size is unknown: asks for its first `head` bytes and, where the server
    /// can give a suffix, its last `tail` bytes. The first connections to the server are asked for
    /// at the same moment. Ends in [`Event::Opened`] or [`Event::OpenFailed`].
    ///
    /// These bytes are kept, wanted or not, until [`Self::forget_open`] or [`Self::remove_file`].
    /// While an open is under way another one of the same file is ignored.
    pub fn open(&mut self, now: Time, file: FileId, head: u64, tail: u64) {
        self.open_ends(now, file, OpenEnds { head, tail, in_one: false });
    }

    /// As [`Self::open`], of these bytes.
    pub fn open_ends(&mut self, now: Time, file: FileId, ends: OpenEnds) {
        self.advance(now);
        let Some(state) = self.files.get_mut(&file) else { return };
        if state.opening.is_some() {
            return;
        }
        if state.sources.all_failed() {
            self.events.push_back(Event::OpenFailed { file, why: WantFailure::NoSource });
            return;
        }
        let head = ends.head.min(FILE_BYTES_MAX);
        let tail = ends.tail.min(FILE_BYTES_MAX);
        let todo = match (tail, ends.in_one) {
            (0, _) => vec![FileEnd::Head(head)],
            (_, true) => vec![FileEnd::Both { head, tail }],
            (_, false) => vec![FileEnd::Head(head), FileEnd::Tail(tail)],
        };
        state.opening = Some(Opening { todo, ..Opening::default() });
        let servers: Vec<ServerId> =
            state.sources.iter().map(|(_, source)| source.server).collect();
        for server in servers {
            self.warm_up(server);
        }
        self.refresh(file);
    }

    /// The bytes that came with the open are kept no longer for its sake.
    pub fn forget_open(&mut self, now: Time, file: FileId) {
        self.advance(now);
        let Some(state) = self.files.get_mut(&file) else { return };
        for range in state.chunks.release_held() {
            self.events.push_back(Event::Forget { file, range });
        }
    }

    /// The size of a file. Wants that reach beyond it fail.
    pub fn set_size(&mut self, now: Time, file: FileId, size: u64) {
        self.advance(now);
        let size = size.min(FILE_BYTES_MAX);
        let Some(state) = self.files.get_mut(&file) else { return };
        if state.size == Some(size) {
            return;
        }
        state.size = Some(size);
        let beyond: Vec<WantId> = state
            .wants
            .iter()
            .filter(|id| self.wants.get(id).is_some_and(|want| want.range.end > size))
            .copied()
            .collect();
        for want in beyond {
            self.fail_want(want, WantFailure::BeyondEnd { size });
        }
        if let Some(state) = self.files.get_mut(&file) {
            state.chunks.truncate(size);
        }
        self.admit_joined(file);
        self.refresh(file);
        self.admit();
    }

    /// Asks for the first connections to a server.
    pub(crate) fn warm_up(&mut self, id: ServerId) {
        if let Some(server) = self.servers.get_mut(&id) {
            server.warm_up = true;
            self.awake.insert(id);
        }
    }

    /// Gives up everything that is under way from a source.
    pub(crate) fn leave_source(&mut self, source: SourceId) {
        let under_way: Vec<RequestId> = self
            .requests
            .iter()
            .filter(|(_, request)| request.source == source && !request.cancelled)
            .map(|(id, _)| *id)
            .collect();
        for id in under_way {
            self.abandon(id);
        }
    }

    /// Gives up a request: the bytes that it owes are queued again, its answer will be dropped.
    pub(crate) fn abandon(&mut self, id: RequestId) {
        let Some(request) = self.requests.get_mut(&id) else { return };
        let was_owed = request.is_owed();
        request.cancelled = true;
        let file = request.file;
        let part = request.part;
        let connection = request.connection;
        if was_owed {
            self.owe_less(file);
        }
        let Some(request) = self.requests.get(&id) else { return };
        let source = request.source;
        let joins = request.joins;
        let segments = request.segments.clone();
        self.actions.push_back(Action::Cancel { request: id, connection });
        self.give_back(file, source, id, &segments, Return::Now);
        if joins {
            self.join_again(source);
        } else if let (Some(part), Some(state)) = (part, self.files.get_mut(&file))
            && let Some(opening) = &mut state.opening
        {
            opening.in_flight = opening.in_flight.saturating_sub(1);
            opening.todo.push(part);
        }
        self.refresh(file);
    }

    /// Time passes. Counts the time in which a want waits and no request is under way.
    pub(crate) fn advance(&mut self, now: Time) {
        let passed = now.saturating_sub(self.now);
        if self.counters.demands_unready > 0 {
            self.counters.waited += passed;
            if self.requests.is_empty() {
                self.counters.stalled += passed;
            }
        }
        if passed > Time::ZERO {
            self.count_waiting(now);
        }
        self.now = self.now.max(now);
    }

    pub(crate) fn forget(&mut self, file: FileId, ranges: Vec<Range<u64>>) {
        let events = joined(ranges).into_iter().map(|range| Event::Forget { file, range });
        self.events.extend(events);
    }

    pub(crate) fn new_source(&mut self) -> SourceId {
        let id = SourceId(self.names.source);
        self.names.source += 1;
        id
    }

    pub(crate) fn new_connection(&mut self) -> ConnectionId {
        let id = ConnectionId(self.names.connection);
        self.names.connection += 1;
        id
    }

    /// A name for a request, a want, or an entry of the resting.
    pub(crate) fn new_name(&mut self) -> u64 {
        self.names.other += 1;
        self.names.other
    }
}

#[cfg(test)]
mod tests;
