//! Baskets as ROOT 6.40 writes them, decoded whole, in parts, cut short and changed.

use proptest::prelude::*;

use super::*;
use crate::error::ErrorKind;
use std::sync::Arc;

use crate::array::{ArrayParameter, Number, Numbers};
use crate::tree::interpret::layout::{
    Classes, Container, Counted, Counter, Frame as ListFrame, List, NamedClass, Prefix, Text,
    Version,
};

/// `x[n]/F` of three entries: nothing, one, two.
const COUNTED: &[u8] = &[0x3f, 0x80, 0, 0, 0x40, 0, 0, 0, 0x40, 0x20, 0, 0];
/// `std::vector<short>` of three entries.
#[rustfmt::skip]
const VECTORS: &[u8] = &[
    0x40, 0x00, 0x00, 0x06,  0x00, 0x0a,  0x00, 0x00, 0x00, 0x00, // byte count, version, items
    0x40, 0x00, 0x00, 0x08,  0x00, 0x0a,  0x00, 0x00, 0x00, 0x01,  0x00, 0x0a,
    0x40, 0x00, 0x00, 0x0a,  0x00, 0x0a,  0x00, 0x00, 0x00, 0x02,  0x00, 0x14, 0x00, 0x15,
];
const VECTOR_OFFSETS: [u32; 4] = [0, 10, 22, 36];
/// `std::vector<std::string>` with "a" and "", then without items.
#[rustfmt::skip]
const TEXTS: &[u8] = &[
    0x40, 0x00, 0x00, 0x09,  0x00, 0x0a,  0x00, 0x00, 0x00, 0x02,  0x01, b'a', 0x00,
    0x40, 0x00, 0x00, 0x06,  0x00, 0x0a,  0x00, 0x00, 0x00, 0x00,
];
/// Two objects of a class `P { TObject; float x; }` in a `std::vector`.
#[rustfmt::skip]
const OBJECTS: &[u8] = &[
    0x40, 0x00, 0x00, 0x30,  0x00, 0x0a,  0x00, 0x00, 0x00, 0x02,
    0x40, 0x00, 0x00, 0x10,  0x00, 0x03,                     // byte count, version of P
    0x00, 0x01,  0, 0, 0, 0,  0x03, 0x00, 0x00, 0x00,        // TObject
    0x3f, 0x80, 0x00, 0x00,
    0x40, 0x00, 0x00, 0x12,  0x00, 0x03,
    0x00, 0x01,  0, 0, 0, 0,  0x03, 0x00, 0x00, 0x10,  0, 7, // referenced: a process id follows
    0x40, 0x00, 0x00, 0x00,
];

fn basket<'a>(data: &'a [u8], offsets: Option<&[u32]>, entries: usize) -> Basket<'a> {
    Basket {
        data,
        entry_offsets: offsets.map(<[u32]>::to_vec),
        entries,
        lengths: None,
        is_nothing: false,
        start: 0,
    }
}

fn interpretation(layout: Layout, entry: Entry) -> Interpretation {
    Interpretation::for_tests(layout, entry)
}

fn decode(
    interpretation: &Interpretation,
    basket: &Basket<'_>,
    entries: Range<usize>,
) -> Result<Array> {
    let mut column = interpretation.empty();
    interpretation.decode(basket, entries, &mut column)?;
    Ok(column)
}

/// The first version of a record, with something before or behind its members.
fn around(record: &Record, before: Option<Part>, behind: Option<Part>) -> Version {
    let Version { number, checksum, parts, .. } = record.versions[0].clone();
    Version::new(number, checksum, before.into_iter().chain(parts).chain(behind).collect())
}

fn vectors_of(item: Layout) -> Interpretation {
    let list = Layout::List(List { frame: ListFrame::Own, parameter: None, item: Box::new(item) });
    interpretation(list, Entry::Value)
}

fn counted_vectors(number: Number) -> Interpretation {
    interpretation(Layout::number(number), Entry::Items { header: 10, counted: true })
}

fn object() -> Layout {
    let mut record =
        Record::of_members(Some("P".into()), vec![("x".into(), Layout::number(Number::F32))]);
    let tobject = Part::TObject { id: None, bits: None };
    record.versions[0] = around(&record, Some(tobject), None);
    record.versions[0].number = 3;
    // An older one, of nothing.
    record.versions.push(Version::new(2, 0, Vec::new()));
    Layout::Record { header: true, record: Arc::new(record) }
}

/// The column of a collection of nine objects without members.
fn nine_of_nothing(class: Option<&str>) -> Array {
    let content = Array::Record { class: class.map(Into::into), entries: 9, fields: Vec::new() };
    Array::List { offsets: vec![0, 9].into(), content: Box::new(content) }
}

