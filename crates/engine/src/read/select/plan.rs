//! From a request to a scan of tables.

use std::collections::BTreeMap;
use std::ops::Range;

use futures::stream::{self, StreamExt, TryStreamExt};
use rootfile::Array;
use tokio::time::Instant;

use super::bounds::{SelectBounds, SelectTotals};
use super::turn::StepsInTurn;
use crate::Engine;
use crate::read::core::columns::Batch;
use crate::read::core::cut::Cut;
use crate::read::core::define::{Definition, check_names, cut_of};
use crate::read::core::request::ColumnRequest;
use crate::read::core::spec::ColumnSpec;
use crate::read::core::steps::Step;
use crate::read::many::scan::{ScanRequest, TableLocation};
use crate::read::near::request::{
    BufferCompression, KnownFile, Operation, SelectColumn, SelectRequest, TEXT_BYTES_MAX,
};
use crate::read::open::meaning::NameScope;
use remote::{Error, ErrorKind, Result};

/// Files that are opened at a time to be compared with those of the client.
const CHECKS_MAX: usize = 8;

/// A scan, and what it gives.
pub struct SelectPlan {
    pub tables: Vec<TableLocation>,
    pub scan: ScanRequest,
    /// The columns without entries, as the caller gets them.
    pub empty: Vec<(String, Array)>,
    pub skipped: bool,
    pub compression: Option<BufferCompression>,
    /// The entries of the first table.
    pub first: Range<u64>,
}

/// The columns of a request, and new names of some of them.
struct AskedColumns {
    wanted: ColumnSpec,
    names: BTreeMap<String, String>,
}

/// Opens the tables of a request, and finds its columns in the first.
///
/// # Errors
/// As [`Engine::selected`].
pub async fn planned(
    engine: &Engine,
    request: &SelectRequest,
    addresses: Vec<String>,
    bounds: SelectBounds,
) -> Result<SelectPlan> {
    let asked = asked(request)?;
    let cut = cut(request)?;
    let files: Vec<KnownFile> = request.files.iter().map(|file| file.known()).collect();
    let mut tables = Vec::with_capacity(files.len());
    for (known, url) in files.iter().zip(addresses) {
        let path = known.table.clone().or_else(|| request.table.clone());
        let count = known.num_entries;
        tables.push(TableLocation { url, path, count, ..TableLocation::default() });
    }
    let Some((first, known)) = tables.first_mut().zip(files.first()) else {
        return Err(Error::new(ErrorKind::InvalidArgument, "the request names no file"));
    };
    let table = engine.open_table(&first.url, first.path.as_deref()).await?;
    known.check(&*table)?;
    first.open = Some(table.clone());
    check_later(engine, &tables, &files).await?;
    let entries = match request.entries {
        Some([start, stop]) => start..stop,
        None => 0..u64::MAX,
    };
    let scope = NameScope::of(&table);
    if request.operation == Operation::Count && request.columns.is_some() {
        // A count reads none of them; a name that the table lacks is an error as everywhere.
        engine.select_expressions(scope, &named(request)?, cut.as_ref()).await?;
    }
    let source = engine.select_expressions(scope, &asked.wanted, cut.as_ref()).await?;
    let covered = source.columns().covered(entries.clone())?;
    let nothing = Batch::empty(0..0, None, source.columns().empty().into_iter());
    let empty = renamed(source.batch(nothing)?.columns, &asked.names);
    let step = Step::Bytes(bounds.step_bytes);
    let scan = ScanRequest { wanted: asked.wanted, entries, step, cut, ..ScanRequest::default() };
    let SelectRequest { skipped, compression, .. } = *request;
    Ok(SelectPlan { tables, scan, empty, skipped, compression, first: covered })
}

/// The columns and the cut of a request.
///
/// # Errors
/// As [`Engine::selected`].
pub fn wanted(request: &SelectRequest) -> Result<(ColumnSpec, Option<Cut>)> {
    Ok((asked(request)?.wanted, cut(request)?))
}

/// The cut over columns of the table.
fn cut(request: &SelectRequest) -> Result<Option<Cut>> {
    let Some(cut) = &request.cut else { return Ok(None) };
    Ok(Some(cut_of(&definitions(request)?, &cut.cut()?)))
}

/// Compares the files behind the first with those that the client has opened, before there is an
/// answer. They are opened again when their entries are read: requests may name many.
async fn check_later(engine: &Engine, tables: &[TableLocation], files: &[KnownFile]) -> Result<()> {
    let mut checks = Vec::new();
    for (table, known) in tables.iter().zip(files).skip(1).filter(|(_, known)| known.is_known()) {
        checks.push(check_one(engine, table, known));
    }
    stream::iter(checks).buffered(CHECKS_MAX).try_collect::<()>().await
}

async fn check_one(engine: &Engine, table: &TableLocation, known: &KnownFile) -> Result<()> {
    let table = engine.open_table(&table.url, table.path.as_deref()).await?;
    known.check(&*table)
}

/// New columns, by their names.
fn definitions(request: &SelectRequest) -> Result<Vec<Definition>> {
    let mut definitions = Vec::with_capacity(request.define.len());
    for (name, text) in &request.define {
        check_text(text)?;
        definitions.push(Definition::parse(name, text)?);
    }
    check_names(&definitions)?;
    for one in &definitions {
        if let Some(other) = one.columns.iter().find(|name| request.define.contains_key(&name.name))
        {
            let message = format!(
                "the new column {} is computed from the new column {}",
                one.name, other.name
            );
            let error = Error::new(ErrorKind::Unsupported, message);
            return Err(error.with_advice("write the formula of one into the other"));
        }
    }
    Ok(definitions)
}

