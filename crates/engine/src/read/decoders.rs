//! Threads that decompress and decode.

use std::cell::RefCell;
use std::sync::Arc;

use rootfile::Codecs;

use crate::error::{Error, ErrorKind, Result};
use crate::fetch::trace::Trace;

/// A pool of decoding threads, or none: then work is done where it is given.
#[derive(Clone)]
pub struct Decoders {
    pool: Option<Arc<rayon::ThreadPool>>,
    trace: Trace,
}

thread_local! {
    /// Codec state is costly to make and holds no data between calls.
    static CODECS: RefCell<Codecs> = RefCell::new(Codecs::default());
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
        Ok(Decoders { pool, trace })
    }

    /// Runs `work` for a file on some decoding thread, with that thread's codecs.
    pub fn run(&self, file: u32, work: impl FnOnce(&mut Codecs) + Send + 'static) {
        let trace = self.trace.clone();
        let timed = move || {
            let from = trace.now();
            CODECS.with_borrow_mut(work);
            trace.decoded(file, from);
        };
        match &self.pool {
            Some(pool) => pool.spawn(timed),
            None => timed(),
        }
    }
}
