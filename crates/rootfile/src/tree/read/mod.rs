//! A tree's metadata from the object that is in the file.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::basket::IO_GENERATE_OFFSET_MAP;
use super::cluster::cluster_starts;
use super::model::{BasketPlace, BasketRef, Branch, BranchId, BranchKind, Leaf, LeafKind, Tree};
use super::related;
use crate::error::{Error, Result};
use crate::histogram::members::number;
use crate::object::{ObjectId, ObjectRef, Objects, Value};

/// Branches in branches. Real trees stay below twenty.
const DEPTH_MAX: usize = 64;
/// Entries without bytes that are a basket, and how many such baskets a branch may have.
const NOTHING_LEN: u64 = 1 << 20;
const NOTHINGS_MAX: u64 = 1 << 12;

/// Understands the tree that `objects` are about. Baskets outside of a file that ends at
/// `file_end` end the list of their branch.
///
/// # Errors
/// `Corrupt` where the tree lacks members that it must have or a branch contains itself. A branch
/// whose own metadata can't be read is there as [`BranchKind::Unreadable`].
pub(crate) fn read_tree(objects: &Objects, file_end: u64) -> Result<Tree> {
    read_tree_and_columns(objects, file_end).map(|(tree, _)| tree)
}

/// As [`read_tree`], and for each branch the object that has its baskets.
///
/// # Errors
/// As [`read_tree`].
pub(crate) fn read_tree_and_columns(
    objects: &Objects,
    file_end: u64,
) -> Result<(Tree, Vec<ObjectId>)> {
    let tree = objects.root();
    let mut reader = Reader {
        file_end,
        branches: Vec::new(),
        columns: Vec::new(),
        ids: ByObject(Vec::new()),
        leaves: ByObject(Vec::new()),
        counts: Vec::new(),
        seen: ByObject(Vec::new()),
    };
    for branch in tree.objects("fBranches")?.into_iter().flatten() {
        reader.branch(branch, None, 0, false)?;
    }
    reader.resolve_counts();
    let entries = unsigned(tree, "fEntries")?;
    check_entries(entries, &reader.branches)?;
    let baskets_max = reader.branches.iter().map(|branch| branch.baskets.len()).max();
    let read = Tree {
        name: tree.string("fName")?,
        title: tree.string("fTitle")?,
        entries,
        total_bytes: unsigned(tree, "fTotBytes")?,
        zip_bytes: unsigned(tree, "fZipBytes")?,
        cluster_starts: clusters(tree, entries, baskets_max.unwrap_or(0))?,
        weight: number(tree, "fWeight").unwrap_or(1.0),
        has_user_info: has_items(tree, "fUserInfo"),
        aliases: aliases(tree)?,
        friends: related::friends(tree),
        index: related::index(tree).map(|index| index.map(Arc::new)),
        branches: reader.branches,
    };
    Ok((read, reader.columns))
}

/// Refuses a number of entries that all branches contradict with one voice.
///
/// Branches that are filled one by one may have fewer or more than their tree, and a tree whose
/// branches alone were filled has none.
fn check_entries(entries: u64, branches: &[Branch]) -> Result<()> {
    let filled = |branch: &&Branch| branch.parent.is_none() && !branch.baskets.is_empty();
    let mut all = branches.iter().filter(filled);
    let Some(first) = all.next().filter(|_| entries > 0) else { return Ok(()) };
    let is_whole = |branch: &Branch| branch.first_entry == 0 && branch.entries == first.entries;
    if first.entries == entries || !is_whole(first) || !all.all(is_whole) {
        return Ok(());
    }
    let message = format!("a tree of {entries} entries whose branches have {}", first.entries);
    Err(Error::corrupt(message))
}

struct Reader {
    file_end: u64,
    branches: Vec<Branch>,
    /// For each of them the object that has its baskets.
    columns: Vec<ObjectId>,
    /// Which branch and which leaf an object became.
    ids: ByObject<BranchId>,
    leaves: ByObject<(BranchId, u32)>,
    /// Objects that count others, to be looked up when all are read.
    counts: Vec<(BranchId, Counts)>,
    seen: ByObject<()>,
}

