//! Some columns and entries of tables as a new file.

use engine::{Cut, MergeProgress, SkimOptions, TableFormat};
use pyo3::prelude::*;

use crate::cut::Raised;
use crate::define::definition;
use crate::error::exception;
use crate::merge::Merging;
use crate::parquet::PyArrow;
use crate::parts::TableLocation;
use crate::runtime::{engine, wait, warn_of_upload};
use crate::write::{NumberAndLevel, compression_of};

/// Numbers of clusters: copied, with some entries taken, left out.
type ClusterTuple = (u64, u64, u64);

/// Output, size, table, inputs with their entries and those that were kept, whether baskets were
/// copied, clusters, notes and seconds.
type SkimmedTuple =
    (String, u64, String, Vec<(String, u64, u64)>, bool, Option<ClusterTuple>, Vec<String>, f64);

/// The columns and entries that are kept, and how they are written.
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

/// Writes the kept entries and columns of tables to a new file, with pyarrow if its name ends with
/// `.parquet`.
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
    let library = PyArrow { raised: raised.clone() };
    let skimmed = if target.ends_with(".parquet") {
        let skim = engine.skim_to_parquet(&library, &target, &places, &options, &record);
        wait(py, &engine, skim)?
    } else {
        wait(py, &engine, engine.skim(&target, &places, &options, &record))?
    };
    let skimmed = skimmed.map_err(|error| raised.or(py, &error))?;
    warn_of_upload(py, &skimmed.written.warnings)?;
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
