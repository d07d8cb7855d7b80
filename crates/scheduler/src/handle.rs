//! Events: connections, requests, data, time.

use std::ops::Range;

use crate::chunk::Return;
use crate::connection::{Phase, suggest_round_trip};
use crate::ids::{ConnectionId, FileId, RequestId, SourceId, Time, WantId};
use crate::message::{Action, Event, Failure, FileEnd, WantFailure};
use crate::scheduler::{FILE_BYTES_MAX, Request, Resting, Scheduler};

impl Scheduler {
    /// A connection is usable: handshake and login are through.
    pub fn handle_connected(&mut self, now: Time, id: ConnectionId) {
        self.advance(now);
        let Some(connection) = self.connections.get_mut(&id) else { return };
        if connection.phase == Phase::Usable {
            return;
        }
        connection.phase = Phase::Usable;
        connection.heard = self.now;
        connection.is_accepted = true;
        connection.has_progressed(self.now);
        let took = self.now.saturating_sub(connection.since);
        let mut is_first = false;
        if let Some(server) = self.servers.get_mut(&connection.server) {
            suggest_round_trip(&mut server.round_trip, took);
            is_first = !std::mem::replace(&mut server.reached, true);
            server.is_out_of_reach = false;
            server.is_usable = true;
            self.awake.insert(connection.server);
        }
        if is_first {
            self.owed_on(id).into_iter().for_each(|file| self.has_progressed(file));
        }
        self.ask_probe(id);
    }

    /// A connection could not be made, or has ended. The bytes that it owed are queued again.
    pub fn handle_disconnected(&mut self, now: Time, id: ConnectionId, failure: Failure) {
        self.advance(now);
        self.lose_connection(id, failure);
        self.admit();
    }

    /// An open was answered: the file is there and has this size, and is the same one as elsewhere.
    /// Data and `handle_done` follow.
    pub fn handle_opened(&mut self, now: Time, id: RequestId, size: u64) {
        let on = self.requests.get(&id).map(|request| request.connection);
        self.note_opened(now, id, size);
        self.note_heard(on);
    }

    fn note_opened(&mut self, now: Time, id: RequestId, size: u64) {
        let (file, source, joins) = match self.requests.get(&id) {
            Some(request) => (request.file, request.source, request.joins),
            None => return,
        };
        if joins {
            self.note_answer(id);
            return self.joined(source);
        }
        self.advance(now);
        if self.files.get(&file).is_some_and(|state| state.size.is_none()) {
            self.has_progressed(file);
        }
        self.set_size(now, file, size);
        self.note_answer(id);
        let Some(request) = self.requests.get_mut(&id) else { return };
        if request.cancelled {
            return;
        }
        let size = size.min(FILE_BYTES_MAX);
        let part = request.part;
        let Some(part) = part else { return };
        let ranges = part.ranges(size);
        // A file shorter than its parts owes less than was asked.
        let bytes = ranges.iter().map(|range| range.end - range.start).sum();
        let short = request.bytes.saturating_sub(bytes);
        request.left = request.left.saturating_sub(short);
        request.bytes -= short;
        request.segments.clone_from(&ranges);
        if let Some(connection) = self.connections.get_mut(&request.connection) {
            connection.in_flight = connection.in_flight.saturating_sub(short);
        }
        let file = request.file;
        if let Some(state) = self.files.get_mut(&file) {
            ranges.iter().for_each(|range| state.chunks.hold(range, id));
            let is_all = ranges == [0..size] && matches!(part, FileEnd::Head(_));
            if let Some(opening) = state.opening.as_mut().filter(|_| is_all) {
                // The end is on its way with the head.
                opening.todo.retain(|part| matches!(part, FileEnd::Head(_)));
            }
        }
        self.refresh(file);
    }

    /// Bytes of a request have arrived, in any order, in any pieces.
    pub fn handle_data(&mut self, now: Time, id: RequestId, range: Range<u64>) {
        self.advance(now);
        let range = range.start.min(FILE_BYTES_MAX)..range.end.min(FILE_BYTES_MAX);
        if range.start >= range.end {
            return;
        }
        let on = self.requests.get(&id).map(|request| request.connection);
        self.note_data(id, &range);
        self.note_heard(on);
    }

