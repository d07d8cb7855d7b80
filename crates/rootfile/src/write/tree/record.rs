//! The record of a tree: its branches, and the offsets of their baskets (ROOT: `TTree`, `TBranch`,
//! `TBranchElement`, `TLeaf*` of ROOT 6.40; read in [`crate::tree`]).

use super::branch::OpenBranch;
use super::plan::{PlannedBranch, PlannedKind};
use crate::array::Number;
use crate::write::buffer::Buffer;
use crate::write::table::WritableObject;

/// `TIOFeatures` are of version 0, which a checksum of the class stands for.
const IO_FEATURES_CHECKSUM: u32 = 0x1aa1_2f10;
/// `TBranch::kDoNotUseBufferMap`: no entry refers to another.
const BRANCH_BITS: u32 = 1 << 22;
/// `TObject::kMustCleanup`, which trees have.
const TREE_BITS: u32 = 1 << 3;
/// Arrays of baskets have room for as many in ROOT.
const BASKETS_MIN: usize = 10;
/// `fAutoFlush` of a tree that was not flushed yet: after 30 MB.
const AUTO_FLUSH_UNKNOWN: i64 = -30_000_000;
/// ROOT's defaults.
const AUTO_SAVE: i64 = -300_000_000;
const ENTRIES_MAX: i64 = 1_000_000_000_000;
const ESTIMATE: i64 = 1_000_000;
const SCAN_FIELDS: i32 = 25;
const OFFSET_LEN: i32 = 1000;
/// Bytes that ROOT keeps for the offsets of a basket's entries, at least.
const OFFSET_BYTES_MIN: u64 = 10;
const BASKET_SIZE_MIN: usize = 32_000;
/// Colour and style of nothing that is drawn.
const LINE_COLOUR: u16 = 602;
const FILL_STYLE: u16 = 1001;
/// `TString`s of the standard library (`std::string`) have this checksum and version.
const STRING_CHECKSUM: u32 = 0x6e6f_1604;
const STRING_VERSION: u16 = 2;
/// The version of all collections.
const COLLECTION_VERSION: u16 = 6;
/// How deep a vector's branch could be split.
const SPLIT_LEVEL: i32 = 99;

/// A tree whose baskets are all written.
#[derive(Debug)]
pub(super) struct TreeRecord {
    pub name: String,
    pub title: String,
    pub weight: f64,
    pub entries: u64,
    /// Entries of a cluster, behind the ranges of others; `None` of a tree without entries.
    pub cluster_entries: Option<u64>,
    /// Last entry and size of clusters of ranges that have another size.
    pub cluster_ranges: Vec<(u64, u64)>,
    pub branches: Vec<OpenBranch>,
}

impl WritableObject for TreeRecord {
    fn class(&self) -> &'static str {
        "TTree"
    }

    fn title(&self) -> &str {
        &self.title
    }

    fn classes(&self) -> Vec<&str> {
        let mut classes = vec!["TTree", "TBranch"];
        for branch in &self.branches {
            classes.push(leaf_class(&branch.plan.kind));
            if class_name(&branch.plan.kind).is_some() {
                classes.push("TBranchElement");
            }
        }
        classes.sort_unstable();
        classes.dedup();
        classes
    }

    fn write(&self, to: &mut Buffer) {
        let tree = to.begin(20);
        to.tnamed(TREE_BITS, &self.name, &self.title);
        attributes(to);
        self.numbers(to);
        self.clusters(to);
        io_features(to);
        let leaves = self.write_branches(to);
        object_array(to, leaves.len(), |to| leaves.iter().for_each(|leaf| to.u32(*leaf)));
        // fAliases, no fIndexValues, no fIndex, fTreeIndex, fFriends, fUserInfo, fBranchRef.
        (0..7).for_each(|_| to.null());
        to.end(tree);
    }
}

