//! Copies of whole files: right or not there at all, gone on with after a break, within the memory
//! budget.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use engine::{Config, Engine, Error, ErrorKind};
use farroot_sim::bulk::content;
use farroot_sim::link::Link;
use farroot_sim::network::World;
use farroot_sim::xrootd_host::{Behaviour, Control};
use farroot_sim::{Files, http_host, xrootd_host};
use mutex::Mutex;
use remote::{Checksums, Copied, CopyOptions};
use tempfile::TempDir;

const MB: usize = 1_000_000;
const SIZE: usize = 20 * MB;
const VERIFIED: CopyOptions = CopyOptions {
    overwrite: false,
    verify: true,
    in_place: false,
    recursive: false,
    update: false,
    checksum: None,
};

/// Hosts `a` and `b` over XRootD and `web` over HTTP, with the same files, and a folder to copy to.
struct Stage {
    world: World,
    controls: [Control; 2],
    content: Bytes,
    folder: TempDir,
}

impl Stage {
    fn new() -> Stage {
        let world = World::default();
        let content = content(SIZE);
        let files: Files = Arc::new(BTreeMap::from([
            ("/f".to_owned(), content.clone()),
            ("/g".to_owned(), content.slice(..MB)),
            ("/empty".to_owned(), Bytes::new()),
        ]));
        let link =
            Link { rtt: Duration::from_millis(100), rate: Some(5_000_000), slow_start: true };
        let controls = ["a", "b"].map(|host| {
            xrootd_host::serve(world.host(host, 1094, link), files.clone(), Behaviour::default())
        });
        http_host::serve(world.host("web", 80, link), files);
        let folder = tempfile::tempdir().expect("a folder");
        Stage { world, controls, content, folder }
    }

    fn engine(&self) -> Engine {
        self.engine_with(Config::default())
    }

    fn engine_with(&self, config: Config) -> Engine {
        let config = Config { decode_threads: 0, ..config };
        Engine::within(&config, Arc::new(self.world.clone())).expect("starts")
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The names in the folder.
    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.folder.path()).expect("a folder");
        let name = |entry: std::io::Result<std::fs::DirEntry>| entry.unwrap().file_name();
        let mut names: Vec<String> =
            entries.map(|entry| name(entry).into_string().expect("text")).collect();
        names.sort();
        names
    }

    fn holds(&self, name: &str, content: &[u8]) {
        assert!(std::fs::read(self.path(name)).expect("is there") == content, "{name} is wrong");
    }
}

async fn copy(
    engine: &Engine,
    source: &str,
    target: &Path,
    options: CopyOptions,
) -> Result<Copied, Error> {
    let sources = [source.to_owned()];
    let mut copied = engine.remote().copy(&sources, target, options, &|_| {}).await?;
    copied.pop().expect("one file")
}

#[test]
fn a_copy_is_the_file_whatever_the_protocol() {
    farroot_sim::run(async {
        let stage = Stage::new();
        let urls = ["root://a//f", "http://web/f", "root://a//f|http://web/f"];
        for (at, url) in urls.into_iter().enumerate() {
            let name = at.to_string();
            let copied = copy(&stage.engine(), url, &stage.path(&name), VERIFIED).await;
            let copied = copied.expect("copies");
            assert_eq!((copied.size, copied.resumed), (SIZE as u64, 0));
            assert_eq!(copied.checksum, Some(farroot_sim::adler32(&stage.content)));
            stage.holds(&name, &stage.content);
        }
        assert_eq!(stage.names(), ["0", "1", "2"], "nothing is left beside them");
    });
}

#[test]
fn what_the_way_damages_of_a_copy_is_asked_for_again_unless_nobody_wants_to_know() {
    farroot_sim::run(async {
        let stage = Stage::new();
        let damages = Behaviour {
            offers_checksums: true,
            damages_every: Some(MB as u64),
            ..Behaviour::default()
        };
        *stage.controls[0].lock() = damages;
        let engine = stage.engine();
        let target = stage.path("right");
        copy(&engine, "root://a//f", &target, CopyOptions::default()).await.expect("copies");
        stage.holds("right", &stage.content);
        let pages = engine.report().sources[0].damaged_pages;
        assert!((15..30).contains(&pages), "{pages} pages");

        let config = Config { checksums: Checksums::Never, ..Config::default() };
        let engine = stage.engine_with(config);
        let target = stage.path("wrong");
        copy(&engine, "root://a//f", &target, CopyOptions::default()).await.expect("copies");
        assert!(std::fs::read(&target).expect("is there") != stage.content, "it is damaged");
    });
}

#[test]
fn two_sources_bring_more_than_one_and_one_that_dies_costs_no_byte() {
    farroot_sim::run(async {
        let stage = Stage::new();
        let mut took = Vec::new();
        for url in ["root://a//f", "root://a//f|root://b//f"] {
            let begun = tokio::time::Instant::now();
            let target = stage.path(&took.len().to_string());
            copy(&stage.engine(), url, &target, VERIFIED).await.expect("copies");
            took.push(begun.elapsed().as_secs_f64());
        }
        assert!(took[0] > 1.6 * took[1], "{took:?} s");
        let engine = stage.engine();
        let dies = async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            stage.world.kill("a", 1094);
        };
        // The request for the checksum goes to those that answer.
        let target = stage.path("f");
        let copying = copy(&engine, "root://a//f|root://b//f", &target, VERIFIED);
        let (copied, ()) = futures::join!(copying, dies);
        copied.expect("copies");
        stage.holds("f", &stage.content);
    });
}

