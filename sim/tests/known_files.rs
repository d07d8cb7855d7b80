//! Reading a file a second time: its notes save round trips, and are never trusted without the
//! server's and the file's own word.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use engine::{
    ColumnSpec, Config, Engine, ErrorKind, OnError, Result, ScanRequest, Step, TableLocation,
};
use farroot_sim::link::Link;
use farroot_sim::network::World;
use farroot_sim::xrootd_host::Behaviour;
use farroot_sim::{http_host, one_file, round_trips, xrootd_host};

const RTT: Duration = Duration::from_millis(100);
const FILE: &[u8] = include_bytes!("../testdata/small_nano.root");
/// In the file's header, behind the version of its format.
const IDENTIFIER: usize = 47;

fn columns() -> Vec<String> {
    ["Muon_pt", "flat_0", "flat_5"].map(String::from).to_vec()
}

fn engine(world: &World, store: &Path) -> Result<Engine> {
    let store_folder = Some(store.to_owned());
    let config = Config { decode_threads: 0, store_folder, ..Config::default() };
    Engine::within(&config, Arc::new(world.clone()))
}

/// The measurements of one process: its round trips, and the log of its requests.
async fn read(world: &World, store: &Path, url: &str) -> Result<(f64, String)> {
    let engine = engine(world, store)?;
    let started = tokio::time::Instant::now();
    let tree = engine.open_tree(url, Some("Events")).await?;
    let columns = tree.columns(&columns())?;
    let batch = tree.read(columns, 0..u64::MAX).await?;
    assert_eq!(batch.len(), 6_000);
    Ok((
        round_trips(started.elapsed(), RTT),
        farroot_sim::log::lines(&engine.trace().records(), RTT),
    ))
}

/// The same in one call, which names the columns before the file is open.
async fn read_at_once(world: &World, store: &Path, url: &str) -> Result<(f64, String)> {
    let engine = engine(world, store)?;
    let started = tokio::time::Instant::now();
    let place =
        TableLocation { url: url.into(), path: Some("Events".into()), ..TableLocation::default() };
    let scan = ScanRequest {
        wanted: ColumnSpec::Named(columns()),
        entries: 0..u64::MAX,
        step: Step::Whole,
        cut: None,
        on_error: OnError::Raise,
    };
    let mut parts = engine.scan(vec![place], scan);
    let mut entries = 0;
    while let Some(part) = parts.next().await {
        let batch = part?.batch;
        let (name, array) = &batch.columns[1];
        assert_eq!((name.as_str(), array.len() as u64), ("flat_0", batch.len()));
        entries += batch.len();
    }
    assert_eq!(entries, 6_000);
    Ok((
        round_trips(started.elapsed(), RTT),
        farroot_sim::log::lines(&engine.trace().records(), RTT),
    ))
}

fn serve_http() -> World {
    let world = World::default();
    http_host::serve(world.host("server", 80, Link::delay(RTT)), one_file("/nano.root", FILE));
    world
}

fn serve_xrootd(content: impl Into<bytes::Bytes>) -> World {
    let world = World::default();
    let accepted = world.host("server", 1094, Link::delay(RTT));
    xrootd_host::serve(accepted, one_file("/nano.root", content), Behaviour::default());
    world
}

#[test]
fn a_known_file_is_open_when_the_server_answers() {
    let store = tempfile::tempdir().expect("a folder");
    let url = "root://server:1094//nano.root";
    let (first, second, log) = farroot_sim::run(async {
        let world = serve_xrootd(FILE);
        let first = read(&world, store.path(), url).await.expect("reads").0;
        let (second, log) = read(&world, store.path(), url).await.expect("reads");
        (first, second, log)
    });
    assert!(first > 3.9 && second < 3.01, "{first:.2}, then {second:.2} round trips:\n{log}");
    assert_eq!(log.matches("open").count(), 1, "{log}");
}

#[test]
fn over_http_too() {
    let store = tempfile::tempdir().expect("a folder");
    let url = "http://server/nano.root";
    let (took, log) = farroot_sim::run(async {
        let world = serve_http();
        read(&world, store.path(), url).await.expect("reads");
        read(&world, store.path(), url).await.expect("reads")
    });
    assert!(took < 3.01 && !log.contains("tail"), "{took:.2} round trips:\n{log}");
}

/// The server says the same of both; only the file's own identifier differs.
#[test]
fn a_file_that_was_replaced_is_read_afresh() {
    let store = tempfile::tempdir().expect("a folder");
    let url = "root://server:1094//nano.root";
    let mut other = FILE.to_vec();
    other[IDENTIFIER] ^= 1;
    let took = farroot_sim::run(async {
        read(&serve_xrootd(FILE), store.path(), url).await.expect("reads");
        read(&serve_xrootd(other), store.path(), url).await.expect("reads").0
    });
    assert!(took > 3.9, "{took:.2} round trips: something old was believed");
}

