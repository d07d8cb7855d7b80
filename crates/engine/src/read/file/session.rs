//! Resources that all readers share: connections, the budget of memory, and the threads that
//! decode.

use std::sync::Arc;

use futures::future::BoxFuture;
use remote::address::{Address, CacheUse, FileLocations, FileUse};
use remote::cache::Charges;
use remote::{Config, Error, ErrorKind, Remote, Result};

use super::{EarlierFiles, File, OpenBytes, Speculation, SpeculativeOpen};
use crate::read::threads::decoders::Decoders;

/// Opens files. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Session {
    remote: Remote,
    decoders: Decoders,
    earlier: EarlierFiles,
    /// Which files may be opened; `None` where all may.
    gate: Option<Arc<dyn Gate>>,
    /// The quotas that the reader's cached bytes are charged to.
    charges: Charges,
}

/// Decides which files a reader opens for others: also friends, and files that a file names.
pub trait Gate: Send + Sync {
    /// Checks one address, before anything is sent there.
    fn check<'a>(&'a self, address: &'a Address) -> BoxFuture<'a, Result<()>>;

    /// Waits until the others' client may compute a step of its request; until the value is
    /// dropped, the step is under way.
    fn turn(&self) -> BoxFuture<'_, Result<Box<dyn Send>>> {
        Box::pin(async { Ok(Box::new(()) as Box<dyn Send>) })
    }
}

impl Session {
    pub fn start(remote: Remote) -> Result<Self> {
        let threads = remote.config().decode_threads;
        let decoders = Decoders::start(threads, remote.trace().clone())?;
        let earlier = EarlierFiles::default();
        Ok(Session { remote, decoders, earlier, gate: None, charges: Charges::default() })
    }

    /// The same for others, who may not read every file.
    pub fn guarded(&self, gate: Arc<dyn Gate>) -> Self {
        Session { gate: Some(gate), ..self.clone() }
    }

    /// The same for a reader whose cached bytes are charged to these quotas.
    pub fn charged_to(&self, charges: Charges) -> Self {
        Session { charges, ..self.clone() }
    }

    /// The quotas that its reader's cached bytes are charged to.
    pub fn charges(&self) -> Charges {
        self.charges
    }

    /// As [`Gate::turn`]; without a gate at once.
    #[cfg(feature = "select")]
    pub async fn turn(&self) -> Result<Box<dyn Send>> {
        match &self.gate {
            Some(gate) => gate.turn().await,
            None => Ok(Box::new(())),
        }
    }

    /// Where a file is that may be opened, and who pays for its room in the cache.
    async fn locations(&self, address: &str) -> Result<FileLocations> {
        let locations = self.permitted(address).await?;
        Ok(FileLocations { charges: self.charges, ..locations })
    }

    async fn permitted(&self, address: &str) -> Result<FileLocations> {
        let Some(gate) = &self.gate else { return self.remote.locations(address).await };
        for url in remote::address::parse(address)? {
            if remote::is_metalink(&url) {
                let message = "a Metalink, which may name any file, is not read for others";
                let error = Error::new(ErrorKind::PermissionDenied, message);
                return Err(error.with_url(url.to_string()));
            }
            gate.check(&url).await?;
        }
        self.remote.locations(address).await
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
        let locations = self.locations(address).await?;
        let bytes = self.open_at(locations, speculation).await?;
        File::of_bytes(bytes, &self.decoders).await
    }

    async fn open_at(
        &self,
        locations: FileLocations,
        speculation: Speculation,
    ) -> Result<OpenBytes> {
        let store = self.remote.store();
        let fetcher = self.remote.fetcher();
        let earlier = self.earlier.clone();
        OpenBytes::open(fetcher, store.as_ref(), locations, speculation, earlier).await
    }

    /// Opens a file whose bytes are copied without being decoded: they are requested with checksums
    /// where servers offer them.
    pub async fn open_to_copy(&self, address: &str) -> Result<File> {
        let locations =
            FileLocations { file_use: FileUse::Copied, ..self.locations(address).await? };
        let bytes = self.open_at(locations, Speculation::Eager).await?;
        File::of_bytes(bytes, &self.decoders).await
    }

    /// Opens a file that this process has open to write.
    pub async fn open_to_grow(&self, address: &str) -> Result<File> {
        let locations =
            FileLocations { file_use: FileUse::Grown, ..self.locations(address).await? };
        let bytes = self.open_at(locations, Speculation::Eager).await?;
        File::of_bytes(bytes, &self.decoders).await
    }

    /// Opens a file of any kind, and understands nothing of it yet. With `is_guess` no reader has
    /// asked for it.
    pub async fn open_bytes(
        &self,
        address: &str,
        cache_use: CacheUse,
        is_guess: bool,
    ) -> Result<OpenBytes> {
        let locations = self.locations(address).await?;
        let locations = FileLocations { cache_use, is_guess, ..locations };
        self.open_at(locations, Speculation::EagerForClients).await
    }

    /// Presumes that a file still has its cached metadata; `None` where these are too few.
    pub async fn open_speculatively(&self, address: &str) -> Result<Option<SpeculativeOpen>> {
        self.open_speculatively_for(address, CacheUse::Usual, false).await
    }

    /// The same for clients as those of [`Session::open_bytes`]; `None` also where there is a
    /// cache, which itself knows the ranges that it has of the file.
    pub async fn open_bytes_speculatively(
        &self,
        address: &str,
        cache_use: CacheUse,
        is_guess: bool,
    ) -> Result<Option<SpeculativeOpen>> {
        match self.remote.fetcher().cache() {
            Some(_) => Ok(None),
            None => self.open_speculatively_for(address, cache_use, is_guess).await,
        }
    }

    async fn open_speculatively_for(
        &self,
        address: &str,
        cache_use: CacheUse,
        is_guess: bool,
    ) -> Result<Option<SpeculativeOpen>> {
        let Session { remote, decoders, earlier, .. } = self;
        let Some(store) = remote.store() else { return Ok(None) };
        let locations = self.locations(address).await?;
        let locations = FileLocations { cache_use, is_guess, ..locations };
        let fetcher = remote.fetcher();
        File::open_speculatively(fetcher, decoders, &store, locations, earlier.clone()).await
    }
}
