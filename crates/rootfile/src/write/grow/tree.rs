//! A tree that gets further entries and columns.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;

use super::like::columns_like;
use super::not_written;
use super::stages::{Adds, GrowthStages, check_length};
use crate::array::Array;
use crate::error::{Error, Result};
use crate::write::buffer::Buffer;
use crate::write::compression::{Compression, Encoders};
use crate::write::copy::{
    CopiedObject, CopiedTree, KeptEntries, Missing, SourceTree, TreePart, ends_of_clusters,
};
use crate::write::schema::TableColumn;
use crate::write::table::{Encoded, Finished, RecordPlace, TableWriter, Work, WritableObject};
use crate::write::tree::{ClusterSize, TreeOptions, TreeWriter};

/// A tree that gets further entries and, with values for all its entries, further columns.
///
/// A new tree of which all columns are known from the beginning is written as [`TreeWriter`] does.
pub struct GrowingTree {
    name: String,
    /// The tree of the file as it was.
    existing: Option<ExistingTree>,
    columns: Vec<TableColumn>,
    options: TreeOptions,
    /// Compressions of all columns or of single ones, in the order in which they were set.
    compressions: Vec<(Option<usize>, Compression)>,
    stages: GrowthStages<TreeWriter>,
}

/// The tree of the file as it was.
struct ExistingTree {
    copied: CopiedTree,
    part: TreePart,
    entries: u64,
    /// Behind how many entries its clusters end.
    cluster_ends: Vec<u64>,
    has_index: bool,
}

impl GrowingTree {
    /// A new tree of those columns.
    ///
    /// # Errors
    /// As [`TreeWriter::new`].
    pub fn new(columns: Vec<TableColumn>, options: TreeOptions) -> Result<Self> {
        let mut tree = GrowingTree::of(None, columns, options);
        tree.begin_entries()?;
        Ok(tree)
    }

    /// A tree of an existing file. `options` are those of new clusters and columns; its own columns
    /// keep the form and the compression that they have.
    ///
    /// # Errors
    /// `Unsupported` with the branch of a form that [`TreeWriter`] does not write.
    pub fn of_existing(existing: SourceTree, options: TreeOptions) -> Result<Self> {
        let name = existing.tree.name.clone();
        let within = |error: Error| error.within(&name);
        let existing = Arc::new(existing);
        let (columns, options) = columns_like(&existing, options).map_err(within)?;
        let mut copied = CopiedTree::new(existing.clone())?;
        let part = copied.plan(&existing, Missing::Strict, KeptEntries::default())?;
        let mut compressions = Vec::new();
        for (at, column) in columns.iter().enumerate() {
            let branch = existing.tree.branches.iter().position(|one| one.name == column.name);
            compressions.push((Some(at), copied.compression(branch.unwrap_or_default())));
        }
        let has_index = !matches!(existing.tree.index, Ok(None));
        let entries = existing.tree.entries;
        let cluster_ends = ends_of_clusters(&existing.tree);
        let there = ExistingTree { copied, part, entries, cluster_ends, has_index };
        let mut tree = GrowingTree::of(Some(there), columns, options);
        tree.compressions = compressions;
        tree.check_form().map_err(within)?;
        Ok(tree)
    }

    fn of(
        existing: Option<ExistingTree>,
        columns: Vec<TableColumn>,
        options: TreeOptions,
    ) -> GrowingTree {
        GrowingTree {
            name: String::new(),
            existing,
            columns,
            options,
            compressions: Vec::new(),
            stages: GrowthStages::new(),
        }
    }

    /// Its columns; those of a branch that counts others are among them.
    pub fn columns(&self) -> &[TableColumn] {
        &self.columns
    }

    pub fn options(&self) -> &TreeOptions {
        &self.options
    }

    /// That branches of new entries have the form of the existing ones, before there are entries.
    fn check_form(&mut self) -> Result<()> {
        let mut empty = TreeWriter::new(self.columns.clone(), self.options.clone())?;
        let Some(existing) = &mut self.existing else { return Ok(()) };
        let name = existing.copied.first().tree.name.clone();
        empty.named(&name);
        let place = RecordPlace { offset: 0, directory: 0, datime: 0 };
        let object = empty.finish(place, &mut Encoders::default())?.object;
        let empty = SourceTree::of_object(&name, object, 0)?;
        let fits = existing.copied.plan(&Arc::new(empty), Missing::Strict, KeptEntries::default());
        fits.map(drop).map_err(|error| not_written("branch", &error))
    }

    /// Begins with entries of all columns.
    fn begin_entries(&mut self) -> Result<&mut TreeWriter> {
        let mut writer = TreeWriter::new(self.columns.clone(), self.options.clone())?;
        writer.named(&self.name);
        for (column, compression) in &self.compressions {
            writer.set_compression(*column, *compression)?;
        }
        Ok(self.stages.begin(writer, Adds::Entries))
    }

    fn existing_entries(&self) -> u64 {
        self.existing.as_ref().map_or(0, |existing| existing.entries)
    }

    /// # Errors
    /// `Unsupported` where the tree has an index: it would not know further entries.
    fn check_index(&self) -> Result<()> {
        match &self.existing {
            Some(existing) if existing.has_index => {
                let message = "further entries of a tree with an index (TTree::BuildIndex), which \
                               would not know them";
                Err(Error::unsupported(message))
            }
            _ => Ok(()),
        }
    }

