//! Which queued chunks become one segment.
//!
//! Bridging a gap costs the time of its bytes; it saves a segment of a vectored request, or a
//! whole request where there are none. So the widest gap worth bridging is
//!
//! ```text
//!   gap_max = cost saved x bandwidth
//!   cost of a request  = server's overhead + round trip / requests that overlap
//!   cost of a segment  = a fraction of the server's overhead
//! ```
//!
//! and all gaps together stay within the over-read budget. The interval cases, growing from the
//! seed `S` (Q queued, F in flight, R ready, . absent):
//!
//! ```text
//!   SSSQQQ      touching: always joined, whatever it is for
//!   SSS..QQQ    gap: joined if it is narrow enough and the budget has room
//!   SSSFFFQQQ   bytes in flight between: a segment ends here; they are not asked for twice
//!   SSS..RQQQ   ready bytes in the gap: likewise
//!   QQQ..SSS    to the left: as to the right
//!   SSSSSSSSS   longer than the request: cut
//! ```
//!
//! Where most of a region is wanted, the chunks touch or nearly do, and it becomes one range.

use std::ops::Range;

use crate::chunk::{Chunks, State};
use crate::estimate::bytes_in;
use crate::ids::Time;

/// Of the overhead of a request, a further segment of a vectored one costs this part: the
/// server seeks, but parses, locks and schedules nothing.
const SEGMENT_PART: u32 = 8;

/// What a link and a server are like.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Costs {
    pub request_overhead: Time,
    pub round_trip: Time,
    /// Bytes per second over all connections.
    pub bandwidth: u64,
    /// Requests that can overlap: connections x requests on each.
    pub overlap: u32,
    /// Several segments can go in one request.
    pub vectored: bool,
}

impl Costs {
    /// The widest gap worth bridging, bytes.
    pub(crate) fn gap_bytes_max(&self) -> u64 {
        let saved = if self.vectored {
            self.request_overhead / SEGMENT_PART
        } else {
            self.request_overhead.saturating_add(self.round_trip / self.overlap.max(1))
        };
        bytes_in(self.bandwidth, saved)
    }
}

/// How far a run may grow.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Length of the run, bytes.
    pub bytes: u64,
    /// One gap, bytes.
    pub gap: u64,
    /// All gaps of the run, bytes: what is left of the over-read budget.
    pub over_read: u64,
}

/// The run around the queued chunk that starts at `seed`, at most `limits.bytes` long.
pub(crate) fn grow(chunks: &Chunks, seed: u64, limits: Limits) -> Range<u64> {
    let Some(chunk) = chunks.get(seed) else { return seed..seed };
    let mut run = seed..chunk.end;
    let mut spare = limits.over_read;
    if run.end - run.start >= limits.bytes {
        return run.start..run.start.saturating_add(limits.bytes).min(run.end);
    }
    while let Some((start, next)) = chunks.next(run.end) {
        let gap = start - run.end;
        let fits = next.end - run.start <= limits.bytes;
        if next.state != State::Queued || gap > limits.gap.min(spare) {
            break;
        }
        if !fits {
            // A long neighbour is cut where the request ends; a short one is left whole.
            let end = run.start.saturating_add(limits.bytes);
            if gap == 0 && next.end - start > CUT_BYTES_MIN && end - start >= CUT_BYTES_MIN / 2 {
                run.end = end;
            }
            return run;
        }
        spare -= gap;
        run.end = next.end;
    }
    while let Some((start, previous)) = chunks.previous(run.start) {
        let gap = run.start - previous.end.min(run.start);
        let fits = run.end - start <= limits.bytes;
        if previous.state != State::Queued || gap > limits.gap.min(spare) || !fits {
            break;
        }
        spare -= gap;
        run.start = start;
    }
    run
}

