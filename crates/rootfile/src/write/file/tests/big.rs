//! Trees that pass 2 GB: their baskets, and their own record.

use super::update::apply;
use super::*;
use crate::Codecs;
use crate::array::Numbers;
use crate::key::Key;
use crate::tree::{Basket, BasketPlace, BranchId, Interpretation};
use crate::write::schema::{EntryType, TableColumn};
use crate::write::tree::{ClusterSize, TreeOptions, TreeWriter};

const ENTRIES: i32 = 5000;
/// Of five baskets of 4 kB two begin before 2 GB, and one lies across it.
const FAR: u64 = 2_000_000_000 - 6000;

fn numbers() -> Array {
    Array::Numbers { numbers: Numbers::I32((0..ENTRIES).collect()), shape: vec![] }
}

/// The first bytes of a file, and those far behind them; nothing lies between.
fn head_and_tail() -> (Vec<u8>, Vec<u8>) {
    let mut file = FileWriter::new(options()).unwrap();
    let mut head = Vec::new();
    let mut tail = Vec::new();
    let mut write = |file: &mut FileWriter| {
        while let Some(mut write) = file.poll_write().unwrap() {
            let place = if write.offset < FAR { &mut head } else { &mut tail };
            write.offset -= if write.offset < FAR { 0 } else { FAR };
            apply(place, &write);
        }
    };
    write(&mut file);
    file.end = FAR;
    let entry = EntryType::of(&numbers()).unwrap();
    let columns = vec![TableColumn { name: "x".into(), title: String::new(), entry }];
    let cluster = ClusterSize::Entries(1000);
    let options = TreeOptions { cluster, compression: Compression::NONE, ..TreeOptions::default() };
    let tree = TreeWriter::new(columns, options).unwrap();
    let table = file.add_table(DirectoryId::TOP, "t", Box::new(tree));
    file.extend(table, vec![Arc::new(numbers())]).unwrap();
    file.close();
    while let Some((number, work)) = file.poll_work() {
        file.complete(number, work.encode.encode(&mut Encoders::default()).unwrap());
        write(&mut file);
    }
    write(&mut file);
    assert!(file.is_finished());
    (head, tail)
}

#[test]
fn a_tree_on_both_sides_of_two_gigabytes() {
    let (head, tail) = head_and_tail();
    let mut known = Known::new(Some(FAR + tail.len() as u64));
    known.supply(0, head.into());
    known.supply(FAR, tail.clone().into());
    let Progress::Ready(file) = File::open(&known).unwrap() else { panic!("all is there") };
    assert!(file.header.big && file.header.version == 64_000);
    assert!(file.top.keys[0].offset > 2_000_000_000);
    let Progress::Ready(tree) = file.tree(&known, "t").unwrap() else { panic!("all is there") };
    let id = BranchId(0);
    let interpretation = Interpretation::of(&tree, id, &file.classes).unwrap();
    let mut column = interpretation.empty();
    let mut before = 0;
    let mut codecs = Codecs::new();
    for reference in &tree.branches[0].baskets {
        let BasketPlace::Stored(range) = &reference.place else { panic!("it is in the file") };
        let record = &tail[(range.start - FAR) as usize..(range.end - FAR) as usize];
        // ROOT reads a basket only where its key says its place.
        let key = Key::of_record(&Bytes::copy_from_slice(record), range.start).unwrap();
        assert_eq!(key.offset, range.start);
        before += usize::from(range.start < 2_000_000_000);
        let basket = Basket::read(reference, record, &mut codecs).unwrap();
        interpretation.decode(&basket, 0..basket.entries, &mut column).unwrap();
    }
    assert_eq!((before, tree.branches[0].baskets.len()), (2, 5));
    assert_eq!(column, numbers());
}
