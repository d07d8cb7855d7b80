//! A tree of copied baskets, with the record of the first input's tree.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use super::BlockNumbers;
use super::aliases::CopiedAliases;
use super::fill::content_max;
use super::friends::CopiedFriends;
use super::index::{CopiedIndex, PartIndex};
use super::new_columns::{KeptEntries, TreeColumns};
use super::object::CopiedObject;
use super::plan::{
    BasketPart, BranchFacts, BranchPart, ClusterRun, Survivors, TreePart, clusters, end, join,
};
use super::pointers::is_free_of_pointers;
use super::record::Edits;
use super::remake::{HeldBasket, Remake};
use super::source::{NO_MAP, SourceTree, WholeRecord};
use crate::error::{Error, Result};
use crate::object::ObjectRef;
use crate::tree::interpret::plain::numbers;
use crate::tree::{BasketPlace, BasketRef, Branch, BranchId, BranchKind, Leaf, LeafKind, Tree};
use crate::write::buffer::{BITS, Buffer};
use crate::write::compression::Compression;
use crate::write::table::RecordPlace;

/// Room for baskets that a branch has at least (ROOT: `fMaxBaskets`).
const BASKETS_MIN: usize = 10;
/// Maximum number of entries: `fEntries` has a sign.
const ENTRIES_MAX: u64 = i64::MAX as u64;
/// `fAutoFlush` where the size of clusters is not known: bytes, as ROOT's default.
const AUTO_FLUSH_UNKNOWN: i64 = -30_000_000;

/// A tree that is put together of those of several inputs.
#[derive(Debug)]
pub struct CopiedTree {
    /// The tree of the first input, and those of others that have branches which it lacks.
    pub(super) sources: Vec<Arc<SourceTree>>,
    /// Of each source.
    pub(super) records: Vec<WholeRecord>,
    pub(super) branches: Vec<CopiedBranch>,
    /// The numbers of those of each path, in the order in which all inputs have these.
    pub(super) places: BTreeMap<String, Vec<usize>>,
    /// Entries of all inputs that are planned, of those that are begun, and before the present one.
    pub(super) planned: u64,
    pub(super) entries: u64,
    pub(super) before: u64,
    clusters: Vec<ClusterRun>,
    inputs: usize,
    remade: Remade,
    /// Whether some entries are left out, which an index would know.
    is_cut: bool,
    pub(super) friends: CopiedFriends,
    pub(super) aliases: CopiedAliases,
    index: CopiedIndex,
}

/// Treatment of the inputs' baskets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Remade {
    /// They are copied.
    No,
    /// They are compressed anew.
    Compressed,
    /// They are joined: clusters end where they are cut, the last time behind so many entries.
    Joined { cut: u64 },
}

/// Treatment of inputs that do not have the same branches or fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Missing {
    /// An error that names input and branch.
    #[default]
    Strict,
    /// Those that the first input lacks are left out; those that it has must be in all.
    Filter,
    /// Those that an input lacks are filled there: with zeros, empty texts and empty lists.
    Union,
}

/// A branch of the output, and its baskets so far.
#[derive(Debug, Default)]
pub(super) struct CopiedBranch {
    /// Of which source it is, and its number there.
    pub origin: (usize, usize),
    is_left_out: bool,
    /// Whether it is a new column, which no input has.
    pub is_new: bool,
    /// Of each basket its length, its first entry and its offset in the output.
    lens: Vec<i64>,
    entries: Vec<i64>,
    seeks: Vec<i64>,
    /// Baskets of inputs before the present one.
    before: usize,
    entry_count: u64,
    total_bytes: u64,
    zip_bytes: u64,
    entry_offset_len: u32,
    maximum: i64,
    /// Whether entries of some input need a map of their objects.
    needs_map: bool,
    leaves: Vec<(i64, u32)>,
}

