//! ROOT's requests over a link of 100 ms: the waits of a client near a watched file.

use std::fmt::Write;
use std::ops::Range;
use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use engine::{Config, Engine};
use farroot_sim::dataset::{self, Dataset, Shape};
use farroot_sim::link::Link;
use farroot_sim::network::World;
use farroot_sim::replay::{Played, Vector, play, vectors};
use farroot_sim::xrootd_host::Behaviour;
use farroot_sim::{engine_with, log, one_file, round_trips, xrootd_host};
use remote::address::CacheUse;
use tokio::time::Instant;

const RTT: Duration = Duration::from_millis(100);
const URL: &str = "root://server:1094//f.root";
const EVENTS: &[u8] = include_bytes!("../testdata/small_events.root");
const LOGS: [(&str, &str); 3] = [
    ("trained cache", include_str!("../testdata/requests/root_trained_cache.txt")),
    ("learning cache", include_str!("../testdata/requests/root_learning_cache.txt")),
    ("without cache", include_str!("../testdata/requests/root_without_cache.txt")),
];
/// uproot 5.7 reads the first entries of three columns.
const FIRST_COLUMNS: &str = include_str!("../testdata/requests/uproot_first_columns.txt");
/// In the file's header, behind the version of its format.
const IDENTIFIER: usize = 47;
/// In the file's header: where its last record ends (`fEND`).
const END: usize = 12;

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
    let most = [3, 8, 4];
    for ((name, requests), most) in LOGS.into_iter().zip(most) {
        let vectors = vectors(requests);
        let (played, used, received) = farroot_sim::run(async {
            let content = Bytes::from_static(EVENTS);
            let engine = far(&content, Link::delay(RTT), Config::default());
            let watched = engine.watch(URL).await.expect("opens");
            let played = play(&watched, &content, &vectors, Duration::ZERO).await;
            (played, watched.used(), engine.report().bytes_received)
        });
        let trips = round_trips(played.wall, RTT);
        assert!(played.waits <= most, "{name}: {played:?}");
        assert!(used.bytes_unused * 20 <= used.bytes_ahead, "{name}: {used:?}");
        let _ = writeln!(
            golden,
            "{name}: {} requests, {} bytes; waited for {} of them, {trips:.2} round trips; \
             {} bytes ahead, {} unused; {received} received",
            used.reads, used.bytes_read, played.waits, used.bytes_ahead, used.bytes_unused,
        );
    }
    log::golden("replayed_root", &golden);
}

/// Regression: a client with `CacheUse::Only` shares a file that another client has open. Its reads
/// were predicted, and the server answered requests for the predictions.
#[test]
fn nothing_is_fetched_ahead_for_a_client_that_only_the_cache_may_answer() {
    let ahead = |cache_use| {
        farroot_sim::run(async {
            let content = Bytes::from_static(EVENTS);
            let engine = far(&content, Link::delay(RTT), Config::default());
            let _first = engine.watch(URL).await.expect("opens");
            let watched = engine.watch_with(URL, cache_use).await.expect("is open");
            play(&watched, &content, &vectors(LOGS[0].1), Duration::ZERO).await;
            watched.used().bytes_ahead
        })
    };
    assert!(ahead(CacheUse::Usual) > 0);
    assert_eq!(ahead(CacheUse::Only), 0);
}

/// A file of 16 MB, and the requests of a client whose cache holds two clusters and knows its five
/// branches.
fn long_file() -> (Bytes, Vec<Vector>) {
    file_of(20, 1250, vec![2, 3, 7, 11, 19])
}

/// A file of 80 clusters, two of which fill a client's cache with its branches.
fn file_of(branches: usize, entries: u64, read: Vec<usize>) -> (Bytes, Vec<Vector>) {
    let dataset = Dataset::make(Shape { clusters: 80, entries, lengths: vec![1; branches], read });
    let fills = dataset.fills(2);
    (dataset.content, fills)
}

