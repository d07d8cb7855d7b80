//! What of which input goes where.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use remote::source::FileInfo;
use remote::{Error, ErrorKind, Result};
use rootfile::write::copy::{
    BasketPart, BesideTree, CopiedNTuple, CopiedObject, CopiedTree, NTuplePart, ObjectSum, Remake,
    TreePart,
};
use rootfile::write::{Compression, DirectoryId, Encoders, FileWriter};

use super::deciding::Decided;
use super::inputs::{Input, InputItem, ItemContent, OWN, is_local, path_of, without_sets};
use super::options::{InputEntries, MergeOptions, MergeReport, Missing};
use super::processes::{self, Processes};
use crate::located::Located;
use crate::read::core::select::Names;

/// All that is to be written.
pub struct MergePlan {
    pub writer: FileWriter,
    options: MergeOptions,
    pub outputs: Vec<Output>,
    /// Position of each in [`MergePlan::outputs`], by directory and name.
    places: BTreeMap<(String, String), usize>,
    pub inputs: Vec<Arc<PlannedInput>>,
    processes: Processes,
    pub notes: Vec<String>,
    total_bytes: u64,
    /// Number of outputs that have their directory.
    begun: usize,
    /// New columns of an input without entries that pass the cut: they have types only.
    nothing: Option<BesideTree>,
}

/// An object or table of the output.
pub struct Output {
    pub path: String,
    pub name: String,
    /// The path of its directory, and that directory, created when the first input with it begins.
    folder: String,
    pub directory: DirectoryId,
    pub content: OutputContent,
    /// How many inputs have it, and whether it is different in one of them.
    inputs: usize,
    differs: bool,
}

pub enum OutputContent {
    Tree(Box<CopiedTree>),
    NTuple(Box<CopiedNTuple>),
    Sum(Box<ObjectSum>),
    Object(Box<CopiedObject>),
    Left,
}

/// What is copied of an input.
pub struct PlannedInput {
    pub address: String,
    pub url: String,
    pub info: FileInfo,
    /// Tables, by their position among the outputs.
    pub tables: Vec<(usize, CopiedPart)>,
    /// Number of outputs that this input and those before it have.
    outputs: usize,
    /// What is added to the numbers of processes in its baskets.
    pub processes: u16,
    /// Of the table that is wanted alone, or its first.
    entries: InputEntries,
}

