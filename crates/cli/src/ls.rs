//! `farroot ls FILE...`: the objects in files, and the files in directories.

use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

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

/// The entries of so many trees and RNTuples in a file are counted.
const TABLES_MAX: usize = 256;
/// Since 1970: the end of the years of four digits.
const YEAR_10000: Duration = Duration::from_secs(253_402_300_800);

/// List the objects in files, and the files in directories
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  farroot ls root://eos.example//store/nano.root
  farroot ls -l root://eos.example//store/run3/")]
pub struct LsArguments {
    /// URLs (root://, http://), paths or patterns, of files or of directories; a directory of a
    /// server ends with a /
    #[arg(required = true, value_name = "FILE")]
    files: Vec<String>,
    /// Also the objects in directories of a file
    #[arg(short, long)]
    recursive: bool,
    /// Of files in directories, also when they were last changed, where the server says it
    #[arg(short, long)]
    long: bool,
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
        let count = files.len();
        let mut failed = Vec::new();
        for (at, address) in files.iter().enumerate() {
            match listing(engine, address, arguments).await {
                Ok(listing) => {
                    let head = match count > 1 && !arguments.json {
                        true => {
                            format!("{}{}:\n", if at > 0 { "\n" } else { "" }, shown(address))
                        }
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
        return Ok(files(address, engine.remote().list(address).await?, arguments));
    }
    let file = match engine.open(address).await {
        // A server knows whether a name is a directory; this process learns it by a request.
        Err(error) if error.kind() == ErrorKind::InvalidArgument => {
            return match engine.remote().list(address).await {
                Ok(listed) => Ok(files(address, listed, arguments)),
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

/// The columns of an object beside those of its key.
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
        let file = file.clone();
        let path = format!("{};{}", key.path, key.cycle);
        let is_tree = key.class.starts_with("TN") || key.class == "TTree";
        opening.spawn(async move { (at, described(&file, &path, is_tree).await) });
    }
    while let Some(described) = opening.join_next().await {
        // An object that cannot be opened is listed by its key; opening it gives the error.
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

/// As HTTP has it; empty for a time that it cannot express.
fn date(time: SystemTime) -> String {
    match time.duration_since(UNIX_EPOCH) {
        Ok(since) if since < YEAR_10000 => httpdate::fmt_http_date(time),
        _ => String::new(),
    }
}

/// The entries of a directory.
fn files(directory: &str, listed: Vec<Listed>, arguments: &LsArguments) -> String {
    if arguments.json {
        let line = |file: &Listed| {
            let modified = file.modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
            let line = json!({
                "directory": directory, "name": file.name, "address": file.address, "size": file.size,
                "is_directory": file.is_directory, "modified": modified.map(|since| since.as_secs()),
            });
            format!("{line}\n")
        };
        return listed.iter().map(line).collect();
    }
    if listed.iter().all(|file| file.is_directory.is_none()) {
        return listed.iter().map(|file| format!("{}\n", shown(&file.name))).collect();
    }
    let columns = if arguments.long { 3 } else { 2 };
    let mut rows = table(&["name", ">size", "changed"][..columns]);
    for Listed { name, size: bytes, is_directory, modified, .. } in listed {
        let slash = if is_directory == Some(true) { "/" } else { "" };
        let row = [
            format!("{name}{slash}"),
            bytes.map_or(String::new(), size),
            modified.map_or(String::new(), date),
        ];
        rows.add_row(&row[..columns]);
    }
    text(&rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_any_year_are_shown_or_left_out() {
        let day = Duration::from_secs(86_400);
        assert_eq!(date(UNIX_EPOCH + day), "Fri, 02 Jan 1970 00:00:00 GMT");
        assert_eq!(date(UNIX_EPOCH + YEAR_10000 - day), "Fri, 31 Dec 9999 00:00:00 GMT");
        assert_eq!(date(UNIX_EPOCH - day), "");
        assert_eq!(date(UNIX_EPOCH + YEAR_10000), "");
    }
}
