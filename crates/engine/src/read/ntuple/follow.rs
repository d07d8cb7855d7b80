//! A reader that does not name the fields that it reads beforehand.
//!
//! It goes through an RNTuple in steps and touches columns as it likes. A column that it touches
//! once is read on from there, cluster by cluster and as far ahead as the memory budget goes, until
//! a whole cluster has passed in which the caller did not touch it. Two rules keep the round trips
//! few where nothing is known yet, those of [`crate::read::tree::learn`]:
//!
//! * **Startup**: with the first column, the others come for the first step, the smallest first,
//!   up to an allowance of bytes. Where the access history of an earlier reader is known, those
//!   that it read in nearly every step come in their place, and are read on like the first.
//! * **Together**: in a step that touches ever more columns for the first time, each brings twice
//!   as many others for its cluster as the one before.

use std::ops::Range;
use std::sync::Arc;

use rootfile::ntuple::Cluster;

use super::{FieldColumn, RNTuple};
use crate::read::core::batches::Batches;
use crate::read::core::columns::Piece;
use crate::read::core::lazy::Learning;
use crate::read::core::steps::ReadPriority;
use crate::read::predict::history::{AccessHistory, ReaderKind};
use crate::read::predict::stats::{AccessStats, KNOWN_AFTER};
use crate::read::predict::stepping::{Steps, allowance};
use remote::Result;

/// Goes through an RNTuple step by step, fetching the columns that are touched and those that will
/// be.
pub(crate) struct Prefetcher {
    ntuple: RNTuple,
    columns: Vec<FieldColumn>,
    clusters: Vec<Arc<Cluster>>,
    /// First entries of the windows, the shares of clusters in the entries, and, last, the end.
    starts: Vec<u64>,
    steps: Steps,
    /// The entries of the present step.
    present: Range<u64>,
    /// The window in which the present step begins.
    window: usize,
    /// The read of each column, if there is one.
    read: Vec<Option<Read>>,
    learning: Learning,
    begun: bool,
    /// How many columns that were never touched come with the next one that is new.
    crowd: usize,
    /// Of the columns, by position.
    stats: AccessStats,
    /// The access history of the last reader.
    history: Option<AccessHistory>,
}

/// The read of a column.
struct Read {
    batches: Batches,
    /// The windows that `batches` brings from now on.
    coming: Range<usize>,
    /// Windows that have come and may be looked at again.
    held: Vec<Piece>,
    /// The last window in which the column was touched; `None` where it only may be.
    touched: Option<usize>,
}

impl Prefetcher {
    /// Begins before the first step of so many entries; `clusters` hold all that there are.
    pub fn new(
        ntuple: &RNTuple,
        columns: Vec<FieldColumn>,
        mut clusters: Vec<Arc<Cluster>>,
        entries: Range<u64>,
        step_entries: u64,
        learning: Learning,
    ) -> Self {
        clusters.retain(|cluster| !cluster.entries.is_empty());
        let inside = clusters.iter().map(|cluster| cluster.entries.start.max(entries.start));
        let starts = inside.chain([entries.end]).collect();
        let histories = ntuple.file().histories();
        let believed = learning == Learning::default();
        let load = || histories.load(ReaderKind::EventLoop, ntuple.list().shape());
        Prefetcher {
            stats: AccessStats::new(columns.len()),
            history: believed.then(load).flatten(),
            ntuple: ntuple.clone(),
            read: columns.iter().map(|_| None).collect(),
            columns,
            clusters,
            starts,
            present: entries.start..entries.start,
            steps: Steps::new(entries, step_entries),
            window: 0,
            learning,
            begun: false,
            crowd: 0,
        }
    }

    /// Goes to the next step; its entries, or `None` after the last.
    pub fn advance(&mut self) -> Option<Range<u64>> {
        let start = self.present.end;
        let next = self.steps.from(start);
        // Behind the last step that one stays the present one.
        if next.is_empty() {
            return None;
        }
        self.present = next;
        self.stats.begin_step();
        self.crowd = 0;
        let window = self.windows(&self.present).start;
        if window > self.window {
            self.window = window;
            self.let_go(start);
        }
        Some(self.present.clone())
    }

    /// The values of a column for the entries of the present step, cluster by cluster.
    ///
    /// # Errors
    /// Whatever goes wrong in fetching and decoding them.
    pub async fn touch(&mut self, column: usize) -> Result<Vec<Piece>> {
        let windows = self.windows(&self.present);
        self.stats.touch(column);
        if self.is_new(column, windows.start) {
            self.begin(column, &windows)?;
        }
        let Some(read) = &mut self.read[column] else { return Ok(Vec::new()) };
        read.touched = Some(windows.end.saturating_sub(1));
        loop {
            let lacking = read.coming.start < windows.end;
            if read.coming.is_empty() && read.coming.end < self.starts.len() - 1 {
                // The read that was begun in case the column is needed ends here; now it is needed.
                let starts = &self.starts[read.coming.start..];
                let column = &self.columns[column];
                read.batches = self.ntuple.follow(column, &self.clusters, starts, lacking)?;
                read.coming.end = self.starts.len() - 1;
            }
            if !lacking {
                break;
            }
            match read.batches.next().await {
                Some(Ok(mut batch)) => {
                    read.coming.start += 1;
                    let array = Arc::new(batch.columns.swap_remove(0).1);
                    read.held.push((batch.entries, array));
                }
                Some(Err(error)) => {
                    // Asking again tries again.
                    self.read[column] = None;
                    return Err(error);
                }
                None => break,
            }
        }
        let here =
            |piece: &&Piece| piece.0.start < self.present.end && piece.0.end > self.present.start;
        Ok(read.held.iter().filter(here).cloned().collect())
    }

