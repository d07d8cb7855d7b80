//! Columns as a Parquet file.

use engine::{Batch, Engine, Expressions, ParquetFile, Step};
use remote::report::size;

use super::{BATCH_BYTES, progress, warn_of};
use crate::outcome::Outcome;
use crate::reading::Selection;

/// Reads the columns into the file.
pub async fn fill(
    mut target: ParquetFile,
    engine: &Engine,
    selection: &Selection,
    source: &Expressions,
) -> Outcome {
    let entries = selection.entries(source.columns().num_entries());
    let start = entries.start;
    let bar = progress(entries.end - start);
    let mut batches =
        source.columns().batches(entries, Step::Bytes(BATCH_BYTES), source.cut()).await?;
    while let Some(batch) = batches.next().await {
        let batch = source.batch(batch?)?;
        if !target.is_begun() {
            warn_of(&batch);
        }
        bar.set_position(batch.entries.end.saturating_sub(start));
        bar.set_message(size(engine.report().bytes_received));
        target.write(batch)?;
    }
    if !target.is_begun() {
        target.write(empty(source)?)?;
    }
    target.finish().await?;
    bar.finish_and_clear();
    Ok(())
}

/// A batch without entries.
fn empty(source: &Expressions) -> engine::Result<Batch> {
    let columns = source.columns().empty();
    source.batch(Batch { entries: 0..0, survivors: None, columns, left_out: Vec::new() })
}
