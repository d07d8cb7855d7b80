//! The only source is restarted in mid-read: its handles are gone.

use crate::world::{MB, RTT, Stage, link, seconds};

#[test]
fn files_are_opened_again_soon_after_it_is_back() {
    for outage in [1.0, 4.0, 15.0] {
        let (took, report) = farroot_sim::run(async {
            let stage = Stage::new(30 * MB, &[link(RTT, 10 * MB)]);
            let restart = async {
                tokio::time::sleep(seconds(1.0)).await;
                stage.world.kill("a", 1094);
                tokio::time::sleep(seconds(outage)).await;
                stage.world.restart("a", 1094);
            };
            (stage.read_while(restart).await.expect("reads"), stage.report())
        });
        assert!(took < 3.6 + outage + 3.0, "{took:.2} s with {outage} s down\n{report}");
    }
}

#[test]
fn one_that_stays_away_is_given_up_in_bounded_time() {
    let (error, waited) = farroot_sim::run(async {
        let stage = Stage::new(30 * MB, &[link(RTT, 10 * MB)]);
        let begun = tokio::time::Instant::now();
        let dies = async {
            tokio::time::sleep(seconds(1.0)).await;
            stage.world.kill("a", 1094);
        };
        let error = stage.read_while(dies).await.expect_err("it is gone");
        (error, begun.elapsed().as_secs_f64())
    });
    assert!(waited < 70.0, "{waited:.1} s: {error}");
    assert!(error.to_string().contains("refused"), "{error}");
}