#[test]
fn what_came_before_a_break_does_not_come_again() {
    farroot_sim::run(async {
        let stage = Stage::new();
        let target = stage.path("f");
        let engine = stage.engine();
        let copying = copy(&engine, "root://a//f", &target, VERIFIED);
        assert!(tokio::time::timeout(Duration::from_secs(3), copying).await.is_err());
        assert_eq!(stage.names(), ["f.farroot-part", "f.farroot-part.json"]);
        let engine = stage.engine();
        let copied = copy(&engine, "root://a//f", &target, VERIFIED).await.expect("copies");
        assert!(copied.resumed > 5 * MB as u64, "{copied:?}");
        let received = engine.report().bytes_received;
        assert!(received <= SIZE as u64 - copied.resumed + 1000, "{received} B, {copied:?}");
        stage.holds("f", &stage.content);
        assert_eq!(stage.names(), ["f"]);
    });
}

#[test]
fn a_server_that_gives_up_leaves_what_the_next_try_goes_on_with() {
    farroot_sim::run(async {
        let stage = Stage::new();
        let target = stage.path("f");
        let config = Config { retry_timeout: Duration::from_secs(2), ..Config::default() };
        let engine = stage.engine_with(config);
        let dies = async {
            tokio::time::sleep(Duration::from_secs(2)).await;
            stage.world.kill("a", 1094);
        };
        let options = CopyOptions::default();
        let (copied, ()) =
            futures::join!(copy(&engine, "root://a//f", &target, options.clone()), dies);
        assert_eq!(copied.expect_err("it is dead").kind(), ErrorKind::Connection);
        assert!(!target.exists());
        stage.world.restart("a", 1094);
        let copied = copy(&stage.engine(), "root://a//f", &target, options).await;
        assert!(copied.expect("copies").resumed > MB as u64);
        stage.holds("f", &stage.content);
    });
}

#[test]
fn a_copy_that_differs_from_the_checksum_is_thrown_away() {
    farroot_sim::run(async {
        let stage = Stage::new();
        stage.controls[0].lock().checksum = Some("adler32 00000001".into());
        let target = stage.path("f");
        let error = copy(&stage.engine(), "root://a//f", &target, VERIFIED).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt);
        assert!(error.message().contains("the server says adler32 00000001"), "{error}");
        assert!(stage.names().is_empty(), "{:?}", stage.names());
        // The earlier file stays.
        std::fs::write(&target, "precious").expect("writes");
        let options = CopyOptions { overwrite: true, ..VERIFIED };
        copy(&stage.engine(), "root://a//f", &target, options).await.unwrap_err();
        stage.holds("f", b"precious");
        // A kind of checksum that is not known here is not taken for agreement.
        stage.controls[0].lock().checksum = Some("sha9 00".into());
        let error = copy(&stage.engine(), "root://a//f", &stage.path("g"), VERIFIED).await;
        assert_eq!(error.unwrap_err().kind(), ErrorKind::Unsupported);
    });
}

#[test]
fn what_is_there_is_replaced_only_on_demand() {
    farroot_sim::run(async {
        let stage = Stage::new();
        let target = stage.path("f");
        std::fs::write(&target, "precious").expect("writes");
        let engine = stage.engine();
        let kept = copy(&engine, "root://a//g", &target, CopyOptions::default()).await;
        assert_eq!(kept.unwrap_err().kind(), ErrorKind::InvalidArgument);
        stage.holds("f", b"precious");
        let options = CopyOptions { overwrite: true, verify: false, ..VERIFIED };
        copy(&engine, "root://a//g", &target, options).await.expect("copies");
        stage.holds("f", &stage.content[..MB]);
    });
}

#[test]
fn of_many_files_each_has_its_own_result() {
    farroot_sim::run(async {
        let stage = Stage::new();
        let engine = stage.engine();
        let sources = ["f", "missing", "empty", "g"].map(|name| format!("root://a//{name}"));
        let seen = Mutex::new(BTreeMap::new());
        let record = |progress: remote::Progress| {
            seen.lock().insert(progress.file, (progress.done, progress.size));
        };
        let copied = engine.remote().copy(&sources, stage.folder.path(), VERIFIED, &record).await;
        let copied = copied.expect("begins");
        let kinds: Vec<_> =
            copied.iter().map(|file| file.as_ref().map_err(Error::kind).map(|f| f.size)).collect();
        let size = SIZE as u64;
        let small = MB as u64;
        assert_eq!(kinds, [Ok(size), Err(ErrorKind::NotFound), Ok(0), Ok(small)]);
        assert_eq!(stage.names(), ["empty", "f", "g"]);
        stage.holds("g", &stage.content[..MB]);
        let seen = seen.into_inner();
        assert_eq!(seen, BTreeMap::from([(0, (size, size)), (2, (0, 0)), (3, (small, small))]));
    });
}

#[test]
fn a_copy_keeps_within_the_memory_budget() {
    farroot_sim::run(async {
        let stage = Stage::new();
        let budget = 2 * MB as u64;
        let config = Config { memory_bytes_max: budget, ..Config::default() };
        let engine = stage.engine_with(config);
        let target = stage.path("f");
        let most = Mutex::new(0);
        let sources = ["root://a//f".to_owned()];
        let record = |progress: remote::Progress| {
            // All that has come is written, or held against the budget.
            let held = engine.report().bytes_received.saturating_sub(progress.done);
            let mut most = most.lock();
            *most = held.max(*most);
        };
        let copied = engine.remote().copy(&sources, &target, CopyOptions::default(), &record).await;
        copied.expect("begins").pop().expect("one").expect("copies");
        stage.holds("f", &stage.content);
        assert!(*most.lock() <= budget, "{} bytes held", most.lock());
    });
}
