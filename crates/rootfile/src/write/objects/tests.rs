//! Objects as the reader of this crate sees them.

use std::sync::Arc;

use bytes::Bytes;

use super::*;
use crate::array::Numbers;
use crate::key::Key;
use crate::object::{Objects, Value};
use crate::write::file::tests::{opened, options, written};
use crate::write::{DirectoryId, FileWriter, WritableObject};
use crate::{File, Known, Progress};

/// A file of these objects: its bytes, opened, and as known bytes.
fn file_of(objects: &[(&str, Arc<dyn WritableObject>)]) -> (Bytes, File, Known) {
    let mut file = FileWriter::new(options()).unwrap();
    for (name, object) in objects {
        file.put(DirectoryId::TOP, name, object.clone());
    }
    let bytes = written(file);
    let (file, known) = opened(&bytes);
    (bytes, file, known)
}

fn object(file: &File, known: &Known, path: &str) -> Objects {
    match file.object(known, path).unwrap() {
        Progress::Ready(object) => object,
        Progress::NeedsData(needs) => panic!("all is there: {needs:?}"),
    }
}

fn read(name: &str, writable: Arc<dyn WritableObject>) -> Objects {
    let (_, file, known) = file_of(&[(name, writable)]);
    let read = object(&file, &known, name);
    assert!(read.unread_objects().next().is_none());
    read
}

fn axis() -> Axis {
    Axis { title: "x [cm]".into(), ..Axis::variable(vec![0.0, 1.0, 3.0]) }
}

fn numbers(objects: &Objects, member: &str) -> Vec<f64> {
    match objects.root().member(member) {
        Some(Value::Numbers(Numbers::F64(all))) => all.clone(),
        Some(Value::Float(one)) => vec![*one],
        Some(Value::Object(id)) => match objects.get(*id).members().next() {
            Some((_, Value::Numbers(Numbers::F64(all)))) => all.clone(),
            other => panic!("{member}: {other:?}"),
        },
        other => panic!("{member}: {other:?}"),
    }
}

#[test]
fn histograms_of_every_kind() {
    let kinds = [
        (Numbers::I8(vec![1; 4]), "TH1C"),
        (Numbers::I16(vec![1; 4]), "TH1S"),
        (Numbers::I32(vec![1; 4]), "TH1I"),
        (Numbers::F32(vec![1.0; 4]), "TH1F"),
        (Numbers::F64(vec![1.0; 4]), "TH1D"),
        (Numbers::F32(vec![1.0; 20]), "TH2F"),
        (Numbers::F64(vec![1.0; 60]), "TH3D"),
    ];
    for (cells, class) in kinds {
        let axes = [axis(), Axis::regular(3, 0.0, 1.0), Axis::regular(1, 0.0, 1.0)];
        let used = class[2..3].parse().unwrap();
        let histogram = Histogram::new("h", axes[..used].to_vec(), cells.clone());
        let read = read("h", histogram.into_object().unwrap());
        let root = read.root();
        assert_eq!(root.class(), class);
        assert_eq!(root.int("fNcells").unwrap() as usize, cells.len());
        assert_eq!(numbers(&read, "fEntries"), [cells.len() as f64]);
        let in_range = [0, 2, 6, 6][used] as f64;
        assert_eq!(numbers(&read, "fTsumw"), [in_range]);
        let x = root.pointed("fXaxis").unwrap().unwrap();
        assert_eq!((x.string("fTitle").unwrap(), x.int("fNbins").unwrap()), ("x [cm]".into(), 2));
    }
}

#[test]
fn statistics_are_of_the_middles_of_bins() {
    let axes = vec![axis(), Axis::regular(2, 0.0, 4.0)];
    let mut cells = vec![0.0; 16];
    // x from 1 to 3, y from 0 to 2: the cell (2, 1).
    cells[4 + 2] = 3.0;
    let mut histogram = Histogram::new("h", axes, Numbers::F64(cells));
    assert_eq!(statistics::of_cells(&histogram), [3.0, 3.0, 6.0, 12.0, 3.0, 3.0, 6.0]);
    histogram.sum_w2 = vec![0.5; 16];
    assert_eq!(statistics::of_cells(&histogram)[1], 2.0);
    let given = Histogram { statistics: vec![1.0; 7], ..histogram };
    assert_eq!(numbers(&read("h", given.into_object().unwrap()), "fTsumwxy"), [1.0]);
}

