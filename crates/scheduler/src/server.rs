//! One server: the limits of its protocol, its connections, and how it has behaved.

use std::collections::BTreeSet;

use crate::budget::Budgets;
use crate::estimate::{Meter, RoundTrip, Waves, bytes_in};
use crate::growth::{Growth, RequestGrowth, RequestLoad};
use crate::ids::{ConnectionId, FileId, RequestId, SourceId, Time};
use crate::message::{FileEnd, Urgency};

/// Limits of a protocol and a server. The default is a cautious HTTP/1.1 server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerTraits {
    /// Most segments of one request; 1: no vectored requests.
    pub segments_max: u32,
    /// Largest segment of a vectored request, bytes.
    pub segment_bytes_max: u64,
    /// Sensible upper bound of one request, bytes.
    pub request_bytes_max: u64,
    /// A request this long delays no other noticeably: none is cut shorter for the sake of the
    /// next.
    pub request_bytes_brief: u64,
    /// A chunk of at most so many bytes comes in one piece: to join pieces costs more than to wait.
    pub chunk_bytes_whole: u64,
    /// Several requests may be unanswered on one connection.
    pub pipelined: bool,
    /// The last bytes of a file can be asked for without knowing its size.
    pub suffix: bool,
    /// Both ends of a file can be asked for in one request, without knowing its size.
    pub both_ends: BothEnds,
    /// The round trip an earlier session measured; about 0 for a local disk.
    pub distance_hint_rtt: Option<Time>,
    /// Cost of one more request for the server.
    pub request_overhead: Time,
    /// Never more connections than this, as the server says or as refusals show.
    pub max_connections: Option<u32>,
    /// Reads end by themselves, however long they take: a disk of this machine.
    pub is_disk: bool,
}

/// Whether a server sends both ends of a file in one answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BothEnds {
    Never,
    /// It may: one request is to show it.
    Untried,
    Served,
}

impl Default for ServerTraits {
    fn default() -> Self {
        ServerTraits {
            segments_max: 1,
            segment_bytes_max: u64::MAX,
            request_bytes_max: 4 << 20,
            request_bytes_brief: 64 << 10,
            chunk_bytes_whole: 0,
            pipelined: false,
            suffix: false,
            both_ends: BothEnds::Never,
            distance_hint_rtt: None,
            request_overhead: Time::from_micros(50),
            max_connections: None,
            is_disk: false,
        }
    }
}

/// Requests that each connection has to carry, until one more is tried at a server that has refused
/// some for their number.
const SERVED_PER_CONNECTION: u32 = 50;
/// A round trip across a continent; used while nothing is known.
const ROUND_TRIP_GUESS: Time = Time::from_millis(50);

/// Limit of hinted bytes in flight, as a multiple of the bytes that the link holds: a longer queue
/// would delay demands. While TCP still doubles its window, the measured rate is a quarter of the
/// rate to come.
const HINTS_RATIO: u64 = 4;
/// Hinted bytes that may always be in flight to a far server.
const HINTS_MIN: u64 = 2 << 20;
/// Limit of hinted bytes in flight from a near server, as the time that they take to arrive,
const NEAR_HINTS: Time = Time::from_millis(10);
/// and the least value of this limit, in bytes.
const HINTS_LEAST: u64 = 128 << 10;
/// Longest round trip to a near server: less than a disk's seek.
const NEAR: Time = Time::from_millis(2);
/// The kernel's default read-ahead: a longer chunk takes several reads of the disk anyway.
const NEAR_CHUNK_BYTES_WHOLE: u64 = 128 << 10;
/// Limit of bytes in flight, in halves of the bytes that the link holds: while these grow, and
/// afterwards,
const GROWING_HALVES: u64 = 12;
const HELD_HALVES: u64 = 5;
/// and at least, in bytes: less is soon over, whichever connection is the last.
const IN_FLIGHT_LEAST: u64 = 16 << 20;
/// 100 Mbit/s in bytes per second; used while nothing is known.
pub(crate) const BANDWIDTH_GUESS: u64 = 12_500_000;

