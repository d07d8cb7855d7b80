//! Inputs of a merge: their metadata, and their objects.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;
use std::vec::IntoIter;

use remote::fetch::RemoteFile;
use remote::source::FileInfo;
use remote::{Error, ErrorKind, Result, address};
use rootfile::directory::Directory;
use rootfile::file::Directories;
use rootfile::key::Key;
use rootfile::streamer::StreamerInfo;
use rootfile::write::copy::{ClusterCounts, CopiedObject, ObjectSum, SourceNTuple, SourceTree};
use rootfile::{Known, Needs, Progress};

use super::attributes::SourceSets;
use super::choice::{CopyOptions, DecidedTable, OpenedInput, RequestedAhead};
use super::folders::InputFolder;
use super::ntuple_table::NTupleSource;
use super::processes::{self, Processes};
use super::table::SourceTable;
use super::tree_table::TreeSource;
use super::whole;
use crate::located::Located;
use crate::read::file::File;
use crate::read::file::session::Session;
use crate::write::infos::infos;

/// Memory for decoded objects, about: for those of all outputs that are added up at a time.
pub const DECODED_BYTES: u64 = 32 << 20;
/// Memory of a decoded object without bins, and of each byte of its content, about.
const OBJECT_BYTES: u64 = 24 << 10;
const BYTES_PER_BYTE: u64 = 4;
/// Maximum bytes between two records that are read in one piece, and maximum bytes of a piece.
const GAP_BYTES: u64 = 1 << 10;
const PIECE_BYTES: u64 = 1 << 20;

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
    pub folders: Vec<InputFolder>,
    /// Bytes that were requested before the entries were decided.
    pub ahead: Option<RequestedAhead>,
    /// The open file.
    pub file: Arc<RemoteFile>,
}

/// The objects and tables of an input. Objects are decoded one by one, when they are merged:
/// decoded, a histogram of 100 bins takes 20 times the memory of its record.
pub struct Items {
    file: File,
    /// The records of all tables, and of as many objects as may be decoded at a time.
    known: Known,
    left: IntoIter<InputItem>,
}

/// A key of an input that is merged.
pub struct InputKey {
    /// The path of its directory.
    pub directory: Arc<str>,
    pub key: Key,
    /// Whether its record has been read.
    pub is_read: bool,
}

/// The object or table of a key.
pub struct InputItem {
    pub at: InputKey,
    /// The table, where it is one, and its attribute sets.
    pub table: Option<Box<dyn SourceTable>>,
    pub sets: SourceSets,
}

impl Iterator for Items {
    type Item = InputItem;

    fn next(&mut self) -> Option<InputItem> {
        self.left.next()
    }
}

impl Items {
    /// The object of a key whose record has been read.
    ///
    /// # Errors
    /// Where its record has not been read.
    pub fn object(&self, key: &Key) -> Result<InputObject> {
        object(self.file.format(), self.file.url(), &self.known, key)
    }

    /// The tables.
    pub fn tables(&self) -> impl Iterator<Item = &dyn SourceTable> {
        self.left.as_slice().iter().filter_map(|item| item.table.as_deref())
    }

    /// Whether objects of the key's class are added up.
    pub fn adds(&self, key: &Key) -> bool {
        ObjectSum::adds(&self.file.format().classes.streamers, &key.class)
    }

    /// Bytes in memory of the stored metadata, and of the records of objects read so far.
    pub fn held_bytes(&self) -> u64 {
        self.known.held_bytes()
    }

    /// The file, to read the objects whose records have not been read.
    pub fn file(&self) -> &File {
        &self.file
    }
}

/// An object of an input, other than a table.
pub enum InputObject {
    /// An object that is added to those of the other inputs.
    Sum(Box<CopiedObject>),
    Object(Box<CopiedObject>),
    /// The reason why it cannot be copied.
    Left(Error),
}

/// Counts the clusters of a table that a cut copies, takes entries from, or leaves out.
pub fn count_clusters(table: &dyn SourceTable) -> ClusterCounts {
    let ends = table.ends_of_clusters();
    match table.survivors() {
        Some(survivors) => survivors.count(ends.into_iter()),
        None => ClusterCounts { copied: ends.len() as u64, ..ClusterCounts::default() },
    }
}

