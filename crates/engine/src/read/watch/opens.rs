//! Numbers of opens of watched files, succeeded and failed.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use mutex::Mutex;
use remote::Error;

/// Opens of watched files since the engine was started. An open that several clients share counts
/// once; failures of [`CacheUse::Only`](remote::address::CacheUse::Only) do not count.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Opens {
    /// Opens for clients that have succeeded, answered by a server.
    pub succeeded: u64,
    /// Opens for clients that the cache has answered, without a request to the file's server.
    pub cached: u64,
    /// Opens for which a client has received an error, by error kind.
    pub failed: BTreeMap<String, u64>,
    /// Opens before a client asked for the file.
    pub ahead: OpensAhead,
}

/// Opens of files that no client had asked for at that time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OpensAhead {
    /// Opens that have succeeded, answered by a server.
    pub succeeded: u64,
    /// Opens that the cache has answered.
    pub cached: u64,
    /// Opens that have failed.
    pub failed: u64,
    /// Open files that a client has asked for in time.
    pub used: u64,
    /// Open files that were closed before a client asked for them.
    pub unused: u64,
}

impl OpensAhead {
    /// Files that are open now, and that no client has asked for.
    pub fn waiting(&self) -> u64 {
        (self.succeeded + self.cached).saturating_sub(self.used + self.unused)
    }
}

/// The error of an open. Clones, one a client that waits for the open, share whether it has been
/// counted.
#[derive(Debug, Clone)]
pub struct FailedOpen {
    pub error: Error,
    is_counted: Arc<AtomicBool>,
}

impl From<Error> for FailedOpen {
    fn from(error: Error) -> Self {
        FailedOpen { error, is_counted: Arc::default() }
    }
}

/// The numbers while the engine runs. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct OpenTally(Arc<Mutex<Opens>>);

impl OpenTally {
    /// Counts a successful open, for a client or ahead of one. Returns the number of successful
    /// opens before it, of all kinds.
    pub fn succeeded(&self, is_cached: bool, is_ahead: bool) -> u64 {
        let mut opens = self.0.lock();
        let Opens { succeeded, cached, ahead, .. } = &mut *opens;
        let before = *succeeded + *cached + ahead.succeeded + ahead.cached;
        *match (is_ahead, is_cached) {
            (false, false) => succeeded,
            (false, true) => cached,
            (true, false) => &mut ahead.succeeded,
            (true, true) => &mut ahead.cached,
        } += 1;
        before
    }

    /// Counts a failed open for the first client that receives its error.
    pub fn failed(&self, failed: &FailedOpen) {
        if !failed.is_counted.swap(true, Ordering::Relaxed) {
            *self.0.lock().failed.entry(format!("{:?}", failed.error.kind())).or_default() += 1;
        }
    }

    /// Counts a failed open of a file that no client had asked for.
    pub fn failed_ahead(&self) {
        self.0.lock().ahead.failed += 1;
    }

    /// Counts a file that was opened ahead: whether a client has asked for it in time.
    pub fn ahead_ended(&self, is_used: bool) {
        let ahead = &mut self.0.lock().ahead;
        *(if is_used { &mut ahead.used } else { &mut ahead.unused }) += 1;
    }

    /// The numbers so far.
    pub fn opens(&self) -> Opens {
        self.0.lock().clone()
    }
}
