//! Shares of the memory budget, of items whose bytes were requested together.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use remote::fetch::MemoryReservation;

/// The share of one item in the reservation of a want. Dropping the last gives it back.
pub struct Share {
    of: Arc<Granted>,
    bytes: u64,
    is_decoded: bool,
}

/// The reservation of a want, and the sizes of what it stands for.
struct Granted {
    reservation: MemoryReservation,
    bytes: AtomicU64,
    /// Items that no thread has decoded yet: the driver learns the size of all at once.
    undecoded: AtomicUsize,
    is_handed_over: AtomicBool,
}

impl Share {
    /// The shares of items that take so many bytes.
    pub fn of(
        reservation: MemoryReservation,
        sizes: impl ExactSizeIterator<Item = u64>,
    ) -> Vec<Share> {
        let undecoded = AtomicUsize::new(sizes.len());
        let of = Arc::new(Granted {
            reservation,
            bytes: AtomicU64::new(0),
            undecoded,
            is_handed_over: AtomicBool::new(false),
        });
        let share = |bytes| {
            of.bytes.fetch_add(bytes, Ordering::Relaxed);
            Share { of: of.clone(), bytes, is_decoded: false }
        };
        sizes.map(share).collect()
    }

    /// The item has been decoded to so many bytes.
    pub fn decoded(&mut self, bytes: u64) {
        self.of.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.of.bytes.fetch_sub(std::mem::replace(&mut self.bytes, bytes), Ordering::Relaxed);
        self.count_decoded();
    }

    /// The bytes are the consumer's now.
    pub fn hand_over(&self) {
        if !self.of.is_handed_over.swap(true, Ordering::Relaxed) {
            self.of.reservation.hand_over();
        }
    }

    fn count_decoded(&mut self) {
        if std::mem::replace(&mut self.is_decoded, true) {
            return;
        }
        if self.of.undecoded.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.of.reservation.resize(self.of.bytes.load(Ordering::Relaxed));
        }
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.of.bytes.fetch_sub(self.bytes, Ordering::Relaxed);
        // The last one gives the reservation back as a whole.
        if Arc::strong_count(&self.of) > 1 {
            self.count_decoded();
        }
    }
}
