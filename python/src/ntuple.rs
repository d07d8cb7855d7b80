//! RNTuples and reading them.

use std::sync::Arc;

use engine::{Chosen, Columns, Cut, FieldColumn, NtupleColumns, Table};
use numpy::PyArray1;
use pyo3::prelude::*;

use crate::cut::{Raised, by_function};
use crate::error::exception;
use crate::file::File;
use crate::lazy::Lazy;
use crate::runtime::{Owned, engine, invalid, wait};
use crate::selected::{LinkTuple, NamedFriend, OfFriend, OutlineTuple, links, outlines, select};
use crate::steps::{Batches, Survivors, handed_out, step};

/// An RNTuple of an open file, or a chain of which this is the first RNTuple.
#[pyclass(frozen, module = "farroot._core")]
pub struct Ntuple {
    ntuple: Owned<engine::Ntuple>,
    chain: Option<Owned<engine::Chain>>,
    /// What it is besides, where it was opened as an attribute set.
    set: Option<Owned<engine::AttributeSet>>,
}

/// A field in the lists that it is in or, with fields to keep, one at the top with only those.
type Own = (usize, Option<Vec<usize>>);

/// What is read: a field of the RNTuple itself, or a column of a friend.
#[derive(FromPyObject)]
pub enum Key {
    Own(Own),
    Friends(OfFriend),
}

/// What decides, and how.
type Decision = (Vec<Key>, Py<PyAny>);

/// Name, number of the field above, C++ type and description.
type Field = (String, Option<usize>, String, String);

impl Ntuple {
    pub fn new(ntuple: engine::Ntuple, chain: Option<engine::Chain>) -> Self {
        Ntuple { ntuple: Owned::new(ntuple), chain: chain.map(Owned::new), set: None }
    }

    fn of_set(set: engine::AttributeSet) -> Self {
        Ntuple { set: Some(Owned::new(set.clone())), ..Ntuple::new(set.ntuple().clone(), None) }
    }

    pub fn inner(&self, py: Python<'_>) -> PyResult<&engine::Ntuple> {
        self.ntuple.here(py)
    }

    /// What is read.
    pub fn table(&self, py: Python<'_>) -> PyResult<Arc<dyn Table>> {
        Ok(match &self.chain {
            Some(chain) => Arc::new(chain.here(py)?.clone()),
            None => Arc::new(self.inner(py)?.clone()),
        })
    }

    fn column(&self, py: Python<'_>, (field, keep): &Own) -> PyResult<FieldColumn> {
        let ntuple = self.inner(py)?;
        let column = match keep {
            None => ntuple.column(*field),
            Some(keep) => ntuple.pruned(*field, keep),
        };
        column.map_err(|error| exception(py, &error))
    }

    fn path_of(&self, py: Python<'_>, field: usize) -> PyResult<String> {
        match self.inner(py)?.names().all().get(field) {
            Some(named) => Ok(named.path.clone()),
            None => Err(invalid(py, &format!("there is no field number {field}"))),
        }
    }

    /// The columns that are asked for.
    fn selected(
        &self,
        py: Python<'_>,
        asked: Vec<Key>,
        friends: Vec<NamedFriend>,
        cut: Option<&Cut>,
    ) -> PyResult<Box<dyn Columns>> {
        let ntuple = self.inner(py)?;
        let of_friends = |name: &String| ntuple.find(name).is_none();
        let by_name = self.chain.is_some()
            || asked.iter().any(|key| matches!(key, Key::Friends(_)))
            || cut.is_some_and(|cut| cut.columns.iter().any(of_friends));
        if by_name {
            let chosen = asked.iter().map(|key| self.chosen(py, key)).collect::<PyResult<_>>()?;
            return select(py, &self.table(py)?, friends, chosen, cut);
        }
        let own = |key: &Key| match key {
            Key::Own(own) => Some(self.column(py, own)),
            Key::Friends(_) => None,
        };
        let columns = asked.iter().filter_map(own).collect::<PyResult<_>>()?;
        Ok(Box::new(NtupleColumns::new(ntuple.clone(), columns)))
    }

    fn chosen(&self, py: Python<'_>, key: &Key) -> PyResult<Chosen> {
        let (field, keep) = match key {
            Key::Own(own) => own,
            Key::Friends(key) => return Ok(key.chosen(false)),
        };
        let paths = |keep: &Vec<usize>| keep.iter().map(|field| self.path_of(py, *field)).collect();
        let keep = keep.as_ref().map(paths).transpose()?;
        let name = self.path_of(py, *field)?;
        Ok(Chosen { name, optional: false, as_bytes: false, keep })
    }

    fn cut(&self, py: Python<'_>, cut: Option<Decision>) -> PyResult<(Option<Cut>, Raised)> {
        let Some((keys, function)) = cut else { return Ok(Default::default()) };
        let name = |key: &Key| match key {
            Key::Own((field, _)) => self.path_of(py, *field),
            Key::Friends(key) => Ok(key.name()),
        };
        let names = keys.iter().map(name).collect::<PyResult<_>>()?;
        Ok(by_function(Some((names, function))))
    }
}

#[pymethods]
impl Ntuple {
    #[getter]
    fn file(&self, py: Python<'_>) -> PyResult<File> {
        Ok(File::new(self.inner(py)?.file().clone()))
    }

    #[getter]
    fn name(&self, py: Python<'_>) -> PyResult<&str> {
        Ok(&self.inner(py)?.metadata().schema.name)
    }

