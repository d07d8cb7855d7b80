//! Entries that a server selects, and the choice between it and here.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use engine::Engine;
use farroot_sim::link::Link;
use farroot_sim::near_clients::{NearBed, NearRead, engine};
use remote::Near;
use rootfile::write::tree::{TreeOptions, TreeWriter};
use rootfile::write::{
    Compression, DirectoryId, Encoders, EntryType, FileOptions, FileWriter, TableColumn,
};
use rootfile::{Array, Numbers};

const FILE: &[u8] = include_bytes!("../testdata/small_nano.root");
const MS: Duration = Duration::from_millis(1);
const FEW: &[&str] = &["Muon_pt", "flat_1"];
const MANY: &[&str] = &["Muon_*", "flat_*"];

fn bed(rtt: Duration, rate: Option<u64>) -> NearBed {
    let link = Link { rtt, rate, slow_start: true };
    NearBed { file: FILE.into(), link, cores: 16, work: Duration::ZERO }
}

/// The times of a first and of a second read, here, there and where the engine chooses.
struct Times {
    here: [Duration; 2],
    there: [Duration; 2],
    auto: [Duration; 2],
}

fn times(bed: &NearBed, read: NearRead<'_>) -> Times {
    let mut entries = Vec::new();
    let mut timed = |near: Near| {
        farroot_sim::run(async {
            let engine = engine(&bed.world(), &near);
            let (first, batch) = read.run(&engine).await;
            let (second, again) = read.run(&engine).await;
            assert_eq!(batch.columns, again.columns);
            entries.push(batch.columns);
            [first, second]
        })
    };
    let here = timed(Near::Never);
    let there = timed(Near::AtServer);
    let auto = timed(Near::Auto);
    assert!(entries.windows(2).all(|pair| pair[0] == pair[1]), "{read:?}");
    Times { here, there, auto }
}

/// Of the first read the share of entries that is left is unknown, of the second it is remembered.
#[test]
fn the_choice_is_hardly_slower_than_the_better_way() {
    let mut cases = 0;
    let mut worst = [0.0f64; 2];
    for rtt in [1, 20, 100, 250] {
        for rate in [Some(125_000), Some(1_250_000), Some(12_500_000), None] {
            for share in [0.0, 0.01, 0.3, 1.0] {
                for columns in [FEW, MANY] {
                    let cut = format!("flat_5 < {share}");
                    let read = NearRead { tree: "Events", columns, cut: &cut };
                    let Times { here, there, auto } = times(&bed(MS * rtt, rate), read);
                    for at in 0..2 {
                        let better = here[at].min(there[at]).as_secs_f64();
                        let ratio = auto[at].as_secs_f64() / better;
                        worst[at] = worst[at].max(ratio);
                    }
                    cases += 1;
                }
            }
        }
    }
    assert!(cases >= 60);
    // Who wants a server to select has the metadata with the open.
    assert!(worst[0] <= 2.0 && worst[1] <= 1.15, "{worst:?}");
}

/// Sixteen cores, each of which a request takes for a second: a thousand clients would wait for a
/// minute.
#[test]
fn clients_stop_asking_a_server_that_has_more_requests_than_it_can_answer() {
    let bed = NearBed { work: MS * 1_000, ..bed(MS * 100, Some(8_000_000)) };
    let read = NearRead { tree: "Events", columns: MANY, cut: "flat_5 < 0.01" };
    for clients in [1, 20, 60] {
        let [here, there, auto] = [Near::Never, Near::AtServer, Near::Auto]
            .map(|near| bed.mean_time(read, &near, clients, 4).as_secs_f64());
        assert!(auto <= 1.5 * here.min(there), "{clients}: {here} {there} {auto}");
    }
}

/// Regression: each request made a connection of its own, a round trip before it could leave.
#[test]
fn a_connection_is_there_before_the_request() {
    farroot_sim::run(async {
        let bed = NearBed { link: Link::delay(MS * 100), ..bed(MS * 100, None) };
        let engine = engine(&bed.world(), &Near::AtServer);
        let read = NearRead { tree: "Events", columns: FEW, cut: "flat_5 < 0.01" };
        let (cold, _) = read.run(&engine).await;
        let (known, _) = read.run(&engine).await;
        let trips = [cold, known].map(|took| farroot_sim::round_trips(took, MS * 100).round());
        assert_eq!(trips, [3.0, 2.0]);
    });
}

