//! Batches whose columns are read when they are looked at.

use engine::LazyBatches;
use pyo3::prelude::*;

use crate::error::exception;
use crate::runtime::{Owned, engine, invalid, wait};

/// Goes through a tree or an RNTuple in steps; dropping it ends the reads under way.
#[pyclass(frozen, module = "farroot._core")]
pub struct Lazy {
    batches: Owned<LazyBatches>,
}

impl Lazy {
    /// Begins to go through entries of some columns.
    pub fn start(
        py: Python<'_>,
        columns: &dyn engine::Columns,
        entries: std::ops::Range<u64>,
        step: engine::Step,
    ) -> PyResult<Self> {
        let begin = columns.lazy_batches(entries, step);
        let batches = wait(py, &engine(py)?, begin)?.map_err(|error| exception(py, &error))?;
        Ok(Lazy { batches: Owned::new(batches) })
    }

    fn position(&self, py: Python<'_>, column: usize) -> PyResult<&LazyBatches> {
        let batches = self.batches.here(py)?;
        match column < batches.columns().len() {
            true => Ok(batches),
            false => Err(invalid(py, &format!("there is no column number {column}"))),
        }
    }
}

#[pymethods]
impl Lazy {
    /// First and last entry, half open, of the next batch.
    fn next(&self, py: Python<'_>) -> PyResult<Option<(u64, u64)>> {
        let batches = self.batches.here(py)?;
        let next = wait(py, &engine(py)?, batches.next())?;
        let next = next.transpose().map_err(|error| exception(py, &error))?;
        Ok(next.map(|entries| (entries.start, entries.end)))
    }

    /// The values of the column at a position for some entries.
    fn get(&self, py: Python<'_>, column: usize, start: u64, stop: u64) -> PyResult<Py<PyAny>> {
        let get = self.position(py, column)?.get(column, start..stop);
        let array = wait(py, &engine(py)?, get)?.map_err(|error| exception(py, &error))?;
        crate::columns::column(py, array)
    }

    /// The column at a position without entries.
    fn empty(&self, py: Python<'_>, column: usize) -> PyResult<Py<PyAny>> {
        let mut empty = self.position(py, column)?.columns().pick(&[column]).empty();
        crate::columns::column(py, empty.swap_remove(0).1)
    }
}
