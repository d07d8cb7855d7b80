//! Entries that have been read.

use std::ops::Range;

use numpy::PyArray1;
use pyo3::prelude::*;

use crate::columns::column;

/// Entries that have been read.
#[pyclass(frozen, get_all, module = "farroot._core")]
pub struct Batch {
    /// Number of the table among many.
    table: usize,
    /// First and last entry, half open.
    start: u64,
    stop: u64,
    /// First and last entry (half open) of each run that a cut has left; `None` without a cut.
    survivors: Option<Py<PyArray1<i64>>>,
    columns: Vec<Py<PyAny>>,
}

impl Batch {
    pub fn new(py: Python<'_>, table: usize, batch: engine::Batch) -> PyResult<Self> {
        let Range { start, end: stop } = batch.entries.clone();
        let survivors = batch.survivors.as_ref().map(|runs| {
            let bounds = runs.iter().flat_map(|run| [run.start as i64, run.end as i64]);
            PyArray1::from_iter(py, bounds).unbind()
        });
        Ok(Batch { table, start, stop, survivors, columns: columns(py, batch)? })
    }
}

/// Stands for a column that the caller did not name and whose data cannot be read.
#[pyclass(frozen, module = "farroot._core")]
pub struct SkippedColumn {
    /// The damaged part, and where.
    #[pyo3(get)]
    reason: String,
}

/// The columns of a batch, in the order of the request.
pub fn columns(py: Python<'_>, batch: engine::Batch) -> PyResult<Vec<Py<PyAny>>> {
    let asked = batch.columns.len() + batch.left_out.len();
    let mut read = batch.columns.into_iter();
    let mut left_out = batch.left_out.iter().peekable();
    let mut columns = Vec::with_capacity(asked);
    for position in 0..asked {
        columns.push(match left_out.next_if(|column| column.position == position) {
            Some(column) => {
                let reason = column.error.message().to_owned();
                Py::new(py, SkippedColumn { reason })?.into_any()
            }
            None => match read.next() {
                Some((_, array)) => column(py, array)?,
                None => break,
            },
        });
    }
    Ok(columns)
}
