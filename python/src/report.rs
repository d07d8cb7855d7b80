//! The engine's report, for Python to make a mapping of.

use pyo3::prelude::*;

use crate::file::File;
use crate::runtime::{engine, invalid};

/// The figures as JSON, and the same as text; of one file, or of all that this process has read.
#[pyfunction]
pub fn report(py: Python<'_>, file: Option<&Bound<'_, File>>) -> PyResult<(String, String)> {
    let report = match file {
        Some(file) => file.get().inner(py)?.report(),
        None => engine(py)?.report(),
    };
    let json = serde_json::to_string(&report).map_err(|error| invalid(py, &error.to_string()))?;
    Ok((json, report.to_string()))
}

/// A file's requests, offset over time: a picture as SVG, and one of `width` characters a line.
#[pyfunction]
pub fn timeline(
    py: Python<'_>,
    file: &Bound<'_, File>,
    width: usize,
) -> PyResult<(String, String)> {
    let file = file.get().inner(py)?;
    Ok((file.timeline_svg(), file.timeline_text(width)))
}
