//! A file of this machine that another library writes.

use std::path::{Path, PathBuf};

use super::{LocalFile, Place, blocking, create_at};
use crate::error::Result;
use crate::sink::{CreateOptions, Written};

/// A file of this machine that another library writes, under a temporary name in the same folder
/// until it is complete. Dropped without [`LocalPart::finish`], it is removed.
pub struct LocalPart(LocalFile);

impl LocalPart {
    /// Creates an empty file beside `target`.
    ///
    /// # Errors
    /// `InvalidArgument` where the target exists and `overwrite` is false, and while another writer
    /// writes it; errors of the file system.
    pub async fn create(target: &Path, overwrite: bool) -> Result<LocalPart> {
        let target = target.to_owned();
        let options = CreateOptions { overwrite, ..CreateOptions::default() };
        blocking(move || create_at(&target, options)).await.map(LocalPart)
    }

    /// The temporary path.
    pub fn path(&self) -> PathBuf {
        match &*self.0.disk.place.lock() {
            Place::Beside { part, .. } => part.entry().path().to_owned(),
            Place::Under(_) | Place::Behind { .. } | Place::Over => {
                self.0.disk.target.path().to_owned()
            }
        }
    }

    /// Syncs the file to the disk, then renames it to the target.
    ///
    /// # Errors
    /// `InvalidArgument` where the target exists by now and `overwrite` is false; errors of the
    /// file system. The temporary file is then removed.
    pub async fn finish(self) -> Result<Written> {
        let disk = self.0.disk.clone();
        let address = disk.target.path().to_string_lossy().into_owned();
        let size = blocking(move || {
            let synced = disk.file.sync_all().and_then(|()| disk.file.metadata());
            let size = synced.map_err(|error| disk.failed(&error, 0))?.len();
            disk.give_name().map(|()| size)
        })
        .await?;
        Ok(Written::new(address, size, None))
    }
}
