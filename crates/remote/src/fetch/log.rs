//! Events of `tracing` for a program without a subscriber of its own, as Python is one: they wait
//! here until they are taken.

use std::collections::VecDeque;
use std::fmt::{self, Write};
use std::sync::Once;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Instant;

use mutex::PerProcess;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::Interest;
use tracing::{Event, Metadata, Subscriber};

pub use tracing::Level;
pub use tracing::level_filters::LevelFilter;

/// Lines kept until they are taken; older ones are dropped and counted.
const LINES_KEPT: usize = 10_000;

/// An event as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The time of the event.
    pub at: Instant,
    /// Its level.
    pub level: Level,
    /// Its message, and its other fields as `name=value`.
    pub text: String,
}

/// Index in [`FILTERS`] of the least important level that is kept.
static LEAST: AtomicU8 = AtomicU8::new(0);
static WAITING: PerProcess<Waiting> = PerProcess::new();

const FILTERS: [LevelFilter; 6] = [
    LevelFilter::OFF,
    LevelFilter::ERROR,
    LevelFilter::WARN,
    LevelFilter::INFO,
    LevelFilter::DEBUG,
    LevelFilter::TRACE,
];

#[derive(Debug, Default)]
struct Waiting {
    lines: VecDeque<Line>,
    dropped: u64,
}

impl Waiting {
    fn add(&mut self, line: Line) {
        if self.lines.len() == LINES_KEPT {
            self.lines.pop_front();
            self.dropped += 1;
        }
        self.lines.push_back(line);
    }

    fn into_lines(self) -> Vec<Line> {
        let mut lines: Vec<Line> = self.lines.into();
        if let (1.., Some(first)) = (self.dropped, lines.first()) {
            let text = format!("{} older lines were dropped", self.dropped);
            lines.insert(0, Line { at: first.at, level: Level::WARN, text });
        }
        lines
    }
}

/// From now on keeps farroot's events of these levels. With the first call this becomes the
/// subscriber of the process, unless the program has another one.
pub fn keep(levels: LevelFilter) {
    static START: Once = Once::new();
    let least = FILTERS.iter().position(|filter| *filter == levels).unwrap_or_default();
    LEAST.store(u8::try_from(least).unwrap_or_default(), Ordering::Relaxed);
    if levels != LevelFilter::OFF {
        // A program that has a subscriber gets the events there.
        START.call_once(|| drop(tracing::subscriber::set_global_default(Collector)));
    }
}

/// The lines since the last call, the oldest first.
pub fn take() -> Vec<Line> {
    std::mem::take(&mut *WAITING.lock()).into_lines()
}

struct Collector;

impl Subscriber for Collector {
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        match is_ours(metadata) {
            true => Interest::sometimes(),
            // Libraries that farroot uses may write credentials.
            false => Interest::never(),
        }
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        is_ours(metadata) && keeps(LEAST.load(Ordering::Relaxed), *metadata.level())
    }

    fn event(&self, event: &Event<'_>) {
        let mut text = Text(String::new());
        event.record(&mut text);
        let level = *event.metadata().level();
        WAITING.lock().add(Line { at: Instant::now(), level, text: text.0 });
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// Whether an event is from one of farroot's crates.
fn is_ours(metadata: &Metadata<'_>) -> bool {
    metadata.is_event() && metadata.target().starts_with("farroot")
}

fn keeps(least: u8, level: Level) -> bool {
    FILTERS.get(usize::from(least)).is_some_and(|filter| level <= *filter)
}

/// The fields of an event.
struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let space = if self.0.is_empty() { "" } else { " " };
        // A String takes everything.
        let _ = match field.name() {
            "message" => write!(self.0, "{space}{value:?}"),
            name => write!(self.0, "{space}{name}={value:?}"),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(number: usize) -> Line {
        Line { at: Instant::now(), level: Level::INFO, text: number.to_string() }
    }

    #[test]
    fn lines_below_the_level_are_not_wanted() {
        let kept =
            |least| [Level::DEBUG, Level::INFO, Level::WARN].map(|level| keeps(least, level));
        assert_eq!(kept(0), [false; 3]);
        assert_eq!(kept(2), [false, false, true]);
        assert_eq!(kept(3), [false, true, true]);
        assert_eq!(kept(4), [true; 3]);
    }

    #[test]
    fn lines_that_are_not_taken_are_bounded_and_the_loss_is_said() {
        let mut waiting = Waiting::default();
        for number in 0..LINES_KEPT + 7 {
            waiting.add(line(number));
        }
        let lines = waiting.into_lines();
        assert_eq!(lines.len(), LINES_KEPT + 1);
        assert_eq!(lines[0].text, "7 older lines were dropped");
        assert_eq!(lines[1].text, "7");
        assert_eq!(Waiting::default().into_lines(), []);
    }

    /// A library's events have another target, and a message that farroot has not looked at.
    #[test]
    fn events_of_farroot_are_lines_and_those_of_libraries_are_not() {
        tracing::subscriber::with_default(Collector, || {
            keep(LevelFilter::INFO);
            tracing::info!(count = 3, "an event with a field of the test");
            tracing::debug!("an event below the level of the test");
            tracing::warn!(target: "h2::codec", "an event of a library in the test");
        });
        let lines = take();
        let found: Vec<&str> = lines.iter().map(|line| &*line.text).collect();
        let of_test: Vec<_> = found.into_iter().filter(|text| text.contains("the test")).collect();
        assert_eq!(of_test, ["an event with a field of the test count=3"]);
        keep(LevelFilter::OFF);
    }
}
