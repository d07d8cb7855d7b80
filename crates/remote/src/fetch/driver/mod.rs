//! The one task that acts on the scheduler's decisions.
//!
//! The run-loop law, for this caller of it: take in everything that has happened (commands of
//! handles, events of connections, the clock), then ask the scheduler for actions and events
//! until it has none, then sleep until `poll_timeout` or the next happening.

mod awaited;
mod cached;
pub mod discovery;
mod events;
pub mod replica_check;
mod slots;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use scheduler::{
    Action, COMPARED_BYTES, ConnectionId, Event, FileId, OpenEnds, RequestId, Scheduler, ServerId,
    SourceId, SourceState, WantFailure, WantId,
};
use tokio::sync::{mpsc, oneshot};

use self::discovery::Discovered;
use self::slots::ServerSlots;
use super::cached::{Cached, Seeker, Via, WantPlace};
use super::command::{Begun, CameFrom, DriverCommand, Opened, Urgency, Want};
use super::files::{
    ConnectionState, FileState, Group, Member, MemberState, RequestState, ServerState,
};
use super::ledger::Phase;
use super::links::{LinkFigures, Links};
use super::trace::{RequestKind, RequestRecord, Trace};
use crate::address::{Address, FileLocations};
use crate::cache::recompressed::decode_part;
use crate::clock::{Clock, sleep_until};
use crate::config::Config;
use crate::error::{Error, ErrorKind, Result};
use crate::near::memory::NearMemory;
use crate::source::held::HeldServer;
use crate::source::network::Network;
use crate::source::{
    self, BothEnds, Command, ConnectionEvent, ConnectionTag, DriverLink, FileEnd, FileRef,
    RequestTag,
};

/// Events taken in before the scheduler's next turn, so that neither side starves.
const BATCH: usize = 256;

type ConnectionEvents = mpsc::UnboundedReceiver<(ConnectionTag, ConnectionEvent)>;

pub struct Driver {
    config: Config,
    network: Arc<dyn Network>,
    clock: Clock,
    trace: Trace,
    links: Arc<Links>,
    near: Arc<NearMemory>,
    scheduler: Scheduler,
    event_sender: mpsc::UnboundedSender<(ConnectionTag, ConnectionEvent)>,
    events: ConnectionEvents,
    files: BTreeMap<FileId, FileState>,
    /// Whose sources they are.
    sources: BTreeMap<SourceId, FileId>,
    servers: BTreeMap<ServerId, ServerState>,
    /// The one that reads from the cache.
    cache_server: Option<(ServerId, Arc<HeldServer>)>,
    /// The name of the last group that was fetched for the cache alone; those of handles count up
    /// from zero.
    last_fill: u64,
    server_names: BTreeMap<String, ServerId>,
    connections: BTreeMap<ConnectionId, ConnectionState>,
    /// The shared connection slots of the servers in use.
    slots: BTreeMap<ServerId, ServerSlots>,
    requests: BTreeMap<RequestId, RequestState>,
    groups: BTreeMap<u64, Group>,
    wants: BTreeMap<WantId, (u64, usize)>,
    /// When to look where else a file is.
    searches: BTreeSet<(scheduler::Time, FileId)>,
    /// When to compare the sources of a file.
    comparisons: BTreeSet<(scheduler::Time, FileId)>,
    /// Files with wants that other processes fetch, and when to look for those in the cache.
    awaiting: BTreeSet<FileId>,
    look_at: Option<scheduler::Time>,
    finding_sender: mpsc::UnboundedSender<Discovered>,
    findings: mpsc::UnboundedReceiver<Discovered>,
}

