//! `farroot cat FILE:TREE -c A,B`: values, as a table for people or as CSV.

mod value;

use std::io::{BufWriter, IsTerminal, Write};

use clap::Args;
use engine::report::size;
use engine::{Batch, Column, Engine, Step, Tree};
use indicatif::{ProgressBar, ProgressStyle};

use self::value::{csv_field, shown};
use crate::outcome::Outcome;
use crate::reading::{Account, Selection, with_engine};
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
        let tree = arguments.selection.open(engine).await?;
        let columns = arguments.selection.columns(&tree)?;
        if columns.is_empty() {
            return Err(format!("no column of {} was named that can be read", tree.path()).into());
        }
        if arguments.csv || !std::io::stdout().is_terminal() {
            print_csv(engine, &arguments.selection, &tree, columns).await?;
        } else {
            print_table(&arguments.selection, &tree, columns).await?;
        }
        arguments.account.give(&tree)
    })
}

async fn print_table(selection: &Selection, tree: &Tree, columns: Vec<Column>) -> Outcome {
    let mut entries = selection.entries(tree);
    if !selection.has_stop() {
        entries.end = entries.end.min(entries.start + TABLE_ENTRIES);
    }
    let batch = tree.read(columns, entries.clone()).await?;
    let mut headings = vec![">entry"];
    headings.extend(batch.columns.iter().map(|(name, _)| name.as_str()));
    let mut listed = table(&headings);
    for (row, entry) in batch.entries.clone().enumerate() {
        let values = batch.columns.iter().map(|(_, array)| shown(array, row));
        listed.add_row(std::iter::once(entry.to_string()).chain(values));
    }
    let mut out = text(&listed);
    if entries.end < tree.num_entries() {
        out.push_str(&format!("… of {} entries\n", tree.num_entries()));
    }
    std::io::stdout().write_all(out.as_bytes())?;
    Ok(())
}

async fn print_csv(
    engine: &Engine,
    selection: &Selection,
    tree: &Tree,
    columns: Vec<Column>,
) -> Outcome {
    let entries = selection.entries(tree);
    let mut out = BufWriter::with_capacity(1 << 20, std::io::stdout().lock());
    let names: Vec<String> = columns.iter().map(|column| csv_field(&column.name)).collect();
    writeln!(out, "{}", names.join(","))?;
    let bar = progress(entries.end - entries.start);
    let mut batches = tree.batches(columns, entries, Step::Bytes(BATCH_BYTES))?;
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
