//! Metadata of files, sent from one machine to another and used before the server confirms them.

use engine::FileMemory;
use mutex::Mutex;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error::exception;
use crate::runtime::{Owned, engine, invalid, wait};
use crate::table::Table;

/// A table by stored metadata, which can be read before the server has answered the open.
#[pyclass(frozen, module = "farroot._core")]
pub struct Presumed {
    /// `None` after a call of `confirm`.
    presumed: Owned<Mutex<Option<engine::PresumedTable>>>,
    #[pyo3(get)]
    table: Py<Table>,
}

#[pymethods]
impl Presumed {
    /// Waits for the server; returns whether the data read of the table are valid.
    fn confirm(&self, py: Python<'_>) -> PyResult<bool> {
        let presumed = self.presumed.here(py)?.lock().take();
        let presumed = presumed.ok_or_else(|| invalid(py, "asked before"))?;
        wait(py, &engine(py)?, presumed.confirm())?.map_err(|error| exception(py, &error))
    }
}

/// A table of a file by its stored metadata; None where these are too little.
#[pyfunction]
#[pyo3(signature = (url, path))]
pub fn open_presumed(py: Python<'_>, url: &str, path: Option<&str>) -> PyResult<Option<Presumed>> {
    let engine = engine(py)?;
    let opened = wait(py, &engine, engine.open_presumed(url, path))?;
    let Some(presumed) = opened.map_err(|error| exception(py, &error))? else { return Ok(None) };
    let table = Py::new(py, Table::new(presumed.table.clone()))?;
    Ok(Some(Presumed { presumed: Owned::new(Mutex::new(Some(presumed))), table }))
}

/// The stored facts of a file: its metadata, and the limits of its XRootD server; None if there are
/// none.
#[pyfunction]
pub fn remembered(py: Python<'_>, url: &str) -> PyResult<Option<(Py<PyBytes>, Option<String>)>> {
    let engine = engine(py)?;
    let found = wait(py, &engine, engine.remote().remembered(url))?;
    let found = found.map_err(|error| exception(py, &error))?;
    Ok(found.map(|memory| (PyBytes::new(py, &memory.metadata).unbind(), memory.server)))
}

/// Stores the result of `remembered` from another machine, unless something is stored already.
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
