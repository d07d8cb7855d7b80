//! Counters of a cache: hits, misses, writes, evictions.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use serde::Serialize;

/// Sums since the engine started. `hit_bytes + joined_bytes + missed_bytes` are all bytes that
/// handles of files with a cache were given.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct CacheCounters {
    /// Ranges, and their bytes, that came from the disk.
    pub hits: u64,
    /// Bytes of those.
    pub hit_bytes: u64,
    /// Ranges that were on their way for another handle or want already.
    pub joined: u64,
    /// Bytes of those.
    pub joined_bytes: u64,
    /// Ranges that had to be fetched.
    pub misses: u64,
    /// Bytes of those.
    pub missed_bytes: u64,
    /// Bytes fetched only for the cache, where the mode keeps whole files.
    pub filled_bytes: u64,
    /// Bytes that were added to the disk, without the records' headers.
    pub stored_bytes: u64,
    /// Bytes that arrived and were not cached: the disk was behind or full, or nothing had to go
    /// for them.
    pub refused_bytes: u64,
    /// Records that differed from the written ones, and were fetched again.
    pub damaged: u64,
    /// Segments that were removed to make room, and their bytes.
    pub evicted: u64,
    /// Bytes of those.
    pub evicted_bytes: u64,
    /// Entries that were dropped because their file has changed.
    pub changed: u64,
    /// Those of `hits` that came with another codec than the file has.
    pub recompressed_hits: u64,
    /// Bytes of the file that those stand for.
    pub recompressed_hit_bytes: u64,
    /// Parts of files that were added with another codec.
    pub recompressed: u64,
    /// Bytes of the files that those stand for.
    pub recompressed_bytes: u64,
    /// Bytes of parts that were decompressed and not added so: no processor had time, they were too
    /// long, or the disk was full.
    pub not_recompressed_bytes: u64,
}

/// The same, being counted.
#[derive(Debug, Default)]
pub struct Counting {
    hits: [AtomicU64; 2],
    joined: [AtomicU64; 2],
    misses: [AtomicU64; 2],
    filled_bytes: AtomicU64,
    stored_bytes: AtomicU64,
    refused_bytes: AtomicU64,
    damaged: AtomicU64,
    evicted: [AtomicU64; 2],
    changed: AtomicU64,
    recompressed_hits: [AtomicU64; 2],
    recompressed: [AtomicU64; 2],
    not_recompressed_bytes: AtomicU64,
}

impl Counting {
    /// A range of so many bytes came from the disk.
    pub fn hit(&self, bytes: u64) {
        add(&self.hits, bytes);
    }

    /// One had to be fetched.
    pub fn missed(&self, bytes: u64) {
        add(&self.misses, bytes);
    }

    /// One was on its way already.
    pub fn joined(&self, bytes: u64) {
        add(&self.joined, bytes);
    }

    /// Counts bytes fetched only for the cache.
    pub fn filled(&self, bytes: u64) {
        self.filled_bytes.fetch_add(bytes, Relaxed);
    }

    /// So many bytes were added.
    pub fn stored(&self, bytes: u64) {
        self.stored_bytes.fetch_add(bytes, Relaxed);
    }

    /// So many were not.
    pub fn refused(&self, bytes: u64) {
        self.refused_bytes.fetch_add(bytes, Relaxed);
    }

    /// A record differed from the written one.
    pub fn damaged(&self) {
        self.damaged.fetch_add(1, Relaxed);
    }

    /// A segment of so many bytes was removed to make room.
    pub fn evicted(&self, bytes: u64) {
        add(&self.evicted, bytes);
    }

    /// A file has changed.
    pub fn changed(&self) {
        self.changed.fetch_add(1, Relaxed);
    }

    /// A range of so many bytes came with another codec than the file has.
    pub fn hit_recompressed(&self, bytes: u64) {
        add(&self.recompressed_hits, bytes);
    }

    /// A part was added with another codec, in place of so many bytes of the file.
    pub fn recompressed(&self, bytes: u64) {
        add(&self.recompressed, bytes);
    }

    /// One of so many bytes was not.
    pub fn not_recompressed(&self, bytes: u64) {
        self.not_recompressed_bytes.fetch_add(bytes, Relaxed);
    }

    /// The sums as they are now.
    pub fn snapshot(&self) -> CacheCounters {
        let of = |pair: &[AtomicU64; 2]| (pair[0].load(Relaxed), pair[1].load(Relaxed));
        let (hits, hit_bytes) = of(&self.hits);
        let (joined, joined_bytes) = of(&self.joined);
        let (misses, missed_bytes) = of(&self.misses);
        let (evicted, evicted_bytes) = of(&self.evicted);
        let (recompressed_hits, recompressed_hit_bytes) = of(&self.recompressed_hits);
        let (recompressed, recompressed_bytes) = of(&self.recompressed);
        CacheCounters {
            hits,
            hit_bytes,
            joined,
            joined_bytes,
            misses,
            missed_bytes,
            filled_bytes: self.filled_bytes.load(Relaxed),
            stored_bytes: self.stored_bytes.load(Relaxed),
            refused_bytes: self.refused_bytes.load(Relaxed),
            damaged: self.damaged.load(Relaxed),
            evicted,
            evicted_bytes,
            changed: self.changed.load(Relaxed),
            recompressed_hits,
            recompressed_hit_bytes,
            recompressed,
            recompressed_bytes,
            not_recompressed_bytes: self.not_recompressed_bytes.load(Relaxed),
        }
    }
}

fn add(pair: &[AtomicU64; 2], bytes: u64) {
    pair[0].fetch_add(1, Relaxed);
    pair[1].fetch_add(bytes, Relaxed);
}
