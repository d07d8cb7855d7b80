//! Columns as a Parquet file.

use std::fs::File;
use std::path::{Path, PathBuf};

use arrow_schema::{DataType, FieldRef, Schema, SchemaRef};
use engine::report::size;
use engine::{Cut, Engine, Selected, Step};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;

use super::{BATCH_BYTES, progress, warn_of};
use crate::outcome::{Failure, Outcome};
use crate::reading::Selection;

/// Encoded bytes of a row group: the writer holds so much in memory, readers skip by it.
const GROUP_BYTES: usize = 64 << 20;

/// Writes a file of that name, which is there only once it is whole.
pub async fn write(
    engine: &Engine,
    selection: &Selection,
    source: &Selected,
    cut: Option<&Cut>,
    path: &Path,
) -> Outcome {
    let entries = selection.entries(source.num_entries());
    let start = entries.start;
    let unfinished = Unfinished::beside(path);
    let cannot =
        |error: &dyn std::fmt::Display| format!("cannot write {}: {error}", path.display());
    let file = File::create(&unfinished.0).map_err(|error| cannot(&error))?;
    let properties = WriterProperties::builder()
        .set_created_by(format!("farroot {}", env!("CARGO_PKG_VERSION")))
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_max_row_group_bytes(Some(GROUP_BYTES))
        .build();
    let failed = |error: ParquetError| Failure::from(cannot(&error));
    let begin = |schema: SchemaRef| {
        check(&schema)?;
        ArrowWriter::try_new(file, schema, Some(properties)).map_err(failed)
    };
    let bar = progress(entries.end - entries.start);
    let mut batches = source.batches(entries, Step::Bytes(BATCH_BYTES), cut).await?;
    // The first batch decides which columns there are.
    let (mut writer, schema) = match batches.next().await {
        None => {
            let schema = source.arrow_schema()?;
            (begin(schema.clone())?, schema)
        }
        Some(first) => {
            let first = first?;
            warn_of(&first);
            let first = first.into_arrow()?;
            let mut writer = begin(first.schema())?;
            writer.write(&first).map_err(failed)?;
            (writer, first.schema())
        }
    };
    while let Some(batch) = batches.next().await {
        let batch = batch?;
        bar.set_position(batch.entries.end.saturating_sub(start));
        bar.set_message(size(engine.report().bytes_received));
        writer.write(&batch.into_arrow_as(&schema)?).map_err(failed)?;
    }
    writer.close().map_err(failed)?;
    std::fs::rename(&unfinished.0, path).map_err(|error| cannot(&error))?;
    bar.finish_and_clear();
    Ok(())
}

/// Parquet knows neither variants nor records without members.
fn check(schema: &Schema) -> Outcome {
    let has_no_form = |field: &&FieldRef| !is_held(field.data_type());
    match schema.fields().iter().find(has_no_form) {
        None => Ok(()),
        Some(field) => Err(format!(
            "Parquet cannot hold column {}: it has variants, or records without members; name \
             the others with --columns",
            field.name()
        )
        .into()),
    }
}

fn is_held(kind: &DataType) -> bool {
    match kind {
        DataType::Union(..) => false,
        DataType::LargeList(item) | DataType::FixedSizeList(item, _) => is_held(item.data_type()),
        DataType::Struct(fields) => {
            !fields.is_empty() && fields.iter().all(|field| is_held(field.data_type()))
        }
        _ => true,
    }
}

/// A file that is taken away again unless it has got its name.
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
