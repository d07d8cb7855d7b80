//! Tables at a path of a file.

use std::sync::Arc;

use crate::read::core::table::Table;
use crate::read::file::File;
use crate::read::file::session::Session;
use crate::read::many::chain;
use remote::Result;

impl File {
    /// The tree or RNTuple at `path`; `None` for a chain, which [`Engine::table_in`] opens.
    ///
    /// # Errors
    /// As [`File::tree`].
    ///
    /// [`Engine::table_in`]: crate::Engine::table_in
    pub async fn table(&self, path: &str) -> Result<Option<Arc<dyn Table>>> {
        let key = self.key(path).await?;
        Ok(if rootfile::ntuple::is_class(&key.class) {
            Some(Arc::new(self.ntuple(path).await?))
        } else if self.format().is_chain(&key) {
            None
        } else {
            Some(Arc::new(self.tree(path).await?))
        })
    }

    /// Paths of the trees, chains and RNTuples in the file, each once.
    pub async fn table_paths(&self) -> Result<Vec<String>> {
        let mut paths = self.tree_paths().await?;
        for key in self.keys(true).await? {
            if rootfile::ntuple::is_class(&key.class) && !paths.contains(&key.path) {
                paths.push(key.path);
            }
        }
        Ok(paths)
    }

    /// Paths of the trees and chains in the file, each once.
    pub async fn tree_paths(&self) -> Result<Vec<String>> {
        let streamers = &self.format().classes.streamers;
        let mut paths = Vec::new();
        for key in self.keys(true).await? {
            if streamers.inherits(&key.class, "TTree") && !paths.contains(&key.path) {
                paths.push(key.path);
            }
        }
        Ok(paths)
    }
}

/// The tree, RNTuple or chain at a path of a file.
pub(crate) async fn table_in(session: &Session, file: &File, path: &str) -> Result<Arc<dyn Table>> {
    match file.table(path).await? {
        Some(table) => Ok(table),
        None => Ok(Arc::new(chain::in_file(session, file, path).await?)),
    }
}
