//! A tree that can be read.

mod baskets;
pub mod columns;
mod counts;
pub mod events;
pub mod learn;
pub mod plan;

use std::ops::Range;
use std::sync::Arc;

use mutex::Mutex;
use rootfile::tree::{BranchId, BranchKind, Interpretation, TreeIndex};

use crate::located::Located;
use crate::read::core::batches::Batches;
use crate::read::core::column_set::ColumnSet;
use crate::read::core::columns::{Batch, Column};
use crate::read::core::cut::{Cut, SurvivorFeed};
use crate::read::core::friends::FriendList;
use crate::read::core::pipeline::{self, Decision, Job};
use crate::read::core::request::ColumnRequest;
use crate::read::core::select::Names;
use crate::read::core::steps::{ReadPriority, Step, forwards};
use crate::read::core::table::TablePlace;
use crate::read::file::File;
use baskets::Baskets;
use plan::TreePlan;
use remote::{Error, Result};

type Interpreted = rootfile::Result<Arc<Interpretation>>;

/// A TTree of an open file. Cheap to clone.
#[derive(Clone)]
pub struct Tree {
    inner: Arc<Inner>,
}

struct Inner {
    file: File,
    place: TablePlace,
    tree: Arc<rootfile::tree::Tree>,
    names: Names,
    interpretations: Mutex<Vec<Option<Interpreted>>>,
    friends: FriendList,
}

impl Tree {
    pub(crate) fn new(file: File, place: TablePlace, tree: rootfile::tree::Tree) -> Self {
        let names = Names::new(&tree);
        let interpretations = Mutex::new(vec![None; tree.branches.len()]);
        let friends = FriendList::new(file.clone(), &place.path, tree.friends.clone());
        let tree = Arc::new(tree);
        Tree { inner: Arc::new(Inner { file, place, tree, names, interpretations, friends }) }
    }

    pub fn file(&self) -> &File {
        &self.inner.file
    }

    /// Where the tree is in the file, without the cycle.
    pub fn path(&self) -> &str {
        &self.inner.place.path
    }

    /// As [`Table::asked`](crate::Table::asked).
    pub fn asked(&self) -> &str {
        &self.inner.place.asked
    }

    pub fn num_entries(&self) -> u64 {
        self.inner.tree.entries
    }

    /// Everything the file says about the tree.
    pub fn metadata(&self) -> &rootfile::tree::Tree {
        &self.inner.tree
    }

    pub fn names(&self) -> &Names {
        &self.inner.names
    }

    /// Which entry has which numbers, where the file says (`TTree::BuildIndex`).
    ///
    /// # Errors
    /// Why that cannot be read.
    pub fn index(&self) -> Result<Option<Arc<TreeIndex>>> {
        let index = self.inner.tree.index.clone();
        index.located(self.inner.file.url())
    }

