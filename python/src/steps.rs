//! Reads in steps.

use mutex::Mutex;
use pyo3::prelude::*;

use crate::batch::Batch;
use crate::cut::Raised;
use crate::runtime::{Owned, engine, invalid, wait};

/// A read in steps; dropping it ends the read.
#[pyclass(frozen, module = "farroot._core")]
pub struct Batches {
    batches: Owned<Mutex<(engine::Expressions, engine::Batches)>>,
    raised: Raised,
}

impl Batches {
    /// The batches of a read of the source's columns.
    pub fn new(source: engine::Expressions, batches: engine::Batches, raised: Raised) -> Self {
        Batches { batches: Owned::new(Mutex::new((source, batches))), raised }
    }
}

#[pymethods]
impl Batches {
    /// How many there are in all, where that is known beforehand.
    #[getter]
    fn steps(&self, py: Python<'_>) -> PyResult<Option<usize>> {
        let batches = self.batches.here(py)?.try_lock().ok_or_else(|| in_use(py))?;
        Ok(batches.1.steps())
    }

    fn next(&self, py: Python<'_>) -> PyResult<Option<Batch>> {
        let batches = self.batches.here(py)?;
        let mut guard = batches.try_lock().ok_or_else(|| in_use(py))?;
        let (source, batches) = &mut *guard;
        let next = async { Some(batches.next().await?.and_then(|batch| source.batch(batch))) };
        let Some(batch) = wait(py, &engine(py)?, next)? else { return Ok(None) };
        let batch = batch.map_err(|error| self.raised.or(py, &error))?;
        Batch::new(py, 0, batch).map(Some)
    }
}

/// An iterator has one reader.
pub fn in_use(py: Python<'_>) -> PyErr {
    invalid(py, "another thread waits for the next result of this iterator")
}
