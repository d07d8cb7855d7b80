//! Trees that are written, as this crate's reader sees them.

use std::sync::Arc;

use bytes::Bytes;
use farroot_rootfile::tree::{BranchId, Tree};
use farroot_rootfile::write::tree::{ClusterSize, Jagged, TextBranch, TreeOptions, TreeWriter};
use farroot_rootfile::write::{
    Compression, DirectoryId, EntryType, TableColumn, TableWriter, check,
};
use farroot_rootfile::{Array, Codecs, File, Known, Numbers};

use crate::support::columns;
use crate::support::feed;
use crate::support::made_up::{self, Dice, array, branches, pieces};
use crate::support::written::{self, Written};

/// The file of a tree `events`, whose entries are added `step` at a time.
fn tree_file(
    columns: &[TableColumn],
    arrays: &[Array],
    options: &TreeOptions,
    step: usize,
    seed: u64,
) -> Bytes {
    let mut file = written::file();
    let writer = TreeWriter::new(columns.to_vec(), options.clone()).unwrap();
    let table = file.add_table(DirectoryId::TOP, "events", Box::new(writer));
    let mut written = Written::new(file, seed);
    for piece in pieces(arrays, step) {
        written.file.extend(table, piece).unwrap();
        if seed.is_multiple_of(2) {
            written.drive();
        }
    }
    written.finish()
}

struct Opened {
    file: File,
    tree: Tree,
    bytes: Bytes,
}

impl Opened {
    fn new(bytes: Bytes) -> Self {
        let findings = check::check(&bytes);
        assert!(findings.is_empty(), "{findings:?}");
        let mut known = Known::new(Some(bytes.len() as u64));
        let file = feed::until_ready(&bytes, &mut known, File::open).unwrap();
        let tree = feed::until_ready(&bytes, &mut known, |known| file.tree(known, "events"));
        Opened { file, tree: tree.unwrap(), bytes }
    }

    fn column(&self, name: &str) -> Array {
        let at = self.tree.branches.iter().position(|branch| branch.name == name).expect(name);
        let id = BranchId(at as u32);
        columns::read_branch(&self.tree, id, &self.file, &self.bytes, &mut Codecs::new()).unwrap()
    }
}

fn column(name: &str, entry: EntryType) -> TableColumn {
    TableColumn { name: name.into(), title: String::new(), entry }
}

fn floats(numbers: Vec<f32>) -> Array {
    Array::Numbers { numbers: Numbers::F32(numbers), shape: vec![] }
}

fn ints(numbers: Vec<i32>) -> Array {
    Array::Numbers { numbers: Numbers::I32(numbers), shape: vec![] }
}

fn lists(offsets: Vec<i64>, content: Array) -> Array {
    Array::List { offsets: offsets.into(), content: Box::new(content) }
}

fn columns_of(arrays: &[(&str, Array)]) -> (Vec<TableColumn>, Vec<Array>) {
    let columns = arrays.iter().map(|(name, array)| column(name, EntryType::of(array).unwrap()));
    (columns.collect(), arrays.iter().map(|(_, array)| array.clone()).collect())
}

#[test]
fn seeded_types_are_read_as_they_were_written() {
    for seed in 0..100 {
        let mut dice = Dice::new(seed);
        let columns = made_up::columns(&mut dice);
        let entries = [0, 1, 7, 300][dice.roll(4)];
        let arrays: Vec<_> =
            columns.iter().map(|column| array(&mut dice, &column.entry, entries)).collect();
        let options = TreeOptions {
            jagged: if dice.roll(2) == 0 { Jagged::Counter } else { Jagged::Vector },
            text: if dice.roll(2) == 0 { TextBranch::Leaf } else { TextBranch::StdString },
            cluster: match dice.roll(3) {
                0 => ClusterSize::Bytes(2000),
                1 => ClusterSize::Entries(50),
                _ => ClusterSize::Bytes(30_000_000),
            },
            basket_bytes: [100, 5000, 1 << 20][dice.roll(3)],
            compression: Compression::of_number([0, 101, 404, 505][dice.roll(4)]).unwrap(),
            ..TreeOptions::default()
        };
        let bytes = tree_file(&columns, &arrays, &options, 300, seed);
        for (step, seed) in [(1, 2 * seed), (70, seed + 1), (300, seed + 2)] {
            let again = tree_file(&columns, &arrays, &options, step, seed);
            assert!(again == bytes, "seed {seed}, {step} entries at a time");
        }
        let opened = Opened::new(bytes);
        assert_eq!(opened.tree.entries, entries as u64);
        for (column, array) in columns.iter().zip(&arrays) {
            for (name, wanted) in branches(&column.name, array) {
                assert_eq!(opened.column(&name), wanted, "seed {seed}: {name}");
            }
        }
    }
}