#[test]
fn objects_without_members_are_counted() {
    // As PHYSLITE has them: streamed member by member, of a class with a checksum.
    let bytes = [0x40, 0, 0, 12, 0x40, 9, 0, 0, 0x15, 0xed, 0x80, 0x55, 0, 0, 0, 9];
    let jets = vectors_of(Layout::Unknown(Some("Jet".into())));
    let all = decode(&jets, &basket(&bytes, Some(&[0, 16]), 1), 0..1).unwrap();
    assert_eq!(all, nine_of_nothing(Some("Jet")));
    let versions = vec![Version::new(1, 0x15ed_8055, Vec::new())];
    let record = Record { versions, ..Record::of_members(Some("Jet".into()), Vec::new()) };
    let jets = vectors_of(Layout::Record { header: true, record: Arc::new(record.clone()) });
    let all = decode(&jets, &basket(&bytes, Some(&[0, 16]), 1), 0..1).unwrap();
    assert_eq!(all, nine_of_nothing(Some("Jet")));
    // A branch of such a collection, split: the count only.
    let counts = Layout::list_of(Layout::Record { header: false, record: Arc::new(record) });
    let counts = interpretation(counts, Entry::Value);
    let all = decode(&counts, &basket(&bytes[12..], Some(&[0, 4]), 1), 0..1).unwrap();
    assert_eq!(all, nine_of_nothing(Some("Jet")));
}

/// `ClassDef(X, 0)`, as abstract classes have it: a checksum was looked for that is not there.
#[test]
fn version_zero_may_be_the_version_of_a_class() {
    let members = vec![("id".into(), Layout::number(Number::U8))];
    let mut record = Record::of_members(Some("Zero".into()), members);
    record.versions[0].checksum = 0x0102_0304;
    let zeros = vectors_of(Layout::Record { header: true, record: Arc::new(record) });
    #[rustfmt::skip]
    let bytes = [
        0x40, 0, 0, 24, 0, 9, 0, 0, 0, 2,
        0x40, 0, 0, 3, 0, 0, 7,
        0x40, 0, 0, 7, 0, 0, 1, 2, 3, 4, 8,               // with a checksum all the same
        0x40, 0, 0, 10, 0x40, 9, 0, 0, 0, 0, 0, 2, 7, 8,  // member by member
    ];
    let all = decode(&zeros, &basket(&bytes, Some(&[0, 28, 42]), 2), 0..2).unwrap();
    let Array::List { offsets, content } = all else { panic!("lists") };
    assert_eq!(offsets, vec![0, 2, 4].into());
    let Array::Record { fields, .. } = *content else { panic!("objects") };
    let expected = Array::Numbers { numbers: Numbers::U8(vec![7, 8, 7, 8]), shape: vec![] };
    assert_eq!(fields[0].1, expected);
}

#[test]
fn objects_of_unknown_classes_are_refused_where_there_are_any() {
    let jets = vectors_of(Layout::Unknown(Some("Jet".into())));
    let none = [0x40, 0, 0, 6, 0, 9, 0, 0, 0, 0];
    let all = decode(&jets, &basket(&none, Some(&[0, 10]), 1), 0..1).unwrap();
    assert_eq!(all.len(), 1);
    // A member of several objects: empty vectors, written member by member, were "corrupt".
    let run = interpretation(vectors_of(Layout::Unknown(None)).layout, Entry::Run);
    let none = [0x40, 0, 0, 12, 0x40, 9, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0];
    let Array::List { offsets, .. } =
        decode(&run, &basket(&none, Some(&[0, 16]), 1), 0..1).unwrap()
    else {
        panic!("lists")
    };
    assert_eq!(offsets, vec![0, 2].into());
    let one = [0x40, 0, 0, 8, 0, 9, 0, 0, 0, 1, 0, 7];
    let refused = decode(&jets, &basket(&one, Some(&[0, 12]), 1), 0..1).unwrap_err();
    assert!(matches!(refused.kind, ErrorKind::Unsupported(_)), "{refused}");
}

#[test]
fn items_of_unknown_classes_may_be_numbers() {
    let metals = vectors_of(Layout::Unknown(Some("Metal".into())));
    #[rustfmt::skip]
    let bytes = [
        0x40, 0, 0, 6, 0, 9, 0, 0, 0, 0,
        0x40, 0, 0, 14, 0, 9, 0, 0, 0, 2, 0, 0, 0, 7, 0, 0, 0, 8,
        0x40, 0, 0, 10, 0, 9, 0, 0, 0, 1, 0, 0, 0, 9,
    ];
    let whole = basket(&bytes, Some(&[0, 10, 28, 42]), 3);
    let expected = list(&[0, 0, 2, 3], Numbers::I32(vec![7, 8, 9]));
    assert_eq!(decode(&metals, &whole, 0..3).unwrap(), expected);
    // Parts know it or not, and are joined all the same.
    let parts = [0..1, 1..2, 0..1, 2..3].map(|part| decode(&metals, &whole, part).unwrap());
    let mut joined = metals.empty();
    parts.iter().for_each(|part| joined.append(part).unwrap());
    assert_eq!(joined, list(&[0, 0, 2, 2, 3], Numbers::I32(vec![7, 8, 9])));
    // Numbers in one entry and nothing in another are of no class.
    let mut mixed = bytes.to_vec();
    mixed.splice(28.., [0x40, 0, 0, 6, 0, 9, 0, 0, 0, 1]);
    let mixed = basket(&mixed, Some(&[0, 10, 28, 38]), 3);
    let refused = decode(&metals, &mixed, 0..3).unwrap_err();
    assert!(matches!(refused.kind, ErrorKind::Unsupported(_)), "{refused}");
    let some = &parts[1];
    let nothing = decode(&metals, &mixed, 2..3).unwrap();
    assert!(some.clone().append(&nothing).is_err());
}

