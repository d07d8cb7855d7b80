//! Copies of a file of this crate's tests, read back.

use std::sync::Arc;

use bytes::Bytes;

use super::basket::KeyNumbers;
use super::*;
use crate::key::Key;
use crate::tree::{Basket, BasketPlace, Tree};
use crate::write::{
    Compression, CompressionAlgorithm, DirectoryId, Encoders, FileOptions, FileWriter,
};
use crate::{Codecs, File, Known, Progress};

const CLUSTERED: &[u8] = include_bytes!("../../../testdata/clustered.root");
const FRIENDS: &[u8] = include_bytes!("../../../testdata/friends.root");
const SPLIT: &[u8] = include_bytes!("../../../testdata/split.root");

fn options() -> FileOptions {
    let compression = Compression::new(CompressionAlgorithm::Zstd, 5);
    FileOptions { name: "f.root".into(), title: String::new(), compression, uuid: 7, datime: 9 }
}

fn known(bytes: &Bytes) -> Known {
    let mut known = Known::new(Some(bytes.len() as u64));
    known.supply(0, bytes.clone());
    known
}

fn ready<T>(progress: crate::Result<Progress<T>>) -> T {
    match progress.unwrap() {
        Progress::Ready(value) => value,
        Progress::NeedsData(needs) => panic!("all is there: {needs:?}"),
    }
}

fn opened(bytes: &Bytes) -> (File, Known) {
    let known = known(bytes);
    (ready(File::open(&known)), known)
}

fn key(file: &File, name: &str) -> Key {
    file.top.key(name, None).unwrap().clone()
}

fn written(mut file: FileWriter) -> Bytes {
    let mut bytes = Vec::new();
    file.close();
    while let Some(write) = file.poll_write().unwrap() {
        let start = write.offset as usize;
        let end = write.offset as usize + write.bytes.len();
        bytes.resize(bytes.len().max(end), 0);
        bytes[start..end].copy_from_slice(&write.bytes);
    }
    bytes.into()
}

/// The same tree of several inputs as one.
fn merged(inputs: &[Bytes], name: &str) -> Bytes {
    merged_as(inputs, name, |_| {})
}

/// The same, of trees that are changed first.
fn merged_as(inputs: &[Bytes], name: &str, change: impl Fn(&mut SourceTree)) -> Bytes {
    merged_with(inputs, name, Missing::Strict, |_, tree| change(tree))
}

/// The same, where `change` gets the number of the input, too.
fn merged_with(
    inputs: &[Bytes],
    name: &str,
    missing: Missing,
    change: impl Fn(usize, &mut SourceTree),
) -> Bytes {
    let mut out = FileWriter::new(options()).unwrap();
    let read = |number: usize| {
        let (file, known) = opened(&inputs[number]);
        let mut tree = ready(SourceTree::read(&file, &known, &key(&file, name)));
        change(number, &mut tree);
        Arc::new(tree)
    };
    let mut copied = CopiedTree::new(read(0)).unwrap();
    let mut plan = |number| copied.plan(&read(number), missing, KeptEntries::default()).unwrap();
    let parts: Vec<TreePart> = (0..inputs.len()).map(&mut plan).collect();
    for (input, part) in inputs.iter().zip(&parts) {
        copied.begin(part);
        for (branch, at, basket) in part.baskets() {
            let (mut record, from) = match &basket.part {
                BasketPart::Stored(range) => {
                    let record = input.slice(range.start as usize..range.end as usize);
                    (record.to_vec(), range.start)
                }
                BasketPart::Embedded { bytes, entries } => {
                    let mut encoders = Encoders::default();
                    let compression = Compression::NONE;
                    let made = basket::embedded_record(bytes, *entries, compression, &mut encoders);
                    (made.unwrap(), 0)
                }
                BasketPart::New { record, from } => (record.to_vec(), *from),
            };
            let place = out.place(DirectoryId::TOP).unwrap();
            let numbers = BlockNumbers { owner: branch, number: at };
            let cycle = copied.place(numbers, record.len(), place);
            basket::move_record(&mut record, from, place, KeyNumbers { cycle, processes: 0 })
                .unwrap();
            out.append(record.into());
        }
        let counts = Counts::new();
        let mut encoders = Encoders::default();
        for basket in copied.filled(part, &counts).unwrap() {
            let made = copied
                .fill(&basket, FillInputs { part, counts: &counts }, 0, &mut encoders)
                .unwrap();
            let place = out.place(DirectoryId::TOP).unwrap();
            let cycle = copied.push(basket.branch, &made, place);
            let mut record = made.record.to_vec();
            basket::move_record(&mut record, 0, place, KeyNumbers { cycle, processes: 0 }).unwrap();
            out.append(record.into());
        }
    }
    out.put(DirectoryId::TOP, name, Arc::new(copied.finish().unwrap()));
    written(out)
}

