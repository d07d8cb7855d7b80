//! Lines about reads, for a program's log. Only lines of a requested level are made; they wait here
//! until they are taken.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use mutex::Mutex;

/// Lines kept until they are taken; older ones are dropped and counted.
const LINES_KEPT: usize = 10_000;

/// How much a line matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Every connection and every request.
    Debug = 1,
    /// Opens, redirections, servers that are left and tried again, requests that failed.
    Info = 2,
    /// Events that a user should look at, although reading goes on.
    Warning = 3,
    /// Of no line: nothing is kept.
    Off = 4,
}

/// A line of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Since the engine started.
    pub at: Duration,
    /// How much it matters.
    pub level: Level,
    /// Without time and level.
    pub text: String,
}

/// The lines that have not been taken.
#[derive(Debug)]
pub struct Log {
    least: AtomicU8,
    lines: Mutex<Waiting>,
}

#[derive(Debug, Default)]
struct Waiting {
    lines: VecDeque<Line>,
    dropped: u64,
}

impl Default for Log {
    fn default() -> Self {
        Log { least: AtomicU8::new(Level::Off as u8), lines: Mutex::default() }
    }
}

impl Log {
    /// From now on keeps lines of this level and above.
    pub fn keep(&self, least: Level) {
        self.least.store(least as u8, Ordering::Relaxed);
    }

    /// Whether lines of that level are kept.
    pub fn keeps(&self, level: Level) -> bool {
        level as u8 >= self.least.load(Ordering::Relaxed)
    }

    pub(super) fn add(&self, at: Duration, level: Level, text: String) {
        let mut waiting = self.lines.lock();
        if waiting.lines.len() == LINES_KEPT {
            waiting.lines.pop_front();
            waiting.dropped += 1;
        }
        waiting.lines.push_back(Line { at, level, text });
    }

    /// The lines since the last call, the oldest first.
    pub fn take(&self) -> Vec<Line> {
        let waiting = std::mem::take(&mut *self.lines.lock());
        let mut lines: Vec<Line> = waiting.lines.into();
        if let (1.., Some(first)) = (waiting.dropped, lines.first()) {
            let text = format!("{} older lines were dropped", waiting.dropped);
            lines.insert(0, Line { at: first.at, level: Level::Warning, text });
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(number: usize) -> (Duration, Level, String) {
        (Duration::from_secs(number as u64), Level::Info, number.to_string())
    }

    #[test]
    fn lines_below_the_level_are_not_wanted() {
        let log = Log::default();
        assert!(!log.keeps(Level::Warning));
        log.keep(Level::Info);
        let kept = [Level::Debug, Level::Info, Level::Warning].map(|level| log.keeps(level));
        assert_eq!(kept, [false, true, true]);
    }

    #[test]
    fn lines_that_are_not_taken_are_bounded_and_the_loss_is_said() {
        let log = Log::default();
        for number in 0..LINES_KEPT + 7 {
            let (at, level, text) = line(number);
            log.add(at, level, text);
        }
        let lines = log.take();
        assert_eq!(lines.len(), LINES_KEPT + 1);
        assert_eq!(lines[0].text, "7 older lines were dropped");
        assert_eq!(lines[1].text, "7");
        assert_eq!(log.take(), []);
    }
}