#[test]
fn objects_that_only_their_collection_counts() {
    let record = Arc::new(Record::of_members(Some("Jet".into()), Vec::new()));
    let layout = Layout::Record { header: false, record };
    let mut jets = interpretation(layout, Entry::Counts);
    jets.expect_counter();
    let mut empty = basket(&[], Some(&[0, 0, 0]), 2);
    assert!(jets.needs_counts(&empty));
    assert!(decode(&jets, &empty, 0..2).is_err());
    let counts =
        |numbers: Vec<i32>| Array::Numbers { numbers: Numbers::I32(numbers), shape: vec![] };
    for wrong in [vec![], vec![9], vec![9, -1]] {
        assert!(jets.take_counts(&mut empty, &counts(wrong)).is_err());
    }
    jets.take_counts(&mut empty, &counts(vec![4, 9])).unwrap();
    assert_eq!(decode(&jets, &empty, 1..2).unwrap(), nine_of_nothing(Some("Jet")));
}

/// A `TObjArray` of the string "a", of nothing, and of the same string again.
fn array_of_objects() -> Vec<u8> {
    [
        &[0x40, 0, 0, 66, 0, 3][..],
        &[0, 1, 0, 0, 0, 0, 2, 0, 0, 0],
        &[0, 0, 0, 0, 3, 0, 0, 0, 0],
        // The byte 25, to which a reference is two more.
        &[0x40, 0, 0, 33, 0xff, 0xff, 0xff, 0xff],
        b"TObjString\0",
        &[0x40, 0, 0, 14, 0, 1, 0, 1, 0, 0, 0, 0, 2, 0, 0, 0, 1, b'a'],
        &[0, 0, 0, 0],
        &[0, 0, 0, 27],
    ]
    .concat()
}

/// The column of that list, with this one object in it.
fn list_of_two(object: Array) -> Array {
    let tags = vec![0, -1, 0];
    let index = vec![0, -1, 0];
    let union = Array::Union { tags, index, contents: vec![object] };
    Array::List {
        offsets: vec![0, 3].into(),
        content: Box::new(union.with_parameter(ArrayParameter::Objects)),
    }
}

#[test]
fn containers_hold_objects_of_the_classes_that_they_name() {
    let bytes = array_of_objects();
    let end = bytes.len() as u32;
    let mut all = interpretation(Layout::Objects(Container::Array), Entry::Value);
    // Of a class that the file does not describe: without members.
    let unknown = Array::Record { class: Some("TObjString".into()), entries: 1, fields: vec![] };
    let column = decode(&all, &basket(&bytes, Some(&[0, end]), 1), 0..1).unwrap();
    assert_eq!(column, list_of_two(unknown));

    let layout = Layout::Text(Text::Object { header: true });
    let named = NamedClass { empty: layout.empty(), layout };
    let classes = Classes([("TObjString".to_owned(), named)].into_iter().collect());
    all.classes = Some(Arc::new(classes));
    let column = decode(&all, &basket(&bytes, Some(&[0, end]), 1), 0..1).unwrap();
    let text = Array::Strings { offsets: vec![0, 1], bytes: b"a".to_vec() };
    assert_eq!(column, list_of_two(text));
    for short in 1..end {
        let bytes = &bytes[..short as usize];
        assert!(decode(&all, &basket(bytes, Some(&[0, short]), 1), 0..1).is_err(), "{short}");
    }
}

/// A file may say that containers are in containers without end.
#[test]
fn containers_in_containers_have_an_end() {
    let mut bytes = vec![0; 8];
    for _ in 0..2000 {
        let inner = [&[0x40, 0, 0, 0, 0xff, 0xff, 0xff, 0xff][..], b"TObjArray\0", &bytes].concat();
        let pointer =
            [&(0x4000_0000 | (inner.len() as u32 - 4)).to_be_bytes(), &inner[4..]].concat();
        let body = [&[0, 1, 0, 0, 0, 1, 0, 0, 0, 0][..], &pointer].concat();
        bytes = [&(0x4000_0000 | body.len() as u32).to_be_bytes(), &body[..]].concat();
    }
    let layout = Layout::Objects(Container::Array);
    let mut all = interpretation(layout.clone(), Entry::Value);
    let named = NamedClass { empty: layout.empty(), layout };
    all.classes = Some(Arc::new(Classes([("TObjArray".to_owned(), named)].into_iter().collect())));
    let offsets = [0, bytes.len() as u32];
    let error = decode(&all, &basket(&bytes, Some(&offsets), 1), 0..1).unwrap_err();
    assert!(matches!(error.kind, ErrorKind::Limit(_)), "{error}");
}

#[test]
fn parts_with_objects_of_other_classes_are_joined() {
    let objects = |contents: Vec<Array>, tags: &[i8]| {
        let index = vec![0; tags.len()];
        let tags = tags.to_vec();
        Array::Union { tags, index, contents }.with_parameter(ArrayParameter::Objects)
    };
    let text = Array::Strings { offsets: vec![0, 1], bytes: b"a".to_vec() };
    let number = Array::Numbers { numbers: Numbers::I8(vec![7]), shape: Vec::new() };
    let mut joined = objects(vec![text.clone()], &[0]);
    joined.append(&objects(vec![number.clone(), text.clone()], &[1, -1, 0])).unwrap();
    let both = Array::Strings { offsets: vec![0, 1, 2], bytes: b"aa".to_vec() };
    let tags = vec![0, 0, -1, 1];
    let index = vec![0, 1, -1, 0];
    let expected = Array::Union { tags, index, contents: vec![both, number] };
    assert_eq!(joined, expected.with_parameter(ArrayParameter::Objects));
}

