//! Trees, RNTuples, chains and tables with friends: one class for all tables of entries.

use std::ops::Range;
use std::sync::Arc;

use engine::near::{HistogramAxis, SelectColumn};
use engine::{
    Columns, Cut, Expressions, Friend, HistogramRequest, Meaning, NameScope, first_table,
};
use numpy::PyArray1;
use pyo3::prelude::*;

use crate::batch::Batch;
use crate::column_info::{ColumnInfo, StoredBytes};
use crate::error::exception;
use crate::file::File;
use crate::lazy::Lazy;
use crate::ntuple::{self, ColumnPages};
use crate::plan::{ReadPlan, read_plan};
use crate::request::{Request, StepSize};
use crate::runtime::{Owned, engine, invalid, wait};
use crate::steps::Batches;

/// A tree, an RNTuple, or a chain of either, with the friends that were added to it.
#[pyclass(frozen, module = "farroot._core")]
pub struct Table {
    inner: Owned<Inner>,
}

struct Inner {
    table: Arc<dyn engine::Table>,
    /// The same; of a chain the first of its tables.
    first: Arc<dyn engine::Table>,
    friends: Vec<Friend>,
    /// The attribute set, where it was opened as one.
    set: Option<engine::AttributeSet>,
}

/// As the class of this name in Python.
type ChainFile = (String, String, u64, u64);

/// Which entry has which numbers.
#[pyclass(frozen, get_all, module = "farroot._core")]
pub struct TreeIndex {
    major_name: String,
    minor_name: String,
    major: Py<PyArray1<i64>>,
    minor: Py<PyArray1<i64>>,
    entries: Py<PyArray1<i64>>,
}

impl Table {
    pub fn new(table: Arc<dyn engine::Table>) -> Self {
        Table::with(table, Vec::new(), None)
    }

    fn with(
        table: Arc<dyn engine::Table>,
        friends: Vec<Friend>,
        set: Option<engine::AttributeSet>,
    ) -> Self {
        let first = first_table(&table);
        Table { inner: Owned::new(Inner { table, first, friends, set }) }
    }

    pub fn table(&self, py: Python<'_>) -> PyResult<&Arc<dyn engine::Table>> {
        Ok(&self.inner.here(py)?.table)
    }

    fn chain(&self, py: Python<'_>) -> PyResult<Option<&engine::Chain>> {
        Ok(self.table(py)?.downcast_ref())
    }

    fn tree(&self, py: Python<'_>) -> PyResult<Option<&engine::Tree>> {
        Ok(self.inner.here(py)?.first.downcast_ref())
    }

    fn ntuple(&self, py: Python<'_>) -> PyResult<&engine::RNTuple> {
        let ntuple = self.inner.here(py)?.first.downcast_ref();
        ntuple.ok_or_else(|| invalid(py, "it is no RNTuple"))
    }

    fn set(&self, py: Python<'_>) -> PyResult<&engine::AttributeSet> {
        let set = self.inner.here(py)?.set.as_ref();
        set.ok_or_else(|| invalid(py, "it is no attribute set"))
    }

    /// Where a name is looked up: among these columns and those of friends, below one of them.
    fn scope(&self, py: Python<'_>, below: Option<usize>) -> PyResult<NameScope<'_>> {
        let Inner { table, friends, .. } = self.inner.here(py)?;
        Ok(NameScope { below, ..NameScope::beside(table, friends) })
    }

    /// The requested columns; friends that they are of are opened.
    fn selected(
        &self,
        py: Python<'_>,
        request: &Request,
        cut: Option<&Cut>,
    ) -> PyResult<Box<dyn Columns>> {
        let Inner { table, friends, .. } = self.inner.here(py)?;
        let engine = engine(py)?;
        let wanted = request.wanted();
        let select = engine.select_for(table, friends, &wanted, cut);
        wait(py, &engine, select)?.map_err(|error| exception(py, &error))
    }

    /// As `selected`, with the formulas over them.
    fn expressions(
        &self,
        py: Python<'_>,
        request: &Request,
        cut: Option<&Cut>,
    ) -> PyResult<Expressions> {
        let scope = self.scope(py, None)?;
        let engine = engine(py)?;
        let wanted = request.wanted();
        let select = engine.select_expressions(scope, &wanted, cut);
        wait(py, &engine, select)?.map_err(|error| exception(py, &error))
    }
}

#[pymethods]
impl Table {
    /// The same with friends, which come before those in its file.
    fn with_friends(&self, py: Python<'_>, friends: Vec<(String, Py<Table>)>) -> PyResult<Self> {
        let Inner { table, friends: known, set, .. } = self.inner.here(py)?;
        let mut all = known.clone();
        for (name, friend) in friends {
            all.retain(|known| known.name != name);
            all.push(Friend::new(&name, friend.get().table(py)?.clone()));
        }
        Ok(Table::with(table.clone(), all, set.clone()))
    }

