//! The notices of other processes for one file. No input or output here.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::time::Duration;

use super::record::{Notice, Subject};

/// A process that delivers no byte for this time is not waited for.
const PATIENCE: Duration = Duration::from_secs(1);
/// Pause before such a process is waited for again.
const IGNORED_FOR: Duration = Duration::from_secs(10);
/// Offsets of notices, from a range's start downwards, among which `Table::holder` looks for one
/// that covers the range: wants of one file seldom overlap.
const LOOKED_AT: usize = 8;

/// The notices of other processes.
#[derive(Debug, Default)]
pub struct Table {
    /// By the start of the range: its end and the process, in the order of the log.
    ranges: BTreeMap<u64, Vec<(u64, u64)>>,
    /// The processes that are waited for: the time of the last byte, or when the wait began.
    waited: BTreeMap<u64, Duration>,
    /// The time until which a process is not waited for.
    ignored: BTreeMap<u64, Duration>,
}

impl Table {
    /// Adds the notice of another process.
    pub fn take(&mut self, notice: &Notice) {
        let Notice { process, range, subject } = notice;
        match subject {
            Subject::Fetching => {
                self.ranges.entry(range.start).or_default().push((range.end, *process));
            }
            Subject::GivenUp => {
                self.retain_within(range, |other| other != *process);
            }
        }
    }

    /// The process that fetches all of a range; `None` if none does, or only ignored ones.
    pub fn holder(&self, range: &Range<u64>, now: Duration) -> Option<u64> {
        let before = self.ranges.range(..=range.start).rev().take(LOOKED_AT);
        let covering = before.flat_map(|(_, notices)| notices);
        let mut covering = covering.filter(|(end, _)| *end >= range.end);
        covering
            .find(|(_, process)| self.ignored.get(process).is_none_or(|until| *until <= now))
            .map(|(_, process)| *process)
    }

    /// Notes that a range is in the cache, fetched by `process`.
    pub fn arrived(&mut self, process: Option<u64>, range: &Range<u64>, now: Duration) {
        self.forget(range);
        if let Some(since) = process.and_then(|process| self.waited.get_mut(&process)) {
            *since = now;
        }
    }

    /// Forgets all notices that lie within a range.
    pub fn forget(&mut self, range: &Range<u64>) {
        self.retain_within(range, |_| false);
    }

    /// Forgets a process that has ended.
    pub fn end(&mut self, process: u64) {
        self.retain_within(&(0..u64::MAX), |other| other != process);
        self.waited.remove(&process);
        self.ignored.remove(&process);
    }

    /// Sets the processes that are waited for. One that delivers nothing for `PATIENCE` is ignored
    /// for `IGNORED_FOR`.
    pub fn wait_for(&mut self, processes: &BTreeSet<u64>, now: Duration) {
        self.waited.retain(|process, _| processes.contains(process));
        for process in processes {
            let since = *self.waited.entry(*process).or_insert(now);
            if now.saturating_sub(since) >= PATIENCE {
                self.waited.remove(process);
                self.ignored.insert(*process, now.saturating_add(IGNORED_FOR));
            }
        }
    }

    /// Of the notices that lie within a range, keeps those whose process `keeps` accepts.
    fn retain_within(&mut self, range: &Range<u64>, keeps: impl Fn(u64) -> bool) {
        let mut emptied = Vec::new();
        for (start, notices) in self.ranges.range_mut(range.clone()) {
            notices.retain(|(end, process)| *end > range.end || keeps(*process));
            if notices.is_empty() {
                emptied.push(*start);
            }
        }
        emptied.iter().for_each(|start| drop(self.ranges.remove(start)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Duration = Duration::ZERO;

    fn after(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn put_up(table: &mut Table, process: u64, range: Range<u64>, subject: Subject) {
        table.take(&Notice { process, range, subject });
    }

    fn with(notices: &[(u64, Range<u64>)]) -> Table {
        let mut table = Table::default();
        for (process, range) in notices {
            put_up(&mut table, *process, range.clone(), Subject::Fetching);
        }
        table
    }

    #[test]
    fn a_range_is_fetched_by_the_first_whose_notice_has_all_of_it() {
        let table = with(&[(1, 0..100), (2, 0..100), (3, 200..300), (4, 300..400)]);
        assert_eq!(table.holder(&(0..100), START), Some(1));
        assert_eq!(table.holder(&(20..30), START), Some(1));
        assert_eq!(table.holder(&(90..110), START), None, "beyond its end");
        assert_eq!(table.holder(&(250..350), START), None, "by two");
        assert_eq!(table.holder(&(100..101), START), None);
    }

    #[test]
    fn what_is_given_up_is_the_next_ones() {
        let mut table = with(&[(1, 0..100), (2, 0..100), (1, 100..200)]);
        put_up(&mut table, 1, 0..100, Subject::GivenUp);
        assert_eq!(table.holder(&(0..100), START), Some(2));
        assert_eq!(table.holder(&(100..200), START), Some(1));
        put_up(&mut table, 1, 0..u64::MAX, Subject::GivenUp);
        assert_eq!(table.holder(&(100..200), START), None);
        table.end(2);
        assert_eq!(table.holder(&(0..100), START), None);
        assert!(table.ranges.is_empty());
    }

    #[test]
    fn one_that_brings_something_is_waited_for_and_one_that_does_not_is_left() {
        let mut table = with(&[(1, 0..100), (1, 100..200), (2, 0..200)]);
        let both = BTreeSet::from([1, 2]);
        table.wait_for(&both, START);
        table.arrived(Some(1), &(0..100), after(900));
        table.wait_for(&both, after(1100));
        assert_eq!(table.holder(&(100..200), after(1100)), Some(1), "2 has brought nothing");
        table.wait_for(&BTreeSet::from([1]), after(1899));
        assert_eq!(table.holder(&(100..200), after(1899)), Some(1));
        table.wait_for(&BTreeSet::from([1]), after(1900));
        assert_eq!(table.holder(&(100..200), after(1900)), None);
        assert_eq!(table.holder(&(100..200), after(11_900)), Some(1), "it may have woken up");
    }

    #[test]
    fn the_time_in_which_nobody_waits_does_not_count() {
        let mut table = with(&[(1, 0..100)]);
        table.wait_for(&BTreeSet::from([1]), START);
        table.wait_for(&BTreeSet::new(), after(500));
        table.wait_for(&BTreeSet::from([1]), after(5000));
        assert_eq!(table.holder(&(0..100), after(5000)), Some(1));
    }
}
