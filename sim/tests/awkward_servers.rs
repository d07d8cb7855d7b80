//! Servers that do not do as most do: read all the same, at the price of a round trip or two.

use std::time::Duration;

use farroot_sim::link::Link;
use farroot_sim::network::World;
use farroot_sim::xrootd_host::Behaviour;
use farroot_sim::{one_file, round_trips, xrootd_host};

const RTT: Duration = Duration::from_millis(100);
const FILE: &[u8] = include_bytes!("../testdata/small_nano.root");
const URL: &str = "root://server:1094//nano.root";

fn world(behaviour: Behaviour) -> World {
    let world = World::default();
    let accepted = world.host("server", 1094, Link::delay(RTT));
    xrootd_host::serve(accepted, one_file("/nano.root", FILE), behaviour);
    world
}

#[test]
fn an_open_answered_without_the_size_costs_one_round_trip_more() {
    let (size, took) = farroot_sim::run(async {
        let world = world(Behaviour { opens_without_stat: true, ..Behaviour::default() });
        let engine = farroot_sim::engine(&world);
        let started = tokio::time::Instant::now();
        let tree = engine.open_tree(URL, Some("Events")).await.expect("opens");
        let took = round_trips(started.elapsed(), RTT);
        let columns = tree.columns(&["Muon_pt".into()]).expect("is there");
        assert_eq!(tree.read(columns, 0..u64::MAX).await.expect("reads").len(), 6_000);
        (tree.file().size(), took)
    });
    assert_eq!(size, FILE.len() as u64);
    assert!(took < 4.01, "{took:.3} round trips to open, three with the size");
}

/// A burst that was cut by a server just going down was remembered as one that the server does not
/// like: every later open then took two round trips more, as long as the engine lived.
#[test]
fn a_connection_that_was_cut_once_does_not_slow_down_those_after_it() {
    let (first, second) = farroot_sim::run(async {
        let world = world(Behaviour { cuts: 1, ..Behaviour::default() });
        let config = engine::Config {
            decode_threads: 0,
            connections_initial: 1,
            connections_max: 1,
            ..engine::Config::default()
        };
        let engine = engine::Engine::within(&config, std::sync::Arc::new(world)).expect("starts");
        let mut took = Vec::new();
        for _ in 0..2 {
            let started = tokio::time::Instant::now();
            engine.open_tree(URL, Some("Events")).await.expect("opens");
            took.push(round_trips(started.elapsed(), RTT));
            // Long enough for the idle connection to be closed.
            tokio::time::sleep(Duration::from_secs(3600)).await;
        }
        (took[0], took[1])
    });
    assert!((5.9..8.1).contains(&first), "{first:.3}: cut, a pause, and again with care");
    assert!(second < 3.01, "{second:.3}: in one burst");
}
