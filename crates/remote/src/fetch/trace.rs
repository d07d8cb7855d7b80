//! The trace of requests, with their servers and times: the ground of every report and timeline.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use mutex::Mutex;
use scheduler::SourceState;

use super::ledger::{Ledger, Spent};
use super::notes::NoteList;
use super::tally::Tallies;
use crate::clock::Clock;
use crate::source::held::CACHE;

/// Requests kept in detail; totals go on beyond it. A thousand seconds at a hundred a second.
const REQUESTS_KEPT: usize = 100_000;
/// Ranges of these requests: 16 MB.
const RANGES_KEPT: usize = 1_000_000;
/// Connections kept in detail; totals go on beyond it.
const CONNECTIONS_KEPT: usize = 10_000;
/// Decoded baskets kept in detail.
const DECODINGS_KEPT: usize = 100_000;
/// Changes of the states of sources.
const STATES_KEPT: usize = 10_000;

/// One request, as long as it is kept in detail.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestRecord {
    /// The driver's number of it.
    pub request: u64,
    /// The trace's number of the file.
    pub file: u32,
    /// The server's name.
    pub source: Arc<str>,
    /// The connection that it was sent on.
    pub connection: u32,
    /// The purpose of the request.
    pub kind: RequestKind,
    /// The requested ranges; for an open of a tail, empty.
    pub segments: Vec<Range<u64>>,
    /// Since the engine started.
    pub sent: Duration,
    /// When the first byte came, since the engine started.
    pub first_byte: Option<Duration>,
    /// When it was answered or had failed, since the engine started.
    pub done: Option<Duration>,
    /// Bytes that have arrived.
    pub received: u64,
    /// No answer, or a refusal.
    pub failed: bool,
}

impl RequestRecord {
    /// The request in a line.
    fn line(&self) -> String {
        let request = self.request;
        let source = &self.source;
        let connection = self.connection;
        let bytes: u64 = self.segments.iter().map(|range| range.end - range.start).sum();
        let action = match self.kind {
            RequestKind::Open => "open".to_owned(),
            RequestKind::Fetch => format!("{} ranges of {bytes} bytes", self.segments.len()),
        };
        format!("{source}: request {request} on connection {connection}: {action}")
    }
}

/// The purpose of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestKind {
    /// Finds a file and brings one end of it.
    Open,
    /// Brings ranges of an open file.
    Fetch,
}

/// One connection.
#[derive(Debug, Clone, PartialEq)]
pub struct ConnectionRecord {
    /// The driver's number of it.
    pub connection: u32,
    /// The server's name.
    pub source: Arc<str>,
    /// Since the engine started.
    pub started: Duration,
    /// When handshake and login were through.
    pub usable: Option<Duration>,
    /// When it was closed or lost.
    pub ended: Option<Duration>,
}

/// Connections to one source that have ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EndedConnections {
    /// Their number.
    pub count: u64,
    /// The shortest time from the start of one until it was usable; `None` if none was.
    pub connect: Option<Duration>,
}

/// A source changed its state.
#[derive(Debug, Clone, PartialEq)]
pub struct StateRecord {
    /// Since the engine started.
    pub at: Duration,
    /// The trace's number of the file.
    pub file: u32,
    /// The server's name.
    pub source: Arc<str>,
    /// The new state.
    pub state: SourceState,
}

/// Everything a trace holds, copied.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Records {
    /// The last of them, in the order in which they left.
    pub requests: VecDeque<RequestRecord>,
    /// Sources that serve one range a request.
    pub one_range: BTreeSet<Arc<str>>,
    /// The latest connections, in the order in which they were begun.
    pub connections: Vec<ConnectionRecord>,
    /// By source, the connections that are no longer kept in detail.
    pub other_connections: BTreeMap<Arc<str>, EndedConnections>,
    /// When which source of which file changed its state.
    pub states: Vec<StateRecord>,
    /// Things a user should know.
    pub notes: NoteList,
    /// Sums over all requests, kept in detail or not.
    pub tallies: Tallies,
    /// Times at which a request left, or a first connection was begun, while nothing was under
    /// way: each such wave is a round trip that nothing else hid.
    pub waves: u64,
    /// When some thread decoded for which file.
    pub decodings: VecDeque<(u32, Range<Duration>)>,
    /// The phases in which callers waited.
    pub ledger: Ledger,
    /// The number of ranges in `requests`.
    ranges: usize,
}

/// Shared by the driver, which writes, and the reports, which read.
#[derive(Debug, Clone)]
pub struct Trace {
    clock: Clock,
    records: Arc<Mutex<Records>>,
}

