//! Files and tables that are being written: every wait is with the interpreter released.

use std::collections::BTreeMap;
use std::sync::Arc;

use engine::{Error, ErrorKind, GrownTable, TableColumn, WriteOptions, WriteProgress, WriteReport};
use mutex::Mutex;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::options::{FileOptions, NumberAndLevel, TableChoice, compression_of};
use super::plain::Columns;
use super::{Array, WritableObject};
use crate::error::exception;
use crate::file::File;
use crate::runtime::{Owned, engine, invalid, wait, warn_of_upload};

/// A file that is being written. Dropped without `finish` nothing of it is kept.
#[pyclass(frozen, module = "farroot._core")]
pub struct FileOutput {
    output: Owned<Mutex<Option<Arc<engine::FileOutput>>>>,
    now: Arc<Mutex<WriteProgress>>,
}

/// A table of a file that is being written.
#[pyclass(frozen, module = "farroot._core")]
pub struct TableOutput {
    output: Owned<engine::TableOutput>,
    columns: Columns,
}

/// Name, title, and an array of no entries.
type Described<'py> = Vec<(String, String, PyRef<'py, Array>)>;

/// A table, names and types of its columns, and those that count others by the names of these.
type Grown = (TableOutput, Vec<(String, String)>, BTreeMap<String, String>);

impl FileOutput {
    fn begin<F>(
        py: Python<'_>,
        options: WriteOptions,
        begin: impl FnOnce(WriteOptions) -> F,
    ) -> PyResult<Self>
    where
        F: Future<Output = engine::Result<engine::FileOutput>> + Send,
    {
        let now = Arc::<Mutex<WriteProgress>>::default();
        let recorded = now.clone();
        let options = options.progress(move |progress| *recorded.lock() = progress);
        let output = wait(py, &engine(py)?, begin(options))?;
        let output = output.map_err(|error| exception(py, &error))?;
        Ok(FileOutput { output: Owned::new(Mutex::new(Some(Arc::new(output)))), now })
    }

    fn output(&self, py: Python<'_>) -> PyResult<Arc<engine::FileOutput>> {
        let output = self.output.here(py)?.lock().clone();
        output.ok_or_else(|| invalid(py, "the file has been closed"))
    }

    /// The output for the last time, which nothing else uses.
    fn last(&self, py: Python<'_>) -> PyResult<engine::FileOutput> {
        let output = self.output.here(py)?.lock().take();
        let output = output.ok_or_else(|| invalid(py, "the file has been closed"))?;
        Arc::try_unwrap(output).map_err(|output| {
            if let Ok(kept) = self.output.here(py) {
                *kept.lock() = Some(output);
            }
            invalid(py, "another thread writes to the file")
        })
    }
}

#[pymethods]
impl FileOutput {
    /// A new file.
    #[staticmethod]
    fn create(
        py: Python<'_>,
        address: &str,
        overwrite: bool,
        options: &FileOptions,
    ) -> PyResult<Self> {
        let engine = engine(py)?;
        Self::begin(py, options.options(overwrite), |options| engine.create(address, options))
    }

    /// A file that is there, which is written further.
    #[staticmethod]
    fn update(py: Python<'_>, address: &str, options: &FileOptions) -> PyResult<Self> {
        let engine = engine(py)?;
        Self::begin(py, options.options(false), |options| engine.update(address, options))
    }

    /// The updated file as it was.
    fn before(&self, py: Python<'_>) -> PyResult<File> {
        let output = self.output(py)?;
        let before = output.before().map_err(|error| exception(py, &error))?;
        Ok(File::new(before.clone()))
    }

    fn make_directory(&self, py: Python<'_>, path: &str) -> PyResult<()> {
        let output = self.output(py)?;
        let made = wait(py, &engine(py)?, output.make_directory(path))?;
        made.map_err(|error| exception(py, &error))
    }

    fn put(&self, py: Python<'_>, path: &str, written: &WritableObject) -> PyResult<()> {
        let output = self.output(py)?;
        let put = wait(py, &engine(py)?, output.put(path, written.object()))?;
        put.map_err(|error| exception(py, &error))
    }

