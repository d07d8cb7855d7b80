//! The number of connections to one server.
//!
//! Some are asked for at the first moment of an open. Twice as many are tried when there is much
//! left to fetch and the rate stands: where single connections are limited (by window, by loss, by
//! a shaper) more of them help, where the link itself is full they only load the server. A step
//! that brings nothing is the last.
//!
//! One step is taken blindly, when a large load meets connections that have just been made: more
//! of them make a faster start.
//!
//! Small requests of many files are another load ([`RequestGrowth`]): where each takes a connection
//! for a round trip, they wait for connections while the link is idle.

use crate::estimate::{Plateau, bytes_in};
use crate::ids::Time;

/// A step that doubles the connections must bring this much, in per cent.
const GAIN_PER_CENT: u64 = 15;
/// New connections deliver nothing worth judging before this many round trips.
const TRIPS_TO_CONNECT: u32 = 3;
/// There is much left when it takes this many round trips at the present rate.
const TRIPS_LEFT: u32 = 4;

#[derive(Debug, Default)]
pub(crate) struct Growth {
    /// How many are wanted.
    target: u32,
    /// A step has been taken, the first one.
    started: bool,
    /// The rate before the step that is to be judged.
    before: Option<u64>,
    rate: Plateau,
    /// The last step brought nothing.
    over: bool,
}

impl Growth {
    pub(crate) fn target(&self) -> u32 {
        self.target
    }

    pub(crate) fn at_least(&mut self, count: u32) {
        self.target = self.target.max(count);
    }

    /// All connections are loaded and `queued` bytes are left: are more wanted?
    pub(crate) fn consider(&mut self, now: Time, rtt: Time, rate: u64, queued: u64, most: u32) {
        self.rate.observe(now, rate, rtt);
        let much = queued > bytes_in(rate, rtt.saturating_mul(TRIPS_LEFT));
        if self.over || self.target >= most || !much {
            return;
        }
        if self.started {
            if !self.rate.is_reached() {
                return;
            }
            if self
                .before
                .is_some_and(|before| rate / 100 < before / 100 * (100 + GAIN_PER_CENT) / 100)
            {
                self.over = true;
                self.target = (self.target / 2).max(1);
                return;
            }
            self.before = Some(rate);
        }
        self.started = true;
        self.rate.disturb(now.saturating_add(rtt.saturating_mul(TRIPS_TO_CONNECT)));
        self.target = self.target.saturating_mul(2).clamp(1, most);
    }
}

/// Files that wait for each connection, at the least, for more connections to be tried: with fewer
/// all is over before these are made.
const WAITING_PER_CONNECTION: u32 = 2;
/// Answers on each connection by which a number of connections is judged.
const ANSWERS_PER_CONNECTION: u64 = 2;

/// The number of connections for requests that are small and many, each of which takes a connection
/// until it is answered.
#[derive(Debug, Default)]
pub(crate) struct RequestGrowth {
    /// How many are wanted; 0: no more than for bytes.
    target: u32,
    /// The present number of connections, since when there have been so many, and the answers
    /// before.
    since: Option<(u32, Time, u64)>,
    /// Answers per 1000 seconds before the step that is to be judged.
    before: Option<u64>,
    /// The last step brought nothing.
    over: bool,
}

/// The load of a server that [`RequestGrowth`] judges.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RequestLoad {
    /// Usable connections.
    pub connections: u32,
    /// Files of which a request has to be sent and cannot.
    pub waiting: u32,
    /// Requests that have been answered so far.
    pub answered: u64,
    /// Most connections that may be made.
    pub most: u32,
}

impl RequestGrowth {
    pub(crate) fn target(&self) -> u32 {
        self.target
    }

