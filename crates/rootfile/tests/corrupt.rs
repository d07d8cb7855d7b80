//! Wrong bytes give an error or a result, never a panic, a hang, or all the memory.

use bytes::Bytes;
use farroot_rootfile::key::Key;
use farroot_rootfile::object::Objects;
use farroot_rootfile::tree::{BranchKind, Tree};
use farroot_rootfile::{File, Known, Progress, Result};
use proptest::prelude::*;

fn testdata(name: &str) -> Vec<u8> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/");
    std::fs::read(format!("{folder}{name}")).expect(name)
}

/// The content of a file, as far as it can be read.
struct Read {
    bytes: Vec<u8>,
    file: File,
    objects: Vec<(Key, Result<Progress<Objects>>)>,
    trees: Vec<(Key, Tree)>,
}

/// Reads everything that can be read; nothing where the file cannot be opened.
fn read_all(bytes: Vec<u8>) -> Option<Read> {
    let mut known = Known::new(Some(bytes.len() as u64));
    known.supply(0, Bytes::from(bytes.clone()));
    let Ok(Progress::Ready(file)) = File::open(&known) else { return None };
    let Ok(Progress::Ready(directories)) = file.directories(&known) else { return None };
    let mut objects = Vec::new();
    let mut trees = Vec::new();
    for directory in directories.readable {
        for key in &directory.keys {
            objects.push((key.clone(), file.object_of(&known, key)));
            let path = format!("{}/{};{}", directory.path, key.name, key.cycle);
            if let Ok(Progress::Ready(tree)) = file.tree(&known, &path) {
                for basket in tree.branches.iter().flat_map(|branch| &branch.baskets) {
                    assert!(basket.entries.start < basket.entries.end);
                }
                assert!(tree.cluster_starts.windows(2).all(|two| two[0] < two[1]));
                trees.push((key.clone(), tree));
            }
        }
    }
    Some(Read { bytes, file, objects, trees })
}

/// Objects and trees whose own bytes are as they were, in a file whose header and streamer infos
/// are so too, have to be equal, or errors: wrong bytes elsewhere change nothing in them.
fn assert_equal_or_errors(read: &Read, original: &Read) {
    let infos = |read: &Read| read.file.classes.streamers.infos().cloned().collect::<Vec<_>>();
    if read.file.header != original.file.header || infos(read) != infos(original) {
        return;
    }
    let record = |read: &Read, key: &Key| {
        let start = key.offset as usize;
        read.bytes.get(start..start.saturating_add(key.record_len as usize)).map(<[u8]>::to_vec)
    };
    let is_same =
        |key: &Key, other: &Key| key == other && record(read, key) == record(original, key);
    for (key, object) in &read.objects {
        let before = original.objects.iter().find(|(other, _)| is_same(key, other));
        if let (Ok(object), Some((_, before))) = (object, before) {
            assert_eq!(Ok(object), before.as_ref(), "{key:?}");
        }
    }
    for (key, tree) in &read.trees {
        let before = original.trees.iter().find(|(other, _)| is_same(key, other));
        assert!(before.is_none_or(|(_, before)| tree == before), "{key:?}");
    }
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
    let trees = |name| read_all(testdata(name)).expect(name).trees.len();
    assert_eq!((trees("clustered.root"), trees("plain.root")), (3, 1));
}

#[test]
fn every_wrong_number_at_every_place_of_a_tree_is_survived() {
    let file = testdata("plain.root");
    let mut known = Known::new(Some(file.len() as u64));
    known.supply(0, Bytes::from(file.clone()));
    let Ok(Progress::Ready(opened)) = File::open(&known) else { panic!("a good file") };
    let Ok(Progress::Ready(key)) = opened.find(&known, "events") else { panic!("a good tree") };
    let start = key.offset as usize;
    let stop = (key.offset + key.record_len) as usize;
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
    fn wrong_bytes_change_nothing_elsewhere(
        name in prop::sample::select(&["plain.root", "clustered.root", "saved.root"][..]),
        mutations in mutations(),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let original = read_all(testdata(name)).expect(name);
        let mut file = mutated(testdata(name), mutations);
        if let Some(cut) = cut {
            file.truncate(cut.index(file.len()));
        }
        if let Some(read) = read_all(file) {
            assert_equal_or_errors(&read, &original);
        }
    }

    #[test]
    fn wrong_streamer_infos_leave_the_keys_as_they_are(mutations in mutations()) {
        let file = testdata("plain.root");
        let original = read_all(file.clone()).expect("a good file");
        let header = &original.file.header;
        let (front, infos) = file.split_at(header.infos_offset as usize);
        let (infos, behind) = infos.split_at(header.info_len as usize);
        let infos = mutated(infos.to_vec(), mutations);
        if let Some(read) = read_all([front, &infos, behind].concat()) {
            let keys = |read: &Read| {
                read.objects.iter().map(|(key, _)| key.clone()).collect::<Vec<_>>()
            };
            prop_assert_eq!(keys(&read), keys(&original));
            assert_equal_or_errors(&read, &original);
        }
    }
}