impl CopiedTree {
    /// A tree like the first input's, without entries.
    ///
    /// # Errors
    /// `Unsupported` and `Corrupt` where a part of the tree's record cannot be read.
    pub fn new(first: Arc<SourceTree>) -> Result<CopiedTree> {
        let mut tree = CopiedTree {
            sources: Vec::new(),
            records: Vec::new(),
            branches: Vec::new(),
            places: BTreeMap::new(),
            planned: 0,
            entries: 0,
            before: 0,
            clusters: Vec::new(),
            inputs: 0,
            remade: Remade::No,
            is_cut: false,
            friends: CopiedFriends::default(),
            aliases: CopiedAliases::default(),
            index: CopiedIndex::default(),
        };
        (0..first.paths.len()).for_each(|at| tree.add_branch(&first, at));
        tree.add_source(first)?;
        Ok(tree)
    }

    /// The branch that was added last.
    pub(super) fn last_branch(&mut self) -> &mut CopiedBranch {
        let last = self.branches.len() - 1;
        &mut self.branches[last]
    }

    /// Adds a source, after its branches.
    ///
    /// # Errors
    /// As [`CopiedTree::new`].
    pub(super) fn add_source(&mut self, source: Arc<SourceTree>) -> Result<()> {
        self.records.push(source.record()?);
        self.sources.push(source);
        Ok(())
    }

    /// Adds a branch of the source that is added next.
    pub(super) fn add_branch(&mut self, of: &SourceTree, at: usize) {
        self.places.entry(of.paths[at].clone()).or_default().push(self.branches.len());
        let origin = (self.sources.len(), at);
        self.branches.push(CopiedBranch { origin, ..CopiedBranch::default() });
    }

    /// Leaves out all branches but some, those within them, those that count their items and those
    /// that they are in.
    pub fn keep(&mut self, branches: &[BranchId]) {
        let all = &self.sources[0].tree.branches;
        let mut kept = vec![false; all.len()];
        let mut wanted: Vec<BranchId> = branches.to_vec();
        while let Some(BranchId(at)) = wanted.pop() {
            let branch = &all[at as usize];
            if std::mem::replace(&mut kept[at as usize], true) {
                continue;
            }
            wanted.extend(&branch.children);
            wanted.extend(branch.leaves.iter().filter_map(|leaf| Some(leaf.count?.0)));
            if let BranchKind::Element { count, count2, .. } = &branch.kind {
                wanted.extend(count.iter().chain(count2));
            }
        }
        for (at, branch) in all.iter().enumerate() {
            let mut above = branch.parent.filter(|_| kept[at]);
            while let Some(BranchId(parent)) = above {
                kept[parent as usize] = true;
                above = all[parent as usize].parent;
            }
        }
        for (branch, kept) in self.branches.iter_mut().zip(kept) {
            branch.is_left_out = !kept;
        }
    }

    /// Makes baskets anew, which are then added with [`CopiedTree::push`].
    pub fn remake(&mut self, remake: &Remake) {
        self.remade = match remake.basket_bytes {
            0 => Remade::Compressed,
            _ => Remade::Joined { cut: 0 },
        };
    }

    /// Whether baskets are made anew, and not copied.
    pub fn is_remade(&self) -> bool {
        self.remade != Remade::No
    }

    /// The tree of the first input.
    pub fn first(&self) -> &Arc<SourceTree> {
        &self.sources[0]
    }

    pub fn entries(&self) -> u64 {
        self.entries
    }

    /// Whether no input so far has branches or entries: the next one decides the branches of the
    /// tree.
    pub fn is_nothing(&self) -> bool {
        self.branches.is_empty() && self.planned == 0
    }

    /// Notes on the parts of the inputs' trees that the copy, after all inputs, lacks or has of the
    /// first input alone.
    pub fn left_out(&self) -> Vec<String> {
        let has_object = matches!(self.sources[0].tree.index, Ok(Some(_)));
        let why = self.index.left_out(has_object).filter(|_| self.moves_entries());
        let index = why.map(|why| {
            format!("its index is left out, {why}: as a friend, it goes by the numbers of entries")
        });
        let left_out = index.into_iter().chain(self.friends_left_out());
        left_out.chain(self.notes_on_aliases()).collect()
    }

