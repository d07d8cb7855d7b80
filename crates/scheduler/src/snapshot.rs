//! Figures for a report.

use crate::connection::Phase;
use crate::counters::Counters;
use crate::ids::{ServerId, SourceId, Time};
use crate::scheduler::Scheduler;
use crate::sources::{Quality, SourceState};

/// The state of a scheduler at one moment, and its sums since it was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    pub counters: Counters,
    /// Memory held by wants, now and at most, bytes.
    pub memory_bytes: u64,
    pub memory_bytes_peak: u64,
    /// Demands and hints that are not admitted.
    pub demands_waiting: usize,
    pub hints_waiting: usize,
    /// Bytes of hints that may be admitted, and that are.
    pub readahead_window_bytes: u64,
    pub readahead_bytes: u64,
    pub servers: Vec<ServerSnapshot>,
    pub sources: Vec<SourceSnapshot>,
}

/// One server at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerSnapshot {
    pub server: ServerId,
    pub connections_usable: u32,
    pub connections_connecting: u32,
    pub requests_in_flight: u32,
    pub in_flight_bytes: u64,
    /// The shortest lately seen, or a guess from the handshake.
    pub round_trip: Option<Time>,
    /// Bytes per second over all connections, the highest lately seen; 0 while unknown.
    pub bandwidth: u64,
}

/// One source at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceSnapshot {
    pub source: SourceId,
    pub server: ServerId,
    pub state: SourceState,
    pub quality: Quality,
}

impl Scheduler {
    /// Bytes that have come first by requests which were sent because others were late.
    pub fn hedge_won_bytes(&self) -> u64 {
        self.counters.hedge_won_bytes
    }

    /// Figures for a report. Costs time in proportion to connections and sources: not for every
    /// step.
    pub fn snapshot(&self) -> Snapshot {
        let [demands_waiting, hints_waiting] = self.admission.waiting();
        Snapshot {
            counters: self.counters,
            memory_bytes: self.admission.used(),
            memory_bytes_peak: self.admission.peak(),
            demands_waiting,
            hints_waiting,
            readahead_window_bytes: self.readahead.window(self.pipe_bytes()),
            readahead_bytes: self.admission.hinted(),
            servers: self.servers.keys().map(|id| self.server_snapshot(*id)).collect(),
            sources: self.source_snapshots(),
        }
    }

    fn server_snapshot(&self, id: ServerId) -> ServerSnapshot {
        let server = &self.servers[&id];
        let mut snapshot = ServerSnapshot {
            server: id,
            connections_usable: 0,
            connections_connecting: 0,
            requests_in_flight: 0,
            in_flight_bytes: 0,
            round_trip: server.round_trip.get(),
            bandwidth: server.meter.rate(),
        };
        for connection in server.connections.iter().filter_map(|id| self.connections.get(id)) {
            match connection.phase {
                Phase::Usable => snapshot.connections_usable += 1,
                Phase::Connecting => snapshot.connections_connecting += 1,
            }
            snapshot.requests_in_flight += connection.requests.len() as u32;
            snapshot.in_flight_bytes += connection.in_flight;
        }
        snapshot
    }

    fn source_snapshots(&self) -> Vec<SourceSnapshot> {
        let sources = self.files.values().flat_map(|file| file.sources.iter());
        let mut snapshots: Vec<SourceSnapshot> = sources
            .map(|(id, source)| SourceSnapshot {
                source: id,
                server: source.server,
                state: source.state,
                quality: source.quality,
            })
            .collect();
        snapshots.sort_unstable_by_key(|snapshot| snapshot.source);
        snapshots
    }
}
