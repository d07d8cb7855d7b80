//! A reader that does not name the branches that it reads beforehand.
//!
//! It goes through a tree in steps (an entry, or a batch of them) and touches branches as it likes.
//! Branches that it touches in one step it mostly touches in the next ones ([`AccessStats`]), so
//! that their baskets are prefetched, as far as the byte budget goes; how sure the guess is decides
//! how far. Three more rules keep the round trips few where the guess has nothing to go by:
//!
//! * **Startup**: with the first basket, those of all branches come that hold the first entries,
//!   the smallest first, up to an allowance of bytes.
//! * **Together**: a branch that was not expected brings along those that were touched with it the
//!   last time: one request for the baskets of the entries concerned, and no more of them.
//! * **Regularity**: a branch that is touched every fiftieth step is fetched before the next
//!   fiftieth.
//!
//! The access history of a reader is stored for the next one of such a tree
//! ([`crate::read::predict::history`]), which then needs none of the three.
//!
//! [`cache`] fetches and decodes; this module decides.

mod ahead;
mod cache;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use rootfile::Array;
use rootfile::tree::{BasketPlace, Branch, BranchId};

use super::Tree;
use super::plan::{baskets_of, decoded_bytes_per_entry};
use crate::located::Located;
use crate::read::core::column_set::KeyedColumn;
use crate::read::core::columns::Column;
use crate::read::core::columns::Piece;
use crate::read::core::lazy::Learning;
use crate::read::predict::burst::ColdStartBurst;
use crate::read::predict::history::{AccessHistory, ReaderKind, TableShape};
use crate::read::predict::stats::{AccessStats, KNOWN_AFTER, Prior};
use crate::read::predict::stepping::{Steps, allowance};
use cache::{Basket, BasketCache, BasketHandle, Order};
use remote::fetch::{Urgency, Want};
use remote::{Error, ErrorKind, Result};

/// Of so many branches touched in a step, one more comes with the next that was never touched, at
/// least.
const BURST_PART: usize = 4;

/// Branch and basket, by number.
type Key = (usize, usize);

/// Goes through a tree step by step, fetching the branches that are touched and those that will be.
pub(crate) struct AccessPredictor {
    tree: Tree,
    cache: BasketCache,
    steps: Steps,
    /// The present one.
    step: u64,
    stats: AccessStats,
    columns: BTreeMap<usize, Arc<Column>>,
    /// Those of which others need the counts.
    counters: BTreeMap<usize, Arc<Column>>,
    handles: BTreeMap<Key, BasketHandle>,
    /// The same baskets by their last entry.
    ends: BTreeSet<(u64, Key)>,
    /// For branches that are fetched ahead, the next basket.
    next: BTreeMap<usize, usize>,
    /// Stored bytes of baskets with handles that the reader has not used.
    ahead_bytes: u64,
    /// Reading ahead goes on when these are fewer than so many; `None`: at every step.
    low_water: Option<u64>,
    allowance: u64,
    burst: ColdStartBurst,
    learning: Learning,
    /// The access history of the last reader.
    history: Option<AccessHistory>,
}