    /// Whether entries have other numbers than in the first input, or there are others.
    pub(super) fn moves_entries(&self) -> bool {
        self.inputs > 1 || self.is_cut
    }

    pub(super) fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// A branch, as the first input that has it describes it.
    pub(super) fn branch(&self, at: usize) -> &Branch {
        let (source, branch) = self.branches[at].origin;
        &self.sources[source].tree.branches[branch]
    }

    pub(super) fn path(&self, at: usize) -> &str {
        let (source, branch) = self.branches[at].origin;
        &self.sources[source].paths[branch]
    }

    /// How the baskets of a branch are compressed, where that is said.
    pub fn compression(&self, branch: usize) -> Compression {
        let number = u32::try_from(self.branch(branch).compress).unwrap_or(0);
        Compression::of_number(number).unwrap_or(Compression::NONE)
    }

    /// The part that an input's tree adds, also that of the first: all entries, or those that a cut
    /// has left.
    ///
    /// # Errors
    /// `Unsupported` with the branch where the two trees differ, or cannot be filled.
    pub fn plan(
        &mut self,
        other: &Arc<SourceTree>,
        missing: Missing,
        kept: KeptEntries<'_, TreeColumns>,
    ) -> Result<TreePart> {
        let KeptEntries { survivors, new_columns } = kept;
        if other.is_nothing() {
            return Ok(TreePart::default());
        }
        let within = |error: Error, path: &str| error.within(path).within(&other.tree.name);
        let taken = survivors.map_or(other.tree.entries, |some| some.rank(other.tree.entries));
        let planned = self.planned.checked_add(taken).filter(|all| *all <= ENTRIES_MAX);
        let planned = planned.ok_or_else(|| {
            let message = format!("{taken} entries behind {}: too many", self.planned);
            Error::limit(message).within(&other.tree.name)
        })?;
        if missing == Missing::Union {
            // Those that a cut has left were read.
            if survivors.is_none() {
                check_entries(&other.tree).map_err(|error| error.within(&other.tree.name))?;
            }
            self.add_branches_of(other)?;
        }
        if let Some(new_columns) = new_columns {
            self.add_new_columns(other, new_columns)?;
        }
        // Branches of one path follow each other in the same order.
        let mut theirs: BTreeMap<&str, VecDeque<usize>> = BTreeMap::new();
        for (at, path) in other.paths.iter().enumerate() {
            theirs.entry(path).or_default().push_back(at);
        }
        let mut branches = Vec::with_capacity(self.branches.len());
        for at in 0..self.branches.len() {
            let path = self.path(at);
            let new =
                new_columns.and_then(|new_columns| Some((new_columns, new_columns.branch(path)?)));
            let their = theirs.get_mut(path).and_then(VecDeque::pop_front);
            let of = match (new, their) {
                _ if self.branches[at].is_left_out => Ok(None),
                (Some((new_columns, new)), _) => self.new_part(at, new_columns, new).map(Some),
                (None, Some(their)) => self.part_of(at, other, their, survivors).map(Some),
                (None, None) if self.branches[at].is_new && taken == 0 => Ok(None),
                (None, None) => self.check_lacking(at, other, missing).map(|()| None),
            };
            let (part, facts) = match of.map_err(|error| within(error, path))? {
                Some(of) => of,
                None if self.branches[at].is_left_out => Default::default(),
                None => (BranchPart::lacking(), BranchFacts::default()),
            };
            let is_taken = !part.is_lacking && !self.branches[at].is_left_out;
            branches.push(part);
            if is_taken {
                self.branches[at].add(&facts, self.remade == Remade::No);
            }
        }
        let mut left = theirs.into_iter().filter(|(_, left)| !left.is_empty());
        match left.next().filter(|_| missing == Missing::Strict) {
            Some((path, _)) => {
                let message = "a branch that the first input lacks";
                Err(within(Error::unsupported(message), path))
            }
            None => {
                let entries = taken;
                let mut clusters = clusters(&other.tree);
                if let Some(survivors) = survivors {
                    clusters = survivors.clusters(&clusters);
                    self.is_cut = true;
                }
                self.planned = planned;
                self.aliases.compare(&self.sources[0].tree, &other.tree);
                let has_other_friends = self.has_other_friends(&other.tree);
                let index = PartIndex::new(&other.tree, survivors);
                Ok(TreePart { entries, clusters, branches, has_other_friends, index })
            }
        }
    }

