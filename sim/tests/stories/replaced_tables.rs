//! One of many files is replaced while they are iterated over. Its baskets came partly of the old
//! file, partly of the new one.

use std::sync::Arc;

use engine::{
    ColumnSpec, Config, Engine, Error, ErrorKind, OnError, ScanBatch, ScanRequest, Skipped, Step,
    TableLocation,
};
use farroot_sim::link::Link;
use farroot_sim::network::World;
use farroot_sim::xrootd_host::{self, Behaviour, Control};
use farroot_sim::{Files, engine_beside, http_host, numbered};
use mutex::Mutex;

use crate::world::{RTT, seconds};

const FILE: &[u8] = include_bytes!("../../testdata/small_nano.root");
const COLUMN: &str = "flat_*";
const STEP: u64 = 500;
const FILES: usize = 3;
/// Of which all of a file come in four seconds.
const RATE: u64 = 70_000;

/// The file with other values in every basket: not compressed, they have no checksum.
async fn other() -> Vec<u8> {
    let engine = engine_beside(&[FILE.into()]);
    let tree = engine.open_tree(&numbered(0), None).await.expect("opens");
    let columns = tree.columns(&[COLUMN.to_owned()]).expect("are there");
    let plan = tree.plan(&columns, 0..u64::MAX, Step::Whole).expect("plans");
    let mut bytes = FILE.to_vec();
    for range in plan.pieces().map(|piece| piece.range.clone()) {
        // Behind the record's head.
        let [from, to] = [range.start + 120, range.end].map(|at| at as usize);
        bytes[from..to].iter_mut().for_each(|byte| *byte ^= 0x11);
    }
    bytes
}

fn files(middle: Vec<u8>) -> Files {
    let content = |at| if at == 1 { middle.clone().into() } else { FILE.into() };
    Arc::new((0..FILES).map(|at| (format!("/{at}"), content(at))).collect())
}

fn scan(on_error: OnError) -> ScanRequest {
    let entries = 0..u64::MAX;
    let step = Step::Entries(STEP);
    let wanted = ColumnSpec::Named(vec![COLUMN.to_owned()]);
    ScanRequest { wanted, entries, step, cut: None, on_error }
}

async fn read(
    engine: &Engine,
    url: impl Fn(usize) -> String,
    on_error: OnError,
) -> Vec<Result<ScanBatch, Error>> {
    let place = |file| TableLocation { url: url(file), ..TableLocation::default() };
    let mut parts = engine.scan((0..FILES).map(place), scan(on_error));
    let mut all = Vec::new();
    while let Some(part) = parts.next().await {
        all.push(part);
    }
    all
}

struct Stage {
    world: World,
    engine: Engine,
    server: Control,
    web: http_host::Control,
}

fn stage() -> Stage {
    let world = World::default();
    let link = Link { rate: Some(RATE), ..Link::delay(RTT) };
    let server =
        xrootd_host::serve(world.host("a", 1094, link), files(FILE.to_vec()), Behaviour::default());
    let web = http_host::serve(world.host("web", 80, link), files(FILE.to_vec()));
    // Little is prefetched.
    let config = Config { memory_bytes_max: 100_000, ..Config::default() };
    Stage { engine: farroot_sim::engine_with(&world, config), world, server, web }
}

/// Reads all files, of which the second one is replaced after so many seconds.
fn read_replaced(is_web: bool, after: f64, on_error: OnError) -> Vec<Result<ScanBatch, Error>> {
    farroot_sim::run(async {
        let stage = stage();
        let other = other().await;
        let replace = async {
            tokio::time::sleep(seconds(after)).await;
            stage.world.kill("a", 1094);
            stage.server.lock().replaced_by = Some(files(other.clone()));
            stage.server.lock().says.modified = Some(1_700_000_060);
            let mut web = stage.web.lock();
            web.replaced_by = Some(files(other));
            let time = "Tue, 14 Nov 2023 22:14:20 GMT".to_owned();
            web.headers = vec![(hyper::header::LAST_MODIFIED, time)];
            stage.world.restart("a", 1094);
        };
        let url = |file| match is_web {
            true => format!("http://web/{file}"),
            false => format!("root://a:1094//{file}"),
        };
        futures::join!(read(&stage.engine, url, on_error), replace).0
    })
}

/// The entries of each file have to be of one version of it.
fn are_not_mixed(parts: &[Result<ScanBatch, Error>]) {
    let [old, new] = farroot_sim::run(async {
        let [old, new] = [files(FILE.to_vec()), files(other().await)];
        let mut values = Vec::new();
        for files in [old, new] {
            let contents: Vec<_> = files.values().cloned().collect();
            values.push(read(&engine_beside(&contents), numbered, OnError::Raise).await);
        }
        <[_; 2]>::try_from(values).expect("two")
    });
    for file in 0..FILES {
        let of = |parts: &[Result<ScanBatch, Error>]| -> Vec<ScanBatch> {
            let parts = parts.iter().filter_map(|part| part.clone().ok());
            parts.filter(|part| part.file == file).collect()
        };
        let read = of(parts);
        let is_in = |all: &[Result<ScanBatch, Error>]| {
            let batches: Vec<_> = of(all).into_iter().map(|part| part.batch).collect();
            read.iter().all(|part| batches.contains(&part.batch))
        };
        assert!(is_in(&old) || is_in(&new), "file {file} is neither the old one nor the new one");
    }
}

#[test]
fn what_is_read_of_each_file_is_of_one_version() {
    let mut errors = 0;
    for is_web in [false, true] {
        // Before the second file is opened, in its midst, and after it.
        for after in [0.5, 3.0, 5.5, 6.5, 7.5, 8.5, 11.0] {
            let parts = read_replaced(is_web, after, OnError::Raise);
            are_not_mixed(&parts);
            for error in parts.into_iter().filter_map(Result::err) {
                assert_eq!(error.kind(), ErrorKind::Changed, "{error}");
                errors += 1;
            }
        }
    }
    assert!(errors >= 4, "{errors} of 14 replacements were in mid-read");
}

#[test]
fn the_other_files_are_read_where_errors_are_reported() {
    let skipped: Arc<Mutex<Vec<Skipped>>> = Arc::default();
    let reported = skipped.clone();
    let report = OnError::Report(Arc::new(move |one| reported.lock().push(one)));
    let parts = read_replaced(false, 6.5, report);
    are_not_mixed(&parts);
    assert!(parts.iter().any(|part| part.as_ref().is_ok_and(|part| part.file == 2)));
    let skipped = skipped.lock();
    assert!(!skipped.is_empty(), "{} parts", parts.len());
    for one in &*skipped {
        assert_eq!(one.error.kind(), ErrorKind::Changed, "{one:?}");
    }
}
