//! Ends of clusters, by the entries alone.

use std::collections::VecDeque;
use std::ops::Range;

use super::branch::OpenBranch;
use super::measure::{Measure, last};
use super::options::{ClusterSize, TreeOptions};
use super::plan::PlannedBranch;
use crate::write::compression::SAMPLE_LEN;
use crate::write::rows::{ColumnRun, Rows};

/// Bytes of all branches that it looks at.
const SAMPLES_LEN_MAX: u64 = 16 << 20;
/// Bytes of a cluster's entries before compression: so many are held in memory, and of entries that
/// are much larger than the first ones up to twice as many.
const CONTENT_LEN_MAX: u64 = 128 << 20;
/// Bytes of arrays that come between two looks at whether a cluster has become too large.
const LOOK_LEN: usize = 8 << 20;

/// The clusters of a tree.
#[derive(Debug)]
pub(super) struct Clusters {
    size: ClusterSize,
    /// The first entry that is in no cluster.
    start: u64,
    /// Entries of a cluster, once decided.
    entries: Option<u64>,
    /// Last entry and size of those that had another one.
    ranges: Vec<(u64, u64)>,
    /// The first entry that is in no range.
    range_start: u64,
    /// Entries behind which the caller wants later clusters to end, in order.
    ends: VecDeque<u64>,
    sample_len: u64,
    /// Bytes of one entry before compression, in the sample.
    content_per_entry: f64,
    /// Bytes of the rows when a cluster was last found not to be too large.
    looked: usize,
}

impl Clusters {
    pub fn new(options: &TreeOptions, branches: usize) -> Self {
        Clusters {
            size: options.cluster,
            start: 0,
            entries: None,
            ranges: Vec::new(),
            range_start: 0,
            ends: VecDeque::new(),
            sample_len: (SAMPLE_LEN as u64 * branches as u64).min(SAMPLES_LEN_MAX),
            content_per_entry: 0.0,
            looked: 0,
        }
    }

    /// Entries of a cluster, once decided.
    pub fn entries(&self) -> Option<u64> {
        self.entries
    }

    pub fn ranges(&self) -> &[(u64, u64)] {
        &self.ranges
    }

    /// Entries of a cluster, and the ranges of others, of so many first entries: whether or not
    /// more are in clusters already.
    pub fn of_first(&self, entries: u64) -> (Option<u64>, Vec<(u64, u64)>) {
        let ends_before = |range: &&(u64, u64)| range.0 + 1 < entries;
        let ranges: Vec<_> = self.ranges.iter().take_while(ends_before).copied().collect();
        let next = self.ranges.get(ranges.len()).map(|(_, size)| *size);
        (next.or(self.entries).filter(|_| entries > 0), ranges)
    }

    /// The first entry that is in no cluster.
    pub fn start(&self) -> u64 {
        self.start
    }

    /// Ends a cluster behind the first `entries` entries, if these are more than at the last call.
    pub fn end_at(&mut self, entries: u64) {
        if entries > self.ends.back().copied().unwrap_or(self.start) {
            self.ends.push_back(entries);
        }
    }

    /// Whether the first entries have to be compressed to know more.
    pub fn needs_trial(&self, branches: &[OpenBranch]) -> bool {
        let is_sized = matches!(self.size, ClusterSize::Bytes(_));
        let mut compressions = branches.iter().map(|branch| branch.compression);
        compressions.any(|each| each.level > 0 && (is_sized || each.is_class()))
    }

    /// How many entries are the first ones; `None` where these are not there yet.
    pub fn sample(
        &mut self,
        rows: &mut Rows,
        branches: &[OpenBranch],
        is_closed: bool,
    ) -> Option<u64> {
        let there = rows.end() as usize;
        if !is_closed && rows.held_bytes() < self.looked + self.sample_len as usize / 8 {
            return None;
        }
        self.looked = rows.held_bytes();
        let runs = runs(rows, branches, 0..there as u64);
        let measures = measures(branches, &runs);
        let bytes = |entries: usize| measures.iter().map(|m| m.bytes(0..entries)).sum::<u64>();
        let is_whole = bytes(there) >= self.sample_len;
        if !is_whole && !is_closed {
            return None;
        }
        let entries = last(0, there, |entry| bytes(entry) <= self.sample_len).max(1).min(there);
        self.content_per_entry = bytes(entries) as f64 / entries.max(1) as f64;
        self.looked = 0;
        if entries > 0 {
            self.decide(self.content_per_entry);
        }
        Some(entries as u64)
    }