/// The columns that a request names, whatever it asks of them.
fn named(request: &SelectRequest) -> Result<ColumnSpec> {
    let arrays = SelectRequest { operation: Operation::Arrays, ..request.clone() };
    Ok(asked(&arrays)?.wanted)
}

fn asked(request: &SelectRequest) -> Result<AskedColumns> {
    let mut columns: Vec<&SelectColumn> = Vec::new();
    match request.operation {
        Operation::Arrays => columns.extend(request.columns.iter().flatten()),
        Operation::Histogram => {
            columns.extend(request.axes.iter().map(|axis| &axis.column));
            columns.extend(&request.weight);
        }
        Operation::Count => {}
    }
    let is_histogram = request.operation == Operation::Histogram;
    let mut names = BTreeMap::new();
    let mut texts: Vec<String> = Vec::new();
    let mut exact: Vec<ColumnRequest> = Vec::new();
    for column in &columns {
        match column {
            SelectColumn::Exact(one) => exact.push(one.into()),
            SelectColumn::Text(text) => {
                check_text(text)?;
                match request.define.get(text) {
                    Some(_) if !is_histogram && names.values().any(|known| known == text) => {}
                    Some(formula) => {
                        let apart = match Definition::parse(text, formula) {
                            Ok(_) => apart(formula, &columns, &texts),
                            // A name that formulas do not have.
                            Err(_) => formula.clone(),
                        };
                        names.insert(apart.clone(), text.clone());
                        texts.push(apart);
                    }
                    // Each axis has a column of its own.
                    None if is_histogram && texts.contains(text) => {
                        texts.push(apart(text, &columns, &texts));
                    }
                    None => texts.push(text.clone()),
                }
            }
        }
    }
    let wanted = match (request.operation, &request.columns) {
        (Operation::Arrays, None) => ColumnSpec::All,
        (Operation::Count, _) => counted_by(request)?,
        _ if exact.is_empty() => ColumnSpec::Named(texts),
        _ if texts.is_empty() => ColumnSpec::Requested(exact),
        _ => {
            let message = "columns are all given as texts, or all as branches and fields";
            return Err(Error::new(ErrorKind::InvalidArgument, message));
        }
    };
    Ok(AskedColumns { wanted, names })
}

/// A formula, written as no other column of a request is: a column that is asked for under two
/// names, or beside a new one of the same formula, comes once for each.
fn apart(formula: &str, columns: &[&SelectColumn], texts: &[String]) -> String {
    let is_there = |written: &String| {
        let is_it =
            |one: &&SelectColumn| matches!(one, SelectColumn::Text(text) if text == written);
        texts.contains(written) || columns.iter().any(is_it)
    };
    let mut spaces = String::new();
    loop {
        let written = format!("({formula}{spaces})");
        if !is_there(&written) {
            return written;
        }
        spaces.push(' ');
    }
}

/// The columns that are read to count entries: those that decide.
fn counted_by(request: &SelectRequest) -> Result<ColumnSpec> {
    let Some(cut) = cut(request)? else { return Ok(ColumnSpec::Requested(Vec::new())) };
    Ok(match cut.columns.iter().all(|one| one.keep.is_none() && !one.as_bytes && !one.counts) {
        true => ColumnSpec::named(cut.columns.iter().map(|one| &one.name)),
        false => ColumnSpec::Requested(cut.columns),
    })
}

fn check_text(text: &str) -> Result<()> {
    match text.len() <= TEXT_BYTES_MAX {
        true => Ok(()),
        false => {
            let message =
                format!("a text of {} bytes, and {TEXT_BYTES_MAX} are allowed", text.len());
            Err(Error::new(ErrorKind::LimitReached, message))
        }
    }
}

/// Columns under the names that the caller has given them.
fn renamed(
    columns: Vec<(String, Array)>,
    names: &BTreeMap<String, String>,
) -> Vec<(String, Array)> {
    let name = |name: String| names.get(&name).cloned().unwrap_or(name);
    columns.into_iter().map(|(old, array)| (name(old), array)).collect()
}

/// Counts the entries that a cut leaves, without one those that there are: the answer in JSON, and
/// its cost.
///
/// # Errors
/// Those of reading.
pub async fn counted(
    engine: &Engine,
    plan: SelectPlan,
    bounds: SelectBounds,
    started: Instant,
) -> Result<(String, SelectTotals)> {
    let mut totals = SelectTotals::default();
    let SelectPlan { tables, scan, .. } = plan;
    if scan.cut.is_none() {
        let entries = scan.entries.clone();
        let mut opened = engine.open_tables(tables);
        while let Some(table) = opened.next().await {
            let end = entries.end.min(table?.num_entries());
            totals.entries += end.saturating_sub(entries.start);
        }
        totals.selected = totals.entries;
    } else {
        let mut batches = StepsInTurn::new(engine, engine.scan(tables, scan), bounds.step_time);
        while let Some(batch) = batches.next().await {
            let batch = batch?;
            totals.entries += batch.entries.end - batch.entries.start;
            totals.selected += batch.len();
        }
    }
    totals.seconds = started.elapsed().as_secs_f64();
    let SelectTotals { entries, selected, seconds, .. } = totals;
    let text = format!(
        "{{\"version\": 1, \"count\": {selected}, \"entries\": {entries}, \"seconds\": {seconds:.6}}}\n"
    );
    Ok((text, totals))
}