/// A value for each object, by the object's position in [`Objects`].
struct ByObject<T>(Vec<Option<T>>);

impl<T: Copy> ByObject<T> {
    /// Sets the value of an object; returns the one before, if any.
    fn insert(&mut self, object: ObjectId, known: T) -> Option<T> {
        if self.0.len() <= object.position() {
            self.0.resize(object.position() + 1, None);
        }
        self.0[object.position()].replace(known)
    }

    fn get(&self, object: ObjectId) -> Option<T> {
        self.0.get(object.position()).copied().flatten()
    }
}

struct Counts {
    /// `fBranchCount` and `fBranchCount2`.
    branches: [Option<ObjectId>; 2],
    /// `fLeafCount` of each leaf, and the leaves themselves.
    leaves: Vec<Option<ObjectId>>,
    leaf_ids: Vec<ObjectId>,
}

impl Reader {
    /// Adds a branch and those below it, `depth` branches deep. It may be `late`: then it begins
    /// when there is something to be put into it.
    fn branch(
        &mut self,
        object: ObjectRef<'_>,
        parent: Option<BranchId>,
        depth: usize,
        late: bool,
    ) -> Result<()> {
        if depth > DEPTH_MAX || self.seen.insert(object.id, ()).is_some() {
            return Err(Error::corrupt("a branch that contains itself"));
        }
        let id = BranchId(self.branches.len() as u32);
        if let Some(parent) = parent {
            self.branches[parent.0 as usize].children.push(id);
        }
        self.ids.insert(object.id, id);
        let of_counts = of_counts(object);
        self.columns.push(of_counts.as_ref().map_or(object.id, |column| column.id));
        if let Ok(of_counts) = of_counts {
            self.ids.insert(of_counts.id, id);
        }
        let parts = of_counts.and_then(|of_counts| self.parts(object, of_counts, parent));
        let (mut branch, counts, children) = match parts {
            Ok(parts) => parts,
            Err(why) => {
                self.branches.push(unreadable(object, why, parent, id));
                return Ok(());
            }
        };
        for (n, leaf) in counts.leaf_ids.iter().enumerate() {
            self.leaves.insert(*leaf, (id, n as u32));
        }
        let name = branch.name.clone();
        if late {
            let nothing = nothing_before(branch.first_entry);
            branch.entries += nothing.last().map_or(0, |basket| basket.entries.end);
            branch.baskets.splice(0..0, nothing);
        }
        let late = late || matches!(branch.kind, BranchKind::Pointers { .. });
        self.branches.push(branch);
        self.counts.push((id, counts));
        for child in children {
            let below = self.branch(child, Some(id), depth + 1, late);
            below.map_err(|error| error.within(&name))?;
        }
        Ok(())
    }

