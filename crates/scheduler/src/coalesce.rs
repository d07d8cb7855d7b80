//! Coalescing: queued chunks that become one segment.
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
//! Where nearly all of a region is wanted, bridging its gaps makes one plain request of a vectored
//! one: there a gap may cost as much as a request, as long as all gaps together are a small part of
//! the wanted bytes. And all gaps everywhere stay within the over-read budget. The interval cases,
//! growing from the seed `S` (Q queued, F in flight, R ready, . absent):
//!
//! ```text
//!   SSSQQQ      touching: always joined, whatever it is for
//!   SSS..QQQ    gap: joined if it is narrow enough and the budget has room
//!   SSSFFFQQQ   bytes in flight between: a segment ends here; they are not asked for twice
//!   SSS..RQQQ   ready bytes in the gap: likewise
//!   QQQ..SSS    to the left: as to the right
//!   SSSSSSSSS   longer than the request: cut
//! ```

use std::ops::Range;

use crate::chunk::{Chunks, State, joined};
use crate::estimate::bytes_in;
use crate::ids::{RequestId, Time};

/// Of the overhead of a request, a further segment of a vectored one costs this part: the
/// server seeks, but parses, locks and schedules nothing.
const SEGMENT_PART: u32 = 8;
/// Nearly all of a region is wanted where its gaps are at most this part of the rest.
const GAPS_PART: u64 = 32;

/// Costs and capacities of a link and a server.
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
        match self.vectored {
            true => bytes_in(self.bandwidth, self.request_overhead / SEGMENT_PART),
            false => self.region_gap_bytes_max(),
        }
    }

    /// The same within a region of which nearly all is wanted.
    pub(crate) fn region_gap_bytes_max(&self) -> u64 {
        let waited = if self.vectored { Time::ZERO } else { self.round_trip / self.overlap.max(1) };
        bytes_in(self.bandwidth, self.request_overhead.saturating_add(waited))
    }
}

/// Limits of one request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Its length, about, bytes.
    pub bytes: u64,
    /// Its segments.
    pub segments: usize,
    /// One segment of several, bytes. A longer one goes alone, as a plain request.
    pub segment_bytes: u64,
    /// One gap, bytes.
    pub gap: u64,
    /// One gap where nearly everything around it is wanted, bytes.
    pub region_gap: u64,
    /// All its gaps, bytes: the rest of the over-read budget.
    pub over_read: u64,
    /// A chunk of at most so many bytes is not cut.
    pub whole: u64,
    /// Nothing is joined: each chunk is a request of its own.
    pub apart: bool,
}

impl Limits {
    /// Whether a gap is worth bridging in a run that has others of `gaps` bytes and would be
    /// `length` long.
    fn bridges(&self, gap: u64, gaps: u64, length: u64) -> bool {
        let gaps = gaps.saturating_add(gap);
        let is_region = gaps <= length.saturating_sub(gaps) / GAPS_PART;
        gaps <= self.over_read && (gap <= self.gap || (is_region && gap <= self.region_gap))
    }

    /// Where a run ends whose first chunk is longer than the rest of a request of `whole` bytes.
    fn end_of_first(&self, chunk: &Range<u64>, at: u64, whole: u64) -> u64 {
        match self.is_whole(chunk) {
            true if self.bytes < whole => chunk.start,
            true => chunk.end,
            false => cut(chunk, at, whole),
        }
    }

    /// Where a run ends that is full at a place within a further chunk.
    fn end_of_further(&self, chunk: &Range<u64>, at: u64, whole: u64) -> u64 {
        if self.is_whole(chunk) { chunk.start } else { cut(chunk, at, whole) }
    }

    fn is_whole(&self, chunk: &Range<u64>) -> bool {
        chunk.end - chunk.start <= self.whole
    }
}

