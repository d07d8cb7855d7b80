//! Friends of a tree, in its own file and in another one: opened side by side, read side by side.

use std::sync::Arc;
use std::time::Duration;

use engine::{Array, Cut, Engine, Numbers, Selected, Step, Table, Tree, Wanted};
use sim::link::Link;
use sim::network::World;
use sim::round_trips;
use sim::xrootd_host::{self, Behaviour};

const RTT: Duration = Duration::from_millis(100);
const FILE: &[u8] = include_bytes!("../../crates/rootfile/testdata/friends.root");
const OTHER: &[u8] = include_bytes!("../../crates/rootfile/testdata/friends_other.root");

fn world() -> World {
    let world = World::default();
    let accepted = world.host("server", 1094, Link::delay(RTT));
    let files = [("/store/friends.root", FILE), ("/store/friends_other.root", OTHER)];
    let files = files.map(|(path, content)| (path.to_owned(), content.into()));
    xrootd_host::serve(accepted, Arc::new(files.into()), Behaviour::default());
    world
}

async fn open(engine: &Engine) -> Tree {
    let url = "root://server:1094//store/friends.root";
    engine.open_tree(url, Some("events")).await.expect("opens")
}

async fn select(engine: &Engine, tree: &Tree, names: &[&str], cut: Option<&Cut>) -> Selected {
    let names = names.iter().map(|name| (*name).to_owned()).collect();
    let table = Table::Tree(tree.clone());
    engine.select_for(&table, &Wanted::Named(names), cut).await.expect("are there")
}

fn doubles(array: &Array) -> Vec<Option<f64>> {
    match array {
        Array::Numbers { numbers: Numbers::F64(all), .. } => {
            all.iter().copied().map(Some).collect()
        }
        Array::Option { index, content } => {
            let all = doubles(content);
            index.iter().map(|at| usize::try_from(*at).ok().and_then(|at| all[at])).collect()
        }
        other => panic!("{other:?}"),
    }
}

/// The file of two friends is opened once, beside nothing else: what it takes is what one open takes.
#[test]
fn friends_are_opened_side_by_side_and_once() {
    sim::run(async {
        let engine = sim::engine(&world());
        let started = tokio::time::Instant::now();
        let tree = open(&engine).await;
        let alone = round_trips(started.elapsed(), RTT);
        let started = tokio::time::Instant::now();
        let names = ["event", "beside.event", "a.weight", "i.weight"];
        let selected = select(&engine, &tree, &names, None).await;
        let friends = round_trips(started.elapsed(), RTT);
        assert!(friends <= alone + 0.01, "{friends:.3} round trips, {alone:.3} for one file");
        let started = tokio::time::Instant::now();
        selected.read(0..60).await.expect("reads");
        select(&engine, &tree, &["a.run"], None).await;
        let again = round_trips(started.elapsed(), RTT);
        assert!(again < 0.01, "{again:.3} round trips for what has come with the metadata");
    });
}

#[test]
fn entries_of_friends_belong_to_those_of_the_tree() {
    sim::run(async {
        let engine = sim::engine(&world());
        let tree = open(&engine).await;
        let selected = select(&engine, &tree, &["a.weight", "event", "i.weight"], None).await;
        assert_eq!(selected.names(), ["a.weight", "event", "i.weight"]);
        let quarter = |entry: u64| Some(entry as f64 / 4.0);
        for step in [Step::Whole, Step::Entries(7), Step::Bytes(300)] {
            let mut batches = selected.batches(3..55, step, None).await.expect("plans");
            let mut at = 3;
            while let Some(batch) = batches.next().await {
                let batch = batch.expect("reads");
                assert_eq!(batch.entries.start, at);
                at = batch.entries.end;
                let all: Vec<_> = batch.entries.clone().map(quarter).collect();
                assert_eq!(doubles(&batch.columns[0].1), all);
                let even = |entry: u64| quarter(entry).filter(|_| entry.is_multiple_of(2));
                let some: Vec<_> = batch.entries.map(even).collect();
                assert_eq!(doubles(&batch.columns[2].1), some, "backwards, and half are missing");
            }
            assert_eq!(at, 55);
        }
    });
}

#[test]
fn cuts_see_friends() {
    sim::run(async {
        let engine = sim::engine(&world());
        let tree = open(&engine).await;
        let cut = Cut::parse("(get(\"a.weight\") > 5) & (event < 130)").expect("is one");
        let selected = select(&engine, &tree, &["event", "i.weight"], Some(&cut)).await;
        let mut batches =
            selected.batches(0..60, Step::Entries(9), Some(&cut)).await.expect("plans");
        let mut survivors = Vec::new();
        let mut weights = Vec::new();
        while let Some(batch) = batches.next().await {
            let batch = batch.expect("reads");
            weights.extend(doubles(&batch.columns[1].1));
            survivors.extend(batch.survivors.expect("a cut").into_iter().flatten());
        }
        assert_eq!(survivors, (21..30).collect::<Vec<u64>>());
        let even = |entry: u64| entry.is_multiple_of(2).then_some(entry as f64 / 4.0);
        assert_eq!(weights, (21..30).map(even).collect::<Vec<_>>());
    });
}
