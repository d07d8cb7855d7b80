//! `farroot ls FILE...`: what is in files, and in directories.

use std::io::Write;
use std::sync::Arc;

use clap::Args;
use engine::{Engine, ErrorKind, File, KeyInfo, Table};
use remote::Listed;
use remote::display::shown;
use remote::report::size;
use serde_json::json;
use tokio::task::JoinSet;

use crate::outcome::{Failure, Outcome};
use crate::reading::with_engine;
use crate::table::{table, text};

/// Of so many trees and RNTuples in a file it is said how many entries they have.
const TABLES_MAX: usize = 256;

/// List the objects in files, and the files in directories
#[derive(Debug, Args)]
pub struct LsArguments {
    /// URLs (root://, http://), paths or patterns, of files or of directories; a directory of a
    /// server ends with a /
    #[arg(required = true, value_name = "FILE")]
    files: Vec<String>,
    /// Also what is in directories of a file
    #[arg(short, long)]
    recursive: bool,
    /// For programs, one line of JSON an object, or a file of a directory
    #[arg(long)]
    json: bool,
}

/// Prints one line a key.
pub fn run(arguments: &LsArguments) -> Outcome {
    with_engine(async |engine| {
        let mut files = Vec::new();
        for pattern in &arguments.files {
            let found = engine.remote().matching(pattern).await?;
            if found.is_empty() {
                return Err(format!("no file matches {pattern}").into());
            }
            files.extend(found);
        }
        let (count, mut failed) = (files.len(), Vec::new());
        for (at, address) in files.iter().enumerate() {
            match listing(engine, address, arguments).await {
                Ok(listing) => {
                    let head = match count > 1 && !arguments.json {
                        true => format!("{}{address}:\n", if at > 0 { "\n" } else { "" }),
                        false => String::new(),
                    };
                    std::io::stdout().write_all((head + &listing).as_bytes())?;
                }
                Err(error) => failed.push(Failure::from(error)),
            }
        }
        match failed.len() {
            0 => Ok(()),
            1 if count == 1 => Err(failed.remove(0)),
            several => {
                failed.into_iter().for_each(|failure| failure.print());
                Err(format!("{several} of {count} files cannot be listed").into())
            }
        }
    })
}

async fn listing(
    engine: &Engine,
    address: &str,
    arguments: &LsArguments,
) -> engine::Result<String> {
    if engine.remote().is_directory(address) {
        return Ok(files(address, engine.remote().list(address).await?, arguments.json));
    }
    let file = match engine.open(address).await {
        // A server knows a directory by itself, only not before it is asked.
        Err(error) if error.kind() == ErrorKind::InvalidArgument => {
            return match engine.remote().list(address).await {
                Ok(listed) => Ok(files(address, listed, arguments.json)),
                Err(_) => Err(error),
            };
        }
        file => file?,
    };
    if file.is_recovered() {
        eprintln!("warning: the file was never closed; it has what had been saved before");
    }
    let keys = file.keys(arguments.recursive).await?;
    let figures = figures(&file, &keys).await;
    let mut listed = table(&["name", "class", ">entries", ">stored", ">content", "title"]);
    let mut lines = String::new();
    for (key, figures) in keys.into_iter().zip(figures) {
        if let Some(problem) = &key.problem {
            eprintln!("warning: {} is not listed: {problem}", shown(&key.path));
        }
        let Figures { entries, stored, content } = figures;
        if arguments.json {
            let line = json!({
                "file": file.url(), "name": key.path, "cycle": key.cycle, "class": key.class, "title": key.title,
                "entries": entries, "stored_bytes": stored, "content_bytes": content,
            });
            lines.push_str(&format!("{line}\n"));
        }
        listed.add_row([
            format!("{};{}", key.path, key.cycle),
            key.class,
            entries.map_or(String::new(), |entries| entries.to_string()),
            size(stored),
            size(content),
            key.title,
        ]);
    }
    Ok(if arguments.json { lines } else { text(&listed) })
}

/// What is said of an object beside what its key says.
struct Figures {
    /// Of a tree or an RNTuple that can be opened.
    entries: Option<u64>,
    /// Bytes; of a tree or an RNTuple also all of its data.
    stored: u64,
    content: u64,
}

/// All trees and RNTuples are opened side by side.
async fn figures(file: &File, keys: &[KeyInfo]) -> Vec<Figures> {
    let of_key = |key: &KeyInfo| Figures {
        entries: None,
        stored: key.stored_bytes,
        content: key.object_bytes,
    };
    let mut figures: Vec<Figures> = keys.iter().map(of_key).collect();
    let tables = keys.iter().enumerate().filter(|(_, key)| is_table(&key.class));
    let mut opening = JoinSet::new();
    for (at, key) in tables.take(TABLES_MAX) {
        let (file, path) = (file.clone(), format!("{};{}", key.path, key.cycle));
        let is_tree = key.class.starts_with("TN") || key.class == "TTree";
        opening.spawn(async move { (at, described(&file, &path, is_tree).await) });
    }
    while let Some(described) = opening.join_next().await {
        // What cannot be opened is listed by its key; opening it gives the error.
        if let Ok((at, Ok((entries, stored, content)))) = described {
            let figures = &mut figures[at];
            figures.entries = Some(entries);
            figures.stored += stored;
            figures.content += content;
        }
    }
    figures
}

fn is_table(class: &str) -> bool {
    matches!(class, "TTree" | "TNtuple" | "TNtupleD" | "ROOT::RNTuple")
}

async fn described(file: &File, path: &str, is_tree: bool) -> engine::Result<(u64, u64, u64)> {
    let table: Arc<dyn Table> = match is_tree {
        true => Arc::new(file.tree(path).await?),
        false => Arc::new(file.ntuple(path).await?),
    };
    let described = table.describe(&[]).await?;
    Ok((described.entries, described.stored_bytes, described.content_bytes))
}

/// What is in a directory.
fn files(directory: &str, listed: Vec<Listed>, json: bool) -> String {
    if json {
        let line = |file: &Listed| {
            let line = json!({
                "directory": directory, "name": file.name, "address": file.address, "size": file.size,
                "is_directory": file.is_directory,
            });
            format!("{line}\n")
        };
        return listed.iter().map(line).collect();
    }
    if listed.iter().all(|file| file.is_directory.is_none()) {
        return listed.iter().map(|file| format!("{}\n", shown(&file.name))).collect();
    }
    let mut rows = table(&["name", ">size"]);
    for Listed { name, size: bytes, is_directory, .. } in listed {
        let slash = if is_directory == Some(true) { "/" } else { "" };
        rows.add_row([format!("{name}{slash}"), bytes.map_or(String::new(), size)]);
    }
    text(&rows)
}
