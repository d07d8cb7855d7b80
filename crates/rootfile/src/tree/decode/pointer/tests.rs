//! Pointers as ROOT 6.40 writes them, decoded whole, cut short and changed.

use std::sync::Arc;

use proptest::prelude::*;

use super::super::bytes::Bytes;
use super::super::value;
use crate::array::{Array, ArrayParameter, Number, Numbers};
use crate::error::{Error, ErrorKind};
use crate::tree::interpret::layout::{
    Classes, Frame, Layout, List, NamedClass, Part, Pointer, Record, Version,
};

/// An object behind its byte count and version.
fn object(version: u8, members: &[u8]) -> Vec<u8> {
    let count = 0x4000_0000 | (members.len() as u32 + 2);
    [&count.to_be_bytes(), &[0, version][..], members].concat()
}

/// A pointer to an object whose class is named here.
fn new(class: &str, object: &[u8]) -> Vec<u8> {
    let count = 0x4000_0000 | (class.len() as u32 + 5 + object.len() as u32);
    [&count.to_be_bytes(), &[0xff; 4], class.as_bytes(), &[0][..], object].concat()
}

/// A reference to the object at a byte of the entry.
fn reference(at: usize) -> Vec<u8> {
    (at as u32 + 2).to_be_bytes().to_vec()
}

fn class(name: &str, version: i32, parts: Vec<(&str, Layout)>) -> Record {
    let members = parts.into_iter().map(|(name, layout)| (name.to_owned(), layout)).collect();
    let mut record = Record::of_members(Some(name.into()), members);
    let parts = record.versions[0].parts.clone();
    record.versions[0] = Version::new(version, 0, parts);
    record
}

/// `P { short x; }` of version 1.
fn point() -> Arc<Record> {
    Arc::new(class("P", 1, vec![("x", Layout::number(Number::I16))]))
}

/// `Q : P` of version 2, of which only the members of `P` are read.
fn heir(of: &Arc<Record>) -> Arc<Record> {
    let base = Part::Base { at: Some(0), version: 1, record: of.clone(), is_object: false };
    let versions = vec![Version::new(2, 0, vec![base, Part::Rest])];
    Arc::new(Record { class: Some("Q".into()), versions, ..(**of).clone() })
}

fn to_points() -> Layout {
    let point = point();
    let classes = vec![("P".into(), point.clone()), ("Q".into(), heir(&point))];
    Layout::Pointer(Arc::new(Pointer { classes }))
}

/// A record without a header.
fn bare(members: Vec<(&str, Layout)>) -> Layout {
    Layout::Record { header: false, record: Arc::new(class("Event", 1, members)) }
}

fn read(layout: &Layout, data: &[u8], classes: Option<&Classes>) -> Result<Array, Error> {
    let mut column = layout.empty();
    let mut bytes = Bytes::new(data, 0).naming(classes);
    value::append(layout, &mut bytes, &mut column)?;
    if bytes.is_empty() { Ok(column) } else { Err(Error::corrupt("a tail")) }
}

fn fields(column: Array) -> Vec<Array> {
    let Array::Record { fields, .. } = column else { panic!("no record") };
    fields.into_iter().map(|(_, field)| field).collect()
}

fn points(index: &[i64], x: &[i16]) -> Array {
    let numbers = Array::Numbers { numbers: Numbers::I16(x.to_vec()), shape: Vec::new() };
    let fields = vec![("x".to_owned(), numbers)];
    let content = Array::Record { class: Some("P".into()), entries: x.len(), fields };
    Array::Option { index: index.to_vec(), content: Box::new(content) }
}

/// Two members that point to one object, one that points to nothing, and a vector of pointers to
/// the same object, twice, and to another one, whose class has been named before.
fn shared() -> (Layout, Vec<u8>) {
    let item = Box::new(to_points());
    let vector = Layout::List(List { frame: Frame::None, parameter: None, item });
    let members = vec![("a", to_points()), ("b", to_points()), ("c", to_points()), ("d", vector)];
    let again = [&[0x40, 0, 0, 12, 0x80, 0, 0, 6][..], &object(1, &[0, 8])].concat();
    let bytes = [
        new("P", &object(1, &[0, 7])),
        reference(0),
        vec![0; 4],
        vec![0, 0, 0, 3],
        reference(0),
        again,
        reference(0),
    ];
    (bare(members), bytes.concat())
}

