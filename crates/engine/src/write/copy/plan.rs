//! The plan of a merge: parts of inputs, and their places in the output.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use remote::fetch::RemoteFile;
use remote::source::FileInfo;
use remote::{Error, ErrorKind, Result};
use rootfile::key::Key;
use rootfile::write::copy::{CopiedObject, ObjectSum};
use rootfile::write::{Coding, Compression, DirectoryId, Encoders, FileWriter, TableDestination};

use super::attributes::CountedSet;
use super::choice::CopyOptions;
use super::folders::Folders;
use super::inputs::{
    DECODED_BYTES, Input, InputItem, InputKey, InputObject, Items, count_clusters, decoded_bytes,
    is_local, path_of,
};
use super::later::LaterInput;
use super::options::InputEntries;
use super::processes::{self, Processes};
use super::table::{Added, CopiedTable, MadeBlocks, PlaceBlocks, SourceTable, TableChoice};
use crate::located::Located;

/// The note on references in an object that is copied from another file than the first one.
const MAY_LEAD_ELSEWHERE: &str = "references to other objects (TRef) in it may lead elsewhere";

/// All that is to be written.
pub struct MergePlan {
    pub writer: FileWriter,
    pub options: CopyOptions,
    pub outputs: Vec<Output>,
    /// Position of each in [`MergePlan::outputs`], by directory and name.
    places: BTreeMap<Arc<str>, BTreeMap<String, usize>>,
    /// The same of attribute sets, by the position of their RNTuple and their names.
    sets: BTreeMap<(usize, String), usize>,
    pub inputs: Vec<Arc<PlannedInput>>,
    /// Objects that are read when all tables have been copied, by input.
    pub later: Vec<LaterInput>,
    /// Memory of the decoded objects of all outputs, in bytes, about.
    decoded_bytes: u64,
    pub processes: Processes,
    pub folders: Folders,
    /// The numbers of those that a file which grows has already.
    pub existing_processes: BTreeSet<u16>,
    pub notes: Vec<String>,
    total_bytes: u64,
    /// Number of outputs that have their directory.
    begun: usize,
    /// Whether the first input is the output's file, which grows in place.
    grows: bool,
}

/// An object or table of the output.
pub struct Output {
    pub path: String,
    pub name: String,
    /// The path of its directory, and that directory, created when the first input with it begins.
    folder: Arc<str>,
    pub directory: DirectoryId,
    pub content: OutputContent,
    /// Of a table, the entries of all inputs so far.
    entries: u64,
    /// The RNTuple that an attribute set belongs to.
    pub set_of: Option<SetOf>,
    /// How many inputs have it.
    pub inputs: usize,
    /// Why something is lost as only the first of the inputs' objects is kept.
    pub first_only: Option<&'static str>,
    /// The object or table of that name in a file that grows.
    pub existing: Option<ExistingKey>,
    /// The cycle that it has in the input, where it keeps that.
    pub cycle: Option<u16>,
    /// Whether its objects of an input, and so of all inputs behind it, are read after the tables.
    is_later: bool,
}

/// The link to an attribute set.
#[derive(Debug, Clone, Copy)]
pub struct SetOf {
    /// The position of its RNTuple among the outputs.
    pub output: usize,
    pub schema_version: [u16; 2],
}

/// An object or table of a file that grows.
#[derive(Debug, Clone, Copy)]
pub struct ExistingKey {
    pub cycle: u16,
    kind: UnchangedKind,
}

#[derive(Debug, Clone, Copy)]
pub enum UnchangedKind {
    /// A table, with its number of entries.
    Table(u64),
    Sum,
    Object,
}

pub enum OutputContent {
    /// No table or object of an input so far.
    Nothing,
    Table(Box<dyn CopiedTable>),
    Sum(Box<ObjectSum>),
    Object(Box<CopiedObject>),
    /// Objects, none of which has been read.
    Later,
    /// The first input's object cannot be copied.
    Left,
    /// No input adds to that of the file that grows.
    Unchanged(UnchangedKind),
}

/// The parts of an input that are copied.
pub struct PlannedInput {
    /// Its number among the inputs.
    pub number: usize,
    pub address: String,
    pub url: String,
    pub info: FileInfo,
    /// Tables, by their position among the outputs.
    pub tables: Vec<usize>,
    /// Number of outputs that this input and those before it have.
    outputs: usize,
    /// The number that is added to those of processes in its baskets.
    pub processes: u16,
    /// Of the table that is wanted alone, or its first.
    pub entries: InputEntries,
}

