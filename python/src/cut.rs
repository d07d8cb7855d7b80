//! A Python function as the predicate of a cut.

use std::sync::Arc;

use engine::{Batch, ColumnRequest, Cut, Error, ErrorKind, Predicate};
use mutex::Mutex;
use numpy::{PyArray1, PyArrayMethods};
use pyo3::prelude::*;

use crate::batch::columns;
use crate::ending::attached;

/// The exception that a predicate has raised, kept as it is for the reader.
#[derive(Clone, Default)]
pub struct Raised(Arc<Mutex<Option<PyErr>>>);

impl Raised {
    /// The exception of the predicate, or else the engine's error as one.
    pub fn or(&self, py: Python<'_>, error: &Error) -> PyErr {
        self.0.lock().take().unwrap_or_else(|| crate::error::exception(py, error))
    }

    /// Keeps a Python function's first exception; returns the engine's error, begun with `subject`.
    pub fn keep(&self, subject: &str, error: PyErr) -> Error {
        let why = Error::new(ErrorKind::InvalidArgument, format!("{subject}: {error}"));
        self.0.lock().get_or_insert(error);
        why
    }
}

/// The error of a Python function that cannot be called any more.
pub fn shut_down() -> Error {
    Error::new(ErrorKind::Cancelled, "the interpreter shuts down")
}

/// Called with the columns and the number of entries; returns a NumPy array of bool.
struct Function {
    function: Py<PyAny>,
    raised: Raised,
}

impl Function {
    fn call(&self, py: Python<'_>, batch: Batch) -> PyResult<Vec<bool>> {
        let entries = batch.len();
        let mask = self.function.bind(py).call1((columns(py, batch)?, entries))?;
        let mask = mask.cast::<PyArray1<bool>>()?;
        Ok(mask.try_readonly()?.as_slice()?.to_vec())
    }
}

impl Predicate for Function {
    fn decide(&self, batch: Batch) -> engine::Result<Vec<bool>> {
        // None while the interpreter shuts down.
        let called = attached(|py| self.call(py, batch));
        match called {
            Some(Ok(mask)) => Ok(mask),
            Some(Err(error)) => Err(self.raised.keep("the cut", error)),
            None => Err(shut_down()),
        }
    }
}

/// A cut by a Python function of columns, and the exception that the function raises.
pub fn cut(py: Python<'_>, columns: Vec<ColumnRequest>, function: &Py<PyAny>) -> (Cut, Raised) {
    let raised = Raised::default();
    let function = function.clone_ref(py);
    let predicate = Arc::new(Function { function, raised: raised.clone() });
    (Cut { columns, predicate }, raised)
}
