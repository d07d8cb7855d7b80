//! The cache on this machine's disk: bytes that were read once are read from there, a first read is
//! as it is without, and no byte of another version of a file is ever handed out.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use engine::{Config, Engine, ErrorKind, Result};
use farroot_sim::link::Link;
use farroot_sim::network::World;
use farroot_sim::xrootd_host::{Behaviour, Claims};
use farroot_sim::{http_host, one_file, round_trips, xrootd_host};
use remote::cache::counters::CacheCounters;
use remote::cache::{CacheCheck, CacheConfig, CacheMode};
use remote::fetch::trace::{RequestKind, RequestRecord};

const RTT: Duration = Duration::from_millis(100);
const FILE: &[u8] = include_bytes!("../testdata/small_nano.root");
const URL: &str = "root://server:1094//nano.root";
const WEB: &str = "http://server/nano.root";
/// In the file's header, behind the version of its format.
const IDENTIFIER: usize = 47;

/// The measurements of one process.
struct Seen {
    trips: f64,
    /// Of its servers, and not of the cache.
    requests: Vec<RequestRecord>,
    counters: CacheCounters,
    cached: u64,
    /// Requested bytes that were received, without those that come with an open.
    handed_out: u64,
}

impl Seen {
    fn of(&self, kind: RequestKind) -> usize {
        self.requests.iter().filter(|request| request.kind == kind).count()
    }
}

fn config(cache: Option<&Path>, check: CacheCheck) -> Config {
    let bytes_max = if cache.is_some() { 1 << 30 } else { 0 };
    let folder = cache.map(Path::to_owned);
    let cache =
        CacheConfig { bytes_max, folder, check, free_bytes_min: 0, ..CacheConfig::default() };
    Config { decode_threads: 0, cache, ..Config::default() }
}

/// Reads some columns in a process of its own, as far as a cache can tell.
async fn read_with(world: &World, config: Config, url: &str) -> Result<Seen> {
    let engine = Engine::within(&config, Arc::new(world.clone()))?;
    let started = tokio::time::Instant::now();
    let tree = engine.open_tree(url, Some("Events")).await?;
    let names = ["Muon_pt", "flat_0", "flat_5"].map(String::from);
    let batch = tree.read(tree.columns(&names)?, 0..u64::MAX).await?;
    assert_eq!(batch.len(), 6_000);
    let trips = round_trips(started.elapsed(), RTT);
    let counters = engine.remote().cache_counters();
    engine.remote().cache().iter().for_each(remote::cache::Cache::flush);
    let requests = engine.trace().records().requests;
    let requests = requests.into_iter().filter(|request| &*request.source != "cache").collect();
    let report = engine.report();
    let with_opens: u64 = engine
        .trace()
        .records()
        .requests
        .iter()
        .filter(|request| request.kind == RequestKind::Open)
        .map(|request| request.received)
        .sum();
    let handed_out = report.bytes_metadata + report.bytes_baskets - with_opens;
    Ok(Seen { trips, requests, counters, cached: report.bytes_cached, handed_out })
}

async fn read(world: &World, cache: &Path, check: CacheCheck) -> Result<Seen> {
    read_with(world, config(Some(cache), check), URL).await
}

fn serve(content: impl Into<bytes::Bytes>, behaviour: Behaviour) -> World {
    let world = World::default();
    let accepted = world.host("server", 1094, Link::delay(RTT));
    xrootd_host::serve(accepted, one_file("/nano.root", content), behaviour);
    world
}

fn changed_at(modified: i64) -> Behaviour {
    let says = Claims { modified: Some(modified), ..Claims::default() };
    Behaviour { says, ..Behaviour::default() }
}

const TRUST: CacheCheck = CacheCheck::Trust(Duration::from_secs(3600));

