//! Several sources bring the sum of what each could.

use crate::world::{MB, RTT, Stage, link, seconds};

#[test]
fn two_equal_sources_are_nearly_twice_as_fast_as_one() {
    let [one, two] = [1, 2].map(|hosts| {
        sim::run(async {
            let stage = Stage::new(120 * MB, &vec![link(RTT, 20 * MB); hosts]);
            let took = stage.read().await.expect("reads");
            assert!(stage.extra_per_mille() <= 20, "{}", stage.report());
            took
        })
    });
    assert!(one > 1.8 * two, "{one:.2} s from one, {two:.2} s from two");
}

#[test]
fn a_near_slow_one_and_a_far_fast_one_add_up() {
    let (took, report) = sim::run(async {
        let links = [link(seconds(0.02), 5 * MB), link(seconds(0.14), 20 * MB)];
        let stage = Stage::new(120 * MB, &links);
        let took = stage.read().await.expect("reads");
        assert!(stage.extra_per_mille() <= 20, "{}", stage.report());
        (took, stage.report())
    });
    // The far one begins four round trips later, and then slowly.
    assert!(took < 120.0 / 25.0 / 0.95 + 0.8, "{took:.2} s\n{report}");
}

#[test]
fn three_sources_of_different_rates_each_take_their_part() {
    let (took, bytes) = sim::run(async {
        let links = [2, 5, 10].map(|rate| link(seconds(0.02), rate * MB));
        let stage = Stage::new(32 << 20, &links);
        let took = stage.read().await.expect("reads");
        (took, stage.bytes())
    });
    assert!(took < 2.8, "{took:.2} s where 1.97 is ideal: {bytes:?}");
}

#[test]
fn a_poor_first_source_costs_little() {
    let (poor, good) = sim::run(async {
        let both = Stage::new(100 * MB, &[link(RTT, MB), link(RTT, 20 * MB)]);
        let alone = Stage::new(100 * MB, &[link(RTT, 20 * MB)]);
        (both.read().await.expect("reads"), alone.read().await.expect("reads"))
    });
    assert!(poor < 1.1 * good, "{poor:.2} s, {good:.2} s without the poor one");
}

#[test]
fn little_makes_hardly_any_connections_to_the_second() {
    sim::run(async {
        let stage = Stage::new(20_000, &[link(RTT, 20 * MB), link(RTT, 20 * MB)]);
        stage.read().await.expect("reads");
        assert_eq!(stage.bytes().iter().sum::<u64>(), 20_002, "one byte each shows the file");
        assert!(stage.world.connections("b", 1094) <= 2, "{:?}", stage.bytes());
    });
}