fn tree(bytes: &Bytes, name: &str) -> Tree {
    let (file, known) = opened(bytes);
    ready(file.tree(&known, name))
}

/// The entries' bytes of all baskets of a branch.
fn data(bytes: &Bytes, tree: &Tree, branch: usize) -> Vec<u8> {
    let mut all = Vec::new();
    for basket in &tree.branches[branch].baskets {
        let record = match &basket.place {
            BasketPlace::Stored(range) => bytes.slice(range.start as usize..range.end as usize),
            BasketPlace::Embedded(_) => Bytes::new(),
        };
        all.extend_from_slice(Basket::read(basket, &record, &mut Codecs::new()).unwrap().data);
    }
    all
}

#[test]
fn a_tree_three_times_over() {
    let input = Bytes::from_static(CLUSTERED);
    let output = merged(&[input.clone(), input.clone(), input.clone()], "events");
    let before = tree(&input, "events");
    let after = tree(&output, "events");
    assert_eq!(after.entries, 3 * before.entries);
    assert_eq!(after.branches.len(), before.branches.len());
    for (at, (old, new)) in before.branches.iter().zip(&after.branches).enumerate() {
        assert_eq!((&old.name, &old.title, &old.kind), (&new.name, &new.title, &new.kind));
        assert_eq!(new.entries, 3 * old.entries);
        assert_eq!(new.baskets.len(), 3 * old.baskets.len());
        let once = data(&input, &before, at);
        assert_eq!(data(&output, &after, at), [&once[..], &once, &once].concat());
    }
    let starts = |tree: &Tree, from: u64| -> Vec<u64> {
        tree.cluster_starts.iter().map(|start| start + from).collect()
    };
    let expected: Vec<u64> = (0..3).flat_map(|n| starts(&before, n * before.entries)).collect();
    assert_eq!(after.cluster_starts, expected);
}

/// The bits of each branch.
fn bits(bytes: &Bytes, name: &str) -> Vec<i64> {
    let (file, known) = opened(bytes);
    let tree = ready(SourceTree::read(&file, &known, &key(&file, name)));
    let record = tree.record().unwrap();
    (0..tree.paths.len()).map(|at| record.column(at).int("fBits").unwrap()).collect()
}

/// ROOT forgets the objects of the entry before for those branches alone whose entries refer to
/// others of their objects. The output had the mark of the first input, whose entries may not.
#[test]
fn a_branch_needs_a_map_if_that_of_an_input_does() {
    const NO_MAP: i64 = 1 << 22;
    let input = Bytes::from_static(CLUSTERED);
    let before = bits(&input, "events");
    assert!(before.iter().all(|bits| bits & NO_MAP != 0), "{before:?}");
    let inputs = [input.clone(), input.clone()];
    let output = merged_with(&inputs, "events", Missing::Strict, |number, tree| {
        tree.needs_map[1] = number == 1;
    });
    let expected = before.iter().enumerate().map(|(at, bits)| match at {
        1 => bits & !NO_MAP,
        _ => *bits,
    });
    assert_eq!(bits(&output, "events"), expected.collect::<Vec<_>>());
    let once = tree(&input, "events");
    let after = tree(&output, "events");
    assert_eq!(after.entries, 2 * once.entries);
    assert_eq!(after.branches[1].name, once.branches[1].name);
}

/// The names of the friends of `events`, after a cut or without one, of that many inputs.
fn friends_of(inputs: usize, cut: Option<&Survivors>) -> (Vec<String>, Vec<String>) {
    let input = Bytes::from_static(FRIENDS);
    let mut out = FileWriter::new(options()).unwrap();
    let read = || {
        let (file, known) = opened(&input);
        Arc::new(ready(SourceTree::read(&file, &known, &key(&file, "events"))))
    };
    let mut copied = CopiedTree::new(read()).unwrap();
    for _ in 0..inputs {
        let kept = KeptEntries { survivors: cut, new_columns: None };
        let part = copied.plan(&read(), Missing::Strict, kept).unwrap();
        copied.begin(&part);
    }
    let notes = copied.left_out();
    let (first, _) = opened(&input);
    out.infos().copy(first.classes.streamers.infos_of_file(), "friends.root").unwrap();
    // Its baskets are nowhere: only the tree's own record is read.
    out.put(DirectoryId::TOP, "events", Arc::new(copied.finish().unwrap()));
    let (file, known) = opened(&written(out));
    let objects = ready(file.object(&known, "events"));
    let friends = objects.root().objects("fFriends").unwrap().into_iter().flatten();
    (friends.map(|friend| friend.string("fName").unwrap()).collect(), notes)
}

