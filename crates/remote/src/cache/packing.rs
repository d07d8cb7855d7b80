//! The thread that compresses parts of cached files anew, while a processor has nothing else to do.
//!
//! Decoders give it the content of what they have just decompressed, with the work that packs it.
//! The thread has the lowest priority, and little waits for it: a part that finds no room stays as
//! it is in the file, until a later read decompresses it again.

use std::collections::VecDeque;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{Builder, JoinHandle, park};

use crc32c::crc32c;
use mutex::Mutex;

use super::content::HeldContent;
use super::counters::Counting;
use super::quota::AskedCharges;
use super::recompressed::encode_part;
use super::writer::{CacheWriter, PackedPart};

/// Most bytes that wait, decompressed ones included.
const WAITING_MAX: u64 = 64 << 20;

/// A part of a file that a decoder has decompressed.
pub struct UnpackedPart {
    /// Where it is in the file.
    pub(super) range: Range<u64>,
    /// CRC32C of its bytes there.
    original: u32,
    bytes: u64,
    pack: Box<dyn FnOnce() -> Option<Vec<u8>> + Send>,
}

/// The two contents of a file: its bytes as they are in it, and its parts of another codec.
#[derive(Debug, Clone)]
pub struct Contents {
    pub original: Arc<HeldContent>,
    pub recompressed: Arc<HeldContent>,
    /// The quotas that are named for parts that come in.
    pub asked: AskedCharges,
}

/// The thread's other end. Dropping it gives up what waits.
pub struct PartPacker {
    queue: Arc<Queue>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

struct Queue {
    waiting: Mutex<VecDeque<(Contents, UnpackedPart)>>,
    waiting_bytes: AtomicU64,
    /// Held while a part is packed.
    busy: Mutex<()>,
    is_over: AtomicBool,
    writer: Arc<CacheWriter>,
    counting: Arc<Counting>,
}

impl std::fmt::Debug for PartPacker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PartPacker").field("room", &self.room()).finish()
    }
}

impl PartPacker {
    /// The thread is started with the first part.
    pub fn new(writer: Arc<CacheWriter>, counting: Arc<Counting>) -> Self {
        let queue = Queue {
            waiting: Mutex::default(),
            waiting_bytes: AtomicU64::new(0),
            busy: Mutex::default(),
            is_over: AtomicBool::new(false),
            writer,
            counting,
        };
        PartPacker { queue: Arc::new(queue), thread: Mutex::default() }
    }

    /// Bytes that may be given to it now.
    pub fn room(&self) -> u64 {
        WAITING_MAX.saturating_sub(self.queue.waiting_bytes.load(Ordering::Relaxed))
    }

    /// Packs a part of a file in its time, unless too much waits.
    pub fn pack(&self, of: Contents, part: UnpackedPart) {
        let bytes = part.bytes;
        if bytes > self.room() {
            return self.queue.counting.not_recompressed(part.length());
        }
        self.queue.waiting_bytes.fetch_add(bytes, Ordering::Relaxed);
        self.queue.waiting.lock().push_back((of, part));
        let mut thread = self.thread.lock();
        if thread.is_none() {
            let queue = self.queue.clone();
            let name = "farroot-pack".to_owned();
            // Without a thread only `flush` packs.
            *thread = Builder::new().name(name).spawn(move || queue.run()).ok();
        }
        thread.iter().for_each(|thread| thread.thread().unpark());
    }

    /// Packs all that waits, on the caller's thread.
    pub fn flush(&self) {
        while self.queue.pack_one() {}
        drop(self.queue.busy.lock());
    }
}

impl PartialEq for Contents {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.original, &other.original)
            && Arc::ptr_eq(&self.recompressed, &other.recompressed)
            && self.asked == other.asked
    }
}

impl Drop for PartPacker {
    fn drop(&mut self) {
        self.queue.is_over.store(true, Ordering::Release);
        if let Some(thread) = self.thread.lock().take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

impl UnpackedPart {
    /// The part whose bytes in the file, from `at` on, are `original`. `pack` holds so many bytes
    /// of memory, and packs it with a fast codec.
    pub fn new(
        at: u64,
        original: &[u8],
        bytes: u64,
        pack: impl FnOnce() -> Option<Vec<u8>> + Send + 'static,
    ) -> Self {
        let range = at..at + original.len() as u64;
        UnpackedPart { range, original: crc32c(original), bytes, pack: Box::new(pack) }
    }

    fn length(&self) -> u64 {
        self.range.end - self.range.start
    }
}

impl Queue {
    fn run(&self) {
        give_way();
        while !self.is_over.load(Ordering::Acquire) {
            let is_done = {
                let _busy = self.busy.lock();
                !self.pack_one()
            };
            if is_done {
                park();
            }
        }
    }

    /// Packs the part that has waited longest; false where none waits.
    fn pack_one(&self) -> bool {
        let Some((of, part)) = self.waiting.lock().pop_front() else { return false };
        self.waiting_bytes.fetch_sub(part.bytes, Ordering::Relaxed);
        let length = part.length();
        let UnpackedPart { range, original, pack, .. } = part;
        if of.original.is_over() {
            return true;
        }
        // Its original stays, whatever happens.
        let packed = catch_unwind(AssertUnwindSafe(pack)).ok().flatten();
        let part = packed.and_then(|packed| encode_part(&range, original, &packed));
        match part {
            Some((at, bytes)) => self.writer.part(of, PackedPart { range, at, bytes }),
            None => self.counting.not_recompressed(length),
        }
        true
    }
}

/// Leaves the processors to all other threads.
fn give_way() {
    // Elsewhere a process has one priority for all of its threads.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::nice(19);
}
