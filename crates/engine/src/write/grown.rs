//! Tables of an existing file that get further entries and columns.

use std::collections::BTreeMap;

use remote::Result;
use rootfile::write::copy::{SourceNTuple, SourceTree};
use rootfile::write::grow::{GrowingNTuple, GrowingTree};
use rootfile::write::ntuple::RNTupleOptions;
use rootfile::write::tree::TreeOptions;
use rootfile::write::{TableColumn, TableWriter};

use super::output::{FileOutput, TableOutput};
use crate::located::Located;

/// A table of an existing file, and what it takes.
pub struct GrownTable {
    pub output: TableOutput,
    /// An array of each of these is an entry's part.
    pub columns: Vec<TableColumn>,
    /// Of a tree, the columns that count the items of others, by the names of these.
    pub counters: BTreeMap<String, String>,
}

impl FileOutput {
    /// The table at a path of the file as it was, which gets further entries: the newest of its
    /// name. The file lists it in its own place, and only if something has been added. New entries
    /// and columns are written with the options for its format.
    ///
    /// # Errors
    /// `NotFound` where the file, which must have been opened by [`Engine::update`], has no such
    /// table; `Unsupported` with the column of a form that is not written; as
    /// [`FileOutput::put`].
    ///
    /// [`Engine::update`]: crate::Engine::update
    pub async fn grow(
        &self,
        path: &str,
        tree: TreeOptions,
        ntuple: RNTupleOptions,
    ) -> Result<GrownTable> {
        let file = self.before()?;
        let key = file.key(path).await?;
        let columns;
        let mut counters = BTreeMap::new();
        let writer: Box<dyn TableWriter> = if rootfile::ntuple::is_class(&key.class) {
            let read = |format: &_, known: &_| SourceNTuple::read(format, known, &key);
            let existing = file.reading(read).await?;
            let writer = GrowingNTuple::of_existing(existing, &file.format().classes, ntuple);
            let writer = writer.located(file.url())?;
            columns = writer.columns().to_vec();
            Box::new(writer)
        } else {
            let read = |format: &_, known: &_| SourceTree::read(format, known, &key);
            let existing = file.reading(read).await?;
            let writer = GrowingTree::of_existing(existing, tree).located(file.url())?;
            columns = writer.columns().to_vec();
            counters.clone_from(&writer.options().counters);
            Box::new(writer)
        };
        let output = self.grow_table(path, key.cycle, writer).await?;
        Ok(GrownTable { output, columns, counters })
    }
}