impl Records {
    /// From a request to its first byte. One that was there before its connection left with it:
    /// then a connection and an answer are two round trips.
    fn answered_after(&self, connection: u32, sent: Duration, now: Duration) -> Duration {
        let is_it = |record: &&ConnectionRecord| record.connection == connection;
        match self.connections.iter().rev().find(is_it) {
            Some(ConnectionRecord { started, usable: Some(usable), .. }) if *usable > sent => {
                let both = now.saturating_sub(*started);
                let alone = now.saturating_sub(*usable);
                // In a burst the answer comes with that to the login.
                if alone < both / 4 { both / 2 } else { alone }
            }
            _ => now.saturating_sub(sent),
        }
    }
}

impl Trace {
    /// An empty trace.
    pub fn new(clock: Clock) -> Self {
        Trace { clock, records: Arc::default() }
    }

    /// Time since the engine started.
    pub fn now(&self) -> Duration {
        self.clock.now()
    }

    /// Looks at the records as they are now; nothing is recorded meanwhile.
    pub fn look<T>(&self, look: impl FnOnce(&Records, Duration) -> T) -> T {
        let mut records = self.records.lock();
        let now = self.now();
        records.ledger.advance(now);
        look(&records, now)
    }

    /// A copy of all records.
    pub fn records(&self) -> Records {
        self.look(|records, _| records.clone())
    }

    /// The time that callers have waited so far, by phase, for one file or for all.
    pub fn spent(&self, file: Option<u32>) -> Spent {
        self.look(|records, _| records.ledger.spent(file))
    }

    pub(super) fn ledger<T>(&self, change: impl FnOnce(&mut Ledger, Duration) -> T) -> T {
        let mut records = self.records.lock();
        let now = self.now();
        change(&mut records.ledger, now)
    }

    /// A thread has been decoding for a file since `from`; so many bytes came out of slow codecs.
    pub fn decoded(&self, file: u32, from: Duration, slowly_decompressed: u64) {
        let mut records = self.records.lock();
        let until = self.now();
        let tally = records.tallies.of_file(file);
        tally.decoding += until - from;
        tally.slowly_decompressed += slowly_decompressed;
        if records.decodings.len() == DECODINGS_KEPT {
            records.decodings.pop_front();
        }
        records.decodings.push_back((file, from..until));
    }

    /// Adds an event that a user should know; a text that begins with `warning: ` is one.
    pub fn note(&self, file: Option<u32>, text: String) {
        match text.strip_prefix("warning: ") {
            Some(warning) => tracing::warn!("{warning}"),
            None => tracing::info!("{text}"),
        }
        self.records.lock().notes.add(file, text);
    }

    /// A file is opened: it gets sums of its own.
    pub(super) fn opens(&self, file: u32) {
        self.records.lock().tallies.opens(file);
    }

    /// A file is closed. The 1,000 files closed last keep sums of their own.
    pub(super) fn closed(&self, file: u32) {
        let mut records = self.records.lock();
        if let Some(oldest) = records.tallies.closed(file) {
            records.ledger.forget(oldest);
        }
    }

    /// Bytes of a file that came from a server.
    pub(super) fn received_from(&self, file: u32, source: &str) -> u64 {
        let records = self.records.lock();
        let tallies = records.tallies.by_source(Some(file));
        tallies.get(source).map_or(0, |tally| tally.bytes_received)
    }

    pub(super) fn source_state(&self, file: u32, source: Arc<str>, state: SourceState) {
        let at = self.now();
        let mut records = self.records.lock();
        if records.states.len() < STATES_KEPT {
            records.states.push(StateRecord { at, file, source, state });
        }
    }

    pub(super) fn connecting(&self, connection: u32, source: Arc<str>) {
        let started = self.now();
        tracing::debug!("connection {connection} to {source} is begun");
        let mut records = self.records.lock();
        let first_there = !records
            .connections
            .iter()
            .any(|other| other.source == source && other.ended.is_none());
        // The cache is no distance away.
        records.waves += u64::from(first_there && &*source != CACHE);
        records.connections.push(ConnectionRecord {
            connection,
            source,
            started,
            usable: None,
            ended: None,
        });
        records.drop_connections(CONNECTIONS_KEPT);
    }

    pub(super) fn connected(&self, connection: u32) {
        let now = self.now();
        let record = self.with_connection(connection, |record| record.usable = Some(now));
        if let Some((source, started)) = record {
            let took = (now - started).as_secs_f64();
            tracing::debug!("connection {connection} to {source} is usable after {took:.3} s");
        }
    }

