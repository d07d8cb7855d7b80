//! What is remembered of a file, carried to another machine.

use crate::Remote;
use crate::error::{Error, ErrorKind, Result};
use crate::source::xrootd;

/// What one machine remembers of a file and of its server. It is believed as little as what a
/// machine remembers by itself: the file's own word decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileMemory {
    /// An entry of the store of metadata.
    pub metadata: Vec<u8>,
    /// What an XRootD server allows at the beginning of a connection.
    pub server: Option<String>,
}

impl Remote {
    /// What is remembered of a file; `None` where that is nothing, as of local files, of servers
    /// that do not say when a file changed, or where the settings keep nothing.
    ///
    /// # Errors
    /// `InvalidArgument` for what is no address.
    pub async fn remembered(&self, address: &str) -> Result<Option<FileMemory>> {
        let Some(store) = self.store() else { return Ok(None) };
        let locations = self.locations(address).await?;
        let Some(url) = locations.urls.first() else { return Ok(None) };
        let Some(metadata) = store.exported(url) else { return Ok(None) };
        Ok(Some(FileMemory { metadata, server: xrootd::noted(url, &self.config()) }))
    }

    /// Takes what another machine remembers of a file, where nothing is remembered here and the
    /// settings allow it.
    ///
    /// # Errors
    /// `InvalidArgument` for what is no address, and for what [`Remote::remembered`] has not given.
    pub async fn remember(&self, address: &str, memory: &FileMemory) -> Result<()> {
        let Some(store) = self.store() else { return Ok(()) };
        let locations = self.locations(address).await?;
        let Some(url) = locations.urls.first() else { return Ok(()) };
        store.adopt(url, &memory.metadata).ok_or_else(|| {
            Error::new(ErrorKind::InvalidArgument, "no metadata that this version can read")
                .with_url(url.to_string())
                .with_advice("make the partitions anew, with this version of farroot")
        })?;
        if let Some(text) = &memory.server {
            xrootd::adopt_note(url, &self.config(), text);
        }
        Ok(())
    }
}
