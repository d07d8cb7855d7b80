//! Reading RNTuples in virtual time: how many round trips a cold read takes, and that batches and
//! budgets behave as for trees.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use engine::{
    Array, Batch, ColumnRequest, ColumnSpec, Columns, Config, Cut, Engine, Numbers, OnError,
    RNTupleColumns, ScanRequest, Step, TableLocation,
};
use farroot_sim::link::Link;
use farroot_sim::network::World;
use farroot_sim::xrootd_host::Behaviour;
use farroot_sim::{http_host, one_file, round_trips, xrootd_host};

const RTT: Duration = Duration::from_millis(100);
const FILE: &[u8] = include_bytes!("../testdata/small_ntuple.root");
/// 24 groups of two clusters each, whose page lists lie all over the file.
const GROUPS: &[u8] = include_bytes!("../testdata/small_groups.root");
const XROOTD: &str = "root://server:1094//small.root";
const HTTP: &str = "http://server:80/small.root";
const ENTRIES: u64 = 5_400;

fn columns() -> Vec<String> {
    ["Muon_pt", "flat_0", "flat_5"].map(String::from).to_vec()
}

fn xrootd() -> World {
    let world = World::default();
    let accepted = world.host("server", 1094, Link::delay(RTT));
    xrootd_host::serve(accepted, one_file("/small.root", FILE), Behaviour::default());
    world
}

/// Round trips until the metadata are here, and until three columns of nine clusters are.
async fn three_columns(world: &World, url: &str) -> (f64, f64, String) {
    let engine = farroot_sim::engine(world);
    let started = tokio::time::Instant::now();
    let file = engine.open(url).await.expect("opens");
    let ntuple = file.ntuple("Events").await.expect("is one");
    let opened = round_trips(started.elapsed(), RTT);
    let columns = ntuple.columns(&columns()).expect("are there");
    let batch = ntuple.read(columns, 0..u64::MAX).await.expect("reads");
    assert_eq!(
        (batch.len(), ntuple.clusters(&(0..u64::MAX)).await.expect("nine").len()),
        (5400, 9)
    );
    let log = farroot_sim::log::lines(&engine.trace().records(), RTT);
    (opened, round_trips(started.elapsed(), RTT), log)
}

/// The header does not come with the first bytes, and two of three page lists are far from the end:
/// both come in one round trip.
#[test]
fn three_columns_of_nine_clusters_take_four_round_trips() {
    let (opened, took, log) = farroot_sim::run(async { three_columns(&xrootd(), XROOTD).await });
    assert!(opened < 3.01 && took < 4.01, "{opened:.3}, {took:.3} round trips:\n{log}");
    farroot_sim::log::golden("xrootd_ntuple_three_columns", &log);
}

#[test]
fn over_http_it_takes_four() {
    let (_, took, log) = farroot_sim::run(async { three_columns(&http(), HTTP).await });
    assert!(took < 4.01, "{took:.3} round trips:\n{log}");
}

async fn in_steps(engine: &Engine, url: &str, step: Step) -> Vec<(String, Array)> {
    let file = engine.open(url).await.expect("opens");
    let ntuple = file.ntuple("Events").await.expect("is one");
    let columns = ntuple.columns(&columns()).expect("are there");
    let mut batches = ntuple.batches(columns, 100..ENTRIES, step).await.expect("plans");
    let mut joined: Vec<(String, Array)> = Vec::new();
    let mut next = 100;
    while let Some(batch) = batches.next().await {
        let batch = batch.expect("reads");
        assert_eq!(batch.entries.start, next);
        next = batch.entries.end;
        if joined.is_empty() {
            joined = batch.columns;
        } else {
            for ((_, all), (_, more)) in joined.iter_mut().zip(batch.columns) {
                all.append(&more).expect("of one type");
            }
        }
    }
    assert_eq!(next, ENTRIES);
    joined
}

#[test]
fn steps_over_and_within_clusters_give_the_whole() {
    farroot_sim::run(async {
        let engine = farroot_sim::engine(&xrootd());
        let whole = in_steps(&engine, XROOTD, Step::Whole).await;
        for step in [Step::Entries(170), Step::Entries(1_111), Step::Bytes(9_000)] {
            assert!(in_steps(&engine, XROOTD, step).await == whole, "{step:?}");
        }
    });
}

