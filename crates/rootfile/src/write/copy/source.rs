//! A tree of an input, and the record that describes it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;

use super::memory::{MemoryFile, known, there};
use super::plan::{BranchFacts, BranchPart};
use super::record::SourceRecord;
use crate::cursor::Cursor;
use crate::error::{Error, Result};
use crate::file::{File, ready};
use crate::key::Key;
use crate::known::{Known, Progress};
use crate::object::{ObjectId, ObjectRef, read_tree_object};
use crate::streamer::Streamers;
use crate::tree::{Branch, BranchKind, ClassTable, Tree, read_tree_and_columns};
use crate::write::compression::Encoders;
use crate::write::file::DirectoryId;
use crate::write::table::WritableObject;

/// `TBranch::kDoNotUseBufferMap`: no entry refers to another object of its own.
pub(super) const NO_MAP: i64 = 1 << 22;

/// A tree of an input.
#[derive(Debug)]
pub struct SourceTree {
    pub tree: Tree,
    pub(super) class: String,
    /// The path of each branch: the names of the branches above it and its own, joined by `/`.
    pub(super) paths: Vec<String>,
    /// `fMaximum` of each branch with objects, 0 of others.
    maxima: Vec<i64>,
    /// Whether entries of each branch refer to others of their objects, so that ROOT needs a map of
    /// these for each entry.
    pub(super) needs_map: Vec<bool>,
    /// Records that several branches name as theirs.
    contested: BTreeSet<u64>,
    stored: StoredTree,
}

/// The record of a tree, not yet read as a whole.
#[derive(Debug)]
struct StoredTree {
    classes: Arc<ClassTable>,
    content: Bytes,
    key_len: u64,
    offset: u64,
    file_end: u64,
}

/// The record of a tree with the places of all its parts, from which a copy is written. It takes
/// several times the memory and the time of the tree's metadata; most inputs do without.
#[derive(Debug)]
pub(super) struct WholeRecord {
    pub record: Arc<SourceRecord>,
    /// For each branch the object in `record` that has its baskets.
    columns: Vec<ObjectId>,
}

impl WholeRecord {
    pub fn column(&self, branch: usize) -> ObjectRef<'_> {
        self.record.objects.get(self.columns[branch])
    }
}

impl SourceTree {
    /// The tree of a key.
    ///
    /// # Errors
    /// As [`File::tree`]; `Unsupported` where a branch is of a kind that cannot be copied.
    pub fn read(file: &File, known: &Known, key: &Key) -> Result<Progress<SourceTree>> {
        let content = ready!(file.content_of(known, key)?);
        let offset = key.offset.saturating_add(key.key_len);
        let classes = file.classes.clone();
        let file_end = file.header.end;
        let stored = StoredTree { classes, content, key_len: key.key_len, offset, file_end };
        let read = SourceTree::of(stored, &key.class);
        Ok(Progress::Ready(read.map_err(|error| error.within(&key.name))?))
    }

    /// A tree that has been written, from its object. Its baskets are in front of `end`.
    ///
    /// # Errors
    /// As [`SourceTree::read`].
    pub(in crate::write) fn of_object(
        name: &str,
        object: Arc<dyn WritableObject>,
        end: u64,
    ) -> Result<SourceTree> {
        let mut memory = MemoryFile::new()?;
        memory.file.put(DirectoryId::TOP, name, object);
        let bytes = memory.finish(&mut Encoders::default())?;
        let known = known(&bytes);
        let file = there(File::open(&known)?)?;
        let key =
            file.top.key(name, None).ok_or_else(|| Error::corrupt("a file without its tree"))?;
        let content = there(file.content_of(&known, key)?)?;
        let offset = key.offset.saturating_add(key.key_len);
        let file_end = end.max(bytes.len() as u64);
        let classes = file.classes.clone();
        let stored = StoredTree { classes, content, key_len: key.key_len, offset, file_end };
        SourceTree::of(stored, &key.class)
    }

