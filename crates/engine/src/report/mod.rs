//! Where the time and the bytes went: a report that a user can read and a program can parse.

pub mod timeline;

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde::Serialize;

use crate::fetch::trace::{Records, RequestKind};

/// What an engine has done so far. Times in seconds, sizes in bytes.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Report {
    /// Bytes that arrived from all sources.
    pub bytes_received: u64,
    /// Bytes of baskets and metadata that somebody wanted.
    pub bytes_wanted: u64,
    /// `bytes_received / bytes_wanted - 1`.
    pub over_read: f64,
    pub requests: u64,
    /// Ranges in those requests.
    pub segments: u64,
    pub connections: u64,
    /// Round trips that nothing else hid: moments at which a connection was begun or a request
    /// left while nothing was under way.
    pub serial_round_trips: u64,
    /// From the first request to the last byte.
    pub wall_s: f64,
    /// Of that, with at least one request unanswered.
    pub waiting_s: f64,
    /// Time of all decoding threads together.
    pub decoding_s: f64,
    pub sources: Vec<SourceReport>,
    /// Things worth knowing: redirections, servers without ranges.
    pub notes: Vec<String>,
}

/// One server's share.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct SourceReport {
    pub name: String,
    pub bytes_received: u64,
    pub requests: u64,
    pub failures: u64,
    pub connections: u64,
    /// From the start of a connection until it was usable, at best.
    pub connect_s: Option<f64>,
    /// From a request to its first byte, at best: what a round trip costs here.
    pub first_byte_s: Option<f64>,
    /// Time spent opening files, summed.
    pub opening_s: f64,
    /// Bytes per second while at least one request was unanswered.
    pub rate: Option<f64>,
}

impl Report {
    /// Sums up a trace; `file` restricts it to one file's requests.
    pub fn new(records: &Records, file: Option<u32>, decoding: Duration) -> Report {
        let chosen: Vec<_> =
            records.requests.iter().filter(|r| file.is_none_or(|file| r.file == file)).collect();
        let mut sources: BTreeMap<&str, SourceReport> = BTreeMap::new();
        let mut spans: BTreeMap<&str, Vec<(Duration, Duration)>> = BTreeMap::new();
        for request in &chosen {
            let source = sources.entry(&request.source).or_default();
            source.bytes_received += request.received;
            source.requests += 1;
            source.failures += u64::from(request.failed);
            if let Some(first) = request.first_byte {
                source.first_byte_s = least(source.first_byte_s, first - request.sent);
            }
            if let Some(done) = request.done {
                spans.entry(&request.source).or_default().push((request.sent, done));
                if request.kind == RequestKind::Open {
                    source.opening_s += (done - request.sent).as_secs_f64();
                }
            }
        }
        for connection in &records.connections {
            let Some(source) = sources.get_mut(&*connection.source) else { continue };
            source.connections += 1;
            if let Some(usable) = connection.usable {
                source.connect_s = least(source.connect_s, usable - connection.started);
            }
        }
        let mut all = Vec::new();
        for (name, source) in &mut sources {
            (*name).clone_into(&mut source.name);
            let spans = spans.remove(name).unwrap_or_default();
            let busy = covered(spans.clone());
            source.rate = (busy > 0.0).then(|| source.bytes_received as f64 / busy);
            all.extend(spans);
        }
        let first = all.iter().map(|span| span.0).min().unwrap_or_default();
        let last = all.iter().map(|span| span.1).max().unwrap_or_default();
        let wanted = records.wanted.iter().filter(|(of, _)| file.is_none_or(|file| **of == file));
        let bytes_wanted = wanted.map(|(_, bytes)| bytes).sum();
        let received: u64 = chosen.iter().map(|request| request.received).sum();
        Report {
            bytes_received: received,
            bytes_wanted,
            over_read: (received as f64 / u64::max(bytes_wanted, 1) as f64 - 1.0).max(0.0),
            requests: chosen.len() as u64,
            segments: chosen.iter().map(|request| request.segments.len() as u64).sum(),
            connections: sources.values().map(|source| source.connections).sum(),
            serial_round_trips: records.waves,
            wall_s: (last - first).as_secs_f64(),
            waiting_s: covered(all),
            decoding_s: decoding.as_secs_f64(),
            sources: sources.into_values().collect(),
            notes: records
                .notes
                .iter()
                .filter(|(of, _)| file.is_none() || of.is_none() || *of == file)
                .map(|(_, text)| text.clone())
                .collect(),
        }
    }
}

fn least(so_far: Option<f64>, time: Duration) -> Option<f64> {
    let time = time.as_secs_f64();
    Some(so_far.map_or(time, |so_far| so_far.min(time)))
}

/// Seconds covered by at least one of the spans.
fn covered(mut spans: Vec<(Duration, Duration)>) -> f64 {
    spans.sort();
    let (mut total, mut end) = (Duration::ZERO, Duration::ZERO);
    for (from, to) in spans {
        total += to.saturating_sub(from.max(end));
        end = end.max(to);
    }
    total.as_secs_f64()
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} received ({} wanted, {:.1} % more) in {} requests ({} ranges), {} connections",
            size(self.bytes_received),
            size(self.bytes_wanted),
            100.0 * self.over_read,
            self.requests,
            self.segments,
            self.connections,
        )?;
        writeln!(
            f,
            "{} serial round trips; {:.3} s from first request to last byte, {:.3} s of it with \
             requests under way; {:.3} s decoding on all threads",
            self.serial_round_trips, self.wall_s, self.waiting_s, self.decoding_s
        )?;
        for source in &self.sources {
            let ms = |time: Option<f64>| {
                time.map_or("-".to_owned(), |seconds| format!("{:.1} ms", 1e3 * seconds))
            };
            writeln!(
                f,
                "  {}: {} in {} requests, {} failed; {} connections, usable after {}, first byte \
                 after {}; {}/s",
                source.name,
                size(source.bytes_received),
                source.requests,
                source.failures,
                source.connections,
                ms(source.connect_s),
                ms(source.first_byte_s),
                source.rate.map_or("-".to_owned(), |rate| size(rate as u64)),
            )?;
        }
        self.notes.iter().try_for_each(|note| writeln!(f, "  note: {note}"))
    }
}

/// A size as people read it: powers of 1000.
pub fn size(bytes: u64) -> String {
    let mut value = bytes as f64;
    for unit in ["B", "kB", "MB", "GB"] {
        if value < 999.5 {
            let digits = if unit == "B" { 0 } else { digits(value) };
            return format!("{value:.digits$} {unit}");
        }
        value /= 1000.0;
    }
    format!("{value:.1} TB")
}

fn digits(value: f64) -> usize {
    match value {
        v if v < 9.95 => 2,
        v if v < 99.5 => 1,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_that_overlap_count_once() {
        let s = Duration::from_secs;
        assert_eq!(covered(vec![(s(5), s(6)), (s(0), s(2)), (s(1), s(3))]), 4.0);
    }

    #[test]
    fn sizes_are_short() {
        let shown: Vec<_> = [7, 4_031, 12_500_000, 99_960_000].map(size).to_vec();
        assert_eq!(shown, ["7 B", "4.03 kB", "12.5 MB", "100 MB"]);
    }
}
