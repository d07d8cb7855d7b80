//! Select, then read: fewer bytes, and one wait more than without a cut, however many batches.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use engine::{
    Array, Batch, ColumnSpec, Columns, Cut, Engine, Error, ErrorKind, FieldColumn, Numbers,
    RNTuple, RNTupleColumns, Step, Table, Tree,
};
use farroot_sim::link::Link;
use farroot_sim::network::World;
use farroot_sim::xrootd_host::Behaviour;
use farroot_sim::{one_file, round_trips, xrootd_host};

const RTT: Duration = Duration::from_millis(100);
const FILE: &[u8] = include_bytes!("../testdata/small_nano.root");
const NTUPLE: &[u8] = include_bytes!("../testdata/small_ntuple.root");
const ENTRIES: u64 = 6_000;

async fn open(engine: &Engine) -> Tree {
    engine.open_tree("root://server:1094//nano.root", Some("Events")).await.expect("opens")
}

async fn open_ntuple(engine: &Engine) -> RNTuple {
    let file = engine.open("root://server:1094//ntuple.root").await.expect("opens");
    file.ntuple("Events").await.expect("is one")
}

fn world(link: Link) -> World {
    let world = World::default();
    let accepted = world.host("server", 1094, link);
    let files = [("/nano.root", FILE), ("/ntuple.root", NTUPLE)];
    let files = files.map(|(path, content)| (path.to_owned(), content.into()));
    xrootd_host::serve(accepted, Arc::new(files.into()), Behaviour::default());
    world
}

/// Keeps the entries for which `stays` holds, and looks at one column to do so.
fn cut(stays: impl Fn(u64) -> bool + Send + Sync + 'static) -> Cut {
    let decide = move |batch: Batch| {
        let (name, array) = &batch.columns[0];
        assert_eq!((name.as_str(), array.len() as u64), ("flat_5", batch.len()));
        Ok(batch.entries.map(&stays).collect())
    };
    Cut::new(["flat_5"], decide)
}

fn columns_of(ntuple: &RNTuple, columns: Vec<FieldColumn>) -> Box<dyn Columns> {
    Box::new(RNTupleColumns::new(ntuple.clone(), columns))
}

/// Reads some columns with a cut in steps, and compares with a read of everything.
async fn check(table: &dyn Table, step: Step, entries: Range<u64>, stays: fn(u64) -> bool) {
    let names = ["Muon_*", "flat_5", "flat_0"].map(String::from).to_vec();
    let columns = table.select(&ColumnSpec::Named(names)).expect("are there");
    let all = columns.read(entries.clone()).await.expect("reads");
    let mut batches =
        columns.batches(entries.clone(), step, Some(&cut(stays))).await.expect("plans");
    let mut parts: Vec<Batch> = Vec::new();
    while let Some(batch) = batches.next().await {
        let batch = batch.expect("reads");
        for (name, array) in &batch.columns {
            assert_eq!(array.len() as u64, batch.len(), "{name}");
        }
        parts.push(batch);
    }
    let kept: Vec<u64> = entries.clone().filter(|entry| stays(*entry)).collect();
    let runs = parts.iter().flat_map(|part| part.survivors.clone().expect("a cut")).flatten();
    assert_eq!(runs.collect::<Vec<_>>(), kept);
    let local: Vec<Range<usize>> = kept
        .iter()
        .map(|entry| (entry - entries.start) as usize..(entry - entries.start) as usize + 1)
        .collect();
    for (at, (name, array)) in all.columns.iter().enumerate() {
        let read = parts.iter().map(|part| part.columns[at].1.clone()).collect();
        let joined = Array::concat(read).expect("of one type").expect("some");
        assert_eq!(joined, array.gather(&local), "{name}");
    }
}

#[test]
fn a_cut_that_panics_is_an_error() {
    farroot_sim::run(async {
        let engine = farroot_sim::engine(&world(Link::delay(RTT)));
        let tree: Arc<dyn Table> = Arc::new(open(&engine).await);
        let ntuple: Arc<dyn Table> = Arc::new(open_ntuple(&engine).await);
        for table in [tree, ntuple] {
            let columns =
                table.select(&ColumnSpec::Named(vec!["flat_0".into()])).expect("is there");
            let cut = cut(|_| panic!("meant: a test of panics"));
            let step = Step::Entries(700);
            let mut batches = columns.batches(0..ENTRIES, step, Some(&cut)).await.expect("plans");
            let error = batches.next().await.expect("an error").unwrap_err();
            let text = error.to_string();
            assert!(text.contains("the function of a cut has failed: meant"), "{text}");
        }
    });
}

