//! Which baskets a read needs, in which order: decided before anything is fetched.

use std::ops::Range;

use rootfile::tree::{BasketPlace, Branch, Tree};

use crate::error::{Error, ErrorKind, Result};
use crate::read::core::columns::Column;
use crate::read::core::steps::{Step, borders, windows_starts};

/// Windows by which deciding columns are fetched before the others.
pub(crate) const DECIDED_AHEAD: usize = 2;

/// One basket to be fetched and decoded.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// Position in the columns of the plan.
    pub column: usize,
    /// Position in the branch's baskets.
    pub basket: usize,
    /// The entries of the basket that are read, in entries of the tree.
    pub entries: Range<u64>,
    /// Where its record is in the file; `None` for one embedded in the tree's own record.
    pub range: Option<Range<u64>>,
    /// Bytes it is expected to decode to.
    pub decoded: u64,
    /// The batches that need it.
    pub batches: Range<usize>,
}

/// Entries that are handed out together, with the items that make them up.
#[derive(Debug, Clone, PartialEq)]
pub struct BatchPlan {
    pub entries: Range<u64>,
    /// Positions in [`Plan::items`].
    pub items: Vec<usize>,
}

/// Entries over which a cut is decided at one time. None reaches over the end of a batch.
#[derive(Debug, Clone, PartialEq)]
pub struct Window {
    pub entries: Range<u64>,
    /// The batch that it is a part of.
    pub batch: usize,
    /// Items that hold some of its entries, as positions in [`Plan::items`].
    pub items: Vec<usize>,
}

/// Everything a read will fetch.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// In the order in which they are needed.
    pub items: Vec<Item>,
    pub batches: Vec<BatchPlan>,
    /// Where a cut is decided, in order of their entries; empty without a cut. What is then
    /// fetched of the columns that do not decide is less than the plan says.
    pub windows: Vec<Window>,
}

impl Plan {
    /// Plans reading `columns` of `tree` for `entries` in steps.
    ///
    /// Items are ordered by the first batch that needs them and then by their place in the file,
    /// so that fetching in order serves the nearest batch first and reads the file forwards.
    ///
    /// # Errors
    /// `Corrupt` where a branch has no basket for some of the entries.
    pub fn new(tree: &Tree, columns: &[Column], entries: Range<u64>, step: Step) -> Result<Plan> {
        Plan::at(tree, columns, &starts(tree, columns, entries, step))
    }

    /// As [`Plan::new`], with batches that begin at `starts`, whose last is the end.
    pub(crate) fn at(tree: &Tree, columns: &[Column], starts: &[u64]) -> Result<Plan> {
        let mut plan = Plan::unordered(tree, columns, starts)?;
        plan.items.sort_by_key(|item| (item.batches.start, place(item), item.column));
        plan.list();
        Ok(plan)
    }

    /// Plans reading `columns`, of which those where `decides` says so decide about entries.
    ///
    /// These come a little before the others of the same entries, so that what survives is known
    /// when its turn comes.
    ///
    /// # Errors
    /// As [`Plan::new`].
    pub fn with_cut(
        tree: &Tree,
        columns: &[Column],
        decides: &[bool],
        entries: Range<u64>,
        step: Step,
    ) -> Result<Plan> {
        let starts = starts(tree, columns, entries, step);
        let mut plan = Plan::unordered(tree, columns, &starts)?;
        let deciding = columns.iter().zip(decides).filter(|(_, decides)| **decides);
        let per_entry = deciding.map(|(column, _)| decoded_bytes_per_entry(tree, column)).sum();
        plan.list_windows(&windows_starts(&starts, per_entry), decides);
        Ok(plan)
    }

