//! The pipeline, with tables and places that tests decide about.

mod checkpoints;
mod fakes;

use std::sync::Arc;

use futures::future::join_all;
use mutex::Mutex;
use remote::clock::Clock;
use remote::fetch::trace::Trace;
use remote::{Config, ErrorKind, Result};
use rootfile::Array;
use rootfile::array::Number;
use rootfile::write::check::{Finding, Severity};
use rootfile::write::{
    EntryType, Existing, FileOptions, FileWriter, TableColumn, tree::TreeOptions,
};
use rootfile::{Known, Progress};
use tokio::sync::Semaphore;

use super::output::{FileOutput, TableOutput};
use super::*;
use crate::Engine;
use crate::read::threads::decoders::Decoders;
use fakes::{End, Place, Plain, Seen, Text, doubles};

/// Writes a file further that is in the place.
fn resume(place: Place) -> FileOutput {
    let trace = Trace::new(Clock::start());
    let decoders = Decoders::start(2, trace.clone()).unwrap();
    let known = known(&place.seen.lock().bytes);
    let Progress::Ready(existing) = Existing::read(&known).unwrap() else { panic!("all is there") };
    let file = FileWriter::reopen(existing, 2).unwrap();
    FileOutput::start(file, place.upload(), decoders, trace, WriteOptions::default(), true)
}

fn known(bytes: &[u8]) -> Known {
    let mut known = Known::new(Some(bytes.len() as u64));
    known.supply(0, bytes.to_vec().into());
    known
}

/// Paths of all keys of a file, with their cycles.
fn keys(bytes: &[u8]) -> Vec<String> {
    let known = known(bytes);
    let Progress::Ready(file) = rootfile::File::open(&known).unwrap() else {
        panic!("all is there")
    };
    let Progress::Ready(all) = file.directories(&known).unwrap() else { panic!("all is there") };
    assert!(all.broken.is_empty());
    let key = |path: &str, key: &rootfile::key::Key| format!("{path}/{};{}", key.name, key.cycle);
    all.readable.iter().flat_map(|d| d.keys.iter().map(|k| key(&d.path, k))).collect()
}

fn begin(place: Place, threads: usize, options: WriteOptions) -> FileOutput {
    let trace = Trace::new(Clock::start());
    let decoders = Decoders::start(threads, trace.clone()).unwrap();
    let file = FileOptions {
        name: "f.root".into(),
        title: String::new(),
        compression: options.compression,
        uuid: 0,
        datime: 1,
    };
    let file = FileWriter::new(file).unwrap();
    FileOutput::start(file, place.upload(), decoders, trace, options, false)
}

fn columns(range: std::ops::Range<usize>) -> Vec<Arc<Array>> {
    let column = |salt: f64| doubles(range.clone().map(|at| (at as f64 * salt).sin()).collect());
    [1.0, 0.01, 7.7].map(column).to_vec()
}

/// Adds the entries of a range in steps.
async fn add(table: &TableOutput, range: std::ops::Range<usize>, step: usize) -> Result<()> {
    for start in range.clone().step_by(step) {
        table.extend(columns(start..range.end.min(start + step))).await?;
    }
    Ok(())
}

/// Two tables in turn, objects and directories between them.
async fn write_all(file: &FileOutput, step: usize) -> Result<()> {
    file.put("first", Arc::new(Text("a".repeat(100)))).await?;
    let one = file.make_table("d/one", Box::new(Plain::default())).await?;
    add(&one, 0..5500, step).await?;
    file.put("d/e/second", Arc::new(Text("b".repeat(100)))).await?;
    let two = file.make_table("two", Box::new(Plain::default())).await?;
    add(&two, 0..1700, step).await?;
    add(&one, 5500..9000, step).await?;
    file.make_directory("last").await?;
    add(&two, 1700..3000, step).await?;
    assert_eq!((one.num_entries(), two.num_entries()), (9000, 3000));
    Ok(())
}

#[tokio::test]
async fn the_same_bytes_for_any_threads_and_steps() {
    let mut first: Option<Vec<u8>> = None;
    for (threads, step) in
        [(0, 9000), (1, 9000), (1, 17), (2, 800), (3, 1000), (3, 2001), (8, 333), (8, 9000)]
    {
        let place = Place::default();
        let seen = place.seen.clone();
        let file = begin(place, threads, WriteOptions::default());
        write_all(&file, step).await.unwrap();
        let report = file.finish().await.unwrap();
        let bytes = std::mem::take(&mut seen.lock().bytes);
        assert_eq!((report.entries, report.size), (12_000, bytes.len() as u64));
        assert_eq!(report.array_bytes, 12_000 * 3 * 8);
        assert_eq!(report.tables[0], TableReport { path: "d/one".into(), entries: 9000 });
        assert!(*first.get_or_insert_with(|| bytes.clone()) == bytes, "{threads}, {step}");
    }
}

