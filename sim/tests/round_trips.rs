//! Round trips of a cold read: exact, since time is virtual and only delay counts.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use engine::{Config, Engine, Step, TableLocation};
use farroot_sim::http_host::HttpBehaviour;
use farroot_sim::link::Link;
use farroot_sim::network::World;
use farroot_sim::xrootd_host::Behaviour;
use farroot_sim::{Files, http_host, one_file, round_trips, xrootd_host};

const RTT: Duration = Duration::from_millis(100);
const FILE: &[u8] = include_bytes!("../testdata/small_nano.root");
const URL: &str = "root://server:1094//nano.root";

/// An XRootD server with these files, one round trip away.
fn world(files: Files) -> World {
    let world = World::default();
    let accepted = world.host("server", 1094, Link::delay(RTT));
    xrootd_host::serve(accepted, files, Behaviour::default());
    world
}

/// An engine, and such a server with one file.
fn far() -> Engine {
    farroot_sim::engine(&world(one_file("/nano.root", FILE)))
}

fn columns() -> Vec<String> {
    ["Muon_pt", "flat_0", "flat_5"].map(String::from).to_vec()
}

/// Reads three columns from a cold start; returns the time it took and the log of requests.
async fn three_columns(world: &World, url: &str) -> (f64, String) {
    let engine = farroot_sim::engine(world);
    let started = tokio::time::Instant::now();
    let tree = engine.open_tree(url, Some("Events")).await.expect("opens");
    let columns = tree.columns(&columns()).expect("are there");
    let batch = tree.read(columns, 0..u64::MAX).await.expect("reads");
    let took = round_trips(started.elapsed(), RTT);
    assert_eq!(batch.len(), 6_000);
    (took, farroot_sim::log::lines(&engine.trace().records(), RTT))
}

#[test]
fn over_xrootd_a_cold_read_takes_four_round_trips() {
    let (took, log) =
        farroot_sim::run(async { three_columns(&world(one_file("/nano.root", FILE)), URL).await });
    assert!(took < 4.01, "{took:.3} round trips:\n{log}");
    farroot_sim::log::golden("xrootd_three_columns", &log);
}

#[test]
fn over_http_a_cold_read_takes_three_round_trips() {
    let (took, log) = farroot_sim::run(async {
        let world = World::default();
        let accepted = world.host("server", 80, Link::delay(RTT));
        http_host::serve(accepted, one_file("/nano.root", FILE));
        three_columns(&world, "http://server:80/nano.root").await
    });
    assert!(took < 3.01, "{took:.3} round trips:\n{log}");
    farroot_sim::log::golden("http_three_columns", &log);
}

/// Waiting for one batch after the other would cost a round trip each; reading ahead costs none.
#[test]
fn batches_do_not_wait_for_each_other() {
    let took = farroot_sim::run(async {
        let engine = far();
        let started = tokio::time::Instant::now();
        let tree = engine.open_tree(URL, Some("Events")).await.expect("opens");
        let chosen = tree.columns(&columns()).expect("are there");
        let mut batches = tree.batches(chosen, 0..u64::MAX, Step::Entries(500)).expect("plans");
        let mut entries = 0;
        while let Some(batch) = batches.next().await {
            entries += batch.expect("reads").len();
        }
        assert_eq!(entries, 6_000);
        round_trips(started.elapsed(), RTT)
    });
    assert!(took < 4.01, "{took:.3} round trips");
}

/// Connecting, opening, key list and tree: not one for each of the thousand records.
#[test]
fn a_map_of_the_file_costs_no_more_than_opening_its_tree() {
    let (took, records) = farroot_sim::run(async {
        let engine = far();
        let started = tokio::time::Instant::now();
        let file = engine.open(URL).await.expect("opens");
        let records = file.map().await.expect("is mapped");
        (round_trips(started.elapsed(), RTT), records)
    });
    assert!(took < 4.01, "{took:.2} round trips");
    let mut end = 0;
    for record in &records {
        assert!(record.offset >= end, "{record:?} begins before {end}");
        end = record.offset + record.stored_bytes;
    }
    assert_eq!(end, FILE.len() as u64);
    let gaps: u64 = records.iter().filter(|r| r.class == "gap").map(|r| r.stored_bytes).sum();
    assert!(gaps * 10 < end, "{gaps} of {end} bytes in gaps");
}

/// Regression: it took four, as with many files the ends are requested only where they are needed.
#[test]
fn a_single_one_of_many_files_takes_three_round_trips() {
    let took = farroot_sim::run(async {
        let engine = far();
        let started = tokio::time::Instant::now();
        let mut opens = engine.open_tables(vec![TableLocation {
            url: URL.into(),
            path: Some("Events".into()),
            ..TableLocation::default()
        }]);
        let table = opens.next().await.expect("is one").expect("opens");
        assert_eq!(table.num_entries(), 6_000);
        round_trips(started.elapsed(), RTT)
    });
    assert!(took < 3.01, "{took:.2} round trips");
}

