//! Columns of real files, against the formulas by which `testdata/make/objects.py` filled them.

use std::collections::BTreeMap;

use bytes::Bytes;
use farroot_rootfile::tree::{BranchId, Tree, interpret};
use farroot_rootfile::{Array, Codecs, File, Known, Numbers, Progress, Result};
use proptest::prelude::*;

use crate::support::columns;
use crate::support::feed;

const ENTRIES: i32 = 5;
const FILES: [&str; 4] = ["split.root", "members.root", "whole.root", "generated_offsets.root"];

fn testdata(name: &str) -> Bytes {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/");
    Bytes::from(std::fs::read(format!("{folder}{name}")).expect(name))
}

/// Type and column of each branch of `events`, by name.
type Columns = BTreeMap<String, (String, Result<Array>)>;

fn read(bytes: &Bytes) -> Columns {
    let mut known = Known::new(Some(bytes.len() as u64));
    let file = feed::until_ready(bytes, &mut known, File::open).unwrap();
    let tree = feed::until_ready(bytes, &mut known, |known| file.tree(known, "events")).unwrap();
    read_all(&tree, &file, bytes)
}

fn read_all(tree: &Tree, file: &File, bytes: &Bytes) -> Columns {
    let mut codecs = Codecs::new();
    (0..tree.branches.len())
        .map(|index| {
            let id = BranchId(index as u32);
            let typename = interpret::typename(tree, id, &file.classes);
            let column = columns::read_branch(tree, id, file, bytes, &mut codecs);
            (tree.branches[index].name.clone(), (typename, column))
        })
        .collect()
}

fn numbers(numbers: Numbers) -> Array {
    Array::Numbers { numbers, shape: Vec::new() }
}

/// `f(i)` for each entry.
fn each<T>(f: impl Fn(i32) -> T) -> Vec<T> {
    (0..ENTRIES).map(f).collect()
}

/// `len(i)` times `f(i, k)` for each entry.
fn jagged<T>(len: impl Fn(i32) -> i32, f: impl Fn(i32, i32) -> T) -> (Vec<i64>, Vec<T>) {
    let mut offsets = vec![0];
    let mut content = Vec::new();
    for i in 0..ENTRIES {
        content.extend((0..len(i)).map(|k| f(i, k)));
        offsets.push(content.len() as i64);
    }
    (offsets, content)
}

fn list<T>(
    len: impl Fn(i32) -> i32,
    f: impl Fn(i32, i32) -> T,
    wrap: impl Fn(Vec<T>) -> Numbers,
) -> Array {
    let (offsets, content) = jagged(len, f);
    Array::List { offsets: offsets.into(), content: Box::new(numbers(wrap(content))) }
}

fn strings(texts: Vec<String>) -> Array {
    let mut offsets = vec![0];
    let mut bytes = Vec::new();
    for text in texts {
        bytes.extend_from_slice(text.as_bytes());
        offsets.push(bytes.len() as i64);
    }
    Array::Strings { offsets, bytes }
}

fn point(x: Vec<f64>, y: Vec<f64>) -> Array {
    let entries = x.len();
    let fields =
        vec![("fX".into(), numbers(Numbers::F64(x))), ("fY".into(), numbers(Numbers::F64(y)))];
    Array::Record { class: Some("TVector2".into()), entries, fields }
}

fn inner(a: Vec<f32>) -> Array {
    let entries = a.len();
    let fields = vec![
        ("a".into(), numbers(Numbers::F32(a))),
        ("b".into(), numbers(Numbers::I32(vec![2; entries]))),
    ];
    Array::Record { class: Some("Inner".into()), entries, fields }
}

