//! A TTree's metadata as plain data (ROOT: `TTree`, `TBranch`, `TBranchElement`, `TLeaf*`).
//!
//! Nothing here refers to bytes elsewhere except [`BasketPlace::Stored`]: which baskets to fetch
//! for which entries is answered without another read.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::related::{FriendPlace, TreeIndex};
use crate::error::{Error, Result};

/// Position of a branch in [`Tree::branches`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BranchId(pub u32);

/// A TTree, its branches flattened in the tree's own (depth first) order.
#[derive(Debug, Clone, PartialEq)]
pub struct Tree {
    pub name: String,
    pub title: String,
    /// Number of entries (`fEntries`).
    pub entries: u64,
    /// Uncompressed and compressed size of all baskets, as written (`fTotBytes`, `fZipBytes`).
    pub total_bytes: u64,
    pub zip_bytes: u64,
    pub branches: Vec<Branch>,
    /// First entries of the clusters, ascending, starting with 0; empty where the file does not
    /// say (`fClusterRangeEnd`, `fClusterSize`, `fAutoFlush`).
    pub cluster_starts: Vec<u64>,
    /// Weight of the tree's entries (`fWeight`), 1 without one.
    pub weight: f64,
    /// Whether something is in the list of user information (`fUserInfo`).
    pub has_user_info: bool,
    /// `TTree::fAliases` as name and formula.
    pub aliases: Vec<(String, String)>,
    /// `TTree::fFriends`, or why they cannot be read.
    pub friends: Result<Vec<FriendPlace>>,
    /// `TTree::fTreeIndex`, or why it cannot be read.
    pub index: Result<Option<Arc<TreeIndex>>>,
}

/// A TBranch or TBranchElement.
#[derive(Debug, Clone, PartialEq)]
pub struct Branch {
    pub name: String,
    pub title: String,
    pub parent: Option<BranchId>,
    pub children: Vec<BranchId>,
    pub leaves: Vec<Leaf>,
    pub kind: BranchKind,
    /// In order of their entries, including the embedded and recovered ones.
    pub baskets: Vec<BasketRef>,
    /// Number of entries (`fEntries`).
    pub entries: u64,
    /// First entry of this branch (`fFirstEntry`), nearly always 0.
    pub first_entry: u64,
    /// `fEntryOffsetLen`: non-zero where baskets carry an entry offset array.
    pub entry_offset_len: u32,
    /// Baskets leave out entry offsets that follow from the counts (`fIOFeatures`,
    /// `kGenerateOffsetMap`); copied baskets may do so without the branch saying it.
    pub generates_offsets: bool,
    pub total_bytes: u64,
    pub zip_bytes: u64,
    /// `fCompress`: algorithm * 100 + level.
    pub compress: i32,
    /// `fBasketSize`: bytes of a new basket before compression.
    pub basket_size: u32,
    /// `fFileName`: non-empty where the baskets are in another file.
    pub file_name: String,
}

/// `fEntryOffsetLen` of a new branch whose entries have several sizes, as ROOT has it.
const OFFSET_LEN: u32 = 1000;

impl Branch {
    /// `fEntryOffsetLen` of baskets that it gets. uproot leaves it at 0 for texts until there are
    /// entries.
    pub(crate) fn offset_len_of_further(&self) -> u32 {
        let is_text = matches!(&self.leaves[..], [leaf] if leaf.kind == LeafKind::Chars);
        match self.entry_offset_len {
            0 if is_text && self.entries == 0 => OFFSET_LEN,
            len => len,
        }
    }

    /// A branch at the top of its tree with a name and a kind, without leaves and baskets.
    pub(crate) fn without_entries(name: String, kind: BranchKind) -> Branch {
        Branch {
            name,
            title: String::new(),
            parent: None,
            children: Vec::new(),
            leaves: Vec::new(),
            kind,
            baskets: Vec::new(),
            entries: 0,
            first_entry: 0,
            entry_offset_len: 0,
            generates_offsets: false,
            total_bytes: 0,
            zip_bytes: 0,
            compress: 0,
            basket_size: 0,
            file_name: String::new(),
        }
    }
}

