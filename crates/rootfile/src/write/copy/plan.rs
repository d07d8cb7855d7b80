//! Parts of one input's tree that a copy takes.

use std::collections::BTreeMap;
use std::ops::Range;

use bytes::Bytes;

use super::basket;
use super::index::PartIndex;
use crate::error::{Error, Result};
use crate::tree::interpret::check_place;
use crate::tree::{BasketPlace, Branch, Tree};

/// The baskets of one input's tree, in the order of the output's branches.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TreePart {
    pub entries: u64,
    pub(super) clusters: Vec<ClusterRun>,
    pub(super) branches: Vec<BranchPart>,
    /// Whether the tree has other friends than that of the first input.
    pub(super) has_other_friends: bool,
    pub(super) index: PartIndex,
}

/// Entries in a row whose clusters have one size, 0 where the input does not say; the last one may
/// be smaller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ClusterRun {
    pub entries: u64,
    pub size: u64,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct BranchPart {
    /// The input has no such branch, others do.
    pub is_lacking: bool,
    pub baskets: Vec<PlannedBasket>,
}

/// Numbers in a branch's record about all its baskets.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct BranchFacts {
    pub entries: u64,
    pub total_bytes: u64,
    pub zip_bytes: u64,
    pub entry_offset_len: u32,
    /// Of a split collection: the most objects that an entry has (`TBranchElement::fMaximum`).
    pub maximum: i64,
    /// Whether entries refer to others of their objects (no `TBranch::kDoNotUseBufferMap`).
    pub needs_map: bool,
    /// Of each leaf `fMaximum` and `fLen`.
    pub leaves: Vec<(i64, u32)>,
}

/// Entries that a cut has left of an input: ascending runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Survivors {
    runs: Vec<Range<u64>>,
    /// Of each run the survivors before it.
    before: Vec<u64>,
}

/// Numbers of clusters of which a cut leaves all, some or no entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ClusterCounts {
    /// Clusters of which all entries are copied as they are stored.
    pub copied: u64,
    /// Clusters out of which some entries are taken.
    pub taken: u64,
    /// Clusters of which no entry is left.
    pub left_out: u64,
}

/// A basket that is to be copied.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedBasket {
    /// The first of its entries, counted in the entries taken of the input's tree.
    pub first_entry: u64,
    /// Entries that are stored in it.
    pub entries: u32,
    /// Which of them are taken, where that is not all.
    pub kept: Option<Box<[Range<u32>]>>,
    pub part: BasketPart,
}

/// Where it is.
#[derive(Debug, Clone, PartialEq)]
pub enum BasketPart {
    /// The range of its record in the input.
    Stored(Range<u64>),
    /// In the tree's own record: it becomes a record of its own.
    Embedded { bytes: Bytes, entries: usize },
    /// A record in memory, whose key gives `from` as its offset.
    New { record: Bytes, from: u64 },
}

impl TreePart {
    /// A basket, by the position of its branch and its own in that.
    pub fn basket(&self, branch: usize, basket: usize) -> &PlannedBasket {
        &self.branches[branch].baskets[basket]
    }

    /// After which entries of the input baskets are made anew that were held until there: at ends
    /// of clusters, when they have `bytes` in all. `held` are of before, then of behind the last.
    pub fn cuts(&self, held: &mut u64, bytes: u64) -> Vec<u64> {
        let mut lens: BTreeMap<u64, u64> = BTreeMap::new();
        for (_, _, basket) in self.baskets() {
            if let Some(len) = basket.part.len() {
                let kept = basket.kept.iter().flatten().map(|run| u64::from(run.end - run.start));
                let part = len * kept.sum::<u64>() / u64::from(basket.entries.max(1));
                let is_whole = basket.kept.is_none();
                *lens.entry(basket.first_entry).or_default() += if is_whole { len } else { part };
            }
        }
        let mut cuts = Vec::new();
        let mut lens = lens.into_iter().peekable();
        for end in cluster_ends(&self.clusters) {
            while let Some((_, len)) = lens.next_if(|(first, _)| *first < end) {
                *held += len;
            }
            if *held >= bytes {
                cuts.push(end);
                *held = 0;
            }
        }
        cuts
    }

