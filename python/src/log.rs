//! The events of `tracing` as records of Python's `logging`.
//!
//! Lines wait until a thread of Python's that waits for the engine takes them along, so that
//! handlers run on the caller's thread and never hold up a read.

use std::time::Instant;

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyAny;
use remote::fetch::log::{self, Level, LevelFilter, Line};

/// `farroot._log`: `threshold` and `deliver`.
static FUNCTIONS: PyOnceLock<(Py<PyAny>, Py<PyAny>)> = PyOnceLock::new();

fn functions(py: Python<'_>) -> PyResult<&(Py<PyAny>, Py<PyAny>)> {
    FUNCTIONS.get_or_try_init(py, || {
        let module = py.import("farroot._log")?;
        Ok((module.getattr("threshold")?.unbind(), module.getattr("deliver")?.unbind()))
    })
}

/// Keeps the lines that Python's logger lets through.
pub fn choose_level(py: Python<'_>) {
    let level = functions(py).and_then(|(threshold, _)| threshold.call0(py)?.extract::<i32>(py));
    log::keep(match level {
        Ok(..=9) => LevelFilter::TRACE,
        Ok(10) => LevelFilter::DEBUG,
        Ok(11..=20) => LevelFilter::INFO,
        Ok(21..=30) => LevelFilter::WARN,
        Ok(31..=40) => LevelFilter::ERROR,
        // Nothing is worth a line, or Python is shutting down.
        Ok(41..) | Err(_) => LevelFilter::OFF,
    });
}

/// Hands over the lines that have come; an exception of a handler is reported and ends nothing.
pub fn deliver(py: Python<'_>) {
    let lines = log::take();
    if lines.is_empty() {
        return;
    }
    let now = Instant::now();
    let tuple = |line: Line| (number(line.level), (now - line.at).as_secs_f64(), line.text);
    let lines: Vec<(i32, f64, String)> = lines.into_iter().map(tuple).collect();
    let delivered = functions(py).and_then(|(_, deliver)| deliver.call1(py, (lines,)));
    if let Err(error) = delivered {
        error.write_unraisable(py, None);
    }
}

/// Python's number of a level. It has none below `DEBUG`; 5 is the usual one.
fn number(level: Level) -> i32 {
    match level {
        Level::ERROR => 40,
        Level::WARN => 30,
        Level::INFO => 20,
        Level::DEBUG => 10,
        Level::TRACE => 5,
    }
}
