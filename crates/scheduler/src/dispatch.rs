//! The next actions: connections, then opens, then fetches, server by server.

use std::ops::Range;

use crate::coalesce::{self, Costs, Limits};
use crate::connection::{Connection, Phase};
use crate::estimate::bytes_in;
use crate::ids::{ConnectionId, FileId, RequestId, ServerId, SourceId, Time};
use crate::message::{Action, Event, FileEnd, Urgency};
use crate::scheduler::{Request, Scheduler};
use crate::split::{self, Pipe};

/// Fewer bytes are not worth a request of their own: a cold connection delivers nearly twice as
/// many in its first round trip, and widens its window only by one that is more than half full.
const REQUEST_BYTES_MIN: u64 = 8 << 10;
/// On a connection that takes one request at a time, a longer one wastes less of the pauses.
const REQUEST_BYTES_ALONE: u64 = 1 << 20;
/// There a request may be longer than [`Budgets::request_bytes_max`](crate::Budgets) once the rate
/// stands and two round trips bring more than that: the pause before a request is one of them. At
/// most so many bytes:
const REQUEST_BYTES_ALONE_MAX: u64 = 16 << 20;
/// A connection that takes longer than this many round trips to come up gets no new work while
/// others are usable.
const CONNECT_TRIPS_MAX: u32 = 4;

/// Opens take at most this part of a connection's requests, so that a thousand files being opened
/// leave room to read one.
const OPENS_PART: usize = 2;
/// Where the server's work for a request is the main cost (a disk, a near server), a request brings
/// this many times the bytes that could come meanwhile.
const WORK_RATIO: u64 = 16;

/// A connection that may be given requests.
#[derive(Debug, Clone, Copy)]
struct Room {
    connection: ConnectionId,
    pipe: Pipe,
    /// The length of a request that is worth its cost.
    least: u64,
    /// The longest request that delays no other noticeably.
    most: u64,
}

impl Scheduler {
    /// The next action of the caller. Call until it returns `None`.
    pub fn poll_action(&mut self, now: Time) -> Option<Action> {
        self.advance(now);
        if let Some(action) = self.actions.pop_front() {
            return Some(action);
        }
        while let Some(server) = self.awake.first().copied() {
            if let Some(action) = self.dispatch(server) {
                return Some(action);
            }
            self.awake.remove(&server);
        }
        None
    }

    /// The next event to report. Call until it returns `None`.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// When to call [`handle_timeout`](Self::handle_timeout), if nothing happens before.
    pub fn poll_timeout(&self) -> Option<Time> {
        let resting = self.resting.keys().next().map(|(at, _)| *at);
        let servers = self.servers.values().filter(|server| server.retrying);
        servers
            .map(|server| server.retry_at)
            .chain(self.connection_deadlines().map(|(_, at)| at))
            .chain(resting)
            .chain(self.next_starved())
            .chain(self.servers.keys().filter_map(|id| self.stall_deadline(*id)))
            .chain(self.next_late())
            .chain(self.next_review())
            .min()
    }

    /// When each connection has failed, or is of no use any more, unless something comes.
    pub(crate) fn connection_deadlines(&self) -> impl Iterator<Item = (ConnectionId, Time)> {
        self.servers.values().flat_map(move |server| {
            let enough = server.connections_max(&self.budgets) as usize;
            server.connections.iter().enumerate().filter_map(move |(at, id)| {
                let connection = self.connections.get(id)?;
                Some((*id, connection.deadline(&self.budgets, at >= enough)?))
            })
        })
    }

    fn dispatch(&mut self, server: ServerId) -> Option<Action> {
        self.connect(server)
            .or_else(|| self.send_open(server))
            .or_else(|| self.send_join(server))
            .or_else(|| self.send_fetch(server))
            .or_else(|| self.send_hedge(server))
            .or_else(|| {
                self.consider_requests(server);
                self.connect(server)
            })
    }

    /// Nothing more can be sent on the connections of a server: are more wanted for requests?
    fn consider_requests(&mut self, id: ServerId) {
        let Some(server) = self.servers.get_mut(&id) else { return };
        let usable = server.in_use().filter(|id| {
            self.connections.get(id).is_some_and(|there| there.phase == Phase::Usable)
        });
        let usable = usable.count() as u32;
        server.consider_requests(self.now, usable, &self.budgets);
    }

