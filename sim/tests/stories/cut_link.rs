//! The link to the only source goes away for ten seconds and comes back.

use crate::world::{MB, RTT, Stage, link, seconds};

#[test]
fn the_read_goes_on_soon_after_it_is_back() {
    let (took, report) = farroot_sim::run(async {
        let stage = Stage::new(30 * MB, &[link(RTT, 10 * MB)]);
        let cut = async {
            tokio::time::sleep(seconds(1.0)).await;
            stage.world.cut("a", 1094, seconds(10.0));
        };
        (stage.read_while(cut).await.expect("reads"), stage.report())
    });
    // TCP alone would try again only 2.8 s after the link is back, and later the longer it is cut.
    assert!(took < 3.6 + 10.0 + 3.0, "{took:.2} s\n{report}");
}

#[test]
fn a_server_that_is_only_slow_is_not_pressed() {
    let (took, connections) = farroot_sim::run(async {
        let stage = Stage::new(MB, &[link(RTT, 10 * MB)]);
        let stopped = async {
            tokio::time::sleep(seconds(0.15)).await;
            stage.controls[0].lock().stopped = true;
            tokio::time::sleep(seconds(20.0)).await;
            stage.controls[0].lock().stopped = false;
        };
        let took = stage.read_while(stopped).await.expect("reads");
        (took, stage.world.connections("a", 1094))
    });
    assert!(took < 22.0, "{took:.2} s");
    assert!(connections <= 24, "{connections} connections");
}
