//! A skim that reads what passes the cut, and encodes it anew.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use remote::{Result, Written};
use rootfile::write::ntuple::{RNTupleOptions, RNTupleWriter};
use rootfile::write::tree::{TreeOptions, TreeWriter};
use rootfile::write::{EntryType, TableColumn, TableWriter};

use super::batches::SkimBatches;
use super::first::First;
use super::options::{SkimOptions, SkimReport, TableFormat};
use crate::located::Located;
use crate::read::file::session::Session;
use crate::write::merge::MergeProgress;
use crate::write::options::WriteOptions;
use crate::write::output::{FileOutput, TableOutput};

/// A skim that reads what passes the cut, and encodes it anew.
pub async fn encoded(
    session: &Session,
    output: &str,
    (options, mut batches): (&SkimOptions, SkimBatches),
    progress: &(dyn Fn(MergeProgress) + Sync),
) -> Result<SkimReport> {
    let write = WriteOptions {
        overwrite: options.overwrite,
        compression: options.compression,
        reproducible: options.reproducible,
        ..WriteOptions::default()
    };
    let file = FileOutput::create(session, output, write).await?;
    let mut table: Option<TableOutput> = None;
    let mut now = MergeProgress { inputs: batches.inputs().len(), ..MergeProgress::default() };
    while let Some(batch) = batches.next().await {
        let (names, arrays): (Vec<String>, Vec<_>) = batch?.columns.into_iter().unzip();
        let first = &batches.first;
        let to = match &table {
            Some(table) => table,
            None => {
                let columns = table_columns(&names, &arrays, first).located(output)?;
                let writer = writer(columns, options, first).located(output)?;
                table.insert(file.make_table(&first.path, writer).await?)
            }
        };
        to.extend(arrays.into_iter().map(Arc::new).collect()).await?;
        now.read = batches.current();
        progress(now);
    }
    let written = file.finish().await?;
    Ok(SkimReport {
        table: batches.table().to_owned(),
        inputs: batches.inputs().to_vec(),
        is_copied: false,
        clusters: None,
        notes: batches.notes(),
        written: Written {
            address: written.address,
            size: written.size,
            checksum: written.checksum,
        },
        time: Duration::ZERO,
    })
}

/// The columns of the output: what the input's are called and say about themselves.
fn table_columns(
    names: &[String],
    arrays: &[rootfile::Array],
    first: &First,
) -> rootfile::Result<Vec<TableColumn>> {
    let (mut taken, separator) = (BTreeSet::new(), first.table.list().kind().separator());
    let column = |(path, array): (&String, &rootfile::Array)| {
        let last = path.rsplit(separator).next().unwrap_or(path);
        let name = if taken.insert(last.to_owned()) {
            last.to_owned()
        } else {
            path.replace(separator, "_")
        };
        let entry = EntryType::of(array).map_err(|error| error.within(path))?;
        Ok(TableColumn { name, title: title(first, path), entry })
    };
    names.iter().zip(arrays).map(column).collect()
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
    let as_tree = match options.format {
        TableFormat::Same => first.tree.is_some(),
        TableFormat::Tree => true,
        TableFormat::RNTuple => false,
    };
    if !as_tree {
        let options = RNTupleOptions { compression, ..RNTupleOptions::default() };
        return Ok(Box::new(RNTupleWriter::new(columns, options)?));
    }
    let title = first.tree.as_ref().map(|tree| tree.title.clone()).unwrap_or_default();
    let counter_name = counter_name(first).to_owned();
    let options = TreeOptions { title, compression, counter_name, ..TreeOptions::default() };
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
