//! RNTuples that are written here, as the reader of this crate sees them.

use std::sync::Arc;

use bytes::Bytes;
use farroot_rootfile::array::Number;
use farroot_rootfile::write::{
    Compression, EntryType, RNTupleOptions, RNTupleWriter, RealStorage, TableColumn, check,
};
use farroot_rootfile::{Array, File, Known, Numbers};

use crate::support::feed;
use crate::support::ntuple::{Opened, shown};
use crate::support::seeded::{Seeded, divided};
use crate::support::write::Writing;

/// An RNTuple of those entries, which come in those parts.
fn written(
    columns: &[TableColumn],
    options: &RNTupleOptions,
    parts: Vec<Vec<Arc<Array>>>,
    order: u64,
) -> Vec<u8> {
    let writer = RNTupleWriter::new(columns.to_vec(), options.clone()).unwrap();
    let mut writing = Writing::new("events", Box::new(writer), order);
    parts.into_iter().for_each(|part| writing.extend(part));
    writing.finish()
}

/// Opens a file in which nothing is wrong.
fn opened(bytes: Vec<u8>) -> Opened {
    let bytes = Bytes::from(bytes);
    assert_eq!(check::check(&bytes), []);
    let mut known = Known::new(Some(bytes.len() as u64));
    let file = feed::until_ready(&bytes, &mut known, File::open).unwrap();
    let ntuple = feed::until_ready(&bytes, &mut known, |known| file.ntuple(known, "events"));
    Opened::of(&bytes, known, ntuple.unwrap(), file.classes).unwrap()
}

fn entries(array: &Array) -> Vec<String> {
    (0..array.len()).map(|row| shown(array, row)).collect()
}

/// That each column is read as it was written.
fn assert_holds(opened: &Opened, columns: &[TableColumn], arrays: &[Arc<Array>], case: &str) {
    for (column, array) in columns.iter().zip(arrays) {
        let read = opened.field(&column.name).unwrap_or_else(|error| panic!("{case}: {error}"));
        let read = entries(&read);
        let wanted = entries(array);
        let place = read.iter().zip(&wanted).position(|(read, wanted)| read != wanted);
        let at = place.map(|at| (at, &read[at], &wanted[at]));
        assert!(at.is_none() && read.len() == wanted.len(), "{case}: {column:?} {at:?}");
    }
}

fn column(name: &str, entry: EntryType) -> TableColumn {
    TableColumn { name: name.into(), title: String::new(), entry }
}

fn options(seed: u64) -> RNTupleOptions {
    RNTupleOptions {
        compression: Compression::of_number([0, 505, 101, 404, 207][seed as usize % 5]).unwrap(),
        cluster_bytes: [64 << 20, 3000, 1, 500][seed as usize % 4],
        page_bytes: [1 << 20, 100, 8, 1000][seed as usize / 4 % 4],
        checksums: !seed.is_multiple_of(7),
        max_key_size: [1 << 30, 4000, 1200][seed as usize % 3],
        counter_name: seed.is_multiple_of(2).then(|| "n{name}".into()),
        ..RNTupleOptions::default()
    }
}

#[test]
fn made_up_types_and_entries() {
    for seed in 0..60 {
        let mut seeded = Seeded::new(seed);
        let columns = seeded.columns();
        let options = options(seed);
        let count = [0, 1, 300][seeded.below(3) as usize];
        let arrays = seeded.arrays(&columns, count);
        let once = written(&columns, &options, vec![arrays.clone()], 0);
        let step = [1, 10, 100][seed as usize % 3];
        let parts = divided(&arrays, |seeded| 1 + seeded.below(step) as usize, seed);
        let again = written(&columns, &options, parts, seed * 2 + 1);
        assert!(once == again, "seed {seed}: other bytes when divided and shuffled");
        let opened = opened(once);
        assert_eq!(opened.ntuple.entries, count as u64);
        assert_holds(&opened, &columns, &arrays, &format!("seed {seed}"));
    }
}

#[test]
fn reals_with_fewer_bits() {
    let reals: Vec<f64> = (0..1000).map(|n| f64::from(n) / 256.0 - 1.5).collect();
    let numbers = [
        Numbers::F32(reals.iter().map(|real| *real as f32).collect()),
        Numbers::F64(reals.clone()),
    ];
    let storages = [
        (RealStorage::Single, 0.0),
        (RealStorage::Half, 0.001),
        (RealStorage::Truncated { bits: 20 }, 0.001),
        (RealStorage::Truncated { bits: 31 }, 1e-6),
        (RealStorage::Quantised { bits: 12, min: -2.0, max: 3.0 }, 0.0007),
        (RealStorage::Quantised { bits: 32, min: -2.0, max: 3.0 }, 1e-6),
    ];
    for (number, seed) in numbers.iter().zip(0..) {
        for (storage, most) in storages {
            let array = Array::Numbers { numbers: number.clone(), shape: vec![] };
            let columns = [column("x", EntryType::of(&array).unwrap())];
            let reals_as = vec![("x".to_owned(), storage)];
            let options = RNTupleOptions { page_bytes: 999, reals: reals_as, ..options(seed) };
            let bytes = written(&columns, &options, vec![vec![Arc::new(array)]], 0);
            let read = opened(bytes).field("x").unwrap();
            // Steps of doubles are doubles, as ROOT computes them.
            let is_double =
                matches!((number, storage), (Numbers::F64(_), RealStorage::Quantised { .. }));
            let read: Vec<f64> = match (read.as_primitive::<f32>(), read.as_primitive::<f64>()) {
                (Some(read), _) if !is_double => read.iter().map(|real| f64::from(*real)).collect(),
                (_, Some(read)) if is_double => read.to_vec(),
                _ => panic!("{storage:?}: {read:?}"),
            };
            let off = reals.iter().zip(&read).map(|(real, read)| (real - read).abs());
            let off = off.fold(0.0, f64::max);
            assert!(off <= most && read.len() == 1000, "{storage:?}: {off}");
        }
    }
}

