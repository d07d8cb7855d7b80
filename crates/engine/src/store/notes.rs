//! Small things that are worth remembering from one process to the next, each under a number.
//!
//! A note is advice: one that is missing, damaged or about something else costs round trips, never
//! wrong values.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Notes kept in one folder; the oldest goes when there are more.
const KEPT_MAX: usize = 256;
/// Bytes of a note that are read; nothing worth noting is longer.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// A folder of notes of one kind, if there is one. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Notes {
    folder: Option<Arc<Path>>,
}

impl Notes {
    /// Keeps notes of a kind below `store`; without one keeps none.
    pub fn new(store: Option<&Path>, kind: &str) -> Self {
        Notes { folder: store.map(|store| store.join(kind).into()) }
    }

    /// The note with this number, if there is one that can be read.
    pub fn load<T: DeserializeOwned>(&self, number: u64) -> Option<T> {
        let path = self.path(number)?;
        if fs::metadata(&path).ok()?.len() > FILE_BYTES_MAX {
            return None;
        }
        serde_json::from_slice(&fs::read(path).ok()?).ok()
    }

    /// Keeps a note. Where that fails, nothing is kept.
    pub fn save<T: Serialize>(&self, number: u64, note: &T) {
        let Some(path) = self.path(number) else { return };
        // Nobody is helped by an error: the read was right, and the next one will be.
        let _ = write(&path, note);
    }

    fn path(&self, number: u64) -> Option<PathBuf> {
        Some(self.folder.as_ref()?.join(format!("{number:016x}.json")))
    }
}

fn write<T: Serialize>(path: &Path, note: &T) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    // Who reads meanwhile finds the old one or the new one, whole.
    let mut unfinished = tempfile::NamedTempFile::new_in(folder)?;
    unfinished.write_all(&serde_json::to_vec(note)?)?;
    unfinished.persist(path).map_err(|error| error.error)?;
    let mut kept: Vec<(SystemTime, PathBuf)> = fs::read_dir(folder)?
        .filter_map(|entry| {
            let entry = entry.ok()?;
            Some((entry.metadata().ok()?.modified().ok()?, entry.path()))
        })
        .collect();
    if kept.len() > KEPT_MAX {
        kept.sort();
        fs::remove_file(&kept[0].1)?;
    }
    Ok(())
}
