//! Trees and reading them.

use engine::{BranchId, Column, Cut, Place, Step, Wish};
use numpy::PyArray1;
use parking_lot::Mutex;
use pyo3::prelude::*;

use crate::columns::columns;
use crate::cut::Raised;
use crate::error::exception;
use crate::file::File;
use crate::lazy::Lazy;
use crate::runtime::{Owned, engine, invalid, wait};

/// A tree of an open file.
#[pyclass(frozen, module = "farroot._core")]
pub struct Tree {
    tree: Owned<engine::Tree>,
}

/// First and last entry, half open, what a cut has left of them, and the columns.
type Read = (u64, u64, Survivors, Vec<Py<PyAny>>);

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

    pub fn columns(&self, py: Python<'_>, branches: &[u32]) -> PyResult<Vec<Column>> {
        let tree = self.inner(py)?;
        let column = |branch: &u32| {
            let branch = self.branch(py, *branch)?;
            tree.column(branch).map_err(|error| exception(py, &error))
        };
        branches.iter().map(column).collect()
    }

    fn cut(
        &self,
        py: Python<'_>,
        cut: Option<(Vec<u32>, Py<PyAny>)>,
    ) -> PyResult<(Option<Cut>, Raised)> {
        let Some((branches, function)) = cut else { return Ok(Default::default()) };
        let names = self.inner(py)?.names();
        let path = |branch: &u32| Ok(names.path(self.branch(py, *branch)?).to_owned());
        let paths = branches.iter().map(path).collect::<PyResult<_>>()?;
        Ok(by_function(Some((paths, function))))
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

    #[pyo3(signature = (branches, start, stop, cut = None))]
    fn read(
        &self,
        py: Python<'_>,
        branches: Vec<u32>,
        start: u64,
        stop: u64,
        cut: Option<(Vec<u32>, Py<PyAny>)>,
    ) -> PyResult<(Survivors, Vec<Py<PyAny>>)> {
        let tree = self.inner(py)?;
        let columns = self.columns(py, &branches)?;
        let (cut, raised) = self.cut(py, cut)?;
        let read = async {
            match &cut {
                Some(cut) => tree.read_where(columns, cut, start..stop).await,
                None => tree.read(columns, start..stop).await,
            }
        };
        let batch = wait(py, &engine(py)?, read)?.map_err(|error| raised.or(py, &error))?;
        let (_, _, survivors, columns) = handed_out(py, batch)?;
        Ok((survivors, columns))
    }

    #[pyo3(signature = (branches, start, stop, cut = None, *, step_entries = None, step_bytes = None))]
    #[expect(clippy::too_many_arguments, reason = "they are the arguments of the Python method")]
    fn batches(
        &self,
        py: Python<'_>,
        branches: Vec<u32>,
        start: u64,
        stop: u64,
        cut: Option<(Vec<u32>, Py<PyAny>)>,
        step_entries: Option<u64>,
        step_bytes: Option<u64>,
    ) -> PyResult<Batches> {
        let tree = self.inner(py)?;
        let columns = self.columns(py, &branches)?;
        let (cut, raised) = self.cut(py, cut)?;
        let step = step(step_entries, step_bytes);
        let begin = async {
            match &cut {
                Some(cut) => tree.batches_where(columns, cut, start..stop, step),
                None => tree.batches(columns, start..stop, step),
            }
        };
        let batches = wait(py, &engine(py)?, begin)?.map_err(|error| exception(py, &error))?;
        Ok(Batches { batches: Owned::new(Mutex::new(batches)), raised })
    }

    /// Batches of which nothing is read before it is asked for; a step in bytes is the size that
    /// these branches together would have.
    #[pyo3(signature = (branches, start, stop, *, step_entries = None, step_bytes = None))]
    fn lazy(
        &self,
        py: Python<'_>,
        branches: Vec<u32>,
        start: u64,
        stop: u64,
        step_entries: Option<u64>,
        step_bytes: Option<u64>,
    ) -> PyResult<Lazy> {
        let columns = self.columns(py, &branches)?;
        let step = step(step_entries, step_bytes);
        Ok(Lazy::new(self.inner(py)?.lazy_batches(&columns, start..stop, step)))
    }
}

/// First and last entry (half open) of each run that a cut has left; `None` where there is no cut.
type Survivors = Option<Py<PyArray1<i64>>>;

/// A batch as Python gets it.
fn handed_out(py: Python<'_>, batch: engine::Batch) -> PyResult<Read> {
    let entries = batch.entries.clone();
    let survivors = batch.survivors.as_ref().map(|runs| {
        let bounds = runs.iter().flat_map(|run| [run.start as i64, run.end as i64]);
        PyArray1::from_iter(py, bounds).unbind()
    });
    Ok((entries.start, entries.end, survivors, columns(py, batch)?))
}

/// A read in steps; dropping it ends the read.
#[pyclass(frozen, module = "farroot._core")]
pub struct Batches {
    batches: Owned<Mutex<engine::Batches>>,
    raised: Raised,
}

impl Batches {
    pub fn new(batches: engine::Batches) -> Self {
        Batches { batches: Owned::new(Mutex::new(batches)), raised: Raised::default() }
    }
}

#[pymethods]
impl Batches {
    fn next(&self, py: Python<'_>) -> PyResult<Option<Read>> {
        let batches = self.batches.here(py)?;
        let mut batches = batches.try_lock().ok_or_else(|| in_use(py))?;
        let Some(batch) = wait(py, &engine(py)?, batches.next())? else { return Ok(None) };
        let batch = batch.map_err(|error| self.raised.or(py, &error))?;
        Ok(Some(handed_out(py, batch)?))
    }
}

/// Many trees read in steps, one after the other; dropping it ends the read.
#[pyclass(frozen, module = "farroot._core")]
pub struct Parts {
    parts: Owned<Mutex<engine::Parts>>,
    raised: Raised,
}

/// Number of the place, and what is read of its tree as in [`Read`].
type PartRead = (usize, u64, u64, Survivors, Vec<Py<PyAny>>);

#[pymethods]
impl Parts {
    fn next(&self, py: Python<'_>) -> PyResult<Option<PartRead>> {
        let parts = self.parts.here(py)?;
        let mut parts = parts.try_lock().ok_or_else(|| in_use(py))?;
        let Some(part) = wait(py, &engine(py)?, parts.next())? else { return Ok(None) };
        let part = part.map_err(|error| self.raised.or(py, &error))?;
        let (start, stop, survivors, columns) = handed_out(py, part.batch)?;
        Ok(Some((part.file, start, stop, survivors, columns)))
    }
}

/// Reads the same columns of many trees: URL, path, and the tree itself where it is open.
#[pyfunction]
#[pyo3(signature = (places, branches, cut = None, *, step_entries = None, step_bytes = None))]
pub fn parts(
    py: Python<'_>,
    places: Vec<(String, Option<String>, Option<Py<Tree>>)>,
    branches: Vec<String>,
    cut: Option<(Vec<String>, Py<PyAny>)>,
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
    let (cut, raised) = by_function(cut);
    let wish = Wish {
        patterns: Some(branches),
        entries: 0..u64::MAX,
        step: step(step_entries, step_bytes),
        cut,
    };
    let parts = engine(py)?.parts(located, wish);
    Ok(Parts { parts: Owned::new(Mutex::new(parts)), raised })
}

fn by_function(cut: Option<(Vec<String>, Py<PyAny>)>) -> (Option<Cut>, Raised) {
    let made = cut.map(|(columns, function)| crate::cut::cut(columns, function));
    made.map_or_else(Default::default, |(cut, raised)| (Some(cut), raised))
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
