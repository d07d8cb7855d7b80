//! One connection: its state, its load, and a model of TCP's congestion window at the far end.

use std::collections::BTreeSet;

use crate::budget::Budgets;
use crate::estimate::{Meter, Plateau, RoundTrip, Waves, bytes_in};
use crate::ids::{RequestId, ServerId, Time};
use crate::link::LinkModel;
use crate::split::Pipe;

/// Bytes that a cold connection sends before the first acknowledgement, behind the first answers.
pub(crate) const WINDOW_INITIAL: u64 = LinkModel::USUAL.free_window();
/// The largest window that a receiver's buffer allows on usual systems.
const WINDOW_MAX: u64 = 16 << 20;
/// After an idle time of one retransmission time-out (at least this, beyond the round trip) a
/// sender halves its window (RFC 2861).
const IDLE_HALVES: Time = Time::from_millis(200);
/// Bytes that may always be asked of one connection: more than TCP can deliver in the first four
/// round trips, little enough to wait for.
const IN_FLIGHT_MIN: u64 = 256 << 10;
/// While the window doubles, this many windows keep the connection busy until the next request
/// gets there: one is delivered before, two more in the round trip that follows.
const WINDOWS_AHEAD: u64 = 4;
/// The same, where the bytes of the last round trip show a wider window than the rate: the rate is
/// an average over the time of a request, and late by as much.
const WAVES_AHEAD: u64 = 3;
/// Limit of bytes in flight of a connection on a full link, as a multiple of the most bytes that
/// one of its last round trips has brought.
const WAVES_HELD: u64 = 3;

/// The same before it is usable: it may never be.
const IN_FLIGHT_CONNECTING: u64 = 128 << 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    Connecting,
    Usable,
}

#[derive(Debug)]
pub(crate) struct Connection {
    pub server: ServerId,
    pub phase: Phase,
    /// When it was asked for.
    pub since: Time,
    /// When something last came, or the first request since an idle time was sent.
    pub heard: Time,
    /// TCP has it.
    pub is_accepted: bool,
    /// Reads of it end by themselves, however long they take.
    pub is_disk: bool,
    /// When enough last came, or the first request since an idle time was sent, and the bytes
    /// since.
    pub progressed: Time,
    pub brought: u64,
    pub requests: BTreeSet<RequestId>,
    /// Bytes asked for and not here.
    pub in_flight: u64,
    pub meter: Meter,
    window: u64,
    waves: Waves,
    /// The window before the present wave.
    window_before: u64,
    start_up: Plateau,
}

impl Connection {
    pub(crate) fn new(server: ServerId, now: Time, is_disk: bool) -> Self {
        Connection {
            server,
            phase: Phase::Connecting,
            since: now,
            heard: now,
            is_accepted: false,
            is_disk,
            progressed: now,
            brought: 0,
            requests: BTreeSet::new(),
            in_flight: 0,
            meter: Meter::new(),
            window: WINDOW_INITIAL,
            waves: Waves::default(),
            window_before: 0,
            start_up: Plateau::default(),
        }
    }

    /// A request was sent.
    pub(crate) fn sent(&mut self, request: RequestId, bytes: u64, now: Time, rtt: Option<Time>) {
        if self.requests.is_empty() {
            self.cool_down(now, rtt);
            self.heard = self.heard.max(now);
            self.has_progressed(now);
        }
        self.requests.insert(request);
        self.in_flight = self.in_flight.saturating_add(bytes);
    }

    /// Bytes came. Each acknowledged byte widens the window by itself while TCP starts.
    pub(crate) fn delivered(&mut self, bytes: u64, now: Time, rtt: Option<Time>) {
        self.heard = self.heard.max(now);
        let window = self.window(rtt);
        if self.waves.add(now, bytes, rtt) {
            self.window_before = window;
        }
        self.in_flight = self.in_flight.saturating_sub(bytes);
        self.window = self.window.saturating_add(bytes).min(WINDOW_MAX);
        if let Some(rtt) = rtt.filter(|_| self.meter.rate() > 0) {
            self.start_up.observe(now, self.meter.rate(), rtt);
        }
    }

    /// The window, as far as deliveries bear it out: twice the bytes of a round trip, as TCP
    /// doubles at most.
    fn window(&self, rtt: Option<Time>) -> u64 {
        let borne_out = match (self.meter.rate(), rtt) {
            (rate, Some(rtt)) if rate > 0 => bytes_in(rate, rtt).saturating_mul(2),
            _ => WINDOW_MAX,
        };
        self.window.min(borne_out.max(WINDOW_INITIAL))
    }

    /// The window to compare with those of other connections. A wave that has reached this one
    /// will reach the others: its bytes count when it is through.
    fn comparable_window(&self, now: Time, rtt: Option<Time>) -> u64 {
        let more_comes = !self.requests.is_empty() && self.waves.is_amid(now, rtt);
        if more_comes { self.window_before } else { self.window(rtt) }
    }

    fn cool_down(&mut self, now: Time, rtt: Option<Time>) {
        let pause = IDLE_HALVES.saturating_add(rtt.unwrap_or(Time::ZERO));
        let halvings = now.saturating_sub(self.heard).as_nanos() / pause.as_nanos();
        if halvings > 0 {
            let window = self.window(rtt) >> halvings.min(63);
            self.window = window.max(WINDOW_INITIAL);
            self.start_up = Plateau::default();
        }
    }

