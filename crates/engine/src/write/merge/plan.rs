//! The plan of a merge: parts of inputs, and their places in the output.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use remote::fetch::RemoteFile;
use remote::source::FileInfo;
use remote::{Error, ErrorKind, Result};
use rootfile::key::Key;
use rootfile::write::copy::{
    BasketPart, BesideTree, CopiedNTuple, CopiedObject, CopiedTree, NTuplePart, ObjectSum, Remake,
    TreePart,
};
use rootfile::write::{Compression, DirectoryId, Encoders, FileWriter};

use super::deciding::{Beside, Decided};
use super::inputs::{
    DECODED_BYTES, Input, InputItem, ItemContent, Items, decoded_bytes, is_local, path_of,
    without_sets,
};
use super::later::LaterInput;
use super::options::{InputEntries, MergeOptions, Missing};
use super::processes::{self, Processes};
use crate::located::Located;
use crate::read::core::select::Names;

/// The note on references in an object that is copied from another file than the first one.
const MAY_LEAD_ELSEWHERE: &str = "references to other objects (TRef) in it may lead elsewhere";

/// All that is to be written.
pub struct MergePlan {
    pub writer: FileWriter,
    pub options: MergeOptions,
    pub outputs: Vec<Output>,
    /// Position of each in [`MergePlan::outputs`], by directory and name.
    places: BTreeMap<Arc<str>, BTreeMap<String, usize>>,
    pub inputs: Vec<Arc<PlannedInput>>,
    /// Objects that are read when all tables have been copied, by input.
    pub later: Vec<LaterInput>,
    /// Memory of the decoded objects of all outputs, in bytes, about.
    decoded_bytes: u64,
    pub processes: Processes,
    pub notes: Vec<String>,
    total_bytes: u64,
    /// Number of outputs that have their directory.
    begun: usize,
    /// New columns of an input without entries that pass the cut: they have types only.
    pub nothing: Option<BesideTree>,
}

/// An object or table of the output.
pub struct Output {
    pub path: String,
    pub name: String,
    /// The path of its directory, and that directory, created when the first input with it begins.
    folder: Arc<str>,
    pub directory: DirectoryId,
    pub content: OutputContent,
    /// How many inputs have it, and whether it is different in one of them.
    pub inputs: usize,
    pub differs: bool,
    /// Whether its objects of an input, and so of all inputs behind it, are read after the tables.
    is_later: bool,
}

pub enum OutputContent {
    /// No table or object of an input so far.
    Nothing,
    Tree(Box<CopiedTree>),
    NTuple(Box<CopiedNTuple>),
    Sum(Box<ObjectSum>),
    Object(Box<CopiedObject>),
    /// Objects, none of which has been read.
    Later,
    /// The first input's object cannot be copied.
    Left,
}

/// The parts of an input that are copied.
pub struct PlannedInput {
    pub address: String,
    pub url: String,
    pub info: FileInfo,
    /// Tables, by their position among the outputs.
    pub tables: Vec<(usize, CopiedPart)>,
    /// Number of outputs that this input and those before it have.
    outputs: usize,
    /// The number that is added to those of processes in its baskets.
    pub processes: u16,
    /// Of the table that is wanted alone, or its first.
    pub entries: InputEntries,
}

/// The part of a table that is copied.
pub enum CopiedPart {
    Tree(TreePart),
    NTuple(NTuplePart),
}

impl MergePlan {
    pub fn new(writer: FileWriter, options: MergeOptions, notes: Vec<String>) -> MergePlan {
        MergePlan {
            writer,
            options,
            outputs: Vec::new(),
            places: BTreeMap::new(),
            inputs: Vec::new(),
            later: Vec::new(),
            decoded_bytes: 0,
            processes: Processes::new(),
            notes,
            total_bytes: 0,
            begun: 0,
            nothing: None,
        }
    }

