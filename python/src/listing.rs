//! Entries of a directory on a disk or a server, and the servers that have a file.

use std::time::SystemTime;

use pyo3::prelude::*;
use remote::Listed;

use crate::error::exception;
use crate::runtime::{engine, wait};

/// Name, bytes, whether it is a directory, and seconds since 1970 of the last change.
type ListedTuple = (String, Option<u64>, Option<bool>, Option<f64>);

/// The entries of a directory, by name.
#[pyfunction]
pub fn listed(py: Python<'_>, directory: &str) -> PyResult<Vec<ListedTuple>> {
    let engine = engine(py)?;
    let listed = wait(py, &engine, engine.remote().list(directory))?;
    let listed = listed.map_err(|error| exception(py, &error))?;
    let seconds = |time: SystemTime| {
        time.duration_since(SystemTime::UNIX_EPOCH).map(|since| since.as_secs_f64()).ok()
    };
    let tuple =
        |one: Listed| (one.name, one.size, one.is_directory, one.modified.and_then(seconds));
    Ok(listed.into_iter().map(tuple).collect())
}

/// For each address, the XRootD servers that have the file (`kXR_locate`), as `root://host:port`;
/// none for other protocols.
#[pyfunction]
pub fn servers(py: Python<'_>, addresses: Vec<String>) -> PyResult<Vec<Vec<String>>> {
    let engine = engine(py)?;
    let servers = wait(py, &engine, engine.remote().servers(&addresses))?;
    servers.map_err(|error| exception(py, &error))
}
