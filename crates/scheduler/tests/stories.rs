//! Promises of the scheduler, one story each, in virtual time.

use farroot_scheduler::*;

use crate::world::*;

fn far() -> World {
    World::new(Budgets::default(), xrootd(), Link::new(ms(100)))
}

#[test]
fn a_cold_read_takes_few_round_trips() {
    // Connect, login and head: two. Metadata of 200 kB over sixteen connections: one. The data of
    // three columns, 400 kB, over sixteen connections that have opened their windows once: nearly
    // one.
    let mut world = far();
    world.open(14_000, 0);
    world.run_while(|world| world.opened.is_none());
    assert_eq!((world.trips(), world.flows_made), (2.0, 16));
    world.demand(900_000_000..900_200_000, 0);
    world.run_while(|world| world.ready.is_empty());
    assert_eq!(world.trips(), 3.0);
    for basket in 0..150 {
        world.demand(basket * 50_000..basket * 50_000 + 2_700, 1);
    }
    world.run();
    assert!(world.trips() <= 5.0, "{}\n{}", world.trips(), world.log.join("\n"));
    assert_eq!(world.ready.len(), 151);
    assert_eq!(world.scheduler.snapshot().counters.connections, 16);
}

#[test]
fn h42_is_a_few_requests_with_little_over_read() {
    // 4,945 baskets of 2.5 kB over 245 MB at 1 Gbit/s and 100 ms, all wanted at once.
    let mut world = World::new(Budgets::default(), xrootd(), Link::new(ms(100)).rate(GBIT));
    world.open(14_000, 0);
    world.run_while(|world| world.opened.is_none());
    for basket in 0..4_945 {
        let start = basket * 49_500;
        world.demand(start..start + 2_530, 0);
    }
    world.run();
    let figures = world.scheduler.snapshot();
    assert_eq!(world.ready.len(), 4_945);
    assert!(
        figures.counters.over_read_bytes * 100 <= figures.counters.wanted_bytes * 3,
        "{figures:?}"
    );
    assert!(figures.counters.fetches <= 160, "{}", figures.counters.fetches);
    // Two to begin with; six of slow start on sixteen connections, and one of the link's own pace.
    assert!(world.trips() <= 9.1, "{}\n{}", world.trips(), world.log.join("\n"));
}

#[test]
fn a_long_read_keeps_the_pipe_full() {
    // 160 MB at 1 Gbit/s and 137 ms, wanted 1 MB at a time and released as it comes.
    let mut world = World::new(Budgets::default(), xrootd(), Link::new(ms(137)).rate(GBIT));
    world.open(14_000, 0);
    for part in 0..160 {
        world.demand(part * 1_000_000..(part + 1) * 1_000_000, part);
    }
    world.run_while(|world| world.ready.len() < 60);
    let start = world.now;
    let ready = world.ready.len();
    world.run();
    let bytes = (world.ready.len() - ready) as f64 * 1e6;
    let rate = bytes / (world.now - start).as_secs_f64();
    assert!(rate >= 0.95 * GBIT as f64, "{:.0} of {GBIT}", rate);
    assert!(world.now <= ms(2_900), "{:?}, one connection in one go takes 2.9 s", world.now);
}

/// Regression: half a second's worth of requests was given to connections while each of them was
/// still getting faster, together faster than the link. The last bytes then came over the slowest
/// ones alone: the end of a file of 110 MB took 0.3 s in which the link was nearly idle.
#[test]
fn what_is_in_flight_is_about_what_the_link_holds() {
    let mut world = World::new(Budgets::default(), xrootd(), Link::new(ms(100)).rate(GBIT));
    world.open(14_000, 0);
    for part in 0..200 {
        world.demand(part * 1_000_000..(part + 1) * 1_000_000, part);
    }
    // Slow start fills the link in 0.9 s; that the rate stands is known two round trips later, and
    // the bytes in flight by then arrive first.
    world.run_until(ms(1_400));
    while world.now < ms(1_700) {
        let in_flight = world.scheduler.snapshot().servers[0].in_flight_bytes;
        let holds = GBIT / 10;
        assert!(in_flight <= 7 * holds / 2, "{in_flight} at {:?}", world.now);
        assert!(in_flight >= 3 * holds / 2, "{in_flight} at {:?}", world.now);
        world.run_until(world.now + ms(10));
    }
}