impl Input {
    /// Reads all that is needed to merge a file, but for its baskets and pages.
    pub async fn read(
        session: &Session,
        address: &str,
        open: Option<File>,
        options: &CopyOptions,
    ) -> Result<Input> {
        // A skim opens the first input itself.
        let is_cold = open.is_some() && !is_local(address);
        let file = match open {
            Some(file) => file,
            None => session.open_to_copy(address).await?,
        };
        let directories = read_directories(&file, options).await?;
        let chosen = match &options.chosen {
            Some(chosen) => Some(file.key(&chosen.asked).await?),
            None => None,
        };
        let is_chosen = |key: &Key| chosen.as_ref().is_some_and(|one| one.offset == key.offset);
        let folders = InputFolder::all(&directories, options);
        let wanted = wanted(file.format(), directories, options, &is_chosen);
        file.reading(|format, known| records(format, known, &wanted)).await?;
        let known = file.known();
        let mut items = Vec::with_capacity(wanted.len());
        let mut processes = Processes::new();
        for item in wanted {
            if let Some(number) = processes::number(&item.directory, &item.key)
                && let InputObject::Object(process) =
                    object(file.format(), file.url(), &known, &item.key)?
            {
                processes.insert(number, process);
                continue;
            }
            let table = table(&file, &known, &item.key).await?;
            items.push(InputItem { at: item, table, sets: SourceSets::default() });
        }
        if let Some(key) = &chosen
            && !items.iter().any(|item| item.table.is_some() && is_chosen(&item.at.key))
        {
            return Err(no_table(&file, key));
        }
        let mut ahead = None;
        if let Some(chosen) = &options.chosen
            && let Some(decide) = &chosen.decide
        {
            let opened = OpenedInput { file: &file, path: &chosen.asked, is_cold };
            let place = items.iter_mut().find(|item| is_chosen(&item.at.key));
            let place = place.map(|item| &mut item.table);
            if let Some(place) = place
                && let Some(source) = place.take()
            {
                let decided = decide.decide(session, opened, source).await?;
                let DecidedTable { table, ahead: requested } = decided;
                *place = Some(table);
                ahead = requested;
            }
        }
        read_attribute_sets(&file, &mut items).await?;
        let items = Items { file: file.clone(), known, left: items.into_iter() };
        Ok(Input {
            ahead,
            file: file.remote().clone(),
            address: address.to_owned(),
            url: file.url().to_owned(),
            info: file.remote().info().clone(),
            infos: infos(&file),
            items,
            processes,
            folders,
        })
    }
}

/// All directories of an input.
async fn read_directories(file: &File, options: &CopyOptions) -> Result<Directories> {
    let directories = file.reading(|format, known| format.directories(known)).await?;
    if let Some((path, why)) = directories.broken.first() {
        return Err(why.clone().within(path).located(file.url()));
    }
    if options.keeps_all {
        let whole = whole::check_directories(&directories.readable);
        whole.map_err(|error| error.with_url(file.url()))?;
    }
    Ok(directories)
}

/// Reads the attribute sets of the tables.
async fn read_attribute_sets(file: &File, items: &mut [InputItem]) -> Result<()> {
    for InputItem { at, table, sets } in items {
        let found = table.as_deref().map_or(&[][..], |table| table.attribute_sets());
        if !found.is_empty() {
            let InputKey { directory, key, .. } = at;
            let path = format!("{};{}", path_of(directory, &key.name), key.cycle);
            *sets = SourceSets::read(file, &path, found).await?;
        }
    }
    Ok(())
}

/// The error for an input whose object at the path of the chosen table is another one: the output
/// would lack its entries.
fn no_table(file: &File, key: &Key) -> Error {
    let text = format!("{} is of class {}, and no table", key.name, key.class);
    Error::new(ErrorKind::Unsupported, text).with_url(file.url())
}

/// The keys of a directory that are no directories: of each name the chosen one, or that of the
/// highest cycle.
fn one_of_each_name(directory: &Directory, is_chosen: &dyn Fn(&Key) -> bool) -> Vec<Key> {
    let mut seen = BTreeSet::new();
    let keys = directory.keys.iter().filter(|key| !key.is_directory());
    let chosen = directory.keys.iter().find(|key| is_chosen(key));
    keys.filter(|key| seen.insert(&*key.name))
        .filter_map(|key| {
            let chosen = chosen.filter(|chosen| chosen.name == key.name);
            chosen.or_else(|| directory.key(&key.name, None))
        })
        .cloned()
        .collect()
}

/// Where something of that name in a directory is.
pub fn path_of(directory: &str, name: &str) -> String {
    if directory.is_empty() { name.to_owned() } else { format!("{directory}/{name}") }
}

/// Whether a file is on a disk of this machine.
pub fn is_local(address: &str) -> bool {
    address::parse(address).is_ok_and(|all| all.iter().all(address::Address::is_local))
}

