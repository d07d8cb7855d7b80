//! The report's figures where they are known beforehand: time is virtual, decoding takes none.

use std::sync::atomic::Ordering;
use std::time::Duration;

use engine::{ColumnSpec, OnError, ScanRequest, Step, TableLocation};
use farroot_sim::link::Link;
use farroot_sim::network::World;
use farroot_sim::xrootd_host::Behaviour;
use farroot_sim::{http_host, one_file, xrootd_host};
use remote::report::Report;

const RTT: Duration = Duration::from_millis(100);
const FILE: &[u8] = include_bytes!("../testdata/small_nano.root");
const ADDRESS: &str = "root://server:1094//nano.root";

fn columns() -> Vec<String> {
    ["Muon_pt", "flat_0", "flat_5"].map(String::from).to_vec()
}

fn world() -> World {
    let world = World::default();
    let accepted = world.host("server", 1094, Link::delay(RTT));
    xrootd_host::serve(accepted, one_file("/nano.root", FILE), Behaviour::default());
    world
}

/// Seconds in the order connecting, opening, metadata, bytes, caller, rounded to a millisecond; the
/// parts that virtual time does not know must be zero.
fn times(report: &Report) -> [f64; 5] {
    let time = &report.time_s;
    assert_eq!((time.decoding, time.joining), (0.0, 0.0), "{report}");
    let parts = [time.connecting, time.opening, time.metadata, time.bytes, time.caller];
    let sum: f64 = parts.iter().sum();
    assert!((sum - report.wall_s).abs() < 1e-9, "{sum} is not {}:\n{report}", report.wall_s);
    parts.map(|seconds| (seconds * 1e3).round() / 1e3)
}

#[test]
fn over_xrootd_each_round_trip_has_its_name() {
    farroot_sim::run(async {
        let engine = farroot_sim::engine(&world());
        let tree = engine.open_tree(ADDRESS, Some("Events")).await.expect("opens");
        let chosen = tree.columns(&columns()).expect("are there");
        tree.read(chosen, 0..u64::MAX).await.expect("reads");
        for report in [engine.report(), tree.file().report()] {
            // Login and open leave together: the answer to the open costs nothing more.
            assert_eq!(times(&report), [0.2, 0.0, 0.1, 0.1, 0.0], "{report}");
            assert_eq!((report.serial_round_trips, report.stalls), (4, 1), "{report}");
            assert_eq!(report.sources.len(), 1);
            assert_eq!(report.sources[0].requests, report.requests);
            assert_eq!(report.sources[0].bytes_received, report.bytes_received);
        }
    });
}

#[test]
fn over_http_the_open_is_a_round_trip_of_its_own() {
    farroot_sim::run(async {
        let world = World::default();
        let accepted = world.host("server", 80, Link::delay(RTT));
        http_host::serve(accepted, one_file("/nano.root", FILE));
        let engine = farroot_sim::engine(&world);
        let url = "http://server:80/nano.root";
        let tree = engine.open_tree(url, Some("Events")).await.expect("opens");
        let chosen = tree.columns(&columns()).expect("are there");
        tree.read(chosen, 0..u64::MAX).await.expect("reads");
        let report = engine.report();
        assert_eq!(times(&report), [0.1, 0.1, 0.0, 0.1, 0.0], "{report}");
        assert_eq!((report.serial_round_trips, report.stalls), (3, 1), "{report}");
    });
}

/// The time of a read was estimated with two round trips in the place of one, since a request that
/// is there before its connection had waited for that, too. And a plan requests no bytes beyond
/// those that open the file.
#[test]
fn a_round_trip_is_one_also_where_the_connection_was_new() {
    let plan = |url: &'static str, port: u16| {
        farroot_sim::run(async move {
            let world = World::default();
            let accepted = world.host("server", port, Link::delay(RTT));
            let files = one_file("/nano.root", FILE);
            match port {
                80 => drop(http_host::serve(accepted, files)),
                _ => drop(xrootd_host::serve(accepted, files, Behaviour::default())),
            }
            let engine = farroot_sim::engine(&world);
            let table = engine.open_table(url, Some("Events")).await.expect("opens");
            let opened = engine.report();
            let wanted = ColumnSpec::Named(columns());
            let selected = engine.select_for(&table, &[], &wanted, None).await.expect("are there");
            let footprints = selected.footprints(0..u64::MAX).await.expect("plans");
            assert!(footprints[0].stored_bytes() > 0);
            let planned = engine.report();
            assert_eq!(
                (planned.requests, planned.serial_round_trips, planned.bytes_received),
                (opened.requests, opened.serial_round_trips, opened.bytes_received),
            );
            planned
        })
    };
    for (url, port, trips) in [("http://server:80/nano.root", 80, 2), (ADDRESS, 1094, 3)] {
        let report = plan(url, port);
        let first_byte = report.sources[0].first_byte_s.expect("measured");
        assert!((first_byte - RTT.as_secs_f64()).abs() < 0.002, "{first_byte}: {report}");
        assert_eq!(report.serial_round_trips, trips, "{report}");
    }
}

