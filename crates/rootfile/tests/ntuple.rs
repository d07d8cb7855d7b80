//! RNTuples that ROOT wrote: every kind of field and of column, several clusters and groups,
//! fields that were added late; and the errors of wrong ones.

use bytes::Bytes;
use farroot_rootfile::{ErrorKind, File, Known, Progress, RequestSizes};

use crate::support::feed;
use crate::support::ntuple::{Opened, shown};

fn testdata(name: &str) -> Bytes {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/");
    Bytes::from(std::fs::read(format!("{folder}{name}")).expect(name))
}

/// Opens an RNTuple and all of its page lists, asking for every range that it needs.
fn open(bytes: &Bytes, path: &str) -> farroot_rootfile::Result<Opened> {
    let mut known = Known::new(Some(bytes.len() as u64));
    let file = feed::until_ready(bytes, &mut known, File::open)?;
    let ntuple = feed::until_ready(bytes, &mut known, |known| file.ntuple(known, path))?;
    Opened::of(bytes, known, ntuple, file.classes)
}

fn opened(name: &str) -> Opened {
    open(&testdata(name), "events").expect("a good file")
}

fn list<T: std::fmt::Display>(count: i64, item: impl Fn(i64) -> T) -> String {
    let items: Vec<String> = (0..count).map(|k| item(k).to_string()).collect();
    format!("[{}]", items.join(", "))
}

fn some(condition: bool, text: String) -> String {
    if condition { text } else { "null".into() }
}

