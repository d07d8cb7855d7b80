//! The window of an upload: the number of bytes on their way to a server at a time.
//!
//! Too few leave the link idle for a part of each round trip. Too many overflow the queue in front
//! of its narrowest part: bytes lost there are sent again, and the link is idle meanwhile. So a
//! quarter more is on its way than the server confirms within the shortest time that it took to
//! confirm any bytes. That is more than a round trip, as these bytes waited for others.

use std::collections::VecDeque;
use std::time::Duration;

/// Bytes that may always be on their way.
const LEAST: u64 = 4 << 20;
/// While the connection becomes faster, so many times the bytes of a round trip: requests for
/// further connections wait behind them.
const GROWTH: u64 = 4;
/// And at least, until the first confirmations.
const FIRST: u64 = 1 << 20;
/// And at most, unless a round trip brings more.
const GROWING_MOST: u64 = 32 << 20;
/// The same of a steady connection: a link of 10 Gbit/s that is 100 ms away, and the quarter.
pub const MOST: u64 = 160 << 20;
/// On their way are so many quarters of the bytes that the server confirms in that time.
const QUARTERS: u64 = 5;
/// A rate counts for so many round trips.
const TRIPS: u32 = 8;
/// A connection is steady when so many round trips in a row have each been hardly faster than the
/// best of as many before, and so many bytes are confirmed. One trip before is not enough: a full
/// buffer brings its bytes in bursts, of which a trip may have one or two.
const STEADY_TRIPS: usize = 3;
const STEADY_BYTES: u64 = 1 << 20;
/// Shorter times are no measure of a rate.
const TRIP_MIN: Duration = Duration::from_millis(20);

/// The window of one file.
#[derive(Debug)]
pub struct Window {
    /// Bytes that it never exceeds: a part of the memory budget.
    most: u64,
    /// The shortest time from sending bytes to their confirmation.
    trip: Option<Duration>,
    /// Bytes confirmed so far, after each confirmation of the last round trip.
    confirmed: VecDeque<(Duration, u64)>,
    /// The most that a round trip has brought lately, and when.
    best: VecDeque<(Duration, u64)>,
    growth: Growth,
}

/// Whether a connection becomes faster, by the bytes that each round trip brings.
#[derive(Debug, Default)]
struct Growth {
    /// When the present round trip began, and the bytes that it has brought.
    begun: Option<Duration>,
    bytes: u64,
    all_bytes: u64,
    /// The last round trips.
    before: VecDeque<Trip>,
    /// Round trips in a row that were hardly faster than those before.
    steady: usize,
}

/// The bytes that a round trip has confirmed, and how long it took.
#[derive(Debug, Clone, Copy)]
struct Trip {
    bytes: u64,
    took: Duration,
}

impl Growth {
    fn confirmed(&mut self, now: Duration, bytes: u64, trip: Duration) {
        let begun = *self.begun.get_or_insert(now);
        self.all_bytes += bytes;
        let took = now.saturating_sub(begun);
        if took < trip.max(TRIP_MIN) {
            self.bytes += bytes;
            return;
        }
        // On a busy machine some of these times are longer, and bring more bytes.
        let present = Trip { bytes: self.bytes, took };
        let best = self.before.iter().copied().map(rate).reduce(f64::max);
        if let Some(best) = best {
            self.steady = if rate(present) > 1.25 * best { 0 } else { self.steady + 1 };
        }
        self.before.push_back(present);
        while self.before.len() > STEADY_TRIPS {
            self.before.pop_front();
        }
        self.begun = Some(now);
        self.bytes = bytes;
    }

    /// Bytes a second, once the connection becomes no faster.
    fn steady_rate(&self) -> Option<f64> {
        let is_steady = self.steady >= STEADY_TRIPS && self.all_bytes >= STEADY_BYTES;
        let sum = |one: Trip, next: Trip| Trip {
            bytes: one.bytes + next.bytes,
            took: one.took + next.took,
        };
        let all = self.before.iter().copied().reduce(sum)?;
        is_steady.then(|| rate(all))
    }
}

/// Bytes a second.
fn rate(trip: Trip) -> f64 {
    trip.bytes as f64 / trip.took.as_secs_f64()
}

impl Window {
    /// A window of at most so many bytes, though never less than the least.
    pub fn new(most: u64) -> Self {
        Window {
            most: most.clamp(LEAST, MOST),
            trip: None,
            confirmed: VecDeque::new(),
            best: VecDeque::new(),
            growth: Growth::default(),
        }
    }

    /// The limit, bytes.
    pub fn bytes(&self) -> u64 {
        let Some((_, best)) = self.best.front() else { return FIRST };
        let held = (best / 4).saturating_mul(QUARTERS);
        match self.steady_rate() {
            Some(_) => held.clamp(LEAST, self.most),
            None => {
                let growing = best.saturating_mul(GROWTH).clamp(FIRST, GROWING_MOST);
                growing.max(held).min(self.most)
            }
        }
    }

