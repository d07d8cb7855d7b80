//! Several sources together deliver the sum of their rates.

use farroot_sim::link::Link;

use crate::world::{MB, RTT, Stage, link, seconds};

/// Seconds that a read of a file of this size takes over these links.
fn read(size: u64, links: &[Link]) -> f64 {
    farroot_sim::run(async {
        let stage = Stage::new(size, links);
        let took = stage.read().await.expect("reads");
        assert!(stage.extra_per_mille() <= 20, "{}", stage.report());
        took
    })
}

#[test]
fn two_equal_sources_are_nearly_twice_as_fast_as_one() {
    // Long enough that the start, which two do not make shorter, counts little.
    let [one, two] = [1, 2].map(|hosts| read(240 * MB, &vec![link(RTT, 20 * MB); hosts]));
    assert!(one > 1.9 * two, "{one:.2} s from one, {two:.2} s from two");
}

#[test]
fn a_second_source_begins_with_the_first() {
    // 8 MB come within TCP's start.
    let [one, two] = [1, 2].map(|hosts| read(8 * MB, &vec![link(RTT, 100 * MB); hosts]));
    assert!(one - two > 0.9 * RTT.as_secs_f64(), "{one:.2} s from one, {two:.2} s from two");
}

#[test]
fn a_near_slow_one_and_a_far_fast_one_add_up() {
    let links = [link(seconds(0.02), 5 * MB), link(seconds(0.14), 20 * MB)];
    let size = 120 * MB;
    let sum: f64 = links.iter().map(|link| size as f64 / read(size, &[*link])).sum();
    let both = size as f64 / read(size, &links);
    assert!(both > 0.95 * sum, "{both:.0} bytes/s, alone {sum:.0} in all");
}

#[test]
fn three_sources_of_different_rates_each_take_their_part() {
    let (took, bytes) = farroot_sim::run(async {
        let links = [2_500, 5_000, 10_000].map(|rate| link(seconds(0.02), rate * 1000));
        let stage = Stage::new(32 << 20, &links);
        let took = stage.read().await.expect("reads");
        (took, stage.bytes())
    });
    assert!(took < 2.1, "{took:.2} s where 1.92 is ideal: {bytes:?}");
}

#[test]
fn a_poor_first_source_costs_little() {
    let (poor, good) = farroot_sim::run(async {
        let both = Stage::new(100 * MB, &[link(RTT, MB), link(RTT, 20 * MB)]);
        let alone = Stage::new(100 * MB, &[link(RTT, 20 * MB)]);
        (both.read().await.expect("reads"), alone.read().await.expect("reads"))
    });
    assert!(poor < 1.1 * good, "{poor:.2} s, {good:.2} s without the poor one");
}

#[test]
fn little_is_not_asked_for_twice() {
    farroot_sim::run(async {
        let stage = Stage::new(20_000, &[link(RTT, 20 * MB), link(RTT, 20 * MB)]);
        stage.read().await.expect("reads");
        assert_eq!(
            stage.bytes().iter().sum::<u64>(),
            20_000 + 2 * 1024,
            "the first KiB shows the file"
        );
        assert!(stage.world.connections("b", 1094) <= 16, "{:?}", stage.bytes());
    });
}

#[test]
fn the_report_says_how_each_fared() {
    farroot_sim::run(async {
        let links = [link(RTT, 5 * MB), link(RTT, 20 * MB)];
        let stage = Stage::new(50 * MB, &links);
        let took = stage.read().await.expect("reads");
        for (source, bytes) in stage.engine.report().sources.iter().zip(stage.bytes()) {
            let history = source.history.as_ref().expect("there are several");
            let sum = history.rates.iter().sum::<f64>() / 10.0 * took;
            assert!((sum / bytes as f64 - 1.0).abs() < 0.2, "{sum:.0} of {bytes}: {history:?}");
        }
        let report = stage.report();
        assert!(report.contains("per second, in tenths of the time: "), "{report}");
        assert!(report.contains("; active from 0.20 s"), "{report}");
    });
}
