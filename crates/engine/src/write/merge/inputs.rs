//! What an input has: its metadata, and its objects.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::vec::IntoIter;

use remote::fetch::RemoteFile;
use remote::source::FileInfo;
use remote::{Error, ErrorKind, Result, address};
use rootfile::directory::Directory;
use rootfile::key::Key;
use rootfile::ntuple::AttributeSet;
use rootfile::streamer::StreamerInfo;
use rootfile::write::copy::{CopiedObject, ObjectSum, SourceNTuple, SourceTree};
use rootfile::{Known, Needs, Progress};

use super::deciding::{self, Decided};
use super::options::MergeOptions;
use super::processes::{self, Processes};
use crate::located::Located;
use crate::read::file::session::Session;
use crate::read::file::{File, Speculation};

/// Classes whose streamer infos are the output's own.
pub const OWN: [&str; 2] = ["TObject", "ROOT::RNTuple"];

/// A file that is to be merged.
pub struct Input {
    pub address: String,
    /// The address without secrets.
    pub url: String,
    pub info: FileInfo,
    pub infos: Vec<StreamerInfo>,
    /// Every object and table, by directory and in the order of the keys.
    pub items: Items,
    pub processes: Processes,
    /// Entries and new columns of the table that `MergeOptions::only` names.
    pub decided: Option<Decided>,
    /// The open file, for a skim, which copies each input as soon as it has been read.
    pub file: Option<Arc<RemoteFile>>,
}

/// The objects and tables of an input. Objects are decoded one by one, when they are merged:
/// decoded, a histogram of 100 bins takes 20 times the memory of its record.
pub struct Items {
    file: File,
    /// The records of all keys.
    known: Known,
    /// Directory, key, and the table where it is one.
    left: IntoIter<(String, Key, Option<ItemContent>)>,
}

impl Iterator for Items {
    type Item = Result<InputItem>;

    fn next(&mut self) -> Option<Result<InputItem>> {
        let (directory, key, table) = self.left.next()?;
        let content = match table {
            Some(table) => Ok(table),
            None => object(&self.file, &self.known, &key),
        };
        Some(content.map(|content| InputItem { directory, name: key.name, content }))
    }
}

/// An object or table of an input.
pub struct InputItem {
    pub directory: String,
    pub name: String,
    pub content: ItemContent,
}

pub enum ItemContent {
    Tree(Arc<SourceTree>),
    NTuple(Box<SourceNTuple>),
    /// An object that is added to those of the other inputs.
    Sum(Box<CopiedObject>),
    Object(Box<CopiedObject>),
    /// What cannot be copied, and why.
    Left(Error),
}

impl ItemContent {
    /// Of a table.
    pub fn entries(&self) -> u64 {
        match self {
            ItemContent::Tree(tree) => tree.tree.entries,
            ItemContent::NTuple(ntuple) => ntuple.ntuple.entries,
            ItemContent::Sum(_) | ItemContent::Object(_) | ItemContent::Left(_) => 0,
        }
    }
}

impl Input {
    /// Reads all that is needed to merge a file, but for its baskets and pages.
    pub async fn read(
        session: &Session,
        address: &str,
        open: Option<File>,
        options: &MergeOptions,
    ) -> Result<Input> {
        let file = match open {
            Some(file) => file,
            None => session.open(address, Speculation::Eager).await?,
        };
        let directories = file.reading(|format, known| format.directories(known)).await?;
        if let Some((path, why)) = directories.broken.into_iter().next() {
            return Err(why.within(&path).located(file.url()));
        }
        let is_wanted = |(directory, key): &(String, Key)| {
            let is_left_out = options.without_tables && !file.format().is_object(key);
            let path = path_of(directory, &key.name);
            let is_process = processes::number(directory, key).is_some();
            let is_wanted = options.only.as_ref().is_none_or(|only| only.wants(&path));
            !is_left_out && (is_process || is_wanted)
        };
        let keys: Vec<(String, Key)> = directories
            .readable
            .iter()
            .flat_map(|directory| newest(directory).map(|key| (directory.path.clone(), key)))
            .filter(is_wanted)
            .collect();
        file.reading(|format, known| records(format, known, &keys)).await?;
        let known = file.known();
        let mut items = Vec::with_capacity(keys.len());
        let mut processes = Processes::new();
        for (directory, key) in keys {
            if let Some(number) = processes::number(&directory, &key)
                && let ItemContent::Object(process) = object(&file, &known, &key)?
            {
                processes.insert(number, process);
                continue;
            }
            let table = table(&file, &known, &key).await?;
            items.push((directory, key, table));
        }
        let items = Items { file: file.clone(), known, left: items.into_iter() };
        let only = options.only.as_ref();
        let decided = match only.filter(|only| only.reads()) {
            Some(only) => Some(deciding::decide(session, &file, only, options.compression).await?),
            None => None,
        };
        Ok(Input {
            decided,
            file: only.map(|_| file.remote().clone()),
            address: address.to_owned(),
            url: file.url().to_owned(),
            info: file.remote().info().clone(),
            infos: infos(&file),
            items,
            processes,
        })
    }
}

