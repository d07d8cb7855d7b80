//! Trees and reading them.

use engine::{BranchId, Column, Place, Step, Wish};
use parking_lot::Mutex;
use pyo3::prelude::*;

use crate::columns::columns;
use crate::error::exception;
use crate::file::File;
use crate::runtime::{Owned, engine, invalid, wait};

/// A tree of an open file.
#[pyclass(frozen, module = "farroot._core")]
pub struct Tree {
    tree: Owned<engine::Tree>,
}

/// First and last entry, half open, and the columns.
type Read = (u64, u64, Vec<Py<PyAny>>);

impl Tree {
    pub fn new(tree: engine::Tree) -> Self {
        Tree { tree: Owned::new(tree) }
    }

    fn inner(&self, py: Python<'_>) -> PyResult<&engine::Tree> {
        self.tree.here(py)
    }

    fn branch(&self, py: Python<'_>, branch: u32) -> PyResult<BranchId> {
        if (branch as usize) < self.inner(py)?.metadata().branches.len() {
            Ok(BranchId(branch))
        } else {
            Err(invalid(py, &format!("there is no branch number {branch}")))
        }
    }

    fn columns(&self, py: Python<'_>, branches: &[u32]) -> PyResult<Vec<Column>> {
        let tree = self.inner(py)?;
        let column = |branch: &u32| {
            let branch = self.branch(py, *branch)?;
            tree.column(branch).map_err(|error| exception(py, &error))
        };
        branches.iter().map(column).collect()
    }
}

#[pymethods]
impl Tree {
    #[getter]
    fn file(&self, py: Python<'_>) -> PyResult<File> {
        Ok(File::new(self.inner(py)?.file().clone()))
    }

    #[getter]
    fn name(&self, py: Python<'_>) -> PyResult<&str> {
        Ok(&self.inner(py)?.metadata().name)
    }

    #[getter]
    fn title(&self, py: Python<'_>) -> PyResult<&str> {
        Ok(&self.inner(py)?.metadata().title)
    }

    #[getter]
    fn path(&self, py: Python<'_>) -> PyResult<&str> {
        Ok(self.inner(py)?.path())
    }

    #[getter]
    fn num_entries(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.inner(py)?.num_entries())
    }

    #[getter]
    fn aliases(&self, py: Python<'_>) -> PyResult<Vec<(String, String)>> {
        Ok(self.inner(py)?.metadata().aliases.clone())
    }

    /// Name and parent of each branch, by number.
    fn branches(&self, py: Python<'_>) -> PyResult<Vec<(String, Option<u32>)>> {
        let branches = self.inner(py)?.metadata().branches.iter();
        Ok(branches.map(|b| (b.name.clone(), b.parent.map(|parent| parent.0))).collect())
    }

    fn branch_title(&self, py: Python<'_>, branch: u32) -> PyResult<&str> {
        let branch = self.branch(py, branch)?;
        Ok(&self.inner(py)?.metadata().branches[branch.0 as usize].title)
    }

    /// Compressed and uncompressed bytes, and number of baskets.
    fn branch_bytes(&self, py: Python<'_>, branch: u32) -> PyResult<(u64, u64, usize)> {
        let branch = self.branch(py, branch)?;
        let branch = &self.inner(py)?.metadata().branches[branch.0 as usize];
        Ok((branch.zip_bytes, branch.total_bytes, branch.baskets.len()))
    }

    /// Number of entries of the branch, which may differ from the tree's.
    fn branch_entries(&self, py: Python<'_>, branch: u32) -> PyResult<u64> {
        let branch = self.branch(py, branch)?;
        Ok(self.inner(py)?.metadata().branches[branch.0 as usize].entries)
    }

    fn typename(&self, py: Python<'_>, branch: u32) -> PyResult<String> {
        Ok(self.inner(py)?.typename(self.branch(py, branch)?))
    }

    fn is_group(&self, py: Python<'_>, branch: u32) -> PyResult<bool> {
        Ok(self.inner(py)?.is_group(self.branch(py, branch)?))
    }

    /// The type of an entry, in Awkward's spelling.
    fn datashape(&self, py: Python<'_>, branch: u32) -> PyResult<String> {
        let columns = self.columns(py, &[branch])?;
        Ok(columns.iter().map(Column::datashape).collect())
    }

    fn read(
        &self,
        py: Python<'_>,
        branches: Vec<u32>,
        start: u64,
        stop: u64,
    ) -> PyResult<Vec<Py<PyAny>>> {
        let read = self.inner(py)?.read(self.columns(py, &branches)?, start..stop);
        let batch = wait(py, &engine(py)?, read)?.map_err(|error| exception(py, &error))?;
        columns(py, batch)
    }

    #[pyo3(signature = (branches, start, stop, *, step_entries = None, step_bytes = None))]
    fn batches(
        &self,
        py: Python<'_>,
        branches: Vec<u32>,
        start: u64,
        stop: u64,
        step_entries: Option<u64>,
        step_bytes: Option<u64>,
    ) -> PyResult<Batches> {
        let tree = self.inner(py)?;
        let columns = self.columns(py, &branches)?;
        let begin = async { tree.batches(columns, start..stop, step(step_entries, step_bytes)) };
        let batches = wait(py, &engine(py)?, begin)?.map_err(|error| exception(py, &error))?;
        Ok(Batches::new(batches))
    }
}