    pub(super) fn disconnected(&self, connection: u32) {
        let now = self.now();
        let record = self.with_connection(connection, |record| record.ended = Some(now));
        if let Some((source, _)) = record {
            tracing::debug!("connection {connection} to {source} has ended");
        }
    }

    /// Changes the record of a connection; its source and start, if it is kept in detail.
    fn with_connection(
        &self,
        connection: u32,
        change: impl FnOnce(&mut ConnectionRecord),
    ) -> Option<(Arc<str>, Duration)> {
        let mut records = self.records.lock();
        let mut all = records.connections.iter_mut().rev();
        let record = all.find(|record| record.connection == connection)?;
        change(record);
        Some((record.source.clone(), record.started))
    }

    pub(super) fn sent(&self, mut record: RequestRecord) {
        record.sent = self.now();
        tracing::debug!("{}", record.line());
        let mut records = self.records.lock();
        let sent = record.sent;
        let segments = record.segments.len();
        let wave = records.tallies.sent(sent, record.file, &record.source, segments);
        records.waves += u64::from(wave);
        records.ranges += segments;
        records.requests.push_back(record);
        records.drop_requests(REQUESTS_KEPT, RANGES_KEPT);
    }

    /// Counts `bytes` of metadata or baskets that a handle wanted and received; `fetched` of them
    /// came from a server for this want.
    pub(super) fn wanted(&self, file: u32, bytes: u64, fetched: u64, metadata: bool) {
        let mut records = self.records.lock();
        let tally = records.tallies.of_file(file);
        let sum = if metadata { &mut tally.metadata_wanted } else { &mut tally.baskets_wanted };
        *sum += bytes;
        tally.metadata_fetched += if metadata { fetched } else { 0 };
    }

    /// An open has to wait until a connection is there: a round trip of this file.
    pub(super) fn unconnected(&self, file: u32) {
        self.records.lock().tallies.of_file(file).waves += 1;
    }

    /// Whether a connection to a source is usable now.
    pub(super) fn is_connected(&self, source: &str) -> bool {
        let records = self.records.lock();
        let usable = |record: &ConnectionRecord| {
            &*record.source == source && record.usable.is_some() && record.ended.is_none()
        };
        records.connections.iter().any(usable)
    }

    /// A source has sent a request of its protocol for this one.
    pub(super) fn asked(&self, request: u64) {
        let mut records = self.records.lock();
        let Some(record) = records.request(request) else { return };
        let file = record.file;
        let source = record.source.clone();
        records.tallies.of_requests(file, &source).requests += 1;
    }

    /// A source serves one range a request.
    pub(super) fn one_range(&self, source: Arc<str>) {
        self.records.lock().one_range.insert(source);
    }

    pub(super) fn received(&self, request: u64, bytes: u64) {
        let now = self.now();
        let mut records = self.records.lock();
        let Some(record) = records.request(request) else { return };
        record.received += bytes;
        let file = record.file;
        let source = record.source.clone();
        let sent = record.sent;
        let connection = record.connection;
        let is_first = record.first_byte.is_none();
        record.first_byte.get_or_insert(now);
        let first = is_first.then(|| records.answered_after(connection, sent, now));
        records.tallies.received(file, &source, bytes, first);
    }

    /// A server is asked to select entries of a file.
    pub(crate) fn selecting(&self, file: u32, server: &Arc<str>) {
        let now = self.now();
        let mut records = self.records.lock();
        let wave = records.tallies.sent(now, file, server, 1);
        records.waves += u64::from(wave);
        records.tallies.of_requests(file, server).requests += 1;
    }

    /// Bytes of selected entries have come.
    pub(crate) fn selected(&self, file: u32, server: &Arc<str>, bytes: u64) {
        let mut records = self.records.lock();
        records.tallies.received(file, server, bytes, None);
        records.tallies.of_file(file).baskets_wanted += bytes;
    }

    /// No more of them come.
    pub(crate) fn selected_all(&self, file: u32, server: &Arc<str>) {
        let now = self.now();
        self.records.lock().tallies.ended(now, file, server, false);
    }

    /// Pages of a request have come otherwise than they were sent.
    pub(super) fn damaged(&self, request: u64, pages: u64) {
        let mut records = self.records.lock();
        let Some(record) = records.request(request) else { return };
        let file = record.file;
        let source = record.source.clone();
        records.tallies.of_requests(file, &source).damaged += pages;
    }

