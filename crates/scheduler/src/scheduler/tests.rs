//! Costs of scheduling, in chunks touched.

use std::collections::VecDeque;

use super::*;
use crate::Failure;

/// Wants so many ranges, has them delivered by a server that answers at once, releases each;
/// how many chunks were touched, and how many requests were made.
fn schedule(wants: u64, budgets: Budgets) -> (u64, u64) {
    let mut scheduler = Scheduler::new(budgets);
    let now = Time::from_secs(1);
    let traits = ServerTraits { segments_max: 1024, pipelined: true, ..ServerTraits::default() };
    let server = scheduler.add_server(now, traits);
    let file = scheduler.add_file(now);
    scheduler.add_source(now, file, server);
    for want in 0..wants {
        let start = want * 50_000;
        scheduler.want(now, file, start..start + 2_500, Urgency::Demand, want / 100, 2_500);
    }
    let mut ready = 0;
    loop {
        while let Some(event) = scheduler.poll_event() {
            if let Event::Ready { want } = event {
                ready += 1;
                scheduler.release(now, want);
            }
        }
        match scheduler.poll_action(now) {
            Some(Action::Connect { connection, .. }) => scheduler.handle_connected(now, connection),
            Some(Action::Fetch { request, segments, .. }) => {
                for segment in segments {
                    scheduler.handle_data(now, request, segment);
                }
                scheduler.handle_done(now, request);
            }
            Some(other) => panic!("{other:?}"),
            None => break,
        }
    }
    assert_eq!(ready, wants);
    (scheduler.files[&file].chunks.touched, scheduler.counters.fetches)
}

#[test]
fn a_hundred_thousand_wants_cost_a_few_chunks_each() {
    let (touched, fetches) = schedule(100_000, Budgets::default());
    assert!(touched <= 100_000 * 5, "{touched}");
    assert!(fetches <= 100_000 / 20, "{fetches}");
}

#[test]
fn waiting_for_memory_costs_nothing() {
    let little = Budgets { memory_bytes_max: 1 << 20, ..Budgets::default() };
    let (touched, _) = schedule(20_000, little);
    assert!(touched <= 20_000 * 5, "{touched}");
}

/// A request for two wants is reduced to nothing, and the next one to the first want.
#[test]
fn what_is_had_from_elsewhere_is_not_sent_for() {
    let mut scheduler = Scheduler::new(Budgets::default());
    let now = Time::from_secs(1);
    let traits = ServerTraits { segments_max: 1024, pipelined: true, ..ServerTraits::default() };
    let server = scheduler.add_server(now, traits);
    let file = scheduler.add_file(now);
    scheduler.add_source(now, file, server);
    let [kept, dropped] = [0..1000, 50_000..51_000]
        .map(|range| scheduler.want(now, file, range, Urgency::Demand, 0, 1000));
    let fetch = |scheduler: &mut Scheduler| {
        while let Some(action) = scheduler.poll_action(now) {
            match action {
                Action::Connect { connection, .. } => scheduler.handle_connected(now, connection),
                Action::Fetch { request, segments, .. } => return Some((request, segments)),
                other => panic!("{other:?}"),
            }
        }
        None
    };
    let (request, segments) = fetch(&mut scheduler).expect("a request");
    assert_eq!(segments, [0..1000, 50_000..51_000]);
    scheduler.send_only(now, request, Vec::new());
    let (request, segments) = fetch(&mut scheduler).expect("it is still wanted");
    assert_eq!(segments, [0..1000, 50_000..51_000]);
    scheduler.send_only(now, request, vec![0..1000]);
    scheduler.cancel(now, dropped);
    assert_eq!(fetch(&mut scheduler), None);
    scheduler.handle_data(now, request, 0..1000);
    scheduler.handle_done(now, request);
    assert_eq!(scheduler.poll_event(), Some(Event::Ready { want: kept }));
    scheduler.release(now, kept);
    let counters = scheduler.snapshot().counters;
    assert_eq!((counters.fetches, counters.asked_bytes, counters.retries), (1, 1000, 0));
    assert_eq!((scheduler.requests.len(), scheduler.snapshot().memory_bytes), (0, 0));
    assert!(scheduler.connections.values().all(|connection| connection.in_flight == 0));
}

