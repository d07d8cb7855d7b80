//! Threads that decompress and decode.

use std::any::Any;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use mutex::Mutex;
use rootfile::Codecs;
use rootfile::content::{self, Workers};

use super::prefault::{PrefaultThread, Ready};
use remote::fetch::trace::Trace;
use remote::{Error, ErrorKind, Result};

/// Decoded before all else that waits: a caller is blocked on it.
pub const AT_ONCE: u64 = 0;

/// A pool of decoding threads, or none: then work is done where it is given.
#[derive(Clone)]
pub struct Decoders {
    pool: Option<Arc<rayon::ThreadPool>>,
    waiting: Arc<Mutex<Waiting>>,
    /// Where there are fewer threads than processors.
    prefault: Option<PrefaultThread>,
    trace: Trace,
}

type Work = Box<dyn FnOnce(&mut Codecs) + Send>;

/// Work that no thread has begun, by its place and, at one place, in the order in which it was
/// given.
#[derive(Default)]
struct Waiting {
    work: BTreeMap<(u64, u64), Work>,
    given: u64,
}

thread_local! {
    /// Codec state is costly to make and holds no data between calls.
    static CODECS: RefCell<Codecs> = RefCell::new(Codecs::default());
}

/// Runs `work` with the codecs of this thread; panics where `work` calls this function.
pub fn with_codecs<T>(work: impl FnOnce(&mut Codecs) -> T) -> T {
    CODECS.with_borrow_mut(work)
}

/// The result of `work`; where it panics, an error that says `who` has failed.
///
/// # Errors
/// Those of `work`; `Io` after a panic.
pub fn caught<T>(who: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    let panicked = |panic: Box<dyn Any + Send>| {
        let said = panic.downcast_ref::<&str>().copied();
        let said = said.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        let text = format!("{who} has failed: {}", said.unwrap_or("without a word"));
        Err(Error::new(ErrorKind::Io, text))
    };
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(panicked)
}

impl Decoders {
    /// `threads` of zero decodes on the caller's own thread.
    pub fn start(threads: usize, trace: Trace) -> Result<Self> {
        let build = || {
            rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .thread_name(|n| format!("farroot-decode-{n}"))
                .build()
                .map(Arc::new)
                .map_err(|e| Error::new(ErrorKind::Io, format!("no decoding threads: {e}")))
        };
        let pool = if threads == 0 { None } else { Some(build()?) };
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        // Decoders do without.
        let prefault =
            if (1..processors).contains(&threads) { PrefaultThread::start().ok() } else { None };
        Ok(Decoders { pool, waiting: Arc::default(), prefault, trace })
    }

    /// Who makes memory ready for them.
    pub fn prefault(&self) -> Option<&PrefaultThread> {
        self.prefault.as_ref()
    }

    /// How many threads there are; 0 where work is done where it is given.
    pub fn threads(&self) -> usize {
        self.pool.as_ref().map_or(0, |pool| pool.current_num_threads())
    }

    /// Runs work other than decoding on some thread. A panic ends `work` alone: channels whose
    /// senders it owns are closed.
    pub fn spawn(&self, work: impl FnOnce() + Send + 'static) {
        // A panic that reaches the pool ends the process. The hook has printed it already.
        let work = || drop(catch_unwind(AssertUnwindSafe(work)));
        match &self.pool {
            Some(pool) => pool.spawn(work),
            None => work(),
        }
    }

    /// Runs `work` for a file on some decoding thread, with that thread's codecs. Of the work that
    /// waits for a thread, the lowest `place` is first: bytes come in any order, but those that are
    /// behind others in a column can be decoded to where they go, and need not be copied there,
    /// when these have been. A panic ends `work` alone, as in [`Decoders::spawn`].
    pub fn run(&self, file: u32, place: u64, work: impl FnOnce(&mut Codecs) + Send + 'static) {
        let trace = self.trace.clone();
        let timed = move |codecs: &mut Codecs| {
            let from = trace.now();
            work(codecs);
            trace.decoded(file, from, codecs.take_slow_bytes());
        };
        let Some(pool) = &self.pool else { return with_codecs(timed) };
        self.waiting.lock().give(place, Box::new(timed));
        let waiting = self.waiting.clone();
        pool.spawn(move || {
            let next = waiting.lock().work.pop_first();
            if let Some((_, work)) = next {
                drop(catch_unwind(AssertUnwindSafe(|| with_codecs(work))));
            }
        });
    }
}

/// The caller that gives it waits until all of it is done.
impl Workers for Decoders {
    fn count(&self) -> usize {
        self.pool.as_ref().map_or(1, |pool| pool.current_num_threads())
    }

    fn run(&self, work: Vec<content::Work<'_>>) {
        let done = |work: content::Work<'_>| with_codecs(work);
        match &self.pool {
            Some(pool) => pool.scope(|scope| {
                work.into_iter().for_each(|work| scope.spawn(move |_| done(work)));
            }),
            None => work.into_iter().for_each(done),
        }
    }

    fn here(&self, work: &mut dyn FnMut(&mut Codecs)) {
        CODECS.with(|codecs| match codecs.try_borrow_mut() {
            Ok(mut codecs) => work(&mut codecs),
            // Within other work of this thread.
            Err(_) => work(&mut Codecs::default()),
        });
    }

    fn before_writing(&self) -> fn(Range<usize>) {
        |fresh| Ready::default().make(fresh.clone(), fresh.len())
    }
}

impl Waiting {
    fn give(&mut self, place: u64, work: Work) {
        self.work.insert((place, self.given), work);
        self.given += 1;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;
    use remote::clock::Clock;

    /// Regression: a panic in a thread that compresses ended the whole process.
    #[test]
    fn a_panic_ends_its_work_alone() {
        for threads in [0, 1] {
            let decoders = Decoders::start(threads, Trace::new(Clock::start())).unwrap();
            let (sender, receiver) = mpsc::channel::<()>();
            decoders.spawn(move || {
                let _sender = sender;
                panic!("meant: a test of panics");
            });
            assert!(receiver.recv().is_err());
            let (sender, receiver) = mpsc::channel();
            decoders.spawn(move || sender.send(7).unwrap());
            assert_eq!(receiver.recv(), Ok(7));
        }
    }

    /// Regression: a panic in a thread that decodes ended the whole process.
    #[test]
    fn a_panic_ends_what_is_decoded_alone() {
        let decoders = Decoders::start(1, Trace::new(Clock::start())).unwrap();
        for meant in [true, false] {
            let (sender, receiver) = mpsc::channel();
            decoders.run(0, AT_ONCE, move |_| {
                assert!(!meant, "meant: a test of panics");
                sender.send(7).unwrap();
            });
            assert_eq!(receiver.recv().is_err(), meant);
        }
    }

    #[test]
    fn what_waits_is_done_by_its_place() {
        let decoders = Decoders::start(1, Trace::new(Clock::start())).unwrap();
        let (begin, begun) = mpsc::channel();
        decoders.run(0, 7, move |_| begun.recv().unwrap());
        let (done, order) = mpsc::channel();
        for (place, name) in [(5, "c"), (2, "a"), (5, "d"), (4, "b"), (AT_ONCE, "first")] {
            let done = done.clone();
            decoders.run(0, place, move |_| done.send(name).unwrap());
        }
        begin.send(()).unwrap();
        drop(done);
        assert_eq!(order.iter().collect::<Vec<_>>(), ["first", "a", "b", "c", "d"]);
    }
}
