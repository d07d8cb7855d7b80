//! Handles to activities, which the ledger of time accounts: the worker names its phase, the caller
//! counts its wait.

use std::sync::Arc;

use super::ledger::Phase;
use super::trace::Trace;

tokio::task_local! {
    /// Set around prefetches, which run ahead of their caller.
    static AHEAD: Activity;
}

/// Work whose time the report accounts for, like a tracing span; it ends with its last handle.
#[derive(Debug, Clone)]
pub struct Activity {
    inner: Arc<Inner>,
    /// Whether waiting inside the work itself is its caller's waiting.
    is_ahead: bool,
}

#[derive(Debug)]
struct Inner {
    trace: Trace,
    number: u64,
}

/// While it lives a caller waits for an activity.
#[derive(Debug)]
#[must_use = "the wait ends when it is dropped"]
pub struct Waiting {
    inner: Option<Arc<Inner>>,
}

impl Activity {
    /// A part of the work that is being done [ahead](Activity::ahead) here, or else a new activity.
    pub fn within(trace: &Trace, phase: Phase, file: Option<u32>) -> Self {
        match AHEAD.try_with(Activity::clone) {
            Ok(activity) => {
                activity.enter(phase);
                activity
            }
            Err(_) => Activity::begin(trace, phase, file),
        }
    }

    /// A new activity.
    pub fn begin(trace: &Trace, phase: Phase, file: Option<u32>) -> Self {
        let number = trace.ledger(|ledger, now| ledger.begin(now, phase, file));
        Activity { inner: Arc::new(Inner { trace: trace.clone(), number }), is_ahead: false }
    }

    /// Does work before its caller waits for it with [`Activity::waiting`] on this handle:
    /// every activity [`within`](Activity::within) it is this one.
    pub async fn ahead<F: Future>(&self, work: F) -> F::Output {
        let activity = Activity { is_ahead: true, ..self.clone() };
        AHEAD.scope(activity, work).await
    }

    /// From now on waits are for this.
    pub fn enter(&self, phase: Phase) {
        let Inner { trace, number } = &*self.inner;
        trace.ledger(|ledger, now| ledger.enter(now, *number, phase));
    }

    /// Says which file this is about, once that is known.
    pub fn belongs(&self, file: u32) {
        let Inner { trace, number } = &*self.inner;
        trace.ledger(|ledger, now| ledger.belongs(now, *number, file));
    }

    /// The caller waits, as long as the returned guard lives.
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
