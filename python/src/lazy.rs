//! Batches whose columns are read when they are looked at.

use engine::LazyBatches;
use pyo3::prelude::*;

use crate::columns::column;
use crate::error::exception;
use crate::runtime::{Owned, engine, wait};
use crate::tree::Tree;

/// Goes through a tree in steps; dropping it ends what is under way.
#[pyclass(frozen, module = "farroot._core")]
pub struct Lazy {
    batches: Owned<LazyBatches>,
}

impl Lazy {
    pub fn new(batches: LazyBatches) -> Self {
        Lazy { batches: Owned::new(batches) }
    }
}

#[pymethods]
impl Lazy {
    /// First and last entry, half open, of the next batch.
    fn next(&self, py: Python<'_>) -> PyResult<Option<(u64, u64)>> {
        let batches = self.batches.here(py)?;
        Ok(wait(py, &engine(py)?, batches.next())?.map(|entries| (entries.start, entries.end)))
    }

    /// A branch's values for some entries.
    fn get(&self, py: Python<'_>, branch: u32, start: u64, stop: u64) -> PyResult<Py<PyAny>> {
        let batches = self.batches.here(py)?;
        let get = batches.get(engine::BranchId(branch), start..stop);
        let array = wait(py, &engine(py)?, get)?.map_err(|error| exception(py, &error))?;
        column(py, array)
    }
}

/// What a column without entries looks like.
#[pyfunction]
pub fn empty_column(py: Python<'_>, tree: &Tree, branch: u32) -> PyResult<Py<PyAny>> {
    let columns = tree.columns(py, &[branch])?;
    column(py, columns[0].interpretation.empty())
}
