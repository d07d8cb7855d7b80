//! ROOT's requests over a link of 100 ms: what a client near a watched file waits for.

use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use engine::{
    Array, ClusterSize, Compression, Config, Engine, EntryType, Number, Numbers, TableColumn,
    TreeOptions, WriteOptions,
};
use farroot_sim::link::Link;
use farroot_sim::network::World;
use farroot_sim::replay::{Played, Vector, play, vectors};
use farroot_sim::xrootd_host::Behaviour;
use farroot_sim::{engine_with, log, one_file, round_trips, xrootd_host};

const RTT: Duration = Duration::from_millis(100);
const URL: &str = "root://server:1094//f.root";
const EVENTS: &[u8] = include_bytes!("../testdata/small_events.root");
const LOGS: [(&str, &str); 3] = [
    ("trained cache", include_str!("../testdata/requests/root_trained_cache.txt")),
    ("learning cache", include_str!("../testdata/requests/root_learning_cache.txt")),
    ("without cache", include_str!("../testdata/requests/root_without_cache.txt")),
];

/// An engine, and behind a link a server with a file.
fn far(content: &Bytes, link: Link, config: Config) -> Engine {
    let world = World::default();
    let accepted = world.host("server", 1094, link);
    xrootd_host::serve(accepted, one_file("/f.root", content.clone()), Behaviour::default());
    engine_with(&world, config)
}

#[test]
fn what_root_asks_for_one_after_the_other_is_here() {
    let mut golden = String::new();
    for (name, requests) in LOGS {
        let vectors = vectors(requests);
        let (played, used, received) = farroot_sim::run(async {
            let content = Bytes::from_static(EVENTS);
            let engine = far(&content, Link::delay(RTT), Config::default());
            let watched = engine.watch(URL).await.expect("opens");
            let played = play(&watched, &content, &vectors, Duration::ZERO).await;
            (played, watched.used(), engine.report().bytes_received)
        });
        let trips = round_trips(played.wall, RTT);
        let _ = writeln!(
            golden,
            "{name}: {} requests, {} bytes; waited for {} of them, {trips:.2} round trips; \
             {} bytes ahead, {} unused; {received} received",
            used.reads, used.bytes_read, played.waits, used.bytes_ahead, used.bytes_unused,
        );
    }
    log::golden("replayed_root", &golden);
}

const COLUMNS: usize = 20;
const CLUSTERS: u64 = 80;
/// Entries of a cluster, which are a basket of 10 kB in each column.
const ENTRIES: u64 = 1250;
/// What a client reads, and the clusters that its cache holds.
const READ: [usize; 5] = [2, 3, 7, 11, 19];
const CACHED: u64 = 2;

/// A file with a tree, and the vectors of a client whose cache knows its columns.
fn long_file() -> (Bytes, Vec<Vector>) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("f.root");
    let address = path.to_str().expect("a name");
    let engine = Engine::start(Config::default()).expect("starts");
    let number = |at: usize| TableColumn {
        name: format!("x{at}"),
        title: String::new(),
        entry: EntryType::Number(Number::F64),
    };
    let options = TreeOptions {
        compression: Compression::NONE,
        cluster: ClusterSize::Entries(ENTRIES),
        ..TreeOptions::default()
    };
    let fills = engine.block_on(async {
        let file = engine.create(address, WriteOptions::default()).await?;
        let tree = file.make_tree("t", (0..COLUMNS).map(number).collect(), options).await?;
        for cluster in 0..CLUSTERS {
            let values = |column: usize| {
                let first = cluster * ENTRIES;
                let value = |entry: u64| (first + entry) as f64 / (column + 1) as f64;
                let numbers = Numbers::F64((0..ENTRIES).map(value).collect());
                Arc::new(Array::Numbers { numbers, shape: Vec::new() })
            };
            tree.extend((0..COLUMNS).map(values).collect()).await?;
        }
        file.finish().await?;
        let tree = engine.open_tree(address, None).await?;
        let branches = &tree.metadata().branches;
        let fill = |first: u64| -> Vector {
            let entries = first * ENTRIES..(first + CACHED) * ENTRIES;
            let baskets = READ.iter().flat_map(|column| &branches[*column].baskets);
            let within = baskets.filter(|basket| entries.contains(&basket.entries.start));
            let mut ranges: Vector = within.filter_map(|basket| basket.place.stored()).collect();
            ranges.sort_by_key(|range| range.start);
            ranges
        };
        engine::Result::Ok((0..CLUSTERS).step_by(CACHED as usize).map(fill).collect())
    });
    (std::fs::read(&path).expect("is there").into(), fills.expect("is written"))
}

