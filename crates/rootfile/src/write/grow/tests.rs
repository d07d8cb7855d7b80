//! Tables of a file of this crate that grow, read back.

use std::sync::Arc;

use bytes::Bytes;

use super::*;
use crate::array::{Array, Number, Numbers};
use crate::write::check::{Severity, check};
use crate::write::copy::{SourceNTuple, SourceTree};
use crate::write::file::tests::{opened, options, written};
use crate::write::ntuple::{RNTupleOptions, RNTupleWriter};
use crate::write::tree::{ClusterSize, Jagged, TreeOptions};
use crate::write::{
    Compression, DirectoryId, Encoders, EntryType, Existing, FileWriter, TableColumn, TableId,
    TableWriter, Write,
};
use crate::{File, Known, Progress};

fn ready<T>(progress: crate::Result<Progress<T>>) -> T {
    match progress.unwrap() {
        Progress::Ready(value) => value,
        Progress::NeedsData(needs) => panic!("all is there: {needs:?}"),
    }
}

fn column(name: &str, entry: EntryType) -> TableColumn {
    TableColumn { name: name.into(), title: String::new(), entry }
}

fn number() -> EntryType {
    EntryType::Number(Number::I32)
}

/// Entries `first..first + 3` of a column of numbers and of one of lists.
fn entries(first: i32) -> Vec<Arc<Array>> {
    let lists = Array::List {
        offsets: vec![0, 1, 1, 3].into(),
        content: Box::new(numbers(vec![first, first + 1, first + 2])),
    };
    vec![Arc::new(numbers(vec![first, first + 1, first + 2])), Arc::new(lists)]
}

fn numbers(numbers: Vec<i32>) -> Array {
    Array::Numbers { numbers: Numbers::I32(numbers), shape: Vec::new() }
}

/// The arrays of a table, in which the tree has the branch that counts the lists.
fn arrays(table: usize, jagged: Jagged, counts: &[i32], first: Vec<Arc<Array>>) -> Vec<Arc<Array>> {
    let mut all = first;
    if table == 0 && jagged == Jagged::Counter {
        all.insert(1, Arc::new(numbers(counts.to_vec())));
    }
    all
}

fn columns() -> Vec<TableColumn> {
    vec![column("x", number()), column("l", EntryType::List(Box::new(number())))]
}

fn tree_options() -> TreeOptions {
    let compression = Compression::NONE;
    TreeOptions { compression, cluster: ClusterSize::Entries(2), ..TreeOptions::default() }
}

fn encode(file: &mut FileWriter, mut write: impl FnMut(Write)) {
    loop {
        while let Some(bytes) = file.poll_write().unwrap() {
            write(bytes);
        }
        let Some((number, work)) = file.poll_work() else { return };
        file.complete(number, work.encode.encode(&mut Encoders::default()).unwrap());
    }
}

fn apply(bytes: &mut Vec<u8>, write: &Write) {
    let start = write.offset as usize;
    let end = start + write.bytes.len();
    bytes.resize(bytes.len().max(end), 0);
    bytes[start..end].copy_from_slice(&write.bytes);
}

/// A file with a tree and an RNTuple of three entries.
fn first(jagged: Jagged) -> Bytes {
    let mut file = FileWriter::new(options()).unwrap();
    let tree = TreeOptions { jagged, ..tree_options() };
    let tree = Box::new(GrowingTree::new(columns(), tree).unwrap());
    let ntuple = Box::new(RNTupleWriter::new(columns(), RNTupleOptions::default()).unwrap());
    let mut bytes = Vec::new();
    for (name, table) in [("t", tree as Box<dyn TableWriter>), ("n", ntuple)] {
        let table = file.add_table(DirectoryId::TOP, name, table);
        file.extend(table, entries(0)).unwrap();
    }
    file.close();
    encode(&mut file, |write| apply(&mut bytes, &write));
    bytes.into()
}

/// The file, with its tree and its RNTuple open for more.
fn reopened(bytes: &Bytes) -> (FileWriter, [TableId; 2]) {
    let (file, known) = opened(bytes);
    let mut writer = FileWriter::reopen(ready(Existing::read(&known)), 10).unwrap();
    let tree = tree_of(&file, &known).unwrap();
    let ntuple = ntuple_of(&file, &known).unwrap();
    let options = RNTupleOptions::default();
    let ntuple = GrowingNTuple::of_existing(ntuple, &file.classes, options).unwrap();
    let tables = [
        writer.grow_table(DirectoryId::TOP, "t", 1, Box::new(tree)),
        writer.grow_table(DirectoryId::TOP, "n", 1, Box::new(ntuple)),
    ];
    (writer, tables)
}

