//! Reports on time and bytes, which a user can read and a program can parse.

pub mod history;
pub mod svg;
pub mod timeline;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use self::history::History;
use crate::fetch::ledger::{Phase, Spent};
use crate::fetch::tally::{FileTally, Tally};
use crate::fetch::trace::{Records, Trace};
use crate::source::held::CACHE;

/// The work of an engine so far, or for one file. Times in seconds, sizes in bytes.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Report {
    /// From the first call to the last answer.
    pub wall_s: f64,
    /// The parts of that time, which sum up to `wall_s`.
    pub time_s: Times,
    /// Beside that, overlapping with any of it: with at least one request unanswered.
    pub transfer_s: f64,
    /// Beside that, overlapping with any of it: all decoding threads added up.
    pub decoding_s: f64,
    /// Bytes that came out of slow codecs: LZMA.
    pub bytes_slowly_decompressed: u64,
    /// Bytes that arrived from all sources but the cache.
    pub bytes_received: u64,
    /// Bytes that were read from the cache on a disk of this machine.
    pub bytes_cached: u64,
    /// Bytes of metadata that were requested, and the ends of files that came with their opens.
    pub bytes_metadata: u64,
    /// Bytes of data, as baskets or whole files, that a read wanted and that did not come with
    /// the metadata.
    pub bytes_baskets: u64,
    /// `(bytes_received + bytes_cached) / (bytes_metadata + bytes_baskets) - 1`.
    pub over_read: f64,
    /// As they left for the sources: opens, reads and requests about files, repeated or not.
    pub requests: u64,
    /// Requested ranges.
    pub segments: u64,
    /// Connections begun to the servers concerned, whatever else they were used for.
    pub connections: u64,
    /// Round trips that nothing else hid: moments at which a connection was begun or a request
    /// left while nothing was under way.
    pub serial_round_trips: u64,
    /// Times at which a caller waited for a batch whose bytes were lacking.
    pub stalls: u64,
    /// Each server that was read from.
    pub sources: Vec<SourceReport>,
    /// Things worth knowing: redirections, servers without ranges.
    pub notes: Vec<String>,
}

/// Every moment from the first call to the last answer, in seconds, in one of these.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Times {
    /// Waits while no connection to the file's server was usable.
    pub connecting: f64,
    /// Waits for the answer to an open.
    pub opening: f64,
    /// Waits for directories, streamers and trees.
    pub metadata: f64,
    /// Waits for baskets.
    pub bytes: f64,
    /// Waits for baskets that had arrived to be decoded.
    pub decoding: f64,
    /// Waits for decoded baskets to be joined and handed over.
    pub joining: f64,
    /// No wait: the caller's own work, and in the report of one file also waits for others.
    pub caller: f64,
}

/// One server's share.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct SourceReport {
    /// Scheme, host and port; `file://` for a disk.
    pub name: String,
    /// Bytes of data that arrived from it.
    pub bytes_received: u64,
    /// Sent to it.
    pub requests: u64,
    /// Ranges that were requested from it.
    pub segments: u64,
    /// It has turned out to serve one range a request.
    pub one_range: bool,
    /// Requests that failed.
    pub failures: u64,
    /// Pages that arrived otherwise than they were sent, as their checksums showed, and were
    /// requested again.
    pub damaged_pages: u64,
    /// Requests for bytes that were late elsewhere, and the bytes that came by them first.
    pub hedges: u64,
    /// Those bytes.
    pub hedge_bytes: u64,
    /// Begun to it.
    pub connections: u64,
    /// From the start of a connection until it was usable, at best.
    pub connect_s: Option<f64>,
    /// From a request to its first byte, at best: the cost of a round trip here.
    pub first_byte_s: Option<f64>,
    /// With at least one request unanswered.
    pub transfer_s: f64,
    /// Bytes per second of that time.
    pub rate: Option<f64>,
    /// How it fared as the read went on, where there are several sources.
    pub history: Option<History>,
}

impl Report {
    /// Sums up a trace; `file` restricts it to the work for one file.
    pub fn new(trace: &Trace, file: Option<u32>) -> Report {
        trace.look(|records, now| Report::of(records, now, file))
    }

