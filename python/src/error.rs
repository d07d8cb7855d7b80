//! Errors of the engine as the exceptions of `farroot.errors`.

use engine::{Error, ErrorKind, Reader};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The engine's error as a Python exception.
pub fn exception(py: Python<'_>, error: &Error) -> PyErr {
    build(py, error).unwrap_or_else(|failure| failure)
}

fn build(py: Python<'_>, error: &Error) -> PyResult<PyErr> {
    let class = py.import("farroot.errors")?.getattr(class_name(error.kind()))?;
    let value = class.call1((error.said_to(Reader::Python),))?;
    let state = PyDict::new(py);
    state.set_item("url", error.url())?;
    state.set_item("byte_range", error.range().map(|range| (range.start, range.end)))?;
    state.set_item("source", error.source_name())?;
    state.set_item("retryable", error.is_retryable())?;
    state.set_item("retry_after", error.retry_after().map(|pause| pause.as_secs_f64()))?;
    value.getattr("__dict__")?.call_method1("update", (state,))?;
    Ok(PyErr::from_value(value))
}

fn class_name(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::NotFound => "NotFoundError",
        ErrorKind::NotInFile => "KeyInFileError",
        ErrorKind::PermissionDenied => "PermissionDeniedError",
        ErrorKind::Unauthenticated => "UnauthenticatedError",
        ErrorKind::TimedOut => "TimedOutError",
        ErrorKind::Connection => "ConnectionFailedError",
        ErrorKind::Corrupt => "CorruptError",
        ErrorKind::Changed => "ChangedError",
        ErrorKind::Unsupported => "UnsupportedError",
        ErrorKind::LimitReached => "LimitReachedError",
        ErrorKind::InvalidArgument => "InvalidArgumentError",
        ErrorKind::Io => "ReadError",
        _ => "Error",
    }
}