#[test]
fn one_request_at_a_time_keeps_the_pipe_full_as_well() {
    let link = Link { login: false, ..Link::new(ms(100)).rate(GBIT) };
    let mut world = World::new(Budgets::default(), http(), link);
    world.open(14_000, 14_000);
    for part in 0..240 {
        world.demand(part * 1_000_000..(part + 1) * 1_000_000, part);
    }
    world.run_while(|world| world.ready.len() < 80);
    let start = world.now;
    let ready = world.ready.len();
    world.run();
    let bytes = (world.ready.len() - ready) as f64 * 1e6;
    let rate = bytes / (world.now - start).as_secs_f64();
    assert!(rate >= 0.9 * GBIT as f64, "{:.0} of {GBIT}", rate);
}

#[test]
fn memory_stays_within_its_budget_and_a_slow_consumer_stops_the_fetching() {
    let budgets = Budgets { memory_bytes_max: 8 * MIB, ..Budgets::default() };
    let mut world = World::new(budgets, xrootd(), Link::new(ms(20)).rate(GBIT));
    world.consumer = Consumer::Takes(ms(50));
    for part in 0..64 {
        world.demand(part * MIB..(part + 1) * MIB, part);
    }
    world.run_until(ms(1_000));
    let asked = world.scheduler.snapshot().counters.asked_bytes;
    assert!(asked <= (world.now.as_millis() as u64 / 50 + 9) * MIB, "{asked}");
    world.run();
    assert_eq!(world.ready.len(), 64);
    assert_eq!(world.memory_peak, 8 * MIB);
    assert_eq!(world.scheduler.snapshot().memory_bytes, 0);
    assert!(world.store.is_empty());
}

#[test]
fn one_want_larger_than_the_memory_is_served_alone() {
    let budgets = Budgets { memory_bytes_max: MIB, ..Budgets::default() };
    let mut world = World::new(budgets, xrootd(), Link::new(ms(20)));
    world.demand(0..10 * MIB, 0);
    world.demand(20 * MIB..20 * MIB + 10, 1);
    world.run();
    assert_eq!(world.ready.len(), 2);
}

#[test]
fn overlapping_wants_are_one_request() {
    let mut world = far();
    world.demand(1000..3000, 0);
    world.demand(2000..4000, 1);
    world.demand(1500..2500, 2);
    world.run();
    assert_eq!((world.ready.len(), world.fetches), (3, 1));
    assert_eq!(world.scheduler.snapshot().counters.asked_bytes, 3000);
    assert!(world.store.is_empty());
}

#[test]
fn a_want_for_bytes_in_flight_waits_for_them() {
    let mut world = far();
    world.demand(0..5000, 0);
    world.run_until(ms(150));
    assert_eq!(world.fetches, 1);
    world.demand(1000..2000, 0);
    world.run();
    assert_eq!((world.ready.len(), world.fetches), (2, 1));
}

#[test]
fn bytes_of_the_open_serve_wants_until_forgotten() {
    let mut world = far();
    world.file_size = 100_000;
    world.open(14_000, 0);
    world.run();
    world.demand(100..200, 0);
    world.run();
    assert_eq!((world.ready.len(), world.fetches), (1, 0));
    assert!(!world.store.is_empty());
    world.scheduler.forget_open(world.now, world.file);
    world.drain();
    assert!(world.store.is_empty());
}

#[test]
fn head_and_tail_come_together_where_a_suffix_can_be_asked_for() {
    let link = Link { login: false, ..Link::new(ms(100)) };
    let mut world = World::new(Budgets::default(), http(), link);
    world.file_size = 5_000_000;
    world.open(14_000, 14_000);
    world.run();
    assert_eq!(world.opened, Some((5_000_000, ms(200))));
    world.demand(4_990_000..5_000_000, 0);
    world.run();
    assert_eq!((world.ready.len(), world.fetches), (1, 0));
}

#[test]
fn a_file_shorter_than_its_head_opens() {
    let mut world = World::new(Budgets::default(), http(), Link::new(ms(10)));
    world.file_size = 300;
    world.open(14_000, 14_000);
    world.demand(200..301, 0);
    world.demand(200..300, 0);
    world.run();
    assert_eq!(world.opened.map(|(size, _)| size), Some(300));
    assert_eq!(world.ready.len(), 1);
    let why = WantFailure::BeyondEnd { size: 300 };
    assert_eq!(world.failed.values().collect::<Vec<_>>(), [&why]);
    assert_eq!(world.scheduler.snapshot().servers[0].in_flight_bytes, 0);
}

