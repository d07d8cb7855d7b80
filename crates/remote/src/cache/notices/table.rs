//! The notices of other processes for one file. No input or output here.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::time::Duration;

use super::record::{Notice, Subject};

/// A process that delivers no byte for this time is not waited for.
const TIMEOUT: Duration = Duration::from_secs(1);
/// Pause before such a process is waited for again.
const IGNORED_FOR: Duration = Duration::from_secs(10);
/// Age at which a notice expires. By then the range is in the cache, unless the cache refused the
/// bytes, or the process gave the range up and could not write that to the log.
const VALID_FOR: Duration = Duration::from_secs(30);

/// A range that one process has announced; its start is the key in `Table`.
#[derive(Debug, Clone, Copy)]
struct Noticed {
    end: u64,
    process: u64,
    /// Its place in the order of the log.
    place: u64,
    /// When this process read it.
    since: Duration,
}

/// The notices of other processes.
#[derive(Debug, Default)]
pub struct Table {
    /// By the size class of the range (see [`class_of`]) and then by its start, in the order of the
    /// log.
    ranges: BTreeMap<u32, BTreeMap<u64, Vec<Noticed>>>,
    /// Notices taken so far.
    taken: u64,
    /// The processes that are waited for: the time of the last byte, or when the wait began.
    waited: BTreeMap<u64, Duration>,
    /// The time until which a process is not waited for.
    ignored: BTreeMap<u64, Duration>,
}

impl Table {
    /// Adds the notice of another process, the next one of the log.
    pub fn take(&mut self, notice: &Notice, now: Duration) {
        let Notice { process, range, subject } = notice;
        match subject {
            Subject::Fetching => {
                let noticed =
                    Noticed { end: range.end, process: *process, place: self.taken, since: now };
                self.taken += 1;
                let class = self.ranges.entry(class_of(range)).or_default();
                class.entry(range.start).or_default().push(noticed);
            }
            Subject::GivenUp => {
                self.retain_within(range, |other| other != *process);
            }
        }
    }

    /// The process that fetches all of a range, the first in the log where several do; `None` if
    /// none does, or only processes that are not waited for.
    pub fn holder(&self, range: &Range<u64>, now: Duration) -> Option<u64> {
        let is_valid = |noticed: &&Noticed| {
            let is_ignored = self.ignored.get(&noticed.process).is_some_and(|until| *until > now);
            noticed.end >= range.end && !is_ignored && now.saturating_sub(noticed.since) < VALID_FOR
        };
        // A covering range of this class starts at most `longest` before this range's end: few
        // notices are looked at, however many there are.
        let of_class = |(class, starts): (&u32, &BTreeMap<u64, Vec<Noticed>>)| {
            let longest = 2u64.saturating_pow(*class);
            let first = range.end.saturating_sub(longest);
            let noticed = starts.range(first..=range.start).flat_map(|(_, noticed)| noticed);
            noticed.filter(is_valid).min_by_key(|noticed| noticed.place).copied()
        };
        let first = self.ranges.range(class_of(range)..).filter_map(of_class);
        first.min_by_key(|noticed| noticed.place).map(|noticed| noticed.process)
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

    /// Sets the processes that are waited for. One that delivers nothing for `TIMEOUT` is ignored
    /// for `IGNORED_FOR`.
    pub fn wait_for(&mut self, processes: &BTreeSet<u64>, now: Duration) {
        self.waited.retain(|process, _| processes.contains(process));
        for process in processes {
            let since = *self.waited.entry(*process).or_insert(now);
            if now.saturating_sub(since) >= TIMEOUT {
                self.waited.remove(process);
                self.ignored.insert(*process, now.saturating_add(IGNORED_FOR));
            }
        }
    }

    /// Of the notices that lie within a range, keeps those whose process `keeps` accepts.
    fn retain_within(&mut self, range: &Range<u64>, keeps: impl Fn(u64) -> bool) {
        for starts in self.ranges.range_mut(..=class_of(range)).map(|(_, starts)| starts) {
            let mut emptied = Vec::new();
            for (start, noticed) in starts.range_mut(range.clone()) {
                noticed.retain(|noticed| noticed.end > range.end || keeps(noticed.process));
                if noticed.is_empty() {
                    emptied.push(*start);
                }
            }
            emptied.iter().for_each(|start| drop(starts.remove(start)));
        }
        self.ranges.retain(|_, starts| !starts.is_empty());
    }
}

/// The size class of a range: the least `class` for which its length is at most `2^class`.
fn class_of(range: &Range<u64>) -> u32 {
    u64::BITS - range.end.saturating_sub(range.start).saturating_sub(1).leading_zeros()
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Duration = Duration::ZERO;

    fn after(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn put_up(table: &mut Table, process: u64, range: Range<u64>, subject: Subject) {
        table.take(&Notice { process, range, subject }, START);
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

    /// Regression: for 60..70 a third process waited for process 2, which had announced 50..150,
    /// although process 1 had announced 0..100 before. Only the eight notices with the nearest
    /// starts were looked at.
    #[test]
    fn of_several_that_cover_a_range_the_first_in_the_log_fetches_it() {
        let mut table = with(&[(1, 0..100), (2, 50..150)]);
        assert_eq!(table.holder(&(60..70), START), Some(1));
        assert_eq!(table.holder(&(60..120), START), Some(2));
        let mut table_of_many = with(&[(1, 0..1 << 30)]);
        for start in 0..1000 {
            put_up(&mut table_of_many, 2, start..1100, Subject::Fetching);
        }
        assert_eq!(table_of_many.holder(&(1000..1100), START), Some(1));
        put_up(&mut table, 1, 0..100, Subject::GivenUp);
        assert_eq!(table.holder(&(60..70), START), Some(2));
    }

    /// Regression: a process gave a range up and could not write that to the log, as its disk was
    /// full. Another process waited for the range as long as other ranges of the first process
    /// arrived.
    #[test]
    fn a_range_is_waited_for_only_so_long_while_others_come() {
        let mut table = with(&[(1, 0..100)]);
        let one = BTreeSet::from([1]);
        for ms in (0..30_000).step_by(500) {
            table.wait_for(&one, after(ms));
            table.arrived(Some(1), &(1000 + ms..1100 + ms), after(ms));
            assert_eq!(table.holder(&(0..100), after(ms)), Some(1), "{ms} ms");
        }
        assert_eq!(table.holder(&(0..100), after(30_000)), None);
    }

    #[test]
    fn a_class_has_ranges_of_up_to_its_length() {
        for (length, class) in [(0, 0), (1, 0), (2, 1), (3, 2), (4, 2), (5, 3), (u64::MAX, 64)] {
            assert_eq!(class_of(&(0..length)), class, "{length} bytes");
        }
        let longest = with(&[(1, 0..u64::MAX)]);
        assert_eq!(longest.holder(&(u64::MAX - 1..u64::MAX), START), Some(1));
        assert_eq!(longest.holder(&(0..u64::MAX), START), Some(1));
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
