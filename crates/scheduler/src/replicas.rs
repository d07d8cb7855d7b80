//! Several sources of one file: how they join, and the bytes that each one takes.

use crate::estimate::bytes_in;
use crate::ids::{FileId, RequestId, ServerId, SourceId, Time};
use crate::message::{Action, Event, Failure, FileEnd, Urgency};
use crate::scheduler::{Request, Scheduler};
use crate::server::BANDWIDTH_GUESS;
use crate::share::{Load, shares};
use crate::sources::{Join, Source, SourceState};

/// A part below this length is not worth splitting off the queued bytes.
const SHARE_MIN: u64 = 64 << 10;
/// Files that a server looks at for something to do.
const FILES_LOOKED_AT: usize = 16;
/// How often it is thought over who is active.
const REVIEW_EVERY: Time = Time::from_secs(1);
/// More sources are made active when the queued bytes take the active ones longer than this, and
/// are not few.
const BACKLOG: Time = Time::from_millis(250);
const BACKLOG_MIN: u64 = 1 << 20;
/// Of the bytes that came, this part (per thousand) may be asked of inactive sources, in pieces of
/// this size, to see how good they are.
const PROBE_PER_MILLE: u64 = 5;
const PROBE_BYTES: u64 = 64 << 10;
/// A file's first bytes, by which a further source shows that it has the same file. The header of a
/// ROOT file is in them, with a number that only its copies share.
pub const COMPARED_BYTES: u64 = 1024;

impl Scheduler {
    /// The file is reported to be at this server, too. The scheduler requests its size and its
    /// first [`COMPARED_BYTES`] there before any other byte of it is used: the caller compares, and
    /// answers by [`Self::handle_opened`] or, where it is another file, by
    /// [`Self::handle_source_failed`]. A first source is believed, as with [`Self::add_source`].
    pub fn add_replica(&mut self, now: Time, file: FileId, server: ServerId) -> SourceId {
        self.advance(now);
        let id = self.new_source();
        let Some(state) = self.files.get_mut(&file) else { return id };
        state.sources.add_replica(id, server);
        if state.sources.len() > 1 {
            self.replicated.insert(file);
        }
        let joins = state.sources.get(id).is_some_and(|there| there.state == SourceState::Joining);
        self.sources.insert(id, file);
        let opening = state.opening.is_some();
        if joins {
            self.ask_to_join(id, server);
        }
        if opening {
            self.warm_up(server);
        }
        self.refresh(file);
        id
    }

    /// It is to be asked whether it has the file.
    fn ask_to_join(&mut self, source: SourceId, server: ServerId) {
        if let Some(there) = self.servers.get_mut(&server) {
            there.joins.insert(source);
            self.awake.insert(server);
        }
    }

    /// Its answer was given up.
    pub(crate) fn join_again(&mut self, source: SourceId) {
        let Some(state) = self.sources.get(&source).and_then(|file| self.files.get_mut(file))
        else {
            return;
        };
        if let Some(there) = state.sources.get_mut(source)
            && there.state == SourceState::Joining
        {
            there.join = Join::Todo;
            let server = there.server;
            self.ask_to_join(source, server);
        }
    }

    /// Asks one that wants to join for the file's size.
    pub(crate) fn send_join(&mut self, id: ServerId) -> Option<Action> {
        let server = self.servers.get(&id)?;
        let source = *server.joins.first()?;
        let file = self.sources.get(&source).copied();
        let state = file.and_then(|file| self.files.get(&file));
        let waits = state.and_then(|state| state.sources.get(source)).is_some_and(|there| {
            there.server == id && there.state == SourceState::Joining && there.join == Join::Todo
        });
        let (Some(file), true) = (file, waits) else {
            self.servers.get_mut(&id)?.joins.remove(&source);
            return self.send_join(id);
        };
        let connection = self.roomiest(id)?;
        self.servers.get_mut(&id)?.joins.remove(&source);
        let request = RequestId(self.new_name());
        self.files.get_mut(&file)?.sources.get_mut(source)?.join = Join::Sent(request);
        // Bytes show more than a size: that it can be read, and whether they are the same.
        let part = FileEnd::Head(COMPARED_BYTES);
        self.counters.opens += 1;
        self.book(request, connection, source, file, Some(part), Vec::new(), COMPARED_BYTES);
        self.requests.get_mut(&request)?.joins = true;
        Some(Action::Open { request, connection, source, file, part, joins: true })
    }

    /// One that joins has the same file.
    pub(crate) fn joined(&mut self, source: SourceId) {
        let Some(file) = self.sources.get(&source).copied() else { return };
        let Some(state) = self.files.get_mut(&file) else { return };
        let Some(there) = state.sources.get_mut(source) else { return };
        there.join = Join::Answered;
        self.admit_joined(file);
    }

