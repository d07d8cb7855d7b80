//! Objects as bytes, each field with its meaning.

use bytes::Bytes;

mod by_hand;
mod chains;

use super::*;
use crate::ErrorKind;
use crate::cursor::Cursor;
use crate::streamer::{StreamerElement, StreamerInfo, Streamers};
use crate::types::code;

const KEY_LEN: u64 = 40;

fn element(class: &str, name: &str, type_code: i32, type_name: &str) -> StreamerElement {
    let class = class.into();
    let name = name.into();
    let type_name = type_name.into();
    StreamerElement { class, name, type_code, type_name, ..StreamerElement::default() }
}

fn member(name: &str, type_code: i32, type_name: &str) -> StreamerElement {
    element("TStreamerBasicType", name, type_code, type_name)
}

fn collection(name: &str, type_name: &str) -> StreamerElement {
    element("TStreamerSTL", name, code::STREAMER, type_name)
}

fn info(class: &str, version: i32, checksum: u32, elements: Vec<StreamerElement>) -> StreamerInfo {
    StreamerInfo { class: class.into(), version, checksum, elements }
}

fn pointer_to(name: &str, class: &str) -> StreamerElement {
    member(name, code::ANY_POINTER, &format!("{class}*"))
}

/// Streamer infos of the classes in these tests.
fn streamers() -> Streamers {
    let counted = StreamerElement {
        count_name: "n".into(),
        ..member("values", code::COUNTED + code::SHORT, "short*")
    };
    let grid = StreamerElement {
        array_len: 4,
        ..member("grid", code::ARRAY + code::UCHAR, "unsigned char")
    };
    let many =
        StreamerElement { array_len: 1 << 30, ..member("many", code::ARRAY + code::ANY, "Node") };
    Streamers::new(vec![
        info(
            "Point",
            3,
            0xabcd,
            vec![
                member("x", code::FLOAT, "float"),
                member("n", code::COUNTER, "int"),
                counted,
                grid,
                member("name", code::STRING, "TString"),
            ],
        ),
        info("Node", 1, 1, vec![pointer_to("next", "Node"), member("id", code::UCHAR, "UChar_t")]),
        info("Pair", 1, 2, vec![pointer_to("first", "A"), pointer_to("second", "B")]),
        info("Shelf", 1, 3, vec![collection("books", "vector<string>")]),
        info("Map", 1, 4, vec![collection("map", "map<int,vector<float> >")]),
        info("Self", 1, 5, vec![member("inner", code::ANY, "Self")]),
        info("Many", 1, 6, vec![many]),
    ])
}

fn read(class: &str, content: &[u8]) -> Result<Objects> {
    read_object(&streamers(), class, &Bytes::copy_from_slice(content), KEY_LEN, 1000)
}

/// Reads every beginning of `content`, none of which may be taken for the whole.
fn cut(class: &str, content: &[u8]) {
    let whole = read(class, content).expect("a good object");
    for len in 0..content.len() {
        let part = read(class, &content[..len]);
        assert!(part.is_err() || part.is_ok_and(|part| part != whole), "{len} bytes of {class}");
    }
}

#[rustfmt::skip]
const POINT: &[u8] = &[
    0x40, 0, 0, 24, 0, 3,           // 24 bytes follow, version 3
    0x3f, 0x80, 0, 0,               // x: 1.0
    0, 0, 0, 2,                     // n: 2
    1, 0xff, 0xff, 1, 0,            // values are there: -1, 256
    9, 8, 7, 6,                     // grid
    4, b'n', b'a', b'm', b'e',      // name
];

#[test]
fn members_of_every_sort() {
    let objects = read("Point", POINT).unwrap();
    let point = objects.root();
    assert_eq!((point.class(), point.version()), ("Point", 3));
    assert_eq!(point.member("x"), Some(&Value::Float(1.0)));
    assert_eq!(point.member("values"), Some(&Value::Numbers(Numbers::I16(vec![-1, 256]))));
    assert_eq!(point.member("grid"), Some(&Value::Numbers(Numbers::U8(vec![9, 8, 7, 6]))));
    assert_eq!(point.string("name").unwrap(), "name");
    assert_eq!(point.int("n").unwrap(), 2);
    assert_eq!(
        point.int("m").unwrap_err().kind,
        ErrorKind::Corrupt("Point without member m".into())
    );
    cut("Point", POINT);
}

