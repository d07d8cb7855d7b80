//! Numbers of opens of watched files, succeeded and failed.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use remote::Error;

/// Opens of watched files since the engine was started. An open that several clients share counts
/// once; failures of [`CacheUse::Only`](remote::address::CacheUse::Only) do not count.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Opens {
    /// Opens that have succeeded.
    pub succeeded: u64,
    /// Opens that have failed, by error kind.
    pub failed: BTreeMap<String, u64>,
}

/// The numbers while the engine runs. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct OpenTally(Arc<Mutex<Opens>>);

impl OpenTally {
    /// Counts a successful open; returns the number of successful opens before it.
    pub fn succeeded(&self) -> u64 {
        let mut opens = self.0.lock();
        opens.succeeded += 1;
        opens.succeeded - 1
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