    /// Bytes that may be in flight: twice the bytes that the connection holds, so that it never
    /// runs dry while the next request is under way, and no more, so that an urgent one waits
    /// little.
    pub(crate) fn in_flight_max(&self, rtt: Option<Time>) -> u64 {
        if self.phase == Phase::Connecting {
            return IN_FLIGHT_CONNECTING;
        }
        let pipe = bytes_in(self.meter.rate(), rtt.unwrap_or(Time::ZERO));
        let ahead = match self.start_up.is_reached() {
            true => 0,
            false => {
                let next = self.window.min(self.waves.bytes().saturating_mul(2));
                let ahead = self.window(rtt).saturating_mul(WINDOWS_AHEAD);
                ahead.max(next.saturating_mul(WAVES_AHEAD))
            }
        };
        pipe.saturating_mul(2).max(ahead).max(IN_FLIGHT_MIN)
    }

    /// The same on a link that the connections fill together: each brings now more, now less, and
    /// its highest rate says little.
    pub(crate) fn in_flight_held(&self) -> u64 {
        self.waves.most().saturating_mul(WAVES_HELD).max(IN_FLIGHT_MIN)
    }

    /// When it has failed, or is of no use any more, unless something comes.
    /// `is_extra`: there are enough for bytes without it.
    pub(crate) fn deadline(&self, budgets: &Budgets, is_extra: bool) -> Option<Time> {
        match self.phase {
            Phase::Connecting => Some(self.since.saturating_add(budgets.connect_max)),
            Phase::Usable if self.requests.is_empty() => {
                let idle_max = match is_extra {
                    true => budgets.idle_max.min(budgets.idle_extra_max),
                    false => budgets.idle_max,
                };
                (idle_max < Time::MAX).then(|| self.heard.saturating_add(idle_max))
            }
            Phase::Usable => self.starves_at(budgets.silence_max),
        }
    }

    /// For [`split::place`](crate::split::place).
    pub(crate) fn pipe(&self, now: Time, rtt: Option<Time>) -> Pipe {
        let late_trips = u32::from(self.is_late(now, rtt));
        let window = self.comparable_window(now, rtt);
        Pipe { window, in_flight: self.in_flight, late_trips, full: false }
    }

    /// Neither usable nor about to be: of connections begun at one moment the first one is up a
    /// little before the others, and is not to do the work of all.
    fn is_late(&self, now: Time, rtt: Option<Time>) -> bool {
        let is_due = |rtt: Time| {
            let expected = self.since.saturating_add(rtt.saturating_mul(CONNECT_TRIPS));
            let difference = now.saturating_sub(expected).max(expected.saturating_sub(now));
            difference <= rtt / 2
        };
        self.phase == Phase::Connecting && !rtt.is_some_and(is_due)
    }
}

/// How long a connection takes to become usable, in round trips: TCP and one exchange.
const CONNECT_TRIPS: u32 = 2;

/// A connection has become usable this long after it was asked for.
pub(crate) fn suggest_round_trip(rtt: &mut RoundTrip, took: Time) {
    rtt.suggest(took / CONNECT_TRIPS);
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Option<Time> = Some(Time::from_millis(100));

    fn usable() -> Connection {
        Connection { phase: Phase::Usable, ..Connection::new(ServerId(0), Time::ZERO, false) }
    }

    #[test]
    fn the_window_doubles_with_each_full_window_delivered() {
        let mut connection = usable();
        for doubled in [2, 4, 8].map(|times| times * WINDOW_INITIAL) {
            connection.delivered(connection.window(RTT), Time::ZERO, RTT);
            assert_eq!(connection.window(RTT), doubled);
        }
    }

    #[test]
    fn an_idle_connection_cools_down() {
        let mut connection = usable();
        connection.delivered(7 * WINDOW_INITIAL, Time::ZERO, RTT);
        connection.sent(RequestId(1), 0, Time::from_millis(650), RTT);
        assert_eq!(connection.window(RTT), 2 * WINDOW_INITIAL);
        let mut connection = usable();
        connection.delivered(7 * WINDOW_INITIAL, Time::ZERO, RTT);
        connection.sent(RequestId(1), 0, Time::from_secs(3600), RTT);
        assert_eq!(connection.window(RTT), WINDOW_INITIAL);
    }

    #[test]
    fn a_connection_that_is_about_to_be_usable_is_not_late() {
        let connection = Connection::new(ServerId(0), Time::ZERO, false);
        let late = |ms| connection.pipe(Time::from_millis(ms), RTT).late_trips;
        assert_eq!([100, 160, 200, 240, 300].map(late), [1, 0, 0, 0, 1]);
        assert_eq!(connection.pipe(Time::from_millis(200), None).late_trips, 1, "who knows");
        assert_eq!(usable().pipe(Time::ZERO, RTT).late_trips, 0);
    }

    #[test]
    fn what_may_be_in_flight_follows_the_rate() {
        let mut connection = usable();
        assert_eq!(connection.in_flight_max(RTT), IN_FLIGHT_MIN);
        let mark = connection.meter.mark(Time::ZERO);
        for tenth in 1..=20 {
            let now = Time::from_millis(tenth * 100);
            connection.meter.record(mark, now, 2_000_000, RTT);
            connection.delivered(2_000_000, now, RTT);
            if tenth == 1 {
                let ahead = 4 * (2_000_000 + WINDOW_INITIAL);
                assert_eq!(connection.in_flight_max(RTT), ahead, "still getting faster");
            }
        }
        assert_eq!(connection.in_flight_max(RTT), 4_000_000, "twice what it holds");
        connection.phase = Phase::Connecting;
        assert_eq!(connection.in_flight_max(RTT), IN_FLIGHT_CONNECTING);
    }
}