#[test]
fn an_array_that_is_not_there_is_null() {
    let mut without = POINT.to_vec();
    without[14] = 0; // no values
    without.drain(15..19);
    without[3] = 20;
    let objects = read("Point", &without).unwrap();
    assert_eq!(objects.root().member("values"), Some(&Value::Null));
    assert_eq!(objects.root().string("name").unwrap(), "name");
}

#[test]
fn a_class_without_a_version_has_its_checksum() {
    let mut foreign = POINT.to_vec();
    foreign[3] += 4;
    foreign[5] = 0; // version 0
    foreign.splice(6..6, [0, 0, 0xab, 0xcd]);
    let objects = read("Point", &foreign).unwrap();
    assert_eq!(objects.root().string("name").unwrap(), "name");
    foreign[9] = 0; // another checksum
    assert!(read("Point", &foreign).unwrap().root().unread().is_some());
}

#[test]
fn an_object_of_another_length_than_its_members_is_left_unread() {
    let longer = [&[0x40, 0, 0, 25, 0, 3], &POINT[6..], &[7]].concat();
    let shorter = [&[0x40, 0, 0, 23, 0, 3], &POINT[6..]].concat();
    for content in [longer, shorter] {
        let objects = read("Point", &content).unwrap();
        assert!(objects.root().unread().is_some());
        assert!(objects.root().int("n").is_err());
        assert_eq!(objects.root().member("n"), None);
    }
}

#[rustfmt::skip]
const NODES: &[u8] = &[
    0x40, 0, 0, 38, 0, 1,                   // Node, version 1
    0x40, 0, 0, 31,                         // at 6: next, 31 bytes: reference 6 + 40 + 2 = 48
    0xff, 0xff, 0xff, 0xff,                 // at 10: a new class: reference 52
    b'N', b'o', b'd', b'e', 0,
    0x40, 0, 0, 18, 0, 1,                   // Node, version 1
    0x40, 0, 0, 11,                         // at 25: next, 11 bytes
    0x80, 0, 0, 52,                         // of the class above
    0, 1,                                   // Node, version 1 without a byte count
    0, 0, 0, 48,                            // next: the second node, once more
    3,                                      // id
    2,                                      // id
    1,                                      // id
];

#[test]
fn pointers_make_new_objects_and_lead_to_old_ones() {
    let objects = read("Node", NODES).unwrap();
    let first = objects.root();
    let second = first.pointed("next").unwrap().expect("a second node");
    let third = second.pointed("next").unwrap().expect("a third node");
    let again = third.pointed("next").unwrap().expect("the second node");
    let ids = [first, second, third, again].map(|node| node.int("id").unwrap());
    assert_eq!(ids, [1, 2, 3, 2]);
    assert_eq!(again.id, second.id);
    cut("Node", NODES);
}

#[test]
fn a_pointer_to_the_record_itself_and_one_to_nothing() {
    let own = [0, 1, 0, 0, 0, 1, 7];
    let objects = read("Node", &own).unwrap();
    assert_eq!(objects.root().pointed("next").unwrap().unwrap().id, objects.root().id);
    let nothing = [0, 1, 0, 0, 0, 0, 7];
    let objects = read("Node", &nothing).unwrap();
    assert!(objects.root().pointed("next").unwrap().is_none());
}

#[rustfmt::skip]
const UNKNOWN: &[u8] = &[
    0x40, 0, 0, 32, 0, 1,                   // Pair, version 1
    0x40, 0, 0, 12,                         // first, 12 bytes
    0xff, 0xff, 0xff, 0xff, b'A', 0,        // of a class that nothing is known of
    0x40, 0, 0, 2, 0, 9,                    // version 9, no members
    0x40, 0, 0, 10,                         // second, 10 bytes
    0xff, 0xff, 0xff, 0xff, b'B', 0,        // of another such class
    0, 1, 77, 78,                           // version 1 without a length, and something
];

