//! The room of a disk of a cache.

use std::path::Path;

use super::place;
use super::segment::SEGMENT_BYTES;
use super::settings::CacheConfig;
use crate::error::{Error, ErrorKind};
use crate::report::size;

/// Room is looked for in steps of so much, or a sixteenth of the cap where that is less: a look
/// goes through all folders.
const STEP_BYTES: u64 = SEGMENT_BYTES;

/// Room is made for at least so many bytes.
pub fn step(config: &CacheConfig) -> u64 {
    STEP_BYTES.min(config.bytes_max / 16)
}

/// How much room one disk of a cache has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiskSpace {
    /// Bytes of the cache, and the most that it may have.
    pub taken: u64,
    pub cap: u64,
    /// Bytes that are free on the disk, and those of them that the cache leaves to others.
    pub free: u64,
    pub left_free: u64,
}

impl DiskSpace {
    /// That of a cache of so many bytes. Without an answer of the disk there is none.
    pub fn new(data: &Path, config: &CacheConfig, taken: u64) -> Self {
        let (free, all) = place::free_bytes(data).unwrap_or_default();
        let left_free = (all / 10).min(config.free_bytes_min);
        DiskSpace { taken, cap: config.bytes_max, free, left_free }
    }

    /// Bytes that may be added.
    pub fn room(&self) -> u64 {
        self.cap.saturating_sub(self.taken).min(self.free.saturating_sub(self.left_free))
    }

    /// How many bytes the disk lacks of those that are left to others.
    pub fn under_floor(&self) -> u64 {
        self.left_free.saturating_sub(self.free)
    }

    /// Whether so many bytes may be added, with nothing evicted.
    pub fn has(&self, bytes: u64) -> bool {
        let below_cap = self.taken.saturating_add(bytes) <= self.cap;
        below_cap && self.left_free.saturating_add(bytes) <= self.free
    }

    /// The error for so many bytes that find no room.
    pub fn no_room(&self, bytes: u64) -> Error {
        let DiskSpace { taken, cap, free, left_free } = *self;
        let [bytes, taken_text, cap_text, free, left] =
            [bytes, taken, cap, free, left_free].map(size);
        let is_of_disk = self.free.saturating_sub(left_free) < cap.saturating_sub(taken);
        let (text, advice) = match is_of_disk {
            true => (
                format!("its disk has {free} free, of which it leaves {left} to others"),
                "let others take less of the disk, or let FARROOT_CACHE_FREE say less",
            ),
            false => (
                format!(
                    "it has {taken_text} of at most {cap_text}, open, pinned or used more often"
                ),
                "let FARROOT_CACHE say more, end pins (`farroot cache unpin`), or evict files",
            ),
        };
        let text = format!("the cache has no room for {bytes}: {text}");
        Error::new(ErrorKind::LimitReached, text).with_advice(advice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_whether_the_cap_or_the_disk_is_full() {
        let space = DiskSpace { taken: 100, cap: 1000, free: 50_000, left_free: 10_000 };
        assert!(space.has(900) && !space.has(901));
        let error = space.no_room(901);
        assert!(error.message().contains("1.00 kB"), "{error}");
        assert!(error.advice().is_some_and(|advice| advice.contains("FARROOT_CACHE say")));

        // A disk that others have filled said once that the cache's own files were pinned.
        let space = DiskSpace { free: 9_000, ..space };
        assert!(!space.has(0) && space.under_floor() == 1_000 && space.room() == 0);
        let error = space.no_room(1);
        assert!(error.message().contains("9.00 kB free"), "{error}");
        assert!(error.advice().is_some_and(|advice| advice.contains("FARROOT_CACHE_FREE")));
    }
}