/// The streamer infos of a file, but for those of classes that are written in one way only, and
/// that some writers describe otherwise.
fn infos(file: &File) -> Vec<StreamerInfo> {
    let infos = file.format().classes.streamers.infos_of_file();
    infos.filter(|info| !OWN.contains(&&*info.class)).cloned().collect()
}

/// The keys of a directory that are no directories, of each name that of the highest cycle.
fn newest(directory: &Directory) -> impl Iterator<Item = Key> {
    let mut seen = BTreeSet::new();
    let keys = directory.keys.iter().filter(|key| !key.is_directory());
    keys.filter(move |key| seen.insert(key.name.clone()))
        .filter_map(|key| directory.key(&key.name, None))
        .cloned()
}

/// Where something of that name in a directory is.
pub fn path_of(directory: &str, name: &str) -> String {
    if directory.is_empty() { name.to_owned() } else { format!("{directory}/{name}") }
}

/// Whether a file is on a disk of this machine.
pub fn is_local(address: &str) -> bool {
    address::parse(address).is_ok_and(|all| all.iter().all(address::Address::is_local))
}

/// The note on the attribute sets of an RNTuple, which no copy has; `None` without any.
pub fn without_sets(path: &str, url: &str, sets: &[AttributeSet]) -> Option<String> {
    let names: Vec<&str> = sets.iter().map(|set| &*set.name).collect();
    let names = names.join(", ");
    (!sets.is_empty())
        .then(|| format!("{path} of {url}: its attribute sets ({names}) are left out"))
}

/// That the records of all keys are there.
fn records(
    format: &rootfile::File,
    known: &Known,
    keys: &[(String, Key)],
) -> rootfile::Result<Progress<()>> {
    let mut missing = Needs::default();
    for (_, key) in keys {
        if let Progress::NeedsData(needs) = format.record(known, key)? {
            missing.add(needs);
        }
    }
    match missing.required.is_empty() {
        true => Ok(Progress::Ready(())),
        false => Ok(Progress::NeedsData(missing)),
    }
}

/// The tree or RNTuple of a key, if it is one.
async fn table(file: &File, known: &Known, key: &Key) -> Result<Option<ItemContent>> {
    if rootfile::ntuple::is_class(&key.class) {
        // Its metadata are in several places.
        let ntuple = file.reading(|format, known| SourceNTuple::read(format, known, key)).await?;
        return Ok(Some(ItemContent::NTuple(Box::new(ntuple))));
    }
    if !file.format().is_tree(key) {
        return Ok(None);
    }
    let tree = SourceTree::read(file.format(), known, key).located(file.url())?;
    Ok(Some(ItemContent::Tree(Arc::new(there(tree)?))))
}

/// The object of a key.
fn object(file: &File, known: &Known, key: &Key) -> Result<ItemContent> {
    let object = match CopiedObject::read(file.format(), known, key) {
        Ok(object) => Box::new(there(object)?),
        Err(why) => return Ok(ItemContent::Left(why.located(file.url()))),
    };
    match ObjectSum::adds(&file.format().classes.streamers, &key.class) {
        true => Ok(ItemContent::Sum(object)),
        false => Ok(ItemContent::Object(object)),
    }
}

/// What all bytes are here for.
fn there<T>(progress: Progress<T>) -> Result<T> {
    match progress {
        Progress::Ready(value) => Ok(value),
        Progress::NeedsData(_) => Err(Error::new(ErrorKind::Corrupt, "a record that is not there")),
    }
}