    fn of(stored: StoredTree, class: &str) -> Result<SourceTree> {
        let content = Cursor::new(&stored.content, stored.offset);
        let streamers = &stored.classes.streamers;
        let objects = read_tree_object(streamers, class, content, stored.key_len)?;
        if let Some(unread) = objects.root().unread() {
            return Err(unread.why.clone().within(class));
        }
        let (tree, columns) = read_tree_and_columns(&objects, stored.file_end)?;
        let paths = paths(&tree);
        let mut maxima = Vec::with_capacity(columns.len());
        let bits = |column| objects.get(column).int("fBits").unwrap_or(0);
        let needs_map = columns.iter().map(|column| bits(*column) & NO_MAP == 0).collect();
        for ((branch, path), column) in tree.branches.iter().zip(&paths).zip(columns) {
            check_kind(branch).map_err(|error| error.within(path))?;
            maxima.push(match branch.kind {
                BranchKind::Element { .. } => objects.get(column).int("fMaximum").unwrap_or(0),
                _ => 0,
            });
        }
        let contested = tree.contested();
        Ok(SourceTree {
            contested,
            tree,
            class: class.to_owned(),
            paths,
            maxima,
            needs_map,
            stored,
        })
    }

    /// Reads the tree's record as a whole.
    ///
    /// # Errors
    /// Those of [`SourceRecord::read`].
    pub(super) fn record(&self) -> Result<WholeRecord> {
        let StoredTree { classes, content, key_len, offset, file_end } = &self.stored;
        let streamers = &classes.streamers;
        let content = content.clone();
        let record = SourceRecord::read(streamers, &self.class, content, *key_len, *offset)?;
        let (_, columns) = read_tree_and_columns(&record.objects, *file_end)?;
        Ok(WholeRecord { record: Arc::new(record), columns })
    }

    /// The classes of the file that it comes from.
    pub(in crate::write) fn classes(&self) -> &ClassTable {
        &self.stored.classes
    }

    pub(super) fn streamers(&self) -> &Streamers {
        &self.stored.classes.streamers
    }

    /// Whether it has neither branches nor entries, as RDataFrame's `Snapshot` of nothing.
    pub fn is_nothing(&self) -> bool {
        self.tree.branches.is_empty() && self.tree.entries == 0
    }

    /// Whether a branch has objects, which may refer to others (`TRef`).
    pub fn may_refer(&self) -> bool {
        self.tree.branches.iter().any(|branch| branch.kind != BranchKind::Plain)
    }

    /// The path of each branch, and how many of the branches before it have that, too.
    pub(super) fn numbered_paths(&self) -> impl Iterator<Item = (&str, usize)> {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        self.paths.iter().map(move |path| {
            let count = counts.entry(path).or_default();
            *count += 1;
            (&**path, *count - 1)
        })
    }

    pub(super) fn part(&self, branch: usize) -> Result<BranchPart> {
        let part = BranchPart::of(&self.tree.branches[branch], &self.tree);
        part.and_then(|part| self.check_owner(&self.tree.branches[branch]).map(|()| part))
            .map_err(|error| error.within(&self.paths[branch]).within(&self.tree.name))
    }

    /// That no other branch names a basket of this one.
    fn check_owner(&self, branch: &Branch) -> Result<()> {
        let starts = branch.baskets.iter().filter_map(|basket| Some(basket.place.stored()?.start));
        match starts.into_iter().find(|start| self.contested.contains(start)) {
            Some(start) => {
                Err(Error::corrupt("a basket that several branches name as theirs").at(start))
            }
            None => Ok(()),
        }
    }

    pub(super) fn facts(&self, branch: usize) -> BranchFacts {
        let facts = BranchFacts::of(&self.tree.branches[branch], self.maxima[branch]);
        BranchFacts { needs_map: self.needs_map[branch], ..facts }
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
