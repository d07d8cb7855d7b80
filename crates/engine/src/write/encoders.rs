//! State that compression reuses from one block to the next, for each thread.

use std::cell::RefCell;

use rootfile::Codecs;
use rootfile::write::Encoders;

use crate::read::threads::decoders::{Decoders, with_codecs};

thread_local! {
    /// Costly to make; holds no data between calls.
    static ENCODERS: RefCell<Encoders> = RefCell::default();
}

/// Runs `work` with the encoders of this thread. A nested call, and the next call after a panic of
/// `work`, gets new encoders.
pub fn with_encoders<T>(work: impl FnOnce(&mut Encoders) -> T) -> T {
    let mut encoders = ENCODERS.take();
    let done = work(&mut encoders);
    ENCODERS.set(encoders);
    done
}

/// Runs `work` on one of the decoding threads, with that thread's codecs and encoders.
pub fn run_on(decoders: &Decoders, work: impl FnOnce(&mut Codecs, &mut Encoders) + Send + 'static) {
    decoders.spawn(move || with_codecs(|codecs| with_encoders(|encoders| work(codecs, encoders))));
}
