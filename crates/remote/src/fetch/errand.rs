//! Handles to the ledger's errands: what works says what it is doing, who waits says so.

use std::sync::Arc;

use super::ledger::Phase;
use super::trace::Trace;

tokio::task_local! {
    /// Set around work that is done ahead of its caller.
    static AHEAD: Errand;
}

/// A piece of work that somebody may wait for; it ends with its last handle.
#[derive(Debug, Clone)]
pub struct Errand {
    inner: Arc<Inner>,
    /// Whether waiting inside the work itself is its caller's waiting.
    is_ahead: bool,
}

#[derive(Debug)]
struct Inner {
    trace: Trace,
    number: u64,
}

/// While it lives somebody waits for an errand.
#[derive(Debug)]
#[must_use = "nobody waits any more once it is dropped"]
pub struct Waiting {
    inner: Option<Arc<Inner>>,
}

impl Errand {
    /// A part of the work that is being done [ahead](Errand::ahead) here, or else a new errand.
    pub fn within(trace: &Trace, phase: Phase, file: Option<u32>) -> Self {
        match AHEAD.try_with(Errand::clone) {
            Ok(errand) => {
                errand.enter(phase);
                errand
            }
            Err(_) => Errand::begin(trace, phase, file),
        }
    }

    /// A new errand.
    pub fn begin(trace: &Trace, phase: Phase, file: Option<u32>) -> Self {
        let number = trace.ledger(|ledger, now| ledger.begin(now, phase, file));
        Errand { inner: Arc::new(Inner { trace: trace.clone(), number }), is_ahead: false }
    }

    /// Does work that nobody waits for until somebody calls [`Errand::waiting`] on this handle:
    /// every errand [`within`](Errand::within) it is this one.
    pub async fn ahead<F: Future>(&self, work: F) -> F::Output {
        let errand = Errand { is_ahead: true, ..self.clone() };
        AHEAD.scope(errand, work).await
    }

    pub fn enter(&self, phase: Phase) {
        let Inner { trace, number } = &*self.inner;
        trace.ledger(|ledger, now| ledger.enter(now, *number, phase));
    }

    /// Says which file this is about, once that is known.
    pub fn belongs(&self, file: u32) {
        let Inner { trace, number } = &*self.inner;
        trace.ledger(|ledger, now| ledger.belongs(now, *number, file));
    }

    /// The caller waits, as long as what this returns lives.
    pub fn waiting(&self) -> Waiting {
        let inner = (!self.is_ahead).then(|| self.inner.clone());
        if let Some(Inner { trace, number }) = inner.as_deref() {
            trace.ledger(|ledger, now| ledger.wait(now, *number));
        }
        Waiting { inner }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if let Some(Inner { trace, number }) = self.inner.as_deref() {
            trace.ledger(|ledger, now| ledger.leave(now, *number));
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.trace.ledger(|ledger, now| ledger.end(now, self.number));
    }
}