/// Makes one request of the most important queued chunks and their neighbours, and marks them as
/// sent for. Returns its segments, ascending, and how many of their bytes no want covers.
pub(crate) fn compose(
    chunks: &mut Chunks,
    request: RequestId,
    limits: Limits,
) -> (Vec<Range<u64>>, u64) {
    let mut segments: Vec<Range<u64>> = Vec::new();
    let mut rest = limits;
    let mut urgency = None;
    while let Some(first) = chunks.first_queued() {
        if *urgency.get_or_insert(first.urgency) != first.urgency {
            break;
        }
        let run = grow(chunks, first.start, rest, limits.bytes);
        let length = run.end - run.start;
        let plain = length > limits.segment_bytes;
        if length == 0 || (plain && !segments.is_empty()) {
            break;
        }
        rest.over_read = rest.over_read.saturating_sub(chunks.take(&run, request));
        rest.bytes = rest.bytes.saturating_sub(length);
        segments.push(run);
        if plain || rest.bytes == 0 || segments.len() >= limits.segments || limits.apart {
            break;
        }
    }
    segments.sort_unstable_by_key(|segment| segment.start);
    let joined = joined(segments.clone());
    let joinable = joined.iter().all(|segment| segment.end - segment.start <= limits.segment_bytes);
    let segments = if joinable || joined.len() == 1 { joined } else { segments };
    (segments, limits.over_read - rest.over_read)
}

/// Whether a chunk that ends at `end` is cut at `at`, where the request is full, and where else its
/// part of the request ends. A chunk is not cut for an eighth of a request: half a basket is of no
/// use to anyone.
fn cut(chunk: &Range<u64>, at: u64, request_bytes: u64) -> u64 {
    let tolerance = request_bytes / 8;
    if chunk.end.saturating_sub(at) <= tolerance {
        chunk.end
    } else if at.saturating_sub(chunk.start) <= tolerance {
        chunk.start
    } else {
        at
    }
}