    /// A request is for bytes that are late elsewhere; so many of them have come by it first.
    pub(super) fn hedge(&self, request: u64, requests: u64, bytes: u64) {
        let mut records = self.records.lock();
        let Some(record) = records.request(request) else { return };
        let file = record.file;
        let source = record.source.clone();
        let tally = records.tallies.of_requests(file, &source);
        tally.hedges += requests;
        tally.hedge_bytes += bytes;
    }

    pub(super) fn ended(&self, request: u64, failed: bool) {
        let now = self.now();
        let mut records = self.records.lock();
        let Some(record) = records.request(request).filter(|record| record.done.is_none()) else {
            return;
        };
        record.done = Some(now);
        record.failed = failed;
        let file = record.file;
        let source = record.source.clone();
        let took = (now - record.sent).as_secs_f64();
        records.tallies.ended(now, file, &source, failed);
        drop(records);
        if failed {
            tracing::debug!("{source}: request {request} failed after {took:.3} s");
        }
    }
}

impl Records {
    /// Removes the oldest requests beyond either limit. Those under way, whose bytes are still to
    /// be counted, stay up to twice `requests_max`.
    fn drop_requests(&mut self, requests_max: usize, ranges_max: usize) {
        while let Some(first) = self.requests.front()
            && (self.requests.len() > requests_max || self.ranges > ranges_max)
            && (first.done.is_some() || self.requests.len() > 2 * requests_max)
        {
            self.ranges -= first.segments.len();
            self.requests.pop_front();
        }
    }

    /// Removes the oldest ended connections beyond the limit. Open ones stay.
    fn drop_connections(&mut self, connections_max: usize) {
        let ended = |record: &ConnectionRecord| record.ended.is_some();
        while self.connections.len() > connections_max
            && let Some(at) = self.connections.iter().position(ended)
        {
            let gone = self.connections.remove(at);
            let others = self.other_connections.entry(gone.source).or_default();
            others.count += 1;
            let connect = gone.usable.map(|usable| usable.saturating_sub(gone.started));
            others.connect = others.connect.into_iter().chain(connect).min();
        }
    }

    /// Requests are kept in the order of their numbers.
    fn request(&mut self, request: u64) -> Option<&mut RequestRecord> {
        let at = self.requests.binary_search_by_key(&request, |record| record.request).ok()?;
        self.requests.get_mut(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(request: u64, ranges: u64) -> RequestRecord {
        RequestRecord {
            request,
            file: 1,
            source: "there".into(),
            connection: 0,
            kind: RequestKind::Fetch,
            segments: (0..ranges).map(|at| at * 10..at * 10 + 5).collect(),
            sent: Duration::ZERO,
            first_byte: None,
            done: None,
            received: 0,
            failed: false,
        }
    }

    /// Regression: a hundred thousand requests of 1,024 ranges took 1.6 GB.
    #[test]
    fn ranges_of_requests_are_bounded_and_those_under_way_are_counted() {
        let trace = Trace::new(Clock::start());
        trace.opens(1);
        trace.sent(request(0, 1024));
        for number in 1..2000 {
            trace.sent(request(number, 1024));
            trace.received(number, 1);
            trace.ended(number, false);
        }
        trace.received(0, 1);
        let kept = trace.look(|records, _| (records.requests.len(), records.ranges));
        assert_eq!(kept, (2000, 2000 * 1024), "the first one is under way");
        trace.ended(0, false);
        trace.sent(request(2000, 1));
        trace.look(|records, _| {
            let ranges: usize = records.requests.iter().map(|one| one.segments.len()).sum();
            assert!(ranges == records.ranges && ranges <= RANGES_KEPT, "{ranges}");
            assert_eq!(records.tallies.by_source(None)["there"].bytes_received, 2000);
        });
    }

    #[test]
    fn connections_that_have_ended_are_counted_beyond_those_that_are_kept() {
        let mut records = Records::default();
        let s = Duration::from_secs;
        for connection in 0..30 {
            let usable = Some(s(u64::from(10 + connection % 3)));
            let ended = (connection % 10 != 0).then(|| s(90));
            let source = "there".into();
            let record = ConnectionRecord { connection, source, started: s(9), usable, ended };
            records.connections.push(record);
            records.drop_connections(5);
        }
        let kept: Vec<u32> = records.connections.iter().map(|one| one.connection).collect();
        assert_eq!(kept, [0, 10, 20, 28, 29]);
        let others = &records.other_connections["there"];
        assert_eq!((others.count, others.connect), (25, Some(s(1))));
    }
}
