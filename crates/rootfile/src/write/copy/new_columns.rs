//! New columns of an input, written as a tree in a file in memory. Its baskets are then copied like
//! those of an input.

use std::sync::Arc;

use bytes::Bytes;

use super::memory::{MemoryFile, known, there};
use super::plan::{BranchFacts, BranchPart, Survivors};
use super::source::SourceTree;
use crate::array::Array;
use crate::error::{Error, Result};
use crate::file::File;
use crate::streamer::StreamerInfo;
use crate::write::compression::{Compression, Encoders};
use crate::write::file::{DirectoryId, TableId};
use crate::write::schema::{EntryType, TableColumn};
use crate::write::table::TableWriter;
use crate::write::tree::{ClusterSize, TreeOptions, TreeWriter};

/// Names and compression of new columns.
#[derive(Debug, Clone)]
pub struct NewColumns {
    /// The tree that they are added to.
    pub tree: String,
    pub names: Vec<String>,
    pub compression: Compression,
}

/// New columns of one input that are being written.
pub struct TreeColumnsWriter {
    columns: NewColumns,
    open: Option<(MemoryFile, TableId)>,
    /// Entries after which clusters are to end, not yet passed to the tree.
    ends: Vec<u64>,
}

/// New columns of one input.
#[derive(Debug)]
pub struct TreeColumns {
    pub tree: Arc<SourceTree>,
    pub infos: Vec<StreamerInfo>,
    /// The file in memory, with the baskets.
    pub(super) bytes: Bytes,
}

/// The entries of an input's table that are copied, and its new columns.
#[derive(Debug)]
pub struct KeptEntries<'a, N> {
    /// The entries that are copied; `None` for all.
    pub survivors: Option<&'a Survivors>,
    /// New columns, with these entries only.
    pub new_columns: Option<&'a N>,
}

impl<N> Default for KeptEntries<'_, N> {
    /// All entries, and no new columns.
    fn default() -> Self {
        KeptEntries { survivors: None, new_columns: None }
    }
}

impl TreeColumns {
    /// The number of the branch with a path; `None` where there is none.
    pub(super) fn branch(&self, path: &str) -> Option<usize> {
        self.tree.paths.iter().position(|own| own == path)
    }

    /// The baskets of a branch, and its other facts.
    pub(super) fn part(&self, branch: usize) -> Result<(BranchPart, BranchFacts)> {
        let mut part = self.tree.part(branch)?;
        part.held_in(&self.bytes)?;
        Ok((part, self.tree.facts(branch)))
    }
}

impl TreeColumnsWriter {
    pub fn new(columns: NewColumns) -> Self {
        TreeColumnsWriter { columns, open: None, ends: Vec::new() }
    }

    /// Adds entries: one array a column. The first arrays give the types of the columns.
    ///
    /// # Errors
    /// `Unsupported` for types that a tree does not hold, and for other types than before.
    pub fn extend(&mut self, arrays: Vec<Arc<Array>>, encoders: &mut Encoders) -> Result<()> {
        if self.open.is_none() {
            self.open = Some(self.begin(&arrays)?);
        }
        let Some((memory, table)) = &mut self.open else { return Ok(()) };
        self.ends.drain(..).for_each(|entries| memory.file.end_cluster(*table, entries));
        memory.file.extend(*table, arrays)?;
        memory.go_on(encoders)
    }

    /// Ends a cluster behind the first `entries` entries, which are more than were added.
    pub fn end_cluster(&mut self, entries: u64) {
        self.ends.push(entries);
    }

    /// The tree of all new columns; `None` if [`TreeColumnsWriter::extend`] was not called.
    ///
    /// # Errors
    /// As [`TreeColumnsWriter::extend`].
    pub fn finish(self, encoders: &mut Encoders) -> Result<Option<TreeColumns>> {
        let Some((memory, _)) = self.open else { return Ok(None) };
        let bytes = memory.finish(encoders)?;
        let known = known(&bytes);
        let file = there(File::open(&known)?)?;
        let key = file.top.key(&self.columns.tree, None).cloned();
        let key = key.ok_or_else(|| Error::corrupt("a file without what was put into it"))?;
        let tree = Arc::new(there(SourceTree::read(&file, &known, &key)?)?);
        let infos = file.classes.streamers.infos_of_file().cloned().collect();
        Ok(Some(TreeColumns { tree, infos, bytes }))
    }

    fn begin(&self, arrays: &[Arc<Array>]) -> Result<(MemoryFile, TableId)> {
        let NewColumns { tree, names, compression } = &self.columns;
        let column = |(name, array): (&String, &Arc<Array>)| {
            let entry = EntryType::of(array).map_err(|error| error.within(name))?;
            Ok(TableColumn { name: name.clone(), title: String::new(), entry })
        };
        let columns = names.iter().zip(arrays).map(column).collect::<Result<_>>()?;
        let options = TreeOptions {
            compression: *compression,
            cluster: ClusterSize::Entries(u64::MAX),
            ..TreeOptions::default()
        };
        let writer: Box<dyn TableWriter> = Box::new(TreeWriter::new(columns, options)?);
        let mut memory = MemoryFile::new()?;
        let table = memory.file.add_table(DirectoryId::TOP, tree, writer);
        Ok((memory, table))
    }
}
