//! Reads in steps.

use mutex::Mutex;
use pyo3::prelude::*;

use crate::batch::Batch;
use crate::cut::Raised;
use crate::runtime::{Owned, engine, invalid, wait};

/// A read in steps; dropping it ends the read.
#[pyclass(frozen, module = "farroot._core")]
pub struct Batches {
    batches: Owned<Mutex<engine::Batches>>,
    raised: Raised,
}

impl Batches {
    pub fn new(batches: engine::Batches, raised: Raised) -> Self {
        Batches { batches: Owned::new(Mutex::new(batches)), raised }
    }
}

#[pymethods]
impl Batches {
    /// How many there are in all, where that is known beforehand.
    #[getter]
    fn steps(&self, py: Python<'_>) -> PyResult<Option<usize>> {
        let batches = self.batches.here(py)?.try_lock().ok_or_else(|| in_use(py))?;
        Ok(batches.steps())
    }

    fn next(&self, py: Python<'_>) -> PyResult<Option<Batch>> {
        let batches = self.batches.here(py)?;
        let mut batches = batches.try_lock().ok_or_else(|| in_use(py))?;
        let Some(batch) = wait(py, &engine(py)?, batches.next())? else { return Ok(None) };
        let batch = batch.map_err(|error| self.raised.or(py, &error))?;
        Batch::new(py, 0, batch).map(Some)
    }
}

/// An iterator has one reader.
pub fn in_use(py: Python<'_>) -> PyErr {
    invalid(py, "another thread waits for the next result of this iterator")
}
