//! Fresh memory populated before it is written to: prefaulted.

use std::io;
use std::ops::Range;
use std::sync::{Arc, mpsc};

use mutex::Mutex;

/// Bytes that are populated at a time: the kernel is asked once for many pages, and little is in
/// memory before it is needed.
const BYTES_TOGETHER: usize = 256 << 10;
/// Less is not worth asking for: small blocks have been used before, ends of large ones are few.
const BYTES_MIN: usize = 64 << 10;
/// Pieces end where pages do, however large these are.
const PAGE_BYTES_MAX: usize = 64 << 10;

/// Addresses that another thread populates, from the first to the last, unless it is stopped.
type Ahead = Arc<Mutex<Range<usize>>>;

/// A thread that populates memory which decoders will write to soon: while one decodes, the kernel
/// clears the pages of the next basket on another processor.
#[derive(Clone)]
pub struct PrefaultThread(mpsc::Sender<Ahead>);

impl PrefaultThread {
    /// # Errors
    /// Where no thread can be started.
    pub fn start() -> io::Result<Self> {
        let (sender, receiver) = mpsc::channel::<Ahead>();
        std::thread::Builder::new().name("farroot-memory".into()).spawn(move || {
            for ahead in receiver {
                while step(&mut ahead.lock()) {}
            }
        })?;
        Ok(PrefaultThread(sender))
    }
}

/// Populates some of the addresses; whether there are more.
fn step(ahead: &mut Range<usize>) -> bool {
    let until = ahead.end.min(ahead.start.saturating_add(BYTES_TOGETHER));
    populate(ahead.start..until);
    ahead.start = until;
    until < ahead.end
}

/// How much of an array's memory is populated.
#[derive(Default)]
pub struct Ready {
    until: usize,
    /// Memory that the thread is populating before that. The array stays where it is meanwhile.
    ahead: Option<Ahead>,
    prefault: Option<PrefaultThread>,
}

impl Ready {
    pub fn new(prefault: Option<PrefaultThread>) -> Self {
        Ready { until: 0, ahead: None, prefault }
    }

    /// Populates the memory of the next `bytes`, of the addresses that are free.
    pub fn make(&mut self, free: Range<usize>, bytes: usize) {
        // A page that is asked for costs two thirds of one that is written to unasked. Where it is
        // not given, writing takes care of it.
        let (from, until) = self.lacking(&free, bytes);
        if until - from >= BYTES_MIN {
            populate(from..until);
            self.until = until;
        }
    }

    /// Has the thread, if there is one, populate the memory of `bytes` that come later. The array
    /// must stay where it is until [`Ready::stop`].
    pub fn make_ahead(&mut self, free: Range<usize>, bytes: usize) {
        self.stop();
        let Some(prefault) = &self.prefault else { return };
        let (from, until) = self.lacking(&free, bytes);
        if until.saturating_sub(from) >= BYTES_MIN {
            let ahead = Ahead::new(Mutex::new(from..until));
            if prefault.0.send(ahead.clone()).is_ok() {
                self.until = until;
                self.ahead = Some(ahead);
            }
        }
    }

    /// The part of the memory for the next `bytes` that is not populated, and some more.
    fn lacking(&self, free: &Range<usize>, bytes: usize) -> (usize, usize) {
        let needed = free.end.min(free.start.saturating_add(bytes));
        let is_ours = (free.start..=free.end).contains(&self.until);
        let from = if is_ours { self.until } else { free.start };
        if needed <= from {
            return (from, from);
        }
        let until = needed.max(from.saturating_add(BYTES_TOGETHER));
        let until = until.checked_next_multiple_of(PAGE_BYTES_MAX).unwrap_or(until);
        (from, free.end.min(until))
    }

    /// From here on the array may change its place.
    pub fn stop(&mut self) {
        if let Some(ahead) = self.ahead.take() {
            let mut ahead = ahead.lock();
            if ahead.start < ahead.end {
                self.until = ahead.start;
            }
            *ahead = 0..0;
        }
    }
}

impl Drop for Ready {
    fn drop(&mut self) {
        self.stop();
    }
}

#[cfg(target_os = "linux")]
fn populate(addresses: Range<usize>) {
    use rustix::mm::{Advice, madvise};
    let page = rustix::param::page_size();
    // The first page may be in use: it is ready then.
    let from = addresses.start.next_multiple_of(page);
    let until = addresses.end / page * page;
    if from < until {
        let first = std::ptr::with_exposed_provenance_mut(from);
        // SAFETY: memory of this process that is made resident; nothing is changed.
        #[allow(unsafe_code)]
        let _ = unsafe { madvise(first, until - from, Advice::LinuxPopulateWrite) };
    }
}

#[cfg(not(target_os = "linux"))]
fn populate(_: Range<usize>) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_ready_is_not_asked_for_again_and_nothing_beyond_the_end() {
        let mut ready = Ready::default();
        // An array of 4 MB, which is written from its beginning.
        let array = vec![7u8; 4 << 20];
        let start = array.as_ptr().addr();
        let end = array.as_ptr().addr() + array.len();
        ready.make(start..end, 1000);
        let until = ready.until;
        assert!(until >= start + BYTES_TOGETHER && until <= end);
        ready.make(start + 1000..end, 1000);
        assert_eq!(ready.until, until);
        ready.make(start + 2000..end, BYTES_TOGETHER + PAGE_BYTES_MAX);
        assert!(ready.until > until);
        ready.make(start + 3000..end, usize::MAX);
        assert_eq!(ready.until, end);
        assert!(array.iter().all(|byte| *byte == 7), "nothing is changed");
        // It has moved, or is another one.
        let other = vec![0u8; BYTES_MIN + 1];
        let free = other.as_ptr().addr()..other.as_ptr().addr() + other.len();
        ready.make(free.start + 2..free.end, 5);
        assert_eq!(ready.until, end, "too little");
        ready.make(free.clone(), 5);
        assert_eq!(ready.until, free.end);
        ready.make(0..0, 5);
    }

    #[test]
    fn what_a_helper_has_made_ready_is_not_asked_for_again() {
        let mut ready = Ready::new(Some(PrefaultThread::start().unwrap()));
        let array = vec![7u8; 4 << 20];
        let free = array.as_ptr().addr()..array.as_ptr().addr() + array.len();
        ready.make_ahead(free.clone(), 2 << 20);
        let until = ready.until;
        assert!(until >= free.start + (2 << 20));
        let ahead = ready.ahead.clone().unwrap();
        while ahead.lock().start < until {
            std::thread::yield_now();
        }
        ready.stop();
        ready.make(free.clone(), 2 << 20);
        assert_eq!(ready.until, until);
        assert!(array.iter().all(|byte| *byte == 7), "nothing is changed");
        ready.make_ahead(free.start + 5..free.end, usize::MAX);
        assert_eq!(ready.until, free.end);
    }

    /// Memory behind an array that has moved may belong to another allocation.
    #[test]
    fn a_helper_that_is_stopped_asks_for_nothing_more() {
        let ahead = Ahead::new(Mutex::new(200..300));
        let mut ready = Ready { until: 300, ahead: Some(ahead.clone()), prefault: None };
        ready.stop();
        assert_eq!(ready.until, 200, "the rest is still to be done");
        assert!(!step(&mut ahead.lock()));
        assert_eq!(*ahead.lock(), 0..0);
        let ahead = Ahead::new(Mutex::new(200..300));
        drop(Ready { until: 300, ahead: Some(ahead.clone()), prefault: None });
        assert_eq!(*ahead.lock(), 0..0);
    }
}