    /// The work since an earlier report of the same engine or file, `wall` ago. Sources keep the
    /// best times that they ever had for connecting and first bytes.
    pub fn since(&self, earlier: &Report, wall: Duration) -> Report {
        let mut part = self.clone();
        part.transfer_s -= earlier.transfer_s;
        part.decoding_s -= earlier.decoding_s;
        part.bytes_slowly_decompressed -= earlier.bytes_slowly_decompressed;
        part.bytes_received -= earlier.bytes_received;
        part.bytes_cached -= earlier.bytes_cached;
        part.bytes_metadata -= earlier.bytes_metadata;
        part.bytes_baskets -= earlier.bytes_baskets;
        let came = part.bytes_received + part.bytes_cached;
        part.over_read = over_read(came, part.bytes_metadata + part.bytes_baskets);
        part.requests -= earlier.requests;
        part.segments -= earlier.segments;
        part.connections -= earlier.connections;
        part.serial_round_trips -= earlier.serial_round_trips;
        part.stalls -= earlier.stalls;
        part.wall_s = wall.as_secs_f64();
        part.time_s = self.time_s.since(&earlier.time_s, part.wall_s);
        for source in &mut part.sources {
            if let Some(before) = earlier.sources.iter().find(|other| other.name == source.name) {
                source.subtract(before);
            }
        }
        part.sources.retain(|source| source.requests > 0 || source.connections > 0);
        part.notes.retain(|note| !earlier.notes.contains(note));
        part
    }

    fn of(records: &Records, now: Duration, file: Option<u32>) -> Report {
        let sources = sources(records, now, file);
        let spent = records.ledger.spent(file);
        let of_file = file.and_then(|file| records.tallies.file(file)).cloned();
        let tally = match file {
            Some(_) => of_file.unwrap_or_default(),
            None => all_files(records),
        };
        let far = || sources.iter().filter(|source| source.name != CACHE);
        let received: u64 = far().map(|source| source.bytes_received).sum();
        let came: u64 = sources.iter().map(|source| source.bytes_received).sum();
        let wanted = tally.metadata_wanted + tally.baskets_wanted;
        Report {
            wall_s: spent.wall().as_secs_f64(),
            time_s: Times::new(&spent),
            transfer_s: tally.busy.total(now).as_secs_f64(),
            decoding_s: tally.decoding.as_secs_f64(),
            bytes_slowly_decompressed: tally.slowly_decompressed,
            bytes_received: received,
            bytes_cached: came - received,
            bytes_metadata: tally.metadata_wanted,
            bytes_baskets: tally.baskets_wanted,
            over_read: over_read(came, wanted),
            requests: far().map(|source| source.requests).sum(),
            segments: far().map(|source| source.segments).sum(),
            connections: far().map(|source| source.connections).sum(),
            serial_round_trips: tally.waves,
            stalls: spent.stalls,
            sources,
            notes: records.notes.lines(file),
        }
    }
}

/// The fraction of the wanted bytes that has been received beyond them.
fn over_read(received: u64, wanted: u64) -> f64 {
    (received as f64 / u64::max(wanted, 1) as f64 - 1.0).max(0.0)
}

impl Times {
    fn new(spent: &Spent) -> Times {
        let on = |phase| spent.on(phase).as_secs_f64();
        Times {
            connecting: on(Phase::Connecting),
            opening: on(Phase::Opening),
            metadata: on(Phase::Metadata),
            bytes: on(Phase::Bytes),
            decoding: on(Phase::Decoding),
            joining: on(Phase::Joining),
            caller: spent.wall().saturating_sub(spent.waited()).as_secs_f64(),
        }
    }

    /// The part of it since an earlier time, `wall` seconds ago.
    fn since(&self, earlier: &Times, wall: f64) -> Times {
        let mut part = Times {
            connecting: self.connecting - earlier.connecting,
            opening: self.opening - earlier.opening,
            metadata: self.metadata - earlier.metadata,
            bytes: self.bytes - earlier.bytes,
            decoding: self.decoding - earlier.decoding,
            joining: self.joining - earlier.joining,
            caller: 0.0,
        };
        let waited: f64 = part.parts().iter().map(|(_, seconds)| seconds).sum();
        part.caller = (wall - waited).max(0.0);
        part
    }