/// Streamed member by member.
fn parts() -> Array {
    let (offsets, p) = jagged(|i| i, |i, _| i as f32);
    let pairs = Numbers::I32(vec![0; 2 * p.len()]);
    let entries = p.len();
    let fields = vec![
        ("p".into(), numbers(Numbers::F32(p))),
        ("q".into(), Array::Numbers { numbers: pairs, shape: vec![2] }),
    ];
    let content = Box::new(Array::Record { class: Some("Part".into()), entries, fields });
    Array::List { offsets: offsets.into(), content }
}

#[track_caller]
fn assert_column(columns: &Columns, name: &str, typename: &str, expected: Array) {
    let (said, column) = &columns[name];
    assert_eq!(said, typename, "type of {name}");
    assert_eq!(column.as_ref(), Ok(&expected), "{name}");
}

/// The members of `Event` that are the same at every split level above 0.
fn assert_members(columns: &Columns) {
    let is = |name, typename, expected| assert_column(columns, name, typename, expected);
    let f64s = |f: fn(i32) -> f64| numbers(Numbers::F64(each(f)));
    is("n", "uint32_t", numbers(Numbers::U32(each(|i| i as u32))));
    is("x", "float[]", list(|i| i, |i, k| k as f32 + 0.5 * i as f32, Numbers::F32));
    let pairs = Numbers::I16([1, 2].repeat(ENTRIES as usize));
    is("y[2]", "int16_t[2]", Array::Numbers { numbers: pairs, shape: vec![2] });
    is("floats", "std::vector<float>", list(|i| i, |i, _| 1.25 * i as f32, Numbers::F32));
    is("bools", "std::vector<bool>", list(|i| i, |i, _| (i % 2) as u8, Numbers::Bool));
    is("text", "std::string", strings(each(|i| "q".repeat(100 * i as usize))));
    is("tstring", "TString", strings(each(|i| "z".repeat(i as usize))));
    let (offsets, texts) = jagged(|i| i, |i, _| "a".repeat(i as usize));
    let content = Box::new(strings(texts));
    is("texts", "std::vector<std::string>", Array::List { offsets: offsets.into(), content });
    is("widened", "float", f64s(|i| f64::from(i) / 4.0));
    let stepped = f64s(|i| (f64::from(i) / 5.0 * 409.6).round() * 10.0 / 4096.0);
    is("stepped", "Double32_t", stepped);
    is("truncated", "Float16_t", numbers(Numbers::F32(each(|i| i as f32 / 8.0))));
    is("flag", "bool", numbers(Numbers::Bool(each(|i| (i % 2) as u8))));
    is("letter", "int8_t", numbers(Numbers::I8(each(|i| b'a' as i8 + i as i8))));
    is("byte", "uint8_t", numbers(Numbers::U8(vec![200; ENTRIES as usize])));
    is("signed_long", "int64_t", numbers(Numbers::I64(each(|i| -i64::from(i)))));
    let large = numbers(Numbers::U64(each(|i| 10_000_000_000 * i as u64)));
    is("unsigned_long", "uint64_t", large);
    is("vector", "TVector2", point(each(f64::from), each(|i| 2.0 * f64::from(i))));
    let (offsets, x) = jagged(|i| i % 4, |i, _| f64::from(i));
    let content = Box::new(point(x.clone(), x.iter().map(|x| 2.0 * x).collect()));
    is("vectors", "std::vector<TVector2>", Array::List { offsets: offsets.into(), content });
}

#[test]
fn members_of_objects_split_once() {
    let columns = read(&testdata("members.root"));
    assert_members(&columns);
    // uproot takes the checksum of a class without a version for its first member.
    assert_column(&columns, "inner", "Inner", inner(vec![1.0; ENTRIES as usize]));
    // Two vectors an entry, the second with one object or none.
    let offsets: Vec<i64> = each(|i| i64::from(i) * 2).into_iter().chain([10]).collect();
    let objects = Array::List {
        offsets: vec![0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2].into(),
        content: Box::new(inner(vec![1.0; 2])),
    };
    let nested = Array::List { offsets: offsets.into(), content: Box::new(objects) };
    assert_column(&columns, "nested_inners", "std::vector<std::vector<Inner>>", nested);
    assert_column(&columns, "parts", "std::vector<Part>", parts());
}

