//! Trees of many files as one: opened side by side, and only as far as nothing is known of them.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use engine::{ColumnSpec, Columns, Cut, Engine, Friend, Step, Table};
use farroot_sim::arrays::doubles;
use farroot_sim::link::Link;
use farroot_sim::network::World;
use farroot_sim::round_trips;
use farroot_sim::xrootd_host::{self, Behaviour};

const RTT: Duration = Duration::from_millis(100);

fn world() -> World {
    let world = World::default();
    let accepted = world.host("server", 1094, Link::delay(RTT));
    let files: [(&str, &[u8]); 6] = [
        ("chain", include_bytes!("../../crates/rootfile/testdata/chain.root")),
        ("chain_1", include_bytes!("../../crates/rootfile/testdata/chain_1.root")),
        ("chain_2", include_bytes!("../../crates/rootfile/testdata/chain_2.root")),
        ("chain_weights", include_bytes!("../../crates/rootfile/testdata/chain_weights.root")),
        ("chain_weights_1", include_bytes!("../../crates/rootfile/testdata/chain_weights_1.root")),
        ("chain_weights_2", include_bytes!("../../crates/rootfile/testdata/chain_weights_2.root")),
    ];
    let files = files.map(|(name, content)| (format!("/store/{name}.root"), content.into()));
    xrootd_host::serve(accepted, Arc::new(files.into()), Behaviour::default());
    world
}

async fn open(engine: &Engine, name: &str) -> Arc<dyn Table> {
    let url = "root://server:1094//store/chain.root";
    engine.open_table(url, Some(name)).await.expect("opens")
}

async fn select(
    engine: &Engine,
    table: &Arc<dyn Table>,
    friends: &[Friend],
    names: &[&str],
) -> Box<dyn Columns> {
    let names = names.iter().map(|name| (*name).to_owned()).collect();
    engine.select_for(table, friends, &ColumnSpec::Named(names), None).await.expect("are there")
}

fn numbers(entries: Range<u64>) -> Vec<Option<f64>> {
    entries.map(|entry| Some(entry as f64)).collect()
}

/// One file after the other would cost an open each.
#[test]
fn files_of_a_chain_are_opened_side_by_side() {
    let opened = async |name: &str| {
        let engine = farroot_sim::engine(&world());
        let started = tokio::time::Instant::now();
        let table = open(&engine, name).await;
        assert_eq!(table.num_entries(), 100);
        let files = engine.trace().records().requests.iter().map(|one| one.file).max();
        (round_trips(started.elapsed(), RTT), files.unwrap_or_default())
    };
    farroot_sim::run(async {
        let (uncounted, files) = opened("series").await;
        let (counted, fewer) = opened("counted").await;
        assert!(uncounted <= counted + 0.05, "{uncounted:.3} round trips, {counted:.3} for one");
        assert_eq!(files, fewer + 1, "whose entries are known is not opened to be counted");
    });
}

#[test]
fn a_chain_reads_as_one_tree() {
    farroot_sim::run(async {
        let engine = farroot_sim::engine(&world());
        let chain = open(&engine, "series").await;
        let selected = select(&engine, &chain, &[], &["x"]).await;
        for entries in [0..100, 38..41, 40..100, 99..1_000] {
            let batch = selected.read(entries.clone()).await.expect("reads");
            assert_eq!(doubles(&batch.columns[0].1), numbers(entries.start..entries.end.min(100)));
        }
        assert!(selected.read(100..200).await.expect("reads").is_empty());
        let mut batches = selected.batches(5..95, Step::Entries(30), None).await.expect("plans");
        let mut read = Vec::new();
        while let Some(batch) = batches.next().await {
            read.push(batch.expect("reads").entries);
        }
        assert_eq!(read, [5..35, 35..40, 40..70, 70..95]);
        let cut = Cut::parse("(x > 37) & (x < 42)").expect("is one");
        let batch = selected.read_where(Some(&cut), 0..100).await.expect("reads");
        assert_eq!(batch.survivors, Some(vec![38..42]));
        assert_eq!(doubles(&batch.columns[0].1), numbers(38..42));
    });
}

/// Of a chain, and of a tree that is read with one: their files end at different entries.
#[test]
fn chains_are_friends() {
    farroot_sim::run(async {
        let engine = farroot_sim::engine(&world());
        let chain = open(&engine, "series").await;
        let weights = open(&engine, "weights").await;
        let friends = [Friend::new("w", weights)];
        let selected = select(&engine, &chain, &friends, &["x", "w.w"]).await;
        for entries in [0..100, 60..80, 39..71] {
            let batch = selected.read(entries.clone()).await.expect("reads");
            assert_eq!(doubles(&batch.columns[0].1), numbers(entries.clone()));
            assert_eq!(doubles(&batch.columns[1].1), numbers(entries));
        }
        let plans = selected.footprints(0..100).await.expect("plans");
        let files = plans.iter().map(|plan| plan.url.rsplit('/').next().expect("a name"));
        let pairs = [("1", "1"), ("2", "1"), ("2", "2")];
        let names =
            pairs.map(|(x, w)| [format!("chain_{x}.root"), format!("chain_weights_{w}.root")]);
        assert_eq!(files.collect::<Vec<_>>(), names.concat());
        let url = "root://server:1094//store/chain_weights.root";
        let tree = engine.open_table(url, None).await.expect("opens");
        let friends = [Friend::new("c", chain)];
        let selected = select(&engine, &tree, &friends, &["w", "c.x"]).await;
        let batch = selected.read(0..u64::MAX).await.expect("reads");
        assert_eq!(doubles(&batch.columns[1].1), numbers(0..90));
    });
}

#[test]
fn a_friend_that_is_shorter_lacks_values() {
    farroot_sim::run(async {
        let engine = farroot_sim::engine(&world());
        let chain = open(&engine, "series").await;
        let names = ["weights.w", "x"].map(String::from).to_vec();
        let cut = Cut::parse("(w > 85) | (x > 97)").expect("is one");
        let wanted = ColumnSpec::Named(names);
        let selected = engine.select_for(&chain, &[], &wanted, Some(&cut)).await.expect("is there");
        let batch = selected.read(88..92).await.expect("reads");
        let expected = vec![Some(88.0), Some(89.0), None, None];
        assert_eq!(doubles(&batch.columns[0].1), expected);
        let batch = selected.read_where(Some(&cut), 0..100).await.expect("reads");
        let expected: Vec<_> = [numbers(86..90), numbers(98..100)].concat();
        assert_eq!(doubles(&batch.columns[1].1), expected, "no comparison is true of what lacks");
        let batches = selected.lazy_batches(80..100, Step::Entries(15)).await.expect("plans");
        let first = batches.next().await.expect("some").expect("opens");
        let expected: Vec<_> = [numbers(80..90), vec![None; 5]].concat();
        assert_eq!(doubles(&batches.get(0, first).await.expect("reads")), expected);
    });
}
