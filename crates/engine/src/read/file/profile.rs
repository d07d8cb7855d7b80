//! Columns that a reader touched the last time, for the next one of a tree of the same shape.
//!
//! A few kilobytes a shape, kept as a note.

use std::hash::Hasher;
use std::path::Path;

use rootfile::tree::Tree;
use serde::{Deserialize, Serialize};
use twox_hash::XxHash64;

use remote::store::Notes;

/// Names of branches, by how often a reader touched them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Profile {
    /// In nearly every step.
    pub steady: Vec<String>,
    /// Now and then.
    pub rare: Vec<String>,
}

/// The profiles, if there is a place to keep them. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Profiles {
    notes: Notes,
}

impl Profiles {
    /// Keeps profiles below `store`; without one keeps none.
    pub fn new(store: Option<&Path>) -> Self {
        Profiles { notes: Notes::new(store, "profiles") }
    }

    /// Where they are stored, for other notes about a shape.
    pub fn notes(&self) -> &Notes {
        &self.notes
    }

    /// The profile of a tree's shape, if there is one that can be read.
    pub fn load(&self, tree: &Tree) -> Option<Profile> {
        self.notes.load(shape(tree))
    }

    /// Keeps a profile. Where that fails, nothing is kept.
    pub fn save(&self, tree: &Tree, profile: &Profile) {
        self.notes.save(shape(tree), profile);
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