fn http() -> World {
    let world = World::default();
    let accepted = world.host("server", 80, Link::delay(RTT));
    http_host::serve(accepted, one_file("/small.root", FILE));
    world
}

/// Steps smaller than a cluster, of a cluster and a bit, and of a few entries.
#[test]
fn steps_cost_no_round_trip_more_than_the_whole() {
    let worlds = [(xrootd as fn() -> World, XROOTD, 4.01), (http, HTTP, 4.01)];
    for step in [Step::Entries(100), Step::Entries(1_111), Step::Bytes(500)] {
        for (world, url, most) in worlds {
            let (took, log) = farroot_sim::run(async {
                let engine = farroot_sim::engine(&world());
                let started = tokio::time::Instant::now();
                in_steps(&engine, url, step).await;
                let log = farroot_sim::log::lines(&engine.trace().records(), RTT);
                (round_trips(started.elapsed(), RTT), log)
            });
            assert!(took < most, "{step:?} of {url} takes {took:.3} round trips:\n{log}");
            if step == Step::Entries(100) && url == XROOTD {
                farroot_sim::log::golden("xrootd_ntuple_small_steps", &log);
            }
        }
    }
}

/// The notes about an RNTuple have its page lists, too.
#[test]
fn a_known_file_is_read_when_the_server_answers() {
    let store = tempfile::tempdir().expect("a folder");
    let store_folder = Some(store.path().to_owned());
    let config = Config { decode_threads: 0, store_folder, ..Config::default() };
    let took = farroot_sim::run(async {
        let world = xrootd();
        let mut took = Vec::new();
        for _ in 0..2 {
            let engine = Engine::within(&config, Arc::new(world.clone())).expect("no threads");
            let started = tokio::time::Instant::now();
            let place = TableLocation {
                url: XROOTD.into(),
                path: Some("Events".into()),
                ..TableLocation::default()
            };
            let wanted = ColumnSpec::Named(columns());
            let scan = ScanRequest {
                wanted,
                entries: 0..u64::MAX,
                step: Step::Whole,
                cut: None,
                on_error: OnError::Raise,
            };
            let mut parts = engine.scan(vec![place], scan);
            assert_eq!(parts.next().await.expect("one").expect("reads").batch.len(), ENTRIES);
            took.push(round_trips(started.elapsed(), RTT));
        }
        took
    });
    assert!(took[0] < 5.01 && took[1] < 2.01, "{took:?} round trips");
}

/// Reads one field at the top with those of its fields that are in `keep`, or all; gives the bytes
/// of the pages that it was planned to take, and the log.
async fn of_groups(name: &str, keep: &[&str], entries: Range<u64>) -> (f64, u64, String, Batch) {
    let world = World::default();
    let accepted = world.host("server", 1094, Link::delay(RTT));
    xrootd_host::serve(accepted, one_file("/small.root", GROUPS), Behaviour::default());
    let engine = farroot_sim::engine(&world);
    let started = tokio::time::Instant::now();
    let ntuple = engine.open(XROOTD).await.expect("opens").ntuple("Events").await.expect("is one");
    let number = |path: &str| ntuple.find(path).expect(path);
    let keep: Vec<usize> = keep.iter().map(|path| number(path)).collect();
    let column = match keep.is_empty() {
        true => ntuple.column(number(name)),
        false => ntuple.pruned(number(name), &keep),
    };
    let column = vec![column.expect("can be read")];
    let batch = ntuple.read(column.clone(), entries.clone()).await.expect("reads");
    let took = round_trips(started.elapsed(), RTT);
    let log = farroot_sim::log::lines(&engine.trace().records(), RTT);
    let plan = ntuple.plan(&column, entries, Step::Whole).await.expect("plans");
    let bytes = plan.pieces().map(|piece| piece.range.end - piece.range.start).sum();
    (took, bytes, log, batch)
}