/// A file of a tree `t` with five columns of a million random numbers, stored as they are.
fn long_tree() -> Bytes {
    const ENTRIES: usize = 1 << 20;
    let mut random = fastrand::Rng::with_seed(5);
    let arrays = ["cut", "a", "b", "c", "d"].map(|name| {
        let numbers = Numbers::F32((0..ENTRIES).map(|_| random.f32()).collect());
        (name, Arc::new(Array::Numbers { numbers, shape: Vec::new() }))
    });
    let columns = arrays.each_ref().map(|(name, array)| TableColumn {
        name: (*name).into(),
        title: String::new(),
        entry: EntryType::of(array).expect("a type"),
    });
    let compression = Compression::of_number(0).expect("none");
    let writer = TreeWriter::new(columns.to_vec(), TreeOptions::default()).expect("a tree");
    let options = FileOptions {
        name: "long.root".into(),
        title: String::new(),
        compression,
        uuid: 7,
        datime: 1_000_000_000,
    };
    let mut file = FileWriter::new(options).expect("a file");
    let table = file.add_table(DirectoryId::TOP, "t", Box::new(writer));
    let arrays = arrays.map(|(_, array)| array);
    file.extend(table, arrays.to_vec()).expect("takes entries");
    file.close();
    written(file)
}

fn written(mut file: FileWriter) -> Bytes {
    let mut encoders = Encoders::default();
    let mut bytes: Vec<u8> = Vec::new();
    while !file.is_finished() {
        while let Some((number, work)) = file.poll_work() {
            file.complete(number, work.encode.encode(&mut encoders).expect("encodes"));
        }
        while let Some(write) = file.poll_write().expect("writes") {
            let start = write.offset as usize;
            bytes.resize(bytes.len().max(start + write.bytes.len()), 0);
            bytes[start..start + write.bytes.len()].copy_from_slice(&write.bytes);
        }
    }
    bytes.into()
}

/// Regression: with `near=True` in a call, and not in the settings, the metadata did not come
/// beside the open.
#[test]
fn a_call_has_the_round_trips_of_the_settings() {
    let bed = NearBed { file: long_tree(), ..bed(MS * 100, Some(125_000_000)) };
    let columns = &["cut", "a", "b", "c", "d"];
    let read = NearRead { tree: "t", columns, cut: "cut < 0.015" };
    for (near, word) in [(Near::AtServer, "on"), (Near::Auto, "auto"), (Near::Never, "off")] {
        let by_settings = times_of(&bed, &near, async |engine| read.run(engine).await.0);
        let by_call =
            times_of(&bed, &Near::Never, async |engine| read.run_by_call(engine, word).await.0);
        assert_eq!(by_call, by_settings, "{word}");
    }
}

/// Of a first and of a second read.
fn times_of(bed: &NearBed, near: &Near, read: impl AsyncFn(&Engine) -> Duration) -> [Duration; 2] {
    farroot_sim::run(async {
        let engine = engine(&bed.world(), near);
        [read(&engine).await, read(&engine).await]
    })
}

/// Regression: 0.3 MB came over one new connection, which took five round trips.
#[test]
fn a_long_answer_comes_over_several_connections() {
    let file = long_tree();
    let rate = Some(125_000_000);
    let bed = NearBed { file, ..bed(MS * 100, rate) };
    let columns = &["cut", "a", "b", "c", "d"];
    let read = NearRead { tree: "t", columns, cut: "cut < 0.015" };
    let Times { there, here, .. } = times(&bed, read);
    let trips = there.map(|took| farroot_sim::round_trips(took, MS * 100));
    // The open takes two round trips at first and one later; the answers two, and then one.
    assert!(trips[0] < 4.3 && trips[1] < 2.3, "{trips:?}");
    assert!(there[0] < here[0], "{there:?} {here:?}");
}