#[test]
fn hints_run_ahead_within_the_window_and_cancelled_ones_are_not_fetched() {
    let budgets =
        Budgets { readahead_bytes_floor: MIB, readahead_bytes_max: 2 * MIB, ..Budgets::default() };
    let mut world = World::new(budgets, xrootd(), Link::new(ms(100)).rate(GBIT));
    world.consumer = Consumer::Keeps;
    let hints: Vec<WantId> =
        (0..100).map(|i| world.hint(i * MIB / 4..(i + 1) * MIB / 4, i)).collect();
    world.run();
    let figures = world.scheduler.snapshot();
    assert_eq!(figures.counters.asked_bytes, 2 * MIB, "the window and no more");
    for hint in &hints[4..] {
        world.scheduler.cancel(world.now, *hint);
    }
    world.run();
    assert_eq!(world.scheduler.snapshot().counters.asked_bytes, 2 * MIB);
    assert!(world.scheduler.snapshot().readahead_window_bytes < 2 * MIB, "waste narrows it");
    for hint in &hints[..4] {
        world.scheduler.release(world.now, *hint);
    }
    world.drain();
    assert!(world.store.is_empty());
    assert_eq!(world.scheduler.snapshot().memory_bytes, 0);
}

#[test]
fn a_promoted_hint_overtakes() {
    let mut world = far();
    for i in 0..50 {
        world.hint(i * MIB..i * MIB + MIB, i);
    }
    let last = world.hint(100 * MIB..100 * MIB + 1000, 50);
    world.scheduler.promote(world.now, last);
    world.run_while(|world| world.ready.is_empty());
    assert_eq!(world.ready.keys().copied().collect::<Vec<_>>(), [last]);
}

#[test]
fn a_lost_connection_costs_what_it_owed_and_no_more() {
    let mut world = World::new(Budgets::default(), xrootd(), Link::new(ms(100)).rate(GBIT));
    world.open(14_000, 0);
    for part in 0..40 {
        world.demand(part * 1_000_000..(part + 1) * 1_000_000, part);
    }
    world.run_until(ms(600));
    let broken = world.connections()[3];
    world.break_connection(broken);
    world.run();
    assert_eq!(world.ready.len(), 40);
    let figures = world.scheduler.snapshot();
    assert!(figures.counters.asked_bytes < 43_000_000, "{}", figures.counters.asked_bytes);
    assert!(world.failed.is_empty());
}

#[test]
fn when_all_connections_break_new_ones_carry_on() {
    let mut world = World::new(Budgets::default(), xrootd(), Link::new(ms(50)).rate(GBIT));
    for part in 0..20 {
        world.demand(part * 1_000_000..(part + 1) * 1_000_000, part);
    }
    world.run_until(ms(300));
    world.break_connections();
    world.run();
    assert_eq!(world.ready.len(), 20);
}

#[test]
fn more_connections_where_each_is_slow_and_not_where_the_link_is_full() {
    let read = |link: Link| {
        let budgets = Budgets {
            connections_per_server_max: 64,
            connections_initial: 8,
            ..Budgets::default()
        };
        let mut world = World::new(budgets, xrootd(), link);
        for part in 0..100 {
            world.demand(part * 1_000_000..(part + 1) * 1_000_000, part);
        }
        world.run();
        (world.flows_made, world.now)
    };
    let (flows, took) = read(Link { flow_rate: Some(1_000_000), ..Link::new(ms(100)) });
    assert!(flows >= 32, "{flows} for {took:?}");
    assert!(took < ms(4_500), "100 MB, 8 MB/s at first, 32 MB/s and more at last: {took:?}");
    let (flows, took) = read(Link::new(ms(20)).rate(10_000_000));
    assert_eq!(flows, 32, "the first step that can be judged brings nothing: it is the last");
    assert!(took < ms(10_500), "{took:?}");
}

