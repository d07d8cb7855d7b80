//! Columns that a skim keeps, batch by batch.

use std::time::Duration;

use remote::{Result, Written};

use super::columns::EncodedColumns;
use super::first::First;
use super::options::{SkimOptions, SkimReport};
use crate::read::core::alike::{ColumnTypes, TypeRule};
use crate::read::core::columns::Batch;
use crate::read::file::session::Session;
use crate::read::many::scan::{ScanBatch, ScanBatches, TableLocation};

/// Entries that a skim keeps of tables, in their order: the columns of the tables, then the new
/// columns. A batch may have no entries.
pub struct SkimBatches {
    pub first: First,
    session: Session,
    batches: ScanBatches,
    columns: EncodedColumns,
    inputs: Vec<(String, u64, u64)>,
    current: usize,
}

impl SkimBatches {
    pub async fn new(
        session: &Session,
        sources: &[TableLocation],
        options: &SkimOptions,
        first: First,
    ) -> Result<SkimBatches> {
        let columns = EncodedColumns::new(session, options, &first).await?;
        let request = columns.request(options);
        let batches = ScanBatches::new(session.clone(), sources.to_vec(), request)
            .with_types(ColumnTypes::new(TypeRule::First));
        let inputs = sources.iter().map(|source| (source.url.clone(), 0, 0)).collect();
        Ok(SkimBatches { first, session: session.clone(), batches, columns, inputs, current: 0 })
    }

    /// The next batch; `None` after the last one.
    pub async fn next(&mut self) -> Option<Result<Batch>> {
        let taken = match self.batches.next().await? {
            Ok(ScanBatch { file, batch, .. }) => {
                self.current = file;
                self.inputs[file].1 += batch.entries.end - batch.entries.start;
                self.inputs[file].2 += batch.len();
                self.columns.computed(batch)
            }
            Err(error) => Err(error),
        };
        Some(taken)
    }

    /// A batch without entries, for the types of the columns.
    ///
    /// # Errors
    /// As [`SkimBatches::next`].
    pub async fn nothing(&self) -> Result<Batch> {
        self.columns.nothing(&self.session, &self.first.table).await
    }

    /// For each source its address, and its entries in the batches so far: all, and those kept.
    pub fn inputs(&self) -> &[(String, u64, u64)] {
        &self.inputs
    }

    /// The position of the source of the last batch.
    pub fn current(&self) -> usize {
        self.current
    }

    /// The report on the file that has all batches; the caller sets its `time`.
    pub fn report(self, written: Written) -> SkimReport {
        SkimReport {
            table: self.first.path,
            inputs: self.inputs,
            is_copied: false,
            clusters: None,
            notes: self.first.note.into_iter().collect(),
            written,
            time: Duration::ZERO,
        }
    }
}
