//! Copies of whole files.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use mutex::Mutex;
use pyo3::prelude::*;
use remote::{Checksum, Copied, CopyOptions, Progress};

use crate::error::exception;
use crate::runtime::{engine, wait, warn_of_upload};

/// Source, target, size, bytes from an earlier try, the checksum that was compared, and whether the
/// file was there already.
type CopiedTuple = (String, OsString, u64, u64, Option<String>, bool);

/// Bytes that are here and bytes in all, of a file that has been begun.
type DoneTuple = Option<(u64, u64)>;

/// How far each file of a copy is; looked at while the copy goes on.
#[pyclass(frozen, module = "farroot._core")]
pub struct CopyProgress {
    files: Arc<Mutex<Vec<DoneTuple>>>,
}

#[pymethods]
impl CopyProgress {
    #[new]
    fn new() -> Self {
        CopyProgress { files: Arc::default() }
    }

    /// Of each file, in their order.
    fn files(&self) -> Vec<DoneTuple> {
        self.files.lock().clone()
    }
}

/// Writes a small file that this user alone can read, where `cp` would.
#[pyfunction]
pub fn write_private(py: Python<'_>, target: PathBuf, content: &[u8]) -> PyResult<()> {
    let written = py.detach(|| remote::write_private(&target, content));
    written.map_err(|error| exception(py, &error))
}

/// Writes a small file where `cp` would, with the permissions of the file that it replaces.
#[pyfunction]
pub fn write_file(py: Python<'_>, target: PathBuf, content: &[u8]) -> PyResult<()> {
    let written = py.detach(|| remote::write_file(&target, content));
    written.map_err(|error| exception(py, &error))
}

/// Copies files, and returns the result of each, or its error.
#[expect(clippy::too_many_arguments, reason = "one for each argument in Python")]
#[pyfunction]
pub fn copy(
    py: Python<'_>,
    sources: Vec<String>,
    target: PathBuf,
    overwrite: bool,
    verify: bool,
    in_place: bool,
    recursive: bool,
    update: bool,
    checksum: Option<&str>,
    progress: Option<&Bound<'_, CopyProgress>>,
) -> PyResult<Vec<Py<PyAny>>> {
    let checksum = checksum.map(Checksum::written).transpose();
    let checksum = checksum.map_err(|error| exception(py, &error))?;
    let options = CopyOptions { overwrite, verify, in_place, recursive, update, checksum };
    let engine = engine(py)?;
    let files = progress.map(|progress| progress.get().files.clone());
    let record = |now: Progress| {
        if let Some(files) = &files {
            let mut files = files.lock();
            files.resize(now.files, None);
            files[now.file] = Some((now.done, now.size));
        }
    };
    let copied = wait(py, &engine, engine.remote().copy(&sources, &target, options, &record))?;
    let outcome = |file: engine::Result<Copied>| match file {
        Ok(file) => {
            let checksum = file.checksum.map(|checksum| checksum.to_string());
            // No path: of an address it would leave one slash where there are two.
            let target = file.target.into_os_string();
            let Copied { source, size, resumed, is_same, warnings, .. } = file;
            warn_of_upload(py, &warnings)?;
            let tuple: CopiedTuple = (source, target, size, resumed, checksum, is_same);
            Ok(tuple.into_pyobject(py)?.into_any().unbind())
        }
        Err(error) => Ok(exception(py, &error).into_value(py).into_any()),
    };
    copied.map_err(|error| exception(py, &error))?.into_iter().map(outcome).collect()
}
