//! Both sources lose a tenth of their packets for five seconds.

use crate::world::{MB, RTT, Stage, link, seconds};

#[test]
fn the_read_goes_on() {
    let (took, report) = farroot_sim::run(async {
        let stage = Stage::new(40 * MB, &[link(RTT, 10 * MB), link(RTT, 10 * MB)]);
        let lossy = async {
            tokio::time::sleep(seconds(0.5)).await;
            for (host, seed) in [("a", 1), ("b", 2)] {
                stage.world.change(host, 1094, |line| {
                    line.lost_per_mille = 100;
                    line.chance = seed;
                });
            }
            tokio::time::sleep(seconds(5.0)).await;
            for host in ["a", "b"] {
                stage.world.change(host, 1094, |line| line.lost_per_mille = 0);
            }
        };
        (stage.read_while(lossy).await.expect("reads"), stage.report())
    });
    assert!(took < 10.0, "{took:.2} s\n{report}");
}
