//! Failures of requests, connections, servers and sources: their work goes elsewhere.

use crate::chunk::Return;
use crate::connection::Phase;
use crate::ids::{ConnectionId, FileId, RequestId, ServerId, SourceId, Time, WantId};
use crate::message::{Action, Event, Failure, FileEnd, WantFailure};
use crate::scheduler::{Request, Resting, Scheduler};
use crate::sources::{Source, SourceState};

/// A server that was reached before and fails so often in a row loses its sources to others, where
/// there are any.
const FAILURES_WITH_OTHERS: u32 = 2;

impl Scheduler {
    /// A fetch has failed. Another source may have its bytes; else they are asked for again later,
    /// or come to nothing.
    pub(crate) fn fail_fetch(&mut self, id: RequestId, request: &Request, failure: Failure) {
        let state = self.files.get(&request.file);
        let others = state.is_some_and(|state| state.sources.has_other(request.source));
        // Another source waits for no limit.
        if !others && failure.busy && self.is_worth_waiting(failure) {
            let how = self.leave_room(request, failure);
            self.give_back(request.file, request.source, id, &request.segments, how);
            return;
        }
        if others {
            self.give_back(request.file, request.source, id, &request.segments, Return::Again);
            self.fail_source(request.source, failure);
        } else if self.is_worth_waiting(failure) {
            let pause = failure.after.unwrap_or_default();
            let how = Return::Later(pause);
            self.give_back(request.file, request.source, id, &request.segments, how);
        } else {
            self.refuse(id, request);
        }
    }

    /// A server that has too many requests gets fewer at a time: the connection of the refused one
    /// goes, where others bring bytes. Else the server is asked again after a pause.
    fn leave_room(&mut self, request: &Request, failure: Failure) -> Return {
        let later = Return::Busy(failure.after.unwrap_or_default());
        let Some(at) = self.connections.get(&request.connection).map(|refused| refused.server)
        else {
            return later;
        };
        let Some(server) = self.servers.get_mut(&at) else { return later };
        let busy = server.connections.iter().filter(|id| **id != request.connection);
        let busy = busy.filter_map(|id| self.connections.get(id));
        let others = busy.filter(|connection| !connection.requests.is_empty()).count() as u32;
        if others == 0 || server.traits.pipelined {
            return later;
        }
        server.request_refused(others);
        self.actions.push_back(Action::Disconnect { connection: request.connection });
        self.forget_connection(request.connection);
        later
    }

    /// Trying again later can help, and not too much later.
    fn is_worth_waiting(&self, failure: Failure) -> bool {
        failure.retryable && failure.after.is_none_or(|pause| pause <= self.budgets.outage_max)
    }

    /// The last source says no to some bytes: the wants fail that need them.
    fn refuse(&mut self, id: RequestId, request: &Request) {
        let Some(state) = self.files.get_mut(&request.file) else { return };
        let mut refused = std::collections::BTreeSet::<WantId>::new();
        for segment in &request.segments {
            let returned = state.chunks.give_back(segment, id, Return::Again, 0);
            refused.extend(returned.exhausted);
        }
        for want in refused {
            self.fail_want(want, WantFailure::Source { source: request.source });
        }
    }

    /// A part of an open has failed.
    pub(crate) fn fail_part(
        &mut self,
        id: RequestId,
        request: &Request,
        part: FileEnd,
        failure: Failure,
    ) {
        let how = Return::Again;
        self.give_back(request.file, request.source, id, &request.segments, how);
        let worth_waiting = self.is_worth_waiting(failure);
        let Some(state) = self.files.get_mut(&request.file) else { return };
        let others = state.sources.has_other(request.source);
        let Some(opening) = &mut state.opening else { return };
        if matches!(part, FileEnd::Tail(_)) && !failure.retryable {
            // The server cannot give a suffix after all; only the head is required.
            self.end_part(request.file, request.source);
            return;
        }
        opening.in_flight = opening.in_flight.saturating_sub(1);
        opening.attempts += 1;
        opening.todo.push(part);
        let attempts_max = match failure.busy {
            true => self.budgets.busy_attempts_max(),
            false => self.budgets.attempts_max,
        };
        if others || !worth_waiting || opening.attempts >= attempts_max {
            self.fail_source(request.source, failure);
            return;
        }
        let pause = self.budgets.backoff(opening.attempts).max(failure.after.unwrap_or_default());
        self.rest_open(request.file, pause);
    }

    /// Limits the connections of a server to `allowed`; `None` removes this limit. Those beyond it
    /// get no new requests, and are closed when they have none left.
    pub fn allow_connections(&mut self, now: Time, id: ServerId, allowed: Option<u32>) {
        self.advance(now);
        let Some(server) = self.servers.get_mut(&id) else { return };
        server.allowed = allowed;
        self.awake.insert(id);
        self.close_beyond(id);
    }

