//! Remembered metadata of a file, for transfer to another machine.

use crate::Remote;
use crate::error::{Error, ErrorKind, Result};
use crate::source::xrootd;

/// Notes of one machine about a file and its server. The receiver checks it against the file
/// itself, like an entry of its own store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileMemory {
    /// An entry of the store of metadata.
    pub metadata: Vec<u8>,
    /// The features of an XRootD server in the handshake and login, as text.
    pub server: Option<String>,
}

impl Remote {
    /// The notes about a file; `None` where there are none: for local files, for servers that do
    /// not report when a file changed, and without a store.
    ///
    /// # Errors
    /// `InvalidArgument` for text that is not an address.
    pub async fn remembered(&self, address: &str) -> Result<Option<FileMemory>> {
        let Some(store) = self.store() else { return Ok(None) };
        let locations = self.locations(address).await?;
        let Some(url) = locations.urls.first() else { return Ok(None) };
        let Some(origin) = self.fetcher().origin(&locations.urls) else { return Ok(None) };
        let Some(metadata) = store.exported(&origin) else { return Ok(None) };
        Ok(Some(FileMemory { metadata, server: xrootd::noted(url, &self.config()) }))
    }

    /// Takes another machine's notes about a file, where this one has none and the settings allow
    /// it.
    ///
    /// # Errors
    /// `InvalidArgument` for text that is not an address, and for metadata of another version.
    pub async fn remember(&self, address: &str, memory: &FileMemory) -> Result<()> {
        let Some(store) = self.store() else { return Ok(()) };
        let locations = self.locations(address).await?;
        let Some(url) = locations.urls.first() else { return Ok(()) };
        let Some(origin) = self.fetcher().origin(&locations.urls) else { return Ok(()) };
        store.adopt(&origin, &memory.metadata).ok_or_else(|| {
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
