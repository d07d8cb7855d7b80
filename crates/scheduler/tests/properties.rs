//! Properties under any order of wants, cancellations, deliveries and failures: every want ends
//! once, nothing is asked for twice, memory comes back, and there is always a next step.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use farroot_scheduler::*;
use proptest::prelude::*;

use crate::world::ranges::Ranges;

const FILE_SIZE: u64 = 4 << 20;

/// One event or command; the numbers choose among the existing objects.
#[derive(Debug, Clone)]
enum Op {
    Want {
        file: usize,
        start: u64,
        length: u64,
        hint: bool,
        order: u64,
        cost: u64,
    },
    Promote(usize),
    Cancel(usize),
    Release(usize),
    Take(usize),
    Resize(usize, u64),
    Connected(usize),
    Disconnected(usize, bool),
    /// Some of the bytes that a request owes.
    Data(usize, u64),
    Done(usize),
    Failed(usize, bool),
    Open(usize),
    ForgetOpen(usize),
    AddSource(usize, usize),
    AddReplica(usize, usize),
    RemoveSource(usize),
    SourceFailed(usize),
    RemoveFile(usize),
    Pass(u64),
    Timeout,
}

fn op() -> impl Strategy<Value = Op> {
    let nth = 0usize..1000;
    let length = prop_oneof![Just(0u64), 1u64..5_000, 50_000u64..600_000];
    let want = (0usize..2, 0..FILE_SIZE + 1000, length, any::<bool>(), 0u64..5, 0u64..900_000);
    let want = want.prop_map(|(file, start, length, hint, order, cost)| Op::Want {
        file,
        start,
        length,
        hint,
        order,
        cost,
    });
    prop_oneof![
        30 => want,
        6 => nth.clone().prop_map(Op::Promote),
        6 => nth.clone().prop_map(Op::Cancel),
        10 => nth.clone().prop_map(Op::Release),
        4 => nth.clone().prop_map(Op::Take),
        3 => (nth.clone(), 0u64..900_000).prop_map(|(want, cost)| Op::Resize(want, cost)),
        20 => nth.clone().prop_map(Op::Connected),
        4 => (nth.clone(), prop::bool::weighted(0.9)).prop_map(|(c, r)| Op::Disconnected(c, r)),
        40 => (nth.clone(), 1u64..300_000).prop_map(|(request, bytes)| Op::Data(request, bytes)),
        30 => nth.clone().prop_map(Op::Done),
        5 => (nth.clone(), any::<bool>()).prop_map(|(request, retry)| Op::Failed(request, retry)),
        4 => (0usize..2).prop_map(Op::Open),
        2 => (0usize..2).prop_map(Op::ForgetOpen),
        3 => (0usize..2, 0usize..2).prop_map(|(file, server)| Op::AddSource(file, server)),
        6 => (0usize..2, 0usize..2).prop_map(|(file, server)| Op::AddReplica(file, server)),
        1 => nth.clone().prop_map(Op::RemoveSource),
        1 => nth.clone().prop_map(Op::SourceFailed),
        1 => (0usize..2).prop_map(Op::RemoveFile),
        8 => (0u64..3_000).prop_map(Op::Pass),
        12 => Just(Op::Timeout),
    ]
}

#[derive(Debug)]
struct Owed {
    connection: ConnectionId,
    file: FileId,
    part: Option<FileEnd>,
    opened: bool,
    cancelled: bool,
    segments: Vec<Range<u64>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Waiting,
    Ready,
    Taken,
    Gone,
}

/// The other side of the scheduler, and the promises to check.
struct Model {
    scheduler: Scheduler,
    now: Time,
    servers: [ServerId; 2],
    files: [FileId; 2],
    sources: Vec<SourceId>,
    connections: BTreeSet<ConnectionId>,
    requests: BTreeMap<RequestId, Owed>,
    wants: BTreeMap<WantId, (FileId, Range<u64>, Fate)>,
    store: BTreeMap<FileId, Ranges>,
    in_flight: BTreeMap<FileId, Ranges>,
    removed: BTreeSet<FileId>,
    /// Files whose open has not ended.
    opening: BTreeSet<FileId>,
}

