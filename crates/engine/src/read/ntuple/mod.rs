//! An RNTuple that can be read.

mod attributes;
pub mod columns;
pub(super) mod follow;
mod pages;
mod plan;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use mutex::Mutex;
use rootfile::ntuple::{self, Cluster, FieldInterpretation, Names};
use rootfile::{Array, Known, Progress};

use crate::located::Located;
use crate::read::core::batches::Batches;
use crate::read::core::columns::{Batch, datashape};
use crate::read::core::cut::SurvivorFeed;
use crate::read::core::names::{ColumnKind, ColumnName, NameList};
use crate::read::core::pipeline::plan::Plan;
use crate::read::core::pipeline::{self, Decision, Job};
use crate::read::core::request::ColumnRequest;
use crate::read::core::steps::{ReadPriority, Step, forwards, with_borders};
use crate::read::core::table::TablePlace;
use crate::read::file::File;
pub use attributes::AttributeSet;
use pages::{Fields, Shares};
use plan::RNTuplePlan;
use remote::{Error, ErrorKind, Result};

/// An RNTuple of an open file. Cheap to clone.
#[derive(Clone)]
pub struct RNTuple {
    inner: Arc<Inner>,
}

struct Inner {
    file: File,
    place: TablePlace,
    ntuple: Arc<ntuple::RNTuple>,
    names: Names,
    /// The same to look them up.
    list: NameList,
    /// Clusters of those groups whose page list has been read.
    clusters: Mutex<BTreeMap<usize, Vec<Arc<Cluster>>>>,
}

/// A field that will be read, and how.
#[derive(Debug, Clone)]
pub struct FieldColumn {
    /// As the user gets it.
    pub name: String,
    pub interpretation: Arc<FieldInterpretation>,
    /// As it was asked for, where that is otherwise than by its name.
    asked: Option<ColumnRequest>,
}

impl FieldColumn {
    /// The type of an entry as Awkward spells it.
    pub fn datashape(&self) -> String {
        datashape(&self.interpretation.empty())
    }

    /// How it is asked for.
    pub(super) fn request(&self) -> ColumnRequest {
        self.asked.clone().unwrap_or_else(|| ColumnRequest::named(&self.name))
    }

    pub(super) fn empty(&self) -> (String, Array) {
        (self.name.clone(), self.interpretation.empty())
    }
}

impl RNTuple {
    pub(super) fn new(file: File, place: TablePlace, ntuple: ntuple::RNTuple) -> Self {
        let names = Names::new(&ntuple.schema);
        let name = |named: &ntuple::names::NamedField| ColumnName {
            name: named.name.clone(),
            path: named.path.clone(),
            parent: named.parent,
        };
        let list = NameList::new(ColumnKind::Field, names.all().iter().map(name).collect())
            .of_table(&ntuple.schema.name);
        let ntuple = Arc::new(ntuple);
        let clusters = Mutex::default();
        RNTuple { inner: Arc::new(Inner { file, place, ntuple, names, list, clusters }) }
    }

    pub fn file(&self) -> &File {
        &self.inner.file
    }

    /// Where the RNTuple is in the file, without the cycle.
    pub fn path(&self) -> &str {
        &self.inner.place.path
    }

    /// As [`Table::asked`](crate::Table::asked).
    pub fn asked(&self) -> &str {
        &self.inner.place.asked
    }

    pub fn num_entries(&self) -> u64 {
        self.inner.ntuple.entries
    }

    /// Everything the file says about it, but for the places of its pages.
    pub fn metadata(&self) -> &ntuple::RNTuple {
        &self.inner.ntuple
    }

    /// The fields that can be asked for, numbered as they come.
    pub fn names(&self) -> &Names {
        &self.inner.names
    }

    /// The same with their paths, as they are looked up.
    pub fn list(&self) -> &NameList {
        &self.inner.list
    }

    /// The field of that path, with dots or slashes between names, or of that last name.
    pub fn find(&self, path: &str) -> Option<usize> {
        self.inner.list.find(path)
    }

    /// The path of the field that a column of pages is of; empty where there is no such column.
    pub(super) fn column_path(&self, column: usize) -> String {
        let schema = &self.inner.ntuple.schema;
        let Some(described) = schema.columns.get(column) else { return String::new() };
        let fields = schema.ancestors(described.field);
        let mut names: Vec<&str> =
            fields.map(|field| &*schema.fields[field as usize].name).collect();
        names.reverse();
        names.join(".")
    }

