//! How many connections to one server.
//!
//! Some are asked for at the first moment of an open. More are tried when there is much left to
//! fetch, doubling, and kept up only as long as the last step brought something: where single
//! connections are limited (by window, by loss, by a shaper) more of them help, where the link
//! itself is full they only load the server.

use crate::estimate::bytes_in;
use crate::ids::Time;

/// A step is judged after this many round trips, when its connections have left slow start.
const TRIPS_PER_STEP: u32 = 6;
/// A step that doubles the connections must bring this much, in per cent.
const GAIN_PER_CENT: u64 = 15;
/// There is much left when it takes this many round trips at the present rate.
const TRIPS_LEFT: u32 = 4;

#[derive(Debug)]
pub(crate) struct Growth {
    /// How many are wanted.
    target: u32,
    /// When the target last rose, and the rate at that time.
    step: Option<(Time, u64)>,
}

impl Growth {
    pub(crate) fn new() -> Self {
        Growth { target: 0, step: None }
    }

    pub(crate) fn target(&self) -> u32 {
        self.target
    }

    pub(crate) fn at_least(&mut self, count: u32) {
        self.target = self.target.max(count);
    }

    /// All connections are loaded and `queued` bytes are left: are more wanted?
    pub(crate) fn consider(&mut self, now: Time, rtt: Time, rate: u64, queued: u64, most: u32) {
        if self.target >= most || queued < bytes_in(rate, rtt.saturating_mul(TRIPS_LEFT)) {
            return;
        }
        if let Some((at, before)) = self.step {
            let judged = now >= at.saturating_add(rtt.saturating_mul(TRIPS_PER_STEP));
            let gained = rate / 100 >= before / 100 * (100 + GAIN_PER_CENT) / 100;
            if !judged || !gained {
                return;
            }
        }
        self.step = Some((now, rate));
        self.target = self.target.saturating_mul(2).clamp(1, most);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Time = Time::from_millis(100);
    const MUCH: u64 = 1 << 30;

    fn eight() -> Growth {
        let mut growth = Growth::new();
        growth.at_least(8);
        growth
    }

    #[test]
    fn more_are_tried_when_much_is_left() {
        let mut growth = eight();
        growth.consider(Time::ZERO, RTT, 10_000_000, 1_000_000, 64);
        assert_eq!(growth.target(), 8, "a tenth of a second's worth");
        growth.consider(Time::ZERO, RTT, 10_000_000, MUCH, 64);
        assert_eq!(growth.target(), 16);
    }

    #[test]
    fn and_again_only_after_the_last_ones_brought_something() {
        let mut growth = eight();
        growth.consider(Time::ZERO, RTT, 10_000_000, MUCH, 64);
        growth.consider(RTT * 2, RTT, 20_000_000, MUCH, 64);
        assert_eq!(growth.target(), 16, "too early to tell");
        growth.consider(RTT * 7, RTT, 10_500_000, MUCH, 64);
        assert_eq!(growth.target(), 16, "they brought little");
        growth.consider(RTT * 7, RTT, 19_000_000, MUCH, 64);
        assert_eq!(growth.target(), 32);
    }

    #[test]
    fn never_more_than_allowed() {
        let mut growth = eight();
        growth.consider(Time::ZERO, RTT, 0, MUCH, 12);
        assert_eq!(growth.target(), 12);
    }
}
