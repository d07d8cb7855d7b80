//! Reading on behind damaged parts: exactly the steps that hold it are left out and reported.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use engine::{
    ColumnRequest, ColumnSpec, Engine, Error, ErrorKind, OnError, RNTuple, ScanBatch, ScanRequest,
    Skipped, Step, TableLocation, Tree,
};
use farroot_sim::{engine_beside, numbered};
use mutex::Mutex;

const TREE: &[u8] = include_bytes!("../testdata/small_nano.root");
const NTUPLE: &[u8] = include_bytes!("../testdata/small_ntuple.root");
const STEP: u64 = 500;

/// The file with the basket or page of the `nth` part of a column spoilt, and the entries
/// concerned.
async fn spoilt(content: &'static [u8], column: &str, nth: usize) -> (Bytes, Range<u64>) {
    let engine = engine_beside(&[Bytes::from_static(content)]);
    let table = engine.open_table(&numbered(0), None).await.expect("opens");
    let patterns = [column.to_owned()];
    let kinds = (table.downcast_ref::<Tree>(), table.downcast_ref::<RNTuple>());
    let (at, entries) = match kinds {
        (Some(tree), _) => {
            let columns = tree.columns(&patterns).expect("is there");
            let plan = tree.plan(&columns, 0..u64::MAX, Step::Whole).expect("plans");
            // The length of its record: baskets without compression have no checksum.
            let piece = plan.items[nth].pieces.first().expect("in the file");
            (piece.range.start, plan.items[nth].entries.clone())
        }
        (_, Some(ntuple)) => {
            let columns = ntuple.columns(&patterns).expect("is there");
            let plan = ntuple.plan(&columns, 0..u64::MAX, Step::Whole).await.expect("plans");
            let mut pages = Vec::new();
            for item in &plan.items {
                pages.extend(item.pieces.iter().map(|piece| (&piece.range, &item.entries)));
            }
            pages.sort_by_key(|(range, _)| range.start);
            let (range, entries) = pages[nth];
            ((range.start + range.end) / 2, entries.clone())
        }
        _ => panic!("is one file"),
    };
    let mut bytes = content.to_vec();
    let at = usize::try_from(at).expect("small");
    bytes[at..at + 4].iter_mut().for_each(|byte| *byte ^= 0x5a);
    (bytes.into(), entries)
}

async fn read(
    engine: &Engine,
    files: usize,
    column: &str,
    report: bool,
) -> (Vec<Result<ScanBatch, Error>>, Vec<Skipped>) {
    let skipped: Arc<Mutex<Vec<Skipped>>> = Arc::default();
    let reported = skipped.clone();
    let on_error = match report {
        true => OnError::Report(Arc::new(move |one| reported.lock().push(one))),
        false => OnError::Raise,
    };
    let place =
        |file| TableLocation { url: numbered(file), path: None, ..TableLocation::default() };
    let scan = ScanRequest {
        wanted: ColumnSpec::Named(vec![column.to_owned()]),
        entries: 0..u64::MAX,
        step: Step::Entries(STEP),
        cut: None,
        on_error,
    };
    let mut parts = engine.scan((0..files).map(place), scan);
    let mut all = Vec::new();
    while let Some(part) = parts.next().await {
        all.push(part);
    }
    let skipped = skipped.lock().clone();
    (all, skipped)
}

/// The entries that are handed out and those that are reported are together all entries of the
/// file, and the step that is left out is the one with the damage.
fn leaves_out_the_damage(content: &'static [u8], column: &'static str, nth: usize) {
    farroot_sim::run(async move {
        let (bytes, bad) = spoilt(content, column, nth).await;
        let engine = engine_beside(&[bytes, Bytes::from_static(content)]);
        let (parts, skipped) = read(&engine, 2, column, true).await;
        assert!(!skipped.is_empty() && skipped.iter().all(|one| one.file == 0), "{skipped:?}");
        let mut covered: Vec<Range<u64>> = Vec::new();
        for one in &skipped {
            let entries = one.entries.clone().expect("known");
            assert!(entries.start < bad.end && bad.start < entries.end, "{entries:?} of {bad:?}");
            assert_eq!(one.error.kind(), ErrorKind::Corrupt, "{}", one.error);
            assert_eq!((&*one.url, one.path.is_some()), (&*numbered(0), true));
            covered.push(entries);
        }
        let mut whole = 0;
        let mut values = 0;
        for part in parts {
            let part = part.expect("goes on");
            let entries = part.batch.entries.clone();
            values += part.batch.columns[0].1.len() as u64;
            match part.file {
                0 => covered.push(entries),
                _ => whole += entries.end - entries.start,
            }
        }
        covered.sort_by_key(|entries| entries.start);
        assert_eq!(covered[0].start, 0);
        assert!(covered.windows(2).all(|pair| pair[0].end == pair[1].start), "{covered:?}");
        assert_eq!(covered.last().expect("entries").end, whole, "as many as the good file has");
        let left_out: u64 =
            skipped.iter().filter_map(|one| one.entries.as_ref()).map(|e| e.end - e.start).sum();
        assert_eq!(values, 2 * whole - left_out);
        let (parts, skipped) = read(&engine, 2, column, false).await;
        assert!(parts.last().expect("something").is_err() && skipped.is_empty(), "by default");
    });
}

#[test]
fn a_damaged_basket_costs_its_steps() {
    leaves_out_the_damage(TREE, "flat_0", 2);
}

#[test]
fn a_damaged_page_costs_its_steps() {
    leaves_out_the_damage(NTUPLE, "flat_0", 2);
}

#[test]
fn what_is_no_file_is_left_out_as_a_whole() {
    farroot_sim::run(async {
        let files = [Bytes::from_static(b"not a file of ROOT's"), Bytes::from_static(TREE)];
        let engine = engine_beside(&files);
        // The third is not there at all.
        let (parts, skipped) = read(&engine, 3, "flat_0", true).await;
        let entries: u64 = parts.into_iter().map(|part| part.expect("reads").batch.len()).sum();
        assert_eq!(entries, 6_000);
        let reported: Vec<_> = skipped.iter().map(|one| (one.file, one.entries.clone())).collect();
        assert_eq!(reported, [(0, None), (2, None)]);
        assert_eq!(skipped[1].error.kind(), ErrorKind::NotFound);
    });
}

#[test]
fn a_mistake_of_the_callers_is_never_left_out() {
    farroot_sim::run(async {
        let engine = engine_beside(&[Bytes::from_static(TREE)]);
        let scan = ScanRequest {
            wanted: ColumnSpec::Requested(vec![ColumnRequest {
                name: "flat_0".into(),
                optional: false,
                as_bytes: false,
                counts: false,
                keep: Some(Vec::new()),
            }]),
            entries: 0..u64::MAX,
            step: Step::Whole,
            cut: None,
            on_error: OnError::Report(Arc::new(|skipped| panic!("{skipped:?}"))),
        };
        let place = TableLocation { url: numbered(0), path: None, ..TableLocation::default() };
        let part = engine.scan(vec![place], scan).next().await.expect("an answer");
        assert_eq!(part.unwrap_err().kind(), ErrorKind::InvalidArgument);
    });
}
