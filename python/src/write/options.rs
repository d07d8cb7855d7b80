//! Options of files and tables that are written, as Python gives them.

use std::collections::BTreeMap;

use engine::{ClusterSize, Compression, Error, ErrorKind, Jagged, WriteOptions};
use engine::{RNTupleOptions, TreeOptions};
use pyo3::prelude::*;

use crate::error::exception;

/// How a file is written.
#[pyclass(frozen, module = "farroot._core")]
pub struct FileOptions {
    options: WriteOptions,
}

#[pymethods]
impl FileOptions {
    #[new]
    fn new(
        py: Python<'_>,
        title: String,
        compression: NumberAndLevel,
        threads: Option<usize>,
        memory_bytes: Option<usize>,
        reproducible: bool,
        checkpoint_bytes: Option<u64>,
    ) -> PyResult<Self> {
        let options = WriteOptions {
            title,
            compression: compression_of(py, compression)?,
            threads,
            memory_bytes,
            reproducible,
            checkpoint: checkpoint_bytes,
            ..WriteOptions::default()
        };
        Ok(FileOptions { options })
    }

    /// The same of a file that other writers may have at the same time.
    fn shared(&self) -> Self {
        FileOptions { options: WriteOptions { shared: true, ..self.options.clone() } }
    }
}

impl FileOptions {
    pub fn options(&self, overwrite: bool) -> WriteOptions {
        WriteOptions { overwrite, ..self.options.clone() }
    }
}

/// A compression: ROOT's number, and a codec level in place of the one that ROOT's level maps to.
pub type NumberAndLevel = (u32, Option<i32>);

pub fn compression_of(py: Python<'_>, compression: NumberAndLevel) -> PyResult<Compression> {
    let (number, size_level) = compression;
    let compression = Compression::of_number(number).map_err(|error| {
        let error = Error::new(ErrorKind::InvalidArgument, error.to_string());
        exception(py, &error)
    })?;
    Ok(Compression { size_level, ..compression })
}

/// A user's options for one table.
#[derive(Clone, FromPyObject)]
pub struct TableChoice {
    pub title: String,
    pub compression: NumberAndLevel,
    pub cluster_entries: Option<u64>,
    pub cluster_bytes: Option<u64>,
    /// Names of the branches that count lists, by column.
    pub counters: BTreeMap<String, String>,
    /// Names of branches, by column of records and field.
    pub fields: BTreeMap<(String, String), String>,
    /// Descriptions of fields within others, by the names of the fields that lead to them.
    pub descriptions: BTreeMap<String, String>,
    /// Whether lists of numbers are vectors.
    pub is_vector: bool,
}

impl TableChoice {
    pub fn tree(self, py: Python<'_>) -> PyResult<TreeOptions> {
        let mut options = TreeOptions {
            title: self.title,
            compression: compression_of(py, self.compression)?,
            counters: self.counters,
            fields: self.fields,
            ..TreeOptions::default()
        };
        if self.is_vector {
            options.jagged = Jagged::Vector;
        }
        match (self.cluster_entries, self.cluster_bytes) {
            (Some(entries), _) => options.cluster = ClusterSize::Entries(entries),
            (None, Some(bytes)) => options.cluster = ClusterSize::Bytes(bytes),
            (None, None) => {}
        }
        Ok(options)
    }

    pub fn ntuple(self, py: Python<'_>) -> PyResult<RNTupleOptions> {
        let mut options = RNTupleOptions {
            description: self.title,
            descriptions: self.descriptions,
            ..RNTupleOptions::of(compression_of(py, self.compression)?)
        };
        options.cluster_entries = self.cluster_entries;
        if let Some(bytes) = self.cluster_bytes {
            options.cluster_bytes = bytes;
        }
        Ok(options)
    }
}