#[test]
fn arrays_that_fill_their_frame() {
    // `Point *points; //[n]`, split: two of them.
    let bytes = [0x40, 0, 0, 18, 0, 10, 0, 1, 0x3f, 0x80, 0, 0, 0, 0, 1, 0x40, 0, 0, 0, 0, 0, 0];
    let x = vec![("x".into(), Layout::number(Number::F32))];
    let mut record = Record::of_members(None, x);
    record.versions[0] = around(&record, Some(Part::Skip(2)), Some(Part::Skip(2)));
    let item = Layout::Record { header: false, record: Arc::new(record) };
    let all = interpretation(Layout::Filled(Box::new(item)), Entry::Value);
    let column = decode(&all, &basket(&bytes, Some(&[0, 22]), 1), 0..1).unwrap();
    let Array::List { offsets, .. } = column else { panic!("no list") };
    assert_eq!(*offsets, [0, 2]);
    let nothing = Record::of_members(None, Vec::new());
    let item = Layout::Record { header: false, record: Arc::new(nothing) };
    let endless = interpretation(Layout::Filled(Box::new(item)), Entry::Value);
    assert!(decode(&endless, &basket(&bytes, Some(&[0, 22]), 1), 0..1).is_err());
}

#[test]
fn objects_behind_the_name_of_their_class() {
    // TLeafObject: 1, "P", 0, then the object; here a TObjString.
    let bytes = [1, b'P', 0, 0x40, 0, 0, 14, 0, 1, 0, 1, 0, 0, 0, 0, 3, 0, 0, 0, 1, b'a'];
    let all = |class: &str| {
        let item = Box::new(Layout::Text(Text::Object { header: true }));
        interpretation(Layout::Named(class.into(), item), Entry::Value)
    };
    let whole = basket(&bytes, Some(&[0, 21]), 1);
    let column = decode(&all("P"), &whole, 0..1).unwrap();
    assert_eq!(column, Array::Strings { offsets: vec![0, 1], bytes: vec![b'a'] });
    let refused = decode(&all("Q"), &whole, 0..1).unwrap_err();
    assert!(matches!(refused.kind, ErrorKind::Unsupported(_)), "{refused}");
}

#[test]
fn counted_pointers_in_an_array_share_a_flag() {
    // `int n; short *a[2]; //[n]` with n of 2, then of 0.
    let bytes = [0, 0, 0, 2, 1, 0, 1, 0, 2, 0, 3, 0, 4, 0, 0, 0, 0, 0];
    let prefix = Prefix::Flag;
    let item = Box::new(Layout::number(Number::I16));
    let counted = Layout::Counted(Counted { by: Counter::Field(0), triangle: false, prefix, item });
    let both = Layout::Regular { framed: false, length: 2, item: Box::new(counted) };
    let members = vec![("n".into(), Layout::number(Number::I32)), ("a".into(), both)];
    let record = Arc::new(Record::of_members(None, members));
    let all = interpretation(Layout::Record { header: false, record }, Entry::Value);
    let column = decode(&all, &basket(&bytes, Some(&[0, 13, 18]), 2), 0..2).unwrap();
    let Array::Record { fields, .. } = column else { panic!("no record") };
    let lists = list(&[0, 2, 4, 4, 4], Numbers::I16(vec![1, 2, 3, 4]));
    assert_eq!(fields[1].1, Array::Regular { length: 2, entries: 2, content: Box::new(lists) });
    assert!(decode(&all, &basket(&bytes[..8], Some(&[0, 8]), 1), 0..1).is_err());
}

/// A streamer info that speaks of millions of pointers made gigabytes of a few bytes.
#[test]
fn arrays_of_nothing_are_held_to_the_bytes_of_the_entry() {
    let lists = |arrays| {
        let item = Box::new(Layout::number(Number::I16));
        let by = Counter::Field(0);
        let prefix = Prefix::Flag;
        let counted = Layout::Counted(Counted { by, triangle: false, prefix, item });
        let all = Layout::Regular { framed: false, length: arrays, item: Box::new(counted) };
        let members = vec![("n".into(), Layout::number(Number::I32)), ("a".into(), all)];
        let record = Arc::new(Record::of_members(None, members));
        let all = interpretation(Layout::Record { header: false, record }, Entry::Value);
        decode(&all, &basket(&[0; 5], Some(&[0, 5]), 1), 0..1)
    };
    assert!(lists(256).is_ok());
    let refused = lists(1 << 24).unwrap_err();
    assert!(matches!(refused.kind, ErrorKind::Limit(_)), "{refused}");
}

