//! Numbers of opens of watched files, succeeded and failed.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use remote::Error;

/// Opens of watched files since the engine was started. An open that several clients share counts
/// once; failures of [`CacheUse::Only`](remote::address::CacheUse::Only) do not count.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Opens {
    /// Opens that have succeeded, answered by a server.
    pub succeeded: u64,
    /// Opens that the cache has answered, without a request to the file's server.
    pub cached: u64,
    /// Opens that have failed, by error kind.
    pub failed: BTreeMap<String, u64>,
}

/// The numbers while the engine runs. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct OpenTally(Arc<Mutex<Opens>>);

impl OpenTally {
    /// Counts a successful open; returns the number of successful opens before it, of both kinds.
    pub fn succeeded(&self, is_cached: bool) -> u64 {
        let mut opens = self.0.lock();
        let before = opens.succeeded + opens.cached;
        *(if is_cached { &mut opens.cached } else { &mut opens.succeeded }) += 1;
        before
    }

    /// Counts a failed open.
    pub fn failed(&self, error: &Error) {
        *self.0.lock().failed.entry(format!("{:?}", error.kind())).or_default() += 1;
    }

    /// The numbers so far.
    pub fn opens(&self) -> Opens {
        self.0.lock().clone()
    }
}