impl Driver {
    pub fn new(
        config: Config,
        network: Arc<dyn Network>,
        clock: Clock,
        trace: Trace,
        links: Arc<Links>,
        near: Arc<NearMemory>,
    ) -> Self {
        let (event_sender, events) = mpsc::unbounded_channel();
        let (finding_sender, findings) = mpsc::unbounded_channel();
        let scheduler = Scheduler::new(budgets(&config));
        Driver {
            config,
            network,
            clock,
            trace,
            links,
            near,
            scheduler,
            event_sender,
            events,
            files: BTreeMap::new(),
            sources: BTreeMap::new(),
            servers: BTreeMap::new(),
            cache_server: None,
            last_fill: u64::MAX,
            server_names: BTreeMap::new(),
            connections: BTreeMap::new(),
            slots: BTreeMap::new(),
            requests: BTreeMap::new(),
            groups: BTreeMap::new(),
            wants: BTreeMap::new(),
            searches: BTreeSet::new(),
            comparisons: BTreeSet::new(),
            awaiting: BTreeSet::new(),
            look_at: None,
            finding_sender,
            findings,
        }
    }

    /// Runs until the last handle is gone.
    pub async fn run(mut self, mut commands: mpsc::UnboundedReceiver<DriverCommand>) {
        loop {
            self.act();
            let beside = [self.next_search(), self.next_comparison(), self.next_review()];
            let beside = beside.into_iter().chain([self.look_at]).flatten();
            let wake = self.scheduler.poll_timeout().into_iter().chain(beside).min();
            let wake = wake.map(|time| self.clock.instant(time));
            tokio::select! {
                command = commands.recv() => {
                    let Some(command) = command else { return };
                    self.take_command(command);
                }
                Some((connection, event)) = self.events.recv() => {
                    self.take_connection_event(connection, event);
                }
                Some(finding) = self.findings.recv() => self.take_finding(finding),
                () = sleep_until(wake) => {}
            }
            for _ in 0..BATCH {
                let mut idle = true;
                if let Ok(command) = commands.try_recv() {
                    self.take_command(command);
                    idle = false;
                }
                if let Ok((connection, event)) = self.events.try_recv() {
                    self.take_connection_event(connection, event);
                    idle = false;
                }
                if idle {
                    break;
                }
            }
            self.scheduler.handle_timeout(self.clock.now());
            self.begin_searches();
            self.begin_comparisons();
            self.look_for_awaited();
            self.review_slots();
        }
    }

    fn act(&mut self) {
        let now = self.clock.now();
        loop {
            if let Some(action) = self.scheduler.poll_action(now) {
                self.take_action(action);
            } else if let Some(event) = self.scheduler.poll_event() {
                self.take_event(event);
            } else {
                self.links.store(LinkFigures {
                    pipe_bytes: self.scheduler.pipe_bytes(),
                    round_trip: self.scheduler.round_trip(),
                    bandwidth: self.scheduler.bandwidth(),
                });
                return;
            }
        }
    }

    // ---- commands of handles -------------------------------------------------------------------

    fn take_command(&mut self, command: DriverCommand) {
        let now = self.clock.now();
        match command {
            DriverCommand::Open { locations, ends, activity, early, cached, reply } => {
                let mut state = FileState::new(activity, reply);
                let believed = cached.as_ref().and_then(|cached| cached.believed.clone());
                state.cached = cached.map(|cached| Cached::new(*cached));
                self.open(locations, ends, early, believed, state);
            }
            DriverCommand::Want { file, group, wants, form, sink } => {
                let group_of = Group { file, form, sink, members: Vec::new(), live: 0 };
                self.want(group, group_of, wants);
            }
            DriverCommand::Unpacked { file, part } => self.pack(file, part),
            DriverCommand::Remembered { file, pieces } => self.keep_remembered(file, &pieces),
            DriverCommand::Promote { group, indices } => {
                let Some(group) = self.groups.get_mut(&group) else { return };
                let members = group.members.get_mut(indices).unwrap_or_default();
                for member in members.iter_mut().filter(|m| m.state == MemberState::Waiting) {
                    member.asked.urgency = Urgency::Demand;
                    self.scheduler.promote(now, member.want);
                }
            }
            DriverCommand::GiveUp { group, indices } => self.give_up(group, indices),
            DriverCommand::Abandon { group } => self.abandon(group),
            DriverCommand::Resize { group, index, cost } => {
                if let Some(want) = self.granted(group, index) {
                    self.scheduler.resize(now, want, cost);
                }
            }
            DriverCommand::Release { group, index } => {
                if let Some(want) = self.granted(group, index) {
                    self.scheduler.release(now, want);
                    self.end_member(group, index);
                }
            }
            DriverCommand::HandOver { group, index } => {
                if let Some(want) = self.granted(group, index) {
                    self.scheduler.hand_over(now, want);
                }
            }
            DriverCommand::HandOut { bytes } => self.scheduler.hand_out(bytes),
            DriverCommand::TakeBack { bytes } => self.scheduler.take_back(now, bytes),
            DriverCommand::Close { file } => self.close(file),
            DriverCommand::Configure { config, network } => {
                self.scheduler.set_budgets(now, budgets(&config));
                (self.config, self.network) = (*config, network);
                // Files that are open keep their servers; those to come have others, with these
                // settings.
                self.server_names.clear();
            }
        }
    }

