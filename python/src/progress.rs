//! A function of Python's that is called now and then while its thread waits for the engine.

use std::cell::RefCell;

use pyo3::prelude::*;
use pyo3::types::PyAny;

thread_local! {
    static CALLED: RefCell<Option<Py<PyAny>>> = const { RefCell::new(None) };
}

/// Has a function called about ten times a second while this thread waits; None ends that. An
/// exception of the function ends the wait. Returns the function that was called before.
#[pyfunction]
pub fn call_while_waiting(function: Option<Py<PyAny>>) -> Option<Py<PyAny>> {
    CALLED.replace(function)
}

/// Calls the function of this thread, if there is one.
pub fn tick(py: Python<'_>) -> PyResult<()> {
    let function = CALLED.with_borrow(|called| called.as_ref().map(|f| f.clone_ref(py)));
    function.map_or(Ok(()), |function| function.call0(py).map(|_| ()))
}
