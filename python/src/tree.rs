//! Trees and reading them.

use std::sync::Arc;

use engine::{BranchId, Chosen, Column, Columns, Cut, Step, Table, TreeColumns};
use numpy::PyArray1;
use pyo3::prelude::*;

use crate::cut::{Raised, by_function};
use crate::error::exception;
use crate::file::{File, object};
use crate::lazy::Lazy;
use crate::runtime::{Owned, engine, invalid, wait};
use crate::selected::{LinkTuple, NamedFriend, OfFriend, OutlineTuple, links, outlines, select};
use crate::steps::{Batches, Survivors, handed_out, step};

/// A tree of an open file, or a chain of which this is the first tree.
#[pyclass(frozen, module = "farroot._core")]
pub struct Tree {
    tree: Owned<engine::Tree>,
    chain: Option<Owned<engine::Chain>>,
}

/// What is read: a branch of the tree itself, or a column of a friend.
#[derive(FromPyObject)]
pub enum Key {
    Own(u32),
    Friends(OfFriend),
}

/// Branches, and whether they may be left out.
type Asked = Vec<(Key, bool)>;

/// What decides, and how.
type Decision = (Vec<Key>, Py<PyAny>);

/// First and last entry of a basket, and first and last byte of its record.
type BasketTuple = (u64, u64, Option<(u64, u64)>);

/// Expressions and arrays of an index.
type Index = (String, String, Py<PyArray1<i64>>, Py<PyArray1<i64>>, Py<PyArray1<i64>>);

impl Tree {
    pub fn new(tree: engine::Tree, chain: Option<engine::Chain>) -> Self {
        Tree { tree: Owned::new(tree), chain: chain.map(Owned::new) }
    }