    /// The baskets of a branch in an input, and its other facts.
    fn part_of(
        &self,
        at: usize,
        other: &SourceTree,
        their: usize,
        survivors: Option<&Survivors>,
    ) -> Result<(BranchPart, BranchFacts)> {
        same(self.branch(at), &other.tree.branches[their])?;
        let mut part = other.part(their)?;
        let mut facts = other.facts(their);
        if let Some(survivors) = survivors {
            part.select(survivors);
            facts.entries = survivors.rank(facts.entries);
        }
        Ok((part, facts))
    }

    /// The baskets of a new column for an input, and its other facts.
    fn new_part(
        &self,
        at: usize,
        new_columns: &TreeColumns,
        branch: usize,
    ) -> Result<(BranchPart, BranchFacts)> {
        same(self.branch(at), &new_columns.tree.tree.branches[branch])?;
        new_columns.part(branch)
    }

    /// Begins with the next input: its baskets are now placed, in any order.
    pub fn begin(&mut self, part: &TreePart) {
        self.before = self.entries;
        for (branch, part) in self.branches.iter_mut().zip(&part.branches) {
            branch.before = branch.seeks.len();
            if part.is_lacking || branch.is_left_out {
                continue;
            }
            if self.remade == Remade::No {
                for basket in &part.baskets {
                    branch.lens.push(0);
                    branch.entries.push((self.entries + basket.first_entry) as i64);
                    branch.seeks.push(0);
                }
            }
        }
        self.index.add(&part.index, self.entries);
        self.entries += part.entries;
        if !matches!(self.remade, Remade::Joined { .. }) {
            part.clusters.iter().for_each(|one| join(&mut self.clusters, *one));
        }
        self.inputs += 1;
        self.friends.differ |= part.has_other_friends;
    }

    /// Entries of the inputs before the present one.
    pub fn entries_before(&self) -> u64 {
        self.before
    }

    /// Adds a basket that was made anew to its branch; its cycle.
    pub fn push(&mut self, branch: usize, basket: &HeldBasket, at: RecordPlace) -> u16 {
        let cycle = self.branches[branch].len() as u16;
        self.branches[branch].push(basket.first_entry, basket.record.len(), at);
        self.add_bytes(branch, basket.record.len(), basket.content_len);
        cycle
    }

    /// Where baskets are joined, a cluster ends behind so many entries.
    pub fn cut(&mut self, entries: u64) {
        if let Remade::Joined { cut } = &mut self.remade {
            let size = entries - *cut;
            if size > 0 {
                join(&mut self.clusters, ClusterRun { entries: size, size });
            }
            *cut = entries;
        }
    }

    /// Whether a branch's baskets can be joined: entries of it mean the same in another place.
    pub fn may_join(&self, branch: usize) -> bool {
        let (source, _) = self.branches[branch].origin;
        is_free_of_pointers(self.branch(branch), self.sources[source].streamers())
    }

    /// Says where a basket of the present input is, which of its branch's there; its cycle.
    pub fn place(&mut self, basket: BlockNumbers, len: usize, at: RecordPlace) -> u16 {
        let branch = &mut self.branches[basket.owner];
        let slot = branch.before + basket.number;
        branch.lens[slot] = len as i64;
        branch.seeks[slot] = at.offset as i64;
        slot as u16
    }

    /// The number to add to those of processes in a branch's baskets: numbers and texts have none.
    pub fn process_shift(&self, branch: usize, processes: u16) -> u16 {
        match self.branch(branch).kind {
            BranchKind::Plain => 0,
            _ => processes,
        }
    }

