//! Offsets of metadata in files that are read one after the other: alike in most.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use remote::address::{Address, Scheme};
use remote::fetch::OpenEnds;
use rootfile::{File, Known, Needs, Progress};

use super::link::LINK;
use super::remembered::add_needed;

/// Longest reach: metadata further from both ends do not belong to the usual beginning and end of
/// files.
const REACH_MAX: u64 = 256 << 10;
/// Files up to this size are asked for as a whole where each request takes a connection for a round
/// trip: 64 kB are less than a link brings in this time.
const SMALL_BYTES_MAX: u64 = 64 << 10;
/// Where the metadata lay in the files read before. Copies share it.
#[derive(Debug, Clone, Default)]
pub struct MetadataHints {
    shared: Arc<Shared>,
    /// Few files are opened ahead, and are then read: else they are only opened.
    is_read: bool,
    /// There is no other file to use the hints.
    is_one: bool,
}

#[derive(Debug, Default)]
struct Shared {
    /// Bytes that have been needed at the beginning of a file, and how far from the end.
    head: AtomicU64,
    reach: AtomicU64,
    /// The size of a file that was read, if it is small.
    small: AtomicU64,
    /// One file has set them.
    is_set: AtomicBool,
}

/// Whether each request takes a connection for a round trip, as with HTTP/1.1.
pub fn are_over_http(urls: &[Address]) -> bool {
    use Scheme::{Http, Https, Local, Pelican, Root, Roots, S3};
    urls.iter().all(|url| match url.scheme() {
        Http | Https | S3 | Pelican => true,
        Local | Root | Roots => false,
    })
}

impl MetadataHints {
    /// The hints for this many files that are read.
    pub fn read(files: usize) -> Self {
        MetadataHints { is_read: true, is_one: files < 2, ..MetadataHints::default() }
    }

    /// These ranges are needed of a file of this size, beyond the bytes that have arrived.
    pub fn note(&self, needs: &Needs, size: u64) {
        let reaches = needs.required.iter().map(|range| size.saturating_sub(range.start));
        let most = reaches.filter(|reach| *reach <= REACH_MAX.min(size / 2)).max();
        self.shared.reach.fetch_max(most.unwrap_or(0), Ordering::Relaxed);
    }

    /// Whether a file has been read from which they come.
    pub fn are_learned(&self) -> bool {
        self.shared.is_set.load(Ordering::Relaxed)
    }

    /// The bytes to ask for with the open of a file at these addresses. Over HTTP: all of a small
    /// file, and those bytes of both ends of a longer one that the files before have needed, if one
    /// request brings both.
    pub fn ends(&self, urls: &[Address]) -> OpenEnds {
        let head = LINK.head();
        if !are_over_http(urls) {
            return OpenEnds { head, tail: 0, in_one: true };
        }
        let with_reserve = |bytes: &AtomicU64| {
            let bytes = bytes.load(Ordering::Relaxed);
            bytes + bytes / 16
        };
        let Shared { head: needed, reach, small, .. } = &*self.shared;
        match with_reserve(small) {
            0 if self.are_learned() => {
                let head = head.max(with_reserve(needed));
                OpenEnds { head, tail: with_reserve(reach), in_one: true }
            }
            small => OpenEnds { head: head.max(small), tail: 0, in_one: true },
        }
    }

    /// Leaves those of the wishes that files like this one have turned out to need, and adds the
    /// bytes that they have needed of their beginning.
    pub fn choose(&self, needs: &mut Needs, size: u64) {
        let Shared { head, reach, is_set, .. } = &*self.shared;
        let mut reach = reach.load(Ordering::Relaxed);
        if self.is_read && !is_set.load(Ordering::Relaxed) {
            reach = reach.max(LINK.tail());
        }
        let begin = size.saturating_sub(reach + reach / 16);
        needs.speculative.iter_mut().for_each(|wish| wish.start = wish.start.max(begin));
        needs.speculative.retain(|wish| wish.start < wish.end);
        if !self.is_read {
            needs.next.clear();
        }
        let head = head.load(Ordering::Relaxed);
        needs.speculative.push(0..(head + head / 16).min(size));
    }

    /// Finds out which bytes `read` has needed of a file of which the bytes of `known` are here and
    /// the first `head_asked` bytes come with the open: of the first file that asks for it.
    pub fn learn(
        &self,
        file: &File,
        known: &Known,
        head_asked: u64,
        read: impl Fn(&File, &Known) -> rootfile::Result<Progress<()>>,
    ) {
        let Some(size) = known.size() else { return };
        // The steps below read all metadata once more.
        if self.is_one || self.shared.is_set.load(Ordering::Relaxed) {
            return;
        }
        let mut needed = known.without_bytes();
        if add_needed(file, known, &mut needed, read).is_none() {
            return;
        }
        let mut head = head_asked;
        let mut reach = 0;
        let most = REACH_MAX.min(size / 2);
        for (start, piece) in needed.pieces() {
            let end = start + piece.len() as u64;
            if start <= head && end <= most {
                head = head.max(end);
            } else if size - start <= most {
                reach = reach.max(size - start);
            }
        }
        if head > head_asked {
            self.shared.head.fetch_max(head, Ordering::Relaxed);
        }
        self.shared.reach.fetch_max(reach, Ordering::Relaxed);
        if size <= SMALL_BYTES_MAX {
            self.shared.small.fetch_max(size, Ordering::Relaxed);
        }
        self.shared.is_set.store(true, Ordering::Relaxed);
    }
}
