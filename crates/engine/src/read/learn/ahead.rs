//! Reading ahead of the present step.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::habits::Prior;
use super::{KNOWN_AFTER, Key, Learner};
use crate::fetch::Urgency;

/// Bytes fetched ahead of the present step, stored, at least; on a link that holds more, a multiple
/// of what it holds. How much of it is really sent for is the scheduler's choice.
const AHEAD_BYTES: u64 = 32 << 20;
const AHEAD_PIPES: u64 = 4;
/// What comes regularly is fetched for two to this power of its next times at most.
const REGULAR_AHEAD_MAX: u32 = 5;

impl Learner {
    /// A branch that is touched at regular steps will be at the next one of them.
    pub(super) fn expect_again(&mut self, branch: usize) {
        let expected = self.is_expected(branch);
        let regular = self.habits.regular(branch).filter(|_| !expected && self.learning.together);
        if let Some((gap, times)) = regular {
            // The more often it was so, the further ahead it may be believed.
            for time in 1..=1 << times.min(REGULAR_AHEAD_MAX) {
                if self.ahead_bytes > AHEAD_BYTES {
                    break;
                }
                let step = self.step.saturating_add(gap.saturating_mul(time));
                let keys = self.keys(branch, &self.window(step));
                self.ask(&keys, Urgency::Hint);
            }
        }
        if expected && !self.next.contains_key(&branch) {
            // What is new is looked after at the next step.
            self.low_water = None;
        }
    }

    fn is_expected(&self, branch: usize) -> bool {
        let baskets = self.branch(branch).baskets.len().max(1) as u64;
        let steps = self.branch(branch).entries / baskets / self.step_entries;
        self.habits.is_expected(branch, steps.max(1))
    }

    /// Asks for the baskets of expected branches, the nearest first.
    pub(super) fn read_ahead(&mut self) {
        let known = self.habits.steps() >= KNOWN_AFTER || self.habits.has_prior();
        let steps = if known { u64::MAX } else { 1 << self.habits.steps() };
        let horizon = self.window(self.step.saturating_add(steps)).start;
        let pipe_bytes = self.tree.file().remote().pipe_bytes();
        let bytes_max = AHEAD_BYTES.max(pipe_bytes.saturating_mul(AHEAD_PIPES));
        let start = self.window(self.step).start;
        let mut nearest = BinaryHeap::new();
        let candidates = self.habits.touched().chain(self.habits.remembered(Prior::Steady));
        for branch in candidates.collect::<Vec<_>>() {
            if !self.is_expected(branch) {
                if self.next.remove(&branch).is_some() {
                    self.give_up(branch, start);
                }
                continue;
            }
            let baskets = &self.branch(branch).baskets;
            let present = baskets.partition_point(|basket| basket.entries.end <= start);
            let next = self.next.get(&branch).copied().unwrap_or(0).max(present);
            if let Some(basket) = baskets.get(next) {
                nearest.push(Reverse((basket.entries.start, branch, next)));
            }
            self.next.insert(branch, next);
        }
        let mut asked = Vec::new();
        let mut bytes = self.ahead_bytes;
        while let Some(Reverse((first, branch, basket))) = nearest.pop() {
            if first >= horizon || bytes >= bytes_max {
                break;
            }
            if !self.loans.contains_key(&(branch, basket)) {
                bytes += self.stored((branch, basket));
                asked.push((branch, basket));
            }
            self.next.insert(branch, basket + 1);
            if let Some(following) = self.branch(branch).baskets.get(basket + 1) {
                nearest.push(Reverse((following.entries.start, branch, basket + 1)));
            }
        }
        self.ask(&asked, Urgency::Hint);
        self.low_water = known.then_some(bytes_max / 4 * 3);
    }

    /// What was asked for ahead and has not come is not wanted.
    fn give_up(&mut self, branch: usize, start: u64) {
        let late: Vec<Key> = self
            .loans
            .range((branch, 0)..(branch + 1, 0))
            .filter(|(key, loan)| {
                self.branch(branch).baskets[key.1].entries.start > start && !loan.is_here()
            })
            .map(|(key, _)| *key)
            .collect();
        for key in late {
            self.end(key);
        }
    }
}
