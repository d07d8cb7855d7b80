//! Doing many things side by side and taking their results in order.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::task::JoinHandle;

use remote::fetch::activity::Activity;
use remote::fetch::ledger::Phase;
use remote::fetch::trace::Trace;
use remote::{Error, ErrorKind, Result};

/// Tasks under way, in the order in which their results are taken. Dropping it ends them.
pub struct Ahead<T> {
    tasks: VecDeque<(Activity, JoinHandle<Result<T>>)>,
}

impl<T: Send + 'static> Ahead<T> {
    pub fn new() -> Self {
        Ahead { tasks: VecDeque::new() }
    }

    pub fn len(&self) -> usize {
        self.tasks.len()
    }

    /// Begins one more, on the present tokio runtime.
    pub fn push(&mut self, trace: &Trace, work: impl Future<Output = Result<T>> + Send + 'static) {
        let activity = Activity::begin(trace, Phase::Connecting, None);
        let ahead = activity.clone();
        self.tasks.push_back((activity, tokio::spawn(async move { ahead.ahead(work).await })));
    }

    /// The result of the oldest; `None` where there is none. A caller that stops waiting can wait
    /// again.
    pub async fn next(&mut self) -> Option<Result<T>> {
        let (activity, task) = self.tasks.front_mut()?;
        let waiting = activity.waiting();
        let done = task.await;
        drop(waiting);
        self.tasks.pop_front();
        Some(done.unwrap_or_else(|error| {
            Err(Error::new(ErrorKind::Io, format!("opening a file: {error}")))
        }))
    }

    /// Ends all of them.
    pub fn clear(&mut self) {
        self.tasks.drain(..).for_each(|(_, task)| task.abort());
    }
}

impl<T> Drop for Ahead<T> {
    fn drop(&mut self) {
        self.tasks.drain(..).for_each(|(_, task)| task.abort());
    }
}

/// Files opened ahead while neither the link nor the reader is known.
const FILES_FIRST: usize = 8;
/// Never fewer than this, so that one slow open does not stop the reader.
const FILES_MIN: usize = 2;
/// The share of the memory budget that metadata of files opened ahead may take.
const MEMORY_PART: u64 = 8;

/// How many files to open ahead of the one being read: twice as many as are read while one opens
/// (Little's law), so that the reader finds the next one open whatever the link and its own work.
#[derive(Debug, Default, Clone)]
pub struct Pace {
    opening: Option<Duration>,
    reading: Option<Duration>,
    metadata_bytes: u64,
}

impl Pace {
    /// A file has been opened, in this time, and holds this many bytes of metadata.
    pub fn opened(&mut self, took: Duration, metadata_bytes: u64) {
        self.opening = Some(smoothed(self.opening, took));
        self.metadata_bytes = self.metadata_bytes.max(metadata_bytes);
    }

    /// A file has been read to its end, in this time, the caller's own work included.
    pub fn read(&mut self, took: Duration) {
        self.reading = Some(smoothed(self.reading, took));
    }

    /// Files to open ahead, at most `files_max`, under a memory budget of `memory_bytes`.
    pub fn files_ahead(&self, files_max: usize, memory_bytes: u64) -> usize {
        let wanted = match (self.opening, self.reading) {
            (Some(opening), Some(reading)) => {
                let meanwhile = 2 * opening.as_nanos() / reading.as_nanos().max(1);
                usize::try_from(meanwhile).unwrap_or(usize::MAX).saturating_add(1)
            }
            _ => FILES_FIRST,
        };
        let room = memory_bytes / MEMORY_PART / self.metadata_bytes.max(1);
        let room = usize::try_from(room).unwrap_or(usize::MAX);
        wanted.min(room).max(FILES_MIN).min(files_max.max(1))
    }
}

/// The newest counts as much as all before.
fn smoothed(before: Option<Duration>, now: Duration) -> Duration {
    before.map_or(now, |before| (before + now) / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pace(opening_ms: u64, reading_ms: u64, metadata_bytes: u64) -> Pace {
        let mut pace = Pace::default();
        pace.opened(Duration::from_millis(opening_ms), metadata_bytes);
        pace.read(Duration::from_millis(reading_ms));
        pace
    }

    #[test]
    fn files_ahead_follow_the_link_the_reader_and_the_budget() {
        const GB: u64 = 1 << 30;
        assert_eq!(Pace::default().files_ahead(256, GB), FILES_FIRST);
        // Large files on a long link: the next one is there long before.
        assert_eq!(pace(300, 20_000, 200_000).files_ahead(256, GB), FILES_MIN);
        // Small ones, or a fast reader.
        assert_eq!(pace(300, 10, 200_000).files_ahead(256, GB), 61);
        assert_eq!(pace(300, 0, 20_000).files_ahead(256, GB), 256);
        // Trees of thousands of branches.
        assert_eq!(pace(300, 1, 10 << 20).files_ahead(256, GB), 12);
        assert_eq!(pace(300, 1, 10 << 20).files_ahead(1, GB), 1);
    }
}
