//! Records of an existing file that an update goes on with.

use std::collections::BTreeMap;
use std::ops::Range;

use bytes::Bytes;

use crate::cursor::Cursor;
use crate::directory::{Directory, DirectoryRecord};
use crate::error::{Error, Result};
use crate::file::{File, bytes_of, ready};
use crate::header::{Header, LONG_OFFSETS, has_long_offsets, read_offset};
use crate::key::{KEY_LEN_MIN, Key};
use crate::known::{Known, Needs, Progress};
use crate::streamer::StreamerInfo;

/// Bytes of a directory's record behind its names, at most.
const DIRECTORY_LEN: u64 = 60;
/// Files from before have directories without a number of their own, whose records are shorter.
const VERSION_MIN: u32 = 40_000;
/// Bytes of an entry of the list of free ranges.
const ENTRY_LEN_MIN: usize = 10;

/// A file that is to be written further.
#[derive(Debug, Clone)]
pub struct Existing {
    pub(super) header: Header,
    pub(super) name: String,
    pub(super) title: String,
    /// The top one first, each behind the one that it is in.
    pub(super) directories: Vec<ExistingDirectory>,
    /// Free stretches in front of the end, half open.
    pub(super) free: Vec<Range<u64>>,
    pub(super) infos: Vec<StreamerInfo>,
    /// Bytes that lie behind the end.
    pub(super) stale: u64,
}

/// A directory of a file that is to be written further.
#[derive(Debug, Clone)]
pub(super) struct ExistingDirectory {
    pub name: String,
    pub title: String,
    /// Where the one that it is in stands among all.
    pub mother: Option<usize>,
    pub offset: u64,
    pub name_len: u64,
    pub record: OldForm,
    /// The record of its list; empty where it has none.
    pub list: Range<u64>,
    /// Its keys as they stand in the list.
    pub keys: Vec<(Key, Bytes)>,
}

/// The form of the record of a directory, and the parts that stay as they are. Some writers leave
/// its number out, and the spare bytes: then other records follow where ROOT has these.
#[derive(Debug, Clone)]
pub(super) struct OldForm {
    /// Its version, and whether its offsets have eight bytes.
    pub version: u16,
    pub is_long: bool,
    /// When it was made (`fDatimeC`).
    pub created: u32,
    /// The bytes behind its offsets: the directory's own number, and spare ones.
    pub rest: Bytes,
}

impl Existing {
    /// Reads all directories, the list of free ranges and the streamer infos.
    ///
    /// # Errors
    /// `Unsupported` for files of before ROOT 4 and for those that were never closed, `Corrupt`
    /// where the file contradicts itself: nothing is to be written into it then.
    pub fn read(known: &Known) -> Result<Progress<Existing>> {
        let file = ready!(File::open(known)?);
        let header = &file.header;
        if header.version < VERSION_MIN {
            let version = header.version;
            let message = format!("an update of a file of ROOT version {version}, before 4.00");
            return Err(Error::unsupported(message));
        }
        if known.size().is_some_and(|size| size < header.end) {
            let message =
                format!("an update of a file that is cut: it should end at {}", header.end);
            return Err(Error::corrupt(message));
        }
        if header.free_offset == 0 {
            let message = "an update of a file that was never closed: copy what is in it";
            return Err(Error::unsupported(message));
        }
        let all = ready!(file.directories(known)?);
        if let Some((_, error)) = all.broken.into_iter().next() {
            return Err(error);
        }
        let free = header.free_offset..header.free_offset.saturating_add(header.free_len);
        let free = bytes_of(known, free, "list of what is free")?;
        let top = ready!(file.top_record(known)?);
        let top_len = top.end - top.start;
        let top = bytes_of(known, top, "top directory")?;
        let places = places(&file, &all.readable, top_len);
        let records = records(known, &places)?;
        let records = ready!(records);
        let top = ready!(top);
        let free = ready!(free);
        let key = Key::of_record(&top, header.begin)?;
        let mut directories = Vec::new();
        for ((place, record), directory) in places.into_iter().zip(records).zip(&all.readable) {
            directories.push(place.read(known, &record, directory)?);
        }
        directories[0].name.clone_from(&key.name);
        directories[0].title.clone_from(&key.title);
        Ok(Progress::Ready(Existing {
            name: key.name,
            title: key.title,
            directories,
            free: free_stretches(&free, header)?,
            infos: file.classes.streamers.infos_of_file().cloned().collect(),
            stale: known.size().map_or(0, |size| size - header.end),
            header: file.header,
        }))
    }

    /// The file's own name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where writing goes on: behind all bytes that are there. ROOT makes no file shorter, so that
    /// old bytes may lie behind the end that the header names; these become free.
    pub fn end(&self) -> u64 {
        self.header.end + self.stale
    }
}