    /// Puts the object at a path of another file into this one, as it is there.
    fn copy(&self, py: Python<'_>, path: &str, source: &File, from: &str) -> PyResult<()> {
        let output = self.output(py)?;
        let source = source.inner(py)?;
        let copied = wait(py, &engine(py)?, output.copy(path, source, from))?;
        copied.map_err(|error| exception(py, &error))
    }

    /// Describes classes, by name and version, or all, as another file does.
    fn describe(
        &self,
        py: Python<'_>,
        source: &File,
        classes: Option<Vec<(String, i32)>>,
    ) -> PyResult<()> {
        let output = self.output(py)?;
        let source = source.inner(py)?;
        let described = wait(py, &engine(py)?, output.describe(source, classes.as_deref()))?;
        described.map_err(|error| exception(py, &error))
    }

    fn remove(&self, py: Python<'_>, path: &str, cycle: u16) -> PyResult<()> {
        let output = self.output(py)?;
        let removed = wait(py, &engine(py)?, output.remove(path, cycle))?;
        removed.map_err(|error| exception(py, &error))
    }

    fn make_tree(
        &self,
        py: Python<'_>,
        path: &str,
        columns: Described<'_>,
        choice: TableChoice,
    ) -> PyResult<TableOutput> {
        let output = self.output(py)?;
        let options = choice.tree(py)?;
        let made = wait(py, &engine(py)?, output.make_tree(path, described(&columns), options))?;
        table(py, made, &columns)
    }

    fn make_ntuple(
        &self,
        py: Python<'_>,
        path: &str,
        columns: Described<'_>,
        choice: TableChoice,
    ) -> PyResult<TableOutput> {
        let output = self.output(py)?;
        let options = choice.ntuple(py)?;
        let made = wait(py, &engine(py)?, output.make_ntuple(path, described(&columns), options))?;
        table(py, made, &columns)
    }

    /// An attribute set of an RNTuple of this file.
    fn make_attribute_set(
        &self,
        py: Python<'_>,
        ntuple: &TableOutput,
        name: &str,
        columns: Described<'_>,
        choice: TableChoice,
    ) -> PyResult<TableOutput> {
        let output = self.output(py)?;
        let options = choice.ntuple(py)?;
        let ntuple = ntuple.output.here(py)?;
        let set = output.make_attribute_set(ntuple, name, described(&columns), options);
        let made = wait(py, &engine(py)?, set)?;
        table(py, made, &columns)
    }

    /// A table of the file as it was, for further entries: it, the name and type of each column,
    /// and the columns that count others.
    fn grow(&self, py: Python<'_>, path: &str, choice: TableChoice) -> PyResult<Grown> {
        let output = self.output(py)?;
        let tree = choice.clone().tree(py)?;
        let ntuple = choice.ntuple(py)?;
        let grown = wait(py, &engine(py)?, output.grow(path, tree, ntuple))?;
        let grown = grown.map_err(|error| exception(py, &error))?;
        let GrownTable { output, columns, counters } = grown;
        let plain = columns.iter().map(|column| (&*column.name, column.entry.clone()));
        let table = TableOutput { output: Owned::new(output), columns: Columns::new(py, plain) };
        let types = columns.iter().map(|column| (column.name.clone(), column.entry.to_string()));
        Ok((table, types.collect(), counters))
    }

    /// Entries that have been taken, and bytes of the file that have been handed to its place.
    fn progress(&self) -> (u64, u64) {
        let now = self.now.lock();
        (now.entries, now.bytes)
    }

    /// The report of the finished file.
    fn finish(&self, py: Python<'_>) -> PyResult<(String, String)> {
        let output = self.last(py)?;
        let report = wait(py, &engine(py)?, output.finish())?;
        let report = report.map_err(|error| exception(py, &error))?;
        warn_of_upload(py, &report.warnings)?;
        Ok((figures(&report).to_string(), report.to_string()))
    }

