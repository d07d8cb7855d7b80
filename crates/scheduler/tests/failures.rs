//! Failures, and the scheduler's answers: events in, actions out, by hand.

use farroot_scheduler::*;

fn ms(ms: u64) -> Time {
    Time::from_millis(ms)
}

const LATER: Failure = Failure::LATER;
const NEVER: Failure = Failure::NEVER;

struct Hand {
    scheduler: Scheduler,
    now: Time,
    server: ServerId,
    file: FileId,
    source: SourceId,
}

/// Actions and events of one drain.
#[derive(Debug, Default)]
struct Out {
    connects: Vec<(ConnectionId, ServerId)>,
    opens: Vec<(RequestId, ConnectionId, SourceId)>,
    fetches: Vec<(RequestId, ConnectionId, SourceId, Vec<std::ops::Range<u64>>)>,
    cancels: Vec<RequestId>,
    disconnects: Vec<ConnectionId>,
    events: Vec<Event>,
    states: Vec<(SourceId, SourceState)>,
}

impl Hand {
    fn new(budgets: Budgets) -> Self {
        let mut scheduler = Scheduler::new(budgets);
        let traits = ServerTraits { pipelined: true, segments_max: 8, ..ServerTraits::default() };
        let server = scheduler.add_server(Time::ZERO, traits);
        let file = scheduler.add_file(Time::ZERO);
        let source = scheduler.add_source(Time::ZERO, file, server);
        Hand { scheduler, now: Time::ZERO, server, file, source }
    }

    /// With a single connection, for short stories.
    fn single() -> Self {
        Hand::new(Budgets {
            connections_initial: 1,
            connections_per_server_max: 1,
            ..Budgets::default()
        })
    }

    fn demand(&mut self, range: std::ops::Range<u64>) -> WantId {
        let cost = range.end - range.start;
        self.scheduler.want(self.now, self.file, range, Urgency::Demand, 0, cost)
    }

    fn drain(&mut self) -> Out {
        let mut out = Out::default();
        loop {
            match self.scheduler.poll_action(self.now) {
                Some(Action::Connect { connection, server }) => {
                    out.connects.push((connection, server));
                }
                Some(Action::Open { request, connection, source, .. }) => {
                    out.opens.push((request, connection, source));
                }
                Some(Action::Fetch { request, connection, source, segments, .. }) => {
                    out.fetches.push((request, connection, source, segments));
                }
                Some(Action::Cancel { request, .. }) => out.cancels.push(request),
                Some(Action::Disconnect { connection }) => out.disconnects.push(connection),
                None => match self.scheduler.poll_event() {
                    Some(Event::SourceState { source, state, .. }) => {
                        out.states.push((source, state));
                    }
                    Some(event) => out.events.push(event),
                    None => return out,
                },
            }
        }
    }

    /// Sleeps until the scheduler wants to be woken.
    fn sleep(&mut self) -> Out {
        let at = self.scheduler.poll_timeout().expect("something to wait for");
        assert!(at >= self.now, "a time-out in the past");
        self.now = at;
        self.scheduler.handle_timeout(at);
        self.drain()
    }
}

#[test]
fn a_refused_port_is_an_error_after_a_few_tries() {
    let mut hand = Hand::new(Budgets::default());
    hand.scheduler.open(hand.now, hand.file, 1000, 0);
    let mut out = hand.drain();
    let mut rounds = 0;
    while out.events.is_empty() {
        rounds += 1;
        for (connection, _) in std::mem::take(&mut out.connects) {
            hand.scheduler.handle_disconnected(hand.now, connection, LATER);
        }
        out = hand.drain();
        if out.events.is_empty() {
            out = hand.sleep();
        }
    }
    let why = WantFailure::Source { source: hand.source };
    assert_eq!(out.events, [Event::OpenFailed { file: hand.file, why }]);
    assert_eq!(rounds, 5);
    assert!(hand.now <= ms(2_000), "{:?}", hand.now);
}

/// Regression: an open used its five tries within milliseconds, one on each connection that a
/// killed server left behind, where the server next to it would have answered after a moment.
#[test]
fn connections_that_end_together_cost_an_open_one_try() {
    let mut hand = Hand::new(Budgets::default());
    hand.scheduler.update_server(hand.now, hand.server, ServerTraits::default());
    hand.scheduler.open(hand.now, hand.file, 1000, 1000);
    let mut out = hand.drain();
    let mut tries = Vec::new();
    while out.events.is_empty() {
        if out.opens.is_empty() && out.connects.is_empty() {
            out = hand.sleep();
        }
        for (connection, _) in std::mem::take(&mut out.connects) {
            hand.scheduler.handle_connected(hand.now, connection);
        }
        // Each ends as it is met.
        if let Some((_, connection, _)) = out.opens.first() {
            tries.push(hand.now.as_millis());
            hand.scheduler.handle_disconnected(hand.now, *connection, LATER);
        }
        out = hand.drain();
    }
    tries.dedup();
    assert_eq!(tries, [0, 100, 300, 700]);
}