/// The keys that are merged, by directory. `is_read` is set for tables and processes, and for
/// objects as long as they fit into [`DECODED_BYTES`] once they are decoded.
fn wanted(
    format: &rootfile::File,
    directories: Directories,
    options: &CopyOptions,
    is_chosen: &dyn Fn(&Key) -> bool,
) -> Vec<InputKey> {
    let mut items = Vec::new();
    let mut room = DECODED_BYTES;
    for directory in directories.readable {
        let path: Arc<str> = directory.path.as_str().into();
        for key in one_of_each_name(&directory, is_chosen) {
            let is_process = processes::number(&path, &key).is_some();
            let is_object = format.is_object(&key);
            let is_left_out = options.merge.without_tables && !is_object;
            let is_wanted = options.wants(&path_of(&path, &key.name), is_chosen(&key));
            if is_left_out || !(is_process || is_wanted) {
                continue;
            }
            let needs_room = is_object && !is_process;
            let left = room.checked_sub(if needs_room { decoded_bytes(&key) } else { 0 });
            room = left.unwrap_or(room);
            let directory = path.clone();
            let is_read = left.is_some();
            items.push(InputKey { directory, key, is_read });
        }
    }
    items
}

/// Memory of a key's object once it is decoded, in bytes, about.
pub fn decoded_bytes(key: &Key) -> u64 {
    key.content_len.saturating_mul(BYTES_PER_BYTE).saturating_add(OBJECT_BYTES)
}

/// Asks for the records of items with `is_read`; of the others checks that they lie in the file.
fn records(
    format: &rootfile::File,
    known: &Known,
    items: &[InputKey],
) -> rootfile::Result<Progress<()>> {
    let mut missing = Needs::default();
    for InputKey { key, is_read, .. } in items {
        match format.record(known, key)? {
            Progress::NeedsData(needs) if *is_read => missing.add(needs),
            Progress::NeedsData(_) | Progress::Ready(_) => {}
        }
    }
    missing.required = joined(missing.required);
    match missing.required.is_empty() {
        true => Ok(Progress::Ready(())),
        false => Ok(Progress::NeedsData(missing)),
    }
}

/// Joins ranges of records that are close to each other, so that they are read in one piece.
pub fn joined(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.sort_by_key(|range| range.start);
    ranges.dedup_by(|next, last| {
        let is_near = next.start <= last.end.saturating_add(GAP_BYTES);
        let joins = is_near && next.end.saturating_sub(last.start) <= PIECE_BYTES;
        if joins {
            last.end = last.end.max(next.end);
        }
        joins
    });
    ranges
}

/// The tree or RNTuple of a key, if it is one.
async fn table(file: &File, known: &Known, key: &Key) -> Result<Option<Box<dyn SourceTable>>> {
    if rootfile::ntuple::is_class(&key.class) {
        // Its metadata are in several places.
        let ntuple = file.reading(|format, known| SourceNTuple::read(format, known, key)).await?;
        return Ok(Some(Box::new(NTupleSource::new(ntuple))));
    }
    if !file.format().is_tree(key) {
        return Ok(None);
    }
    let tree = SourceTree::read(file.format(), known, key).located(file.url())?;
    Ok(Some(Box::new(TreeSource::new(there(tree)?))))
}

/// The object of a key of the file at `url`.
///
/// # Errors
/// Where its record has not been read. An object that cannot be copied is [`InputObject::Left`].
pub fn object(format: &rootfile::File, url: &str, known: &Known, key: &Key) -> Result<InputObject> {
    let object = match CopiedObject::read(format, known, key) {
        Ok(object) => Box::new(there(object)?),
        Err(why) => return Ok(InputObject::Left(why.located(url))),
    };
    match ObjectSum::adds(&format.classes.streamers, &key.class) {
        true => Ok(InputObject::Sum(object)),
        false => Ok(InputObject::Object(object)),
    }
}

/// The result of a function that has all its bytes.
fn there<T>(progress: Progress<T>) -> Result<T> {
    match progress {
        Progress::Ready(value) => Ok(value),
        Progress::NeedsData(_) => Err(Error::new(ErrorKind::Corrupt, "a record that is not there")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_read_in_one_piece() {
        let gap = 100 + GAP_BYTES;
        let far = gap + 300 + GAP_BYTES;
        let ranges = vec![gap..gap + 200, 0..100, far..far + PIECE_BYTES, far + 5..far + 9];
        assert_eq!(joined(ranges), [0..gap + 200, far..far + PIECE_BYTES]);
        let large = vec![0..PIECE_BYTES, PIECE_BYTES..PIECE_BYTES + 1];
        assert_eq!(joined(large.clone()), large);
        assert_eq!(joined(Vec::new()), []);
    }
}