#[test]
fn numbers_become_what_the_newest_version_has() {
    let x = vec![("x".into(), Layout::number(Number::F64))];
    let mut record = Record::of_members(Some("P".into()), x);
    record.versions[0].number = 2;
    let old = Part::Converted { at: 0, layout: Layout::number(Number::I16) };
    record.versions.push(Version::new(1, 0, vec![old]));
    let layout = Layout::Record { header: true, record: Arc::new(record) };
    let bytes = [0x40, 0, 0, 4, 0, 1, 0, 7, 0x40, 0, 0, 10, 0, 2, 0x3f, 0xe0, 0, 0, 0, 0, 0, 0];
    let all = interpretation(layout, Entry::Value);
    let column = decode(&all, &basket(&bytes, Some(&[0, 8, 22]), 2), 0..2).unwrap();
    let Array::Record { fields, .. } = column else { panic!("no record") };
    let expected = Array::Numbers { numbers: Numbers::F64(vec![7.0, 0.5]), shape: vec![] };
    assert_eq!(fields[0].1, expected);
}

fn list(offsets: &[i64], numbers: Numbers) -> Array {
    let content = Box::new(Array::Numbers { numbers, shape: vec![] });
    Array::List { offsets: offsets.to_vec().into(), content }
}

/// Every kind of interpretation with a basket for it.
fn samples() -> Vec<(&'static str, Interpretation, Basket<'static>)> {
    let float = || Layout::number(Number::F32);
    let bare = Entry::Items { header: 0, counted: false };
    let members = vec![("a".into(), Layout::number(Number::I16)), ("b".into(), float())];
    let record = Arc::new(Record::of_members(None, members));
    let pair = Layout::Record { header: false, record };
    let shaped = Layout::Scalars { scalar: Scalar::Number(Number::I16), shape: vec![3] };
    vec![
        ("numbers", interpretation(float(), Entry::Fixed), basket(COUNTED, None, 3)),
        ("shaped", interpretation(shaped, Entry::Fixed), basket(COUNTED, None, 2)),
        ("leaf list", interpretation(pair, Entry::Fixed), basket(COUNTED, None, 2)),
        ("counted", interpretation(float(), bare), basket(COUNTED, Some(&[0, 0, 4, 12]), 3)),
        ("vectors", counted_vectors(Number::I16), basket(VECTORS, Some(&VECTOR_OFFSETS), 3)),
        ("texts", vectors_of(Layout::Text(Text::Root)), basket(TEXTS, Some(&[0, 13, 23]), 2)),
        ("objects", vectors_of(object()), basket(OBJECTS, Some(&[0, 52]), 1)),
        (
            "text",
            interpretation(Layout::Text(Text::Root), Entry::Value),
            basket(b"\0\x02ab\x01c", None, 3),
        ),
        (
            "item texts",
            interpretation(Layout::Text(Text::Standard { framed: true }), Entry::Run),
            basket(b"\x40\0\0\x07\0\x09\x01a\x02bc", Some(&[0, 11, 11]), 2),
        ),
    ]
}

#[test]
fn values_of_every_kind() {
    let expected = [
        Array::Numbers { numbers: Numbers::F32(vec![1.0, 2.0, 2.5]), shape: vec![] },
        Array::Numbers {
            numbers: Numbers::I16(vec![0x3f80, 0, 0x4000, 0, 0x4020, 0]),
            shape: vec![3],
        },
        Array::Record {
            class: None,
            entries: 2,
            fields: vec![
                (
                    "a".into(),
                    Array::Numbers { numbers: Numbers::I16(vec![0x3f80, 0]), shape: vec![] },
                ),
                (
                    "b".into(),
                    Array::Numbers {
                        numbers: Numbers::F32(vec![
                            f32::from_bits(0x4000),
                            f32::from_bits(0x4020_0000),
                        ]),
                        shape: vec![],
                    },
                ),
            ],
        },
        list(&[0, 0, 1, 3], Numbers::F32(vec![1.0, 2.0, 2.5])),
        list(&[0, 0, 1, 3], Numbers::I16(vec![10, 20, 21])),
        Array::List {
            offsets: vec![0, 2, 2].into(),
            content: Box::new(Array::Strings { offsets: vec![0, 1, 1], bytes: b"a".to_vec() }),
        },
        Array::List {
            offsets: vec![0, 2].into(),
            content: Box::new(Array::Record {
                class: Some("P".into()),
                entries: 2,
                fields: vec![(
                    "x".into(),
                    Array::Numbers { numbers: Numbers::F32(vec![1.0, 2.0]), shape: vec![] },
                )],
            }),
        },
        Array::Strings { offsets: vec![0, 0, 2, 3], bytes: b"abc".to_vec() },
        Array::List {
            offsets: vec![0, 2, 2].into(),
            content: Box::new(Array::Strings { offsets: vec![0, 1, 3], bytes: b"abc".to_vec() }),
        },
    ];
    for ((name, interpretation, basket), expected) in samples().into_iter().zip(expected) {
        assert_eq!(
            decode(&interpretation, &basket, 0..basket.entries).unwrap(),
            expected,
            "{name}"
        );
    }
}