/// A link on which a fill takes so long beside the round trip.
fn link(fill: &Vector, transfer: Duration) -> Link {
    let bytes: u64 = fill.iter().map(|range| range.end - range.start).sum();
    let rate = (bytes as f64 / transfer.as_secs_f64()) as u64;
    Link { rtt: RTT, rate: Some(rate), slow_start: true }
}

/// A job of forty fills, each of which takes 170 ms on the link.
fn long_job(content: &Bytes, fills: &[Vector], work: Duration) -> (Played, engine::Used) {
    farroot_sim::run(async {
        let link = link(&fills[0], Duration::from_millis(170));
        let engine = far(content, link, Config::default());
        let watched = engine.watch(URL).await.expect("opens");
        let played = play(&watched, content, fills, work).await;
        (played, watched.used())
    })
}

/// Without prediction a fill takes 270 ms, and the efficiencies are 0.65 and 0.39.
#[test]
fn a_long_job_hardly_waits() {
    let (content, fills) = long_file();
    let mut golden = String::new();
    for (work, least) in [(500, 0.93), (170, 0.80)] {
        let (played, used) = long_job(&content, &fills, Duration::from_millis(work));
        let efficiency = played.efficiency();
        let _ = writeln!(golden, "{work} ms of work after a fill of 170 ms: {efficiency:.3}");
        assert!(efficiency >= least, "{golden}{} waits", played.waits);
        assert_eq!(used.bytes_unused, 0);
    }
    log::golden("replayed_long_job", &golden);
}

#[test]
fn a_job_that_reads_clusters_in_any_order_loses_nothing() {
    let (content, fills) = long_file();
    let mut shuffled = fills.clone();
    let mut state = 7u64;
    for at in (1..shuffled.len()).rev() {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        shuffled.swap(at, (state >> 33) as usize % (at + 1));
    }
    let (played, used) = long_job(&content, &shuffled, Duration::from_millis(170));
    assert!(used.bytes_unused * 20 <= used.bytes_read, "{used:?}");
    let alone = (RTT + Duration::from_millis(170 + 170)) * shuffled.len() as u32;
    assert!(played.wall <= alone.mul_f64(1.05), "{:?} instead of {alone:?}", played.wall);
}

#[test]
fn the_second_file_of_a_dataset_is_here_from_its_first_vector_on() {
    let (content, fills) = long_file();
    let folder = tempfile::tempdir().expect("a folder");
    let config = || Config { store_folder: Some(folder.path().to_owned()), ..Config::default() };
    let play_first = |file: u32| {
        farroot_sim::run(async {
            let world = World::default();
            let accepted = world.host("server", 1094, link(&fills[0], Duration::from_millis(17)));
            let path = format!("/{file}.root");
            let files = one_file(&path, content.clone());
            xrootd_host::serve(accepted, files, Behaviour::default());
            let engine = engine_with(&world, config());
            let address = format!("root://server:1094/{path}");
            let watched = engine.watch(&address).await.expect("opens");
            // A client reads what the file says of itself first, and understands it.
            tokio::time::sleep(5 * RTT).await;
            let played = play(&watched, &content, &fills[..1], Duration::ZERO).await;
            (played, watched.used())
        })
    };
    let (first, _) = play_first(1);
    let (second, used) = play_first(2);
    assert_eq!((first.waits, second.waits), (1, 0), "{used:?}");
}