    /// The name and the duration of each part, in the order of a read.
    fn parts(&self) -> [(&'static str, f64); 7] {
        [
            (Phase::Connecting.name(), self.connecting),
            (Phase::Opening.name(), self.opening),
            (Phase::Metadata.name(), self.metadata),
            (Phase::Bytes.name(), self.bytes),
            (Phase::Decoding.name(), self.decoding),
            (Phase::Joining.name(), self.joining),
            ("the caller's own", self.caller),
        ]
    }
}

/// The sums over all files; overlapping times count once.
fn all_files(records: &Records) -> FileTally {
    FileTally { busy: records.tallies.all, waves: records.waves, ..records.tallies.all_files() }
}

/// The names of the sources from which bytes of a file have been requested, as in
/// [`Report::sources`]: for callers with many files, to whom whole reports are too slow.
pub fn source_names(trace: &Trace, file: u32) -> Vec<String> {
    let name = |(name, _): (Arc<str>, Tally)| name.to_string();
    trace.look(|records, _| records.tallies.by_source(Some(file)).into_iter().map(name).collect())
}

fn sources(records: &Records, now: Duration, file: Option<u32>) -> Vec<SourceReport> {
    let mut sources: BTreeMap<Arc<str>, SourceReport> = BTreeMap::new();
    for (name, tally) in records.tallies.by_source(file) {
        sources.insert(name.clone(), SourceReport::new(&name, &tally, now));
    }
    for (name, source) in &mut sources {
        source.one_range = records.one_range.contains(name);
    }
    for connection in &records.connections {
        let Some(source) = sources.get_mut(&connection.source) else { continue };
        source.connections += 1;
        if let Some(usable) = connection.usable {
            let took = (usable - connection.started).as_secs_f64();
            source.connect_s = Some(source.connect_s.map_or(took, |best| best.min(took)));
        }
    }
    for (name, ended) in &records.other_connections {
        let Some(source) = sources.get_mut(name) else { continue };
        source.connections += ended.count;
        let best = ended.connect.map(|took| took.as_secs_f64());
        source.connect_s = source.connect_s.into_iter().chain(best).reduce(f64::min);
    }
    if sources.len() > 1 {
        for (name, source) in &mut sources {
            source.history = Some(History::new(records, now, file, name));
        }
    }
    sources.into_values().collect()
}

impl SourceReport {
    fn new(name: &str, tally: &Tally, now: Duration) -> Self {
        let busy = tally.busy.total(now).as_secs_f64();
        SourceReport {
            name: name.to_owned(),
            bytes_received: tally.bytes_received,
            requests: tally.requests,
            segments: tally.segments,
            one_range: false,
            failures: tally.failures,
            damaged_pages: tally.damaged,
            hedges: tally.hedges,
            hedge_bytes: tally.hedge_bytes,
            connections: 0,
            connect_s: None,
            first_byte_s: tally.first_byte.map(|time| time.as_secs_f64()),
            transfer_s: busy,
            rate: (busy > 0.0).then(|| tally.bytes_received as f64 / busy),
            history: None,
        }
    }
}

impl SourceReport {
    /// Takes away the work of the earlier report.
    fn subtract(&mut self, before: &SourceReport) {
        self.bytes_received -= before.bytes_received;
        self.requests -= before.requests;
        self.segments -= before.segments;
        self.failures -= before.failures;
        self.damaged_pages -= before.damaged_pages;
        self.hedges -= before.hedges;
        self.hedge_bytes -= before.hedge_bytes;
        self.connections -= before.connections;
        self.transfer_s -= before.transfer_s;
        let rate = self.bytes_received as f64 / self.transfer_s;
        self.rate = (self.transfer_s > 0.0).then_some(rate);
        self.history = None;
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:.3} s from the first call to the last answer:", self.wall_s)?;
        for (name, time) in self.time_s.parts() {
            let part = if self.wall_s > 0.0 { time / self.wall_s } else { 0.0 };
            let bar = "#".repeat((40.0 * part).round() as usize);
            writeln!(f, "  {}", format!("{name:<18}{time:>9.3} s  {bar}").trim_end())?;
        }
        writeln!(
            f,
            "beside that, requests were under way for {:.3} s, and threads decoded for {:.3} s",
            self.transfer_s, self.decoding_s
        )?;
        writeln!(
            f,
            "{} received{}: {} of data, {} of metadata, {:.1} % more than wanted",
            size(self.bytes_received),
            match self.bytes_cached {
                0 => String::new(),
                cached => format!(" and {} read from the cache", size(cached)),
            },
            size(self.bytes_baskets),
            size(self.bytes_metadata),
            100.0 * self.over_read,
        )?;
        writeln!(
            f,
            "{}, {}, {} ({}) on {}",
            count(self.serial_round_trips, "serial round trip"),
            count(self.stalls, "stall"),
            count(self.requests, "request"),
            count(self.segments, "range"),
            count(self.connections, "connection"),
        )?;
        self.sources.iter().try_for_each(|source| write!(f, "{source}"))?;
        self.notes.iter().try_for_each(|note| writeln!(f, "  note: {note}"))
    }
}