#[test]
fn members_of_objects_split_to_the_end() {
    let columns = read(&testdata("split.root"));
    assert_members(&columns);
    let is = |name, typename, expected| assert_column(&columns, name, typename, expected);
    is("inner.a", "float", numbers(Numbers::F32(vec![1.0; ENTRIES as usize])));
    is("inners.b", "int32_t[]", list(|i| i % 3, |_, _| 2, Numbers::I32));
    is("parts.p", "float[]", list(|i| i, |i, _| i as f32, Numbers::F32));
    is("clones", "int32_t", numbers(Numbers::I32(each(|i| i))));
    is("clones.p", "float[]", list(|i| i, |_, k| k as f32, Numbers::F32));
    let (offsets, pairs) = jagged(|i| i, |i, _| [0, i]);
    let content = Numbers::I32(pairs.concat());
    let content = Box::new(Array::Numbers { numbers: content, shape: vec![2] });
    is("clones.q[2]", "int32_t[][2]", Array::List { offsets: offsets.into(), content });
    is("point", "TVector2", point(each(f64::from), each(|i| 2.0 * f64::from(i))));
    let group = columns["parts"].1.as_ref().unwrap_err();
    assert!(group.to_string().starts_with("parts: unsupported: group of 4"), "{group}");
}

#[test]
fn whole_objects() {
    let columns = read(&testdata("whole.root"));
    assert_column(&columns, "single", "Inner", inner(each(|i| i as f32)));
    let Ok(Array::Record { class: Some(class), entries: 5, fields }) = &columns["event"].1 else {
        panic!("not a record: {:?}", columns["event"])
    };
    assert_eq!(&**class, "Event");
    // The same event was split.
    let split = read(&testdata("members.root"));
    for (name, field) in fields {
        let (_, column) = split.get(name).or_else(|| split.get("y[2]")).expect(name);
        assert_eq!(column.as_ref(), Ok(field), "{name}");
    }
    assert_eq!(fields.len(), 23);
}

#[test]
fn offsets_that_are_not_stored() {
    let columns = read(&testdata("generated_offsets.root"));
    let is = |name, typename, expected| assert_column(&columns, name, typename, expected);
    is("n", "int32_t", numbers(Numbers::I32(each(|i| i))));
    is("x", "float[]", list(|i| i, |i, k| i as f32 + 0.5 * k as f32, Numbers::F32));
    is("vector", "std::vector<int16_t>", list(|i| i, |i, k| (10 * i + k) as i16, Numbers::I16));
    // uproot refuses this one.
    is("text", "std::string", strings(each(|i| "ab".repeat(i as usize))));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Nothing is compressed, so that every change reaches the decoder.
    #[test]
    fn any_change_gives_columns_or_errors(
        which in 0..FILES.len(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
    ) {
        let mut bytes = testdata(FILES[which]).to_vec();
        // Streamer infos lie at the end; most of the baskets in the first part.
        let reach = bytes.len() / if changes.len() % 2 == 0 { 1 } else { 8 };
        for (at, value) in changes {
            let at = at.index(reach);
            bytes[at] = value;
        }
        let bytes = Bytes::from(bytes);
        let mut known = Known::new(Some(bytes.len() as u64));
        known.supply(0, bytes.clone());
        let Ok(Progress::Ready(file)) = File::open(&known) else { return Ok(()) };
        let Ok(Progress::Ready(tree)) = file.tree(&known, "events") else { return Ok(()) };
        for (name, (_, column)) in read_all(&tree, &file, &bytes) {
            if let Ok(column) = column {
                prop_assert!(column.nbytes() < 1 << 20, "{name}: {} bytes", column.nbytes());
            }
        }
    }
}
