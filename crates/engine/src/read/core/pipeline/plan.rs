//! Items that a read fetches and decodes, in their order.

use std::ops::Range;

/// Windows by which deciding columns are fetched before the others.
pub const DECIDED_AHEAD: usize = 2;

/// The unit of decoding: a basket of a branch, or the pages of a field in a cluster.
#[derive(Debug, Clone, PartialEq)]
pub struct Item<P> {
    /// Position in the columns of the plan.
    pub column: usize,
    /// The entries that are read, in entries of the table.
    pub entries: Range<u64>,
    /// Where its bytes are in the file; none where they are in the metadata, or are all zeros.
    pub pieces: Vec<Piece>,
    /// Bytes it is expected to decode to.
    pub decoded: u64,
    /// The batches that need it.
    pub batches: Range<usize>,
    /// Its identity in the file: a basket by its number, or pages.
    pub locator: P,
    /// Entries that a cut has left of it, where these were known when it was planned.
    pub survivors: Option<Survivors>,
}

/// One range of bytes to be fetched.
#[derive(Debug, Clone, PartialEq)]
pub struct Piece {
    pub range: Range<u64>,
    /// Bytes that it is expected to decode to.
    pub decoded: u64,
}

/// Entries of an item that a cut has left.
#[derive(Debug, Clone, PartialEq)]
pub struct Survivors {
    /// The first entry of the batch, and beyond it as many as survivors come before these.
    pub position: u64,
    /// Ascending.
    pub runs: Vec<Range<u64>>,
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
pub struct Plan<P> {
    /// In the order in which they are needed.
    pub items: Vec<Item<P>>,
    pub batches: Vec<BatchPlan>,
    /// Where a cut is decided, in order of their entries; empty without a cut. Of the columns that
    /// do not decide, fewer pieces are then fetched than the plan has.
    pub windows: Vec<Window>,
}

impl<P> Item<P> {
    /// Bytes of it in the file.
    pub fn stored(&self) -> u64 {
        self.pieces.iter().map(|piece| piece.range.end - piece.range.start).sum()
    }

    fn place(&self) -> u64 {
        self.pieces.first().map_or(0, |piece| piece.range.start)
    }
}

impl<P> Plan<P> {
    /// Plans batches that begin at `starts`, whose last is the end, with nothing to be read.
    pub fn without_items(starts: &[u64]) -> Self {
        let batch = |pair: &[u64]| BatchPlan { entries: pair[0]..pair[1], items: Vec::new() };
        let batches = starts.windows(2).map(batch).collect();
        Plan { items: Vec::new(), batches, windows: Vec::new() }
    }

    /// The same with `items`, in the order of the first batches that need them and of their places
    /// in the file: fetching them in order serves the nearest batch first and reads the file
    /// forwards.
    pub fn with_items(mut self, mut items: Vec<Item<P>>) -> Self {
        items.sort_by_key(|item| (item.batches.start, item.place(), item.column));
        self.items = items;
        self.list();
        self
    }

    /// As [`Plan::with_items`], with a cut that is decided window by window. Items of those columns
    /// where `decides` says so come a little before the others of the same entries, so that the
    /// surviving entries are known when their turn comes.
    pub fn with_windows(mut self, starts: &[u64], decides: &[bool], items: Vec<Item<P>>) -> Self {
        let batch_of = |start: u64| {
            self.batches.partition_point(|batch: &BatchPlan| batch.entries.end <= start)
        };
        let window = |pair: &[u64]| Window {
            entries: pair[0]..pair[1],
            batch: batch_of(pair[0]),
            items: Vec::new(),
        };
        self.windows = starts.windows(2).map(window).collect();
        self.items = items;
        let windows = &mut self.windows;
        self.items.sort_by_cached_key(|item| {
            let ahead = if decides[item.column] { 0 } else { DECIDED_AHEAD };
            (window_of(windows, item.entries.start) + ahead, item.place(), item.column)
        });
        for (at, item) in self.items.iter().enumerate() {
            let from = window_of(windows, item.entries.start);
            let touched = windows[from..].iter_mut();
            touched
                .take_while(|window| window.entries.start < item.entries.end)
                .for_each(|window| window.items.push(at));
        }
        self.list();
        self
    }

    /// Lists the items in their batches.
    fn list(&mut self) {
        for (at, item) in self.items.iter().enumerate() {
            for batch in item.batches.clone() {
                self.batches[batch].items.push(at);
            }
        }
    }

    /// The first window that an item is read for.
    pub fn window_of(&self, item: &Item<P>) -> usize {
        window_of(&self.windows, item.entries.start)
    }

    /// The windows of a batch.
    pub fn windows_of(&self, batch: usize) -> Range<usize> {
        let first = self.windows.partition_point(|window| window.batch < batch);
        first..self.windows.partition_point(|window| window.batch <= batch)
    }

    /// The pieces of the file that the read needs.
    pub fn pieces(&self) -> impl Iterator<Item = &Piece> {
        self.items.iter().flat_map(|item| &item.pieces)
    }
}

fn window_of(windows: &[Window], entry: u64) -> usize {
    windows.partition_point(|window| window.entries.end <= entry)
}

/// Which of the batches that begin at `starts`, whose last is the end, some entries go into.
pub fn batches_of(starts: &[u64], entries: &Range<u64>) -> Range<usize> {
    let first = starts.partition_point(|start| *start <= entries.start).saturating_sub(1);
    let last = starts.partition_point(|start| *start < entries.end);
    first..last.min(starts.len().saturating_sub(1))
}