/// Of a skim with a cut, entries had the values of other entries of a friend.
#[test]
fn friends_whose_entries_are_those_of_others_are_left_out() {
    let (all, notes) = friends_of(1, None);
    assert_eq!((&all[..], notes), (&["beside", "a", "i"].map(str::to_owned)[..], vec![]));
    let (none, notes) = friends_of(1, Some(&Survivors::new(vec![3..5])));
    assert!(none.is_empty(), "{none:?}");
    assert!(notes.iter().any(|note| note.contains("(beside, a, i)")), "{notes:?}");
    // One in the same file is merged as the tree is.
    let (some, notes) = friends_of(2, None);
    assert_eq!(some, ["beside"]);
    assert!(notes.iter().any(|note| note.contains("(a, i)")), "{notes:?}");
}

/// Regression: a tree with two branches of one name, as Delphes and BDSIM write them, was refused:
/// it lacked a branch of its own.
#[test]
fn branches_of_one_name_are_copied_in_their_order() {
    let input = Bytes::from_static(CLUSTERED);
    let output = merged_as(&[input.clone(), input.clone()], "events", |tree| {
        tree.paths[1] = tree.paths[0].clone();
    });
    let before = tree(&input, "events");
    let after = tree(&output, "events");
    for at in 0..before.branches.len() {
        let once = data(&input, &before, at);
        assert_eq!(data(&output, &after, at), [&once[..], &once].concat());
    }
}

/// Regression: a union left out the second of two branches of one name that the first input lacks.
#[test]
fn a_union_adds_all_branches_of_a_name_that_the_first_input_lacks() {
    let input = Bytes::from_static(CLUSTERED);
    let inputs = [input.clone(), input.clone()];
    let before = tree(&input, "events");
    let plain = |at: &usize| {
        let branch = &before.branches[*at];
        let is_counter = before.branches.iter().flat_map(|other| &other.leaves);
        let mut counters = is_counter.filter_map(|leaf| leaf.count);
        let counted = branch.leaves.iter().any(|leaf| leaf.count.is_some());
        !counted && !counters.any(|(counter, _)| counter.0 as usize == *at)
    };
    let plain: Vec<usize> = (0..before.branches.len()).filter(plain).take(2).collect();
    let output = merged_with(&inputs, "events", Missing::Union, |number, tree| {
        if number == 1 {
            plain.iter().for_each(|at| tree.paths[*at] = "twice".into());
        }
    });
    let count = before.branches.len();
    let after = tree(&output, "events");
    assert_eq!(after.branches.len(), count + 2);
    for (at, added) in plain.iter().zip(count..) {
        let theirs = data(&input, &before, *at);
        let zeros = vec![0; theirs.len()];
        assert_eq!(data(&output, &after, added), [&zeros[..], &theirs].concat());
        // The first input alone has the branch under its own name.
        assert_eq!(data(&output, &after, *at), [&theirs[..], &zeros].concat());
    }
}

/// A tree that claims a number of entries of which its branches hold none.
fn claims(tree: &mut SourceTree, entries: u64) {
    tree.tree.entries = entries;
    tree.tree.cluster_starts.clear();
    for branch in &mut tree.tree.branches {
        branch.baskets.clear();
        (branch.first_entry, branch.entries) = (entries, i64::MAX as u64);
    }
}

/// The plan of a tree that claims so many entries, behind others; it lacks a branch of the first.
fn planned(missing: Missing, claimed: &[u64]) -> crate::Result<CopiedTree> {
    let input = Bytes::from_static(CLUSTERED);
    let (file, known) = opened(&input);
    let read = || ready(SourceTree::read(&file, &known, &key(&file, "events")));
    let mut copied = CopiedTree::new(Arc::new(read())).unwrap();
    for entries in claimed {
        let mut tree = read();
        claims(&mut tree, *entries);
        if missing == Missing::Union {
            tree.paths[0] = "other".into();
        }
        let part = copied.plan(&Arc::new(tree), missing, KeptEntries::default())?;
        copied.begin(&part);
        if *entries < 1 << 30 {
            copied.filled(&part, &Counts::new())?;
        }
    }
    Ok(copied)
}