#[test]
fn parts_decoded_one_after_the_other_are_the_whole() {
    for (name, interpretation, basket) in samples() {
        let whole = decode(&interpretation, &basket, 0..basket.entries).unwrap();
        let mut column = interpretation.empty();
        for entry in 0..basket.entries {
            interpretation.decode(&basket, entry..entry + 1, &mut column).unwrap();
            let one = decode(&interpretation, &basket, entry..entry + 1).unwrap();
            assert_eq!(one, whole.slice(entry..entry + 1), "{name}");
        }
        assert_eq!(column, whole, "{name}");
        assert_eq!(decode(&interpretation, &basket, 1..1).unwrap(), interpretation.empty());
    }
}

#[test]
fn entries_that_are_not_there_are_an_error() {
    for (name, interpretation, basket) in samples() {
        let beyond = 0..basket.entries + 1;
        assert!(decode(&interpretation, &basket, beyond).is_err(), "{name}");
    }
}

#[test]
fn every_truncation_is_an_error() {
    for (name, interpretation, basket) in samples() {
        for len in 0..basket.data.len() {
            let mut cut = basket.clone();
            cut.data = &basket.data[..len];
            if let Some(offsets) = &mut cut.entry_offsets {
                offsets.iter_mut().for_each(|offset| *offset = (*offset).min(len as u32));
            }
            let outcome = decode(&interpretation, &cut, 0..cut.entries);
            // An entry without a byte holds nothing: ROOT writes that for empty collections.
            let between_entries = matches!(interpretation.entry, Entry::Items { .. } | Entry::Run)
                && basket.entry_offsets.as_ref().is_some_and(|ends| ends.contains(&(len as u32)));
            // Items that fill an entry without a count may be fewer, but not halves.
            let between_items = name == "counted" && len % 4 == 0;
            let whole = between_entries || between_items;
            assert_eq!(outcome.is_ok(), whole, "{name} cut to {len}: {outcome:?}");
        }
    }
}

#[test]
fn objects_of_other_versions_or_ways_are_refused() {
    let read = |changes: &[(usize, u8)]| {
        let mut bytes = OBJECTS.to_vec();
        changes.iter().for_each(|(at, value)| bytes[*at] = *value);
        decode(&vectors_of(object()), &basket(&bytes, Some(&[0, 52]), 1), 0..1).unwrap_err().kind
    };
    assert!(matches!(read(&[(15, 4)]), ErrorKind::Unsupported(_)), "version");
    assert!(matches!(read(&[(14, 0x40)]), ErrorKind::Unsupported(_)), "object member by member");
    assert!(matches!(read(&[(4, 0x40)]), ErrorKind::Unsupported(_)), "vector of no known version");
    assert!(matches!(read(&[(13, 0x0f)]), ErrorKind::Unsupported(_)), "byte count too small");
    assert!(matches!(read(&[(13, 0x11)]), ErrorKind::Unsupported(_)), "byte count too large");
    assert!(matches!(read(&[(10, 0)]), ErrorKind::Unsupported(_)), "no byte count, and no version");
    assert!(matches!(read(&[(9, 3)]), ErrorKind::Corrupt(_)), "one object more");
    assert!(matches!(read(&[(9, 1)]), ErrorKind::Corrupt(_)), "one object less");
    assert!(matches!(read(&[(6, 0x7f)]), ErrorKind::Corrupt(_)), "absurd count");
}

#[test]
fn counts_must_fill_the_entry() {
    for count in [0, 1, 3, 0x7f] {
        let mut bytes = VECTORS.to_vec();
        bytes[31] = count;
        let outcome =
            decode(&counted_vectors(Number::I16), &basket(&bytes, Some(&VECTOR_OFFSETS), 3), 0..3);
        assert!(matches!(outcome.unwrap_err().kind, ErrorKind::Corrupt(_)), "{count}");
    }
}

#[test]
fn offsets_follow_from_counts_where_they_are_not_stored() {
    let (_, interpretation, mut basket) = samples().swap_remove(3);
    basket.entry_offsets = None;
    assert!(interpretation.needs_counts(&basket));
    assert!(decode(&interpretation, &basket, 0..3).is_err());
    let counts = |counts| Array::Numbers { numbers: Numbers::I32(counts), shape: vec![] };
    for wrong in [vec![], vec![3], vec![0, 1, 1], vec![0, 1, 3], vec![0, -1, 3], vec![0, 1, 2, 0]] {
        assert!(interpretation.take_counts(&mut basket, &counts(wrong)).is_err());
        assert_eq!(basket.entry_offsets, None);
    }
    interpretation.take_counts(&mut basket, &counts(vec![0, 1, 2])).unwrap();
    assert_eq!(basket.entry_offsets, Some(vec![0, 0, 4, 12]));
    assert!(!interpretation.needs_counts(&basket));
}

proptest! {
    #[test]
    fn any_change_gives_a_whole_column_or_an_error(
        which in 0..9usize,
        at in any::<prop::sample::Index>(),
        value in any::<u8>(),
        offset in any::<prop::sample::Index>(),
        shift in -3i32..4,
    ) {
        let (_, interpretation, mut basket) = samples().swap_remove(which);
        let mut bytes = basket.data.to_vec();
        bytes[at.index(basket.data.len())] = value;
        basket.data = &bytes;
        if let Some(offsets) = &mut basket.entry_offsets {
            let chosen = offset.index(offsets.len());
            offsets[chosen] = offsets[chosen].saturating_add_signed(shift).min(bytes.len() as u32);
            offsets.sort_unstable();
        }
        if let Ok(column) = decode(&interpretation, &basket, 0..basket.entries) {
            prop_assert_eq!(column.len(), basket.entries);
            prop_assert!(column.nbytes() < 1000);
        }
    }
}