    /// One field as a column, in the lists that it is in.
    ///
    /// # Errors
    /// `Unsupported` naming field and type; `NotInFile` where there is no field of that number.
    pub fn column(&self, field: usize) -> Result<FieldColumn> {
        let named = self.named(field)?;
        let Inner { file, ntuple, names, .. } = &*self.inner;
        let classes = &file.format().classes;
        let how = FieldInterpretation::of(&ntuple.schema, names, classes, named.field);
        self.field_column(named.path.clone(), how)
    }

    /// A field at the top with those of its fields that are in `keep`, and the fields below them.
    ///
    /// # Errors
    /// As [`RNTuple::column`].
    pub fn pruned(&self, top: usize, keep: &[usize]) -> Result<FieldColumn> {
        let named = self.named(top)?;
        let keep: Vec<u32> =
            keep.iter().map(|field| Ok(self.named(*field)?.field)).collect::<Result<_>>()?;
        let Inner { file, ntuple, names, .. } = &*self.inner;
        let classes = &file.format().classes;
        let how = FieldInterpretation::pruned(&ntuple.schema, names, classes, named.field, &keep);
        self.field_column(named.name.clone(), how)
    }

    /// The columns that `patterns` name: paths, or globs over them.
    ///
    /// # Errors
    /// `NotInFile` for a pattern that no field matches; as [`RNTuple::column`] for one that is
    /// named. A glob names fields at the top where it matches there, and passes over fields that
    /// cannot be read.
    pub fn columns(&self, patterns: &[String]) -> Result<Vec<FieldColumn>> {
        let mut columns: Vec<FieldColumn> = Vec::new();
        for pattern in patterns {
            if let Some(field) = self.find(pattern) {
                columns.push(self.column(field)?);
            } else {
                let fields = self.matching_some(pattern)?.into_iter();
                columns.extend(fields.filter_map(|field| self.column(field).ok()));
            }
        }
        let mut seen = std::collections::BTreeSet::new();
        columns.retain(|column| seen.insert(column.name.clone()));
        Ok(columns)
    }

    /// The names of the fields at the top that match `patterns`, as in [`RNTuple::columns`];
    /// `None` where a pattern matches a field within another field, or where no field matches.
    ///
    /// # Errors
    /// Those of [`RNTuple::columns`], except for fields that cannot be read.
    pub fn names_at_top(&self, patterns: &[String]) -> Result<Option<Vec<String>>> {
        let mut names = Vec::new();
        for pattern in patterns {
            let fields = match self.find(pattern) {
                Some(field) => vec![field],
                None => self.matching_some(pattern)?,
            };
            for field in fields {
                let named = self.named(field)?;
                if named.parent.is_some() {
                    return Ok(None);
                }
                let schema = &self.inner.ntuple.schema;
                names.push(schema.fields[named.field as usize].name.clone());
            }
        }
        Ok((!names.is_empty()).then_some(names))
    }

    /// All fields at the top that can be read.
    pub fn all_columns(&self) -> Vec<FieldColumn> {
        let top = self.inner.names.all().iter().enumerate();
        let top = top.filter(|(_, named)| named.parent.is_none());
        top.filter_map(|(field, _)| self.column(field).ok()).collect()
    }

    /// A field as it is wanted, by its path.
    ///
    /// # Errors
    /// As [`RNTuple::columns`].
    pub(super) fn chosen(&self, chosen: &ColumnRequest) -> Result<FieldColumn> {
        let field = self.require_field(&chosen.name)?;
        match &chosen.keep {
            None => self.column(field),
            Some(keep) => {
                let keep: Vec<usize> =
                    keep.iter().map(|path| self.require_field(path)).collect::<Result<_>>()?;
                Ok(FieldColumn { asked: Some(chosen.clone()), ..self.pruned(field, &keep)? })
            }
        }
    }

    /// The plan of the pages that reading would fetch.
    ///
    /// # Errors
    /// `InvalidArgument` for a first entry behind the last; those of reading page lists.
    pub async fn plan(
        &self,
        columns: &[FieldColumn],
        entries: Range<u64>,
        step: Step,
    ) -> Result<RNTuplePlan> {
        let entries = self.covered(entries)?;
        let clusters = self.clusters(&entries).await?;
        let schema = &self.inner.ntuple.schema;
        let starts = plan::starts(schema, columns, &clusters, &entries, step);
        self.planned(columns, &clusters, &starts)
    }

