//! RNTuples and reading them.

use engine::{Cut, FieldColumn};
use pyo3::prelude::*;

use crate::cut::{Raised, by_function};
use crate::error::exception;
use crate::file::File;
use crate::lazy::Lazy;
use crate::runtime::{Owned, engine, invalid, wait};
use crate::steps::{Batches, Survivors, handed_out, step};

/// An RNTuple of an open file.
#[pyclass(frozen, module = "farroot._core")]
pub struct Ntuple {
    ntuple: Owned<engine::Ntuple>,
}

/// A field in the lists that it is in or, with fields to keep, one at the top with only those.
type Wanted = (usize, Option<Vec<usize>>);

/// Name, number of the field above, C++ type and description.
type Field = (String, Option<usize>, String, String);

impl Ntuple {
    pub fn new(ntuple: engine::Ntuple) -> Self {
        Ntuple { ntuple: Owned::new(ntuple) }
    }

    pub fn inner(&self, py: Python<'_>) -> PyResult<&engine::Ntuple> {
        self.ntuple.here(py)
    }

    fn column(&self, py: Python<'_>, (field, keep): &Wanted) -> PyResult<FieldColumn> {
        let ntuple = self.inner(py)?;
        let column = match keep {
            None => ntuple.column(*field),
            Some(keep) => ntuple.pruned(*field, keep),
        };
        column.map_err(|error| exception(py, &error))
    }

    fn cut(
        &self,
        py: Python<'_>,
        cut: Option<(Vec<Wanted>, Py<PyAny>)>,
    ) -> PyResult<(Option<Cut>, Raised)> {
        let Some((fields, function)) = cut else { return Ok(Default::default()) };
        let names = self.inner(py)?.names().all();
        let path = |(field, _): &Wanted| match names.get(*field) {
            Some(named) => Ok(named.path.clone()),
            None => Err(invalid(py, &format!("there is no field number {field}"))),
        };
        let paths = fields.iter().map(path).collect::<PyResult<_>>()?;
        Ok(by_function(Some((paths, function))))
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
    fn path(&self, py: Python<'_>) -> PyResult<&str> {
        Ok(self.inner(py)?.path())
    }

    #[getter]
    fn description(&self, py: Python<'_>) -> PyResult<&str> {
        Ok(&self.inner(py)?.metadata().schema.description)
    }

    #[getter]
    fn num_entries(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.inner(py)?.num_entries())
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

    /// The type of an entry, in Awkward's spelling.
    fn datashape(&self, py: Python<'_>, column: Wanted) -> PyResult<String> {
        Ok(self.column(py, &column)?.datashape())
    }

    #[pyo3(signature = (wanted, start, stop, cut = None))]
    fn read(
        &self,
        py: Python<'_>,
        wanted: Vec<Wanted>,
        start: u64,
        stop: u64,
        cut: Option<(Vec<Wanted>, Py<PyAny>)>,
    ) -> PyResult<(Survivors, Vec<Py<PyAny>>)> {
        let ntuple = self.inner(py)?;
        let wanted = wanted.iter().map(|each| self.column(py, each)).collect::<PyResult<_>>()?;
        let (cut, raised) = self.cut(py, cut)?;
        let read = async {
            match &cut {
                Some(cut) => ntuple.read_where(wanted, cut, start..stop).await,
                None => ntuple.read(wanted, start..stop).await,
            }
        };
        let batch = wait(py, &engine(py)?, read)?.map_err(|error| raised.or(py, &error))?;
        let (_, _, survivors, columns) = handed_out(py, batch)?;
        Ok((survivors, columns))
    }

    #[pyo3(signature = (wanted, start, stop, cut = None, *, step_entries = None, step_bytes = None))]
    #[expect(clippy::too_many_arguments, reason = "they are the arguments of the Python method")]
    fn batches(
        &self,
        py: Python<'_>,
        wanted: Vec<Wanted>,
        start: u64,
        stop: u64,
        cut: Option<(Vec<Wanted>, Py<PyAny>)>,
        step_entries: Option<u64>,
        step_bytes: Option<u64>,
    ) -> PyResult<Batches> {
        let ntuple = self.inner(py)?;
        let wanted = wanted.iter().map(|each| self.column(py, each)).collect::<PyResult<_>>()?;
        let (cut, raised) = self.cut(py, cut)?;
        let step = step(step_entries, step_bytes);
        let begin = async {
            match &cut {
                Some(cut) => ntuple.batches_where(wanted, cut, start..stop, step).await,
                None => ntuple.batches(wanted, start..stop, step).await,
            }
        };
        let batches = wait(py, &engine(py)?, begin)?.map_err(|error| exception(py, &error))?;
        Ok(Batches::new(batches, raised))
    }

    /// Batches of which nothing is read before it is asked for; a step in bytes is the size that
    /// these columns together would have.
    #[pyo3(signature = (wanted, start, stop, *, step_entries = None, step_bytes = None))]
    fn lazy(
        &self,
        py: Python<'_>,
        wanted: Vec<Wanted>,
        start: u64,
        stop: u64,
        step_entries: Option<u64>,
        step_bytes: Option<u64>,
    ) -> PyResult<Lazy> {
        let columns = wanted.iter().map(|each| self.column(py, each)).collect::<PyResult<_>>()?;
        let columns = engine::Selected::Ntuple(self.inner(py)?.clone(), columns);
        Lazy::start(py, &columns, start..stop, step(step_entries, step_bytes))
    }
}