#[tokio::test]
async fn parts_come_in_their_order_whoever_is_first() {
    let ranges = [0..2500, 2500..2600, 2600..2600, 2600..9000];
    let write = async |threads, backwards: bool| {
        let place = Place::default();
        let seen = place.seen.clone();
        let memory_bytes = 50_000;
        let file = begin(place, threads, WriteOptions::default().memory_bytes(memory_bytes));
        let table = file.make_table("t", Box::new(Plain::default())).await.unwrap();
        let produce = |number: usize| {
            let (part, range) = (table.part(number as u64).unwrap(), ranges[number].clone());
            async move {
                for start in range.clone().step_by(300) {
                    part.extend(columns(start..range.end.min(start + 300))).await.unwrap();
                }
                part.finish().await.unwrap();
            }
        };
        let mut producers: Vec<_> = (0..ranges.len()).map(produce).collect();
        if backwards {
            producers.reverse();
        }
        join_all(producers).await;
        assert!(table.part(1).is_err(), "there was one");
        assert_eq!(file.finish().await.unwrap().entries, 9000);
        std::mem::take(&mut seen.lock().bytes)
    };
    let forwards = write(1, false).await;
    for threads in [0, 2, 3] {
        assert!(write(threads, true).await == forwards);
    }
}

#[tokio::test]
async fn a_part_that_is_lacking_ends_the_file() {
    let file = begin(Place::default(), 1, WriteOptions::default());
    let table = file.make_table("t", Box::new(Plain::default())).await.unwrap();
    let [zero, two] = [0, 2].map(|number| table.part(number).unwrap());
    two.extend(columns(0..10)).await.unwrap();
    two.finish().await.unwrap();
    zero.finish().await.unwrap();
    let error = file.finish().await.unwrap_err();
    assert!(error.to_string().contains("a file without part 1 of \"t\""), "{error}");
    let file = begin(Place::default(), 1, WriteOptions::default());
    let table = file.make_table("t", Box::new(Plain::default())).await.unwrap();
    drop(table.part(0).unwrap());
    assert_eq!(file.finish().await.unwrap_err().kind(), ErrorKind::Cancelled);
}

/// A place that takes one piece now and then: the bytes held stay within the memory and the arrays
/// of one call, and all are written.
#[tokio::test]
async fn a_slow_place_holds_up_the_callers() {
    let gate = Arc::new(Semaphore::new(0));
    let place = Place::behind(gate.clone());
    let (memory_bytes, step) = (400_000, 1500);
    let said = Arc::new(Mutex::new(Vec::new()));
    let say = said.clone();
    let options = WriteOptions {
        memory_bytes: Some(memory_bytes),
        progress: Some(Arc::new(move |progress| say.lock().push(progress))),
        ..WriteOptions::default()
    };
    let file = begin(place, 2, options);
    let write = async {
        let table = file.make_table("t", Box::new(Plain::default())).await.unwrap();
        add(&table, 0..150_000, step).await.unwrap();
        file.finish().await.unwrap()
    };
    let open = async {
        loop {
            gate.add_permits(1);
            tokio::task::yield_now().await;
        }
    };
    let report = tokio::select! { report = write => report, () = open => unreachable!() };
    assert!(report.array_bytes > 8 * memory_bytes as u64);
    assert!(report.held_bytes_max <= (memory_bytes + step * 3 * 8) as u64, "{report:?}");
    let said = said.lock();
    assert!(said.is_sorted_by_key(|progress| progress.bytes));
    assert_eq!(said.last().unwrap().entries, 150_000);
    assert!(report.to_string().contains("150000 entries in 1 table, 3.60 MB of arrays"));
}

#[tokio::test]
async fn a_cluster_that_is_larger_than_the_memory_is_written() {
    let file = begin(Place::default(), 2, WriteOptions::default().memory_bytes(10));
    let table = file.make_table("t", Box::new(Plain::default())).await.unwrap();
    add(&table, 0..5000, 100).await.unwrap();
    assert_eq!(file.finish().await.unwrap().entries, 5000);
}