/// What is copied of a table.
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

    /// Bytes of all baskets and pages so far.
    pub fn total_bytes(&self) -> u64 {
        self.total_bytes
    }

    /// Adds the next input.
    ///
    /// # Errors
    /// `Unsupported` where it does not fit those before.
    pub fn add(&mut self, input: Input) -> Result<()> {
        let Input { address, url, info, infos, items, processes, decided, .. } = input;
        self.writer.infos().copy(&infos, &url).located(&*url)?;
        if let Some(new) = decided.as_ref().and_then(|decided| decided.beside.as_ref()) {
            self.writer.infos().copy(&new.infos, "the new columns").located(&*url)?;
        }
        let processes = processes::add(&mut self.processes, processes).located(&*url)?;
        let mut tables = Vec::new();
        let only = self.options.only.as_ref().map(|only| only.table.clone());
        let mut entries = None;
        for item in items {
            let item = item?;
            let at = match self.places.get(&(item.directory.clone(), item.name.clone())) {
                Some(at) => *at,
                None => self.begin(&item),
            };
            self.note_references(&item, at, processes, &url);
            if let ItemContent::NTuple(ntuple) = &item.content {
                let sets = &ntuple.ntuple.attribute_sets;
                self.notes.extend(without_sets(&self.outputs[at].path, &url, sets));
            }
            let is_counted = only.as_ref().is_none_or(|only| *only == self.outputs[at].path);
            let InputItem { content, .. } = item;
            let before = content.entries();
            if let Some(part) = self.add_item(at, (content, decided.as_ref()), &url)? {
                self.total_bytes += part.stored_bytes();
                entries = entries.or(is_counted.then_some((before, part.entries())));
                tables.push((at, part));
            }
        }
        let (before, kept) = entries.unwrap_or_default();
        let entries = InputEntries { url: url.clone(), entries: before, kept };
        let beside = decided.and_then(|decided| decided.beside);
        let is_empty = |beside: &BesideTree| beside.tree.tree.entries == 0;
        self.nothing = self.nothing.take().or(beside.filter(is_empty));
        let outputs = self.outputs.len();
        let input = PlannedInput { address, url, info, tables, outputs, processes, entries };
        self.inputs.push(Arc::new(input));
        Ok(())
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

    /// Says what readers find in references to objects of other processes than the first ones.
    fn note_references(&mut self, item: &InputItem, at: usize, processes: u16, url: &str) {
        let text = match &item.content {
            _ if processes == 0 => return,
            ItemContent::Object(_) if self.outputs[at].inputs == 0 => {
                "references to other objects (TRef) in it may lead elsewhere"
            }
            ItemContent::Tree(tree) if tree.may_refer() => {
                "of references to objects (TRef) its baskets' keys say whose they are, as after a \
                 fast merge by ROOT; but ROOT 6.40 takes them for the first file's"
            }
            _ => return,
        };
        let path = path_of(&item.directory, &item.name);
        self.notes.push(format!("{path} of {url}: {text}"));
    }

    /// Makes place for what no input before had.
    fn begin(&mut self, item: &InputItem) -> usize {
        let path = path_of(&item.directory, &item.name);
        let (name, folder) = (item.name.clone(), item.directory.clone());
        self.outputs.push(Output {
            path,
            name,
            folder,
            directory: DirectoryId::TOP,
            content: OutputContent::Left,
            inputs: 0,
            differs: false,
        });
        let key = (item.directory.clone(), item.name.clone());
        self.places.insert(key, self.outputs.len() - 1);
        self.outputs.len() - 1
    }

    /// Adds an input's object to an output; what is to be copied of it.
    fn add_item(
        &mut self,
        at: usize,
        (content, decided): (ItemContent, Option<&Decided>),
        url: &str,
    ) -> Result<Option<CopiedPart>> {
        let missing = self.options.missing;
        let only = self.options.only.as_ref();
        let output = &mut self.outputs[at];
        let path = &*output.path;
        let decided = decided.filter(|_| only.is_some_and(|only| only.table == path));
        let taken = decided.map(Decided::taken).unwrap_or_default();
        let remake = self.options.remake(taken.survivors.is_some());
        let is_first = output.inputs == 0;
        output.inputs += 1;
        let located = |error: rootfile::Error| error.within(path).located(url);
        let other = || {
            let what = format!("{path}: not of the kind that it is in the first input");
            Err(Error::new(ErrorKind::Unsupported, what).with_url(url))
        };
        match (&mut output.content, content) {
            (_, ItemContent::Left(why)) => {
                self.notes.push(format!("{path} is left out: {why}"));
                Ok(None)
            }
            (OutputContent::Tree(tree), ItemContent::Tree(more)) => {
                let part = tree.plan(&more, missing, taken).map_err(located)?;
                Ok(Some(CopiedPart::Tree(part)))
            }
            (OutputContent::NTuple(ntuple), ItemContent::NTuple(more)) => {
                let part = ntuple.plan(&more, missing).map_err(located)?;
                Ok(Some(CopiedPart::NTuple(part)))
            }
            (OutputContent::Sum(sum), ItemContent::Sum(more)) => {
                sum.add(*more).map(|()| None).map_err(located)
            }
            (OutputContent::Object(first), ItemContent::Object(more)) => {
                output.differs |= !first.is_like(&more);
                Ok(None)
            }
            (content @ OutputContent::Left, new) if is_first => match new {
                ItemContent::Tree(first) => {
                    let mut tree = CopiedTree::new(first.clone());
                    remake.iter().for_each(|remake| tree.remake(remake));
                    let only = only.filter(|only| only.table == path);
                    if let Some(columns) = only.map(|only| &only.columns).filter(|c| !c.is_empty())
                    {
                        let branches = Names::new(&tree.first().tree).select(columns)?;
                        tree.keep(&branches);
                    }
                    let part = tree.plan(&first, Missing::Filter, taken).map_err(located)?;
                    *content = OutputContent::Tree(Box::new(tree));
                    Ok(Some(CopiedPart::Tree(part)))
                }
                ItemContent::NTuple(first) => {
                    let (mut ntuple, part) = CopiedNTuple::new(*first).map_err(located)?;
                    let compression = remake.and_then(|remake| remake.compression);
                    compression.into_iter().for_each(|to| ntuple.remake(to));
                    *content = OutputContent::NTuple(Box::new(ntuple));
                    Ok(Some(CopiedPart::NTuple(part)))
                }
                ItemContent::Sum(first) => {
                    let sum = ObjectSum::new(*first).map_err(located)?;
                    *content = OutputContent::Sum(Box::new(sum));
                    Ok(None)
                }
                ItemContent::Object(first) => {
                    *content = OutputContent::Object(first);
                    Ok(None)
                }
                ItemContent::Left(_) => Ok(None),
            },
            (OutputContent::Left, _) => Ok(None),
            _ => other(),
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

    /// Puts the objects and the trees' metadata behind all that was copied.
    ///
    /// # Errors
    /// As [`CopiedTree::finish`].
    pub fn finish(self, url: &str) -> Result<(FileWriter, MergeReport)> {
        let MergePlan { mut writer, options, outputs, inputs, processes, mut notes, .. } = self;
        let only = options.only.as_ref();
        let (compression, mut encoders) = (options.compression, Encoders::default());
        let mut report = MergeReport {
            inputs: inputs.len(),
            tables: Vec::new(),
            input_entries: inputs.iter().map(|input| input.entries.clone()).collect(),
            histograms: 0,
            objects: 0,
            records: 0,
            copied_bytes: 0,
            notes: Vec::new(),
            written: remote::sink::Written { address: url.to_owned(), size: 0, checksum: None },
            time: std::time::Duration::ZERO,
        };
        for output in outputs {
            let Output { path, name, directory, content, inputs: having, differs, .. } = output;
            if having < inputs.len() {
                notes.push(format!("{path} is in {having} of {} inputs only", inputs.len()));
            }
            if differs {
                notes.push(format!("{path} is not the same in all inputs: the first one is kept"));
            }
            match content {
                OutputContent::Tree(mut tree) => {
                    let is_meant = only.is_some_and(|only| only.table == path);
                    if let Some(beside) = self.nothing.as_ref().filter(|_| is_meant) {
                        let first = tree.first().clone();
                        tree.add_beside(&first, beside).located(url)?;
                    }
                    report.tables.push((path, tree.entries()));
                    writer.put(directory, &name, Arc::new(tree.finish().located(url)?));
                }
                OutputContent::NTuple(ntuple) => {
                    let coding = (compression, &mut encoders);
                    let finished = ntuple.finish(&mut writer, directory, coding).located(url)?;
                    report.tables.push((path, finished.1));
                    writer.put(directory, &name, finished.0);
                }
                OutputContent::Sum(sum) => {
                    report.histograms += 1;
                    let sum = sum.finish().located(url)?;
                    writer.put(directory, &name, Arc::new(sum));
                }
                OutputContent::Object(object) => {
                    report.objects += 1;
                    writer.put(directory, &name, Arc::new(*object));
                }
                OutputContent::Left => {}
            }
        }
        for (number, process) in processes {
            writer.put(DirectoryId::TOP, &processes::name(number), Arc::new(*process));
        }
        OWN.iter().for_each(|class| writer.infos().need(class));
        writer.close();
        report.notes = notes;
        Ok((writer, report))
    }
}

impl PlannedInput {
    /// Whether it is on a disk of this machine.
    pub fn is_local(&self) -> bool {
        is_local(&self.address)
    }
}

impl CopiedPart {
    /// Every range that is copied, with two numbers that say what it is: branch and basket, or
    /// cluster and place.
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

    /// Baskets of new columns whose first entry is in `entries`, which count the copied entries of
    /// the input: `output`, and the numbers of [`CopiedPart::ranges`].
    pub fn beside(&self, output: usize, entries: Range<u64>) -> Vec<(usize, usize, usize)> {
        let CopiedPart::Tree(part) = self else { return Vec::new() };
        let within = part.beside().filter(|(_, _, basket)| entries.contains(&basket.first_entry));
        within.map(|(branch, at, _)| (output, branch, at)).collect()
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
