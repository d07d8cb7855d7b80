//! Writes the entries that pass the cut to a new file, with all columns encoded again.

use std::collections::BTreeSet;
use std::sync::Arc;

use remote::{Result, Written};
use rootfile::write::ntuple::{RNTupleOptions, RNTupleWriter};
use rootfile::write::tree::{TreeOptions, TreeWriter};
use rootfile::write::{EntryType, TableColumn, TableWriter};

use super::batches::SkimBatches;
use super::first::First;
use super::options::{SkimOptions, SkimReport};
use super::parquet::ParquetFile;
use crate::located::Located;
use crate::read::core::columns::Batch;
use crate::read::file::session::Session;
use crate::write::copy::MergeProgress;
use crate::write::options::WriteOptions;
use crate::write::output::{FileOutput, TableOutput};
use crate::write::report::WriteReport;

/// A file that is written from the batches of a skim.
pub trait SkimTarget: Send {
    /// Writes a batch; the first one, which may have no entries, decides the types.
    fn write(&mut self, batch: Batch, first: &First) -> impl Future<Output = Result<()>> + Send;

    /// Writes the rest, and gives the file its name.
    fn finish(self) -> impl Future<Output = Result<Written>> + Send;

    /// Gives the file up, and waits until nothing of it is left: its name is free then.
    fn abandon(self) -> impl Future<Output = ()> + Send;
}

/// Writes the entries that pass the cut to a file.
pub async fn encode(
    mut batches: SkimBatches,
    mut target: impl SkimTarget,
    progress: &(dyn Fn(MergeProgress) + Sync),
) -> Result<SkimReport> {
    match write(&mut batches, &mut target, progress).await {
        Ok(()) => Ok(batches.report(target.finish().await?)),
        Err(error) => {
            target.abandon().await;
            Err(error)
        }
    }
}

async fn write(
    batches: &mut SkimBatches,
    target: &mut impl SkimTarget,
    progress: &(dyn Fn(MergeProgress) + Sync),
) -> Result<()> {
    let mut now = MergeProgress { inputs: batches.inputs().len(), ..MergeProgress::default() };
    let mut is_begun = false;
    while let Some(batch) = batches.next().await {
        target.write(batch?, &batches.first).await?;
        is_begun = true;
        now.read = batches.current();
        progress(now);
    }
    if !is_begun {
        target.write(batches.nothing().await?, &batches.first).await?;
    }
    Ok(())
}

/// A ROOT file with one table.
pub struct RootFile<'a> {
    file: FileOutput,
    table: Option<TableOutput>,
    output: &'a str,
    options: &'a SkimOptions,
}

impl<'a> RootFile<'a> {
    pub async fn create(
        session: &Session,
        output: &'a str,
        options: &'a SkimOptions,
    ) -> Result<RootFile<'a>> {
        let write = WriteOptions {
            overwrite: options.overwrite,
            compression: options.compression,
            reproducible: options.reproducible,
            ..WriteOptions::default()
        };
        let file = FileOutput::create(session, output, write).await?;
        Ok(RootFile { file, table: None, output, options })
    }
}

impl SkimTarget for RootFile<'_> {
    async fn write(&mut self, batch: Batch, first: &First) -> Result<()> {
        let (names, arrays): (Vec<String>, Vec<_>) = batch.columns.into_iter().unzip();
        let to = match &self.table {
            Some(table) => table,
            None => {
                let new: BTreeSet<&str> =
                    self.options.define.iter().map(|one| &*one.name).collect();
                let columns = table_columns(&names, &arrays, first, &new);
                let columns = columns.located(self.output).map_err(|error| {
                    error.with_advice_for(
                        "a cut or new columns make farroot encode all columns anew: leave this one \
                         out of -c",
                        "a cut or new columns make farroot encode all columns anew: leave this one \
                         out of columns",
                    )
                })?;
                let writer = writer(columns, self.options, first).located(self.output)?;
                self.table.insert(self.file.make_table(&first.path, writer).await?)
            }
        };
        to.extend(arrays.into_iter().map(Arc::new).collect()).await
    }

    async fn finish(self) -> Result<Written> {
        let WriteReport { address, size, checksum, warnings, .. } = self.file.finish().await?;
        Ok(Written { address, size, checksum, warnings })
    }

    async fn abandon(self) {
        self.file.abandon().await;
    }
}

impl SkimTarget for ParquetFile {
    async fn write(&mut self, batch: Batch, _: &First) -> Result<()> {
        ParquetFile::write(self, batch)
    }

    async fn finish(self) -> Result<Written> {
        ParquetFile::finish(self).await
    }

    async fn abandon(self) {
        // It has no lock, and its part goes with it.
        drop(self);
    }
}

