//! Trees from before there were streamer infos, byte by byte as `TTree::Streamer`,
//! `TBranch::Streamer` and `TLeaf::Streamer` read them.

use bytes::Bytes;

use super::*;
use crate::object::read_object;
use crate::streamer::Streamers;

const FILE_END: u64 = 5000;

fn object(version: u16, parts: &[&[u8]]) -> Vec<u8> {
    let content = parts.concat();
    let count = 0x4000_0000 | (content.len() as u32 + 2);
    [&count.to_be_bytes()[..], &version.to_be_bytes(), &content].concat()
}

fn text(text: &str) -> Vec<u8> {
    [&[text.len() as u8], text.as_bytes()].concat()
}

fn named(name: &str, title: &str) -> Vec<u8> {
    let tobject = [0, 1, 0, 0, 0, 0, 0, 0, 0, 0];
    object(1, &[&tobject, &text(name), &text(title)])
}

fn ints(numbers: &[i32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_be_bytes()).collect()
}

fn doubles(numbers: &[f64]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_be_bytes()).collect()
}

/// A `TObjArray` of objects, each of a class that is named.
fn array(items: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut content = ints(&[items.len() as i32, 0]);
    for (class, item) in items {
        let named = [&[0xff; 4], class.as_bytes(), &[0], item].concat();
        content.extend((0x4000_0000 | named.len() as u32).to_be_bytes());
        content.extend(named);
    }
    // Version 1 has neither `TObject` nor a name.
    object(1, &[&content])
}

fn leaf() -> Vec<u8> {
    let null = ints(&[0]);
    let base = object(1, &[&named("x", "x"), &ints(&[0, 4, 0]), &[0, 0], &null]);
    object(1, &[&base, &ints(&[0, 9])])
}

/// A branch of ten entries in two baskets at bytes 1000 and 2000.
fn branch(version: u16) -> Vec<u8> {
    let counts = ints(&[1, 8000, 0, 3, 2, 10]);
    let sums = doubles(&[10.0, 400.0, 300.0]);
    let none = array(&[]);
    let leaves = array(&[("TLeafI", leaf())]);
    let entries = ints(&[3, 0, 5, 10]);
    let lengths = ints(&[3, 70, 80, 0]);
    let seeks = ints(&[3, 1000, 2000, 0]);
    let nothing = Vec::new();
    object(
        version,
        &[
            &named("x", "x/I"),
            &counts,
            &sums,
            &ints(&[0]),
            &none,
            &leaves,
            &none,
            &entries,
            if version > 4 { &lengths } else { &nothing },
            if version > 1 { &seeks } else { &nothing },
            if version > 2 { &[0] } else { &nothing },
        ],
    )
}

fn tree(version: u16, branch_version: u16) -> Result<Tree> {
    tree_of(version, "TBranch", branch(branch_version))
}

fn tree_of(version: u16, class: &str, branch: Vec<u8>) -> Result<Tree> {
    let attributes = [
        object(1, &[&[0; 6]]),              // TAttLine
        object(1, &[&[0; 4]]),              // TAttFill
        object(1, &[&[0; 4], &ints(&[0])]), // TAttMarker
    ];
    let index = [ints(&[0]), ints(&[0])];
    let nothing = Vec::new();
    let content = object(
        version,
        &[
            &named("events", "old"),
            &attributes.concat(),
            &ints(&[25, 1 << 30, 0]),
            &doubles(&[10.0, 400.0, 300.0]),
            &ints(&[10_000_000, 10_000]),
            &array(&[(class, branch)]),
            &array(&[]),
            if version > 1 { &index[0] } else { &nothing },
            if version > 2 { &index[1] } else { &nothing },
        ],
    );
    let content = Bytes::from(content);
    read_tree(&read_object(&Streamers::default(), "TTree", &content, 60, 0)?, FILE_END)
}

