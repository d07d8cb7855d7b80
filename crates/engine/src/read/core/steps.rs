//! In which steps a read goes, and where it stands among others.

use std::ops::Range;

use remote::{Error, ErrorKind, Result};

/// Decoded bytes of the deciding columns in a window: some baskets, so that survivors of a large
/// batch are sent for long before all of it is decided, and few enough calls of the predicate.
const WINDOW_BYTES: f64 = 2e6;

/// How many steps of a read are planned at one time. How many there are in all is a number that the
/// caller or the file chooses, and each takes memory.
pub(crate) const STEPS_PLANNED: u64 = 1 << 16;

/// Where a read stands among others.
#[derive(Debug, Clone, Copy)]
pub struct ReadPriority {
    /// Lower comes first.
    pub order: u64,
    /// A caller waits for the first batch.
    pub urgent: bool,
    /// The entry whose place is the first one: a negative number of a friend whose entries begin
    /// within the read.
    pub first: i64,
}

impl ReadPriority {
    pub(crate) const FIRST: ReadPriority = ReadPriority { order: 0, urgent: true, first: 0 };

    /// Of a read of its own: of several that run at the same time, the one that has come the least
    /// far is first, and not the one of the lowest entries.
    pub(crate) fn of(entries: &Range<u64>) -> Self {
        let first = i64::try_from(entries.start).unwrap_or(i64::MAX);
        ReadPriority { first, ..ReadPriority::FIRST }
    }

    /// The same of a friend, whose entries have greater numbers by `offset`.
    pub(crate) fn of_friend(self, offset: i64) -> Self {
        ReadPriority { first: self.first.saturating_add(offset), ..self }
    }

    /// The place of an entry among all wants.
    pub(crate) fn place(self, entry: u64) -> u64 {
        let entry = entry.checked_add_signed(self.first.saturating_neg()).unwrap_or(0);
        (self.order << 32) + entry.min(u64::from(u32::MAX))
    }
}

/// # Errors
/// `InvalidArgument` for a first entry behind the last.
pub(crate) fn forwards(entries: &Range<u64>) -> Result<()> {
    let Range { start, end } = entries;
    if start <= end {
        return Ok(());
    }
    let message = format!("entry_start ({start}) is greater than entry_stop ({end})");
    Err(Error::new(ErrorKind::InvalidArgument, message))
}

/// How many entries come at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// All at once.
    Whole,
    /// So many entries.
    Entries(u64),
    /// As many entries as decode to about so many bytes.
    Bytes(u64),
}

impl Step {
    /// How many of `total` entries come at a time; at least one.
    pub(crate) fn entries(self, total: u64, decoded_bytes_per_entry: impl FnOnce() -> f64) -> u64 {
        match self {
            Step::Whole => total.max(1),
            Step::Entries(step) => step.max(1),
            Step::Bytes(bytes) => {
                ((bytes as f64 / decoded_bytes_per_entry().max(1e-3)) as u64).max(1)
            }
        }
    }
}

/// First entries of the windows in which a cut is decided, of batches that begin at `batches`,
/// and, last, the end.
pub(crate) fn windows_starts(batches: &[u64], bytes_per_entry: f64) -> Vec<u64> {
    let step = ((WINDOW_BYTES / bytes_per_entry.max(1e-3)) as u64).max(1);
    let total = batches.last().zip(batches.first()).map_or(0, |(end, start)| end - start);
    // The file says how many bytes an entry has: windows take memory, too.
    let step = step.max(total / STEPS_PLANNED);
    let mut starts: Vec<u64> = batches.first().copied().into_iter().collect();
    for pair in batches.windows(2) {
        let mut start = pair[0];
        while start < pair[1] {
            start = start.saturating_add(step).min(pair[1]);
            starts.push(start);
        }
    }
    starts
}

/// Divides entries into steps of at most so many. A step ends early where a cluster does in its
/// second half: baskets that two batches share take memory beside both.
pub(crate) fn borders(entries: &Range<u64>, step: u64, cluster_starts: &[u64]) -> Vec<u64> {
    let mut borders = vec![entries.start];
    let mut start = entries.start;
    while start < entries.end {
        let end = start.saturating_add(step).min(entries.end);
        let clusters_before = cluster_starts.partition_point(|cluster| *cluster <= end);
        let cluster = clusters_before.checked_sub(1).map(|last| cluster_starts[last]);
        start = cluster.filter(|c| end < entries.end && *c > start + step / 2).unwrap_or(end);
        borders.push(start);
    }
    borders
}

/// Borders and, between them, those of `inside` that lie between the first and the last.
pub(crate) fn with_borders(borders: &[u64], inside: impl Iterator<Item = u64>) -> Vec<u64> {
    let Some(first) = borders.first() else { return Vec::new() };
    let Some(end) = borders.last() else { return Vec::new() };
    let inside = inside.filter(|start| (*first..*end).contains(start));
    let mut all: Vec<u64> = borders.iter().copied().chain(inside).collect();
    all.sort_unstable();
    all.dedup();
    all
}

#[cfg(test)]
mod tests {
    use super::{ReadPriority, STEPS_PLANNED, borders, windows_starts};

    /// Regression: of two reads of one table at the same time, the first had all its entries before
    /// any of the second were decoded.
    #[test]
    fn reads_at_the_same_time_begin_at_one_place() {
        let place = |from: u64, entry| ReadPriority::of(&(from..1000)).place(entry);
        assert_eq!([place(0, 0), place(500, 500)], [0, 0]);
        assert!(place(500, 600) < place(0, 200));
        let friend = ReadPriority::of(&(500..1000)).of_friend(-300);
        assert_eq!([friend.place(200), friend.place(210)], [0, 10]);
        let second = ReadPriority { order: 1, ..ReadPriority::FIRST };
        assert!(second.place(0) > ReadPriority::FIRST.place(u64::MAX));
    }

    #[test]
    fn windows_are_few_whatever_the_file_says_of_the_size_of_entries() {
        let starts = windows_starts(&[0, 1 << 31], 1e300);
        assert!(starts.len() as u64 <= STEPS_PLANNED + 1, "{}", starts.len());
        assert_eq!((starts[0], starts.last()), (0, Some(&(1 << 31))));
        assert_eq!(windows_starts(&[0, 4, 6], 1e6), [0, 2, 4, 6]);
    }

    #[test]
    fn steps_end_with_clusters_where_these_are_not_too_small_or_too_large() {
        assert_eq!(borders(&(0..100), 45, &[0, 20, 40, 60, 80]), [0, 40, 80, 100]);
        assert_eq!(borders(&(5..100), 45, &[0, 30, 60, 90]), [5, 30, 60, 100]);
        assert_eq!(borders(&(0..100), 45, &[0, 10, 90]), [0, 45, 90, 100]);
        assert_eq!(borders(&(0..90), 45, &[0, 20, 40]), [0, 40, 85, 90]);
        assert_eq!(borders(&(0..9), 4, &[]), [0, 4, 8, 9]);
        assert_eq!(borders(&(3..3), 4, &[0]), [3]);
        assert_eq!(borders(&(0..3), 1, &[0, 1, 2]), [0, 1, 2, 3]);
    }
}