#[test]
fn labels_are_strings_with_their_bins() {
    let labels = vec!["low".to_owned(), "high".to_owned()];
    let axis = Axis { labels, ..Axis::regular(2, 0.0, 2.0) };
    let cells = Numbers::F64(vec![0.0; 4]);
    let read = read("h", Histogram::new("h", vec![axis], cells).into_object().unwrap());
    let axis = read.root().pointed("fXaxis").unwrap().unwrap();
    let labels = axis.objects("fLabels").unwrap();
    let labels: Vec<_> = labels
        .into_iter()
        .map(|label| label.unwrap())
        .map(|label| (label.int("fUniqueID").unwrap(), label.string("fString").unwrap()))
        .collect();
    assert_eq!(labels, [(1, "low".into()), (2, "high".into())]);
}

fn profile(axes: Vec<Axis>, cells: usize) -> Histogram {
    let sums = |number: f64| vec![number; cells];
    let profile = Profile { entries: sums(2.0), ..Profile::default() };
    Histogram {
        sum_w2: sums(5.0),
        profile: Some(profile),
        ..Histogram::new("p", axes, Numbers::F64(sums(3.0)))
    }
}

#[test]
fn profiles() {
    let axes = [axis(), Axis::regular(3, 0.0, 1.0), Axis::regular(1, 0.0, 1.0)];
    for (used, cells, class) in [(1, 4, "TProfile"), (2, 20, "TProfile2D"), (3, 60, "TProfile3D")] {
        let read = read("p", profile(axes[..used].to_vec(), cells).into_object().unwrap());
        assert_eq!(read.root().class(), class);
        assert_eq!(numbers(&read, "fBinEntries"), vec![2.0; cells]);
        assert_eq!(numbers(&read, "fSumw2"), vec![5.0; cells]);
        let last = ["", "fTsumwy2", "fTsumwz2", "fTsumwt2"][used];
        assert_eq!(numbers(&read, last), [[0.0, 2.0, 6.0, 6.0][used] * 5.0]);
    }
}

#[test]
fn histograms_whose_parts_do_not_belong_together() {
    let good = || Histogram::new("h", vec![axis()], Numbers::F64(vec![1.0; 4]));
    let with_axis = |axis: Axis| Histogram { axes: vec![axis], ..good() };
    let edges = |edges: &[f64]| Axis { edges: edges.to_vec(), ..Axis::regular(2, 0.0, 3.0) };
    let bad = [
        Histogram { axes: vec![], ..good() },
        Histogram { axes: vec![axis(); 4], ..good() },
        Histogram { cells: Numbers::F64(vec![1.0; 5]), ..good() },
        Histogram { cells: Numbers::U64(vec![1; 4]), ..good() },
        Histogram { sum_w2: vec![1.0], ..good() },
        Histogram { statistics: vec![1.0; 3], ..good() },
        Histogram { profile: Some(Profile::default()), ..good() },
        Histogram { sum_w2: Vec::new(), ..profile(vec![axis()], 4) },
        with_axis(Axis::regular(0, 0.0, 1.0)),
        with_axis(Axis::regular(2, 1.0, 1.0)),
        with_axis(Axis::regular(2, 0.0, f64::NAN)),
        with_axis(Axis::regular(u32::MAX, 0.0, 1.0)),
        with_axis(Axis::regular(1 << 30, 0.0, 1.0)),
        with_axis(edges(&[0.0, 3.0])),
        with_axis(edges(&[0.0, 1.0, 2.0])),
        with_axis(edges(&[0.0, 3.0, 3.0])),
        with_axis(Axis { labels: vec![String::new(); 3], ..axis() }),
    ];
    for bad in bad {
        let case = format!("{bad:?}");
        let error = bad.into_object().err().expect(&case);
        assert!(error.to_string().contains('h') || error.to_string().contains('p'), "{error}");
    }
    assert!(good().into_object().is_ok());
}

#[test]
fn graphs() {
    let good = || Graph::new("g", vec![1.0, 2.0], vec![3.0, -4.0]);
    let pair = |number: f64| vec![number; 2];
    let symmetric = GraphErrors::Symmetric { x: pair(0.1), y: pair(0.2) };
    let asymmetric = GraphErrors::Asymmetric {
        x_low: pair(0.1),
        x_high: pair(0.2),
        y_low: pair(0.3),
        y_high: pair(0.4),
    };
    let kinds = [
        (GraphErrors::None, "TGraph", "fY", vec![3.0, -4.0]),
        (symmetric, "TGraphErrors", "fEY", pair(0.2)),
        (asymmetric, "TGraphAsymmErrors", "fEYhigh", pair(0.4)),
    ];
    for (errors, class, member, expected) in kinds {
        let read = read("g", Graph { errors, ..good() }.into_object().unwrap());
        assert_eq!(read.root().class(), class);
        assert_eq!(numbers(&read, member), expected);
    }
    assert!(Graph { y: vec![1.0], ..good() }.into_object().is_err());
    let errors = GraphErrors::Symmetric { x: vec![], y: vec![] };
    assert!(Graph { errors, ..good() }.into_object().is_err());
}

