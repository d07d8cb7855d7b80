//! A redirector sends to a dead server first.

use std::time::Duration;

use farroot_sim::bulk;
use farroot_sim::link::Link;
use farroot_sim::network::World;
use farroot_sim::xrootd_host::{self, Behaviour};

use crate::world::{MB, RTT, Stage, link};

#[test]
fn another_address_of_the_file_serves() {
    let (took, report) = farroot_sim::run(async {
        let stage = Stage::new(2 * MB, &[link(RTT, 20 * MB), link(RTT, 20 * MB)]);
        let to_nobody = vec![("dead".to_owned(), 1094)];
        stage.controls[0].lock().redirects_to = to_nobody;
        (stage.read().await.expect("reads"), stage.report())
    });
    assert!(took < 3.0, "{took:.2} s\n{report}");
    assert!(report.contains("redirected to root://dead:1094//f"), "{report}");
}

#[test]
fn without_another_the_error_says_who_was_dead() {
    let error = farroot_sim::run(async {
        let world = World::default();
        let accepted = world.host("redirector", 1094, Link::delay(Duration::from_millis(20)));
        let redirects_to = vec![("dead".to_owned(), 1094)];
        let behaviour = Behaviour { redirects_to, ..Behaviour::default() };
        xrootd_host::serve(accepted, farroot_sim::one_file("/f", bulk::content(1)), behaviour);
        bulk::read(&farroot_sim::engine(&world), "root://redirector:1094//f")
            .await
            .expect_err("is dead")
    });
    assert!(error.to_string().contains("root://dead:1094"), "{error}");
}