#[test]
fn trees_of_all_old_versions() {
    for (version, branch_version) in [(1, 2), (2, 3), (3, 4), (3, 5)] {
        let tree = tree(version, branch_version).unwrap();
        assert_eq!((tree.name.as_str(), tree.entries, tree.zip_bytes), ("events", 10, 300));
        let [branch] = &tree.branches[..] else { panic!("{:?}", tree.branches) };
        assert_eq!((branch.name.as_str(), branch.kind.clone()), ("x", BranchKind::Plain));
        // Where the lengths of baskets are not known, they end where the next one starts.
        let ends = if branch_version > 4 { [1070, 2080] } else { [2000, FILE_END] };
        let basket = |entries, place| BasketRef { entries, place: BasketPlace::Stored(place) };
        let baskets = [basket(0..5, 1000..ends[0]), basket(5..10, 2000..ends[1])];
        assert_eq!(branch.baskets, baskets, "TBranch {branch_version}");
        let [leaf] = &branch.leaves[..] else { panic!("{:?}", branch.leaves) };
        // It says that it holds no numbers, and means one.
        assert_eq!((&leaf.kind, leaf.len, leaf.maximum), (&LeafKind::I32, 1, 9));
    }
}

#[test]
fn without_offsets_of_baskets_there_are_none() {
    let tree = tree(3, 1).unwrap();
    assert_eq!((tree.branches[0].entries, &tree.branches[0].baskets[..]), (10, &[][..]));
}

/// `TBranchClones::Streamer`, before ROOT 5 and since: both say that it is version 2.
fn clones(is_long: bool, counts: &[u8]) -> Vec<u8> {
    let numbers = match is_long {
        false => [ints(&[10]), doubles(&[10.0, 400.0, 300.0])].concat(),
        true => [10i64, 10, 400, 300].iter().flat_map(|number| number.to_be_bytes()).collect(),
    };
    let members = array(&[("TBranch", branch(5)), ("TBranch", branch(5))]);
    let settings = ints(&[1, 8000, 0, 3, 2]);
    let below = [&text("Hit")[..], &members].concat();
    object(2, &[&named("hits", ""), &settings, &numbers, &ints(&[-1]), counts, &below])
}

fn pointer_to_branch() -> Vec<u8> {
    let named = [&[0xff; 4], &b"TBranch\0"[..], &branch(5)].concat();
    [&(0x4000_0000 | named.len() as u32).to_be_bytes()[..], &named].concat()
}

#[test]
fn arrays_of_clones_have_a_branch_of_counts() {
    for is_long in [false, true] {
        let tree = tree_of(3, "TBranchClones", clones(is_long, &pointer_to_branch())).unwrap();
        let [hits, members @ ..] = &tree.branches[..] else { panic!("no branch") };
        let kind = BranchKind::Clones { class_name: "Hit".into() };
        assert_eq!((hits.name.as_str(), &hits.kind), ("hits", &kind), "long: {is_long}");
        assert_eq!((hits.entries, hits.baskets.len(), hits.leaves.len()), (10, 2, 1));
        assert_eq!(members.len(), 2);
        assert!(members.iter().all(|member| member.parent == Some(BranchId(0))));
    }
    let without = tree_of(3, "TBranchClones", clones(true, &[0; 4])).unwrap();
    let [hits] = &without.branches[..] else { panic!("{:?}", without.branches) };
    assert!(matches!(hits.kind, BranchKind::Unreadable { .. }), "{hits:?}");
}

#[test]
fn arrays_of_clones_cut_short_or_changed_are_no_panic() {
    let whole = clones(true, &pointer_to_branch());
    for at in 0..whole.len() {
        // Errors or a tree; neither panics.
        let _ = tree_of(3, "TBranchClones", whole[..at].to_vec());
        for value in [0, 0x40, 0xff] {
            let mut changed = whole.clone();
            changed[at] = value;
            let _ = tree_of(3, "TBranchClones", changed);
        }
    }
}

#[test]
fn a_branch_that_begins_late_has_baskets_without_bytes() {
    let places = |first| nothing_before(first).into_iter().map(|basket| basket.entries);
    assert_eq!(places(0).count(), 0);
    assert_eq!(places(7).collect::<Vec<_>>(), [0..7]);
    let all = [0..NOTHING_LEN, NOTHING_LEN..NOTHING_LEN + 1];
    assert_eq!(places(NOTHING_LEN + 1).collect::<Vec<_>>(), all);
    // No file is so long; then the entries have no basket, which is an error for their reader.
    assert_eq!(places(u64::MAX).count(), 0);
}
