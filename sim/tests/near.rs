//! Entries that a server selects, and the choice between it and here.

use std::time::Duration;

use farroot_sim::link::Link;
use farroot_sim::near_clients::{NearBed, NearRead, engine};
use remote::Near;

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
    assert!(worst[0] < 2.0 && worst[1] <= 1.15, "{worst:?}");
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
