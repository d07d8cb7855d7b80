//! Parquet files, which `farroot/_parquet.py` writes with pyarrow.

use std::path::Path;

use engine::{Batch, Error, ErrorKind, ParquetLibrary, ParquetWriter};
use pyo3::prelude::*;

use crate::columns::column;
use crate::cut::{Raised, shut_down};
use crate::ending::attached;

/// The Python class `ParquetWriter` as a library; `raised` keeps the exceptions of its instances.
#[derive(Default)]
pub struct PyArrow {
    pub raised: Raised,
}

/// An instance of that class.
struct Writer {
    writer: Py<PyAny>,
    raised: Raised,
}

impl ParquetLibrary for PyArrow {
    fn create(&self, path: &Path) -> engine::Result<Box<dyn ParquetWriter>> {
        in_python(&self.raised, |py| {
            let class = py.import("farroot._parquet")?.getattr("ParquetWriter")?;
            let writer = class.call1((path,))?.unbind();
            let raised = self.raised.clone();
            Ok(Box::new(Writer { writer, raised }) as Box<dyn ParquetWriter>)
        })
    }
}

impl ParquetWriter for Writer {
    fn write(&mut self, batch: Batch) -> engine::Result<()> {
        in_python(&self.raised, |py| {
            self.writer.call_method1(py, "write", (named(py, batch)?,)).map(drop)
        })
    }

    fn finish(self: Box<Self>) -> engine::Result<()> {
        in_python(&self.raised, |py| self.writer.call_method0(py, "finish").map(drop))
    }
}

/// The columns of a batch with their names.
fn named(py: Python<'_>, batch: Batch) -> PyResult<Vec<(String, Py<PyAny>)>> {
    let columns = batch.columns.into_iter();
    columns.map(|(name, array)| Ok((name, column(py, array)?))).collect()
}

/// Runs `work` in the interpreter. An exception is kept in `raised`, and the error has its text.
fn in_python<T>(
    raised: &Raised,
    work: impl FnOnce(Python<'_>) -> PyResult<T>,
) -> engine::Result<T> {
    let done = attached(|py| {
        work(py).map_err(|error| {
            let text = error.value(py).to_string();
            raised.keep("pyarrow", error);
            Error::new(ErrorKind::Io, text)
        })
    });
    // `None` while the interpreter shuts down.
    done.unwrap_or_else(|| Err(shut_down()))
}
