//! A small world in virtual time: one server behind one link, TCP's slow start on each
//! connection, a store of delivered bytes. It drives the scheduler by the run-loop law and holds
//! it to its promises at each step: nothing is asked for twice, nothing is ready before it is
//! here, nothing is kept that was to be forgotten.

pub mod ranges;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;

use farroot_scheduler::*;

pub use ranges::Ranges;

pub const MIB: u64 = 1 << 20;
pub const GBIT: u64 = 125_000_000;

pub fn ms(ms: u64) -> Time {
    Time::from_millis(ms)
}

/// An xrootd data server.
pub fn xrootd() -> ServerTraits {
    ServerTraits {
        segments_max: 1024,
        segment_bytes_max: 2_097_136,
        request_bytes_max: 8 * MIB,
        pipelined: true,
        ..ServerTraits::default()
    }
}

/// A server of HTTP/1.1.
pub fn http() -> ServerTraits {
    ServerTraits { suffix: true, ..ServerTraits::default() }
}

/// The link between client and server.
#[derive(Debug, Clone)]
pub struct Link {
    pub rtt: Time,
    /// Bytes per second of all connections together; None: no limit.
    pub rate: Option<u64>,
    /// Bytes per second of one connection.
    pub flow_rate: Option<u64>,
    /// Bytes a sender may have unacknowledged, whatever its window.
    pub window_max: u64,
    /// A login follows the TCP handshake (xrootd).
    pub login: bool,
    /// The server's time for a request.
    pub overhead: Time,
}

impl Link {
    pub fn new(rtt: Time) -> Self {
        Link {
            rtt,
            rate: None,
            flow_rate: None,
            window_max: 8 * MIB,
            login: true,
            overhead: Time::ZERO,
        }
    }

    pub fn rate(self, rate: u64) -> Self {
        Link { rate: Some(rate), ..self }
    }
}

#[derive(Debug)]
enum Happening {
    Connected(ConnectionId),
    /// A request reaches the server.
    Arrived(ConnectionId, RequestId),
    /// The server may go on with a connection.
    Pump(ConnectionId),
    /// A packet reaches the client.
    Packet {
        connection: ConnectionId,
        request: RequestId,
        range: Option<Range<u64>>,
        last: bool,
    },
    /// Its acknowledgement reaches the server.
    Acknowledged(ConnectionId, u64),
    /// The consumer is done with a want.
    Release(WantId),
}

#[derive(Debug)]
struct Job {
    request: RequestId,
    open: bool,
    started: bool,
    segments: VecDeque<Range<u64>>,
}

#[derive(Debug)]
struct Flow {
    /// When the client may first send on it.
    open_at: Time,
    jobs: VecDeque<Job>,
    window: u64,
    unacknowledged: u64,
    free_at: Time,
    busy_until: Time,
}

/// The consumer's treatment of a ready want.
#[derive(Debug, Clone, Copy)]
pub enum Consumer {
    Releases,
    Keeps,
    /// Takes this long over each, one after the other.
    Takes(Time),
}

pub struct World {
    pub scheduler: Scheduler,
    pub now: Time,
    pub link: Link,
    pub consumer: Consumer,
    pub file_size: u64,
    pub file: FileId,
    /// One line for each action.
    pub log: Vec<String>,
    pub ready: BTreeMap<WantId, Time>,
    pub failed: BTreeMap<WantId, WantFailure>,
    pub opened: Option<(u64, Time)>,
    pub open_failed: Option<WantFailure>,
    pub wants: BTreeMap<WantId, Range<u64>>,
    pub memory_peak: u64,
    pub fetches: u64,
    /// Connections no longer answer.
    pub dead: bool,
    pub store: Ranges,
    pub flows_made: u32,
    flows: BTreeMap<ConnectionId, Flow>,
    requests: BTreeMap<RequestId, (ConnectionId, bool, Vec<Range<u64>>)>,
    cancelled: BTreeSet<RequestId>,
    in_flight: Ranges,
    happenings: BTreeMap<(Time, u64), Happening>,
    next: u64,
    link_free_at: Time,
    consumer_free_at: Time,
}

