//! Hedged requests: bytes that are late at one source are requested from another one, too; the
//! first answer wins.
//!
//! A request is late by the measure of its own connection: it has taken twice as long as expected.
//! An idle source then gets a request for the missing bytes, and whichever brings the last awaited
//! byte first, the other one is cancelled. All bytes requested twice stay within a budget. A
//! request that is very late costs its source the work: the bytes that it owes go to the others for
//! good.

use std::ops::Range;

use crate::connection::Phase;
use crate::estimate::bytes_in;
use crate::ids::{ConnectionId, RequestId, ServerId, SourceId, Time};
use crate::message::{Action, Failure};
use crate::scheduler::{Request, Scheduler};
use crate::sources::SourceState;

/// Beyond its due time; clocks, other people's traffic and a lost packet are no reason.
const LATE: Time = Time::from_millis(150);
/// A source is left when a request of it takes this many times the expected time, and this much
/// more.
const LEFT_AFTER: u32 = 4;
const LEFT_BEYOND: Time = Time::from_secs(1);
/// Bytes that may be asked twice whatever was wanted: the tail of a small read.
const HEDGE_BYTES_MIN: u64 = 128 << 10;
/// Maximum bytes of one request to a connection that has to prove itself.
const PROOF_BYTES_MAX: u64 = 64 << 10;
/// A connection with at most so many bytes in flight has room for those that are late elsewhere.
const IDLE_BYTES: u64 = 64 << 10;
/// The rate of a connection of which nothing is known, bytes per second.
const RATE_GUESS: u64 = 250_000;

/// When something is to be done about a request, unless it is answered before: it is asked for
/// elsewhere, or, where it has been, its source is left.
fn due(request: &Request) -> Time {
    if request.paired.is_none() { request.late_at } else { request.left_at }
}

impl Scheduler {
    /// How long a request may take that joins those in flight on a connection.
    pub(crate) fn expected(&self, id: ConnectionId) -> Time {
        let Some(connection) = self.connections.get(&id) else { return Time::ZERO };
        let Some(server) = self.servers.get(&connection.server) else { return Time::ZERO };
        let part = server.pace.rate() / server.connections.len().max(1) as u64;
        let rate = match (connection.meter.rate(), part) {
            (0, 0) => RATE_GUESS,
            (own, part) => own.max(part),
        };
        // A cold connection has to log in and to open the file before it widens its window.
        let trips = if connection.phase == Phase::Usable { 2 } else { 6 };
        let transfer = u128::from(connection.in_flight) * 1_000_000_000 / u128::from(rate);
        let transfer = Time::from_nanos(u64::try_from(transfer).unwrap_or(u64::MAX));
        server.rtt_or_guess().saturating_mul(trips).saturating_add(transfer)
    }

    /// A request could be answered sooner elsewhere.
    fn has_rivals(&self, request: &Request) -> bool {
        let state = self.files.get(&request.file);
        request.part.is_none()
            && !request.cancelled
            && state.is_some_and(|state| state.sources.active() > 1)
    }

    /// When something has to be done about requests that are late.
    pub(crate) fn next_late(&self) -> Option<Time> {
        if self.replicated.is_empty() {
            return None;
        }
        let rivalled = self.requests.values().filter(|request| self.has_rivals(request));
        rivalled.map(due).min()
    }

    /// Requests that are late concern those who have nothing to do; very late ones cost their
    /// sources the work.
    pub(crate) fn review_late(&mut self) {
        if self.next_late().is_none_or(|at| at > self.now) {
            return;
        }
        let mut left: Vec<SourceId> = Vec::new();
        let now = self.now;
        let mut idle = Vec::new();
        for (id, request) in &self.requests {
            if !self.has_rivals(request) || due(request) > now {
                continue;
            }
            if request.left_at <= now && !left.contains(&request.source) {
                left.push(request.source);
            }
            idle.push(*id);
        }
        for source in left {
            self.leave_slow(source);
        }
        for id in idle {
            // No connection may have had room: it is looked at again, not at once.
            if let Some(request) = self.requests.get_mut(&id) {
                request.late_at = now.saturating_add(LATE);
                request.left_at = request.left_at.max(request.late_at);
                request.is_late = true;
                let file = request.file;
                let state = self.files.get(&file);
                let servers = state.map(|state| state.sources.serving()).unwrap_or_default();
                self.awake.extend(servers.into_iter().map(|(_, server)| server));
            }
        }
    }

    /// A source has become so slow that the others do its work. The answers that its connections
    /// still bring would delay those to later requests.
    fn leave_slow(&mut self, source: SourceId) {
        let Some(file) = self.sources.get(&source).copied() else { return };
        let state = self.files.get(&file);
        let server = state.and_then(|state| state.sources.get(source)).map(|there| there.server);
        let Some(server) = server else { return };
        let busy: Vec<ConnectionId> = self
            .requests
            .values()
            .filter(|request| request.source == source && !request.cancelled)
            .map(|request| request.connection)
            .collect();
        self.fail_source(source, Failure::LATER);
        if let Some(server) = self.servers.get_mut(&server) {
            server.forget_rate();
        }
        for connection in busy {
            let others = self.connections.get(&connection).is_some_and(|connection| {
                connection
                    .requests
                    .iter()
                    .any(|id| self.requests.get(id).is_some_and(|request| !request.cancelled))
            });
            if !others && self.connections.contains_key(&connection) {
                self.disconnect(connection);
            }
        }
    }