    /// A branch, the objects of its counters, and the branches below it. `column` is the branch
    /// that has its baskets.
    fn parts<'a>(
        &self,
        object: ObjectRef<'a>,
        column: ObjectRef<'a>,
        parent: Option<BranchId>,
    ) -> Result<(Branch, Counts, Vec<ObjectRef<'a>>)> {
        let mut branch = self.one_branch(column, parent)?;
        branch.name = object.string("fName")?;
        branch.title = object.string("fTitle")?;
        branch.kind = branch_kind(object)?;
        let mut counts = Counts {
            branches: [pointer(object, "fBranchCount")?, pointer(object, "fBranchCount2")?],
            leaves: Vec::new(),
            leaf_ids: Vec::new(),
        };
        for leaf in column.objects("fLeaves")?.into_iter().flatten() {
            branch.leaves.push(read_leaf(leaf).map_err(|error| error.within("leaf"))?);
            counts.leaves.push(pointer(leaf, "fLeafCount")?);
            counts.leaf_ids.push(leaf.id);
        }
        let children = object.objects("fBranches")?.into_iter().flatten().collect();
        Ok((branch, counts, children))
    }

    fn one_branch(&self, object: ObjectRef<'_>, parent: Option<BranchId>) -> Result<Branch> {
        let entries = unsigned(object, "fEntries")?;
        let first_entry = u64::try_from(optional(object, "fFirstEntry", 0)?).unwrap_or(0);
        Ok(Branch {
            name: String::new(),
            title: String::new(),
            parent,
            children: Vec::new(),
            leaves: Vec::new(),
            kind: BranchKind::Plain,
            baskets: baskets(object, first_entry, entries, self.file_end)?,
            entries,
            first_entry,
            entry_offset_len: u32::try_from(object.int("fEntryOffsetLen")?).unwrap_or(0),
            generates_offsets: generates_offsets(object),
            total_bytes: unsigned(object, "fTotBytes")?,
            zip_bytes: unsigned(object, "fZipBytes")?,
            compress: object.int("fCompress")? as i32,
            basket_size: u32::try_from(object.int("fBasketSize")?).unwrap_or(0),
            file_name: file_name(object)?,
        })
    }

    /// Resolves counters to branches and leaves, now that all of these are known.
    fn resolve_counts(&mut self) {
        for (id, counts) in std::mem::take(&mut self.counts) {
            let branch = &mut self.branches[id.0 as usize];
            let [first, second] = counts.branches.map(|object| object.map(|id| self.ids.get(id)));
            let leaves = counts.leaves.iter().map(|object| object.map(|id| self.leaves.get(id)));
            let mut lost = [first, second].contains(&Some(None));
            for (leaf, count) in branch.leaves.iter_mut().zip(leaves) {
                lost |= count == Some(None);
                leaf.count = count.flatten();
            }
            if lost {
                let why =
                    Error::unsupported("what counts its elements is in no branch of the tree");
                branch.kind = BranchKind::Unreadable { why };
            } else if let BranchKind::Element { count, count2, .. } = &mut branch.kind {
                (*count, *count2) = (first.flatten(), second.flatten());
            }
        }
    }
}