#[test]
fn a_server_that_never_answers_is_given_up_when_the_first_connection_times_out() {
    let mut hand = Hand::new(Budgets::default());
    let want = hand.demand(0..1000);
    let out = hand.drain();
    hand.now = ms(5_000);
    for (connection, _) in out.connects {
        hand.scheduler.handle_disconnected(hand.now, connection, LATER);
    }
    let why = WantFailure::Source { source: hand.source };
    assert_eq!(hand.drain().events, [Event::Failed { want, why }]);
}

#[test]
fn a_plain_no_is_not_asked_twice() {
    let mut hand = Hand::new(Budgets::default());
    hand.scheduler.open(hand.now, hand.file, 1000, 0);
    let out = hand.drain();
    hand.scheduler.handle_failed(ms(200), out.opens[0].0, NEVER);
    let why = WantFailure::Source { source: hand.source };
    let out = hand.drain();
    assert_eq!(out.events, [Event::OpenFailed { file: hand.file, why }]);
    assert!(out.opens.is_empty());
    let want = hand.demand(0..10);
    let why = WantFailure::NoSource;
    assert_eq!(hand.drain().events, [Event::Failed { want, why }]);
}

#[test]
fn a_failed_request_is_tried_again_after_growing_pauses_and_then_fails() {
    let mut hand = Hand::single();
    let want = hand.demand(0..1000);
    let mut out = hand.drain();
    hand.scheduler.handle_connected(hand.now, out.connects[0].0);
    let mut tries = Vec::new();
    loop {
        if let Some(Event::Failed { want: failed, .. }) = out.events.first() {
            assert_eq!(*failed, want);
            break;
        }
        if let Some((request, ..)) = out.fetches.first() {
            tries.push(hand.now.as_millis());
            hand.scheduler.handle_failed(hand.now, *request, LATER);
            out = hand.drain();
        } else {
            out = hand.sleep();
        }
    }
    assert_eq!(tries, [0, 100, 300, 700, 1500]);
    assert_eq!(hand.scheduler.snapshot().memory_bytes, 0);
}

#[test]
fn a_short_answer_is_completed_and_a_server_that_never_completes_fails() {
    let mut hand = Hand::single();
    let want = hand.demand(0..1000);
    let out = hand.drain();
    let (request, ..) = out.fetches[0];
    hand.scheduler.handle_data(ms(1), request, 0..600);
    hand.scheduler.handle_done(ms(1), request);
    let mut out = hand.drain();
    assert_eq!(out.fetches[0].3, [600..1000], "only what is missing");
    let mut tries = 1;
    while let Some((request, ..)) = out.fetches.first() {
        tries += 1;
        hand.scheduler.handle_done(ms(2), *request);
        out = hand.drain();
    }
    assert_eq!(tries, 5);
    assert!(matches!(out.events[..], [Event::Failed { want: failed, .. }, Event::Forget { .. }]
        | [Event::Forget { .. }, Event::Failed { want: failed, .. }] if failed == want));
}

#[test]
fn another_source_takes_over_what_the_first_one_refuses() {
    let mut hand = Hand::single();
    let other_server = hand.scheduler.add_server(hand.now, ServerTraits::default());
    let other = hand.scheduler.add_source(hand.now, hand.file, other_server);
    let want = hand.demand(0..1000);
    let out = hand.drain();
    hand.scheduler.handle_failed(ms(10), out.fetches[0].0, NEVER);
    let out = hand.drain();
    assert_eq!(out.connects[0].1, other_server);
    let (request, _, source, _) = out.fetches[0].clone();
    assert_eq!(source, other);
    hand.scheduler.handle_data(ms(20), request, 0..1000);
    assert_eq!(hand.drain().events, [Event::Ready { want }]);
}

#[test]
fn a_redirected_open_goes_on_at_the_new_server_at_once() {
    let mut hand = Hand::new(Budgets::default());
    hand.scheduler.open(hand.now, hand.file, 1000, 0);
    let request = hand.drain().opens[0].0;
    let data_server = hand.scheduler.add_server(ms(200), ServerTraits::default());
    let new = hand.scheduler.add_source(ms(200), hand.file, data_server);
    hand.scheduler.remove_source(ms(200), hand.source);
    hand.scheduler.handle_done(ms(200), request);
    hand.now = ms(200);
    let out = hand.drain();
    assert_eq!(out.connects.len(), 16, "all connections at the first moment");
    assert_eq!((out.opens.len(), out.opens[0].2), (1, new));
    let request = out.opens[0].0;
    hand.scheduler.handle_opened(ms(400), request, 5000);
    hand.scheduler.handle_data(ms(400), request, 0..1000);
    hand.scheduler.handle_done(ms(400), request);
    let opened = Event::Opened { file: hand.file, size: 5000 };
    assert_eq!(hand.drain().events, [opened]);
}

