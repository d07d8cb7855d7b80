//! A tree as a table, and columns of it.

use std::collections::BTreeMap;
use std::ops::{Range, RangeInclusive};
use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt, ready};
use rootfile::Array;
use rootfile::tree::TreeIndex;

use super::learn::AccessPredictor;
use super::{Tree, plan};
use crate::read::core::batches::Batches;
use crate::read::core::column_set::{ColumnSet, KeyedColumn};
use crate::read::core::columns::{Column, joined};
use crate::read::core::cut::{Cut, SurvivorFeed};
use crate::read::core::footprint::ReadFootprint;
use crate::read::core::friends::FriendList;
use crate::read::core::lazy::{LazyColumns, Learning};
use crate::read::core::names::NameList;
use crate::read::core::request::ColumnRequest;
use crate::read::core::spec::{ColumnSpec, FormulaSpec};
use crate::read::core::steps::{ReadPriority, Step};
use crate::read::core::table::{Columns, Table, TablePlace, not_added};
use crate::read::file::File;
use crate::read::file::layout_hints::MetadataHints;
use remote::{Error, ErrorKind, Result};

/// Columns of one tree.
#[derive(Clone)]
pub struct TreeColumns {
    tree: Tree,
    columns: ColumnSet<Column>,
}

impl Table for Tree {
    fn list(&self) -> &NameList {
        self.names().list()
    }

    fn file(&self) -> &File {
        Tree::file(self)
    }

    fn path(&self) -> &str {
        Tree::path(self)
    }

    fn asked(&self) -> &str {
        Tree::asked(self)
    }

    fn num_entries(&self) -> u64 {
        Tree::num_entries(self)
    }

    fn aliases(&self) -> Vec<(String, String)> {
        self.metadata().aliases.clone()
    }

    fn friend_lists(&self) -> Vec<&FriendList> {
        vec![self.friend_list()]
    }

    fn has(&self, name: &str) -> bool {
        self.names().find(name).is_some()
    }

    fn require(&self, name: &str) -> Result<Box<dyn Columns>> {
        let column = self.column(self.names().require(name)?)?;
        Ok(TreeColumns::boxed(self, vec![column]))
    }

    fn select(&self, wanted: &ColumnSpec) -> Result<Box<dyn Columns>> {
        let columns = match wanted {
            ColumnSpec::All => self.all_columns(),
            ColumnSpec::Named(patterns) => self.columns(patterns)?,
            ColumnSpec::Requested(reads) | ColumnSpec::Formulas(FormulaSpec { reads, .. })
                if reads.iter().any(|each| each.keep.is_some()) =>
            {
                let message =
                    format!("{} is a tree, not an RNTuple as what is read with it", self.path());
                return Err(
                    Error::new(ErrorKind::InvalidArgument, message).with_url(self.file().url())
                );
            }
            ColumnSpec::Requested(reads) | ColumnSpec::Formulas(FormulaSpec { reads, .. }) => {
                reads.iter().map(|each| self.chosen(each)).collect::<Result<_>>()?
            }
        };
        Ok(TreeColumns::boxed(self, columns))
    }

    fn no_columns(&self) -> Box<dyn Columns> {
        TreeColumns::boxed(self, Vec::new())
    }

    fn index(&self) -> Result<Option<Arc<TreeIndex>>> {
        Tree::index(self)
    }

    fn add_hints(&self, hints: &MetadataHints) {
        self.file().add_hints(hints, |file, known| file.has_record(known, self.asked()));
    }
}

impl File {
    /// The tree at `path` (`directory/name` or `directory/name;cycle`).
    ///
    /// # Errors
    /// `NotFound` with the names that there are; `Unsupported` for an object of another class.
    pub async fn tree(&self, path: &str) -> Result<Tree> {
        let metadata = self.reading(|file, known| file.tree(known, path)).await?;
        self.learn(|file, known| file.has_record(known, path));
        let place = TablePlace { asked: path.into(), path: self.found(path).await?.path.into() };
        Ok(Tree::new(self.clone(), place, metadata))
    }
}

