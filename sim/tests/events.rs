//! A reader that declares nothing: how many waits it costs, and how many bytes for nothing.

use std::time::Duration;

use engine::{Array, BranchId, Events, Numbers, Step};
use sim::link::Link;
use sim::network::World;
use sim::xrootd_host::Behaviour;
use sim::{one_file, round_trips, xrootd_host};

const RTT: Duration = Duration::from_millis(100);
const FILE: &[u8] = include_bytes!("../testdata/small_events.root");
const LARGE: usize = 6;
const SMALL: usize = 32;

/// What a reading of all events cost.
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
    sim::run(async {
        let world = World::default();
        let accepted = world.host("server", 1094, Link::delay(RTT));
        xrootd_host::serve(accepted, one_file("/events.root", FILE), Behaviour::default());
        let engine = sim::engine(&world);
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
                let range = plan.items[0].range.clone().expect("stored");
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