    /// # Errors
    /// `Unsupported` for columns of another number of entries, and for names that are there.
    fn check_new(&self, writer: &TreeWriter, arrays: &[Arc<Array>]) -> Result<()> {
        check_length(arrays.first().map_or(0, |array| array.len() as u64), self.entries())?;
        let own = TreeWriter::new(self.columns.clone(), self.options.clone())?;
        let own: BTreeSet<&str> = own.branch_names().collect();
        match writer.branch_names().find(|name| own.contains(name)) {
            Some(name) => {
                Err(Error::unsupported("a new branch that is there already").within(name))
            }
            None => Ok(()),
        }
    }

    /// All stages as one tree. `place` is that of records for baskets which have none yet.
    fn grown(&mut self, place: RecordPlace, encoders: &mut Encoders) -> Result<Finished> {
        let mut records = Vec::new();
        let mut classes = BTreeSet::new();
        let mut tree = None;
        if let Some(ExistingTree { mut copied, part, .. }) = self.existing.take() {
            copied.begin_in_place(&part);
            records = copied.place_embedded(&part, place, encoders)?;
            tree = Some(copied);
        }
        for mut stage in std::mem::take(&mut self.stages.all) {
            if stage.is_empty() && tree.is_some() {
                continue;
            }
            let object = stage.writer.finish(place, encoders)?.object;
            classes.extend(object.classes().into_iter().map(str::to_owned));
            let source = Arc::new(SourceTree::of_object(&self.name, object, place.offset)?);
            match (&mut tree, stage.adds) {
                (Some(tree), Adds::Columns) => tree.add_columns_in_place(&source)?,
                (Some(tree), Adds::Entries) => tree.add_in_place(&source)?,
                (None, _) => tree.insert(CopiedTree::new(source.clone())?).add_in_place(&source)?,
            }
        }
        let tree = tree.ok_or_else(|| Error::corrupt("a tree without columns"))?.finish()?;
        Ok(Finished { records, object: Arc::new(GrownObject { tree, classes }) })
    }
}

impl TableWriter for GrowingTree {
    fn named(&mut self, name: &str) {
        name.clone_into(&mut self.name);
        self.stages.all.iter_mut().for_each(|stage| stage.writer.named(name));
    }

    fn set_compression(&mut self, column: Option<usize>, compression: Compression) -> Result<()> {
        match self.stages.open() {
            Some(writer) => writer.set_compression(column, compression)?,
            None => self.begin_entries()?.set_compression(column, compression)?,
        }
        self.compressions.push((column, compression));
        Ok(())
    }

    fn extend(&mut self, columns: Vec<Arc<Array>>) -> Result<()> {
        self.check_index()?;
        match self.stages.open() {
            Some(writer) => writer.extend(columns),
            None => self.begin_entries()?.extend(columns),
        }
    }

    fn add_columns(&mut self, columns: Vec<TableColumn>, arrays: Vec<Arc<Array>>) -> Result<()> {
        let options =
            TreeOptions { cluster: ClusterSize::Entries(u64::MAX), ..self.options.clone() };
        let mut writer = TreeWriter::new(columns.clone(), options)?;
        self.check_new(&writer, &arrays)?;
        writer.named(&self.name);
        let ends = self.existing.iter().flat_map(|existing| &existing.cluster_ends);
        ends.for_each(|entries| writer.end_cluster(*entries));
        writer.extend(arrays)?;
        self.stages.close_last();
        self.stages.begin(writer, Adds::Columns);
        self.stages.close_last();
        self.columns.extend(columns);
        Ok(())
    }

    fn end_cluster(&mut self, entries: u64) {
        let before = self.existing_entries() + self.stages.entries_before();
        if let Some(writer) = self.stages.open() {
            writer.end_cluster(entries.saturating_sub(before));
        }
    }

    fn close(&mut self) {
        self.stages.close_last();
    }

    fn poll_work(&mut self) -> Option<Work> {
        self.stages.poll_work()
    }

    fn waits(&self) -> bool {
        self.stages.waits()
    }

    fn place(&mut self, encoded: Encoded, place: RecordPlace) -> Result<Vec<Bytes>> {
        self.stages.place(encoded, place)
    }

    fn finish(&mut self, place: RecordPlace, encoders: &mut Encoders) -> Result<Finished> {
        match (&self.existing, &mut self.stages.all[..]) {
            (None, [stage]) => stage.writer.finish(place, encoders),
            _ => self.grown(place, encoders),
        }
    }

    fn is_even(&self) -> bool {
        self.stages.all.iter().all(|stage| stage.writer.is_even())
    }

    /// Only of a tree that is written as [`TreeWriter`] does: the others' metadata are put together
    /// at the end.
    fn interim(&mut self, place: RecordPlace, encoders: &mut Encoders) -> Result<Option<Finished>> {
        match (&self.existing, &mut self.stages.all[..]) {
            (None, [stage]) => stage.writer.interim(place, encoders),
            _ => Ok(None),
        }
    }

    fn is_unchanged(&self) -> bool {
        self.existing.is_some() && self.stages.are_empty()
    }

    fn entries(&self) -> u64 {
        self.existing_entries() + self.stages.entries()
    }

    fn held_bytes(&self) -> usize {
        self.stages.held_bytes()
    }
}

/// The tree's record, and the classes of ROOT that its new parts need.
struct GrownObject {
    tree: CopiedObject,
    classes: BTreeSet<String>,
}

impl WritableObject for GrownObject {
    fn class(&self) -> &str {
        self.tree.class()
    }

    fn title(&self) -> &str {
        self.tree.title()
    }

    fn classes(&self) -> Vec<&str> {
        self.classes.iter().map(String::as_str).collect()
    }

    fn write(&self, to: &mut Buffer) {
        self.tree.write(to);
    }
}
