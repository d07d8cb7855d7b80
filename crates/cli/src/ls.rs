//! `farroot ls FILE`: what is in a file.

use std::io::Write;

use clap::Args;
use engine::report::size;

use crate::outcome::Outcome;
use crate::reading::with_engine;
use crate::table::{table, text};

/// List the objects in a file
#[derive(Debug, Args)]
pub struct Arguments {
    /// A URL (root://, http://) or a path
    file: String,
    /// Also what is in directories
    #[arg(short, long)]
    recursive: bool,
}

/// Prints one line a key.
pub fn run(arguments: &Arguments) -> Outcome {
    with_engine(async |engine| {
        let file = engine.open(&arguments.file).await?;
        if file.is_recovered() {
            eprintln!("warning: the file was never closed; it has what had been saved before");
        }
        let mut listed = table(&["name", "class", ">stored", ">content", "title"]);
        for key in file.keys(arguments.recursive).await? {
            if let Some(problem) = &key.problem {
                eprintln!("warning: {} is not listed: {problem}", key.path);
            }
            listed.add_row([
                format!("{};{}", key.path, key.cycle),
                key.class,
                size(key.stored_bytes),
                size(key.object_bytes),
                key.title,
            ]);
        }
        std::io::stdout().write_all(text(&listed).as_bytes())?;
        Ok(())
    })
}