/// The run around the queued chunk that starts at `seed`, about `limits.bytes` long at most, of a
/// request of `whole` bytes. Empty where the chunk is better left to the next request.
fn grow(chunks: &Chunks, seed: u64, limits: Limits, whole: u64) -> Range<u64> {
    let Some(chunk) = chunks.get(seed) else { return seed..seed };
    let mut run = seed..chunk.end;
    let mut gaps = 0;
    let full = run.start.saturating_add(limits.bytes);
    if run.end >= full {
        run.end = limits.end_of_first(&run, full, whole);
        return run;
    }
    if limits.apart {
        return run;
    }
    while let Some((start, next)) = chunks.next(run.end) {
        let gap = start - run.end;
        if next.state != State::Queued || !limits.bridges(gap, gaps, next.end - run.start) {
            break;
        }
        let full = run.start.saturating_add(limits.bytes);
        let further = start..next.end;
        let fits = next.end <= full;
        let end = if fits { next.end } else { limits.end_of_further(&further, full, whole) };
        if end <= start {
            return run;
        }
        gaps += gap;
        run.end = end;
        if end >= full {
            return run;
        }
    }
    while let Some((start, previous)) = chunks.previous(run.start) {
        let gap = run.start - previous.end.min(run.start);
        let fits = run.end - start <= limits.bytes;
        let bridged = limits.bridges(gap, gaps, run.end - start);
        if previous.state != State::Queued || !bridged || !fits {
            break;
        }
        gaps += gap;
        run.start = start;
    }
    run
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::Waiter;
    use crate::ids::WantId;
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
        let run = grow(&chunks, seed, limits, limits.bytes);
        drawing[run.start as usize..run.end as usize].to_owned()
    }

    const WIDE: Limits = Limits {
        bytes: 100,
        segments: 10,
        segment_bytes: 1000,
        gap: 2,
        region_gap: 2,
        over_read: 100,
        whole: 0,
        apart: false,
    };

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
    fn a_region_that_is_wanted_nearly_whole_becomes_one_range() {
        let want = "Q".repeat(160);
        let hole = "....";
        let region = Limits { bytes: 1000, gap: 0, region_gap: 4, ..WIDE };
        let nearly = [&want[..], hole, &want].concat();
        assert_eq!(request(&nearly, region), (strings(&[&nearly]), 4));
        let apart = (strings(&[&want, &want]), 0);
        assert_eq!(request(&nearly, Limits { region_gap: 3, ..region }), apart, "too dear");
        assert_eq!(request(&nearly, Limits { over_read: 3, ..region }), apart, "no budget");
        let less = "Q".repeat(60);
        let half = [&less[..], hole, &less].concat();
        assert_eq!(request(&half, region), (strings(&[&less, &less]), 0), "too much of it is hole");
    }

    #[test]
    fn where_nothing_is_to_be_joined_each_chunk_is_a_request() {
        let apart = Limits { apart: true, ..WIDE };
        assert_eq!(request("QQRQQ...QQ", apart).0, ["QQ"]);
        let (mut chunks, _) = picture("SSFQQ", 1);
        assert_eq!(compose(&mut chunks, RequestId(2), apart).0, [0..2]);
        assert_eq!(compose(&mut chunks, RequestId(3), apart).0, [3..5]);
    }

    proptest::proptest! {
        /// Whatever is wanted and whatever the limits: everything that was queued is asked for in
        /// the end, once, in ascending segments, and no more is read beyond it than is allowed.
        #[test]
        fn requests_cover_what_is_queued_within_the_limits(
            wants in proptest::collection::vec((1u64..400, 0u64..60), 1..60),
            bytes in 1u64..5_000,
            gap in 0u64..30,
            region_gap in 0u64..50,
            over_read in 0u64..500,
            whole in 0u64..400,
            apart in proptest::bool::ANY,
        ) {
            let mut chunks = Chunks::default();
            let mut at = 0;
            let mut wanted = Vec::new();
            for (number, (length, hole)) in wants.iter().enumerate() {
                let waiter =
                    Waiter { urgency: Urgency::Demand, order: 0, want: WantId(number as u64) };
                chunks.attach(&(at..at + length), waiter);
                wanted.push(at..at + length);
                at += length + hole;
            }
            let queued: u64 = wanted.iter().map(|want| want.end - want.start).sum();
            let mut limits =
                Limits { bytes, segments: 8, segment_bytes: 3_000, gap, region_gap, over_read, whole, apart };
            let mut asked = 0;
            let mut unwanted_all = 0;
            let mut covered = Vec::new();
            for request in 1.. {
                let (segments, unwanted) = compose(&mut chunks, RequestId(request), limits);
                if segments.is_empty() {
                    break;
                }
                proptest::prop_assert!(segments.windows(2).all(|pair| pair[0].end <= pair[1].start));
                proptest::prop_assert!(unwanted <= limits.over_read);
                let length: u64 = segments.iter().map(|segment| segment.end - segment.start).sum();
                if apart {
                    let inside = |want: &&Range<u64>| {
                        want.start <= segments[0].start && segments[0].end <= want.end
                    };
                    proptest::prop_assert!(segments.len() == 1 && wanted.iter().any(|w| inside(&w)));
                }
                limits.over_read -= unwanted;
                asked += length;
                unwanted_all += unwanted;
                covered.extend(segments);
            }
            proptest::prop_assert_eq!(asked, queued + unwanted_all);
            let covered = joined({ covered.sort_unstable_by_key(|s| s.start); covered });
            let whole = |want: &Range<u64>| {
                covered.iter().any(|s| s.start <= want.start && want.end <= s.end)
            };
            proptest::prop_assert!(wanted.iter().all(whole));
        }
    }

    #[test]
    fn a_run_is_no_longer_than_the_request() {
        assert_eq!(run("SSSSSSSS", Limits { bytes: 5, ..WIDE }), "SSSSS");
        assert_eq!(run("SSSQQQQ", Limits { bytes: 5, ..WIDE }), "SSSQQ");
    }

    #[test]
    fn a_chunk_is_not_cut_for_an_eighth_of_a_request() {
        let eight = Limits { bytes: 8, ..WIDE };
        assert_eq!(run("SSSSSSQQQ", eight), "SSSSSSQQQ", "one byte more");
        assert_eq!(run("SSSSSSQQQQ", eight), "SSSSSSQQ");
        assert_eq!(run("SSSSSSSQQQQQQ", eight), "SSSSSSS", "one byte less");
        assert_eq!(run("SSSSSSSSS", eight), "SSSSSSSSS");
    }

    #[test]
    fn chunks_that_stay_whole_are_taken_or_left() {
        let whole = Limits { bytes: 4, whole: 6, ..WIDE };
        assert_eq!(run("SSSSSSQQ", whole), "SSSSSS");
        assert_eq!(run("SSSQQQQQQ", whole), "SSS");
        assert_eq!(run("SSSSSSSQQ", whole), "SSSS", "too long to stay whole");
        assert_eq!(run("SSSQQQQQQQ", whole), "SSSQ");
        assert_eq!(request("QQ...QQQ...QQ", whole).0, ["QQ"], "as a second segment it is too long");
    }

    /// The segments of one request, and how many of their bytes no want covers.
    fn request(drawing: &str, limits: Limits) -> (Vec<String>, u64) {
        let (mut chunks, _) = picture(drawing, 1);
        let (segments, unwanted) = compose(&mut chunks, RequestId(2), limits);
        let text =
            |segment: &Range<u64>| drawing[segment.start as usize..segment.end as usize].to_owned();
        (segments.iter().map(text).collect(), unwanted)
    }

    fn strings(strings: &[&str]) -> Vec<String> {
        strings.iter().map(|string| (*string).to_owned()).collect()
    }

    #[test]
    fn a_request_takes_segments_until_it_is_full() {
        assert_eq!(request("QQ....QQQ...Q", WIDE), (strings(&["QQ", "QQQ", "Q"]), 0));
        assert_eq!(request("QQ..QQQ...Q", WIDE), (strings(&["QQ..QQQ", "Q"]), 2));
        let two = Limits { segments: 2, ..WIDE };
        assert_eq!(request("QQ....QQQ...Q", two), (strings(&["QQ", "QQQ"]), 0));
        let four = Limits { bytes: 4, ..WIDE };
        assert_eq!(request("QQ....QQQ...Q", four).0, ["QQ", "QQ"]);
    }

    #[test]
    fn a_segment_too_long_for_a_vector_goes_alone() {
        let three = Limits { segment_bytes: 3, gap: 0, ..WIDE };
        assert_eq!(request("QQQQQ...QQ", three).0, ["QQQQQ"]);
        assert_eq!(request("QQ...QQQQQ", three).0, ["QQ"]);
    }

    #[test]
    fn demands_and_hints_do_not_share_a_request() {
        let (mut chunks, _) = picture("QQ......", 1);
        chunks.attach(&(5..7), Waiter { urgency: Urgency::Hint, order: 0, want: WantId(9) });
        assert_eq!(compose(&mut chunks, RequestId(2), WIDE).0, [0..2]);
        assert_eq!(compose(&mut chunks, RequestId(3), WIDE).0, [5..7]);
        assert_eq!(compose(&mut chunks, RequestId(4), WIDE).0, []);
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
        let vectored = Costs { vectored: true, ..far };
        assert_eq!((vectored.gap_bytes_max(), vectored.region_gap_bytes_max()), (781, 6_250));
        let near = Costs { round_trip: Time::from_micros(100), ..far };
        assert_eq!(near.gap_bytes_max(), 6_375);
        let slow = Costs { bandwidth: 1_000_000, ..far };
        assert_eq!(slow.gap_bytes_max(), 1_050);
    }
}