#[test]
fn strings_numbers_and_collections_of_them() {
    let text = |text: &str| Arc::new(ObjString(text.to_owned())) as Arc<dyn WritableObject>;
    let number = |value| Arc::new(Parameter { name: "n".into(), value }) as Arc<dyn WritableObject>;
    assert_eq!(read("s", text("é")).root().string("fString").unwrap(), "é");
    for (value, class) in [
        (ParameterValue::Bool(true), "TParameter<bool>"),
        (ParameterValue::I32(1), "TParameter<int>"),
        (ParameterValue::I64(1), "TParameter<Long64_t>"),
        (ParameterValue::F32(1.0), "TParameter<float>"),
        (ParameterValue::F64(1.0), "TParameter<double>"),
    ] {
        let read = read("n", number(value));
        assert_eq!((read.root().class(), read.root().int("fVal").unwrap()), (class, 1));
    }
    for kind in [ListKind::List, ListKind::Array] {
        let items = vec![text("a"), number(ParameterValue::I32(2)), text("b")];
        let list = read("l", Arc::new(ObjectList { name: "l".into(), kind, items }));
        let classes: Vec<&str> = list.iter().map(|object| object.class()).collect();
        assert!(classes.contains(&"TParameter<int>"), "{classes:?}");
        assert!(list.iter().any(|object| object.string("fString").is_ok_and(|text| text == "b")));
    }
    let items = vec![(text("key"), number(ParameterValue::I32(2)))];
    let map = read("m", Arc::new(ObjectMap { name: "m".into(), items }));
    assert!(map.iter().any(|object| object.string("fString").is_ok_and(|text| text == "key")));
}

#[test]
fn efficiencies() {
    let counted = |cell: f64| Histogram::new("e", vec![axis()], Numbers::F64(vec![cell; 4]));
    let read = read("e", Efficiency::new("e", counted(1.0), counted(2.0)).into_object().unwrap());
    let total = read.root().pointed("fTotalHistogram").unwrap().unwrap();
    assert_eq!(total.class(), "TH1D");
    assert!(Efficiency::new("e", counted(3.0), counted(2.0)).into_object().is_err());
    let other = Histogram { axes: vec![Axis::regular(2, 0.0, 1.0)], ..counted(1.0) };
    assert!(Efficiency::new("e", other, counted(2.0)).into_object().is_err());
}

/// A list that names its classes once: further names are references, which count from the key.
fn referring() -> Arc<dyn WritableObject> {
    let item = |text: &str| Arc::new(ObjString(text.to_owned())) as Arc<dyn WritableObject>;
    let items = (0..40).map(|number| item(&format!("number {number}"))).collect();
    Arc::new(ObjectList { name: "list".into(), kind: ListKind::List, items })
}

fn raw(bytes: &Bytes, file: &File, path: &str) -> RawObject {
    let key: Key = file.top.keys.iter().find(|key| key.name == path).unwrap().clone();
    let record = bytes.slice(key.offset as usize..(key.offset + key.record_len) as usize);
    RawObject::new(Arc::new(file.clone()), key, record).unwrap()
}

#[test]
fn records_are_copied_as_they_are() {
    let (bytes, file, known) = file_of(&[("list", referring())]);
    let original = object(&file, &known, "list");
    let copy = raw(&bytes, &file, "list");
    for name in ["list", "a longer name", "l"] {
        let mut to = FileWriter::new(options()).unwrap();
        to.infos().copy(file.classes.streamers.infos_of_file(), "a.root").unwrap();
        to.put(DirectoryId::TOP, name, Arc::new(copy.clone()));
        let bytes = written(to);
        let (file, known) = opened(&bytes);
        let copied = object(&file, &known, name);
        assert!(copied.iter().map(values).eq(original.iter().map(values)), "{name}");
        let old = &copy.stored(0);
        let new = &raw(&bytes, &file, name);
        assert!(old.is_ok() && new.stored(0).is_ok());
    }
    let same = raw(&bytes, &file, "list");
    let stored = copy.stored(file.top.keys[0].key_len as usize).unwrap();
    assert_eq!(stored, same.stored(file.top.keys[0].key_len as usize).unwrap());
    assert!(stored.unwrap().payload.len() < 400, "compressed");
}

/// An object's members, without those of objects that it refers to.
fn values(object: crate::object::ObjectRef<'_>) -> Vec<(String, Value)> {
    object.members().map(|(name, value)| (name.to_owned(), value.clone())).collect()
}
