//! `farroot map FILE`: the records of a file and their offsets.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use engine::{Engine, Record, Step};
use remote::report::size;

use crate::outcome::Outcome;
use crate::reading::{Selection, with_engine};
use crate::table::{lines_of_json, table, text};
use crate::units::path;

/// Decoded bytes of one batch of a read that is to be seen in the picture.
const BATCH_BYTES: u64 = 32 << 20;

/// Show the layout of a file: every record that its lists name, and the gaps
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  farroot map nano.root
  farroot map nano.root:Events -c 'Muon_*' --svg map.svg")]
pub struct MapArguments {
    #[command(flatten)]
    selection: Selection,
    /// For programs, one line of JSON a record
    #[arg(long)]
    json: bool,
    /// Ask each basket for its own compression and time, and go from key to key where no list names
    /// anything
    #[arg(long)]
    walk: bool,
    /// Draw where the columns of a tree lie, and the ranges fetched of the file, instead of listing
    #[arg(long, value_name = "FILE.svg", conflicts_with_all = ["json", "walk"], value_parser = path())]
    svg: Option<PathBuf>,
    /// Read the columns before drawing
    #[arg(long, requires = "svg")]
    read: bool,
}

/// Prints one line a record, or draws.
pub fn run(arguments: &MapArguments) -> Outcome {
    with_engine(async |engine| match &arguments.svg {
        Some(path) => draw(engine, arguments, path).await,
        None if arguments.selection.has_columns() => {
            Err("columns are what --svg draws; a list has all of the file".to_owned().into())
        }
        None => {
            let file = arguments.selection.file(engine).await?;
            let records = match arguments.walk {
                true => file.walk().await?,
                false => file.map().await?,
            };
            list(records, arguments.json)
        }
    })
}

fn list(records: Vec<Record>, json: bool) -> Outcome {
    let mut out = BufWriter::new(std::io::stdout().lock());
    if json {
        lines_of_json(&mut out, records.iter().map(serde_json::to_string))?;
    } else {
        let mut listed = table(&[">offset", "written", ">stored", ">ratio", "class", "name"]);
        for record in records {
            listed.add_row([
                record.offset.to_string(),
                record.written.unwrap_or_default(),
                size(record.stored_bytes),
                record.compression.map_or("-".to_owned(), |factor| format!("{factor:.1}")),
                record.class,
                record.name,
            ]);
        }
        out.write_all(text(&listed).as_bytes())?;
    }
    out.flush()?;
    Ok(())
}

async fn draw(engine: &Engine, arguments: &MapArguments, path: &Path) -> Outcome {
    let columns = arguments.selection.selected(engine, None).await?.into_columns();
    if arguments.read {
        let entries = arguments.selection.entries(columns.num_entries());
        let mut batches = columns.batches(entries, Step::Bytes(BATCH_BYTES), None).await?;
        while let Some(batch) = batches.next().await {
            batch?;
        }
    }
    remote::write_file(path, columns.map_svg().await?.as_bytes())?;
    Ok(())
}