impl World {
    pub fn new(budgets: Budgets, traits: ServerTraits, link: Link) -> Self {
        // A world runs until nothing more happens; it would wait for idle connections to end.
        let mut scheduler = Scheduler::new(Budgets { idle_max: Time::MAX, ..budgets });
        let server = scheduler.add_server(Time::ZERO, traits);
        let file = scheduler.add_file(Time::ZERO);
        scheduler.add_source(Time::ZERO, file, server);
        World {
            scheduler,
            now: Time::ZERO,
            link,
            consumer: Consumer::Releases,
            file_size: 1 << 40,
            file,
            log: Vec::new(),
            ready: BTreeMap::new(),
            failed: BTreeMap::new(),
            opened: None,
            open_failed: None,
            wants: BTreeMap::new(),
            memory_peak: 0,
            fetches: 0,
            dead: false,
            store: Ranges::default(),
            flows_made: 0,
            flows: BTreeMap::new(),
            requests: BTreeMap::new(),
            cancelled: BTreeSet::new(),
            in_flight: Ranges::default(),
            happenings: BTreeMap::new(),
            next: 0,
            link_free_at: Time::ZERO,
            consumer_free_at: Time::ZERO,
        }
    }

    pub fn open(&mut self, head: u64, tail: u64) {
        self.scheduler.open(self.now, self.file, head, tail);
    }

    pub fn demand(&mut self, range: Range<u64>, order: u64) -> WantId {
        self.want(range, Urgency::Demand, order)
    }

    pub fn hint(&mut self, range: Range<u64>, order: u64) -> WantId {
        self.want(range, Urgency::Hint, order)
    }

    fn want(&mut self, range: Range<u64>, urgency: Urgency, order: u64) -> WantId {
        let cost = range.end - range.start;
        let want = self.scheduler.want(self.now, self.file, range.clone(), urgency, order, cost);
        self.wants.insert(want, range);
        want
    }

    /// Runs until nothing more happens.
    pub fn run(&mut self) {
        self.run_while(|_| true);
    }

    /// Runs as long as `go_on` says so and anything happens.
    pub fn run_while(&mut self, go_on: impl Fn(&World) -> bool) {
        self.drain();
        for _ in 0..20_000_000 {
            if !go_on(self) || !self.step() {
                return;
            }
        }
        panic!("it goes on for ever");
    }

    /// Runs until this time.
    pub fn run_until(&mut self, until: Time) {
        self.drain();
        while self.next_time().is_some_and(|at| at <= until) && self.step() {}
        self.now = self.now.max(until);
        self.drain();
    }

    /// How many round trips had passed when the open or the last want was through.
    pub fn trips(&self) -> f64 {
        let opened = self.opened.map(|(_, at)| at);
        let last = self.ready.values().copied().chain(opened).max().unwrap_or(self.now);
        (last.as_secs_f64() / self.link.rtt.as_secs_f64() * 100.0).round() / 100.0
    }

    /// All connections break.
    pub fn break_connections(&mut self) {
        for connection in self.flows.keys().copied().collect::<Vec<_>>() {
            self.break_connection(connection);
        }
    }

    pub fn connections(&self) -> Vec<ConnectionId> {
        self.flows.keys().copied().collect()
    }

    pub fn break_connection(&mut self, connection: ConnectionId) {
        self.forget_connection(connection);
        let failure = Failure::LATER;
        self.scheduler.handle_disconnected(self.now, connection, failure);
        self.drain();
    }

    fn forget_connection(&mut self, connection: ConnectionId) {
        self.flows.remove(&connection);
        let lost: Vec<RequestId> =
            self.requests.iter().filter(|(_, r)| r.0 == connection).map(|(id, _)| *id).collect();
        for request in lost {
            self.end_request(request);
        }
    }

    fn next_time(&self) -> Option<Time> {
        let happening = self.happenings.keys().next().map(|(at, _)| *at);
        [happening, self.scheduler.poll_timeout()].into_iter().flatten().min()
    }

    /// The next thing happens. False: nothing will.
    fn step(&mut self) -> bool {
        let Some(at) = self.next_time() else { return false };
        self.now = self.now.max(at);
        match self.happenings.first_key_value() {
            Some((key, _)) if key.0 <= self.now => {
                let (_, happening) = self.happenings.pop_first().unwrap();
                self.happen(happening);
            }
            _ => self.scheduler.handle_timeout(self.now),
        }
        self.drain();
        true
    }

    fn at(&mut self, at: Time, happening: Happening) {
        self.next += 1;
        self.happenings.insert((at, self.next), happening);
    }

