//! The cache's part in a file that is open, as the driver keeps it.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use scheduler::{FileId, Time};

use super::command::WantedForm;
use crate::address::{Address, Identify};
use crate::cache::notices::Notices;
use crate::cache::{Cache, CacheEntry, CacheMode, Charges};
use crate::origin::FileOrigin;

/// Where a want is read, and which range there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WantPlace {
    /// The file of the scheduler.
    pub file: FileId,
    pub range: Range<u64>,
    pub via: Via,
    /// It is a part with another codec than the file has.
    pub is_part: bool,
}

/// A want that is given a place.
#[derive(Debug, Clone, Copy)]
pub struct Seeker<'a> {
    pub range: &'a Range<u64>,
    pub form: WantedForm,
    pub group: u64,
    pub index: usize,
}

/// The files of the scheduler that are read from the cache.
#[derive(Debug, Clone, Copy, Default)]
pub struct Shadows {
    /// Of the file's bytes.
    pub as_in_file: Option<FileId>,
    /// Of its parts with another codec.
    pub parts: Option<FileId>,
}

impl WantPlace {
    /// At the servers of a file.
    pub fn at(file: FileId, range: &Range<u64>, via: Via) -> Self {
        WantPlace { file, range: range.clone(), via, is_part: false }
    }

    /// Bytes there.
    pub fn bytes(&self) -> u64 {
        self.range.end.saturating_sub(self.range.start)
    }
}

impl Shadows {
    /// Removes one, if it is among them.
    pub fn take_out(&mut self, shadow: FileId) -> Option<FileId> {
        [&mut self.as_in_file, &mut self.parts]
            .into_iter()
            .find_map(|own| own.take_if(|own| *own == shadow))
    }

    /// Removes all.
    pub fn take_all(&mut self) -> impl Iterator<Item = FileId> + use<> {
        let Shadows { as_in_file, parts } = std::mem::take(self);
        as_in_file.into_iter().chain(parts)
    }
}

/// By which way a want is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Via {
    /// At its servers, without a cache.
    Uncached,
    /// From the cache.
    Cache,
    /// At its servers.
    Origin,
    /// At its servers, with another want of the same range.
    Joined,
    /// From the cache, after another process has fetched it.
    Awaited,
    /// At its servers, for the cache alone.
    Filling,
}

/// The rest of a file is fetched in such pieces, and so many of them at a time: a demand waits for
/// few bytes of others.
const FILL_BYTES: u64 = 512 << 10;
const FILLS_MAX: u32 = 4;
/// With the mode `auto` files below this are cached whole.
const SMALL_BYTES: u64 = 4 << 20;
/// Bytes that came before the open was answered, and are kept until it is.
const EARLY_BYTES_MAX: u64 = 32 << 20;

/// The cache's part in the open of a file.
#[derive(Debug)]
pub struct CacheOpen {
    pub cache: Cache,
    /// As the caller wrote it, the first of several.
    pub asked: Address,
    /// All places that the caller has named for it.
    pub origin: FileOrigin,
    pub identify: Option<Identify>,
    /// The cached entry, as far as it was known before the open: for a caller that takes the file
    /// for the one that was there before.
    pub found: Option<CacheEntry>,
    /// The same, whether it is trusted or not: it stays loaded until the open is answered.
    pub loaded: Option<CacheEntry>,
    /// The first bytes, from the cache, where the entry is trusted without a request.
    pub believed: Option<Bytes>,
    /// The quotas of who reads the file.
    pub charges: Charges,
}

/// A range that waits for the origin.
#[derive(Debug, Default)]
pub struct OnWay {
    /// Its wants, by group and position.
    pub members: Vec<(u64, usize)>,
    /// A notice of it is in the log for other processes.
    pub is_announced: bool,
}

/// A want that waits for another process.
#[derive(Debug, Clone, Copy)]
pub struct Awaited {
    pub group: u64,
    pub index: usize,
    /// The number of the process; `None` if it is not waited for any more, and only one last look
    /// into the cache is left.
    pub process: Option<u64>,
}

