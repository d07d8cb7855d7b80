//! Entry by entry: a reader that need not name the branches that it will look at.

use std::ops::Range;
use std::sync::Arc;

use rootfile::Array;
use rootfile::tree::BranchId;

use super::Tree;
use super::learn::AccessPredictor;
use crate::read::core::lazy::Learning;
use remote::{Error, ErrorKind, Result};

/// A tree's entries, one after the other.
///
/// Nothing is declared: branches that are looked at in one event are prefetched for the next ones,
/// those that are looked at now and then are fetched together, and only the first access to a
/// branch waits.
///
/// ```no_run
/// # async fn example(tree: farroot_engine::Tree) -> farroot_engine::Result<()> {
/// let mut events = tree.events(0..u64::MAX);
/// let count = events.branch("nMuon")?;
/// let pt = events.branch("Muon_pt")?;
/// while let Some(mut event) = events.next() {
///     let muons = event.get(count).await?;
///     if muons.array().len() > 1 {
///         let pt = event.get(pt).await?.to_array();
///     }
/// }
/// # Ok(()) }
/// ```
pub struct Events {
    learner: AccessPredictor,
}

impl Tree {
    /// Goes through entries (cut to those there are) one by one.
    pub fn events(&self, entries: Range<u64>) -> Events {
        self.events_with(entries, Learning::default())
    }

    /// As [`Tree::events`], with some rules left out: for measuring their gain.
    pub fn events_with(&self, entries: Range<u64>, learning: Learning) -> Events {
        Events { learner: AccessPredictor::new(self, [], entries, 1, learning) }
    }
}

impl Events {
    /// The branch of that path or last name.
    ///
    /// # Errors
    /// `NotInFile` with the names that come near.
    pub fn branch(&self, name: &str) -> Result<BranchId> {
        self.learner.tree().names().require(name)
    }

    /// Goes to the next event; `None` after the last one. Waits for nothing.
    #[expect(clippy::should_implement_trait, reason = "an event borrows from its events")]
    pub fn next(&mut self) -> Option<Event<'_>> {
        let entry = self.learner.advance()?.start;
        Some(Event { learner: &mut self.learner, entry })
    }
}

/// One entry of a tree.
pub struct Event<'a> {
    learner: &'a mut AccessPredictor,
    entry: u64,
}

impl Event<'_> {
    /// Number of the entry in the tree.
    pub fn entry(&self) -> u64 {
        self.entry
    }

    /// The value of a branch for this event.
    ///
    /// # Errors
    /// `Unsupported` for a branch that cannot be read; whatever goes wrong in fetching it.
    pub async fn get(&mut self, branch: BranchId) -> Result<EntryValue> {
        let pieces = self.learner.touch(branch).await?;
        let found = pieces.into_iter().find(|(entries, _)| entries.contains(&self.entry));
        let Some((entries, array)) = found else {
            let why = format!("there is no basket for entry {}", self.entry);
            return Err(Error::new(ErrorKind::Corrupt, why));
        };
        Ok(EntryValue { array, at: (self.entry - entries.start) as usize })
    }
}

/// The value of one branch for one event: a position in a decoded basket, which lives as long as
/// this.
#[derive(Debug, Clone)]
pub struct EntryValue {
    array: Arc<Array>,
    at: usize,
}

impl EntryValue {
    /// The basket's values.
    pub fn array(&self) -> &Array {
        &self.array
    }

    /// Which of them is meant.
    pub fn at(&self) -> usize {
        self.at
    }

    /// This value alone, as an array of one entry.
    pub fn to_array(&self) -> Array {
        self.array.slice(self.at..self.at + 1)
    }
}
