//! What a reader touched the last time, for the next one of a tree of the same shape.
//!
//! A few kilobytes a shape in a folder of their own. A profile is advice: one that is missing,
//! damaged or of another tree costs round trips, never wrong values.

use std::fs;
use std::hash::Hasher;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use rootfile::tree::Tree;
use serde::{Deserialize, Serialize};
use twox_hash::XxHash64;

/// Profiles kept; the oldest goes when there are more.
const KEPT_MAX: usize = 256;
/// Bytes of a profile that are read; no tree has so many names.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// Names of branches, by how often a reader touched them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Profile {
    /// In nearly every step.
    pub steady: Vec<String>,
    /// Now and then.
    pub rare: Vec<String>,
}

/// The folder of profiles, if there is one. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Profiles {
    folder: Option<Arc<Path>>,
}

impl Profiles {
    /// Keeps profiles below `store`; without one keeps none.
    pub fn new(store: Option<&Path>) -> Self {
        Profiles { folder: store.map(|store| store.join("profiles").into()) }
    }

    /// The profile of a tree's shape, if there is one that can be read.
    pub fn load(&self, tree: &Tree) -> Option<Profile> {
        let path = self.path(tree)?;
        if fs::metadata(&path).ok()?.len() > FILE_BYTES_MAX {
            return None;
        }
        serde_json::from_slice(&fs::read(path).ok()?).ok()
    }

    /// Keeps a profile. Where that fails, nothing is kept.
    pub fn save(&self, tree: &Tree, profile: &Profile) {
        let Some(path) = self.path(tree) else { return };
        // Nobody is helped by an error: the read was right, and the next one will be.
        let _ = write(&path, profile);
    }

    fn path(&self, tree: &Tree) -> Option<PathBuf> {
        Some(self.folder.as_ref()?.join(format!("{:016x}.json", shape(tree))))
    }
}

/// Trees with the same branches in the same order have the same shape.
fn shape(tree: &Tree) -> u64 {
    let mut hasher = XxHash64::with_seed(0);
    hasher.write(tree.name.as_bytes());
    for branch in &tree.branches {
        for text in [&branch.name, &branch.title] {
            hasher.write(text.as_bytes());
            hasher.write_u8(0);
        }
        hasher.write_u32(branch.parent.map_or(u32::MAX, |parent| parent.0));
    }
    hasher.finish()
}

fn write(path: &Path, profile: &Profile) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    // Who reads meanwhile finds the old one or the new one, whole.
    let mut unfinished = tempfile::NamedTempFile::new_in(folder)?;
    unfinished.write_all(&serde_json::to_vec(profile)?)?;
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
