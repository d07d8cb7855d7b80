//! The crate as a program uses that depends on it: the names, tables read at once and in steps by
//! any executor, and the examples.

use std::collections::BTreeSet;
use std::ops::RangeBounds;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use farroot::{
    Array, Batch, ColumnSpec, Cut, Engine, EntryType, ErrorKind, Number, Numbers, RNTupleOptions,
    ScanRequest, Step, Table, TableColumn, TableLocation, TreeOptions, WriteOptions, datashape,
    writable,
};
use futures::{StreamExt, TryStreamExt};

#[path = "../examples/copy.rs"]
#[allow(dead_code)]
mod copy;
#[path = "../examples/json.rs"]
#[allow(dead_code)]
mod json;
#[path = "../examples/read.rs"]
#[allow(dead_code)]
mod read;
#[path = "../examples/scan.rs"]
#[allow(dead_code)]
mod scan;
#[path = "../examples/write.rs"]
#[allow(dead_code)]
mod write;

/// 100 entries, of which `number` counts from 0.
const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../rootfile/testdata/clustered.root");

/// A change of this list is a change of the public interface: it has its line in CHANGELOG.md.
const NAMES: [&str; 75] = [
    "Array",
    "ArrayParameter",
    "ArrowReader",
    "Batch",
    "Chain",
    "ClusterSize",
    "ColumnSpec",
    "Columns",
    "Compression",
    "CompressionAlgorithm",
    "Config",
    "Content",
    "Contents",
    "Copied",
    "CopyOptions",
    "Cut",
    "Definition",
    "Engine",
    "EntryType",
    "Error",
    "ErrorKind",
    "Expressions",
    "File",
    "FileOutput",
    "Formula",
    "Friend",
    "FriendLocation",
    "Jagged",
    "KeyInfo",
    "ListRef",
    "Lists",
    "MergeOptions",
    "MergeProgress",
    "MergeReport",
    "Missing",
    "NameScope",
    "Number",
    "Numbers",
    "Offsets",
    "OnError",
    "Primitive",
    "Progress",
    "RNTuple",
    "RNTupleOptions",
    "Reader",
    "RealStorage",
    "RecordRef",
    "Remote",
    "Report",
    "Result",
    "ScanBatch",
    "ScanBatches",
    "ScanRequest",
    "SkimOptions",
    "SkimReport",
    "Skipped",
    "SkippedColumn",
    "Step",
    "Table",
    "TableColumn",
    "TableLocation",
    "TableOutput",
    "TablePart",
    "TableReport",
    "TextBranch",
    "Tree",
    "TreeOptions",
    "ValueRef",
    "WritableObject",
    "WriteOptions",
    "WriteProgress",
    "WriteReport",
    "datashape",
    "object",
    "writable",
];

fn events() -> String {
    format!("{FILE}:events")
}

/// The names that a crate's root hands on.
fn public_names(root: &str) -> BTreeSet<&str> {
    let mut names = BTreeSet::new();
    for item in root.split("\npub ").skip(1) {
        let (item, _) = item.split_once(';').expect("an item ends");
        let path = item.strip_prefix("use ").expect("the root only hands on");
        let listed = match path.split_once('{') {
            Some((_, listed)) => listed.trim_end_matches('}'),
            None => path.rsplit("::").next().expect("a path has a last part"),
        };
        names.extend(listed.split(',').map(str::trim).filter(|name| !name.is_empty()));
    }
    names
}