/// A field and the values that `testdata/make/ntuples.py` wrote into it.
type Expected = (&'static str, fn(i64) -> String);

const NUMBERS: &[Expected] = &[
    ("flag", |n| (n % 3 == 0).to_string()),
    ("letter", |n| (i64::from(b'a') + n % 26).to_string()),
    ("byte", |n| n.to_string()),
    ("i8", |n| (n - 100).to_string()),
    ("u8", |n| ((n + 50) as u8).to_string()),
    ("i16", |n| (300 * (n - 100)).to_string()),
    ("u16", |n| (300 * n).to_string()),
    ("i32", |n| (10_000_019 * (n - 100)).to_string()),
    ("u32", |n| ((20_000_003 * n) as u32).to_string()),
    ("i64", |n| (90_000_000_000_000_007 * (n - 100)).to_string()),
    ("u64", |n| (90_000_000_000_000_009u64.wrapping_mul(n as u64)).to_string()),
    ("f32", |n| (n as f32 / 7.).to_string()),
    ("f64", |n| (-n as f64 / 7.).to_string()),
    ("atomic", |n| (-n).to_string()),
    ("colour", |n| if n % 2 == 1 { "3".into() } else { "-1".into() }),
    ("bits", |n| list(70, |k| (k < 8 && n >> k & 1 == 1) || (k == 69 && n % 2 == 1))),
    ("fixed", |n| list(3, |k| n + k)),
    ("matrix", |n| format!("[[{n}, {}], [{}, {}]]", -n, 2 * n, -2 * n)),
    ("hit.x", |n| (n as f32 * 1.5).to_string()),
    ("late", |n| if n < 60 { "0".into() } else { n.to_string() }),
];

const NESTED: &[Expected] = &[
    ("text", |n| {
        format!("{:?}", String::from((b'a' + (n % 26) as u8) as char).repeat(n as usize % 5))
    }),
    ("numbers", |n| list(n % 4, |k| n as f32 + k as f32 / 8.)),
    ("nested", |n| list(n % 4, |k| list(k, |_| n))),
    ("flags", |n| list(n % 4, |k| (n + k) % 2 == 1)),
    ("rvec", |n| list(n % 3, |k| k - n)),
    ("words", |n| list(n % 4, |k| format!("\"{}\"", n * k))),
    ("lists", |n| {
        let kept = if n % 3 == 0 { n - 1 } else { n };
        let second = if n == 0 { "[]".into() } else { list(kept % 3, |_| kept) };
        format!("[{}, {second}]", list((n + 1) % 2, |_| -n))
    }),
    ("set", |n| list(n % 4, |k| n - (n % 4 - 1 - k))),
    ("map", |n| list(n % 4, |k| format!("{{0: \"{k}\", 1: {n}}}"))),
    ("pair", |n| format!("{{0: {n}, 1: \"{n}\"}}")),
    ("tuple", |n| format!("{{0: {}, 1: {n}, 2: {}}}", 2 * n, n % 5 == 0)),
    ("maybe", |n| some(n % 3 != 0, n.to_string())),
    ("pointer", |n| list((n % 4).min(1), |_| n)),
    ("maybes", |n| list(n % 4, |k| some(k % 2 == 1, n.to_string()))),
    ("variant", |n| match n % 3 {
        0 => n.to_string(),
        1 => format!("\"{n}\""),
        _ => list(n % 4, |_| n),
    }),
    ("variants", |n| {
        list(n % 4, |k| if k % 2 == 1 { (n % 3 == 1).to_string() } else { format!("{n}.25") })
    }),
    ("hit", |n| format!("{{x: {}, id: {}}}", n as f32 * 1.5, -n)),
    ("hits", |n| list(n % 4, |k| format!("{{x: {n}.5, id: {k}}}"))),
    ("hits.id", |n| list(n % 4, |k| k)),
    ("both.track", |n| {
        let hits = list(n % 3, |k| format!("{{x: {}, id: {k}}}", -(n as f32)));
        let weight = n as f64 / 3.;
        format!("{{number: {}, hits: {hits}, Base::number: {n}, weight: {weight}}}", -n)
    }),
    ("both.track.hits.x", |n| list(n % 3, |_| -(n as f32))),
    ("both.two.name", |n| format!("\"n{n}\"")),
    ("later", |n| if n < 60 { "[]".into() } else { list(n % 2, |_| n) }),
];

fn check(opened: &Opened, expected: &[Expected]) {
    for (path, value) in expected {
        let array = opened.field(path).unwrap_or_else(|error| panic!("{path}: {error}"));
        assert_eq!(array.len() as u64, opened.ntuple.entries, "{path}");
        for row in 0..array.len() {
            assert_eq!(shown(&array, row), value(row as i64), "{path}, entry {row}");
        }
    }
}

#[test]
fn every_kind_of_field() {
    for file in ["ntuple_fields.root", "ntuple_plain.root"] {
        let opened = opened(file);
        assert_eq!(opened.ntuple.entries, 200);
        assert_eq!((opened.clusters.len(), opened.ntuple.groups.len()), (5, 3));
        assert_eq!(opened.ntuple.schema.description, "every kind of field");
        check(&opened, NUMBERS);
        check(&opened, NESTED);
    }
}

#[test]
fn any_run_of_entries_is_that_part_of_the_whole() {
    let opened = opened("ntuple_fields.root");
    for (path, _) in NUMBERS.iter().chain(NESTED) {
        let how = opened.interpretation(path).expect(path);
        let whole = opened.entries(&how, 0..200).expect(path);
        for entries in [0..1, 3..40, 39..41, 41..42, 45..110, 57..64, 150..151, 160..200, 7..7] {
            let part = opened.entries(&how, entries.clone()).expect(path);
            let slice = whole.slice(entries.start as usize..entries.end as usize);
            assert_eq!(part, slice, "{path}, {entries:?}");
        }
    }
}

#[test]
fn only_pages_with_wanted_elements_are_needed() {
    let opened = opened("ntuple_fields.root");
    let pages = |path: &str, entries| {
        let how = opened.interpretation(path).expect(path);
        how.pages(&opened.clusters[1], entries).expect(path).len()
    };
    assert!(pages("f64", 0..40) >= 3, "small pages");
    assert_eq!(pages("f64", 0..1), 1);
    assert_eq!(pages("f64", 5..5), 0);
    assert!(pages("numbers", 0..1) >= 3, "offsets, and all items");
}

#[test]
fn names_are_those_of_uproot() {
    let opened = opened("ntuple_fields.root");
    let paths: Vec<&str> = opened.names.all().iter().map(|named| &*named.path).collect();
    let from = paths.iter().position(|path| *path == "map").expect("a map");
    let expected = "map map.0 map.1 hit hit.x hit.id hits hits.x hits.id both both.track \
                    both.track.Base::number both.track.weight both.track.number both.track.hits \
                    both.track.hits.x both.track.hits.id both.two both.two.number both.two.weight \
                    both.two.name late later";
    assert_eq!(paths[from..].join(" "), expected.split_whitespace().collect::<Vec<_>>().join(" "));
}

fn real(path: &str) -> Vec<f64> {
    let numbers = match opened("ntuple_columns.root").field(path).expect(path) {
        farroot_rootfile::Array::Numbers { numbers, .. } => numbers,
        other => panic!("{path}: {other:?}"),
    };
    match numbers {
        farroot_rootfile::Numbers::F32(all) => all.into_iter().map(f64::from).collect(),
        farroot_rootfile::Numbers::F64(all) => all,
        other => panic!("{path}: {other:?}"),
    }
}

#[test]
fn every_way_to_store_a_column() {
    const COLUMNS: &[Expected] = &[
        ("Int16", |n| (301 * (n - 50)).to_string()),
        ("SplitInt16", |n| (301 * (n - 50)).to_string()),
        ("UInt16", |n| (601 * n).to_string()),
        ("SplitUInt16", |n| (601 * n).to_string()),
        ("Int32", |n| (40_000_019 * (n - 50)).to_string()),
        ("SplitInt32", |n| (40_000_019 * (n - 50)).to_string()),
        ("UInt32", |n| (40_000_019 * n).to_string()),
        ("SplitUInt32", |n| (40_000_019 * n).to_string()),
        ("Int64", |n| (100_000_000_000_000_007 * (n - 50)).to_string()),
        ("SplitInt64", |n| (100_000_000_000_000_007 * (n - 50)).to_string()),
        ("UInt64", |n| (180_000_000_000_000_009 * n as u64).to_string()),
        ("SplitUInt64", |n| (180_000_000_000_000_009 * n as u64).to_string()),
        ("Real32", |n| ((n - 50) as f32 * 3.7).to_string()),
        ("SplitReal32", |n| ((n - 50) as f32 * 3.7).to_string()),
        ("Real64", |n| ((n - 50) as f64 * 3.7).to_string()),
        ("SplitReal64", |n| ((n - 50) as f64 * 3.7).to_string()),
        ("double32", |n| (((n - 50) as f64 * 3.7) as f32).to_string()),
        ("Index32", |n| list(n % 3, |_| n)),
        ("SplitIndex32", |n| list(n % 3, |_| n)),
        ("Index64", |n| list(n % 3, |_| n)),
        ("SplitIndex64", |n| list(n % 3, |_| n)),
        ("string", |n| format!("\"{n}\"")),
        ("n", |n| (n % 4).to_string()),
        ("xs", |n| list(n % 4, |_| n as f32 * 0.5)),
    ];
    check(&opened("ntuple_columns.root"), COLUMNS);
    let exact = |n: usize| (n as f64 - 50.0) * 3.7;
    let within = |path: &str, off: &dyn Fn(f64) -> f64| {
        for (n, value) in real(path).into_iter().enumerate() {
            let difference = (value - exact(n)).abs();
            assert!(difference <= off(exact(n).abs()), "{path}, entry {n}: {value}");
        }
    };
    within("Real16", &|size| size / 2048.0);
    for (bits, path) in [(10, "Trunc10"), (17, "Trunc17"), (24, "Trunc24"), (31, "Trunc31")] {
        within(path, &|size| size / f64::from(1 << (bits - 9)).min(8e6) + 1e-5);
    }
    for (bits, path) in [(1, "Quant1"), (7, "Quant7"), (16, "Quant16"), (20, "Quant20")] {
        within(path, &|_| 400.0 / f64::from((1 << bits) - 1) / 2.0 + 2e-5);
    }
    within("Quant29", &|_| 2e-5);
    within("Quant32", &|_| 2e-5);
}

#[test]
fn objects_in_the_streamer_form() {
    let opened = opened("ntuple_streamed.root");
    check(
        &opened,
        &[("number", |n| n.to_string()), ("object", |_| "{fName: \"\", fTitle: \"\"}".into())],
    );
}

#[test]
fn a_streamed_field_of_an_unknown_class_is_named_and_leaves_the_others() {
    let mut opened = opened("ntuple_streamed.root");
    let object = &mut opened.ntuple.schema.fields[1];
    assert_eq!(object.name, "object");
    object.typename = "Nobody".into();
    let error = opened.field("object").expect_err("is not read");
    assert!(matches!(error.kind, ErrorKind::Unsupported(_)), "{error}");
    assert!(error.to_string().contains("Nobody") && error.path == "object", "{error}");
    check(&opened, &[("number", |n| n.to_string())]);
}

/// The records that ROOT writes last come with the key list, and a short header with the first
/// bytes.
#[test]
fn opening_takes_as_few_steps_as_the_file_allows() {
    let bytes = testdata("ntuple_columns.root");
    let sizes = RequestSizes { head: 4 << 10, flight: 180 << 10 };
    let mut known = Known::new(None).asking_for(sizes);
    let mut steps = 0;
    let mut feed = |known: &mut Known, needs: farroot_rootfile::Needs| {
        steps += 1;
        for range in needs.required.into_iter().chain(needs.speculative) {
            known.supply(range.start, bytes.slice(range.start as usize..range.end as usize));
        }
    };
    let file = loop {
        match File::open(&known).expect("a good file") {
            Progress::Ready(file) => break file,
            Progress::NeedsData(needs) => feed(&mut known, needs),
        }
    };
    let ntuple = loop {
        match file.ntuple(&known, "events").expect("a good ntuple") {
            Progress::Ready(ntuple) => break ntuple,
            Progress::NeedsData(needs) => feed(&mut known, needs),
        }
    };
    assert!(matches!(ntuple.clusters(&known, 0..1), Ok(Progress::Ready(_))));
    assert_eq!(steps, 2);
}

#[test]
fn groups_are_found_by_entry() {
    let ntuple = opened("ntuple_fields.root").ntuple;
    let found = [0..1, 0..200, 79..81, 80..160, 160..161, 199..500, 200..300, 5..5];
    let groups = found.map(|entries| ntuple.groups_of(&entries));
    assert_eq!(groups, [0..1, 0..3, 0..2, 1..2, 2..3, 2..3, 3..3, 0..1]);
}

#[test]
fn a_tree_is_no_ntuple() {
    let error = open(&testdata("plain.root"), "events").err().expect("not an RNTuple");
    assert!(error.to_string().contains("TTree, not an RNTuple"), "{error}");
}

/// Reads all fields; gives the first error.
fn read_all(bytes: &Bytes) -> Result<(), farroot_rootfile::Error> {
    let opened = open(bytes, "events")?;
    for named in opened.names.all() {
        opened.field(&named.path)?;
    }
    Ok(())
}

#[test]
fn no_wrong_byte_of_the_metadata_changes_what_they_say() {
    let good = testdata("ntuple_fields.root");
    let opened = opened("ntuple_fields.root");
    let anchor = &opened.ntuple.anchor;
    let mut links = vec![anchor.header.range.clone(), anchor.footer.range.clone()];
    links.extend(opened.ntuple.groups.iter().map(|group| group.page_list.range.clone()));
    for range in links {
        for at in range.step_by(7) {
            let mut bad = good.to_vec();
            bad[at as usize] ^= 0x20;
            // A few bits of compressed data mean nothing.
            if let Ok(bad) = open(&bad.into(), "events") {
                assert_eq!(bad.ntuple, opened.ntuple, "byte {at}");
                assert_eq!(bad.clusters, opened.clusters, "byte {at}");
            }
        }
    }
}

#[test]
fn every_wrong_page_is_found() {
    let good = testdata("ntuple_fields.root");
    let opened = opened("ntuple_fields.root");
    let how = opened.interpretation("nested").expect("a good field");
    for cluster in &opened.clusters {
        let all = cluster.entries.end - cluster.entries.start;
        for page in how.pages(cluster, 0..all).expect("good pages") {
            let mut bad = good.to_vec();
            bad[page.page.range.start as usize] ^= 1;
            let bad = open(&bad.into(), "events").expect("metadata are as they were");
            let error = bad.field("nested").expect_err("a wrong page");
            assert!(matches!(error.kind, ErrorKind::Checksum(_)), "{error}");
        }
    }
}

/// Without checksums of pages, wrong bytes reach the code that reads offsets and tags.
#[test]
fn wrong_bytes_in_pages_are_survived() {
    let good = testdata("ntuple_plain.root");
    read_all(&good).expect("a good file");
    let opened = opened("ntuple_plain.root");
    let start = opened.ntuple.anchor.header.range.end;
    for at in (start..opened.ntuple.groups[0].page_list.range.start).step_by(61) {
        let mut bad = good.to_vec();
        bad[at as usize..][..8].copy_from_slice(&[0xff; 8]);
        let _ = read_all(&bad.into());
    }
}

#[test]
fn a_cut_file_is_an_error() {
    let good = testdata("ntuple_fields.root");
    for len in (0..good.len()).step_by(997) {
        let mut known = Known::new(Some(len as u64));
        known.supply(0, good.slice(..len));
        let ntuple = match File::open(&known) {
            Ok(Progress::Ready(file)) => file.ntuple(&known, "events").map(drop),
            Ok(Progress::NeedsData(_)) => continue,
            Err(_) => continue,
        };
        assert!(ntuple.is_err(), "{len} bytes");
    }
}

/// Writers with a longest record split longer content into several records.
#[test]
fn envelopes_in_several_records() {
    let file = testdata("ntuple_records.root");
    let opened = open(&file, "events").expect("a good file");
    assert_eq!(opened.ntuple.anchor.max_key_size, 600);
    let links = [&opened.ntuple.anchor.header, &opened.ntuple.anchor.footer];
    let lengths = links.map(|link| link.range.end - link.range.start);
    assert!(lengths[0] > 1200, "{lengths:?}");
    let groups = opened.ntuple.groups.iter().map(|group| &group.page_list.range);
    assert!(groups.map(|range| range.end - range.start).all(|length| length > 600));
    let x = opened.field("x").unwrap();
    let lists = opened.field("lists").unwrap();
    for n in 0..100 {
        assert_eq!(shown(&x, n as usize), n.to_string());
        assert_eq!(shown(&lists, n as usize), list(n % 4, |k| n + k));
    }
}