    /// Asks for one more connection, if more are wanted.
    fn connect(&mut self, id: ServerId) -> Option<Action> {
        let server = self.servers.get(&id)?;
        if server.retrying || !(server.warm_up || server.has_work()) {
            return None;
        }
        let target = u64::from(server.growth.target());
        let wanted = if server.warm_up {
            target
        } else {
            let bytes = match self.replicated.is_empty() {
                true => server.queued[0].saturating_add(server.queued[1]),
                // Others may do it all.
                false => self.next_for(id).map_or(0, |(.., bytes)| bytes),
            };
            let requests = bytes.div_ceil(REQUEST_BYTES_MIN);
            let opens = (server.opens.len() + server.joins.len()) as u64;
            requests.saturating_add(opens).min(target.max(1))
        };
        let wanted = wanted.min(u64::from(server.connections_max(&self.budgets)));
        let for_requests = server.connections_for_requests(&self.budgets);
        if server.connections.len() as u64 >= wanted.max(u64::from(for_requests)) {
            self.servers.get_mut(&id)?.warm_up = false;
            return None;
        }
        let connection = self.book_connection(id);
        Some(Action::Connect { connection, server: id })
    }

    /// Makes a connection beyond those that the load asks for.
    pub(crate) fn start_connection(&mut self, server: ServerId) -> ConnectionId {
        let connection = self.book_connection(server);
        self.actions.push_back(Action::Connect { connection, server });
        connection
    }

    fn book_connection(&mut self, id: ServerId) -> ConnectionId {
        let connection = self.new_connection();
        if let Some(server) = self.servers.get_mut(&id) {
            server.connections.insert(connection);
        }
        let is_disk = self.servers.get(&id).is_some_and(|server| server.traits.is_disk);
        self.connections.insert(connection, Connection::new(id, self.now, is_disk));
        self.counters.connections += 1;
        connection
    }

    /// The connection of a server with the least to do that takes one more open.
    pub(crate) fn roomiest(&self, id: ServerId) -> Option<ConnectionId> {
        self.roomiest_of(id, usize::MAX)
    }

    /// The same of its first `count` connections.
    fn roomiest_of(&self, id: ServerId, count: usize) -> Option<ConnectionId> {
        let server = self.servers.get(&id)?;
        let requests_max = server.requests_max(&self.budgets).div_ceil(OPENS_PART);
        server
            .in_use()
            .take(count)
            .filter_map(|id| self.connections.get(&id).map(|connection| (id, connection)))
            .filter(|(_, connection)| connection.requests.len() < requests_max)
            .min_by_key(|(id, c)| {
                (c.phase == Phase::Connecting, c.requests.len(), c.in_flight, *id)
            })
            .map(|(id, _)| id)
    }

    /// The file whose open is to go on: the first one, but for the end of a file whose head is
    /// under way. The head may be all of that file, and meanwhile the heads of others can be sent.
    /// That end gets none of the connections that were made for many requests.
    fn next_open(&self, id: ServerId) -> Option<(FileId, ConnectionId)> {
        let server = self.servers.get(&id)?;
        let is_next = |file: &&FileId| {
            let opening = self.files.get(file).and_then(|state| state.opening.as_ref());
            opening.is_some_and(|opening| {
                opening.in_flight == 0 || !matches!(opening.todo.first(), Some(FileEnd::Tail(_)))
            })
        };
        if let Some(file) = server.opens.iter().find(is_next) {
            return Some((*file, self.roomiest(id)?));
        }
        let file = server.opens.first()?;
        let connection = self.roomiest_of(id, server.connections_max(&self.budgets) as usize)?;
        Some((*file, connection))
    }

