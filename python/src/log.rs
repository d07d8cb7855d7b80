//! The engine's log as records of Python's `logging`.
//!
//! Lines wait in the engine until a thread of Python's that waits for it takes them along, so that
//! handlers run on the caller's thread and never hold up a read.

use engine::Engine;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyAny;
use remote::fetch::log::{Level, Line};

/// `farroot._log`: `threshold` and `deliver`.
static FUNCTIONS: PyOnceLock<(Py<PyAny>, Py<PyAny>)> = PyOnceLock::new();

fn functions(py: Python<'_>) -> PyResult<&(Py<PyAny>, Py<PyAny>)> {
    FUNCTIONS.get_or_try_init(py, || {
        let module = py.import("farroot._log")?;
        Ok((module.getattr("threshold")?.unbind(), module.getattr("deliver")?.unbind()))
    })
}

/// The engine keeps the lines that Python's logger lets through.
pub fn choose_level(py: Python<'_>, engine: &Engine) {
    let level = functions(py).and_then(|(threshold, _)| threshold.call0(py)?.extract::<i32>(py));
    engine.trace().log().keep(match level {
        Ok(..=10) => Level::Debug,
        Ok(11..=20) => Level::Info,
        Ok(21..=30) => Level::Warning,
        // Nothing is worth a line, or Python is shutting down.
        Ok(31..) | Err(_) => Level::Off,
    });
}

/// Hands over the lines that have come; an exception of a handler is reported and ends nothing.
pub fn deliver(py: Python<'_>, engine: &Engine) {
    let lines = engine.trace().log().take();
    if lines.is_empty() {
        return;
    }
    let now = engine.trace().now();
    let number = |level| match level {
        Level::Debug => 10,
        Level::Info => 20,
        Level::Warning | Level::Off => 30,
    };
    let tuple = |line: Line| (number(line.level), (now - line.at).as_secs_f64(), line.text);
    let lines: Vec<(i32, f64, String)> = lines.into_iter().map(tuple).collect();
    let delivered = functions(py).and_then(|(_, deliver)| deliver.call1(py, (lines,)));
    if let Err(error) = delivered {
        error.write_unraisable(py, None);
    }
}
