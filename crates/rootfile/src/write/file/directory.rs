//! The directories of a file that is being written (ROOT: `TDirectoryFile`; read in
//! [`crate::directory`]).

use std::collections::BTreeMap;

use bytes::Bytes;

use super::existing::{ExistingDirectory, OldForm};
use super::keys::{KeyList, KeyPlace};
use super::{BEGIN, DirectoryId, FileWriter, Slot, Span, State, finished};
use crate::cursor::Cursor;
use crate::error::{Error, Result};
use crate::header::LONG_OFFSETS;
use crate::key::Key;
use crate::write::buffer::Buffer;
use crate::write::key::{BIG, KeyHead, string_len, write_offset};

/// Bytes of a new directory's record behind its names, in both forms.
const DIRECTORY_LEN: usize = 60;
/// Version of the record of a new directory.
const VERSION: u16 = 5;
/// Versions from this on have the directory's own number (`fUUID`), of so many bytes.
const WITH_UUID: u16 = 2;
const UUID_LEN: usize = 18;

/// A directory, and the keys that it will list.
#[derive(Debug)]
pub(super) struct OpenDirectory {
    pub name: String,
    pub title: String,
    pub mother: Option<DirectoryId>,
    /// Of its record; 0 as long as it has no place.
    pub offset: u64,
    /// Bytes of the record in front of the part that is replaced (`fNbytesName`).
    pub name_len: usize,
    pub below: BTreeMap<String, DirectoryId>,
    keys: KeyList,
    /// Place in the list and cycle of the next record, which replaces one of the file as it was.
    vacant: Option<(KeyPlace, u16)>,
    /// Its record in an existing file.
    old: Option<OldRecord>,
    /// Whether it has keys that its list in the file lacks.
    pub is_changed: bool,
}

/// The fields that stay in the record of a directory of an existing file, and the list that it had.
#[derive(Debug)]
struct OldRecord {
    form: OldForm,
    list: Span,
}

impl OldForm {
    /// Bytes of the record behind the names.
    fn len(&self) -> usize {
        let offset = if self.is_long { 8 } else { 4 };
        2 + 4 * 4 + 3 * offset + self.rest.len()
    }

    /// The bytes behind the offsets, where these have eight bytes or not: without the spare ones
    /// where they become longer.
    fn rest_in(&self, long: bool) -> &[u8] {
        let uuid_len = if self.version >= WITH_UUID { UUID_LEN } else { 0 };
        match long == self.is_long {
            true => &self.rest,
            false => &self.rest[..uuid_len.min(self.rest.len())],
        }
    }
}

impl OpenDirectory {
    fn new(name: &str, title: &str, mother: Option<DirectoryId>) -> Self {
        OpenDirectory {
            name: name.to_owned(),
            title: title.to_owned(),
            mother,
            offset: 0,
            name_len: 0,
            below: BTreeMap::new(),
            keys: KeyList::default(),
            vacant: None,
            old: None,
            is_changed: true,
        }
    }

    pub fn next_cycle(&mut self, name: &str) -> u16 {
        self.keys.next_cycle(name)
    }

    /// As [`KeyList::begin_with`].
    pub fn begin_cycles_with(&mut self, name: &str, cycle: u16) {
        self.keys.begin_with(name, cycle);
    }

    /// Lists a record. ROOT takes the first key of a name for the newest: a further one goes in
    /// front of those of lower cycles (`TDirectoryFile::AppendKey`).
    pub fn list(&mut self, name: &str, cycle: u16, key: Bytes) {
        match self.vacant.take() {
            Some((place, _)) => self.keys.insert(name, cycle, place, key),
            None if cycle > 1 => self.keys.push_front(name, cycle, key),
            None => self.keys.push(name, cycle, key),
        }
        self.is_changed = true;
    }

    /// Its keys and cycles, for [`OpenDirectory::list_again`].
    pub fn listed(&self) -> KeyList {
        self.keys.clone()
    }

    /// Forgets keys that have been listed since.
    pub fn list_again(&mut self, listed: KeyList) {
        self.keys = listed;
    }

    /// Lists a record of an existing file no longer: its key, where there was one in front of that
    /// end of the file.
    fn drop_key(&mut self, name: &str, cycle: u16, end: u64) -> Option<(KeyPlace, Key)> {
        let of_image = |image: &Bytes| Key::read(&mut Cursor::new(image, 0)).ok();
        let is_meant = |key: &Key| key.offset < end && !key.is_directory();
        let (place, key) = self.keys.find(name, cycle).find_map(|(place, image)| {
            let key = of_image(image).filter(is_meant)?;
            Some((place, key))
        })?;
        self.keys.remove(name, cycle, place);
        self.is_changed = true;
        Some((place, key))
    }

