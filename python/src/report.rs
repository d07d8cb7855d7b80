//! The engine's report, for Python to make a mapping of.

use std::time::Duration;

use pyo3::prelude::*;
use remote::report::Report;

use crate::file::File;
use crate::runtime::{engine, invalid};

/// The figures as JSON, and the same as text; of one file, or of all that this process has read.
#[pyfunction]
pub fn report(py: Python<'_>, file: Option<&Bound<'_, File>>) -> PyResult<(String, String)> {
    let report = present(py, file)?;
    let json = serde_json::to_string(&report).map_err(|error| invalid(py, &error.to_string()))?;
    Ok((json, report.to_string()))
}

/// A moment, from which on reading is accounted for.
#[pyclass(frozen, module = "farroot._core")]
pub struct Mark {
    file: Option<Py<File>>,
    report: Report,
    at: Duration,
    pid: u32,
}

/// The present moment, for one file or for all that this process reads.
#[pyfunction]
pub fn mark(py: Python<'_>, file: Option<Py<File>>) -> PyResult<Mark> {
    let report = present(py, file.as_ref().map(|file| file.bind(py)))?;
    Ok(Mark { file, report, at: engine(py)?.trace().now(), pid: std::process::id() })
}

#[pymethods]
impl Mark {
    /// Figures of the work since, as those of [`report()`].
    fn since(&self, py: Python<'_>) -> PyResult<(String, String)> {
        let report = self.part(py)?;
        let json =
            serde_json::to_string(&report).map_err(|error| invalid(py, &error.to_string()))?;
        Ok((json, report.to_string()))
    }

    /// Bytes received since.
    fn received(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.part(py)?.bytes_received)
    }
}

impl Mark {
    fn part(&self, py: Python<'_>) -> PyResult<Report> {
        if self.pid != std::process::id() {
            return Err(invalid(py, "begun before a fork: a report is of one process"));
        }
        let wall = engine(py)?.trace().now().saturating_sub(self.at);
        let report = present(py, self.file.as_ref().map(|file| file.bind(py)))?;
        Ok(report.since(&self.report, wall))
    }
}

fn present(py: Python<'_>, file: Option<&Bound<'_, File>>) -> PyResult<Report> {
    match file {
        Some(file) => Ok(file.get().inner(py)?.report()),
        None => Ok(engine(py)?.report()),
    }
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
