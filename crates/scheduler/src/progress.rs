//! Watches over owed bytes: whether they arrive at all, and fast enough to be of use.
//!
//! A file to which bytes are owed has a watch. It adds up the time in which its sources owe them,
//! and begins anew when they have brought as many bytes as the least rate brings in the whole
//! timeout, or all bytes of a request. When it runs out the wants of the file fail: requests sent
//! again, to one source or to the next, share one watch, so that their times add up to no more.
//!
//! Only bytes of files count. Heads of answers, empty parts and interim answers are nothing, at
//! whatever rate they come. A pause that a server has asked for is not counted, up to a limit; nor
//! is time in which a server cannot be reached, which has a limit of its own
//! ([`Budgets::outage_max`](crate::Budgets)).
//!
//! A connection is watched in the same way by itself, and left when others do better.

use crate::connection::{Connection, Phase};
use crate::estimate::bytes_in;
use crate::ids::{ConnectionId, FileId, RequestId, Time};
use crate::message::{Action, Event, WantFailure};
use crate::scheduler::Scheduler;

/// Requests that owe bytes to one file, and since when.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    /// Requests without an answer.
    live: u32,
    /// Time in which bytes were owed since enough of them last came.
    waited: Time,
    /// Bytes that came in that time.
    brought: u64,
    /// A server has sent a wait until then, and for so long in all.
    waits_until: Time,
    asked: Time,
}

impl Watch {
    /// Enough has come.
    fn restart(&mut self) {
        *self = Watch { live: self.live, ..Watch::default() };
    }

    fn credit(&mut self, bytes: u64, enough: u64) {
        self.brought = self.brought.saturating_add(bytes);
        if self.brought >= enough {
            self.restart();
        }
    }

    /// Time has passed in which bytes were owed.
    fn count(&mut self, from: Time, to: Time) {
        self.waited += to.saturating_sub(from.max(self.waits_until));
    }

    /// A server sends a wait; no more than so much in all is granted.
    fn ask(&mut self, now: Time, pause: Time, most: Time) {
        let begins = self.waits_until.max(now);
        let longer = now.saturating_add(pause).saturating_sub(begins);
        let granted = longer.min(most.saturating_sub(self.asked));
        self.asked += granted;
        self.waits_until = begins.saturating_add(granted);
    }
}

impl Scheduler {
    /// Bytes that are fast enough if they come within one `silence_max`.
    fn enough(&self) -> u64 {
        bytes_in(self.budgets.least_rate, self.budgets.silence_max).max(1)
    }

    /// A request for bytes of a file has left. Reads of a disk end by themselves.
    pub(crate) fn owe_if_watched(&mut self, id: RequestId) {
        let Some(request) = self.requests.get_mut(&id) else { return };
        if self.connections.get(&request.connection).is_some_and(|on| !on.is_disk) {
            request.is_watched = true;
            self.watches.entry(request.file).or_default().live += 1;
        }
    }

    /// A request has ended, or its bytes are awaited no longer.
    pub(crate) fn owe_less(&mut self, file: FileId) {
        let Some(watch) = self.watches.get_mut(&file) else { return };
        watch.live = watch.live.saturating_sub(1);
        if watch.live == 0 && watch.waited == Time::ZERO {
            self.watches.remove(&file);
        }
    }

    /// The wants of a file are gone: the time for later ones is counted anew.
    pub(crate) fn owe_nothing(&mut self, file: FileId) {
        if self.watches.get(&file).is_some_and(|watch| watch.live == 0) {
            self.watches.remove(&file);
        }
    }

    /// All that a request asked for has come, or as good a sign that its source is at work.
    pub(crate) fn has_progressed(&mut self, file: FileId) {
        if let Some(watch) = self.watches.get_mut(&file) {
            watch.restart();
        }
    }

