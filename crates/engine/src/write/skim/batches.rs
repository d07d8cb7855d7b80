//! Columns that a skim keeps, batch by batch.

use std::time::Duration;

use remote::{Result, Written};
use rootfile::Array;

use super::columns::EncodedColumns;
use super::first::First;
use super::options::{SkimOptions, SkimReport};
use crate::read::core::alike::{ColumnTypes, TableTypes, TypeRule};
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
    /// The kept columns of the first table, without entries, and the types that all batches get.
    of_first: Vec<(String, Array)>,
    types: ColumnTypes,
    /// The same of the new columns.
    new_types: ColumnTypes,
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
        let session = session.clone();
        let batches = ScanBatches::new(session.clone(), sources.to_vec(), request);
        let inputs = sources.iter().map(|source| (source.url.clone(), 0, 0)).collect();
        let mut of_first = columns.nothing(&session, &first.table).await?.columns;
        of_first.truncate(of_first.len() - columns.new_columns());
        let url = first.table.file().url();
        let first_types = TableTypes { columns: of_first.clone(), path: &first.path, url };
        let types = ColumnTypes::of(TypeRule::First, &first_types);
        Ok(SkimBatches {
            first,
            session,
            batches,
            columns,
            of_first,
            types,
            new_types: ColumnTypes::new(TypeRule::First),
            inputs,
            current: 0,
        })
    }

    /// The columns to write: new ones are computed from columns as the file has them, and then all
    /// get the types that they have in the first table.
    fn encodable(&mut self, batch: Batch, url: &str) -> Result<Batch> {
        let mut batch = self.columns.computed(batch)?;
        let new = batch.columns.split_off(batch.columns.len() - self.columns.new_columns());
        // Columns that cannot be read may be left out.
        let mut read = batch.columns.iter().peekable();
        let columns = self.of_first.iter().map(|(name, empty)| {
            let own = read.next_if(|(own, _)| own == name);
            (name.clone(), own.map_or_else(|| empty.clone(), |(_, array)| array.empty_like()))
        });
        let columns = columns.collect();
        self.types.begin(&TableTypes { columns, path: &self.first.path, url })?;
        let mut batch = self.types.convert(batch)?;
        // A function may return another type where there are no entries.
        if batch.is_empty() {
            batch.columns.extend(new);
            return Ok(batch);
        }
        let columns = new.iter().map(|(name, array)| (name.clone(), array.empty_like())).collect();
        self.new_types.begin(&TableTypes { columns, path: &self.first.path, url })?;
        let kept = std::mem::replace(&mut batch.columns, new);
        let mut batch = self.new_types.convert(batch)?;
        let new = std::mem::replace(&mut batch.columns, kept);
        batch.columns.extend(new);
        Ok(batch)
    }

    /// The next batch; `None` after the last one.
    pub async fn next(&mut self) -> Option<Result<Batch>> {
        let taken = match self.batches.next().await? {
            Ok(ScanBatch { file, batch, url }) => {
                self.current = file;
                self.inputs[file].1 += batch.entries.end - batch.entries.start;
                self.inputs[file].2 += batch.len();
                self.encodable(batch, &url)
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