    /// Its answer is complete; without a size it is worth nothing.
    pub(crate) fn end_join(&mut self, request: &Request) {
        let state = self.files.get(&request.file);
        let there = state.and_then(|state| state.sources.get(request.source));
        if there.is_some_and(|there| matches!(there.join, Join::Sent(_))) {
            self.fail_source(request.source, Failure::LATER);
        }
        self.refresh(request.file);
        self.admit();
    }

    /// Joining sources that have answered serve, once the size of the file is known.
    pub(crate) fn admit_joined(&mut self, file: FileId) {
        let Some(state) = self.files.get(&file).filter(|state| state.size.is_some()) else {
            return;
        };
        let has_answered =
            |source: &Source| source.state == SourceState::Joining && source.join == Join::Answered;
        let joined = state.sources.iter().filter(|(_, source)| has_answered(source));
        for source in joined.map(|(id, _)| id).collect::<Vec<_>>() {
            let active = self.files.get(&file).map_or(0, |state| state.sources.active());
            let state = match active < self.budgets.sources_active.max(1) as usize {
                true => SourceState::Active,
                false => SourceState::Inactive,
            };
            self.set_state(file, source, state);
        }
        self.refresh(file);
    }

    /// Changes the state of a source; reported where there are others.
    pub(crate) fn set_state(&mut self, file: FileId, source: SourceId, state: SourceState) {
        let Some(in_file) = self.files.get_mut(&file) else { return };
        let several = in_file.sources.len() > 1;
        let Some(there) = in_file.sources.get_mut(source) else { return };
        if there.state != state {
            there.state = state;
            there.allowance = 0;
            if several {
                self.events.push_back(Event::SourceState { file, source, state });
            }
        }
    }

    /// A server's next work: its urgency, the file, the source, and how many of the queued bytes it
    /// should take.
    pub(crate) fn next_for(&self, id: ServerId) -> Option<(Urgency, FileId, SourceId, u64)> {
        let server = self.servers.get(&id)?;
        for (urgency, _, file) in server.agenda.iter().take(FILES_LOOKED_AT) {
            let Some(state) = self.files.get(file) else { continue };
            let serving = state.sources.serving();
            let Some((source, _)) = serving.iter().find(|(_, server)| *server == id) else {
                continue;
            };
            let queued = server.queued[*urgency as usize];
            let bytes = match serving.len() {
                1 => queued,
                _ => self.share(*file, &serving, id, queued),
            };
            if bytes > 0 {
                return Some((*urgency, *file, *source, bytes));
            }
        }
        None
    }

    /// The number of the queued bytes that a server takes beside others.
    fn share(
        &self,
        file: FileId,
        serving: &[(SourceId, ServerId)],
        id: ServerId,
        queued: u64,
    ) -> u64 {
        let loads: Vec<Load> = serving.iter().map(|(_, server)| self.load(*server)).collect();
        let best = loads.iter().map(|load| load.rate).max().filter(|rate| *rate > 0);
        let known = |at: usize, load: &Load| match (load.rate, best) {
            (0, Some(best)) => Load { rate: (best / 2).max(1), ..*load },
            // No source has been measured: the first is the one that was opened.
            (0, None) => Load { rate: BANDWIDTH_GUESS / (1 + u64::from(at > 0)), ..*load },
            _ => *load,
        };
        let up = |server: &ServerId| self.servers.get(server).is_some_and(|s| !s.retrying);
        let any_up = serving.iter().any(|(_, server)| up(server));
        let loads: Vec<Load> = loads
            .iter()
            .zip(serving)
            .enumerate()
            .map(|(at, (load, (_, server)))| match !any_up || up(server) {
                true => known(at, load),
                false => Load { rate: 0, ..*load },
            })
            .collect();
        let shares = shares(&loads, queued);
        let Some(at) = serving.iter().position(|(_, server)| *server == id) else { return 0 };
        let largest = shares.iter().position(|share| Some(share) == shares.iter().max());
        // Shares that are not worth splitting off go to the largest.
        let worth = |(other, share): &(usize, &u64)| *other != at && **share >= SHARE_MIN;
        let mine = if largest == Some(at) {
            let others: u64 =
                shares.iter().enumerate().filter(worth).map(|(_, share)| *share).sum();
            queued.saturating_sub(others)
        } else if shares[at] < SHARE_MIN {
            return 0;
        } else {
            shares[at]
        };
        let source = self.files.get(&file).and_then(|state| state.sources.get(serving[at].0));
        let allowance = source
            .filter(|source| source.state == SourceState::Inactive)
            .map_or(u64::MAX, |source| source.allowance);
        let fair = self.in_flight_fair(id);
        let room = fair.saturating_sub(loads[at].in_flight);
        // Not a crumb each time that a packet comes.
        if room < (fair / 8).max(SHARE_MIN) { 0 } else { mine.min(room).min(allowance) }
    }

