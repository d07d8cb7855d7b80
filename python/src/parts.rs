//! Many tables, opened side by side, and read one after the other.

use std::sync::Arc;

use engine::{ColumnTypes, FriendLocation, OnError, ScanRequest, TypeRule};
use mutex::Mutex;
use pyo3::exceptions::PyBaseException;
use pyo3::prelude::*;

use crate::batch::Batch;
use crate::cut::Raised;
use crate::error::exception;
use crate::request::{Request, StepSize};
use crate::runtime::{Owned, engine, wait};
use crate::steps::in_use;
use crate::table::Table;

/// Many trees or RNTuples read in steps, one after the other; dropping it ends the read.
#[pyclass(frozen, module = "farroot._core")]
pub struct Parts {
    parts: Owned<Mutex<engine::ScanBatches>>,
    raised: Raised,
    /// Ranges that have been skipped since the last call of `skipped`.
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

    /// Ranges that have been skipped since the last call.
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
    pub fn place(&self, py: Python<'_>) -> PyResult<engine::TableLocation> {
        let open = self.table.as_ref().map(|table| table.get().table(py).cloned()).transpose()?;
        let friend = |(name, place): &(String, Py<TableLocation>)| {
            Ok(FriendLocation::new(name, place.get().place(py)?))
        };
        Ok(engine::TableLocation {
            url: self.url.clone(),
            path: self.path.clone(),
            open,
            entries: self.entries.map(|(start, stop)| start..stop),
            friends: self.friends.iter().map(friend).collect::<PyResult<_>>()?,
            ..engine::TableLocation::default()
        })
    }
}

/// Reads the same columns of many tables.
#[pyfunction]
#[pyo3(signature = (places, request, step, *, on_error_report = false, have_common_types = false))]
pub fn parts(
    py: Python<'_>,
    places: Vec<Py<TableLocation>>,
    request: &Request,
    step: &StepSize,
    on_error_report: bool,
    have_common_types: bool,
) -> PyResult<Parts> {
    let places = places.iter().map(|place| place.get().place(py)).collect::<PyResult<Vec<_>>>()?;
    let (cut, raised) = request.cut(py);
    let skipped: Arc<Mutex<Vec<engine::Skipped>>> = Arc::default();
    let reported = skipped.clone();
    let on_error = match on_error_report {
        true => OnError::Report(Arc::new(move |one| reported.lock().push(one))),
        false => OnError::Raise,
    };
    let wanted = request.wanted();
    let step = step.step();
    let scan = ScanRequest { wanted, entries: 0..u64::MAX, step, cut, on_error };
    let rule = if have_common_types { TypeRule::Common } else { TypeRule::Own };
    let parts = engine(py)?.scan(places, scan).with_types(ColumnTypes::new(rule));
    Ok(Parts { parts: Owned::new(Mutex::new(parts)), raised, skipped })
}

/// Many trees and RNTuples being opened side by side; dropping it ends that.
#[pyclass(frozen, module = "farroot._core")]
pub struct Opens {
    opens: Owned<Mutex<engine::OpenAhead>>,
}

#[pymethods]
impl Opens {
    fn next(&self, py: Python<'_>) -> PyResult<Option<Table>> {
        let opens = self.opens.here(py)?;
        let mut opens = opens.try_lock().ok_or_else(|| in_use(py))?;
        let opened = wait(py, &engine(py)?, opens.next())?;
        let table = opened.transpose().map_err(|error| exception(py, &error))?;
        Ok(table.map(Table::new))
    }
}

/// Opens many trees and RNTuples side by side, in the order of their places.
#[pyfunction]
pub fn open_tables(py: Python<'_>, places: Vec<(String, Option<String>)>) -> PyResult<Opens> {
    let places = places
        .into_iter()
        .map(|(url, path)| engine::TableLocation { url, path, ..engine::TableLocation::default() })
        .collect();
    let opens = engine(py)?.open_tables(places);
    Ok(Opens { opens: Owned::new(Mutex::new(opens)) })
}

/// Tables of many files as one; those of whom no number of entries is known are opened.
#[pyfunction]
pub fn chain(py: Python<'_>, places: Vec<Py<TableLocation>>) -> PyResult<Table> {
    let places = places.iter().map(|place| place.get().place(py)).collect::<PyResult<_>>()?;
    let engine = engine(py)?;
    let chain = wait(py, &engine, engine.chain(places))?;
    let chain = chain.map_err(|error| exception(py, &error))?;
    Ok(Table::new(Arc::new(chain)))
}
