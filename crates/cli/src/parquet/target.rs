//! A Parquet file that is written under a temporary name.

use std::fs::File;
use std::path::{Path, PathBuf};

use engine::{Array, ArrayParameter, Batch};

use super::{ParquetLibrary, ParquetWriter};
use crate::outcome::{Failure, Outcome};

/// A Parquet file, which has its name only once it is whole.
pub struct Target<'a> {
    path: &'a Path,
    writer: Box<dyn ParquetWriter>,
    unfinished: Unfinished,
    is_begun: bool,
}

impl<'a> Target<'a> {
    /// Creates a temporary file beside `path`.
    pub fn create(library: &dyn ParquetLibrary, path: &'a Path) -> Result<Self, Failure> {
        let unfinished = Unfinished::beside(path);
        let writer = library.create(&unfinished.0).map_err(|error| cannot_write(path, error))?;
        Ok(Target { path, writer, unfinished, is_begun: false })
    }

    /// Whether a batch has been written: the first one decides which columns there are.
    pub fn is_begun(&self) -> bool {
        self.is_begun
    }

    pub fn write(&mut self, batch: Batch) -> Outcome {
        if !std::mem::replace(&mut self.is_begun, true) {
            check(&batch)?;
        }
        self.writer.write(batch).map_err(|error| cannot_write(self.path, error))
    }

    /// Writes the footer, and gives the file its name once the disk has it.
    pub fn finish(self) -> Outcome {
        let Target { path, writer, unfinished, .. } = self;
        writer.finish().map_err(|error| cannot_write(path, error))?;
        let synced = File::open(&unfinished.0).and_then(|file| file.sync_all());
        let named = synced.and_then(|()| std::fs::rename(&unfinished.0, path));
        named.map_err(|error| cannot_write(path, error.to_string()))
    }
}

fn cannot_write(path: &Path, error: String) -> Failure {
    format!("cannot write {}: {error}", path.display()).into()
}

/// Parquet knows neither variants nor records without members.
fn check(batch: &Batch) -> Outcome {
    match batch.columns.iter().find(|(_, array)| !is_held(array)) {
        None => Ok(()),
        Some((name, _)) => Err(format!(
            "Parquet cannot hold column {name}: it has variants, or records without members; name \
             the others with --columns"
        )
        .into()),
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
            // Objects of any class, all of the same class: no variants.
            (ArrayParameter::Objects, Array::Union { contents, .. }) => {
                matches!(&contents[..], [only] if is_held(only))
            }
            (_, content) => is_held(content),
        },
    }
}

/// A temporary file, removed unless it has been renamed.
struct Unfinished(PathBuf);

impl Unfinished {
    fn beside(path: &Path) -> Self {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".{}.part", std::process::id()));
        Unfinished(name.into())
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}