impl MergePlan {
    /// `grows` if the first input is the output's file, and the writer goes on with it.
    pub fn new(
        writer: FileWriter,
        options: CopyOptions,
        notes: Vec<String>,
        grows: bool,
    ) -> MergePlan {
        MergePlan {
            writer,
            options,
            outputs: Vec::new(),
            places: BTreeMap::new(),
            sets: BTreeMap::new(),
            inputs: Vec::new(),
            later: Vec::new(),
            decoded_bytes: 0,
            processes: Processes::new(),
            folders: Folders::default(),
            existing_processes: BTreeSet::new(),
            notes,
            total_bytes: 0,
            begun: 0,
            grows,
        }
    }

    /// Whether the blocks of the input of this number stay where they are.
    pub fn stays(&self, input: usize) -> bool {
        self.grows && input == 0
    }

    /// Leaves alone all of a file that grows to which no other input adds anything, once all inputs
    /// are added.
    pub fn leave_unchanged(&mut self) {
        for output in &mut self.outputs {
            if let Some(existing) = output.existing.filter(|_| output.inputs == 1) {
                output.content = OutputContent::Unchanged(existing.kind);
            }
        }
        for at in 0..self.outputs.len() {
            let Some(SetOf { output, .. }) = self.outputs[at].set_of else { continue };
            if let OutputContent::Unchanged(_) = self.outputs[output].content {
                self.outputs[at].content = OutputContent::Nothing;
            }
        }
        let is_changed =
            |at: usize| !matches!(self.outputs[at].content, OutputContent::Unchanged(_));
        self.later.iter_mut().for_each(|later| later.retain(is_changed));
    }

    /// Bytes of all baskets and pages so far.
    pub fn total_bytes(&self) -> u64 {
        self.total_bytes
    }

    /// The path that leads to a table of the output in the inputs.
    pub fn asked(&self, output: usize) -> &str {
        let path = &*self.outputs[output].path;
        self.options.chosen_at(path).map_or(path, |chosen| &chosen.asked)
    }

    /// That the inputs have what the options name.
    ///
    /// # Errors
    /// `NotInFile` with the name that none of them has.
    pub fn check_objects(&self) -> Result<()> {
        let paths = self.outputs.iter().map(|output| &*output.path);
        let Some(at) = self.options.objects.without_match(paths) else { return Ok(()) };
        let text = format!("no input has an object {:?}", self.options.merge.only[at]);
        Err(Error::new(ErrorKind::NotInFile, text))
    }