impl AccessPredictor {
    /// Begins before the first step. Branches that are none of `columns` are read by their types.
    pub(crate) fn new<'a>(
        tree: &Tree,
        columns: impl IntoIterator<Item = &'a Column>,
        entries: Range<u64>,
        step_entries: u64,
        learning: Learning,
    ) -> Self {
        let end = entries.end.min(tree.num_entries());
        let mut stats = AccessStats::new(tree.metadata().branches.len());
        let believed = learning == Learning::default();
        let history =
            believed.then(|| tree.file().histories().load(ReaderKind::EventLoop, shape(tree)));
        let history = history.flatten();
        remember(&mut stats, tree, history.as_ref());
        let pipe_bytes = tree.file().remote().pipe_bytes();
        let by_branch = |column: &Column| (column.branch.0 as usize, Arc::new(column.clone()));
        AccessPredictor {
            cache: BasketCache::new(tree),
            tree: tree.clone(),
            steps: Steps::new(entries.start.min(end)..end, step_entries),
            step: 0,
            stats,
            history,
            columns: columns.into_iter().map(by_branch).collect(),
            counters: BTreeMap::new(),
            handles: BTreeMap::new(),
            ends: BTreeSet::new(),
            next: BTreeMap::new(),
            ahead_bytes: 0,
            low_water: None,
            allowance: allowance(pipe_bytes),
            burst: ColdStartBurst::default(),
            learning,
        }
    }

    pub(crate) fn tree(&self) -> &Tree {
        &self.tree
    }

    /// Whether a branch is read in the way of this column.
    pub(crate) fn reads(&self, column: &Column) -> bool {
        self.columns.get(&(column.branch.0 as usize)).is_some_and(|known| known.is(column))
    }

    /// Goes to the next step; its entries, or `None` after the last.
    pub(crate) fn advance(&mut self) -> Option<Range<u64>> {
        let step = self.stats.steps();
        let entries = self.window(step);
        if entries.is_empty() {
            return None;
        }
        self.step = step;
        self.stats.begin_step();
        self.let_go(entries.start);
        if self.low_water.is_none_or(|bytes| self.ahead_bytes < bytes) {
            self.read_ahead();
        }
        Some(entries)
    }

    /// The values of a branch for the entries of the present step, basket by basket.
    ///
    /// # Errors
    /// `Unsupported` for a branch that cannot be read; whatever goes wrong in fetching it.
    pub(crate) async fn touch(&mut self, branch: BranchId) -> Result<Vec<Piece>> {
        let column = self.column(branch.0 as usize)?;
        let entries = self.window(self.step);
        let before = self.stats.last(branch.0 as usize);
        let first_time = self.stats.touch(branch.0 as usize);
        let keys = self.keys(branch.0 as usize, &entries);
        self.demand(&keys, before);
        if first_time {
            self.expect_again(branch.0 as usize);
        }
        self.collect(&column, keys, &entries).await
    }

    fn window(&self, step: u64) -> Range<u64> {
        self.steps.nth(step)
    }

    fn branch(&self, branch: usize) -> &Branch {
        &self.tree.metadata().branches[branch]
    }

    fn keys(&self, branch: usize, entries: &Range<u64>) -> Vec<Key> {
        baskets_of(self.branch(branch), entries).map(|basket| (branch, basket)).collect()
    }

    fn column(&mut self, branch: usize) -> Result<Arc<Column>> {
        if let Some(column) = self.columns.get(&branch) {
            return Ok(column.clone());
        }
        let column = Arc::new(self.tree.column(BranchId(branch as u32))?);
        self.columns.insert(branch, column.clone());
        Ok(column)
    }

    /// The reader waits for these baskets, whose branch was touched last at step `before`.
    fn demand(&mut self, keys: &[Key], before: Option<u64>) {
        let missing: Vec<Key> =
            keys.iter().filter(|key| !self.handles.contains_key(key)).copied().collect();
        let mut late = false;
        for key in keys {
            if let Some(handle) = self.handles.get_mut(key) {
                self.ahead_bytes -= handle.touch().min(self.ahead_bytes);
                late |= self.cache.promote(handle);
            }
        }
        if let Some(step) = before.filter(|_| late && self.learning.together) {
            self.promote_co_accessed(step);
        }
        if missing.is_empty() {
            return;
        }
        let mut baskets = missing;
        baskets.extend(match before {
            Some(step) if self.learning.together => {
                self.co_accessed(self.stats.last_touched_at(step).collect())
            }
            None if self.stats.prior(keys[0].0).is_some() => {
                self.co_accessed(self.stats.remembered(Prior::Rare).collect())
            }
            None if self.learning.startup || self.step > 0 => self.cold_branches(),
            _ => Vec::new(),
        });
        self.ask(&baskets, Urgency::Demand);
        for key in keys {
            if let Some(handle) = self.handles.get_mut(key) {
                self.ahead_bytes -= handle.touch().min(self.ahead_bytes);
            }
        }
    }

    /// The reader will wait next for the branches that were touched with it the last time:
    /// requested one by one, each would be a round trip.
    fn promote_co_accessed(&mut self, step: u64) {
        let entries = self.window(self.step);
        for branch in self.stats.last_touched_at(step).collect::<Vec<_>>() {
            for key in self.keys(branch, &entries) {
                if let Some(handle) = self.handles.get_mut(&key) {
                    self.cache.promote(handle);
                }
            }
        }
    }

    /// Baskets for the present step of branches that were touched together the last time.
    fn co_accessed(&self, branches: Vec<usize>) -> Vec<Key> {
        let entries = self.window(self.step);
        branches.into_iter().flat_map(|branch| self.keys(branch, &entries)).collect()
    }

    /// Baskets of branches that were never touched before, for the present step and, at the
    /// beginning, for the next ones: smallest first, as far as the allowance goes.
    fn cold_branches(&mut self) -> Vec<Key> {
        let steps = if self.step == 0 { KNOWN_AFTER } else { 1 };
        // Without an allowance, a step that touches more and more branches fetches them in growing
        // bursts, or each would be a round trip.
        let touched = self.stats.last_touched_at(self.step).count();
        let least = touched / BURST_PART;
        let mut burst_bytes = self.burst.bytes(self.step, self.tree.file().remote().pipe_bytes());
        let mut found = Vec::new();
        let mut seen = BTreeSet::new();
        for step in self.step..self.step + steps {
            let entries = self.window(step);
            let mut of_step: Vec<(u64, Key)> = self
                .stats
                .untouched()
                .chain(self.stats.last_touched_at(self.step))
                .flat_map(|branch| self.keys(branch, &entries))
                .filter(|key| !self.handles.contains_key(key) && seen.insert(*key))
                .map(|key| (self.stored(key), key))
                .collect();
            of_step.sort_unstable();
            for (bytes, key) in of_step {
                if bytes <= self.allowance {
                    self.allowance -= bytes;
                } else if bytes <= burst_bytes {
                    burst_bytes -= bytes;
                } else if found.len() >= least {
                    return found;
                }
                found.push(key);
            }
            if entries.is_empty() {
                break;
            }
        }
        found
    }

    /// Gives back baskets before an entry.
    fn let_go(&mut self, start: u64) {
        while let Some((end, key)) = self.ends.first().copied().filter(|(end, _)| *end <= start) {
            self.ends.remove(&(end, key));
            self.end(key);
        }
    }

    fn end(&mut self, key: Key) {
        let Some(mut handle) = self.handles.remove(&key) else { return };
        self.ends.remove(&(self.branch(key.0).baskets[key.1].entries.end, key));
        self.ahead_bytes -= handle.touch().min(self.ahead_bytes);
        self.cache.give_up(&handle);
    }

    /// Asks the cache for baskets without handles whose branches can be read.
    fn ask(&mut self, keys: &[Key], urgency: Urgency) {
        let mut orders = Vec::new();
        for key in keys {
            let counter = self.counters.get(&key.0).cloned();
            let Some(column) = counter.or_else(|| self.column(key.0).ok()) else { continue };
            if self.handles.contains_key(key) {
                continue;
            }
            let reference = &self.branch(key.0).baskets[key.1];
            let entries = reference.entries.clone();
            let place = reference.place.clone();
            let decoded = decoded_bytes_per_entry(self.tree.metadata(), &column)
                * (entries.end - entries.start) as f64;
            let basket = Basket { column, basket: key.1, entries: entries.clone() };
            let order = match place {
                BasketPlace::Embedded(bytes) => Order::Decode { basket, bytes },
                BasketPlace::Stored(range) => {
                    let cost = (range.end - range.start).saturating_add(decoded as u64);
                    let order = self.rank(entries.start);
                    Order::Fetch { basket, want: Want { range, cost, urgency, order } }
                }
            };
            orders.push((*key, entries.end, order));
        }
        let (keys, orders): (Vec<_>, Vec<_>) =
            orders.into_iter().map(|(key, end, order)| ((end, key), order)).unzip();
        for ((end, key), handle) in keys.into_iter().zip(self.cache.ask(orders, urgency)) {
            self.ahead_bytes += handle.bytes();
            self.handles.insert(key, handle);
            self.ends.insert((end, key));
        }
    }

    /// Baskets that are needed at the same time have the same rank, so that they are fetched in the
    /// fewest pieces: the cluster, or where the file knows of none the step.
    fn rank(&self, entry: u64) -> u64 {
        let entry = entry.max(self.window(self.step).start);
        match &self.tree.metadata().cluster_starts[..] {
            [] => entry.saturating_sub(self.steps.entries.start) / self.steps.length,
            starts => starts.partition_point(|start| *start <= entry) as u64,
        }
    }

    fn stored(&self, key: Key) -> u64 {
        match &self.branch(key.0).baskets[key.1].place {
            BasketPlace::Stored(range) => range.end - range.start,
            BasketPlace::Embedded(_) => 0,
        }
    }

    /// Waits for baskets, and decodes those that lack their counts.
    async fn collect(
        &mut self,
        column: &Arc<Column>,
        keys: Vec<Key>,
        entries: &Range<u64>,
    ) -> Result<Vec<Piece>> {
        let mut pieces = Vec::with_capacity(keys.len());
        let mut covered = entries.start;
        for key in keys {
            let Some(handle) = self.handles.get(&key) else { continue };
            let array = match self.cache.wait(handle).await {
                Ok(Some(array)) => array,
                Ok(None) => self.with_counts(column, key).await?,
                Err(error) => {
                    // Asking again tries again.
                    self.end(key);
                    return Err(error);
                }
            };
            let held = self.branch(key.0).baskets[key.1].entries.clone();
            if held.start <= covered {
                covered = covered.max(held.end);
            }
            pieces.push((held, array));
        }
        if covered < entries.end {
            let why = format!("branch {} has no basket for entry {covered}", column.name);
            return Err(Error::new(ErrorKind::Corrupt, why).with_url(self.tree.file().url()));
        }
        Ok(pieces)
    }

    /// A basket that leaves its entry offsets to be computed from another branch.
    async fn with_counts(&mut self, column: &Arc<Column>, key: Key) -> Result<Arc<Array>> {
        let counter = column.interpretation.counter().filter(|id| *id != column.branch);
        let entries = self.branch(key.0).baskets[key.1].entries.clone();
        let Some(counter) = counter else {
            let error = rootfile::Error::unsupported("baskets without their entry offsets");
            return Err(error.within(&column.name).located(self.tree.file().url()));
        };
        let counting = Arc::new(self.tree.counting(counter)?);
        self.counters.insert(counter.0 as usize, counting);
        let counts = self.keys(counter.0 as usize, &entries);
        self.ask(&counts, Urgency::Demand);
        let mut held = Vec::with_capacity(counts.len());
        for counts in counts {
            let Some(handle) = self.handles.get_mut(&counts) else { continue };
            self.cache.promote(handle);
            if let Some(array) = self.cache.wait(handle).await? {
                held.push((self.branch(counts.0).baskets[counts.1].entries.clone(), array));
            }
        }
        match self.handles.get_mut(&key) {
            Some(handle) => self.cache.decode_with(handle, held),
            None => Err(Error::new(ErrorKind::Cancelled, "the basket was given up")),
        }
    }
}

/// Puts the access history of the last reader into the statistics.
fn remember(stats: &mut AccessStats, tree: &Tree, history: Option<&AccessHistory>) {
    for (name, prior) in history.iter().flat_map(|history| history.accesses()) {
        if let Some(branch) = tree.names().find(name) {
            stats.set_prior(branch.0 as usize, prior);
        }
    }
}

fn shape(tree: &Tree) -> TableShape {
    tree.names().list().shape()
}

impl Drop for AccessPredictor {
    /// Stores the access history for the next reader, where it is known.
    fn drop(&mut self) {
        if self.stats.steps() < KNOWN_AFTER || self.learning != Learning::default() {
            return;
        }
        let path = |branch: usize| self.tree.names().path(BranchId(branch as u32)).to_owned();
        let accesses = self.stats.made_of().map(|(branch, prior)| (path(branch), prior));
        let history = AccessHistory::of_accesses(accesses);
        if self.history.as_ref() != Some(&history) {
            let histories = self.tree.file().histories();
            histories.save(ReaderKind::EventLoop, shape(&self.tree), history);
        }
    }
}