#[test]
fn vectors_of_all_lengths_are_read_as_they_were_written() {
    let lengths = || (0..40).chain([0, 0, 1, 7]);
    let ends = lengths().scan(0, |end, length| {
        *end += length;
        Some(*end)
    });
    let offsets: Vec<i64> = std::iter::once(0).chain(ends).collect();
    let count = offsets[offsets.len() - 1];
    let numbers = [
        Numbers::U8((0..count).map(|n| n as u8).collect()),
        Numbers::I16((0..count).map(|n| 7 * n as i16 - 900).collect()),
        Numbers::F32((0..count).map(|n| n as f32 / 7.0).collect()),
        Numbers::F64((0..count).map(|n| n as f64 / -7.0).collect()),
    ];
    let content = |numbers| Array::Numbers { numbers, shape: vec![] };
    let arrays = numbers.map(|numbers| lists(offsets.clone(), content(numbers)));
    let names = ["bytes", "shorts", "singles", "doubles"];
    let named: Vec<_> = names.into_iter().zip(arrays).collect();
    let (columns, arrays) = columns_of(&named);
    let options = TreeOptions { jagged: Jagged::Vector, ..TreeOptions::default() };
    let opened = Opened::new(tree_file(&columns, &arrays, &options, 300, 1));
    for (column, array) in columns.iter().zip(arrays) {
        assert_eq!(opened.column(&column.name), array, "{}", column.name);
    }
}

#[test]
fn columns_share_the_counter_that_they_name() {
    let offsets = vec![0, 2, 2, 5];
    let (columns, arrays) = columns_of(&[
        ("Muon_pt", lists(offsets.clone(), floats(vec![1.0, 2.0, 3.0, 4.0, 5.0]))),
        ("Muon_q", lists(offsets.clone(), ints(vec![1, -1, 1, -1, 1]))),
        ("nMuon", ints(vec![2, 0, 3])),
        ("Jet_pt", lists(vec![0, 0, 1, 1], floats(vec![7.0]))),
    ]);
    let options = TreeOptions { counter_name: "n{stem}".into(), ..TreeOptions::default() };
    let opened = Opened::new(tree_file(&columns, &arrays, &options, 3, 1));
    let names: Vec<_> = opened.tree.branches.iter().map(|branch| &*branch.name).collect();
    assert_eq!(names, ["nMuon", "Muon_pt", "Muon_q", "nJet", "Jet_pt"]);
    assert_eq!(opened.tree.branches[0].leaves[0].maximum, 3);
    assert_eq!(opened.tree.branches[1].title, "Muon_pt[nMuon]/F");
    for (column, array) in columns.iter().zip(arrays) {
        assert_eq!(opened.column(&column.name), array);
    }
}

#[test]
fn lists_that_disagree_with_their_counter_are_refused() {
    let (columns, arrays) = columns_of(&[
        ("a_x", lists(vec![0, 2, 3], floats(vec![1.0; 3]))),
        ("a_y", lists(vec![0, 1, 3], floats(vec![1.0; 3]))),
    ]);
    let options = TreeOptions { counter_name: "n{stem}".into(), ..TreeOptions::default() };
    let mut file = written::file();
    let writer = TreeWriter::new(columns, options).unwrap();
    let table = file.add_table(DirectoryId::TOP, "events", Box::new(writer));
    let error = file.extend(table, arrays.into_iter().map(Arc::new).collect()).unwrap_err();
    assert_eq!(error.path, "events/a_y");
    assert!(error.to_string().contains("\"na\""), "{error}");
}

#[test]
fn what_a_tree_does_not_hold_is_refused() {
    let number = || EntryType::of(&ints(vec![])).unwrap();
    let refused = [
        vec![],
        vec![column("", number())],
        vec![column("x[3]", number())],
        vec![column("x", number()), column("x", number())],
        vec![column("x", EntryType::Record(vec![]))],
        vec![column("x", EntryType::Option(Box::new(number())))],
        vec![column("x", EntryType::Union(vec![number(), EntryType::String]))],
        vec![column("x", EntryType::Regular { length: 0, content: Box::new(number()) })],
        vec![column("x", EntryType::List(Box::new(number()))), column("nx", EntryType::String)],
    ];
    for columns in refused {
        let error = TreeWriter::new(columns.clone(), TreeOptions::default()).unwrap_err();
        assert!(error.to_string().contains("unsupported"), "{columns:?}: {error}");
    }
}

