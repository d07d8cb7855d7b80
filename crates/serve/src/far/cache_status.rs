//! Parts of an answer that a proxy has before it fetches any of it, and their age.

use std::ops::Range;

use engine::Watched;
use remote::address::CacheUse;

use super::pieces::first_piece;

/// How far a client allows a proxy to answer from its cache and its open files.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CacheRules {
    pub cache_use: CacheUse,
    /// Maximum of seconds since the origin last described the file.
    pub age_max: Option<u64>,
}

/// How many bytes of an answer a proxy has cached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheStatus {
    /// Bytes of the file in the answer.
    pub wanted: u64,
    /// Of these, bytes that have to be fetched from the origin.
    pub missing: u64,
    /// The proxy requested the file's description from the origin for this answer.
    pub has_asked: bool,
    /// It did so because the client's [`CacheRules::age_max`] had passed.
    pub was_too_old: bool,
    /// Bytes that are fetched go to the cache on the disk.
    pub is_kept: bool,
    /// Seconds since the origin last described the file.
    pub age: u64,
}

impl CacheStatus {
    /// How much the proxy has cached of ranges that end within a file.
    pub fn of(watched: &Watched, was_too_old: bool, ranges: &[Range<u64>]) -> Self {
        let remote = watched.remote_file();
        let wanted = ranges.iter().map(|range| range.end - range.start).sum();
        // Bytes that came with the open were fetched for this answer.
        let came_with_open = watched.has_asked() && !watched.was_open();
        let missing = match came_with_open && !remote.was_held() {
            true => wanted,
            false => ranges.iter().map(|range| missing(watched, range)).sum(),
        };
        let has_asked = watched.has_asked();
        let is_kept = remote.is_kept();
        let age = watched.age().as_secs();
        CacheStatus { wanted, missing, has_asked, was_too_old, is_kept, age }
    }
}

/// Bytes of a range that its reads, piece by piece, would fetch.
fn missing(watched: &Watched, range: &Range<u64>) -> u64 {
    let mut rest = range.clone();
    let mut missing = 0;
    while rest.start < rest.end {
        let piece = first_piece(&rest);
        rest.start = piece.end;
        missing += watched.missing(&piece);
    }
    missing
}
