//! Trees and reading them.

use engine::{BranchId, Column, Cut};
use pyo3::prelude::*;

use crate::cut::{Raised, by_function};
use crate::error::exception;
use crate::file::File;
use crate::lazy::Lazy;
use crate::runtime::{Owned, engine, invalid, wait};
use crate::steps::{Batches, Survivors, handed_out, step};

/// A tree of an open file.
#[pyclass(frozen, module = "farroot._core")]
pub struct Tree {
    tree: Owned<engine::Tree>,
}

impl Tree {
    pub fn new(tree: engine::Tree) -> Self {
        Tree { tree: Owned::new(tree) }
    }

    pub fn inner(&self, py: Python<'_>) -> PyResult<&engine::Tree> {
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

    /// Branches, and whether they may be left out.
    fn asked(&self, py: Python<'_>, branches: Vec<(u32, bool)>) -> PyResult<Vec<Column>> {
        let (branches, optional): (Vec<u32>, Vec<bool>) = branches.into_iter().unzip();
        let columns = self.columns(py, &branches)?.into_iter().zip(optional);
        Ok(columns.map(|(column, optional)| Column { optional, ..column }).collect())
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

    /// Has a branch read as the bytes of its entries.
    fn read_as_bytes(&self, py: Python<'_>, branch: u32) -> PyResult<()> {
        self.inner(py)?.read_as_bytes(self.branch(py, branch)?);
        Ok(())
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
        branches: Vec<(u32, bool)>,
        start: u64,
        stop: u64,
        cut: Option<(Vec<u32>, Py<PyAny>)>,
    ) -> PyResult<(Survivors, Vec<Py<PyAny>>)> {
        let tree = self.inner(py)?;
        let columns = self.asked(py, branches)?;
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
        branches: Vec<(u32, bool)>,
        start: u64,
        stop: u64,
        cut: Option<(Vec<u32>, Py<PyAny>)>,
        step_entries: Option<u64>,
        step_bytes: Option<u64>,
    ) -> PyResult<Batches> {
        let tree = self.inner(py)?;
        let columns = self.asked(py, branches)?;
        let (cut, raised) = self.cut(py, cut)?;
        let step = step(step_entries, step_bytes);
        let begin = async {
            match &cut {
                Some(cut) => tree.batches_where(columns, cut, start..stop, step),
                None => tree.batches(columns, start..stop, step),
            }
        };
        let batches = wait(py, &engine(py)?, begin)?.map_err(|error| exception(py, &error))?;
        Ok(Batches::new(batches, raised))
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
