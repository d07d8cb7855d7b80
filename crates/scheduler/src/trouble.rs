//! What becomes of the work of requests, connections, servers and sources that fail.

use crate::chunk::Return;
use crate::connection::Phase;
use crate::ids::{ConnectionId, RequestId, ServerId, SourceId, WantId};
use crate::message::{Event, Failure, Part, WantFailure};
use crate::scheduler::{Request, Resting, Scheduler};

impl Scheduler {
    /// A source says no to some bytes. Another one may have them; else those wants fail.
    pub(crate) fn refuse(&mut self, id: RequestId, request: &Request) {
        let others = self
            .files
            .get(&request.file)
            .is_some_and(|state| state.sources.has_other(request.source));
        if others {
            self.give_back(request.file, id, &request.segments, Return::Again);
            self.fail_source(request.source);
            return;
        }
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
        part: Part,
        failure: Failure,
    ) {
        self.give_back(request.file, id, &request.segments, Return::Again);
        let Some(state) = self.files.get_mut(&request.file) else { return };
        let Some(opening) = &mut state.opening else { return };
        if matches!(part, Part::Tail(_)) && !failure.retryable {
            // The server cannot give a suffix after all; the head is what matters.
            self.end_part(request.file, request.source);
            return;
        }
        opening.in_flight = opening.in_flight.saturating_sub(1);
        opening.attempts += 1;
        opening.todo.push(part);
        if !failure.retryable || opening.attempts >= self.budgets.attempts_max {
            self.fail_source(request.source);
            return;
        }
        opening.resting = true;
        let at = self.now.saturating_add(self.budgets.backoff(opening.attempts));
        let name = self.new_name();
        self.resting.insert((at, name), Resting::Open { file: request.file });
    }

    pub(crate) fn lose_connection(&mut self, id: ConnectionId, failure: Failure) {
        let Some(connection) = self.connections.remove(&id) else { return };
        let Some(server) = self.servers.get_mut(&connection.server) else { return };
        server.connections.remove(&id);
        let usable = server.connections.iter().filter(|other| {
            self.connections.get(other).is_some_and(|other| other.phase == Phase::Usable)
        });
        let usable = usable.count() as u32;
        if connection.phase == Phase::Connecting && usable > 0 {
            server.connection_refused(usable);
        } else if connection.phase == Phase::Connecting || !connection.requests.is_empty() {
            server.connection_failed(self.now, connection.since, &self.budgets);
        }
        let took = self.now.saturating_sub(connection.since);
        let unreachable = !server.reached && took >= self.budgets.unreachable_after;
        let hopeless = usable == 0 && (unreachable || !failure.retryable);
        let dead = hopeless || server.failures > self.budgets.server_failures_max;
        self.awake.insert(connection.server);
        for request in connection.requests {
            self.lose_request(request);
        }
        if dead {
            self.fail_server(connection.server);
        }
    }

    /// A request's connection has ended.
    fn lose_request(&mut self, id: RequestId) {
        let Some(request) = self.requests.remove(&id) else { return };
        if request.cancelled {
            return;
        }
        self.counters.retries += 1;
        self.give_back(request.file, id, &request.segments, Return::Again);
        if let (Some(part), Some(state)) = (request.part, self.files.get_mut(&request.file))
            && let Some(opening) = &mut state.opening
        {
            opening.in_flight = opening.in_flight.saturating_sub(1);
            opening.attempts += 1;
            opening.todo.push(part);
            if opening.attempts >= self.budgets.attempts_max {
                self.fail_source(request.source);
            }
        }
        self.refresh(request.file);
    }

    /// A server does not work: none of its sources does. A source added later tries it anew.
    fn fail_server(&mut self, id: ServerId) {
        if let Some(server) = self.servers.get_mut(&id) {
            server.failures = 0;
            server.warm_up = false;
        }
        let sources: Vec<SourceId> = self
            .files
            .values()
            .flat_map(|file| file.sources.iter())
            .filter(|(_, source)| source.server == id)
            .map(|(id, _)| id)
            .collect();
        for source in sources {
            self.fail_source(source);
        }
    }

    /// A source has failed. Where it was the last, so have the file's open and wants.
    pub(crate) fn fail_source(&mut self, source: SourceId) {
        let Some(file) = self.sources.get(&source).copied() else { return };
        if let Some(state) = self.files.get_mut(&file) {
            state.sources.fail(source);
        }
        self.leave_source(source);
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
