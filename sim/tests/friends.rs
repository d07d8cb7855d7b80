//! Friends of a tree, in its own file and in another one: opened side by side, read side by side.

use std::sync::Arc;
use std::time::Duration;

use engine::{ColumnSpec, Columns, Cut, Engine, Friend, Step, Table, Tree};
use farroot_sim::arrays::doubles;
use farroot_sim::link::Link;
use farroot_sim::network::World;
use farroot_sim::round_trips;
use farroot_sim::xrootd_host::{self, Behaviour};

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

async fn select(
    engine: &Engine,
    tree: &Tree,
    names: &[&str],
    cut: Option<&Cut>,
) -> Box<dyn Columns> {
    let names = names.iter().map(|name| (*name).to_owned()).collect();
    let table: Arc<dyn Table> = Arc::new(tree.clone());
    engine.select_for(&table, &[], &ColumnSpec::Named(names), cut).await.expect("are there")
}

/// The file of two friends is opened once, beside nothing else: it takes as many round trips as one
/// open.
#[test]
fn friends_are_opened_side_by_side_and_once() {
    farroot_sim::run(async {
        let engine = farroot_sim::engine(&world());
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
    farroot_sim::run(async {
        let engine = farroot_sim::engine(&world());
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
    farroot_sim::run(async {
        let engine = farroot_sim::engine(&world());
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

/// A window of a tree's baskets and of its friend's, between both of which a cut on the friend's
/// decides: baskets without survivors are requested of neither.
#[test]
fn a_cut_spares_baskets_of_all_tables() {
    const EVENTS: &[u8] = include_bytes!("../testdata/small_nano.root");
    let read = async |text: &'static str| {
        let world = World::default();
        let link = Link { rate: Some(200_000), ..Link::delay(RTT) };
        let accepted = world.host("server", 1094, link);
        let files = ["/own.root", "/friend.root"].map(|path| (path.to_owned(), EVENTS.into()));
        xrootd_host::serve(accepted, Arc::new(files.into()), Behaviour::default());
        let engine = farroot_sim::engine(&world);
        let open = async |name| {
            let url = format!("root://server:1094//{name}.root");
            engine.open_table(&url, Some("Events")).await.expect("opens")
        };
        let table = open("own").await;
        let friend = open("friend").await;
        let friends = [Friend::new("f", friend)];
        let names = ["*", "f.Muon_*", "f.flat_*"].map(String::from).to_vec();
        let cut = Cut::parse(text).expect("is one");
        let wanted = ColumnSpec::Named(names);
        let selected = engine.select_for(&table, &friends, &wanted, Some(&cut)).await;
        let selected = selected.expect("are there");
        let before = engine.report().bytes_received;
        let batch = selected.read_where(Some(&cut), 0..6_000).await.expect("reads");
        let bytes = engine.report().bytes_received - before;
        let log = farroot_sim::log::lines(&engine.trace().records(), RTT);
        let whole = selected.read(0..6_000).await.expect("reads");
        let kept: Vec<_> = batch.survivors.clone().expect("a cut");
        let local: Vec<_> = kept.iter().map(|run| run.start as usize..run.end as usize).collect();
        for ((name, array), (_, all)) in batch.columns.iter().zip(&whole.columns) {
            assert_eq!(*array, all.gather(&local), "{name}");
        }
        (bytes, batch.len(), log)
    };
    farroot_sim::run(async {
        let (all, ..) = read("get(\"f.flat_5\") >= 0").await;
        let (few, entries, log) =
            read("(get(\"f.flat_5\") < 0.001) & ~(get(\"f.flat_5\") > 0.0005)").await;
        assert!((1..20).contains(&entries), "{entries}");
        assert!(few * 2 < all, "{few} of {all} bytes where {entries} entries survive");
        let (none, ..) = read("get(\"f.flat_5\") > 1").await;
        assert!(none * 3 < all, "{none} of {all} bytes where nothing survives");
        farroot_sim::log::golden("xrootd_friends_cut", &log);
    });
}

/// Deciding window by window, each waiting for its own cut, would cost a round trip a window.
#[test]
fn only_the_first_decision_of_friends_is_waited_for() {
    const EVENTS: &[u8] = include_bytes!("../testdata/small_nano.root");
    farroot_sim::run(async {
        for step in [Step::Whole, Step::Entries(500)] {
            let world = World::default();
            let accepted = world.host("server", 1094, Link::delay(RTT));
            let files = [("/own.root".to_owned(), EVENTS.into())];
            xrootd_host::serve(accepted, Arc::new(files.into()), Behaviour::default());
            let engine = farroot_sim::engine(&world);
            let url = "root://server:1094//own.root";
            let table = engine.open_table(url, Some("Events")).await.expect("opens");
            let friends = [Friend::new("f", table.clone())];
            let names = ["flat_*", "f.Muon_*", "f.flat_1"].map(String::from).to_vec();
            let cut = Cut::parse("get(\"f.flat_5\") < 0.001").expect("is one");
            let selected =
                engine.select_for(&table, &friends, &ColumnSpec::Named(names), Some(&cut)).await;
            let selected = selected.expect("are there");
            let started = tokio::time::Instant::now();
            let mut batches = selected.batches(0..6_000, step, Some(&cut)).await.expect("plans");
            while let Some(batch) = batches.next().await {
                batch.expect("reads");
            }
            let took = round_trips(started.elapsed(), RTT);
            assert!(took < 2.01, "{took:.3} round trips for {step:?}");
        }
    });
}
