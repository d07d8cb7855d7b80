//! Delivered bytes of a file, kept for a second use.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use mutex::Mutex;

use super::{Fetcher, LentMemory, Want};

/// Kept bytes of one range; they count as lent memory until dropped.
#[derive(Debug)]
pub struct KeptBytes {
    /// Their offset in the file.
    pub start: u64,
    /// The bytes.
    pub bytes: Bytes,
    _counted: LentMemory,
}

/// The kept bytes of a file; none before [`Keeper::start`].
#[derive(Debug, Default)]
pub(super) struct Keeper(Mutex<Option<Arc<Mutex<Store>>>>);

#[derive(Debug)]
struct Store {
    bytes_max: u64,
    bytes: u64,
    /// By their first byte.
    kept: BTreeMap<u64, KeptBytes>,
}

/// Keeps the bytes of wants that were requested together.
#[derive(Debug)]
pub(super) struct Keeping {
    store: Arc<Mutex<Store>>,
    /// The first byte of each want, in the order of their positions.
    starts: Vec<u64>,
}

impl Keeper {
    pub fn start(&self, bytes_max: u64) {
        let new = || Arc::new(Mutex::new(Store { bytes_max, bytes: 0, kept: BTreeMap::new() }));
        self.0.lock().get_or_insert_with(new).lock().bytes_max = bytes_max;
    }

    pub fn stop(&self) {
        let Some(store) = self.0.lock().take() else { return };
        // Wants from before have the store still.
        let mut store = store.lock();
        store.bytes_max = 0;
        store.kept.clear();
    }

    pub fn keeping(&self) -> Option<Keeping> {
        let store = self.0.lock().clone()?;
        Some(Keeping { store, starts: Vec::new() })
    }

    pub fn take(&self, range: &Range<u64>) -> Option<KeptBytes> {
        let store = self.0.lock().clone()?;
        let mut store = store.lock();
        let kept = store.kept.get(&range.start)?;
        if kept.bytes.len() as u64 != range.end - range.start {
            return None;
        }
        store.bytes -= range.end - range.start;
        store.kept.remove(&range.start)
    }
}

impl Keeping {
    pub fn asked(&mut self, wants: &[Want]) {
        self.starts.extend(wants.iter().map(|want| want.range.start));
    }

    pub fn arrived(&self, position: usize, bytes: &Bytes, fetcher: &Fetcher) {
        let Some(start) = self.starts.get(position).copied() else { return };
        let mut store = self.store.lock();
        let len = bytes.len() as u64;
        if store.bytes + len > store.bytes_max || store.kept.contains_key(&start) {
            return;
        }
        // A copy: a slice would hold the whole buffer.
        let bytes = Bytes::copy_from_slice(bytes);
        store.bytes += len;
        store.kept.insert(start, KeptBytes { start, bytes, _counted: fetcher.hand_out(len) });
    }
}
