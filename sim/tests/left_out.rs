//! Columns that the caller has not named, and of which only the data show that they cannot be read.

use bytes::Bytes;
use engine::{
    Batch, ColumnSpec, Cut, Engine, Error, ErrorKind, OnError, ScanRequest, Step, TableLocation,
};
use farroot_sim::{engine_beside, numbered};

const FILE: &[u8] = include_bytes!("../testdata/small_nano.root");
const COLUMN: &str = "Muon_pt";
const STEP: u64 = 500;

fn be(bytes: &[u8], at: usize, len: usize) -> usize {
    bytes[at..at + len].iter().fold(0, |number, byte| number << 8 | usize::from(*byte))
}

/// The file with a basket of the column with I/O features that no reader has: the last
/// basket, or the first one.
async fn with_unknown_features(column: &str, last: bool) -> Bytes {
    let engine = engine_beside(&[Bytes::from_static(FILE)]);
    let tree = engine.open_tree(&numbered(0), None).await.expect("opens");
    let columns = tree.columns(&[column.to_owned()]).expect("is there");
    let plan = tree.plan(&columns, 0..u64::MAX, Step::Whole).expect("plans");
    assert!(plan.items.len() > 1 && plan.items.last().expect("items").entries.start >= STEP);
    let item = if last { plan.items.last() } else { plan.items.first() };
    let key = item.and_then(|item| item.pieces.first()).expect("in the file").range.start as usize;
    let mut bytes = FILE.to_vec();
    let large = be(&bytes, key + 4, 2) > 1000;
    let mut at = key + if large { 34 } else { 26 };
    for _name in ["class", "branch", "tree"] {
        at += 1 + usize::from(bytes[at]);
    }
    // `fNevBufSize`, behind the version and `fBufferSize`: below zero, features follow.
    bytes[at + 6] |= 0x80;
    bytes.into()
}

async fn read(
    engine: &Engine,
    files: usize,
    wanted: &str,
    cut: Option<&str>,
) -> Result<Vec<Batch>, Error> {
    let place = |file| TableLocation { url: numbered(file), ..TableLocation::default() };
    let scan = ScanRequest {
        wanted: ColumnSpec::Named(vec![wanted.to_owned()]),
        entries: 0..u64::MAX,
        step: Step::Entries(STEP),
        cut: cut.map(|text| Cut::parse(text).expect("a cut")),
        on_error: OnError::Raise,
    };
    let mut parts = engine.scan((0..files).map(place), scan);
    let mut batches = Vec::new();
    while let Some(part) = parts.next().await {
        batches.push(part?.batch);
    }
    Ok(batches)
}

fn lacks_the_column(batches: &[Batch]) {
    assert!(batches.len() > 1);
    for batch in batches {
        assert!(!batch.columns.is_empty());
        assert!(batch.columns.iter().all(|(name, _)| name != COLUMN), "{:?}", batch.entries);
        let names: Vec<&str> = batch.left_out.iter().map(|column| &*column.column).collect();
        assert_eq!(names, [COLUMN]);
        assert_eq!(batch.left_out[0].error.kind(), ErrorKind::Unsupported);
    }
}

#[test]
fn what_a_glob_matches_is_left_out_of_the_whole_read() {
    farroot_sim::run(async {
        let engine = engine_beside(&[with_unknown_features(COLUMN, false).await]);
        let batches = read(&engine, 1, "Muon_*", None).await.expect("reads");
        lacks_the_column(&batches);
        // A cut decides about the same columns, in windows of its own.
        let batches = read(&engine, 1, "Muon_*", Some("nMuon >= 0")).await.expect("reads");
        lacks_the_column(&batches);
    });
}

#[test]
fn other_columns_are_as_without_it() {
    farroot_sim::run(async {
        let engine =
            engine_beside(&[with_unknown_features(COLUMN, false).await, Bytes::from_static(FILE)]);
        let bad = engine.open_tree(&numbered(0), None).await.expect("opens");
        let good = engine.open_tree(&numbered(1), None).await.expect("opens");
        let whole = bad.read(bad.all_columns(), 0..u64::MAX).await.expect("reads");
        let mut others = good.all_columns();
        let position = others.iter().position(|column| column.name == COLUMN).expect("is there");
        assert_eq!(whole.left_out[0].position, position);
        others.remove(position);
        let expected = good.read(others, 0..u64::MAX).await.expect("reads");
        assert_eq!(whole.columns, expected.columns);
    });
}

#[test]
fn what_is_named_is_an_error() {
    farroot_sim::run(async {
        for (wanted, cut) in [(COLUMN, None), ("*", Some("flat_3 > 3"))] {
            let column = if cut.is_some() { "flat_3" } else { COLUMN };
            let engine = engine_beside(&[with_unknown_features(column, false).await]);
            let error = read(&engine, 1, wanted, cut).await.expect_err("is named");
            assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
            assert!(error.message().contains(column), "{error}");
        }
    });
}

#[test]
fn a_column_that_was_handed_out_is_not_taken_back() {
    farroot_sim::run(async {
        let later = with_unknown_features(COLUMN, true).await;
        let first = with_unknown_features(COLUMN, false).await;
        let good = Bytes::from_static(FILE);
        for files in [&[later][..], &[good, first]] {
            let engine = engine_beside(files);
            let error = read(&engine, files.len(), "*", None).await.expect_err("changes");
            assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
            let text = error.to_string();
            assert!(text.contains(COLUMN) && text.contains("without it"), "{text}");
        }
    });
}

#[test]
fn the_first_file_decides_for_all() {
    farroot_sim::run(async {
        let files = [with_unknown_features(COLUMN, false).await, Bytes::from_static(FILE)];
        let batches = read(&engine_beside(&files), 2, "Muon_*", None).await.expect("reads");
        lacks_the_column(&batches);
    });
}