    /// Closes the idle ones of the connections beyond the caller's limit.
    pub(crate) fn close_beyond(&mut self, id: ServerId) {
        let Some(server) = self.servers.get(&id) else { return };
        let allowed = server.allowed.unwrap_or(u32::MAX) as usize;
        let is_idle = |id: &ConnectionId| {
            self.connections.get(id).is_some_and(|connection| connection.requests.is_empty())
        };
        let beyond: Vec<ConnectionId> =
            server.connections.iter().skip(allowed).copied().filter(is_idle).collect();
        for connection in beyond {
            self.actions.push_back(Action::Disconnect { connection });
            self.forget_connection(connection);
        }
    }

    /// Drops a connection that the caller has not made; does not count as the server's failure.
    pub fn withhold_connection(&mut self, now: Time, id: ConnectionId) {
        self.advance(now);
        self.forget_connection(id);
    }

    fn forget_connection(&mut self, id: ConnectionId) {
        let Some(connection) = self.connections.remove(&id) else { return };
        if let Some(server) = self.servers.get_mut(&connection.server) {
            server.connections.remove(&id);
            server.probe = server.probe.filter(|probe| *probe != id);
            let mut left = server.connections.iter().filter_map(|id| self.connections.get(id));
            server.is_usable = left.any(|connection| connection.phase == Phase::Usable);
        }
        for request in connection.requests {
            self.lose_request(request, Return::Now, connection.server);
        }
        self.awake.insert(connection.server);
    }

    pub(crate) fn lose_connection(&mut self, id: ConnectionId, failure: Failure) {
        let Some(connection) = self.connections.remove(&id) else { return };
        let Some(server) = self.servers.get_mut(&connection.server) else { return };
        server.connections.remove(&id);
        let was_probe = server.probe == Some(id);
        if was_probe {
            server.probe = None;
        }
        let usable = server.connections.iter().filter(|other| {
            self.connections.get(other).is_some_and(|other| other.phase == Phase::Usable)
        });
        let usable = usable.count() as u32;
        server.is_usable = usable > 0;
        let connecting = connection.phase == Phase::Connecting;
        if connecting && !connection.is_accepted {
            server.is_out_of_reach = true;
        }
        if connecting && usable > 0 {
            // One that was to show whether the server still lives says nothing about how many.
            if !was_probe {
                server.connection_refused(usable);
            }
        } else if connecting || !connection.requests.is_empty() {
            server.connection_failed(self.now, connection.since, &self.budgets);
        }
        let took = self.now.saturating_sub(connection.since);
        let unreachable = !server.reached && took >= self.budgets.unreachable_after;
        let hopeless = usable == 0 && (unreachable || !failure.retryable);
        let often = server.failures > self.budgets.server_failures_max;
        let dead = hopeless || (often && server.is_given_up(self.now, &self.budgets));
        let ailing = usable == 0 && server.failures >= FAILURES_WITH_OTHERS;
        self.awake.insert(connection.server);
        // The server has not seen the requests sent ahead on a connection that never came up.
        let how = if connecting { Return::Now } else { Return::Again };
        for request in connection.requests {
            self.lose_request(request, how, connection.server);
        }
        if dead {
            self.fail_server(connection.server, failure);
        } else if ailing {
            self.leave_server(connection.server, failure);
        }
    }

    /// A request's connection has ended.
    fn lose_request(&mut self, id: RequestId, how: Return, at: ServerId) {
        let Some(request) = self.requests.remove(&id) else { return };
        if let Some(server) = self.servers.get_mut(&at) {
            server.end_trial(id);
        }
        if request.is_owed() {
            self.owe_less(request.file);
        }
        if request.cancelled {
            return;
        }
        self.counters.retries += 1;
        // A server that breaks off again and again gets time to recover, if there is no other.
        let state = self.files.get(&request.file);
        let others = state.is_some_and(|state| state.sources.has_other(request.source));
        let how = match how {
            Return::Again if !others => Return::Later(Time::ZERO),
            how => how,
        };
        self.give_back(request.file, request.source, id, &request.segments, how);
        if request.joins {
            self.lose_join(request.file, request.source, Time::ZERO);
        } else if let (Some(part), Some(state)) = (request.part, self.files.get_mut(&request.file))
            && let Some(opening) = &mut state.opening
        {
            opening.in_flight = opening.in_flight.saturating_sub(1);
            opening.todo.push(part);
            // All connections of a server that has died end at the same moment: those that are met
            // before the pause is over count once.
            if how != Return::Now && !opening.resting {
                opening.attempts += 1;
                let attempts = opening.attempts;
                match attempts >= self.budgets.attempts_max {
                    true => self.fail_source(request.source, Failure::LATER),
                    false if others => {}
                    false => self.rest_open(request.file, self.budgets.backoff(attempts - 1)),
                }
            }
        }
        self.refresh(request.file);
    }

