//! One source's part of a read as it went on: how fast it was, and in which state.

use std::time::Duration;

use scheduler::SourceState;
use serde::Serialize;

use super::size;
use crate::fetch::trace::Records;

/// Parts of the time in which rates are averaged.
const PARTS: usize = 10;

/// How a source fared while the read went on. Times in seconds since the first request.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct History {
    /// Bytes per second in each tenth of the time from the first request to the last answer.
    pub rates: Vec<f64>,
    /// When it changed its state, and to which: `active`, `inactive`, `joining`,
    /// `left alone` or `refused`.
    pub states: Vec<(f64, &'static str)>,
}

impl History {
    /// Of a source, for one file or for all, as far as requests are kept in detail.
    pub fn new(records: &Records, now: Duration, file: Option<u32>, source: &str) -> History {
        let of_file = |of: u32| file.is_none_or(|file| file == of);
        let requests = || records.requests.iter().filter(|request| of_file(request.file));
        let from = requests().map(|request| request.sent).min().unwrap_or_default();
        let until = requests().map(|r| r.done.unwrap_or(now)).max().unwrap_or_default();
        let since = |time: Duration| time.saturating_sub(from).as_secs_f64();
        let width = since(until) / PARTS as f64;
        let mut columns = [0.0; PARTS];
        for request in requests().filter(|request| &*request.source == source) {
            if let Some(first) = request.first_byte {
                let done = since(request.done.unwrap_or(now));
                spread(&mut columns, width, since(first)..done, request.received as f64);
            }
        }
        let states = records.states.iter();
        let states = states.filter(|other| of_file(other.file) && &*other.source == source);
        History {
            rates: columns.iter().map(|bytes| bytes / width.max(1e-9)).collect(),
            states: states.map(|record| (since(record.at), name(record.state))).collect(),
        }
    }

    /// In words, as long as a line can be.
    pub fn text(&self) -> String {
        const CHANGES_SHOWN: usize = 6;
        let rates: Vec<String> = self.rates.iter().map(|rate| size(*rate as u64)).collect();
        let mut text = format!("per second, in tenths of the time: {}", rates.join(", "));
        for (at, state) in self.states.iter().take(CHANGES_SHOWN) {
            text.push_str(&format!("; {state} from {at:.2} s"));
        }
        let more = self.states.len().saturating_sub(CHANGES_SHOWN);
        if more > 0 {
            text.push_str(&format!("; {more} changes more"));
        }
        text
    }
}

fn name(state: SourceState) -> &'static str {
    match state {
        SourceState::Joining => "joining",
        SourceState::Active => "active",
        SourceState::Inactive => "inactive",
        SourceState::Disabled { .. } => "left alone",
        SourceState::Refused => "refused",
    }
}

/// Adds an amount that is spread evenly over a time to columns of this width.
pub fn spread(columns: &mut [f64], width: f64, time: std::ops::Range<f64>, amount: f64) {
    let from = time.start;
    let to = time.end.max(time.start + 1e-6);
    let most = columns.len().saturating_sub(1);
    let first = ((from / width) as usize).min(most);
    let last = ((to / width) as usize).min(most);
    for (at, column) in columns.iter_mut().enumerate().take(last + 1).skip(first) {
        let low = (at as f64 * width).max(from);
        let high = ((at + 1) as f64 * width).min(to);
        // A span that begins in the last column ends there.
        let part = if first == last { 1.0 } else { (high - low).max(0.0) / (to - from) };
        *column += amount * part;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_spread_is_all_there() {
        let mut columns = [0.0; 4];
        spread(&mut columns, 1.0, 0.5..2.5, 8.0);
        assert_eq!(columns, [2.0, 4.0, 2.0, 0.0]);
        spread(&mut columns, 1.0, 3.5..9.0, 5.0);
        assert_eq!(columns[3], 5.0, "what goes beyond the end is in the last one");
        spread(&mut columns, 1.0, 1.0..1.0, 1.0);
        assert!((columns.iter().sum::<f64>() - 14.0).abs() < 1e-9);
    }
}
