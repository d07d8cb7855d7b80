//! `farroot show FILE:TREE`: the branches of a tree.

use std::io::Write;

use clap::Args;
use engine::Tree;
use engine::report::size;

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
        let tree = arguments.selection.open(engine).await?;
        let shown = shown(&tree, arguments.selection.patterns())?;
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
