//! Estimates of a link, from data that has arrived: the shortest round trip and the largest
//! delivery rate, each over a window of time, as BBR measures them
//! (draft-cardwell-iccrg-bbr-congestion-control, sections 4.1 and 4.5). The rate is taken from the
//! deliveries themselves: how many bytes came between the sending of a request and the arrival of
//! its data.

use crate::ids::Time;

/// A window is kept as this many slots; an old one is dropped as a whole.
const SLOTS: usize = 8;

/// The largest value of the last `window`. An older value is kept until a newer one is recorded, so
/// a pause does not forget the link.
#[derive(Debug, Clone)]
pub(crate) struct WindowedMax {
    slot_length: Time,
    slots: [u64; SLOTS],
    /// Index in time of the newest slot.
    newest: u128,
}

impl WindowedMax {
    pub(crate) fn new(window: Time) -> Self {
        WindowedMax {
            slot_length: (window / SLOTS as u32).max(Time::from_nanos(1)),
            slots: [0; SLOTS],
            newest: 0,
        }
    }

    pub(crate) fn record(&mut self, now: Time, value: u64) {
        let slot = now.as_nanos() / self.slot_length.as_nanos();
        let passed = slot.saturating_sub(self.newest);
        for step in 1..=passed.min(SLOTS as u128) {
            self.slots[((self.newest + step) % SLOTS as u128) as usize] = 0;
        }
        self.newest = self.newest.max(slot);
        let slot = &mut self.slots[(self.newest % SLOTS as u128) as usize];
        *slot = (*slot).max(value);
    }

    /// 0: nothing recorded yet.
    pub(crate) fn get(&self) -> u64 {
        self.slots.iter().copied().max().unwrap_or(0)
    }
}

/// The shortest round trip of the last `window`.
#[derive(Debug, Clone)]
pub(crate) struct RoundTrip {
    /// The largest of (ceiling - nanoseconds) is the smallest of nanoseconds.
    shortest: WindowedMax,
    /// Before anything was measured: the value of an earlier session, or one that the handshake
    /// suggests.
    guess: Option<Time>,
}

const CEILING_NS: u64 = u64::MAX;
/// Routes change in minutes, queues in seconds: long enough to see the link without its queue.
const ROUND_TRIP_WINDOW: Time = Time::from_secs(10);

impl RoundTrip {
    pub(crate) fn new(guess: Option<Time>) -> Self {
        RoundTrip { shortest: WindowedMax::new(ROUND_TRIP_WINDOW), guess }
    }

    /// A request was answered after this long.
    pub(crate) fn record(&mut self, now: Time, sample: Time) {
        let sample = u64::try_from(sample.as_nanos()).unwrap_or(CEILING_NS);
        self.shortest.record(now, CEILING_NS - sample);
    }

    /// Something that takes about a round trip took this long; counts until a request has been
    /// answered.
    pub(crate) fn suggest(&mut self, sample: Time) {
        self.guess = Some(self.guess.map_or(sample, |guess| guess.min(sample)));
    }

    /// The round trip that connection setups and the caller's hint suggest: the network alone,
    /// without the time that a busy server takes to answer. `None` for no time at all, which says
    /// that the caller's clock stands still.
    pub(crate) fn distance(&self) -> Option<Time> {
        self.guess.filter(|guess| !guess.is_zero())
    }

    pub(crate) fn get(&self) -> Option<Time> {
        match self.shortest.get() {
            0 => self.guess,
            inverse => Some(Time::from_nanos(CEILING_NS - inverse)),
        }
    }
}

/// How fast bytes arrive: of one connection, or of a server over all its connections.
#[derive(Debug, Clone)]
pub(crate) struct Meter {
    delivered: u64,
    rate: WindowedMax,
}

/// The state of a [`Meter`] when a request was sent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mark {
    delivered: u64,
    at: Time,
}

/// Long enough for several round trips of the longest links.
const RATE_WINDOW: Time = Time::from_secs(4);

impl Meter {
    pub(crate) fn new() -> Self {
        Meter { delivered: 0, rate: WindowedMax::new(RATE_WINDOW) }
    }

    pub(crate) fn mark(&self, now: Time) -> Mark {
        Mark { delivered: self.delivered, at: now }
    }