    /// Whether the windows from this one on are not under way.
    fn is_new(&self, column: usize, window: usize) -> bool {
        self.read[column].as_ref().is_none_or(|read| {
            let start = self.starts[window];
            read.coming.start > window && read.held.iter().all(|(held, _)| held.start > start)
        })
    }

    /// Begins to read a column, and those that may be touched with it.
    fn begin(&mut self, column: usize, windows: &Range<usize>) -> Result<()> {
        let all = windows.start..self.starts.len() - 1;
        self.read[column] = Some(self.reading(column, all, true)?);
        let startup = self.learning.startup && !self.begun;
        self.begun = true;
        if startup && self.begin_steady(windows.start)? {
            return Ok(());
        }
        let several = if self.learning.together { self.crowd } else { 0 };
        self.crowd = self.crowd.saturating_mul(2).max(1);
        if !startup && several == 0 {
            return Ok(());
        }
        let pipe_bytes = self.ntuple.file().remote().pipe_bytes();
        let mut allowance = if startup { allowance(pipe_bytes) } else { 0 };
        let mut others: Vec<(u64, usize)> = (0..self.columns.len())
            .filter(|other| self.read[*other].is_none())
            .map(|other| (self.stored(other, windows), other))
            .collect();
        others.sort_unstable();
        for (number, (bytes, other)) in others.into_iter().enumerate() {
            if number >= several {
                if bytes > allowance {
                    break;
                }
                allowance -= bytes;
            }
            self.read[other] = Some(self.reading(other, windows.clone(), false)?);
        }
        Ok(())
    }

    /// Begins to read the columns that the last reader read in nearly every step; whether there are
    /// any.
    fn begin_steady(&mut self, window: usize) -> Result<bool> {
        let Some(history) = &self.history else { return Ok(false) };
        let is_steady = |column: &FieldColumn| history.steady.binary_search(&column.name).is_ok();
        let steady: Vec<usize> =
            (0..self.columns.len()).filter(|at| is_steady(&self.columns[*at])).collect();
        for column in &steady {
            if self.read[*column].is_none() {
                let all = window..self.starts.len() - 1;
                self.read[*column] = Some(self.reading(*column, all, false)?);
            }
        }
        Ok(!steady.is_empty())
    }

    fn reading(&self, column: usize, windows: Range<usize>, urgent: bool) -> Result<Read> {
        let starts = &self.starts[windows.start..=windows.end];
        let batches = self.ntuple.follow(&self.columns[column], &self.clusters, starts, urgent)?;
        Ok(Read { batches, coming: windows, held: Vec::new(), touched: None })
    }

    /// Stored bytes of a column in the clusters of windows.
    fn stored(&self, column: usize, windows: &Range<usize>) -> u64 {
        let of = |cluster: &Arc<Cluster>| {
            let entries = cluster.entries.end - cluster.entries.start;
            let pages = self.columns[column].interpretation.pages(cluster, 0..entries);
            let bytes =
                |page: rootfile::ntuple::PageUse| page.page.range.end - page.page.range.start;
            pages.map_or(0, |pages| pages.into_iter().map(bytes).sum::<u64>())
        };
        self.clusters[windows.clone()].iter().map(of).fold(0, u64::saturating_add)
    }

    /// Gives back batches before an entry, and columns that were not touched since the window
    /// before.
    fn let_go(&mut self, start: u64) {
        for each in &mut self.read {
            let Some(read) = each else { continue };
            read.held.retain(|(entries, _)| entries.end > start);
            if read.touched.is_none_or(|touched| touched + 1 < self.window) {
                *each = None;
            }
        }
    }

    /// The windows with some of these entries, of which there are any.
    fn windows(&self, entries: &Range<u64>) -> Range<usize> {
        let first = self.starts.partition_point(|start| *start <= entries.start);
        let last = self.starts.partition_point(|start| *start < entries.end);
        first.saturating_sub(1)..last.min(self.starts.len() - 1)
    }
}

impl Drop for Prefetcher {
    /// Stores the access history for the next reader, where it is known.
    fn drop(&mut self) {
        if self.stats.steps() < KNOWN_AFTER || self.learning != Learning::default() {
            return;
        }
        let accesses = self.stats.made_of();
        let named = accesses.map(|(column, prior)| (self.columns[column].name.clone(), prior));
        let history = AccessHistory::of_accesses(named);
        if self.history.as_ref() != Some(&history) {
            let shape = self.ntuple.list().shape();
            self.ntuple.file().histories().save(ReaderKind::EventLoop, shape, history);
        }
    }
}

impl RNTuple {
    /// Reads a column in batches that begin at `starts`, whose last is the end.
    fn follow(
        &self,
        column: &FieldColumn,
        clusters: &[Arc<Cluster>],
        starts: &[u64],
        urgent: bool,
    ) -> Result<Batches> {
        let columns = vec![column.clone()];
        let plan = self.planned(&columns, clusters, starts)?;
        Ok(self.run(columns, plan, ReadPriority { urgent, ..ReadPriority::FIRST }))
    }
}