    /// Adds the next input; returns its file, which is still open.
    ///
    /// # Errors
    /// `Unsupported` where it does not fit those before.
    pub fn add(&mut self, input: Input) -> Result<Arc<RemoteFile>> {
        let Input { address, url, info, infos, mut items, processes, folders, file, .. } = input;
        self.folders.add(folders);
        self.writer.infos().copy(&infos, &url).located(&*url)?;
        for table in items.tables() {
            let new = table.infos_of_columns();
            self.writer.infos().copy(new, "the new columns").located(&*url)?;
        }
        if self.stays(self.inputs.len()) {
            self.existing_processes = processes.keys().copied().collect();
        }
        let processes = processes::add(&mut self.processes, processes).located(&*url)?;
        let of = InputName { number: self.inputs.len(), url: &url, processes };
        let mut tables = Vec::new();
        let mut later = Vec::new();
        let mut entries = None;
        while let Some(InputItem { at: found, table, sets }) = items.next() {
            let InputKey { directory, key, is_read } = found;
            let at = self.output_of(&directory, &key.name);
            self.outputs[at].cycle = self.options.keeps_all.then_some(key.cycle);
            if self.stays(of.number) {
                let kind = match &table {
                    Some(table) => UnchangedKind::Table(table.entries()),
                    None if items.adds(&key) => UnchangedKind::Sum,
                    None => UnchangedKind::Object,
                };
                // ROOT gives keys that are not to be purged a negative cycle.
                let cycle = (key.cycle as i16).unsigned_abs();
                self.outputs[at].existing = Some(ExistingKey { cycle, kind });
            }
            let Some(table) = table else {
                let left = self.add_or_postpone(at, key, is_read, &items, of)?;
                later.extend(left.map(|key| (at, key)));
                continue;
            };
            let path = &self.outputs[at].path;
            let losses = table.losses(processes).into_iter().chain(sets.left_out);
            self.notes.extend(losses.map(|text| format!("{path} of {url}: {text}")));
            let chosen = self.options.chosen.as_ref();
            let is_counted = chosen.is_none_or(|chosen| chosen.path == *path);
            let in_front = self.outputs[at].entries;
            let sets = sets.sets.into_iter().map(|set| set.counted(in_front, table.survivors()));
            let sets: Vec<CountedSet> = sets.collect();
            let before = table.entries();
            let counts = if is_counted { count_clusters(&*table) } else { Default::default() };
            self.outputs[at].inputs += 1;
            if let Some(added) = self.add_table(at, table, of)? {
                if !self.stays(of.number) {
                    self.total_bytes += added.stored_bytes;
                }
                entries = entries.or(is_counted.then_some((before, added.entries, counts)));
                tables.push(at);
                for set in sets {
                    tables.extend(self.add_set(at, set, of)?);
                }
            }
        }
        let (before, kept, clusters) = entries.unwrap_or_default();
        let entries = InputEntries { url: url.clone(), entries: before, kept, clusters };
        let outputs = self.outputs.len();
        let number = self.inputs.len();
        let input =
            PlannedInput { number, address, url, info, tables, outputs, processes, entries };
        let input = Arc::new(input);
        if !later.is_empty() {
            let number = self.later.len();
            self.later.push(LaterInput::new(input.clone(), later, items.file(), number));
        }
        self.inputs.push(input);
        Ok(file)
    }

    /// Adds an attribute set of an input's RNTuple to that of the output; returns its position,
    /// `None` where it is left out.
    fn add_set(
        &mut self,
        ntuple: usize,
        set: CountedSet,
        of: InputName<'_>,
    ) -> Result<Option<usize>> {
        let schema_version = set.set.schema_version;
        let name = set.set.name.clone();
        let path = format!("{}/{name}", self.outputs[ntuple].path);
        if set.left_out > 0 {
            let text = "are left out, as no entry of their ranges is kept";
            self.notes.push(format!("{path} of {}: {} entries {text}", of.url, set.left_out));
        }
        let table = set.into_table(self.compression());
        let table = match table.map_err(|error| error.within(&path).located(of.url)) {
            Ok(table) => Box::new(table),
            Err(why) if why.kind() == ErrorKind::Unsupported => {
                self.notes.push(format!("an attribute set is left out: {why}"));
                return Ok(None);
            }
            Err(why) => return Err(why),
        };
        let at = *self.sets.entry((ntuple, name.clone())).or_insert(self.outputs.len());
        if at == self.outputs.len() {
            let folder = self.outputs[ntuple].folder.clone();
            let set_of = Some(SetOf { output: ntuple, schema_version });
            self.outputs.push(Output { set_of, ..Output::new(path, &name, folder) });
        }
        let output = &mut self.outputs[at];
        output.inputs += 1;
        if let Some(link) = &mut output.set_of {
            link.schema_version = link.schema_version.max(schema_version);
        }
        let added = self.add_table(at, table, of)?;
        self.total_bytes += added.map_or(0, |added| added.stored_bytes);
        Ok(added.map(|_| at))
    }

    /// The attribute sets of an RNTuple, by their positions.
    pub fn sets_of(&self, ntuple: usize) -> Vec<usize> {
        let of = self.sets.range((ntuple, String::new())..(ntuple + 1, String::new()));
        let mut sets: Vec<usize> = of.map(|(_, at)| *at).collect();
        sets.sort_unstable();
        sets
    }

    /// The tables of the output to which blocks of an input are copied.
    pub fn tables_of(
        &self,
        input: &PlannedInput,
    ) -> impl Iterator<Item = (usize, &dyn CopiedTable)> {
        // Attribute sets of a file that grows are written anew.
        let stays = self.stays(input.number);
        let is_copied = move |at: &&usize| !stays || self.outputs[**at].set_of.is_some();
        input.tables.iter().filter(is_copied).filter_map(|at| match &self.outputs[*at].content {
            OutputContent::Table(table) => Some((*at, &**table)),
            _ => None,
        })
    }