impl TreeRecord {
    fn numbers(&self, to: &mut Buffer) {
        let total = |of: fn(&OpenBranch) -> u64| self.branches.iter().map(of).sum::<u64>();
        let stored = total(|branch| branch.stored_bytes);
        to.u64(self.entries);
        to.u64(total(|branch| branch.total_bytes));
        to.u64(stored);
        to.u64(0); // fSavedBytes
        to.u64(stored); // fFlushedBytes
        to.f64(self.weight);
        to.i32(0); // fTimerInterval
        to.i32(SCAN_FIELDS);
        to.i32(0); // fUpdate
        to.i32(OFFSET_LEN);
    }

    fn clusters(&self, to: &mut Buffer) {
        let ranges = &self.cluster_ranges;
        to.u32(ranges.len() as u32);
        to.i64(ENTRIES_MAX);
        to.i64(ENTRIES_MAX); // fMaxEntryLoop
        to.i64(0); // fMaxVirtualSize
        to.i64(AUTO_SAVE);
        to.i64(self.cluster_entries.map_or(AUTO_FLUSH_UNKNOWN, |entries| entries as i64));
        to.i64(ESTIMATE);
        for of in [|range: &(u64, u64)| range.0, |range: &(u64, u64)| range.1] {
            to.bool(!ranges.is_empty());
            ranges.iter().for_each(|range| to.u64(of(range)));
        }
    }

    /// References to all leaves.
    fn write_branches(&self, to: &mut Buffer) -> Vec<u32> {
        let mut leaves: Vec<u32> = Vec::new();
        object_array(to, self.branches.len(), |to| {
            for branch in &self.branches {
                let counter = match branch.plan.kind {
                    PlannedKind::Counted { counter, .. } => leaves[counter],
                    _ => 0,
                };
                leaves.push(write_branch(branch, counter, to));
            }
        });
        leaves
    }
}

/// A reference to the branch's leaf; `counter` is one to that which counts it.
fn write_branch(branch: &OpenBranch, counter: u32, to: &mut Buffer) -> u32 {
    let mut leaf = 0;
    match class_name(&branch.plan.kind) {
        None => to.pointed("TBranch", |to| leaf = write_members(branch, counter, to)),
        Some(class) => to.pointed("TBranchElement", |to| {
            let element = to.begin(10);
            leaf = write_members(branch, counter, to);
            let is_string = branch.plan.kind == PlannedKind::StdString;
            to.string(class);
            to.string(""); // fParentName
            to.string(""); // fClonesName
            to.u32(if is_string { STRING_CHECKSUM } else { checksum_of_collection(class) });
            to.u16(if is_string { STRING_VERSION } else { COLLECTION_VERSION });
            to.i32(-1); // fID
            to.i32(if is_string { -1 } else { 0 }); // fType
            to.i32(-1); // fStreamerType
            to.i32(0); // fMaximum
            to.null(); // fBranchCount
            to.null(); // fBranchCount2
            to.end(element);
        }),
    }
    leaf
}

/// The members of `TBranch`.
fn write_members(branch: &OpenBranch, counter: u32, to: &mut Buffer) -> u32 {
    let PlannedBranch { name, kind, .. } = &*branch.plan;
    let baskets = &branch.baskets;
    let count = to.begin(13);
    to.tnamed(BRANCH_BITS, name, &title_of(branch));
    fill_attributes(to);
    to.u32(branch.compression.number());
    to.u32(branch.basket_size.max(BASKET_SIZE_MIN) as u32);
    to.i32(if kind.has_offsets() { offset_bytes(branch) } else { 0 });
    to.u32(baskets.len() as u32); // fWriteBasket
    to.u64(branch.entries); // fEntryNumber
    io_features(to);
    to.i32(0); // fOffset
    let slots = (baskets.len() + 1).max(BASKETS_MIN);
    to.u32(slots as u32);
    to.i32(if matches!(kind, PlannedKind::Vector { .. }) { SPLIT_LEVEL } else { 0 });
    to.u64(branch.entries);
    to.u64(0); // fFirstEntry
    to.u64(branch.total_bytes);
    to.u64(branch.stored_bytes);
    object_array(to, 0, |_| ());
    let mut leaf = 0;
    object_array(to, 1, |to| {
        leaf = to.reference();
        to.pointed(leaf_class(kind), |to| write_leaf(branch, counter, to));
    });
    object_array(to, baskets.len() + 1, |to| (0..=baskets.len()).for_each(|_| to.null()));
    to.u8(1);
    (0..slots).for_each(|at| to.u32(baskets.get(at).map_or(0, |basket| basket.record_len)));
    to.u8(1);
    let entry = |at: usize| match at == baskets.len() {
        true => branch.entries,
        false => baskets.get(at).map_or(0, |basket| basket.first_entry),
    };
    (0..slots).for_each(|at| to.u64(entry(at)));
    to.u8(1);
    (0..slots).for_each(|at| to.u64(baskets.get(at).map_or(0, |basket| basket.offset)));
    to.string(""); // fFileName
    to.end(count);
    leaf
}

