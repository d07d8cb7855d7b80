//! Handles of callers to a file that is being written.

use std::sync::Arc;

use remote::fetch::trace::Trace;
use remote::{CreateOptions, Error, ErrorKind, Result, Upload, address};
use rootfile::Array;
use rootfile::streamer::StreamerInfo;
use rootfile::write::Described;
use rootfile::write::copy::CopiedObject;
use rootfile::write::grow::GrowingTree;
use rootfile::write::ntuple::{RNTupleOptions, RNTupleWriter};
use rootfile::write::tree::TreeOptions;
use rootfile::write::{
    Compression, DirectoryId, Existing, FileOptions, FileWriter, TableColumn, TableId, TableWriter,
    WritableObject,
};

use super::flow::{Flow, FlowState};
use super::infos::infos;
use super::options::WriteOptions;
use super::parts::{TablePart, bytes_of};
use super::report::{TableReport, WriteReport};
use super::stamp::Stamp;
use super::uploader::carry;
use crate::located::Located;
use crate::read::file::File;
use crate::read::file::session::Session;
use crate::read::threads::decoders::Decoders;

/// A file that is being written. Dropped without [`FileOutput::finish`] it is given up, and nothing
/// of it is kept.
///
/// Objects and entries added to it are placed in the file in the order of the calls, and so the
/// same calls give the same bytes. Calls wait while [`WriteOptions::memory_bytes`] are held; they
/// may come from any thread.
pub struct FileOutput {
    flow: Arc<Flow>,
    /// An updated file as it was.
    before: Option<File>,
}

/// A table of a file that is being written. Cheap to clone.
#[derive(Clone)]
pub struct TableOutput {
    flow: Arc<Flow>,
    table: TableId,
    path: Arc<str>,
}

/// The object at a path of a file, as it is there, to be put into another one.
///
/// # Errors
/// `Unsupported` for tables and directories, and for objects that cannot be read in all parts.
pub async fn copied(source: &File, from: &str) -> Result<CopiedObject> {
    let key = source.key(from).await?;
    if !source.format().is_object(&key) {
        let message = format!("a {} is more than one record", key.class);
        return Err(Error::new(ErrorKind::Unsupported, message).with_url(source.url()));
    }
    let object = source.reading(|format, known| CopiedObject::read(format, known, &key)).await?;
    Ok(object.with(Described { infos: infos(source), file: source.url().to_string() }))
}

impl FileOutput {
    pub(crate) async fn create(
        session: &Session,
        address: &str,
        options: WriteOptions,
    ) -> Result<Self> {
        let url = address::parse(address)?.swap_remove(0);
        let Stamp { uuid, datime } = Stamp::new(options.reproducible)?;
        let file = FileWriter::new(FileOptions {
            name: url.file_name().to_string_lossy().into_owned(),
            title: options.title.clone(),
            compression: options.compression,
            uuid,
            datime,
        });
        let file = file.located(url.to_string())?;
        let WriteOptions { overwrite, in_place, shared, .. } = options;
        let create = CreateOptions { overwrite, in_place, shared, size: None };
        let upload = session.remote().create(address, create).await?;
        let trace = session.remote().trace().clone();
        Ok(Self::start(file, upload, session.decoders().clone(), trace, options, false))
    }

    pub(crate) async fn update(
        session: &Session,
        address: &str,
        options: WriteOptions,
    ) -> Result<Self> {
        // First, as from then on no other writer changes the file.
        let upload = session.remote().append_to(address).await?;
        let len = upload.len();
        let reopen = async {
            let before = session.open_to_grow(address).await?;
            Ok((reopened(&before, len, options.reproducible).await?, before))
        };
        let (file, before) = match reopen.await {
            Ok(reopened) => reopened,
            Err(error) => {
                upload.abandon().await;
                return Err(error);
            }
        };
        let trace = session.remote().trace().clone();
        let decoders = session.decoders().clone();
        let mut output = Self::start(file, upload, decoders, trace, options, true);
        output.before = Some(before);
        Ok(output)
    }

    /// Begins to write to a place, on the present runtime.
    pub(super) fn start(
        mut file: FileWriter,
        upload: Upload,
        decoders: Decoders,
        trace: Trace,
        options: WriteOptions,
        is_update: bool,
    ) -> Self {
        if let Some(bytes) = options.checkpoint.filter(|_| !is_update) {
            file.set_checkpoint(bytes);
        }
        let url = upload.address().to_owned();
        let flow = Flow::new(file, url, decoders, trace, &options);
        tokio::spawn(carry(flow.clone(), upload, options, is_update));
        FileOutput { flow, before: None }
    }