    /// The entries that a trial of one branch looks at, and their bytes.
    pub fn sample_of(
        &self,
        rows: &mut Rows,
        branch: &PlannedBranch,
        entries: u64,
    ) -> (ColumnRun, usize) {
        let run = rows.run(branch.column, 0..entries);
        let measure = Measure::new(branch, &run);
        let entries = measure.fitting(0, entries as usize, SAMPLE_LEN as u64).max(1);
        let content_len = measure.bytes(0..entries) as usize;
        (rows.run(branch.column, 0..entries as u64), content_len)
    }

    /// Decides how many entries clusters have, by the compressed bytes of one.
    pub fn decide(&mut self, stored_per_entry: f64) {
        let of = |bytes: u64, per_entry: f64| (bytes as f64 / per_entry.max(1e-3)) as u64;
        self.entries = Some(match self.size {
            ClusterSize::Entries(entries) => entries.max(1),
            ClusterSize::Bytes(bytes) => {
                of(bytes, stored_per_entry).min(of(CONTENT_LEN_MAX, self.content_per_entry)).max(1)
            }
        });
    }

    /// The entries of the next cluster, if all of them are there.
    pub fn next(
        &mut self,
        rows: &mut Rows,
        branches: &[OpenBranch],
        is_closed: bool,
    ) -> Option<Range<u64>> {
        let usual = self.entries?;
        let wanted = self.ends.front().copied().filter(|end| *end <= rows.end());
        let there = wanted.unwrap_or(rows.end()) - self.start;
        let is_complete = there >= usual || is_closed || wanted.is_some();
        let held = rows.held_bytes();
        if there == 0 || (!is_complete && held < self.looked + LOOK_LEN) {
            return None;
        }
        let entries = self.start..self.start + there.min(usual);
        let count = (entries.end - entries.start) as usize;
        let fitting = self.fitting(rows, branches, entries.clone());
        self.looked = held;
        if fitting < count {
            self.shorten(fitting as u64);
        } else if !is_complete {
            return None;
        }
        let end = self.start + fitting as u64;
        self.looked = 0;
        if wanted == Some(end) {
            self.ends.pop_front();
            self.end_early(end);
        }
        Some(std::mem::replace(&mut self.start, end)..end)
    }

    /// How many of these entries are not too large for one cluster.
    fn fitting(&self, rows: &mut Rows, branches: &[OpenBranch], entries: Range<u64>) -> usize {
        let count = (entries.end - entries.start) as usize;
        if matches!(self.size, ClusterSize::Entries(_)) {
            return count;
        }
        let runs = runs(rows, branches, entries);
        let measures = measures(branches, &runs);
        let bytes = |entries: usize| measures.iter().map(|m| m.bytes(0..entries)).sum::<u64>();
        last(0, count, |entries| bytes(entries) <= 2 * CONTENT_LEN_MAX).max(1)
    }

    /// Ends this cluster at `end`; those after it have as many entries as those before.
    fn end_early(&mut self, end: u64) {
        let Some(usual) = self.entries.filter(|usual| end - self.start < *usual) else { return };
        if self.start > self.range_start {
            self.ranges.push((self.start - 1, usual));
        }
        self.range_start = end;
        match self.ranges.last_mut() {
            Some((last, size)) if *last + 1 == self.start && *size == end - self.start => {
                *last = end - 1;
            }
            _ => self.ranges.push((end - 1, end - self.start)),
        }
    }

    /// This cluster and those after it have fewer entries.
    fn shorten(&mut self, entries: u64) {
        if let Some(usual) = self.entries.filter(|_| self.start > self.range_start) {
            self.ranges.push((self.start - 1, usual));
            self.range_start = self.start;
        }
        self.entries = Some(entries);
    }
}

fn runs(rows: &mut Rows, branches: &[OpenBranch], entries: Range<u64>) -> Vec<ColumnRun> {
    branches.iter().map(|branch| rows.run(branch.plan.column, entries.clone())).collect()
}

fn measures<'a>(branches: &'a [OpenBranch], runs: &'a [ColumnRun]) -> Vec<Measure<'a>> {
    branches.iter().zip(runs).map(|(branch, run)| Measure::new(&branch.plan, run)).collect()
}
