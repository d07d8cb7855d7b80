//! A whole file that is here: opening, directories, streamer infos, objects, trees, the types of
//! their branches, and their baskets.

use bytes::Bytes;
use rootfile::file::Recovery;
use rootfile::tree::{Basket, BasketPlace, BranchId, Interpretation, Tree};
use rootfile::{Codecs, File, Known};

use super::all_there;
use crate::Target;

pub const TARGET: Target = Target {
    name: "file",
    run,
    seeds,
    rounds: 3_000,
    // A block may rightly announce 16 MiB, and a record has several.
    memory: (64 << 20, 256),
};

/// More of each only takes longer.
const TREES_MAX: usize = 4;
const OBJECTS_MAX: usize = 40;
const BRANCHES_MAX: u32 = 64;
const BASKETS_MAX: usize = 8;

pub fn run(data: &[u8]) {
    look(data);
}

/// Looks at everything; how many entries could be decoded.
fn look(data: &[u8]) -> usize {
    let bytes = Bytes::copy_from_slice(data);
    let mut known = Known::new(Some(bytes.len() as u64));
    known.supply(0, bytes);
    let Some(file) = all_there(File::open(&known)).or_else(|| recover(&known)) else { return 0 };
    let Some(directories) = all_there(file.directories(&known)) else { return 0 };
    let mut entries = 0;
    let keys = directories.readable.iter().flat_map(|directory| {
        directory.keys.iter().map(|key| match directory.path.as_str() {
            "" => key.name.clone(),
            path => format!("{path}/{}", key.name),
        })
    });
    let keys: Vec<String> = keys.take(OBJECTS_MAX).collect();
    for path in &keys {
        if let Some(objects) = all_there(file.object(&known, path)) {
            entries += objects.iter().filter(|object| object.unread().is_none()).count();
        }
    }
    for path in keys.iter().take(TREES_MAX) {
        if let Some(tree) = all_there(file.tree(&known, path)) {
            entries += look_at_tree(&file, &known, &tree);
        }
    }
    entries
}

/// The same from record to record, as for a file that was never closed.
fn recover(known: &Known) -> Option<File> {
    let mut recovery = all_there(Recovery::start(known, known.size()?))?;
    all_there(recovery.advance(known))?;
    all_there(recovery.finish(known))
}

fn look_at_tree(file: &File, known: &Known, tree: &Tree) -> usize {
    let mut codecs = Codecs::default();
    let mut entries = 0;
    let branches = u32::try_from(tree.branches.len()).unwrap_or(u32::MAX).min(BRANCHES_MAX);
    for id in (0..branches).map(BranchId) {
        let Ok(meaning) = Interpretation::of(tree, id, &file.classes) else { continue };
        for reference in tree.branches[id.0 as usize].baskets.iter().take(BASKETS_MAX) {
            let record = match &reference.place {
                BasketPlace::Stored(range) => known.get(range.clone()),
                BasketPlace::Embedded(_) => Some(Bytes::new()),
            };
            let Some(record) = record else { continue };
            let Ok(basket) = Basket::read(reference, &record, &mut codecs) else { continue };
            let mut column = meaning.empty();
            if meaning.decode(&basket, 0..basket.entries, &mut column).is_ok() {
                assert_eq!(column.len(), basket.entries, "an array of another length");
                entries += column.len();
            }
        }
    }
    entries
}

fn seeds() -> Vec<Vec<u8>> {
    [
        &include_bytes!("../../seeds/file/plain.root")[..],
        include_bytes!("../../seeds/file/zlib.root"),
        include_bytes!("../../../crates/rootfile/testdata/split.root"),
        include_bytes!("../../../crates/rootfile/testdata/members.root"),
        include_bytes!("../../../crates/rootfile/testdata/unclosed.root"),
        include_bytes!("../../seeds/file/objects.root"),
        include_bytes!("../../seeds/file/branches.root"),
        include_bytes!("../../seeds/file/leaves.root"),
    ]
    .map(<[u8]>::to_vec)
    .into()
}

#[test]
fn the_seeds_are_good() {
    for seed in seeds() {
        assert!(look(&seed) >= 30, "{}", look(&seed));
    }
}
