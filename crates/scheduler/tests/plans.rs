//! Typical reads as golden logs: which requests, in which order. A change in their number shows
//! in review. Where a log has changed for a good reason, put the text that the failing test
//! prints into its file under `plans/`.

use farroot_scheduler::*;

use crate::world::*;

fn check(name: &str, golden: &str, world: &World) {
    let figures = world.scheduler.snapshot();
    let mut log = world.log.join("\n");
    log += &format!(
        "\n{} round trips, {} connections, {} fetches of {} segments, {} bytes wanted, {} asked, \
         {} over-read\n",
        world.trips(),
        figures.counters.connections,
        figures.counters.fetches,
        figures.counters.segments,
        figures.counters.wanted_bytes,
        figures.counters.asked_bytes,
        figures.counters.over_read_bytes,
    );
    assert!(log == golden, "plans/{name}.txt should now be\n{log}");
}

/// Three columns of a file like CMS's NanoAOD, cold: its head, its key list and streamers near
/// the end, its tree, and 20,000 entries of three branches in a cluster each.
fn nano(traits: ServerTraits, link: Link) -> World {
    let tail = if traits.suffix { 14_000 } else { 0 };
    let mut world = World::new(Budgets::default(), traits, link);
    world.file_size = 80_000_000;
    world.open(14_000, tail);
    world.run_while(|world| world.opened.is_none());
    let metadata = world.demand(79_900_000..79_990_000, 0);
    world.run_while(|world| !world.ready.contains_key(&metadata));
    for (offset, bytes) in [(1_000_000, 80_000), (4_200_000, 130_000), (7_777_000, 190_000)] {
        for basket in 0..4 {
            let start = offset + basket * bytes / 4;
            world.demand(start..start + bytes / 4, 1);
        }
    }
    world.run();
    world
}

#[test]
fn three_columns_over_xrootd() {
    let world = nano(xrootd(), Link::new(ms(100)));
    check("three_columns_over_xrootd", include_str!("plans/three_columns_over_xrootd.txt"), &world);
}

#[test]
fn three_columns_over_http() {
    let world = nano(http(), Link { login: false, ..Link::new(ms(100)) });
    check("three_columns_over_http", include_str!("plans/three_columns_over_http.txt"), &world);
}

#[test]
fn many_small_baskets_over_xrootd() {
    let mut world = World::new(Budgets::default(), xrootd(), Link::new(ms(100)).rate(GBIT));
    for basket in 0..400 {
        let start = 100_000 + basket * 49_500;
        world.demand(start..start + 2_530, 0);
    }
    world.run();
    check("many_small_baskets", include_str!("plans/many_small_baskets.txt"), &world);
}

#[test]
fn reading_ahead_of_a_consumer() {
    // Batches of 4 MB, hinted all at once, each promoted when the one before has been taken.
    let budgets = Budgets {
        readahead_bytes_floor: 2 * MIB,
        request_bytes_max: 2 * MIB,
        connections_initial: 2,
        connections_per_server_max: 2,
        ..Budgets::default()
    };
    let mut world = World::new(budgets, xrootd(), Link::new(ms(50)).rate(GBIT / 5));
    let batches: Vec<WantId> =
        (0..4).map(|batch| world.hint(batch * 4 * MIB..(batch + 1) * 4 * MIB, batch)).collect();
    for batch in batches {
        world.scheduler.promote(world.now, batch);
        world.run_while(|world| !world.ready.contains_key(&batch));
    }
    check("reading_ahead", include_str!("plans/reading_ahead.txt"), &world);
}
