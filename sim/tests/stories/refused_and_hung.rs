//! No process at the port; a server that takes connections and sends nothing.

use crate::world::{MB, RTT, Stage, link, seconds};

#[test]
fn a_refused_port_is_an_error_within_seconds() {
    let (error, waited) = farroot_sim::run(async {
        let stage = Stage::new(MB, &[link(RTT, 10 * MB)]);
        stage.world.kill("a", 1094);
        let begun = tokio::time::Instant::now();
        let error = stage.read().await.expect_err("the port is closed");
        (error, begun.elapsed().as_secs_f64())
    });
    assert!(waited < 5.0, "{waited:.1} s");
    assert!(error.to_string().contains("refused"), "{error}");
}

#[test]
fn a_link_that_swallows_everything_is_an_error_within_seconds() {
    let waited = farroot_sim::run(async {
        let stage = Stage::new(MB, &[link(RTT, 10 * MB)]);
        stage.world.cut("a", 1094, seconds(1e6));
        let begun = tokio::time::Instant::now();
        stage.read().await.expect_err("nothing comes");
        begun.elapsed().as_secs_f64()
    });
    assert!(waited < 6.0, "{waited:.1} s");
}

#[test]
fn a_hung_or_unreachable_first_source_costs_two_seconds() {
    for hung in [true, false] {
        let (took, report) = farroot_sim::run(async {
            let stage = Stage::new(MB, &[link(RTT, 10 * MB), link(RTT, 10 * MB)]);
            match hung {
                true => stage.controls[0].lock().stopped = true,
                false => stage.world.cut("a", 1094, seconds(1e6)),
            }
            (stage.read().await.expect("reads"), stage.report())
        });
        assert!(took < 0.8 + 2.0, "{took:.2} s\n{report}");
    }
}

#[test]
fn one_that_hangs_in_mid_read_costs_two_seconds() {
    let (took, report) = farroot_sim::run(async {
        let stage = Stage::new(40 * MB, &[link(RTT, 10 * MB), link(RTT, 10 * MB)]);
        let hangs = async {
            tokio::time::sleep(seconds(1.0)).await;
            stage.controls[0].lock().stopped = true;
        };
        (stage.read_while(hangs).await.expect("reads"), stage.report())
    });
    assert!(took < 1.0 + 3.0 + 2.0, "{took:.2} s\n{report}");
}