    /// `bytes` arrived for a request sent at `mark`. A span shorter than a round trip is a burst
    /// out of a buffer and says nothing about the link.
    pub(crate) fn record(&mut self, mark: Mark, now: Time, bytes: u64, round_trip: Option<Time>) {
        self.record_under(mark, now, bytes, round_trip, true);
    }

    /// As [`Self::record`]; without a load that could have shown more, a rate counts only where it
    /// is a new highest.
    pub(crate) fn record_under(
        &mut self,
        mark: Mark,
        now: Time,
        bytes: u64,
        round_trip: Option<Time>,
        load: bool,
    ) {
        self.delivered = self.delivered.saturating_add(bytes);
        let span = now.saturating_sub(mark.at);
        if span < round_trip.unwrap_or(Time::ZERO) || span < SPAN_MIN {
            return;
        }
        let bytes = u128::from(self.delivered - mark.delivered);
        let rate = u64::try_from(bytes * 1_000_000_000 / span.as_nanos()).unwrap_or(u64::MAX);
        if load || (self.rate() > 0 && rate > self.rate()) {
            self.rate.record(now, rate);
        }
    }

    /// The link has changed.
    pub(crate) fn forget(&mut self) {
        self.rate = WindowedMax::new(RATE_WINDOW);
    }

    /// Bytes per second; 0 while unknown.
    pub(crate) fn rate(&self) -> u64 {
        self.rate.get()
    }
}

/// Bytes by round trip. A [`Meter`] averages over the time of a request, which while TCP doubles
/// its window is a quarter of the rate of the last round trip.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Waves {
    /// When the present one began.
    began: Time,
    /// Bytes of the present one, and of the two before it.
    brought: [u64; 3],
}

impl Waves {
    /// Bytes came; `true` where a new wave begins with them.
    pub(crate) fn add(&mut self, now: Time, bytes: u64, rtt: Option<Time>) -> bool {
        let begins = !self.is_amid(now, rtt);
        if begins {
            let [present, before, _] = self.brought;
            *self = Waves { began: now, brought: [0, present, before] };
        }
        self.brought[0] = self.brought[0].saturating_add(bytes);
        begins
    }

    /// Bytes of the last round trip: a wave that has just begun has brought few yet.
    pub(crate) fn bytes(&self) -> u64 {
        self.brought[0].max(self.brought[1])
    }

    /// The most that one of the last three brought, the present one included.
    pub(crate) fn most(&self) -> u64 {
        self.bytes().max(self.brought[2])
    }

    /// Whether one of the last two waves brought more than the one before it.
    pub(crate) fn grow(&self) -> bool {
        let grows = |[next, last]: [u64; 2]| next > last.saturating_add(last / GROWTH_PART);
        let [present, before, first] = self.brought;
        grows([present, before]) || grows([before, first])
    }

    /// Whether more of the present wave may come: it is shorter than a round trip, as the next one
    /// follows behind a pause while TCP starts, and without one afterwards.
    pub(crate) fn is_amid(&self, now: Time, rtt: Option<Time>) -> bool {
        let length = rtt.unwrap_or(Time::ZERO) / 4 * 3;
        now < self.began.saturating_add(length)
    }
}

/// Clocks and schedulers jitter by about this much.
const SPAN_MIN: Time = Time::from_micros(100);

/// Whether a rate still grows, judged once a round trip.
#[derive(Debug, Default)]
pub(crate) struct Plateau {
    best: u64,
    judged: Option<Time>,
    stale: u32,
}

/// A rate grows if it gains this part of itself in a round trip. TCP's start doubles it.
const GROWTH_PART: u64 = 4;
/// After this many round trips without growth it stands (as BBR leaves its start-up).
const STANDS_AFTER: u32 = 3;

impl Plateau {
    pub(crate) fn observe(&mut self, now: Time, rate: u64, rtt: Time) {
        if self.judged.is_some_and(|judged| now < judged.saturating_add(rtt)) {
            return;
        }
        self.judged = Some(now);
        if rate > self.best.saturating_add(self.best / GROWTH_PART) {
            self.best = rate;
            self.stale = 0;
        } else {
            self.stale = self.stale.saturating_add(1);
        }
    }

