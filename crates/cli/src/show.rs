//! `farroot show FILE:TREE`: the branches of a tree.

use std::io::Write;

use clap::Args;
use engine::report::size;
use engine::{Ntuple, Table, Tree};

use crate::outcome::Outcome;
use crate::reading::{Selection, with_engine};
use crate::table::{table, text};

/// Show a tree's branches: names, types, sizes
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(flatten)]
    selection: Selection,
}

/// Prints one line a branch, and one about the tree.
pub fn run(arguments: &Arguments) -> Outcome {
    with_engine(async |engine| {
        let patterns = arguments.selection.patterns();
        let shown = match arguments.selection.table(engine).await? {
            Table::Tree(tree) => shown(&tree, patterns)?,
            Table::Ntuple(ntuple) => fields(&ntuple, patterns)?,
        };
        std::io::stdout().write_all(shown.as_bytes())?;
        Ok(())
    })
}

fn shown(tree: &Tree, patterns: &[String]) -> engine::Result<String> {
    let metadata = tree.metadata();
    let everything = ["*".to_owned()];
    let patterns = if patterns.is_empty() { &everything } else { patterns };
    let mut listed = table(&["name", "type", ">baskets", ">stored", ">content", ">ratio", ""]);
    for id in tree.names().select(patterns)? {
        let branch = &metadata.branches[id.0 as usize];
        let readable = tree.interpretation(id).is_ok();
        // A branch without leaves of its own only groups others.
        let remark = if readable || branch.baskets.is_empty() { "" } else { "cannot be read yet" };
        listed.add_row([
            tree.names().path(id).to_owned(),
            tree.typename(id),
            branch.baskets.len().to_string(),
            size(branch.zip_bytes),
            size(branch.total_bytes),
            format!("{:.1}", branch.total_bytes as f64 / branch.zip_bytes.max(1) as f64),
            remark.to_owned(),
        ]);
    }
    let clusters = match metadata.cluster_starts.len() {
        0 => String::new(),
        count => format!(" in {count} clusters"),
    };
    let summary = format!(
        "{}: {} entries{clusters}, {} branches; {} stored, {} uncompressed\n",
        tree.path(),
        tree.num_entries(),
        metadata.branches.len(),
        size(metadata.zip_bytes),
        size(metadata.total_bytes),
    );
    Ok(format!("{}{summary}", text(&listed)))
}

/// One line a field with the type of its entries as Awkward spells it, and one about the RNTuple.
fn fields(ntuple: &Ntuple, patterns: &[String]) -> engine::Result<String> {
    let metadata = ntuple.metadata();
    let all = ntuple.names().all();
    let chosen: Vec<usize> = match patterns.is_empty() {
        true => (0..all.len()).collect(),
        false => {
            let columns = ntuple.columns(patterns)?;
            columns.iter().filter_map(|column| ntuple.find(&column.name)).collect()
        }
    };
    let mut listed = table(&["name", "type", "entry"]);
    for field in chosen {
        let entry = match ntuple.column(field) {
            Ok(column) => column.datashape(),
            Err(_) => "cannot be read yet".to_owned(),
        };
        let typename = metadata.schema.fields[all[field].field as usize].typename.clone();
        listed.add_row([all[field].path.clone(), typename, entry]);
    }
    let clusters: u64 = metadata.groups.iter().map(|group| u64::from(group.clusters)).sum();
    let (path, entries) = (ntuple.path(), ntuple.num_entries());
    let summary =
        format!("{path}: {entries} entries in {clusters} clusters, {} fields\n", all.len());
    Ok(format!("{}{summary}", text(&listed)))
}
