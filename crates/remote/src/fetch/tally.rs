//! Running sums over requests: exact for any number of them, where the detailed records stop.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use crate::source::held::CACHE;

/// Most closed files with sums of their own. Beyond, the sums of the file closed first are added to
/// the common sums of other files: a proxy opens files without end.
pub const CLOSED_FILES_KEPT: usize = 1000;

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

    /// The sum, with the span that is still running.
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

/// Counts of a file, whichever server served it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileTally {
    /// With at least one request unanswered.
    pub busy: Busy,
    /// Waits for distance that nothing else of this file hid.
    pub waves: u64,
    /// Bytes of metadata that were requested and received, the ends of the file included that came
    /// unrequested with the open.
    pub metadata_wanted: u64,
    /// Of these, bytes requested from a server as metadata.
    pub metadata_fetched: u64,
    /// Bytes of baskets that were requested and received.
    pub baskets_wanted: u64,
    /// Time of decoding threads.
    pub decoding: Duration,
    /// Bytes that slow codecs were decompressed to.
    pub slowly_decompressed: u64,
}

impl FileTally {
    /// Adds the sums of another file, except `busy` and `waves`, which overlap in time.
    fn add(&mut self, other: &FileTally) {
        self.metadata_wanted += other.metadata_wanted;
        self.metadata_fetched += other.metadata_fetched;
        self.baskets_wanted += other.baskets_wanted;
        self.decoding += other.decoding;
        self.slowly_decompressed += other.slowly_decompressed;
    }
}

/// All sums of an engine.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tallies {
    /// By file and source.
    requests: BTreeMap<(u32, Arc<str>), Tally>,
    /// By file.
    files: BTreeMap<u32, FileTally>,
    /// The common sums of files without sums of their own: by source, and of all sources.
    other_requests: BTreeMap<Arc<str>, Tally>,
    other_files: FileTally,
    /// The closed files with sums of their own, in the order in which they were closed.
    closed: VecDeque<u32>,
    /// By source, whichever the file.
    pub sources: BTreeMap<Arc<str>, Busy>,
    /// With at least one request unanswered, whichever the file.
    pub all: Busy,
}

impl Tallies {
    /// A file is opened: it gets sums of its own.
    pub(super) fn opens(&mut self, file: u32) {
        self.files.entry(file).or_default();
    }

    /// A file is closed. Returns the file whose sums went to the common ones; `None` if none did.
    pub(super) fn closed(&mut self, file: u32) -> Option<u32> {
        self.closed.push_back(file);
        if self.closed.len() <= CLOSED_FILES_KEPT {
            return None;
        }
        let oldest = self.closed.pop_front()?;
        self.other_files.add(&self.files.remove(&oldest).unwrap_or_default());
        let behind = self.requests.range((oldest, Arc::from(""))..);
        let keys = behind.map(|(key, _)| key).take_while(|(file, _)| *file == oldest);
        for key in keys.cloned().collect::<Vec<_>>() {
            let tally = self.requests.remove(&key).unwrap_or_default();
            self.other_requests.entry(key.1).or_default().add(&tally);
        }
        Some(oldest)
    }

    /// The file's own sums, or the common sums.
    pub(super) fn of_file(&mut self, file: u32) -> &mut FileTally {
        self.files.get_mut(&file).unwrap_or(&mut self.other_files)
    }

    /// The sums of the file's requests to one source: its own, or the common ones.
    pub(super) fn of_requests(&mut self, file: u32, source: &Arc<str>) -> &mut Tally {
        match self.files.contains_key(&file) {
            true => self.requests.entry((file, source.clone())).or_default(),
            false => self.other_requests.entry(source.clone()).or_default(),
        }
    }

    /// The file's own sums; `None` where it has none.
    pub fn file(&self, file: u32) -> Option<&FileTally> {
        self.files.get(&file)
    }

    /// The sums over all files, except `busy` and `waves`, which overlap in time.
    pub fn all_files(&self) -> FileTally {
        let mut all = self.other_files.clone();
        self.files.values().for_each(|file| all.add(file));
        all
    }