    fn open(
        &mut self,
        locations: FileLocations,
        ends: OpenEnds,
        early: Option<oneshot::Sender<Begun>>,
        believed: Option<Bytes>,
        mut state: FileState,
    ) {
        let FileLocations { urls, claims, file_use, .. } = locations;
        state.file_use = file_use;
        state.claimed_size = claims.size;
        state.replica_check.checksum = claims.checksums.into_iter().next();
        let mut locations: Vec<(ServerId, Address)> = Vec::new();
        for url in urls {
            match self.server_for(&url) {
                // Two ways to one server bring no more than one.
                Ok(server) if locations.iter().any(|(other, _)| *other == server) => {}
                Ok(server) => locations.push((server, url)),
                Err(error) => state.remember(&url.to_string(), error),
            }
        }
        let Some((first, _)) = locations.first() else {
            let error = state.error_of(&WantFailure::NoSource);
            return state.refuse(error);
        };
        let now = self.clock.now();
        let file = self.scheduler.add_file(now);
        self.trace.opens(file.0);
        state.with_activity(|activity| activity.belongs(file.0));
        for (name, error) in &state.errors {
            self.trace.note(Some(file.0), format!("{name} is not used: {error}"));
        }
        if let (Some(begun), Some(opening)) = (early, &mut state.opening) {
            opening.early_head = Some(0..ends.head);
            let source = self.servers[first].name.to_string();
            let _ = begun.send(Begun { file, source, exposure: state.exposure.clone() });
        }
        self.files.insert(file, state);
        let several = locations.len() > 1;
        // By these bytes the others are compared.
        let head = if several { ends.head.max(COMPARED_BYTES) } else { ends.head };
        let ends = OpenEnds { head, ..ends };
        for (server, url) in locations {
            self.add_source(file, server, url, several);
        }
        match believed {
            Some(head) => self.open_believed(file, head),
            None => self.scheduler.open_ends(now, file, ends),
        }
    }

    /// Another place to read a file at; a `replica` has to agree with the others.
    fn add_source(
        &mut self,
        file: FileId,
        server: ServerId,
        url: Address,
        replica: bool,
    ) -> SourceId {
        let now = self.clock.now();
        let source = match replica {
            true => self.scheduler.add_replica(now, file, server),
            false => self.scheduler.add_source(now, file, server),
        };
        if let Some(state) = self.files.get_mut(&file) {
            if replica {
                state.replicas.insert(source);
            }
            state.exposure.note(&url, &self.config.credential_store);
            if let Some(cached) = &mut state.cached {
                cached.is_exposed = cached.is_confirmed
                    && cached.origin.is_protected()
                    && state.exposure.is_exposed();
            }
            let file_use = state.file_use;
            let there = FileRef { tag: source.0, url: Arc::new(url), file_use };
            state.sources.insert(source, (server, there));
            self.sources.insert(source, file);
            let connected = self.trace.is_connected(&self.servers[&server].name);
            if !connected && state.opening.is_some() {
                self.trace.unconnected(file.0);
            }
            state.with_activity(|activity| activity.enter(opening(connected)));
        }
        source
    }

