//! A file that is being written, and its tables.

use std::sync::Arc;

use engine::{
    Array, Engine, EntryType, RNTupleOptions, TableColumn, TablePart, TreeOptions, WritableObject,
    WriteReport,
};
use remote::Result;

/// A file that is being written. Nothing has its name before [`FileOutput::finish`]; dropped
/// without it, nothing of the file is kept.
pub struct FileOutput {
    engine: Engine,
    inner: engine::FileOutput,
}

/// A tree or an RNTuple that is being written. Cheap to clone.
#[derive(Clone)]
pub struct TableOutput {
    /// Its threads write the file.
    _engine: Engine,
    inner: engine::TableOutput,
}

impl FileOutput {
    pub(crate) fn new(engine: Engine, inner: engine::FileOutput) -> Self {
        FileOutput { engine, inner }
    }

    /// Its address, without secrets.
    pub fn url(&self) -> &str {
        self.inner.url()
    }

    /// Makes a directory, and those above it.
    ///
    /// # Errors
    /// Why the file cannot be written: the first error, once there was one.
    pub async fn make_directory(&self, path: &str) -> Result<()> {
        self.inner.make_directory(path).await
    }

    /// Puts an object at a path, `directory/name`: one of [`writable`](crate::writable).
    ///
    /// # Errors
    /// `InvalidArgument` for a path that ends without a name; as [`FileOutput::make_directory`].
    pub async fn put(&self, path: &str, object: impl WritableObject + 'static) -> Result<()> {
        self.inner.put(path, Arc::new(object)).await
    }

    /// Makes a tree of columns by their names and the types of their entries.
    ///
    /// # Errors
    /// `Unsupported` for types that a tree does not hold; as [`FileOutput::put`].
    pub async fn make_tree<N: Into<String>>(
        &self,
        path: &str,
        columns: impl IntoIterator<Item = (N, EntryType)>,
        options: TreeOptions,
    ) -> Result<TableOutput> {
        self.table(self.inner.make_tree(path, named(columns), options).await)
    }

    /// Makes an RNTuple of columns by their names and the types of their entries.
    ///
    /// # Errors
    /// `Unsupported` for types that an RNTuple does not hold; as [`FileOutput::put`].
    pub async fn make_ntuple<N: Into<String>>(
        &self,
        path: &str,
        columns: impl IntoIterator<Item = (N, EntryType)>,
        options: RNTupleOptions,
    ) -> Result<TableOutput> {
        self.table(self.inner.make_ntuple(path, named(columns), options).await)
    }

    /// Waits until all is encoded and at its place, and the file has its name.
    ///
    /// # Errors
    /// Why the file cannot be written: nothing of it is then kept.
    pub async fn finish(self) -> Result<WriteReport> {
        self.inner.finish().await
    }

    /// Gives the file up, and waits until nothing of it is left.
    pub async fn abandon(self) {
        self.inner.abandon().await;
    }

    fn table(&self, inner: Result<engine::TableOutput>) -> Result<TableOutput> {
        Ok(TableOutput { _engine: self.engine.clone(), inner: inner? })
    }
}

impl TableOutput {
    /// Where it is in the file.
    pub fn path(&self) -> &str {
        self.inner.path()
    }

    /// Adds entries: an array a column, in the columns' order and of equal length. They are held
    /// until they are encoded. Waits while there is no room for more.
    ///
    /// # Errors
    /// `Unsupported` for arrays of other types or lengths, of which nothing is then taken; else why
    /// the file cannot be written.
    pub async fn extend<A: Into<Arc<Array>>>(
        &self,
        columns: impl IntoIterator<Item = A>,
    ) -> Result<()> {
        self.inner.extend(columns.into_iter().map(Into::into).collect()).await
    }

    /// Entries that have been added.
    pub fn num_entries(&self) -> u64 {
        self.inner.num_entries()
    }

    /// A part of the entries, for one of several producers: those of part 0 come first, then those
    /// of part 1, whichever producer is faster. Each number is used once and none is left out.
    ///
    /// # Errors
    /// `InvalidArgument` for a part that there is, or was.
    pub fn part(&self, number: u64) -> Result<TablePart> {
        self.inner.part(number)
    }
}

fn named<N: Into<String>>(columns: impl IntoIterator<Item = (N, EntryType)>) -> Vec<TableColumn> {
    let column =
        |(name, entry): (N, _)| TableColumn { name: name.into(), title: String::new(), entry };
    columns.into_iter().map(column).collect()
}
