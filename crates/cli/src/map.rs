//! `farroot map FILE`: what lies where in a file.

use std::io::{BufWriter, Write};

use clap::Args;
use engine::report::size;

use crate::outcome::Outcome;
use crate::reading::with_engine;
use crate::table::{lines_of_json, table, text};

/// Show what lies where in a file: every record that its lists name, and the gaps
#[derive(Debug, Args)]
pub struct Arguments {
    /// A URL (root://, http://) or a path
    file: String,
    /// For programs, one line of JSON a record
    #[arg(long)]
    json: bool,
}

/// Prints one line a record.
pub fn run(arguments: &Arguments) -> Outcome {
    with_engine(async |engine| {
        let records = engine.open(&arguments.file).await?.map().await?;
        let mut out = BufWriter::new(std::io::stdout().lock());
        if arguments.json {
            lines_of_json(&mut out, records.iter().map(serde_json::to_string))?;
        } else {
            let mut listed = table(&[">offset", ">stored", ">ratio", "class", "name"]);
            for record in records {
                listed.add_row([
                    record.offset.to_string(),
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
    })
}