    /// Adds the bytes of a basket that had no record of its own to its branch's.
    pub fn add_bytes(&mut self, branch: usize, stored: usize, content: usize) {
        let branch = &mut self.branches[branch];
        branch.total_bytes = branch.total_bytes.saturating_add(content as u64);
        branch.zip_bytes = branch.zip_bytes.saturating_add(stored as u64);
    }

    /// The tree as an object, after all inputs.
    ///
    /// # Errors
    /// `Limit` where the version of a class that the first input has cannot say it;
    /// `Unsupported` where a branch has an object that cannot be read.
    pub fn finish(mut self) -> Result<CopiedObject> {
        if matches!(self.remade, Remade::Joined { .. }) {
            self.cut(self.entries);
            end(&mut self.clusters);
        }
        let mut edits = Edits::default();
        for (source, tree) in self.records.iter().enumerate() {
            let unread = tree.record.unreadable()?;
            edits.dropped.extend(unread.into_iter().map(|id| (source, id)));
        }
        self.edit_tree(&mut edits)?;
        self.edit_union(&mut edits)?;
        for at in 0..self.branches.len() {
            if self.branches[at].is_left_out {
                let (source, column) = self.column(at);
                let leaves = column.objects("fLeaves")?.into_iter().flatten();
                edits.dropped.extend(leaves.chain([column]).map(|object| (source, object.id)));
                continue;
            }
            self.edit_branch(at, &mut edits).map_err(|error| error.within(self.path(at)))?;
        }
        let SourceTree { tree, class, .. } = &*self.sources[0];
        let class = class.clone();
        let title = tree.title.clone();
        let records = self.records.iter().map(|tree| tree.record.clone()).collect();
        Ok(CopiedObject { class, title, part: None, described: None, records, edits })
    }

    /// The object of a branch, and the record that has it.
    pub(super) fn column(&self, at: usize) -> (usize, ObjectRef<'_>) {
        let (source, branch) = self.branches[at].origin;
        (source, self.records[source].column(branch))
    }

    fn edit_tree(&self, edits: &mut Edits) -> Result<()> {
        let tree = self.records[0].record.root();
        let sum = |of: fn(&CopiedBranch) -> u64| {
            self.branches.iter().map(of).fold(0, u64::saturating_add) as i64
        };
        let zip_bytes = sum(|branch| branch.zip_bytes);
        let mut set = |name, values: &[i64]| edits.set(0, tree, name, values);
        set("fEntries", &[self.entries as i64])?;
        set("fTotBytes", &[sum(|branch| branch.total_bytes)])?;
        set("fZipBytes", &[zip_bytes])?;
        set("fSavedBytes", &[zip_bytes])?;
        set("fFlushedBytes", &[zip_bytes])?;
        let (last, ranges) = match self.clusters.split_last() {
            Some((last, ranges)) => (last.size as i64, ranges),
            None => (0, &[][..]),
        };
        let mut end = 0;
        let ends: Vec<i64> = ranges
            .iter()
            .map(|range| {
                end += range.entries as i64;
                end - 1
            })
            .collect();
        let sizes: Vec<i64> = ranges.iter().map(|range| range.size as i64).collect();
        set("fAutoFlush", &[if last > 0 { last } else { AUTO_FLUSH_UNKNOWN }])?;
        set("fNClusterRange", &[ends.len() as i64])?;
        set("fClusterRangeEnd", &ends)?;
        set("fClusterSize", &sizes)?;
        let pointed = |name| tree.member(name).and_then(|_| tree.pointed(name).ok().flatten());
        if let Some(index) = pointed("fTreeIndex").filter(|_| self.moves_entries()) {
            self.index.edit(&self.records[0].record, index, edits)?;
        }
        // A table of references knows the baskets of the first input alone.
        edits.dropped.extend(pointed("fBranchRef").map(|object| (0, object.id)));
        edits.dropped.extend(self.dropped_friends(tree).into_iter().map(|id| (0, id)));
        Ok(())
    }