fn write_leaf(branch: &OpenBranch, counter: u32, to: &mut Buffer) {
    let PlannedBranch { name, kind, .. } = &*branch.plan;
    let is_element = class_name(kind).is_some();
    let (len, len_type) = match kind {
        PlannedKind::Flat { number, shape, .. } | PlannedKind::Counted { number, shape, .. } => {
            (shape.iter().product(), number.size())
        }
        PlannedKind::Counts => (1, 4),
        PlannedKind::Chars => (branch.longest as usize + 1, 1),
        PlannedKind::StdString | PlannedKind::Vector { .. } => (1, 0),
    };
    let outer = to.begin(1);
    let base = to.begin(2);
    to.tnamed(0, name, &leaf_title(branch));
    to.u32(len as u32);
    to.u32(len_type as u32);
    to.i32(0); // fOffset
    to.bool(is_counter(kind));
    to.bool(matches!(
        kind,
        PlannedKind::Flat { number, .. } | PlannedKind::Counted { number, .. }
            if matches!(number, Number::U8 | Number::U16 | Number::U32 | Number::U64)
    ));
    to.u32(counter);
    to.end(base);
    match is_element {
        true => (0..2).for_each(|_| to.i32(-1)), // fID, fType
        false => write_limits(branch, to),
    }
    to.end(outer);
}

/// `fMinimum` and `fMaximum`, in the leaf's own type. A counter's is the greatest count: ROOT
/// reads no more.
fn write_limits(branch: &OpenBranch, to: &mut Buffer) {
    let number = match &branch.plan.kind {
        PlannedKind::Chars => {
            to.u32(0);
            return to.u32(branch.longest as u32 + 1);
        }
        PlannedKind::Counts => Number::I32,
        PlannedKind::Flat { number, .. } | PlannedKind::Counted { number, .. } => *number,
        PlannedKind::StdString | PlannedKind::Vector { .. } => return,
    };
    if is_counter(&branch.plan.kind) {
        to.u32(0);
        return to.u32(branch.longest as u32);
    }
    to.bytes(&[0; 16][..2 * number.size()]);
}

fn is_counter(kind: &PlannedKind) -> bool {
    matches!(kind, PlannedKind::Counts | PlannedKind::Flat { is_counter: true, .. })
}

/// A leaf's name and its dimensions: `x[nx][3]`.
fn leaf_title(branch: &OpenBranch) -> String {
    let PlannedBranch { name, kind, .. } = &*branch.plan;
    let fixed = |shape: &[usize]| shape.iter().map(|n| format!("[{n}]")).collect::<String>();
    match kind {
        PlannedKind::Flat { shape, .. } => format!("{name}{}", fixed(shape)),
        PlannedKind::Counted { shape, .. } => {
            format!("{name}[{}]{}", branch.counter_name, fixed(shape))
        }
        _ => name.clone(),
    }
}

/// The user's title or, as in ROOT, the leaf with its type: `x[nx]/F`.
fn title_of(branch: &OpenBranch) -> String {
    let PlannedBranch { title, kind, .. } = &*branch.plan;
    if !title.is_empty() {
        return title.clone();
    }
    let letter = match kind {
        PlannedKind::Flat { number, .. } | PlannedKind::Counted { number, .. } => letter(*number),
        PlannedKind::Counts => "I",
        PlannedKind::Chars => "C",
        PlannedKind::StdString | PlannedKind::Vector { .. } => return leaf_title(branch),
    };
    format!("{}/{letter}", leaf_title(branch))
}

