//! An open file.

use engine::{Engine, KeyInfo};
use remote::Result;
use remote::report::Report;

use crate::table::Table;
use crate::threads::on_threads_of;

/// An open ROOT file. Cheap to clone.
#[derive(Clone)]
pub struct File {
    engine: Engine,
    inner: engine::File,
}

impl File {
    pub(crate) fn new(engine: Engine, inner: engine::File) -> Self {
        File { engine, inner }
    }

    /// Its address, without secrets.
    pub fn url(&self) -> &str {
        self.inner.url()
    }

    /// Bytes.
    pub fn size(&self) -> u64 {
        self.inner.size()
    }

    /// The objects in its top directory, or in all directories.
    ///
    /// # Errors
    /// `Corrupt`, and those of fetching.
    pub async fn keys(&self, recursive: bool) -> Result<Vec<KeyInfo>> {
        on_threads_of(&self.engine, self.inner.keys(recursive)).await
    }

    /// The paths of all trees and RNTuples.
    ///
    /// # Errors
    /// As [`File::keys`].
    pub async fn table_paths(&self) -> Result<Vec<String>> {
        on_threads_of(&self.engine, self.inner.table_paths()).await
    }

    /// A tree or an RNTuple: `directory/name`, or `name;2` for an older cycle.
    ///
    /// # Errors
    /// `NotInFile`; `Unsupported` for an object that is no table.
    pub async fn table(&self, path: &str) -> Result<Table> {
        let table = on_threads_of(&self.engine, self.engine.table_in(&self.inner, path)).await?;
        Ok(Table::new(self.engine.clone(), table))
    }

    /// Where the time and the bytes of the reads of this file went.
    pub fn report(&self) -> Report {
        self.inner.report()
    }
}