    /// Whether the server is so far away that the buffers of a flow may limit its rate.
    pub fn is_far(&self) -> bool {
        self.trip.is_some_and(|trip| trip >= TRIP_MIN)
    }

    /// Bytes a second that the server confirms, once that has become no more for a while.
    pub fn steady_rate(&self) -> Option<f64> {
        self.growth.steady_rate()
    }

    /// At `now`, a time since any beginning, the server has confirmed `bytes` that were sent at
    /// `sent`.
    pub fn confirmed(&mut self, sent: Duration, now: Duration, bytes: u64) {
        let took = now.saturating_sub(sent);
        let trip = self.trip.map_or(took, |trip| trip.min(took));
        self.trip = Some(trip);
        self.growth.confirmed(now, bytes, trip);
        let all = self.confirmed.back().map_or(0, |(_, all)| *all) + bytes;
        self.confirmed.push_back((now, all));
        while self.confirmed.get(1).is_some_and(|(at, _)| now.saturating_sub(*at) >= trip) {
            self.confirmed.pop_front();
        }
        let brought = match self.confirmed.front() {
            Some((at, before)) if now.saturating_sub(*at) >= trip => all - before,
            _ => all,
        };
        self.note(now, brought, trip);
    }

    /// Keeps the greatest of the last round trips, and those that will be it later.
    fn note(&mut self, now: Duration, brought: u64, trip: Duration) {
        while self.best.back().is_some_and(|(_, other)| *other <= brought) {
            self.best.pop_back();
        }
        self.best.push_back((now, brought));
        let old = |(at, _): &mut (Duration, u64)| now.saturating_sub(*at) > trip * TRIPS;
        while self.best.len() > 1 && self.best.pop_front_if(old).is_some() {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// Confirms a MiB each `step` ms from `start` to `end`, each sent 100 ms before.
    fn steady(window: &mut Window, (start, end): (u64, u64), step: usize) {
        for at in (start..end).step_by(step) {
            window.confirmed(ms(at - 100), ms(at), MIB);
        }
    }

    #[test]
    fn it_is_somewhat_more_than_a_round_trip_brings() {
        let mut window = Window::new(MOST);
        assert_eq!(window.bytes(), FIRST, "before anything is known");
        steady(&mut window, (100, 1000), 10);
        assert!((12 * MIB..=14 * MIB).contains(&window.bytes()), "{}", window.bytes());
        // The rate has halved: known when the better times are long enough ago.
        steady(&mut window, (1000, 1500), 20);
        assert!(window.bytes() >= 12 * MIB, "{}", window.bytes());
        steady(&mut window, (1500, 3000), 20);
        assert!((6 * MIB..=7 * MIB).contains(&window.bytes()), "{}", window.bytes());
    }

    #[test]
    fn a_slow_link_and_a_fast_one_have_limits() {
        let mut slow = Window::new(MOST);
        steady(&mut slow, (1000, 9000), 1000);
        assert_eq!(slow.bytes(), LEAST);
        let most = 64 * MIB;
        let mut fast = Window::new(most);
        steady(&mut fast, (100, 1000), 1);
        assert_eq!(fast.bytes(), most, "a small budget");
        let mut fast = Window::new(u64::MAX);
        steady(&mut fast, (100, 1000), 1);
        assert!((115 * MIB..=MOST).contains(&fast.bytes()), "{}", fast.bytes());
    }

    /// Regression: a trip of 105 ms has one or two bursts of a buffer that is full each 101 ms. The
    /// rate seemed to double again and again, and an upload stayed on one connection.
    #[test]
    fn bursts_of_a_full_buffer_are_a_steady_rate() {
        let mut window = Window::new(MOST);
        for burst in 2..40u64 {
            for piece in 0..6 {
                let at = burst * 101 + piece;
                // Trips are no shorter than this, and mostly longer.
                window.confirmed(ms(at - 105), ms(at), MIB);
            }
            let rate = window.steady_rate();
            assert!(burst < 8 || rate.is_some(), "{burst}: {window:?}");
            let off = rate.map_or(0.0, |rate| (rate - 62.3e6).abs());
            assert!(off < 25e6, "{burst}: {rate:?}");
        }
    }

    #[test]
    fn a_pause_does_not_forget_the_link() {
        let mut window = Window::new(MOST);
        steady(&mut window, (100, 1000), 10);
        let before = window.bytes();
        window.confirmed(ms(59_900), ms(60_000), MIB);
        assert!(window.bytes() <= before && window.bytes() >= LEAST);
    }
}