    fn server_for(&mut self, url: &Address) -> Result<ServerId> {
        let key = url.server_key();
        if let Some(id) = self.server_names.get(&key) {
            return Ok(*id);
        }
        let server = source::servers::server_for(url, &self.config, self.network.clone())?;
        let is_lent = url.is_lent();
        if is_lent {
            self.forget_lent();
        }
        let id = self.scheduler.add_server(self.clock.now(), scheduler_traits(&server.traits()));
        let name = Arc::from(server.name());
        self.servers.insert(id, ServerState { server, name, is_lent });
        self.server_names.insert(key, id);
        Ok(id)
    }

    /// Forgets the servers that no file and no connection needs, of those with a lent token: each
    /// client of a proxy has its own.
    fn forget_lent(&mut self) {
        let of_files = self.files.values().flat_map(|file| file.sources.values());
        let mut used: BTreeSet<ServerId> = of_files.map(|(server, _)| *server).collect();
        used.extend(self.connections.values().map(|connection| connection.server));
        let lent = self.servers.iter().filter(|(id, server)| server.is_lent && !used.contains(id));
        let lent: Vec<ServerId> = lent.map(|(id, _)| *id).collect();
        let now = self.clock.now();
        for id in lent {
            if self.scheduler.forget_server(now, id) {
                self.servers.remove(&id);
                self.slots.remove(&id);
                self.server_names.retain(|_, named| *named != id);
            }
        }
    }

    /// Asks for the wants of a group that has no members yet, whose name is `key`.
    fn want(&mut self, key: u64, mut group: Group, wants: Vec<Want>) {
        let Group { file, form, .. } = group;
        group.members.reserve(wants.len());
        for (index, asked) in wants.into_iter().enumerate() {
            let place =
                self.place_of(file, Seeker { range: &asked.range, form, group: key, index });
            let want = self.schedule(&asked, &place);
            self.wants.insert(want, (key, index));
            group.members.push(Member { want, asked, place, state: MemberState::Waiting });
        }
        if !group.members.is_empty() {
            self.expect_search(file);
            self.expect_comparison(file);
            group.live = group.members.len();
            self.groups.insert(key, group);
        }
    }

    /// Asks the scheduler for a want at its place.
    fn schedule(&mut self, asked: &Want, place: &WantPlace) -> WantId {
        let now = self.clock.now();
        let cost = asked.cost.max(place.bytes());
        let range = place.range.clone();
        self.scheduler.want(now, place.file, range, asked.urgency.into(), asked.order, cost)
    }

    fn abandon(&mut self, key: u64) {
        self.give_up(key, 0..usize::MAX);
    }

    /// Cancels those wants of a group that have not come.
    fn give_up(&mut self, key: u64, indices: Range<usize>) {
        let now = self.clock.now();
        let Some(group) = self.groups.get_mut(&key) else { return };
        let mut given_up = Vec::new();
        for index in indices.start..indices.end.min(group.members.len()) {
            let member = &group.members[index];
            if member.state == MemberState::Waiting {
                self.scheduler.cancel(now, member.want);
                self.wants.remove(&member.want);
                given_up.push((index, member.place.via, member.asked.range.clone()));
                group.end(index);
            }
        }
        let file = group.file;
        if group.live == 0 {
            self.groups.remove(&key);
        }
        for (index, via, range) in given_up {
            self.came_not(file, (key, index), via, &range);
        }
    }

    fn granted(&self, group: u64, index: usize) -> Option<WantId> {
        let member = self.groups.get(&group)?.members.get(index)?;
        (member.state == MemberState::Delivered).then_some(member.want)
    }

    fn end_member(&mut self, key: u64, index: usize) {
        let Some(group) = self.groups.get_mut(&key) else { return };
        self.wants.remove(&group.members[index].want);
        group.end(index);
        if group.live == 0 {
            self.groups.remove(&key);
        }
    }

