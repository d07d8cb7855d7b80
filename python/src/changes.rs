//! Files written as plain bytes, and names changed: the work of filesystems.

use mutex::Mutex;
use pyo3::prelude::*;
use remote::CreateOptions;

use crate::error::exception;
use crate::runtime::{Owned, engine, wait};

/// A file that is being written. Dropped without `finish` nothing of it is left.
#[pyclass(frozen, module = "farroot._core")]
pub struct Upload(Mutex<Option<Owned<remote::Upload>>>);

#[pymethods]
impl Upload {
    /// Begins a file, or goes on behind the end of one that is there.
    #[new]
    fn new(py: Python<'_>, address: &str, overwrite: bool, append: bool) -> PyResult<Self> {
        let engine = engine(py)?;
        let begun = wait(py, &engine, async {
            let remote = engine.remote();
            match append {
                true => remote.append_to(address).await,
                false => {
                    let options = CreateOptions { overwrite, ..CreateOptions::default() };
                    remote.create(address, options).await
                }
            }
        })?;
        let upload = begun.map_err(|error| exception(py, &error))?;
        Ok(Upload(Mutex::new(Some(Owned::new(upload)))))
    }

    /// Adds bytes at the end.
    fn write(&self, py: Python<'_>, content: &[u8]) -> PyResult<()> {
        let engine = engine(py)?;
        let bytes = bytes::Bytes::copy_from_slice(content);
        let mut held = self.0.lock().take();
        let upload = held.as_mut().and_then(Owned::get_mut);
        let Some(upload) = upload else { return Err(ended(py)) };
        let end = upload.len();
        let written = wait(py, &engine, upload.write(end, bytes, false))?;
        *self.0.lock() = held;
        written.map_err(|error| exception(py, &error))
    }

    /// Gives the file its name.
    fn finish(&self, py: Python<'_>) -> PyResult<()> {
        let engine = engine(py)?;
        let held = self.0.lock().take();
        let Some(upload) = held.and_then(Owned::into_inner) else { return Err(ended(py)) };
        let finished = wait(py, &engine, upload.finish())?;
        finished.map(drop).map_err(|error| exception(py, &error))
    }

    /// Leaves nothing of it behind.
    fn abandon(&self, py: Python<'_>) -> PyResult<()> {
        let engine = engine(py)?;
        let held = self.0.lock().take();
        let Some(upload) = held.and_then(Owned::into_inner) else { return Ok(()) };
        wait(py, &engine, upload.abandon())
    }
}

fn ended(py: Python<'_>) -> PyErr {
    let text = "the file is closed, or was opened before a fork";
    exception(py, &remote::Error::new(remote::ErrorKind::InvalidArgument, text))
}

/// Makes a directory, with those above it.
#[pyfunction]
pub fn make_folder(py: Python<'_>, address: &str) -> PyResult<()> {
    let engine = engine(py)?;
    let made = wait(py, &engine, engine.remote().make_folder(address))?;
    made.map_err(|error| exception(py, &error))
}

/// Removes a file.
#[pyfunction]
pub fn remove(py: Python<'_>, address: &str) -> PyResult<()> {
    let engine = engine(py)?;
    let removed = wait(py, &engine, engine.remote().remove(address))?;
    removed.map_err(|error| exception(py, &error))
}

/// Removes an empty directory.
#[pyfunction]
pub fn remove_folder(py: Python<'_>, address: &str) -> PyResult<()> {
    let engine = engine(py)?;
    let removed = wait(py, &engine, engine.remote().remove_folder(address))?;
    removed.map_err(|error| exception(py, &error))
}

/// Gives a file or directory another name in the same place.
#[pyfunction]
pub fn rename(py: Python<'_>, source: &str, target: &str) -> PyResult<()> {
    let engine = engine(py)?;
    let renamed = wait(py, &engine, engine.remote().rename(source, target))?;
    renamed.map_err(|error| exception(py, &error))
}
