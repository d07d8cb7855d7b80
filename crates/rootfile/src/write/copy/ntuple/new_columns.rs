//! New columns of an input, encoded in memory with the ends of the input's clusters. Their pages
//! are then copied as if the input had them.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::part::ClusterPart;
use super::replaced::ReplacedColumns;
use crate::array::Array;
use crate::error::{Error, Result};
use crate::ntuple::Schema;
use crate::write::compression::{Compression, Encoders};
use crate::write::copy::NewColumns;
use crate::write::copy::remake::CHECKSUM_LEN;
use crate::write::ntuple::RNTupleOptions;
use crate::write::ntuple::cut::Cutter;
use crate::write::ntuple::pages::{ClusterPages, NumberedPage};
use crate::write::ntuple::schema::Plan;
use crate::write::ntuple::work::PageFacts;
use crate::write::schema::{EntryType, TableColumn};
use crate::write::table::Encode;

/// New columns of one input that are being encoded.
pub struct NTupleColumnsWriter {
    columns: NewColumns,
    /// The columns of the input that they replace.
    replaced: Option<ReplacedColumns>,
    options: RNTupleOptions,
    open: Option<Open>,
    /// Entries behind which clusters end, and whether all entries of the cluster are taken.
    ends: VecDeque<(u64, bool)>,
}

/// New columns whose types are known.
struct Open {
    schema: Arc<Schema>,
    cutter: Cutter,
    /// How each column is compressed, once its first pages have decided that.
    levels: Vec<Option<Compression>>,
    /// Entries in clusters so far.
    entries: u64,
    clusters: Vec<NewCluster>,
}

/// New columns of one input.
#[derive(Debug)]
pub struct NTupleColumns {
    /// Their fields alone.
    pub(super) schema: Arc<Schema>,
    /// The columns of the input that they replace.
    pub(super) replaced: Option<ReplacedColumns>,
    pub(super) compression: u32,
    entries: u64,
    /// Those with entries.
    clusters: Vec<NewCluster>,
}

/// New columns of the entries that are taken of a cluster.
#[derive(Debug)]
pub(super) struct NewCluster {
    /// Counted among the taken entries of the input.
    entries: Range<u64>,
    /// Each with its checksum.
    pub pages: Vec<Bytes>,
    /// Of each column the pages.
    pub columns: Vec<Vec<NumberedPage>>,
}

impl NTupleColumns {
    /// The schema of columns that the input lacks; `None` of those that replace some of its own.
    pub(super) fn added(&self) -> Option<&Arc<Schema>> {
        self.replaced.is_none().then_some(&self.schema)
    }

    /// Number of entries.
    pub fn entries(&self) -> u64 {
        self.entries
    }

    /// The new columns of the taken entries of a cluster; `None` if it has none.
    ///
    /// # Errors
    /// `Corrupt` if the new columns have other clusters.
    pub(super) fn cluster(&self, entries: &Range<u64>) -> Result<Option<&NewCluster>> {
        if entries.is_empty() {
            return Ok(None);
        }
        let at = self.clusters.binary_search_by_key(&entries.start, |one| one.entries.start);
        let found = at.ok().map(|at| &self.clusters[at]).filter(|one| one.entries == *entries);
        let lacking = || Error::corrupt("a cluster without its new columns");
        found.map(Some).ok_or_else(lacking)
    }
}

impl NTupleColumnsWriter {
    pub fn new(columns: NewColumns) -> Self {
        let options = RNTupleOptions::of(columns.compression);
        let replaced = None;
        NTupleColumnsWriter { columns, replaced, options, open: None, ends: VecDeque::new() }
    }

    /// The same, of columns that replace some of the input, in their order.
    pub fn replacing(columns: NewColumns, replaced: ReplacedColumns) -> Self {
        let writer = NTupleColumnsWriter::new(columns);
        NTupleColumnsWriter { replaced: Some(replaced), ..writer }
    }

    /// Adds entries: one array a column. The first arrays give the types of the columns.
    ///
    /// # Errors
    /// `Unsupported` for types that an RNTuple does not hold, and for other types than before.
    pub fn extend(&mut self, arrays: Vec<Arc<Array>>, encoders: &mut Encoders) -> Result<()> {
        let open = match &mut self.open {
            Some(open) => open,
            None => {
                let replaced = self.replaced.as_ref();
                let open = Open::new(&self.columns.names, &arrays, replaced, &self.options)?;
                self.open.insert(open)
            }
        };
        open.cutter.push(arrays)?;
        while let Some((end, is_whole)) =
            self.ends.pop_front_if(|(end, _)| *end <= open.cutter.entries())
        {
            open.end_cluster(end, is_whole, &self.options, encoders)?;
        }
        Ok(())
    }

    /// Ends a cluster behind the first `entries` entries: those there are and some of the next.
    /// Without `is_whole` the cluster is not copied, but entries are taken out of it: its pages are
    /// not compressed before that.
    pub fn end_cluster(&mut self, entries: u64, is_whole: bool) {
        self.ends.push_back((entries, is_whole));
    }

