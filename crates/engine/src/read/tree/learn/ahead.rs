//! Reading ahead of the present step.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use super::{AccessPredictor, Key};
use crate::read::predict::stats::{KNOWN_AFTER, Prior};
use remote::fetch::Urgency;

/// Bytes fetched ahead of the present step, stored, at least; on a link that holds more, a multiple
/// of the bytes that it holds. How much of it is really sent for is the scheduler's choice.
const AHEAD_BYTES: u64 = 32 << 20;
const AHEAD_PIPES: u64 = 4;
/// A branch that is touched regularly is fetched for two to this power of its next times at most.
const REGULAR_AHEAD_MAX: u32 = 5;

/// The next part of a branch to fetch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Coming {
    /// The basket of this number, of a branch that is touched steadily.
    Basket(usize),
    /// The touch of this number from now on, of one that is touched regularly.
    Touch(u64),
}

impl AccessPredictor {
    /// A branch has been touched: the consequences for the next steps are worked out at the next
    /// one.
    pub(super) fn expect_again(&mut self, branch: usize) {
        let is_new = match self.regular(branch) {
            Some((_, times)) => times == 1,
            None => self.is_expected(branch) && !self.next.contains_key(&branch),
        };
        if is_new {
            self.low_water = None;
        }
    }

    /// The steps from one touch of a branch to the next and how often they were as many, where it
    /// is expected at those steps alone.
    fn regular(&self, branch: usize) -> Option<(u64, u32)> {
        let regular = self.stats.regular(branch).filter(|_| self.learning.together)?;
        (!self.is_expected(branch)).then_some(regular)
    }

    /// The entry at which a branch will be touched for the `nth` time from now on, if it goes on as
    /// it did: the more often it was so, the further ahead that may be believed.
    fn regular_touch(&self, branch: usize, nth: u64) -> Option<Range<u64>> {
        let (gap, times) = self.regular(branch)?;
        let next = self.stats.last(branch)?.saturating_add(gap);
        let believed = next >= self.step && nth < 1 << times.min(REGULAR_AHEAD_MAX);
        let entries = self.window(next.saturating_add(gap.saturating_mul(nth)));
        (believed && !entries.is_empty()).then_some(entries)
    }

    fn is_expected(&self, branch: usize) -> bool {
        let baskets = self.branch(branch).baskets.len().max(1) as u64;
        let steps = self.branch(branch).entries / baskets / self.steps.length;
        self.stats.is_expected(branch, steps.max(1))
    }

    /// Asks for the baskets of expected branches, the nearest first.
    pub(super) fn read_ahead(&mut self) {
        let known = self.stats.steps() >= KNOWN_AFTER || self.stats.has_prior();
        let steps = if known { u64::MAX } else { 1 << self.stats.steps() };
        let horizon = self.window(self.step.saturating_add(steps)).start;
        let pipe_bytes = self.tree.file().remote().pipe_bytes();
        let bytes_max = AHEAD_BYTES.max(pipe_bytes.saturating_mul(AHEAD_PIPES));
        let mut nearest = self.next_of_each();
        let mut asked = Vec::new();
        let mut bytes = self.ahead_bytes;
        while let Some(Reverse((first, branch, coming))) = nearest.pop() {
            if first >= horizon || bytes >= bytes_max {
                break;
            }
            let (baskets, following) = match coming {
                Coming::Basket(basket) => {
                    self.next.insert(branch, basket + 1);
                    let following = self.branch(branch).baskets.get(basket + 1);
                    let following = following.map(|next| next.entries.start);
                    (vec![(branch, basket)], following.map(|at| (at, Coming::Basket(basket + 1))))
                }
                Coming::Touch(nth) => {
                    let entries = self.regular_touch(branch, nth).unwrap_or_default();
                    let following = self.regular_touch(branch, nth + 1);
                    let following = following.map(|next| (next.start, Coming::Touch(nth + 1)));
                    (self.keys(branch, &entries), following)
                }
            };
            for key in baskets.into_iter().filter(|key| !self.handles.contains_key(key)) {
                bytes += self.stored(key);
                asked.push(key);
            }
            nearest.extend(following.map(|(at, coming)| Reverse((at, branch, coming))));
        }
        self.ask(&asked, Urgency::Hint);
        self.low_water = known.then_some(bytes_max / 4 * 3);
    }

    /// The next part of each branch that is expected. Parts of branches touched steadily and
    /// regularly are ordered by the same entries: none of them takes the budget of one that is
    /// needed before it.
    fn next_of_each(&mut self) -> BinaryHeap<Reverse<(u64, usize, Coming)>> {
        let start = self.window(self.step).start;
        let mut nearest = BinaryHeap::new();
        let candidates = self.stats.touched().chain(self.stats.remembered(Prior::Steady));
        for branch in candidates.collect::<Vec<_>>() {
            if !self.is_expected(branch) {
                if self.next.remove(&branch).is_some() {
                    self.give_up(branch, start);
                }
                let touch = self.regular_touch(branch, 0);
                nearest.extend(touch.map(|next| Reverse((next.start, branch, Coming::Touch(0)))));
                continue;
            }
            let baskets = &self.branch(branch).baskets;
            let present = baskets.partition_point(|basket| basket.entries.end <= start);
            let next = self.next.get(&branch).copied().unwrap_or(0).max(present);
            if let Some(basket) = baskets.get(next) {
                nearest.push(Reverse((basket.entries.start, branch, Coming::Basket(next))));
            }
            self.next.insert(branch, next);
        }
        nearest
    }

    /// Gives up the baskets of a branch that were requested ahead and have not arrived.
    fn give_up(&mut self, branch: usize, start: u64) {
        let late: Vec<Key> = self
            .handles
            .range((branch, 0)..(branch + 1, 0))
            .filter(|(key, handle)| {
                self.branch(branch).baskets[key.1].entries.start > start && !handle.is_here()
            })
            .map(|(key, _)| *key)
            .collect();
        for key in late {
            self.end(key);
        }
    }
}