/// Where a directory's record is, before it has been read.
struct Place {
    name: String,
    title: String,
    mother: Option<usize>,
    offset: u64,
    name_len: u64,
    /// Bytes of its record behind the names, as far as they mean anything.
    len: u64,
}

impl Place {
    fn read(
        self,
        known: &Known,
        record: &Bytes,
        directory: &Directory,
    ) -> Result<ExistingDirectory> {
        let start = self.offset + self.name_len;
        let mut cursor = Cursor::new(record, start);
        DirectoryRecord::read(&mut cursor)?.check(self.offset, self.name_len)?;
        let rest = cursor.take(cursor.remaining())?;
        let mut cursor = Cursor::new(record, start);
        let version = cursor.u16()?;
        let created = cursor.u32()?;
        let is_long = has_long_offsets(version);
        let record = OldForm { version: version % LONG_OFFSETS, is_long, created, rest };
        let list = match directory.range.is_empty() {
            true => Bytes::new(),
            false => known.joined(directory.range.clone())?.unwrap_or_default(),
        };
        Ok(ExistingDirectory {
            record,
            keys: keys(&list, directory)?,
            list: directory.range.clone(),
            name: self.name,
            title: self.title,
            mother: self.mother,
            offset: self.offset,
            name_len: self.name_len,
        })
    }
}

/// Directories in the order of [`File::directories`].
fn places(file: &File, all: &[Directory], top_len: u64) -> Vec<Place> {
    let len = |record: u64, names: u64| record.saturating_sub(names).min(DIRECTORY_LEN);
    let at: BTreeMap<&str, usize> =
        all.iter().enumerate().map(|(at, directory)| (&*directory.path, at)).collect();
    let mut places = vec![Place {
        name: String::new(),
        title: String::new(),
        mother: None,
        offset: file.header.begin,
        name_len: file.header.name_len,
        len: len(top_len, file.header.name_len),
    }];
    for (mother, directory) in all.iter().enumerate() {
        let below = directory.keys.iter().filter(|key| key.is_directory());
        for key in below {
            let path = match directory.path.is_empty() {
                true => key.name.clone(),
                false => format!("{}/{}", directory.path, key.name),
            };
            if at.get(&*path).is_some_and(|found| *found == places.len()) {
                places.push(Place {
                    name: key.name.clone(),
                    title: key.title.clone(),
                    mother: Some(mother),
                    offset: key.offset,
                    name_len: key.key_len,
                    len: len(key.record_len, key.key_len),
                });
            }
        }
    }
    places
}

fn records(known: &Known, places: &[Place]) -> Result<Progress<Vec<Bytes>>> {
    let mut records = Vec::new();
    let mut missing = Needs::default();
    for place in places {
        let start = place.offset.saturating_add(place.name_len);
        match bytes_of(known, start..start.saturating_add(place.len), "directory")? {
            Progress::Ready(record) => records.push(record),
            Progress::NeedsData(needs) => missing.add(needs),
        }
    }
    match missing.required.is_empty() {
        true => Ok(Progress::Ready(records)),
        false => Ok(Progress::NeedsData(missing)),
    }
}

/// The keys of a list with their own bytes, which go into the next list as they are.
fn keys(list: &Bytes, directory: &Directory) -> Result<Vec<(Key, Bytes)>> {
    if list.is_empty() {
        return Ok(Vec::new());
    }
    let start = directory.range.start;
    let own = Key::of_record(list, start)?;
    let mut cursor = Cursor::new(list, start);
    cursor.skip(usize::try_from(own.key_len).unwrap_or(usize::MAX))?;
    let count = cursor.count(KEY_LEN_MIN)?;
    let mut keys = Vec::with_capacity(count);
    for _ in 0..count {
        let from = cursor.position();
        let key = Key::read(&mut cursor)?;
        keys.push((key, list.slice(from..cursor.position())));
    }
    Ok(keys)
}

/// The free ranges in front of the end. A range that reaches beyond it is the one behind the file.
fn free_stretches(record: &Bytes, header: &Header) -> Result<Vec<Range<u64>>> {
    let key = Key::of_record(record, header.free_offset)?;
    let mut cursor = Cursor::new(record, header.free_offset);
    cursor.skip(usize::try_from(key.key_len).unwrap_or(usize::MAX))?;
    let mut free = Vec::new();
    while cursor.remaining() >= ENTRY_LEN_MIN {
        let at = cursor.clone();
        let long = cursor.u16()? > 1000;
        let first = read_offset(&mut cursor, long)?;
        let last = read_offset(&mut cursor, long)?;
        if last >= header.end {
            break;
        }
        if first < header.begin || first > last {
            return Err(at.corrupt(format!("a free stretch from {first} to {last}")));
        }
        free.push(first..last + 1);
    }
    Ok(free)
}
