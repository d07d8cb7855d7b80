//! The plan of a read, for Python.

use std::ops::Range;

use engine::Columns;
use pyo3::prelude::*;

use crate::error::exception;
use crate::runtime::{engine, wait};

/// The ranges that would be fetched of one tree or RNTuple.
#[pyclass(frozen, get_all, module = "farroot._core")]
pub struct ReadPlan {
    url: String,
    path: String,
    columns: Vec<Py<PlannedColumn>>,
    /// Ranges of bytes (half open) in the file's order.
    ranges: Vec<(u64, u64)>,
}

/// The ranges that would be fetched for one column.
#[pyclass(frozen, get_all, module = "farroot._core")]
pub struct PlannedColumn {
    name: String,
    pieces: usize,
    stored_bytes: u64,
    decoded_bytes: u64,
    /// First and last byte in the file.
    span: Option<(u64, u64)>,
}

/// The plan of a read, table by table.
pub fn read_plan(
    py: Python<'_>,
    selected: &dyn Columns,
    entries: Range<u64>,
) -> PyResult<Vec<ReadPlan>> {
    let footprints = wait(py, &engine(py)?, selected.footprints(entries))?;
    let footprints = footprints.map_err(|error| exception(py, &error))?;
    footprints.into_iter().map(|footprint| one_table(py, footprint)).collect()
}

fn one_table(py: Python<'_>, footprint: engine::ReadFootprint) -> PyResult<ReadPlan> {
    let pair = |range: &Range<u64>| (range.start, range.end);
    let column = |column: &engine::FootprintColumn| {
        let planned = PlannedColumn {
            name: column.name.clone(),
            pieces: column.pieces,
            stored_bytes: column.stored_bytes,
            decoded_bytes: column.decoded_bytes,
            span: column.span.as_ref().map(pair),
        };
        Py::new(py, planned)
    };
    Ok(ReadPlan {
        url: footprint.url.clone(),
        path: footprint.path.clone(),
        columns: footprint.columns.iter().map(column).collect::<PyResult<_>>()?,
        ranges: footprint.ranges.iter().map(pair).collect(),
    })
}
