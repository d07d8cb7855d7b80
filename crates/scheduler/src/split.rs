//! The connection that takes the next bytes, and their number.
//!
//! The aim is that the last of all queued bytes arrives early, in round trips. A TCP connection
//! with congestion window w delivers in k round trips at most w x (2^k - 1) bytes: it starts with
//! some 14 kB and doubles while its window is small. So: find the smallest k in which all
//! connections together could deliver the bytes that are queued and in flight, and load each in
//! proportion to the bytes that it can deliver by then.
//!
//! ```text
//!   queued 100 kB      a (window 14 kB)   b (14 kB)   c (28 kB, 20 kB in flight)
//!   in 1 trip               14               14            28    =  56, too little
//!   in 2 trips              42               42            84    = 168, enough for 120: 71 %
//!   share                   30               30            60 - 20
//! ```
//!
//! Bulk data comes out as rounds of equal requests, since each request is cut at an upper bound
//! and the next one goes to the connection that is furthest behind.

/// A connection as the next request sees it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pipe {
    /// Congestion window: bytes that it can deliver in the next round trip.
    pub window: u64,
    /// Bytes asked for and not here.
    pub in_flight: u64,
    /// Round trips before its first byte can arrive beyond those of a usable connection.
    pub late_trips: u32,
    /// It takes no further request now. Its share waits for it all the same: were it given to the
    /// others, the first one to have room would take the bytes meant for all.
    pub full: bool,
}

/// More doublings than this are beyond any link.
const TRIPS_MAX: u32 = 40;

impl Pipe {
    fn deliverable(&self, trips: u32) -> u128 {
        let doublings = trips.saturating_sub(self.late_trips).min(TRIPS_MAX);
        u128::from(self.window.max(1)) * ((1 << doublings) - 1)
    }
}

/// Where the next bytes should go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Share {
    /// The index of the pipe.
    pub pipe: usize,
    /// Bytes, at least 1.
    pub bytes: u64,
    /// Bytes that the pipe could take without needing more round trips than the others.
    pub bytes_max: u64,
}

/// The pipe that should take the next of `queued` bytes, and its share of them. None where nothing
/// is queued, or every pipe that has room has its share.
pub(crate) fn place(pipes: &[Pipe], queued: u64) -> Option<Share> {
    if queued == 0 {
        return None;
    }
    let in_flight: u128 = pipes.iter().map(|pipe| u128::from(pipe.in_flight)).sum();
    let load = in_flight + u128::from(queued);
    let deliverable = |trips| pipes.iter().map(|pipe| pipe.deliverable(trips)).sum::<u128>();
    let trips = (1..TRIPS_MAX).find(|trips| deliverable(*trips) >= load).unwrap_or(TRIPS_MAX);
    let total = deliverable(trips).max(1);
    let mut best: Option<(usize, u128)> = None;
    for (index, pipe) in pipes.iter().enumerate().filter(|(_, pipe)| !pipe.full) {
        let level = mul_div_ceil(load, pipe.deliverable(trips), total);
        let share = level.saturating_sub(u128::from(pipe.in_flight));
        if best.is_none_or(|(_, most)| share > most) {
            best = Some((index, share));
        }
    }
    let (pipe, bytes) = best.filter(|(_, share)| *share > 0)?;
    let bytes = u64::try_from(bytes).unwrap_or(u64::MAX).clamp(1, queued);
    let in_flight = u128::from(pipes[pipe].in_flight);
    let bytes_max = pipes[pipe].deliverable(trips).saturating_sub(in_flight);
    Some(Share { pipe, bytes, bytes_max: u64::try_from(bytes_max).unwrap_or(u64::MAX) })
}

fn mul_div_ceil(a: u128, b: u128, divisor: u128) -> u128 {
    match a.checked_mul(b) {
        Some(product) => product.div_ceil(divisor),
        None => (a / divisor).saturating_mul(b),
    }
}