    /// How many of `total` entries come in a step, at least one.
    ///
    /// # Errors
    /// Those of reading page lists.
    pub async fn step_entries(
        &self,
        columns: &[FieldColumn],
        step: Step,
        total: u64,
    ) -> Result<u64> {
        let clusters = self.clusters(&(0..self.num_entries())).await?;
        Ok(plan::step_entries(&self.inner.ntuple.schema, columns, &clusters, step, total))
    }

    /// Starts reading in steps; fetching and decoding go on while the caller works on a batch.
    ///
    /// # Errors
    /// As [`RNTuple::plan`].
    pub async fn batches(
        &self,
        columns: Vec<FieldColumn>,
        entries: Range<u64>,
        step: Step,
    ) -> Result<Batches> {
        let rank = ReadPriority::of(&entries);
        self.start(columns, entries, step, rank).await
    }

    pub(super) async fn start(
        &self,
        columns: Vec<FieldColumn>,
        entries: Range<u64>,
        step: Step,
        rank: ReadPriority,
    ) -> Result<Batches> {
        let plan = self.plan(&columns, entries, step).await?;
        Ok(self.run(columns, plan, rank))
    }

    /// First entries of the steps and, last, the end.
    ///
    /// # Errors
    /// As [`RNTuple::plan`].
    pub(super) async fn starts(
        &self,
        columns: &[FieldColumn],
        entries: Range<u64>,
        step: Step,
    ) -> Result<Vec<u64>> {
        let entries = self.covered(entries)?;
        let clusters = self.clusters(&entries).await?;
        Ok(plan::starts(&self.inner.ntuple.schema, columns, &clusters, &entries, step))
    }

    /// Reads in batches that begin at `starts`, whose last is the end: all entries or, of windows,
    /// of each only the entries that survive it.
    pub(super) async fn start_at(
        &self,
        columns: Vec<FieldColumn>,
        starts: &[u64],
        feed: Option<(&[u64], SurvivorFeed)>,
        rank: ReadPriority,
    ) -> Result<Batches> {
        let entries = starts.first().copied().unwrap_or(0)..starts.last().copied().unwrap_or(0);
        let clusters = self.clusters(&entries).await?;
        let Some((windows, feed)) = feed else {
            let plan = self.planned(&columns, &clusters, starts)?;
            return Ok(self.run(columns, plan, rank));
        };
        let decides = vec![false; columns.len()];
        let plan = Plan::without_items(starts).with_windows(windows, &decides, Vec::new());
        let shares = with_borders(starts, clusters.iter().map(|cluster| cluster.entries.start));
        let job = self.job(columns.len(), rank);
        let shares = Some(Shares::new(clusters, starts.to_vec(), shares));
        let fields = Fields { shares, ..self.fields(columns) };
        Ok(pipeline::start(job, fields, plan, Some(Decision::SurvivorFeed(feed))))
    }

    /// Bytes that an entry takes decoded.
    pub(super) async fn bytes_per_entry(&self, columns: &[FieldColumn]) -> Result<f64> {
        let clusters = self.clusters(&(0..self.num_entries())).await?;
        Ok(plan::decoded_bytes_per_entry(&self.inner.ntuple.schema, columns, &clusters))
    }

    /// Plans batches that begin at `starts`, whose last is the end.
    fn planned(
        &self,
        columns: &[FieldColumn],
        clusters: &[Arc<Cluster>],
        starts: &[u64],
    ) -> Result<RNTuplePlan> {
        let Inner { file, place: TablePlace { path, .. }, ntuple, .. } = &*self.inner;
        plan::plan(&ntuple.schema, columns, clusters, starts)
            .map_err(|error| error.within(path).located(file.url()))
    }

    /// Reads the planned pages.
    fn run(&self, columns: Vec<FieldColumn>, plan: RNTuplePlan, rank: ReadPriority) -> Batches {
        pipeline::start(self.job(columns.len(), rank), self.fields(columns), plan, None)
    }

    fn job(&self, shown: usize, rank: ReadPriority) -> Job {
        let file = &self.inner.file;
        Job { remote: file.remote().clone(), decoders: file.decoders().clone(), rank, shown }
    }

    fn fields(&self, columns: Vec<FieldColumn>) -> Fields {
        let Inner { file, place: TablePlace { path, .. }, ntuple, .. } = &*self.inner;
        let ntuple = ntuple.clone();
        let path = path.clone();
        let url = file.url().to_owned();
        Fields { ntuple, path, url, columns: columns.into(), shares: None }
    }

    /// Those of the entries that there are.
    pub(super) fn covered(&self, entries: Range<u64>) -> Result<Range<u64>> {
        forwards(&entries)?;
        let end = entries.end.min(self.num_entries());
        Ok(entries.start.min(end)..end)
    }