    /// The updated file as it was.
    ///
    /// # Errors
    /// `InvalidArgument` where it is a new file.
    pub fn before(&self) -> Result<&File> {
        self.before.as_ref().ok_or_else(|| {
            let text = "tables of an existing file, where a new file is written";
            Error::new(ErrorKind::InvalidArgument, text).with_url(self.url())
        })
    }

    /// Its address, without secrets.
    pub fn url(&self) -> &str {
        self.flow.url()
    }

    /// Makes a directory, and those above it, where they are not there.
    ///
    /// # Errors
    /// Why the file cannot be written: the first error, once there was one.
    pub async fn make_directory(&self, path: &str) -> Result<()> {
        let make = |file: &mut FileWriter| file.directory(path).map(drop);
        self.flow.once(|state, _| state.file.is_settled(None), |state| make(&mut state.file)).await
    }

    /// Puts an object at a path, `directory/name`; of several at one path a reader gets the last.
    /// Directories are made where they are not there.
    ///
    /// # Errors
    /// `InvalidArgument` for a path that ends without a name; as [`FileOutput::make_directory`].
    pub async fn put(&self, path: &str, object: Arc<dyn WritableObject>) -> Result<()> {
        let (directory, name) = self.split(path)?;
        self.flow
            .once(
                |state, memory| state.file.is_settled(None) && state.has_room(memory, 0),
                |state| {
                    let described = object.described();
                    for Described { infos, file } in &described {
                        state.file.infos().copy(infos, file)?;
                    }
                    if !described.is_empty() {
                        state.file.infos().need("TObject");
                    }
                    drop(described);
                    let directory = directory_in(&mut state.file, directory)?;
                    state.file.put(directory, name, object);
                    Ok(())
                },
            )
            .await
    }

    /// Puts the object at `from` of another file at a path, as [`FileOutput::put`], as it is there,
    /// with the streamer infos of its file: it may be of any class.
    ///
    /// # Errors
    /// As [`copied`], and where that file describes a class otherwise than this one; as
    /// [`FileOutput::put`].
    pub async fn copy(&self, path: &str, source: &File, from: &str) -> Result<()> {
        let object = copied(source, from).await?;
        self.put(path, Arc::new(object)).await
    }

    /// Describes classes of these names and versions as another file does (ROOT: `TStreamerInfo`);
    /// without names, all that it describes.
    ///
    /// # Errors
    /// `Unsupported` where this file has another description of one; as [`FileOutput::put`].
    pub async fn describe(&self, source: &File, classes: Option<&[(String, i32)]>) -> Result<()> {
        let is_chosen = |info: &StreamerInfo| {
            classes.is_none_or(|classes| {
                classes
                    .iter()
                    .any(|(class, version)| (class, version) == (&info.class, &info.version))
            })
        };
        let infos = source.format().classes.streamers.infos_of_file();
        let infos: Vec<_> = infos.filter(|info| is_chosen(info)).cloned().collect();
        let describe = |state: &mut FlowState| state.file.infos().copy(&infos, source.url());
        self.flow.once(|_, _| true, describe).await
    }

    /// Takes an object that an updated file had before out of its directory, by its path and cycle.
    ///
    /// # Errors
    /// `Unsupported` for directories, and for objects that the file did not have before; else as
    /// [`FileOutput::put`].
    pub async fn remove(&self, path: &str, cycle: u16) -> Result<()> {
        let (directory, name) = self.split(path)?;
        let remove = |state: &mut FlowState| state.file.remove(directory, name, cycle);
        self.flow.once(|_, _| true, remove).await
    }

    /// Puts a table at a path, as [`FileOutput::put`] does an object. Entries are added to the
    /// returned output.
    ///
    /// # Errors
    /// As [`FileOutput::put`].
    pub async fn make_table(&self, path: &str, table: Box<dyn TableWriter>) -> Result<TableOutput> {
        self.add_table(path, |file, directory, name| file.add_table(directory, name, table)).await
    }

