//! Small things that are worth remembering from one process to the next, each under a number.
//!
//! A note is advice: one that is missing, damaged or about something else costs round trips, never
//! wrong values.

use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::folder::Folder;

/// Notes of one kind; the oldest goes when there are more.
const KEPT_MAX: usize = 256;
/// Bytes of a note that are read; nothing worth noting is longer.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// The notes of one kind, if there is a folder for them. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Notes {
    folder: Option<Folder>,
}

impl Notes {
    /// Keeps notes of a kind in `store`; without one keeps none.
    pub fn new(store: Option<&Path>, kind: &str) -> Self {
        Notes { folder: store.map(|store| Folder::new(store, kind)) }
    }

    /// The note with this number, if there is one that can be read.
    pub fn load<T: DeserializeOwned>(&self, number: u64) -> Option<T> {
        serde_json::from_slice(&self.folder.as_ref()?.load(number, FILE_BYTES_MAX)?).ok()
    }

    /// Keeps a note. Where that fails, nothing is kept: the read was right, and the next one will
    /// be.
    pub fn save<T: Serialize>(&self, number: u64, note: &T) {
        let Some(folder) = &self.folder else { return };
        let Ok(text) = serde_json::to_vec(note) else { return };
        if folder.save(number, &text).is_ok() {
            folder.trim(|count, _| count > KEPT_MAX);
        }
    }
}