/// Connections beyond the limit get no further requests, and are closed after their last answer.
#[test]
fn connections_beyond_what_the_caller_allows_are_closed_once_they_are_idle() {
    let four =
        Budgets { connections_initial: 4, connections_per_server_max: 4, ..Budgets::default() };
    let mut scheduler = Scheduler::new(four);
    let now = Time::from_secs(1);
    let traits = ServerTraits { segments_max: 1024, pipelined: true, ..ServerTraits::default() };
    let server = scheduler.add_server(now, traits);
    let file = scheduler.add_file(now);
    scheduler.add_source(now, file, server);
    let read = |scheduler: &mut Scheduler, from: u64| {
        let mut made = Vec::new();
        let mut asked = Vec::new();
        let mut closed = Vec::new();
        for part in from..from + 40 {
            let range = part * 100_000..part * 100_000 + 50_000;
            scheduler.want(now, file, range, Urgency::Demand, 0, 50_000);
        }
        while let Some(action) = scheduler.poll_action(now) {
            match action {
                Action::Connect { connection, .. } => {
                    made.push(connection);
                    scheduler.handle_connected(now, connection);
                }
                Action::Fetch { request, connection, segments, .. } => {
                    asked.push((request, connection, segments));
                }
                Action::Disconnect { connection } => closed.push(connection),
                other => panic!("{other:?}"),
            }
        }
        (made, asked, closed)
    };
    let (made, asked, _) = read(&mut scheduler, 0);
    assert_eq!(made.len(), 4);
    scheduler.allow_connections(now, server, Some(1));
    assert_eq!(scheduler.poll_action(now), None, "all have something to do");
    let mut closed = Vec::new();
    for (request, connection, segments) in asked {
        let is_first = connection == made[0];
        for segment in segments {
            scheduler.handle_data(now, request, segment);
        }
        scheduler.handle_done(now, request);
        while let Some(action) = scheduler.poll_action(now) {
            match action {
                Action::Disconnect { connection } => closed.push(connection),
                Action::Fetch { connection, .. } => assert!(is_first && connection == made[0]),
                other => panic!("{other:?}"),
            }
        }
    }
    assert_eq!(closed, made[1..]);
    scheduler.allow_connections(now, server, Some(0));
    let (made, asked, _) = read(&mut scheduler, 100);
    assert_eq!((made.len(), asked.len()), (0, 0), "none is allowed");
    scheduler.allow_connections(now, server, None);
    let (made, ..) = read(&mut scheduler, 200);
    assert!(!made.is_empty());
    let before = scheduler.snapshot().counters.retries;
    let last = *made.last().unwrap();
    scheduler.withhold_connection(now, last);
    assert_eq!(scheduler.servers[&server].failures, 0);
    assert!(scheduler.snapshot().counters.retries >= before);
}

/// Each of many small files was asked for twice, for its head and for its end, although an answer
/// had all of it: over HTTP a connection answers one request at a time.
#[test]
fn of_many_files_the_heads_come_first_and_no_end_of_a_short_one() {
    let two = Budgets {
        connections_initial: 2,
        connections_per_server_max: 2,
        connections_for_requests_max: 2,
        ..Budgets::default()
    };
    let mut scheduler = Scheduler::new(two);
    let now = Time::from_secs(1);
    let traits = ServerTraits { suffix: true, pipelined: false, ..ServerTraits::default() };
    let server = scheduler.add_server(now, traits);
    let files: Vec<FileId> = (0..100).map(|_| scheduler.add_file(now)).collect();
    for file in &files {
        scheduler.add_source(now, *file, server);
        scheduler.open(now, *file, 14_000, 14_000);
    }
    let is_short = |file: FileId| file != files[50];
    let mut opened = 0;
    let mut asked = Vec::new();
    let mut under_way = VecDeque::new();
    loop {
        while let Some(event) = scheduler.poll_event() {
            opened += usize::from(matches!(event, Event::Opened { .. }));
        }
        while let Some(action) = scheduler.poll_action(now) {
            match action {
                Action::Connect { connection, .. } => scheduler.handle_connected(now, connection),
                Action::Open { request, file, part, .. } => {
                    asked.push(file);
                    under_way.push_back((request, file, part));
                }
                other => panic!("{other:?}"),
            }
        }
        if opened == files.len() {
            break;
        }
        let (request, file, part) = under_way.pop_front().expect("a request is under way");
        let size = if is_short(file) { 9_000 } else { 5_000_000 };
        scheduler.handle_opened(now, request, size);
        for range in part.ranges(size) {
            scheduler.handle_data(now, request, range);
        }
        scheduler.handle_done(now, request);
    }
    let of_long = asked.iter().filter(|file| !is_short(**file)).count();
    assert_eq!(of_long, 2, "its end is asked for when its size is known");
    assert!(asked.len() <= files.len() + 1 + 2, "{} requests", asked.len());
}

#[test]
fn a_server_is_forgotten_once_nothing_needs_it() {
    let mut scheduler = Scheduler::new(Budgets::default());
    let now = Time::from_secs(1);
    let server = scheduler.add_server(now, ServerTraits::default());
    let file = scheduler.add_file(now);
    scheduler.add_source(now, file, server);
    assert!(!scheduler.forget_server(now, server), "it has a file");
    scheduler.open(now, file, 1, 0);
    let connecting = scheduler.poll_action(now);
    let Some(Action::Connect { connection, .. }) = connecting else { panic!("{connecting:?}") };
    scheduler.remove_file(now, file);
    assert!(!scheduler.forget_server(now, server), "it has a connection");
    scheduler.handle_disconnected(now, connection, Failure::LATER);
    while scheduler.poll_action(now).is_some() {}
    let rest: Vec<ConnectionId> = scheduler.connections.keys().copied().collect();
    rest.into_iter()
        .for_each(|connection| scheduler.handle_disconnected(now, connection, Failure::LATER));
    assert!(scheduler.forget_server(now, server));
    assert!(scheduler.servers.is_empty() && !scheduler.forget_server(now, server));
}
