//! A file that has been opened: its directories, and the objects in it.

mod classes;
mod open;
mod recover;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use crate::block;
use crate::content::{Alone, Content, Workers};
use crate::cursor::Cursor;
use crate::directory::{DIRECTORY_LEN, Directory, DirectoryRecord};
use crate::error::{Error, Result};
use crate::header::Header;
use crate::histogram::buffer;
use crate::hole;
use crate::key::Key;
use crate::known::{Known, Needs, Progress};
use crate::ntuple;
use crate::object::{Objects, Opaque, read_object_at, read_tree_object};
use crate::tree::{self, Chain, ClassTable, Tree};

pub use classes::KnownClasses;
pub use recover::Recovery;

/// Directories of one file, for those who ask for all.
const DIRECTORIES_MAX: usize = 1 << 20;
/// Content of a record that is read as an object. Trees of ten thousand branches stay far below.
const OBJECT_LEN_MAX: u64 = 1 << 29;

/// Takes the result of a step, or returns the ranges that it lacks.
macro_rules! ready {
    ($progress:expr) => {
        match $progress {
            $crate::known::Progress::Ready(result) => result,
            $crate::known::Progress::NeedsData(needs) => {
                return Ok($crate::known::Progress::NeedsData(needs));
            }
        }
    };
}
pub(crate) use ready;

/// An open file.
#[derive(Debug, Clone, PartialEq)]
pub struct File {
    pub header: Header,
    /// The top directory.
    pub top: Directory,
    pub classes: Arc<ClassTable>,
    /// The file was never closed, and its objects were found by [`Recovery`].
    pub is_recovered: bool,
    /// Keys of directories without a list of keys, by the directory's offset.
    unlisted: BTreeMap<u64, Vec<Key>>,
}

/// The directories of a file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Directories {
    /// The top one first.
    pub readable: Vec<Directory>,
    /// Paths of those whose keys cannot be read, and why.
    pub broken: Vec<(String, Error)>,
}

/// A key that a path leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundKey {
    pub key: Key,
    /// Names from the top to the key, without cycles: a semicolon in it belongs to a name.
    pub path: String,
}

impl File {
    /// The same file without the keys of its top directory, for callers that have the keys of the
    /// objects that they read.
    #[must_use]
    pub fn without_keys(&self) -> File {
        File {
            header: self.header.clone(),
            top: Directory::default(),
            classes: self.classes.clone(),
            is_recovered: self.is_recovered,
            unlisted: BTreeMap::new(),
        }
    }

    /// The keys of the top directory, in the order of its list.
    pub fn keys(&self) -> &[Key] {
        &self.top.keys
    }

    /// The directory of that path; the top one for the empty path.
    ///
    /// # Errors
    /// `NotFound` where a part of the path is no directory, `Corrupt` where the file contradicts
    /// itself.
    pub fn directory(&self, known: &Known, path: &str) -> Result<Progress<Directory>> {
        let path = path.trim_matches('/');
        if path.is_empty() {
            return Ok(Progress::Ready(self.top.clone()));
        }
        let key = ready!(self.find(known, path)?);
        if !key.is_directory() {
            let message = format!("\"{path}\" is of class {}, not a directory", key.class);
            return Err(Error::not_found(message));
        }
        self.subdirectory(known, &key, path)
    }

    /// All directories. One that contains itself is listed once; one that is corrupt does not hide
    /// the others.
    ///
    /// # Errors
    /// `Limit` where there is no end of directories.
    pub fn directories(&self, known: &Known) -> Result<Progress<Directories>> {
        let mut seen: BTreeSet<u64> = BTreeSet::new();
        let mut all = Directories { readable: vec![self.top.clone()], broken: Vec::new() };
        let mut missing = Needs::default();
        let mut next = 0;
        while let Some(directory) = all.readable.get(next) {
            next += 1;
            let path = directory.path.clone();
            let subdirectories: Vec<Key> =
                directory.keys.iter().filter(|key| key.is_directory()).cloned().collect();
            for key in subdirectories {
                if !seen.insert(key.offset) {
                    continue;
                }
                if seen.len() > DIRECTORIES_MAX {
                    let message = format!("more than {DIRECTORIES_MAX} directories");
                    return Err(Error::limit(message));
                }
                let path =
                    if path.is_empty() { key.name.clone() } else { format!("{path}/{}", key.name) };
                match self.subdirectory(known, &key, &path) {
                    Ok(Progress::Ready(directory)) => all.readable.push(directory),
                    Ok(Progress::NeedsData(needs)) => missing.add(needs),
                    Err(error) => all.broken.push((path, error)),
                }
            }
        }
        if missing.required.is_empty() {
            Ok(Progress::Ready(all))
        } else {
            Ok(Progress::NeedsData(missing))
        }
    }