#[test]
fn the_public_names_are_these() {
    let root = include_str!("../src/lib.rs");
    assert_eq!(public_names(root), BTreeSet::from(NAMES));
    let more = format!("{root}\npub use engine::{{Plan, Watched}};\n");
    assert_eq!(public_names(&more).len(), NAMES.len() + 2);
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// The least that is an executor, and knows nothing of tokio.
fn wait<F: Future>(future: F) -> F::Output {
    let mut future = std::pin::pin!(future);
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}

fn table(engine: &Engine, address: &str) -> Arc<dyn Table> {
    wait(engine.compat(engine.table(address))).unwrap()
}

fn read(
    engine: &Engine,
    address: &str,
    columns: &[&str],
    entries: impl RangeBounds<u64>,
) -> farroot::Result<Batch> {
    wait(engine.compat(async {
        let table = engine.table(address).await?;
        engine.read(&table, columns, entries).await
    }))
}

#[test]
fn columns_are_read_by_name_on_any_executor() {
    let engine = Engine::new().unwrap();
    let batch = wait(engine.compat(async {
        let file = engine.open(FILE).await?;
        assert!(file.table_paths().await?.contains(&"outer/inner/small".to_owned()));
        let table = engine.table_in(&file, "events").await?;
        assert_eq!((table.path(), table.num_entries()), ("events", 100));
        let columns = table.select(&ColumnSpec::All)?.empty();
        let shapes: Vec<_> = columns.iter().map(|(_, empty)| datashape(empty)).collect();
        assert_eq!(shapes[..2], ["int32", "2 * 3 * float32"]);
        engine.read(&table, ["number", "count*"], 98..).await
    }))
    .unwrap();
    assert_eq!(batch["number"].as_primitive::<i32>(), Some(&[98, 99][..]));
    assert!(batch.get("fixed").is_none());
    let counted = batch["counted"].as_list().unwrap();
    let counts = counted.slices::<f64>().unwrap().map(|items| items.len() as i32);
    assert!(counts.eq(batch["count"].as_primitive::<i32>().unwrap().iter().copied()));
    let error = read(&engine, &events(), &["nubmer"], ..).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotInFile);
    assert!(error.to_string().contains("did you mean number"), "{error}");
}

/// Doubles in a column of numbers of any type.
fn doubles(batch: &Batch, name: &str) -> Vec<f64> {
    batch[name].values().map(|value| value.to_string().parse().unwrap()).collect()
}

/// Checks aliases and formulas of `number`, which counts from `first`.
fn check_computed(batch: &Batch, first: f64) {
    let names: Vec<&str> = batch.columns.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["number", "twice", "number * number", "fixed", "twice + 1"]);
    let numbers = (0..batch.len()).map(|at| first + at as f64);
    let of = |each: fn(f64) -> f64| numbers.clone().map(each).collect::<Vec<f64>>();
    assert_eq!(doubles(batch, "twice"), of(|number| 2.0 * number));
    assert_eq!(doubles(batch, "number * number"), of(|number| number * number));
    assert_eq!(doubles(batch, "twice + 1"), of(|number| 2.0 * number + 1.0));
}

/// Names of branches alone were columns here, where Python takes aliases and formulas, too.
#[test]
fn aliases_and_formulas_are_columns() {
    let engine = Engine::new().unwrap();
    let columns = ["number", "twice", "number * number", "fix*d", "twice + 1"];
    assert_eq!(table(&engine, &events()).aliases()[0].0, "twice");
    check_computed(&read(&engine, &events(), &columns, 90..).unwrap(), 90.0);
    let request = ScanRequest::new().columns(columns).step(Step::Entries(60));
    let mut scan = engine.scan([events(), events()], request);
    let mut firsts: Vec<u64> = Vec::new();
    while let Some(batch) = wait(engine.compat(scan.next())) {
        let batch = batch.unwrap();
        check_computed(&batch.batch, batch.batch.entries.start as f64);
        firsts.push(batch.batch.entries.start);
    }
    assert_eq!(firsts, [0, 60, 0, 60]);
    let wrong = read(&engine, &events(), &["nubmer + 1"], ..).unwrap_err();
    assert_eq!(wrong.kind(), ErrorKind::NotInFile);
}

#[test]
fn a_scan_goes_through_files_in_steps() {
    let engine = Engine::new().unwrap();
    let skipped = Arc::new(Mutex::new(Vec::new()));
    let say = skipped.clone();
    let request = ScanRequest::new()
        .columns(["number"])
        .entries(..=79)
        .step(Step::Entries(40))
        .cut(Cut::parse("number >= 30").unwrap())
        .on_skipped(move |left_out| say.lock().unwrap().push(left_out.file));
    let addresses = [events(), format!("{FILE}.none:events"), events()];
    let mut scan = engine.scan(&addresses, request);
    let mut found = Vec::new();
    while let Some(batch) = wait(engine.compat(scan.next())) {
        let batch = batch.unwrap();
        found.push((batch.file, batch["number"].as_primitive::<i32>().unwrap().to_vec()));
    }
    let all = |file| [(file, (30..40).collect()), (file, (40..80).collect())];
    assert_eq!(found, [all(0), all(2)].concat());
    assert_eq!(*skipped.lock().unwrap(), [1]);
    // Without a callback for skipped files it ends with the error.
    let mut scan = engine.scan(&addresses[1..], ScanRequest::new());
    let error = wait(engine.compat(scan.next())).unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(wait(engine.compat(scan.next())).is_none());
    let opened = TableLocation::opened(&table(&engine, &events()));
    let request = ScanRequest::new().columns(["n*"]).step(Step::Entries(60));
    let batches = engine.scan([opened], request).into_stream();
    let lengths = batches.map(|batch| batch.map(|batch| (batch.len(), batch.columns.len())));
    let lengths = wait(engine.compat(lengths.try_collect::<Vec<_>>()));
    assert_eq!(lengths.unwrap(), [(60, 2), (40, 2)]);
}