    /// Sends no part of an open for a while.
    fn rest_open(&mut self, file: FileId, pause: Time) {
        let Some(state) = self.files.get_mut(&file) else { return };
        let Some(opening) = &mut state.opening else { return };
        opening.resting = pause > Time::ZERO;
        if opening.resting {
            let name = self.new_name();
            self.resting.insert((self.now.saturating_add(pause), name), Resting::Open { file });
        }
    }

    /// A source does not say whether it has the file.
    pub(crate) fn fail_join(&mut self, file: FileId, source: SourceId, failure: Failure) {
        let state = self.files.get(&file);
        let is_only = state.is_some_and(|state| !state.sources.has_other(source));
        match is_only && self.is_worth_waiting(failure) {
            true => self.lose_join(file, source, failure.after.unwrap_or_default()),
            false => self.fail_source(source, failure),
        }
    }

    /// The connection has ended on which a source was asked whether it has the file. The scheduler
    /// asks it again: the other sources may fail next, as when a door has led from one pool to
    /// another. It pauses before: where a pool ends its sessions, connections that were made for
    /// the source before this one end, too.
    fn lose_join(&mut self, file: FileId, source: SourceId, least: Time) {
        let Some(state) = self.files.get_mut(&file) else { return };
        let Some(there) = state.sources.get_mut(source) else { return };
        there.joins_lost += 1;
        let lost = there.joins_lost;
        if lost >= self.budgets.attempts_max {
            return self.fail_source(source, Failure::LATER);
        }
        let at = self.now.saturating_add(self.budgets.backoff(lost).max(least));
        let name = self.new_name();
        self.resting.insert((at, name), Resting::Join { source });
    }

    /// A server does not work: none of its sources does. A source added later tries it anew.
    fn fail_server(&mut self, id: ServerId, failure: Failure) {
        if let Some(server) = self.servers.get_mut(&id) {
            server.failures = 0;
            server.warm_up = false;
        }
        for (_, source) in self.sources_at(id) {
            self.fail_source(source, failure);
        }
    }

    /// A server does not work now: those of its files that can be had elsewhere are read there.
    /// True where none is left that cannot.
    pub(crate) fn leave_server(&mut self, id: ServerId, failure: Failure) -> bool {
        let mut all = true;
        for (file, source) in self.sources_at(id) {
            let state = self.files.get(&file);
            let others = state.is_some_and(|state| state.sources.has_other(source));
            if others {
                self.fail_source(source, failure);
            }
            all &= others;
        }
        all
    }

    fn sources_at(&self, server: ServerId) -> Vec<(FileId, SourceId)> {
        let all = self.files.iter().flat_map(|(file, state)| {
            state.sources.iter().map(move |(id, source)| (*file, id, source))
        });
        all.filter(|(_, _, source)| source.server == server && source.is_live())
            .map(|(file, id, _)| (file, id))
            .collect()
    }

    /// A source whose bytes come damaged again and again loses its work to others, where there are
    /// any.
    pub(crate) fn leave_damaging(&mut self, file: FileId, source: SourceId) {
        let Some(state) = self.files.get_mut(&file) else { return };
        let others = state.sources.has_other(source);
        let damages = state.sources.get(source).is_some_and(Source::damages);
        if others && damages {
            self.fail_source(source, Failure::LATER);
        }
    }

    /// A source has failed: it is left alone for a while, or for good. Where it was the last, the
    /// file's open and wants have failed.
    pub(crate) fn fail_source(&mut self, source: SourceId, failure: Failure) {
        let Some(file) = self.sources.get(&source).copied() else { return };
        let pause = failure.after.unwrap_or_default();
        if let Some(state) = self.files.get_mut(&file)
            && let Some(there) = state.sources.get_mut(source)
        {
            there.strikes += 1;
            there.damage = 0;
            let pause = self.budgets.probation(there.strikes).max(pause);
            let state = match failure.retryable {
                true => SourceState::Disabled { until: self.now.saturating_add(pause) },
                false => SourceState::Refused,
            };
            self.set_state(file, source, state);
        }
        self.leave_source(source);
        let Some(state) = self.files.get_mut(&file) else { return };
        if let Some(next) = state.sources.fill_up(state.size.is_some()) {
            self.events.push_back(Event::SourceState {
                file,
                source: next,
                state: SourceState::Active,
            });
        }
        let Some(state) = self.files.get_mut(&file) else { return };
        if state.sources.all_failed() {
            let why = WantFailure::Source { source };
            if state.opening.take().is_some() {
                self.events.push_back(Event::OpenFailed { file, why });
            }
            let wants: Vec<WantId> = state.wants.iter().copied().collect();
            for want in wants {
                self.fail_want(want, why);
            }
        }
        self.refresh(file);
    }
}