    /// The record of the top directory itself, which is the file's first.
    ///
    /// # Errors
    /// `Corrupt` where there is none.
    pub fn top_record(&self, known: &Known) -> Result<Progress<Range<u64>>> {
        let begin = self.header.begin;
        let bytes = ready!(bytes_of(
            known,
            self.header.range(begin, self.header.name_len, "name")?,
            "name"
        )?);
        let key = Key::read(&mut Cursor::new(&bytes, begin))?;
        self.header.range(begin, key.record_len, "top directory").map(Progress::Ready)
    }

    /// The key at a path such as `dir/Events;2`; of the highest cycle where none is given.
    ///
    /// Names with a slash in them are found too: the longest name that a directory has wins. In an
    /// RNTuple are its attribute sets.
    ///
    /// # Errors
    /// `NotFound`; `Corrupt` where the file contradicts itself.
    pub fn find(&self, known: &Known, path: &str) -> Result<Progress<Key>> {
        let enter = |key: &Key, path: &str| Ok(self.subdirectory(known, key, path)?.map(Arc::new));
        Ok(self.find_through(path, enter)?.map(|found| found.key))
    }

    /// As [`File::find`], where the caller has the directories: `enter` gives the one of a key and
    /// its path.
    ///
    /// # Errors
    /// As [`File::find`], and those of `enter`.
    pub fn find_through(
        &self,
        path: &str,
        mut enter: impl FnMut(&Key, &str) -> Result<Progress<Arc<Directory>>>,
    ) -> Result<Progress<FoundKey>> {
        let path = path.trim_matches('/');
        let mut names = String::new();
        let mut entered: Option<Arc<Directory>> = None;
        let mut rest = path;
        // Each turn shortens the rest of the path.
        loop {
            let directory = entered.as_deref().unwrap_or(&self.top);
            if let Some(key) = key_of(directory, rest) {
                names.push_str(&key.name);
                return Ok(Progress::Ready(FoundKey { key: key.clone(), path: names }));
            }
            let next = rest.match_indices('/').find_map(|(at, _)| {
                let holds = |key: &&Key| key.is_directory() || ntuple::is_class(&key.class);
                let key = key_of(directory, &rest[..at]).filter(holds)?;
                Some((key, &rest[at + 1..]))
            });
            let Some((key, behind)) = next else { return Err(directory.lacks(rest)) };
            let so_far = &path[..path.len() - behind.len() - 1];
            names.extend([&key.name, "/"]);
            let subdirectory = ready!(enter(key, so_far)?);
            entered = Some(subdirectory);
            rest = behind;
        }
    }

    /// The tree at a path, of class `TTree` or one that derives from it.
    ///
    /// # Errors
    /// `NotFound`; `Unsupported` where it is something else; `Corrupt` and `Limit`.
    pub fn tree(&self, known: &Known, path: &str) -> Result<Progress<Tree>> {
        let key = ready!(self.find(known, path)?);
        if !self.is_tree(&key) {
            let message = format!("of class {}, not a TTree", key.class);
            return Err(Error::unsupported(message).within(path));
        }
        let record = ready!(self.record(known, &key)?);
        let objects = self.object_by(&key, &record, &Alone, |content| {
            read_tree_object(&self.classes.streamers, &key.class, content, key.key_len)
        })?;
        let tree = tree::read_tree(&objects, self.header.end);
        Ok(Progress::Ready(tree.map_err(|error| error.within(path).at(key.offset))?))
    }