    /// Bytes of a file have arrived over a connection: good also for requests behind them there.
    pub(crate) fn credit(&mut self, on: ConnectionId, file: FileId, bytes: u64) {
        let enough = self.enough();
        if let Some(watch) = self.watches.get_mut(&file) {
            watch.credit(bytes, enough);
        }
        let Some(connection) = self.connections.get_mut(&on) else { return };
        let servers = self.servers.get(&connection.server);
        let beside = servers.map_or(1, |server| server.connections.len().max(1));
        connection.credit(self.now, bytes, (enough / beside as u64).max(1));
        if self.watches.len() > 1 {
            for request in connection.requests.iter().filter_map(|id| self.requests.get(id)) {
                if request.file != file
                    && let Some(watch) = self.watches.get_mut(&request.file)
                {
                    watch.credit(bytes, enough);
                }
            }
        }
    }

    /// A source has brought bytes of a request that it cannot hand on yet.
    pub fn handle_progress(&mut self, now: Time, id: RequestId, bytes: u64) {
        self.advance(now);
        let Some(request) = self.requests.get(&id) else { return };
        let on = request.connection;
        let file = request.file;
        if let Some(connection) = self.connections.get_mut(&on) {
            connection.heard = self.now;
        }
        self.credit(on, file, bytes);
        self.heard_on(on);
    }

    /// The server has accepted a connection; the outcome of its protocol follows later.
    pub fn handle_reached(&mut self, now: Time, id: ConnectionId) {
        self.advance(now);
        let Some(connection) = self.connections.get_mut(&id) else { return };
        connection.is_accepted = true;
        if let Some(server) = self.servers.get_mut(&connection.server) {
            server.is_out_of_reach = false;
        }
    }

    /// The files to which a connection owes bytes.
    pub(crate) fn owed_on(&self, id: ConnectionId) -> Vec<FileId> {
        let Some(connection) = self.connections.get(&id) else { return Vec::new() };
        let requests = connection.requests.iter().filter_map(|id| self.requests.get(id));
        let mut files: Vec<FileId> = requests.map(|request| request.file).collect();
        files.dedup();
        files
    }

    /// A server has asked for time for the bytes that it owes to a file.
    pub(crate) fn extend_wait(&mut self, file: FileId, pause: Time) {
        let now = self.now;
        let most = self.budgets.wait_max;
        if let Some(watch) = self.watches.get_mut(&file) {
            watch.ask(now, pause, most);
        }
    }

    /// Whether time counts for a file: requests are out, or there is no server to send them to.
    fn is_waiting(&self, file: FileId, watch: &Watch) -> bool {
        let state = self.files.get(&file);
        watch.live > 0 || state.is_some_and(|state| state.sources.active() == 0)
    }

    /// Time passes for all that is owed.
    pub(crate) fn count_waiting(&mut self, to: Time) {
        let mut watches = std::mem::take(&mut self.watches);
        for (file, watch) in &mut watches {
            if self.is_waiting(*file, watch) {
                watch.count(self.now, to);
            }
        }
        self.watches = watches;
    }

    /// When the first of the watches runs out.
    pub(crate) fn next_starved(&self) -> Option<Time> {
        let waiting = self.watches.iter().filter(|(file, watch)| self.is_waiting(**file, watch));
        let ends = waiting.map(|(_, watch)| {
            let left = self.budgets.silence_max.saturating_sub(watch.waited);
            self.now.max(watch.waits_until).saturating_add(left)
        });
        ends.min()
    }

    /// The wants fail of those files to which too little has come for too long.
    pub(crate) fn review_progress(&mut self) {
        let most = self.budgets.silence_max;
        let due = self.watches.iter().filter(|(_, watch)| watch.waited >= most);
        let due: Vec<FileId> = due.map(|(file, _)| *file).collect();
        for file in due {
            if self.is_out_of_reach(file) {
                // That may last longer; and when it is over there has to be time for an answer.
                if let Some(watch) = self.watches.get_mut(&file) {
                    watch.waited = most / 2;
                }
                continue;
            }
            self.starve(file);
        }
    }

