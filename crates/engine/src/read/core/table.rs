//! Methods of all tables, and columns of them.

use std::any::Any;
use std::ops::{Range, RangeInclusive};
use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt, ready};
use rootfile::Array;
use rootfile::tree::{FriendPlace, TreeIndex};

use super::alike::TableTypes;
use super::batches::Batches;
use super::columns::Batch;
use super::cut::{Cut, SurvivorFeed};
use super::footprint::ReadFootprint;
use super::friends::FriendList;
use super::lazy::{LazyColumns, Learning};
use super::names::NameList;
use super::request::ColumnRequest;
use super::spec::{ColumnSpec, Wanted};
use super::steps::{ReadPriority, STEPS_PLANNED, Step};
use crate::read::file::File;
use crate::read::file::layout_hints::MetadataHints;
use crate::read::predict::history::{AccessHistory, ReaderKind};
use remote::{Error, ErrorKind, Result};

/// Where a table is in its file.
#[derive(Debug, Clone)]
pub(crate) struct TablePlace {
    /// As [`Table::asked`].
    pub asked: Arc<str>,
    /// As [`Table::path`].
    pub path: Arc<str>,
}

/// A table whose entries can be read: a tree, an RNTuple, or several of them one after the other.
pub trait Table: Any + Send + Sync {
    /// Its file; of several tables, that of the first.
    fn file(&self) -> &File;

    /// Where it is in the file, without the cycle.
    fn path(&self) -> &str;

    /// The path by which it was opened, which may have a cycle: it opens the same table again.
    fn asked(&self) -> &str;

    fn num_entries(&self) -> u64;

    /// The friends that files name: its own and, of several tables, those of the first.
    fn friend_lists(&self) -> Vec<&FriendList> {
        Vec::new()
    }

    /// Formulas that the file keeps with the table (`TTree::SetAlias`), in ROOT's grammar: those of
    /// a chain, and of its first table. Of two of one name the last counts.
    fn aliases(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    /// Names of its branches or fields; of several tables those of the first.
    fn list(&self) -> &NameList;

    /// Whether there is a branch or a field of that path or, of a branch, that last name.
    fn has(&self, name: &str) -> bool;

    /// The column of a name.
    ///
    /// # Errors
    /// `NotInFile` and `Unsupported`.
    fn require(&self, name: &str) -> Result<Box<dyn Columns>>;

    /// Chooses columns.
    ///
    /// # Errors
    /// `NotInFile` and `Unsupported`; `InvalidArgument` for fields of a tree.
    fn select(&self, wanted: &ColumnSpec) -> Result<Box<dyn Columns>>;

    /// No columns, to which some can be added.
    fn no_columns(&self) -> Box<dyn Columns>;

    /// Which entry has which numbers, where the file says (`TTree::BuildIndex`).
    ///
    /// # Errors
    /// Why that cannot be read.
    fn index(&self) -> Result<Option<Arc<TreeIndex>>> {
        Ok(None)
    }

    /// Records the metadata that were needed to open this table and to find its columns, for the
    /// other files of a chain.
    fn add_hints(&self, _hints: &MetadataHints) {}
}

impl dyn Table {
    /// The table itself, where it is of that type.
    pub fn downcast_ref<T: Table>(&self) -> Option<&T> {
        (self as &dyn Any).downcast_ref()
    }

    /// Where the friends are that its file names, or of a chain also its first table's;
    /// [`Engine::friends`] opens them.
    ///
    /// # Errors
    /// Why the file's list of them cannot be read.
    ///
    /// [`Engine::friends`]: crate::Engine::friends
    pub fn friend_places(&self) -> Result<Vec<FriendPlace>> {
        let places = self.friend_lists().into_iter().map(FriendList::places);
        Ok(places.collect::<Result<Vec<_>>>()?.concat())
    }

    /// The columns that the program of this name read in its last run, of a table with the same
    /// columns; empty where that is not known.
    pub fn columns_read_by(&self, program: &str) -> Vec<String> {
        let histories = self.file().histories();
        let history = histories.load(ReaderKind::Program(program), self.list().shape());
        history.unwrap_or_default().steady
    }

    /// Keeps the columns for the program's next run; a failure to store them is ignored.
    pub fn keep_columns_read_by(&self, program: &str, columns: &[String]) {
        let history = AccessHistory::steady(columns.iter().cloned());
        self.file().histories().save(ReaderKind::Program(program), self.list().shape(), history);
    }

    /// The columns of a pattern or, with how they are wanted, of that name.
    pub(crate) fn matching(
        &self,
        pattern: &str,
        chosen: Option<&ColumnRequest>,
    ) -> Result<Box<dyn Columns>> {
        let name = pattern.to_owned();
        self.select(&match chosen {
            Some(chosen) => ColumnSpec::Requested(vec![ColumnRequest { name, ..chosen.clone() }]),
            None => ColumnSpec::Named(vec![name]),
        })
    }
}

/// Columns of a table that are read together.
pub trait Columns: Any + Send + Sync {
    /// The table of the columns.
    fn of(&self) -> &dyn Table;