    /// Whether the key's object is a tree with data. A `TChain` is one by name only.
    pub fn is_tree(&self, key: &Key) -> bool {
        self.classes.streamers.inherits(&key.class, "TTree") && !self.is_chain(key)
    }

    /// The chain at a path.
    ///
    /// # Errors
    /// As [`File::tree`].
    pub fn chain(&self, known: &Known, path: &str) -> Result<Progress<Chain>> {
        let key = ready!(self.find(known, path)?);
        if !self.is_chain(&key) {
            let message = format!("of class {}, not a TChain", key.class);
            return Err(Error::unsupported(message).within(path));
        }
        let objects = ready!(self.object_of(known, &key)?);
        let chain = tree::read_chain(&objects);
        Ok(Progress::Ready(chain.map_err(|error| error.within(path).at(key.offset))?))
    }

    /// Whether the key's object names trees of many files.
    pub fn is_chain(&self, key: &Key) -> bool {
        self.classes.streamers.inherits(&key.class, "TChain")
    }

    /// The object at a path, with all that is in it.
    ///
    /// # Errors
    /// `NotFound`; `Unsupported`, `Corrupt` and `Limit` as [`read_object`].
    pub fn object(&self, known: &Known, path: &str) -> Result<Progress<Objects>> {
        let key = ready!(self.find(known, path)?);
        self.object_of(known, &key)
    }

    /// The object of a key.
    ///
    /// # Errors
    /// As [`File::object`].
    pub fn object_of(&self, known: &Known, key: &Key) -> Result<Progress<Objects>> {
        let record = ready!(self.record(known, key)?);
        Ok(Progress::Ready(self.object_in(key, &record, &Alone, &Opaque::new())?))
    }

    /// The object in the record of a key, which is decompressed by workers where it is large;
    /// objects of `opaque` classes become [`Unread`](crate::object::Unread). Fills that wait in a
    /// histogram's buffer are in its bins.
    ///
    /// # Errors
    /// As [`File::object`].
    pub fn object_in(
        &self,
        key: &Key,
        record: &Bytes,
        workers: &dyn Workers,
        opaque: &Opaque,
    ) -> Result<Objects> {
        self.object_by(key, record, workers, |content| {
            let streamers = &self.classes.streamers;
            let mut objects = read_object_at(streamers, &key.class, content, key.key_len, opaque)?;
            buffer::empty_all(&mut objects);
            Ok(objects)
        })
    }

