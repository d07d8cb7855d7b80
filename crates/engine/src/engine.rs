//! The engine: connections, threads and memory that everything read shares.

use std::ops::RangeBounds;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use remote::address::{CacheUse, split_object};
use remote::cache::{Charges, Replica};
use remote::source::diagnose::Finding;
use remote::source::network::{Network, Tcp};
use remote::{Config, Error, ErrorKind, Remote, Result, fetch, report};

use crate::TreeIndex;
use crate::object::Opaque;
use crate::read::core::columns::Batch;
use crate::read::core::cut::Cut;
use crate::read::core::expressions::Expressions;
use crate::read::core::friends::Friend;
use crate::read::core::select::only;
use crate::read::core::spec::ColumnSpec;
use crate::read::core::table::{Columns, Table};
use crate::read::file::session::{Gate, Session};
use crate::read::file::{File, Speculation};
use crate::read::inspect::check;
use crate::read::inspect::examine::examine;
use crate::read::many::chain::{self, Chain};
use crate::read::many::opener::Opener;
use crate::read::many::request::half_open;
use crate::read::many::scan::{OpenAhead, ScanBatches, ScanRequest, TableLocation};
use crate::read::open::friends;
use crate::read::open::meaning::{Meaning, NameScope, has_column, meaning};
use crate::read::open::objects::{Content, Contents, content_in};
use crate::read::open::presumed::PresumedTable;
use crate::read::open::resolve::{ResolvedColumn, in_formula, in_root_formula};
use crate::read::open::table::table_in;
use crate::read::tree::Tree;
use crate::read::watch::opens::Opens;
use crate::read::watch::used::Used;
use crate::read::watch::{Watched, Watches};
use crate::write::copy::{MergeOptions, MergeProgress, MergeReport};
use crate::write::merge::merge;
use crate::write::replica::replica;
use crate::write::skim::parquet::ParquetLibrary;
use crate::write::skim::{SkimOptions, SkimReport, skim, skim_to_parquet};
use crate::write::{FileOutput, ReplicaUse, WriteOptions};

/// Owns the connections, the threads and the one memory budget. Cheap to clone; files that it has
/// opened can be read as long as one of its clones lives.
#[derive(Clone)]
pub struct Engine {
    inner: Arc<Inner>,
}

struct Inner {
    session: Session,
    watches: Arc<Watches>,
    runtime: Option<tokio::runtime::Runtime>,
}