/// The cache's part in an open file.
#[derive(Debug)]
pub struct Cached {
    pub cache: Cache,
    pub asked: Address,
    /// All places that the caller has named for it.
    pub origin: FileOrigin,
    pub identify: Option<Identify>,
    /// The quotas of who reads the file.
    pub charges: Charges,
    pub entry: Option<CacheEntry>,
    /// The entry that was loaded before the open was answered.
    pub loaded: Option<CacheEntry>,
    /// The file's server has confirmed in this open that the entry is of the file.
    pub is_confirmed: bool,
    /// Bytes from now on arrive without TLS, and the entry has none that did: they are not cached.
    pub is_exposed: bool,
    pub shadows: Shadows,
    /// Shadows that have failed, until the file is closed.
    pub failed: Vec<FileId>,
    /// Bytes that arrived before the answer to the open.
    pub early: Vec<(u64, Bytes)>,
    pub early_bytes: u64,
    /// Ranges that wait for the origin.
    pub on_way: BTreeMap<(u64, u64), OnWay>,
    /// Wants that wait for another process.
    pub awaited: Vec<Awaited>,
    /// The log of notices for the file, once opened; the inner `None`: it cannot be used.
    notices: Option<Option<Arc<Notices>>>,
    /// A range of `on_way` may be announced.
    has_announced: bool,
    /// Bytes that were handed out, from wherever.
    pub seen_bytes: u64,
    pub looked: Time,
    /// Ranges that are fetched for the cache alone, where the mode requires it, and how many are
    /// under way.
    pub rest: Option<VecDeque<Range<u64>>>,
    pub fills: u32,
}

impl Cached {
    pub fn new(open: CacheOpen) -> Self {
        let CacheOpen { cache, asked, origin, identify, found, loaded, charges, .. } = open;
        Cached {
            cache,
            asked,
            origin,
            identify,
            charges,
            entry: found,
            loaded,
            is_confirmed: false,
            is_exposed: false,
            shadows: Shadows::default(),
            failed: Vec::new(),
            early: Vec::new(),
            early_bytes: 0,
            on_way: BTreeMap::new(),
            awaited: Vec::new(),
            notices: None,
            has_announced: false,
            seen_bytes: 0,
            looked: Time::ZERO,
            rest: None,
            fills: 0,
        }
    }

    /// Keeps bytes that came from elsewhere.
    pub fn keep(&mut self, offset: u64, bytes: &Bytes) {
        match &self.entry {
            _ if self.is_exposed => {}
            Some(entry) if self.is_confirmed => self.cache.record(entry, offset, bytes.clone()),
            _ if self.is_confirmed => {}
            _ => {
                self.early_bytes += bytes.len() as u64;
                if self.early_bytes <= EARLY_BYTES_MAX {
                    self.early.push((offset, bytes.clone()));
                }
            }
        }
    }

    /// The next piece of the rest of the file, if it is to be fetched, one of so many.
    pub fn next_fill(&mut self) -> Option<Range<u64>> {
        let entry = self.entry.as_ref().filter(|_| self.is_confirmed && self.fills < FILLS_MAX)?;
        let size = entry.info.size;
        let content = &entry.content;
        let rest = match &mut self.rest {
            Some(rest) => rest,
            None => {
                let is_due = match self.cache.config().mode {
                    CacheMode::Off | CacheMode::Touched => false,
                    CacheMode::Whole => true,
                    CacheMode::Auto => size < SMALL_BYTES || self.seen_bytes > size / 2,
                };
                let all = (0..size.div_ceil(FILL_BYTES))
                    .map(|at| at * FILL_BYTES..size.min((at + 1) * FILL_BYTES));
                self.rest.insert(is_due.then(|| all.collect())?)
            }
        };
        loop {
            let piece = rest.pop_front()?;
            if !content.holds(&piece) {
                self.fills += 1;
                return Some(piece);
            }
        }
    }

    /// Registers a want, by group and position, for the origin; returns how it is counted.
    pub fn leave(&mut self, range: &Range<u64>, group: u64, index: usize) -> Via {
        let on_way = self.on_way.entry((range.start, range.end)).or_default();
        on_way.members.push((group, index));
        if on_way.members.len() > 1 { Via::Joined } else { Via::Origin }
    }

    /// Removes a want whose bytes have arrived.
    pub fn arrive(&mut self, range: &Range<u64>, group: u64, index: usize) {
        self.end_one(range, group, index);
    }

    /// Removes a want that failed or was cancelled, and withdraws its notice if it was the last.
    pub fn come_not(&mut self, range: &Range<u64>, group: u64, index: usize) {
        if self.end_one(range, group, index)
            && let Some(Some(notices)) = &self.notices
        {
            notices.withdraw(std::slice::from_ref(range));
        }
    }