#[test]
fn a_second_read_asks_its_server_for_the_open_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    farroot_sim::run(async {
        let world = serve(FILE, Behaviour::default());
        let first = read(&world, folder.path(), CacheCheck::Verify).await.expect("reads");
        let second = read(&world, folder.path(), CacheCheck::Verify).await.expect("reads");
        assert!(first.of(RequestKind::Fetch) > 0 && first.cached == 0);
        assert_eq!((second.of(RequestKind::Open), second.of(RequestKind::Fetch)), (1, 0));
        assert!(second.trips < 2.01, "connecting and the open: {:.2}", second.trips);
        let CacheCounters { misses, missed_bytes, stored_bytes, .. } = first.counters;
        assert!(misses > 0 && missed_bytes > 0 && stored_bytes <= missed_bytes + FILE.len() as u64);
        for seen in [&first, &second] {
            let CacheCounters { hit_bytes, joined_bytes, missed_bytes, .. } = seen.counters;
            assert_eq!(hit_bytes + joined_bytes + missed_bytes, seen.handed_out);
        }
        assert_eq!((second.counters.misses, second.counters.joined), (0, 0));
        assert_eq!(second.counters.hit_bytes, second.cached);
        assert_eq!(second.counters.hit_bytes, first.counters.missed_bytes);
    });
}

#[test]
fn over_http_too() {
    let folder = tempfile::tempdir().expect("a folder");
    farroot_sim::run(async {
        let world = World::default();
        http_host::serve(world.host("server", 80, Link::delay(RTT)), one_file("/nano.root", FILE));
        let config = config(Some(folder.path()), CacheCheck::Verify);
        read_with(&world, config.clone(), WEB).await.expect("reads");
        let second = read_with(&world, config, WEB).await.expect("reads");
        assert_eq!(second.of(RequestKind::Fetch), 0);
        assert!(second.cached > 0);
    });
}

/// The requests of a first read are those without a cache, at the same times.
#[test]
fn a_first_read_is_as_it_is_without_a_cache() {
    let folder = tempfile::tempdir().expect("a folder");
    farroot_sim::run(async {
        let world = serve(FILE, Behaviour::default());
        let verify = CacheCheck::Verify;
        let without = read_with(&world, config(None, verify), URL).await.expect("reads");
        let with = read(&world, folder.path(), verify).await.expect("reads");
        let asked = |seen: &Seen| -> Vec<_> {
            let of = |request: &RequestRecord| (request.kind, request.segments.clone());
            seen.requests.iter().map(of).collect()
        };
        assert_eq!(asked(&with), asked(&without));
        assert!((with.trips - without.trips).abs() < 0.01);
        assert_eq!(without.counters, CacheCounters::default());
    });
}

#[test]
fn a_file_that_is_trusted_is_read_with_its_server_gone() {
    let folder = tempfile::tempdir().expect("a folder");
    farroot_sim::run(async {
        let world = serve(FILE, Behaviour::default());
        read(&world, folder.path(), TRUST).await.expect("reads");
        world.kill("server", 1094);
        let second = read(&world, folder.path(), TRUST).await.expect("reads");
        assert!(second.requests.is_empty() && second.trips < 0.01);
        assert!(second.cached > 0);
        let error = read(&world, folder.path(), CacheCheck::Verify).await.err().expect("asks");
        assert_eq!(error.kind(), ErrorKind::Connection, "{error}");
    });
}

/// All of it, while a reader has it open that wants little.
#[test]
fn the_rest_of_a_file_comes_behind_what_is_wanted() {
    for mode in [CacheMode::Whole, CacheMode::Auto] {
        let folder = tempfile::tempdir().expect("a folder");
        farroot_sim::run(async {
            let world = serve(FILE, Behaviour::default());
            let mut config = config(Some(folder.path()), TRUST);
            config.cache.mode = mode;
            let engine = Engine::within(&config, Arc::new(world.clone())).expect("starts");
            let tree = engine.open_tree(URL, Some("Events")).await.expect("opens");
            tokio::time::sleep(Duration::from_secs(60)).await;
            let cache = engine.remote().cache().expect("a cache");
            cache.flush();
            let files = cache.files();
            assert_eq!((files.len(), files[0].held_bytes), (1, FILE.len() as u64));
            drop(tree);
            world.kill("server", 1094);
            assert!(read(&world, folder.path(), TRUST).await.expect("reads").requests.is_empty());
        });
    }
}

