//! A redirector knows more servers than the one that it sends to first.

use std::time::Duration;

use engine::{Config, Engine};
use farroot_sim::bulk;
use farroot_sim::link::Link;
use farroot_sim::network::World;
use farroot_sim::xrootd_host::{self, Behaviour, Control};
use tokio::time::Instant;

use crate::world::{MB, RTT, link, seconds};

/// Where the redirector is.
const MANAGER: &str = "root://manager:1094//f";

/// A redirector before servers `a`, `b`, ... with these links, all of which have the file.
struct Federation {
    world: World,
    engine: Engine,
    manager: Control,
    servers: Vec<Control>,
    size: u64,
}

impl Federation {
    fn new(size: u64, links: &[Link]) -> Federation {
        Federation::with(size, links, Config::default())
    }

    fn with(size: u64, links: &[Link], config: Config) -> Federation {
        let world = World::default();
        let files = farroot_sim::one_file("/f", bulk::content(size as usize));
        let names: Vec<String> = (0..links.len()).map(crate::world::name).collect();
        let serve = |(name, link): (&String, &Link)| {
            let accepted = world.host(name, 1094, *link);
            xrootd_host::serve(accepted, files.clone(), Behaviour::default())
        };
        let servers = names.iter().zip(links).map(serve).collect();
        let redirects_to = names.iter().map(|name| (name.clone(), 1094)).collect();
        let behaviour = Behaviour { redirects_to, ..Behaviour::default() };
        let accepted = world.host("manager", 1094, Link::delay(RTT));
        let manager = xrootd_host::serve(accepted, files.clone(), behaviour);
        let engine = farroot_sim::engine_with(&world, config);
        Federation { world, engine, manager, servers, size }
    }

    /// Reads it all; how long it took.
    async fn read(&self) -> f64 {
        let begun = Instant::now();
        let read = bulk::read(&self.engine, MANAGER);
        let read = tokio::time::timeout(seconds(600.0), read).await.expect("it hangs");
        assert_eq!(read.expect("reads"), self.size);
        begun.elapsed().as_secs_f64()
    }

    fn report(&self) -> String {
        self.engine.report().to_string()
    }
}

#[test]
fn a_poor_server_is_left_for_a_better_one_that_the_redirector_knows() {
    let links = [link(RTT, MB), link(RTT, 20 * MB)];
    let (poor, report) = farroot_sim::run(async {
        let federation = Federation::new(200 * MB, &links);
        (federation.read().await, federation.report())
    });
    let good = farroot_sim::run(async { Federation::new(200 * MB, &links[1..]).read().await });
    assert!(poor < 1.1 * good, "{poor:.2} s, {good:.2} s alone\n{report}");
    assert!(report.contains("also at root://b:1094//f, says root://manager:1094//f"), "{report}");
}

#[test]
fn one_that_names_nobody_is_asked_by_opening_the_file_again() {
    let report = farroot_sim::run(async {
        let federation = Federation::new(40 * MB, &[link(RTT, MB), link(RTT, 20 * MB)]);
        federation.manager.lock().locates_nothing = true;
        assert!(federation.read().await < 8.0, "{}", federation.report());
        federation.report()
    });
    assert!(report.contains("also at root://b:1094//f"), "{report}");
    assert!(!report.contains("tried"), "{report}");
}

#[test]
fn a_dead_server_is_replaced_by_the_next() {
    farroot_sim::run(async {
        let federation = Federation::new(2 * MB, &[link(RTT, 20 * MB); 2]);
        federation.world.kill("a", 1094);
        let took = federation.read().await;
        assert!(took < 3.0, "{took:.2} s\n{}", federation.report());
    });
}

#[test]
fn a_stopped_server_is_replaced_by_the_next() {
    farroot_sim::run(async {
        let federation = Federation::new(2 * MB, &[link(RTT, 20 * MB); 2]);
        federation.servers[0].lock().stopped = true;
        let took = federation.read().await;
        assert!(took < 5.0, "{took:.2} s\n{}", federation.report());
    });
}

