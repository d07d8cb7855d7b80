//! `farroot cat FILE:TREE -c A,B`: values, as a table for people or as CSV.

mod value;

use std::io::{BufWriter, IsTerminal, Write};

use clap::Args;
use engine::report::size;
use engine::{Batch, Engine, Step};
use indicatif::{ProgressBar, ProgressStyle};

use self::value::{csv_field, shown};
use crate::outcome::Outcome;
use crate::reading::{Account, Selection, Source, with_engine};
use crate::table::{table, text};

/// Entries that a table shows where nobody says how many.
const TABLE_ENTRIES: u64 = 20;
/// Decoded bytes of one batch of CSV.
const BATCH_BYTES: u64 = 32 << 20;

/// Print columns: a table on a terminal, CSV in a pipe
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(flatten)]
    selection: Selection,
    /// CSV also on a terminal
    #[arg(long)]
    csv: bool,
    #[command(flatten)]
    account: Account,
}

/// Prints the values.
pub fn run(arguments: &Arguments) -> Outcome {
    with_engine(async |engine| {
        let source = arguments.selection.source(engine).await?;
        if source.names().is_empty() {
            let path = source.path();
            return Err(format!("no column of {path} was named that can be read").into());
        }
        if arguments.csv || !std::io::stdout().is_terminal() {
            print_csv(engine, &arguments.selection, &source).await?;
        } else {
            print_table(&arguments.selection, &source).await?;
        }
        arguments.account.give(source.file())
    })
}

async fn print_table(selection: &Selection, source: &Source) -> Outcome {
    let mut entries = selection.entries(source.num_entries());
    if !selection.has_stop() {
        entries.end = entries.end.min(entries.start + TABLE_ENTRIES);
    }
    let batch = source.read(entries.clone()).await?;
    let mut headings = vec![">entry"];
    headings.extend(batch.columns.iter().map(|(name, _)| name.as_str()));
    let mut listed = table(&headings);
    for (row, entry) in batch.entries.clone().enumerate() {
        let values = batch.columns.iter().map(|(_, array)| shown(array, row));
        listed.add_row(std::iter::once(entry.to_string()).chain(values));
    }
    let mut out = text(&listed);
    if entries.end < source.num_entries() {
        out.push_str(&format!("… of {} entries\n", source.num_entries()));
    }
    std::io::stdout().write_all(out.as_bytes())?;
    Ok(())
}

async fn print_csv(engine: &Engine, selection: &Selection, source: &Source) -> Outcome {
    let entries = selection.entries(source.num_entries());
    let mut out = BufWriter::with_capacity(1 << 20, std::io::stdout().lock());
    let names: Vec<String> = source.names().into_iter().map(csv_field).collect();
    writeln!(out, "{}", names.join(","))?;
    let bar = progress(entries.end - entries.start);
    let mut batches = source.batches(entries, Step::Bytes(BATCH_BYTES)).await?;
    while let Some(batch) = batches.next().await {
        let batch = batch?;
        write_csv(&mut out, &batch)?;
        bar.inc(batch.len());
        bar.set_message(size(engine.report().bytes_received));
    }
    out.flush()?;
    bar.finish_and_clear();
    Ok(())
}

fn write_csv(out: &mut impl Write, batch: &Batch) -> std::io::Result<()> {
    for row in 0..usize::try_from(batch.len()).unwrap_or(usize::MAX) {
        for (at, (_, array)) in batch.columns.iter().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            write!(out, "{comma}{}", csv_field(&shown(array, row)))?;
        }
        writeln!(out)?;
    }
    Ok(())
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