impl fmt::Display for SourceReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = |time: Option<f64>| {
            time.map_or("-".to_owned(), |seconds| format!("{:.1} ms", 1e3 * seconds))
        };
        writeln!(
            f,
            "  {}: {} in {}, {} failed; {}, usable after {}, first byte after {}; {}/s",
            self.name,
            size(self.bytes_received),
            count(self.requests, "request"),
            self.failures,
            count(self.connections, "connection"),
            ms(self.connect_s),
            ms(self.first_byte_s),
            self.rate.map_or("-".to_owned(), |rate| size(rate as u64)),
        )?;
        if self.one_range {
            let ranges = count(self.segments, "range");
            let requests = count(self.requests, "request");
            writeln!(
                f,
                "    it serves one range a request: {ranges} took {requests}, which is why it is slow"
            )?;
        }
        if self.damaged_pages > 0 {
            let pages = count(self.damaged_pages, "page");
            writeln!(f, "    {pages} came damaged, as their checksums showed: asked for again")?;
        }
        if self.hedges > 0 {
            let brought = size(self.hedge_bytes);
            writeln!(
                f,
                "    {} of what was late elsewhere brought {brought} first",
                count(self.hedges, "request")
            )?;
        }
        self.history.iter().try_for_each(|history| writeln!(f, "    {}", history.text()))
    }
}

/// `1 file`, `2 files`.
pub fn count(number: u64, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
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
    fn the_report_of_a_part_is_what_was_done_in_it() {
        let source = |requests, bytes_received| SourceReport {
            name: "there".to_owned(),
            requests,
            bytes_received,
            transfer_s: requests as f64,
            ..SourceReport::default()
        };
        let times = |bytes| Times { bytes, ..Times::default() };
        let earlier = Report {
            requests: 3,
            bytes_received: 300,
            bytes_baskets: 200,
            time_s: times(1.0),
            sources: vec![source(3, 300)],
            notes: vec!["old".to_owned()],
            ..Report::default()
        };
        let later = Report {
            requests: 5,
            bytes_received: 420,
            bytes_baskets: 300,
            time_s: times(2.5),
            sources: vec![source(5, 420)],
            notes: vec!["old".to_owned(), "new".to_owned()],
            ..Report::default()
        };
        let part = later.since(&earlier, Duration::from_secs(4));
        assert_eq!((part.requests, part.bytes_received, part.bytes_baskets), (2, 120, 100));
        assert!((part.over_read - 0.2).abs() < 1e-9);
        assert!((part.time_s.bytes - 1.5).abs() < 1e-9 && (part.time_s.caller - 2.5).abs() < 1e-9);
        assert_eq!((part.sources[0].requests, part.sources[0].rate), (2, Some(60.0)));
        assert_eq!(part.notes, ["new"]);
        assert!(later.since(&later, Duration::ZERO).sources.is_empty());
    }

    #[test]
    fn sizes_are_short() {
        let shown: Vec<_> = [7, 4_031, 12_500_000, 99_960_000].map(size).to_vec();
        assert_eq!(shown, ["7 B", "4.03 kB", "12.5 MB", "100 MB"]);
    }
}