    /// How baskets and pages are made anew, if they are.
    pub fn remake(&self) -> Option<Remake> {
        let is_cut = self.options.only.as_ref().is_some_and(|only| only.cut.is_some());
        self.options.remake(is_cut)
    }

    /// Whether only one table is written, whatever further inputs have.
    pub fn has_one_table(&self) -> bool {
        self.options.only.as_ref().is_some_and(|only| !only.keep_rest)
    }

    /// Bytes of all baskets and pages so far.
    pub fn total_bytes(&self) -> u64 {
        self.total_bytes
    }

    /// Adds the next input; returns its file, which is still open.
    ///
    /// # Errors
    /// `Unsupported` where it does not fit those before.
    pub fn add(&mut self, input: Input) -> Result<Arc<RemoteFile>> {
        let Input { address, url, info, infos, items, processes, decided, file } = input;
        self.writer.infos().copy(&infos, &url).located(&*url)?;
        let beside = decided.as_ref().and_then(|decided| decided.beside.as_ref());
        if let Some(new) = beside.and_then(Beside::tree) {
            self.writer.infos().copy(&new.infos, "the new columns").located(&*url)?;
        }
        let processes = processes::add(&mut self.processes, processes).located(&*url)?;
        let (mut tables, mut later, mut items) = (Vec::new(), Vec::new(), items);
        let only = self.options.only.as_ref().map(|only| only.table.clone());
        let mut entries = None;
        while let Some(InputItem { directory, key, is_read, table }) = items.next() {
            let at = self.output_of(&directory, &key.name);
            let Some(table) = table else {
                let left = self.add_or_postpone(at, (key, is_read), &items, (processes, &url))?;
                later.extend(left.map(|key| (at, key)));
                continue;
            };
            self.note_references(at, &table, (processes, &url));
            if let ItemContent::NTuple(ntuple) = &table {
                let sets = &ntuple.ntuple.attribute_sets;
                self.notes.extend(without_sets(&self.outputs[at].path, &url, sets));
            }
            let is_counted = only.as_ref().is_none_or(|only| *only == self.outputs[at].path);
            let before = table.entries();
            let survivors = decided.as_ref().and_then(|decided| decided.survivors.as_ref());
            let counts = if is_counted { table.clusters(survivors) } else { Default::default() };
            self.outputs[at].inputs += 1;
            if let Some(part) = self.add_table(at, (table, decided.as_ref()), &url)? {
                self.total_bytes += part.stored_bytes();
                entries = entries.or(is_counted.then_some((before, part.entries(), counts)));
                tables.push((at, part));
            }
        }
        let (before, kept, clusters) = entries.unwrap_or_default();
        let entries = InputEntries { url: url.clone(), entries: before, kept, clusters };
        let beside = decided.and_then(|decided| decided.beside);
        self.nothing = self.nothing.take().or(beside.and_then(Beside::without_entries));
        let outputs = self.outputs.len();
        let input = PlannedInput { address, url, info, tables, outputs, processes, entries };
        let input = Arc::new(input);
        if !later.is_empty() {
            let of = Arc::new(input.without_tables());
            self.later.push(LaterInput::new(of, later, items.file(), self.later.len()));
        }
        self.inputs.push(input);
        Ok(file)
    }

    /// Drops where an input's baskets and pages are, and its new columns: all are copied.
    pub fn end_input(&mut self, at: usize) {
        self.inputs[at] = Arc::new(self.inputs[at].without_tables());
    }

    /// Creates the directories and RNTuple headers of outputs that this input is the first to have,
    /// once all inputs before it are written.
    ///
    /// # Errors
    /// As [`FileWriter::directory`].
    pub fn begin_outputs(
        &mut self,
        input: &PlannedInput,
        encoders: &mut Encoders,
    ) -> rootfile::Result<()> {
        let compression = self.compression();
        for output in &mut self.outputs[self.begun..input.outputs] {
            output.directory = self.writer.directory(&output.folder)?;
            if let OutputContent::NTuple(ntuple) = &mut output.content {
                let coding = (compression, &mut *encoders);
                ntuple.write_header(&mut self.writer, output.directory, coding)?;
            }
        }
        self.begun = self.begun.max(input.outputs);
        Ok(())
    }