/// The length to ask for of `queued` bytes, between a `least` that is worth a request and a `most`
/// that delays no other want. A rest too small for a request of its own is taken along if that
/// costs no round trip.
pub(crate) fn request_bytes(share: Share, queued: u64, least: u64, most: u64) -> u64 {
    let bytes = share.bytes.max(least).min(most.max(1));
    let little = queued.saturating_sub(bytes) < least / 2;
    if little && queued <= most.min(share.bytes_max) { queued } else { bytes }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IW: u64 = 14_480;

    fn cold() -> Pipe {
        Pipe { window: IW, in_flight: 0, late_trips: 0, full: false }
    }

    /// Places everything; the bytes each pipe got, and the number of requests.
    fn place_all(pipes: &mut [Pipe], mut queued: u64, least: u64, most: u64) -> (Vec<u64>, usize) {
        let before: Vec<u64> = pipes.iter().map(|pipe| pipe.in_flight).collect();
        let mut requests = 0;
        while let Some(share) = place(pipes, queued) {
            let bytes = request_bytes(share, queued, least, most).min(queued);
            pipes[share.pipe].in_flight += bytes;
            queued -= bytes;
            requests += 1;
        }
        let got = pipes.iter().zip(before).map(|(pipe, before)| pipe.in_flight - before).collect();
        (got, requests)
    }

    #[test]
    fn cold_connections_share_alike_one_request_each() {
        let (got, requests) = place_all(&mut [cold(); 8], 400_000, 14_000, 1 << 20);
        assert_eq!(requests, 8);
        assert!(got.iter().all(|bytes| (49_990..=50_010).contains(bytes)), "{got:?}");
    }

    #[test]
    fn little_is_not_split() {
        assert_eq!(place_all(&mut [cold(); 8], 9_000, 14_000, 1 << 20).1, 1);
        assert_eq!(place_all(&mut [cold(); 8], 14_400, 14_000, 1 << 20).1, 1);
        let (got, requests) = place_all(&mut [cold(); 8], 90_000, 14_000, 1 << 20);
        assert!(got.iter().all(|bytes| *bytes <= IW), "{got:?} takes a second round trip");
        assert_eq!(requests, 7);
    }

    #[test]
    fn a_warm_connection_takes_what_it_can_deliver_first() {
        let mut pipes = [cold(), Pipe { window: 1 << 20, ..cold() }, cold()];
        let (got, requests) = place_all(&mut pipes, 200_000, 14_000, 1 << 20);
        assert_eq!((got, requests), (vec![0, 200_000, 0], 1));
    }

    #[test]
    fn a_connection_still_connecting_gets_less() {
        let mut pipes = [cold(), Pipe { late_trips: 2, ..cold() }];
        let (got, _) = place_all(&mut pipes, 30_000, 1, 1 << 20);
        assert_eq!(got, [30_000, 0], "two trips on the first; nothing could come on the second");
        let mut pipes = [cold(), Pipe { late_trips: 1, ..cold() }];
        let (got, _) = place_all(&mut pipes, 120_000, 1, 1 << 20);
        assert!(got[0] > 2 * got[1] && got[1] > 0, "{got:?}");
    }

    #[test]
    fn bulk_is_dealt_in_equal_rounds() {
        let (got, requests) = place_all(&mut [cold(); 8], 64 << 20, 14_000, 1 << 20);
        assert_eq!(requests, 64);
        assert_eq!(got, [8 << 20; 8]);
    }

    #[test]
    fn what_is_in_flight_counts() {
        let mut pipes = [Pipe { in_flight: 40_000, ..cold() }, cold()];
        let (got, _) = place_all(&mut pipes, 60_000, 1, 1 << 20);
        assert!((9_990..=10_010).contains(&got[0]), "{got:?}");
    }

    #[test]
    fn the_share_of_a_full_pipe_waits_for_it() {
        let full = Pipe { in_flight: 100_000, full: true, ..cold() };
        let share = place(&[full, full, full, cold()], 300_000).unwrap();
        assert_eq!((share.pipe, share.bytes), (3, 150_000), "a quarter of all that is to come");
        assert_eq!(place(&[full, Pipe { in_flight: 200_000, ..cold() }], 50_000), None);
    }

    #[test]
    fn extremes_neither_panic_nor_stall() {
        let huge =
            Pipe { window: u64::MAX, in_flight: u64::MAX, late_trips: u32::MAX, full: false };
        assert!(place(&[huge, cold()], u64::MAX).is_some());
        assert!(place(&[Pipe { window: 0, ..cold() }], 1).is_some());
        assert_eq!(place(&[], 1), None);
        assert_eq!(place(&[cold()], 0), None);
    }
}
