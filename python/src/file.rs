//! Opening files and finding things in them.

use engine::Place;
use pyo3::prelude::*;

use crate::error::exception;
use crate::runtime::{Owned, engine, wait};
use crate::tree::Tree;

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

    fn keys(
        &self,
        py: Python<'_>,
        recursive: bool,
    ) -> PyResult<Vec<(String, u16, String, String)>> {
        let file = self.inner(py)?;
        let keys =
            wait(py, &engine(py)?, file.keys(recursive))?.map_err(|error| exception(py, &error))?;
        Ok(keys.into_iter().map(|key| (key.path, key.cycle, key.class, key.title)).collect())
    }

    fn tree(&self, py: Python<'_>, path: &str) -> PyResult<Tree> {
        let file = self.inner(py)?;
        let tree =
            wait(py, &engine(py)?, file.tree(path))?.map_err(|error| exception(py, &error))?;
        Ok(Tree::new(tree))
    }
}

/// Opens a file.
#[pyfunction]
pub fn open_file(py: Python<'_>, url: &str) -> PyResult<File> {
    let engine = engine(py)?;
    let file = wait(py, &engine, engine.open(url))?.map_err(|error| exception(py, &error))?;
    Ok(File::new(file))
}

/// Opens a file and a tree in it; without a path, the only tree there is.
#[pyfunction]
pub fn open_tree(py: Python<'_>, url: &str, path: Option<&str>) -> PyResult<Tree> {
    let engine = engine(py)?;
    let tree =
        wait(py, &engine, engine.open_tree(url, path))?.map_err(|error| exception(py, &error))?;
    Ok(Tree::new(tree))
}

/// Opens many trees side by side.
#[pyfunction]
pub fn open_trees(py: Python<'_>, places: Vec<(String, Option<String>)>) -> PyResult<Vec<Tree>> {
    let engine = engine(py)?;
    let places: Vec<_> =
        places.into_iter().map(|(url, tree)| Place { url, tree, open: None }).collect();
    let trees =
        wait(py, &engine, engine.open_trees(places))?.map_err(|error| exception(py, &error))?;
    Ok(trees.into_iter().map(Tree::new).collect())
}

/// `FILE:TREE` as the file and, where there is one, the tree.
#[pyfunction]
pub fn split_tree(address: &str) -> (&str, Option<&str>) {
    engine::address::split_tree(address)
}