    fn edit_branch(&self, at: usize, edits: &mut Edits) -> Result<()> {
        let branch = &self.branches[at];
        let (record, object) = self.column(at);
        let source = self.branch(at);
        let count = branch.seeks.len();
        let room = (count + 1).max(BASKETS_MIN);
        let padded = |values: &[i64], next: i64| {
            let mut all = values.to_vec();
            all.push(next);
            all.resize(room, 0);
            all
        };
        let all_entries = source.first_entry.saturating_add(branch.entry_count) as i64;
        let mut set = |name, values: &[i64]| edits.set(record, object, name, values);
        set("fWriteBasket", &[count as i64])?;
        set("fMaxBaskets", &[room as i64])?;
        set("fBasketBytes", &padded(&branch.lens, 0))?;
        set("fBasketEntry", &padded(&branch.entries, all_entries))?;
        set("fBasketSeek", &padded(&branch.seeks, 0))?;
        set("fEntryNumber", &[all_entries])?;
        set("fEntries", &[branch.entry_count as i64])?;
        set("fTotBytes", &[branch.total_bytes as i64])?;
        set("fZipBytes", &[branch.zip_bytes as i64])?;
        set("fEntryOffsetLen", &[i64::from(branch.entry_offset_len)])?;
        if let BranchKind::Element { .. } = source.kind {
            set("fMaximum", &[branch.maximum])?;
        }
        let bits = object.int("fBits").unwrap_or(0);
        if branch.needs_map && bits & NO_MAP != 0 {
            edits.set_bits(record, object, (bits & !NO_MAP) as u32)?;
        }
        let mut baskets = Buffer::default();
        let array = baskets.begin(3);
        baskets.tobject(BITS);
        baskets.string("");
        baskets.u32(count as u32 + 1);
        baskets.i32(0);
        (0..=count).for_each(|_| baskets.null());
        baskets.end(array);
        edits.set_bytes(record, object, "fBaskets", baskets);
        for (n, leaf) in object.objects("fLeaves")?.into_iter().flatten().enumerate() {
            let (maximum, len) = branch.leaves.get(n).copied().unwrap_or_default();
            let is_text = source.leaves[n].kind == LeafKind::Chars;
            if is_text || is_whole(&source.leaves[n].kind) {
                edits.set(record, leaf, "fMaximum", &[maximum])?;
            }
            if is_text {
                edits.set(record, leaf, "fLen", &[i64::from(len)])?;
            }
        }
        Ok(())
    }
}

impl CopiedBranch {
    /// Baskets that have a place, or are to have one.
    pub fn len(&self) -> usize {
        self.seeks.len()
    }

    /// Adds a basket that is in no input.
    pub fn push(&mut self, first_entry: u64, len: usize, at: RecordPlace) {
        self.lens.push(len as i64);
        self.entries.push(first_entry as i64);
        self.seeks.push(at.offset as i64);
    }

    /// Adds an input's facts about its baskets; their bytes where they stay the same.
    fn add(&mut self, facts: &BranchFacts, is_copied: bool) {
        // An input may claim any numbers.
        self.entry_count = self.entry_count.saturating_add(facts.entries);
        if is_copied {
            self.total_bytes = self.total_bytes.saturating_add(facts.total_bytes);
            self.zip_bytes = self.zip_bytes.saturating_add(facts.zip_bytes);
        }
        self.entry_offset_len = self.entry_offset_len.max(facts.entry_offset_len);
        self.maximum = self.maximum.max(facts.maximum);
        self.needs_map |= facts.needs_map && facts.entries > 0;
        self.leaves.resize(facts.leaves.len(), (0, 0));
        for (all, one) in self.leaves.iter_mut().zip(&facts.leaves) {
            *all = (all.0.max(one.0), all.1.max(one.1));
        }
    }