#[derive(Debug)]
pub(crate) struct Server {
    pub traits: ServerTraits,
    pub connections: BTreeSet<ConnectionId>,
    /// Files with queued chunks to be read here, by their most important one.
    pub agenda: BTreeSet<(Urgency, u64, FileId)>,
    /// Files with parts of an open to be sent here.
    pub opens: BTreeSet<FileId>,
    /// Sources here that have not been asked yet whether they have their files.
    pub joins: BTreeSet<SourceId>,
    /// Queued bytes of the files on the agenda: demands, hints.
    pub queued: [u64; 2],
    /// The request that shows whether both ends of a file come in one answer.
    pub both_ends_trial: Option<RequestId>,
    /// Connections are wanted even without work.
    pub warm_up: bool,
    pub growth: Growth,
    pub request_growth: RequestGrowth,
    /// Requests that it has answered, whatever the answer.
    pub answered: u64,
    pub round_trip: RoundTrip,
    pub meter: Meter,
    pub waves: Waves,
    /// The same as `meter`, of loads that would have shown more: the rate that it can deliver, not
    /// the rate that was requested.
    pub pace: Meter,
    /// A connection has been usable once.
    pub reached: bool,
    /// One is usable now, as far as is known.
    pub is_usable: bool,
    /// The last connection that was tried was not taken.
    pub is_out_of_reach: bool,
    /// When an answer last came.
    pub alive_at: Time,
    /// Made to see whether it still answers.
    pub probe: Option<ConnectionId>,
    /// Something has been done about its silence; nothing more before this.
    pub excused_until: Time,
    /// Failures since the last byte.
    pub failures: u32,
    failed_at: Option<Time>,
    /// No new connection before `retry_at`.
    pub retrying: bool,
    pub retry_at: Time,
    /// It refused more connections than this while these were up.
    learnt_max: Option<u32>,
    /// It refused requests beside so many others; and the requests that it has served since.
    busy_max: Option<u32>,
    served_since: u32,
    /// Most connections that the caller allows; may be 0.
    pub allowed: Option<u32>,
}

impl Server {
    pub(crate) fn new(traits: ServerTraits) -> Self {
        let round_trip = RoundTrip::new(traits.distance_hint_rtt);
        Server {
            traits,
            connections: BTreeSet::new(),
            agenda: BTreeSet::new(),
            opens: BTreeSet::new(),
            joins: BTreeSet::new(),
            queued: [0; 2],
            both_ends_trial: None,
            warm_up: false,
            growth: Growth::default(),
            request_growth: RequestGrowth::default(),
            answered: 0,
            round_trip,
            meter: Meter::new(),
            waves: Waves::default(),
            pace: Meter::new(),
            reached: false,
            is_usable: false,
            is_out_of_reach: false,
            alive_at: Time::ZERO,
            probe: None,
            excused_until: Time::ZERO,
            failures: 0,
            failed_at: None,
            retrying: false,
            retry_at: Time::ZERO,
            learnt_max: None,
            busy_max: None,
            served_since: 0,
            allowed: None,
        }
    }

    /// Its limits are known better; limits guessed from refusals are forgotten.
    pub(crate) fn update(&mut self, traits: ServerTraits) {
        if let Some(hint) = traits.distance_hint_rtt {
            self.round_trip.suggest(hint);
        }
        self.traits = traits;
        self.learnt_max = None;
    }

    /// The part of an open that a request is sent for: both ends together where they are served so,
    /// and in one request at a time until that is known.
    pub(crate) fn part_to_send(&mut self, part: FileEnd, request: RequestId) -> FileEnd {
        let FileEnd::Both { head, .. } = part else { return part };
        match self.traits.both_ends {
            BothEnds::Served => part,
            BothEnds::Untried if self.both_ends_trial.is_none() => {
                self.both_ends_trial = Some(request);
                part
            }
            BothEnds::Untried | BothEnds::Never => FileEnd::Head(head),
        }
    }

    /// A request has ended, with or without an answer.
    pub(crate) fn end_trial(&mut self, request: RequestId) {
        self.both_ends_trial = self.both_ends_trial.filter(|trial| *trial != request);
    }

    pub(crate) fn has_work(&self) -> bool {
        !self.agenda.is_empty() || !self.opens.is_empty() || !self.joins.is_empty()
    }

    /// Files of which a request has to be sent.
    pub(crate) fn files_waiting(&self) -> u32 {
        let files = self.opens.len() + self.agenda.len() + self.joins.len();
        u32::try_from(files).unwrap_or(u32::MAX)
    }

    /// Whether the queued bytes are few for each file, so that requests cost time and not bytes.
    pub(crate) fn has_small_requests(&self) -> bool {
        let bytes = self.queued[0].saturating_add(self.queued[1]);
        bytes <= self.traits.request_bytes_brief.saturating_mul(self.agenda.len() as u64)
    }

    /// Connections that are wanted for small requests of many files.
    pub(crate) fn connections_for_requests(&self, budgets: &Budgets) -> u32 {
        let wanted = self.request_growth.target().min(self.connections_for_requests_max(budgets));
        if self.has_small_requests() { wanted.min(self.files_waiting()) } else { 0 }
    }

