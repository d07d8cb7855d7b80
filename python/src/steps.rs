//! Reads in steps, of one table or of many.

use std::ops::Range;
use std::sync::Arc;

use engine::{FriendLocation, OnError, Place, ScanRequest, Step};
use numpy::PyArray1;
use parking_lot::Mutex;
use pyo3::exceptions::PyBaseException;
use pyo3::prelude::*;

use crate::columns::column;
use crate::cut::{Decision, Raised, cut};
use crate::error::exception;
use crate::runtime::{Owned, engine, invalid, wait};
use crate::table::{ColumnRequest, Table, wanted};

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
    /// What cannot be read, and where.
    #[pyo3(get)]
    reason: String,
}

/// The columns of a batch, in the order in which they were asked for.
pub fn columns(py: Python<'_>, batch: engine::Batch) -> PyResult<Vec<Py<PyAny>>> {
    let asked = batch.columns.len() + batch.left_out.len();
    let (mut read, mut left_out) = (batch.columns.into_iter(), batch.left_out.iter().peekable());
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

/// A read in steps; dropping it ends the read.
#[pyclass(frozen, module = "farroot._core")]
pub struct Batches {
    batches: Owned<Mutex<engine::Batches>>,
    raised: Raised,
}

impl Batches {
    pub fn new(batches: engine::Batches, raised: Raised) -> Self {
        Batches { batches: Owned::new(Mutex::new(batches)), raised }
    }
}

#[pymethods]
impl Batches {
    /// How many there are in all, where that is known beforehand.
    #[getter]
    fn steps(&self, py: Python<'_>) -> PyResult<Option<usize>> {
        let batches = self.batches.here(py)?.try_lock().ok_or_else(|| in_use(py))?;
        Ok(batches.steps())
    }

    fn next(&self, py: Python<'_>) -> PyResult<Option<Batch>> {
        let batches = self.batches.here(py)?;
        let mut batches = batches.try_lock().ok_or_else(|| in_use(py))?;
        let Some(batch) = wait(py, &engine(py)?, batches.next())? else { return Ok(None) };
        let batch = batch.map_err(|error| self.raised.or(py, &error))?;
        Batch::new(py, 0, batch).map(Some)
    }
}

/// Many trees or RNTuples read in steps, one after the other; dropping it ends the read.
#[pyclass(frozen, module = "farroot._core")]
pub struct Parts {
    parts: Owned<Mutex<engine::Parts>>,
    raised: Raised,
    /// What has been left out since it was asked for last.
    skipped: Arc<Mutex<Vec<engine::Skipped>>>,
}

/// Entries that have been left out.
#[pyclass(frozen, get_all, module = "farroot._core")]
pub struct Skipped {
    /// Number of the table among many, and its path.
    table: usize,
    path: Option<String>,
    /// First and last entry (half open), where they are known.
    entries: Option<(u64, u64)>,
    error: Py<PyBaseException>,
}

#[pymethods]
impl Parts {
    fn next(&self, py: Python<'_>) -> PyResult<Option<Batch>> {
        let parts = self.parts.here(py)?;
        let mut parts = parts.try_lock().ok_or_else(|| in_use(py))?;
        let Some(part) = wait(py, &engine(py)?, parts.next())? else { return Ok(None) };
        let part = part.map_err(|error| self.raised.or(py, &error))?;
        Batch::new(py, part.file, part.batch).map(Some)
    }

    /// What has been left out since this was asked last.
    fn skipped(&self, py: Python<'_>) -> Vec<Skipped> {
        let skipped = std::mem::take(&mut *self.skipped.lock());
        let one = |one: engine::Skipped| Skipped {
            table: one.file,
            path: one.path,
            entries: one.entries.map(|entries| (entries.start, entries.end)),
            error: exception(py, &one.error).into_value(py),
        };
        skipped.into_iter().map(one).collect()
    }
}

/// Where a table is, or the open one itself; which of its entries, if not all; and its friends.
#[pyclass(frozen, module = "farroot._core")]
pub struct TableLocation {
    url: String,
    path: Option<String>,
    table: Option<Py<Table>>,
    entries: Option<(u64, u64)>,
    friends: Vec<(String, Py<TableLocation>)>,
}

#[pymethods]
impl TableLocation {
    #[new]
    #[pyo3(signature = (url, path, *, table = None, entries = None, friends = Vec::new()))]
    fn new(
        url: String,
        path: Option<String>,
        table: Option<Py<Table>>,
        entries: Option<(u64, u64)>,
        friends: Vec<(String, Py<TableLocation>)>,
    ) -> Self {
        TableLocation { url, path, table, entries, friends }
    }
}

impl TableLocation {
    /// The same as the engine has it.
    pub fn place(&self, py: Python<'_>) -> PyResult<Place> {
        let open = self.table.as_ref().map(|table| table.get().table(py).cloned()).transpose()?;
        let friend = |(name, place): &(String, Py<TableLocation>)| {
            Ok(FriendLocation::new(name, place.get().place(py)?))
        };
        Ok(Place {
            url: self.url.clone(),
            path: self.path.clone(),
            open,
            entries: self.entries.map(|(start, stop)| start..stop),
            friends: self.friends.iter().map(friend).collect::<PyResult<_>>()?,
            ..Place::default()
        })
    }
}

/// Reads the same columns of many tables.
#[pyfunction]
#[pyo3(signature = (places, columns, cut = None, *, on_error_report = false, step_entries = None, step_bytes = None))]
pub fn parts(
    py: Python<'_>,
    places: Vec<Py<TableLocation>>,
    columns: Vec<Py<ColumnRequest>>,
    cut: Option<Py<Decision>>,
    on_error_report: bool,
    step_entries: Option<u64>,
    step_bytes: Option<u64>,
) -> PyResult<Parts> {
    let places = places.iter().map(|place| place.get().place(py)).collect::<PyResult<_>>()?;
    let (cut, raised) = self::cut(py, cut.as_ref());
    let wanted = wanted(&columns);
    let skipped: Arc<Mutex<Vec<engine::Skipped>>> = Arc::default();
    let told = skipped.clone();
    let on_error = match on_error_report {
        true => OnError::Report(Arc::new(move |one| told.lock().push(one))),
        false => OnError::Raise,
    };
    let step = step(step_entries, step_bytes);
    let scan = ScanRequest { wanted, entries: 0..u64::MAX, step, cut, on_error };
    let parts = engine(py)?.parts(places, scan);
    Ok(Parts { parts: Owned::new(Mutex::new(parts)), raised, skipped })
}

pub fn step(entries: Option<u64>, bytes: Option<u64>) -> Step {
    match (entries, bytes) {
        (Some(entries), _) => Step::Entries(entries),
        (None, Some(bytes)) => Step::Bytes(bytes),
        (None, None) => Step::Whole,
    }
}

/// An iterator has one reader.
pub fn in_use(py: Python<'_>) -> PyErr {
    invalid(py, "another thread waits for the next result of this iterator")
}
