//! Some entries and columns of a table, which may be in many files, as a new file.
//!
//! The baskets or pages of the columns are copied without decoding, as in a merge. With a cut, its
//! columns are read first; then baskets of a tree, and clusters of an RNTuple, are copied where all
//! their entries pass, and the stored values of passing entries are taken out of the others. Only
//! new columns are encoded, with the same clusters. Where that is impossible, and between trees
//! and RNTuples, the reader fetches the other columns where entries pass the cut, and these are
//! encoded anew.

mod ahead;
mod batches;
mod columns;
mod deciding;
mod encoded;
mod first;
mod options;
pub(crate) mod parquet;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use remote::{Error, ErrorKind, Result, address};
use rootfile::tree::BranchId;
use rootfile::write::copy;

use super::copy::{
    ChosenTable, ClusterCounts, CopyOptions, InputsToCopy, MergeOptions, MergeProgress, Missing,
    ObjectFilter, check_output, copy_files,
};
use crate::read::core::select::Names;
use crate::read::file::session::Session;
use crate::read::many::scan::TableLocation;
use crate::read::ntuple::RNTuple;
use batches::SkimBatches;
use deciding::CutAndColumns;
use encoded::{RootFile, encode};
use first::First;
pub use options::{SkimOptions, SkimReport, TableFormat};
use parquet::{ParquetFile, ParquetLibrary};

/// Writes the kept columns and entries of tables to a new file; `sources` are addresses and
/// patterns, each with `:path` behind it where its file has several tables.
pub(crate) async fn skim(
    session: &Session,
    output: &str,
    sources: &[TableLocation],
    options: &SkimOptions,
    progress: &(dyn Fn(MergeProgress) + Sync),
) -> Result<SkimReport> {
    let begun = session.remote().trace().now();
    check_output(output, sources.iter().map(|source| &*source.url))?;
    let mut first = First::open(session, sources, options).await?;
    let options = &first.with_meanings(session, sources, options).await?;
    let hidden = first.hidden.clone();
    let report = match way_of(&first, sources, options).await? {
        Way::Copied(columns) => {
            let first = (&first, columns);
            copied(session, output, sources, (options, first), progress).await
        }
        Way::Encoded(why) if options.keep_rest => {
            let text = "other objects are kept where baskets or pages are copied";
            let why = why.unwrap_or_else(|| "this is another kind of table".to_owned());
            Err(Error::new(ErrorKind::Unsupported, format!("{text}: {why}")))
        }
        Way::Encoded(why) => {
            let is_tree = options.format.is_tree(first.tree.is_some());
            let notes = notes_of(&first, why, is_tree);
            let batches = SkimBatches::new(session, sources, options, first).await?;
            let target = RootFile::create(session, output, options).await?;
            let report = encode(batches, target, progress).await;
            report.map(|report| SkimReport { notes: [report.notes, notes].concat(), ..report })
        }
    };
    let report = report?;
    let notes = [hidden, report.notes].concat();
    let time = session.remote().trace().now() - begun;
    Ok(SkimReport { notes, time, ..report })
}

/// How columns come into the output.
enum Way {
    /// As stored, or as entries taken out of stored baskets or pages: columns as
    /// [`ChosenTable::columns`].
    Copied(Vec<String>),
    /// Encoded anew; the reason, where the table would otherwise be copied.
    Encoded(Option<String>),
}

