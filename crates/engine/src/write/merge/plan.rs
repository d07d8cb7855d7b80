//! What of which input goes where.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use remote::source::FileInfo;
use remote::{Error, ErrorKind, Result, address};
use rootfile::write::copy::{
    BasketPart, CopiedNTuple, CopiedObject, CopiedTree, HistogramSum, NTuplePart, Remake,
    Survivors, TreePart,
};
use rootfile::write::{Compression, DirectoryId, Encoders, FileWriter};

use super::inputs::{Input, InputItem, ItemContent, OWN, path_of, without_sets};
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
    pub inputs: Vec<PlannedInput>,
    processes: Processes,
    pub notes: Vec<String>,
    total_bytes: u64,
}

/// An object or table of the output.
pub struct Output {
    pub path: String,
    pub name: String,
    pub directory: DirectoryId,
    pub content: OutputContent,
    /// How many inputs have it, and whether it is different in one of them.
    inputs: usize,
    differs: bool,
}

pub enum OutputContent {
    Tree(Box<CopiedTree>),
    NTuple(Box<CopiedNTuple>),
    Histogram(Box<HistogramSum>),
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
        let Input { address, url, info, infos, items, processes, survivors } = input;
        self.writer.infos().copy(&infos, &url).located(&*url)?;
        let processes = processes::add(&mut self.processes, processes).located(&*url)?;
        let mut tables = Vec::new();
        let only = self.options.only.as_ref().map(|only| only.table.clone());
        let mut entries = None;
        for item in items {
            let at = match self.places.get(&(item.directory.clone(), item.name.clone())) {
                Some(at) => *at,
                None => self.begin(&item, &url)?,
            };
            self.note_references(&item, at, processes, &url);
            if let ItemContent::NTuple(ntuple) = &item.content {
                let sets = &ntuple.ntuple.attribute_sets;
                self.notes.extend(without_sets(&self.outputs[at].path, &url, sets));
            }
            let is_counted = only.as_ref().is_none_or(|only| *only == self.outputs[at].path);
            let InputItem { content, .. } = item;
            let before = content.entries();
            if let Some(part) = self.add_item(at, (content, survivors.as_ref()), &url)? {
                self.total_bytes += part.stored_bytes();
                entries = entries.or(is_counted.then_some((before, part.entries())));
                tables.push((at, part));
            }
        }
        let (before, kept) = entries.unwrap_or_default();
        let entries = InputEntries { url: url.clone(), entries: before, kept };
        self.inputs.push(PlannedInput { address, url, info, tables, processes, entries });
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
    fn begin(&mut self, item: &InputItem, url: &str) -> Result<usize> {
        let directory = self.writer.directory(&item.directory).located(url)?;
        let path = path_of(&item.directory, &item.name);
        let (name, content) = (item.name.clone(), OutputContent::Left);
        self.outputs.push(Output { path, name, directory, content, inputs: 0, differs: false });
        let key = (item.directory.clone(), item.name.clone());
        self.places.insert(key, self.outputs.len() - 1);
        Ok(self.outputs.len() - 1)
    }

    /// Adds an input's object to an output; what is to be copied of it.
    fn add_item(
        &mut self,
        at: usize,
        (content, survivors): (ItemContent, Option<&Survivors>),
        url: &str,
    ) -> Result<Option<CopiedPart>> {
        let missing = self.options.missing;
        let only = self.options.only.as_ref();
        let output = &mut self.outputs[at];
        let path = &*output.path;
        let survivors = survivors.filter(|_| only.is_some_and(|only| only.table == path));
        let remake = self.options.remake(survivors.is_some());
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
                let part = tree.plan(&more, missing, survivors).map_err(located)?;
                Ok(Some(CopiedPart::Tree(part)))
            }
            (OutputContent::NTuple(ntuple), ItemContent::NTuple(more)) => {
                let part = ntuple.plan(&more, missing).map_err(located)?;
                Ok(Some(CopiedPart::NTuple(part)))
            }
            (OutputContent::Histogram(sum), ItemContent::Histogram(more)) => {
                sum.add(&more).map(|()| None).map_err(located)
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
                    let part = tree.plan(&first, Missing::Filter, survivors).map_err(located)?;
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
                ItemContent::Histogram(first) => {
                    let sum = HistogramSum::new(*first).map_err(located)?;
                    *content = OutputContent::Histogram(Box::new(sum));
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

    /// Says what stands for the fields that inputs lack, when all of them have been added.
    ///
    /// # Errors
    /// As [`CopiedNTuple::complete`].
    pub fn complete(&mut self) -> Result<()> {
        for PlannedInput { tables, url, .. } in &self.inputs {
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

    /// How what is made anew is compressed, but for baskets and pages that an option is about.
    pub fn compression(&self) -> Compression {
        self.options.compression
    }

    /// Puts the objects and the trees' metadata behind all that was copied.
    ///
    /// # Errors
    /// As [`CopiedTree::finish`].
    pub fn finish(self, url: &str) -> Result<(FileWriter, MergeReport)> {
        let MergePlan { mut writer, options, outputs, inputs, processes, mut notes, .. } = self;
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
            let Output { path, name, directory, content, inputs: having, differs } = output;
            if having < inputs.len() {
                notes.push(format!("{path} is in {having} of {} inputs only", inputs.len()));
            }
            if differs {
                notes.push(format!("{path} is not the same in all inputs: the first one is kept"));
            }
            match content {
                OutputContent::Tree(tree) => {
                    report.tables.push((path, tree.entries()));
                    writer.put(directory, &name, Arc::new(tree.finish().located(url)?));
                }
                OutputContent::NTuple(ntuple) => {
                    let coding = (compression, &mut encoders);
                    let finished = ntuple.finish(&mut writer, directory, coding).located(url)?;
                    report.tables.push((path, finished.1));
                    writer.put(directory, &name, finished.0);
                }
                OutputContent::Histogram(sum) => {
                    report.histograms += 1;
                    writer.put(directory, &name, Arc::new(sum.finish()));
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
        address::parse(&self.address).is_ok_and(|all| all.iter().all(address::Address::is_local))
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
                    BasketPart::Embedded { .. } => None,
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