    fn happen(&mut self, happening: Happening) {
        let half = self.link.rtt / 2;
        match happening {
            Happening::Connected(connection) => {
                if self.flows.contains_key(&connection) {
                    self.scheduler.handle_connected(self.now, connection);
                }
            }
            Happening::Arrived(connection, request) => {
                let Some((_, open, segments)) = self.requests.get(&request) else { return };
                let segments = segments.iter().cloned().collect();
                let job = Job { request, open: *open, started: false, segments };
                let Some(flow) = self.flows.get_mut(&connection) else { return };
                flow.jobs.push_back(job);
                self.pump(connection);
            }
            Happening::Pump(connection) => self.pump(connection),
            Happening::Packet { connection, request, range, last } => {
                if !self.flows.contains_key(&connection) {
                    return;
                }
                if let Some(range) = range {
                    self.at(
                        self.now + half,
                        Happening::Acknowledged(connection, range.end - range.start),
                    );
                    self.receive(request, range);
                } else {
                    self.scheduler.handle_opened(self.now, request, self.file_size);
                }
                if last {
                    self.end_request(request);
                    self.scheduler.handle_done(self.now, request);
                }
            }
            Happening::Acknowledged(connection, bytes) => {
                let Some(flow) = self.flows.get_mut(&connection) else { return };
                flow.unacknowledged -= bytes;
                flow.window = (flow.window + bytes).min(self.link.window_max);
                self.pump(connection);
            }
            Happening::Release(want) => self.scheduler.release(self.now, want),
        }
    }

    fn receive(&mut self, request: RequestId, range: Range<u64>) {
        if !self.cancelled.contains(&request) {
            self.in_flight.remove(&range);
        }
        self.store.insert(range.clone());
        self.scheduler.handle_data(self.now, request, range);
    }

    /// The server sends as many bytes as the window allows.
    fn pump(&mut self, connection: ConnectionId) {
        let half = self.link.rtt / 2;
        loop {
            if self.dead {
                return;
            }
            let Some(flow) = self.flows.get_mut(&connection) else { return };
            let Some(job) = flow.jobs.front_mut() else { return };
            if !job.started {
                job.started = true;
                let request = job.request;
                let open = job.open;
                flow.busy_until = self.now + self.link.overhead;
                let busy_until = flow.busy_until;
                if open {
                    let packet =
                        Happening::Packet { connection, request, range: None, last: false };
                    self.at(busy_until + half, packet);
                }
                self.at(busy_until, Happening::Pump(connection));
                return;
            }
            if self.now < flow.busy_until || flow.unacknowledged >= flow.window {
                return;
            }
            let Some(segment) = job.segments.front_mut() else {
                flow.jobs.pop_front();
                continue;
            };
            let packet = if flow.window > MIB { 16 * 1448 } else { 1448 };
            let end = segment.end.min(segment.start + packet);
            let range = segment.start..end;
            segment.start = end;
            if segment.start == segment.end {
                job.segments.pop_front();
            }
            let request = job.request;
            let last = job.segments.is_empty();
            let bytes = range.end - range.start;
            flow.unacknowledged += bytes;
            let mut departs = self.now;
            if let Some(rate) = self.link.flow_rate {
                departs = departs.max(flow.free_at) + duration(bytes, rate);
                flow.free_at = departs;
            }
            if let Some(rate) = self.link.rate {
                departs = departs.max(self.link_free_at) + duration(bytes, rate);
                self.link_free_at = departs;
            }
            let range = Some(range);
            self.at(departs + half, Happening::Packet { connection, request, range, last });
        }
    }

    /// The run-loop law: actions and events, until both are empty.
    pub fn drain(&mut self) {
        loop {
            if let Some(action) = self.scheduler.poll_action(self.now) {
                self.act(action);
            } else if let Some(event) = self.scheduler.poll_event() {
                self.note(event);
            } else {
                break;
            }
        }
        self.memory_peak = self.memory_peak.max(self.scheduler.snapshot().memory_bytes);
    }