#[test]
fn unknown_classes_are_skipped_by_their_length() {
    let objects = read("Pair", UNKNOWN).unwrap();
    let unread: Vec<_> = objects.unread_objects().collect();
    let classes: Vec<&str> = unread.iter().map(|object| object.class()).collect();
    assert_eq!(classes, ["A", "B"]);
    assert_eq!(unread[0].unread().unwrap().bytes[..], [0x40, 0, 0, 2, 0, 9]);
    assert_eq!(unread[1].unread().unwrap().bytes[..], [0, 1, 77, 78]);
    assert!(objects.root().unread().is_none());
    cut("Pair", UNKNOWN);
}

#[test]
fn a_pointer_into_unread_bytes_is_lost() {
    let lost = [0, 1, 0, 0, 0, 99, 5];
    let objects = read("Node", &lost).unwrap();
    assert_eq!(objects.root().member("next"), Some(&Value::Lost));
    let error = objects.root().pointed("next").unwrap_err();
    assert!(matches!(error.kind, ErrorKind::Unsupported(_)), "{error}");
    assert_eq!(objects.root().int("id").unwrap(), 5);
}

#[rustfmt::skip]
const SHELF: &[u8] = &[
    0x40, 0, 0, 19, 0, 1,           // Shelf, version 1
    0x40, 0, 0, 13, 0, 9,           // books: 13 bytes, version 9
    0, 0, 0, 2,                     // two of them
    2, b'a', b'b', 3, b'c', b'd', b'e',
];

#[test]
fn collections() {
    let objects = read("Shelf", SHELF).unwrap();
    let books = ["ab", "cde"].map(|book| Value::Text(Bytes::from_static(book.as_bytes())));
    assert_eq!(objects.root().member("books"), Some(&Value::List(books.to_vec())));
    cut("Shelf", SHELF);

    let mut too_long = [SHELF, &[0, 0]].concat();
    too_long[3] += 2;
    too_long[9] += 2;
    assert!(read("Shelf", &too_long).unwrap().root().unread().is_some());

    let mut member_wise = SHELF.to_vec();
    member_wise[10] = 0x40; // the flag in the collection's version, which strings never have
    assert!(read("Shelf", &member_wise).unwrap().root().unread().is_some());

    let mut evil = SHELF.to_vec();
    evil[12..16].copy_from_slice(&[0x7f, 0xff, 0xff, 0xff]); // two thousand million books
    assert!(read("Shelf", &evil).unwrap().root().unread().is_some());
}

#[test]
fn a_map_of_vectors() {
    #[rustfmt::skip]
    let map = [
        0x40, 0, 0, 32, 0, 1,       // Map, version 1
        0x40, 0, 0, 26, 0, 9,       // map: 26 bytes, version 9
        0, 0, 0, 2,                 // two pairs
        0, 0, 0, 5, 0, 0, 0, 0,     // 5: nothing
        0, 0, 0, 6, 0, 0, 0, 1,     // 6: one float
        0x40, 0, 0, 0,
    ];
    let objects = read("Map", &map).unwrap();
    let floats = |all: &[f32]| Value::Numbers(Numbers::F32(all.to_vec()));
    let pairs = vec![(Value::Int(5), floats(&[])), (Value::Int(6), floats(&[2.0]))];
    assert_eq!(objects.root().member("map"), Some(&Value::Map(pairs)));
    cut("Map", &map);
}

#[test]
fn objects_in_objects_without_end_are_refused() {
    let versions = [0, 1].repeat(1000);
    let error = read("Self", &versions).unwrap_err();
    assert!(matches!(error.kind, ErrorKind::Limit(_)), "{error}");
}

#[test]
fn more_objects_than_memory_are_refused() {
    let error = read("Many", &[0, 1, 0, 0]).unwrap_err();
    assert!(matches!(error.kind, ErrorKind::Limit(_)), "{error}");
}

#[rustfmt::skip]
const LIST: &[u8] = &[
    0x40, 0, 0, 39, 0, 5,                   // TList, version 5
    0, 1, 0, 0, 0, 0, 0, 0, 0, 0,           // TObject: version, identifier, bits
    1, b'l',                                // name
    0, 0, 0, 2,                             // two objects
    0, 0, 0, 0, 0,                          // none, option ""
    0xff, 0xff, 0xff, 0xff,                 // a new class, without a byte count
    b'T', b'D', b'a', b't', b'i', b'm', b'e', 0,
    1, 2, 3, 4,
    1, b'o',                                // option "o"
];

