//! Trees and reading them.

use engine::{BranchId, Chosen, Column, Cut, Selected, Step, Table, Wanted};
use numpy::PyArray1;
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

/// What is read: a branch of the tree itself, or of a friend by that one's name and the path in it.
#[derive(FromPyObject)]
pub enum Key {
    Own(u32),
    Friends((String, String)),
}

/// Branches, and whether they may be left out.
type Asked = Vec<(Key, bool)>;

/// What decides, and how.
type Decision = (Vec<Key>, Py<PyAny>);

/// Expressions and arrays of an index.
type Index = (String, String, Py<PyArray1<i64>>, Py<PyArray1<i64>>, Py<PyArray1<i64>>);

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

    /// The columns that are asked for; friends that they are of are opened.
    fn selected(&self, py: Python<'_>, asked: Asked, cut: Option<&Cut>) -> PyResult<Selected> {
        let tree = self.inner(py)?;
        let of_friends = |name: &String| tree.names().find(name).is_none();
        let joined = asked.iter().any(|(key, _)| matches!(key, Key::Friends(_)))
            || cut.is_some_and(|cut| cut.columns.iter().any(of_friends));
        if joined {
            let chosen = |(key, optional): &(Key, bool)| {
                // Whoever wants bytes has told the tree, or the friend, itself.
                let (name, optional, as_bytes) = (self.name_of(py, key)?, *optional, false);
                Ok(Chosen { name, optional, as_bytes })
            };
            let wanted = Wanted::Chosen(asked.iter().map(chosen).collect::<PyResult<_>>()?);
            let (engine, table) = (engine(py)?, Table::Tree(tree.clone()));
            let select = engine.select_for(&table, &wanted, cut);
            return wait(py, &engine, select)?.map_err(|error| exception(py, &error));
        }
        let mut columns = Vec::with_capacity(asked.len());
        for (key, optional) in asked {
            let Key::Own(branch) = key else { continue };
            let column = self.columns(py, &[branch])?.into_iter();
            columns.extend(column.map(|column| Column { optional, ..column }));
        }
        Ok(Selected::Tree(tree.clone(), columns))
    }

    /// What a column is called.
    fn name_of(&self, py: Python<'_>, key: &Key) -> PyResult<String> {
        Ok(match key {
            Key::Own(branch) => self.inner(py)?.names().path(self.branch(py, *branch)?).to_owned(),
            Key::Friends((friend, path)) => format!("{friend}.{path}"),
        })
    }

    fn cut(&self, py: Python<'_>, cut: Option<Decision>) -> PyResult<(Option<Cut>, Raised)> {
        let Some((keys, function)) = cut else { return Ok(Default::default()) };
        let names = keys.iter().map(|key| self.name_of(py, key)).collect::<PyResult<_>>()?;
        Ok(by_function(Some((names, function))))
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

    /// Name, path and file of each friend.
    fn friend_places(&self, py: Python<'_>) -> PyResult<Vec<(String, String, String)>> {
        let places = self.inner(py)?.friend_places().map_err(|error| exception(py, &error))?;
        Ok(places.into_iter().map(|place| (place.name, place.tree, place.file)).collect())
    }

    /// Opens a friend.
    fn friend(&self, py: Python<'_>, name: &str) -> PyResult<Tree> {
        let (tree, engine) = (self.inner(py)?, engine(py)?);
        let friend = wait(py, &engine, engine.friend(tree, name))?;
        Ok(Tree::new(friend.map_err(|error| exception(py, &error))?.tree))
    }

    /// Expressions of the major and the minor number, these, and their entries.
    fn index(&self, py: Python<'_>) -> PyResult<Option<Index>> {
        let index = self.inner(py)?.index().map_err(|error| exception(py, &error))?;
        let array = |numbers: &[i64]| PyArray1::from_slice(py, numbers).unbind();
        Ok(index.map(|index| {
            let (major, minor) = (array(&index.major), array(&index.minor));
            let entries = array(&index.entries);
            (index.major_name.clone(), index.minor_name.clone(), major, minor, entries)
        }))
    }

    #[pyo3(signature = (branches, start, stop, cut = None))]
    fn read(
        &self,
        py: Python<'_>,
        branches: Asked,
        start: u64,
        stop: u64,
        cut: Option<Decision>,
    ) -> PyResult<(Survivors, Vec<Py<PyAny>>)> {
        let (cut, raised) = self.cut(py, cut)?;
        let selected = self.selected(py, branches, cut.as_ref())?;
        let read = selected.read_where(cut.as_ref(), start..stop);
        let batch = wait(py, &engine(py)?, read)?.map_err(|error| raised.or(py, &error))?;
        let (_, _, survivors, columns) = handed_out(py, batch)?;
        Ok((survivors, columns))
    }

    #[pyo3(signature = (branches, start, stop, cut = None, *, step_entries = None, step_bytes = None))]
    #[expect(clippy::too_many_arguments, reason = "they are the arguments of the Python method")]
    fn batches(
        &self,
        py: Python<'_>,
        branches: Asked,
        start: u64,
        stop: u64,
        cut: Option<Decision>,
        step_entries: Option<u64>,
        step_bytes: Option<u64>,
    ) -> PyResult<Batches> {
        let (cut, raised) = self.cut(py, cut)?;
        let selected = self.selected(py, branches, cut.as_ref())?;
        let step: Step = step(step_entries, step_bytes);
        let begin = selected.batches(start..stop, step, cut.as_ref());
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
        let columns = engine::Selected::Tree(self.inner(py)?.clone(), columns);
        Lazy::start(py, &columns, start..stop, step)
    }
}