    /// Removes a want; returns whether it was the last one of an announced range.
    fn end_one(&mut self, range: &Range<u64>, group: u64, index: usize) -> bool {
        let key = (range.start, range.end);
        let Some(on_way) = self.on_way.get_mut(&key) else { return false };
        on_way.members.retain(|member| *member != (group, index));
        let is_last = on_way.members.is_empty();
        let is_announced = on_way.is_announced;
        if is_last {
            self.on_way.remove(&key);
        }
        is_last && is_announced
    }

    /// The ranges of `on_way` that overlap these segments.
    pub fn ranges_in(&self, segments: &[Range<u64>]) -> Vec<Range<u64>> {
        let mut ranges = Vec::new();
        for segment in segments {
            let before = self.on_way.range(..(segment.start, 0)).next_back();
            let within = self.on_way.range((segment.start, 0)..(segment.end, 0));
            let overlapping =
                before.into_iter().chain(within).map(|((start, end), _)| *start..*end);
            ranges.extend(overlapping.filter(|range| range.end > segment.start));
        }
        ranges.dedup();
        ranges
    }

    /// Notes that a range is announced to other processes.
    pub fn announced(&mut self, range: &Range<u64>) {
        if let Some(on_way) = self.on_way.get_mut(&(range.start, range.end)) {
            on_way.is_announced = true;
            self.has_announced = true;
        }
    }

    /// The log of notices for the file; `None` if it cannot be used, or if the cache does not keep
    /// the bytes fetched here, whose notices are then withdrawn.
    pub fn notices(&mut self, now: Time) -> Option<Arc<Notices>> {
        let is_kept = match &self.entry {
            _ if self.is_exposed => false,
            Some(entry) => !entry.content.is_refused() && !entry.content.is_over(),
            None => !self.is_confirmed,
        };
        if !is_kept {
            if let Some(Some(notices)) = &self.notices
                && std::mem::take(&mut self.has_announced)
            {
                self.on_way.values_mut().for_each(|on_way| on_way.is_announced = false);
                notices.withdraw(&[0..u64::MAX]);
            }
            return None;
        }
        let cache = &self.cache;
        let origin = &self.origin;
        self.notices.get_or_insert_with(|| cache.notices(origin, now)).clone()
    }
}

impl Drop for Cached {
    /// Withdraws the pending ranges; the log stays open until the received bytes are on the disk.
    fn drop(&mut self) {
        let Some(Some(notices)) = self.notices.take() else { return };
        let announced = self.on_way.iter().filter(|(_, on_way)| on_way.is_announced);
        let ranges: Vec<Range<u64>> = announced.map(|((start, end), _)| *start..*end).collect();
        notices.withdraw(&ranges);
        self.cache.leave(notices);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::CacheConfig;

    /// A cached file with pending ranges of the origin, each with one want.
    fn cached(folder: &std::path::Path, ranges: &[Range<u64>]) -> Cached {
        let folder = Some(folder.to_owned());
        let config = CacheConfig { bytes_max: 1 << 20, folder, ..CacheConfig::default() };
        let cache = Cache::of(&config).unwrap().unwrap();
        let asked = Address::parse("root://host//f.root").unwrap();
        let origin =
            FileOrigin::of(std::slice::from_ref(&asked), &credentials::CredentialStore::default());
        let mut cached = Cached::new(CacheOpen {
            cache,
            asked,
            origin: origin.unwrap(),
            identify: None,
            found: None,
            loaded: None,
            believed: None,
            charges: Charges::default(),
        });
        for (index, range) in ranges.iter().enumerate() {
            assert_eq!(cached.leave(range, 0, index), Via::Origin);
        }
        cached
    }

    #[test]
    fn a_request_brings_the_ranges_that_it_has_a_part_of() {
        let folder = tempfile::tempdir().unwrap();
        let mut cached = cached(folder.path(), &[0..100, 100..300, 500..600, 900..1000]);
        assert_eq!(cached.leave(&(500..600), 1, 0), Via::Joined);
        assert_eq!(cached.ranges_in(&[0..100]), [0..100]);
        assert_eq!(cached.ranges_in(&[150..200, 250..550]), [100..300, 500..600]);
        assert_eq!(cached.ranges_in(&[99..101]), [0..100, 100..300]);
        assert_eq!(cached.ranges_in(&[300..500, 600..900]), []);
        cached.arrive(&(500..600), 0, 2);
        assert_eq!(cached.ranges_in(&[500..600]), [500..600], "wanted twice");
        cached.come_not(&(500..600), 1, 0);
        assert_eq!(cached.ranges_in(&[500..600]), []);
    }
}
