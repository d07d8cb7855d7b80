//! The engine: connections, threads and memory that everything read shares.

use std::sync::Arc;
use std::time::Duration;

use remote::source::network::{Network, Tcp};
use remote::{Config, Error, ErrorKind, Remote, Result, fetch, report};

use crate::read;
use crate::read::core::select::only;
use crate::read::core::table::Table;
use crate::read::file::{File, Speculation, SpeculativeOpen};
use crate::read::tree::Tree;

/// Owns the connections, the threads and the one memory budget. Cheap to clone.
#[derive(Clone)]
pub struct Engine {
    inner: Arc<Inner>,
}

struct Inner {
    remote: Remote,
    decoders: read::Decoders,
    runtime: Option<tokio::runtime::Runtime>,
}

impl Engine {
    /// Starts an engine with threads of its own, reading over the operating system's TCP.
    pub fn start(config: Config) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            // One moves bytes while the other decides; decoding has its own threads.
            .worker_threads(2)
            .thread_name("farroot-io")
            .enable_all()
            .build()
            .map_err(|e| Error::new(ErrorKind::Io, format!("no threads for the engine: {e}")))?;
        let network: Arc<dyn Network> = Arc::new(Tcp::new(config.connect_timeout));
        let remote = {
            let _inside = runtime.enter();
            Remote::start(config.clone(), network)
        };
        let decoders = read::Decoders::start(config.decode_threads, remote.trace().clone())?;
        Ok(Engine { inner: Arc::new(Inner { remote, decoders, runtime: Some(runtime) }) })
    }

    /// Starts an engine on the present tokio runtime and the given network, for simulations.
    pub fn within(config: &Config, network: Arc<dyn Network>) -> Result<Self> {
        let remote = Remote::start(config.clone(), network);
        let decoders = read::Decoders::start(config.decode_threads, remote.trace().clone())?;
        Ok(Engine { inner: Arc::new(Inner { remote, decoders, runtime: None }) })
    }

    /// Files as ranges of bytes, over the same connections: listed, copied, read.
    pub fn remote(&self) -> &Remote {
        &self.inner.remote
    }

    /// The settings as they are now.
    pub fn config(&self) -> Config {
        self.inner.remote.config()
    }

    /// Changes settings; see [`Remote::configure`].
    ///
    /// # Errors
    /// `InvalidArgument`, and nothing is changed, where one differs that cannot be changed any
    /// more.
    pub fn configure(&self, config: Config) -> Result<()> {
        self.inner.remote.configure(config)
    }

    /// Waits for a future on the engine's own threads; for callers without a runtime.
    ///
    /// # Panics
    /// From inside a tokio runtime, as [`tokio::runtime::Runtime::block_on`] does, and for an
    /// engine made by [`Engine::within`].
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        let runtime = self.inner.runtime.as_ref().expect("the engine has a runtime of its own");
        runtime.block_on(future)
    }

    /// While the guard lives, tasks that this thread starts run on the engine's threads: for
    /// futures that another executor polls. `None` for an engine made by [`Engine::within`].
    pub fn enter(&self) -> Option<tokio::runtime::EnterGuard<'_>> {
        self.inner.runtime.as_ref().map(tokio::runtime::Runtime::enter)
    }

    /// Waits as [`Engine::block_on`] does, but asks `give_up` once every `pause`; `None`, and the
    /// future is dropped, when it says yes. For callers that signals must reach.
    ///
    /// # Panics
    /// As [`Engine::block_on`].
    pub fn block_on_until<F: Future>(
        &self,
        future: F,
        pause: Duration,
        mut give_up: impl FnMut() -> bool,
    ) -> Option<F::Output> {
        let mut future = std::pin::pin!(future);
        // `give_up` is called outside of the runtime: it may wait for another future.
        loop {
            let part = async { tokio::time::timeout(pause, future.as_mut()).await };
            match self.block_on(part) {
                Ok(output) => return Some(output),
                Err(_) if give_up() => return None,
                Err(_) => {}
            }
        }
    }

    /// Opens a file: `root://`, `http://`, `file://` or a local path. Several addresses of the
    /// same file, with `|` between them, are read from at the same time; so are those that a
    /// Metalink (`.meta4`, `.metalink`) names.
    pub async fn open(&self, address: &str) -> Result<File> {
        self.open_with(address, Speculation::Eager).await
    }

    pub(crate) async fn open_with(&self, address: &str, speculation: Speculation) -> Result<File> {
        let Inner { remote, decoders, .. } = &*self.inner;
        let locations = remote.locations(address).await?;
        File::open(remote.fetcher(), decoders, remote.store().as_ref(), locations, speculation)
            .await
    }

    /// Opens a file and a tree in it; without a path, the only tree there is.
    pub async fn open_tree(&self, address: &str, path: Option<&str>) -> Result<Tree> {
        let file = self.open(address).await?;
        if let Some(path) = path {
            return file.tree(path).await;
        }
        let trees = file.tree_paths().await?;
        file.tree(only(&trees, address)?).await
    }

    /// Takes a file for what is remembered of it; `None` where that is too little.
    pub(crate) async fn open_speculatively(
        &self,
        address: &str,
    ) -> Result<Option<SpeculativeOpen>> {
        let Inner { remote, decoders, .. } = &*self.inner;
        let Some(store) = remote.store() else { return Ok(None) };
        let locations = remote.locations(address).await?;
        File::open_speculatively(remote.fetcher(), decoders, &store, locations).await
    }

    /// Opens a file and a tree or RNTuple in it; without a path, the only one there is.
    pub async fn open_table(&self, address: &str, path: Option<&str>) -> Result<Arc<dyn Table>> {
        self.open_table_with(address, path, Speculation::Eager).await
    }

    pub(crate) async fn open_table_with(
        &self,
        address: &str,
        path: Option<&str>,
        speculation: Speculation,
    ) -> Result<Arc<dyn Table>> {
        let file = self.open_with(address, speculation).await?;
        self.table_of(&file, address, path).await
    }

    pub(crate) async fn table_of(
        &self,
        file: &File,
        address: &str,
        path: Option<&str>,
    ) -> Result<Arc<dyn Table>> {
        match path {
            Some(path) => self.table_in(file, path).await,
            None => self.table_in(file, only(&file.table_paths().await?, address)?).await,
        }
    }

    /// What was asked of whom, and when, by everything that this engine has read.
    pub fn trace(&self) -> &fetch::trace::Trace {
        self.inner.remote.trace()
    }

    /// Where the time and the bytes of everything read so far went.
    pub fn report(&self) -> report::Report {
        self.inner.remote.report()
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // Waiting here could wait for ever on a name look-up; nothing is left to be saved.
            runtime.shutdown_background();
        }
    }
}