    /// Whether more connections are wanted for small requests of many files, `usable` being there.
    pub(crate) fn consider_requests(&mut self, now: Time, usable: u32, budgets: &Budgets) {
        let one_each = !self.traits.pipelined && !self.traits.is_disk;
        let most = self.connections_for_requests_max(budgets);
        // Those for bytes come first.
        let most_for_bytes = self.connections_max(budgets).min(self.growth.target());
        if one_each && self.has_small_requests() && usable >= most_for_bytes {
            let waiting = self.files_waiting();
            let load = RequestLoad { connections: usable, waiting, answered: self.answered, most };
            self.request_growth.consider(now, load);
        }
    }

    fn connections_for_requests_max(&self, budgets: &Budgets) -> u32 {
        let most = budgets.connections_for_requests_max;
        self.limited(most.max(budgets.connections_per_server_max))
    }

    pub(crate) fn connections_max(&self, budgets: &Budgets) -> u32 {
        self.limited(budgets.connections_per_server_max)
    }

    /// At most so many connections, and no more than the server takes and the caller allows.
    fn limited(&self, most: u32) -> u32 {
        let allowed = self.traits.max_connections.unwrap_or(u32::MAX);
        let learnt = self.learnt_max.unwrap_or(u32::MAX);
        let learnt = learnt.min(self.busy_max.unwrap_or(u32::MAX));
        let most = most.min(allowed).min(learnt).max(1);
        most.min(self.allowed.unwrap_or(u32::MAX))
    }

    /// The connections that get requests, at most as many as the caller allows.
    pub(crate) fn in_use(&self) -> impl Iterator<Item = ConnectionId> + Clone {
        self.connections.iter().take(self.allowed.unwrap_or(u32::MAX) as usize).copied()
    }

    pub(crate) fn requests_max(&self, budgets: &Budgets) -> usize {
        match self.traits.pipelined {
            true => budgets.requests_in_flight_per_connection_max.max(1) as usize,
            false => 1,
        }
    }

    pub(crate) fn rtt_or_guess(&self) -> Time {
        self.round_trip.get().unwrap_or(ROUND_TRIP_GUESS)
    }

    pub(crate) fn bandwidth_or_guess(&self) -> u64 {
        match self.meter.rate() {
            0 => BANDWIDTH_GUESS,
            rate => rate,
        }
    }

    /// Whether the network is so near that only the server can make an answer late.
    fn is_near(&self) -> bool {
        !self.traits.is_disk && self.round_trip.distance().is_some_and(|rtt| rtt <= NEAR)
    }

    /// Limit of hinted bytes in flight. More would delay demands: on a link by the time of their
    /// transfer, at a busy near server by their time in its queue.
    pub(crate) fn hints_max(&self) -> u64 {
        match self.is_near() {
            true => bytes_in(self.meter.rate(), NEAR_HINTS).clamp(HINTS_LEAST, HINTS_MIN),
            false => self.pipe_bytes().saturating_mul(HINTS_RATIO).max(HINTS_MIN),
        }
    }

    /// Length up to which a chunk is not divided among requests. From a near server pieces of it
    /// would save a few round trips, and a seek takes longer.
    pub(crate) fn chunk_bytes_whole(&self) -> u64 {
        let whole = if self.is_near() { NEAR_CHUNK_BYTES_WHOLE } else { 0 };
        self.traits.chunk_bytes_whole.max(whole)
    }

    /// Bytes the link holds; 0 while unknown.
    pub(crate) fn pipe_bytes(&self) -> u64 {
        self.round_trip.get().map_or(0, |rtt| bytes_in(self.meter.rate(), rtt))
    }

    /// Bytes that may be in flight over all connections together. While the rate grows: the bytes
    /// of the next two round trips, twice and four times as many as in the last one. Afterwards:
    /// the bytes that the link holds, a queue in front of it of the same length, and a reserve.
    /// More keeps nothing busier, and is given to connections before it is known which of them will
    /// be the last.
    pub(crate) fn in_flight_max(&self) -> u64 {
        let held = self.pipe_bytes().max(self.waves.bytes());
        if held == 0 || self.traits.is_disk {
            return u64::MAX;
        }
        let halves = if self.waves.grow() { GROWING_HALVES } else { HELD_HALVES };
        (held / 2).saturating_mul(halves).max(IN_FLIGHT_LEAST)
    }

