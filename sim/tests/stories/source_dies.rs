//! A source dies in mid-read.

use crate::world::{MB, RTT, Stage, link, seconds};

#[test]
fn the_other_takes_over_and_next_to_no_time_is_lost() {
    let (took, report) = farroot_sim::run(async {
        let stage = Stage::new(40 * MB, &[link(RTT, 10 * MB), link(RTT, 10 * MB)]);
        let dies = async {
            tokio::time::sleep(seconds(1.2)).await;
            stage.world.kill("a", 1094);
        };
        (stage.read_while(dies).await.expect("reads"), stage.report())
    });
    // Until 1.2 s both bring 14 MB or so; 26 MB are left for the other one.
    assert!(took < 1.2 + 2.7 + 1.0, "{took:.2} s\n{report}");
    assert!(report.contains("root://a:1094 is left alone"), "{report}");
}

#[test]
fn one_that_comes_back_is_used_again() {
    let bytes = farroot_sim::run(async {
        let stage = Stage::new(100 * MB, &[link(RTT, 10 * MB), link(RTT, 10 * MB)]);
        let mut before = 0;
        let dies = async {
            tokio::time::sleep(seconds(1.0)).await;
            stage.world.kill("a", 1094);
            tokio::time::sleep(seconds(1.5)).await;
            before = stage.bytes()[0];
            stage.world.restart("a", 1094);
        };
        stage.read_while(dies).await.expect("reads");
        (before, stage.bytes()[0])
    });
    assert!(bytes.1 > bytes.0 + 10 * MB, "{bytes:?}");
}

#[test]
fn when_all_die_one_error_names_them_all() {
    let error = farroot_sim::run(async {
        let stage = Stage::new(40 * MB, &[link(RTT, 10 * MB), link(RTT, 10 * MB)]);
        let die = async {
            tokio::time::sleep(seconds(1.0)).await;
            stage.world.kill("a", 1094);
            stage.world.kill("b", 1094);
        };
        stage.read_while(die).await.expect_err("no server is left")
    });
    let text = error.to_string();
    for part in ["none of 2 sources", "root://a:1094: ", "root://b:1094: ", "refused"] {
        assert!(text.contains(part), "{part:?} is not in {text}");
    }
}
