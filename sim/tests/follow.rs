//! RNTuples for readers that do not name their columns beforehand.

use std::sync::Arc;
use std::time::Duration;

use engine::{
    Columns, Config, Engine, Exercise, Form, Learning, Outcome, RNTuple, RNTupleColumns, Step,
};
use farroot_sim::link::Link;
use farroot_sim::network::World;
use farroot_sim::xrootd_host::Behaviour;
use farroot_sim::{one_file, round_trips, xrootd_host};

const RTT: Duration = Duration::from_millis(100);
const FILE: &[u8] = include_bytes!("../testdata/small_ntuple.root");
const URL: &str = "root://server:1094//small.root";

fn world() -> World {
    let world = World::default();
    let accepted = world.host("server", 1094, Link::delay(RTT));
    xrootd_host::serve(accepted, one_file("/small.root", FILE), Behaviour::default());
    world
}

async fn ntuple(engine: &Engine) -> RNTuple {
    engine.open(URL).await.expect("opens").ntuple("Events").await.expect("is one")
}

/// Nine clusters: the columns that are read in the first cluster, which comes with the first
/// column, are on their way before the second.
#[test]
fn what_is_looked_at_is_read_on() {
    for step in [Step::Entries(100), Step::Entries(1_111), Step::Bytes(20_000), Step::Whole] {
        farroot_sim::run(async {
            let engine = farroot_sim::engine(&world());
            let ntuple = ntuple(&engine).await;
            let all: Box<dyn Columns> =
                Box::new(RNTupleColumns::new(ntuple.clone(), ntuple.all_columns()));
            let batches = all.lazy_batches(7..5_000, step).await.expect("plans");
            let looked_at = ["Muon_pt", "flat_0", "flat_5"]
                .map(|name| all.names().iter().position(|each| *each == name).expect("is there"));
            let started = tokio::time::Instant::now();
            let mut read = Vec::new();
            let mut end = 7;
            while let Some(batch) = batches.next().await.transpose().expect("goes on") {
                assert_eq!(batch.start, end);
                end = batch.end;
                for column in looked_at {
                    let array = batches.get(column, batch.clone()).await.expect("reads");
                    read.push((column, batch.clone(), array));
                }
            }
            assert_eq!(end, 5_000);
            let trips = round_trips(started.elapsed(), RTT);
            assert!(trips < 2.01, "{step:?}: {trips:.3} round trips");
            for (column, entries, array) in read {
                let whole = all.pick(&[column]).read(entries.clone()).await.expect("reads");
                assert_eq!(array, whole.columns[0].1, "{entries:?}");
                let again = batches.get(column, entries).await.expect("reads");
                assert_eq!(array, again, "of a batch that is over");
            }
        });
    }
}

/// A column that the event loop no longer uses is not read to its end.
#[test]
fn what_is_no_longer_looked_at_is_let_go() {
    farroot_sim::run(async {
        let config = Config { decode_threads: 0, memory_bytes_max: 40_000, ..Config::default() };
        let engine = Engine::within(&config, Arc::new(world())).expect("without threads");
        let ntuple = ntuple(&engine).await;
        let columns = ntuple.columns(&["Muon_pt".into(), "flat_0".into()]).expect("are there");
        let all: Box<dyn Columns> = Box::new(RNTupleColumns::new(ntuple, columns));
        let batches = all.lazy_batches(0..u64::MAX, Step::Entries(300)).await.expect("plans");
        let mut number = 0;
        while let Some(batch) = batches.next().await.transpose().expect("goes on") {
            let column = usize::from(number > 1 && number % 5 != 0);
            let array = batches.get(column, batch.clone()).await.expect("reads");
            let whole = all.pick(&[column]).read(batch).await.expect("reads");
            assert_eq!(array, whole.columns[0].1, "step {number}");
            number += 1;
        }
        assert_eq!(number, 18);
    });
}

/// Reads some columns of all entries in steps; round trips, and bytes received for them.
async fn looked_at(engine: &Engine, names: &[&str]) -> (f64, u64) {
    let ntuple = ntuple(engine).await;
    let all: Box<dyn Columns> = Box::new(RNTupleColumns::new(ntuple.clone(), ntuple.all_columns()));
    let before = engine.report().bytes_received;
    let started = tokio::time::Instant::now();
    let batches = all.lazy_batches(0..u64::MAX, Step::Entries(100)).await.expect("plans");
    while let Some(batch) = batches.next().await.transpose().expect("goes on") {
        for name in names {
            let at = all.names().iter().position(|each| each == name).expect("is there");
            batches.get(at, batch.clone()).await.expect("reads");
        }
    }
    (round_trips(started.elapsed(), RTT), engine.report().bytes_received - before)
}

/// Trees had access histories, RNTuples had none: each reader fetched all columns of the first
/// clusters anew.
#[test]
fn the_next_reader_fetches_the_columns_of_the_last_one() {
    farroot_sim::run(async {
        let engine = farroot_sim::engine(&world());
        let names = ["Muon_pt", "flat_0", "flat_5"];
        let (first_trips, first_bytes) = looked_at(&engine, &names).await;
        let (trips, bytes) = looked_at(&engine, &names).await;
        assert!(bytes < first_bytes, "{bytes} bytes after {first_bytes}");
        assert!(trips <= first_trips, "{trips} round trips after {first_trips}");
        // A reader of other columns gets these, too.
        looked_at(&engine, &["flat_1"]).await;
    });
}

async fn exercised(form: Form) -> Outcome {
    let exercise = Exercise { fraction: 0.3, prescale: 50, events: 2_000, form };
    exercise.run(&farroot_sim::engine(&world()), URL, Some("Events")).await.expect("reads")
}

#[test]
fn an_event_loop_hands_over_what_columns_do() {
    farroot_sim::run(async {
        let columns = exercised(Form::Columns).await;
        let events = exercised(Form::Events(Learning::default())).await;
        assert!(columns.content_bytes > 0);
        assert_eq!(events.content_bytes, columns.content_bytes);
        assert_eq!(events.events_whole, 40);
        let trips = events.report.serial_round_trips;
        assert!(trips <= 6, "{trips} round trips\n{}", events.report);
        let bare = Form::Events(Learning { startup: false, together: false });
        let bare = exercised(bare).await;
        assert_eq!(bare.content_bytes, columns.content_bytes);
        assert!(bare.report.serial_round_trips > trips + 3, "the rules save nothing");
    });
}