    /// Reads columns for a range of entries (cut to those there are), all at once.
    ///
    /// # Errors
    /// As [`RNTuple::batches`]; those of fetching and decoding.
    pub async fn read(&self, columns: Vec<FieldColumn>, entries: Range<u64>) -> Result<Batch> {
        let entries = self.covered(entries)?;
        let nothing = Batch::empty(entries.clone(), None, columns.iter().map(FieldColumn::empty));
        let rank = ReadPriority::of(&entries);
        let mut batches = self.start(columns, entries, Step::Whole, rank).await?;
        batches.next().await.unwrap_or(Ok(nothing))
    }

    /// The clusters with some of the entries.
    ///
    /// # Errors
    /// Those of fetching page lists; `Corrupt`, `Checksum`, `Unsupported`.
    pub async fn clusters(&self, entries: &Range<u64>) -> Result<Vec<Arc<Cluster>>> {
        let Inner { file, place: TablePlace { path, .. }, ntuple, clusters: read, .. } =
            &*self.inner;
        let groups = ntuple.groups_of(entries);
        if groups.clone().any(|group| !read.lock().contains_key(&group)) {
            // All that lack come in one round trip.
            let listed = file
                .reading(|_, known| {
                    ntuple.clusters(known, groups.clone()).map_err(|error| error.within(path))
                })
                .await?;
            file.learn(|format, known| self.again(format, known, groups.clone()));
            let mut rest = listed.into_iter().map(Arc::new);
            for group in groups.clone() {
                let count = ntuple.groups[group].clusters as usize;
                let own = rest.by_ref().take(count).collect();
                read.lock().insert(group, own);
            }
        }
        let read = read.lock();
        let all = groups.filter_map(|group| read.get(&group)).flat_map(|own| own.iter());
        let within = |cluster: &&Arc<Cluster>| {
            cluster.entries.start < entries.end && cluster.entries.end > entries.start
        };
        Ok(all.filter(within).cloned().collect())
    }

    /// Reads it and the page lists of groups again, for callers that want to know the bytes which
    /// that needs.
    fn again(
        &self,
        format: &rootfile::File,
        known: &Known,
        groups: Range<usize>,
    ) -> rootfile::Result<Progress<()>> {
        match format.ntuple(known, &self.inner.place.asked)? {
            Progress::Ready(ntuple) => Ok(ntuple.clusters(known, groups)?.map(drop)),
            Progress::NeedsData(needs) => Ok(Progress::NeedsData(needs)),
        }
    }

    /// As [`RNTuple::again`], of the groups whose page list has been read.
    pub(super) fn all_again(
        &self,
        format: &rootfile::File,
        known: &Known,
    ) -> rootfile::Result<Progress<()>> {
        let groups = {
            let read = self.inner.clusters.lock();
            let first = read.keys().next().copied().unwrap_or(0);
            first..read.keys().next_back().map_or(first, |last| last + 1)
        };
        self.again(format, known, groups)
    }

    pub(super) fn require_field(&self, path: &str) -> Result<usize> {
        self.find(path).ok_or_else(|| self.no_such(path))
    }

    fn no_such(&self, path: &str) -> Error {
        self.inner.list.no_such(path, None).with_url(self.inner.file.url())
    }

    fn named(&self, field: usize) -> Result<&ntuple::names::NamedField> {
        self.inner.names.all().get(field).ok_or_else(|| {
            Error::new(ErrorKind::NotInFile, format!("there is no field number {field}"))
        })
    }

    fn field_column(
        &self,
        name: String,
        how: rootfile::Result<FieldInterpretation>,
    ) -> Result<FieldColumn> {
        let interpretation = how.map_err(|error| {
            error
                .within(&self.inner.place.path)
                .located(self.inner.file.url())
                .with_advice("the other fields can be read")
        })?;
        Ok(FieldColumn { name, interpretation: Arc::new(interpretation), asked: None })
    }

    /// Fields that a pattern means, at least one: of those in each other only the outermost.
    fn matching_some(&self, pattern: &str) -> Result<Vec<usize>> {
        let all = self.inner.list.all();
        let mut chosen = vec![false; all.len()];
        let meant = self.inner.list.all_of_pattern(pattern);
        for field in meant.map_err(|error| error.with_url(self.inner.file.url()))? {
            let mut above = std::iter::successors(all[field].parent, |at| all[*at].parent);
            chosen[field] = !above.any(|parent| chosen[parent]);
        }
        Ok((0..all.len()).filter(|field| chosen[*field]).collect())
    }
}