    /// The object in the record of a key, decoded by `read`.
    fn object_by(
        &self,
        key: &Key,
        record: &Bytes,
        workers: &dyn Workers,
        read: impl Fn(Cursor<'_>) -> Result<Objects>,
    ) -> Result<Objects> {
        let read = || {
            let offset = key.offset.saturating_add(key.key_len);
            let (payload, len) = payload(record, key)?;
            let located = |error: Error| error.at(offset);
            match Content::new(payload.clone(), len, workers).map_err(located)? {
                Some(content) => read(Cursor::over(&content, offset)),
                None => {
                    let content = decompressed_by(workers, payload, len).map_err(located)?;
                    read(Cursor::new(&content, offset))
                }
            }
        };
        read().map_err(|error: Error| error.within(&key.name))
    }

    /// The content in the record of a key, decompressed.
    ///
    /// # Errors
    /// `Corrupt` where the record is not that of the key, or does not decompress.
    pub(crate) fn content_in(&self, key: &Key, record: &Bytes) -> Result<Bytes> {
        content(record, key).map_err(|error| error.within(&key.name))
    }

    /// Whether the key's object is neither a table nor a directory, which are read in ways of their
    /// own.
    pub fn is_object(&self, key: &Key) -> bool {
        let is_table =
            self.classes.streamers.inherits(&key.class, "TTree") || ntuple::is_class(&key.class);
        !is_table && !key.is_directory()
    }

    /// The content of a key's record, decompressed.
    pub(crate) fn content_of(&self, known: &Known, key: &Key) -> Result<Progress<Bytes>> {
        let record = ready!(self.record(known, key)?);
        Ok(Progress::Ready(content(&record, key).map_err(|error| error.within(&key.name))?))
    }

    /// The whole record of a key.
    ///
    /// # Errors
    /// `Corrupt` where it does not lie in the file.
    pub fn record(&self, known: &Known, key: &Key) -> Result<Progress<Bytes>> {
        let part_name = format!("record of {} \"{}\"", key.class, key.name);
        let range = self.header.range(key.offset, key.record_len, &part_name)?;
        bytes_of(known, range, &part_name)
    }

    /// `Ready` where the record at a path is there, else the ranges that are lacking.
    ///
    /// # Errors
    /// As [`File::find`] and [`File::record`].
    pub fn has_record(&self, known: &Known, path: &str) -> Result<Progress<()>> {
        let key = ready!(self.find(known, path)?);
        Ok(self.record(known, &key)?.map(drop))
    }

    /// The directory of a key, or the attribute sets of an RNTuple as one; `path` is its name.
    ///
    /// # Errors
    /// `Corrupt` where the file contradicts itself; of an RNTuple those of [`File::ntuple`].
    pub fn subdirectory(
        &self,
        known: &Known,
        key: &Key,
        path: &str,
    ) -> Result<Progress<Directory>> {
        if ntuple::is_class(&key.class) {
            return self.attribute_sets(known, key, path);
        }
        let read = || {
            let part_name = "directory";
            let stop = key.record_len.min(key.key_len.saturating_add(DIRECTORY_LEN));
            let range = self.header.range(key.offset, stop, part_name)?;
            let record = ready!(bytes_of(known, range, part_name)?);
            key.check_record(&record)?;
            let mut cursor = Cursor::new(&record, key.offset);
            cursor.skip(usize::try_from(key.key_len).unwrap_or(usize::MAX))?;
            let place = DirectoryRecord::read(&mut cursor)?;
            place.check(key.offset, key.key_len)?;
            if place.keys_offset == 0 || place.keys_len == 0 {
                // It was made and never written to, or never closed.
                let keys = self.unlisted.get(&key.offset).cloned().unwrap_or_default();
                return Ok(Progress::Ready(Directory::new(path, keys, 0..0)));
            }
            let range = self.header.range(place.keys_offset, place.keys_len, "key list")?;
            let list = ready!(bytes_of(known, range, "key list")?);
            Ok(Progress::Ready(Directory::read(path, &list, place.keys_offset)?))
        };
        read().map_err(|error: Error| error.within(path))
    }
}

impl Header {
    /// The range of a record, if it lies between the first one and the end.
    fn range(&self, offset: u64, len: u64, part_name: &str) -> Result<Range<u64>> {
        match offset.checked_add(len) {
            Some(end) if offset >= self.begin && len > 0 && end <= self.end => Ok(offset..end),
            _ => Err(Error::corrupt(format!(
                "{part_name} of {len} bytes at {offset} in a file from {} to {}",
                self.begin, self.end
            ))),
        }
    }
}

/// The key of a name that may end with `;cycle`.
fn key_of<'a>(directory: &'a Directory, name: &str) -> Option<&'a Key> {
    directory.key(name, None).or_else(|| {
        let (name, cycle) = name.rsplit_once(';')?;
        directory.key(name, Some(cycle.parse().ok()?))
    })
}

/// Bytes that have to be there, in a file that is long enough.
pub(crate) fn bytes_of(
    known: &Known,
    range: Range<u64>,
    part_name: &str,
) -> Result<Progress<Bytes>> {
    if let Some(size) = known.size().filter(|size| range.end > *size) {
        let message =
            format!("{part_name} ends at byte {}, the file at {size}: it is cut", range.end);
        return Err(Error::corrupt(message).at(range.start));
    }
    Ok(match known.joined(range.clone())? {
        Some(bytes) => Progress::Ready(bytes),
        None => Progress::NeedsData(Needs { required: known.missing(range), ..Needs::default() }),
    })
}

/// A record's content, decompressed.
fn content(record: &Bytes, key: &Key) -> Result<Bytes> {
    let (payload, len) = payload(record, key)?;
    decompressed(payload, len).map_err(|error| error.at(key.offset.saturating_add(key.key_len)))
}

