//! `farroot cat FILE:TREE -c A,B`: values, as a table for people, as CSV, or as a Parquet file.

mod csv;
mod json;
mod parquet;
mod rows;

use std::io::{IsTerminal, Write};
use std::path::PathBuf;

use clap::Args;
use engine::{Batch, Cut, Engine, Expressions, ParquetFile, ParquetLibrary, Step};
use indicatif::{ProgressBar, ProgressStyle};
use remote::display;
use remote::report::size;

use self::rows::Rows;
use crate::outcome::Outcome;
use crate::reading::{Account, Selection, with_engine};
use crate::table::{table, text};
use crate::units::path;

/// Entries that a table shows without --entries.
const TABLE_ENTRIES: u64 = 20;
/// Decoded bytes of one batch of CSV.
const BATCH_BYTES: u64 = 32 << 20;

/// Print columns, as a table on a terminal and as CSV in a pipe, or as JSON, or write them as
/// Parquet
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  farroot cat root://eos.example//store/nano.root:Events --cut 'MET_pt > 50'
  farroot cat nano.root:Events -c 'Muon_*' --entry-stop 10 --json")]
pub struct CatArguments {
    #[command(flatten)]
    selection: Selection,
    /// Only entries for which this formula is true: comparisons in parentheses with &, | and ~
    /// between them, as in '(nMuon > 1) & (MET_pt > 50)'
    #[arg(long, value_name = "EXPRESSION")]
    cut: Option<String>,
    /// CSV also on a terminal
    #[arg(long)]
    csv: bool,
    /// For programs, one line of JSON an entry; NaN and infinities are null
    #[arg(long, conflicts_with = "csv")]
    json: bool,
    /// Write a Parquet file instead of printing; one of that name is replaced
    #[arg(long, value_name = "FILE", conflicts_with_all = ["csv", "json"], value_parser = path())]
    parquet: Option<PathBuf>,
    #[command(flatten)]
    account: Account,
}

/// Prints the values, or has the library write them.
pub fn run(arguments: &CatArguments, library: &dyn ParquetLibrary) -> Outcome {
    with_engine(async |engine| {
        // A feature that the library lacks is an error before anything is read.
        let target = match arguments.parquet.as_deref() {
            Some(path) => Some(ParquetFile::create(library, path, true).await?),
            None => None,
        };
        let cut = arguments.cut.as_deref().map(Cut::parse).transpose()?;
        let source = arguments.selection.selected(engine, cut.as_ref()).await?;
        if source.names().is_empty() {
            let path = source.columns().path();
            return Err(format!("no column of {path} was named that can be read").into());
        }
        if let Some(target) = target {
            parquet::fill(target, engine, &arguments.selection, &source).await?;
        } else if arguments.json {
            print_rows(engine, &arguments.selection, &source, json::ROWS).await?;
        } else if arguments.csv || !std::io::stdout().is_terminal() {
            print_rows(engine, &arguments.selection, &source, csv::ROWS).await?;
        } else {
            print_table(&arguments.selection, &source).await?;
        }
        arguments.account.give(engine, source.columns().file())
    })
}

async fn print_table(selection: &Selection, source: &Expressions) -> Outcome {
    let cut = source.cut();
    let mut entries = selection.entries(source.columns().num_entries());
    let rows_max = if selection.has_stop() { u64::MAX } else { TABLE_ENTRIES };
    if cut.is_none() {
        entries.end = entries.end.min(entries.start.saturating_add(rows_max));
    }
    let mut listed = None;
    let mut rows = 0;
    let mut end = entries.start;
    let mut batches = source.columns().batches(entries, Step::Bytes(BATCH_BYTES), cut).await?;
    while rows < rows_max
        && let Some(batch) = batches.next().await
    {
        let batch = source.batch(batch?)?;
        if listed.is_none() {
            warn_of(&batch);
        }
        let listed = listed.get_or_insert_with(|| table(&headings(&names_of(&batch))));
        let all = [batch.entries.clone()];
        let kept = batch.survivors.as_deref().unwrap_or(&all).iter().cloned().flatten();
        end = batch.entries.end;
        for (row, entry) in kept.enumerate() {
            if rows == rows_max {
                end = entry;
                break;
            }
            rows += 1;
            let values = batch.columns.iter().map(|(_, array)| array.value(row).to_string());
            listed.add_row(std::iter::once(entry.to_string()).chain(values));
        }
    }
    let listed = listed.unwrap_or_else(|| table(&headings(&source.names())));
    let mut out = text(&listed);
    if end < source.columns().num_entries() {
        out.push_str(&format!("… of {} entries\n", source.columns().num_entries()));
    }
    std::io::stdout().write_all(out.as_bytes())?;
    Ok(())
}

async fn print_rows(
    engine: &Engine,
    selection: &Selection,
    source: &Expressions,
    rows: Rows,
) -> Outcome {
    let entries = selection.entries(source.columns().num_entries());
    let mut out = std::io::stdout().lock();
    let on_terminal = out.is_terminal();
    let mut put = |text: &[u8]| match on_terminal {
        true => out.write_all(display::shown_lines(&String::from_utf8_lossy(text)).as_bytes()),
        false => out.write_all(text),
    };
    let mut text = Vec::new();
    let mut is_headed = false;
    let bar = progress(entries.end - entries.start);
    let mut batches =
        source.columns().batches(entries, Step::Bytes(BATCH_BYTES), source.cut()).await?;
    while let Some(batch) = batches.next().await {
        let batch = source.batch(batch?)?;
        if !std::mem::replace(&mut is_headed, true) {
            warn_of(&batch);
            (rows.head)(&mut text, &names_of(&batch));
        }
        (rows.batch)(&mut text, &batch);
        put(&text)?;
        text.clear();
        bar.inc(batch.entries.end - batch.entries.start);
        bar.set_message(size(engine.report().bytes_received));
    }
    if !is_headed {
        (rows.head)(&mut text, &source.names());
        put(&text)?;
    }
    out.flush()?;
    bar.finish_and_clear();
    Ok(())
}

fn names_of(batch: &Batch) -> Vec<&str> {
    batch.columns.iter().map(|(name, _)| name.as_str()).collect()
}

fn headings<'a>(names: &[&'a str]) -> Vec<&'a str> {
    [">entry"].into_iter().chain(names.iter().copied()).collect()
}

/// Says which columns only their data have shown to be unreadable.
fn warn_of(batch: &Batch) {
    for column in &batch.left_out {
        eprintln!("warning: left out {}: {}", display::shown(&column.column), column.error);
    }
}

/// A bar on standard error; none where that is no terminal.
fn progress(entries: u64) -> ProgressBar {
    let style = ProgressStyle::with_template(
        "{bar:30} {human_pos} of {human_len} entries, {msg} received, {eta} left",
    );
    let bar = ProgressBar::new(entries);
    // The template is a constant: a mistake in it only costs the looks.
    if let Ok(style) = style {
        bar.set_style(style);
    }
    bar
}