#[test]
fn objects_are_read_in_each_column_that_points_to_them() {
    let (layout, bytes) = shared();
    let got = fields(read(&layout, &bytes, None).unwrap());
    assert_eq!(got[0], points(&[0], &[7]));
    assert_eq!(got[1], points(&[0], &[7]));
    assert_eq!(got[2], points(&[-1], &[]));
    let Array::List { offsets, content } = &got[3] else { panic!("no list") };
    assert_eq!((&offsets[..], &**content), (&[0, 3][..], &points(&[0, 1, 0], &[7, 8])));
}

/// Members of one class share the layout of their pointers: one of them once took positions in the
/// column of the other for its own.
#[test]
fn columns_of_one_class_keep_their_objects_apart() {
    let holder = Arc::new(class("H", 1, vec![("p", to_points())]));
    let held = || Layout::Record { header: false, record: holder.clone() };
    let layout = bare(vec![("one", held()), ("other", held())]);
    let first = new("P", &object(1, &[0, 7]));
    let bytes = [first.clone(), reference(0)].concat();
    let got = fields(read(&layout, &bytes, None).unwrap());
    for each in got {
        assert_eq!(fields(each), [points(&[0], &[7])]);
    }
}

#[test]
fn an_object_may_be_first_in_what_is_skipped() {
    let layout = bare(vec![("a", to_points()), ("b", to_points())]);
    let hidden = new("P", &object(1, &[0, 9]));
    let derived = object(2, &[object(1, &[0, 7]), hidden.clone()].concat());
    let first = new("Q", &derived);
    let at = first.len() - hidden.len();
    let got = fields(read(&layout, &[first.clone(), reference(at)].concat(), None).unwrap());
    assert_eq!(got, [points(&[0], &[7]), points(&[0], &[9])]);
    // The object may be in a member that is left out, too.
    let record = class("Event", 1, vec![("b", to_points())]);
    for left_out in [Part::Pointers(1), Part::Member { at: None, layout: to_points() }] {
        let mut record = record.clone();
        let parts = [&[left_out], &record.versions[0].parts[..]].concat();
        record.versions[0] = Version::new(1, 0, parts);
        let layout = Layout::Record { header: false, record: Arc::new(record) };
        let got = fields(read(&layout, &[first.clone(), reference(0)].concat(), None).unwrap());
        assert_eq!(got, [points(&[0], &[7])]);
    }
    // A collection that is left out has its length in front.
    let mut record = record;
    let parts = [&[Part::Framed], &record.versions[0].parts[..]].concat();
    record.versions[0] = Version::new(1, 0, parts);
    let layout = Layout::Record { header: false, record: Arc::new(record) };
    let framed = object(9, &[&[0, 0, 0, 1], &hidden[..]].concat());
    let got = fields(read(&layout, &[framed, reference(10)].concat(), None).unwrap());
    assert_eq!(got, [points(&[0], &[9])]);
    assert!(read(&layout, &[&[0, 9][..], &reference(10)].concat(), None).is_err());
}

#[test]
fn references_to_nothing_are_refused() {
    let layout = bare(vec![("a", to_points()), ("b", to_points())]);
    let first = new("P", &object(1, &[0, 7]));
    for at in [1, 4, 7, first.len(), first.len() + 4, 1 << 20] {
        let bytes = [first.clone(), reference(at)].concat();
        assert!(read(&layout, &bytes, None).is_err(), "{at}");
    }
    let unknown = new("R", &object(1, &[0, 7]));
    let error = read(&layout, &[unknown, vec![0; 4]].concat(), None).unwrap_err();
    assert!(error.to_string().contains("class R"), "{error}");
}

#[test]
fn every_truncation_and_every_tail_is_an_error() {
    let (layout, bytes) = shared();
    for len in 0..bytes.len() {
        assert!(read(&layout, &bytes[..len], None).is_err(), "{len}");
    }
    assert!(read(&layout, &[&bytes[..], &[0]].concat(), None).is_err());
}

proptest! {
    #[test]
    fn any_change_gives_a_whole_column_or_an_error(
        at in any::<prop::sample::Index>(),
        value in any::<u8>(),
    ) {
        let (layout, mut bytes) = shared();
        let at = at.index(bytes.len());
        bytes[at] = value;
        if let Ok(column) = read(&layout, &bytes, None) {
            prop_assert_eq!(column.len(), 1);
            prop_assert!(fields(column).iter().all(|field| field.len() == 1));
        }
    }
}

