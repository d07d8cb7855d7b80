//! Several files as one.

use std::sync::Arc;

use engine::{MergeOptions, MergeProgress, Missing};
use mutex::Mutex;
use pyo3::prelude::*;

use crate::error::exception;
use crate::runtime::{engine, wait, warn_of_upload};
use crate::write::{NumberAndLevel, compression_of};

/// Output, size, inputs, tables, histograms, objects, records, copied bytes, notes and seconds.
type MergedTuple =
    (String, u64, usize, Vec<(String, u64)>, usize, usize, u64, u64, Vec<String>, f64);

/// How far a merge is; looked at while it goes on.
#[pyclass(frozen, module = "farroot._core")]
pub struct Merging {
    pub now: Arc<Mutex<MergeProgress>>,
}

#[pymethods]
impl Merging {
    #[new]
    fn new() -> Self {
        Merging { now: Arc::default() }
    }

    /// Inputs that have been read, and all; bytes that have been copied, and all.
    fn now(&self) -> (usize, usize, u64, u64) {
        let now = self.now.lock();
        (now.read, now.inputs, now.copied_bytes, now.total_bytes)
    }
}

/// How to merge.
#[derive(FromPyObject)]
pub struct MergeChoice {
    overwrite: bool,
    append: bool,
    only: Vec<String>,
    without: Vec<String>,
    missing: String,
    tables: bool,
    skip_bad: bool,
    reproducible: bool,
    recompress: Option<NumberAndLevel>,
    basket_bytes: Option<u64>,
}

impl MergeChoice {
    fn options(self, py: Python<'_>) -> PyResult<MergeOptions> {
        let recompress = self.recompress.map(|chosen| compression_of(py, chosen)).transpose()?;
        Ok(MergeOptions {
            compression: recompress.unwrap_or(MergeOptions::default().compression),
            recompress,
            basket_bytes: self.basket_bytes,
            overwrite: self.overwrite,
            append: self.append,
            only: self.only,
            without: self.without,
            missing: match &*self.missing {
                "filter" => Missing::Filter,
                "union" => Missing::Union,
                _ => Missing::Strict,
            },
            without_tables: !self.tables,
            skip_bad: self.skip_bad,
            reproducible: self.reproducible,
        })
    }
}

/// Merges files.
#[pyfunction]
pub fn merge(
    py: Python<'_>,
    output: String,
    inputs: Vec<String>,
    choice: MergeChoice,
    progress: &Bound<'_, Merging>,
) -> PyResult<MergedTuple> {
    let options = choice.options(py)?;
    let engine = engine(py)?;
    let now = progress.get().now.clone();
    let record = |progress: MergeProgress| *now.lock() = progress;
    let merged = wait(py, &engine, engine.merge(&output, &inputs, &options, &record))?;
    let merged = merged.map_err(|error| exception(py, &error))?;
    warn_of_upload(py, &merged.written.warnings)?;
    Ok((
        merged.written.address,
        merged.written.size,
        merged.inputs,
        merged.tables,
        merged.histograms,
        merged.objects,
        merged.records,
        merged.copied_bytes,
        merged.notes,
        merged.time.as_secs_f64(),
    ))
}
