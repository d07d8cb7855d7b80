//! A reader that declares nothing: how many waits it costs, and how many bytes for nothing.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use engine::{Array, BranchId, Columns, Config, Engine, Events, Numbers, Step, TreeColumns};
use farroot_sim::link::Link;
use farroot_sim::network::World;
use farroot_sim::xrootd_host::Behaviour;
use farroot_sim::{one_file, round_trips, xrootd_host};

const RTT: Duration = Duration::from_millis(100);
const FILE: &[u8] = include_bytes!("../testdata/small_events.root");
const LARGE: usize = 6;
const SMALL: usize = 32;

/// The cost of a read of all events.
#[derive(Debug)]
struct Cost {
    /// Round trips since the file was open.
    trips: f64,
    /// Bytes received, and those of the baskets that were touched.
    bytes: u64,
    needed: u64,
}

/// Reads all events of a file that has just been opened; `touches` says which branches each event
/// looks at, by number.
fn read(touches: impl Fn(u64, usize) -> bool) -> Cost {
    read_with(Config { decode_threads: 0, ..Config::default() }, touches)
}

fn read_with(config: Config, touches: impl Fn(u64, usize) -> bool) -> Cost {
    farroot_sim::run(async {
        let world = World::default();
        let accepted = world.host("server", 1094, Link::delay(RTT));
        xrootd_host::serve(accepted, one_file("/events.root", FILE), Behaviour::default());
        let engine = Engine::within(&config, Arc::new(world.clone())).expect("an engine");
        let url = "root://server:1094//events.root";
        let tree = engine.open_tree(url, Some("Events")).await.expect("opens");
        let opened = engine.report().bytes_received;
        let started = tokio::time::Instant::now();
        let mut events = tree.events(0..u64::MAX);
        let branches = branches(&events);
        let mut needed = std::collections::BTreeMap::new();
        while let Some(mut event) = events.next() {
            let entry = event.entry();
            for (number, branch) in branches.iter().enumerate() {
                if !touches(entry, number) {
                    continue;
                }
                let value = event.get(*branch).await.expect("reads");
                check(entry, number, &value.to_array());
                let column = tree.column(*branch).expect("can be read");
                let plan = tree.plan(&[column], entry..entry + 1, Step::Whole).expect("plans");
                let range = &plan.items[0].pieces.first().expect("stored").range;
                needed.insert(range.start, range.end - range.start);
            }
        }
        Cost {
            trips: round_trips(started.elapsed(), RTT),
            bytes: engine.report().bytes_received - opened,
            needed: needed.values().sum(),
        }
    })
}

fn branches(events: &Events) -> Vec<BranchId> {
    let large = (0..LARGE).map(|number| format!("large_{number}"));
    let small = (0..SMALL).map(|number| format!("small_{number}"));
    large.chain(small).map(|name| events.branch(&name).expect("is there")).collect()
}

fn check(entry: u64, number: usize, value: &Array) {
    let Array::Numbers { numbers: Numbers::F32(numbers), .. } = value else { panic!("floats") };
    assert_eq!(numbers.len(), if number < LARGE { 30 } else { 1 });
    assert_eq!(numbers[0], (entry * 1000 + number as u64) as f32);
}

fn always(number: usize) -> bool {
    number.is_multiple_of(3)
}

/// One basket after the other would be a thousand round trips.
#[test]
fn what_is_always_touched_is_waited_for_a_few_times_only() {
    let cost = read(|_, number| always(number));
    assert!(cost.trips < 4.01, "{cost:?}");
    assert!(cost.bytes < cost.needed * 3 / 2, "{cost:?}");
}

/// The seeds' pattern: everything in every fiftieth event, of which the first is one.
#[test]
fn a_prescaled_trigger_is_learnt() {
    let cost = read(|entry, number| always(number) || entry % 50 == 0);
    assert!(cost.trips < 7.01, "{cost:?}");
    assert!(cost.bytes < cost.needed * 3 / 2, "{cost:?}");
}

/// A trigger that nothing announces costs one round trip, not one a branch.
#[test]
fn what_is_rarely_touched_comes_together() {
    let fires = |entry| [0, 33, 61, 150, 222, 290].contains(&entry);
    let cost = read(move |entry, number| always(number) || fires(entry));
    assert!(cost.trips < 10.01, "{cost:?}");
    assert!(cost.bytes < cost.needed * 3 / 2, "{cost:?}");
}

/// The next run knows from the beginning which branches one run has touched; also of a rare
/// trigger.
#[test]
fn the_next_run_knows_what_was_touched() {
    let store = tempfile::tempdir().expect("a folder");
    let run = |store: Option<&Path>| {
        let store_folder = store.map(Path::to_path_buf);
        let config = Config { decode_threads: 0, store_folder, ..Config::default() };
        read_with(config, |entry, number| always(number) || entry == 33)
    };
    let unknown = run(None);
    run(Some(store.path()));
    let known = run(Some(store.path()));
    assert!(known.trips < unknown.trips - 0.5, "{known:?} after {unknown:?}");
    assert!(known.trips < 2.01, "{known:?}");
    assert!(known.bytes < unknown.bytes, "{known:?} after {unknown:?}");
}

#[test]
fn a_damaged_profile_is_none() {
    let store = tempfile::tempdir().expect("a folder");
    let config = || Config {
        decode_threads: 0,
        store_folder: Some(store.path().to_path_buf()),
        ..Config::default()
    };
    let before = read_with(config(), |_, number| always(number));
    let folder = store.path().join("farroot-profiles");
    for profile in std::fs::read_dir(folder).expect("profiles") {
        let path = profile.expect("one").path();
        if !path.ends_with("CACHEDIR.TAG") {
            std::fs::write(path, "{\"steady\": [3]").expect("written");
        }
    }
    let after = read_with(config(), |_, number| always(number));
    assert!((after.trips - before.trips).abs() < 0.01, "{after:?} after {before:?}");
}

/// Columns looked at in one batch are on their way before the next one.
#[test]
fn lazy_batches_fetch_ahead_what_is_looked_at() {
    let trips = farroot_sim::run(async {
        let world = World::default();
        let accepted = world.host("server", 1094, Link::delay(RTT));
        xrootd_host::serve(accepted, one_file("/events.root", FILE), Behaviour::default());
        let engine = farroot_sim::engine(&world);
        let url = "root://server:1094//events.root";
        let tree = engine.open_tree(url, Some("Events")).await.expect("opens");
        let started = tokio::time::Instant::now();
        let all: Box<dyn Columns> = Box::new(TreeColumns::new(tree.clone(), tree.all_columns()));
        let batches = all.lazy_batches(0..u64::MAX, Step::Entries(25)).await.expect("plans");
        let position = |name| all.names().iter().position(|column| *column == name);
        let looked_at =
            ["large_1", "small_1", "small_7"].map(|name| position(name).expect("is there"));
        let mut read = Vec::new();
        while let Some(batch) = batches.next().await.transpose().expect("goes on") {
            for column in looked_at {
                let array = batches.get(column, batch.clone()).await.expect("reads");
                read.push((column, batch.clone(), array));
            }
        }
        let trips = round_trips(started.elapsed(), RTT);
        assert_eq!(read.len(), 3 * 300 / 25);
        for (column, entries, array) in read {
            let whole = all.pick(&[column]).read(entries.clone()).await.expect("reads");
            assert_eq!(array, whole.columns[0].1);
            let again = batches.get(column, entries).await.expect("reads");
            assert_eq!(array, again, "of a batch that is over");
        }
        trips
    });
    assert!(trips < 5.01, "{trips:.3} round trips");
}
