//! Several files as one.

use std::sync::Arc;

use engine::{MergeOptions, MergeProgress, Missing};
use parking_lot::Mutex;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::error::exception;
use crate::runtime::{engine, wait};

/// Output, size, inputs, tables, histograms, objects, records, copied bytes, notes and seconds.
type MergedTuple =
    (String, u64, usize, Vec<(String, u64)>, usize, usize, u64, u64, Vec<String>, f64);

/// How far a merge is; looked at while it goes on.
#[pyclass(frozen, module = "farroot._core")]
pub struct Merging {
    now: Arc<Mutex<MergeProgress>>,
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

/// Merges files.
#[pyfunction]
#[pyo3(signature = (output, inputs, overwrite, missing, tables, reproducible, progress))]
pub fn merge(
    py: Python<'_>,
    output: String,
    inputs: Vec<String>,
    overwrite: bool,
    missing: &str,
    tables: bool,
    reproducible: bool,
    progress: &Bound<'_, Merging>,
) -> PyResult<MergedTuple> {
    let missing = match missing {
        "strict" => Missing::Strict,
        "filter" => Missing::Filter,
        other => {
            let text = format!("missing={other:?}: \"strict\" or \"filter\"");
            return Err(PyValueError::new_err(text));
        }
    };
    let without_tables = !tables;
    let options = MergeOptions {
        overwrite,
        missing,
        without_tables,
        reproducible,
        ..MergeOptions::default()
    };
    let engine = engine(py)?;
    let now = progress.get().now.clone();
    let record = |progress: MergeProgress| *now.lock() = progress;
    let merged = wait(py, &engine, engine.merge(&output, &inputs, &options, &record))?;
    let merged = merged.map_err(|error| exception(py, &error))?;
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
