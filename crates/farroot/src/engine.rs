//! The connections, the threads and the memory of a program.

use std::path::Path;

use ::engine::{TableLocation, WriteOptions};
use remote::address::split_object;
use remote::report::Report;
use remote::{Config, Copied, CopyOptions, Progress, Result};

use crate::file::File;
use crate::output::FileOutput;
use crate::scan::{Scan, ScanOptions};
use crate::table::Table;
use crate::threads::on_threads_of;

/// Owns the connections, the threads and the one memory budget. Cheap to clone.
#[derive(Clone)]
pub struct Engine {
    inner: ::engine::Engine,
}

impl Engine {
    /// Starts an engine with the settings of the `FARROOT_*` variables.
    ///
    /// # Errors
    /// `InvalidArgument` for a variable that cannot be understood; `Io` where no thread can be
    /// started.
    pub fn new() -> Result<Self> {
        Engine::with(Config::from_env()?)
    }

    /// Starts an engine with settings of the caller's.
    ///
    /// # Errors
    /// `Io` where no thread can be started.
    pub fn with(config: Config) -> Result<Self> {
        Ok(Engine { inner: ::engine::Engine::start(config)? })
    }

    /// Waits for a future, for callers without an executor.
    ///
    /// # Panics
    /// From inside a tokio runtime, as tokio's own `block_on`.
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.inner.block_on(future)
    }

    /// Opens a file: `root://`, `http://`, `file://` or a local path. Several addresses of the same
    /// file, with `|` between them, are read from at the same time; so are those that a Metalink
    /// names.
    ///
    /// # Errors
    /// Why it cannot be reached or is no ROOT file, for each of its addresses.
    pub async fn open(&self, address: &str) -> Result<File> {
        let file = on_threads_of(&self.inner, self.inner.open(address)).await?;
        Ok(File::new(self.inner.clone(), file))
    }

    /// Opens a tree or an RNTuple: `FILE:PATH` or, where the file has only one, `FILE`.
    ///
    /// # Errors
    /// As [`Engine::open`]; `NotInFile` where there is none of that path, and `InvalidArgument`
    /// where there are several and none is named.
    pub async fn table(&self, address: &str) -> Result<Table> {
        let at = split_object(address);
        let table = self.inner.open_table(&at.file, at.object);
        let table = on_threads_of(&self.inner, table).await?;
        Ok(Table::new(self.inner.clone(), table))
    }

    /// Begins a file at a path or a server's address. Under its name there is nothing, or the
    /// earlier file, until [`FileOutput::finish`].
    ///
    /// # Errors
    /// `InvalidArgument` where a file is there that may not be replaced, and where another writer
    /// has it; why it cannot be made.
    pub async fn create(&self, address: &str, options: WriteOptions) -> Result<FileOutput> {
        let file = on_threads_of(&self.inner, self.inner.create(address, options)).await?;
        Ok(FileOutput::new(self.inner.clone(), file))
    }

    /// Opens a file to write it further: new bytes go behind its end, and its header is replaced at
    /// the end. Whatever happens on the way, the file has its old content or the new one.
    ///
    /// # Errors
    /// As [`Engine::open`]; `InvalidArgument` where another writer has it; `Unsupported` for files
    /// that were never closed, and for those of before ROOT 4.
    pub async fn update(&self, address: &str, options: WriteOptions) -> Result<FileOutput> {
        let file = on_threads_of(&self.inner, self.inner.update(address, options)).await?;
        Ok(FileOutput::new(self.inner.clone(), file))
    }

    /// Reads trees or RNTuples of many files one after the other, in steps; an address is that of
    /// [`Engine::table`]. The next files are opened while the present one is read.
    pub fn scan<A: AsRef<str>>(
        &self,
        addresses: impl IntoIterator<Item = A>,
        options: ScanOptions,
    ) -> Scan {
        let place = |address: A| {
            let at = split_object(address.as_ref());
            TableLocation {
                url: at.file.into_owned(),
                path: at.object.map(str::to_owned),
                ..TableLocation::default()
            }
        };
        Scan::new(&self.inner, addresses.into_iter().map(place).collect(), options)
    }

    /// The files that a pattern names, by name: with `*`, `?`, `[]` and `{a,b}`, on a local disk
    /// also `**`. A text that is no pattern stands for itself.
    ///
    /// # Errors
    /// `Unsupported` for a pattern on a server that lists nothing; an error of listing a directory.
    pub async fn matching(&self, pattern: &str) -> Result<Vec<String>> {
        on_threads_of(&self.inner, self.inner.remote().matching(pattern)).await
    }

    /// Copies files of any kind to a local path: one to `target`, or any number into it where it is
    /// a directory. A source is an address or a pattern. The bytes of a file from before a break
    /// are used again, and it gets its name when it is complete. `progress` is called for each file
    /// as it grows.
    ///
    /// # Errors
    /// Errors about all files: patterns that match nothing, and targets that are none. Each file
    /// has its own result, in their order.
    pub async fn copy<A: AsRef<str>>(
        &self,
        sources: impl IntoIterator<Item = A>,
        target: impl AsRef<Path>,
        options: CopyOptions,
        progress: impl Fn(Progress) + Sync,
    ) -> Result<Vec<Result<Copied>>> {
        let sources: Vec<String> =
            sources.into_iter().map(|source| source.as_ref().to_owned()).collect();
        on_threads_of(
            &self.inner,
            self.inner.remote().copy(&sources, target.as_ref(), options, &progress),
        )
        .await
    }

    /// Where the time and the bytes of everything read so far went.
    pub fn report(&self) -> Report {
        self.inner.report()
    }
}