/// Notes on the facts that columns which are encoded anew do not keep.
fn notes_of(first: &First, why: Option<String>, is_tree: bool) -> Vec<String> {
    let path = &first.path;
    let kept = "types, titles and counters are those that farroot gives them";
    let mut notes: Vec<String> = why
        .map(|why| format!("{path}: its columns are encoded anew, and {kept}: {why}"))
        .into_iter()
        .collect();
    let Some(tree) = &first.tree else { return notes };
    let mut left = Vec::new();
    if !tree.aliases.is_empty() {
        let names: Vec<&str> = tree.aliases.iter().map(|(name, _)| &**name).collect();
        left.push(format!("aliases ({})", names.join(", ")));
    }
    left.extend(tree.friends.as_ref().is_ok_and(|all| !all.is_empty()).then(|| "friends".into()));
    let has_index = !matches!(tree.index, Ok(None));
    left.extend(has_index.then(|| "index".to_owned()));
    left.extend(tree.has_user_info.then(|| "user information".to_owned()));
    let has_weight = tree.weight != 1.0 && !is_tree;
    left.extend(has_weight.then(|| format!("weight ({})", tree.weight)));
    if !left.is_empty() {
        notes.push(format!("{path}: left out where columns are encoded anew: {}", left.join(", ")));
    }
    notes
}

/// Writes the kept entries and columns of tables to a new local Parquet file, with `library`.
pub(crate) async fn skim_to_parquet(
    session: &Session,
    library: &dyn ParquetLibrary,
    output: &str,
    sources: &[TableLocation],
    options: &SkimOptions,
    progress: &(dyn Fn(MergeProgress) + Sync),
) -> Result<SkimReport> {
    let begun = session.remote().trace().now();
    let path = parquet_path(output, options)?;
    check_output(output, sources.iter().map(|source| &*source.url))?;
    // First, so that a missing library is reported before anything is read.
    let file = ParquetFile::create(library, &path, options.overwrite).await?;
    let mut first = First::open(session, sources, options).await?;
    let options = &first.with_meanings(session, sources, options).await?;
    let notes = [first.hidden.clone(), notes_of(&first, None, false)].concat();
    let batches = SkimBatches::new(session, sources, options, first).await?;
    let report = encode(batches, file, progress).await?;
    let notes = [report.notes, notes].concat();
    let report = SkimReport { notes, ..report };
    Ok(SkimReport { time: session.remote().trace().now() - begun, ..report })
}

/// The path of a Parquet file to write.
///
/// # Errors
/// `InvalidArgument` for addresses that are not local paths, and for options of ROOT files only.
fn parquet_path(output: &str, options: &SkimOptions) -> Result<PathBuf> {
    let wrong = |text| Error::new(ErrorKind::InvalidArgument, text).with_url(output);
    if options.format != TableFormat::Same || options.keep_rest {
        let error = wrong("a Parquet file holds columns only, no other objects");
        let shell = "leave --format and --keep-rest out";
        return Err(error.with_advice_for(shell, "leave format and keep_rest out"));
    }
    if let [only] = &address::parse(output)?[..]
        && let Some(path) = only.to_local()
    {
        return Ok(path.to_owned());
    }
    let error = wrong("Parquet files are written to this machine");
    let python = "write it here; farroot.copy takes it elsewhere";
    Err(error.with_advice_for("write it here, then `farroot cp` it", python))
}

/// Whether columns can be copied.
async fn way_of(first: &First, sources: &[TableLocation], options: &SkimOptions) -> Result<Way> {
    let of = |source: &TableLocation| source.path.as_deref().unwrap_or(&first.path).to_owned();
    let is_first = |path: String| path.trim_matches('/') == first.asked.trim_matches('/');
    if let Some(path) = sources.iter().skip(1).map(of).find(|path| !is_first(path.clone())) {
        return Ok(Way::Encoded(Some(format!("{path} of another input is added to it"))));
    }
    if first.keeps_none {
        return Ok(Way::Encoded(Some("none of its columns is kept as it is".to_owned())));
    }
    match (options.format, &first.tree, &first.ntuple) {
        (TableFormat::Same | TableFormat::Tree, Some(_), _) => way_of_tree(first, options),
        (TableFormat::Same | TableFormat::RNTuple, _, Some(ntuple)) => {
            way_of_ntuple(ntuple, options).await
        }
        _ => Ok(Way::Encoded(None)),
    }
}