#[test]
fn what_waits_when_the_last_source_is_removed_goes_to_the_next_one() {
    let mut hand = Hand::single();
    hand.demand(0..1000);
    let out = hand.drain();
    hand.scheduler.remove_source(ms(10), hand.source);
    let out2 = hand.drain();
    assert_eq!(out2.cancels, [out.fetches[0].0]);
    assert!(out2.events.is_empty() && out2.fetches.is_empty());
    hand.scheduler.add_source(ms(20), hand.file, hand.server);
    hand.scheduler.handle_done(ms(20), out.fetches[0].0);
    assert_eq!(hand.drain().fetches[0].3, [0..1000]);
}

/// A demand was moved from one silent connection to the next, and failed after three times the
/// documented 30 s.
#[test]
fn a_demand_fails_with_its_silent_connection_and_the_next_one_has_another() {
    let mut hand = Hand::single();
    let traits = ServerTraits { max_connections: Some(1), ..ServerTraits::default() };
    hand.scheduler.update_server(hand.now, hand.server, traits);
    let want = hand.demand(0..1000);
    let out = hand.drain();
    let first = out.connects[0].0;
    hand.scheduler.handle_connected(ms(100), first);
    hand.drain();
    let mut out = hand.sleep();
    while out.disconnects.is_empty() {
        assert!(out.connects.is_empty(), "the server allows one");
        out = hand.sleep();
    }
    assert_eq!(hand.now, ms(30_100));
    assert_eq!(out.disconnects, [first]);
    let why = WantFailure::TooSlow { waited: ms(30_000), bytes: 0 };
    assert_eq!(out.events, [Event::Failed { want, why }]);
    hand.demand(0..1000);
    let mut out = hand.drain();
    while out.connects.is_empty() {
        out = hand.sleep();
    }
    assert_eq!((out.connects.len(), out.fetches.len()), (1, 1));
}

#[test]
fn an_idle_connection_is_closed_and_made_anew_when_there_is_work() {
    let mut hand = Hand::single();
    hand.demand(0..1000);
    let out = hand.drain();
    let first = out.connects[0].0;
    let request = out.fetches[0].0;
    hand.scheduler.handle_connected(ms(100), first);
    hand.scheduler.handle_data(ms(200), request, 0..1000);
    hand.scheduler.handle_done(ms(200), request);
    hand.now = ms(200);
    hand.drain();
    let out = hand.sleep();
    assert_eq!((hand.now, &out.disconnects[..]), (ms(300_200), &[first][..]));
    assert_eq!(hand.scheduler.poll_timeout(), None);
    hand.demand(5000..6000);
    let out = hand.drain();
    assert_eq!((out.connects.len(), out.fetches.len()), (1, 1), "no pause: nothing has failed");
}

#[test]
fn a_server_that_takes_only_some_connections_is_not_pressed() {
    let mut hand = Hand::new(Budgets::default());
    hand.scheduler.open(hand.now, hand.file, 1000, 0);
    let out = hand.drain();
    for (index, (connection, _)) in out.connects.iter().enumerate() {
        if index < 3 {
            hand.scheduler.handle_connected(ms(100), *connection);
        } else {
            hand.scheduler.handle_disconnected(ms(101), *connection, LATER);
        }
    }
    hand.now = ms(101);
    hand.demand(10_000..50_000_000);
    let out = hand.drain();
    assert!(out.connects.is_empty());
    let used: std::collections::BTreeSet<_> = out.fetches.iter().map(|fetch| fetch.1).collect();
    assert_eq!(used.len(), 3);
}

#[test]
fn what_is_cancelled_in_flight_is_stopped_and_can_be_wanted_again() {
    let mut hand = Hand::single();
    // One request at a time is a long one.
    hand.scheduler.update_server(hand.now, hand.server, ServerTraits::default());
    let want = hand.demand(0..1_000_000);
    let out = hand.drain();
    let (request, ..) = out.fetches[0];
    hand.scheduler.cancel(ms(20), want);
    assert_eq!(hand.drain().cancels, [request]);
    // Late data of a request that could not be stopped belong to no want, and its connection is
    // still busy.
    hand.scheduler.handle_data(ms(30), request, 0..1000);
    assert_eq!(hand.drain().events, [Event::Forget { file: hand.file, range: 0..1000 }]);
    let again = hand.demand(0..1000);
    assert!(hand.drain().fetches.is_empty());
    hand.scheduler.handle_done(ms(40), request);
    let request = hand.drain().fetches[0].0;
    hand.scheduler.handle_data(ms(50), request, 0..1000);
    assert_eq!(hand.drain().events, [Event::Ready { want: again }]);
}