    /// None of the servers that owe bytes to a file takes connections now, though all did.
    fn is_out_of_reach(&self, file: FileId) -> bool {
        let Some(state) = self.files.get(&file) else { return false };
        let mut active = state.sources.iter().filter(|(_, source)| source.is_active());
        let is_away = |server| self.servers.get(&server).is_some_and(|s| s.is_out_of_reach);
        state.sources.active() > 0 && active.all(|(_, source)| is_away(source.server))
    }

    /// Gives up the wants of a file. Its sources are as good as before: the next want waits as long
    /// again.
    fn starve(&mut self, file: FileId) {
        let Some(watch) = self.watches.remove(&file) else { return };
        let why = WantFailure::TooSlow { waited: watch.waited, bytes: watch.brought };
        let Some(state) = self.files.get_mut(&file) else { return };
        if state.opening.take().is_some() {
            self.events.push_back(Event::OpenFailed { file, why });
        }
        for want in state.wants.iter().copied().collect::<Vec<_>>() {
            self.fail_want(want, why);
        }
        let live = self
            .requests
            .iter()
            .filter(|(_, request)| request.file == file && !request.cancelled && !request.joins);
        let live: Vec<(RequestId, ConnectionId)> =
            live.map(|(id, request)| (*id, request.connection)).collect();
        for (request, _) in &live {
            self.abandon(*request);
        }
        for (_, connection) in live {
            if self.connections.contains_key(&connection) && !self.is_of_use(connection) {
                self.actions.push_back(Action::Disconnect { connection });
                self.lose_connection(connection, crate::Failure::LATER);
            }
        }
        self.watches.remove(&file);
        self.refresh(file);
    }

    /// Whether a want waits for bytes that a connection owes.
    pub(crate) fn is_of_use(&self, id: ConnectionId) -> bool {
        self.connections.get(&id).is_some_and(|connection| {
            let mut requests = connection.requests.iter().filter_map(|id| self.requests.get(id));
            requests.any(|request| !request.cancelled)
        })
    }
}

impl Connection {
    /// Bytes have come; enough of them begin its watch anew.
    fn credit(&mut self, now: Time, bytes: u64, enough: u64) {
        self.brought = self.brought.saturating_add(bytes);
        if self.brought >= enough {
            self.has_progressed(now);
        }
    }

    pub(crate) fn has_progressed(&mut self, now: Time) {
        self.brought = 0;
        self.progressed = self.progressed.max(now);
    }

    /// When it has brought too little for too long; never, where reads end by themselves.
    pub(crate) fn starves_at(&self, silence_max: Time) -> Option<Time> {
        let owes = self.phase == Phase::Usable && !self.requests.is_empty() && !self.is_disk;
        owes.then(|| self.progressed.saturating_add(silence_max))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn s(seconds: u64) -> Time {
        Time::from_secs(seconds)
    }

    #[test]
    fn drops_do_not_begin_a_watch_anew_and_enough_does() {
        let mut watch = Watch { live: 1, ..Watch::default() };
        for second in 0..29 {
            watch.count(s(second), s(second + 1));
            watch.credit(1, 1000);
        }
        assert_eq!((watch.waited, watch.brought), (s(29), 29));
        watch.credit(971, 1000);
        assert_eq!((watch.waited, watch.brought, watch.live), (s(0), 0, 1));
    }

    #[test]
    fn a_pause_that_was_asked_for_is_not_counted_up_to_a_limit() {
        let mut watch = Watch::default();
        // Sixteen connections that are sent the same wait count it once.
        (0..16).for_each(|_| watch.ask(s(10), s(20), s(50)));
        watch.count(s(10), s(31));
        assert_eq!((watch.waited, watch.asked), (s(1), s(20)));
        watch.ask(s(31), s(1000), s(50));
        assert_eq!(watch.waits_until, s(61), "no more than fifty in all");
        watch.ask(s(62), s(1000), s(50));
        watch.count(s(62), s(70));
        assert_eq!(watch.waited, s(9));
    }
}
