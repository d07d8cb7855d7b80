//! Parquet files, written by a library that the caller provides: arrow-rs or pyarrow.

use std::path::Path;

use remote::sink::LocalPart;
use remote::{Error, ErrorKind, Result, Written};
use rootfile::array::{Array, ArrayParameter};

use crate::read::core::columns::Batch;

/// Creates Parquet files.
pub trait ParquetLibrary: Sync {
    /// Creates the file, or replaces an existing one.
    ///
    /// # Errors
    /// If the library cannot be used, or the file cannot be created.
    fn create(&self, path: &Path) -> Result<Box<dyn ParquetWriter>>;
}

/// A Parquet file that is being written.
pub trait ParquetWriter: Send {
    /// Writes one batch. The first one, which may have no entries, decides the types.
    ///
    /// # Errors
    /// If the batch cannot be written, or has other types than the first.
    fn write(&mut self, batch: Batch) -> Result<()>;

    /// Writes the footer.
    ///
    /// # Errors
    /// If it cannot be written.
    fn finish(self: Box<Self>) -> Result<()>;
}

/// A Parquet file of this machine, under a temporary name until it is complete.
pub struct ParquetFile {
    // The first field: dropped, and so closed, before `part` removes the temporary file.
    writer: Box<dyn ParquetWriter>,
    part: LocalPart,
    address: String,
    is_begun: bool,
}

impl ParquetFile {
    /// Creates a temporary file beside `path`.
    ///
    /// # Errors
    /// Those of [`LocalPart::create`] and of [`ParquetLibrary::create`].
    pub async fn create(
        library: &dyn ParquetLibrary,
        path: &Path,
        overwrite: bool,
    ) -> Result<ParquetFile> {
        let address = path.display().to_string();
        let located = |error: Error| error.with_url(&*address);
        let part = LocalPart::create(path, overwrite).await.map_err(located)?;
        let writer = library.create(&part.path()).map_err(located)?;
        Ok(ParquetFile { writer, part, address, is_begun: false })
    }

    /// Whether a batch has been written: the first one decides which columns the file has.
    pub fn is_begun(&self) -> bool {
        self.is_begun
    }

    /// Writes a batch.
    ///
    /// # Errors
    /// `Unsupported` for columns that Parquet cannot hold; as [`ParquetWriter::write`].
    pub fn write(&mut self, batch: Batch) -> Result<()> {
        if !std::mem::replace(&mut self.is_begun, true) {
            check(&batch)?;
        }
        self.writer.write(batch).map_err(|error| error.with_url(&*self.address))
    }

    /// Writes the footer, syncs the file to the disk, and renames it to `path`.
    ///
    /// # Errors
    /// As [`ParquetWriter::finish`] and [`LocalPart::finish`].
    pub async fn finish(self) -> Result<Written> {
        let ParquetFile { writer, part, address, .. } = self;
        writer.finish().map_err(|error| error.with_url(&*address))?;
        part.finish().await.map_err(|error| error.with_url(&*address))
    }
}

/// Parquet has neither variants nor records without members.
fn check(batch: &Batch) -> Result<()> {
    match batch.columns.iter().find(|(_, array)| !is_held(array)) {
        None => Ok(()),
        Some((name, _)) => {
            let text = format!(
                "Parquet cannot hold column {name}: it has variants, or records without members"
            );
            let error = Error::new(ErrorKind::Unsupported, text);
            Err(error.with_advice_for("name the others with --columns", "name the other columns"))
        }
    }
}

fn is_held(array: &Array) -> bool {
    match array {
        Array::Numbers { .. } | Array::Strings { .. } => true,
        Array::Union { .. } => false,
        Array::Record { fields, .. } => {
            !fields.is_empty() && fields.iter().all(|(_, field)| is_held(field))
        }
        Array::List { content, .. }
        | Array::Regular { content, .. }
        | Array::Option { content, .. } => is_held(content),
        Array::WithParameter { parameter, content } => match (parameter, &**content) {
            // A union with one alternative: all objects are of one class.
            (ArrayParameter::Objects, Array::Union { contents, .. }) => {
                matches!(&contents[..], [only] if is_held(only))
            }
            (_, content) => is_held(content),
        },
    }
}