impl Model {
    fn new() -> Self {
        let budgets = Budgets {
            memory_bytes_max: 1 << 20,
            readahead_bytes_floor: 100_000,
            readahead_bytes_max: 500_000,
            connections_initial: 3,
            connections_per_server_max: 5,
            requests_in_flight_per_connection_max: 3,
            ..Budgets::default()
        };
        let mut scheduler = Scheduler::new(budgets);
        let now = Time::ZERO;
        let vectored = ServerTraits {
            segments_max: 8,
            segment_bytes_max: 60_000,
            pipelined: true,
            ..ServerTraits::default()
        };
        let both_ends = BothEnds::Untried;
        let plain = ServerTraits { suffix: true, both_ends, ..ServerTraits::default() };
        let servers = [scheduler.add_server(now, vectored), scheduler.add_server(now, plain)];
        let files = [scheduler.add_file(now), scheduler.add_file(now)];
        let sources = vec![
            scheduler.add_source(now, files[0], servers[0]),
            scheduler.add_source(now, files[1], servers[1]),
        ];
        Model {
            scheduler,
            now,
            servers,
            files,
            sources,
            connections: BTreeSet::new(),
            requests: BTreeMap::new(),
            wants: BTreeMap::new(),
            store: BTreeMap::new(),
            in_flight: BTreeMap::new(),
            removed: BTreeSet::new(),
            opening: BTreeSet::new(),
        }
    }

    fn apply(&mut self, op: &Op) {
        let now = self.now;
        match *op {
            Op::Want { file, start, length, hint, order, cost } => {
                let urgency = if hint { Urgency::Hint } else { Urgency::Demand };
                let file = self.files[file];
                let range = start..start + length;
                let want =
                    self.scheduler.want(now, file, range.clone(), urgency, order, length.max(cost));
                self.wants.insert(want, (file, range, Fate::Waiting));
            }
            Op::Promote(n) => self.with_want(n, |model, want| model.scheduler.promote(now, want)),
            Op::Cancel(n) => self.with_want(n, |model, want| {
                model.wants.get_mut(&want).unwrap().2 = Fate::Gone;
                model.scheduler.cancel(now, want);
            }),
            Op::Release(n) => self.with_ready(n, |model, want| {
                model.wants.get_mut(&want).unwrap().2 = Fate::Gone;
                model.scheduler.release(now, want);
            }),
            Op::Take(n) => self.with_ready(n, |model, want| {
                model.wants.get_mut(&want).unwrap().2 = Fate::Taken;
                model.scheduler.take(now, want);
            }),
            Op::Resize(n, cost) => {
                self.with_want(n, |model, want| model.scheduler.resize(now, want, cost))
            }
            Op::Data(n, bytes) => self.deliver(n, bytes),
            Op::Done(n) => self.with_request(n, |model, request| {
                model.end_request(request);
                model.scheduler.handle_done(now, request);
            }),
            Op::Failed(n, retryable) => self.with_request(n, |model, request| {
                model.end_request(request);
                model.scheduler.handle_failed(
                    now,
                    request,
                    Failure { retryable, after: None, busy: false },
                );
            }),
            Op::RemoveFile(file) => self.remove_file(file),
            Op::Pass(ms) => self.now += Time::from_millis(ms),
            Op::Timeout => {
                if let Some(at) = self.scheduler.poll_timeout() {
                    self.now = self.now.max(at);
                    self.scheduler.handle_timeout(self.now);
                }
            }
            _ => self.apply_to_places(op),
        }
        self.drain();
    }