    /// The same, to keep.
    fn table(&self) -> Arc<dyn Table>;

    fn boxed(&self) -> Box<dyn Columns>;

    /// As [`Table::file`].
    fn file(&self) -> &File {
        self.of().file()
    }

    /// As [`Table::path`].
    fn path(&self) -> &str {
        self.of().path()
    }

    /// As [`Table::num_entries`].
    fn num_entries(&self) -> u64 {
        self.of().num_entries()
    }

    /// Names of the columns.
    fn names(&self) -> Vec<&str>;

    /// Number of the columns.
    fn len(&self) -> usize {
        self.names().len()
    }

    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The unit of fetching, for messages: baskets or pages.
    fn pieces(&self) -> &'static str {
        "pieces"
    }

    /// The columns without entries, by name.
    fn empty(&self) -> Vec<(String, Array)>;

    /// Those of the columns at these positions.
    ///
    /// # Panics
    /// Where there is no column of a position.
    fn pick(&self, positions: &[usize]) -> Box<dyn Columns>;

    /// The same columns by their names, for other tables.
    fn requests(&self) -> Vec<ColumnRequest> {
        self.names().into_iter().map(ColumnRequest::named).collect()
    }

    /// The columns that a caller gets of these, computed table by table before the types of
    /// several tables are made one; `None` where the types are those of one table.
    ///
    /// # Errors
    /// `InvalidArgument` where a formula cannot be computed.
    fn computing(&self, _wanted: &Arc<[Wanted]>) -> Result<Option<Box<dyn Columns>>> {
        Ok(None)
    }

    /// Of columns that are computed table by table: their first entry among those of further
    /// tables, and how many all of these have.
    fn count_within(&mut self, _place: (u64, u64)) {}

    /// Names of the friends that some of the columns are of.
    fn friends(&self) -> Vec<&str> {
        Vec::new()
    }

    /// Where the column at a position of `others`, of the same table, is among these.
    fn position(&self, _others: &dyn Columns, _at: usize) -> Option<usize> {
        None
    }

    /// Adds the column at a position of `others`, of the same table, if it is not there; where it
    /// is. It is then one that was asked for by name.
    ///
    /// # Errors
    /// `Unsupported` for columns of a table of another kind, and where none can be added.
    fn add(&mut self, others: &dyn Columns, _at: usize) -> Result<usize> {
        Err(not_added(self.path(), others))
    }

    /// Those of the entries that can be asked for.
    ///
    /// # Errors
    /// `InvalidArgument` for a first entry behind the last.
    fn covered(&self, entries: Range<u64>) -> Result<Range<u64>> {
        let end = entries.end.min(self.num_entries());
        Ok(entries.start.min(end)..end)
    }

    /// Up to which entry all of the columns have bytes in the file, and up to which some have.
    fn entries_stored(&self) -> RangeInclusive<u64> {
        self.num_entries()..=self.num_entries()
    }

    /// Whether steps are planned before the first of them is read.
    fn plans_steps(&self) -> bool {
        true
    }

    /// Bytes that an entry of columns of one table takes decoded.
    ///
    /// # Errors
    /// Of an RNTuple those of reading page lists.
    fn bytes_per_entry(&self) -> BoxFuture<'_, Result<f64>> {
        ready(Err(not_one(self.path(), self.file()))).boxed()
    }

    /// Entries at which it costs nothing to divide a read; `None` where any will do.
    ///
    /// # Errors
    /// Those of reading page lists.
    fn cluster_starts(&self, _entries: Range<u64>) -> BoxFuture<'_, Result<Option<Vec<u64>>>> {
        ready(Ok(None)).boxed()
    }

    /// Whether some column has both entries in one piece, which is fetched as a whole.
    fn share_a_piece(&self, _before: u64, _after: u64) -> bool {
        false
    }

    /// Reads columns of one table in batches that begin at `starts`, whose last is the end: all
    /// entries or, of windows, the survivors that are received for each.
    fn start_at<'a>(
        &'a self,
        _starts: &'a [u64],
        _told: Option<(&'a [u64], SurvivorFeed)>,
        _rank: ReadPriority,
    ) -> BoxFuture<'a, Result<Batches>> {
        ready(Err(not_one(self.path(), self.file()))).boxed()
    }

    /// The ranges that reading entries would fetch of each table: of the table itself and then of
    /// its friends, of a chain file after file. Of a friend whose entries are looked up they are
    /// those of all entries.
    ///
    /// # Errors
    /// Those of planning; of RNTuples also those of reading page lists, of a chain those of opening
    /// its files.
    fn footprints(&self, entries: Range<u64>) -> BoxFuture<'_, Result<Vec<ReadFootprint>>>;

    /// Entries of a step, of `total`.
    ///
    /// # Errors
    /// Of RNTuples those of reading page lists.
    fn step_entries_of(&self, step: Step, total: u64) -> BoxFuture<'_, Result<u64>>;

    /// First entries of the steps in which entries are read and, last, the end; of several tables
    /// those of the first that has some of the entries.
    ///
    /// # Errors
    /// Those of planning; of RNTuples also those of reading page lists.
    fn steps(&self, entries: Range<u64>, step: Step) -> BoxFuture<'_, Result<Vec<u64>>>;

    /// Starts reading in steps.
    ///
    /// # Errors
    /// Those of planning; of RNTuples also those of reading page lists.
    fn start(
        &self,
        entries: Range<u64>,
        step: Step,
        rank: ReadPriority,
    ) -> BoxFuture<'_, Result<Batches>>;

    /// Starts reading those entries only that survive a cut; `None` where the columns need another
    /// to decide for them, as in [`Joined`](crate::Joined).
    fn start_cut<'a>(
        &'a self,
        _cut: &'a Cut,
        _entries: Range<u64>,
        _step: Step,
        _rank: ReadPriority,
    ) -> Option<BoxFuture<'a, Result<Batches>>> {
        None
    }

    /// Goes through entries in steps of so many, reading the columns that are looked at.
    ///
    /// # Errors
    /// Of RNTuples those of reading page lists.
    fn lazily(
        &self,
        entries: Range<u64>,
        step: u64,
        learning: Learning,
    ) -> BoxFuture<'_, Result<Box<dyn LazyColumns>>>;
}

