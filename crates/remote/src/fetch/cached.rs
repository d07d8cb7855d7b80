//! The cache's part in a file that is open, as the driver keeps it.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use bytes::Bytes;
use scheduler::{FileId, Time};

use crate::address::{Address, Identify};
use crate::cache::{Cache, CacheEntry, CacheMode};

/// Where a want is read.
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
    /// At its servers, for the cache alone.
    Filling,
}

/// The rest of a file is fetched in such pieces, and so many of them at a time: what a demand may
/// have to wait for is small.
const FILL_BYTES: u64 = 512 << 10;
const FILLS_MAX: u32 = 4;
/// With the mode `auto` all is kept of files below this.
const SMALL_BYTES: u64 = 4 << 20;
/// Bytes that came before the open was answered, and are kept until it is.
const EARLY_BYTES_MAX: u64 = 32 << 20;

/// What the cache has to do with a file that is being opened.
#[derive(Debug)]
pub struct CacheOpen {
    pub cache: Cache,
    /// As the caller wrote it, the first of several.
    pub asked: Address,
    pub identify: Option<Identify>,
    /// What is held, as far as was known before the open: for a caller that takes the file for
    /// the one that was there before.
    pub found: Option<CacheEntry>,
    /// The same, whether it is believed or not: it stays loaded until the open is answered.
    pub loaded: Option<CacheEntry>,
    /// The first bytes, from the cache, where the entry is believed without asking.
    pub believed: Option<Bytes>,
}

/// The cache's part in an open file.
#[derive(Debug)]
pub struct Cached {
    pub cache: Cache,
    pub asked: Address,
    pub identify: Option<Identify>,
    pub entry: Option<CacheEntry>,
    /// What was loaded before the open was answered.
    pub loaded: Option<CacheEntry>,
    /// The file's server has said in this open that the entry is of the file.
    pub is_confirmed: bool,
    pub shadow: Option<FileId>,
    /// Shadows that have failed, until the file is closed.
    pub failed: Vec<FileId>,
    /// Bytes that arrived before the answer to the open.
    pub early: Vec<(u64, Bytes)>,
    pub early_bytes: u64,
    /// Ranges that wait for the origin, and how many wants each has.
    pub on_way: BTreeMap<(u64, u64), u32>,
    /// Bytes that were handed out, from wherever.
    pub seen_bytes: u64,
    pub looked: Time,
    /// What is fetched for the cache alone, where the mode says so, and pieces of it under way.
    pub rest: Option<VecDeque<Range<u64>>>,
    pub fills: u32,
}

impl Cached {
    pub fn new(open: CacheOpen) -> Self {
        let CacheOpen { cache, asked, identify, found, loaded, .. } = open;
        Cached {
            cache,
            asked,
            identify,
            entry: found,
            loaded,
            is_confirmed: false,
            shadow: None,
            failed: Vec::new(),
            early: Vec::new(),
            early_bytes: 0,
            on_way: BTreeMap::new(),
            seen_bytes: 0,
            looked: Time::ZERO,
            rest: None,
            fills: 0,
        }
    }

    /// Keeps bytes that came from elsewhere.
    pub fn keep(&mut self, offset: u64, bytes: &Bytes) {
        match &self.entry {
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
        let (size, content) = (entry.info.size, &entry.content);
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

    /// A want goes to the origin; how it is counted.
    pub fn leave(&mut self, range: &Range<u64>) -> Via {
        let wants = self.on_way.entry((range.start, range.end)).or_default();
        *wants += 1;
        if *wants > 1 { Via::Joined } else { Via::Origin }
    }

    /// One has come, or will not.
    pub fn arrive(&mut self, range: &Range<u64>) {
        let key = (range.start, range.end);
        if let Some(wants) = self.on_way.get_mut(&key) {
            *wants -= 1;
            if *wants == 0 {
                self.on_way.remove(&key);
            }
        }
    }
}