/// Each of many objects is within the one before, so that all of them are far more than there is.
#[test]
fn what_pointers_lead_to_is_not_read_without_end() {
    let bytes = Layout::list_of(Layout::number(Number::U8));
    let record = Arc::new(class("B", 1, vec![("bytes", bytes)]));
    let pointer = Layout::Pointer(Arc::new(Pointer { classes: vec![("B".into(), record)] }));
    let item = Box::new(pointer.clone());
    let all = Layout::List(List { frame: Frame::None, parameter: None, item });
    let layout = bare(vec![("first", pointer), ("all", all)]);
    let entry = |depth: usize| {
        let mut nested = Vec::new();
        for _ in 0..depth {
            let list = [&(nested.len() as u32).to_be_bytes(), &nested[..]].concat();
            nested = new("B", &object(1, &list));
        }
        let each = new("B", &object(1, &[0; 4])).len();
        let refer = (0..depth).flat_map(|number| reference(number * each)).collect();
        [nested, (depth as u32).to_be_bytes().to_vec(), refer].concat()
    };
    assert!(read(&layout, &entry(20), None).is_ok());
    let error = read(&layout, &entry(2000), None).unwrap_err();
    assert!(matches!(error.kind, ErrorKind::Limit(_)), "{error}");
}

/// `Ring { short x; TObject *next; }`, which data may name.
fn rings() -> Classes {
    let record = class("Ring", 1, vec![("x", Layout::number(Number::I16)), ("next", Layout::Any)]);
    let layout = Layout::Record { header: true, record: Arc::new(record) };
    Classes(
        [("Ring".to_owned(), NamedClass { empty: layout.empty(), layout })].into_iter().collect(),
    )
}

/// The alternatives of a pointer to anything.
fn alternatives(column: &Array) -> &[Array] {
    match column {
        Array::WithParameter { parameter: ArrayParameter::Objects, content } => match &**content {
            Array::Union { contents, .. } => contents,
            _ => panic!("no union"),
        },
        _ => panic!("no objects"),
    }
}

#[test]
fn objects_that_lead_back_to_themselves_end_there() {
    let classes = rings();
    let bytes = new("Ring", &object(1, &[&[0, 7], &reference(0)[..]].concat()));
    let ring = read(&Layout::Any, &bytes, Some(&classes)).unwrap();
    let [Array::Record { fields, .. }] = alternatives(&ring) else { panic!("no ring") };
    let within = Array::Record { class: Some("Ring".into()), entries: 1, fields: Vec::new() };
    assert_eq!(alternatives(&fields[1].1), [within]);
}

#[test]
fn objects_in_objects_of_any_class_have_an_end() {
    let classes = rings();
    let mut bytes = vec![0; 4];
    for _ in 0..3000 {
        bytes = new("Ring", &object(1, &[&[0, 7], &bytes[..]].concat()));
    }
    let mut ring = &read(&Layout::Any, &bytes, Some(&classes)).unwrap();
    let mut depth = 0;
    while let [Array::Record { fields, .. }] = alternatives(ring) {
        let [_, (_, next)] = &fields[..] else { break };
        (ring, depth) = (next, depth + 1);
    }
    assert_eq!(depth, 64);
}

/// The same class with members and without are two classes: one was once read as the other.
#[test]
fn objects_within_themselves_and_others_of_their_class() {
    let classes = rings();
    let next = || new("Ring", &object(1, &[0, 8, 0, 0, 0, 0]));
    let item = Box::new(Layout::Any);
    let both = Layout::List(List { frame: Frame::None, parameter: None, item });
    let first = new("Ring", &object(1, &[&[0, 7], &reference(4)[..]].concat()));
    let second = new("Ring", &object(1, &[&[0, 7], &next()[..]].concat()));
    let bytes = [vec![0, 0, 0, 2], first, second].concat();
    let Array::List { content, .. } = read(&both, &bytes, Some(&classes)).unwrap() else {
        panic!("no list")
    };
    let [Array::Record { fields, .. }] = alternatives(&content) else { panic!("no ring") };
    assert_eq!(alternatives(&fields[1].1).len(), 2);
}
