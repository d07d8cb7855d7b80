//! Threads that decompress and decode.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rootfile::Codecs;

use crate::error::{Error, ErrorKind, Result};

/// A pool of decoding threads, or none: then work is done where it is given.
#[derive(Clone)]
pub struct Decoders {
    pool: Option<Arc<rayon::ThreadPool>>,
    busy_ns: Arc<AtomicU64>,
}

thread_local! {
    /// Codec state is costly to make and holds no data between calls.
    static CODECS: RefCell<Codecs> = RefCell::new(Codecs::default());
}

impl Decoders {
    /// `threads` of zero decodes on the caller's own thread.
    pub fn start(threads: usize) -> Result<Self> {
        let build = || {
            rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .thread_name(|n| format!("farroot-decode-{n}"))
                .build()
                .map(Arc::new)
                .map_err(|e| Error::new(ErrorKind::Io, format!("no decoding threads: {e}")))
        };
        let pool = if threads == 0 { None } else { Some(build()?) };
        Ok(Decoders { pool, busy_ns: Arc::default() })
    }

    /// Runs `work` on some decoding thread, with that thread's codecs.
    pub fn run(&self, work: impl FnOnce(&mut Codecs) + Send + 'static) {
        let busy = self.busy_ns.clone();
        let timed = move || {
            let started = std::time::Instant::now();
            CODECS.with_borrow_mut(work);
            busy.fetch_add(started.elapsed().as_nanos() as u64, Ordering::Relaxed);
        };
        match &self.pool {
            Some(pool) => pool.spawn(timed),
            None => timed(),
        }
    }

    /// Time that all threads together have spent decoding since the engine started.
    pub fn busy(&self) -> Duration {
        Duration::from_nanos(self.busy_ns.load(Ordering::Relaxed))
    }
}
