//! Files of any kind, as ranges of bytes.

use std::ops::Range;
use std::sync::Arc;

use futures::StreamExt;
use numpy::ndarray::ArrayView1;
use numpy::{PyArray1, PyArrayMethods};
use parking_lot::Mutex;
use pyo3::prelude::*;
use remote::fetch::{RemoteFile, Wants};

use crate::error::exception;
use crate::runtime::{Owned, engine, wait};
use crate::steps::in_use;

/// An open file of any kind.
#[pyclass(frozen, module = "farroot._core")]
pub struct ByteFile {
    file: Owned<Arc<RemoteFile>>,
    url: String,
}

/// First and last byte, half open.
type RangeTuple = (u64, u64);

/// Bytes, seconds since 1970 of the last change, and the server's name for this version.
type InfoTuple = (u64, Option<i64>, Option<String>);

#[pymethods]
impl ByteFile {
    #[getter]
    fn url(&self) -> &str {
        &self.url
    }

    fn info(&self, py: Python<'_>) -> PyResult<InfoTuple> {
        let info = self.file.here(py)?.info();
        Ok((info.size, info.modified, info.version.clone()))
    }

    /// Asks for ranges, and does not wait for them.
    fn read(&self, py: Python<'_>, ranges: Vec<RangeTuple>) -> PyResult<Ranges> {
        let file = self.file.here(py)?;
        Ok(Ranges::new(file.clone(), file.read(&half_open(ranges))))
    }
}

/// Ranges on their way; dropping it gives up those that have not come.
#[pyclass(frozen, module = "farroot._core")]
pub struct Ranges {
    wants: Owned<Mutex<Wants>>,
    /// The file is closed when nothing of it is on its way any more.
    _file: Owned<Arc<RemoteFile>>,
}

#[pymethods]
impl Ranges {
    /// Position and bytes of the next range that has come; None after the last one.
    fn next(&self, py: Python<'_>) -> PyResult<Option<(usize, Py<PyArray1<u8>>)>> {
        let wants = self.wants.here(py)?;
        let mut wants = wants.try_lock().ok_or_else(|| in_use(py))?;
        let Some(come) = wait(py, &engine(py)?, wants.next())? else { return Ok(None) };
        let come = come.map_err(|error| exception(py, &error))?;
        Ok(Some((come.index, array(py, come.bytes)?)))
    }
}

impl Ranges {
    fn new(file: Arc<RemoteFile>, wants: Wants) -> Self {
        Ranges { wants: Owned::new(Mutex::new(wants)), _file: Owned::new(file) }
    }
}

/// Opens a file; the ranges of it that are wanted first leave together with the open.
#[pyfunction]
pub fn open_bytes(
    py: Python<'_>,
    address: &str,
    ranges: Vec<RangeTuple>,
) -> PyResult<(ByteFile, Ranges)> {
    let (engine, ranges) = (engine(py)?, half_open(ranges));
    let opened = wait(py, &engine, engine.remote().open_ranges(address, &ranges))?;
    let (file, wants) = opened.map_err(|error| exception(py, &error))?;
    let (url, file) = (file.url().to_owned(), Arc::new(file));
    let ranges = Ranges::new(file.clone(), wants);
    Ok((ByteFile { file: Owned::new(file), url }, ranges))
}

fn half_open(ranges: Vec<RangeTuple>) -> Vec<Range<u64>> {
    ranges.into_iter().map(|(start, stop)| start..stop).collect()
}

/// Bytes of a delivery, which an array is a view of.
#[pyclass(frozen, module = "farroot._core")]
struct Held(#[allow(dead_code)] bytes::Bytes);

/// Bytes as an array over their own memory.
fn array(py: Python<'_>, bytes: bytes::Bytes) -> PyResult<Py<PyArray1<u8>>> {
    let owner = Bound::new(py, Held(bytes.clone()))?.into_any();
    let view = ArrayView1::from(&bytes[..]);
    // SAFETY: the owner keeps the bytes, which are never changed.
    #[allow(unsafe_code)]
    let array = unsafe { PyArray1::borrow_from_array(&view, owner) };
    drop(array.readwrite().make_nonwriteable());
    Ok(array.unbind())
}