#[test]
fn what_survives_equals_a_read_of_everything_with_the_rest_left_out() {
    farroot_sim::run(async {
        let engine = farroot_sim::engine(&world(Link::delay(RTT)));
        let tree: Arc<dyn Table> = Arc::new(open(&engine).await);
        let ntuple: Arc<dyn Table> = Arc::new(open_ntuple(&engine).await);
        for table in [tree, ntuple] {
            for step in [Step::Whole, Step::Entries(700), Step::Entries(1), Step::Bytes(50_000)] {
                let entries =
                    if step == Step::Entries(1) { 2_990..3_010 } else { 0..table.num_entries() };
                check(&*table, step, entries.clone(), |entry| entry % 7 == 3).await;
                check(&*table, step, entries.clone(), |entry| entry % 500 < 2).await;
                check(&*table, step, entries.clone(), |entry| (2_995..4_100).contains(&entry))
                    .await;
                check(&*table, step, entries.clone(), |_| true).await;
                check(&*table, step, entries, |_| false).await;
            }
            check(&*table, Step::Entries(999), 1_234..5_321, |entry| entry % 2 == 0).await;
        }
    });
}

/// No entries in the middle of a basket: the task that reads them ended in a panic, which passed
/// for the end of the entries.
#[test]
fn no_entries_end_without_an_error() {
    farroot_sim::run(async {
        let engine = farroot_sim::engine(&world(Link::delay(RTT)));
        let tree: Arc<dyn Table> = Arc::new(open(&engine).await);
        let ntuple: Arc<dyn Table> = Arc::new(open_ntuple(&engine).await);
        for table in [tree, ntuple] {
            let names = ["Muon_*", "flat_5"].map(String::from).to_vec();
            let columns = table.select(&ColumnSpec::Named(names)).expect("are there");
            assert!(columns.read(5..5).await.expect("reads").is_empty());
            for decision in [None, Some(&cut(|_| true))] {
                let mut batches =
                    columns.batches(5..5, Step::Whole, decision).await.expect("plans");
                while let Some(batch) = batches.next().await {
                    assert!(batch.expect("reads").is_empty());
                }
            }
        }
    });
}

/// One wait for the page lists, one for the deciding columns, one for the survivors.
#[test]
fn a_cut_of_an_ntuple_waits_once_and_fetches_pages_with_survivors() {
    let read = async |stays: fn(u64) -> bool, step| {
        let engine = farroot_sim::engine(&world(Link::delay(RTT)));
        let ntuple = open_ntuple(&engine).await;
        ntuple.clusters(&(0..u64::MAX)).await.expect("nine");
        let before = engine.report().bytes_received;
        let started = tokio::time::Instant::now();
        let columns = ntuple.columns(&["flat_*".into()]).expect("are there");
        let entries = 0..u64::MAX;
        let mut batches = columns_of(&ntuple, columns)
            .batches(entries, step, Some(&cut(stays)))
            .await
            .expect("plans");
        while let Some(batch) = batches.next().await {
            batch.expect("reads");
        }
        let took = round_trips(started.elapsed(), RTT);
        (took, engine.report().bytes_received - before)
    };
    farroot_sim::run(async {
        let (_, all) = read(|_| true, Step::Whole).await;
        let (took, few) = read(|entry| entry % 1_800 == 0, Step::Whole).await;
        assert!(took < 2.01, "{took:.3} round trips");
        assert!(few * 3 < all, "{few} of {all} bytes where three entries survive");
        let (took, _) = read(|entry| entry % 1_800 == 0, Step::Entries(500)).await;
        assert!(took < 2.01, "{took:.3} round trips in steps");
    });
}

/// So narrow that waiting for the cut pays, and that no time is left for more.
const NARROW: u64 = 200_000;

/// The round trips and the bytes of a read.
async fn read(rate: Option<u64>, step: Step, stays: fn(u64) -> bool) -> (f64, u64) {
    let link = Link { rate, ..Link::delay(RTT) };
    let engine = farroot_sim::engine(&world(link));
    let tree = open(&engine).await;
    let before = engine.report().bytes_received;
    let started = tokio::time::Instant::now();
    let columns = tree.columns(&["flat_*".into(), "Muon_*".into()]).expect("are there");
    let mut batches = tree.batches_where(columns, &cut(stays), 0..ENTRIES, step).expect("plans");
    while let Some(batch) = batches.next().await {
        batch.expect("reads");
    }
    (round_trips(started.elapsed(), RTT), engine.report().bytes_received - before)
}

/// The request for the deciding column leaves first, and once it has come, those for the survivors
/// of the others.
#[test]
fn a_read_with_a_cut_asks_for_what_survives() {
    let log = farroot_sim::run(async {
        let link = Link { rate: Some(NARROW), ..Link::delay(RTT) };
        let engine = farroot_sim::engine(&world(link));
        let tree = open(&engine).await;
        let columns = tree.columns(&["Muon_*".into()]).expect("are there");
        let cut = Cut::parse("(flat_5 < 0.001) & ~(flat_5 > 0.0005)").expect("a cut");
        let batch = tree.read_where(columns, &cut, 0..ENTRIES).await.expect("reads");
        assert!((1..ENTRIES).contains(&batch.len()), "{}", batch.len());
        farroot_sim::log::lines(&engine.trace().records(), RTT)
    });
    farroot_sim::log::golden("xrootd_cut", &log);
}