    /// Applies an event of connections, files and sources.
    fn apply_to_places(&mut self, op: &Op) {
        let now = self.now;
        match *op {
            Op::Connected(n) => {
                if let Some(connection) = pick(&self.connections, n) {
                    self.scheduler.handle_connected(now, connection);
                }
            }
            Op::Disconnected(n, retryable) => {
                if let Some(connection) = pick(&self.connections, n) {
                    self.drop_connection(connection);
                    self.scheduler.handle_disconnected(
                        now,
                        connection,
                        Failure { retryable, after: None, busy: false },
                    );
                }
            }
            Op::Open(file) => {
                if !self.removed.contains(&self.files[file]) {
                    self.opening.insert(self.files[file]);
                    let in_one = now.as_millis().is_multiple_of(2);
                    let ends = OpenEnds { head: 30_000, tail: 20_000, in_one };
                    self.scheduler.open_ends(now, self.files[file], ends);
                }
            }
            Op::ForgetOpen(file) => self.scheduler.forget_open(now, self.files[file]),
            Op::AddSource(file, server) => {
                let source = self.scheduler.add_source(now, self.files[file], self.servers[server]);
                self.sources.push(source);
            }
            Op::AddReplica(file, server) => {
                let source =
                    self.scheduler.add_replica(now, self.files[file], self.servers[server]);
                self.sources.push(source);
            }
            Op::RemoveSource(n) => {
                let source = self.sources[n % self.sources.len()];
                self.scheduler.remove_source(now, source);
            }
            Op::SourceFailed(n) => {
                let source = self.sources[n % self.sources.len()];
                self.scheduler.handle_source_failed(now, source);
            }
            _ => unreachable!("{op:?} happens to wants, requests or time"),
        }
    }

    fn with_want(&mut self, n: usize, act: impl FnOnce(&mut Self, WantId)) {
        let alive = self.wants.iter().filter(|(_, want)| want.2 != Fate::Gone);
        let alive: BTreeSet<WantId> = alive.map(|(id, _)| *id).collect();
        if let Some(want) = pick(&alive, n) {
            act(self, want);
        }
    }

    fn with_ready(&mut self, n: usize, act: impl FnOnce(&mut Self, WantId)) {
        let ready =
            self.wants.iter().filter(|(_, want)| matches!(want.2, Fate::Ready | Fate::Taken));
        let ready: BTreeSet<WantId> = ready.map(|(id, _)| *id).collect();
        if let Some(want) = pick(&ready, n) {
            act(self, want);
        }
    }

    fn with_request(&mut self, n: usize, act: impl FnOnce(&mut Self, RequestId)) {
        if let Some(request) = pick(&self.requests.keys().copied().collect(), n) {
            act(self, request);
        }
    }

    fn remove_file(&mut self, file: usize) {
        let file = self.files[file];
        self.scheduler.remove_file(self.now, file);
        self.removed.insert(file);
        self.opening.remove(&file);
        self.store.remove(&file);
        for want in self.wants.values_mut().filter(|want| want.0 == file) {
            want.2 = Fate::Gone;
        }
    }

    /// A request brings some of the bytes that it owes.
    fn deliver(&mut self, n: usize, bytes: u64) {
        let now = self.now;
        self.with_request(n, |model, id| {
            let request = model.requests.get_mut(&id).unwrap();
            let file = request.file;
            if request.part.is_some() && !request.opened {
                request.opened = true;
                model.scheduler.handle_opened(now, id, FILE_SIZE);
                return;
            }
            let Some(segment) = request.segments.last_mut() else { return };
            // Segments come in any order: the last first, and its end cut off.
            let range = segment.start..segment.end.min(segment.start + bytes);
            segment.start = range.end;
            if segment.is_empty() {
                request.segments.pop();
            }
            model.in_flight.entry(file).or_default().remove(&range);
            if !model.removed.contains(&file) {
                model.store.entry(file).or_default().insert(range.clone());
            }
            model.scheduler.handle_data(now, id, range);
        });
    }

    fn end_request(&mut self, id: RequestId) {
        let Some(request) = self.requests.remove(&id) else { return };
        if !request.cancelled {
            let in_flight = self.in_flight.entry(request.file).or_default();
            request.segments.iter().for_each(|segment| in_flight.remove(segment));
        }
    }

    fn drop_connection(&mut self, connection: ConnectionId) {
        self.connections.remove(&connection);
        let lost = self.requests.iter().filter(|(_, owed)| owed.connection == connection);
        for request in lost.map(|(id, _)| *id).collect::<Vec<_>>() {
            self.end_request(request);
        }
    }