    /// What is read.
    pub fn table(&self, py: Python<'_>) -> PyResult<Arc<dyn Table>> {
        Ok(match &self.chain {
            Some(chain) => Arc::new(chain.here(py)?.clone()),
            None => Arc::new(self.inner(py)?.clone()),
        })
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
    fn selected(
        &self,
        py: Python<'_>,
        asked: Asked,
        friends: Vec<NamedFriend>,
        cut: Option<&Cut>,
    ) -> PyResult<Box<dyn Columns>> {
        let tree = self.inner(py)?;
        let of_friends = |name: &String| tree.names().find(name).is_none();
        let by_name = self.chain.is_some()
            || asked.iter().any(|(key, _)| matches!(key, Key::Friends(_)))
            || cut.is_some_and(|cut| cut.columns.iter().any(of_friends));
        if by_name {
            let chosen = |(key, optional): &(Key, bool)| self.chosen(py, key, *optional);
            let chosen = asked.iter().map(chosen).collect::<PyResult<_>>()?;
            return select(py, &self.table(py)?, friends, chosen, cut);
        }
        let mut columns = Vec::with_capacity(asked.len());
        for (key, optional) in asked {
            let Key::Own(branch) = key else { continue };
            let column = self.columns(py, &[branch])?.into_iter();
            columns.extend(column.map(|column| Column { optional, ..column }));
        }
        Ok(Box::new(TreeColumns::new(tree.clone(), columns)))
    }

    fn chosen(&self, py: Python<'_>, key: &Key, optional: bool) -> PyResult<Chosen> {
        let of_friend = match key {
            Key::Own(_) => None,
            Key::Friends(key) => Some(key.chosen(optional)),
        };
        let own = || {
            // Of a tree, whoever wants bytes has told it.
            let (name, as_bytes, keep) = (self.name_of(py, key)?, self.is_of_bytes(py, key)?, None);
            Ok(Chosen { name, optional, as_bytes, keep })
        };
        of_friend.map_or_else(own, Ok)
    }

    /// Whether a branch of a chain is read as bytes, in each of its trees.
    fn is_of_bytes(&self, py: Python<'_>, key: &Key) -> PyResult<bool> {
        let Key::Own(branch) = key else { return Ok(false) };
        Ok(self.chain.is_some() && self.inner(py)?.is_read_as_bytes(self.branch(py, *branch)?))
    }

    /// What a column is called.
    fn name_of(&self, py: Python<'_>, key: &Key) -> PyResult<String> {
        Ok(match key {
            Key::Own(branch) => self.inner(py)?.names().path(self.branch(py, *branch)?).to_owned(),
            Key::Friends(key) => key.name(),
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
    fn path(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.table(py)?.path().to_owned())
    }

    #[getter]
    fn num_entries(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.table(py)?.num_entries())
    }

    #[getter]
    fn aliases(&self, py: Python<'_>) -> PyResult<Vec<(String, String)>> {
        let mut aliases = self.inner(py)?.metadata().aliases.clone();
        if let Some(chain) = &self.chain {
            aliases.extend_from_slice(chain.here(py)?.aliases());
        }
        Ok(aliases)
    }

    /// Address, path, first and last entry (half open) of each tree of a chain.
    fn links(&self, py: Python<'_>) -> PyResult<Option<Vec<LinkTuple>>> {
        self.chain.as_ref().map(|chain| Ok(links(chain.here(py)?))).transpose()
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

    /// Compressed and uncompressed bytes of all baskets, as the tree keeps them.
    fn bytes(&self, py: Python<'_>) -> PyResult<(u64, u64)> {
        let tree = self.inner(py)?.metadata();
        Ok((tree.zip_bytes, tree.total_bytes))
    }

    /// Of each basket of the branch its entries (half open), and its record in the file (half open,
    /// key included); none where it is in the tree's own record.
    fn baskets(&self, py: Python<'_>, branch: u32) -> PyResult<Vec<BasketTuple>> {
        let branch = self.branch(py, branch)?;
        let baskets = self.inner(py)?.metadata().branches[branch.0 as usize].baskets.iter();
        let told = baskets.map(|basket| {
            let record = basket.place.stored().map(|record| (record.start, record.end));
            (basket.entries.start, basket.entries.end, record)
        });
        Ok(told.collect())
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
        let places = self.table(py)?.friend_places().map_err(|error| exception(py, &error))?;
        Ok(places.into_iter().map(|place| (place.name, place.tree, place.file)).collect())
    }

    /// Opens a friend.
    fn friend(&self, py: Python<'_>, name: &str) -> PyResult<Py<PyAny>> {
        let (table, engine) = (self.table(py)?, engine(py)?);
        let friend = wait(py, &engine, engine.friend(&*table, name))?;
        object(py, friend.map_err(|error| exception(py, &error))?.table)
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

    #[pyo3(signature = (branches, start, stop, cut = None, *, friends = Vec::new()))]
    fn read(
        &self,
        py: Python<'_>,
        branches: Asked,
        start: u64,
        stop: u64,
        cut: Option<Decision>,
        friends: Vec<NamedFriend>,
    ) -> PyResult<(Survivors, Vec<Py<PyAny>>)> {
        let (cut, raised) = self.cut(py, cut)?;
        let selected = self.selected(py, branches, friends, cut.as_ref())?;
        let read = selected.read_where(cut.as_ref(), start..stop);
        let batch = wait(py, &engine(py)?, read)?.map_err(|error| raised.or(py, &error))?;
        let (_, _, survivors, columns) = handed_out(py, batch)?;
        Ok((survivors, columns))
    }

    #[pyo3(signature = (branches, start, stop, cut = None, *, friends = Vec::new(), step_entries = None, step_bytes = None))]
    #[expect(clippy::too_many_arguments, reason = "they are the arguments of the Python method")]
    fn batches(
        &self,
        py: Python<'_>,
        branches: Asked,
        start: u64,
        stop: u64,
        cut: Option<Decision>,
        friends: Vec<NamedFriend>,
        step_entries: Option<u64>,
        step_bytes: Option<u64>,
    ) -> PyResult<Batches> {
        let (cut, raised) = self.cut(py, cut)?;
        let selected = self.selected(py, branches, friends, cut.as_ref())?;
        let step: Step = step(step_entries, step_bytes);
        let begin = selected.batches(start..stop, step, cut.as_ref());
        let batches = wait(py, &engine(py)?, begin)?.map_err(|error| exception(py, &error))?;
        Ok(Batches::new(batches, raised))
    }

    /// Batches of which nothing is read before it is asked for; a step in bytes is the size that
    /// these branches together would have.
    #[pyo3(signature = (branches, start, stop, *, friends = Vec::new(), step_entries = None, step_bytes = None))]
    #[expect(clippy::too_many_arguments, reason = "they are the arguments of the Python method")]
    fn lazy(
        &self,
        py: Python<'_>,
        branches: Vec<Key>,
        start: u64,
        stop: u64,
        friends: Vec<NamedFriend>,
        step_entries: Option<u64>,
        step_bytes: Option<u64>,
    ) -> PyResult<Lazy> {
        let asked = branches.into_iter().map(|key| (key, false)).collect();
        let columns = self.selected(py, asked, friends, None)?;
        Lazy::start(py, &*columns, start..stop, step(step_entries, step_bytes))
    }

    /// What reading would fetch, table by table.
    #[pyo3(signature = (branches, start, stop, *, friends = Vec::new()))]
    fn plan(
        &self,
        py: Python<'_>,
        branches: Asked,
        start: u64,
        stop: u64,
        friends: Vec<NamedFriend>,
    ) -> PyResult<Vec<OutlineTuple>> {
        outlines(py, &*self.selected(py, branches, friends, None)?, start..stop)
    }
}
