//! Running sums over requests: exact for any number of them, where the detailed records stop.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::source::held::CACHE;

/// Time during which something was under way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Busy {
    under_way: u64,
    since: Duration,
    total: Duration,
}

impl Busy {
    /// Something begins; true where nothing was under way.
    pub fn begin(&mut self, now: Duration) -> bool {
        self.under_way += 1;
        if self.under_way == 1 {
            self.since = now;
        }
        self.under_way == 1
    }

    /// Something that has begun ends.
    pub fn end(&mut self, now: Duration) {
        if self.under_way == 1 {
            self.total += now.saturating_sub(self.since);
        }
        self.under_way = self.under_way.saturating_sub(1);
    }

    /// The sum, with what is under way now.
    pub fn total(&self, now: Duration) -> Duration {
        let present =
            if self.under_way > 0 { now.saturating_sub(self.since) } else { Duration::ZERO };
        self.total + present
    }
}

/// The requests of one file to one source, or of many added up.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally {
    /// Bytes of data, without the protocol's own.
    pub bytes_received: u64,
    /// As the source has sent them.
    pub requests: u64,
    /// Ranges in those requests.
    pub segments: u64,
    /// Requests that failed.
    pub failures: u64,
    /// Pages that came otherwise than they were sent.
    pub damaged: u64,
    /// Requests for bytes that were late elsewhere, and the bytes that came by them first.
    pub hedges: u64,
    /// Those bytes.
    pub hedge_bytes: u64,
    /// From a request to its first byte, at best.
    pub first_byte: Option<Duration>,
    /// With at least one request unanswered.
    pub busy: Busy,
}

impl Tally {
    pub(super) fn add(&mut self, other: &Tally) {
        self.bytes_received += other.bytes_received;
        self.requests += other.requests;
        self.segments += other.segments;
        self.failures += other.failures;
        self.damaged += other.damaged;
        self.hedges += other.hedges;
        self.hedge_bytes += other.hedge_bytes;
        self.first_byte = self.first_byte.into_iter().chain(other.first_byte).min();
    }
}

/// What belongs to a file, whichever server served it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileTally {
    /// With at least one request unanswered.
    pub busy: Busy,
    /// Waits for distance that nothing else of this file hid.
    pub waves: u64,
    /// Bytes of metadata that were asked for and came, the ends of the file included that came
    /// unasked with the open.
    pub metadata_wanted: u64,
    /// Of these, bytes requested from a server as metadata.
    pub metadata_fetched: u64,
    /// Bytes of baskets that were asked for and came.
    pub baskets_wanted: u64,
    /// Time of decoding threads.
    pub decoding: Duration,
}

/// All sums of an engine.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tallies {
    /// By file and source.
    pub requests: BTreeMap<(u32, Arc<str>), Tally>,
    /// By file.
    pub files: BTreeMap<u32, FileTally>,
    /// By source, whichever the file.
    pub sources: BTreeMap<Arc<str>, Busy>,
    /// With at least one request unanswered, whichever the file.
    pub all: Busy,
}

impl Tallies {
    /// A source is asked for ranges; true where nothing at all was under way.
    pub(super) fn sent(
        &mut self,
        now: Duration,
        file: u32,
        source: &Arc<str>,
        segments: usize,
    ) -> bool {
        let tally = self.requests.entry((file, source.clone())).or_default();
        tally.segments += segments as u64;
        tally.busy.begin(now);
        // What is asked of the cache is no round trip, and nothing that keeps a link busy.
        if &**source == CACHE {
            return false;
        }
        let of_file = self.files.entry(file).or_default();
        of_file.waves += u64::from(of_file.busy.begin(now));
        self.sources.entry(source.clone()).or_default().begin(now);
        self.all.begin(now)
    }

    pub(super) fn received(
        &mut self,
        file: u32,
        source: &Arc<str>,
        bytes: u64,
        first: Option<Duration>,
    ) {
        let tally = self.requests.entry((file, source.clone())).or_default();
        tally.bytes_received += bytes;
        tally.first_byte = tally.first_byte.into_iter().chain(first).min();
    }

    pub(super) fn ended(&mut self, now: Duration, file: u32, source: &Arc<str>, failed: bool) {
        let tally = self.requests.entry((file, source.clone())).or_default();
        tally.failures += u64::from(failed);
        tally.busy.end(now);
        if &**source == CACHE {
            return;
        }
        self.files.entry(file).or_default().busy.end(now);
        self.sources.entry(source.clone()).or_default().end(now);
        self.all.end(now);
    }

    /// The sums for one file, or for all, by source.
    pub fn by_source(&self, file: Option<u32>) -> BTreeMap<Arc<str>, Tally> {
        let mut sums: BTreeMap<Arc<str>, Tally> = BTreeMap::new();
        for ((of, source), tally) in &self.requests {
            if file.is_none_or(|file| file == *of) {
                let sum = sums.entry(source.clone()).or_default();
                sum.add(tally);
                sum.busy = match file {
                    Some(_) => tally.busy,
                    None => self.sources.get(source).copied().unwrap_or_default(),
                };
            }
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_that_overlap_count_once() {
        let s = Duration::from_secs;
        let mut busy = Busy::default();
        assert!(busy.begin(s(0)));
        assert!(!busy.begin(s(1)));
        busy.end(s(2));
        busy.end(s(3));
        assert_eq!(busy.total(s(5)), s(3));
        assert!(busy.begin(s(5)));
        assert_eq!(busy.total(s(6)), s(4));
    }
}
