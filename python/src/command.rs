//! The shell command, so that installing the package installs it too.

use std::ffi::OsString;
use std::process::ExitCode;

use pyo3::prelude::*;

use crate::parquet::PyArrow;

/// Runs the command line; returns its exit code.
#[pyfunction]
pub fn main(py: Python<'_>, argv: Vec<OsString>) -> u8 {
    let code = py.detach(|| cli::run(argv.into_iter(), &PyArrow::default()));
    // An exit code can be compared, but not asked for its number.
    (0..=u8::MAX).find(|number| ExitCode::from(*number) == code).unwrap_or(u8::MAX)
}
