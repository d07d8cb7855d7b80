//! Reads in steps, of one table or of many.

use std::sync::Arc;

use engine::{Chosen, OnError, Place, PlacedFriend, Skipped, Step, Table, Wanted, Wish};
use numpy::PyArray1;
use parking_lot::Mutex;
use pyo3::exceptions::PyBaseException;
use pyo3::prelude::*;

use crate::columns::column;
use crate::cut::{Raised, by_function};
use crate::error::exception;
use crate::ntuple::Ntuple;
use crate::runtime::{Owned, engine, invalid, wait};
use crate::tree::Tree;

/// First and last entry (half open) of each run that a cut has left; `None` where there is no cut.
pub type Survivors = Option<Py<PyArray1<i64>>>;

/// First and last entry, half open, what a cut has left of them, and the columns.
pub type Read = (u64, u64, Survivors, Vec<Py<PyAny>>);

/// A batch as Python gets it.
pub fn handed_out(py: Python<'_>, batch: engine::Batch) -> PyResult<Read> {
    let entries = batch.entries.clone();
    let survivors = batch.survivors.as_ref().map(|runs| {
        let bounds = runs.iter().flat_map(|run| [run.start as i64, run.end as i64]);
        PyArray1::from_iter(py, bounds).unbind()
    });
    Ok((entries.start, entries.end, survivors, columns(py, batch)?))
}

/// Stands for a column that nobody has named and whose data cannot be read.
#[pyclass(frozen, module = "farroot._core")]
pub struct LeftOut {
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
                Py::new(py, LeftOut { reason })?.into_any()
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

    fn next(&self, py: Python<'_>) -> PyResult<Option<Read>> {
        let batches = self.batches.here(py)?;
        let mut batches = batches.try_lock().ok_or_else(|| in_use(py))?;
        let Some(batch) = wait(py, &engine(py)?, batches.next())? else { return Ok(None) };
        let batch = batch.map_err(|error| self.raised.or(py, &error))?;
        Ok(Some(handed_out(py, batch)?))
    }
}

/// Many trees or RNTuples read in steps, one after the other; dropping it ends the read.
#[pyclass(frozen, module = "farroot._core")]
pub struct Parts {
    parts: Owned<Mutex<engine::Parts>>,
    raised: Raised,
    /// What has been left out since it was asked for last.
    skipped: Arc<Mutex<Vec<Skipped>>>,
}

/// Number of the place, and what is read of its table as in [`Read`].
type PartRead = (usize, u64, u64, Survivors, Vec<Py<PyAny>>);

type SkippedTuple = (usize, Option<String>, Option<(u64, u64)>, Py<PyBaseException>);

#[pymethods]
impl Parts {
    fn next(&self, py: Python<'_>) -> PyResult<Option<PartRead>> {
        let parts = self.parts.here(py)?;
        let mut parts = parts.try_lock().ok_or_else(|| in_use(py))?;
        let Some(part) = wait(py, &engine(py)?, parts.next())? else { return Ok(None) };
        let part = part.map_err(|error| self.raised.or(py, &error))?;
        let (start, stop, survivors, columns) = handed_out(py, part.batch)?;
        Ok(Some((part.file, start, stop, survivors, columns)))
    }

    /// What has been left out since this was asked last: number of the place, path of the table,
    /// first and last entry (half open) where they are known, and the error.
    fn skipped(&self, py: Python<'_>) -> Vec<SkippedTuple> {
        let skipped = std::mem::take(&mut *self.skipped.lock());
        let tuple = |one: Skipped| {
            let entries = one.entries.map(|entries| (entries.start, entries.end));
            (one.file, one.path, entries, exception(py, &one.error).into_value(py))
        };
        skipped.into_iter().map(tuple).collect()
    }
}

/// A table that is open already.
#[derive(FromPyObject)]
pub enum Open {
    Tree(Py<Tree>),
    Ntuple(Py<Ntuple>),
}

impl Open {
    pub fn table(&self, py: Python<'_>) -> PyResult<Arc<dyn Table>> {
        match self {
            Open::Tree(tree) => tree.get().table(py),
            Open::Ntuple(ntuple) => ntuple.get().table(py),
        }
    }
}

/// A column by its name, whether nobody has named it, whether its bytes are wanted, and, of a
/// field, those in it to keep.
type Wished = (String, bool, bool, Option<Vec<String>>);

/// URL, path, and the table itself where it is open.
type Where = (String, Option<String>, Option<Open>);

/// The same, which of its entries, if not all, and its friends.
pub type Located = (String, Option<String>, Option<Open>, Option<(u64, u64)>, Vec<(String, Where)>);

/// Where a table is.
pub fn located(py: Python<'_>, (url, path, open, entries, friends): Located) -> PyResult<Place> {
    let open = open.map(|open| open.table(py)).transpose()?;
    let entries = entries.map(|(start, stop)| start..stop);
    let friend = |(name, (url, path, open)): (String, Where)| {
        let open = open.map(|open| open.table(py)).transpose()?;
        Ok(PlacedFriend::new(&name, Place { url, path, open, ..Place::default() }))
    };
    let friends = friends.into_iter().map(friend).collect::<PyResult<_>>()?;
    Ok(Place { url, path, open, entries, friends, ..Place::default() })
}

/// Reads the same columns of many tables.
#[pyfunction]
#[pyo3(signature = (places, columns, cut = None, *, on_error_report = false, step_entries = None, step_bytes = None))]
pub fn parts(
    py: Python<'_>,
    places: Vec<Located>,
    columns: Vec<Wished>,
    cut: Option<(Vec<String>, Py<PyAny>)>,
    on_error_report: bool,
    step_entries: Option<u64>,
    step_bytes: Option<u64>,
) -> PyResult<Parts> {
    let located = places.into_iter().map(|place| located(py, place)).collect::<PyResult<_>>()?;
    let (cut, raised) = by_function(cut);
    let chosen = |(name, optional, as_bytes, keep)| Chosen { name, optional, as_bytes, keep };
    let wanted = Wanted::Chosen(columns.into_iter().map(chosen).collect());
    let skipped: Arc<Mutex<Vec<Skipped>>> = Arc::default();
    let told = skipped.clone();
    let on_error = match on_error_report {
        true => OnError::Report(Arc::new(move |one| told.lock().push(one))),
        false => OnError::Raise,
    };
    let step = step(step_entries, step_bytes);
    let wish = Wish { wanted, entries: 0..u64::MAX, step, cut, on_error };
    let parts = engine(py)?.parts(located, wish);
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