fn way_of_tree(first: &First, options: &SkimOptions) -> Result<Way> {
    let Some(tree) = first.tree.as_ref().filter(|_| options.cut.is_some()) else {
        return Ok(Way::Copied(options.columns.clone()));
    };
    let names = Names::new(tree);
    let chosen = match &options.columns[..] {
        [] => (0..tree.branches.len() as u32).map(BranchId).collect(),
        columns => names.select(columns)?,
    };
    let streamers = &first.table.file().format().classes.streamers;
    let fixed = copy::unselectable(tree, streamers, &chosen);
    let paths: Vec<&str> = fixed.iter().map(|id| names.path(*id)).collect();
    Ok(match paths.is_empty() {
        true => Way::Copied(options.columns.clone()),
        false => Way::Encoded(Some(format!(
            "entries cannot be taken out of baskets of {} (objects that may have pointers, or \
             baskets without offsets)",
            paths.join(", ")
        ))),
    })
}

async fn way_of_ntuple(ntuple: &RNTuple, options: &SkimOptions) -> Result<Way> {
    let clusters = ntuple.clusters(&(0..ntuple.num_entries())).await?;
    if !clusters.iter().all(|cluster| copy::may_copy_pages(cluster)) {
        return Ok(Way::Encoded(Some("some of its pages are in several records".to_owned())));
    }
    let schema = &ntuple.metadata().schema;
    let is_cut = options.cut.is_some();
    let columns = match &options.columns[..] {
        [] => copy::may_copy(schema, None, is_cut).then(Vec::new),
        names => match ntuple.names_at_top(names)? {
            None => return Ok(Way::Encoded(Some("fields within others are named".to_owned()))),
            Some(names) => copy::may_copy(schema, Some(&names), is_cut).then_some(names),
        },
    };
    let why = "some fields are projections of fields that are left out, or of unknown encodings";
    Ok(columns.map_or_else(|| Way::Encoded(Some(why.to_owned())), Way::Copied))
}

/// A skim of baskets or pages as they are stored, or of entries taken out of them: a merge of some
/// columns.
async fn copied(
    session: &Session,
    output: &str,
    sources: &[TableLocation],
    (options, (first, columns)): (&SkimOptions, (&First, Vec<String>)),
    progress: &(dyn Fn(MergeProgress) + Sync),
) -> Result<SkimReport> {
    let decide = CutAndColumns {
        columns: columns.clone(),
        cut: options.cut.clone(),
        define: options.define.clone(),
        compression: options.compression,
    };
    let decides = options.cut.is_some() || !options.define.is_empty();
    let chosen = ChosenTable {
        path: first.path.clone(),
        asked: first.asked.clone(),
        columns,
        is_cut: options.cut.is_some(),
        decide: decides.then(|| Arc::new(decide) as _),
        keep_rest: options.keep_rest,
    };
    let merge = MergeOptions {
        overwrite: options.overwrite,
        missing: Missing::Filter,
        compression: options.compression,
        reproducible: options.reproducible,
        ..MergeOptions::default()
    };
    let inputs = InputsToCopy {
        addresses: sources.iter().map(|source| source.url.clone()).collect(),
        first: Some(first.table.file().clone()),
    };
    let copy_options = CopyOptions {
        merge,
        chosen: Some(chosen),
        objects: ObjectFilter::default(),
        keeps_all: false,
    };
    let merged = copy_files(session, output, inputs, copy_options, progress).await?;
    let clusters = merged.input_entries.iter().fold(ClusterCounts::default(), |sum, input| {
        let ClusterCounts { copied, taken, left_out } = input.clusters;
        ClusterCounts {
            copied: sum.copied + copied,
            taken: sum.taken + taken,
            left_out: sum.left_out + left_out,
        }
    });
    let inputs = merged.input_entries.into_iter();
    Ok(SkimReport {
        table: first.path.clone(),
        inputs: inputs.map(|input| (input.url, input.entries, input.kept)).collect(),
        is_copied: options.cut.is_none(),
        clusters: Some(clusters),
        notes: merged.notes,
        written: merged.written,
        time: Duration::ZERO,
    })
}