/// A read in steps; dropping it ends the read.
#[pyclass(frozen, module = "farroot._core")]
pub struct Batches {
    batches: Owned<Mutex<engine::Batches>>,
}

impl Batches {
    pub fn new(batches: engine::Batches) -> Self {
        Batches { batches: Owned::new(Mutex::new(batches)) }
    }
}

#[pymethods]
impl Batches {
    fn next(&self, py: Python<'_>) -> PyResult<Option<Read>> {
        let batches = self.batches.here(py)?;
        let mut batches = batches.try_lock().ok_or_else(|| in_use(py))?;
        let Some(batch) = wait(py, &engine(py)?, batches.next())? else { return Ok(None) };
        let batch = batch.map_err(|error| exception(py, &error))?;
        let entries = batch.entries.clone();
        Ok(Some((entries.start, entries.end, columns(py, batch)?)))
    }
}

/// Many trees read in steps, one after the other; dropping it ends the read.
#[pyclass(frozen, module = "farroot._core")]
pub struct Parts {
    parts: Owned<Mutex<engine::Parts>>,
}

/// Number of the place, first and last entry in its tree, half open, and the columns.
type PartRead = (usize, u64, u64, Vec<Py<PyAny>>);

#[pymethods]
impl Parts {
    fn next(&self, py: Python<'_>) -> PyResult<Option<PartRead>> {
        let parts = self.parts.here(py)?;
        let mut parts = parts.try_lock().ok_or_else(|| in_use(py))?;
        let Some(part) = wait(py, &engine(py)?, parts.next())? else { return Ok(None) };
        let part = part.map_err(|error| exception(py, &error))?;
        let entries = part.batch.entries.clone();
        Ok(Some((part.file, entries.start, entries.end, columns(py, part.batch)?)))
    }
}

/// Reads the same columns of many trees: URL, path, and the tree itself where it is open.
#[pyfunction]
#[pyo3(signature = (places, branches, *, step_entries = None, step_bytes = None))]
pub fn parts(
    py: Python<'_>,
    places: Vec<(String, Option<String>, Option<Py<Tree>>)>,
    branches: Vec<String>,
    step_entries: Option<u64>,
    step_bytes: Option<u64>,
) -> PyResult<Parts> {
    let mut located = Vec::with_capacity(places.len());
    for (url, path, tree) in places {
        let open = match &tree {
            Some(tree) => Some(tree.get().inner(py)?.clone()),
            None => None,
        };
        located.push(Place { url, tree: path, open });
    }
    let wish = Wish {
        patterns: Some(branches),
        entries: 0..u64::MAX,
        step: step(step_entries, step_bytes),
        cut: None,
    };
    let parts = engine(py)?.parts(located, wish);
    Ok(Parts { parts: Owned::new(Mutex::new(parts)) })
}

pub fn step(entries: Option<u64>, bytes: Option<u64>) -> Step {
    match (entries, bytes) {
        (Some(entries), _) => Step::Entries(entries),
        (None, Some(bytes)) => Step::Bytes(bytes),
        (None, None) => Step::Whole,
    }
}

/// An iterator has one reader.
pub fn in_use(py: Python<'_>) -> PyErr {
    invalid(py, "another thread waits for the next result of this iterator")
}