    fn close(&mut self, file: FileId) {
        self.scheduler.remove_file(self.clock.now(), file);
        let gone: Vec<u64> =
            self.groups.iter().filter(|(_, g)| g.file == file).map(|(key, _)| *key).collect();
        for key in gone {
            if let Some(group) = self.groups.remove(&key) {
                for member in &group.members {
                    self.wants.remove(&member.want);
                }
            }
        }
        let Some(mut state) = self.files.remove(&file) else { return };
        self.close_shadows(state.cached.take());
        if state.shadow_of.is_none() {
            self.trace.closed(file.0);
        }
        for source in state.sources.keys() {
            self.sources.remove(source);
        }
        let there = state.touched.iter().filter_map(|connection| self.connections.get(connection));
        let there: Vec<&ConnectionState> = there.collect();
        for (server, file) in state.sources.values() {
            for connection in &there {
                let _ = connection.commands.send(Command::Close { file: file.clone() });
            }
            if there.iter().all(|connection| connection.server != *server) {
                self.servers[server].server.forget(file);
            }
        }
    }

    // ---- actions and events of the scheduler -------------------------------------------------

    fn take_action(&mut self, action: Action) {
        match action {
            Action::Connect { connection, server } => self.connect(connection, server),
            Action::Open { request, connection, source, file, part, joins } => {
                let part = match part {
                    scheduler::FileEnd::Head(bytes) => FileEnd::Head(bytes),
                    scheduler::FileEnd::Tail(bytes) => FileEnd::Tail(bytes),
                    scheduler::FileEnd::Both { head, tail } => FileEnd::Both { head, tail },
                };
                let segments = match part {
                    FileEnd::Head(bytes) | FileEnd::Both { head: bytes, .. } => vec![0..bytes],
                    FileEnd::Tail(_) => Vec::new(),
                };
                self.send(request, connection, source, file, segments, |file| Command::Open {
                    request: RequestTag(request.0),
                    file,
                    part,
                });
                if let Some(state) = self.requests.get_mut(&request) {
                    state.joins = joins;
                }
            }
            Action::Fetch { request, connection, source, file, segments, hedge } => {
                let segments = match hedge {
                    true => segments,
                    false => self.unfetched(request, connection, file, segments),
                };
                if segments.is_empty() {
                    return;
                }
                let asked = segments.clone();
                self.send(request, connection, source, file, asked, |file| Command::Fetch {
                    request: RequestTag(request.0),
                    file,
                    segments,
                });
                if hedge {
                    self.trace.hedge(request.0, 1, 0);
                }
            }
            Action::Cancel { request, connection } => {
                if let Some(there) = self.connections.get(&connection) {
                    let _ = there.commands.send(Command::Cancel { request: RequestTag(request.0) });
                }
            }
            Action::Disconnect { connection } => {
                if self.connections.remove(&connection).is_some() {
                    self.leave_slot(connection);
                    self.trace.disconnected(connection.0);
                    self.lose_requests(connection);
                }
            }
        }
    }

    fn connect(&mut self, connection: ConnectionId, server: ServerId) {
        let Some(permit) = self.let_connect(connection, server) else { return };
        let state = &self.servers[&server];
        let (commands, receiver) = mpsc::unbounded_channel();
        let link = DriverLink {
            connection: ConnectionTag(connection.0),
            commands: receiver,
            events: self.event_sender.clone(),
        };
        self.trace.connecting(connection.0, state.name.clone());
        let source = state.name.clone();
        self.connections.insert(connection, ConnectionState { commands, server, source });
        let run = state.server.clone().run(link);
        tokio::spawn(async move {
            run.await;
            drop(permit);
        });
    }

