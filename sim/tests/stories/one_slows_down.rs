//! One of two sources slows down 50-fold in mid-file.

use crate::world::{MB, RTT, Stage, link, seconds};

#[test]
fn the_other_does_its_work() {
    let (took, report) = farroot_sim::run(async {
        let stage = Stage::new(60 * MB, &[link(RTT, 20 * MB), link(RTT, 20 * MB)]);
        let slows_down = async {
            tokio::time::sleep(seconds(1.0)).await;
            stage.world.change("a", 1094, |line| line.link.rate = Some(20 * MB / 50));
        };
        let took = stage.read_while(slows_down).await.expect("reads");
        assert!(stage.extra_per_mille() <= 20, "{}", stage.report());
        (took, stage.report())
    });
    // 25 MB or so came in the first second; the rest takes the other one 1.8 s.
    assert!(took < 1.0 + 1.8 + 2.0, "{took:.2} s\n{report}");
}