/// 1,576 files one after the other would take three round trips each.
#[test]
fn many_files_are_opened_side_by_side_on_few_connections() {
    const FILES: usize = 1576;
    let (took, connections) = farroot_sim::run(async {
        let names: Vec<String> = (0..FILES).map(|number| format!("/nano_{number}.root")).collect();
        let files = names.iter().map(|name| (name.clone(), Bytes::from_static(FILE))).collect();
        let world = world(Arc::new(files));
        let engine = farroot_sim::engine(&world);
        let place = |name: &String| TableLocation {
            url: format!("root://server:1094/{name}"),
            path: Some("Events".into()),
            ..TableLocation::default()
        };
        let started = tokio::time::Instant::now();
        let mut opens = engine.open_tables(names.iter().map(place).collect());
        let mut entries = 0;
        while let Some(table) = opens.next().await {
            entries += table.expect("opens").num_entries();
        }
        assert_eq!(entries, 6_000 * FILES as u64);
        (round_trips(started.elapsed(), RTT), world.connections("server", 1094))
    });
    assert!(took < 48.0, "{took:.2} round trips");
    assert!(connections <= 16, "{connections} connections");
}

/// Opens of many files over HTTP, each once.
struct Opens {
    round_trips: f64,
    requests: u64,
    /// Of each file.
    bytes: u64,
    connections: usize,
}

/// Opens so many files of a series at a server that behaves so.
fn open_over_http(files: usize, config: Config, behave: impl Fn(&mut HttpBehaviour)) -> Opens {
    farroot_sim::run(async {
        let world = World::default();
        let names: Vec<String> = (0..files).map(|number| format!("/nano_{number}.root")).collect();
        let content = names.iter().map(|name| (name.clone(), Bytes::from_static(FILE))).collect();
        let host = world.host("server", 80, Link::delay(RTT));
        behave(&mut http_host::serve(host, Arc::new(content)).lock());
        let engine = farroot_sim::engine_with(&world, config);
        let place = |name: &String| TableLocation {
            url: format!("http://server{name}"),
            path: Some("Events".into()),
            ..TableLocation::default()
        };
        let started = tokio::time::Instant::now();
        let mut opens = engine.open_tables(names.iter().map(place).collect());
        while let Some(table) = opens.next().await {
            assert_eq!(table.expect("opens").num_entries(), 6_000);
        }
        let report = engine.report();
        Opens {
            round_trips: round_trips(started.elapsed(), RTT),
            requests: report.requests,
            bytes: report.bytes_received / files as u64,
            connections: world.connections("server", 80),
        }
    })
}

/// A request over HTTP keeps a connection busy for a round trip, so that many files cost as many
/// round trips as requests. Each file took three: the head, the key list, the tree. The offsets in
/// the first files show where the trees of the others lie.
#[test]
fn over_http_files_of_a_series_take_two_questions_each() {
    const FILES: usize = 160;
    let opens = open_over_http(FILES, Config::default(), |server| server.no_suffixes = true);
    let requests = opens.requests;
    assert!(requests <= 2 * FILES as u64 + 33, "{requests} requests");
    assert!(opens.round_trips <= 20.0, "{:.2} round trips", opens.round_trips);
    assert!(opens.bytes < 20_000, "{} bytes of each", opens.bytes);
}

/// A thousand files waited for sixteen connections, on which one request at a time was under way:
/// 128 round trips, while the link was idle.
#[test]
fn over_http_many_files_get_more_connections() {
    const FILES: usize = 1_000;
    let opens = open_over_http(FILES, Config::default(), |server| server.no_suffixes = true);
    // 48 connections answer 2,000 requests in 42, after the first steps.
    assert!(opens.round_trips <= 56.0, "{:.2} round trips", opens.round_trips);
    assert!(opens.requests <= 2 * FILES as u64 + 33, "{} requests", opens.requests);
    assert_eq!(opens.connections, 48);
    // A caller who has set a limit has set all of it.
    let config =
        Config { connections_max: 16, connections_for_requests_max: 16, ..Config::default() };
    let opens = open_over_http(FILES, config, |server| server.no_suffixes = true);
    assert_eq!(opens.connections, 16);
}

/// Two questions of each file left together with a server that sends several ranges in one answer,
/// also from the end of the file: head and end, in one request.
#[test]
fn over_http_files_of_a_series_take_one_question_each() {
    const FILES: usize = 1_000;
    let opens = open_over_http(FILES, Config::default(), |_| {});
    assert!(opens.requests <= FILES as u64 + 49, "{} requests", opens.requests);
    assert!(opens.round_trips <= 36.0, "{:.2} round trips", opens.round_trips);
    assert!(opens.bytes < 20_000, "{} bytes of each", opens.bytes);
}