    /// A table of the output, and where it is written; `None` for an object.
    pub fn table(&mut self, output: usize) -> Option<(&mut dyn CopiedTable, TableDestination<'_>)> {
        let Output { directory, content, .. } = &mut self.outputs[output];
        let OutputContent::Table(table) = content else { return None };
        let to = TableDestination { writer: &mut self.writer, directory: *directory };
        Some((&mut **table, to))
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
            let titles = |path: &str| self.folders.title(path);
            output.directory = self.writer.directory_with(&output.folder, titles)?;
            if let OutputContent::Table(table) = &mut output.content {
                let to = TableDestination { writer: &mut self.writer, directory: output.directory };
                table.write_header(to, Coding { compression, encoders: &mut *encoders })?;
            }
        }
        self.begun = self.begun.max(input.outputs);
        Ok(())
    }

    /// The position of an output; adds a new output for a name that no input before had.
    fn output_of(&mut self, directory: &Arc<str>, name: &str) -> usize {
        let names = self.places.entry(directory.clone()).or_default();
        if let Some(at) = names.get(name) {
            return *at;
        }
        let at = self.outputs.len();
        names.insert(name.to_owned(), at);
        let path = path_of(directory, name);
        self.outputs.push(Output::new(path, name, directory.clone()));
        at
    }

    /// Adds an object of an input to its output, where its record has been read and the outputs'
    /// objects fit into memory; else returns its key: it is read after all tables have been copied.
    fn add_or_postpone(
        &mut self,
        at: usize,
        key: Key,
        is_read: bool,
        items: &Items,
        of: InputName<'_>,
    ) -> Result<Option<Key>> {
        let Output { path, content, is_later, inputs, .. } = &self.outputs[at];
        let new_bytes = match content {
            OutputContent::Nothing => decoded_bytes(&key),
            _ => 0,
        };
        let decoded_bytes = self.decoded_bytes.saturating_add(new_bytes);
        if *is_later || !is_read || new_bytes > 0 && decoded_bytes > DECODED_BYTES {
            self.postpone(at, items.adds(&key), of)?;
            return Ok(Some(key));
        }
        self.decoded_bytes = decoded_bytes;
        let object = items.object(&key)?;
        if *inputs == 0 && of.processes > 0 && matches!(object, InputObject::Object(_)) {
            self.notes.push(format!("{path} of {}: {MAY_LEAD_ELSEWHERE}", of.url));
        }
        self.outputs[at].inputs += 1;
        self.add_object(at, object, of.number, of.url)?;
        Ok(None)
    }

    /// Counts an object that is read later for its output; `adds` says whether it is added up.
    fn postpone(&mut self, at: usize, adds: bool, of: InputName<'_>) -> Result<()> {
        let Output { path, content, inputs, is_later, .. } = &mut self.outputs[at];
        match (&*content, adds) {
            (OutputContent::Nothing, _) => *content = OutputContent::Later,
            (OutputContent::Later | OutputContent::Left, _)
            | (OutputContent::Sum(_), true)
            | (OutputContent::Object(_), false) => {}
            _ => return Err(another_kind(path, of.url)),
        }
        if *inputs == 0 && !adds && of.processes > 0 {
            self.notes.push(format!("{path} of {}: {MAY_LEAD_ELSEWHERE}", of.url));
        }
        (*inputs, *is_later) = (*inputs + 1, true);
        Ok(())
    }

    /// Adds an object of an input, other than a table, to its output.
    ///
    /// # Errors
    /// `Unsupported` where it does not fit those before.
    pub fn add_object(
        &mut self,
        at: usize,
        object: InputObject,
        input: usize,
        url: &str,
    ) -> Result<()> {
        let stays = self.stays(input);
        let Output { path, content, first_only, existing, .. } = &mut self.outputs[at];
        let located = |error: rootfile::Error| error.within(path).located(url);
        match (&mut *content, object) {
            (OutputContent::Nothing | OutputContent::Later, InputObject::Left(_)) if stays => {
                *content = OutputContent::Left;
            }
            (_, InputObject::Left(why)) => {
                self.notes.push(format!("{path} is left out: {why}"));
                if let OutputContent::Nothing | OutputContent::Later = content {
                    *content = OutputContent::Left;
                }
            }
            (OutputContent::Left, _) => {
                let text = "that of the output is of a kind that cannot be copied";
                let note = format!("{path} of {url} is left out: {text}");
                self.notes.extend(existing.is_some().then_some(note));
            }
            (OutputContent::Sum(sum), InputObject::Sum(more)) => {
                sum.add(*more).map_err(located)?;
            }
            (OutputContent::Object(first), InputObject::Object(more)) => {
                let why = if !first.is_like(&more) {
                    Some("is not the same in all inputs")
                } else if first.lists_histograms() {
                    Some("lists histograms, which are not added up")
                } else {
                    None
                };
                *first_only = first_only.or(why);
            }
            (OutputContent::Nothing | OutputContent::Later, InputObject::Sum(first)) => {
                let sum = ObjectSum::new(*first).map_err(located)?;
                *content = OutputContent::Sum(Box::new(sum));
            }
            (OutputContent::Nothing | OutputContent::Later, InputObject::Object(first)) => {
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
        table: Box<dyn SourceTable>,
        of: InputName<'_>,
    ) -> Result<Option<Added>> {
        let stays = self.stays(of.number);
        let output = &mut self.outputs[at];
        let Output { path, content, .. } = output;
        let chosen = self.options.chosen_at(path);
        match content {
            OutputContent::Left => return Ok(None),
            OutputContent::Table(first) if !first.gives_way_to(&*table) => {
                let added = first.plan(of.number, table, self.options.merge.missing);
                let added = added.map_err(|error| error.within(path).located(of.url))?;
                let added = added.ok_or_else(|| another_kind(path, of.url))?;
                output.entries += added.entries;
                return Ok(Some(added));
            }
            OutputContent::Table(_) | OutputContent::Nothing => {}
            _ => return Err(another_kind(path, of.url)),
        }
        let choice = TableChoice {
            output: at,
            input: of.number,
            columns: chosen.map_or(&[], |chosen| &chosen.columns),
            remake: self.options.remake_of(table.survivors().is_some()),
            is_in_place: stays && output.set_of.is_none(),
            path,
            url: of.url,
        };
        let (begun, added) = table.begin(&choice)?;
        output.content = OutputContent::Table(begun);
        output.entries = added.entries;
        Ok(Some(added))
    }

    /// Plans the zeros of fields that inputs from number `first` on lack. Called when all inputs
    /// are added, or where later ones add no fields.
    ///
    /// # Errors
    /// As [`CopiedTable::complete`].
    pub fn complete(&mut self, first: usize) -> Result<()> {
        for input in &self.inputs[first..] {
            for at in &input.tables {
                let Output { path, content, .. } = &mut self.outputs[*at];
                if let OutputContent::Table(table) = content {
                    let completed = table.complete(input.number, self.options.merge.missing);
                    completed.map_err(|error| error.within(path).located(&*input.url))?;
                }
            }
        }
        Ok(())
    }

    /// Compression of all that is not copied, unless options name another for baskets and pages.
    pub fn compression(&self) -> Compression {
        self.options.merge.compression
    }
}

impl Output {
    fn new(path: String, name: &str, folder: Arc<str>) -> Output {
        Output {
            path,
            name: name.to_owned(),
            folder,
            directory: DirectoryId::TOP,
            content: OutputContent::Nothing,
            entries: 0,
            set_of: None,
            inputs: 0,
            first_only: None,
            existing: None,
            cycle: None,
            is_later: false,
        }
    }
}

impl PlaceBlocks for MergePlan {
    fn place(&mut self, output: usize, made: MadeBlocks) -> rootfile::Result<()> {
        match self.table(output) {
            Some((table, to)) => table.place(made, to),
            None => Ok(()),
        }
    }

    fn path(&self, output: usize) -> &str {
        &self.outputs[output].path
    }
}

/// An input that is being added.
#[derive(Clone, Copy)]
struct InputName<'a> {
    number: usize,
    url: &'a str,
    /// The number to add to those of processes in its baskets.
    processes: u16,
}

/// The error for a name under which inputs have tables or objects of different kinds.
fn another_kind(path: &str, url: &str) -> Error {
    let message = format!("{path}: not of the kind that it is in the first input");
    Error::new(ErrorKind::Unsupported, message).with_url(url)
}

impl PlannedInput {
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
