//! How the opens of watched files have ended.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use remote::Error;

/// Opens of watched files at their servers since the engine was started: one for all clients that
/// share it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Opens {
    /// Those that have succeeded.
    pub succeeded: u64,
    /// Those that have failed, by the kind of their error.
    pub failed: BTreeMap<String, u64>,
}

/// The figures while they grow. A clone shares them.
#[derive(Debug, Clone, Default)]
pub struct OpenTally(Arc<Mutex<Opens>>);

impl OpenTally {
    /// Counts an open that has succeeded; returns the number of those before.
    pub fn succeeded(&self) -> u64 {
        let mut opens = self.0.lock();
        opens.succeeded += 1;
        opens.succeeded - 1
    }

    /// Counts an open that has failed.
    pub fn failed(&self, error: &Error) {
        *self.0.lock().failed.entry(format!("{:?}", error.kind())).or_default() += 1;
    }

    /// All so far.
    pub fn opens(&self) -> Opens {
        self.0.lock().clone()
    }
}
