//! Checkpoints: a file that a crash leaves behind can be read.

use std::ops::Range;

use super::*;
use crate::array::Numbers;
use crate::write::check::check;
use crate::write::ntuple::{RNTupleOptions, RNTupleWriter};
use crate::write::schema::{EntryType, TableColumn};
use crate::write::tree::{ClusterSize, TreeOptions, TreeWriter};

const ENTRIES: u64 = 3000;
const EVERY: u64 = 4000;

fn columns(entries: Range<u64>) -> Vec<Arc<Array>> {
    let column = |salt: u64| {
        let numbers = entries.clone().map(|n| (n * salt) ^ (n << 20)).collect();
        Arc::new(Array::Numbers { numbers: Numbers::U64(numbers), shape: vec![] })
    };
    vec![column(1), column(0x9e37_79b9)]
}

fn tree() -> Box<dyn TableWriter> {
    let options = TreeOptions {
        cluster: ClusterSize::Entries(200),
        basket_bytes: 700,
        ..TreeOptions::default()
    };
    Box::new(TreeWriter::new(table_columns(), options).unwrap())
}

fn ntuple() -> Box<dyn TableWriter> {
    let options = RNTupleOptions { cluster_bytes: 2000, page_bytes: 500, ..Default::default() };
    Box::new(RNTupleWriter::new(table_columns(), options).unwrap())
}

fn table_columns() -> Vec<TableColumn> {
    let entry = EntryType::of(&columns(0..0)[0]).unwrap();
    let column =
        |name: &str| TableColumn { name: name.into(), title: String::new(), entry: entry.clone() };
    vec![column("x"), column("y")]
}

/// All writes of a file with a table in a directory and objects: its entries come in steps, and
/// the last work is done first or last.
fn writes(table: Box<dyn TableWriter>, step: u64, is_last_first: bool) -> Vec<Write> {
    let mut writes = Vec::new();
    let mut encoders = Encoders::default();
    let mut drive = |file: &mut FileWriter| loop {
        let mut works: Vec<_> = std::iter::from_fn(|| file.poll_work()).collect();
        if is_last_first {
            works.reverse();
        }
        let is_idle = works.is_empty();
        for (number, work) in works {
            file.complete(number, work.encode.encode(&mut encoders).unwrap());
        }
        writes.extend(std::iter::from_fn(|| file.poll_write().unwrap()));
        if is_idle {
            return;
        }
    };
    let mut file = FileWriter::new(options()).unwrap();
    file.set_checkpoint(EVERY);
    let below = file.directory("a/b").unwrap();
    file.put(DirectoryId::TOP, "events", Arc::new(ObjString("an older one".into())));
    let table = file.add_table(below, "events", table);
    for start in (0..ENTRIES).step_by(step as usize) {
        file.extend(table, columns(start..ENTRIES.min(start + step))).unwrap();
        if is_last_first {
            drive(&mut file);
        }
    }
    drive(&mut file);
    file.put(below, "last", Arc::new(ObjString("x".repeat(30))));
    file.close();
    drive(&mut file);
    assert!(file.is_finished());
    writes
}

/// Entries of the table, if a file that was cut has it.
fn entries(bytes: &Bytes, is_tree: bool) -> Option<u64> {
    let (file, known) = opened(bytes);
    let Progress::Ready(all) = file.directories(&known).unwrap() else { panic!("all is there") };
    assert!(all.broken.is_empty(), "{:?}", all.broken);
    let below = all.readable.iter().find(|directory| directory.path == "a/b")?;
    let key = below.keys.iter().find(|key| key.name == "events")?;
    assert_eq!(key.cycle, 1);
    match is_tree {
        true => match file.tree(&known, "a/b/events").unwrap() {
            Progress::Ready(tree) => Some(tree.entries),
            Progress::NeedsData(needs) => panic!("all is there: {needs:?}"),
        },
        false => match file.ntuple(&known, "a/b/events").unwrap() {
            Progress::Ready(ntuple) => Some(ntuple.entries),
            Progress::NeedsData(needs) => panic!("all is there: {needs:?}"),
        },
    }
}

/// Applies the writes one by one and looks at the file after each: how many checkpoints it had.
fn checkpoints(writes: &[Write], is_tree: bool) -> usize {
    let mut bytes = Vec::new();
    let mut announced: Vec<Range<u64>> = Vec::new();
    let mut count = 0;
    let mut seen = None;
    for (at, write) in writes.iter().enumerate() {
        let range = write.offset..write.offset + write.bytes.len() as u64;
        let behind = bytes.len();
        let is_patch = range.start < behind as u64;
        if is_patch {
            let holds = |place: &&Range<u64>| place.start <= range.start && range.end <= place.end;
            assert!(announced.iter().any(|place| holds(&place)), "{range:?} was not announced");
        } else if write.is_replaced {
            announced.push(range.clone());
        }
        bytes.resize(behind.max(range.end as usize), 0);
        bytes[range.start as usize..range.end as usize].copy_from_slice(&write.bytes);
        if bytes[0] == 0 {
            continue;
        }
        let now = Bytes::copy_from_slice(&bytes);
        let there = entries(&now, is_tree);
        assert!(there >= seen, "{there:?} entries after {seen:?}");
        seen = there;
        let is_last = writes.get(at + 1).is_none_or(|next| next.offset >= bytes.len() as u64);
        if !is_patch || is_last {
            // Bytes behind the end that the header states are not in the file.
            let end = opened(&now).0.header.end as usize;
            assert_eq!(check(&now.slice(..end)), [], "after write {at}");
        }
        count += usize::from(is_patch && is_last);
    }
    assert_eq!(seen, Some(ENTRIES));
    count
}

#[test]
fn a_file_can_be_read_after_each_write_from_the_first_checkpoint_on() {
    for (is_tree, make) in [(true, tree as fn() -> _), (false, ntuple)] {
        let all = writes(make(), 500, true);
        let count = checkpoints(&all, is_tree);
        let len = all.iter().map(|write| write.offset).max().unwrap();
        assert!(count > 3 && count as u64 <= len / EVERY + 1, "{count} in {len} bytes");
    }
}

#[test]
fn where_checkpoints_are_depends_on_the_entries_alone() {
    for make in [tree as fn() -> _, ntuple] {
        let first = writes(make(), ENTRIES, false);
        for step in [170, 999, ENTRIES] {
            assert!(writes(make(), step, true) == first, "in steps of {step}");
        }
    }
}