#[test]
fn arrays_of_split_objects_are_counted_elsewhere() {
    // Three entries: no object; one with two numbers; one without, one that lacks its array, one.
    #[rustfmt::skip]
    let bytes = [
        1, 0, 10, 0, 11,
        0, 0, 1, 0, 12,
    ];
    let counted = Counted {
        by: Counter::Branch,
        triangle: false,
        prefix: Prefix::Flag,
        item: Box::new(Layout::number(Number::I16)),
    };
    let interpretation = interpretation(Layout::Counted(counted), Entry::Arrays);
    let mut basket = basket(&bytes, Some(&[0, 0, 5, 10]), 3);
    assert!(interpretation.needs_counts(&basket));
    assert!(decode(&interpretation, &basket, 0..3).is_err());
    let counts = |numbers: Vec<i32>, offsets: Vec<i64>| Array::List {
        offsets: offsets.into(),
        content: Box::new(Array::Numbers { numbers: Numbers::I32(numbers), shape: vec![] }),
    };
    for wrong in [counts(vec![2], vec![0, 0, 1]), counts(vec![2, -1], vec![0, 0, 1, 2])] {
        assert!(interpretation.take_counts(&mut basket, &wrong).is_err());
        assert_eq!(basket.lengths, None);
    }
    for wrong in [vec![1, 0, 3, 1], vec![2, 0, 3, 2], vec![3, 0, 3, 1]] {
        interpretation.take_counts(&mut basket, &counts(wrong, vec![0, 0, 1, 4])).unwrap();
        assert!(decode(&interpretation, &basket, 0..3).is_err());
    }
    interpretation.take_counts(&mut basket, &counts(vec![2, 0, 3, 1], vec![0, 0, 1, 4])).unwrap();
    assert!(!interpretation.needs_counts(&basket));
    let lists = |offsets: &[i64], content| Array::List {
        offsets: offsets.to_vec().into(),
        content: Box::new(content),
    };
    let numbers = Array::Numbers { numbers: Numbers::I16(vec![10, 11, 12]), shape: vec![] };
    let expected = lists(&[0, 0, 1, 4], lists(&[0, 2, 2, 2, 3], numbers));
    assert_eq!(decode(&interpretation, &basket, 0..3).unwrap(), expected);
}

#[test]
fn a_text_of_a_leaf_may_have_no_byte() {
    let interpretation = interpretation(Layout::Text(Text::Leaf), Entry::Value);
    let basket = basket(&[1, b'a', 2, b'b', b'c'], Some(&[0, 0, 2, 2, 5, 5]), 5);
    let expected = Array::Strings { offsets: vec![0, 0, 1, 1, 3, 3], bytes: b"abc".to_vec() };
    assert_eq!(decode(&interpretation, &basket, 0..5).unwrap(), expected);
}

/// `n/b:x[n]/S`, and a string between the two where `with_text`.
fn leaves(by: Counter, with_text: bool) -> Interpretation {
    let item = Box::new(Layout::number(Number::I16));
    let counted = Counted { by, triangle: false, prefix: Prefix::Nothing, item };
    let mut members = vec![("n".to_owned(), Layout::number(Number::U8))];
    if with_text {
        members.push(("text".into(), Layout::Text(Text::Leaf)));
        members.push(("more".into(), Layout::Text(Text::Leaf)));
    }
    members.push(("x".into(), Layout::Counted(counted)));
    let record = Arc::new(Record::of_members(None, members));
    interpretation(Layout::Record { header: false, record }, Entry::Leaves)
}

fn field(column: &Array, name: &str) -> Array {
    let Array::Record { fields, .. } = column else { panic!("no record") };
    fields.iter().find(|(own, _)| own == name).map(|(_, field)| field.clone()).unwrap()
}

fn text(offsets: &[i64], bytes: &[u8]) -> Array {
    Array::Strings { offsets: offsets.to_vec(), bytes: bytes.to_vec() }
}

fn shorts(offsets: &[i64], numbers: &[i16]) -> Array {
    Array::List {
        offsets: offsets.to_vec().into(),
        content: Box::new(Array::Numbers {
            numbers: Numbers::I16(numbers.to_vec()),
            shape: vec![],
        }),
    }
}

#[test]
fn leaves_of_one_branch_count_each_other() {
    let interpretation = leaves(Counter::Field(0), false);
    let bytes = [0, 2, 0, 1, 0, 2, 1, 0, 3];
    let whole = basket(&bytes, Some(&[0, 1, 6, 9]), 3);
    let column = decode(&interpretation, &whole, 0..3).unwrap();
    assert_eq!(field(&column, "x"), shorts(&[0, 0, 2, 3], &[1, 2, 3]));
    let part = decode(&interpretation, &whole, 1..2).unwrap();
    assert_eq!((part.len(), field(&part, "x")), (1, shorts(&[0, 2], &[1, 2])));
    for wrong in [[0, 2, 6, 9], [0, 1, 5, 9], [0, 1, 7, 9]] {
        assert!(decode(&interpretation, &basket(&bytes, Some(&wrong), 3), 0..3).is_err());
    }
    assert!(decode(&interpretation, &basket(&bytes, None, 3), 0..3).is_err());
}