/// All page lists come together, and beside the header where that lacks, too.
#[test]
fn many_cluster_groups_take_no_round_trip_more() {
    let (took, _, log, batch) = farroot_sim::run(of_groups("number", &[], 0..u64::MAX));
    let numbers = Array::Numbers { numbers: Numbers::I64((0..1920).collect()), shape: Vec::new() };
    assert_eq!(batch.columns, [("number".to_owned(), numbers)]);
    assert!(took < 5.01, "{took:.3} round trips:\n{log}");
    farroot_sim::log::golden("xrootd_ntuple_many_groups", &log);
}

/// Lists in the items of a list: their ends, the ends of the list, and their items; nothing of the
/// number beside them.
#[test]
fn a_part_of_a_nested_collection_takes_its_own_pages_alone() {
    let (took, bytes, log, batch) = farroot_sim::run(of_groups("hits", &["hits.1"], 0..u64::MAX));
    // 1,920 entries have 2,880 items, and these 4,800; each of 144 pages has a checksum.
    assert_eq!(bytes, 1_920 * 8 + 2_880 * 8 + 4_800 * 4 + 144 * 8);
    let (_, alone, _, other) = farroot_sim::run(of_groups("hits.1", &[], 0..u64::MAX));
    assert_eq!(alone, bytes);
    let (Array::List { offsets, content }, Array::List { offsets: same, content: lists }) =
        (&batch.columns[0].1, &other.columns[0].1)
    else {
        panic!("no lists");
    };
    let Array::Record { fields, .. } = &**content else { panic!("no records") };
    assert_eq!((fields.len(), &fields[0].1, offsets), (1, &**lists, same));
    let (_, all, _, _) = farroot_sim::run(of_groups("hits", &[], 0..u64::MAX));
    assert_eq!(all, bytes + 2_880 * 4 + 48 * 8);
    assert!(took < 5.01, "{took:.3} round trips:\n{log}");
    farroot_sim::log::golden("xrootd_ntuple_nested_alone", &log);
}

/// A cluster of 600 entries has pages of 256 numbers and of 128 ends of lists. The items of lists
/// are read of the whole cluster: only the ends show in which pages they are.
#[test]
fn some_entries_of_a_cluster_take_the_pages_that_they_are_in() {
    let (few, many) = farroot_sim::run(async {
        let file = farroot_sim::engine(&xrootd()).open(XROOTD).await.expect("opens");
        let ntuple = file.ntuple("Events").await.expect("is one");
        let pages = async |name: &str, entries: Range<u64>| {
            let columns = ntuple.columns(&[name.into()]).expect("is there");
            ntuple.plan(&columns, entries, Step::Whole).await.expect("plans").pieces().count()
        };
        let few = [
            pages("flat_0", 700..720).await,
            pages("flat_0", 800..900).await,
            pages("Muon_pt", 700..720).await,
        ];
        (few, [pages("flat_0", 600..1200).await, pages("Muon_pt", 600..1200).await])
    });
    assert_eq!((few, many), ([1, 2, 1 + 4], [3, 5 + 4]));
}

/// Nine clusters of each of many files, in three steps; how many round trips that took, and the
/// log.
async fn many_files(files: usize) -> (f64, String) {
    let world = World::default();
    let accepted = world.host("server", 1094, Link::delay(RTT));
    let paths = (0..files).map(|number| format!("/{number}.root"));
    let all = paths.map(|path| (path, FILE.into())).collect();
    xrootd_host::serve(accepted, Arc::new(all), Behaviour::default());
    let engine = farroot_sim::engine(&world);
    let place = |number| TableLocation {
        url: format!("root://server:1094//{number}.root"),
        ..TableLocation::default()
    };
    let keep = Some(vec!["Muon_pt".into()]);
    let optional = false;
    let as_bytes = false;
    let wanted = ColumnSpec::Requested(vec![ColumnRequest {
        name: "Muon_pt".into(),
        optional,
        as_bytes,
        counts: false,
        keep,
    }]);
    let entries = 0..u64::MAX;
    let step = Step::Entries(2_000);
    let on_error = OnError::Raise;
    let scan = ScanRequest { wanted, entries, step, cut: None, on_error };
    let started = tokio::time::Instant::now();
    let mut parts = engine.scan((0..files).map(place), scan);
    let mut seen = Vec::new();
    while let Some(part) = parts.next().await {
        let part = part.expect("reads");
        seen.push((part.file, part.batch.entries.start, part.batch.len()));
    }
    let steps = [(0, 2_000), (2_000, 2_000), (4_000, 1_400)];
    let of = |file| steps.map(|(start, length)| (file, start, length));
    assert_eq!(seen, (0..files).flat_map(of).collect::<Vec<_>>());
    let log = farroot_sim::log::lines(&engine.trace().records(), RTT);
    (round_trips(started.elapsed(), RTT), log)
}