#[test]
fn a_store_that_was_damaged_costs_only_round_trips() {
    let store = tempfile::tempdir().expect("a folder");
    let url = "root://server:1094//nano.root";
    farroot_sim::run(async {
        let world = serve_xrootd(FILE);
        read(&world, store.path(), url).await.expect("reads");
        let folder = store.path().join("farroot-metadata");
        for entry in std::fs::read_dir(folder).expect("the store") {
            let path = entry.expect("an entry").path();
            if path.ends_with("CACHEDIR.TAG") {
                continue;
            }
            let mut bytes = std::fs::read(&path).expect("can be read");
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
            std::fs::write(&path, bytes).expect("can be written");
        }
        assert!(read(&world, store.path(), url).await.expect("reads").0 > 3.9);
        assert!(read(&world, store.path(), url).await.expect("reads").0 < 3.01);
    });
}

/// Connecting takes one, and everything else the second: the server is remembered, too.
#[test]
fn the_first_data_of_a_known_file_come_with_its_open() {
    let store = tempfile::tempdir().expect("a folder");
    let url = "root://server:1094//nano.root";
    let (took, log) = farroot_sim::run(async {
        let world = serve_xrootd(FILE);
        read(&world, store.path(), url).await.expect("reads");
        read_at_once(&world, store.path(), url).await.expect("reads")
    });
    assert!(took < 2.01, "{took:.2} round trips:\n{log}");
    farroot_sim::log::golden("xrootd_known_file", &log);
}

#[test]
fn the_first_data_of_a_known_file_come_with_its_head_over_http() {
    let store = tempfile::tempdir().expect("a folder");
    let url = "http://server/nano.root";
    let (took, log) = farroot_sim::run(async {
        let world = serve_http();
        read(&world, store.path(), url).await.expect("reads");
        read_at_once(&world, store.path(), url).await.expect("reads")
    });
    assert!(took < 2.01, "{took:.2} round trips:\n{log}");
}

/// The early bytes are the other file's, and none of them is handed on.
#[test]
fn what_came_early_of_a_file_that_was_replaced_is_thrown_away() {
    let url = "root://server:1094//nano.root";
    let mut renamed = FILE.to_vec();
    renamed[IDENTIFIER] ^= 1;
    let mut longer = FILE.to_vec();
    longer.extend_from_slice(&[0; 1000]);
    for other in [renamed, longer] {
        let store = tempfile::tempdir().expect("a folder");
        let (took, log) = farroot_sim::run(async {
            read(&serve_xrootd(FILE), store.path(), url).await.expect("reads");
            let world = serve_xrootd(other);
            read_at_once(&world, store.path(), url).await.expect("reads")
        });
        assert!(took > 3.9 && log.matches("open, head").count() == 2, "{took:.2}:\n{log}");
    }
}

/// A cut file has lost the requested baskets; the error is the new file's, not theirs.
#[test]
fn a_known_file_that_is_gone_or_cut_is_an_error() {
    let store = tempfile::tempdir().expect("a folder");
    let url = "root://server:1094//nano.root";
    let (gone, cut) = farroot_sim::run(async {
        read(&serve_xrootd(FILE), store.path(), url).await.expect("reads");
        let world = World::default();
        let accepted = world.host("server", 1094, Link::delay(RTT));
        xrootd_host::serve(accepted, one_file("/other.root", FILE), Behaviour::default());
        let gone = read_at_once(&world, store.path(), url).await.map(drop);
        let world = serve_xrootd(&FILE[..FILE.len() / 20]);
        (gone, read_at_once(&world, store.path(), url).await.map(drop))
    });
    assert_eq!(gone.unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(cut.unwrap_err().kind(), ErrorKind::Corrupt);
}

/// Every connection with an early request is redirected; one answer to that is enough.
#[test]
fn a_known_file_may_have_moved() {
    let store = tempfile::tempdir().expect("a folder");
    let url = "root://redirector:1094//nano.root";
    let (took, log) = farroot_sim::run(async {
        let world = serve_xrootd(FILE);
        let accepted = world.host("redirector", 1094, Link::delay(RTT));
        let behaviour =
            Behaviour { redirects_to: vec![("server".into(), 1094)], ..Behaviour::default() };
        xrootd_host::serve(accepted, one_file("/nano.root", FILE), behaviour);
        read(&world, store.path(), url).await.expect("reads");
        read_at_once(&world, store.path(), url).await.expect("reads")
    });
    assert!(took < 4.01, "{took:.2} round trips:\n{log}");
}
