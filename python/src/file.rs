//! Opening files and finding things in them.

use std::sync::Arc;

use engine::object::Opaque;
use mutex::Mutex;
use pyo3::prelude::*;

use crate::credentials::for_others;
use crate::error::exception;
use crate::members;
use crate::runtime::{Owned, engine, wait};
use crate::steps::in_use;
use crate::table::Table;

/// An open file.
#[pyclass(frozen, module = "farroot._core")]
pub struct File {
    file: Owned<engine::File>,
    url: String,
}

impl File {
    pub fn new(file: engine::File) -> Self {
        File { url: file.url().to_owned(), file: Owned::new(file) }
    }

    pub fn inner(&self, py: Python<'_>) -> PyResult<&engine::File> {
        self.file.here(py)
    }
}

/// An object's key (`TKey`), as its directory lists it.
#[pyclass(frozen, get_all, module = "farroot._core")]
pub struct Key {
    name: String,
    title: String,
    classname: String,
    cycle: u16,
    /// Offset of the record in the file.
    offset: u64,
    /// Bytes of the record, of the key at its beginning, and of the uncompressed object.
    stored_bytes: u64,
    key_bytes: u64,
    object_bytes: u64,
    directory_offset: u64,
    /// Time of writing, packed as in ROOT's `TDatime`.
    written: u32,
}

/// Path, cycle, class, title, and why a directory could not be listed.
type KeyTuple = (String, u16, String, String, Option<String>);

/// Class of the element, name, title, type, its code, dimensions, version of a base class.
type ElementTuple = (String, String, String, String, i32, Vec<u32>, i32);

/// Class, version, checksum.
type InfoTuple = (String, i32, u32, Vec<ElementTuple>);

type RecordTuple = (u64, u64, String, String, Option<f64>);

#[pymethods]
impl File {
    #[getter]
    fn url(&self) -> &str {
        &self.url
    }

    #[getter]
    fn size(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.inner(py)?.size())
    }

    /// The names of the servers and disks from which it has been read so far.
    fn sources(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        Ok(self.inner(py)?.sources())
    }

    #[getter]
    fn is_recovered(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.inner(py)?.is_recovered())
    }

    fn keys(&self, py: Python<'_>, recursive: bool) -> PyResult<Vec<KeyTuple>> {
        let file = self.inner(py)?;
        let keys =
            wait(py, &engine(py)?, file.keys(recursive))?.map_err(|error| exception(py, &error))?;
        let tuple = |key: engine::KeyInfo| {
            let problem = key.problem.map(|error| error.to_string());
            (key.path, key.cycle, key.class, key.title, problem)
        };
        Ok(keys.into_iter().map(tuple).collect())
    }

    /// Offset, stored bytes, class, name and compression of every record, gaps included.
    fn map(&self, py: Python<'_>) -> PyResult<Vec<RecordTuple>> {
        let file = self.inner(py)?;
        let records = wait(py, &engine(py)?, file.map())?.map_err(|error| exception(py, &error))?;
        let tuple = |r: engine::Record| (r.offset, r.stored_bytes, r.class, r.name, r.compression);
        Ok(records.into_iter().map(tuple).collect())
    }

    fn tree(&self, py: Python<'_>, path: &str) -> PyResult<Table> {
        let file = self.inner(py)?;
        let tree =
            wait(py, &engine(py)?, file.tree(path))?.map_err(|error| exception(py, &error))?;
        Ok(Table::new(Arc::new(tree)))
    }

    #[getter]
    fn root_version(&self, py: Python<'_>) -> PyResult<u32> {
        Ok(self.inner(py)?.format().header.version)
    }

    /// The file's own number.
    #[getter]
    fn uuid(&self, py: Python<'_>) -> PyResult<Option<u128>> {
        Ok(self.inner(py)?.format().header.uuid)
    }

    /// Name, version, checksum and elements of every class that the file describes.
    fn streamers(&self, py: Python<'_>) -> PyResult<Vec<InfoTuple>> {
        let infos = self.inner(py)?.format().classes.streamers.infos_of_file();
        let tuples = infos.map(|info| {
            let elements = info.elements.iter().map(|each| {
                let class = each.class.clone();
                let name = each.name.clone();
                let title = each.title.clone();
                let type_name = each.type_name.clone();
                let dimensions = each.dimensions.clone();
                (class, name, title, type_name, each.type_code, dimensions, each.base_version)
            });
            (info.class.clone(), info.version, info.checksum, elements.collect())
        });
        Ok(tuples.collect())
    }

    /// The object at that path, which may be a tree, too, read as an object; for `make` see
    /// [`members::to_python`]. Objects of `opaque` classes are left as bytes.
    fn object(
        &self,
        py: Python<'_>,
        path: &str,
        make: &Bound<'_, PyAny>,
        opaque: Opaque,
    ) -> PyResult<Py<PyAny>> {
        let file = self.inner(py)?;
        let objects = wait(py, &engine(py)?, file.object(path, &opaque))?;
        let objects = objects.map_err(|error| exception(py, &error))?;
        members::to_python(py, objects, make)
    }

    /// The content of that path: `"table"` and a tree or RNTuple, `"directory"` and nothing, or
    /// `"object"` and the result of [`members::to_python`].
    fn content(
        &self,
        py: Python<'_>,
        path: &str,
        make: &Bound<'_, PyAny>,
        opaque: Opaque,
    ) -> PyResult<(&'static str, Py<PyAny>)> {
        let file = self.inner(py)?;
        let engine = engine(py)?;
        let found = wait(py, &engine, engine.content_in(file, path, &opaque))?;
        content(py, found.map_err(|error| exception(py, &error))?, make)
    }

    /// The content of each of these paths, requested together.
    fn contents(&self, py: Python<'_>, paths: Vec<String>, opaque: Opaque) -> PyResult<Contents> {
        let file = self.inner(py)?;
        let engine = engine(py)?;
        let contents = wait(py, &engine, engine.contents(file, paths, opaque))?;
        let contents = contents.map_err(|error| exception(py, &error))?;
        Ok(Contents { contents: Owned::new(Mutex::new(contents)) })
    }

    fn table(&self, py: Python<'_>, path: &str) -> PyResult<Table> {
        let file = self.inner(py)?;
        let engine = engine(py)?;
        let table = wait(py, &engine, engine.table_in(file, path))?;
        table.map(Table::new).map_err(|error| exception(py, &error))
    }

    /// The key at a path, from the list of its directory.
    fn key(&self, py: Python<'_>, path: &str) -> PyResult<Key> {
        let file = self.inner(py)?;
        let key = wait(py, &engine(py)?, file.key(path))?.map_err(|error| exception(py, &error))?;
        Ok(Key {
            name: key.name,
            title: key.title,
            classname: key.class,
            cycle: key.cycle,
            offset: key.offset,
            stored_bytes: key.record_len,
            key_bytes: key.key_len,
            object_bytes: key.content_len,
            directory_offset: key.directory_offset,
            written: key.datime,
        })
    }

    /// The class of the object at that path.
    fn class_at(&self, py: Python<'_>, path: &str) -> PyResult<String> {
        let file = self.inner(py)?;
        wait(py, &engine(py)?, file.class_at(path))?.map_err(|error| exception(py, &error))
    }
}