#[test]
fn little_in_flight_is_let_come_and_serves_whoever_wants_it_then() {
    let mut hand = Hand::single();
    let want = hand.demand(0..1000);
    let (request, ..) = hand.drain().fetches[0];
    hand.scheduler.cancel(ms(20), want);
    assert!(hand.drain().cancels.is_empty());
    let again = hand.demand(0..1000);
    assert!(hand.drain().fetches.is_empty());
    hand.scheduler.handle_data(ms(30), request, 0..1000);
    assert_eq!(hand.drain().events, [Event::Ready { want: again }]);
}

#[test]
fn nonsense_is_ignored() {
    let mut hand = Hand::single();
    let want = hand.demand(10..20);
    let request = hand.drain().fetches[0].0;
    let now = hand.now;
    let no_request = RequestId(999);
    let no_connection = ConnectionId(999);
    hand.scheduler.handle_data(now, no_request, 0..100);
    hand.scheduler.handle_done(now, no_request);
    hand.scheduler.handle_opened(now, no_request, 5);
    hand.scheduler.handle_opened(now, request, 1000);
    hand.scheduler.handle_connected(now, no_connection);
    hand.scheduler.handle_disconnected(now, no_connection, NEVER);
    hand.scheduler.release(now, WantId(999));
    hand.scheduler.promote(now, WantId(999));
    hand.scheduler.remove_source(now, SourceId(9));
    hand.scheduler.remove_file(now, FileId(9));
    hand.scheduler.handle_data(now, request, u64::MAX - 1..u64::MAX);
    #[expect(clippy::reversed_empty_ranges, reason = "nonsense")]
    hand.scheduler.handle_data(now, request, 20..10);
    hand.scheduler.handle_data(now, request, 0..1_000_000);
    let events = hand.drain().events;
    assert!(events.contains(&Event::Ready { want }), "{events:?}");
    assert!(events.contains(&Event::Forget { file: hand.file, range: 0..10 }), "{events:?}");
    let far = hand.demand(u64::MAX - 5..u64::MAX);
    assert!(matches!(hand.drain().events[..], [Event::Failed { want, .. }] if want == far));
}

/// Regression: a door had led to a pool that ended its sessions while it was asked whether it had
/// the file. Its source was given up, the only one, and all reads with it.
#[test]
fn the_only_source_is_asked_again_when_its_connection_ends_before_it_has_joined() {
    ask_a_pool_that_ends_its_sessions(|hand, connection, _| {
        hand.scheduler.handle_disconnected(hand.now, connection, LATER);
    });
}

/// The same, where the request is reported as failed before its connection ends.
#[test]
fn the_only_source_is_asked_again_when_it_fails_before_it_has_joined() {
    ask_a_pool_that_ends_its_sessions(|hand, connection, request| {
        hand.scheduler.handle_failed(hand.now, request, LATER);
        hand.scheduler.handle_disconnected(hand.now, connection, LATER);
    });
}

fn ask_a_pool_that_ends_its_sessions(end: fn(&mut Hand, ConnectionId, RequestId)) {
    let mut hand = Hand::single();
    hand.scheduler.open(hand.now, hand.file, 1000, 0);
    let first = hand.drain();
    hand.scheduler.handle_connected(ms(1), first.connects[0].0);
    hand.scheduler.handle_opened(ms(1), first.opens[0].0, 5000);
    hand.scheduler.handle_done(ms(1), first.opens[0].0);
    hand.now = ms(2);
    hand.demand(1000..2000);
    hand.drain();
    let pool = hand.scheduler.add_server(hand.now, ServerTraits::default());
    let new = hand.scheduler.add_replica(hand.now, hand.file, pool);
    hand.scheduler.remove_source(hand.now, hand.source);
    let mut out = hand.drain();
    let mut asked = 0;
    let mut asked_at = None;
    while out.events.iter().all(|event| !matches!(event, Event::Failed { .. })) {
        for (request, connection, source) in out.opens.clone() {
            assert_eq!(source, new);
            asked += 1;
            // Connections that were made for the source before this one may all end at once.
            assert_ne!(asked_at.replace(hand.now), Some(hand.now), "asked twice at once");
            end(&mut hand, connection, request);
        }
        out = if out.opens.is_empty() { hand.sleep() } else { hand.drain() };
    }
    assert!((2..=Budgets::default().attempts_max).contains(&asked), "{asked} tries");
}