    /// Opens a table of the file as it was, of that cycle, for further entries.
    pub(super) async fn grow_table(
        &self,
        path: &str,
        cycle: u16,
        table: Box<dyn TableWriter>,
    ) -> Result<TableOutput> {
        let grow = |file: &mut FileWriter, directory, name: &str| {
            file.grow_table(directory, name, cycle, table)
        };
        self.add_table(path, grow).await
    }

    async fn add_table(
        &self,
        path: &str,
        add: impl FnOnce(&mut FileWriter, DirectoryId, &str) -> TableId,
    ) -> Result<TableOutput> {
        let (directory, name) = self.split(path)?;
        let make = self.flow.once(
            |state, _| state.file.is_settled(None),
            |state| {
                let directory = directory_in(&mut state.file, directory)?;
                let table = add(&mut state.file, directory, name);
                state.tables.push((table, path.to_owned()));
                Ok(table)
            },
        );
        Ok(TableOutput { table: make.await?, flow: self.flow.clone(), path: path.into() })
    }

    /// Makes a tree at a path, as [`FileOutput::put`] puts an object.
    ///
    /// # Errors
    /// `Unsupported` for columns that a tree does not hold; as [`FileOutput::put`].
    pub async fn make_tree(
        &self,
        path: &str,
        columns: Vec<TableColumn>,
        options: TreeOptions,
    ) -> Result<TableOutput> {
        let tree = GrowingTree::new(columns, options).located(self.url())?;
        self.make_table(path, Box::new(tree)).await
    }

    /// Makes an RNTuple at a path, as [`FileOutput::put`] puts an object.
    ///
    /// # Errors
    /// `Unsupported` for columns that an RNTuple does not hold; as [`FileOutput::put`].
    pub async fn make_ntuple(
        &self,
        path: &str,
        columns: Vec<TableColumn>,
        options: RNTupleOptions,
    ) -> Result<TableOutput> {
        let ntuple = RNTupleWriter::new(columns, options).located(self.url())?;
        self.make_table(path, Box::new(ntuple)).await
    }

    /// Makes an attribute set of an RNTuple of this file: an RNTuple with the columns
    /// `_rangeStart` and `_rangeLen`, each a `u64`, and `_userData`, a record.
    ///
    /// # Errors
    /// `Unsupported` for a table of another kind, and for a name that is there; as
    /// [`FileOutput::put`].
    pub async fn make_attribute_set(
        &self,
        ntuple: &TableOutput,
        name: &str,
        columns: Vec<TableColumn>,
        options: RNTupleOptions,
    ) -> Result<TableOutput> {
        let writer = RNTupleWriter::new(columns, options).located(self.url())?;
        let path = format!("{}/{name}", ntuple.path);
        let make = self.flow.once(
            |state, _| state.file.is_settled(None),
            |state| {
                let table = state.file.add_attribute_set(ntuple.table, name, Box::new(writer))?;
                state.tables.push((table, path.clone()));
                Ok(table)
            },
        );
        let table = make.await?;
        Ok(TableOutput { table, flow: self.flow.clone(), path: path.into() })
    }

    /// Waits until all is encoded and at its place, and the file has its name.
    ///
    /// # Errors
    /// Why the file cannot be written: nothing of it is then kept. `Unsupported` where a part of a
    /// table is lacking.
    pub async fn finish(self) -> Result<WriteReport> {
        if let Err(error) = self.flow.close().await {
            self.flow.break_off(error);
        }
        let written = self.flow.ended().await?;
        let now = self.flow.now();
        Ok(self.flow.with(|state| {
            let entries = |table| state.file.table(table).entries();
            let tables = state
                .tables
                .iter()
                .map(|(table, path)| TableReport { path: path.clone(), entries: entries(*table) });
            state.counts.report(written, tables.collect(), now)
        }))
    }

    /// Gives the file up, and waits until nothing of it is left.
    pub async fn abandon(self) {
        self.flow.break_off(given_up());
        // It ends with the error that it was given.
        let _ = self.flow.ended().await;
    }

    fn split<'a>(&self, path: &'a str) -> Result<(&'a str, &'a str)> {
        let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
        if name.is_empty() {
            let error =
                Error::new(ErrorKind::InvalidArgument, "what is put into a file has a name");
            return Err(error.with_url(self.url()));
        }
        Ok((directory, name))
    }
}

impl Drop for FileOutput {
    fn drop(&mut self) {
        self.flow.break_off(given_up());
    }
}