    /// The baskets with records of their own, by branch: their entries, and where they are.
    pub(super) fn stored_baskets(
        &self,
    ) -> impl Iterator<Item = (BranchId, Range<u64>, Range<u64>)> + '_ {
        self.names().iter().flat_map(|(id, _)| {
            let baskets = self.inner.tree.branches[id.0 as usize].baskets.iter();
            baskets.filter_map(move |basket| {
                Some((id, basket.entries.clone(), basket.place.stored()?))
            })
        })
    }

    pub(super) fn friend_list(&self) -> &FriendList {
        &self.inner.friends
    }

    /// How a branch is read.
    ///
    /// # Errors
    /// `Unsupported` naming branch and type.
    pub fn interpretation(&self, branch: BranchId) -> Result<Arc<Interpretation>> {
        let mut known = self.inner.interpretations.lock();
        let interpreted = known[branch.0 as usize].get_or_insert_with(|| {
            let classes = &self.inner.file.format().classes;
            Interpretation::of(&self.inner.tree, branch, classes).map(Arc::new)
        });
        interpreted.clone().map_err(|error| {
            let path = format!("{}/{}", self.inner.place.path, self.inner.names.path(branch));
            let error = if error.path.is_empty() { error.within(&path) } else { error };
            error.located(self.inner.file.url()).with_advice("the other branches can be read")
        })
    }

    /// The type of a branch, spelled as uproot does, also of one that cannot be read.
    pub fn typename(&self, branch: BranchId) -> String {
        let classes = &self.inner.file.format().classes;
        rootfile::tree::interpret::typename(&self.inner.tree, branch, classes)
    }

    /// Whether the branch only groups others, and has no entries of its own.
    pub fn is_group(&self, branch: BranchId) -> bool {
        rootfile::tree::interpret::is_group(&self.inner.tree.branches[branch.0 as usize])
    }

    /// Whether the branch has the number of objects whose members are in branches of their own.
    pub fn counts_objects(&self, branch: BranchId) -> bool {
        let branch = &self.inner.tree.branches[branch.0 as usize];
        match &branch.kind {
            BranchKind::Element { branch_type, .. } => {
                matches!(branch_type, 3 | 4) && !branch.children.is_empty()
            }
            BranchKind::Clones { .. } => true,
            _ => false,
        }
    }

    /// One branch as a column.
    ///
    /// # Errors
    /// As [`Tree::interpretation`].
    pub fn column(&self, branch: BranchId) -> Result<Column> {
        Ok(self.column_read_as(branch, self.interpretation(branch)?))
    }

    /// One branch as a column of the raw bytes of its entries.
    ///
    /// # Errors
    /// `Unsupported` where they are in another file.
    pub fn column_of_bytes(&self, branch: BranchId) -> Result<Column> {
        self.check_place(branch)?;
        let interpretation = Interpretation::of_bytes(self.typename(branch));
        Ok(self.column_read_as(branch, Arc::new(interpretation)))
    }

    /// That the entries of a branch are in the tree's file.
    fn check_place(&self, branch: BranchId) -> Result<()> {
        let there =
            rootfile::tree::interpret::check_place(&self.inner.tree.branches[branch.0 as usize]);
        there.map_err(|error| {
            let path = format!("{}/{}", self.inner.place.path, self.inner.names.path(branch));
            rootfile::Error { path, ..error }.located(self.inner.file.url())
        })
    }

    fn column_read_as(&self, branch: BranchId, interpretation: Arc<Interpretation>) -> Column {
        let name = self.inner.names.path(branch).to_owned();
        Column { name, branch, interpretation, optional: false }
    }

    /// A branch that counts the items of others: of one that only groups them, how many there are.
    ///
    /// # Errors
    /// As [`Tree::interpretation`].
    pub(super) fn counting(&self, branch: BranchId) -> Result<Column> {
        if !self.is_group(branch) {
            return self.column(branch);
        }
        self.check_place(branch)?;
        Ok(self.column_read_as(branch, Arc::new(Interpretation::of_counts())))
    }

    /// The columns that `patterns` name.
    ///
    /// # Errors
    /// As [`Names::select`] and [`Tree::interpretation`]; a glob passes over branches that cannot
    /// be read, also where only their data show that: see [`Batch::left_out`].
    pub fn columns(&self, patterns: &[String]) -> Result<Vec<Column>> {
        let mut columns: Vec<Column> = Vec::new();
        let branches = self.inner.names.select(patterns)?;
        for branch in branches.iter().copied() {
            if columns.iter().any(|known| known.branch == branch) {
                continue;
            }
            let named = patterns.iter().any(|p| self.inner.names.find(p) == Some(branch));
            match self.interpretation(branch) {
                Ok(interpretation) => {
                    let column = self.column_read_as(branch, interpretation);
                    columns.push(Column { optional: !named, ..column });
                }
                Err(error) if named => columns.extend(self.below(branch, error)?),
                Err(_) if self.is_group(branch) => {
                    let below = self.leaves_below(branch);
                    let readable = |leaf: &BranchId| self.interpretation(*leaf).is_ok();
                    let is_whole = below.iter().all(|leaf| branches.contains(leaf));
                    if !is_whole && below.iter().all(readable) {
                        columns.extend(below.into_iter().filter_map(|leaf| self.optional(leaf)));
                    }
                }
                Err(_) => {}
            }
        }
        Ok(columns)
    }

    /// A branch as it is wanted.
    pub(super) fn chosen(&self, chosen: &ColumnRequest) -> Result<Column> {
        let branch = self.inner.names.require(&chosen.name)?;
        let column = match (chosen.as_bytes, chosen.counts) {
            (true, _) => self.column_of_bytes(branch)?,
            (false, true) => self.counting(branch)?,
            (false, false) => self.column(branch)?,
        };
        Ok(Column { optional: chosen.optional, ..column })
    }

    /// A named branch that only groups others stands for those.
    fn below(&self, branch: BranchId, error: Error) -> Result<Vec<Column>> {
        let leaves = self.leaves_below(branch);
        let columns: Vec<Column> = leaves.iter().filter_map(|leaf| self.optional(*leaf)).collect();
        if !columns.is_empty() {
            return Ok(columns);
        }
        let why = leaves.into_iter().find_map(|leaf| self.interpretation(leaf).err());
        Err(why.filter(|_| self.is_group(branch)).unwrap_or(error))
    }

    /// A branch that can be read, as one that the caller did not name.
    fn optional(&self, branch: BranchId) -> Option<Column> {
        self.column(branch).ok().map(|column| Column { optional: true, ..column })
    }

    /// The branches below one that have entries of their own, depth first.
    fn leaves_below(&self, branch: BranchId) -> Vec<BranchId> {
        let mut leaves = Vec::new();
        let mut open = self.inner.tree.branches[branch.0 as usize].children.clone();
        open.reverse();
        while let Some(child) = open.pop() {
            if !self.is_group(child) {
                leaves.push(child);
            }
            open.extend(self.inner.tree.branches[child.0 as usize].children.iter().rev());
        }
        leaves
    }

    /// All columns that can be read.
    pub fn all_columns(&self) -> Vec<Column> {
        self.columns(&["*".to_owned()]).unwrap_or_default()
    }

    /// The plan of the baskets that reading would fetch.
    pub fn plan(&self, columns: &[Column], entries: Range<u64>, step: Step) -> Result<TreePlan> {
        forwards(&entries)?;
        plan::in_steps(&self.inner.tree, columns, entries, step)
            .map_err(|error| error.with_url(self.inner.file.url()))
    }

    /// Starts reading in steps; fetching and decoding go on while the caller works on a batch.
    pub fn batches(
        &self,
        columns: Vec<Column>,
        entries: Range<u64>,
        step: Step,
    ) -> Result<Batches> {
        let rank = ReadPriority::of(&entries);
        self.start(columns, None, entries, step, rank)
    }

    /// As [`Tree::batches`], of those entries only that survive the cut. Its columns are read
    /// first, and of the others only baskets with survivors.
    ///
    /// # Errors
    /// As [`Tree::batches`], and for a column of the cut that is not there or cannot be read.
    pub fn batches_where(
        &self,
        columns: Vec<Column>,
        cut: &Cut,
        entries: Range<u64>,
        step: Step,
    ) -> Result<Batches> {
        let rank = ReadPriority::of(&entries);
        self.start(columns, Some(cut), entries, step, rank)
    }

    pub(crate) fn start(
        &self,
        columns: Vec<Column>,
        cut: Option<&Cut>,
        entries: Range<u64>,
        step: Step,
        rank: ReadPriority,
    ) -> Result<Batches> {
        let shown = columns.len();
        let mut read = ColumnSet::new(columns);
        let mut deciding = Vec::new();
        for chosen in cut.iter().flat_map(|cut| &cut.columns) {
            let column = Column { optional: false, ..self.chosen(chosen)? };
            deciding.push(match read.position(&column) {
                Some(known) => {
                    read.change(known, |column| column.optional = false);
                    known
                }
                None => read.push(column),
            });
        }
        let read = read.into_vec();
        let plan = match cut {
            None => self.plan(&read, entries, step)?,
            Some(_) => {
                let mut decides = vec![false; read.len()];
                deciding.iter().for_each(|at| decides[*at] = true);
                forwards(&entries)?;
                plan::with_cut(&self.inner.tree, &read, &decides, entries, step)
                    .map_err(|error| error.with_url(self.inner.file.url()))?
            }
        };
        let predicate = cut.map(|cut| cut.predicate.clone());
        let decision =
            predicate.map(|predicate| Decision::Predicate { columns: deciding, predicate });
        Ok(pipeline::start(self.job(shown, rank), self.baskets(read), plan, decision))
    }

    /// Reads in batches that begin at `starts`, whose last is the end: all entries or, of windows,
    /// of each only the entries that survive it.
    pub(super) fn start_at(
        &self,
        columns: Vec<Column>,
        starts: &[u64],
        feed: Option<(&[u64], SurvivorFeed)>,
        rank: ReadPriority,
    ) -> Result<Batches> {
        let (plan, decision) = match feed {
            None => (plan::at(&self.inner.tree, &columns, starts), None),
            Some((windows, feed)) => {
                let plan = plan::with_windows(&self.inner.tree, &columns, starts, windows);
                (plan, Some(Decision::SurvivorFeed(feed)))
            }
        };
        let plan = plan.map_err(|error| error.with_url(self.inner.file.url()))?;
        let job = self.job(columns.len(), rank);
        Ok(pipeline::start(job, self.baskets(columns), plan, decision))
    }

    fn job(&self, shown: usize, rank: ReadPriority) -> Job {
        let file = &self.inner.file;
        Job { remote: file.remote().clone(), decoders: file.decoders().clone(), rank, shown }
    }

    fn baskets(&self, read: Vec<Column>) -> Baskets {
        let counter = |column: &Column| {
            let counter = column.interpretation.counter().filter(|id| *id != column.branch)?;
            self.counting(counter).ok().map(Arc::new)
        };
        Baskets {
            known: self.inner.file.known(),
            tree: self.inner.tree.clone(),
            tree_path: self.inner.place.path.clone(),
            url: self.inner.file.url().to_owned(),
            counters: read.iter().map(counter).collect(),
            columns: read.into_iter().map(Arc::new).collect(),
            counting: Default::default(),
        }
    }

    /// Reads columns for a range of entries (cut to those there are), all at once.
    pub async fn read(&self, columns: Vec<Column>, entries: Range<u64>) -> Result<Batch> {
        self.read_all(columns, None, entries).await
    }

    /// As [`Tree::read`], of those entries only that survive the cut.
    ///
    /// # Errors
    /// As [`Tree::batches_where`], and the predicate's.
    pub async fn read_where(
        &self,
        columns: Vec<Column>,
        cut: &Cut,
        entries: Range<u64>,
    ) -> Result<Batch> {
        self.read_all(columns, Some(cut), entries).await
    }

    async fn read_all(
        &self,
        columns: Vec<Column>,
        cut: Option<&Cut>,
        entries: Range<u64>,
    ) -> Result<Batch> {
        let end = entries.end.min(plan::entries_there(&self.inner.tree, &columns));
        let entries = entries.start.min(end)..end;
        let empty = |column: &Column| (column.name.clone(), column.interpretation.empty());
        let nothing = Batch::empty(entries.clone(), cut, columns.iter().map(empty));
        let rank = ReadPriority::of(&entries);
        let mut batches = self.start(columns, cut, entries, Step::Whole, rank)?;
        batches.next().await.unwrap_or(Ok(nothing))
    }
}