    /// Whether the rate of all connections together stands, at one that takes many bytes in flight.
    pub(crate) fn fills_link(&self) -> bool {
        let most = self.in_flight_max();
        !self.waves.grow() && (IN_FLIGHT_LEAST + 1..u64::MAX).contains(&most)
    }

    /// Whether so many bytes in flight show the rate of the link.
    pub(crate) fn is_load(&self, in_flight: u64) -> bool {
        const LEAST: u64 = 64 << 10;
        let pipe = bytes_in(self.pace.rate(), self.rtt_or_guess());
        in_flight >= LEAST.max(pipe / 4 * 3)
    }

    /// A connection that was asked for at `since` has failed. Several that fail of one cause
    /// count once: those that were under way when the last one failed.
    pub(crate) fn connection_failed(&mut self, now: Time, since: Time, budgets: &Budgets) {
        if self.failed_at.is_some_and(|failed_at| since <= failed_at) {
            return;
        }
        self.failed_at = Some(now);
        self.failures += 1;
        self.retrying = true;
        self.retry_at = now.saturating_add(budgets.backoff(self.failures));
    }

    /// It does not take more connections than it has.
    pub(crate) fn connection_refused(&mut self, usable: u32) {
        self.learnt_max = Some(usable.max(1));
    }

    /// It has too many requests: so many others, which it goes on serving, were enough.
    pub(crate) fn request_refused(&mut self, others: u32) {
        let known = self.busy_max.unwrap_or(u32::MAX);
        self.busy_max = Some(known.min(others).max(1));
        self.served_since = 0;
    }

    /// A limit that it had for a moment is not believed for ever.
    pub(crate) fn request_served(&mut self) {
        let Some(known) = self.busy_max else { return };
        self.served_since += 1;
        if self.served_since >= known.saturating_mul(SERVED_PER_CONNECTION) {
            self.busy_max = Some(known.saturating_add(1));
            self.served_since = 0;
        }
    }

    /// Failing again and again, it is not waited for any longer.
    pub(crate) fn is_given_up(&self, now: Time, budgets: &Budgets) -> bool {
        !self.reached || now.saturating_sub(self.alive_at) >= budgets.outage_max
    }

    /// The server or the path to it has changed.
    pub(crate) fn forget_rate(&mut self) {
        self.meter.forget();
        self.pace.forget();
    }

    /// Bytes came: it is alive.
    pub(crate) fn is_alive(&mut self) {
        self.failures = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_that_fail_together_count_once() {
        let budgets = Budgets::default();
        let mut server = Server::new(ServerTraits::default());
        let ms = Time::from_millis;
        for _ in 0..8 {
            server.connection_failed(ms(10), ms(0), &budgets);
        }
        assert_eq!((server.failures, server.retry_at), (1, ms(110)));
        server.connection_failed(ms(120), ms(110), &budgets);
        assert_eq!((server.failures, server.retry_at), (2, ms(320)));
        server.is_alive();
        server.connection_failed(ms(500), ms(400), &budgets);
        assert_eq!((server.failures, server.retry_at), (1, ms(600)));
    }

    /// A busy disk answers as late as a server on another continent. Regression: the late answers
    /// passed for a link that holds many bytes, and jobs filled the disk's queue with reads for
    /// much later.
    #[test]
    fn a_busy_server_is_not_a_far_one() {
        let ms = Time::from_millis;
        let server = |trip, is_disk| {
            let traits = ServerTraits { is_disk, ..ServerTraits::default() };
            let mut server = Server::new(traits);
            server.round_trip.suggest(trip);
            server.round_trip.record(ms(500), ms(400));
            let mark = server.meter.mark(ms(0));
            server.meter.record(mark, ms(500), 500_000, Some(ms(400)));
            server
        };
        let near = server(ms(1), false);
        assert_eq!(near.chunk_bytes_whole(), NEAR_CHUNK_BYTES_WHOLE);
        assert_eq!(near.hints_max(), HINTS_LEAST);
        for other in [server(ms(80), false), server(ms(1), true)] {
            assert_eq!((other.chunk_bytes_whole(), other.hints_max()), (0, HINTS_MIN));
        }
    }

    #[test]
    fn the_smallest_limit_holds() {
        let budgets = Budgets::default();
        let mut server = Server::new(ServerTraits::default());
        assert_eq!(server.connections_max(&budgets), 16);
        server.traits.max_connections = Some(4);
        assert_eq!(server.connections_max(&budgets), 4);
        server.connection_refused(2);
        assert_eq!(server.connections_max(&budgets), 2);
        server.allowed = Some(0);
        assert_eq!(server.connections_max(&budgets), 0);
    }
}
