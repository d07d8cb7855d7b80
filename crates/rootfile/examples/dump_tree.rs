//! Prints the keys of a file and the metadata of its trees as JSON. The oracle in `tests/oracle`
//! compares them with those of uproot.
#![allow(clippy::disallowed_methods, reason = "an example reads files")]

use bytes::Bytes;
use farroot_rootfile::tree::{BasketPlace, Branch, BranchKind, Tree};
use farroot_rootfile::{File, Known};
use serde_json::{Value, json};

#[path = "../tests/support/feed.rs"]
mod feed;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("usage: dump_tree FILE")?;
    let bytes = Bytes::from(std::fs::read(path)?);
    let mut known = Known::new(Some(bytes.len() as u64));
    let file = feed::until_ready(&bytes, &mut known, File::open)?;
    let mut keys = Vec::new();
    let mut trees = serde_json::Map::new();
    for directory in
        feed::until_ready(&bytes, &mut known, |known| file.directories(known))?.readable
    {
        for key in &directory.keys {
            let prefix = if directory.path.is_empty() { "" } else { "/" };
            let path = format!("{}{prefix}{};{}", directory.path, key.name, key.cycle);
            keys.push(json!([path, key.class]));
            if file.is_tree(key) {
                let tree = feed::until_ready(&bytes, &mut known, |known| file.tree(known, &path));
                let said = match tree {
                    Ok(tree) => tree_json(&tree),
                    Err(error) => json!({ "error": error.to_string() }),
                };
                trees.insert(path, said);
            }
        }
    }
    println!("{}", json!({ "keys": keys, "trees": trees }));
    Ok(())
}

fn tree_json(tree: &Tree) -> Value {
    json!({
        "name": tree.name,
        "title": tree.title,
        "entries": tree.entries,
        "aliases": tree.aliases,
        "clusters": tree.cluster_starts,
        "branches": tree.branches.iter().map(|branch| branch_json(tree, branch)).collect::<Vec<_>>(),
    })
}

fn branch_json(tree: &Tree, branch: &Branch) -> Value {
    let class = match &branch.kind {
        BranchKind::Plain => "TBranch",
        BranchKind::Element { .. } => "TBranchElement",
        BranchKind::Object { .. } => "TBranchObject",
        BranchKind::Clones { .. } => "TBranchClones",
        BranchKind::Pointers { .. } => "TBranchSTL",
        BranchKind::Other { class } => class,
        BranchKind::Unreadable { .. } => "unreadable",
    };
    let count = match branch.kind {
        BranchKind::Element { count: Some(count), .. } => {
            Some(tree.branches[count.0 as usize].name.clone())
        }
        _ => None,
    };
    let leaves: Vec<Value> = branch
        .leaves
        .iter()
        .map(|leaf| {
            let count = leaf.count.map(|(branch, leaf)| {
                tree.branches[branch.0 as usize].leaves[leaf as usize].name.clone()
            });
            json!([leaf.name, leaf.title, leaf.len, leaf.len_type, leaf.unsigned, count])
        })
        .collect();
    let baskets: Vec<Value> = branch
        .baskets
        .iter()
        .map(|basket| match &basket.place {
            BasketPlace::Stored(range) => {
                json!([basket.entries.start, basket.entries.end, range.start, range.end])
            }
            BasketPlace::Embedded(_) => json!([basket.entries.start, basket.entries.end]),
        })
        .collect();
    json!({
        "name": branch.name,
        "title": branch.title,
        "parent": branch.parent.map(|id| id.0),
        "class": class,
        "entries": branch.entries,
        "compress": branch.compress,
        "entry_offset_len": branch.entry_offset_len,
        "count": count,
        "leaves": leaves,
        "baskets": baskets,
    })
}