    /// A server may have something to do. Where files have several sources so may the others: the
    /// shares of all depend on the bytes that each of them owes.
    pub(crate) fn rouse(&mut self, id: ServerId) {
        self.awake.insert(id);
        if !self.replicated.is_empty() {
            let busy = self.servers.iter().filter(|(_, server)| !server.agenda.is_empty());
            self.awake.extend(busy.map(|(id, _)| *id));
        }
    }

    /// So many bytes have been asked of a source, which counts where it is inactive.
    pub(crate) fn spend_allowance(&mut self, file: FileId, source: SourceId, bytes: u64) {
        let state = self.files.get_mut(&file);
        if let Some(there) = state.and_then(|state| state.sources.get_mut(source)) {
            there.allowance = there.allowance.saturating_sub(bytes);
        }
    }

    /// Bytes asked of a server and not here.
    pub(crate) fn in_flight_at(&self, id: ServerId) -> u64 {
        let Some(server) = self.servers.get(&id) else { return 0 };
        let connections = server.connections.iter().filter_map(|id| self.connections.get(id));
        connections.map(|connection| connection.in_flight).sum()
    }

    fn load(&self, id: ServerId) -> Load {
        let Some(server) = self.servers.get(&id) else {
            return Load { wait: Time::MAX, rate: 0, in_flight: 0 };
        };
        // Until it can be used it has to connect, to log in and to open the file.
        let trips = if server.is_usable { 1 } else { 4 };
        Load {
            wait: server.rtt_or_guess().saturating_mul(trips),
            rate: server.pace.rate(),
            in_flight: self.in_flight_at(id),
        }
    }

    /// When it is next thought over who is active.
    pub(crate) fn next_review(&self) -> Option<Time> {
        let busy = self.replicated.iter().any(|file| {
            self.files.get(file).is_some_and(|state| {
                state.sources.len() > 1 && state.chunks.first_queued().is_some()
            })
        });
        let revival = self
            .replicated
            .iter()
            .filter_map(|file| self.files.get(file).and_then(|state| state.sources.next_revival()));
        busy.then_some(self.reviewed.saturating_add(REVIEW_EVERY)).into_iter().chain(revival).min()
    }

    /// Thinks over who is active, and asks those again whose pauses are over.
    pub(crate) fn review_sources(&mut self) {
        if self.next_review().is_none_or(|at| at > self.now) {
            return;
        }
        let due = self.reviewed.saturating_add(REVIEW_EVERY) <= self.now;
        if due {
            self.reviewed = self.now;
        }
        for file in self.replicated.clone() {
            let Some(state) = self.files.get_mut(&file) else { continue };
            let revived = match state.sources.all_failed() {
                true => Vec::new(),
                false => state.sources.revive(self.now),
            };
            for (source, server) in revived {
                self.ask_to_join(source, server);
            }
            if due {
                self.review_active(file);
            }
        }
    }

    /// The sources of a file in this state, and their rates.
    fn sources_in(&self, file: FileId, state: SourceState) -> Vec<(u64, SourceId)> {
        let sources = self.files.get(&file).into_iter().flat_map(|state| state.sources.iter());
        let rate = |server: ServerId| self.servers.get(&server).map_or(0, |s| s.pace.rate());
        sources
            .filter(|(_, source)| source.state == state)
            .map(|(id, source)| (rate(source.server), id))
            .collect()
    }

    /// One more source becomes active where those that are have too much to do.
    pub(crate) fn call_up(&mut self, file: FileId) {
        let Some((_, next)) = self.sources_in(file, SourceState::Inactive).into_iter().max() else {
            return;
        };
        let rates = self.sources_in(file, SourceState::Active);
        let rate: u64 = rates.iter().map(|(rate, _)| *rate).sum();
        let state = self.files.get(&file);
        let queued: u64 = state.map_or(0, |state| state.chunks.queued().iter().sum());
        if queued > bytes_in(rate, BACKLOG).max(BACKLOG_MIN) {
            self.set_state(file, next, SourceState::Active);
        }
    }

    fn review_active(&mut self, file: FileId) {
        let active = self.sources_in(file, SourceState::Active);
        let inactive = self.sources_in(file, SourceState::Inactive);
        let Some((better, next)) = inactive.iter().max().copied() else { return };
        let Some((worst, last)) = active.iter().min().copied() else { return };
        if active.len() > 1 && better > worst.saturating_add(worst / 4) {
            self.set_state(file, last, SourceState::Inactive);
            self.set_state(file, next, SourceState::Active);
        } else if self.counters.delivered_bytes / 1000 * PROBE_PER_MILLE
            >= self.counters.probed_bytes + PROBE_BYTES
        {
            // Whichever has been looked at least.
            let least = inactive.iter().min().map_or(next, |(_, id)| *id);
            self.counters.probed_bytes += PROBE_BYTES;
            if let Some(there) =
                self.files.get_mut(&file).and_then(|state| state.sources.get_mut(least))
            {
                there.allowance = PROBE_BYTES;
            }
        }
        self.refresh(file);
    }
}