    /// Whether it is made of branches, not of fields.
    #[getter]
    fn is_tree(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.tree(py)?.is_some())
    }

    #[getter]
    fn file(&self, py: Python<'_>) -> PyResult<File> {
        Ok(File::new(self.table(py)?.file().clone()))
    }

    #[getter]
    fn name(&self, py: Python<'_>) -> PyResult<String> {
        Ok(match self.tree(py)? {
            Some(tree) => tree.metadata().name.clone(),
            None => self.ntuple(py)?.metadata().schema.name.clone(),
        })
    }

    /// Title of a tree, description of an RNTuple.
    #[getter]
    fn title(&self, py: Python<'_>) -> PyResult<String> {
        Ok(match self.tree(py)? {
            Some(tree) => tree.metadata().title.clone(),
            None => self.ntuple(py)?.metadata().schema.description.clone(),
        })
    }

    #[getter]
    fn path(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.table(py)?.path().to_owned())
    }

    #[getter]
    fn num_entries(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.table(py)?.num_entries())
    }

    #[getter]
    fn aliases(&self, py: Python<'_>) -> PyResult<Vec<(String, String)>> {
        Ok(self.table(py)?.aliases())
    }

    /// Of each file of a chain address, path, and first and last entry (half open) of the chain's;
    /// `None` of a table that is no chain.
    fn chain_files(&self, py: Python<'_>) -> PyResult<Option<Vec<ChainFile>>> {
        let Some(chain) = self.chain(py)? else { return Ok(None) };
        let file = |(url, path, entries): (&str, &str, Range<u64>)| {
            (url.to_owned(), path.to_owned(), entries.start, entries.end)
        };
        Ok(Some(chain.links().map(file).collect()))
    }

    /// Bytes of all baskets of a tree, as it keeps them.
    fn stored(&self, py: Python<'_>) -> PyResult<StoredBytes> {
        let Some(tree) = self.tree(py)? else { return Ok(StoredBytes::default()) };
        let compressed = tree.metadata().zip_bytes;
        let uncompressed = tree.metadata().total_bytes;
        Ok(StoredBytes { compressed, uncompressed, baskets: 0 })
    }

    /// Which entry has which numbers, where the file says; of a chain, all of its files.
    fn index(&self, py: Python<'_>) -> PyResult<Option<TreeIndex>> {
        let table = self.table(py)?;
        let engine = engine(py)?;
        let index = wait(py, &engine, engine.index(table))?;
        let index = index.map_err(|error| exception(py, &error))?;
        let array = |numbers: &[i64]| PyArray1::from_slice(py, numbers).unbind();
        Ok(index.map(|index| TreeIndex {
            major_name: index.major_name.clone(),
            minor_name: index.minor_name.clone(),
            major: array(&index.major),
            minor: array(&index.minor),
            entries: array(&index.entries),
        }))
    }

    /// Names of the friends that its file names.
    fn friend_names(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let places = self.table(py)?.friend_places().map_err(|error| exception(py, &error))?;
        Ok(places.into_iter().map(|place| place.name).collect())
    }

    /// Opens a friend that its file names.
    fn friend(&self, py: Python<'_>, name: &str) -> PyResult<Table> {
        let engine = engine(py)?;
        let friend = wait(py, &engine, engine.friend(&**self.table(py)?, name))?;
        friend.map(|friend| Table::new(friend.table)).map_err(|error| exception(py, &error))
    }

    /// Names of the attribute sets that are linked to it; of a chain none is.
    fn attribute_sets(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        if self.chain(py)?.is_some() {
            return Ok(Vec::new());
        }
        let sets = self.ntuple(py)?.attribute_sets();
        Ok(sets.iter().map(|set| set.name.clone()).collect())
    }

    /// Opens an attribute set.
    fn attribute_set(&self, py: Python<'_>, name: &str) -> PyResult<Table> {
        let opened = wait(py, &engine(py)?, self.ntuple(py)?.attribute_set(name))?;
        let set = opened.map_err(|error| exception(py, &error))?;
        Ok(Table::with(Arc::new(set.ntuple().clone()), Vec::new(), Some(set)))
    }

    /// The members of an RNTuple's anchor, by ROOT's names.
    fn anchor(&self, py: Python<'_>) -> PyResult<Vec<(&'static str, u64)>> {
        Ok(ntuple::anchor(self.ntuple(py)?))
    }

    /// The pages of each column of an RNTuple, cluster by cluster.
    fn page_lists(&self, py: Python<'_>) -> PyResult<Vec<Vec<ColumnPages>>> {
        ntuple::page_lists(py, self.ntuple(py)?)
    }

    /// First entries of an RNTuple's clusters.
    fn cluster_starts(&self, py: Python<'_>) -> PyResult<Vec<u64>> {
        let ntuple = self.ntuple(py)?;
        let clusters = wait(py, &engine(py)?, ntuple.clusters(&(0..ntuple.num_entries())))?;
        let clusters = clusters.map_err(|error| exception(py, &error))?;
        Ok(clusters.iter().map(|cluster| cluster.entries.start).collect())
    }

    /// Of an attribute set, which version its fields have: major and minor.
    fn schema_version(&self, py: Python<'_>) -> PyResult<(u16, u16)> {
        let [major, minor] = self.set(py)?.schema_version();
        Ok((major, minor))
    }

    /// Of an attribute set, first and last entry (half open) that each of its entries is about.
    fn ranges(&self, py: Python<'_>) -> PyResult<Py<PyArray1<i64>>> {
        let ranges = wait(py, &engine(py)?, self.set(py)?.ranges())?;
        let ranges = ranges.map_err(|error| exception(py, &error))?;
        let bounds = ranges.iter().flat_map(|range| [range.start as i64, range.end as i64]);
        Ok(PyArray1::from_iter(py, bounds).unbind())
    }

    /// Its branches or fields, each followed by those in it.
    fn columns(&self, py: Python<'_>) -> PyResult<Vec<ColumnInfo>> {
        let lead = &self.inner.here(py)?.first;
        let all = 0..lead.list().all().len();
        Ok(all.map(|column| ColumnInfo::new(lead.clone(), column, None)).collect())
    }

    /// Columns that the program of this name read in its last run from a table with the same column
    /// names; empty if the store has none.
    fn columns_read_by(&self, py: Python<'_>, program: &str) -> PyResult<Vec<String>> {
        Ok(self.table(py)?.columns_read_by(program))
    }

    /// Stores the columns that the program of this name has read, for its next run.
    fn keep_columns_read_by(
        &self,
        py: Python<'_>,
        program: &str,
        columns: Vec<String>,
    ) -> PyResult<()> {
        self.table(py)?.keep_columns_read_by(program, &columns);
        Ok(())
    }

    /// Position of the column that a text means, by its path or its last name, below one of them.
    #[pyo3(signature = (text, below = None))]
    fn find(&self, py: Python<'_>, text: &str, below: Option<usize>) -> PyResult<Option<usize>> {
        Ok(self.table(py)?.list().find_below(text, below))
    }

    /// As `find`, of a column that has to be there.
    #[pyo3(signature = (text, below = None))]
    fn require(&self, py: Python<'_>, text: &str, below: Option<usize>) -> PyResult<usize> {
        let table = self.table(py)?;
        table.list().find_below(text, below).ok_or_else(|| {
            exception(py, &table.list().no_such(text, below).with_url(table.file().url()))
        })
    }

    /// The columns that a text means, of the table or of friends: one or, of a glob, all that
    /// match; none where it is a formula or an alias.
    #[pyo3(signature = (text, below = None))]
    fn resolve(
        &self,
        py: Python<'_>,
        text: &str,
        below: Option<usize>,
    ) -> PyResult<Vec<ColumnInfo>> {
        let engine = engine(py)?;
        let scope = self.scope(py, below)?;
        let meaning = wait(py, &engine, engine.meaning(scope, text))?;
        match meaning.map_err(|error| exception(py, &error))? {
            Meaning::Columns(columns) => Ok(columns.into_iter().map(info).collect()),
            Meaning::Alias(_) | Meaning::Formula(_) => Ok(Vec::new()),
        }
    }

    /// Whether a column, also of a friend, has a name, which it hides from aliases.
    #[pyo3(signature = (name, below = None))]
    fn has_column(&self, py: Python<'_>, name: &str, below: Option<usize>) -> PyResult<bool> {
        let engine = engine(py)?;
        let scope = self.scope(py, below)?;
        wait(py, &engine, engine.has_column(scope, name))?.map_err(|error| exception(py, &error))
    }

    /// The column of a name in a formula, in which dots may stand for slashes; in ROOT's grammar
    /// also of a member without its column.
    #[pyo3(signature = (name, below = None, *, of_root = false))]
    fn column(
        &self,
        py: Python<'_>,
        name: &str,
        below: Option<usize>,
        of_root: bool,
    ) -> PyResult<ColumnInfo> {
        let engine = engine(py)?;
        let scope = self.scope(py, below)?;
        let found = wait(py, &engine, engine.column_in_formula(scope, name, of_root))?;
        found.map(info).map_err(|error| exception(py, &error))
    }

    /// All of some entries at once.
    fn read(&self, py: Python<'_>, request: &Request, start: u64, stop: u64) -> PyResult<Batch> {
        let (cut, raised) = request.cut(py);
        let source = self.expressions(py, request, cut.as_ref())?;
        let read =
            async { source.batch(source.columns().read_where(source.cut(), start..stop).await?) };
        let batch = wait(py, &engine(py)?, read)?.map_err(|error| raised.or(py, &error))?;
        Batch::new(py, 0, batch)
    }

    /// The same in steps.
    fn batches(
        &self,
        py: Python<'_>,
        request: &Request,
        start: u64,
        stop: u64,
        step: &StepSize,
    ) -> PyResult<Batches> {
        let (cut, raised) = request.cut(py);
        let source = self.expressions(py, request, cut.as_ref())?;
        let begin = source.columns().batches(start..stop, step.step(), source.cut());
        let batches = wait(py, &engine(py)?, begin)?.map_err(|error| exception(py, &error))?;
        Ok(Batches::new(source, batches, raised))
    }

    /// Batches of which nothing is read before it is requested, and without a cut; a step in bytes
    /// is the size that these columns together would have.
    fn lazy(
        &self,
        py: Python<'_>,
        request: &Request,
        start: u64,
        stop: u64,
        step: &StepSize,
    ) -> PyResult<Lazy> {
        Lazy::start(py, &*self.selected(py, request, None)?, start..stop, step.step())
    }

    /// Sums of weights and of their squares in the bins of axes, those beyond the axes included.
    fn histogram(
        &self,
        py: Python<'_>,
        axes: Vec<FilledAxis>,
        weight: Option<String>,
        cut: Option<String>,
        start: u64,
        stop: u64,
    ) -> PyResult<Sums> {
        let Inner { table, friends, .. } = self.inner.here(py)?;
        let engine = engine(py)?;
        let axes = axes.into_iter().map(axis).collect();
        let request = HistogramRequest { axes, weight, cut, entries: start..stop };
        let filled = wait(py, &engine, engine.histogram(table, friends, &request))?;
        let filled = filled.map_err(|error| exception(py, &error))?;
        let sums = |all: Vec<f64>| PyArray1::from_vec(py, all).unbind();
        Ok((sums(filled.values), filled.variances.map(sums)))
    }

    /// The plan of a read, table by table; of all entries, whatever a cut decides.
    fn plan(
        &self,
        py: Python<'_>,
        request: &Request,
        start: u64,
        stop: u64,
    ) -> PyResult<Vec<ReadPlan>> {
        read_plan(py, &*self.selected(py, request, None)?, start..stop)
    }
}

/// The column of an axis; its bins, first and last edge; or its edges.
type FilledAxis = (String, Option<(usize, f64, f64)>, Option<Vec<f64>>);

/// Sums of weights, and of their squares where there are weights.
type Sums = (Py<PyArray1<f64>>, Option<Py<PyArray1<f64>>>);

fn axis(given: FilledAxis) -> HistogramAxis {
    let (column, equal, edges) = given;
    let column = SelectColumn::Text(column);
    let bins = equal.map(|(bins, ..)| bins);
    let start = equal.map(|(_, start, _)| start);
    let stop = equal.map(|(.., stop)| stop);
    HistogramAxis { column, bins, start, stop, edges }
}

fn info(one: engine::ResolvedColumn) -> ColumnInfo {
    ColumnInfo::of_name(one)
}