    fn note_data(&mut self, id: RequestId, range: &Range<u64>) {
        self.note_answer(id);
        let bytes = range.end - range.start;
        let Some(request) = self.requests.get_mut(&id) else { return };
        request.left = request.left.saturating_sub(bytes);
        let file = request.file;
        let joins = request.joins;
        let on = request.connection;
        self.measure(id, bytes);
        self.credit(on, file, bytes);
        self.counters.delivered_bytes += bytes;
        if joins {
            return;
        }
        let Some(state) = self.files.get_mut(&file) else { return };
        let delivered = state.chunks.deliver(range);
        let brought = !delivered.arrivals.is_empty();
        if self.requests.get(&id).is_some_and(|request| request.is_hedge && brought) {
            self.counters.hedge_won_bytes += bytes;
        }
        for (want, bytes) in delivered.arrivals {
            self.arrive(want, bytes);
        }
        self.forget(file, delivered.forget);
        self.settle_twin(id);
        self.refresh(file);
    }

    /// Bytes of a request have arrived damaged. They are requested again, with all others that it
    /// does not bring.
    pub fn handle_damaged(&mut self, now: Time, id: RequestId, range: Range<u64>) {
        self.advance(now);
        self.note_answer(id);
        let bytes = range.end.saturating_sub(range.start);
        let Some(request) = self.requests.get_mut(&id) else { return };
        request.left = request.left.saturating_sub(bytes);
        request.is_damaged = true;
        let on = request.connection;
        let file = request.file;
        self.measure(id, bytes);
        self.credit(on, file, bytes);
        self.note_heard(Some(on));
    }

    /// Reduces a request that is about to be sent to the ascending `parts`; queues the rest again
    /// for the wants that remain. Without any part the request is dropped.
    pub fn send_only(&mut self, now: Time, id: RequestId, parts: Vec<Range<u64>>) {
        self.advance(now);
        let Some(request) = self.requests.get_mut(&id) else { return };
        let bytes = parts.iter().map(|part| part.end - part.start).sum::<u64>();
        let less = request.bytes.saturating_sub(bytes);
        request.bytes -= less;
        request.left = request.left.saturating_sub(less);
        let file = request.file;
        let source = request.source;
        let all = std::mem::replace(&mut request.segments, parts.clone());
        self.counters.asked_bytes -= less.min(self.counters.asked_bytes);
        if let Some(connection) = self.connections.get_mut(&request.connection) {
            connection.in_flight = connection.in_flight.saturating_sub(less);
        }
        let rest: Vec<Range<u64>> = all.iter().flat_map(|all| without(all, &parts)).collect();
        if parts.is_empty()
            && let Some(request) = self.end_request(id)
        {
            self.counters.fetches -= 1;
            self.stop_owing(&request);
        }
        self.give_back(file, source, id, &rest, Return::Now);
        self.refresh(file);
    }

    /// Everything a request brings has been delivered. Missing bytes are requested again.
    pub fn handle_done(&mut self, now: Time, id: RequestId) {
        self.advance(now);
        let Some(request) = self.end_request(id) else { return };
        if request.is_owed() && request.left == 0 && !request.is_damaged {
            self.has_progressed(request.file);
            if let Some(connection) = self.connections.get_mut(&request.connection) {
                connection.has_progressed(self.now);
                if let Some(server) = self.servers.get_mut(&connection.server) {
                    server.request_served();
                }
            }
        }
        self.stop_owing(&request);
        let took = self.now.saturating_sub(request.sent_at);
        if let Some(state) = self.files.get_mut(&request.file)
            && let Some(source) = state.sources.get_mut(request.source)
        {
            source.quality.record_request(request.bytes - request.left, took);
            source.record_damage(request.is_damaged);
        }
        if request.cancelled {
            return;
        }
        if request.joins {
            return self.end_join(&request);
        }
        let how = Return::Again;
        self.give_back(request.file, request.source, id, &request.segments, how);
        if request.part.is_some() {
            self.end_part(request.file, request.source);
        }
        self.leave_damaging(request.file, request.source);
        self.refresh(request.file);
        self.admit();
    }