#[test]
fn clusters_have_a_size_that_the_tree_says() {
    let count = 40_000;
    let mut dice = Dice::new(5);
    let noise = (0..count).map(|_| dice.roll(1 << 30) as f32).collect();
    let (columns, arrays) = columns_of(&[("x", floats(noise)), ("y", ints((0..count).collect()))]);
    for cluster in [ClusterSize::Bytes(60_000), ClusterSize::Entries(9_000)] {
        let options = TreeOptions { cluster, ..TreeOptions::default() };
        let bytes = tree_file(&columns, &arrays, &options, 1000, 1);
        assert!(bytes == tree_file(&columns, &arrays, &options, 40_000, 2));
        let opened = Opened::new(bytes);
        let starts = &opened.tree.cluster_starts;
        let size = starts[1];
        assert!((5_000..15_000).contains(&size), "{starts:?}");
        assert!(starts.windows(2).all(|pair| pair[1] - pair[0] == size), "{starts:?}");
        for branch in &opened.tree.branches {
            let begins: Vec<_> = branch.baskets.iter().map(|basket| basket.entries.start).collect();
            assert_eq!(&begins, starts, "one basket a cluster");
        }
    }
}

#[test]
fn branches_are_compressed_as_each_was_told() {
    let entries = 1000;
    let (columns, arrays) =
        columns_of(&[("x", ints(vec![7; entries])), ("y", ints(vec![7; entries]))]);
    let options = TreeOptions { cluster: ClusterSize::Entries(1000), ..TreeOptions::default() };
    let mut writer = TreeWriter::new(columns, options).unwrap();
    let zlib = Compression::of_number(105).unwrap();
    writer.set_compression(None, zlib).unwrap();
    writer.set_compression(Some(1), Compression::NONE).unwrap();
    assert!(writer.set_compression(Some(2), zlib).is_err());
    let mut file = written::file();
    let table = file.add_table(DirectoryId::TOP, "events", Box::new(writer));
    let mut written = Written::new(file, 1);
    let arrays = arrays.into_iter().map(Arc::new).collect();
    written.file.extend(table, arrays).unwrap();
    assert!(written.file.set_table_compression(table, None, zlib).is_err(), "after entries");
    let opened = Opened::new(written.finish());
    let told = opened.tree.branches.iter().map(|branch| (branch.compress, branch.zip_bytes));
    let told: Vec<_> = told.collect();
    assert!(matches!(told[..], [(105, ..200), (0, 4000..)]), "{told:?}");
    assert_eq!(opened.column("x"), opened.column("y"));
}

/// A hundred thousand entries one by one once took memory and time for each of the arrays.
#[test]
fn entries_can_be_added_one_by_one() {
    let count = 100_000;
    let offsets: Vec<i64> = (0..=count).map(|n| n / 2).collect();
    let numbers = (0..count / 2).map(|n| n as f32).collect();
    let (columns, arrays) = columns_of(&[
        ("x", lists(offsets, floats(numbers))),
        ("y", ints((0..count as i32).collect())),
    ]);
    let options = TreeOptions::default();
    let whole = tree_file(&columns, &arrays, &options, 100_000, 2);
    assert!(tree_file(&columns, &arrays, &options, 1, 2) == whole);
}

#[test]
fn an_entry_of_many_bytes_and_a_long_text() {
    let numbers: Vec<f32> = (0..400_000).map(|n| n as f32).collect();
    let offsets = vec![0, 1, 300_001, 300_002, 400_000];
    let texts =
        Array::Strings { offsets: vec![0, 0, 254, 554, 100_000], bytes: vec![b'x'; 100_000] };
    let (columns, arrays) =
        columns_of(&[("big", lists(offsets, floats(numbers))), ("text", texts)]);
    let options = TreeOptions { cluster: ClusterSize::Bytes(1000), ..TreeOptions::default() };
    let opened = Opened::new(tree_file(&columns, &arrays, &options, 4, 1));
    for (column, array) in columns.iter().zip(arrays) {
        assert_eq!(opened.column(&column.name), array);
    }
}

#[test]
fn names_may_have_any_characters() {
    let names = ["a.b", "a b", "µ/π", "-", "n", "ends.", &"long".repeat(100)];
    let named: Vec<_> =
        names.iter().map(|name| (*name, lists(vec![0, 2, 3], ints(vec![1, 2, 3])))).collect();
    let (columns, arrays) = columns_of(&named);
    let opened = Opened::new(tree_file(&columns, &arrays, &TreeOptions::default(), 2, 1));
    for (column, array) in columns.iter().zip(arrays) {
        assert_eq!(opened.column(&column.name), array, "{}", column.name);
    }
}
