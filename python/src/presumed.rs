//! What is remembered of files, carried between machines and taken for true until it is not.

use engine::FileMemory;
use parking_lot::Mutex;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error::exception;
use crate::runtime::{Owned, engine, invalid, wait};
use crate::table::Table;

/// A table of a file that is remembered, to be read before the file is open.
#[pyclass(frozen, module = "farroot._core")]
pub struct Presumed {
    /// None once it has been confirmed.
    presumed: Owned<Mutex<Option<engine::PresumedTable>>>,
    #[pyo3(get)]
    table: Py<Table>,
}

#[pymethods]
impl Presumed {
    /// Waits for the server; whether what was read of the table counts.
    fn confirm(&self, py: Python<'_>) -> PyResult<bool> {
        let presumed = self.presumed.here(py)?.lock().take();
        let presumed = presumed.ok_or_else(|| invalid(py, "asked before"))?;
        wait(py, &engine(py)?, presumed.confirm())?.map_err(|error| exception(py, &error))
    }
}

/// The table of a file that is remembered; None where too little is.
#[pyfunction]
#[pyo3(signature = (url, path))]
pub fn open_presumed(py: Python<'_>, url: &str, path: Option<&str>) -> PyResult<Option<Presumed>> {
    let engine = engine(py)?;
    let opened = wait(py, &engine, engine.open_presumed(url, path))?;
    let Some(presumed) = opened.map_err(|error| exception(py, &error))? else { return Ok(None) };
    let table = Py::new(py, Table::new(presumed.table.clone()))?;
    Ok(Some(Presumed { presumed: Owned::new(Mutex::new(Some(presumed))), table }))
}

/// What is remembered of a file: its metadata, and what is known of its server.
#[pyfunction]
pub fn remembered(py: Python<'_>, url: &str) -> PyResult<Option<(Py<PyBytes>, Option<String>)>> {
    let engine = engine(py)?;
    let found = wait(py, &engine, engine.remote().remembered(url))?;
    let found = found.map_err(|error| exception(py, &error))?;
    Ok(found.map(|memory| (PyBytes::new(py, &memory.metadata).unbind(), memory.server)))
}

/// Takes what another machine remembers of a file.
#[pyfunction]
#[pyo3(signature = (url, metadata, server))]
pub fn remember(
    py: Python<'_>,
    url: &str,
    metadata: &[u8],
    server: Option<String>,
) -> PyResult<()> {
    let engine = engine(py)?;
    let memory = FileMemory { metadata: metadata.to_owned(), server };
    let done = wait(py, &engine, engine.remote().remember(url, &memory))?;
    done.map_err(|error| exception(py, &error))
}