#[tokio::test]
async fn an_error_at_any_write_is_what_all_later_calls_get() {
    let calls = {
        let place = Place::default();
        let seen = place.seen.clone();
        let file = begin(place, 2, WriteOptions::default());
        write_all(&file, 500).await.unwrap();
        file.finish().await.unwrap();
        let Seen { calls, .. } = *seen.lock();
        calls
    };
    for fails_at in 0..calls {
        let place = Place::failing(fails_at);
        let seen = place.seen.clone();
        let file = begin(place, 2, WriteOptions::default().memory_bytes(30_000));
        let early = write_all(&file, 500).await.err();
        let late = file.finish().await.unwrap_err();
        assert_eq!(late.to_string(), format!("call {fails_at} failed; in there/f.root"));
        assert!(early.is_none_or(|early| early == late));
        let seen = seen.lock();
        assert!(seen.is_abandoned && !seen.is_finished, "{fails_at}");
    }
}

#[tokio::test]
async fn errors_and_panics_of_encoders_end_the_file() {
    for (given, end, why) in [
        (4, End::Error, "the table's own"),
        (2, End::Panic, "a thread that encodes has failed: boom"),
    ] {
        for threads in [0, 2] {
            let place = Place::default();
            let seen = place.seen.clone();
            let file = begin(place, threads, WriteOptions::default());
            let table = file.make_table("t", Plain::ending(given, end)).await.unwrap();
            let _ = add(&table, 0..10_000, 500).await;
            let error = file.finish().await.unwrap_err();
            assert!(error.to_string().contains(why), "{error}");
            assert_eq!(table.extend(columns(0..1)).await, Err(error));
            assert!(seen.lock().is_abandoned && !seen.lock().is_finished);
        }
    }
}

#[tokio::test]
async fn arrays_of_another_type_are_refused_and_the_rest_goes_on() {
    let file = begin(Place::default(), 1, WriteOptions::default());
    let table = file.make_table("t", Box::new(Plain::default())).await.unwrap();
    let wrong = Arc::new(Array::Strings { offsets: vec![0], bytes: Vec::new() });
    let error = table.extend(vec![wrong]).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    add(&table, 0..10, 10).await.unwrap();
    assert_eq!(
        file.put("d/", Arc::new(Text(String::new()))).await.unwrap_err().kind(),
        ErrorKind::InvalidArgument
    );
    assert_eq!(file.finish().await.unwrap().entries, 10);
    let error = table.extend(columns(0..1)).await.unwrap_err();
    assert!(error.to_string().contains("has been closed"), "{error}");
}

#[tokio::test]
async fn what_is_dropped_or_given_up_is_not_there() {
    let place = Place::default();
    let seen = place.seen.clone();
    let file = begin(place, 2, WriteOptions::default());
    let table = file.make_table("t", Box::new(Plain::default())).await.unwrap();
    drop(file);
    assert_eq!(table.extend(columns(0..1)).await.unwrap_err().kind(), ErrorKind::Cancelled);
    while !seen.lock().is_abandoned {
        tokio::task::yield_now().await;
    }
    let place = Place::default();
    let seen = place.seen.clone();
    let file = begin(place, 2, WriteOptions::default());
    write_all(&file, 1000).await.unwrap();
    file.abandon().await;
    assert!(seen.lock().is_abandoned && !seen.lock().is_finished);
}

#[test]
fn a_file_on_a_disk_is_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let engine = Engine::start(Config::default()).unwrap();
    let path = folder.path().join("f.root").to_string_lossy().into_owned();
    let options = WriteOptions { reproducible: true, ..WriteOptions::default() };
    engine.block_on(async {
        let file = engine.create(&path, options.clone()).await.unwrap();
        write_all(&file, 700).await.unwrap();
        let column = |name: &str| TableColumn {
            name: name.into(),
            title: String::new(),
            entry: EntryType::Number(Number::F64),
        };
        let three = ["x", "y", "z"].map(column).to_vec();
        let tree = file.make_tree("d/tree", three, TreeOptions::default()).await.unwrap();
        add(&tree, 0..5000, 70).await.unwrap();
        assert!(!folder.path().join("f.root").exists());
        let report = file.finish().await.unwrap();
        assert_eq!(report.size, std::fs::metadata(&path).unwrap().len());
        let read = engine.open(&path).await.unwrap();
        let keys: Vec<_> = read.keys(true).await.unwrap().into_iter().map(|key| key.path).collect();
        assert_eq!(keys, ["first", "d", "d/e", "d/e/second", "d/one", "d/tree", "last", "two"]);
        let tree = engine.open_tree(&path, Some("d/tree")).await.unwrap();
        let read = tree.read(tree.columns(&["x".into(), "y".into()]).unwrap(), 0..u64::MAX).await;
        let [x, y, _] = &columns(0..5000)[..] else { panic!("three") };
        let read = read.unwrap();
        assert_eq!(read["x"].as_primitive::<f64>(), x.as_primitive());
        assert_eq!(read["y"].as_primitive::<f64>(), y.as_primitive());
        let refused = engine.create(&path, options).await.err().unwrap();
        assert!(refused.to_string().contains("is there already"), "{refused}");
    });
}