/// It took nine round trips: nothing was guessed before an earlier file had shown the sizes.
#[test]
fn several_files_are_read_as_one() {
    farroot_sim::run(async {
        // The second file is opened beside the first, a round trip later: its connection has to log
        // in before. Of more files, those before show where the header ends.
        let (took, log) = many_files(2).await;
        assert!(took < 6.01, "{took:.3} round trips:\n{log}");
        farroot_sim::log::golden("xrootd_ntuple_two_files", &log);
        let (took, log) = many_files(8).await;
        assert!(took < 6.01, "{took:.3} round trips:\n{log}");
    });
}

#[test]
fn a_read_larger_than_the_budget_ends() {
    farroot_sim::run(async {
        let config = Config { decode_threads: 0, memory_bytes_max: 10_000, ..Config::default() };
        let engine = Engine::within(&config, Arc::new(xrootd())).expect("without threads");
        for step in [Step::Whole, Step::Entries(700)] {
            let read = in_steps(&engine, XROOTD, step);
            tokio::time::timeout(Duration::from_secs(600), read).await.expect("in virtual time");
        }
    });
}

#[test]
fn names_that_are_not_there_and_nothing_at_all() {
    farroot_sim::run(async {
        let engine = farroot_sim::engine(&xrootd());
        let ntuple = engine.open(XROOTD).await.expect("opens").ntuple("Events").await.expect("is");
        let error = ntuple.columns(&["Muon_pz".into()]).expect_err("is not there");
        assert!(error.to_string().contains("did you mean Muon_pt"), "{error}");
        let muons = ntuple.columns(&["Muon*".into()]).expect("two");
        assert_eq!(muons.len(), 2);
        let none = ntuple.read(muons, 7..7).await.expect("reads");
        assert!(none.is_empty() && none.columns[0].1.is_empty());
        let error = engine.open(XROOTD).await.expect("opens").tree("Events").await.err();
        assert!(error.expect("no tree").to_string().contains("not a TTree"));
    });
}

/// Decided columns that waited to be handed out once were outside of the budget: 32 MB more than
/// it.
#[test]
fn a_cut_decides_no_further_ahead_than_the_budget_allows() {
    let received = farroot_sim::run(async {
        let config = Config { decode_threads: 0, memory_bytes_max: 20_000, ..Config::default() };
        let engine = Engine::within(&config, Arc::new(xrootd())).expect("without threads");
        let file = engine.open(XROOTD).await.expect("opens");
        let ntuple = file.ntuple("Events").await.expect("is one");
        let columns = ntuple.columns(&["Muon_pt".into(), "flat_*".into()]).expect("are there");
        let names: Vec<String> = columns.iter().map(|column| column.name.clone()).collect();
        let all = |batch: Batch| Ok(vec![true; batch.len() as usize]);
        let cut = Cut::new(names, all);
        ntuple.clusters(&(0..u64::MAX)).await.expect("page lists");
        let opened = engine.report().bytes_received;
        let columns: Box<dyn Columns> = Box::new(RNTupleColumns::new(ntuple.clone(), columns));
        let _batches =
            columns.batches(0..u64::MAX, Step::Entries(300), Some(&cut)).await.expect("plans");
        tokio::time::sleep(Duration::from_secs(60)).await;
        engine.report().bytes_received - opened
    });
    assert!(received > 0 && received < 80_000, "{received} bytes of 233 kB");
}