/// The columns of the output, with the names and titles of the input's.
fn table_columns(
    names: &[String],
    arrays: &[rootfile::Array],
    first: &First,
    new: &BTreeSet<&str>,
) -> rootfile::Result<Vec<TableColumn>> {
    let mut taken = BTreeSet::new();
    let separator = first.table.list().kind().separator();
    let column = |(path, array): (&String, &rootfile::Array)| {
        let last = match new.contains(&**path) {
            true => path,
            false => without_dimensions(path.rsplit(separator).next().unwrap_or(path)),
        };
        let name = if taken.insert(last.to_owned()) {
            last.to_owned()
        } else {
            without_dimensions(path).replace(separator, "_")
        };
        let entry = EntryType::of(array).map_err(|error| error.within(path))?;
        Ok(TableColumn { name, title: title(first, path), entry })
    };
    names.iter().zip(arrays).map(column).collect()
}

/// A name without the dimensions behind it, which ROOT adds to those of members: `Edges[4]`.
fn without_dimensions(mut name: &str) -> &str {
    while let Some(at) = name.strip_suffix(']').and_then(|inner| inner.rfind('['))
        && at > 0
    {
        name = &name[..at];
    }
    name
}

/// A column as an RNTuple may call it: with underscores for dots, as in ROOT's
/// `RNTupleImporter::SetConvertDotsInBranchNames`.
fn without_dots(column: TableColumn) -> TableColumn {
    TableColumn { name: column.name.replace('.', "_"), ..column }
}

/// A branch's title, where it is no list of leaves.
fn title(first: &First, path: &str) -> String {
    let Some(tree) = &first.tree else { return String::new() };
    let branch = tree.branches.iter().find(|branch| branch.name == path);
    let title = branch.map(|branch| &*branch.title).unwrap_or_default();
    let is_list = title == path || title.starts_with(&format!("{path}/")) || title.contains('[');
    if is_list { String::new() } else { title.to_owned() }
}

fn writer(
    columns: Vec<TableColumn>,
    options: &SkimOptions,
    first: &First,
) -> rootfile::Result<Box<dyn TableWriter>> {
    let compression = options.compression;
    if !options.format.is_tree(first.tree.is_some()) {
        let options = RNTupleOptions::of(compression);
        let columns = columns.into_iter().map(without_dots).collect();
        return Ok(Box::new(RNTupleWriter::new(columns, options)?));
    }
    let title = first.tree.as_ref().map(|tree| tree.title.clone()).unwrap_or_default();
    let counter_name = counter_name(first).to_owned();
    let weight = first.tree.as_ref().map_or(1.0, |tree| tree.weight);
    let options =
        TreeOptions { title, weight, compression, counter_name, ..TreeOptions::default() };
    Ok(Box::new(TreeWriter::new(columns, options)?))
}

/// How the tree calls its counters: as NanoAOD does, `nMuon` of `Muon_pt`, or one for each branch.
fn counter_name(first: &First) -> &'static str {
    let Some(tree) = &first.tree else { return "n{name}" };
    let mut counted = tree.branches.iter().filter_map(|branch| {
        let (counter, _) = branch.leaves.first()?.count?;
        Some((&branch.name, &tree.branches[counter.0 as usize].name))
    });
    let is_nano = |(name, counter): (&String, &String)| {
        let stem = name.split('_').next().unwrap_or(name);
        counter.strip_prefix('n') == Some(stem)
    };
    if counted.all(is_nano) { "n{stem}" } else { "n{name}" }
}

#[cfg(test)]
mod tests {
    use rootfile::array::Number;

    use super::*;

    /// Regression: skims that encode columns to a tree refused such names.
    #[test]
    fn names_lose_the_dimensions_of_their_members() {
        let names = ["EFlowPhoton.Edges[4]", "x[2][3]", "x", "[4]", "a[2]/b"];
        let expected = ["EFlowPhoton.Edges", "x", "x", "[4]", "a[2]/b"];
        assert_eq!(names.map(without_dimensions), expected);
    }

    /// Regression: skims to an RNTuple refused names with dots, as those of split objects.
    #[test]
    fn names_with_dots_have_underscores_in_rntuples() {
        let entry = EntryType::Number(Number::I32);
        let column = |name: &str| {
            let (name, title) = (name.to_owned(), String::new());
            TableColumn { name, title, entry: entry.clone() }
        };
        assert_eq!(without_dots(column("Jet.PT.x")), column("Jet_PT_x"));
        let columns = vec![column("Jet.PT")];
        assert!(RNTupleWriter::new(columns.clone(), RNTupleOptions::default()).is_err());
        let columns = columns.into_iter().map(without_dots).collect();
        assert!(RNTupleWriter::new(columns, RNTupleOptions::default()).is_ok());
    }
}