    /// Baskets of new columns, as [`TreePart::baskets`]; each is within one cluster.
    pub fn new_blocks(&self) -> impl Iterator<Item = (usize, usize, &PlannedBasket)> {
        let is_new = |basket: &PlannedBasket| matches!(basket.part, BasketPart::New { .. });
        self.baskets().filter(move |(_, _, basket)| is_new(basket))
    }

    /// Whether the input has no such branch: also one that only later inputs have.
    pub(super) fn lacks(&self, branch: usize) -> bool {
        self.branches.get(branch).is_none_or(|part| part.is_lacking)
    }

    /// Every basket, with the position of its branch and its own in that.
    pub fn baskets(&self) -> impl Iterator<Item = (usize, usize, &PlannedBasket)> {
        let branches = self.branches.iter().enumerate();
        branches.flat_map(|(branch, part)| {
            part.baskets.iter().enumerate().map(move |(at, basket)| (branch, at, basket))
        })
    }
}

impl PlannedBasket {
    /// The entries stored in it, behind `before` entries of earlier inputs.
    pub fn entries_behind(&self, before: u64) -> Range<u64> {
        let first = before + self.first_entry;
        first..first + u64::from(self.entries)
    }
}

impl BasketPart {
    /// Bytes of its record; `None` for a basket in the tree's record.
    fn len(&self) -> Option<u64> {
        match self {
            BasketPart::Stored(range) => Some(range.end - range.start),
            BasketPart::New { record, .. } => Some(record.len() as u64),
            BasketPart::Embedded { .. } => None,
        }
    }
}

impl BranchPart {
    /// Of a branch that the input lacks.
    pub fn lacking() -> BranchPart {
        BranchPart { is_lacking: true, ..BranchPart::default() }
    }

    /// The baskets of a branch of a tree.
    ///
    /// # Errors
    /// `Unsupported` for baskets in another file and entries that are not those of the tree;
    /// `Corrupt` for baskets that do not hold all entries.
    pub fn of(branch: &Branch, tree: &Tree) -> Result<BranchPart> {
        check_place(branch)?;
        let mut covered = branch.first_entry;
        let mut baskets = Vec::with_capacity(branch.baskets.len());
        for basket in &branch.baskets {
            if basket.entries.start != covered {
                break;
            }
            covered = basket.entries.end;
            let entries = (covered - basket.entries.start) as usize;
            let part = match &basket.place {
                BasketPlace::Stored(range) => BasketPart::Stored(range.clone()),
                BasketPlace::Embedded(bytes) => {
                    basket::check_embedded(bytes, entries)?;
                    BasketPart::Embedded { bytes: bytes.clone(), entries }
                }
            };
            let too_many = |_| Error::limit("a basket of more than 4,294,967,295 entries");
            baskets.push(PlannedBasket {
                first_entry: basket.entries.start,
                entries: u32::try_from(entries).map_err(too_many)?,
                kept: None,
                part,
            });
        }
        let holds_nothing = branch.baskets.is_empty() && !branch.children.is_empty();
        if !holds_nothing && covered != tree.entries {
            let message = format!("{covered} entries in baskets, the tree has {}", tree.entries);
            return Err(Error::unsupported(message));
        }
        Ok(BranchPart { is_lacking: false, baskets })
    }

    /// Replaces the ranges of baskets by their records, from the file in memory.
    pub fn held_in(&mut self, file: &Bytes) -> Result<()> {
        for basket in &mut self.baskets {
            let BasketPart::Stored(range) = &basket.part else { continue };
            let start = range.start as usize;
            let end = range.end as usize;
            if end > file.len() {
                return Err(Error::corrupt("a basket behind the end of its file"));
            }
            basket.part = BasketPart::New { record: file.slice(start..end), from: range.start };
        }
        Ok(())
    }

