//! The number of connections to one server.
//!
//! Some are asked for at the first moment of an open. Twice as many are tried when there is much
//! left to fetch and the rate stands: where single connections are limited (by window, by loss, by
//! a shaper) more of them help, where the link itself is full they only load the server. A step
//! that brings nothing is the last.
//!
//! One step is taken blindly, when a large load meets connections that have just been made: more
//! of them make a faster start.

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
}
