//! Opens that fail, with a cache: for a while the same open gets the same error without a request.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use engine::{Config, Engine, Error, ErrorKind};
use farroot_sim::link::Link;
use farroot_sim::network::World;
use farroot_sim::xrootd_host::{Behaviour, Control, TakenFiles};
use farroot_sim::{Files, one_file, xrootd_host};
use remote::CreateOptions;
use remote::cache::CacheConfig;
use tokio::time::{Instant, sleep};

const RTT: Duration = Duration::from_millis(100);
const FILE: &[u8] = include_bytes!("../testdata/small_nano.root");
const URL: &str = "root://server:1094//nano.root";

/// A server without files, and an engine, with a cache where there is a folder.
fn absent(cache: Option<&Path>) -> (World, Control, Engine) {
    let world = World::default();
    let accepted = world.host("server", 1094, Link::delay(RTT));
    let behaviour = Behaviour { takes: Some(TakenFiles::default()), ..Behaviour::default() };
    let control = xrootd_host::serve(accepted, Files::default(), behaviour);
    let bytes_max = if cache.is_some() { 1 << 30 } else { 0 };
    let folder = cache.map(Path::to_owned);
    let cache = CacheConfig { bytes_max, folder, free_bytes_min: 0, ..CacheConfig::default() };
    let config = Config { decode_threads: 0, cache, ..Config::default() };
    let engine = Engine::within(&config, Arc::new(world.clone())).expect("starts");
    (world, control, engine)
}

async fn refused(engine: &Engine, url: &str) -> Error {
    engine.open(url).await.err().expect("it is not there")
}

fn requests(engine: &Engine) -> usize {
    engine.trace().records().requests.len()
}

#[test]
fn that_a_file_is_absent_is_remembered_for_ten_seconds() {
    let folder = tempfile::tempdir().expect("a folder");
    farroot_sim::run(async {
        let (_, control, engine) = absent(Some(folder.path()));
        let first = refused(&engine, URL).await;
        let asked = requests(&engine);
        assert_eq!(first.kind(), ErrorKind::NotFound, "{first}");
        sleep(Duration::from_secs(4)).await;
        let begun = Instant::now();
        let second = refused(&engine, URL).await;
        assert_eq!((begun.elapsed(), requests(&engine)), (Duration::ZERO, asked));
        assert_eq!((second.kind(), second.url()), (ErrorKind::NotFound, first.url()));
        let text = "this answer came 4.0 s ago and is remembered for 6.0 s more";
        assert!(second.message().starts_with(first.message()), "{second}");
        assert!(second.message().contains(text), "{second}");
        let other = refused(&engine, "root://server:1094//other.root").await;
        assert_eq!(other.kind(), ErrorKind::NotFound, "{other}");
        assert!(requests(&engine) > asked, "another file");
        control.lock().replaced_by = Some(one_file("/nano.root", FILE));
        refused(&engine, URL).await;
        sleep(Duration::from_secs(6)).await;
        engine.open(URL).await.expect("the server is asked again");
    });
}

#[test]
fn that_a_server_is_out_of_reach_is_remembered_for_as_long_as_it_took() {
    let folder = tempfile::tempdir().expect("a folder");
    farroot_sim::run(async {
        let (world, control, engine) = absent(Some(folder.path()));
        control.lock().replaced_by = Some(one_file("/nano.root", FILE));
        world.kill("server", 1094);
        let begun = Instant::now();
        let first = refused(&engine, URL).await;
        let took = begun.elapsed().clamp(Duration::from_secs(1), Duration::from_secs(30));
        let tried = world.connections("server", 1094);
        assert_eq!((first.kind(), tried > 0), (ErrorKind::Connection, true), "{first}");
        assert_eq!(first.retry_after(), Some(took), "{first}");
        world.restart("server", 1094);
        let rest = Duration::from_millis(500);
        sleep(took - rest).await;
        let second = refused(&engine, URL).await;
        assert_eq!(second.kind(), ErrorKind::Connection, "{second}");
        assert!(second.retry_after() <= Some(rest), "{second}");
        assert_eq!(world.connections("server", 1094), tried);
        sleep(rest).await;
        engine.open(URL).await.expect("the server is tried again");
    });
}

#[test]
fn a_file_that_the_process_writes_is_found_at_once() {
    let folder = tempfile::tempdir().expect("a folder");
    farroot_sim::run(async {
        let (_, control, engine) = absent(Some(folder.path()));
        refused(&engine, URL).await;
        // The host does not serve files that are written to it: its files are replaced as well.
        control.lock().replaced_by = Some(one_file("/nano.root", FILE));
        let options = CreateOptions::default();
        let written = engine.remote().create("root://server:1094//new.root", options).await;
        let mut upload = written.expect("begins");
        upload.write(0, FILE.into(), false).await.expect("takes bytes");
        refused(&engine, URL).await;
        upload.finish().await.expect("has its name");
        engine.open(URL).await.expect("the server is asked");
    });
}

#[test]
fn without_a_cache_nothing_is_remembered() {
    farroot_sim::run(async {
        let (_, control, engine) = absent(None);
        let first = refused(&engine, URL).await;
        assert_eq!((refused(&engine, URL).await, first.retry_after()), (first, None));
        control.lock().replaced_by = Some(one_file("/nano.root", FILE));
        engine.open(URL).await.expect("the server is asked");
    });
}