#[test]
fn a_file_can_be_fetched_for_later() {
    let folder = tempfile::tempdir().expect("a folder");
    farroot_sim::run(async {
        let world = serve(FILE, Behaviour::default());
        let config = config(Some(folder.path()), TRUST);
        let engine = Engine::within(&config, Arc::new(world.clone())).expect("starts");
        let fetched = engine.remote().warm(URL).await.expect("fetches");
        assert_eq!(fetched, FILE.len() as u64);
        assert_eq!(engine.remote().warm(URL).await.expect("is there"), 0);
        world.kill("server", 1094);
        assert!(read(&world, folder.path(), TRUST).await.expect("reads").requests.is_empty());
    });
}

/// By its time, and by its own identifier where the server says the same of both.
#[test]
fn a_file_that_was_replaced_is_read_afresh() {
    let mut other = FILE.to_vec();
    other[IDENTIFIER] ^= 1;
    for (content, behaviour) in
        [(FILE.to_vec(), changed_at(1_800_000_000)), (other, Behaviour::default())]
    {
        let folder = tempfile::tempdir().expect("a folder");
        farroot_sim::run(async {
            let world = serve(FILE, Behaviour::default());
            read(&world, folder.path(), CacheCheck::Verify).await.expect("reads");
            let world = serve(content, behaviour);
            let second = read(&world, folder.path(), CacheCheck::Verify).await.expect("reads");
            assert_eq!((second.cached, second.counters.changed), (0, 1));
            let third = read(&world, folder.path(), CacheCheck::Verify).await.expect("reads");
            assert_eq!((third.of(RequestKind::Fetch), third.counters.changed), (0, 0));
        });
    }
}

/// Of a file that is trusted, uncached bytes are of the cached version, or an error.
#[test]
fn versions_are_not_mixed() {
    let folder = tempfile::tempdir().expect("a folder");
    farroot_sim::run(async {
        let world = serve(FILE, Behaviour::default());
        read(&world, folder.path(), TRUST).await.expect("reads");
        let world = serve(FILE, changed_at(1_800_000_000));
        let config = config(Some(folder.path()), TRUST);
        let engine = Engine::within(&config, Arc::new(world.clone())).expect("starts");
        let tree = engine.open_tree(URL, Some("Events")).await.expect("from the cache");
        let columns = tree.columns(&["flat_7".into()]).expect("is there");
        let error = tree.read(columns, 0..u64::MAX).await.expect_err("another version");
        assert_eq!(error.kind(), ErrorKind::Changed, "{error}");
        // The cached part goes, so that the next open is right.
        let again = read(&world, folder.path(), TRUST).await.expect("reads");
        assert_eq!((again.of(RequestKind::Open), again.cached), (1, 0));
    });
}

#[test]
fn a_damaged_record_is_fetched_again() {
    let folder = tempfile::tempdir().expect("a folder");
    farroot_sim::run(async {
        let world = serve(FILE, Behaviour::default());
        read(&world, folder.path(), CacheCheck::Verify).await.expect("reads");
        let mut damaged = 0;
        for path in segments(&folder.path().join("farroot-cache")) {
            let mut bytes = std::fs::read(&path).expect("can be read");
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
            std::fs::write(&path, bytes).expect("can be written");
            damaged += 1;
        }
        assert_eq!(damaged, 1);
        let second = read(&world, folder.path(), CacheCheck::Verify).await.expect("reads");
        assert!(second.counters.damaged > 0 && second.of(RequestKind::Fetch) > 0);
        let third = read(&world, folder.path(), CacheCheck::Verify).await.expect("reads");
        assert_eq!((third.counters.damaged, third.of(RequestKind::Fetch)), (0, 0));
    });
}

fn segments(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.unwrap().path());
    let (folders, files): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
    let files = files.into_iter().filter(|path| path.extension().is_some_and(|e| e == "far"));
    folders.iter().flat_map(|folder| segments(folder)).chain(files).collect()
}
