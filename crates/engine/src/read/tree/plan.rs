//! Baskets that a read needs, in their order: decided before anything is fetched.

use std::ops::Range;

use rootfile::tree::{BasketPlace, BasketRef, Branch, Tree};

use crate::read::core::columns::Column;
use crate::read::core::pipeline::plan::{Item, Piece, Plan, batches_of};
use crate::read::core::steps::{Step, borders, windows_starts};
use remote::{Error, ErrorKind, Result};

/// Everything a read of branches will fetch: an item is the basket of a number.
pub type TreePlan = Plan<usize>;

/// Plans reading `columns` of `tree` for `entries` in steps.
///
/// # Errors
/// `Corrupt` where a branch has no basket for some of the entries.
pub(crate) fn in_steps(
    tree: &Tree,
    columns: &[Column],
    entries: Range<u64>,
    step: Step,
) -> Result<TreePlan> {
    at(tree, columns, &starts(tree, columns, entries, step))
}

/// As [`in_steps`], with batches that begin at `starts`, whose last is the end.
pub(crate) fn at(tree: &Tree, columns: &[Column], starts: &[u64]) -> Result<TreePlan> {
    Ok(Plan::without_items(starts).with_items(items(tree, columns, starts)?))
}

/// As [`in_steps`], with a cut: the columns where `decides` says so decide about entries.
///
/// # Errors
/// As [`in_steps`].
pub(crate) fn with_cut(
    tree: &Tree,
    columns: &[Column],
    decides: &[bool],
    entries: Range<u64>,
    step: Step,
) -> Result<TreePlan> {
    let starts = starts(tree, columns, entries, step);
    let deciding = columns.iter().zip(decides).filter(|(_, decides)| **decides);
    let per_entry = deciding.map(|(column, _)| decoded_bytes_per_entry(tree, column)).sum();
    let windows = windows_starts(&starts, per_entry);
    let items = items(tree, columns, &starts)?;
    Ok(Plan::without_items(&starts).with_windows(&windows, decides, items))
}

/// As [`at`], where the reader of other tables decides, over windows that begin at `windows`: all
/// `starts` are among these.
///
/// # Errors
/// As [`in_steps`].
pub(crate) fn with_windows(
    tree: &Tree,
    columns: &[Column],
    starts: &[u64],
    windows: &[u64],
) -> Result<TreePlan> {
    let items = items(tree, columns, starts)?;
    Ok(Plan::without_items(starts).with_windows(windows, &vec![false; columns.len()], items))
}

fn items(tree: &Tree, columns: &[Column], starts: &[u64]) -> Result<Vec<Item<usize>>> {
    let entries = starts.first().copied().unwrap_or(0)..starts.last().copied().unwrap_or(0);
    let mut items = Vec::new();
    // No entries may lie in the middle of a basket, too.
    let columns_read = if entries.is_empty() { 0 } else { columns.len() };
    for at in 0..columns_read {
        column_items(tree, columns, at, &entries, starts, &mut items)?;
    }
    Ok(items)
}

/// The baskets of a branch that hold some of `entries`, by position.
pub(crate) fn baskets_of(branch: &Branch, entries: &Range<u64>) -> Range<usize> {
    let first = branch.baskets.partition_point(|basket| basket.entries.end <= entries.start);
    let after = branch.baskets.partition_point(|basket| basket.entries.start < entries.end);
    first..after.max(first)
}

/// Entries that may be asked for: the tree's or, where a job died before the tree's record was
/// brought up to date, those of the longest branch.
pub(crate) fn entries_there(tree: &Tree, columns: &[Column]) -> u64 {
    let branches = columns.iter().map(|column| tree.branches[column.branch.0 as usize].entries);
    branches.fold(tree.entries, u64::max)
}

/// Up to which entry a column has baskets.
pub(crate) fn entries_stored(tree: &Tree, column: &Column) -> u64 {
    let baskets = &tree.branches[column.branch.0 as usize].baskets;
    baskets.last().map_or(0, |basket| basket.entries.end)
}

/// First entries of the batches and, last, the end.
fn starts(tree: &Tree, columns: &[Column], entries: Range<u64>, step: Step) -> Vec<u64> {
    let there = entries_there(tree, columns);
    let entries = entries.start.min(there)..entries.end.min(there);
    let total = entries.end.saturating_sub(entries.start);
    let clusters = match step {
        Step::Bytes(_) => tree.cluster_starts.as_slice(),
        Step::Whole | Step::Entries(_) => &[],
    };
    borders(&entries, step_entries(tree, columns, step, total), clusters)
}

/// How many of `total` entries come at a time; at least one.
pub(crate) fn step_entries(tree: &Tree, columns: &[Column], step: Step, total: u64) -> u64 {
    step.entries(total, || columns.iter().map(|column| decoded_bytes_per_entry(tree, column)).sum())
}

/// Bytes of memory per entry of a column, from the branch's own totals; offsets take eight bytes an
/// entry here and four in the file.
pub(crate) fn decoded_bytes_per_entry(tree: &Tree, column: &Column) -> f64 {
    let branch = &tree.branches[column.branch.0 as usize];
    let offsets = if branch.entry_offset_len > 0 { 4.0 } else { 0.0 };
    branch.total_bytes as f64 / branch.entries.max(1) as f64 + offsets
}

fn column_items(
    tree: &Tree,
    columns: &[Column],
    at: usize,
    entries: &Range<u64>,
    starts: &[u64],
    items: &mut Vec<Item<usize>>,
) -> Result<()> {
    let branch = &tree.branches[columns[at].branch.0 as usize];
    let per_entry = decoded_bytes_per_entry(tree, &columns[at]);
    let first = branch.baskets.partition_point(|basket| basket.entries.end <= entries.start);
    let mut covered = entries.start;
    for (number, basket) in branch.baskets.iter().enumerate().skip(first) {
        if basket.entries.start >= entries.end {
            break;
        }
        if basket.entries.is_empty() {
            continue;
        }
        if basket.entries.start > covered {
            break;
        }
        let wanted = covered..basket.entries.end.min(entries.end);
        covered = wanted.end;
        let whole = (basket.entries.end - basket.entries.start) as f64;
        let (pieces, decoded) = pieces_of(basket, (per_entry * whole) as u64);
        items.push(Item {
            column: at,
            batches: batches_of(starts, &wanted),
            entries: wanted,
            pieces,
            decoded,
            locator: number,
            survivors: None,
        });
    }
    if covered < entries.end {
        return Err(Error::new(
            ErrorKind::Corrupt,
            format!("branch {} has no basket for entry {covered}", columns[at].name),
        )
        .with_advice("the file was not closed properly, or belongs to a set of friends"));
    }
    Ok(())
}

/// The range of a basket in the file, and its decoded bytes: no fewer than its stored ones.
pub(super) fn pieces_of(basket: &BasketRef, decoded: u64) -> (Vec<Piece>, u64) {
    match &basket.place {
        BasketPlace::Embedded(_) => (Vec::new(), decoded),
        BasketPlace::Stored(range) => {
            let decoded = decoded.max(range.end - range.start);
            (vec![Piece { range: range.clone(), decoded }], decoded)
        }
    }
}