/// Opens on each connection, opens put off and repeated, a size requested apart: they count.
#[test]
fn requests_told_are_requests_seen() {
    let plain = Behaviour::default();
    let waits = Behaviour { waits: Some(Duration::from_secs(2)), ..Behaviour::default() };
    let without_stat = Behaviour { opens_without_stat: true, ..Behaviour::default() };
    for behaviour in [plain, waits, without_stat] {
        let seen = behaviour.seen.clone();
        let report = farroot_sim::run(async {
            let world = World::default();
            let accepted = world.host("server", 1094, Link::delay(RTT));
            xrootd_host::serve(accepted, one_file("/nano.root", FILE), behaviour);
            let engine = farroot_sim::engine(&world);
            let tree = engine.open_tree(ADDRESS, Some("Events")).await.expect("opens");
            let chosen = tree.columns(&columns()).expect("are there");
            tree.read(chosen, 0..u64::MAX).await.expect("reads");
            engine.report()
        });
        assert_eq!(report.requests, seen.load(Ordering::Relaxed), "{report}");
        assert!(report.requests > 3, "{report}");
    }
}

/// Bytes that travel while the caller works cost the caller nothing.
#[test]
fn the_callers_own_work_hides_the_next_batches() {
    farroot_sim::run(async {
        let engine = farroot_sim::engine(&world());
        let tree = engine.open_tree(ADDRESS, Some("Events")).await.expect("opens");
        let chosen = tree.columns(&columns()).expect("are there");
        let mut batches = tree.batches(chosen, 0..u64::MAX, Step::Entries(2_000)).expect("plans");
        while let Some(batch) = batches.next().await {
            batch.expect("reads");
            tokio::time::sleep(Duration::from_millis(250)).await;
        }
        let report = engine.report();
        // Three batches, worked on for 250 ms each; the last answer is that there are no more.
        assert_eq!(times(&report), [0.2, 0.0, 0.1, 0.1, 0.75], "{report}");
        assert_eq!(report.stalls, 1);
    });
}

/// The second file is opened while the first one is worked on: no time is spent waiting for it.
#[test]
fn files_opened_ahead_cost_their_caller_nothing() {
    farroot_sim::run(async {
        let world = World::default();
        let accepted = world.host("server", 1094, Link::delay(RTT));
        let files = [("/a.root", FILE), ("/b.root", FILE)];
        let files = files.map(|(path, content)| (path.to_owned(), content.into()));
        xrootd_host::serve(accepted, std::sync::Arc::new(files.into()), Behaviour::default());
        let engine = farroot_sim::engine(&world);
        let place = |name: &str| TableLocation {
            url: format!("root://server:1094//{name}.root"),
            path: Some("Events".into()),
            ..TableLocation::default()
        };
        let wanted = ColumnSpec::Named(columns());
        let step = Step::Whole;
        let scan =
            ScanRequest { wanted, entries: 0..u64::MAX, step, cut: None, on_error: OnError::Raise };
        let mut parts = engine.scan(vec![place("a"), place("b")], scan);
        while let Some(part) = parts.next().await {
            assert_eq!(part.expect("reads").batch.len(), 6_000);
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        let report = engine.report();
        assert_eq!(times(&report), [0.2, 0.0, 0.1, 0.1, 2.0], "{report}");
    });
}

#[test]
fn the_report_is_text_for_people() {
    let text = farroot_sim::run(async {
        let engine = farroot_sim::engine(&world());
        let tree = engine.open_tree(ADDRESS, Some("Events")).await.expect("opens");
        let chosen = tree.columns(&columns()).expect("are there");
        tree.read(chosen, 0..u64::MAX).await.expect("reads");
        engine.report().to_string()
    });
    let expected = "\
0.400 s from the first call to the last answer:
  connecting            0.200 s  ####################
  opening               0.000 s
  metadata              0.100 s  ##########
  waiting for bytes     0.100 s  ##########
  decoding              0.000 s
  joining               0.000 s
  the caller's own      0.000 s
beside that, requests were under way for 0.400 s, and threads decoded for 0.000 s
";
    assert!(text.starts_with(expected), "{text}");
    assert!(text.contains("\n4 serial round trips, 1 stall, "), "{text}");
}