/// A record's content as it is stored, and its length when it is decompressed.
fn payload(record: &Bytes, key: &Key) -> Result<(Bytes, usize)> {
    key.check_record(record)?;
    let too_long = |_| Error::limit("a record beyond this machine's memory");
    let key_len = usize::try_from(key.key_len).map_err(too_long)?;
    let content_len = key.content_len.try_into().map_err(too_long)?;
    if key.content_len > OBJECT_LEN_MAX {
        let message = format!("an object of {} bytes", key.content_len);
        return Err(Error::limit(message).at(key.offset));
    }
    if key_len > record.len() || key.record_len != record.len() as u64 {
        return Err(Error::corrupt("a record of another length than its key's").at(key.offset));
    }
    Ok((record.slice(key_len..), content_len))
}

fn decompressed(payload: Bytes, len: usize) -> Result<Bytes> {
    decompressed_by(&Alone, payload, len)
}

fn decompressed_by(workers: &dyn Workers, payload: Bytes, len: usize) -> Result<Bytes> {
    if payload.len() == len {
        return Ok(payload);
    }
    let mut content = Ok(Vec::new());
    workers.here(&mut |codecs| content = block::decompress(codecs, &payload, len));
    content.map(Bytes::from).map_err(|error| hole::noted(error, &payload))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::read_object;

    /// Files whose trees have branches of all kinds, by ROOT, Geant4, groot and uproot.
    const FILES: [&[u8]; 7] = [
        include_bytes!("../../testdata/split.root"),
        include_bytes!("../../testdata/members.root"),
        include_bytes!("../../testdata/by_geant4.root"),
        include_bytes!("../../testdata/by_groot.root"),
        include_bytes!("../../testdata/by_uproot.root"),
        include_bytes!("../../testdata/clustered.root"),
        include_bytes!("../../../../fuzz/seeds/file/branches.root"),
    ];

    /// The contents of the records of trees in a file, each with its key.
    fn trees(file: &File, known: &Known) -> Vec<(Key, Bytes)> {
        let keys = file.keys().iter().filter(|key| file.is_tree(key));
        let content = |key: &Key| match file.content_of(known, key).unwrap() {
            Progress::Ready(content) => (key.clone(), content),
            Progress::NeedsData(needs) => panic!("{needs:?}"),
        };
        keys.map(content).collect()
    }

    /// A tree read by its branches' metadata alone, and with all objects of its record; each with
    /// the number of objects read.
    fn both(file: &File, key: &Key, content: &Bytes) -> [(Result<Tree>, usize); 2] {
        let streamers = &file.classes.streamers;
        let cursor = Cursor::new(content, 0);
        let short = read_tree_object(streamers, &key.class, cursor, key.key_len);
        let whole = read_object(streamers, &key.class, content, key.key_len, 0);
        [short, whole].map(|objects| {
            let count = objects.as_ref().map_or(0, |objects| objects.iter().count());
            (objects.and_then(|objects| tree::read_tree(&objects, file.header.end)), count)
        })
    }

    #[test]
    fn a_tree_is_the_same_by_the_metadata_of_its_branches_alone() {
        for bytes in FILES {
            let mut known = Known::new(Some(bytes.len() as u64));
            known.supply(0, Bytes::from_static(bytes));
            let Progress::Ready(file) = File::open(&known).unwrap() else { panic!("a whole file") };
            let trees = trees(&file, &known);
            assert!(!trees.is_empty());
            for (key, content) in trees {
                let [(short, few), (whole, many)] = both(&file, &key, &content);
                assert_eq!(short, whole);
                assert!(few < many, "{few} objects, {many} with all parts: {}", key.name);
                // With any byte changed, both give the same tree or the same error.
                for at in (0..content.len()).step_by(content.len() / 60 + 1) {
                    for change in [0x01, 0x40, 0xff] {
                        let mut wrong = content.to_vec();
                        wrong[at] ^= change;
                        let [(short, _), (whole, _)] = both(&file, &key, &wrong.into());
                        assert_eq!(short, whole, "byte {at} of {} by {change}", key.name);
                    }
                }
            }
        }
    }
}