    fn drain(&mut self) {
        for _ in 0..100_000 {
            if let Some(event) = self.scheduler.poll_event() {
                self.note(event);
            } else if let Some(action) = self.scheduler.poll_action(self.now) {
                self.act(action);
            } else {
                return;
            }
        }
        panic!("there is always something to do");
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Connect { connection, .. } => assert!(self.connections.insert(connection)),
            Action::Open { request, connection, file, part, joins, .. } => {
                assert!(self.connections.contains(&connection));
                let owed = Owed {
                    connection,
                    file,
                    part: Some(part),
                    opened: false,
                    cancelled: false,
                    // Bytes that only show that the file is the same are not kept.
                    segments: if joins { Vec::new() } else { part.ranges(FILE_SIZE) },
                };
                self.requests.insert(request, owed);
            }
            Action::Fetch { request, connection, file, segments, hedge, .. } => {
                assert!(self.connections.contains(&connection));
                assert!(!segments.is_empty());
                let in_flight = self.in_flight.entry(file).or_default();
                let store = self.store.entry(file).or_default();
                for segment in &segments {
                    assert!(segment.start < segment.end);
                    assert!(hedge || !in_flight.overlaps(segment), "{segment:?} is in flight");
                    assert!(!store.overlaps(segment), "{segment:?} is here");
                    in_flight.insert(segment.clone());
                }
                let owed = Owed {
                    connection,
                    file,
                    part: None,
                    opened: false,
                    cancelled: false,
                    segments,
                };
                self.requests.insert(request, owed);
            }
            Action::Cancel { request, .. } => {
                let Some(owed) = self.requests.get_mut(&request) else { return };
                owed.cancelled = true;
                let in_flight = self.in_flight.entry(owed.file).or_default();
                owed.segments.iter().for_each(|segment| in_flight.remove(segment));
            }
            Action::Disconnect { connection } => self.drop_connection(connection),
        }
    }

    fn note(&mut self, event: Event) {
        match event {
            Event::Ready { want } => {
                let (file, range, fate) = self.wants.get_mut(&want).unwrap();
                assert_eq!(*fate, Fate::Waiting, "{want:?}");
                *fate = Fate::Ready;
                assert!(range.is_empty() || self.store[file].contains(range), "{want:?}");
            }
            Event::Failed { want, .. } => {
                let fate = &mut self.wants.get_mut(&want).unwrap().2;
                assert_eq!(*fate, Fate::Waiting, "{want:?}");
                *fate = Fate::Gone;
            }
            Event::Forget { file, range } => {
                if let Some(store) = self.store.get_mut(&file) {
                    store.remove(&range);
                }
            }
            Event::SourceState { .. } => {}
            Event::Opened { file, .. } | Event::OpenFailed { file, .. } => {
                assert!(self.opening.remove(&file), "{file:?} ends opening twice");
            }
        }
    }

    /// The world behaves: everything asked for is done, everything ready is released.
    fn settle(&mut self) {
        for (file, server) in [(0, 0), (1, 1)] {
            self.apply(&Op::AddSource(file, server));
        }
        for _ in 0..5_000 {
            let waiting = self.wants.values().any(|want| want.2 == Fate::Waiting);
            if !waiting && self.requests.is_empty() && self.opening.is_empty() {
                break;
            }
            self.connections.clone().iter().for_each(|connection| {
                self.scheduler.handle_connected(self.now, *connection);
            });
            self.drain();
            if self.requests.is_empty() {
                self.apply(&Op::Release(0));
                self.apply(&Op::Timeout);
                continue;
            }
            self.now += Time::from_millis(1);
            for _ in 0..10 {
                self.apply(&Op::Data(0, u64::MAX / 2));
            }
            self.apply(&Op::Done(0));
            self.apply(&Op::Release(0));
        }
        while self.wants.values().any(|want| matches!(want.2, Fate::Ready | Fate::Taken)) {
            self.apply(&Op::Release(0));
        }
        for file in 0..2 {
            self.apply(&Op::ForgetOpen(file));
        }
    }
}

fn pick<T: Copy + Ord>(from: &BTreeSet<T>, n: usize) -> Option<T> {
    from.iter().nth(n % from.len().max(1)).copied()
}