impl Engine {
    /// Starts an engine with the settings of the `FARROOT_*` variables.
    ///
    /// # Errors
    /// `InvalidArgument` for a variable that cannot be understood; `Io` where no thread can be
    /// started.
    pub fn new() -> Result<Self> {
        Engine::start(Config::from_env()?)
    }

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
        let session = Session::start(remote)?;
        Ok(Engine {
            inner: Arc::new(Inner { session, watches: Arc::default(), runtime: Some(runtime) }),
        })
    }

    /// Starts an engine on the present tokio runtime and the given network, for simulations.
    pub fn within(config: &Config, network: Arc<dyn Network>) -> Result<Self> {
        let session = Session::start(Remote::start(config.clone(), network))?;
        Ok(Engine { inner: Arc::new(Inner { session, watches: Arc::default(), runtime: None }) })
    }

    /// The same connections, threads and memory, for others, who may open only the files that the
    /// gate lets pass. It ends with the engine that it is made of.
    #[must_use]
    pub fn guarded(&self, gate: Arc<dyn Gate>) -> Engine {
        let session = self.inner.session.guarded(gate);
        Engine { inner: Arc::new(Inner { session, watches: Arc::default(), runtime: None }) }
    }

    /// The same engine for a reader whose cached bytes are charged to these quotas. Its watched
    /// files are shared with readers of the same quotas alone. It ends with the engine that it is
    /// made of.
    #[must_use]
    pub fn charged_to(&self, charges: Charges) -> Engine {
        let session = self.inner.session.charged_to(charges);
        let watches = self.inner.watches.clone();
        Engine { inner: Arc::new(Inner { session, watches, runtime: None }) }
    }

    #[cfg(feature = "select")]
    pub(crate) fn session(&self) -> &Session {
        &self.inner.session
    }

    /// Files as ranges of bytes, over the same connections: listed, copied, read.
    pub fn remote(&self) -> &Remote {
        self.inner.session.remote()
    }

    /// The settings as they are now.
    pub fn config(&self) -> Config {
        self.remote().config()
    }

    /// Changes settings; see [`Remote::configure`].
    ///
    /// # Errors
    /// `InvalidArgument`, and nothing is changed, where one differs that cannot be changed any
    /// more.
    pub fn configure(&self, config: Config) -> Result<()> {
        self.remote().configure(config)
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

    /// Lets another executor than tokio's poll a future of this engine: its tasks run on the
    /// engine's threads.
    pub async fn compat<F: Future>(&self, future: F) -> F::Output {
        let mut future = std::pin::pin!(future);
        std::future::poll_fn(|context| {
            let _inside = self.enter();
            future.as_mut().poll(context)
        })
        .await
    }

    /// Waits as [`Engine::block_on`] does, but no longer than `pause`; `None` where the future has
    /// no output by then. For callers that signals must reach, which wait on.
    ///
    /// # Panics
    /// As [`Engine::block_on`].
    pub fn block_on_for<F: Future>(
        &self,
        future: Pin<&mut F>,
        pause: Duration,
    ) -> Option<F::Output> {
        self.block_on(async { tokio::time::timeout(pause, future).await }).ok()
    }

    /// Opens a file: `root://`, `http://`, `file://` or a local path. Several addresses of the
    /// same file, with `|` between them, are read from at the same time; so are those that a
    /// Metalink (`.meta4`, `.metalink`) names.
    pub async fn open(&self, address: &str) -> Result<File> {
        self.inner.session.open(address, Speculation::Eager).await
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

    /// Opens a file and a tree or RNTuple in it; without a path, the only one there is.
    pub async fn open_table(&self, address: &str, path: Option<&str>) -> Result<Arc<dyn Table>> {
        self.inner.session.open_table(address, path, Speculation::Eager).await
    }

    /// Opens a tree or an RNTuple: `FILE:PATH` or, where the file has only one, `FILE`.
    ///
    /// # Errors
    /// As [`Engine::open_table`].
    pub async fn table(&self, address: &str) -> Result<Arc<dyn Table>> {
        let address = split_object(address);
        self.open_table(&address.file, address.object).await
    }

    /// Reads columns of a range of entries (cut to those there are), all at once. A column is named
    /// by its path, its last name, or a pattern (`Jet_*`), one of a friend by `friend.column`; an
    /// alias of the file and a formula (`MET_pt / 2`) are columns that are computed.
    ///
    /// # Errors
    /// `NotInFile` for a name that no column has; `Unsupported` for a column that this version
    /// cannot read; `InvalidArgument` for a formula that cannot be computed; those of fetching.
    pub async fn read<C: AsRef<str>>(
        &self,
        table: &Arc<dyn Table>,
        columns: impl IntoIterator<Item = C>,
        entries: impl RangeBounds<u64>,
    ) -> Result<Batch> {
        let wanted = ColumnSpec::named(columns);
        let scope = NameScope::of(table);
        let entries = half_open(&entries);
        let source = self.select_expressions(scope, &wanted, None).await?;
        source.batch(source.columns().read(entries).await?)
    }

    /// As [`Engine::open_table`], by the stored metadata of the file, before the server has
    /// answered the open. `None` where too little of it is stored.
    ///
    /// # Errors
    /// Those of [`Engine::open_table`].
    pub async fn open_presumed(
        &self,
        address: &str,
        path: Option<&str>,
    ) -> Result<Option<PresumedTable>> {
        PresumedTable::open(&self.inner.session, address, path).await
    }

    /// Opens many trees and RNTuples side by side, as many at a time as the configuration says.
    pub fn open_tables(&self, places: Vec<TableLocation>) -> OpenAhead {
        OpenAhead::new(self.inner.session.clone(), places)
    }

    /// Opens a file of any kind for a client that asks for ranges of its bytes, one handle a
    /// client; clients of one address share one open. Of a ROOT file the metadata are read
    /// meanwhile, so that they are here before the client asks.
    ///
    /// # Errors
    /// Why the file cannot be opened.
    pub async fn watch(&self, address: &str) -> Result<Watched> {
        self.watch_with(address, CacheUse::Usual).await
    }

    /// As [`Engine::watch`], with the use of the cache that the client allows. With
    /// [`CacheUse::Verified`] the file is opened anew, for later clients as well; an open with
    /// [`CacheUse::Only`] or [`CacheUse::Off`] reads nothing ahead.
    ///
    /// # Errors
    /// Why the file cannot be opened; `NotFound` with [`CacheUse::Only`] for a file that is not in
    /// the cache.
    pub async fn watch_with(&self, address: &str, cache_use: CacheUse) -> Result<Watched> {
        self.inner.watches.watch(&self.inner.session, address, cache_use).await
    }

    /// Bytes and ranges read by the clients of all watched files since the engine was started.
    pub fn used(&self) -> Used {
        self.inner.watches.used()
    }

    /// Numbers of opens of watched files, succeeded and failed, since the engine was started.
    pub fn watch_opens(&self) -> Opens {
        self.inner.watches.opens()
    }

    /// The tree, RNTuple or chain at a path of a file.
    ///
    /// # Errors
    /// As [`File::tree`] and [`Engine::chain`].
    pub async fn table_in(&self, file: &File, path: &str) -> Result<Arc<dyn Table>> {
        table_in(&self.inner.session, file, path).await
    }

    /// Reads tables of many files as one. Those whose number of entries is not given are opened
    /// side by side, to be counted.
    ///
    /// # Errors
    /// `InvalidArgument` where there is none; of the first of them that cannot be opened.
    pub async fn chain(&self, places: Vec<TableLocation>) -> Result<Chain> {
        chain::of_places(&self.inner.session, places).await
    }

    /// The chain at a path of a file (ROOT: `TChain`).
    ///
    /// # Errors
    /// As [`File::tree`], and those of [`Engine::chain`].
    pub async fn chain_in(&self, file: &File, path: &str) -> Result<Chain> {
        chain::in_file(&self.inner.session, file, path).await
    }

    /// Reads many trees or RNTuples as one, in steps. The next ones are opened while the present
    /// one is read.
    pub fn scan<L: Into<TableLocation>>(
        &self,
        tables: impl IntoIterator<Item = L>,
        scan: ScanRequest,
    ) -> ScanBatches {
        let tables = tables.into_iter().map(Into::into).collect();
        ScanBatches::new(self.inner.session.clone(), tables, scan)
    }

    /// Which entry of a table has which numbers, where its file says (`TTree::BuildIndex`). Of a
    /// chain all files are opened; where several have the numbers the first counts.
    ///
    /// # Errors
    /// Those of opening; `Unsupported` where only some files have an index, or one of other
    /// numbers.
    pub async fn index(&self, table: &Arc<dyn Table>) -> Result<Option<Arc<TreeIndex>>> {
        chain::index_of(&**table).await
    }

    /// Opens the friends that a table's file names side by side, in their order.
    ///
    /// # Errors
    /// Of the first of them that cannot be opened.
    pub async fn friends(&self, table: &dyn Table) -> Result<Vec<Friend>> {
        friends::friends(&self.inner.session, table).await
    }

    /// One friend that a table's file names.
    ///
    /// # Errors
    /// `NotInFile` where there is none of that name; why it cannot be opened.
    pub async fn friend(&self, table: &dyn Table, name: &str) -> Result<Friend> {
        friends::friend(&self.inner.session, table, name).await
    }

    /// Chooses columns of a table, also of its friends: `friend.column`, or the column alone where
    /// the table has none of that name and only one friend has. The friends that a tree's file
    /// names are opened where a name needs them.
    ///
    /// # Errors
    /// As [`Table::select`] and [`Engine::friends`].
    pub async fn select(
        &self,
        table: &Arc<dyn Table>,
        wanted: &ColumnSpec,
    ) -> Result<Box<dyn Columns>> {
        self.select_for(table, &[], wanted, None).await
    }

    /// As [`Engine::select`], with further friends, which come before those in the file, and with
    /// the friends that a cut is about.
    ///
    /// # Errors
    /// As [`Engine::select`]; `InvalidArgument` for the name of a column that several friends have.
    pub async fn select_for(
        &self,
        table: &Arc<dyn Table>,
        friends: &[Friend],
        wanted: &ColumnSpec,
        cut: Option<&Cut>,
    ) -> Result<Box<dyn Columns>> {
        self.inner.session.select(table, friends, wanted, cut).await
    }

    /// As [`Engine::select_for`], where [`ColumnSpec::Named`] also names aliases and formulas.
    ///
    /// # Errors
    /// As [`Engine::select_for`], and `InvalidArgument` for a formula that cannot be read.
    pub async fn select_expressions(
        &self,
        scope: NameScope<'_>,
        wanted: &ColumnSpec,
        cut: Option<&Cut>,
    ) -> Result<Expressions> {
        Expressions::of(&self.inner.session, scope, wanted, cut).await
    }

    /// The meaning of a text that a caller gives for a column: a path or a last name, also below
    /// one of the table's columns; `friend.column`, or a column that only one friend has; an alias
    /// of the file; a formula; a pattern, of which all columns that match are meant, of an RNTuple
    /// that is a friend only fields at the top. A column goes before an alias of its name.
    ///
    /// # Errors
    /// `NotInFile` with the names that come near, but none for a pattern; as
    /// [`Engine::select_for`].
    pub async fn meaning(&self, scope: NameScope<'_>, text: &str) -> Result<Meaning> {
        meaning(&self.inner.session, scope, text).await
    }

    /// Whether a branch, a field or a column of a friend has a name, which it then hides from
    /// aliases.
    ///
    /// # Errors
    /// Why friends that the file names cannot be found out.
    pub async fn has_column(&self, scope: NameScope<'_>, name: &str) -> Result<bool> {
        has_column(&self.inner.session, scope, name).await
    }

    /// The column of a name in a formula, in which dots may stand for slashes; in ROOT's grammar
    /// also of a member without its column.
    ///
    /// # Errors
    /// As [`Engine::meaning`].
    pub async fn column_in_formula(
        &self,
        scope: NameScope<'_>,
        name: &str,
        of_root: bool,
    ) -> Result<ResolvedColumn> {
        match of_root {
            true => in_root_formula(&self.inner.session, scope, name).await,
            false => in_formula(&self.inner.session, scope, name).await,
        }
    }

    /// The table, directory or object at a path of a file. Objects of `opaque` classes are left as
    /// bytes.
    ///
    /// # Errors
    /// As [`File::object`] and [`Engine::table_in`].
    pub async fn content_in(&self, file: &File, path: &str, opaque: &Opaque) -> Result<Content> {
        content_in(&self.inner.session, file, path, opaque).await
    }

    /// The content at each of these paths, as they are taken.
    ///
    /// # Errors
    /// Those of fetching directories.
    pub async fn contents(
        &self,
        file: &File,
        paths: Vec<String>,
        opaque: Opaque,
    ) -> Result<Contents> {
        Contents::start(&self.inner.session, file, paths, opaque).await
    }

    /// Merges files into a new one: trees' baskets are copied as they are stored, in the order of
    /// the inputs, histograms are added up, and of other objects the first one is kept. `inputs`
    /// are addresses and patterns.
    ///
    /// # Errors
    /// `Unsupported` with the file, tree and branch that differ from the first input's, for tables
    /// before anything is copied; why an input cannot be read, or the output cannot be written.
    /// A file that has the output's name already then stays as it is.
    pub fn merge<'a>(
        &'a self,
        output: &'a str,
        inputs: &[String],
        options: &MergeOptions,
        progress: &'a (dyn Fn(MergeProgress) + Sync),
    ) -> BoxFuture<'a, Result<MergeReport>> {
        let inputs = inputs.to_vec();
        let options = options.clone();
        merge(&self.inner.session, output, inputs, options, progress).boxed()
    }

    /// The replica of a file in the cache, with baskets that programs decompress faster: see
    /// [`ReplicaUse`]. `None` where it is not there and not to be made, and for what is no ROOT
    /// file.
    ///
    /// # Errors
    /// `InvalidArgument` without a cache; why the file cannot be read, or the replica be kept.
    pub fn replica<'a>(
        &'a self,
        address: &'a str,
        replica_use: ReplicaUse,
    ) -> BoxFuture<'a, Result<Option<Replica>>> {
        replica(&self.inner.session, address, replica_use).boxed()
    }

    /// Writes some columns and entries of tables to a new file, in the order of the sources. Trees'
    /// baskets are copied as they are stored where there is no cut.
    ///
    /// # Errors
    /// As [`Engine::merge`] and [`Engine::scan`].
    pub fn skim<'a>(
        &'a self,
        output: &'a str,
        sources: &'a [TableLocation],
        options: &'a SkimOptions,
        progress: &'a (dyn Fn(MergeProgress) + Sync),
    ) -> impl Future<Output = Result<SkimReport>> + 'a {
        skim(&self.inner.session, output, sources, options, progress)
    }

    /// The same as [`Engine::skim`] to a Parquet file of this machine, which `library` writes.
    ///
    /// # Errors
    /// As [`Engine::scan`]; `InvalidArgument` for an output that is no path, and for options that a
    /// Parquet file does not have; why the library cannot write it.
    pub fn skim_to_parquet<'a>(
        &'a self,
        library: &'a dyn ParquetLibrary,
        output: &'a str,
        sources: &'a [TableLocation],
        options: &'a SkimOptions,
        progress: &'a (dyn Fn(MergeProgress) + Sync),
    ) -> impl Future<Output = Result<SkimReport>> + 'a {
        skim_to_parquet(&self.inner.session, library, output, sources, options, progress)
    }

    /// Checks the path to a file step by step, and reports the findings, also whether it is a whole
    /// ROOT file; of several addresses of one file, for each.
    ///
    /// # Errors
    /// `InvalidArgument` for a text that is no address. Faults on the way are findings.
    pub async fn examine(&self, address: &str) -> Result<Vec<Finding>> {
        examine(&self.inner.session, address).await
    }

    /// Reads a whole file and reports the faults of its writers: lists that contradict the records
    /// that they list, stretches that are free and in use, records that nothing leads to. No
    /// finding for a right file. The file is held in memory meanwhile.
    ///
    /// # Errors
    /// Why the file cannot be read; `Unsupported` where memory does not hold it. A file that is no
    /// ROOT file is a finding.
    pub async fn check(&self, address: &str) -> Result<Vec<check::Finding>> {
        check::check_file(&self.inner.session, address).await
    }

    /// Begins a ROOT file at an address. Under its name there is no file, or the previous one,
    /// until [`FileOutput::finish`].
    ///
    /// # Errors
    /// As [`Remote::create`]; `InvalidArgument` for options that a file cannot have.
    pub async fn create(&self, address: &str, options: WriteOptions) -> Result<FileOutput> {
        FileOutput::create(&self.inner.session, address, options).await
    }

    /// Opens a ROOT file to write it further: new records go behind its end, with the file's own
    /// compression, and its header is replaced last. Whatever happens on the way, the file has its
    /// old content or the new one.
    ///
    /// # Errors
    /// As [`Remote::append_to`] and [`Engine::open`]; `Unsupported` for files that were never
    /// closed, and for those of before ROOT 4.
    pub async fn update(&self, address: &str, options: WriteOptions) -> Result<FileOutput> {
        FileOutput::update(&self.inner.session, address, options).await
    }

    /// All requests of this engine's reads, with their servers and times.
    pub fn trace(&self) -> &fetch::trace::Trace {
        self.remote().trace()
    }

    /// Where the time and the bytes of everything read so far went.
    pub fn report(&self) -> report::Report {
        self.remote().report()
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
