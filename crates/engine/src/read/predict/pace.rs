//! The distance of prefetching: as many bytes as a client reads during a request.
//!
//! A client that works for a time T after each fill of F bytes reads F / T bytes a second, and no
//! more than its link transfers. A request takes a round trip and the time of its transfer; the
//! bytes that the client reads in that time have to be fetched ahead, in whole fills, as the client
//! waits for all bytes of a fill.

use std::collections::VecDeque;
use std::time::Duration;

/// Number of last fills that are remembered: the largest and the fastest of them count, so that a
/// pause of the client has no effect.
const FILLS: usize = 4;
/// Work, round trips and rates vary: a quarter more than the needed bytes is fetched.
const SPARE_PART: u64 = 4;
/// Minimum of bytes that a link is taken to transfer in a round trip: for a client that does not
/// work, a link shows its capacity only where more is requested.
const LINK_MIN: u64 = 512 << 10;
/// Some clusters are larger than the last ones: fills are taken to be an eighth larger.
const LARGER_PART: u64 = 8;

/// The links to the servers that a client's bytes come from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Way {
    pub round_trip: Duration,
    /// Bytes that the links transfer in a round trip; 0 while unknown.
    pub bytes: u64,
}

/// The last fills of a client, and how long it has worked after each.
#[derive(Debug, Default)]
pub struct ClientPace {
    fills: VecDeque<Filled>,
    answered_at: Option<Duration>,
}

#[derive(Debug, Clone, Copy)]
struct Filled {
    bytes: u64,
    /// `None` until the client asks again.
    work: Option<Duration>,
}

impl ClientPace {
    /// The client is expected to begin with a fill of `bytes`.
    pub fn begin(&mut self, bytes: u64) {
        self.fills.push_back(Filled { bytes, work: None });
    }

    /// The client has received a fill of `bytes`.
    pub fn answered(&mut self, now: Duration, bytes: u64) {
        self.answered_at = Some(now);
        self.fills.push_back(Filled { bytes, work: None });
        if self.fills.len() > FILLS {
            self.fills.pop_front();
        }
    }

    /// The client asks for more: it has worked since the last answer. Later requests do not count.
    pub fn asked(&mut self, now: Duration) {
        if let (Some(since), Some(last)) = (self.answered_at.take(), self.fills.back_mut()) {
            last.work = Some(now.saturating_sub(since));
        }
    }

    /// Forgets the fills so far, which are not like those to come.
    pub fn forget(&mut self) {
        *self = ClientPace::default();
    }

    /// Bytes of the largest of the last fills, and an eighth more for larger clusters.
    pub fn fill(&self) -> u64 {
        let largest = self.fills.iter().map(|fill| fill.bytes).max().unwrap_or(0);
        largest + largest / LARGER_PART
    }

    /// Bytes to fetch ahead so that the client never waits, in whole fills.
    pub fn ahead(&self, way: Way) -> u64 {
        let fill = self.fill().max(1);
        let needed = self.needed(way);
        (needed + needed / SPARE_PART).div_ceil(fill).max(1).saturating_mul(fill)
    }

    /// Bytes of the next fill that would be late if they were requested only when this fill has
    /// arrived; at most those of a round trip, for which the link would be idle.
    pub fn late(&self, way: Way) -> u64 {
        self.needed(way).saturating_sub(self.fill()).min(way.bytes)
    }

    /// Bytes that the client reads while a fill is fetched; 0 while the link is unknown.
    fn needed(&self, way: Way) -> u64 {
        let fill = self.fill();
        if way.bytes == 0 {
            return 0;
        }
        let in_round_trip = self.read_within(way.round_trip).min(way.bytes.max(LINK_MIN));
        let share = u128::from(fill) * u128::from(in_round_trip) / u128::from(way.bytes);
        let in_transfer = u64::try_from(share).unwrap_or(u64::MAX).min(fill);
        in_round_trip.saturating_add(in_transfer)
    }

    /// Bytes that the client reads within `time`, as far as its work is the limit; `u64::MAX` where
    /// its work takes no time, or is not known.
    fn read_within(&self, time: Duration) -> u64 {
        let read = |fill: &Filled| {
            let work = fill.work?.as_nanos();
            (u128::from(fill.bytes) * time.as_nanos()).checked_div(work)
        };
        let known = self.fills.iter().filter(|fill| fill.work.is_some());
        let fastest = known.map(|fill| read(fill).unwrap_or(u128::MAX)).max();
        fastest.map_or(u64::MAX, |bytes| u64::try_from(bytes).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILL: u64 = 80_000;
    /// A link that transfers 90,000 bytes, the larger fill that is expected, in 170 ms.
    const WAY: Way = Way { round_trip: Duration::from_millis(100), bytes: 53_000 };

    fn pace(work: &[u64]) -> ClientPace {
        let mut pace = ClientPace::default();
        let mut now = Duration::ZERO;
        for ms in work {
            pace.answered(now, FILL);
            now += Duration::from_millis(*ms);
            pace.asked(now);
            now += Duration::from_millis(270);
        }
        pace
    }

    #[test]
    fn so_many_fills_are_ahead_as_the_client_reads_while_one_comes() {
        for (work, fills) in [(0, 9), (170, 2), (250, 2), (350, 1), (10_000, 1)] {
            assert_eq!(pace(&[work; 3]).ahead(WAY), fills * 90_000, "{work} ms");
        }
        let long = Way { bytes: 10 * WAY.bytes, round_trip: 10 * WAY.round_trip };
        assert_eq!(pace(&[170; 3]).ahead(long), 8 * 90_000, "a link that holds more");
        assert_eq!(pace(&[5000; 3]).ahead(long), 90_000);
        assert_eq!(pace(&[170]).ahead(Way::default()), 90_000, "an unknown link");
    }

    #[test]
    fn beside_a_fill_comes_what_would_be_late() {
        let late: Vec<u64> = [0, 170, 350].map(|work| pace(&[work; 3]).late(WAY)).into();
        assert_eq!(late, [53_000, 36_967, 0]);
        assert_eq!(pace(&[170]).late(Way::default()), 0, "an unknown link");
    }

    #[test]
    fn a_pause_is_not_its_work_and_what_is_unknown_is_fast() {
        assert_eq!(pace(&[170, 60_000]).ahead(WAY), 2 * 90_000);
        let mut begun = ClientPace::default();
        begun.begin(FILL);
        assert_eq!(begun.ahead(WAY), 9 * 90_000);
    }

    #[test]
    fn the_largest_of_the_last_fills_counts() {
        let mut pace = pace(&[500; 3]);
        pace.answered(Duration::from_secs(9), 1000);
        assert_eq!(pace.fill(), 90_000);
        for _ in 0..FILLS {
            pace.answered(Duration::from_secs(9), 1000);
        }
        assert_eq!(pace.fill(), 1125);
    }
}
