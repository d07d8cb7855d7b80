//! The scheduler against any order of happenings: bytes are read as a list of operations.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use scheduler::{
    Action, Budgets, ConnectionId, Event, Failure, FileEnd, FileId, RequestId, Scheduler,
    ServerTraits, SourceId, Time, Urgency, WantId,
};

use super::Input;
use crate::Target;

pub const TARGET: Target =
    Target { name: "scheduler", run, seeds, rounds: 4_000, memory: (4 << 20, 16 << 10) };

/// Offsets are whole grains, so that a byte names one.
const GRAIN: u64 = 16 << 10;
const FILE_BYTES: u64 = 256 * GRAIN;

/// A request under way: its connection, and the ranges that it is to bring.
#[derive(Clone)]
struct Sent {
    connection: ConnectionId,
    expected: Expected,
}

#[derive(Clone)]
enum Expected {
    End(FileEnd),
    Segments(Vec<Range<u64>>),
}

struct World {
    scheduler: Scheduler,
    now: Time,
    file: FileId,
    source: SourceId,
    connections: BTreeSet<ConnectionId>,
    requests: BTreeMap<RequestId, Sent>,
    wants: BTreeSet<WantId>,
    ready: BTreeSet<WantId>,
}

impl World {
    fn new() -> Self {
        let mut scheduler = Scheduler::new(Budgets {
            memory_bytes_max: 64 * GRAIN,
            connections_per_server_max: 4,
            connections_initial: 2,
            ..Budgets::default()
        });
        let now = Time::ZERO;
        let traits = ServerTraits {
            segments_max: 8,
            pipelined: true,
            suffix: true,
            ..ServerTraits::default()
        };
        let server = scheduler.add_server(now, traits);
        let file = scheduler.add_file(now);
        let source = scheduler.add_source(now, file, server);
        World {
            scheduler,
            now,
            file,
            source,
            connections: BTreeSet::new(),
            requests: BTreeMap::new(),
            wants: BTreeSet::new(),
            ready: BTreeSet::new(),
        }
    }

