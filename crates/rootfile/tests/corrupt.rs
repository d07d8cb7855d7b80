//! Wrong bytes give an error or a result, never a panic, a hang, or all the memory.
#![allow(clippy::disallowed_methods, reason = "tests read files")]

use bytes::Bytes;
use proptest::prelude::*;
use rootfile::tree::BranchKind;
use rootfile::{File, Known, Progress};

fn testdata(name: &str) -> Vec<u8> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/");
    std::fs::read(format!("{folder}{name}")).expect(name)
}

/// Reads everything that can be read. Gives how many trees there were.
fn read_all(file: Vec<u8>) -> usize {
    let mut known = Known::new(Some(file.len() as u64));
    known.supply(0, Bytes::from(file));
    let Ok(Progress::Ready(file)) = File::open(&known) else { return 0 };
    let Ok(Progress::Ready(directories)) = file.directories(&known) else { return 0 };
    let mut trees = 0;
    for directory in directories.readable {
        for key in &directory.keys {
            let _ = file.object_of(&known, key);
            let path = format!("{}/{};{}", directory.path, key.name, key.cycle);
            if let Ok(Progress::Ready(tree)) = file.tree(&known, &path) {
                trees += 1;
                for basket in tree.branches.iter().flat_map(|branch| &branch.baskets) {
                    assert!(basket.entries.start < basket.entries.end);
                }
                assert!(tree.cluster_starts.windows(2).all(|two| two[0] < two[1]));
            }
        }
    }
    trees
}

/// Numbers that break counts, lengths, tags and offsets.
const EVIL: &[u32] = &[
    0,
    1,
    0xff,
    0x7f_ff_ff_ff,
    0x80_00_00_00,
    0xff_ff_ff_ff,
    0xff_ff_ff_fe,
    0x40_00_00_00,
    0x40_00_00_02,
    0x80_00_00_02,
    0x3f_ff_ff_ff,
];

/// The places of wrong numbers and the wrong numbers.
fn mutations() -> impl Strategy<Value = Vec<(prop::sample::Index, u32, bool)>> {
    let number = prop_oneof![prop::sample::select(EVIL), any::<u32>()];
    prop::collection::vec((any::<prop::sample::Index>(), number, any::<bool>()), 1..6)
}

fn mutated(mut file: Vec<u8>, mutations: Vec<(prop::sample::Index, u32, bool)>) -> Vec<u8> {
    for (index, number, whole) in mutations {
        let at = index.index(file.len() - 4);
        let bytes = number.to_be_bytes();
        let len = if whole { 4 } else { 1 };
        file[at..at + len].copy_from_slice(&bytes[4 - len..]);
    }
    file
}

/// One wrong byte in one branch: a tree that can still be read, but for that branch.
#[test]
fn a_branch_that_cannot_be_read_leaves_the_others() {
    let mut file = testdata("plain.root");
    let names = b"\x05fixed\x0dfixed[2][3]/F";
    let at = file.windows(names.len()).position(|part| part == names).expect("the branch");
    // In front of the names are TObject's 10 bytes, TNamed's 6, and the branch's version.
    assert_eq!(file[at - 18..at - 16], [0, 13]);
    file[at - 17] = 99;
    let mut known = Known::new(Some(file.len() as u64));
    known.supply(0, Bytes::from(file));
    let Ok(Progress::Ready(file)) = File::open(&known) else { panic!("a good file") };
    let Ok(Progress::Ready(tree)) = file.tree(&known, "events") else { panic!("a good tree") };
    let unreadable: Vec<bool> = tree
        .branches
        .iter()
        .map(|branch| matches!(branch.kind, BranchKind::Unreadable { .. }))
        .collect();
    assert_eq!(unreadable, [false, true, false, false, false, false]);
}

#[test]
fn right_bytes_give_trees() {
    assert_eq!(read_all(testdata("clustered.root")), 3);
    assert_eq!(read_all(testdata("plain.root")), 1);
}

#[test]
fn every_wrong_number_at_every_place_of_a_tree_is_survived() {
    let file = testdata("plain.root");
    let mut known = Known::new(Some(file.len() as u64));
    known.supply(0, Bytes::from(file.clone()));
    let Ok(Progress::Ready(opened)) = File::open(&known) else { panic!("a good file") };
    let Ok(Progress::Ready(key)) = opened.find(&known, "events") else { panic!("a good tree") };
    let (start, stop) = (key.offset as usize, (key.offset + key.record_len) as usize);
    for at in start..stop - 4 {
        let evil = EVIL[at % EVIL.len()].to_be_bytes();
        let mut file = file.clone();
        file[at..at + 4].copy_from_slice(&evil);
        let mut known = Known::new(Some(file.len() as u64));
        known.supply(0, Bytes::from(file));
        let _ = opened.tree(&known, "events");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..Default::default() })]

    #[test]
    fn wrong_bytes_are_survived(
        name in prop::sample::select(&["plain.root", "clustered.root", "saved.root"][..]),
        mutations in mutations(),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let mut file = mutated(testdata(name), mutations);
        if let Some(cut) = cut {
            file.truncate(cut.index(file.len()));
        }
        read_all(file);
    }

    #[test]
    fn wrong_streamer_infos_are_survived(mutations in mutations()) {
        let file = testdata("plain.root");
        let infos_offset = u32::from_be_bytes([file[37], file[38], file[39], file[40]]) as usize;
        let (front, infos) = file.split_at(infos_offset);
        let infos = mutated(infos.to_vec(), mutations);
        read_all([front, &infos].concat());
    }
}