impl Clone for Box<dyn Columns> {
    fn clone(&self) -> Self {
        self.boxed()
    }
}

impl dyn Columns {
    /// The columns themselves, where they are of that type.
    pub fn downcast_ref<T: Columns>(&self) -> Option<&T> {
        (self as &dyn Any).downcast_ref()
    }

    /// The column at a position without entries.
    pub(crate) fn empty_at(&self, at: usize) -> Array {
        self.pick(&[at]).empty().swap_remove(0).1
    }

    /// Names and types of the columns, to compare with those of other tables.
    pub fn types(&self) -> TableTypes<'_> {
        TableTypes { columns: self.empty(), path: self.path(), url: self.file().url() }
    }

    /// As [`Columns::footprints`], of columns of one table.
    ///
    /// # Errors
    /// As those of footprints, and `Unsupported` for columns of several tables.
    pub(crate) async fn footprint(&self, entries: Range<u64>) -> Result<ReadFootprint> {
        let mut footprints = self.footprints(entries).await?;
        match (footprints.pop(), footprints.is_empty()) {
            (Some(only), true) => Ok(only),
            _ => Err(not_one(self.path(), self.file())),
        }
    }

    /// Entries of a step.
    ///
    /// # Errors
    /// As [`Columns::steps`].
    pub async fn step_entries(&self, step: Step) -> Result<u64> {
        self.step_entries_of(step, self.num_entries()).await
    }

    /// Entries whose steps are planned at one time, of these; `None` where all of them are.
    ///
    /// # Errors
    /// As [`Columns::steps`].
    pub(crate) async fn planned_at_once(
        &self,
        entries: &Range<u64>,
        step: Step,
    ) -> Result<Option<u64>> {
        let total = entries.end.saturating_sub(entries.start);
        if step == Step::Whole || total <= STEPS_PLANNED || !self.plans_steps() {
            return Ok(None);
        }
        let length = match step {
            Step::Entries(length) => length.max(1),
            Step::Whole | Step::Bytes(_) => self.step_entries_of(step, total).await?,
        };
        let planned = length.saturating_mul(STEPS_PLANNED);
        Ok((total > planned).then_some(planned))
    }

    /// The first of the steps in which entries are read; `None` where there are none.
    pub(crate) async fn first_step(
        &self,
        entries: Range<u64>,
        step: Step,
    ) -> Result<Option<Range<u64>>> {
        if entries.is_empty() {
            return Ok(None);
        }
        let entries = match self.planned_at_once(&entries, step).await? {
            Some(count) => entries.start..entries.start.saturating_add(count).min(entries.end),
            None => entries,
        };
        let starts = self.steps(entries, step).await?;
        Ok(starts.first_chunk().map(|[start, end]| *start..*end))
    }

    /// Reads a range of entries (cut to those there are), all at once.
    ///
    /// # Errors
    /// As [`Columns::start`]; those of fetching and decoding.
    pub async fn read(&self, entries: Range<u64>) -> Result<Batch> {
        let entries = self.covered(entries)?;
        let nothing = Batch::empty(entries.clone(), None, self.empty().into_iter());
        let rank = ReadPriority::of(&entries);
        let mut batches = self.start(entries, Step::Whole, rank).await?;
        batches.next().await.unwrap_or(Ok(nothing))
    }
}

fn not_one(path: &str, file: &File) -> Error {
    let message = format!("not supported for chains or tables with friends: {path}");
    Error::new(ErrorKind::Unsupported, message).with_url(file.url())
}

/// The error for columns that cannot be read together with those of a table.
pub(crate) fn not_added(path: &str, others: &dyn Columns) -> Error {
    let message = format!("columns of {} cannot be read as columns of {path}", others.path());
    Error::new(ErrorKind::Unsupported, message).with_url(others.file().url())
}