    /// Plans reading `columns` where somebody else decides about entries, over windows that begin
    /// at `windows`: all `starts` are among these.
    ///
    /// # Errors
    /// As [`Plan::new`].
    pub(crate) fn told(
        tree: &Tree,
        columns: &[Column],
        starts: &[u64],
        windows: &[u64],
    ) -> Result<Plan> {
        let mut plan = Plan::unordered(tree, columns, starts)?;
        plan.list_windows(windows, &vec![false; columns.len()]);
        Ok(plan)
    }

    /// Divides the batches into windows, and orders the items by them.
    fn list_windows(&mut self, starts: &[u64], decides: &[bool]) {
        let batch_of = |start: u64| {
            self.batches.partition_point(|batch: &BatchPlan| batch.entries.end <= start)
        };
        let window = |pair: &[u64]| Window {
            entries: pair[0]..pair[1],
            batch: batch_of(pair[0]),
            items: Vec::new(),
        };
        self.windows = starts.windows(2).map(window).collect();
        let mut items = std::mem::take(&mut self.items);
        items.sort_by_cached_key(|item| {
            let ahead = if decides[item.column] { 0 } else { DECIDED_AHEAD };
            (self.window_of(item) + ahead, place(item), item.column)
        });
        self.items = items;
        self.list();
        for (at, item) in self.items.iter().enumerate() {
            let from = window_at(&self.windows, item);
            let touched = self.windows[from..].iter_mut();
            touched
                .take_while(|window| window.entries.start < item.entries.end)
                .for_each(|window| window.items.push(at));
        }
    }

    fn unordered(tree: &Tree, columns: &[Column], starts: &[u64]) -> Result<Plan> {
        let entries = starts.first().copied().unwrap_or(0)..starts.last().copied().unwrap_or(0);
        let mut items = Vec::new();
        // No entries may lie in the middle of a basket, too.
        let columns_read = if entries.is_empty() { 0 } else { columns.len() };
        for at in 0..columns_read {
            column_items(tree, columns, at, &entries, starts, &mut items)?;
        }
        let batches = starts
            .windows(2)
            .map(|pair| BatchPlan { entries: pair[0]..pair[1], items: Vec::new() })
            .collect();
        Ok(Plan { items, batches, windows: Vec::new() })
    }

    /// The first window that an item is read for.
    pub(crate) fn window_of(&self, item: &Item) -> usize {
        window_at(&self.windows, item)
    }

    /// Lists the items in their batches.
    fn list(&mut self) {
        for (at, item) in self.items.iter().enumerate() {
            for batch in item.batches.clone() {
                self.batches[batch].items.push(at);
            }
        }
    }

    /// Bytes that the read needs from the file.
    pub fn stored_bytes(&self) -> u64 {
        self.items.iter().filter_map(|item| item.range.as_ref()).map(|r| r.end - r.start).sum()
    }
}

fn window_at(windows: &[Window], item: &Item) -> usize {
    windows.partition_point(|window| window.entries.end <= item.entries.start)
}

fn place(item: &Item) -> u64 {
    item.range.as_ref().map_or(0, |range| range.start)
}

/// Divides batches into windows of about [`WINDOW_BYTES`] of the deciding columns; the first entries
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

/// What a column takes in memory, as the branch's own totals say; offsets take eight bytes an
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
    items: &mut Vec<Item>,
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
        let range = match &basket.place {
            BasketPlace::Stored(range) => Some(range.clone()),
            BasketPlace::Embedded(_) => None,
        };
        let stored = range.as_ref().map_or(0, |range| range.end - range.start);
        let whole = (basket.entries.end - basket.entries.start) as f64;
        items.push(Item {
            column: at,
            basket: number,
            batches: batches_of(starts, &wanted),
            entries: wanted,
            range,
            decoded: stored.max((per_entry * whole) as u64),
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

fn batches_of(starts: &[u64], entries: &Range<u64>) -> Range<usize> {
    let first = starts.partition_point(|start| *start <= entries.start).saturating_sub(1);
    let last = starts.partition_point(|start| *start < entries.end);
    first..last.min(starts.len().saturating_sub(1))
}