    /// Sends a part of an open to the connection with the least to do.
    fn send_open(&mut self, id: ServerId) -> Option<Action> {
        let (file, connection) = self.next_open(id)?;
        let state = self.files.get_mut(&file)?;
        let (source, at) = state.sources.best()?;
        if at != id {
            // Another one has become better since.
            self.refresh(file);
            return None;
        }
        let opening = state.opening.as_mut()?;
        if opening.todo.is_empty() {
            return None;
        }
        let part = opening.todo.remove(0);
        opening.in_flight += 1;
        let request = RequestId(self.new_name());
        let part = self.servers.get_mut(&id)?.part_to_send(part, request);
        let state = self.files.get_mut(&file)?;
        let segments = match (state.size, part) {
            (Some(size), part) => part.ranges(size),
            (None, FileEnd::Head(head) | FileEnd::Both { head, .. }) => vec![0..head],
            (None, FileEnd::Tail(_)) => Vec::new(),
        };
        for segment in &segments {
            state.chunks.hold(segment, request);
        }
        self.counters.opens += 1;
        self.book(request, connection, source, file, Some(part), segments, part.bytes());
        self.owe_if_watched(request);
        self.refresh(file);
        Some(Action::Open { request, connection, source, file, part, joins: false })
    }

    /// Sends for the most important bytes, on the connection that will have them first.
    fn send_fetch(&mut self, id: ServerId) -> Option<Action> {
        let server = self.servers.get(&id)?;
        let (urgency, file, source, queued) = self.next_for(id)?;
        let rooms = self.rooms(id, urgency);
        let pipes: Vec<Pipe> = rooms.iter().map(|room| room.pipe).collect();
        let share = split::place(&pipes, queued).filter(|share| {
            // Not a crumb for one that has enough to do: there will be more for it, or nothing.
            let room = rooms[share.pipe];
            share.bytes >= room.least / 2 || room.pipe.in_flight <= room.pipe.window
        });
        let Some(share) = share else {
            let rtt = server.rtt_or_guess();
            let rate = server.meter.rate();
            let most = server.connections_max(&self.budgets);
            let server = self.servers.get_mut(&id)?;
            server.growth.consider(self.now, rtt, rate, queued, most);
            return None;
        };
        let room = rooms[share.pipe];
        let bytes = split::request_bytes(share, queued, room.least, room.most);
        let request = RequestId(self.new_name());
        let limits = self.limits(id, bytes)?;
        let state = self.files.get_mut(&file)?;
        let (segments, unwanted) = coalesce::compose(&mut state.chunks, request, limits);
        if segments.is_empty() {
            self.refresh(file);
            return None;
        }
        self.counters.over_read_bytes += unwanted;
        let bytes = segments.iter().map(|segment| segment.end - segment.start).sum();
        self.counters.fetches += 1;
        self.counters.segments += segments.len() as u64;
        self.book(request, room.connection, source, file, None, segments.clone(), bytes);
        self.owe_if_watched(request);
        self.spend_allowance(file, source, bytes);
        self.refresh(file);
        let connection = room.connection;
        Some(Action::Fetch { request, connection, source, file, segments, hedge: false })
    }

    /// The connections of a server that may be given requests, now or when they have room.
    fn rooms(&self, id: ServerId, urgency: Urgency) -> Vec<Room> {
        let Some(server) = self.servers.get(&id) else { return Vec::new() };
        let traits = &server.traits;
        let rtt = server.round_trip.get();
        let overdue = server.rtt_or_guess().saturating_mul(CONNECT_TRIPS_MAX);
        let longest = self.budgets.request_bytes_max.min(traits.request_bytes_max).max(1);
        let longest_alone = traits.request_bytes_max.min(REQUEST_BYTES_ALONE_MAX).max(longest);
        let requests_max = server.requests_max(&self.budgets);
        let count_max = match server.has_small_requests() {
            true => usize::MAX,
            false => server.connections_max(&self.budgets) as usize,
        };
        let all = server.in_use().take(count_max);
        let all = all.filter_map(|id| Some((id, self.connections.get(&id)?)));
        let in_flight: u64 = all.clone().map(|(_, connection)| connection.in_flight).sum();
        let crowded = urgency == Urgency::Hint && in_flight > server.hints_max();
        let in_flight_max = server.in_flight_max();
        let is_filled = server.fills_link();
        let count = all.clone().count().max(1) as u64;
        let any_usable = all.clone().any(|(_, connection)| connection.phase == Phase::Usable);
        let room = |(connection, state): (ConnectionId, &Connection)| {
            let stuck = any_usable
                && state.phase == Phase::Connecting
                && self.now.saturating_sub(state.since) > overdue;
            let overhead = bytes_in(state.meter.rate(), traits.request_overhead);
            let held = if is_filled { state.in_flight_held() } else { u64::MAX };
            let limit = state.in_flight_max(rtt).min(held);
            let most = match traits.pipelined {
                true => (limit / 4).max(traits.request_bytes_brief),
                false => limit.max(REQUEST_BYTES_ALONE),
            };
            let worth = overhead.saturating_mul(WORK_RATIO).min(longest);
            let most = match !traits.pipelined && is_filled && limit > longest {
                true => limit.saturating_mul(2).min(longest_alone),
                false => most.min(longest).max(worth),
            };
            let limit = limit.max(most.saturating_mul(2));
            let enough = in_flight_max.max(worth.saturating_mul(2 * count));
            let is_enough = in_flight.saturating_add(most) > enough;
            // Hints leave room that a demand finds at once.
            let limit = if urgency == Urgency::Hint { limit / 4 * 3 } else { limit };
            let full = crowded
                || state.requests.len() >= requests_max
                || (!state.requests.is_empty()
                    && (is_enough || state.in_flight.saturating_add(most) > limit));
            let least = overhead.max(REQUEST_BYTES_MIN).min(most);
            let pipe = Pipe { full, ..state.pipe(self.now, rtt) };
            (!stuck).then_some(Room { connection, pipe, least, most })
        };
        all.filter_map(room).collect()
    }