    /// Adds a note on where readers find that references to objects of other processes than the
    /// first ones lead.
    fn note_references(&mut self, at: usize, content: &ItemContent, input: (u16, &str)) {
        let (processes, url) = input;
        let text = match content {
            _ if processes == 0 => return,
            ItemContent::Object(_) if self.outputs[at].inputs == 0 => MAY_LEAD_ELSEWHERE,
            ItemContent::Tree(tree) if tree.may_refer() => {
                "of references to objects (TRef) its baskets' keys say whose they are, as after a \
                 fast merge by ROOT; but ROOT 6.40 takes them for the first file's"
            }
            _ => return,
        };
        self.notes.push(format!("{} of {url}: {text}", self.outputs[at].path));
    }

    /// The position of an output; adds a new output for a name that no input before had.
    fn output_of(&mut self, directory: &Arc<str>, name: &str) -> usize {
        let names = self.places.entry(directory.clone()).or_default();
        if let Some(at) = names.get(name) {
            return *at;
        }
        let at = self.outputs.len();
        names.insert(name.to_owned(), at);
        self.outputs.push(Output {
            path: path_of(directory, name),
            name: name.to_owned(),
            folder: directory.clone(),
            directory: DirectoryId::TOP,
            content: OutputContent::Nothing,
            inputs: 0,
            differs: false,
            is_later: false,
        });
        at
    }

    /// Adds an object of an input to its output, where its record has been read and the outputs'
    /// objects fit into memory; else returns its key: it is read after all tables have been copied.
    fn add_or_postpone(
        &mut self,
        at: usize,
        (key, is_read): (Key, bool),
        items: &Items,
        (processes, url): (u16, &str),
    ) -> Result<Option<Key>> {
        let Output { content, is_later, .. } = &self.outputs[at];
        let new_bytes = match content {
            OutputContent::Nothing => decoded_bytes(&key),
            _ => 0,
        };
        let decoded_bytes = self.decoded_bytes.saturating_add(new_bytes);
        if *is_later || !is_read || new_bytes > 0 && decoded_bytes > DECODED_BYTES {
            self.postpone(at, items.adds(&key), (processes, url))?;
            return Ok(Some(key));
        }
        self.decoded_bytes = decoded_bytes;
        let object = items.object(&key)?;
        self.note_references(at, &object, (processes, url));
        self.outputs[at].inputs += 1;
        self.add_object(at, object, url)?;
        Ok(None)
    }

    /// Counts an object that is read later for its output; `adds` says whether it is added up.
    fn postpone(&mut self, at: usize, adds: bool, (processes, url): (u16, &str)) -> Result<()> {
        let Output { path, content, inputs, is_later, .. } = &mut self.outputs[at];
        match (&*content, adds) {
            (OutputContent::Nothing, _) => *content = OutputContent::Later,
            (OutputContent::Later | OutputContent::Left, _)
            | (OutputContent::Sum(_), true)
            | (OutputContent::Object(_), false) => {}
            _ => return Err(another_kind(path, url)),
        }
        if *inputs == 0 && !adds && processes > 0 {
            self.notes.push(format!("{path} of {url}: {MAY_LEAD_ELSEWHERE}"));
        }
        (*inputs, *is_later) = (*inputs + 1, true);
        Ok(())
    }