/// Goes on with an open file, which has so many bytes.
///
/// # Errors
/// `Changed` for another number of bytes; those of reading it, and as [`FileWriter::reopen`].
pub(super) async fn reopened(file: &File, len: u64, reproducible: bool) -> Result<FileWriter> {
    let existing = file.reading(|_, known| Existing::read(known)).await?;
    if existing.end() != len {
        let text = format!("the file had {len} bytes, and now has {}", existing.end());
        let error = Error::new(ErrorKind::Changed, text).with_url(file.url());
        return Err(error.with_advice("another program writes to it: wait for its end"));
    }
    let Stamp { datime, .. } = Stamp::new(reproducible)?;
    FileWriter::reopen(existing, datime).located(file.url())
}

fn given_up() -> Error {
    Error::new(ErrorKind::Cancelled, "the file was given up")
}

fn directory_in(file: &mut FileWriter, path: &str) -> rootfile::Result<DirectoryId> {
    match path.is_empty() {
        true => Ok(DirectoryId::TOP),
        false => file.directory(path),
    }
}

impl TableOutput {
    /// Where it is in the file.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Adds entries: an array a column, in the columns' order and of equal length. The arrays are
    /// held until they are encoded. Waits while there is no room for more.
    ///
    /// # Errors
    /// `Unsupported` for arrays of other types or lengths, and none of the entries is then taken;
    /// else why the file cannot be written: the first error, once there was one.
    pub async fn extend(&self, columns: Vec<Arc<Array>>) -> Result<()> {
        let table = self.table;
        let bytes = bytes_of(&columns);
        self.flow
            .once(
                |state, memory| state.file.is_settled(Some(table)) && state.has_room(memory, bytes),
                |state| state.counts.extend(&mut state.file, table, columns),
            )
            .await
    }

    /// As [`TableOutput::extend`], where that would not wait: for callers who add few entries at a
    /// time.
    ///
    /// # Errors
    /// The columns, none of which is taken, where it would wait or another thread is at the file.
    pub fn extend_at_once(
        &self,
        columns: Vec<Arc<Array>>,
    ) -> std::result::Result<Result<()>, Vec<Arc<Array>>> {
        let table = self.table;
        let bytes = bytes_of(&columns);
        let mut columns = Some(columns);
        let added = self.flow.at_once(
            |state, memory| state.file.is_settled(Some(table)) && state.has_room(memory, bytes),
            |state| {
                let columns = columns.take().unwrap_or_default();
                state.counts.extend(&mut state.file, table, columns)
            },
        );
        added.ok_or_else(|| columns.unwrap_or_default())
    }

    /// Adds columns, with values for all entries so far: an array a column. Further entries have
    /// values of these columns, too, behind those of the earlier ones.
    ///
    /// # Errors
    /// `Unsupported` for names that are there, for arrays of another length than the table, and of
    /// types that it does not hold: nothing is then added. Else as [`TableOutput::extend`].
    pub async fn add_columns(
        &self,
        columns: Vec<TableColumn>,
        arrays: Vec<Arc<Array>>,
    ) -> Result<()> {
        let table = self.table;
        let bytes = bytes_of(&arrays);
        self.flow
            .once(
                |state, memory| state.file.is_settled(Some(table)) && state.has_room(memory, bytes),
                |state| state.file.add_columns(table, columns, arrays),
            )
            .await
    }

    /// Compresses all columns, or the one of that number, in another way than it was made with.
    ///
    /// # Errors
    /// `Unsupported` after the first entries, and of RNTuples; else as [`TableOutput::extend`].
    pub async fn set_compression(
        &self,
        column: Option<usize>,
        compression: Compression,
    ) -> Result<()> {
        let set = |state: &mut FlowState| {
            state.file.set_table_compression(self.table, column, compression)
        };
        self.flow.once(|_, _| true, set).await
    }

    /// Entries that have been added, those of parts whose turn has come included.
    pub fn num_entries(&self) -> u64 {
        self.flow.with(|state| state.file.table(self.table).entries())
    }

    /// A part of the entries, for one of several producers: those of part 0 come first, then those
    /// of part 1, whichever producer is faster. Each number is used once and none is left out.
    ///
    /// # Errors
    /// `InvalidArgument` for a part that there is, or was.
    pub fn part(&self, number: u64) -> Result<TablePart> {
        TablePart::begin(&self.flow, self.table, number)
    }
}
