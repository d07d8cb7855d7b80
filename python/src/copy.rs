//! Copies of whole files.

use std::path::PathBuf;

use engine::{Copied, CopyOptions};
use pyo3::prelude::*;

use crate::error::exception;
use crate::runtime::{engine, wait};

/// Source, target, size, bytes from an earlier try, and the checksum that was compared.
type CopiedTuple = (String, PathBuf, u64, u64, Option<String>);

/// Copies files: what each has come to, or its error.
#[pyfunction]
pub fn copy(
    py: Python<'_>,
    sources: Vec<String>,
    target: PathBuf,
    overwrite: bool,
    verify: bool,
) -> PyResult<Vec<Py<PyAny>>> {
    let (engine, options) = (engine(py)?, CopyOptions { overwrite, verify });
    let copied = wait(py, &engine, engine.copy(&sources, &target, options, &|_| {}))?;
    let outcome = |file: engine::Result<Copied>| match file {
        Ok(file) => {
            let checksum = file.checksum.map(|checksum| checksum.to_string());
            let tuple: CopiedTuple = (file.source, file.target, file.size, file.resumed, checksum);
            Ok(tuple.into_pyobject(py)?.into_any().unbind())
        }
        Err(error) => Ok(exception(py, &error).into_value(py).into_any()),
    };
    copied.map_err(|error| exception(py, &error))?.into_iter().map(outcome).collect()
}