/// A chunk is not cut in two for less than this: a basket is of no use in halves.
pub(crate) const CUT_BYTES_MIN: u64 = 64 * 1024;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::Waiter;
    use crate::ids::{RequestId, WantId};
    use crate::message::Urgency;

    /// `S` and `Q` queued, `F` in flight, `R` ready, `.` absent; one character is `scale` bytes,
    /// and each run of a letter is one want.
    fn picture(picture: &str, scale: u64) -> (Chunks, u64) {
        let mut chunks = Chunks::default();
        let mut seed = 0;
        let mut at = 0;
        let mut want = 0;
        let bytes = picture.as_bytes();
        while at < bytes.len() {
            let length = bytes[at..].iter().take_while(|byte| **byte == bytes[at]).count();
            let range = at as u64 * scale..(at + length) as u64 * scale;
            if bytes[at] != b'.' {
                want += 1;
                let waiter = Waiter { urgency: Urgency::Demand, order: 0, want: WantId(want) };
                chunks.attach(&range, waiter);
            }
            match bytes[at] {
                b'S' => seed = range.start,
                b'F' => drop(chunks.take(&range, RequestId(1))),
                b'R' => drop(chunks.deliver(&range)),
                _ => {}
            }
            at += length;
        }
        (chunks, seed)
    }

    fn run(drawing: &str, limits: Limits) -> String {
        let (chunks, seed) = picture(drawing, 1);
        let run = grow(&chunks, seed, limits);
        drawing[run.start as usize..run.end as usize].to_owned()
    }

    const WIDE: Limits = Limits { bytes: 100, gap: 2, over_read: 100 };

    #[test]
    fn touching_chunks_are_joined() {
        assert_eq!(run("SSSQQQ", Limits { gap: 0, over_read: 0, ..WIDE }), "SSSQQQ");
        assert_eq!(run("QQSSQ", Limits { gap: 0, over_read: 0, ..WIDE }), "QQSSQ");
    }

    #[test]
    fn narrow_gaps_are_bridged_and_wide_ones_not() {
        assert_eq!(run("SS..QQ...QQ", WIDE), "SS..QQ");
        assert_eq!(run("QQ...QQ..SS", WIDE), "QQ..SS");
    }

    #[test]
    fn what_is_in_flight_or_ready_ends_the_run() {
        assert_eq!(run("SSFQQ", WIDE), "SS");
        assert_eq!(run("SS.RQQ", WIDE), "SS");
        assert_eq!(run("QQFSS", WIDE), "SS");
    }

    #[test]
    fn the_over_read_budget_bounds_all_gaps_together() {
        assert_eq!(run("SS.QQ.QQ.QQ", Limits { over_read: 2, ..WIDE }), "SS.QQ.QQ");
        assert_eq!(run("QQ.SS.QQ.QQ", Limits { over_read: 2, ..WIDE }), "SS.QQ.QQ");
    }

    #[test]
    fn a_run_is_no_longer_than_the_request() {
        assert_eq!(run("SSSSSSSS", Limits { bytes: 5, ..WIDE }), "SSSSS");
        assert_eq!(run("SSSQQQQ", Limits { bytes: 5, ..WIDE }), "SSS", "short chunks stay whole");
        let (chunks, seed) = picture("SQQQQQQQQ", CUT_BYTES_MIN);
        let limits = Limits { bytes: 4 * CUT_BYTES_MIN, ..WIDE };
        assert_eq!(grow(&chunks, seed, limits), 0..4 * CUT_BYTES_MIN, "long ones are cut");
    }

    #[test]
    fn a_gap_costs_what_its_bytes_take_on_the_link() {
        let far = Costs {
            request_overhead: Time::from_micros(50),
            round_trip: Time::from_millis(100),
            bandwidth: 125_000_000,
            overlap: 100,
            vectored: false,
        };
        // 50 us + 100 ms / 100 = 1.05 ms at 125 bytes per microsecond.
        assert_eq!(far.gap_bytes_max(), 131_250);
        assert_eq!(Costs { vectored: true, ..far }.gap_bytes_max(), 781);
        let near = Costs { round_trip: Time::from_micros(100), ..far };
        assert_eq!(near.gap_bytes_max(), 6_375);
        let slow = Costs { bandwidth: 1_000_000, ..far };
        assert_eq!(slow.gap_bytes_max(), 1_050);
    }
}