    /// A request has failed; its connection stands.
    pub fn handle_failed(&mut self, now: Time, id: RequestId, failure: Failure) {
        self.advance(now);
        let Some(request) = self.end_request(id) else { return };
        self.stop_owing(&request);
        if request.cancelled {
            return;
        }
        if let Some(pause) = failure.after {
            self.extend_wait(request.file, pause);
        }
        self.counters.retries += u64::from(failure.retryable);
        match request.part {
            _ if request.joins => self.fail_join(request.file, request.source, failure),
            None => self.fail_fetch(id, &request, failure),
            Some(part) => self.fail_part(id, &request, part, failure),
        }
        self.refresh(request.file);
        self.admit();
    }

    /// A source has failed for reasons of its own. The bytes that it owed move to another one, or
    /// fail.
    pub fn handle_source_failed(&mut self, now: Time, source: SourceId) {
        self.advance(now);
        self.fail_source(source, Failure::NEVER);
        self.admit();
    }

    /// The time that [`Self::poll_timeout`] named has come.
    pub fn handle_timeout(&mut self, now: Time) {
        self.advance(now);
        while let Some(entry) = self.resting.first_entry() {
            if entry.key().0 > self.now {
                break;
            }
            match entry.remove() {
                Resting::Bytes { file, ranges } => {
                    if let Some(state) = self.files.get_mut(&file) {
                        ranges.iter().for_each(|range| state.chunks.wake(range));
                    }
                    self.refresh(file);
                }
                Resting::Join { source } => self.join_again(source),
                Resting::Open { file } => {
                    if let Some(state) = self.files.get_mut(&file)
                        && let Some(opening) = &mut state.opening
                    {
                        opening.resting = false;
                    }
                    self.refresh(file);
                }
            }
        }
        for (id, server) in &mut self.servers {
            if server.retrying && server.retry_at <= self.now {
                server.retrying = false;
                self.awake.insert(*id);
            }
        }
        self.review_progress();
        let late = self.connection_deadlines().filter(|(_, at)| *at <= self.now);
        let late: Vec<ConnectionId> = late.map(|(id, _)| id).collect();
        for id in late {
            self.actions.push_back(Action::Disconnect { connection: id });
            self.lose_connection(id, Failure::LATER);
        }
        self.review_silence();
        self.review_late();
        self.review_sources();
        self.admit();
    }

    /// A server has sent a wait: an answer will come, but not before this.
    pub fn handle_wait(&mut self, now: Time, id: ConnectionId, time: Time) {
        self.advance(now);
        let now = self.now;
        let most = self.budgets.wait_max;
        self.owed_on(id).into_iter().for_each(|file| self.extend_wait(file, time));
        let Some(connection) = self.connections.get_mut(&id) else { return };
        connection.heard = self.now;
        connection.progressed = now.saturating_add(time.min(most));
        if let Some(server) = self.servers.get_mut(&connection.server) {
            server.alive_at = self.now;
            server.excused_until =
                self.now.saturating_add(time).saturating_add(self.budgets.stall_timeout);
        }
    }

    /// A request has come to its end.
    fn stop_owing(&mut self, request: &Request) {
        if request.is_owed() {
            self.owe_less(request.file);
        }
    }

    /// The first sign of an answer to a request.
    fn note_answer(&mut self, id: RequestId) {
        let Some(request) = self.requests.get_mut(&id) else { return };
        if std::mem::replace(&mut request.answered, true) {
            return;
        }
        let took = self.now.saturating_sub(request.sent_at);
        let Some(connection) = self.connections.get_mut(&request.connection) else { return };
        connection.heard = self.now;
        if request.warm {
            self.note_first_byte(id, took);
        }
    }

    /// Last of all that an answer does: it may close the connection that has brought the answer.
    fn note_heard(&mut self, on: Option<ConnectionId>) {
        on.into_iter().for_each(|on| self.heard_on(on));
    }

    fn note_first_byte(&mut self, id: RequestId, took: Time) {
        let Some(request) = self.requests.get(&id) else { return };
        let Some(connection) = self.connections.get(&request.connection) else { return };
        if let Some(server) = self.servers.get_mut(&connection.server) {
            server.round_trip.record(self.now, took);
        }
        if let Some(state) = self.files.get_mut(&request.file)
            && let Some(source) = state.sources.get_mut(request.source)
        {
            source.quality.record_first_byte(took);
        }
    }