fn tree_of(file: &File, known: &Known) -> crate::Result<GrowingTree> {
    let key = file.top.key("t", None).unwrap();
    GrowingTree::of_existing(ready(SourceTree::read(file, known, key)), tree_options())
}

fn ntuple_of(file: &File, known: &Known) -> crate::Result<SourceNTuple> {
    let key = file.top.key("n", None).unwrap();
    SourceNTuple::read(file, known, key).map(|read| ready(Ok(read)))
}

/// The entries of the tree and of the RNTuple, and the numbers of their branches and columns.
fn counts(bytes: &Bytes) -> ([u64; 2], [usize; 2]) {
    let (file, known) = opened(bytes);
    let tree = ready(SourceTree::read(&file, &known, file.top.key("t", None).unwrap()));
    let ntuple = ntuple_of(&file, &known).unwrap();
    let columns = ntuple.ntuple.schema.columns.len();
    ([tree.tree.entries, ntuple.ntuple.entries], [tree.tree.branches.len(), columns])
}

/// Whatever happens before the last write: the file has the old tables or the new ones.
#[test]
fn every_part_of_the_writes_leaves_whole_tables() {
    for jagged in [Jagged::Counter, Jagged::Vector] {
        let old = first(jagged);
        let (mut file, tables) = reopened(&old);
        for (at, table) in tables.into_iter().enumerate() {
            let of = |entries| arrays(at, jagged, &[1, 0, 2], entries);
            file.extend(table, of(entries(3))).unwrap();
            let new = vec![Arc::new(numbers((0..6).collect()))];
            file.add_columns(table, vec![column("new", number())], new).unwrap();
            let more = [of(entries(6)), vec![Arc::new(numbers(vec![6, 7, 8]))]].concat();
            file.extend(table, more).unwrap();
        }
        file.close();
        let mut bytes = old.to_vec();
        let mut writes = Vec::new();
        encode(&mut file, |write| writes.push(write));
        let before = counts(&old);
        let after = ([9, 9], before.1.map(|count| count + 1));
        assert_eq!(before.0, [3, 3]);
        let mut changes = 0;
        let mut last = before;
        for write in &writes {
            apply(&mut bytes, write);
            let now = counts(&Bytes::copy_from_slice(&bytes));
            assert!([before, after].contains(&now), "{now:?}");
            changes += usize::from(now != last);
            last = now;
        }
        assert_eq!((last, changes), (after, 1));
        // The RNTuple's old footer and page lists are wasted.
        let found = check(&bytes.into());
        let wrong: Vec<_> = found.iter().filter(|one| one.severity != Severity::Wasteful).collect();
        assert!(wrong.is_empty(), "{wrong:?}");
    }
}

#[test]
fn tables_without_anything_new_are_not_written() {
    let old = first(Jagged::Counter);
    let (mut file, tables) = reopened(&old);
    let lists = Array::List { offsets: vec![0].into(), content: Box::new(numbers(vec![])) };
    let none = vec![Arc::new(numbers(vec![])), Arc::new(lists)];
    for (at, table) in tables.into_iter().enumerate() {
        file.extend(table, arrays(at, Jagged::Counter, &[], none.clone())).unwrap();
    }
    assert_eq!(written(file).len(), 0);
}

/// The first element of a new cluster would be counted wrong.
#[test]
fn fields_after_the_last_cluster_are_refused() {
    let (file, known) = opened(&first(Jagged::Counter));
    let grow = |ntuple| {
        GrowingNTuple::of_existing(ntuple, &file.classes, RNTupleOptions::default()).map(drop)
    };
    grow(ntuple_of(&file, &known).unwrap()).unwrap();
    let mut ntuple = ntuple_of(&file, &known).unwrap();
    ntuple.clusters.last_mut().unwrap().columns.pop();
    let error = grow(ntuple).unwrap_err();
    assert!(error.to_string().contains("after its last cluster"), "{error}");
}

#[test]
fn new_columns_have_all_entries_and_other_names() {
    let (mut file, tables) = reopened(&first(Jagged::Counter));
    for table in tables {
        let few = file.add_columns(table, vec![column("y", number())], vec![entries(0).remove(0)]);
        few.unwrap();
        let wrong = vec![Arc::new(numbers(vec![1, 2]))];
        let error = file.add_columns(table, vec![column("z", number())], wrong).unwrap_err();
        assert!(error.to_string().contains("2 entries, the table has 3"), "{error}");
        for name in ["x", "y"] {
            let again = vec![column(name, number())];
            let error = file.add_columns(table, again, vec![entries(0).remove(0)]).unwrap_err();
            assert!(error.to_string().contains("there already"), "{error}");
        }
    }
}