    /// The rate stands.
    pub(crate) fn is_reached(&self) -> bool {
        self.stale >= STANDS_AFTER
    }

    /// Something has changed that may let it grow again, from then on.
    pub(crate) fn disturb(&mut self, from: Time) {
        self.judged = Some(from);
        self.stale = 0;
    }
}

/// Bytes that arrive in `span` at `rate` bytes per second.
pub(crate) fn bytes_in(rate: u64, span: Time) -> u64 {
    let bytes = u128::from(rate).saturating_mul(span.as_nanos()) / 1_000_000_000;
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Time {
        Time::from_millis(ms)
    }

    #[test]
    fn the_maximum_is_forgotten_after_the_window_and_not_before() {
        let mut filter = WindowedMax::new(ms(800));
        filter.record(ms(0), 10);
        filter.record(ms(400), 5);
        assert_eq!(filter.get(), 10);
        filter.record(ms(790), 4);
        assert_eq!(filter.get(), 10);
        filter.record(ms(810), 4);
        assert_eq!(filter.get(), 5);
        filter.record(ms(90_000), 1);
        assert_eq!(filter.get(), 1);
    }

    #[test]
    fn a_round_trip_is_the_shortest_seen_and_a_guess_only_before() {
        let mut rtt = RoundTrip::new(None);
        assert_eq!(rtt.get(), None);
        rtt.suggest(ms(150));
        assert_eq!(rtt.get(), Some(ms(150)));
        rtt.record(ms(1), ms(120));
        rtt.record(ms(2), ms(100));
        rtt.record(ms(3), ms(400));
        assert_eq!(rtt.get(), Some(ms(100)));
    }

    #[test]
    fn a_full_pipe_gives_its_rate_although_requests_overlap() {
        // 1,000 bytes each 10 ms; each request is sent 100 ms before its data.
        let mut meter = Meter::new();
        let mut marks = std::collections::VecDeque::new();
        for step in 0..50 {
            let now = ms(10 * step);
            marks.push_back(meter.mark(now));
            if step >= 10 {
                meter.record(marks.pop_front().unwrap(), now, 1000, Some(ms(100)));
            }
        }
        assert!((95_000..=110_000).contains(&meter.rate()), "{}", meter.rate());
    }

    #[test]
    fn a_burst_is_no_rate() {
        let mut meter = Meter::new();
        let mark = meter.mark(ms(0));
        meter.record(mark, ms(1), 1 << 20, Some(ms(100)));
        assert_eq!(meter.rate(), 0);
        meter.record(mark, ms(100), 1 << 20, Some(ms(100)));
        assert_eq!(meter.rate(), 20 << 20);
    }

    #[test]
    fn waves_are_the_bytes_of_round_trips() {
        let mut waves = Waves::default();
        let brought: Vec<(u64, bool)> = [10, 20, 40, 80, 80, 80, 80]
            .into_iter()
            .zip(1..)
            .map(|(bytes, trip)| {
                assert!(waves.add(ms(100 * trip), bytes / 2, Some(ms(100))), "it begins");
                assert!(!waves.add(ms(100 * trip + 50), bytes / 2, Some(ms(100))), "it goes on");
                (waves.bytes(), waves.grow())
            })
            .collect();
        let no = false;
        let yes = true;
        let expected = [(10, yes), (20, yes), (40, yes), (80, yes), (80, yes), (80, no), (80, no)];
        assert_eq!(brought, expected);
        waves.add(ms(900), 1, Some(ms(100)));
        assert_eq!(waves.bytes(), 80, "it has just begun");
    }

    #[test]
    fn a_rate_stands_after_three_round_trips_without_growth() {
        let mut plateau = Plateau::default();
        let rates = [10, 20, 40, 44, 44, 45, 90, 90, 90, 90];
        let stands: Vec<bool> = rates
            .iter()
            .zip(1..)
            .map(|(rate, trip)| {
                plateau.observe(ms(100 * trip), *rate, ms(100));
                plateau.observe(ms(100 * trip + 50), *rate, ms(100));
                plateau.is_reached()
            })
            .collect();
        let no = false;
        let yes = true;
        assert_eq!(stands, [no, no, no, no, no, yes, no, no, no, yes]);
        plateau.disturb(ms(1000));
        assert!(!plateau.is_reached());
    }
}