#[test]
fn the_examples_do_what_they_say() {
    let lines = read::lines(&events(), &["number".to_owned(), "counted".to_owned()]).unwrap();
    assert_eq!(lines.len(), 10);
    assert_eq!(lines[3], "number: 3, counted: [30, 31, 32]");
    let mean = scan::mean("number < 11", "number", &[events(), events()]).unwrap();
    assert_eq!(mean, (22, 5.0));
    let columns = ["number", "counted"].map(str::to_owned);
    let lines = json::at_once(2..4, &columns, &events()).unwrap();
    assert_eq!(lines[1], r#"{"number": 3, "counted": [30.0, 31.0, 32.0]}"#);
    let both = json::in_steps(1, 0..9, "number > 7", &columns[..1], &[events(), events()]);
    assert_eq!(both.unwrap(), [r#"{"number": 8}"#; 2]);
    let folder = tempfile::tempdir().unwrap();
    let size = std::fs::metadata(FILE).unwrap().len();
    assert_eq!(copy::copy(&[FILE.to_owned()], folder.path()).unwrap(), size);
    assert_eq!(std::fs::metadata(folder.path().join("clustered.root")).unwrap().len(), size);
    let written = folder.path().join("w.root").to_string_lossy().into_owned();
    let report = write::write(&written, 25_000).unwrap();
    assert_eq!((report.entries, report.size), (25_000, std::fs::metadata(&written).unwrap().len()));
    let lines = read::lines(&format!("{written}:Events"), &["Muon_pt".to_owned()]).unwrap();
    assert_eq!(lines[2..4], ["Muon_pt: [20, 21]", "Muon_pt: [30, 31, 32]"]);
}

/// A file that any executor writes, in parts of which the last comes first.
#[test]
fn a_file_is_written_by_any_executor() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f.root").to_string_lossy().into_owned();
    let engine = Engine::new().unwrap();
    let numbers = |range: std::ops::Range<i32>| {
        let numbers = Numbers::I32(range.collect());
        vec![Arc::new(Array::Numbers { numbers, shape: Vec::new() })]
    };
    let columns = || vec![TableColumn::new("number", EntryType::Number(Number::I32))];
    let report = wait(engine.compat(async {
        let file = engine.create(&path, WriteOptions::default().reproducible(true)).await?;
        file.put("d/text", Arc::new(writable::ObjString("hello".into()))).await?;
        let tree = file.make_tree("d/tree", columns(), TreeOptions::default()).await?;
        let ntuple = file.make_ntuple("ntuple", columns(), RNTupleOptions::default()).await?;
        let [first, second] = [tree.part(0)?, tree.part(1)?];
        second.extend(numbers(10..20)).await?;
        second.finish().await?;
        first.extend(numbers(0..10)).await?;
        first.finish().await?;
        ntuple.extend(numbers(0..7)).await?;
        assert_eq!((tree.num_entries(), ntuple.num_entries()), (20, 7));
        file.finish().await
    }));
    assert_eq!(report.unwrap().entries, 27);
    for (table, entries) in [("d/tree", 20), ("ntuple", 7)] {
        let batch = read(&engine, &format!("{path}:{table}"), &["number"], ..);
        let expected: Vec<i32> = (0..entries).collect();
        assert_eq!(batch.unwrap()["number"].as_primitive(), Some(&expected[..]));
    }
    let again = engine.create(&path, WriteOptions::default().overwrite(true));
    let file = wait(engine.compat(again)).unwrap();
    drop(wait(file.make_directory("e")));
    wait(file.abandon());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    assert_eq!(table(&engine, &format!("{path}:ntuple")).num_entries(), 7);
    let file = wait(engine.compat(engine.update(&path, WriteOptions::default()))).unwrap();
    wait(file.put("more", Arc::new(writable::ObjString("here".into())))).unwrap();
    wait(file.finish()).unwrap();
    let keys = wait(engine.compat(async { engine.open(&path).await?.keys(false).await })).unwrap();
    assert!(keys.iter().any(|key| key.path == "more"));
}
