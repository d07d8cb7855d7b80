//! What all readers share: connections, the budget of memory, and the threads that decode.

use remote::address::{CacheUse, FileLocations};
use remote::{Config, Remote, Result};

use super::{File, OpenBytes, Speculation, SpeculativeOpen};
use crate::read::threads::decoders::Decoders;

/// Opens files. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Session {
    remote: Remote,
    decoders: Decoders,
}

impl Session {
    pub fn start(remote: Remote) -> Result<Self> {
        let threads = remote.config().decode_threads;
        let decoders = Decoders::start(threads, remote.trace().clone())?;
        Ok(Session { remote, decoders })
    }

    pub fn remote(&self) -> &Remote {
        &self.remote
    }

    /// The threads.
    pub fn decoders(&self) -> &Decoders {
        &self.decoders
    }

    /// The settings as they are now.
    pub fn config(&self) -> Config {
        self.remote.config()
    }

    pub async fn open(&self, address: &str, speculation: Speculation) -> Result<File> {
        let Session { remote, decoders } = self;
        let locations = remote.locations(address).await?;
        File::open(remote.fetcher(), decoders, remote.store().as_ref(), locations, speculation)
            .await
    }

    /// Opens a file whose bytes are copied without being decoded: they come with checksums where
    /// servers offer them.
    pub async fn open_to_copy(&self, address: &str) -> Result<File> {
        let Session { remote, decoders } = self;
        let locations = FileLocations { is_opaque: true, ..remote.locations(address).await? };
        let store = remote.store();
        File::open(remote.fetcher(), decoders, store.as_ref(), locations, Speculation::Eager).await
    }

    /// Opens a file of any kind, and understands nothing of it yet.
    pub async fn open_bytes(&self, address: &str, cache_use: CacheUse) -> Result<OpenBytes> {
        let remote = &self.remote;
        let locations = FileLocations { cache_use, ..remote.locations(address).await? };
        let store = remote.store();
        OpenBytes::open(remote.fetcher(), store.as_ref(), locations, Speculation::Eager).await
    }

    /// Takes a file for what is remembered of it; `None` where that is too little.
    pub async fn open_speculatively(&self, address: &str) -> Result<Option<SpeculativeOpen>> {
        let Session { remote, decoders } = self;
        let Some(store) = remote.store() else { return Ok(None) };
        let locations = remote.locations(address).await?;
        File::open_speculatively(remote.fetcher(), decoders, &store, locations).await
    }
}
