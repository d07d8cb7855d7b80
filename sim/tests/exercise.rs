//! The exercise reads the announced branches, no more, and waits no more often than a plain read.

use std::time::Duration;

use engine::{Array, Batch, Engine, Exercise, Form, Learning, Outcome};
use farroot_sim::link::Link;
use farroot_sim::network::World;
use farroot_sim::xrootd_host::Behaviour;
use farroot_sim::{one_file, xrootd_host};

const FILE: &[u8] = include_bytes!("../testdata/small_nano.root");
const ADDRESS: &str = "root://server:1094//nano.root";

fn engine() -> Engine {
    let world = World::default();
    let accepted = world.host("server", 1094, Link::delay(Duration::from_millis(100)));
    xrootd_host::serve(accepted, one_file("/nano.root", FILE), Behaviour::default());
    farroot_sim::engine(&world)
}

fn content(batch: &Batch, keep: impl Fn(u64) -> bool) -> u64 {
    let one = |array: &Array, at: usize| match array.slice(at..at + 1) {
        Array::Numbers { numbers, .. } => numbers.nbytes() as u64,
        Array::List { content, .. } => content.nbytes() as u64,
        other => panic!("{other:?} is not in this file"),
    };
    let kept: Vec<usize> = (0..batch.len())
        .filter(|at| keep(batch.entries.start + at))
        .map(|at| at as usize)
        .collect();
    let columns = batch.columns.iter();
    columns.map(|(_, array)| kept.iter().map(|at| one(array, *at)).sum::<u64>()).sum()
}

#[test]
fn it_reads_some_branches_of_each_event_and_all_of_some() {
    farroot_sim::run(async {
        let form = Form::Columns;
        let exercise = Exercise { fraction: 0.3, prescale: 50, events: 1_000, form };
        let outcome = exercise.run(&engine(), ADDRESS, Some("Events")).await.expect("reads");
        assert_eq!((outcome.events, outcome.events_whole), (1_000, 20));
        assert!((0.3..0.5).contains(&outcome.fraction), "{}", outcome.fraction);
        assert!(outcome.report.serial_round_trips <= 4, "{}", outcome.report);

        let engine = engine();
        let table = engine.open_table(ADDRESS, Some("Events")).await.expect("opens");
        let choice = exercise.choose(&*table).await.expect("plans");
        assert_eq!(choice.each.names().len() + choice.rest.names().len(), outcome.branches);
        assert_eq!(choice.each.names().len(), outcome.branches_each);
        let each = choice.each.read(0..1_000).await.expect("reads");
        let rest = choice.rest.read(0..1_000).await.expect("reads");
        let expected = content(&each, |_| true) + content(&rest, |entry| (entry + 1) % 50 == 0);
        assert_eq!(outcome.content_bytes, expected);
        assert_eq!(row_wise(Learning::default()).await.content_bytes, expected);
    });
}

#[test]
fn without_a_prescale_no_event_is_read_whole() {
    farroot_sim::run(async {
        let exercise =
            Exercise { fraction: 0.1, prescale: 0, events: u64::MAX, form: Form::Columns };
        let outcome = exercise.run(&engine(), ADDRESS, None).await.expect("reads");
        assert_eq!((outcome.events, outcome.events_whole), (6_000, 0));
        assert!(outcome.branches_each < outcome.branches);
    });
}

#[test]
fn a_fraction_that_is_none_is_refused() {
    for fraction in [0.0, -0.1, 1.1, f64::NAN] {
        let exercise = Exercise { fraction, prescale: 50, events: 10, form: Form::Columns };
        let error =
            farroot_sim::run(async { exercise.run(&engine(), ADDRESS, None).await.unwrap_err() });
        assert!(error.to_string().contains("no fraction"), "{error}");
    }
}

async fn row_wise(learning: Learning) -> Outcome {
    let form = Form::Events(learning);
    let exercise = Exercise { fraction: 0.3, prescale: 50, events: 1_000, form };
    exercise.run(&engine(), ADDRESS, Some("Events")).await.expect("reads")
}

/// Each rule of a reader that learns saves round trips, and none of them changes the values.
#[test]
fn event_by_event_each_rule_saves_round_trips() {
    farroot_sim::run(async {
        let best = row_wise(Learning::default()).await;
        for (learning, name) in [
            (Learning { startup: false, ..Learning::default() }, "startup"),
            (Learning { together: false, ..Learning::default() }, "together"),
        ] {
            let without = row_wise(learning).await;
            assert_eq!(without.content_bytes, best.content_bytes);
            let less = &best.report;
            let more = &without.report;
            assert!(
                less.serial_round_trips < more.serial_round_trips,
                "without {name}:\n{more}\nwith all:\n{less}"
            );
        }
    });
}