#[test]
fn a_list_with_options() {
    let mut list = LIST.to_vec();
    list[3] = (list.len() - 4) as u8;
    let objects = read("TList", &list).unwrap();
    let root = objects.root();
    let Some(Value::List(items)) = root.member("items") else { panic!("a list") };
    assert_eq!(items[0], Value::Null);
    let Value::Object(date) = items[1] else { panic!("an object") };
    assert_eq!(objects.get(date).int("fDatime").unwrap(), 0x0102_0304);
    cut("TList", &list);
}

/// `ClassDef(TH1L, 0)`: its version is 0, and no checksum follows. It was once looked for.
#[test]
fn version_zero_may_be_the_version() {
    let zero = vec![member("id", code::UCHAR, "UChar_t")];
    let streamers = Streamers::new(vec![info("Zero", 0, 0x0102_0304, zero)]);
    let read = |content: &[u8]| {
        let content = Bytes::copy_from_slice(content);
        read_object(&streamers, "Zero", &content, KEY_LEN, 1000).unwrap().root().int("id")
    };
    assert_eq!(read(&[0x40, 0, 0, 3, 0, 0, 7]), Ok(7));
    assert_eq!(read(&[0x40, 0, 0, 7, 0, 0, 1, 2, 3, 4, 7]), Ok(7), "with a checksum all the same");
}

#[test]
fn a_collection_at_a_key_has_no_header() {
    let strings = [0, 0, 0, 2, 1, b'a', 2, b'b', b'c'];
    let objects = read("vector<string>", &strings).unwrap();
    let text = |bytes: &'static [u8]| Value::Text(Bytes::from_static(bytes));
    let all = Value::List(vec![text(b"a"), text(b"bc")]);
    assert_eq!(objects.root().member("(elements)"), Some(&all));
    cut("vector<string>", &strings);
    let longer = [&strings[..], &[0]].concat();
    assert!(read("vector<string>", &longer).unwrap().root().unread().is_some());
}

#[test]
fn pairs_at_a_key_need_no_streamer_info() {
    #[rustfmt::skip]
    let pairs = [
        0, 0, 0, 1,                             // one pair
        0x40, 0, 0, 14, 0, 0,                   // 14 bytes, no version
        1, 2, 3, 4,                             // a checksum
        0, 0, 0, 7, 0x40, 0, 0, 0,              // 7, 2.0
    ];
    let objects = read("vector<pair<int,float> >", &pairs).unwrap();
    let Some(Value::List(all)) = objects.root().member("(elements)") else { panic!("no list") };
    let Value::Object(pair) = all[0] else { panic!("no pair") };
    assert_eq!(objects.get(pair).int("first"), Ok(7));
}

#[test]
fn arrays_of_strings_have_a_header() {
    let names =
        StreamerElement { array_len: 2, ..member("names", code::STRING + code::ARRAY, "TString") };
    let streamers = Streamers::new(vec![info("Names", 1, 1, vec![names])]);
    let content = [0x40, 0, 0, 12, 0, 1, 0x40, 0, 0, 6, 0, 1, 1, b'a', 1, b'b'];
    let content = Bytes::copy_from_slice(&content);
    let objects = read_object(&streamers, "Names", &content, KEY_LEN, 1000).unwrap();
    let text = |bytes: &'static [u8]| Value::Text(Bytes::from_static(bytes));
    let all = Value::List(vec![text(b"a"), text(b"b")]);
    assert_eq!(objects.root().member("names"), Some(&all));
}

/// A streamer info that said an array of two million arrays made as many values of no bytes.
#[test]
fn arrays_of_nothing_are_not_without_end() {
    let arrays = |array_len| StreamerElement {
        array_len,
        count_name: "n".into(),
        ..member("values", code::COUNTED + code::SHORT, "short*")
    };
    let read = |array_len, content: &'static [u8]| {
        let members = vec![member("n", code::COUNTER, "int"), arrays(array_len)];
        let streamers = Streamers::new(vec![info("Arrays", 1, 1, members)]);
        read_object(&streamers, "Arrays", &Bytes::from_static(content), KEY_LEN, 1000)
    };
    let nothing: &[u8] = &[0x40, 0, 0, 7, 0, 1, 0, 0, 0, 0, 1];
    let objects = read(3, nothing).unwrap();
    let Some(Value::List(all)) = objects.root().member("values") else { panic!("no list") };
    assert_eq!(all.len(), 3);
    let refused = read(1 << 21, nothing).map(|objects| objects.root().member("values").cloned());
    assert!(!matches!(refused, Ok(Some(Value::List(_)))), "{refused:?}");
}