    /// Adds the baskets of all entries so far, which are in the output already.
    ///
    /// # Errors
    /// `Corrupt` for baskets that are not.
    pub fn add_in_place(&mut self, part: &BranchPart, facts: &BranchFacts) -> Result<()> {
        self.add(facts, true);
        for basket in &part.baskets {
            let BasketPart::Stored(range) = &basket.part else {
                return Err(Error::corrupt("a new basket without a place"));
            };
            let place = RecordPlace { offset: range.start, directory: 0, datime: 0 };
            self.push(basket.first_entry, (range.end - range.start) as usize, place);
        }
        Ok(())
    }

    /// Adds entries that are in no input.
    pub fn add_entries(&mut self, entries: u64) {
        self.entry_count = self.entry_count.saturating_add(entries);
    }
}

fn is_whole(kind: &LeafKind) -> bool {
    use LeafKind::{Bool, I8, I16, I32, I64};
    matches!(kind, Bool | I8 | I16 | I32 | I64)
}

/// Checks that some branch can hold all entries of a tree, each in a byte at least: as many are
/// filled in for branches that lack them. A few may be of no branch.
///
/// # Errors
/// `Corrupt` where none can.
fn check_entries(tree: &Tree) -> Result<()> {
    let bytes_max = |basket: &BasketRef| {
        let len = match &basket.place {
            BasketPlace::Stored(range) => range.end - range.start,
            BasketPlace::Embedded(bytes) => bytes.len() as u64,
        };
        content_max(len)
    };
    let held = |branch: &Branch| branch.baskets.iter().map(bytes_max).fold(0, u64::saturating_add);
    let most = tree.branches.iter().map(held).fold(content_max(0), u64::max);
    match tree.entries <= most {
        true => Ok(()),
        false => {
            let message = format!("{} entries, for which no branch has the bytes", tree.entries);
            Err(Error::corrupt(message))
        }
    }
}

/// That entries of two branches are written in the same way.
fn same(mine: &Branch, their: &Branch) -> Result<()> {
    let other =
        |difference: &str| Err(Error::unsupported(format!("{difference} than in the first input")));
    let kinds = match (&mine.kind, &their.kind) {
        (
            BranchKind::Element {
                class_name,
                checksum,
                class_version,
                id,
                branch_type,
                streamer_type,
                ..
            },
            BranchKind::Element {
                class_name: class,
                checksum: sum,
                class_version: version,
                id: their_id,
                branch_type: kind,
                streamer_type: streamer,
                ..
            },
        ) => {
            class_name == class
                && (checksum, class_version) == (sum, version)
                && (id, branch_type, streamer_type) == (their_id, kind, streamer)
        }
        (mine, their) => mine == their,
    };
    if !kinds {
        return other("another class, or another version of it,");
    }
    if (mine.offset_len_of_further() == 0) != (their.offset_len_of_further() == 0) {
        return other("entries of one size here and of several there, other");
    }
    if mine.leaves.len() != their.leaves.len() {
        return other("other leaves");
    }
    for (my_leaf, their_leaf) in mine.leaves.iter().zip(&their.leaves) {
        let is_text = my_leaf.kind == LeafKind::Chars;
        // uproot gives texts characters of no bytes.
        let len_type = |leaf: &Leaf| if is_text { 1 } else { leaf.len_type };
        let form = |leaf: &Leaf| (len_type(leaf), leaf.unsigned, leaf.count.is_some());
        // The title says the range of reduced numbers and the dimensions.
        let numbers = |branch, leaf| match mine.kind {
            BranchKind::Plain => numbers(branch, leaf).ok(),
            _ => None,
        };
        let is_same = my_leaf.kind == their_leaf.kind
            && my_leaf.name == their_leaf.name
            && form(my_leaf) == form(their_leaf)
            && (is_text || my_leaf.len == their_leaf.len)
            && numbers(mine, my_leaf) == numbers(their, their_leaf);
        if !is_same {
            return other(&format!("leaf {} of another type, range or shape", my_leaf.name));
        }
    }
    Ok(())
}