    fn send(
        &mut self,
        request: RequestId,
        connection: ConnectionId,
        source: SourceId,
        file: FileId,
        segments: Vec<std::ops::Range<u64>>,
        command: impl FnOnce(FileRef) -> Command,
    ) {
        let Some(state) = self.files.get_mut(&file) else { return };
        let Some(there) = self.connections.get(&connection) else { return };
        let Some(file_ref) = state.file_ref(source).cloned() else { return };
        if !state.touched.contains(&connection) {
            state.touched.push(connection);
        }
        let reported = state.shadow_of.unwrap_or(file);
        let command = command(file_ref);
        let open = matches!(command, Command::Open { .. });
        let state = RequestState { file, source, connection, is_open: open, joins: false };
        self.requests.insert(request, state);
        self.trace.sent(RequestRecord {
            request: request.0,
            file: reported.0,
            source: there.source.clone(),
            connection: connection.0,
            kind: if open { RequestKind::Open } else { RequestKind::Fetch },
            segments,
            sent: Default::default(),
            first_byte: None,
            done: None,
            received: 0,
            failed: false,
        });
        let _ = there.commands.send(command);
    }

    fn take_event(&mut self, event: Event) {
        match event {
            Event::Ready { want } => self.deliver(want),
            Event::Failed { want, why } => {
                let Some((key, index)) = self.wants.get(&want).copied() else { return };
                if self.want_of_origin(key, index) {
                    return;
                }
                let Some(group) = self.groups.get_mut(&key) else { return };
                let via = group.members[index].place.via;
                let range = group.members[index].asked.range.clone();
                let Some(file) = self.files.get(&group.file) else { return };
                let of = group.file;
                let error = file.error_of(&why);
                group.deliver(index, Err(error.with_range(range.clone())));
                self.end_member(key, index);
                self.came_not(of, (key, index), via, &range);
            }
            Event::Opened { file, .. } => self.answer_open(file),
            Event::OpenFailed { file, why } => {
                let Some(state) = self.files.get_mut(&file) else { return };
                let error = state.error_of(&why);
                if let Some(opening) = state.opening.take() {
                    let _ = opening.reply.send(Err(error));
                }
                self.close(file);
            }
            Event::SourceState { file, source, state } => {
                self.report_source_state(file, source, state)
            }
            Event::Forget { file, range } => {
                if let Some(state) = self.files.get_mut(&file) {
                    state.store.forget(range);
                }
            }
        }
    }

    /// Hands over the bytes of a want that are here.
    fn deliver(&mut self, want: WantId) {
        let now = self.clock.now();
        let Some((key, index)) = self.wants.get(&want).copied() else { return };
        let Some(group) = self.groups.get_mut(&key) else { return };
        let Member { asked, place, .. } = &group.members[index];
        let Some(file) = self.files.get_mut(&place.file) else { return };
        let bytes = file.store.get(place.range.clone()).ok_or_else(|| {
            let error = match file.store.has(&place.range) {
                true => Error::no_memory(place.bytes()),
                false => Error::new(ErrorKind::Io, "bytes reported as delivered are missing"),
            };
            error.with_range(asked.range.clone())
        });
        let is_cached = matches!(place.via, Via::Cache | Via::Awaited);
        let joined = if bytes.is_ok() && !is_cached { file.store.count(&place.range) } else { 0 };
        let bytes = match bytes {
            Ok(part) if place.is_part => match decode_part(&asked.range, &part) {
                Some(packed) => Ok(packed),
                None => {
                    self.scheduler.release(now, want);
                    return self.forget_part(key, index);
                }
            },
            bytes => bytes,
        };
        if let Ok(bytes) = &bytes {
            self.came(key, index, bytes, joined);
        }
        let bytes = bytes.map(|bytes| (bytes, CameFrom { is_cached, joined }));
        let Some(group) = self.groups.get_mut(&key) else { return };
        if group.deliver(index, bytes) {
            // The handle that wants them holds them: kept here as well, they would take memory for
            // as long as the values decoded from them, and their buffers could not be used again.
            self.scheduler.take(now, want);
        } else {
            self.scheduler.release(now, want);
            self.end_member(key, index);
        }
    }