/// Each write of an update fails in turn, and the file has the content that a crash would leave:
/// the old one or, from the header on, directory by directory the new.
#[tokio::test]
async fn an_update_that_breaks_off_leaves_the_old_content_or_the_new() {
    let place = Place::default();
    let seen = place.seen.clone();
    let file = begin(place, 2, WriteOptions::default());
    write_all(&file, 1000).await.unwrap();
    file.finish().await.unwrap();
    let old = std::mem::take(&mut seen.lock().bytes);
    let update = async |place: Place| {
        let seen = place.seen.clone();
        let file = resume(place.with(&old));
        let written = async {
            file.put("first", Arc::new(Text("c".repeat(100)))).await?;
            file.put("d/third", Arc::new(Text("d".repeat(100)))).await?;
            let table = file.make_table("last/three", Box::new(Plain::default())).await?;
            add(&table, 0..3000, 700).await
        };
        let (early, result) = (written.await, file.finish().await);
        let Seen { bytes, calls, .. } = std::mem::take(&mut *seen.lock());
        (bytes, calls, early.and(result.map(drop)))
    };
    let (new, calls, result) = update(Place::default()).await;
    result.unwrap();
    assert!(keys(&new).len() == keys(&old).len() + 3 && new.len() > old.len());
    let states: Vec<Vec<String>> = [&old, &new].map(|bytes| keys(bytes)).into();
    for fails_at in 0..calls {
        let (bytes, _, result) = update(Place::failing(fails_at)).await;
        assert!(result.is_err(), "{fails_at}");
        let found = keys(&bytes);
        let of = |path: &str, all: &[String]| -> Vec<String> {
            all.iter().filter(|key| key.rsplit_once('/').unwrap().0 == path).cloned().collect()
        };
        for path in ["", "d", "d/e", "last"] {
            let is_one = states.iter().any(|state| of(path, state) == of(path, &found));
            assert!(is_one, "{fails_at}: {found:?}");
        }
    }
}

#[test]
fn a_file_on_a_disk_is_written_further() {
    let folder = tempfile::tempdir().unwrap();
    let engine = Engine::start(Config::default()).unwrap();
    let path = folder.path().join("f.root").to_string_lossy().into_owned();
    let bytes = || std::fs::read(&path).unwrap();
    engine.block_on(async {
        let missing = engine.update(&path, WriteOptions::default()).await.err().unwrap();
        assert_eq!(missing.kind(), ErrorKind::NotFound);
        let file = engine.create(&path, WriteOptions::default()).await.unwrap();
        file.put("a", Arc::new(Text("a".into()))).await.unwrap();
        file.finish().await.unwrap();
        let old = bytes();
        let file = engine.update(&path, WriteOptions::default()).await.unwrap();
        file.put("b", Arc::new(Text("b".into()))).await.unwrap();
        file.abandon().await;
        assert!(bytes() == old);
        let file = engine.update(&path, WriteOptions::default()).await.unwrap();
        let second = engine.update(&path, WriteOptions::default()).await.err().unwrap();
        assert!(second.to_string().contains("another writer"), "{second}");
        file.put("d/b", Arc::new(Text("b".into()))).await.unwrap();
        let report = file.finish().await.unwrap();
        assert_eq!((report.size, report.checksum), (bytes().len() as u64, None));
        assert_eq!(keys(&bytes()), ["/a;1", "/d;1", "d/b;1"]);
        std::fs::write(&path, [&bytes()[..], b"more"].concat()).unwrap();
        for stale in [&b"o"[..], b"old bytes"] {
            // ROOT makes no file shorter: old bytes behind its end were refused once.
            std::fs::write(&path, [&bytes()[..], stale].concat()).unwrap();
            let before = bytes();
            let file = engine.update(&path, WriteOptions::default()).await.unwrap();
            file.put("c", Arc::new(Text("c".into()))).await.unwrap();
            file.abandon().await;
            assert_eq!(keys(&bytes()), keys(&before));
            let file = engine.update(&path, WriteOptions::default()).await.unwrap();
            file.put("c", Arc::new(Text("c".into()))).await.unwrap();
            file.finish().await.unwrap();
            // The class of these texts has no streamer info here, which is merely unusual.
            let findings = rootfile::write::check::check(&bytes().into());
            let broken = |one: &&Finding| one.severity == Severity::Broken;
            assert_eq!(findings.iter().find(broken), None);
        }
        assert_eq!(keys(&bytes()), ["/a;1", "/d;1", "/c;2", "/c;1", "d/b;1"]);
    });
}