    fn act(&mut self, action: Action) {
        let rtt = self.link.rtt;
        self.log.push(self.line(&action));
        match action {
            Action::Connect { connection, .. } => {
                self.flows_made += 1;
                let flow = Flow {
                    open_at: self.now + rtt,
                    jobs: VecDeque::new(),
                    window: 14_480,
                    unacknowledged: 0,
                    free_at: Time::ZERO,
                    busy_until: Time::ZERO,
                };
                self.flows.insert(connection, flow);
                if !self.dead {
                    let trips = if self.link.login { 2 } else { 1 };
                    self.at(self.now + rtt * trips, Happening::Connected(connection));
                }
            }
            Action::Open { request, connection, part, .. } => {
                let ranges = part.ranges(self.file_size);
                ranges.iter().for_each(|range| self.in_flight.insert(range.clone()));
                self.send(request, connection, true, ranges);
            }
            Action::Fetch { request, connection, segments, .. } => {
                self.fetches += 1;
                for segment in &segments {
                    assert!(!segment.is_empty(), "an empty segment");
                    assert!(!self.in_flight.overlaps(segment), "{segment:?} is in flight");
                    assert!(!self.store.overlaps(segment), "{segment:?} is here");
                    self.in_flight.insert(segment.clone());
                }
                assert!(segments.windows(2).all(|pair| pair[0].end <= pair[1].start));
                self.send(request, connection, false, segments);
            }
            Action::Cancel { request, .. } => {
                if let Some((_, _, segments)) = self.requests.get(&request) {
                    segments.iter().for_each(|segment| self.in_flight.remove(segment));
                    self.cancelled.insert(request);
                }
            }
            Action::Disconnect { connection } => self.forget_connection(connection),
        }
    }

    fn send(&mut self, id: RequestId, to: ConnectionId, open: bool, segments: Vec<Range<u64>>) {
        let flow = self.flows.get(&to).expect("a connection that was asked for");
        let arrives = self.now.max(flow.open_at) + self.link.rtt / 2;
        self.requests.insert(id, (to, open, segments));
        self.at(arrives, Happening::Arrived(to, id));
    }

    fn end_request(&mut self, id: RequestId) {
        if let Some((_, _, segments)) = self.requests.remove(&id)
            && !self.cancelled.remove(&id)
        {
            segments.iter().for_each(|segment| self.in_flight.remove(segment));
        }
    }

    fn note(&mut self, event: Event) {
        match event {
            Event::Ready { want } => {
                let range = &self.wants[&want];
                assert!(self.store.contains(range), "{want:?} {range:?} is ready and not here");
                assert!(self.ready.insert(want, self.now).is_none(), "{want:?} is ready twice");
                match self.consumer {
                    Consumer::Releases => self.scheduler.release(self.now, want),
                    Consumer::Keeps => {}
                    Consumer::Takes(time) => {
                        self.consumer_free_at = self.consumer_free_at.max(self.now) + time;
                        self.at(self.consumer_free_at, Happening::Release(want));
                    }
                }
            }
            Event::Failed { want, why } => {
                assert!(self.failed.insert(want, why).is_none(), "{want:?} has failed twice");
            }
            Event::Forget { range, .. } => {
                assert!(self.store.contains(&range), "{range:?} was never here");
                self.store.remove(&range);
            }
            Event::SourceState { .. } => {}
            Event::Opened { size, .. } => self.opened = Some((size, self.now)),
            Event::OpenFailed { why, .. } => self.open_failed = Some(why),
        }
    }

    fn line(&self, action: &Action) -> String {
        let at = self.now.as_secs_f64() * 1e3;
        match action {
            Action::Connect { connection, .. } => format!("{at:.0} ms  c{} connect", connection.0),
            Action::Open { connection, part, .. } => {
                format!("{at:.0} ms  c{} open {part:?}", connection.0)
            }
            Action::Fetch { connection, segments, .. } => {
                let bytes: u64 = segments.iter().map(|segment| segment.end - segment.start).sum();
                let first = segments[0].start;
                let last = segments[segments.len() - 1].end;
                let count = segments.len();
                format!(
                    "{at:.0} ms  c{} fetch {bytes} bytes in {count} of {first}..{last}",
                    connection.0
                )
            }
            Action::Cancel { connection, .. } => format!("{at:.0} ms  c{} cancel", connection.0),
            Action::Disconnect { connection } => {
                format!("{at:.0} ms  c{} disconnect", connection.0)
            }
        }
    }
}

fn duration(bytes: u64, rate: u64) -> Time {
    Time::from_nanos((u128::from(bytes) * 1_000_000_000 / u128::from(rate)) as u64)
}