fn check(ops: &[Op]) {
    let mut model = Model::new();
    ops.iter().for_each(|op| model.apply(op));
    model.settle();
    let unended: Vec<_> = model.wants.iter().filter(|(_, want)| want.2 != Fate::Gone).collect();
    assert!(unended.is_empty(), "{unended:?}");
    assert!(model.opening.is_empty(), "{:?} never end opening", model.opening);
    let figures = model.scheduler.snapshot();
    assert_eq!((figures.memory_bytes, figures.readahead_bytes), (0, 0));
    assert_eq!(
        (figures.counters.demands_unready, figures.demands_waiting, figures.hints_waiting),
        (0, 0, 0)
    );
    for server in &figures.servers {
        assert_eq!((server.requests_in_flight, server.in_flight_bytes), (0, 0));
    }
    for (file, store) in &model.store {
        assert!(model.removed.contains(file) || store.is_empty(), "{store:?} is never forgotten");
    }
}

/// The actions of a scheduler, as text.
fn transcript(ops: &[Op]) -> String {
    let mut model = Model::new();
    let mut transcript = String::new();
    for op in ops {
        model.apply(op);
        let figures = model.scheduler.snapshot();
        transcript += &format!("{figures:?} {:?}\n", model.requests);
    }
    transcript
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_want_ends_and_nothing_is_left(ops in prop::collection::vec(op(), 1..250)) {
        check(&ops);
    }

    #[test]
    fn the_same_calls_give_the_same_actions(ops in prop::collection::vec(op(), 1..60)) {
        prop_assert_eq!(transcript(&ops), transcript(&ops));
    }
}

/// A silent server was asked over one connection more than is polite, and that connection brought
/// bytes first: it was closed before they were counted, and they were asked for again.
#[test]
fn what_the_connection_too_many_brings_is_counted_before_it_is_closed() {
    check(&[
        Op::Want { file: 0, start: 0, length: 1, hint: false, order: 0, cost: 461290 },
        Op::Data(0, 1),
        Op::Data(0, 1),
        Op::Want { file: 0, start: 0, length: 1, hint: false, order: 0, cost: 587287 },
        Op::Want { file: 1, start: 0, length: 1, hint: false, order: 0, cost: 0 },
        Op::SourceFailed(338),
        Op::AddReplica(0, 0),
        Op::Want { file: 1, start: 0, length: 2, hint: false, order: 0, cost: 0 },
        Op::Open(0),
        Op::Done(683),
        Op::Failed(396, false),
        Op::AddReplica(1, 1),
        Op::Cancel(0),
        Op::Open(1),
        Op::Want { file: 1, start: 26080, length: 3921, hint: false, order: 0, cost: 248640 },
        Op::RemoveSource(109),
        Op::AddSource(0, 1),
        Op::Want { file: 0, start: 0, length: 537790, hint: true, order: 0, cost: 0 },
        Op::AddReplica(0, 0),
        Op::Timeout,
        Op::Data(195, 1),
        Op::Done(387),
        Op::Connected(780),
        Op::Cancel(13),
        Op::Data(721, 1),
        Op::Want { file: 0, start: 0, length: 1, hint: false, order: 0, cost: 0 },
        Op::Pass(2000),
        Op::Done(172),
        Op::Done(28),
        Op::Pass(1000),
        Op::Timeout,
        Op::Cancel(160),
        Op::Timeout,
        Op::Timeout,
        Op::Pass(1500),
        Op::Promote(496),
        Op::Data(612, 123803),
        Op::Timeout,
        Op::Done(443),
        Op::Done(6),
    ]);
}

/// The last bytes were left to the other source, which had become the better one while it slept:
/// nothing woke it.
#[test]
fn a_share_that_moves_to_another_server_wakes_it() {
    check(&[
        Op::AddSource(1, 0),
        Op::Open(1),
        Op::Connected(32),
        Op::Done(134),
        Op::Connected(703),
        Op::Want { file: 1, start: 0, length: 139695, hint: false, order: 0, cost: 0 },
        Op::Pass(203),
        Op::Data(1, 1),
    ]);
}