#[test]
fn a_server_that_dies_in_mid_read_costs_a_second() {
    let undisturbed =
        farroot_sim::run(async { Federation::new(60 * MB, &[link(RTT, 20 * MB)]).read().await });
    farroot_sim::run(async {
        // Too early for the second one to have been found already.
        let federation = Federation::new(60 * MB, &[link(RTT, 20 * MB); 2]);
        let kill = async {
            tokio::time::sleep(seconds(0.9)).await;
            federation.world.kill("a", 1094);
        };
        let (took, ()) = futures::join!(federation.read(), kill);
        assert!(took < undisturbed + 2.0, "{took:.2} s\n{}", federation.report());
    });
}

#[test]
fn a_short_read_asks_nobody_twice() {
    farroot_sim::run(async {
        let federation = Federation::new(20_000, &[link(RTT, 20 * MB); 2]);
        federation.read().await;
        tokio::time::sleep(Duration::from_secs(300)).await;
        assert_eq!(federation.world.connections("b", 1094), 0);
        assert!(federation.world.connections("manager", 1094) <= 16);
    });
}

#[test]
fn a_long_read_asks_rarely() {
    farroot_sim::run(async {
        // One server only: there is no other to be found.
        let federation = Federation::new(300 * MB, &[link(RTT, MB)]);
        federation.read().await;
        let again = federation.world.connections("manager", 1094) - 16;
        // 300 s: after a second, then each two minutes, first for all and then for another.
        assert!((4..=6).contains(&again), "{again} questions\n{}", federation.report());
    });
}

#[test]
fn nobody_is_asked_where_that_is_switched_off() {
    farroot_sim::run(async {
        let config = Config { discovery: false, ..Config::default() };
        let federation = Federation::with(10 * MB, &[link(RTT, MB), link(RTT, 20 * MB)], config);
        assert!(federation.read().await > 10.0);
        assert_eq!(federation.world.connections("b", 1094), 0);
    });
}

#[test]
fn many_files_are_located_by_one_connection_in_the_round_trips_of_one() {
    let took = |files: usize| {
        farroot_sim::run(async move {
            let federation = Federation::new(10, &[link(RTT, MB); 2]);
            let addresses: Vec<String> = (0..files).map(|n| format!("{MANAGER}{n}")).collect();
            let begun = Instant::now();
            let servers = federation.engine.remote().servers(&addresses).await.unwrap();
            assert_eq!(servers, vec![["root://a:1094", "root://b:1094"]; files]);
            assert_eq!(federation.world.connections("manager", 1094), 1);
            assert_eq!(federation.world.connections("a", 1094), 0, "the files are not opened");
            begun.elapsed()
        })
    };
    assert_eq!(took(200), took(1));
    // At most 256 questions are unanswered at a time.
    assert!(took(1000) < took(1) + 4 * RTT);
}

/// Regression: the search for one file ended after four servers, and it was then without any; and a
/// server that two locations of a file led to was there twice.
#[test]
fn servers_behind_a_row_of_redirectors_are_found_and_named_once() {
    farroot_sim::run(async {
        let federation = Federation::new(10, &[link(RTT, MB); 2]);
        // Each names the one before, and the first the federation's manager.
        let mut before = "manager".to_owned();
        for number in 0..6 {
            let redirects_to = vec![(before, 1094)];
            let behaviour =
                Behaviour { redirects_to, locates_redirectors: true, ..Behaviour::default() };
            before = format!("redirector{number}");
            let accepted = federation.world.host(&before, 1094, Link::delay(RTT));
            xrootd_host::serve(accepted, farroot_sim::one_file("/f", bulk::content(10)), behaviour);
        }
        let far = format!("root://{before}:1094//f");
        for address in [far.clone(), format!("{MANAGER}|{far}")] {
            let servers = federation.engine.remote().servers(&[address]).await.unwrap();
            assert_eq!(servers, [["root://a:1094", "root://b:1094"]]);
        }
    });
}

#[test]
fn a_server_that_locates_nothing_names_no_servers() {
    farroot_sim::run(async {
        let federation = Federation::new(10, &[link(RTT, MB)]);
        federation.manager.lock().locates_nothing = true;
        let addresses = [MANAGER.to_owned(), "/a/local/file.root".to_owned()];
        let servers = federation.engine.remote().servers(&addresses).await.unwrap();
        assert_eq!(servers, vec![Vec::<String>::new(); 2]);
        federation.world.kill("manager", 1094);
        let error = federation.engine.remote().servers(&addresses).await.unwrap_err();
        assert!(error.to_string().contains("root://manager:1094//f"), "{error}");
    });
}