    /// The list that it had in an existing file.
    pub fn old_list(&self) -> Option<Span> {
        self.old.as_ref().map(|old| old.list)
    }
}

impl FileWriter {
    /// The directory at a path of names joined by `/`, which is made where it is not there.
    ///
    /// # Errors
    /// `Unsupported` after [`FileWriter::close`].
    pub fn directory(&mut self, path: &str) -> Result<DirectoryId> {
        self.directory_with(path, |_| None)
    }

    /// The same, where a new directory gets the title for its path; without one, its name.
    ///
    /// # Errors
    /// As [`FileWriter::directory`].
    pub fn directory_with<'a>(
        &mut self,
        path: &str,
        titles: impl Fn(&str) -> Option<&'a str>,
    ) -> Result<DirectoryId> {
        if self.state != State::Open {
            return Err(finished());
        }
        let names = path.split('/').filter(|name| !name.is_empty());
        let mut above = String::new();
        Ok(names.fold(DirectoryId::TOP, |mother, name| {
            if !above.is_empty() {
                above.push('/');
            }
            above.push_str(name);
            if let Some(there) = self.directories[mother.0].below.get(name) {
                return *there;
            }
            let made = DirectoryId(self.directories.len());
            let title = titles(&above).unwrap_or(name);
            self.directories.push(OpenDirectory::new(name, title, Some(mother)));
            self.directories[mother.0].below.insert(name.to_owned(), made);
            self.slots.push_back(Slot::Directory(made));
            made
        }))
    }

    /// Takes an object of the file as it was out of the directory at a path, and frees its record.
    /// Baskets and pages that it leads to stay where they are.
    ///
    /// # Errors
    /// `Unsupported` for directories, and for objects that the file did not have before the update.
    pub fn remove(&mut self, path: &str, name: &str, cycle: u16) -> Result<()> {
        let mut names = path.split('/').filter(|name| !name.is_empty());
        let directory = names.try_fold(DirectoryId::TOP, |mother, name| {
            self.directories[mother.0].below.get(name).copied()
        });
        let end = self.old.as_ref().map_or(0, |old| old.end);
        let growing = directory.map(|id| self.tables.in_place_of(id, name, cycle));
        if growing.into_iter().flatten().any(|table| !table.writer.is_unchanged()) {
            let message = "to remove a table that has been given entries or columns";
            return Err(Error::unsupported(message).within(&format!("{name};{cycle}")));
        }
        let key = directory.and_then(|id| self.directories[id.0].drop_key(name, cycle, end));
        let Some((_, key)) = key else {
            let message = "to remove what is no object of the file as it was";
            return Err(Error::unsupported(message).within(&format!("{name};{cycle}")));
        };
        self.free_record(&key);
        Ok(())
    }

    /// Frees the record of an object of the file as it was. The next record takes its place in the
    /// list, and its cycle.
    ///
    /// # Errors
    /// `Unsupported` where there is none.
    pub(super) fn vacate(&mut self, id: DirectoryId, name: &str, cycle: u16) -> Result<()> {
        let end = self.old.as_ref().map_or(0, |old| old.end);
        let directory = &mut self.directories[id.0];
        let Some((place, key)) = directory.drop_key(name, cycle, end) else {
            let message = "to replace what is no object of the file as it was";
            return Err(Error::unsupported(message).within(&format!("{name};{cycle}")));
        };
        directory.vacant = Some((place, cycle));
        self.free_record(&key);
        Ok(())
    }

    fn free_record(&mut self, key: &Key) {
        self.free.add([key.offset..key.offset.saturating_add(key.record_len)]);
    }

    /// Takes the directories of an existing file in place of the top one of a new file.
    pub(super) fn open_directories(&mut self, existing: Vec<ExistingDirectory>) {
        self.directories.clear();
        for (at, directory) in existing.into_iter().enumerate() {
            let mother = directory.mother.map(DirectoryId);
            let mut open = OpenDirectory::new(&directory.name, &directory.title, mother);
            (open.offset, open.name_len) = (directory.offset, directory.name_len as usize);
            open.is_changed = false;
            let start = directory.list.start;
            open.old = Some(OldRecord {
                form: directory.record,
                list: Span { offset: start, len: directory.list.end - start },
            });
            for (key, image) in directory.keys {
                // A negative cycle is that of a key which ROOT is not to purge.
                open.keys.push_existing(&key.name, (key.cycle as i16).unsigned_abs(), image);
            }
            self.directories.push(open);
            if let Some(mother) = mother {
                self.directories[mother.0].below.insert(directory.name, DirectoryId(at));
            }
        }
    }

    pub(super) fn add_top(&mut self) -> Result<()> {
        let name = self.options.name.clone();
        let title = self.options.title.clone();
        self.directories.push(OpenDirectory::new(&name, &title, None));
        self.directories[0].offset = BEGIN;
        let head = KeyHead {
            class: "TFile".into(),
            datime: self.options.datime,
            cycle: 1,
            directory: 0,
            extra: 0,
            name,
            title,
        };
        let mut names = Buffer::default();
        names.string(&head.name);
        names.string(&head.title);
        let name_len = head.len(BEGIN) + names.len();
        self.directories[0].name_len = name_len;
        let content = (names.len() + DIRECTORY_LEN) as u64;
        let mut record = Buffer::default();
        head.write(&mut record, BEGIN, content, content).map_err(|e: Error| e.within("file"))?;
        record.bytes(&names.into_vec());
        record.bytes(&[0; DIRECTORY_LEN]);
        self.emit([record.into_vec().into()], true);
        Ok(())
    }

    pub(super) fn place_directory(&mut self, id: DirectoryId) -> Result<()> {
        let OpenDirectory { name, title, mother, .. } = &self.directories[id.0];
        let name = name.clone();
        let title = title.clone();
        let mother = mother.unwrap_or(DirectoryId::TOP);
        let cycle = self.directories[mother.0].next_cycle(&name);
        let head = KeyHead { title, cycle, ..self.key_head(mother, "TDirectory", &name) };
        let len = DIRECTORY_LEN as u64;
        let mut key = Buffer::default();
        head.write(&mut key, self.end, len, len).map_err(|error| error.within(&name))?;
        let directory = &mut self.directories[id.0];
        (directory.offset, directory.name_len) = (self.end, key.len());
        let key = Bytes::from(key.into_vec());
        self.directories[mother.0].list(&head.name, head.cycle, key.clone());
        self.emit([key], false);
        self.emit([vec![0; DIRECTORY_LEN].into()], true);
        Ok(())
    }

    /// The content of a directory's record once its list of keys has a place.
    ///
    /// # Errors
    /// `Limit` where the record of an existing directory has no room for offsets of eight bytes.
    pub(super) fn directory_content(
        &self,
        id: DirectoryId,
        keys: u64,
        keys_len: usize,
    ) -> Result<Bytes> {
        let OpenDirectory { name, offset, name_len, mother, old, .. } = &self.directories[id.0];
        let form = old.as_ref().map(|old| &old.form);
        let long = keys > BIG || form.is_some_and(|form| form.is_long);
        let mut content = Buffer::default();
        content
            .u16(form.map_or(VERSION, |form| form.version) + if long { LONG_OFFSETS } else { 0 });
        content.u32(form.map_or(self.options.datime, |form| form.created));
        content.u32(self.options.datime);
        content.u32(keys_len as u32);
        content.u32(*name_len as u32);
        let mother = mother.map_or(0, |mother| self.directories[mother.0].offset);
        for place in [*offset, mother, keys] {
            write_offset(&mut content, long, place);
        }
        let len = match form {
            Some(form) => {
                let len = form.len();
                content.bytes(form.rest_in(long));
                len
            }
            None => {
                content.u16(1);
                content.bytes(&self.options.uuid.to_be_bytes());
                DIRECTORY_LEN
            }
        };
        // Room for the longer form. Behind it are other records.
        let Some(rest) = len.checked_sub(content.len()) else {
            let message = "a directory whose record has no room for offsets beyond 2 GB: merge the \
                           file into a new one";
            return Err(Error::limit(message).within(name));
        };
        content.bytes(&[0; DIRECTORY_LEN][..rest]);
        Ok(content.into_vec().into())
    }

    /// The list of a directory's keys, whose first byte goes to the end of the file: its length.
    pub(super) fn place_keys(&mut self, id: DirectoryId) -> Result<usize> {
        let directory = &self.directories[id.0];
        let class = if id == DirectoryId::TOP { "TFile" } else { "TDirectory" };
        let head = KeyHead {
            class: class.into(),
            name: directory.name.clone(),
            title: directory.title.clone(),
            datime: self.options.datime,
            cycle: 1,
            directory: directory.offset,
            extra: 0,
        };
        let mut list = Buffer::default();
        list.u32(directory.keys.len() as u32);
        directory.keys.images().for_each(|key| list.bytes(key));
        let len = list.len();
        let start = self.end;
        self.place_record(id, head, list.into_vec().into(), len, false)?;
        Ok((self.end - start) as usize)
    }

    /// Bytes of the top directory's names (`fNbytesName`).
    pub(super) fn top_name_len(&self) -> u32 {
        let OpenDirectory { name, title, name_len, .. } = &self.directories[0];
        debug_assert!(*name_len > string_len(name) + string_len(title));
        *name_len as u32
    }
}
