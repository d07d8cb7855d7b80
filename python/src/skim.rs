//! Some columns and entries of tables as a new file.

use std::sync::Arc;

use engine::{Batch, Cut, MergeProgress, SkimOptions, TableFormat};
use parking_lot::Mutex;
use pyo3::prelude::*;

use crate::columns::column;
use crate::cut::Raised;
use crate::define::definition;
use crate::error::exception;
use crate::merge::Merging;
use crate::parts::TableLocation;
use crate::runtime::{Owned, engine, wait};
use crate::steps::in_use;
use crate::write::{NumberAndLevel, compression_of};

/// Numbers of clusters: copied, with some entries taken, left out.
type ClusterTuple = (u64, u64, u64);

/// Output, size, table, inputs with their entries and those that were kept, whether baskets were
/// copied, clusters, notes and seconds.
type SkimmedTuple =
    (String, u64, String, Vec<(String, u64, u64)>, bool, Option<ClusterTuple>, Vec<String>, f64);

/// What is kept, and how.
#[derive(FromPyObject)]
pub struct SkimChoice {
    columns: Vec<String>,
    cut: Option<String>,
    /// Name, argument columns and function of each new column.
    define: Vec<(String, Vec<String>, Py<PyAny>)>,
    format: Option<String>,
    keep_rest: bool,
    overwrite: bool,
    reproducible: bool,
    compression: NumberAndLevel,
}

impl SkimChoice {
    fn options(self, py: Python<'_>, raised: &Raised) -> PyResult<SkimOptions> {
        let cut = self.cut.as_deref().map(Cut::parse).transpose();
        let define = self.define.iter().map(|one| definition(py, one, raised)).collect();
        Ok(SkimOptions {
            columns: self.columns,
            define,
            cut: cut.map_err(|error| exception(py, &error))?,
            format: match self.format.as_deref() {
                None => TableFormat::Same,
                Some("rntuple") => TableFormat::RNTuple,
                Some(_) => TableFormat::Tree,
            },
            keep_rest: self.keep_rest,
            overwrite: self.overwrite,
            reproducible: self.reproducible,
            compression: compression_of(py, self.compression)?,
        })
    }
}

/// Writes what is kept of tables to a new file.
#[pyfunction]
pub fn skim(
    py: Python<'_>,
    places: Vec<Py<TableLocation>>,
    target: String,
    choice: SkimChoice,
    progress: &Bound<'_, Merging>,
) -> PyResult<SkimmedTuple> {
    let places: Vec<_> =
        places.iter().map(|place| place.get().place(py)).collect::<PyResult<_>>()?;
    let raised = Raised::default();
    let options = choice.options(py, &raised)?;
    let engine = engine(py)?;
    let now = progress.get().now.clone();
    let record = |progress: MergeProgress| *now.lock() = progress;
    let skimmed = wait(py, &engine, engine.skim(&target, &places, &options, &record))?;
    let skimmed = skimmed.map_err(|error| raised.or(py, &error))?;
    Ok((
        skimmed.written.address,
        skimmed.written.size,
        skimmed.table,
        skimmed.inputs,
        skimmed.is_copied,
        skimmed.clusters.map(|clusters| (clusters.copied, clusters.taken, clusters.left_out)),
        skimmed.notes,
        skimmed.time.as_secs_f64(),
    ))
}

/// The columns and entries that a skim keeps, batch by batch.
#[pyclass(frozen, module = "farroot._core")]
pub struct SkimBatches {
    batches: Owned<Mutex<engine::SkimBatches>>,
    raised: Raised,
    now: Arc<Mutex<MergeProgress>>,
}

/// Path of the table; address, entries and kept entries of each input; notes.
type Account = (String, Vec<(String, u64, u64)>, Vec<String>);

/// Columns with their names.
type NamedColumns = Vec<(String, Py<PyAny>)>;

/// Begins to read the columns and entries that a skim keeps.
#[pyfunction]
pub fn skim_batches(
    py: Python<'_>,
    places: Vec<Py<TableLocation>>,
    choice: SkimChoice,
    progress: &Bound<'_, Merging>,
) -> PyResult<SkimBatches> {
    let places: Vec<_> =
        places.iter().map(|place| place.get().place(py)).collect::<PyResult<_>>()?;
    let raised = Raised::default();
    let options = choice.options(py, &raised)?;
    let engine = engine(py)?;
    let batches = wait(py, &engine, engine.skim_batches(&places, &options))?;
    let batches = batches.map_err(|error| raised.or(py, &error))?;
    let now = progress.get().now.clone();
    now.lock().inputs = places.len();
    Ok(SkimBatches { batches: Owned::new(Mutex::new(batches)), raised, now })
}

#[pymethods]
impl SkimBatches {
    /// The next batch; None after the last one.
    fn next(&self, py: Python<'_>) -> PyResult<Option<NamedColumns>> {
        let batches = self.batches.here(py)?;
        let mut batches = batches.try_lock().ok_or_else(|| in_use(py))?;
        let Some(batch) = wait(py, &engine(py)?, batches.next())? else { return Ok(None) };
        let batch = batch.map_err(|error| self.raised.or(py, &error))?;
        self.now.lock().read = batches.current();
        named(py, batch).map(Some)
    }

    /// A batch without entries.
    fn nothing(&self, py: Python<'_>) -> PyResult<NamedColumns> {
        let batches = self.batches.here(py)?.try_lock().ok_or_else(|| in_use(py))?;
        named(py, batches.nothing().map_err(|error| self.raised.or(py, &error))?)
    }

    /// Path of the table; address, entries and kept entries of each input; notes.
    fn account(&self, py: Python<'_>) -> PyResult<Account> {
        let batches = self.batches.here(py)?.try_lock().ok_or_else(|| in_use(py))?;
        Ok((batches.table().to_owned(), batches.inputs().to_vec(), batches.notes()))
    }
}

/// The columns of a batch with their names.
pub fn named(py: Python<'_>, batch: Batch) -> PyResult<NamedColumns> {
    let columns = batch.columns.into_iter();
    columns.map(|(name, array)| Ok((name, column(py, array)?))).collect()
}