    /// The limits of one request of about `bytes` to a server.
    fn limits(&self, id: ServerId, bytes: u64) -> Option<Limits> {
        let server = self.servers.get(&id)?;
        let overlap = server.connections.len() * server.requests_max(&self.budgets);
        let costs = Costs {
            request_overhead: server.traits.request_overhead,
            round_trip: server.rtt_or_guess(),
            bandwidth: server.bandwidth_or_guess(),
            overlap: u32::try_from(overlap).unwrap_or(u32::MAX),
            vectored: server.traits.segments_max > 1,
        };
        let allowed = self.counters.wanted_bytes / 1000 * self.budgets.over_read_per_mille;
        Some(Limits {
            bytes,
            segments: server.traits.segments_max.max(1) as usize,
            segment_bytes: server.traits.segment_bytes_max,
            gap: costs.gap_bytes_max(),
            region_gap: costs.region_gap_bytes_max(),
            over_read: allowed.saturating_sub(self.counters.over_read_bytes),
            whole: server.chunk_bytes_whole(),
            apart: !self.budgets.coalesces,
        })
    }

    /// Enters a request into the books.
    #[expect(clippy::too_many_arguments, reason = "they are the fields of one record")]
    pub(crate) fn book(
        &mut self,
        id: RequestId,
        connection_id: ConnectionId,
        source: SourceId,
        file: FileId,
        part: Option<FileEnd>,
        segments: Vec<Range<u64>>,
        bytes: u64,
    ) {
        if let Some(connection) = self.connections.get_mut(&connection_id) {
            let rtt =
                self.servers.get(&connection.server).and_then(|server| server.round_trip.get());
            connection.sent(id, bytes, self.now, rtt);
        }
        let (late_at, left_at) = self.deadlines(connection_id);
        let at = self.connections.get(&connection_id).map(|connection| connection.server);
        let in_flight = at.map_or(0, |server| self.in_flight_at(server));
        let Some(connection) = self.connections.get_mut(&connection_id) else { return };
        let Some(server) = self.servers.get_mut(&connection.server) else { return };
        self.counters.asked_bytes += bytes;
        let request = Request {
            connection: connection_id,
            source,
            file,
            part,
            segments,
            bytes,
            left: bytes,
            sent_at: self.now,
            warm: connection.phase == Phase::Usable,
            joins: false,
            paired: None,
            is_hedge: false,
            is_late: false,
            late_at,
            left_at,
            answered: false,
            is_damaged: false,
            cancelled: false,
            connection_mark: connection.meter.mark(self.now),
            server_mark: server.meter.mark(self.now),
            pace_mark: server.pace.mark(self.now),
            is_load: server.is_load(in_flight),
            is_watched: false,
        };
        self.requests.insert(id, request);
    }
}
