//! RNTuples and reading them.

use engine::FieldColumn;
use pyo3::prelude::*;

use crate::columns::columns;
use crate::error::exception;
use crate::file::File;
use crate::runtime::{Owned, engine, wait};
use crate::tree::{Batches, step};

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

    fn inner(&self, py: Python<'_>) -> PyResult<&engine::Ntuple> {
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

    fn read(
        &self,
        py: Python<'_>,
        wanted: Vec<Wanted>,
        start: u64,
        stop: u64,
    ) -> PyResult<Vec<Py<PyAny>>> {
        let ntuple = self.inner(py)?;
        let wanted = wanted.iter().map(|each| self.column(py, each)).collect::<PyResult<_>>()?;
        let read = ntuple.read(wanted, start..stop);
        let batch = wait(py, &engine(py)?, read)?.map_err(|error| exception(py, &error))?;
        columns(py, batch)
    }

    #[pyo3(signature = (wanted, start, stop, *, step_entries = None, step_bytes = None))]
    fn batches(
        &self,
        py: Python<'_>,
        wanted: Vec<Wanted>,
        start: u64,
        stop: u64,
        step_entries: Option<u64>,
        step_bytes: Option<u64>,
    ) -> PyResult<Batches> {
        let ntuple = self.inner(py)?;
        let wanted = wanted.iter().map(|each| self.column(py, each)).collect::<PyResult<_>>()?;
        let begin = ntuple.batches(wanted, start..stop, step(step_entries, step_bytes));
        let batches = wait(py, &engine(py)?, begin)?.map_err(|error| exception(py, &error))?;
        Ok(Batches::new(batches))
    }
}