#[test]
fn strings_without_bytes_show_in_the_length_of_an_entry() {
    let interpretation = leaves(Counter::Field(0), true);
    let one = |bytes: &[u8]| {
        let offsets = [0, bytes.len() as u32];
        decode(&interpretation, &basket(bytes, Some(&offsets), 1), 0..1)
    };
    let neither = one(&[1, 0x20, 0]).unwrap();
    assert_eq!(field(&neither, "text"), text(&[0, 0], b""));
    assert_eq!(field(&neither, "x"), shorts(&[0, 1], &[0x2000]));
    let both = one(&[1, 1, b'a', 2, b'b', b'c', 0, 1]).unwrap();
    assert_eq!(field(&both, "text"), text(&[0, 1], b"a"));
    assert_eq!(field(&both, "more"), text(&[0, 2], b"bc"));
    // Either of the two may be the one with a letter.
    let error = one(&[1, 1, b'a', 0, 1]).unwrap_err();
    assert!(matches!(error.kind, ErrorKind::Unsupported(_)), "{error}");
    assert!(one(&[1, 9, b'a', 0, 1]).is_err());
}

#[test]
fn leaves_that_another_branch_counts() {
    let mut interpretation = leaves(Counter::Branch, false);
    interpretation.expect_counter();
    let bytes = [7, 0, 1, 8, 0, 2, 0, 3];
    let mut counted = basket(&bytes, Some(&[0, 3, 8]), 2);
    assert!(interpretation.needs_counts(&counted));
    assert!(decode(&interpretation, &counted, 0..2).is_err());
    let counts =
        |numbers: Vec<i32>| Array::Numbers { numbers: Numbers::I32(numbers), shape: vec![] };
    assert!(interpretation.take_counts(&mut counted, &counts(vec![1])).is_err());
    interpretation.take_counts(&mut counted, &counts(vec![2, 1])).unwrap();
    assert!(decode(&interpretation, &counted, 0..2).is_err());
    let all =
        Array::Record { class: None, entries: 2, fields: vec![("n".into(), counts(vec![1, 2]))] };
    interpretation.take_counts(&mut counted, &all).unwrap();
    let column = decode(&interpretation, &counted, 0..2).unwrap();
    assert_eq!(field(&column, "x"), shorts(&[0, 1, 3], &[1, 2, 3]));
}

/// Entries from before there was the branch: lists without items, and counts of none.
#[test]
fn entries_that_were_not_written_hold_nothing() {
    let nothing = Basket::nothing(3).unwrap();
    let bare = Entry::Items { header: 0, counted: false };
    let float = Layout::number(Number::F32);
    let lists = decode(&interpretation(float, bare), &nothing, 1..3).unwrap();
    assert_eq!(lists, list(&[0, 0, 0], Numbers::F32(vec![])));
    let texts = interpretation(Layout::Text(Text::Root), Entry::Run);
    assert_eq!(decode(&texts, &nothing, 0..3).unwrap().len(), 3);
    let counts = decode(&Interpretation::of_counts(), &nothing, 1..3).unwrap();
    assert_eq!(counts, Array::Numbers { numbers: Numbers::I32(vec![0, 0]), shape: vec![] });
    let vectors = decode(&vectors_of(object()), &nothing, 0..3).unwrap();
    let Array::List { offsets, .. } = vectors else { panic!("no list") };
    assert_eq!(*offsets, [0, 0, 0, 0]);
    let objects = interpretation(object(), Entry::Value);
    assert!(decode(&objects, &nothing, 0..3).is_err());
}

/// Files of ROOT 6.08 have branches of `std::bitset` without a byte: those of several objects once
/// came as if there were no objects, and those of one were called corrupt.
#[test]
fn what_was_not_written_is_told() {
    let item = Box::new(Layout::number(Number::Bool));
    let parameter = Some(ArrayParameter::Bitset);
    let bits = || Layout::List(List { frame: ListFrame::Own, parameter, item: item.clone() });
    let mut several = interpretation(bits(), Entry::Run);
    several.expect_counter();
    let mut nothing = basket(&[], Some(&[0, 0, 0]), 2);
    assert!(several.needs_counts(&nothing));
    let counts = |numbers| Array::Numbers { numbers: Numbers::I32(numbers), shape: vec![] };
    several.take_counts(&mut nothing, &counts(vec![0, 0])).unwrap();
    assert_eq!(decode(&several, &nothing, 0..2).unwrap().len(), 2);
    let error = several.take_counts(&mut nothing, &counts(vec![0, 1])).unwrap_err();
    assert!(matches!(error.kind, ErrorKind::Unsupported(_)), "{error}");
    let error = decode(&interpretation(bits(), Entry::Value), &nothing, 0..2).unwrap_err();
    assert!(matches!(error.kind, ErrorKind::Unsupported(_)), "{error}");
    // Entries with bytes need no counts.
    let written = [0x40, 0, 0, 7, 0, 9, 0, 0, 0, 1, 1];
    assert!(!several.needs_counts(&basket(&written, Some(&[0, 11]), 1)));
}