/// The content of many paths of a file, in their order.
#[pyclass(frozen, module = "farroot._core")]
pub struct Contents {
    contents: Owned<Mutex<engine::Contents>>,
}

#[pymethods]
impl Contents {
    /// As [`File::content`], of the next path; `None` behind the last.
    fn next(
        &self,
        py: Python<'_>,
        make: &Bound<'_, PyAny>,
    ) -> PyResult<Option<(&'static str, Py<PyAny>)>> {
        let contents = self.contents.here(py)?;
        let mut contents = contents.try_lock().ok_or_else(|| in_use(py))?;
        let next = match contents.next_decoded() {
            Some(next) => next,
            None => match wait(py, &engine(py)?, contents.next())? {
                Some(next) => next,
                None => return Ok(None),
            },
        };
        content(py, next.map_err(|error| exception(py, &error))?, make).map(Some)
    }
}

fn content(
    py: Python<'_>,
    content: engine::Content,
    make: &Bound<'_, PyAny>,
) -> PyResult<(&'static str, Py<PyAny>)> {
    Ok(match content {
        engine::Content::Table(table) => ("table", Py::new(py, Table::new(table))?.into_any()),
        engine::Content::Directory => ("directory", py.None()),
        engine::Content::Object(objects) => ("object", members::to_python(py, objects, make)?),
    })
}

/// Opens a file and the tree or RNTuple in it.
/// Without a path, the only one there is.
#[pyfunction]
pub fn open_table(py: Python<'_>, url: &str, path: Option<&str>) -> PyResult<Table> {
    let engine = engine(py)?;
    let open = engine.open_table(url, path);
    wait(py, &engine, open)?.map(Table::new).map_err(|error| exception(py, &error))
}

/// Opens a file.
#[pyfunction]
pub fn open_file(py: Python<'_>, url: &str) -> PyResult<File> {
    let engine = engine(py)?;
    let file = wait(py, &engine, engine.open(url))?.map_err(|error| exception(py, &error))?;
    Ok(File::new(file))
}

/// The files that a pattern names.
#[pyfunction]
pub fn matching(py: Python<'_>, pattern: &str) -> PyResult<Vec<String>> {
    let engine = engine(py)?;
    let found = wait(py, &engine, engine.remote().matching(pattern))?;
    let found = found.map_err(|error| exception(py, &error))?;
    Ok(found.iter().map(|address| for_others(address)).collect())
}

/// Whether a name is meant as a glob. Square brackets alone are not: names have them.
#[pyfunction]
pub fn is_glob(text: &str) -> bool {
    engine::is_glob(text)
}

/// Text without secrets, and with an escape sequence for each control character.
#[pyfunction]
pub fn shown(text: &str) -> String {
    remote::display::shown(text).into_owned()
}

/// The same of text of several lines.
#[pyfunction]
pub fn shown_lines(text: &str) -> String {
    remote::display::shown_lines(text).into_owned()
}

/// Text without passwords, tokens and signatures.
#[pyfunction]
pub fn without_secrets(text: &str) -> String {
    remote::display::without_secrets(text).into_owned()
}

/// An address as it may be shown, without secrets.
#[pyfunction]
pub fn shown_address(py: Python<'_>, address: &str) -> PyResult<String> {
    let urls = remote::address::parse(address).map_err(|error| exception(py, &error))?;
    Ok(urls.iter().map(ToString::to_string).collect::<Vec<_>>().join("|"))
}

/// `FILE:OBJECT` as the file and, where there is one, the object's path.
#[pyfunction]
pub fn split_object(address: &str) -> (String, Option<&str>) {
    let at = remote::address::split_object(address);
    (at.file.into_owned(), at.object)
}