    /// The number of files with sums of their own.
    pub fn files_kept(&self) -> usize {
        self.files.len()
    }

    /// Ranges are requested from a source; true where nothing at all was under way.
    pub(super) fn sent(
        &mut self,
        now: Duration,
        file: u32,
        source: &Arc<str>,
        segments: usize,
    ) -> bool {
        let tally = self.of_requests(file, source);
        tally.segments += segments as u64;
        tally.busy.begin(now);
        // A request to the cache is no round trip, and keeps no link busy.
        if &**source == CACHE {
            return false;
        }
        let of_file = self.of_file(file);
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
        let tally = self.of_requests(file, source);
        tally.bytes_received += bytes;
        tally.first_byte = tally.first_byte.into_iter().chain(first).min();
    }

    pub(super) fn ended(&mut self, now: Duration, file: u32, source: &Arc<str>, failed: bool) {
        let tally = self.of_requests(file, source);
        tally.failures += u64::from(failed);
        tally.busy.end(now);
        if &**source == CACHE {
            return;
        }
        self.of_file(file).busy.end(now);
        self.sources.entry(source.clone()).or_default().end(now);
        self.all.end(now);
    }

    /// The sums for one file, or for all, by source.
    pub fn by_source(&self, file: Option<u32>) -> BTreeMap<Arc<str>, Tally> {
        let mut sums: BTreeMap<Arc<str>, Tally> = match file {
            Some(_) => BTreeMap::new(),
            None => self.other_requests.clone(),
        };
        // Of one file only its own sums are looked at: there may be those of thousands.
        let first = (file.unwrap_or(0), Arc::from(""));
        let of_file =
            |((of, _), _): &(&(u32, Arc<str>), &Tally)| file.is_none_or(|file| file == *of);
        for ((_, source), tally) in self.requests.range(first..).take_while(of_file) {
            let sum = sums.entry(source.clone()).or_default();
            sum.add(tally);
            sum.busy = tally.busy;
        }
        if file.is_none() {
            for (source, sum) in &mut sums {
                sum.busy = self.sources.get(source).copied().unwrap_or_default();
            }
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression: a proxy kept some hundred bytes for each file that it had ever opened.
    #[test]
    fn sums_stay_right_where_ten_thousand_files_are_not_kept_apart() {
        let mut tallies = Tallies::default();
        let servers: [Arc<str>; 2] = ["a".into(), "b".into()];
        let second = Duration::from_secs(1);
        let mut folded = 0;
        let mut kept_most = 0;
        for file in 0..10_000 {
            tallies.opens(file);
            for source in &servers {
                tallies.sent(second, file, source, 3);
                tallies.received(file, source, u64::from(file), Some(second));
                tallies.ended(second * 2, file, source, file % 10 == 0);
            }
            tallies.of_file(file).baskets_wanted += 7;
            // Late bytes of a file that may be closed.
            tallies.received(file / 2, &servers[0], 1, None);
            // One file in a hundred stays open.
            if file % 100 != 0 {
                folded += u32::from(tallies.closed(file).is_some());
            }
            kept_most = kept_most.max(tallies.files_kept().max(tallies.requests.len() / 2));
        }
        assert_eq!(kept_most, CLOSED_FILES_KEPT + 100);
        assert_eq!(folded as usize, 9900 - CLOSED_FILES_KEPT);
        let sums = tallies.by_source(None);
        let bytes: u64 = (0..10_000).sum();
        assert_eq!(sums["a"].bytes_received, bytes + 10_000);
        assert_eq!(sums["b"].bytes_received, bytes);
        assert_eq!((sums["a"].segments, sums["a"].failures), (30_000, 1000));
        assert_eq!(sums["a"].first_byte, Some(second));
        assert_eq!(tallies.all_files().baskets_wanted, 70_000);
        assert_eq!(tallies.by_source(Some(9999))["b"].bytes_received, 9999);
        assert_eq!(tallies.by_source(Some(100))["b"].bytes_received, 100, "it is open");
        assert!(tallies.by_source(Some(101)).is_empty() && tallies.file(101).is_none());
    }

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