    fn abandon(&self, py: Python<'_>) -> PyResult<()> {
        let output = self.last(py)?;
        wait(py, &engine(py)?, output.abandon())
    }
}

fn table(
    py: Python<'_>,
    made: engine::Result<engine::TableOutput>,
    columns: &Described<'_>,
) -> PyResult<TableOutput> {
    let output = made.map_err(|error| exception(py, &error))?;
    let columns = columns.iter().map(|(name, _, array)| (&**name, array.entry().clone()));
    Ok(TableOutput { output: Owned::new(output), columns: Columns::new(py, columns) })
}

#[pymethods]
impl TableOutput {
    /// Waits while there is no room for more.
    fn extend(&self, py: Python<'_>, columns: Vec<PyRef<'_, Array>>) -> PyResult<()> {
        let output = self.output.here(py)?;
        let arrays = columns.iter().map(|array| array.array()).collect();
        let extended = wait(py, &engine(py)?, output.extend(arrays))?;
        extended.map_err(|error| exception(py, &error))
    }

    /// Adds a few entries of plain types; waits where there is no room for them. `False` for data
    /// of other types, or in place of an error: no entry is then added.
    fn extend_plain(&self, py: Python<'_>, data: &Bound<'_, PyDict>) -> PyResult<bool> {
        let output = self.output.here(py)?;
        let Some(arrays) = self.columns.arrays(data) else { return Ok(false) };
        let added = match output.extend_at_once(arrays) {
            Ok(added) => added,
            Err(arrays) => wait(py, &engine(py)?, output.extend(arrays))?,
        };
        Ok(added.is_ok())
    }

    /// Adds columns, with values for all entries so far.
    fn add_columns(
        &self,
        py: Python<'_>,
        columns: Described<'_>,
        arrays: Vec<PyRef<'_, Array>>,
    ) -> PyResult<()> {
        let output = self.output.here(py)?;
        let columns = described(&columns);
        let arrays = arrays.iter().map(|array| array.array()).collect();
        let added = wait(py, &engine(py)?, output.add_columns(columns, arrays))?;
        added.map_err(|error| exception(py, &error))
    }

    /// Of all columns, or of one by its number.
    fn set_compression(
        &self,
        py: Python<'_>,
        column: Option<usize>,
        compression: NumberAndLevel,
    ) -> PyResult<()> {
        let output = self.output.here(py)?;
        let compression = compression_of(py, compression)?;
        let set = wait(py, &engine(py)?, output.set_compression(column, compression))?;
        set.map_err(|error| exception(py, &error))
    }

    #[getter]
    fn num_entries(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.output.here(py)?.num_entries())
    }
}

fn described(columns: &Described<'_>) -> Vec<TableColumn> {
    let column = |(name, title, array): &(String, String, PyRef<'_, Array>)| TableColumn {
        name: name.clone(),
        title: title.clone(),
        entry: array.entry().clone(),
    };
    columns.iter().map(column).collect()
}

/// The error for data that the format refuses, before any of them is written.
pub fn refused(py: Python<'_>, error: &impl ToString) -> PyErr {
    exception(py, &Error::new(ErrorKind::Unsupported, error.to_string()))
}

fn figures(report: &WriteReport) -> serde_json::Value {
    let checksum = report.checksum.as_ref().map(ToString::to_string);
    let tables = report.tables.iter();
    let tables: serde_json::Map<String, serde_json::Value> =
        tables.map(|table| (table.path.clone(), table.entries.into())).collect();
    serde_json::json!({
        "address": report.address,
        "size": report.size,
        "checksum": checksum,
        "entries": report.entries,
        "array_bytes": report.array_bytes,
        "tables": tables,
        "wall_s": report.time.as_secs_f64(),
        "encoding_s": report.encoding.as_secs_f64(),
        "carrying_s": report.carrying.as_secs_f64(),
        "waited_for_room_s": report.for_room.as_secs_f64(),
        "waited_for_caller_s": report.for_callers.as_secs_f64(),
        "held_bytes_max": report.held_bytes_max,
        "warnings": report.warnings,
    })
}
