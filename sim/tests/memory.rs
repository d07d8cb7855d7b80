//! The memory budget holds reading ahead back; it never keeps a read from ending.

use std::sync::Arc;
use std::time::Duration;

use engine::{Config, Engine, Step};
use farroot_sim::link::Link;
use farroot_sim::network::World;
use farroot_sim::xrootd_host::Behaviour;
use farroot_sim::{one_file, xrootd_host};

const FILE: &[u8] = include_bytes!("../testdata/small_nano.root");
const URL: &str = "root://server:1094//nano.root";

fn world() -> World {
    let world = World::default();
    let accepted = world.host("server", 1094, Link::delay(Duration::from_millis(10)));
    xrootd_host::serve(accepted, one_file("/nano.root", FILE), Behaviour::default());
    world
}

fn engine(world: &World, memory_bytes_max: u64) -> Engine {
    let config = Config { decode_threads: 0, memory_bytes_max, ..Config::default() };
    Engine::within(&config, Arc::new(world.clone())).expect("an engine without threads")
}

/// A batch that decodes to more than the budget once waited for memory that only its own
/// completion would have given back.
#[test]
fn a_read_larger_than_the_budget_ends() {
    farroot_sim::run(async {
        let world = world();
        let engine = engine(&world, 20_000);
        let tree = engine.open_tree(URL, Some("Events")).await.expect("opens");
        let read = tree.read(tree.all_columns(), 0..u64::MAX);
        let batch = tokio::time::timeout(Duration::from_secs(60), read).await;
        let batch = batch.expect("in a minute of virtual time").expect("reads");
        assert!(batch.nbytes() > 200_000);
    });
}

#[test]
fn batches_larger_than_the_budget_come_one_by_one() {
    farroot_sim::run(async {
        let world = world();
        let engine = engine(&world, 20_000);
        let tree = engine.open_tree(URL, Some("Events")).await.expect("opens");
        let mut batches =
            tree.batches(tree.all_columns(), 0..u64::MAX, Step::Entries(2_000)).expect("plans");
        let mut entries = 0;
        while let Ok(Some(batch)) =
            tokio::time::timeout(Duration::from_secs(60), batches.next()).await
        {
            entries += batch.expect("reads").len();
        }
        assert_eq!(entries, 6_000);
    });
}

/// The consumer takes no batch: fetching stops when the budget is full.
#[test]
fn a_consumer_that_does_not_take_stops_the_fetching() {
    let received = farroot_sim::run(async {
        let world = world();
        let engine = engine(&world, 60_000);
        let tree = engine.open_tree(URL, Some("Events")).await.expect("opens");
        let opened = engine.report().bytes_received;
        let columns = tree.all_columns();
        let _batches = tree.batches(columns, 0..u64::MAX, Step::Entries(100)).expect("plans");
        tokio::time::sleep(Duration::from_secs(60)).await;
        engine.report().bytes_received - opened
    });
    assert!(received > 0 && received < 120_000, "{received} bytes");
}