    /// Adds an object of an input, other than a table, to its output.
    ///
    /// # Errors
    /// `Unsupported` where it does not fit those before.
    pub fn add_object(&mut self, at: usize, object: ItemContent, url: &str) -> Result<()> {
        let Output { path, content, differs, .. } = &mut self.outputs[at];
        let located = |error: rootfile::Error| error.within(path).located(url);
        match (&mut *content, object) {
            (_, ItemContent::Left(why)) => {
                self.notes.push(format!("{path} is left out: {why}"));
                if let OutputContent::Nothing | OutputContent::Later = content {
                    *content = OutputContent::Left;
                }
            }
            (OutputContent::Left, _) => {}
            (OutputContent::Sum(sum), ItemContent::Sum(more)) => {
                sum.add(*more).map_err(located)?;
            }
            (OutputContent::Object(first), ItemContent::Object(more)) => {
                *differs |= !first.is_like(&more);
            }
            (OutputContent::Nothing | OutputContent::Later, ItemContent::Sum(first)) => {
                let sum = ObjectSum::new(*first).map_err(located)?;
                *content = OutputContent::Sum(Box::new(sum));
            }
            (OutputContent::Nothing | OutputContent::Later, ItemContent::Object(first)) => {
                *content = OutputContent::Object(first);
            }
            _ => return Err(another_kind(path, url)),
        }
        Ok(())
    }

    /// Adds an input's table to an output; returns the part of it that is copied, `None` if it is
    /// left out.
    fn add_table(
        &mut self,
        at: usize,
        (table, decided): (ItemContent, Option<&Decided>),
        url: &str,
    ) -> Result<Option<CopiedPart>> {
        let missing = self.options.missing;
        let only = self.options.only.as_ref();
        let Output { path, content, .. } = &mut self.outputs[at];
        let only = only.filter(|only| only.table == *path);
        let columns = only.map(|only| &only.columns[..]).filter(|columns| !columns.is_empty());
        let decided = decided.filter(|_| only.is_some());
        let taken = decided.map(Decided::taken).unwrap_or_default();
        let taken_entries = decided.map(Decided::taken_entries).unwrap_or_default();
        let remake = self.options.remake(taken.survivors.is_some());
        let located = |error: rootfile::Error| error.within(path).located(url);
        if let (OutputContent::Tree(tree), ItemContent::Tree(more)) = (&*content, &table)
            && tree.is_nothing()
            && !more.is_nothing()
        {
            *content = OutputContent::Nothing;
        }
        match (&mut *content, table) {
            (OutputContent::Left, _) => Ok(None),
            (OutputContent::Tree(tree), ItemContent::Tree(more)) => {
                let part = tree.plan(&more, missing, taken).map_err(located)?;
                Ok(Some(CopiedPart::Tree(part)))
            }
            (OutputContent::NTuple(ntuple), ItemContent::NTuple(more)) => {
                let part = ntuple.plan(&more, missing, taken_entries).map_err(located)?;
                Ok(Some(CopiedPart::NTuple(part)))
            }
            (OutputContent::Nothing, ItemContent::Tree(first)) => {
                let mut tree = CopiedTree::new(first.clone()).map_err(located)?;
                remake.iter().for_each(|remake| tree.remake(remake));
                if let Some(columns) = columns {
                    let branches = Names::new(&tree.first().tree).select(columns)?;
                    tree.keep(&branches);
                }
                let part = tree.plan(&first, Missing::Filter, taken).map_err(located)?;
                *content = OutputContent::Tree(Box::new(tree));
                Ok(Some(CopiedPart::Tree(part)))
            }
            (OutputContent::Nothing, ItemContent::NTuple(first)) => {
                let new = CopiedNTuple::new(*first, columns, taken_entries);
                let (mut ntuple, part) = new.map_err(located)?;
                let compression = remake.and_then(|remake| remake.compression);
                compression.into_iter().for_each(|to| ntuple.remake(to));
                *content = OutputContent::NTuple(Box::new(ntuple));
                Ok(Some(CopiedPart::NTuple(part)))
            }
            _ => Err(another_kind(path, url)),
        }
    }