/// The facts that the branch's class has about its contents.
#[derive(Debug, Clone, PartialEq)]
pub enum BranchKind {
    /// `TBranch`: its leaves say everything.
    Plain,
    /// `TBranchElement`.
    Element {
        class_name: String,
        parent_name: String,
        clones_name: String,
        checksum: u32,
        class_version: i32,
        /// `fID`: index of the streamer element, -1 for a whole object, -2 for a base-less top.
        id: i32,
        /// `fType`: 0 leaf or object, 1 base, 2 member object, 3/31 TClonesArray and its member,
        /// 4/41 STL collection and its member.
        branch_type: i32,
        /// `fStreamerType`: the TStreamerInfo element type.
        streamer_type: i32,
        /// `fBranchCount`, `fBranchCount2`.
        count: Option<BranchId>,
        count2: Option<BranchId>,
    },
    /// `TBranchObject`, of objects of a class.
    Object { class_name: String },
    /// `TBranchClones`: how many objects there are, and their members below. In the file these
    /// numbers are in a branch of their own (`fBranchCount`).
    Clones { class_name: String },
    /// `TBranchSTL`: a collection of pointers, with a branch below for each class of objects. Its
    /// own baskets say which of them each pointer is in.
    Pointers { class_name: String },
    /// Other classes, by name.
    Other { class: String },
    /// A branch whose own metadata can't be read; the others of the tree are not concerned.
    Unreadable { why: Error },
}

/// A TLeaf of any class.
#[derive(Debug, Clone, PartialEq)]
pub struct Leaf {
    pub name: String,
    pub title: String,
    pub kind: LeafKind,
    /// `fLen`: numbers an entry (per counted element where there is a count); 0 where the file
    /// says -1, as it does for counted pointers in split collections.
    pub len: u32,
    /// `fLenType`: bytes a number.
    pub len_type: u32,
    pub unsigned: bool,
    /// `fLeafCount`: the leaf that holds how many there are.
    pub count: Option<(BranchId, u32)>,
    /// `fMaximum` as an integer, where the class has one.
    pub maximum: i64,
}

/// The class of a leaf.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LeafKind {
    /// TLeafO
    Bool,
    /// TLeafB
    I8,
    /// TLeafS
    I16,
    /// TLeafI
    I32,
    /// TLeafL, and TLeafG (`long`)
    I64,
    /// TLeafF
    F32,
    /// TLeafD
    F64,
    /// TLeafF16: `Float16_t`
    Float16,
    /// TLeafD32: `Double32_t`
    Double32,
    /// TLeafC: a counted string
    Chars,
    /// TLeafElement: the streamer element `id` of type `streamer_type` says.
    Element { id: i32, streamer_type: i32 },
    /// TLeafObject, which may name the class of each object.
    Object { named: bool },
    /// Other classes, by name.
    Other(String),
}

/// One basket: which entries, and where its bytes are.
#[derive(Debug, Clone, PartialEq)]
pub struct BasketRef {
    /// Half open, in entries of the tree.
    pub entries: Range<u64>,
    pub place: BasketPlace,
}

/// Where a basket's record is.
#[derive(Debug, Clone, PartialEq)]
pub enum BasketPlace {
    /// In the file: the whole record, key included (`fBasketSeek`, `fBasketBytes`).
    Stored(Range<u64>),
    /// Inside the tree's own record: a TBasket streamed into `fBaskets`. The bytes are those of
    /// the streamed TBasket, from its TKey header on, uncompressed. No bytes at all stand for
    /// entries of before there was the branch.
    Embedded(Bytes),
}

impl BasketPlace {
    /// Where the record is in the file; `None` of one inside the tree's own record.
    #[must_use]
    pub fn stored(&self) -> Option<Range<u64>> {
        match self {
            BasketPlace::Stored(range) => Some(range.clone()),
            BasketPlace::Embedded(_) => None,
        }
    }
}
