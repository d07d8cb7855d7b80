//! The columns and options with which a tree is written as an existing one was.

use super::not_written;
use crate::error::{Error, Result};
use crate::tree::{Branch, BranchId, BranchKind, Interpretation, Leaf};
use crate::write::copy::{SourceTree, last_cluster};
use crate::write::schema::{EntryType, TableColumn};
use crate::write::tree::{ClusterSize, Jagged, TextBranch, TreeOptions};

/// Clusters of fewer compressed bytes are not made: a tree may have begun with few entries.
const CLUSTER_BYTES_MIN: u64 = 1 << 20;

/// The columns of a tree, and `options` with the names and forms of its branches.
///
/// # Errors
/// `Unsupported` with the branch of a form that [`TreeWriter`] does not write.
///
/// [`TreeWriter`]: crate::write::tree::TreeWriter
pub(super) fn columns_like(
    existing: &SourceTree,
    mut options: TreeOptions,
) -> Result<(Vec<TableColumn>, TreeOptions)> {
    let mut columns = Vec::with_capacity(existing.tree.branches.len());
    for (at, branch) in existing.tree.branches.iter().enumerate() {
        let column = column_like(existing, BranchId(at as u32), branch, &mut options);
        columns.push(column.map_err(|error| not_written("branch", &error).within(&branch.name))?);
    }
    if let Some(entries) = cluster_of(existing) {
        options.cluster = ClusterSize::Entries(entries);
    }
    Ok((columns, options))
}

fn column_like(
    existing: &SourceTree,
    id: BranchId,
    branch: &Branch,
    options: &mut TreeOptions,
) -> Result<TableColumn> {
    if branch.parent.is_some() || !branch.children.is_empty() {
        return Err(Error::unsupported("a branch of several branches"));
    }
    let [leaf] = &branch.leaves[..] else {
        return Err(Error::unsupported("a branch of several leaves"));
    };
    let form = Interpretation::of(&existing.tree, id, existing.classes())?;
    let entry = EntryType::of(&form.empty())?;
    match (&branch.kind, &entry) {
        (BranchKind::Plain, _) => note_counter(existing, branch, leaf, options),
        (BranchKind::Element { .. }, EntryType::String) => {
            options.text_of.insert(branch.name.clone(), TextBranch::StdString);
        }
        (BranchKind::Element { .. }, _) => {
            options.jagged_of.insert(branch.name.clone(), Jagged::Vector);
        }
        _ => return Err(Error::unsupported("a branch of objects")),
    }
    Ok(TableColumn { name: branch.name.clone(), title: String::new(), entry })
}

/// Gives the branch that counts the items of another the same name.
fn note_counter(existing: &SourceTree, branch: &Branch, leaf: &Leaf, options: &mut TreeOptions) {
    if let Some((counter, _)) = leaf.count {
        let counter = existing.tree.branches[counter.0 as usize].name.clone();
        options.counters.insert(branch.name.clone(), counter);
    }
}

/// Entries of the tree's last clusters, if these are not too small to be continued.
fn cluster_of(existing: &SourceTree) -> Option<u64> {
    let tree = &existing.tree;
    let size = last_cluster(tree).filter(|size| *size > 0)?;
    let bytes = u128::from(tree.zip_bytes) * u128::from(size) / u128::from(tree.entries.max(1));
    (bytes >= u128::from(CLUSTER_BYTES_MIN)).then_some(size)
}