    /// Plans the zeros of fields that inputs from number `first` on lack. Called when all inputs
    /// are added, or where later ones add no fields.
    ///
    /// # Errors
    /// As [`CopiedNTuple::complete`].
    pub fn complete(&mut self, first: usize) -> Result<()> {
        for input in &self.inputs[first..] {
            let PlannedInput { tables, url, .. } = &**input;
            for (at, part) in tables {
                let Output { path, content, .. } = &mut self.outputs[*at];
                if let (OutputContent::NTuple(ntuple), CopiedPart::NTuple(part)) = (content, part) {
                    let completed = ntuple.complete(part, self.options.missing);
                    completed.map_err(|error| error.within(path).located(&**url))?;
                }
            }
        }
        Ok(())
    }

    /// Compression of all that is not copied, unless options name another for baskets and pages.
    pub fn compression(&self) -> Compression {
        self.options.compression
    }
}

/// The error for a name under which inputs have tables or objects of different kinds.
fn another_kind(path: &str, url: &str) -> Error {
    let what = format!("{path}: not of the kind that it is in the first input");
    Error::new(ErrorKind::Unsupported, what).with_url(url)
}

impl PlannedInput {
    fn without_tables(&self) -> PlannedInput {
        let PlannedInput { address, url, info, outputs, processes, entries, .. } = self;
        PlannedInput {
            address: address.clone(),
            url: url.clone(),
            info: info.clone(),
            tables: Vec::new(),
            outputs: *outputs,
            processes: *processes,
            entries: entries.clone(),
        }
    }

    /// Checks that the file is still the version of which the metadata were read.
    ///
    /// # Errors
    /// `Io` where the file has changed.
    pub fn check_same(&self, is: &FileInfo) -> Result<()> {
        self.info.is_still(is).map_err(|_| {
            let error = Error::new(ErrorKind::Io, "the file has changed while it was merged");
            error.with_url(&*self.url)
        })
    }

    /// Whether it is on a disk of this machine.
    pub fn is_local(&self) -> bool {
        is_local(&self.address)
    }
}

impl CopiedPart {
    /// Every range that is copied, with two numbers that identify it: branch and basket, or cluster
    /// and place.
    pub fn ranges(&self) -> Vec<(usize, usize, Range<u64>)> {
        match self {
            CopiedPart::Tree(part) => {
                let stored = |basket: &BasketPart| match basket {
                    BasketPart::Stored(range) => Some(range.clone()),
                    BasketPart::Embedded { .. } | BasketPart::Beside { .. } => None,
                };
                let baskets = part.baskets();
                baskets.filter_map(|(a, b, basket)| Some((a, b, stored(&basket.part)?))).collect()
            }
            CopiedPart::NTuple(part) => {
                let places = part.places().filter(|(_, _, range)| range.start < range.end);
                places.map(|(cluster, at, range)| (cluster, at, range.clone())).collect()
            }
        }
    }

    /// Baskets of a tree's new columns whose first entry is in `entries`, which count the copied
    /// entries of the input: `output`, and the numbers of [`CopiedPart::ranges`].
    pub fn beside(&self, output: usize, entries: Range<u64>) -> Vec<(usize, usize, usize)> {
        let CopiedPart::Tree(part) = self else { return Vec::new() };
        let within = part.beside().filter(|(_, _, basket)| entries.contains(&basket.first_entry));
        within.map(|(branch, at, _)| (output, branch, at)).collect()
    }

    /// The clusters of an RNTuple with pages of new columns, as the first of these numbers.
    pub fn clusters_beside(&self) -> BTreeSet<usize> {
        match self {
            CopiedPart::NTuple(part) => part.beside().collect(),
            CopiedPart::Tree(_) => BTreeSet::new(),
        }
    }

    fn entries(&self) -> u64 {
        match self {
            CopiedPart::Tree(part) => part.entries,
            CopiedPart::NTuple(part) => part.entries,
        }
    }

    fn stored_bytes(&self) -> u64 {
        self.ranges().iter().map(|(_, _, range)| range.end - range.start).sum()
    }
}