impl TreeColumns {
    pub fn new(tree: Tree, columns: Vec<Column>) -> Self {
        TreeColumns { tree, columns: ColumnSet::new(columns) }
    }

    fn boxed(tree: &Tree, columns: Vec<Column>) -> Box<dyn Columns> {
        Box::new(TreeColumns::new(tree.clone(), columns))
    }

    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    pub fn columns(&self) -> &[Column] {
        &self.columns
    }
}

impl Columns for TreeColumns {
    fn of(&self) -> &dyn Table {
        &self.tree
    }

    fn table(&self) -> Arc<dyn Table> {
        Arc::new(self.tree.clone())
    }

    fn boxed(&self) -> Box<dyn Columns> {
        Box::new(self.clone())
    }

    fn names(&self) -> Vec<&str> {
        self.columns.iter().map(|column| &*column.name).collect()
    }

    fn len(&self) -> usize {
        self.columns.len()
    }

    fn pieces(&self) -> &'static str {
        "baskets"
    }

    fn empty(&self) -> Vec<(String, Array)> {
        let empty = |column: &Column| (column.name.clone(), column.interpretation.empty());
        self.columns.iter().map(empty).collect()
    }

    fn pick(&self, positions: &[usize]) -> Box<dyn Columns> {
        TreeColumns::boxed(
            &self.tree,
            positions.iter().map(|at| self.columns[*at].clone()).collect(),
        )
    }

    fn requests(&self) -> Vec<ColumnRequest> {
        // Several branches may have one path.
        let list = self.tree.names().list();
        let chosen = |column: &Column| ColumnRequest {
            name: list.address(column.branch.0 as usize),
            optional: column.optional,
            as_bytes: column.interpretation.is_of_bytes(),
            counts: self.tree.is_group(column.branch),
            keep: None,
        };
        self.columns.iter().map(chosen).collect()
    }

    fn position(&self, others: &dyn Columns, at: usize) -> Option<usize> {
        let other = &others.downcast_ref::<TreeColumns>()?.columns[at];
        self.columns.position(other)
    }

    fn add(&mut self, others: &dyn Columns, at: usize) -> Result<usize> {
        if let Some(known) = self.position(others, at) {
            return Ok(known);
        }
        let own = others.downcast_ref::<TreeColumns>();
        let other = &own.ok_or_else(|| not_added(self.tree.path(), others))?.columns[at];
        Ok(self.columns.push(Column { optional: false, ..other.clone() }))
    }

    fn covered(&self, entries: Range<u64>) -> Result<Range<u64>> {
        let end = entries.end.min(plan::entries_there(self.tree.metadata(), &self.columns));
        Ok(entries.start.min(end)..end)
    }

    fn entries_stored(&self) -> RangeInclusive<u64> {
        let tree = self.tree.metadata();
        let stored = self.columns.iter().map(|column| plan::entries_stored(tree, column));
        let (least, most) =
            stored.fold((u64::MAX, 0), |(least, most), end| (end.min(least), end.max(most)));
        if self.columns.is_empty() { tree.entries..=tree.entries } else { least..=most }
    }

    fn bytes_per_entry(&self) -> BoxFuture<'_, Result<f64>> {
        let bytes = |column| plan::decoded_bytes_per_entry(self.tree.metadata(), column);
        ready(Ok(self.columns.iter().map(bytes).sum())).boxed()
    }

    fn share_a_piece(&self, before: u64, after: u64) -> bool {
        let branches = &self.tree.metadata().branches;
        self.columns.iter().any(|column| {
            let branch = &branches[column.branch.0 as usize];
            let basket = |entry: u64| plan::baskets_of(branch, &(entry..entry + 1)).start;
            basket(before) == basket(after)
        })
    }

    fn start_at<'a>(
        &'a self,
        starts: &'a [u64],
        feed: Option<(&'a [u64], SurvivorFeed)>,
        rank: ReadPriority,
    ) -> BoxFuture<'a, Result<Batches>> {
        async move { self.tree.start_at(self.columns.to_vec(), starts, feed, rank) }.boxed()
    }

    fn footprints(&self, entries: Range<u64>) -> BoxFuture<'_, Result<Vec<ReadFootprint>>> {
        async move {
            let plan = self.tree.plan(&self.columns, entries, Step::Whole)?;
            let names = self.columns.iter().map(|column| &column.name);
            let pieces = plan.items.iter().map(|item| {
                (item.column, item.pieces.first().map(|piece| &piece.range), item.decoded)
            });
            Ok(vec![ReadFootprint::new(self.file().url(), self.path(), names, pieces)])
        }
        .boxed()
    }

    fn step_entries_of(&self, step: Step, total: u64) -> BoxFuture<'_, Result<u64>> {
        let entries = plan::step_entries(self.tree.metadata(), &self.columns, step, total);
        ready(Ok(entries)).boxed()
    }

    fn steps(&self, entries: Range<u64>, step: Step) -> BoxFuture<'_, Result<Vec<u64>>> {
        async move {
            let plan = self.tree.plan(&self.columns, entries, step)?;
            let end = plan.batches.last().map(|batch| batch.entries.end);
            Ok(plan.batches.iter().map(|batch| batch.entries.start).chain(end).collect())
        }
        .boxed()
    }

    fn start(
        &self,
        entries: Range<u64>,
        step: Step,
        rank: ReadPriority,
    ) -> BoxFuture<'_, Result<Batches>> {
        async move { self.tree.start(self.columns.to_vec(), None, entries, step, rank) }.boxed()
    }

    fn start_cut<'a>(
        &'a self,
        cut: &'a Cut,
        entries: Range<u64>,
        step: Step,
        rank: ReadPriority,
    ) -> Option<BoxFuture<'a, Result<Batches>>> {
        let start =
            async move { self.tree.start(self.columns.to_vec(), Some(cut), entries, step, rank) };
        Some(start.boxed())
    }

    fn lazily(
        &self,
        entries: Range<u64>,
        step: u64,
        learning: Learning,
    ) -> BoxFuture<'_, Result<Box<dyn LazyColumns>>> {
        let mut first = BTreeMap::new();
        let mut second = Vec::new();
        for column in self.columns.iter() {
            if !first.entry(column.branch).or_insert(column).is(column) {
                second.push(column);
            }
        }
        let predictor =
            AccessPredictor::new(&self.tree, first.into_values(), entries.clone(), step, learning);
        let second = (!second.is_empty()).then(|| {
            let learning = Learning { startup: false, together: false };
            AccessPredictor::new(&self.tree, second, entries, step, learning)
        });
        let reader = Lazy { predictor, second, columns: self.columns.to_vec() };
        ready(Ok(Box::new(reader) as Box<dyn LazyColumns>)).boxed()
    }
}

/// Columns of a tree that are read when they are looked at.
struct Lazy {
    predictor: AccessPredictor,
    /// For branches that are read as values and as bytes at the same time.
    second: Option<AccessPredictor>,
    columns: Vec<Column>,
}

impl LazyColumns for Lazy {
    fn advance(&mut self) -> BoxFuture<'_, Option<Result<Range<u64>>>> {
        if let Some(second) = &mut self.second {
            second.advance();
        }
        ready(self.predictor.advance().map(Ok)).boxed()
    }

    fn touch(&mut self, column: usize, entries: Range<u64>) -> BoxFuture<'_, Result<Array>> {
        async move {
            let column = &self.columns[column];
            let predictor = match &mut self.second {
                Some(second) if !self.predictor.reads(column) => second,
                _ => &mut self.predictor,
            };
            let pieces = predictor.touch(column.branch).await?;
            Ok(joined(&pieces, &entries)?.unwrap_or_else(|| column.interpretation.empty()))
        }
        .boxed()
    }
}
