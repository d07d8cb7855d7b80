//! Assumptions about a link before anything has been measured on it.

use std::time::Duration;

/// New TCP connections to one server, all made at once.
///
/// Requests for metadata are as long as comes in one round trip anyway: a byte more takes another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkModel {
    /// Bytes that one segment carries.
    pub segment: u64,
    /// Segments that are sent before the first acknowledgement (RFC 6928).
    pub segments_initial: u64,
    /// Those of them that the answers to an open and to a question about limits take.
    pub segments_of_answers: u64,
    /// Connections that are made before any has been measured.
    pub connections: u32,
}

impl LinkModel {
    /// Of usual networks, and of servers that are far away.
    pub const USUAL: LinkModel =
        LinkModel { segment: 1448, segments_initial: 10, segments_of_answers: 2, connections: 16 };

    /// Bytes that a new connection brings in its first round trip.
    #[must_use]
    pub const fn window(self) -> u64 {
        self.segments_initial * self.segment
    }

    /// The same behind the answers that come first.
    #[must_use]
    pub const fn free_window(self) -> u64 {
        (self.segments_initial - self.segments_of_answers) * self.segment
    }

    /// Bytes of the beginning of a file to ask for with its open, 4 kB: well below the bytes of the
    /// first round trip.
    #[must_use]
    pub const fn head(self) -> u64 {
        whole_pages(self.free_window() / 2)
    }

    /// Bytes of the end of a file to ask for with its open, 40 kB: the bytes of the first two round
    /// trips of a new connection, the second of which brings twice the first.
    #[must_use]
    pub const fn tail(self) -> u64 {
        whole_pages(3 * self.window())
    }

    /// Time for so many bytes whose ranges are all known, on so many connections just made: one
    /// round trip, one more for each doubling that TCP needs, and the time of the rest at `rate`
    /// bytes per second.
    #[must_use]
    pub fn time(self, bytes: u64, rtt: Duration, rate: u64, connections: u32) -> Duration {
        let mut time = rtt;
        let mut sent = 0u64;
        let mut flight = self.window().saturating_mul(connections.max(1).into());
        while transfer(flight, rate) < rtt && sent.saturating_add(flight) < bytes {
            sent += flight;
            flight = flight.saturating_mul(2);
            time += rtt;
        }
        time.saturating_add(transfer(bytes.saturating_sub(sent), rate))
    }

    /// Bytes to ask for together once all connections are there, 180 kB.
    #[must_use]
    pub const fn flight(self) -> u64 {
        whole_pages(self.connections as u64 * self.free_window())
    }
}

/// Time that so many bytes take at a rate in bytes per second.
fn transfer(bytes: u64, rate: u64) -> Duration {
    let nanoseconds = u128::from(bytes) * 1_000_000_000 / u128::from(rate.max(1));
    Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX))
}

const fn whole_pages(bytes: u64) -> u64 {
    const PAGE: u64 = 4 << 10;
    bytes / PAGE * PAGE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_round_trips_in_bytes() {
        let link = LinkModel::USUAL;
        assert_eq!((link.window(), link.free_window()), (14_480, 11_584));
        assert_eq!((link.head(), link.tail(), link.flight()), (4 << 10, 40 << 10, 180 << 10));
    }

    #[test]
    fn time_grows_with_the_doublings_of_tcp_until_the_link_is_full() {
        let rtt = Duration::from_millis(100);
        let near = |time: Duration, ms: u64| {
            let off = time.abs_diff(Duration::from_millis(ms));
            assert!(off < Duration::from_millis(2), "{time:?} is not {ms} ms");
        };
        let time =
            |bytes, rtt, connections| LinkModel::USUAL.time(bytes, rtt, 125_000_000, connections);
        // All in the first flight.
        near(time(10_000, rtt, 1), 100);
        // 14 kB on one connection, doubled nine times; 41 ms for the last half.
        near(time(12_500_000, rtt, 1), 100 + 900 + 41);
        // Sixteen connections save four doublings.
        near(time(12_500_000, rtt, 16), 100 + 500 + 43);
        // No distance: the rate alone.
        near(time(12_500_000, Duration::ZERO, 1), 100);
        assert!(LinkModel::USUAL.time(u64::MAX, rtt, 0, 0) > Duration::from_secs(1 << 30));
    }
}