    /// Asks an idle connection of a server for bytes that are late elsewhere.
    pub(crate) fn send_hedge(&mut self, id: ServerId) -> Option<Action> {
        if self.replicated.is_empty() {
            return None;
        }
        let server = self.servers.get(&id)?;
        let connections = server.in_use().filter_map(|id| {
            let connection = self.connections.get(&id)?;
            let idle = connection.phase == Phase::Usable && connection.in_flight <= IDLE_BYTES;
            let room = connection.requests.len() < server.requests_max(&self.budgets);
            (idle && room).then_some((connection.in_flight, id))
        });
        let (_, connection) = connections.min()?;
        let late = self.requests.iter().filter(|(_, request)| {
            let elsewhere =
                self.connections.get(&request.connection).is_some_and(|c| c.server != id);
            request.is_late && request.paired.is_none() && elsewhere && self.has_rivals(request)
        });
        let late = late.filter(|(_, request)| self.source_at(request, id).is_some());
        let late = late.min_by_key(|(id, request)| (request.late_at, **id)).map(|(id, _)| *id)?;
        let allowed = self.counters.wanted_bytes / 1000 * self.budgets.hedge_per_mille;
        let allowed = allowed.max(HEDGE_BYTES_MIN).saturating_sub(self.counters.hedged_bytes);
        self.hedge(late, connection, allowed)
    }

    /// The active source of a request's file at a server.
    fn source_at(&self, request: &Request, server: ServerId) -> Option<SourceId> {
        let sources = &self.files.get(&request.file)?.sources;
        let mut at = sources.iter().filter(|(_, source)| source.server == server);
        at.find(|(_, source)| source.state == SourceState::Active).map(|(id, _)| id)
    }

    /// Requests a few of the bytes that a request owes on a connection that has to prove that its
    /// server lives.
    pub(crate) fn ask_also(&mut self, owed: RequestId, on: ConnectionId) {
        if let Some(action) = self.hedge(owed, on, PROOF_BYTES_MAX) {
            self.actions.push_back(action);
        }
    }

    /// Asks for at most so many of the awaited bytes of a request once more.
    fn hedge(&mut self, late: RequestId, on: ConnectionId, bytes_max: u64) -> Option<Action> {
        let server = self.connections.get(&on)?.server;
        let request = self.requests.get(&late)?;
        let source = self.source_at(request, server).unwrap_or(request.source);
        let file = request.file;
        let traits = &self.servers.get(&server)?.traits;
        let segments_max = traits.segments_max.max(1);
        let segment_max = traits.segment_bytes_max;
        let state = self.files.get_mut(&file)?;
        let mut left = bytes_max;
        let mut segments: Vec<Range<u64>> = Vec::new();
        for owed in request.segments.iter().flat_map(|range| state.chunks.owed(range, late)) {
            let bytes = left.min(owed.end - owed.start).min(segment_max);
            if bytes == 0 || segments.len() >= segments_max as usize {
                break;
            }
            left -= bytes;
            segments.push(owed.start..owed.start + bytes);
        }
        if segments.is_empty() {
            return None;
        }
        let id = RequestId(self.new_name());
        let state = self.files.get_mut(&file)?;
        segments.iter().for_each(|range| state.chunks.ask_again(range, id));
        self.requests.get_mut(&late)?.paired = Some(id);
        let bytes = bytes_max - left;
        self.counters.hedges += 1;
        self.counters.hedged_bytes += bytes;
        self.counters.fetches += 1;
        self.counters.segments += segments.len() as u64;
        self.book(id, on, source, file, None, segments.clone(), bytes);
        self.owe_if_watched(id);
        if let Some(request) = self.requests.get_mut(&id) {
            request.paired = Some(late);
            request.is_hedge = true;
        }
        Some(Action::Fetch { request: id, connection: on, source, file, segments, hedge: true })
    }

    /// Bytes of a request have come: the paired one is cancelled if nothing else of it is awaited.
    pub(crate) fn settle_twin(&mut self, id: RequestId) {
        let Some(paired) = self.requests.get(&id).and_then(|request| request.paired) else {
            return;
        };
        let Some(other) = self.requests.get(&paired).filter(|other| !other.cancelled) else {
            return;
        };
        let Some(state) = self.files.get(&other.file) else { return };
        if !other.segments.iter().any(|segment| !state.chunks.owed(segment, paired).is_empty()) {
            self.abandon(paired);
        }
    }

    /// When a request sent now on a connection is late, and when its source is left for it.
    pub(crate) fn deadlines(&self, on: ConnectionId) -> (Time, Time) {
        let expected = self.expected(on);
        let late = expected.saturating_mul(2).saturating_add(LATE);
        let left = expected.saturating_mul(LEFT_AFTER).saturating_add(LEFT_BEYOND);
        (self.now.saturating_add(late), self.now.saturating_add(left))
    }

    /// Bytes in flight at a server that has rivals: enough to keep its link full, and no more,
    /// since bytes that are needed first may be among them.
    pub(crate) fn in_flight_fair(&self, id: ServerId) -> u64 {
        const UNKNOWN: u64 = 512 << 10;
        const AHEAD: Time = Time::from_millis(250);
        let Some(server) = self.servers.get(&id) else { return 0 };
        let span = server.rtt_or_guess().saturating_mul(2).saturating_add(AHEAD);
        bytes_in(server.pace.rate(), span).max(UNKNOWN)
    }
}
