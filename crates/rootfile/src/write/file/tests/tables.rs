//! Files of many tables.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::array::Numbers;
use crate::write::schema::{EntryType, TableColumn};
use crate::write::table::Finished;
use crate::write::tree::{TreeOptions, TreeWriter};

/// A tree that counts the questions of the file.
struct Counting {
    tree: TreeWriter,
    count: Arc<AtomicUsize>,
}

impl Counting {
    fn asked(&self) {
        self.count.fetch_add(1, Ordering::Relaxed);
    }
}

impl TableWriter for Counting {
    fn named(&mut self, name: &str) {
        self.tree.named(name);
    }

    fn extend(&mut self, columns: Vec<Arc<Array>>) -> Result<()> {
        self.tree.extend(columns)
    }

    fn close(&mut self) {
        self.tree.close();
    }

    fn poll_work(&mut self) -> Option<Work> {
        self.asked();
        self.tree.poll_work()
    }

    fn waits(&self) -> bool {
        self.asked();
        self.tree.waits()
    }

    fn place(&mut self, encoded: Encoded, place: RecordPlace) -> Result<Vec<Bytes>> {
        self.tree.place(encoded, place)
    }

    fn finish(&mut self, place: RecordPlace, encoders: &mut Encoders) -> Result<Finished> {
        self.tree.finish(place, encoders)
    }

    fn is_unchanged(&self) -> bool {
        self.asked();
        false
    }

    fn entries(&self) -> u64 {
        self.tree.entries()
    }

    fn held_bytes(&self) -> usize {
        self.asked();
        self.tree.held_bytes()
    }
}

fn numbers(count: u64) -> Vec<Arc<Array>> {
    let numbers = Numbers::U64((0..count).collect());
    vec![Arc::new(Array::Numbers { numbers, shape: vec![] })]
}

fn tree(count: &Arc<AtomicUsize>) -> Box<Counting> {
    let entry = EntryType::of(&numbers(0)[0]).unwrap();
    let column = TableColumn { name: "x".into(), title: String::new(), entry };
    let tree = TreeWriter::new(vec![column], TreeOptions::default()).unwrap();
    Box::new(Counting { tree, count: count.clone() })
}

/// That the sums are those of all tables, which are asked without being counted.
fn check_sums(file: &FileWriter, count: &AtomicUsize) {
    let before = count.load(Ordering::Relaxed);
    let held: usize = file.tables.iter().map(|table| table.writer.held_bytes()).sum();
    assert_eq!(file.held_bytes(), held + file.ready_bytes);
    let unsettled: Vec<_> =
        file.tables.ids().filter(|table| !file.tables[*table].is_settled()).collect();
    assert_eq!(file.is_settled(None), unsettled.is_empty());
    for table in file.tables.ids() {
        assert_eq!(file.is_settled(Some(table)), unsettled.iter().all(|one| *one == table));
    }
    count.store(before, Ordering::Relaxed);
}

/// Writes so many tables: those that have many entries are tried, and others have none. How often
/// tables were asked.
fn asked(tables: u64, is_checked: bool) -> usize {
    let count = Arc::new(AtomicUsize::new(0));
    let mut file = FileWriter::new(options()).unwrap();
    let mut encoders = Encoders::default();
    let check = |file: &FileWriter| {
        if is_checked {
            check_sums(file, &count)
        }
    };
    let mut drive = |file: &mut FileWriter| {
        while let Some((number, work)) = file.poll_work() {
            check(file);
            file.complete(number, work.encode.encode(&mut encoders).unwrap());
            while file.poll_write().unwrap().is_some() {}
            check(file);
        }
        while file.poll_write().unwrap().is_some() {}
    };
    for number in 0..tables {
        let table = file.add_table(DirectoryId::TOP, &number.to_string(), tree(&count));
        for _ in 0..number % 3 {
            file.extend(table, numbers(10_000)).unwrap();
            check(&file);
            assert!(file.extend(table, Vec::new()).is_err());
            check(&file);
        }
        if number % 2 == 0 {
            drive(&mut file);
        }
    }
    drive(&mut file);
    file.close();
    check(&file);
    drive(&mut file);
    assert!(file.is_finished());
    count.load(Ordering::Relaxed)
}

#[test]
fn sums_over_tables_are_right_after_each_change() {
    asked(20, true);
}

/// Each change went over all tables: a file of 10,000 took minutes.
#[test]
fn a_change_of_one_table_asks_no_other() {
    let few = asked(30, false);
    let many = asked(300, false);
    assert_eq!(many, 10 * few);
}

#[test]
fn a_removal_asks_only_the_table_that_grows_there() {
    let mut first = FileWriter::new(options()).unwrap();
    for name in ["grows", "goes"] {
        first.put(DirectoryId::TOP, name, Arc::new(ObjString(name.into())));
    }
    let mut file = update::reopened(&written(first));
    let count = Arc::new(AtomicUsize::new(0));
    for name in ["grows", "other", "another"] {
        file.grow_table(DirectoryId::TOP, name, 1, tree(&count));
    }
    count.store(0, Ordering::Relaxed);
    file.remove("", "goes", 1).unwrap();
    assert_eq!(count.load(Ordering::Relaxed), 0);
    let error = file.remove("", "grows", 1).unwrap_err();
    assert!(error.to_string().contains("has been given entries"), "{error}");
    assert_eq!(count.load(Ordering::Relaxed), 1);
}

/// A table got its cycle when the file was closed: an object that was assigned after it was hidden
/// behind it.
#[test]
fn cycles_are_those_of_the_order_of_creation() {
    let count = Arc::new(AtomicUsize::new(0));
    let mut file = FileWriter::new(options()).unwrap();
    let object = |file: &mut FileWriter| {
        file.put(DirectoryId::TOP, "t", Arc::new(ObjString("t".into())));
    };
    object(&mut file);
    file.add_table(DirectoryId::TOP, "t", tree(&count));
    file.add_table(DirectoryId::TOP, "other", tree(&count));
    object(&mut file);
    file.add_table(DirectoryId::TOP, "t", tree(&count));
    object(&mut file);
    let (file, _) = opened(&written(file));
    let of_name = file.top.keys.iter().filter(|key| key.name == "t");
    let keys: Vec<_> = of_name.map(|key| (key.cycle, &*key.class)).collect();
    // ROOT takes the first key of a name for the newest.
    let expected =
        [(5, "TObjString"), (4, "TTree"), (3, "TObjString"), (2, "TTree"), (1, "TObjString")];
    assert_eq!(keys, expected);
    assert_eq!(file.top.key("other", None).unwrap().cycle, 1);
}