/// A link on which a fill takes so long beside the round trip.
fn link(fill: &Vector, transfer: Duration) -> Link {
    let rate = (dataset::bytes(fill) as f64 / transfer.as_secs_f64()) as u64;
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

/// Without prediction a fill takes 270 ms, and the efficiencies are 0.65 and 0.39. Regression:
/// predictions fetched as much as the link holds and a fill more. By the last measurement of the
/// link that was a little less or more than two fills; with less, half of each fill came late.
#[test]
fn a_long_job_hardly_waits() {
    let (content, fills) = long_file();
    let mut golden = String::new();
    for (work, least) in [(500, 0.96), (170, 0.88)] {
        let (played, used) = long_job(&content, &fills, Duration::from_millis(work));
        let efficiency = played.efficiency();
        let _ = writeln!(golden, "{work} ms of work after a fill of 170 ms: {efficiency:.3}");
        assert!(efficiency >= least, "{golden}{} waits", played.waits);
        assert_eq!(used.bytes_unused, 0);
    }
    log::golden("replayed_long_job", &golden);
}

/// With short fills, the metadata fetched with the first fill take 0.1 s longer.
#[test]
fn a_long_job_of_long_fills_works_nine_tenths_of_its_time() {
    let (content, fills) = file_of(6, 6250, (0..5).collect());
    let (played, used) = long_job(&content, &fills, Duration::from_millis(170));
    assert!(played.efficiency() >= 0.90, "{:.3} {played:?}", played.efficiency());
    assert_eq!(used.bytes_unused, 0);
}

/// The proxy requests long ranges in pieces of 256 KiB, which end inside of baskets: those baskets
/// were taken for unread, and nothing of their columns was predicted.
#[test]
fn baskets_that_are_asked_for_in_parts_are_read_all_the_same() {
    let (content, fills) = long_file();
    let halves = |range: &Range<u64>| {
        let middle = (range.start + range.end) / 2;
        [range.start..middle, middle..range.end]
    };
    let divided: Vec<Vector> =
        fills.iter().map(|fill| fill.iter().flat_map(halves).collect()).collect();
    let (played, used) = long_job(&content, &divided, Duration::from_millis(500));
    assert!(played.waits <= 5, "{played:?} {used:?}");
    assert_eq!(used.bytes_unused, 0);
}

/// Round trips and predictions of a client that opens a file of a few clusters, in baskets of 100
/// kB, and reads these vectors without work between them.
fn trips_of(clusters: u64, vectors: impl Fn(&Dataset) -> Vec<Vector>) -> (f64, engine::Used) {
    let lengths = vec![1; 20];
    let read = (4..14).collect();
    let dataset = Dataset::make(Shape { clusters, entries: 12_500, lengths, read });
    let vectors = vectors(&dataset);
    farroot_sim::run(async {
        let engine = far(&dataset.content, Link::delay(RTT), Config::default());
        let begun = Instant::now();
        let watched = engine.watch(URL).await.expect("opens");
        let metadata = metadata(&dataset.content);
        play(&watched, &dataset.content, &metadata, Duration::ZERO).await;
        play(&watched, &dataset.content, &vectors, Duration::ZERO).await;
        (round_trips(begun.elapsed(), RTT), watched.used())
    })
}

/// uproot's `iterate` requests a step of all columns, and waits for it: one after the other they
/// take eight round trips, and four until the first.
#[test]
fn eight_steps_of_uproot_take_six_round_trips() {
    let (trips, used) = trips_of(8, |dataset| dataset.fills(1));
    assert!(trips <= 6.01, "{trips:.2} {used:?}");
    assert_eq!(used.bytes_unused, 0);
}

/// Regression: over a link with a rate, the last bytes of a file came a moment before the rest of
/// its metadata. uproot requested more, and the bytes that had arrived were requested again: a
/// round trip.
#[test]
fn metadata_that_have_come_are_not_requested_again() {
    let lengths = vec![1; 20];
    let read = vec![4, 9, 14];
    let dataset = Dataset::make(Shape { clusters: 8, entries: 21_000, lengths, read });
    let link = Link { rtt: RTT, rate: Some(125_000_000), slow_start: true };
    let (trips, used) = farroot_sim::run(async {
        let engine = far(&dataset.content, link, Config::default());
        let begun = Instant::now();
        let watched = engine.watch(URL).await.expect("opens");
        let vectors = metadata(&dataset.content);
        play(&watched, &dataset.content, &vectors, Duration::ZERO).await;
        (round_trips(begun.elapsed(), RTT), watched.used())
    });
    assert!(trips < 3.1, "{trips:.2} {used:?}");
}

/// Header, list of keys, streamers and tree, as uproot reads them.
fn metadata(content: &Bytes) -> [Vector; 3] {
    let size = content.len() as u64;
    [0..403, size - 400..size, size - 8000..size - 400].map(|range| vec![range])
}

/// Round trips of a process that opens a file and reads these vectors, connecting included. Its
/// notes about the file stay in `store`.
fn trips_with(store: &Path, content: &Bytes, vectors: &[Vector]) -> f64 {
    let config = Config { store_folder: Some(store.to_owned()), ..Config::default() };
    farroot_sim::run(async {
        let engine = far(content, Link::delay(RTT), config);
        let begun = Instant::now();
        let watched = engine.watch(URL).await.expect("opens");
        play(&watched, content, vectors, Duration::ZERO).await;
        round_trips(begun.elapsed(), RTT)
    })
}

/// Connecting takes one, and the rest the second. Regression: a file that is known took as many as
/// another one: uproot reads 8 bytes more than its list of keys, which were not stored, and the
/// columns were requested only then.
#[test]
fn the_first_columns_of_a_known_file_come_with_its_open() {
    let store = tempfile::tempdir().expect("a folder");
    let content = Bytes::from_static(EVENTS);
    let vectors = vectors(FIRST_COLUMNS);
    let trips: Vec<f64> = (0..3).map(|_| trips_with(store.path(), &content, &vectors)).collect();
    assert!(trips[0] <= 4.01 && trips[1..].iter().all(|trips| *trips <= 2.01), "{trips:.2?}");
    let others = [vec![235_352..235_548], vec![235_548..235_744]].concat();
    let others: Vec<Vector> = [&vectors[..5], &[others]].concat();
    let trips = trips_with(store.path(), &content, &others);
    assert!(trips <= 3.01, "{trips:.2} with other columns");
}

/// Regression: the 8 bytes that uproot reads behind the list of keys were stored only where they
/// had been fetched on speculation, with the file's last bytes.
#[test]
fn the_first_columns_of_a_known_file_with_its_keys_in_the_middle_come_with_its_open() {
    let mut content = EVENTS.to_vec();
    content.resize(content.len() + (4 << 20), 0);
    let end = u32::try_from(content.len()).expect("a file of less than 2 GB");
    content[END..END + 4].copy_from_slice(&end.to_be_bytes());
    let content = Bytes::from(content);
    let store = tempfile::tempdir().expect("a folder");
    let vectors = vectors(FIRST_COLUMNS);
    let trips: Vec<f64> = (0..3).map(|_| trips_with(store.path(), &content, &vectors)).collect();
    assert!(trips[1..].iter().all(|trips| *trips <= 2.01), "{trips:.2?}");
}

/// The server describes both files alike; [`play`] compares the bytes with those of the second one.
#[test]
fn what_came_with_the_open_of_a_file_that_was_replaced_is_thrown_away() {
    let vectors = vectors(FIRST_COLUMNS);
    let before = Bytes::from_static(EVENTS);
    let mut renamed = EVENTS.to_vec();
    renamed[IDENTIFIER] ^= 1;
    // Nothing but the basket differs that is read first.
    renamed[vectors[5][0].start as usize + 100] ^= 1;
    let longer = [&renamed[..], &[0; 1000]].concat();
    for after in [renamed, longer] {
        let store = tempfile::tempdir().expect("a folder");
        trips_with(store.path(), &before, &vectors);
        assert!(trips_with(store.path(), &before, &vectors) <= 2.01);
        let trips = trips_with(store.path(), &after.into(), &vectors);
        assert!(trips > 2.01, "{trips:.2}");
    }
}

/// coffea's virtual arrays request a chunk of one column after the other. Regression: baskets of
/// more than 64 KiB were never predicted, and 8 chunks of 10 columns took 80 round trips.
#[test]
fn columns_that_coffea_reads_in_turns_are_here() {
    let (trips, used) = trips_of(8, |dataset| {
        let mut turns = dataset.fills(1);
        // The order of its use, which is not that of the file.
        turns.iter_mut().for_each(|chunk| chunk.reverse());
        turns.concat().into_iter().map(|basket| vec![basket]).collect()
    });
    assert!(trips <= 22.01, "{trips:.2} {used:?}");
    assert_eq!(used.bytes_unused, 0);
}

/// The same with chunks that end in the middle of baskets: the first basket of each chunk has been
/// read before. Regression: it was requested once more, and each read waited for it.
#[test]
fn chunks_that_coffea_reads_may_end_within_baskets() {
    let (trips, used) = trips_of(8, |dataset| {
        let columns = (0..10).map(|column| dataset.clusters.iter().map(move |all| &all[column]));
        let columns: Vec<Vector> = columns.map(|baskets| baskets.cloned().collect()).collect();
        let chunk = |last: usize| {
            let of_chunk = move |baskets: &Vector| baskets[last.saturating_sub(2)..=last].to_vec();
            columns.iter().map(of_chunk)
        };
        (1..8).step_by(2).flat_map(chunk).collect()
    });
    assert!(trips <= 19.01, "{trips:.2} {used:?}");
    assert_eq!(used.bytes_unused, 0);
}

#[test]
fn a_job_that_reads_clusters_in_any_order_loses_nothing() {
    let (content, fills) = long_file();
    let order = dataset::shuffled(fills.len(), 7);
    let shuffled: Vec<Vector> = order.into_iter().map(|fill| fills[fill].clone()).collect();
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
            // A client first reads the metadata of the file, and parses them.
            tokio::time::sleep(5 * RTT).await;
            let played = play(&watched, &content, &fills[..1], Duration::ZERO).await;
            (played, watched.used())
        })
    };
    let (first, _) = play_first(1);
    let (second, used) = play_first(2);
    assert_eq!((first.waits, second.waits), (1, 0), "{used:?}");
}
