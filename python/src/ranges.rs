//! Files of any kind, as ranges of bytes.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use engine::{Arrivals, Watched};
use futures::StreamExt;
use mutex::Mutex;
use numpy::ndarray::ArrayView1;
use numpy::{PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use remote::fetch::{RemoteFile, Wants};

use crate::error::exception;
use crate::runtime::{Owned, engine, wait};
use crate::steps::in_use;

/// An open file of any kind.
#[pyclass(frozen, module = "farroot._core")]
pub struct ByteFile {
    file: Owned<Opened>,
    url: String,
}

enum Opened {
    Plain(Arc<RemoteFile>),
    /// The engine observes the reads, and prefetches.
    Watched(Watched),
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
        let info = match self.file.here(py)? {
            Opened::Plain(file) => file.info(),
            Opened::Watched(file) => file.info(),
        };
        Ok((info.size, info.modified, info.version.clone()))
    }

    /// Requests ranges, and does not wait for them.
    fn read(&self, py: Python<'_>, ranges: Vec<RangeTuple>) -> PyResult<Ranges> {
        Ok(Ranges::new(match self.file.here(py)? {
            Opened::Plain(file) => Arriving::Plain(file.read(&half_open(ranges)), file.clone()),
            Opened::Watched(file) => Arriving::Watched(file.read(half_open(ranges))),
        }))
    }
}

/// Ranges on their way; dropping it gives up those that have not come.
#[pyclass(frozen, module = "farroot._core")]
pub struct Ranges {
    arriving: Owned<Mutex<Arriving>>,
}

enum Arriving {
    /// With the file, which is closed when nothing of it is on its way any more.
    Plain(Wants, #[allow(dead_code)] Arc<RemoteFile>),
    Watched(Arrivals),
}

#[pymethods]
impl Ranges {
    /// Position and bytes of the next range that has come; None after the last one.
    fn next(&self, py: Python<'_>) -> PyResult<Option<(usize, Py<PyArray1<u8>>)>> {
        let arriving = self.arriving.here(py)?;
        let mut arriving = arriving.try_lock().ok_or_else(|| in_use(py))?;
        let Some(come) = wait(py, &engine(py)?, arriving.next())? else { return Ok(None) };
        let (position, bytes) = come.map_err(|error| exception(py, &error))?;
        Ok(Some((position, array(py, bytes)?)))
    }
}

impl Ranges {
    fn new(arriving: Arriving) -> Self {
        Ranges { arriving: Owned::new(Mutex::new(arriving)) }
    }
}

impl Arriving {
    async fn next(&mut self) -> Option<engine::Result<(usize, Bytes)>> {
        match self {
            Arriving::Plain(wants, _) => {
                wants.next().await.map(|come| come.map(|one| (one.index, one.bytes)))
            }
            Arriving::Watched(arrivals) => {
                arrivals.next().await.map(|come| come.map(|one| (one.index, one.bytes)))
            }
        }
    }
}

/// Opens a file; the requests for its first ranges leave together with the open.
#[pyfunction]
pub fn open_bytes(
    py: Python<'_>,
    address: &str,
    ranges: Vec<RangeTuple>,
) -> PyResult<(ByteFile, Ranges)> {
    let engine = engine(py)?;
    let ranges = half_open(ranges);
    let opened = wait(py, &engine, engine.remote().open_ranges(address, &ranges))?;
    let (file, wants) = opened.map_err(|error| exception(py, &error))?;
    let url = file.url().to_owned();
    let file = Arc::new(file);
    let ranges = Ranges::new(Arriving::Plain(wants, file.clone()));
    Ok((ByteFile { file: Owned::new(Opened::Plain(file)), url }, ranges))
}

/// Opens a file whose reads are watched: the ranges that they will need next are prefetched.
/// Callers that have the same address open share it.
#[pyfunction]
pub fn watch(py: Python<'_>, address: &str) -> PyResult<ByteFile> {
    let engine = engine(py)?;
    let file = wait(py, &engine, engine.watch(address))?.map_err(|error| exception(py, &error))?;
    let url = file.url().to_owned();
    Ok(ByteFile { file: Owned::new(Opened::Watched(file)), url })
}

fn half_open(ranges: Vec<RangeTuple>) -> Vec<Range<u64>> {
    ranges.into_iter().map(|(start, stop)| start..stop).collect()
}

/// Bytes of a delivery, which an array is a view of.
#[pyclass(frozen, module = "farroot._core")]
struct Held(#[allow(dead_code)] Bytes);

/// Bytes as an array over their own memory.
fn array(py: Python<'_>, bytes: Bytes) -> PyResult<Py<PyArray1<u8>>> {
    let owner = Bound::new(py, Held(bytes.clone()))?.into_any();
    let view = ArrayView1::from(&bytes[..]);
    // SAFETY: the owner keeps the bytes, which are never changed.
    #[allow(unsafe_code)]
    let array = unsafe { PyArray1::borrow_from_array(&view, owner) };
    drop(array.readwrite().make_nonwriteable());
    Ok(array.unbind())
}
