//! `farroot cat --parquet` of the package: `farroot/_parquet.py` writes the file, by pyarrow.

use std::path::Path;

use cli::parquet::{ParquetLibrary, ParquetWriter};
use pyo3::prelude::*;

use crate::skim::named;

pub struct PyArrow;

/// An instance of the Python class `ParquetWriter`.
struct Writer(Py<PyAny>);

impl ParquetLibrary for PyArrow {
    fn create(&self, path: &Path) -> Result<Box<dyn ParquetWriter>, String> {
        attached(|py| {
            let class = py.import("farroot._parquet")?.getattr("ParquetWriter")?;
            let writer = class.call1((path,))?.unbind();
            Ok(Box::new(Writer(writer)) as Box<dyn ParquetWriter>)
        })
    }
}

impl ParquetWriter for Writer {
    fn write(&mut self, batch: engine::Batch) -> Result<(), String> {
        attached(|py| self.0.call_method1(py, "write", (named(py, batch)?,)).map(drop))
    }

    fn finish(self: Box<Self>) -> Result<(), String> {
        attached(|py| self.0.call_method0(py, "finish").map(drop))
    }
}

/// Work in the interpreter; an exception as its text.
fn attached<T>(work: impl FnOnce(Python<'_>) -> PyResult<T>) -> Result<T, String> {
    Python::attach(|py| work(py).map_err(|error| error.value(py).to_string()))
}
