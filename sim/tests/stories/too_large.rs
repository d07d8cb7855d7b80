//! A server says that a file has more bytes than any file can have. The size was cut to the largest
//! one where it was used, did not agree with itself any more, and the copy was empty and a success.

use engine::{Config, Engine, Error, ErrorKind};
use farroot_sim::network::World;
use farroot_sim::xrootd_host::{self, Behaviour};
use farroot_sim::{bulk, http_host, one_file};
use remote::CopyOptions;

use crate::world::{MB, RTT, link};

const SIZES: [u64; 4] = [(1 << 50) + 1, 1 << 55, i64::MAX as u64, u64::MAX];

/// Hosts `a` over XRootD and `web` over HTTP report this size of their file; `b` has it rightly.
fn world(size: u64, opens_without_stat: bool) -> World {
    let world = World::default();
    let files = one_file("/f", bulk::content(MB as usize));
    let lies = Behaviour {
        says: xrootd_host::Claims { size: Some(size), ..Default::default() },
        opens_without_stat,
        ..Behaviour::default()
    };
    for (host, behaviour) in [("a", lies), ("b", Behaviour::default())] {
        let accepted = world.host(host, 1094, link(RTT, 20 * MB));
        xrootd_host::serve(accepted, files.clone(), behaviour);
    }
    let web = http_host::serve(world.host("web", 80, link(RTT, 20 * MB)), files);
    web.lock().size = Some(size);
    world
}

async fn copy(engine: &Engine, source: &str) -> Result<u64, Error> {
    let folder = tempfile::tempdir().expect("a folder");
    let target = folder.path().join("f");
    let copied =
        engine.remote().copy(&[source.into()], &target, CopyOptions::default(), &|_| {}).await?;
    let copied = copied.into_iter().next().expect("one file");
    assert_eq!(copied.is_ok(), target.exists(), "{source}");
    copied.map(|copied| copied.size)
}

#[test]
fn it_is_an_error_that_names_the_size_and_the_limit() {
    for size in SIZES {
        for (source, opens_without_stat) in
            [("root://a:1094//f", false), ("root://a:1094//f", true), ("http://web/f", false)]
        {
            farroot_sim::run(async {
                let engine = farroot_sim::engine(&world(size, opens_without_stat));
                let error = copy(&engine, source).await.expect_err("no such file");
                assert_eq!(error.kind(), ErrorKind::LimitReached, "{error}");
                let text = error.to_string();
                let limit = "at most 1125899906842624";
                assert!(text.contains(&size.to_string()) && text.contains(limit), "{text}");
                assert!(text.contains(source) && !error.is_retryable(), "{text}");
                let tree = engine.open_tree(source, None).await.map(drop);
                assert_eq!(tree.expect_err("no such file").kind(), ErrorKind::LimitReached);
            });
        }
    }
}

#[test]
fn another_source_may_have_the_file() {
    for source in ["root://a:1094//f|root://b:1094//f", "http://web/f|root://b:1094//f"] {
        farroot_sim::run(async {
            let engine = farroot_sim::engine(&world(1 << 55, false));
            assert_eq!(copy(&engine, source).await.expect("copies"), MB);
        });
    }
}

/// A later session hears of it, not the first one.
#[test]
fn in_mid_read_it_is_an_error_too() {
    farroot_sim::run(async {
        let config = Config { connections_initial: 1, connections_max: 1, ..Config::default() };
        let stage = crate::world::Stage::with(10 * MB, &[link(RTT, 5 * MB)], config);
        let lies = async {
            tokio::time::sleep(crate::world::seconds(1.0)).await;
            stage.world.kill("a", 1094);
            stage.controls[0].lock().says.size = Some(1 << 55);
            stage.world.restart("a", 1094);
        };
        let error = stage.read_while(lies).await.expect_err("no such file");
        assert_eq!(error.kind(), ErrorKind::LimitReached, "{error}");
    });
}

#[test]
fn nor_does_a_metalink_say_so() {
    let document = |size: u64| {
        format!(
            "<metalink xmlns=\"urn:ietf:params:xml:ns:metalink\"><file name=\"f\">\
             <size>{size}</size><url>root://b:1094//f</url></file></metalink>"
        )
    };
    farroot_sim::run(async {
        let world = world(0, false);
        let accepted = world.host("m", 80, link(RTT, 20 * MB));
        http_host::serve(accepted, one_file("/f.meta4", document(1 << 55)));
        let error =
            copy(&farroot_sim::engine(&world), "http://m/f.meta4").await.expect_err("no such file");
        assert_eq!(error.kind(), ErrorKind::LimitReached, "{error}");
        assert!(error.to_string().contains("m/f.meta4"), "{error}");
    });
}