#[test]
fn only_baskets_with_survivors_are_fetched() {
    let (all, few, none) = farroot_sim::run(async {
        let (_, all) = read(Some(NARROW), Step::Whole, |_| true).await;
        let (_, few) = read(Some(NARROW), Step::Whole, |entry| entry < 300).await;
        let (_, none) = read(Some(NARROW), Step::Whole, |_| false).await;
        (all, few, none)
    });
    assert!(none > 0 && none * 4 < all, "{none} of {all} bytes where nothing survives");
    assert!(few > none && few * 2 < all, "{few} of {all} bytes where a twentieth survives");
}

/// Deciding batch by batch, each waiting for its own cut, would cost a round trip a batch.
#[test]
fn only_the_first_decision_is_waited_for() {
    farroot_sim::run(async {
        let (whole, _) = read(None, Step::Whole, |entry| entry % 2_000 == 0).await;
        let (stepwise, _) = read(None, Step::Entries(500), |entry| entry % 2_000 == 0).await;
        assert!(whole < 2.01, "{whole:.3} round trips");
        assert!(stepwise < 2.01, "{stepwise:.3} round trips in steps");
    });
}

/// Few bytes come in the same round trip as the columns that decide about them.
#[test]
fn little_is_not_kept_waiting() {
    let took = farroot_sim::run(async {
        let engine = farroot_sim::engine(&world(Link::delay(RTT)));
        let tree = open(&engine).await;
        let started = tokio::time::Instant::now();
        let columns = tree.columns(&["flat_0".into()]).expect("are there");
        let batch = tree.read_where(columns, &cut(|entry| entry == 17), 0..ENTRIES).await;
        assert_eq!(batch.expect("reads").len(), 1);
        round_trips(started.elapsed(), RTT)
    });
    assert!(took < 1.01, "{took:.3} round trips");
}

#[test]
fn an_error_of_the_predicate_ends_the_read() {
    farroot_sim::run(async {
        let engine = farroot_sim::engine(&world(Link::delay(RTT)));
        let tree = open(&engine).await;
        let columns = tree.columns(&["Muon_pt".into()]).expect("are there");
        let fails = |_: Batch| Err(Error::new(ErrorKind::InvalidArgument, "the cut is wrong"));
        let wrong = Cut::new(["flat_5"], fails);
        let error = tree.read_where(columns.clone(), &wrong, 0..ENTRIES).await.unwrap_err();
        assert!(error.to_string().contains("the cut is wrong"), "{error}");
        let short = |_: Batch| Ok(vec![true; 3]);
        let wrong = Cut::new(["flat_5"], short);
        let error = tree.read_where(columns.clone(), &wrong, 0..ENTRIES).await.unwrap_err();
        assert!(error.to_string().contains("3 values for 6000 entries"), "{error}");
        let nowhere = Cut::new(["flat_99"], fails);
        let error = tree.read_where(columns, &nowhere, 0..ENTRIES).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotInFile);
    });
}

/// A file of which some baskets leave out their entry offsets (`kGenerateOffsetMap`).
#[test]
fn offsets_that_are_not_in_the_file_follow_from_counts_without_another_round_trip() {
    const GENERATED: &[u8] =
        include_bytes!("../../crates/rootfile/testdata/generated_offsets.root");
    let (took, batch) = farroot_sim::run(async {
        let world = World::default();
        let accepted = world.host("server", 1094, Link::delay(RTT));
        let files = one_file("/generated.root", GENERATED);
        xrootd_host::serve(accepted, files, Behaviour::default());
        let engine = farroot_sim::engine(&world);
        let url = "root://server:1094//generated.root";
        let tree = engine.open_tree(url, Some("events")).await.expect("opens");
        let started = tokio::time::Instant::now();
        let columns = tree.columns(&["x".into()]).expect("are there");
        let batch = tree.read(columns, 0..u64::MAX).await.expect("reads");
        (round_trips(started.elapsed(), RTT), batch)
    });
    assert!(took < 1.01, "{took:.3} round trips");
    let Array::List { offsets, content } = &batch.columns[0].1 else { panic!("a list") };
    let Array::Numbers { numbers: Numbers::F32(numbers), .. } = &**content else {
        panic!("of floats")
    };
    let entries = batch.len() as usize;
    let lengths: Vec<i64> = offsets.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert_eq!(lengths, (0..entries as i64).collect::<Vec<_>>());
    let exact = (0..entries).flat_map(|i| (0..i).map(move |k| i as f32 + k as f32 / 2.0));
    assert_eq!(*numbers, exact.collect::<Vec<_>>());
}
