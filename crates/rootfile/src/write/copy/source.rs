//! A tree of an input, with the record that describes it.

use std::sync::Arc;

use super::plan::{BranchFacts, BranchPart};
use super::record::SourceRecord;
use crate::error::{Error, Result};
use crate::file::{File, ready};
use crate::key::Key;
use crate::known::{Known, Progress};
use crate::object::{ObjectId, ObjectRef};
use crate::tree::{Branch, BranchKind, Tree, read_tree_and_columns};

/// A tree of an input.
#[derive(Debug)]
pub struct SourceTree {
    pub tree: Tree,
    pub(super) class: String,
    pub(super) record: Arc<SourceRecord>,
    /// For each branch the object in `record` that has its baskets.
    columns: Vec<ObjectId>,
    /// The path of each branch: the names of the branches above it and its own, joined by `/`.
    pub(super) paths: Vec<String>,
}

impl SourceTree {
    /// The tree of a key.
    ///
    /// # Errors
    /// As [`File::tree`]; `Unsupported` where a branch is of a kind that cannot be copied.
    pub fn read(file: &File, known: &Known, key: &Key) -> Result<Progress<SourceTree>> {
        let content = ready!(file.content_of(known, key)?);
        let read = || {
            let streamers = &file.classes.streamers;
            let offset = key.offset.saturating_add(key.key_len);
            let record = SourceRecord::read(streamers, &key.class, content, key.key_len, offset)?;
            let record = Arc::new(record);
            let (tree, columns) = read_tree_and_columns(&record.objects, file.header.end)?;
            let paths = paths(&tree);
            for (branch, path) in tree.branches.iter().zip(&paths) {
                check_kind(branch).map_err(|error| error.within(path))?;
            }
            let class = key.class.clone();
            Ok(SourceTree { tree, class, record, columns, paths })
        };
        Ok(Progress::Ready(read().map_err(|error: Error| error.within(&key.name))?))
    }

    /// Whether a branch has objects, which may refer to others (`TRef`).
    pub fn may_refer(&self) -> bool {
        self.tree.branches.iter().any(|branch| branch.kind != BranchKind::Plain)
    }

    pub(super) fn column(&self, branch: usize) -> ObjectRef<'_> {
        self.record.objects.get(self.columns[branch])
    }

    pub(super) fn part(&self, branch: usize) -> Result<BranchPart> {
        BranchPart::of(&self.tree.branches[branch], &self.tree)
            .map_err(|error| error.within(&self.paths[branch]).within(&self.tree.name))
    }

    pub(super) fn facts(&self, branch: usize) -> BranchFacts {
        let maximum = match self.tree.branches[branch].kind {
            BranchKind::Element { .. } => self.column(branch).int("fMaximum").unwrap_or(0),
            _ => 0,
        };
        BranchFacts::of(&self.tree.branches[branch], maximum)
    }
}

/// The path of each branch.
fn paths(tree: &Tree) -> Vec<String> {
    let mut paths: Vec<String> = Vec::with_capacity(tree.branches.len());
    for branch in &tree.branches {
        paths.push(match branch.parent {
            Some(parent) => format!("{}/{}", paths[parent.0 as usize], branch.name),
            None => branch.name.clone(),
        });
    }
    paths
}

fn check_kind(branch: &Branch) -> Result<()> {
    match &branch.kind {
        BranchKind::Unreadable { why } => Err(why.clone()),
        BranchKind::Clones { .. } => Err(Error::unsupported("copying a TBranchClones")),
        BranchKind::Pointers { .. } => Err(Error::unsupported("copying a TBranchSTL")),
        _ => Ok(()),
    }
}