#[test]
fn clones_that_bypass_their_streamer_come_member_by_member() {
    #[rustfmt::skip]
    let clones = [
        0x40, 0, 0, 41, 0, 4,                   // 41 bytes, version 4
        0, 1, 0, 0, 0, 0, 0, 0, 0x10, 0,        // TObject with the bit
        0,                                      // no name
        6, b'N', b'o', b'd', b'e', b';', b'1',
        0, 0, 0, 2, 0, 0, 0, 0,                 // two of them, from 0
        0, 0, 0, 0, 0, 0, 0, 0,                 // next: null, null
        7, 8,                                   // id
    ];
    let clones = [&clones[..3], &[clones.len() as u8 - 4], &clones[4..]].concat();
    let objects = read("TClonesArray", &clones).unwrap();
    let Some(Value::List(all)) = objects.root().member("items") else { panic!("no list") };
    let id = |value: &Value| match value {
        Value::Object(id) => objects.get(*id).int("id"),
        _ => panic!("no object"),
    };
    assert_eq!([id(&all[0]), id(&all[1])], [Ok(7), Ok(8)]);
    cut("TClonesArray", &clones);
}

fn read_leaving(class: &str, content: &[u8], opaque: &[&str]) -> Result<Objects> {
    let opaque = opaque.iter().map(|class| (*class).to_owned()).collect();
    let content = Bytes::copy_from_slice(content);
    read_object_at(&streamers(), class, Cursor::new(&content, 1000), KEY_LEN, &opaque)
}

#[test]
fn opaque_classes_are_left_as_bytes() {
    let whole = read_leaving("Point", POINT, &["Point"]).unwrap();
    assert_eq!(whole.root().unread().unwrap().bytes, POINT);
    assert_eq!(read_leaving("Point", POINT, &["Pair"]).unwrap(), read("Point", POINT).unwrap());
    let pair = read_leaving("Pair", UNKNOWN, &["B"]).unwrap();
    let second = pair.root().pointed("second").unwrap().unwrap();
    assert_eq!(second.unread().unwrap().bytes, &[0, 1, 77, 78][..]);
    // In place, where it says its length, and where it does not.
    let inner = [&[0x40, 0, 0, 8, 0, 1][..], &[0x40, 0, 0, 2, 0, 9]].concat();
    let inside = info("Box", 1, 9, vec![member("point", code::ANY, "Point")]);
    let streamers = Streamers::new(vec![inside, info("Point", 9, 10, Vec::new())]);
    let opaque = Opaque::from(["Point".to_owned()]);
    let read = |content: Vec<u8>| {
        let content = Bytes::from(content);
        read_object_at(&streamers, "Box", Cursor::new(&content, 0), KEY_LEN, &opaque).unwrap()
    };
    let found = read(inner.clone());
    let point = found.root().pointed("point").unwrap().unwrap();
    assert_eq!(point.unread().unwrap().bytes, inner[6..]);
    let unknown = read(vec![0x40, 0, 0, 4, 0, 1, 0, 9]);
    assert!(unknown.root().unread().unwrap().why.to_string().contains("of unknown length"));
}

#[test]
fn objects_know_whether_one_is_referred_to_twice() {
    assert!(read("Node", NODES).unwrap().are_shared());
    assert!(read("Node", &[0, 1, 0, 0, 0, 1, 7]).unwrap().are_shared());
    let mut alone = read("Node", &[0, 1, 0, 0, 0, 0, 7]).unwrap();
    assert!(!alone.are_shared());
    let root = alone.root().id;
    let members = alone.take_members(root);
    assert_eq!(members, [("next".into(), Value::Null), ("id".into(), Value::Uint(7))]);
    assert!(alone.take_members(root).is_empty());
}