    #[getter]
    fn path(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.table(py)?.path().to_owned())
    }

    #[getter]
    fn description(&self, py: Python<'_>) -> PyResult<&str> {
        Ok(&self.inner(py)?.metadata().schema.description)
    }

    #[getter]
    fn num_entries(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.table(py)?.num_entries())
    }

    /// Address, path, first and last entry (half open) of each RNTuple of a chain.
    fn links(&self, py: Python<'_>) -> PyResult<Option<Vec<LinkTuple>>> {
        self.chain.as_ref().map(|chain| Ok(links(chain.here(py)?))).transpose()
    }

    /// The fields that can be asked for, each followed by those in it.
    fn fields(&self, py: Python<'_>) -> PyResult<Vec<Field>> {
        let ntuple = self.inner(py)?;
        let fields = &ntuple.metadata().schema.fields;
        let all = ntuple.names().all().iter().map(|named| {
            let field = &fields[named.field as usize];
            let (typename, description) = (field.typename.clone(), field.description.clone());
            (named.name.clone(), named.parent, typename, description)
        });
        Ok(all.collect())
    }

    /// Names of the attribute sets that are linked to it; of a chain none is.
    fn attribute_sets(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        if self.chain.is_some() {
            return Ok(Vec::new());
        }
        let sets = self.inner(py)?.attribute_sets();
        Ok(sets.iter().map(|set| set.name.clone()).collect())
    }

    /// Opens an attribute set.
    fn attribute_set(&self, py: Python<'_>, name: &str) -> PyResult<Ntuple> {
        let opened = wait(py, &engine(py)?, self.inner(py)?.attribute_set(name))?;
        opened.map(Ntuple::of_set).map_err(|error| exception(py, &error))
    }

    /// Of an attribute set, which version its fields have: major and minor.
    fn schema_version(&self, py: Python<'_>) -> PyResult<Option<(u16, u16)>> {
        let version = |set: &Owned<engine::AttributeSet>| {
            let [major, minor] = set.here(py)?.schema_version();
            Ok((major, minor))
        };
        self.set.as_ref().map(version).transpose()
    }

    /// Of an attribute set, first and last entry (half open) that each of its entries is about.
    fn ranges(&self, py: Python<'_>) -> PyResult<Py<PyArray1<i64>>> {
        let Some(set) = &self.set else { return Err(invalid(py, "it is no attribute set")) };
        let ranges = wait(py, &engine(py)?, set.here(py)?.ranges())?;
        let ranges = ranges.map_err(|error| exception(py, &error))?;
        let bounds = ranges.iter().flat_map(|range| [range.start as i64, range.end as i64]);
        Ok(PyArray1::from_iter(py, bounds).unbind())
    }

    /// The type of an entry, in Awkward's spelling.
    fn datashape(&self, py: Python<'_>, column: Own) -> PyResult<String> {
        Ok(self.column(py, &column)?.datashape())
    }

    #[pyo3(signature = (wanted, start, stop, cut = None, *, friends = Vec::new()))]
    fn read(
        &self,
        py: Python<'_>,
        wanted: Vec<Key>,
        start: u64,
        stop: u64,
        cut: Option<Decision>,
        friends: Vec<NamedFriend>,
    ) -> PyResult<(Survivors, Vec<Py<PyAny>>)> {
        let (cut, raised) = self.cut(py, cut)?;
        let selected = self.selected(py, wanted, friends, cut.as_ref())?;
        let read = selected.read_where(cut.as_ref(), start..stop);
        let batch = wait(py, &engine(py)?, read)?.map_err(|error| raised.or(py, &error))?;
        let (_, _, survivors, columns) = handed_out(py, batch)?;
        Ok((survivors, columns))
    }

    #[pyo3(signature = (wanted, start, stop, cut = None, *, friends = Vec::new(), step_entries = None, step_bytes = None))]
    #[expect(clippy::too_many_arguments, reason = "they are the arguments of the Python method")]
    fn batches(
        &self,
        py: Python<'_>,
        wanted: Vec<Key>,
        start: u64,
        stop: u64,
        cut: Option<Decision>,
        friends: Vec<NamedFriend>,
        step_entries: Option<u64>,
        step_bytes: Option<u64>,
    ) -> PyResult<Batches> {
        let (cut, raised) = self.cut(py, cut)?;
        let selected = self.selected(py, wanted, friends, cut.as_ref())?;
        let begin = selected.batches(start..stop, step(step_entries, step_bytes), cut.as_ref());
        let batches = wait(py, &engine(py)?, begin)?.map_err(|error| exception(py, &error))?;
        Ok(Batches::new(batches, raised))
    }

    /// Batches of which nothing is read before it is asked for; a step in bytes is the size that
    /// these columns together would have.
    #[pyo3(signature = (wanted, start, stop, *, friends = Vec::new(), step_entries = None, step_bytes = None))]
    #[expect(clippy::too_many_arguments, reason = "they are the arguments of the Python method")]
    fn lazy(
        &self,
        py: Python<'_>,
        wanted: Vec<Key>,
        start: u64,
        stop: u64,
        friends: Vec<NamedFriend>,
        step_entries: Option<u64>,
        step_bytes: Option<u64>,
    ) -> PyResult<Lazy> {
        let columns = self.selected(py, wanted, friends, None)?;
        Lazy::start(py, &*columns, start..stop, step(step_entries, step_bytes))
    }

    /// What reading would fetch, table by table.
    #[pyo3(signature = (wanted, start, stop, *, friends = Vec::new()))]
    fn plan(
        &self,
        py: Python<'_>,
        wanted: Vec<Key>,
        start: u64,
        stop: u64,
        friends: Vec<NamedFriend>,
    ) -> PyResult<Vec<OutlineTuple>> {
        outlines(py, &*self.selected(py, wanted, friends, None)?, start..stop)
    }
}
