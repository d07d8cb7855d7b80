//! What was asked of whom, and when: the ground of every report and timeline.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use crate::clock::Clock;

/// Requests kept in detail; totals go on beyond it. A thousand seconds at a hundred a second.
const REQUESTS_KEPT: usize = 100_000;
/// Notes kept: enough for a user to read.
const NOTES_KEPT: usize = 200;

/// One request, as long as it is kept in detail.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestRecord {
    pub request: u64,
    pub file: u32,
    pub source: Arc<str>,
    pub connection: u32,
    pub kind: RequestKind,
    /// What was asked for; for an open of a tail, empty.
    pub segments: Vec<Range<u64>>,
    /// Since the engine started.
    pub sent: Duration,
    pub first_byte: Option<Duration>,
    pub done: Option<Duration>,
    /// Bytes that have arrived.
    pub received: u64,
    pub failed: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestKind {
    Open,
    Fetch,
}

/// One connection.
#[derive(Debug, Clone, PartialEq)]
pub struct ConnectionRecord {
    pub connection: u32,
    pub source: Arc<str>,
    pub started: Duration,
    pub usable: Option<Duration>,
    pub ended: Option<Duration>,
}

/// Everything a trace holds, copied.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Records {
    pub requests: VecDeque<RequestRecord>,
    pub connections: Vec<ConnectionRecord>,
    /// Things a user should know, with the file where there is one.
    pub notes: Vec<(Option<u32>, String)>,
    pub requests_total: u64,
    pub segments_total: u64,
    pub received_total: u64,
    /// Bytes that somebody asked for, by file.
    pub wanted: BTreeMap<u32, u64>,
    /// Times at which a request left, or a first connection was begun, while nothing was under
    /// way: each such wave is a round trip that nothing else hid.
    pub waves: u64,
    in_flight: u64,
}

/// Shared by the driver, which writes, and the reports, which read.
#[derive(Debug, Clone)]
pub struct Trace {
    clock: Clock,
    records: Arc<Mutex<Records>>,
}

impl Trace {
    pub(super) fn new(clock: Clock) -> Self {
        Trace { clock, records: Arc::default() }
    }

    pub fn now(&self) -> Duration {
        self.clock.now()
    }

    /// A copy of all records.
    pub fn records(&self) -> Records {
        self.records.lock().clone()
    }

    pub fn note(&self, file: Option<u32>, text: String) {
        let mut records = self.records.lock();
        let note = (file, text);
        if records.notes.len() < NOTES_KEPT && !records.notes.contains(&note) {
            records.notes.push(note);
        }
    }

    pub(super) fn connecting(&self, connection: u32, source: Arc<str>) {
        let started = self.now();
        let mut records = self.records.lock();
        let first_there = !records
            .connections
            .iter()
            .any(|other| other.source == source && other.ended.is_none());
        records.waves += u64::from(first_there);
        records.connections.push(ConnectionRecord {
            connection,
            source,
            started,
            usable: None,
            ended: None,
        });
    }

    pub(super) fn connected(&self, connection: u32) {
        let now = self.now();
        self.with_connection(connection, |record| record.usable = Some(now));
    }

    pub(super) fn disconnected(&self, connection: u32) {
        let now = self.now();
        self.with_connection(connection, |record| record.ended = Some(now));
    }

    fn with_connection(&self, connection: u32, change: impl FnOnce(&mut ConnectionRecord)) {
        let mut records = self.records.lock();
        if let Some(record) =
            records.connections.iter_mut().rev().find(|r| r.connection == connection)
        {
            change(record);
        }
    }

    pub(super) fn sent(&self, mut record: RequestRecord) {
        record.sent = self.now();
        let mut records = self.records.lock();
        records.waves += u64::from(records.in_flight == 0);
        records.in_flight += 1;
        records.requests_total += 1;
        records.segments_total += record.segments.len() as u64;
        if records.requests.len() == REQUESTS_KEPT {
            records.requests.pop_front();
        }
        records.requests.push_back(record);
    }

    pub(super) fn wanted(&self, file: u32, bytes: u64) {
        *self.records.lock().wanted.entry(file).or_default() += bytes;
    }

    pub(super) fn received(&self, request: u64, bytes: u64) {
        let now = self.now();
        let mut records = self.records.lock();
        records.received_total += bytes;
        if let Some(record) = records.request(request) {
            record.first_byte.get_or_insert(now);
            record.received += bytes;
        }
    }

    pub(super) fn ended(&self, request: u64, failed: bool) {
        let now = self.now();
        let mut records = self.records.lock();
        records.in_flight = records.in_flight.saturating_sub(1);
        if let Some(record) = records.request(request) {
            record.done = Some(now);
            record.failed = failed;
        }
    }
}

impl Records {
    /// Requests are kept in the order of their numbers.
    fn request(&mut self, request: u64) -> Option<&mut RequestRecord> {
        let at = self.requests.binary_search_by_key(&request, |record| record.request).ok()?;
        self.requests.get_mut(at)
    }
}