    /// Leaves only the entries that a cut has left.
    pub fn select(&mut self, survivors: &Survivors) {
        for basket in &mut self.baskets {
            let stored = basket.first_entry..basket.first_entry + u64::from(basket.entries);
            let runs: Vec<Range<u32>> = survivors
                .within(&stored)
                .map(|run| (run.start - stored.start) as u32..(run.end - stored.start) as u32)
                .collect();
            basket.first_entry = survivors.rank(stored.start);
            let is_whole = runs == [0..basket.entries];
            basket.kept = (!is_whole).then_some(runs.into());
        }
        self.baskets.retain(|basket| basket.kept.as_ref().is_none_or(|kept| !kept.is_empty()));
    }
}

impl BranchFacts {
    pub fn of(branch: &Branch, maximum: i64) -> BranchFacts {
        BranchFacts {
            entries: branch.entries,
            total_bytes: branch.total_bytes,
            zip_bytes: branch.zip_bytes,
            entry_offset_len: branch.offset_len_of_further(),
            maximum,
            needs_map: false,
            leaves: branch.leaves.iter().map(|leaf| (leaf.maximum, leaf.len)).collect(),
        }
    }
}

impl Survivors {
    /// Of ascending runs that do not overlap.
    pub fn new(runs: Vec<Range<u64>>) -> Survivors {
        let mut count = 0;
        let before = runs.iter().map(|run| {
            count += run.end - run.start;
            count - (run.end - run.start)
        });
        Survivors { before: before.collect(), runs }
    }

    /// Counts clusters by the entries left of them; `ends` are the numbers of entries up to the end
    /// of each.
    pub fn count(&self, ends: impl Iterator<Item = u64>) -> ClusterCounts {
        let mut counts = ClusterCounts::default();
        let mut begin = 0;
        for end in ends {
            let kept = self.rank(end).saturating_sub(self.rank(begin));
            match kept {
                0 => counts.left_out += 1,
                _ if kept == end.saturating_sub(begin) => counts.copied += 1,
                _ => counts.taken += 1,
            }
            begin = end;
        }
        counts
    }

    /// How many survive before an entry.
    pub fn rank(&self, entry: u64) -> u64 {
        let at = self.runs.partition_point(|run| run.start < entry);
        let Some(last) = at.checked_sub(1) else { return 0 };
        self.before[last] + entry.min(self.runs[last].end) - self.runs[last].start
    }

    /// The number of a survivor among them; `None` for an entry that is left out.
    pub(super) fn place(&self, entry: u64) -> Option<u64> {
        let at = self.runs.partition_point(|run| run.start <= entry).checked_sub(1)?;
        self.runs[at].contains(&entry).then(|| self.before[at] + entry - self.runs[at].start)
    }

    /// Runs of the survivors within `entries`.
    pub(super) fn within<'a>(
        &'a self,
        entries: &'a Range<u64>,
    ) -> impl Iterator<Item = Range<u64>> + 'a {
        let first = self.runs.partition_point(|run| run.end <= entries.start);
        let touching = self.runs[first..].iter().take_while(|run| run.start < entries.end);
        touching.map(|run| run.start.max(entries.start)..run.end.min(entries.end))
    }

    /// The clusters of the entries that are left.
    pub(super) fn clusters(&self, clusters: &[ClusterRun]) -> Vec<ClusterRun> {
        let mut all: Vec<ClusterRun> = Vec::new();
        let mut begin = 0;
        for end in cluster_ends(clusters) {
            let entries = self.rank(end) - begin;
            begin += entries;
            if entries > 0 {
                join(&mut all, ClusterRun { entries, size: entries });
            }
        }
        all
    }
}

/// The number of entries up to the end of each cluster of a tree.
pub fn ends_of_clusters(tree: &Tree) -> Vec<u64> {
    cluster_ends(&clusters(tree)).collect()
}