/// The branch that has the baskets of a branch: itself, but for a `TBranchClones`.
fn of_counts(object: ObjectRef<'_>) -> Result<ObjectRef<'_>> {
    match object.class() {
        "TBranchClones" => object
            .pointed("fBranchCount")?
            .ok_or_else(|| Error::corrupt("TBranchClones without a branch of its counts")),
        _ => Ok(object),
    }
}

/// Baskets of the entries from before there was a branch; none where these are beyond reason.
fn nothing_before(first_entry: u64) -> Vec<BasketRef> {
    let baskets = first_entry.div_ceil(NOTHING_LEN);
    let basket = |n| BasketRef {
        entries: n * NOTHING_LEN..first_entry.min((n + 1) * NOTHING_LEN),
        place: BasketPlace::Embedded(Bytes::new()),
    };
    if baskets > NOTHINGS_MAX { Vec::new() } else { (0..baskets).map(basket).collect() }
}

/// A branch of which not even the metadata can be read.
fn unreadable(object: ObjectRef<'_>, why: Error, parent: Option<BranchId>, id: BranchId) -> Branch {
    let unnamed = |_| format!("unreadable {} {}", object.class(), id.0);
    let name = object.string("fName").unwrap_or_else(unnamed);
    let title = object.string("fTitle").unwrap_or_default();
    Branch { title, parent, ..Branch::without_entries(name, BranchKind::Unreadable { why }) }
}

/// Whether the branch says so; each basket says it again, so features that cannot be read are no
/// error.
fn generates_offsets(object: ObjectRef<'_>) -> bool {
    let features = object.member("fIOFeatures").and(object.pointed("fIOFeatures").ok().flatten());
    let bits = features.and_then(|features| features.int("fIOBits").ok()).unwrap_or(0);
    bits & i64::from(IO_GENERATE_OFFSET_MAP) != 0
}

fn branch_kind(object: ObjectRef<'_>) -> Result<BranchKind> {
    let text = |name| match object.member(name) {
        Some(_) => object.string(name),
        None => Ok(String::new()),
    };
    Ok(match object.class() {
        "TBranch" => BranchKind::Plain,
        _ if object.base("TBranchElement").is_some() => BranchKind::Element {
            class_name: object.string("fClassName")?,
            parent_name: text("fParentName")?,
            clones_name: text("fClonesName")?,
            checksum: optional(object, "fCheckSum", 0)? as u32,
            class_version: object.int("fClassVersion")? as i32,
            id: object.int("fID")? as i32,
            branch_type: object.int("fType")? as i32,
            streamer_type: object.int("fStreamerType")? as i32,
            count: None,
            count2: None,
        },
        "TBranchObject" => BranchKind::Object { class_name: object.string("fClassName")? },
        "TBranchClones" => BranchKind::Clones { class_name: object.string("fClassName")? },
        "TBranchSTL" => BranchKind::Pointers { class_name: object.string("fContName")? },
        class => BranchKind::Other { class: class.to_owned() },
    })
}

fn read_leaf(object: ObjectRef<'_>) -> Result<Leaf> {
    let kind = match object.class() {
        "TLeafO" => LeafKind::Bool,
        "TLeafB" => LeafKind::I8,
        "TLeafS" => LeafKind::I16,
        "TLeafI" => LeafKind::I32,
        "TLeafL" | "TLeafG" => LeafKind::I64,
        "TLeafF" => LeafKind::F32,
        "TLeafD" => LeafKind::F64,
        "TLeafF16" => LeafKind::Float16,
        "TLeafD32" => LeafKind::Double32,
        "TLeafC" => LeafKind::Chars,
        "TLeafElement" => LeafKind::Element {
            id: object.int("fID")? as i32,
            streamer_type: object.int("fType")? as i32,
        },
        "TLeafObject" => LeafKind::Object { named: optional(object, "fVirtual", 1)? != 0 },
        class => LeafKind::Other(class.to_owned()),
    };
    let size = |name| Ok(u32::try_from(object.int(name)?).unwrap_or(0));
    Ok(Leaf {
        name: object.string("fName")?,
        title: object.string("fTitle")?,
        kind,
        // As ROOT has it: leaves of before version 2.25 do not say that they hold one number.
        len: if object.int("fLen")? == 0 { 1 } else { size("fLen")? },
        len_type: size("fLenType")?,
        unsigned: object.int("fIsUnsigned")? != 0,
        count: None,
        maximum: object.int("fMaximum").unwrap_or(0),
    })
}

/// A basket counts its entries in four bytes (`TBasket::fNevBuf`).
const BASKET_ENTRIES_MAX: u64 = i32::MAX as u64;

/// The baskets of a branch, up to the first one whose place or entries cannot be: then they cover
/// fewer entries than the branch says it has, which is an error when these are read. Those in
/// another file have no place in this one.
fn baskets(
    object: ObjectRef<'_>,
    first_entry: u64,
    entries: u64,
    file_end: u64,
) -> Result<Vec<BasketRef>> {
    let sizes = object.ints("fBasketBytes").unwrap_or_default();
    let starts = object.ints("fBasketEntry")?;
    let seeks = object.ints("fBasketSeek").unwrap_or_default();
    let embedded = object.objects("fBaskets")?;
    if !file_name(object)?.is_empty() {
        return Ok(Vec::new());
    }
    let write_basket = usize::try_from(object.int("fWriteBasket")?).unwrap_or(0);
    let mut all = Vec::new();
    for n in 0..=write_basket {
        let start = starts.get(n).copied().unwrap_or(0);
        let end = match starts.get(n + 1) {
            Some(end) if n < write_basket => *end,
            _ => i64::try_from(first_entry.saturating_add(entries)).unwrap_or(i64::MAX),
        };
        let Ok(start) = u64::try_from(start) else { break };
        let Ok(end) = u64::try_from(end) else { break };
        let stored = seeks.get(n).is_some_and(|offset| *offset != 0);
        // Versions of `TBranch` below 5 do not say how long baskets are: up to the next one.
        let room = || {
            let offset = *seeks.get(n).filter(|_| sizes.is_empty())?;
            let next = seeks.iter().filter(|other| **other > offset).min();
            next.copied().or(i64::try_from(file_end).ok())?.checked_sub(offset)
        };
        let place = match embedded.get(n) {
            // A tree saved while it was filled has baskets in both places, with the same content.
            Some(Some(basket)) if !(stored && n < write_basket) => match basket.member("bytes") {
                Some(Value::Text(bytes)) if !bytes.is_empty() => {
                    BasketPlace::Embedded(bytes.clone())
                }
                _ => break,
            },
            _ => match stored_range(seeks.get(n), sizes.get(n).copied().or_else(room)) {
                Some(range) if range.end <= file_end => BasketPlace::Stored(range),
                _ => break,
            },
        };
        let is_counted = !matches!(&place, BasketPlace::Embedded(bytes) if bytes.is_empty());
        if end < start || is_counted && end - start > BASKET_ENTRIES_MAX {
            break;
        }
        if end > start {
            all.push(BasketRef { entries: start..end, place });
        }
    }
    Ok(all)
}

/// The file in which the baskets are, if another one; versions of `TBranch` below 3 have none.
fn file_name(object: ObjectRef<'_>) -> Result<String> {
    object.member("fFileName").map_or(Ok(String::new()), |_| object.string("fFileName"))
}

/// The range of a basket's record, where there is one.
fn stored_range(offset: Option<&i64>, size: Option<i64>) -> Option<Range<u64>> {
    let offset = u64::try_from(*offset?).ok().filter(|offset| *offset > 0)?;
    let size = u64::try_from(size?).ok().filter(|size| *size > 0)?;
    Some(offset..offset.checked_add(size)?)
}

fn clusters(tree: ObjectRef<'_>, entries: u64, baskets_max: usize) -> Result<Vec<u64>> {
    let of = |name| match tree.member(name) {
        Some(_) => tree.ints(name),
        None => Ok(Vec::new()),
    };
    let ranges: Vec<(i64, i64)> =
        of("fClusterRangeEnd")?.into_iter().zip(of("fClusterSize")?).collect();
    let auto_flush = optional(tree, "fAutoFlush", 0)?;
    Ok(cluster_starts(entries, &ranges, auto_flush, baskets_max))
}

pub(super) fn aliases(tree: ObjectRef<'_>) -> Result<Vec<(String, String)>> {
    if tree.member("fAliases").is_none() {
        return Ok(Vec::new());
    }
    let named = tree.objects("fAliases")?.into_iter().flatten();
    named.map(|alias| Ok((alias.string("fName")?, alias.string("fTitle")?))).collect()
}

/// Whether a list is there that has something in it, or that cannot be read.
fn has_items(tree: ObjectRef<'_>, name: &str) -> bool {
    match tree.member(name) {
        None | Some(Value::Null) => false,
        Some(_) => tree.objects(name).map_or(true, |items| items.iter().any(Option::is_some)),
    }
}

/// The object that a member points to; `None` for a null pointer, and for versions that lack it.
fn pointer(object: ObjectRef<'_>, name: &str) -> Result<Option<ObjectId>> {
    match object.member(name) {
        Some(_) => Ok(object.pointed(name)?.map(|target| target.id)),
        None => Ok(None),
    }
}

/// A member that some versions lack.
fn optional(object: ObjectRef<'_>, name: &str, default: i64) -> Result<i64> {
    object.member(name).map_or(Ok(default), |_| object.int(name))
}

fn unsigned(object: ObjectRef<'_>, name: &str) -> Result<u64> {
    let value = object.int(name)?;
    u64::try_from(value).map_err(|_| Error::corrupt(format!("{name} is {value}")))
}

#[cfg(test)]
mod tests;