    /// The report has the history of each source of a file.
    fn report_source_state(&mut self, id: FileId, source: SourceId, state: SourceState) {
        let Some(file) = self.files.get(&id) else { return };
        let Some((server, _)) = file.sources.get(&source) else { return };
        let name = self.servers[server].name.clone();
        if let SourceState::Disabled { until } = state {
            let pause = until.saturating_sub(self.clock.now()).as_secs_f64();
            let why = file.errors.iter().find(|(server, _)| **server == *name);
            let why = why.map_or("it is late or silent", |(_, error)| error.message());
            let text = format!("{name} is left alone for {pause:.0} s: {why}");
            self.trace.note(Some(id.0), text);
        }
        self.trace.source_state(id.0, name, state);
        if let (SourceState::Disabled { .. }, Some(server)) =
            (state, self.server_of_source(id, source))
        {
            self.search_soon(id, server);
        }
    }

    fn answer_open(&mut self, id: FileId) {
        let Some(file) = self.files.get_mut(&id) else { return };
        let Some(info) = file.info().cloned() else { return };
        let Some(server) = file.first else { return };
        let Some(opening) = file.opening.take() else { return };
        opening.activity.enter(Phase::Metadata);
        let source = self.servers.get(&server);
        let source = source.map_or_else(String::new, |state| state.name.to_string());
        let delivered = match &opening.early_head {
            // Bytes for which others wait stay.
            Some(head) => {
                let head = head.start..head.end.min(info.size);
                file.store.get(head.clone()).map(|bytes| (head.start, bytes)).into_iter().collect()
            }
            None => file.store.drain(),
        };
        let exposure = file.exposure.clone();
        let kept = self.confirm_entry(id, &info, &delivered);
        let opened = Opened { file: id, info, delivered, source, kept, exposure };
        self.scheduler.forget_open(self.clock.now(), id);
        if opening.reply.send(Ok(opened)).is_err() {
            return self.close(id);
        }
        self.fill(id);
    }
}

/// The phase of an open that has been sent to a server.
fn opening(connected: bool) -> Phase {
    if connected { Phase::Opening } else { Phase::Connecting }
}

/// The part of the memory that hints may take on a link that holds much: at the default, twice the
/// bytes of 10 Gbit/s and 100 ms.
const READAHEAD_PART: u64 = 4;

fn budgets(config: &Config) -> scheduler::Budgets {
    let usual = scheduler::Budgets::default();
    let readahead = usual.readahead_bytes_max.max(config.memory_bytes_max / READAHEAD_PART);
    scheduler::Budgets {
        memory_bytes_max: config.memory_bytes_max,
        readahead_bytes_max: readahead,
        connections_per_server_max: config.connections_max,
        connections_for_requests_max: config.connections_for_requests_max,
        connections_initial: config.connections_initial,
        coalesces: config.coalescing,
        unreachable_after: config.connect_timeout / 5 * 4,
        outage_max: config.retry_timeout,
        stall_timeout: config.stall_timeout,
        sources_active: config.sources_active,
        connect_max: config.connect_timeout.saturating_add(config.read_timeout),
        silence_max: config.read_timeout,
        least_rate: config.least_rate,
        wait_max: config.wait_max(),
        ..usual
    }
}

/// Files for which no read waits on a link.
const LINK_BRIEF: u64 = 64 << 10;
/// The same on a disk of this machine.
const LOCAL_BRIEF: u64 = 1 << 20;

fn scheduler_traits(traits: &source::ServerTraits) -> scheduler::ServerTraits {
    scheduler::ServerTraits {
        segments_max: traits.segments_max,
        segment_bytes_max: traits.segment_bytes_max,
        request_bytes_max: traits.request_bytes_max,
        request_bytes_brief: if traits.local { LOCAL_BRIEF } else { LINK_BRIEF },
        chunk_bytes_whole: if traits.local { source::local::PIECE_BYTES } else { 0 },
        pipelined: traits.pipelined,
        suffix: traits.suffix,
        both_ends: match traits.both_ends {
            BothEnds::Never => scheduler::BothEnds::Never,
            BothEnds::Untried => scheduler::BothEnds::Untried,
            BothEnds::Served => scheduler::BothEnds::Served,
        },
        distance_hint_rtt: traits.local.then_some(std::time::Duration::ZERO),
        request_overhead: traits.request_overhead,
        max_connections: traits.connections_max,
        is_disk: traits.local,
    }
}