/// Regression: a tree may claim 2^62 entries that no branch has bytes for; a union made zeros for
/// them all.
#[test]
fn entries_that_no_branch_can_hold_are_not_filled() {
    let error = planned(Missing::Union, &[1 << 62]).unwrap_err();
    assert!(matches!(error.kind, crate::ErrorKind::Corrupt(_)), "{error:?}");
    assert!(error.to_string().contains("no branch has the bytes"), "{error}");
    assert_eq!(error.path, "events");
    // A tree may be filled without any branch.
    planned(Missing::Union, &[1000]).unwrap();
}

/// Regression: the numbers of entries, and of bytes, of several inputs did not fit together.
#[test]
fn numbers_that_inputs_claim_are_added_up_with_care() {
    planned(Missing::Strict, &[1 << 62]).unwrap().finish().unwrap();
    let error = planned(Missing::Strict, &[1 << 62, 1 << 62]).unwrap_err();
    assert!(matches!(error.kind, crate::ErrorKind::Limit(_)), "{error:?}");
}

/// Regression: a branch that only has others in it got a basket without bytes for an input that
/// lacks it, and none for the others: the union could not be merged again.
#[test]
fn a_union_of_objects_can_be_merged_again() {
    let input = Bytes::from_static(SPLIT);
    let rename = |number: usize, tree: &mut SourceTree| {
        for path in tree.paths.iter_mut().filter(|_| number == 1) {
            if *path == "single" || path.starts_with("single/") {
                *path = path.replacen("single", "other", 1);
            }
        }
    };
    let inputs = [input.clone(), input.clone()];
    let union = merged_with(&inputs, "events", Missing::Union, rename);
    let twice = merged(&[union.clone(), union.clone()], "events");
    assert_eq!(tree(&twice, "events").entries, 4 * tree(&input, "events").entries);
}

#[test]
fn a_record_that_is_copied_unchanged_is_the_same() {
    let input = Bytes::from_static(CLUSTERED);
    let (file, known) = opened(&input);
    let key = key(&file, "events");
    let object = ready(CopiedObject::read(&file, &known, &key));
    let mut to = crate::write::Buffer::behind_key(key.key_len as usize);
    crate::write::WritableObject::write(&object, &mut to);
    assert_eq!(to.into_vec(), ready(file.content_of(&known, &key)).to_vec());
}

#[test]
fn a_basket_that_is_elsewhere_is_refused() {
    let input = Bytes::from_static(CLUSTERED);
    let tree = tree(&input, "events");
    let range = tree.branches[0].baskets[0].place.stored().unwrap();
    let place = crate::write::RecordPlace { offset: 1, directory: 100, datime: 0 };
    let numbers = KeyNumbers { cycle: 0, processes: 0 };
    let record = input.slice(range.start as usize..range.end as usize).to_vec();
    for len in 0..record.len() {
        let cut = &mut record[..len].to_vec();
        assert!(basket::move_record(cut, range.start, place, numbers).is_err());
    }
    assert!(basket::move_record(&mut record.clone(), range.start + 1, place, numbers).is_err());
    assert!(basket::move_record(&mut record.clone(), range.start, place, numbers).is_ok());
}

/// The first input's aliases were written without a word, also where others have other formulas.
#[test]
fn notes_name_aliases_that_are_not_those_of_all() {
    let input = Bytes::from_static(CLUSTERED);
    let read = |aliases: &[(&str, &str)]| {
        let (file, known) = opened(&input);
        let mut tree = ready(SourceTree::read(&file, &known, &key(&file, "events")));
        let own = aliases.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
        tree.tree.aliases = own.collect();
        Arc::new(tree)
    };
    let notes_of = |inputs: [&[(&str, &str)]; 2]| {
        let mut copied = CopiedTree::new(read(inputs[0])).unwrap();
        for aliases in inputs {
            copied.plan(&read(aliases), Missing::Strict, KeptEntries::default()).unwrap();
        }
        copied.left_out().into_iter().filter(|note| note.contains("alias")).collect::<Vec<_>>()
    };
    let first: &[(&str, &str)] = &[("a", "x+1"), ("b", "x+2")];
    assert_eq!(notes_of([first, first]), [""; 0]);
    // Of two of one name the last counts.
    assert_eq!(notes_of([first, &[("a", "0"), ("b", "x+2"), ("a", "x+1")]]), [""; 0]);
    let notes = notes_of([first, &[("a", "x+3"), ("c", "x")]]);
    assert!(notes[0].ends_with("others or none: a, b"), "{notes:?}");
    assert!(notes[1].ends_with("lacks are left out: c"), "{notes:?}");
}