    /// All connections have a request, and others wait: are more connections wanted?
    pub(crate) fn consider(&mut self, now: Time, load: RequestLoad) {
        let RequestLoad { connections, waiting, answered, most } = load;
        if self.over || waiting < connections.saturating_mul(WAITING_PER_CONNECTION) {
            self.since = None;
            return;
        }
        let since = self.since.filter(|(count, ..)| *count == connections);
        let (_, began, answered_before) = *since.as_ref().unwrap_or(&(connections, now, answered));
        self.since = Some((connections, began, answered_before));
        let answers = answered.saturating_sub(answered_before);
        if connections < self.target.min(most)
            || answers < u64::from(connections).saturating_mul(ANSWERS_PER_CONNECTION)
        {
            return;
        }
        let took = now.saturating_sub(began).as_nanos().max(1);
        let rate = u128::from(answers) * 1_000_000_000_000 / took;
        let rate = u64::try_from(rate).unwrap_or(u64::MAX);
        if self.before.is_some_and(|before| rate / 100 < before / 10_000 * (100 + GAIN_PER_CENT)) {
            self.over = true;
            self.target /= 2;
            return;
        }
        if connections < most {
            self.before = Some(rate);
            self.target = connections.saturating_mul(2).min(most);
        }
        self.since = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Time = Time::from_millis(100);
    const MUCH: u64 = 1 << 30;

    /// The targets after these rates, one a round trip, from eight connections on.
    fn targets(rates: &[u64], queued: u64, most: u32) -> Vec<u32> {
        let mut growth = Growth::default();
        growth.at_least(8);
        let mut now = RTT;
        let mut targets = Vec::new();
        for rate in rates {
            growth.consider(now, RTT, *rate, queued, most);
            targets.push(growth.target());
            now += RTT;
        }
        targets
    }

    #[test]
    fn more_are_tried_when_much_is_left() {
        assert_eq!(targets(&[10_000_000], 1_000_000, 64), [8], "a tenth of a second's worth");
        assert_eq!(targets(&[10_000_000], MUCH, 64), [16]);
        assert_eq!(targets(&[0], MUCH, 12), [12], "never more than allowed");
    }

    #[test]
    fn the_next_step_waits_until_the_rate_stands() {
        let rates = [1, 2, 4, 8, 10, 15, 20, 20, 20, 20, 20].map(|rate| rate * 1_000_000);
        let mut expected = [16; 11];
        expected[9..].fill(32);
        assert_eq!(targets(&rates, MUCH, 64), expected);
    }

    #[test]
    fn a_step_that_brings_nothing_is_the_last() {
        let full = [10; 20].map(|rate| rate * 1_000_000);
        let targets = targets(&full, MUCH, 64);
        assert_eq!(targets.iter().max(), Some(&32));
        assert_eq!(targets.last(), Some(&16), "those that end are not replaced");
    }

    #[test]
    fn a_step_that_helps_is_followed_by_another() {
        let shaped = [[8; 5], [16; 5], [32; 5], [60; 5]].concat();
        let shaped: Vec<u64> = shaped.iter().map(|rate| rate * 1_000_000).collect();
        assert_eq!(targets(&shaped, MUCH, 128).last(), Some(&64));
    }

    /// The connections that are wanted after so many round trips of a server that answers all
    /// requests after one, but at most `served` of them.
    fn connections_for(waiting: u32, served: u32, most: u32, trips: u32) -> u32 {
        let mut growth = RequestGrowth::default();
        let mut connections = 16;
        let mut answered = 0;
        for trip in 0..trips {
            let now = RTT.saturating_mul(trip);
            for _ in 0..connections.min(served) {
                growth.consider(now, RequestLoad { connections, waiting, answered, most });
                answered += 1;
            }
            connections = connections.max(growth.target());
        }
        growth.target()
    }

    #[test]
    fn more_connections_are_tried_while_files_wait_for_answers() {
        assert_eq!(connections_for(31, 1000, 48, 50), 0, "too few to be worth it");
        assert_eq!(connections_for(96, 1000, 48, 2), 0, "nothing is known yet");
        assert_eq!(connections_for(96, 1000, 48, 4), 32);
        assert_eq!(connections_for(96, 1000, 48, 50), 48);
        assert_eq!(connections_for(1000, 1000, 16, 50), 0, "never more than allowed");
    }

    #[test]
    fn a_server_that_answers_no_more_requests_keeps_its_connections() {
        assert_eq!(connections_for(1000, 16, 48, 50), 16);
        assert_eq!(connections_for(1000, 32, 64, 50), 32);
    }
}