    /// The new columns; `None` if [`NTupleColumnsWriter::extend`] was not called.
    ///
    /// # Errors
    /// As [`NTupleColumnsWriter::extend`].
    pub fn finish(mut self, encoders: &mut Encoders) -> Result<Option<NTupleColumns>> {
        let Some(mut open) = self.open.take() else { return Ok(None) };
        open.end_cluster(open.cutter.entries(), true, &self.options, encoders)?;
        let Open { schema, entries, clusters, .. } = open;
        let compression = self.options.compression.number();
        let replaced = self.replaced;
        Ok(Some(NTupleColumns { schema, replaced, compression, entries, clusters }))
    }
}

impl Open {
    fn new(
        names: &[String],
        arrays: &[Arc<Array>],
        replaced: Option<&ReplacedColumns>,
        options: &RNTupleOptions,
    ) -> Result<Open> {
        let column = |(name, array): (&String, &Arc<Array>)| {
            let entry = EntryType::of(array).map_err(|error| error.within(name))?;
            // As where all columns are encoded anew.
            let name = name.replace('.', "_");
            Ok(TableColumn { name, title: String::new(), entry })
        };
        let columns: Vec<TableColumn> =
            names.iter().zip(arrays).map(column).collect::<Result<_>>()?;
        let Plan { schema, columns: mut stored } = Plan::new(&columns, options)?;
        if let Some(replaced) = replaced {
            replaced.encode_like(&mut stored)?;
        }
        let level = (!options.compression.is_class()).then_some(options.compression);
        let levels = vec![level; stored.len()];
        let cutter = Cutter::new(columns, stored.into_iter().map(Arc::new).collect(), options);
        Ok(Open { schema: schema.into(), cutter, levels, entries: 0, clusters: Vec::new() })
    }

    /// Encodes the entries up to `end`, as a cluster.
    fn end_cluster(
        &mut self,
        end: u64,
        is_whole: bool,
        options: &RNTupleOptions,
        encoders: &mut Encoders,
    ) -> Result<()> {
        if end <= self.entries {
            return Ok(());
        }
        let entries = std::mem::replace(&mut self.entries, end)..end;
        let mut pages = ClusterPages::default();
        for mut run in self.cutter.page_runs(entries.clone(), options)? {
            let column = run.column;
            match self.levels[column] {
                _ if !is_whole => run.compression = Compression::NONE,
                Some(known) => run.compression = known,
                None => run.is_trial = true,
            }
            let encoded = Box::new(run).encode(encoders)?;
            let facts = encoded.facts.downcast::<PageFacts>();
            let facts = facts.map_err(|_| Error::corrupt("the result of other work"))?;
            if is_whole {
                self.levels[column] = Some(facts.compression);
            }
            pages.add(&facts, encoded.bytes.into(), CHECKSUM_LEN);
        }
        let (pages, mut columns) = pages.into_parts();
        let of = |column| columns.remove(&column).unwrap_or_default();
        let columns = (0..self.levels.len()).map(of).collect();
        self.clusters.push(NewCluster { entries, pages, columns });
        Ok(())
    }
}

/// An input's schema, with those new fields behind its own.
///
/// # Errors
/// `Unsupported` with a new field that the input or the first one has already.
pub(super) fn with_new(schema: &Schema, new: Option<&Schema>, first: &Schema) -> Result<Schema> {
    let mut all = schema.clone();
    let Some(new) = new else { return Ok(all) };
    for name in top_names(new) {
        if top_names(schema).chain(top_names(first)).any(|own| own == name) {
            let message = "a new column that is there already: give it another name";
            return Err(Error::unsupported(message).within(name));
        }
    }
    all.append(new);
    Ok(all)
}

/// The names of the fields at the top.
pub(super) fn top_names(schema: &Schema) -> impl Iterator<Item = &String> {
    schema.top().map(|id| &schema.fields[id as usize].name)
}

impl ClusterPart {
    /// Adds the new columns behind the input's own, of which there are `own`.
    ///
    /// # Errors
    /// As [`NTupleColumns::cluster`].
    pub(super) fn add_new(
        &mut self,
        new: &NTupleColumns,
        own: usize,
        schema: &Schema,
    ) -> Result<()> {
        let before = self.places.len() as u32;
        let found = new.cluster(&self.entries)?;
        self.pad(own, new.compression);
        for (at, described) in schema.columns[own..].iter().enumerate() {
            let pages = found.and_then(|cluster| cluster.columns.get(at));
            let pages = pages.into_iter().flatten().map(|(count, page)| (*count, before + page));
            self.push_column(pages.collect(), schema, described, new.compression);
        }
        self.new_columns = found.map_or_else(Vec::new, |cluster| cluster.pages.clone());
        Ok(())
    }

    /// Adds the pages of new columns in place of the input's.
    ///
    /// # Errors
    /// As [`NTupleColumns::cluster`].
    pub(super) fn replace(
        &mut self,
        new: &NTupleColumns,
        replaced: &ReplacedColumns,
        schema: &Schema,
    ) -> Result<()> {
        let before = self.places.len() as u32;
        let found = new.cluster(&self.entries)?;
        for (at, column) in schema.columns.iter().enumerate() {
            if !replaced.has(column.field) {
                continue;
            }
            let new_at = replaced.columns.iter().position(|one| *one as usize == at);
            let pages = new_at.and_then(|new_at| found?.columns.get(new_at));
            let pages = pages.into_iter().flatten().map(|(count, page)| (*count, before + page));
            self.set_pages(at, pages.collect(), new.compression, new_at.is_none());
        }
        self.new_columns = found.map_or_else(Vec::new, |cluster| cluster.pages.clone());
        Ok(())
    }
}