    /// The run-loop law, and the invariants of each step.
    fn drain(&mut self) {
        loop {
            if let Some(action) = self.scheduler.poll_action(self.now) {
                self.act(action);
            } else if let Some(event) = self.scheduler.poll_event() {
                match event {
                    Event::Ready { want } => {
                        assert!(self.wants.remove(&want), "{want:?} is ready, but not waited for");
                        self.ready.insert(want);
                    }
                    Event::Failed { want, .. } => {
                        assert!(self.wants.remove(&want), "{want:?} failed, but not waited for");
                    }
                    _ => {}
                }
            } else {
                break;
            }
        }
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Connect { connection, .. } => {
                assert!(self.connections.insert(connection), "{connection:?} twice");
                // One more looks whether a silent server lives.
                assert!(self.connections.len() <= 4 + 1, "more connections than allowed");
            }
            Action::Open { request, connection, part, .. } => {
                assert!(self.connections.contains(&connection));
                self.requests.insert(request, Sent { connection, expected: Expected::End(part) });
            }
            Action::Fetch { request, connection, segments, .. } => {
                assert!(self.connections.contains(&connection));
                assert!(!segments.is_empty() && segments.len() <= 8);
                assert!(segments.iter().all(|segment| !segment.is_empty()));
                assert!(segments.windows(2).all(|pair| pair[0].end <= pair[1].start));
                self.requests
                    .insert(request, Sent { connection, expected: Expected::Segments(segments) });
            }
            // It may cross with the request's end, or its connection's.
            Action::Cancel { .. } => {}
            Action::Disconnect { connection } => self.lose(connection),
        }
    }

    fn lose(&mut self, connection: ConnectionId) {
        self.connections.remove(&connection);
        self.requests.retain(|_, sent| sent.connection != connection);
    }

    fn operation(&mut self, input: &mut Input<'_>) {
        let kind = input.byte();
        let a = input.byte();
        let b = input.byte();
        match kind % 12 {
            0..=2 => {
                let start = u64::from(a) * GRAIN;
                let range = start..start + u64::from(b % 16) * GRAIN;
                let urgency = if kind.is_multiple_of(2) { Urgency::Demand } else { Urgency::Hint };
                let cost = u64::from(b) * GRAIN;
                let want = self.scheduler.want(self.now, self.file, range, urgency, a.into(), cost);
                self.wants.insert(want);
            }
            3 => self.scheduler.open(self.now, self.file, u64::from(a) << 8, u64::from(b) << 8),
            4 => {
                if let Some(connection) = pick(self.connections.iter(), a).copied() {
                    self.scheduler.handle_connected(self.now, connection);
                }
            }
            5 => {
                if let Some(connection) = pick(self.connections.iter(), a).copied() {
                    self.lose(connection);
                    let failure = Failure {
                        retryable: !b.is_multiple_of(8),
                        after: (b.is_multiple_of(3)).then(|| Time::from_millis(u64::from(b))),
                        busy: b.is_multiple_of(5),
                    };
                    self.scheduler.handle_disconnected(self.now, connection, failure);
                }
            }
            6 | 7 => self.deliver(a, b),
            8 => {
                if let Some(request) = pick(self.requests.keys(), a).copied() {
                    self.requests.remove(&request);
                    let failure = Failure {
                        retryable: !b.is_multiple_of(8),
                        after: (b.is_multiple_of(3)).then(|| Time::from_millis(u64::from(b))),
                        busy: b.is_multiple_of(5),
                    };
                    self.scheduler.handle_failed(self.now, request, failure);
                }
            }
            9 => self.let_go(a, b),
            10 => {
                self.now += Time::from_millis(u64::from(a) * u64::from(b));
                self.scheduler.handle_timeout(self.now);
            }
            _ if a.is_multiple_of(16) => self.scheduler.handle_source_failed(self.now, self.source),
            _ => self.now += Time::from_millis(a.into()),
        }
    }

    /// Some or all bytes of a request arrive, and perhaps its end.
    fn deliver(&mut self, which: u8, how: u8) {
        let Some(request) = pick(self.requests.keys(), which).copied() else { return };
        let Some(Sent { expected, .. }) = self.requests.get(&request).cloned() else { return };
        if matches!(expected, Expected::End(_)) {
            self.scheduler.handle_opened(self.now, request, FILE_BYTES);
            self.drain();
        }
        let segments = match expected {
            Expected::Segments(segments) => segments,
            Expected::End(part) => part.ranges(FILE_BYTES),
        };
        for segment in segments {
            let end = segment.start + (segment.end - segment.start) * u64::from(how % 5 + 1) / 5;
            self.scheduler.handle_data(self.now, request, segment.start..end);
            self.drain();
        }
        if how.is_multiple_of(2) && self.requests.remove(&request).is_some() {
            self.scheduler.handle_done(self.now, request);
        }
    }

    fn let_go(&mut self, which: u8, how: u8) {
        if let Some(want) = pick(self.ready.iter(), which).copied()
            && how.is_multiple_of(2)
        {
            self.ready.remove(&want);
            self.scheduler.release(self.now, want);
        } else if let Some(want) = pick(self.wants.iter(), which).copied() {
            match how % 3 {
                0 => self.scheduler.promote(self.now, want),
                1 => self.scheduler.resize(self.now, want, u64::from(how) * GRAIN),
                _ => {
                    self.wants.remove(&want);
                    self.scheduler.cancel(self.now, want);
                }
            }
        }
    }

    /// A good world from here on: everything that is waited for comes, or fails.
    fn finish(&mut self) {
        for _ in 0..100_000 {
            self.drain();
            for want in std::mem::take(&mut self.ready) {
                self.scheduler.release(self.now, want);
            }
            for connection in self.connections.clone() {
                self.scheduler.handle_connected(self.now, connection);
            }
            if self.requests.is_empty() {
                self.drain();
                if self.requests.is_empty() && self.ready.is_empty() {
                    let Some(at) = self.scheduler.poll_timeout() else { break };
                    self.now = self.now.max(at);
                    self.scheduler.handle_timeout(self.now);
                }
            }
            // All of it, and the end.
            self.deliver(0, 4);
        }
        assert!(self.wants.is_empty(), "never answered: {:?}", self.wants);
        assert_eq!(self.scheduler.snapshot().memory_bytes, 0, "memory is never given back");
    }
}

fn pick<T>(mut all: impl ExactSizeIterator<Item = T>, which: u8) -> Option<T> {
    let count = all.len();
    (count > 0).then(|| all.nth(usize::from(which) % count)).flatten()
}

pub fn run(data: &[u8]) {
    let mut world = World::new();
    let mut input = Input::new(data);
    while !input.is_empty() {
        world.operation(&mut input);
        world.drain();
    }
    world.finish();
}

fn seeds() -> Vec<Vec<u8>> {
    let orderly =
        b"\x03\x40\x40\x04\x00\x00\x06\x00\x04\x00\x10\x04\x01\x20\x08\x06\x00\x04\x09\x00\x00";
    let busy: Vec<u8> = (0..=255u8).map(|n| n.wrapping_mul(37) ^ (n >> 3)).collect();
    vec![orderly.to_vec(), busy]
}
