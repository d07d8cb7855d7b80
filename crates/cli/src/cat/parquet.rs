//! Columns as a Parquet file.

use std::path::{Path, PathBuf};

use engine::{Array, ArrayParameter, Batch, Columns, Cut, Engine, Step};
use remote::report::size;

use super::{BATCH_BYTES, progress, warn_of};
use crate::outcome::{Failure, Outcome};
use crate::parquet::{ParquetLibrary, ParquetWriter};
use crate::reading::Selection;

/// A Parquet file, which has its name only once it is whole.
pub struct Target<'a> {
    path: &'a Path,
    writer: Box<dyn ParquetWriter>,
    unfinished: Unfinished,
}

impl<'a> Target<'a> {
    /// Creates a file beside that of the path.
    pub fn create(library: &dyn ParquetLibrary, path: &'a Path) -> Result<Self, Failure> {
        let unfinished = Unfinished::beside(path);
        let writer = library.create(&unfinished.0).map_err(|error| cannot_write(path, error))?;
        Ok(Target { path, writer, unfinished })
    }

    /// Reads the columns into the file.
    pub async fn fill(
        mut self,
        engine: &Engine,
        selection: &Selection,
        source: &dyn Columns,
        cut: Option<&Cut>,
    ) -> Outcome {
        let entries = selection.entries(source.num_entries());
        let start = entries.start;
        let bar = progress(entries.end - start);
        let mut batches = source.batches(entries, Step::Bytes(BATCH_BYTES), cut).await?;
        // The first batch decides which columns there are.
        let first = match batches.next().await {
            Some(first) => first?,
            None => empty(source),
        };
        check(&first)?;
        warn_of(&first);
        self.write(first)?;
        while let Some(batch) = batches.next().await {
            let batch = batch?;
            bar.set_position(batch.entries.end.saturating_sub(start));
            bar.set_message(size(engine.report().bytes_received));
            self.write(batch)?;
        }
        let cannot = |error| cannot_write(self.path, error);
        self.writer.finish().map_err(cannot)?;
        std::fs::rename(&self.unfinished.0, self.path)
            .map_err(|error| cannot(error.to_string()))?;
        bar.finish_and_clear();
        Ok(())
    }

    fn write(&mut self, batch: Batch) -> Outcome {
        self.writer.write(batch).map_err(|error| cannot_write(self.path, error))
    }
}

fn cannot_write(path: &Path, error: String) -> Failure {
    format!("cannot write {}: {error}", path.display()).into()
}

/// A batch without entries.
fn empty(source: &dyn Columns) -> Batch {
    Batch { entries: 0..0, survivors: None, columns: source.empty(), left_out: Vec::new() }
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
            // Objects of any class that are all of one are no variants.
            (ArrayParameter::Objects, Array::Union { contents, .. }) => {
                matches!(&contents[..], [only] if is_held(only))
            }
            (_, content) => is_held(content),
        },
    }
}

/// A file that is removed unless it has got its name.
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