    /// Bytes have come over a connection, wanted or not.
    fn measure(&mut self, id: RequestId, bytes: u64) {
        let Some(request) = self.requests.get(&id) else { return };
        let Some(connection) = self.connections.get_mut(&request.connection) else { return };
        let Some(server) = self.servers.get_mut(&connection.server) else { return };
        let rtt = server.round_trip.get();
        connection.meter.record(request.connection_mark, self.now, bytes, rtt);
        connection.delivered(bytes, self.now, rtt);
        server.meter.record(request.server_mark, self.now, bytes, rtt);
        server.waves.add(self.now, bytes, rtt);
        server.pace.record_under(request.pace_mark, self.now, bytes, rtt, request.is_load);
        server.is_alive();
        let at = connection.server;
        self.rouse(at);
    }

    /// Takes a request out of the books.
    fn end_request(&mut self, id: RequestId) -> Option<Request> {
        let request = self.requests.remove(&id)?;
        if let Some(connection) = self.connections.get_mut(&request.connection) {
            connection.heard = self.now;
            connection.requests.remove(&id);
            connection.in_flight = connection.in_flight.saturating_sub(request.left);
            let at = connection.server;
            if let Some(server) = self.servers.get_mut(&at) {
                server.answered += 1;
                server.end_trial(id);
            }
            self.rouse(at);
            self.close_beyond(at);
        }
        Some(request)
    }

    /// The bytes that a request of a source owes are queued again; those that have been tried too
    /// often fail, or their source does, where there are others.
    pub(crate) fn give_back(
        &mut self,
        file: FileId,
        source: SourceId,
        id: RequestId,
        segments: &[Range<u64>],
        how: Return,
    ) {
        let Some(state) = self.files.get_mut(&file) else { return };
        let mut attempts = 0;
        let mut resting = false;
        let mut exhausted = std::collections::BTreeSet::<WantId>::new();
        for segment in segments {
            let attempts_max = match how {
                Return::Busy(_) => self.budgets.busy_attempts_max(),
                _ => self.budgets.attempts_max,
            };
            let returned = state.chunks.give_back(segment, id, how, attempts_max);
            attempts = attempts.max(returned.attempts);
            resting |= returned.resting;
            exhausted.extend(returned.exhausted);
        }
        if resting {
            let least = match how {
                Return::Later(pause) | Return::Busy(pause) => pause,
                Return::Now | Return::Again => Time::ZERO,
            };
            let at = self.now.saturating_add(self.budgets.backoff(attempts).max(least));
            let name = self.new_name();
            self.resting.insert((at, name), Resting::Bytes { file, ranges: segments.to_vec() });
        }
        if exhausted.is_empty() {
            return;
        }
        if self.files.get(&file).is_some_and(|state| state.sources.has_other(source)) {
            return self.fail_source(source, Failure::LATER);
        }
        for want in exhausted {
            self.fail_want(want, WantFailure::Source { source });
        }
    }

    /// A part of an open has been delivered, or given up.
    pub(crate) fn end_part(&mut self, file: FileId, source: SourceId) {
        let Some(state) = self.files.get_mut(&file) else { return };
        let Some(opening) = &mut state.opening else { return };
        opening.in_flight = opening.in_flight.saturating_sub(1);
        let why = WantFailure::Source { source };
        self.conclude_open(file, why);
    }

    /// Ends an open of which nothing is left to do.
    pub(crate) fn conclude_open(&mut self, file: FileId, why: WantFailure) {
        let Some(state) = self.files.get_mut(&file) else { return };
        let open = state.opening.as_ref();
        if !open.is_some_and(|open| open.in_flight == 0 && open.todo.is_empty()) {
            return;
        }
        state.opening = None;
        self.events.push_back(match state.size {
            Some(size) => Event::Opened { file, size },
            None => Event::OpenFailed { file, why },
        });
    }
}

/// The rest of a range without these parts, which are ascending and disjoint.
fn without(range: &Range<u64>, parts: &[Range<u64>]) -> Vec<Range<u64>> {
    let mut left = Vec::new();
    let mut at = range.start;
    for part in parts.iter().filter(|part| part.start < range.end && part.end > range.start) {
        left.push(at..part.start.max(at));
        at = part.end.min(range.end);
    }
    left.push(at..range.end);
    left.retain(|part| part.start < part.end);
    left
}