/// The class of a branch's objects; `None` for numbers and characters.
fn class_name(kind: &PlannedKind) -> Option<&str> {
    match kind {
        PlannedKind::StdString => Some("string"),
        PlannedKind::Vector { class } => Some(class),
        _ => None,
    }
}

fn leaf_class(kind: &PlannedKind) -> &'static str {
    let number = match kind {
        PlannedKind::Flat { number, .. } | PlannedKind::Counted { number, .. } => number,
        PlannedKind::Counts => return "TLeafI",
        PlannedKind::Chars => return "TLeafC",
        PlannedKind::StdString | PlannedKind::Vector { .. } => return "TLeafElement",
    };
    match number {
        Number::Bool => "TLeafO",
        Number::I8 | Number::U8 => "TLeafB",
        Number::I16 | Number::U16 => "TLeafS",
        Number::I32 | Number::U32 => "TLeafI",
        Number::I64 | Number::U64 => "TLeafL",
        Number::F32 => "TLeafF",
        Number::F64 => "TLeafD",
    }
}

/// The letter of a type in a leaf list.
fn letter(number: Number) -> &'static str {
    match number {
        Number::Bool => "O",
        Number::I8 => "B",
        Number::U8 => "b",
        Number::I16 => "S",
        Number::U16 => "s",
        Number::I32 => "I",
        Number::U32 => "i",
        Number::I64 => "L",
        Number::U64 => "l",
        Number::F32 => "F",
        Number::F64 => "D",
    }
}

/// ROOT's checksum of a collection, which has no members: of its name alone
/// (`TClass::GetCheckSum`).
fn checksum_of_collection(name: &str) -> u32 {
    name.bytes().fold(0u32, |sum, byte| sum.wrapping_mul(3).wrapping_add(byte.into()))
}

/// How a tree would be drawn.
fn attributes(to: &mut Buffer) {
    let line = to.begin(2);
    [LINE_COLOUR, 1, 1].into_iter().for_each(|number| to.u16(number));
    to.end(line);
    fill_attributes(to);
    let marker = to.begin(3);
    [1, 1].into_iter().for_each(|number| to.u16(number));
    to.f32(1.0);
    to.end(marker);
}

fn fill_attributes(to: &mut Buffer) {
    let fill = to.begin(2);
    [0, FILL_STYLE].into_iter().for_each(|number| to.u16(number));
    to.end(fill);
}

/// Bytes of the offsets of the basket with the most entries (`fEntryOffsetLen`).
fn offset_bytes(branch: &OpenBranch) -> i32 {
    let starts = branch.baskets.iter().map(|basket| basket.first_entry);
    let ends = starts.clone().skip(1).chain([branch.entries]);
    let most = ends.zip(starts).map(|(end, start)| 4 * (end - start)).max();
    most.unwrap_or(0).max(OFFSET_BYTES_MIN).min(i32::MAX as u64) as i32
}

fn io_features(to: &mut Buffer) {
    let count = to.begin(0);
    to.u32(IO_FEATURES_CHECKSUM);
    to.u8(0);
    to.end(count);
}

/// A `TObjArray` that is part of another object.
fn object_array(to: &mut Buffer, len: usize, write: impl FnOnce(&mut Buffer)) {
    let count = to.begin(3);
    to.tobject(0);
    to.string("");
    to.u32(len as u32);
    to.i32(0);
    write(to);
    to.end(count);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_of_collections_as_root_has_them() {
        for (class, sum) in [
            ("vector<float>", 0x055a_169b),
            ("vector<vector<float> >", 0x8165_d920),
            ("vector<string>", 0x100e_72bc),
            ("vector<unsigned int>", 0xb926_1111),
            ("vector<Long64_t>", 0x907d_d4be),
        ] {
            assert_eq!(checksum_of_collection(class), sum, "{class}");
        }
    }
}
