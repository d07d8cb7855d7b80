//! `farroot show FILE:TREE`: the branches of a tree, the fields of an RNTuple, or the members of an
//! object.

use std::io::Write;

use clap::Args;
use engine::{Content, Described, DescribedColumn};
use remote::display::shown_lines;
use remote::report::size;

use crate::members;
use crate::outcome::Outcome;
use crate::reading::{FileAndPath, trimmed, with_engine};
use crate::table::{table, text};

/// Show a tree's branches, an RNTuple's fields or an object's members
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  farroot show root://eos.example//store/nano.root:Events -c 'Muon_*'")]
pub struct ShowArguments {
    #[command(flatten)]
    place: FileAndPath,
    /// Columns of a tree or RNTuple: names, paths and globs such as 'Jet_*', separated by commas
    #[arg(short, long, value_delimiter = ',', value_parser = trimmed)]
    columns: Vec<String>,
    /// For programs, all in one line of JSON
    #[arg(long)]
    json: bool,
}

/// Prints one line a branch, field or member, and one about the whole.
pub fn run(arguments: &ShowArguments) -> Outcome {
    with_engine(async |engine| {
        let out = match arguments.place.content(engine).await? {
            Content::Table(table) => {
                let described = table.describe(&arguments.columns).await?;
                match arguments.json {
                    true => {
                        serde_json::to_string(&described).map_err(|error| error.to_string())? + "\n"
                    }
                    false => shown(&described),
                }
            }
            Content::Directory => {
                return Err("that is a directory; farroot ls -r lists what is in it"
                    .to_owned()
                    .into());
            }
            Content::Object(_) if !arguments.columns.is_empty() => {
                let text = "--columns is for trees and RNTuples; this is another object";
                return Err(text.to_owned().into());
            }
            Content::Object(objects) => match arguments.json {
                true => members::json(&objects),
                false => members::shown(&objects),
            },
        };
        std::io::stdout().write_all(shown_lines(&out).as_bytes())?;
        Ok(())
    })
}

fn shown(described: &Described) -> String {
    let is_tree = described.kind != "RNTuple";
    let mut headings = vec!["name", "type"];
    headings.extend(if is_tree {
        [">entries", ">baskets", ">basket size"].as_slice()
    } else {
        &["entry", ">pages"]
    });
    headings.extend([">stored", ">content", ">ratio", ""]);
    let mut listed = table(&headings);
    for column in &described.columns {
        listed.add_row(row(column, is_tree));
    }
    let clusters = match described.clusters.len() {
        0 => String::new(),
        count => format!(" in {count} clusters"),
    };
    let summary = format!(
        "{}: {} entries{clusters}, {} {}; {} stored, {} uncompressed\n",
        described.path,
        described.entries,
        described.columns_all,
        match (is_tree, described.columns_all) {
            (true, 1) => "branch",
            (true, _) => "branches",
            (false, 1) => "field",
            (false, _) => "fields",
        },
        size(described.stored_bytes),
        size(described.content_bytes),
    );
    if described.files.is_empty() {
        return format!("{}{}{summary}", text(&listed), attribute_sets(described));
    }
    let mut files = table(&["file", ">entries"]);
    for file in &described.files {
        files.add_row([format!("{}:{}", file.url, file.path), file.entries.to_string()]);
    }
    format!("{}{}", text(&listed), text(&files)) + &chain_summary(described)
}

/// The attribute sets of an RNTuple, which can be shown by their paths.
fn attribute_sets(described: &Described) -> String {
    if described.attribute_sets.is_empty() {
        return String::new();
    }
    let mut sets = table(&["attribute set", ">entries", ""]);
    for set in &described.attribute_sets {
        let name = set.path.clone().unwrap_or_else(|| set.name.clone());
        let entries = set.entries;
        sets.add_row(match entries {
            Some(entries) => [name, entries.to_string(), String::new()],
            None => [name, "-".to_owned(), "cannot be read".to_owned()],
        });
    }
    text(&sets)
}

/// Sizes are those of the first file.
fn chain_summary(described: &Described) -> String {
    format!(
        "{}: {} entries in {} files, {} branches; in the first file {} stored, {} uncompressed\n",
        described.path,
        described.entries,
        described.files.len(),
        described.columns_all,
        size(described.stored_bytes),
        size(described.content_bytes),
    )
}

fn row(column: &DescribedColumn, is_tree: bool) -> Vec<String> {
    let mut row = vec![column.name.clone(), column.typename.clone()];
    if !is_tree {
        row.push(column.entry.clone().unwrap_or_default());
    }
    // A branch without leaves of its own only groups others.
    let is_unread = column.entry.is_none() && column.pieces > 0;
    row.extend(column.entries.map(|entries| entries.to_string()));
    row.push(column.pieces.to_string());
    row.extend(column.basket_size.map(|bytes| size(bytes.into())));
    row.extend([
        size(column.stored_bytes),
        size(column.content_bytes),
        match column.stored_bytes {
            // In the tree's own record, or nowhere.
            0 => "-".to_owned(),
            stored => format!("{:.1}", column.content_bytes as f64 / stored as f64),
        },
        if is_unread { "cannot be read yet" } else { "" }.to_owned(),
    ]);
    row
}