/// Entries of a tree's last clusters; 0 where the tree does not say, `None` without clusters.
pub(in crate::write) fn last_cluster(tree: &Tree) -> Option<u64> {
    clusters(tree).last().map(|last| last.size)
}

/// The clusters of a tree.
pub(super) fn clusters(tree: &Tree) -> Vec<ClusterRun> {
    let starts = &tree.cluster_starts;
    if starts.is_empty() && tree.entries > 0 {
        return vec![ClusterRun { entries: tree.entries, size: 0 }];
    }
    let ends = starts.iter().skip(1).copied().chain([tree.entries]);
    let mut all = Vec::new();
    for (start, end) in starts.iter().zip(ends) {
        let size = end.saturating_sub(*start);
        join(&mut all, ClusterRun { entries: size, size });
    }
    end(&mut all);
    all
}

/// A last cluster that is cut short by the end of the tree is of the size of those before.
pub(super) fn end(all: &mut Vec<ClusterRun>) {
    if let [.., before, last] = &mut all[..]
        && last.entries < before.size
        && before.entries % before.size == 0
    {
        before.entries += last.entries;
        all.pop();
    }
}

/// Where clusters end.
pub(super) fn cluster_ends(clusters: &[ClusterRun]) -> impl Iterator<Item = u64> {
    let mut begin = 0;
    clusters.iter().flat_map(move |run| {
        let start = begin;
        let end = begin + run.entries;
        begin = end;
        let size = if run.size == 0 { run.entries } else { run.size };
        (1..=run.entries.div_ceil(size.max(1))).map(move |n| end.min(start + n * size))
    })
}

/// Adds clusters, as more of the last ones where these are of the same size and whole.
pub(super) fn join(all: &mut Vec<ClusterRun>, more: ClusterRun) {
    match all.last_mut() {
        Some(last) if last.size == more.size && more.size > 0 && last.entries % more.size == 0 => {
            last.entries += more.entries;
        }
        _ => all.push(more),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_leaves_parts_of_baskets_and_clusters() {
        let survivors = Survivors::new(vec![0..10, 15..18, 30..40]);
        let ranks: Vec<u64> =
            [0, 5, 10, 12, 16, 18, 25, 40, 99].map(|at| survivors.rank(at)).into();
        assert_eq!(ranks, [0, 5, 10, 10, 11, 13, 13, 23, 23]);
        let basket = |first_entry, entries| PlannedBasket {
            first_entry,
            entries,
            kept: None,
            part: BasketPart::Stored(0..1),
        };
        let baskets = vec![basket(0, 10), basket(10, 10), basket(20, 10), basket(30, 10)];
        let mut part = BranchPart { is_lacking: false, baskets };
        part.select(&survivors);
        let left = part.baskets.iter().map(|one| (one.first_entry, one.kept.clone()));
        let left: Vec<_> = left.collect();
        assert_eq!(left, [(0, None), (10, Some([5..8].into())), (13, None)]);
        let counts = survivors.count([10, 20, 30, 40].into_iter());
        assert_eq!(counts, ClusterCounts { copied: 2, taken: 1, left_out: 1 });
        let clusters = survivors.clusters(&[ClusterRun { entries: 40, size: 10 }]);
        let sizes: Vec<_> = clusters.iter().map(|one| (one.entries, one.size)).collect();
        assert_eq!(sizes, [(10, 10), (3, 3), (10, 10)]);
    }

    #[test]
    fn clusters_of_one_size_are_joined() {
        let mut all = Vec::new();
        for (entries, size) in [(20, 10), (15, 10), (10, 10), (3, 0), (3, 0)] {
            join(&mut all, ClusterRun { entries, size });
        }
        let sizes: Vec<_> = all.iter().map(|one| (one.entries, one.size)).collect();
        assert_eq!(sizes, [(35, 10), (10, 10), (3, 0), (3, 0)]);
    }
}
