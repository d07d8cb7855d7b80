//! Disks of a server in virtual time: each serves one read after another.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use mutex::Mutex;
use tokio::time::{Instant, sleep_until};

/// The least that the kernel reads, bytes.
const PAGE: u64 = 4096;
/// A timer's least time.
const TICK: Duration = Duration::from_millis(1);

/// How the disks of a server are made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DiskModel {
    pub disks: u64,
    /// Bytes of a file that are on one disk, before the next one has its turn.
    pub stripe: u64,
    /// To any place but the one behind the last read.
    pub seek: Duration,
    /// Bytes a second of one disk.
    pub rate: u64,
}

/// Disks that files are striped over.
#[derive(Debug)]
pub struct Disks {
    model: DiskModel,
    disks: Vec<Mutex<Disk>>,
    read: AtomicU64,
}

#[derive(Debug, Default)]
struct Disk {
    /// Behind which byte of which file its arm is.
    arm: Option<(u64, u64)>,
    /// When it has done all reads so far.
    free: Option<Instant>,
}

impl Disks {
    pub fn new(model: DiskModel) -> Arc<Self> {
        let disks = (0..model.disks.max(1)).map(|_| Mutex::default()).collect();
        Arc::new(Disks { model, disks, read: AtomicU64::new(0) })
    }

    /// Bytes that have been read.
    pub fn bytes_read(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    /// Reads ranges of a file, which has a number, one after the other and each stripe by stripe.
    pub async fn read(&self, file: u64, ranges: impl IntoIterator<Item = Range<u64>>) {
        let mut now = Instant::now();
        for range in ranges {
            let mut at = range.start / PAGE * PAGE;
            let end = range.end.next_multiple_of(PAGE);
            while at < end {
                let stripe = at / self.model.stripe;
                let to = end.min((stripe + 1) * self.model.stripe);
                let number = (stripe + file) % self.disks.len() as u64;
                now = self.disks[number as usize].lock().read(&self.model, now, file, at..to);
                self.read.fetch_add(to - at, Ordering::Relaxed);
                at = to;
                // Timers are as fine as that, and disks are not.
                sleep_until(now - TICK).await;
            }
        }
        sleep_until(now).await;
    }
}

impl Disk {
    /// Reads after all earlier requests; returns when that is done.
    fn read(&mut self, model: &DiskModel, now: Instant, file: u64, range: Range<u64>) -> Instant {
        let is_there = self.arm == Some((file, range.start));
        let seek = if is_there { Duration::ZERO } else { model.seek };
        let bytes = (range.end - range.start) as f64;
        let begin = self.free.map_or(now, |free| free.max(now));
        let done = begin + seek + Duration::from_secs_f64(bytes / model.rate as f64);
        self.arm = Some((file, range.end));
        self.free = Some(done);
        done
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODEL: DiskModel =
        DiskModel { disks: 2, stripe: 8192, seek: Duration::from_millis(5), rate: 4_096_000 };

    #[test]
    fn a_disk_seeks_once_for_what_lies_together_and_serves_one_at_a_time() {
        crate::run(async {
            let disks = Disks::new(MODEL);
            let begun = Instant::now();
            disks.read(0, [100..200]).await;
            assert_eq!(begun.elapsed(), Duration::from_millis(6), "a page");
            disks.read(0, [4096..8192]).await;
            assert_eq!(begun.elapsed(), Duration::from_millis(7), "no seek");
            // Two on one disk, one on the other.
            let two = disks.read(0, [0..1, 16384..16385]);
            tokio::join!(two, disks.read(1, [0..1]));
            assert_eq!(begun.elapsed(), Duration::from_millis(19));
            assert_eq!(disks.bytes_read(), 5 * 4096);
        });
    }

    #[test]
    fn times_are_finer_than_timers() {
        crate::run(async {
            let model = DiskModel { seek: Duration::from_micros(100), rate: u64::MAX, ..MODEL };
            let disks = Disks::new(model);
            let begun = Instant::now();
            disks.read(0, (0..200).map(|at| at * 16384..at * 16384 + 1)).await;
            assert_eq!(begun.elapsed(), Duration::from_millis(20));
        });
    }
}