/// Only the number of a list's items, as NanoAOD has it; a column of that name stays.
#[test]
fn counters_show_how_long_lists_are() {
    let content =
        || Box::new(Array::Numbers { numbers: Numbers::F32(vec![0.5; 4]), shape: vec![] });
    let list = || Array::List { offsets: vec![0, 3, 3, 4].into(), content: content() };
    let number = Array::Numbers { numbers: Numbers::U8(vec![1, 2, 3]), shape: vec![] };
    let arrays = [list(), list(), number].map(Arc::new);
    let columns = ["Muon", "Jet", "nJet"].iter().zip(&arrays);
    let columns: Vec<_> =
        columns.map(|(name, array)| column(name, EntryType::of(array).unwrap())).collect();
    let counter_name = Some("n{name}".to_owned());
    let options = RNTupleOptions { counter_name, ..RNTupleOptions::default() };
    let opened = opened(written(&columns, &options, vec![arrays.to_vec()], 0));
    assert_eq!(entries(&opened.field("nMuon").unwrap()), ["3", "0", "1"]);
    assert_eq!(entries(&opened.field("nJet").unwrap()), ["1", "2", "3"]);
    assert_eq!(opened.names.all().len(), 4);
}

/// Columns of equal pages, as lists of the same lengths have, take no more than one.
#[test]
fn equal_pages_are_stored_once() {
    let mut seeded = Seeded::new(1);
    let list = seeded.array(&EntryType::List(Box::new(EntryType::Number(Number::U64))), 10_000);
    let size = |copies: usize| {
        let names: Vec<String> = (0..copies).map(|at| format!("x{at}")).collect();
        let entry = EntryType::of(&list).unwrap();
        let columns: Vec<_> = names.iter().map(|name| column(name, entry.clone())).collect();
        let list = Arc::new(list.clone());
        let arrays: Vec<_> = (0..copies).map(|_| list.clone()).collect();
        let bytes = written(&columns, &RNTupleOptions::default(), vec![arrays.clone()], 0);
        let len = bytes.len();
        assert_holds(&opened(bytes), &columns, &arrays, "copies");
        len
    };
    let one = size(1);
    let ten = size(10);
    assert!(ten < one + 1000, "{one} bytes, ten times {ten}");
}

/// Each entry alone: the same bytes as all at once, and little more work.
#[test]
fn entries_one_by_one() {
    let mut seeded = Seeded::new(5);
    let columns = [
        column("x", EntryType::Number(Number::F64)),
        column("v", EntryType::List(Box::new(EntryType::Number(Number::I32)))),
    ];
    let options = RNTupleOptions { cluster_bytes: 100_000, ..RNTupleOptions::default() };
    let arrays = seeded.arrays(&columns, 100_000);
    let once = written(&columns, &options, vec![arrays.clone()], 0);
    let parts = divided(&arrays, |_| 1, 0);
    assert_eq!(parts.len(), 100_000);
    assert!(once == written(&columns, &options, parts, 0));
    assert!(opened(once).clusters.len() > 5);
}

#[test]
fn an_entry_that_cannot_be_stored_is_an_error() {
    let array = Array::Numbers { numbers: Numbers::F32(vec![2.0]), shape: vec![] };
    let reals = vec![("x".to_owned(), RealStorage::Quantised { bits: 8, min: 0.0, max: 1.0 })];
    let options = RNTupleOptions { reals, ..RNTupleOptions::default() };
    let columns = vec![column("x", EntryType::Number(Number::F32))];
    let mut writer = RNTupleWriter::new(columns, options).unwrap();
    use farroot_rootfile::write::{Encoders, TableWriter};
    writer.extend(vec![Arc::new(array)]).unwrap();
    assert!(writer.extend(vec![]).is_err());
    writer.close();
    let work = writer.poll_work().expect("an entry is there");
    let error = work.encode.encode(&mut Encoders::default()).unwrap_err();
    assert!(error.to_string().contains("2 in a column of reals from 0 to 1"), "{error}");
}