#[test]
fn work_and_transfer_overlap() {
    // 8 batches of 7.5 MB at 25 MB/s and 50 ms: 0.3 s each, and 0.3 s of work on each.
    let mut world = World::new(Budgets::default(), xrootd(), Link::new(ms(50)).rate(GBIT / 5));
    world.consumer = Consumer::Keeps;
    let batches: Vec<Vec<WantId>> = (0..8u64)
        .map(|batch| {
            let piece = |piece: u64| batch * 7_500_000 + piece * 75_000;
            (0..100).map(|n| world.hint(piece(n)..piece(n + 1), batch)).collect()
        })
        .collect();
    let promote = |world: &mut World, batch: usize| {
        for want in batches.get(batch).into_iter().flatten() {
            world.scheduler.promote(world.now, *want);
        }
    };
    promote(&mut world, 0);
    let mut first = None;
    for (number, batch) in batches.iter().enumerate() {
        world.run_while(|world| batch.iter().any(|want| !world.ready.contains_key(want)));
        first.get_or_insert(world.now);
        promote(&mut world, number + 1);
        world.run_until(world.now + ms(300));
        for want in batch {
            world.scheduler.release(world.now, *want);
        }
    }
    let work = world.now - first.unwrap();
    assert!(first.unwrap() < ms(700), "{first:?}");
    assert!(work <= ms(2_400 + 120), "8 x 0.3 s of work took {work:?}");
}

#[test]
fn a_local_file_is_read_in_large_pieces_by_few() {
    let traits = ServerTraits {
        pipelined: true,
        distance_hint_rtt: Some(Time::ZERO),
        max_connections: Some(2),
        request_overhead: Time::from_micros(50),
        ..ServerTraits::default()
    };
    let link = Link {
        login: false,
        overhead: Time::from_micros(50),
        ..Link::new(Time::from_micros(10)).rate(2_000_000_000)
    };
    let mut world = World::new(Budgets::default(), traits, link);
    for part in 0..200 {
        world.demand(part * 1_000_000..(part + 1) * 1_000_000, part);
    }
    world.run();
    let fetches = world.scheduler.snapshot().counters.fetches;
    assert!(fetches <= 400, "{fetches}");
    assert_eq!(world.flows_made, 2);
    assert!(world.now <= ms(115), "200 MB at 2 GB/s took {:?}", world.now);
}

#[test]
fn a_thousand_files_open_side_by_side() {
    let mut scheduler = Scheduler::new(Budgets::default());
    let mut now = Time::ZERO;
    let server = scheduler.add_server(now, xrootd());
    for _ in 0..1_576 {
        let file = scheduler.add_file(now);
        scheduler.add_source(now, file, server);
        scheduler.open(now, file, 4_000, 0);
    }
    let mut trips = 0;
    let mut opened = 0;
    let mut connections = 0;
    while opened < 1_576 {
        let mut sent = Vec::new();
        while let Some(action) = scheduler.poll_action(now) {
            match action {
                Action::Connect { connection, .. } => {
                    connections += 1;
                    scheduler.handle_connected(now, connection);
                }
                Action::Open { request, .. } => sent.push(request),
                other => panic!("{other:?}"),
            }
        }
        trips += 1;
        assert!(trips <= 20, "{opened} opened after {trips} round trips");
        now += ms(100);
        for request in sent {
            scheduler.handle_opened(now, request, 1_000_000);
            scheduler.handle_data(now, request, 0..4_000);
            scheduler.handle_done(now, request);
        }
        while let Some(event) = scheduler.poll_event() {
            assert!(matches!(event, Event::Opened { .. }), "{event:?}");
            opened += 1;
        }
    }
    assert!(connections <= 16);
    assert!(trips <= 13, "{trips}");
}

#[test]
fn http_works_through_many_pieces_one_request_at_a_time() {
    let link = Link { login: false, ..Link::new(ms(50)).rate(GBIT) };
    let mut world = World::new(Budgets::default(), http(), link);
    world.open(14_000, 14_000);
    for basket in 0..200 {
        world.demand(basket * 40_000..basket * 40_000 + 30_000, 0);
    }
    world.run();
    let figures = world.scheduler.snapshot();
    assert_eq!(world.ready.len(), 200);
    assert!(
        figures.counters.over_read_bytes * 100 <= figures.counters.wanted_bytes * 3,
        "{figures:?}"
    );
}

#[test]
fn a_region_wanted_in_full_is_read_in_full() {
    let mut world = World::new(Budgets::default(), xrootd(), Link::new(ms(50)).rate(GBIT));
    world.demand(0..1, 0);
    world.run();
    let before = world.fetches;
    for basket in 0..1_000 {
        world.demand(1_000_000 + basket * 8_000..1_000_000 + (basket + 1) * 8_000, 0);
    }
    world.run();
    assert!(
        world.log[before as usize..]
            .iter()
            .all(|line| !line.contains("fetch") || line.contains(" in 1 of ")),
        "{}",
        world.log.join("\n")
    );
}
