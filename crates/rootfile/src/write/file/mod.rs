//! A file that is written forward.

mod checkpoint;
mod directory;
mod existing;
mod free;
mod keys;
mod tables;
mod tail;
#[cfg(test)]
pub(crate) mod tests;

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::buffer::Buffer;
use super::compression::{Compression, Encoders};
use super::infos::Infos;
use super::key::{GAP_MIN, KeyHead};
use super::schema::TableColumn;
use super::table::{Encoded, RecordPlace, Stored, TableWriter, Work, WritableObject};
use crate::array::Array;
use crate::error::{Error, Result};
use directory::OpenDirectory;
pub use existing::Existing;
use free::Free;
use keys::KeyCycle;
pub use tables::{DirectoryId, TableId};
use tables::{OpenTable, OpenTables};

/// The version of ROOT whose files these are like (`fVersion`).
const VERSION: u32 = 64_000;
/// Where the top directory of a new file is (`fBEGIN`).
pub(super) const BEGIN: u64 = 100;

/// Names of a new file, and options that are the same in all of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileOptions {
    /// Its own name, without folders.
    pub name: String,
    pub title: String,
    /// Of objects and, where they have no other, of tables.
    pub compression: Compression,
    /// The file's own number (`fUUID`).
    pub uuid: u128,
    /// When it is written, packed as ROOT does (`fDatime`).
    pub datime: u32,
}

/// Bytes, and where they go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Write {
    /// Where all earlier bytes end or, of the last few writes, before it.
    pub offset: u64,
    pub bytes: Bytes,
    /// Bytes here will be replaced at the end, by as many: a place for offsets that are not known
    /// yet.
    pub is_replaced: bool,
}

/// A file that is being written (the loop is described in [`crate::write`]).
pub struct FileWriter {
    options: FileOptions,
    directories: Vec<OpenDirectory>,
    tables: OpenTables,
    infos: Infos,
    encoders: Encoders,
    /// Directories, work and objects without a place yet, in the order of the file.
    slots: VecDeque<Slot>,
    /// The number of the first of them.
    first: u64,
    /// Work of which no thread has begun, in the order of the file.
    ready: VecDeque<(u64, Work)>,
    ready_bytes: usize,
    /// Bytes of results that wait for their place.
    waiting: usize,
    /// Offset behind all that has a place.
    end: u64,
    writes: VecDeque<Write>,
    /// State that an update takes over: the version of the file, and records that it may replace.
    version: u32,
    old: Option<Old>,
    free: Free,
    checkpoints: Option<Checkpoints>,
    state: State,
}

/// When a file becomes readable, and the records that only this needs.
#[derive(Debug)]
struct Checkpoints {
    every: u64,
    /// The file's length at which the next one is due.
    next: u64,
    /// The records of the last one, which the next one supersedes.
    records: Option<Range<u64>>,
}

/// Records of an existing file that an update may replace.
struct Old {
    /// Where the file ended.
    end: u64,
    infos: Span,
    free: Span,
    /// How many classes the streamer infos describe.
    infos_len: usize,
}

/// Where a record is, and its bytes with its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Span {
    offset: u64,
    len: u64,
}

impl Span {
    fn range(self) -> Range<u64> {
        self.offset..self.offset + self.len
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    Closing,
    Finished,
}

/// Something that is to get a place.
enum Slot {
    Directory(DirectoryId),
    /// A new table, which gets its cycle: objects that are added later have higher ones.
    NewTable(TableId),
    /// Work of a table.
    Table {
        table: TableId,
        encoded: Option<Encoded>,
    },
    Object(NamedObject),
}

/// An object and its name.
struct NamedObject {
    directory: DirectoryId,
    name: String,
    object: Arc<dyn WritableObject>,
    compression: Compression,
    cycle: KeyCycle,
}

/// A file that is written, and the directory of a table in it.
pub struct TableDestination<'a> {
    pub writer: &'a mut FileWriter,
    pub directory: DirectoryId,
}

impl TableDestination<'_> {
    /// The same for one call.
    pub fn again(&mut self) -> TableDestination<'_> {
        TableDestination { writer: self.writer, directory: self.directory }
    }

    /// The next record's place.
    ///
    /// # Errors
    /// As [`FileWriter::place`].
    pub fn place(&mut self) -> Result<RecordPlace> {
        self.writer.place(self.directory)
    }
}

impl FileWriter {
    /// A new file.
    ///
    /// # Errors
    /// `Limit` for names of more than 64 kB.
    pub fn new(options: FileOptions) -> Result<Self> {
        let mut file = FileWriter {
            options,
            directories: Vec::new(),
            tables: OpenTables::default(),
            infos: Infos::default(),
            encoders: Encoders::default(),
            slots: VecDeque::new(),
            first: 0,
            ready: VecDeque::new(),
            ready_bytes: 0,
            waiting: 0,
            end: 0,
            writes: VecDeque::new(),
            version: VERSION,
            old: None,
            free: Free::default(),
            checkpoints: None,
            state: State::Open,
        };
        file.emit([Bytes::from(vec![0; BEGIN as usize])], true);
        file.add_top()?;
        Ok(file)
    }

    /// Goes on with an existing file: new records are written behind its end. In the end its header
    /// is replaced, then the records of directories with new keys, those further below first, and
    /// last the first bytes of ranges that have become free. So a reader that opens the file in
    /// between finds each directory as it was or as it becomes.
    ///
    /// A further object of a name gets the next cycle; the older ones stay. Without anything new
    /// nothing is written.
    ///
    /// # Errors
    /// `Unsupported` where the file describes a class of ROOT otherwise than ROOT does.
    pub fn reopen(existing: Existing, datime: u32) -> Result<Self> {
        let end = existing.end();
        let Existing { header, name, title, directories, mut free, infos, .. } = existing;
        let algorithm = Compression::of_number(u32::try_from(header.compress).unwrap_or(0));
        let options = FileOptions {
            name,
            title,
            compression: algorithm.unwrap_or(Compression::NONE),
            uuid: header.uuid.unwrap_or_default(),
            datime,
        };
        let mut file = FileWriter::new(options)?;
        file.writes.clear();
        file.infos.copy(&infos, "the file").map_err(|error| error.within("update"))?;
        file.end = end;
        file.version = header.version;
        if end > header.end {
            // A free stretch begins with its length, for which fewer bytes have no room.
            let lacking = GAP_MIN.saturating_sub(end - header.end);
            file.emit((0..lacking).map(|_| Bytes::from_static(&[0])), false);
            free.push(header.end..file.end);
        }
        file.free = Free::new(free);
        file.old = Some(Old {
            end: header.end,
            infos: Span { offset: header.infos_offset, len: header.info_len },
            free: Span { offset: header.free_offset, len: header.free_len },
            infos_len: file.infos.len(),
        });
        file.open_directories(directories);
        Ok(file)
    }

    /// Takes another compression than the file's own for all that follows.
    pub fn set_compression(&mut self, compression: Compression) {
        self.options.compression = compression;
    }

    /// Adds an object to a directory. Of several of one name a reader gets the last.
    pub fn put(&mut self, directory: DirectoryId, name: &str, object: Arc<dyn WritableObject>) {
        self.put_object(directory, name, object, KeyCycle::Next);
    }

    /// The same with the cycle that the object has, which is the first of its name.
    pub fn put_with_cycle(
        &mut self,
        directory: DirectoryId,
        name: &str,
        cycle: u16,
        object: Arc<dyn WritableObject>,
    ) {
        self.directories[directory.0].begin_cycles_with(name, cycle);
        self.put(directory, name, object);
    }

    /// Adds an object in place of one of the file as it was: it is listed there, under the same
    /// cycle. The record of the earlier one becomes free.
    pub fn put_in_place(
        &mut self,
        directory: DirectoryId,
        name: &str,
        cycle: u16,
        object: Arc<dyn WritableObject>,
    ) {
        self.put_object(directory, name, object, KeyCycle::InPlaceOf(cycle));
    }

    fn put_object(
        &mut self,
        directory: DirectoryId,
        name: &str,
        object: Arc<dyn WritableObject>,
        cycle: KeyCycle,
    ) {
        if self.checkpoints.is_none() {
            object.classes().into_iter().for_each(|class| self.infos.need(class));
        }
        let compression = self.compression_of(&*object);
        let name = name.to_owned();
        let object = NamedObject { directory, name, object, compression, cycle };
        self.slots.push_back(Slot::Object(object));
    }

    fn compression_of(&self, object: &dyn WritableObject) -> Compression {
        match object.is_compressible() {
            true => self.options.compression,
            false => Compression::NONE,
        }
    }

    /// Adds a table to a directory.
    pub fn add_table(
        &mut self,
        directory: DirectoryId,
        name: &str,
        writer: Box<dyn TableWriter>,
    ) -> TableId {
        self.open_table(directory, name, writer, None)
    }

    /// Adds a table of the file as it was that grows: at the end it is listed in its own place,
    /// unless it is unchanged. `cycle` is that of its key.
    pub fn grow_table(
        &mut self,
        directory: DirectoryId,
        name: &str,
        cycle: u16,
        writer: Box<dyn TableWriter>,
    ) -> TableId {
        self.open_table(directory, name, writer, Some(cycle))
    }

    fn open_table(
        &mut self,
        directory: DirectoryId,
        name: &str,
        mut writer: Box<dyn TableWriter>,
        replaces: Option<u16>,
    ) -> TableId {
        writer.named(name);
        let name = name.to_owned();
        let table = self.tables.add(OpenTable {
            directory,
            name,
            writer,
            out: 0,
            is_placed: false,
            cycle: replaces.map_or(KeyCycle::Next, KeyCycle::InPlaceOf),
            set_of: None,
        });
        if replaces.is_none() {
            self.slots.push_back(Slot::NewTable(table));
        }
        table
    }

    /// Adds an attribute set to an RNTuple: a table of ranges of its entries.
    ///
    /// # Errors
    /// `Unsupported` for a table of another kind, without a name, and for a name that is there.
    pub fn add_attribute_set(
        &mut self,
        ntuple: TableId,
        name: &str,
        mut writer: Box<dyn TableWriter>,
    ) -> Result<TableId> {
        let open = &self.tables[ntuple];
        let within = |message: &str| Err(Error::unsupported(message).within(&open.name));
        let Some(existing) = open.writer.attribute_sets().filter(|_| open.set_of.is_none()) else {
            return within("attribute sets of a table that is no RNTuple");
        };
        let is_there = |table: &OpenTable| table.set_of == Some(ntuple) && table.name == name;
        if name.is_empty() {
            return within("an attribute set without a name");
        }
        if existing.contains(&name) || self.tables.iter().any(is_there) {
            return within(&format!("an attribute set \"{name}\" is there already"));
        }
        writer.named(name);
        Ok(self.tables.add(OpenTable {
            directory: open.directory,
            name: name.to_owned(),
            writer,
            out: 0,
            is_placed: false,
            cycle: KeyCycle::Next,
            set_of: Some(ntuple),
        }))
    }

    /// Compresses a table in another way than it was made with, or one of its columns.
    ///
    /// # Errors
    /// As [`TableWriter::set_compression`].
    pub fn set_table_compression(
        &mut self,
        table: TableId,
        column: Option<usize>,
        compression: Compression,
    ) -> Result<()> {
        self.change_table(table, |writer| writer.set_compression(column, compression))
    }

    /// Adds entries to a table.
    ///
    /// # Errors
    /// As [`TableWriter::extend`].
    pub fn extend(&mut self, table: TableId, columns: Vec<Arc<Array>>) -> Result<()> {
        self.change_table(table, |writer| writer.extend(columns))
    }

    /// Adds columns to a table, with values for all its entries.
    ///
    /// # Errors
    /// As [`TableWriter::add_columns`].
    pub fn add_columns(
        &mut self,
        table: TableId,
        columns: Vec<TableColumn>,
        arrays: Vec<Arc<Array>>,
    ) -> Result<()> {
        self.change_table(table, |writer| writer.add_columns(columns, arrays))
    }

    /// Changes a table, whose name is in the error. Even then there may be work: of entries that
    /// were taken before.
    fn change_table<T>(
        &mut self,
        table: TableId,
        change: impl FnOnce(&mut dyn TableWriter) -> Result<T>,
    ) -> Result<T> {
        let result = self.tables.change(table, |OpenTable { name, writer, .. }| {
            change(&mut **writer).map_err(|error| error.within(name))
        });
        self.number_work(table);
        result
    }

    /// Ends a cluster of a table behind `entries` entries: see [`TableWriter::end_cluster`].
    pub fn end_cluster(&mut self, table: TableId, entries: u64) {
        self.tables.change(table, |open| open.writer.end_cluster(entries));
    }

    /// A table, for methods that its kind alone has.
    pub fn table(&self, table: TableId) -> &dyn TableWriter {
        &*self.tables[table].writer
    }

    /// The streamer infos of the file, for classes that no object of it names: those of records
    /// that are copied from other files.
    pub fn infos(&mut self) -> &mut Infos {
        &mut self.infos
    }

    /// The place of records that belong to a directory and are not listed in it, which
    /// [`FileWriter::append`] takes next.
    ///
    /// # Errors
    /// `Unsupported` while work of a table is out.
    pub fn place(&mut self, directory: DirectoryId) -> Result<RecordPlace> {
        while self.place_next()? {}
        match self.slots.is_empty() && self.state == State::Open {
            true => Ok(self.place_in(directory)),
            false => Err(Error::unsupported("records beside a table's own, while it is written")),
        }
    }

    /// Adds records, with their keys, at the place that was asked for last.
    pub fn append(&mut self, records: Bytes) {
        self.emit([records], false);
    }

    /// There is nothing further to be written: remaining work, the metadata and the replaced bytes
    /// follow from `poll_work` and `poll_write`.
    pub fn close(&mut self) {
        self.tables.ids().for_each(|at| self.tables.change(at, |table| table.writer.close()));
        self.state = State::Closing;
        self.tables.ids().for_each(|at| self.number_work(at));
    }

    /// Whether all has been written.
    pub fn is_finished(&self) -> bool {
        self.state == State::Finished && self.writes.is_empty()
    }

    /// Bytes from the file's beginning to the end of the last placed record.
    pub fn len(&self) -> u64 {
        self.end
    }

    /// Whether nothing has a place: never, as a file begins with its header.
    pub fn is_empty(&self) -> bool {
        self.end == 0
    }

    /// Bytes of entries that no thread has begun to encode.
    pub fn held_bytes(&self) -> usize {
        self.tables.held_bytes() + self.ready_bytes
    }

    /// Bytes of results that wait for their place.
    pub fn waiting_bytes(&self) -> usize {
        self.waiting
    }

    /// Whether no table but this one will have work before it is given further entries.
    ///
    /// Objects that the caller puts into the file meanwhile would come before or after that work,
    /// as the threads happen to be fast. So a caller who wants the same bytes each time completes
    /// work and polls until this is so, before it adds entries to this table or, for `None`, puts
    /// objects and directories into the file or closes it.
    pub fn is_settled(&self, but: Option<TableId>) -> bool {
        self.tables.are_settled(but)
    }

    /// Directories, objects and pieces of work so far: while it stays the same, there is nothing
    /// new to encode or to write.
    pub fn numbered(&self) -> u64 {
        self.first + self.slots.len() as u64
    }

    /// Pieces of work that no thread has begun.
    pub fn ready_work(&self) -> usize {
        self.ready.len()
    }

    /// The next work, and the number under which its result comes back.
    pub fn poll_work(&mut self) -> Option<(u64, Work)> {
        let next = self.ready.pop_front()?;
        self.ready_bytes -= next.1.content_len;
        Some(next)
    }

    /// Gives a place in the file's order to all work that a table has: after each change of it that
    /// may lead to some, whether or not a thread is free: the order does not depend on that.
    fn number_work(&mut self, table: TableId) {
        let FileWriter { tables, slots, first, ready, ready_bytes, .. } = self;
        tables.change(table, |open| {
            while let Some(work) = open.writer.poll_work() {
                let number = *first + slots.len() as u64;
                slots.push_back(Slot::Table { table, encoded: None });
                open.out += 1;
                *ready_bytes += work.content_len;
                ready.push_back((number, work));
            }
        });
    }

    /// Takes the result of work.
    ///
    /// # Panics
    /// For a number that is not out.
    pub fn complete(&mut self, number: u64, result: Encoded) {
        self.waiting += result.bytes.len();
        match &mut self.slots[(number - self.first) as usize] {
            Slot::Table { encoded, .. } => *encoded = Some(result),
            Slot::Directory(_) | Slot::NewTable(_) | Slot::Object(_) => {
                panic!("number {number} is no work")
            }
        }
    }

    /// The next bytes; `None` where results of work are lacking, or all has been written.
    ///
    /// # Errors
    /// `Limit` where the format cannot hold as much. The file is then of no further use.
    pub fn poll_write(&mut self) -> Result<Option<Write>> {
        loop {
            if let Some(write) = self.writes.pop_front() {
                return Ok(Some(write));
            }
            if self.place_next()? {
                self.checkpoint()?;
            } else if !self.finish()? {
                return Ok(None);
            }
        }
    }

    /// Gives the next slot its place, if its result is there.
    fn place_next(&mut self) -> Result<bool> {
        match self.slots.front() {
            None | Some(Slot::Table { encoded: None, .. }) => return Ok(false),
            Some(_) => {}
        }
        let Some(slot) = self.slots.pop_front() else { return Ok(false) };
        self.first += 1;
        match slot {
            Slot::Directory(directory) => self.place_directory(directory)?,
            Slot::NewTable(table) => {
                let OpenTable { directory, name, .. } = &self.tables[table];
                let cycle = self.directories[directory.0].next_cycle(name);
                self.tables.change(table, |open| open.cycle = KeyCycle::Reserved(cycle));
            }
            Slot::Object(object) => self.place_object(&object)?,
            Slot::Table { table, encoded } => {
                let Some(encoded) = encoded else { return Ok(false) };
                let place = self.place_in(self.tables[table].directory);
                self.waiting -= encoded.bytes.len();
                let records = self.tables.change(table, |open| {
                    open.out -= 1;
                    open.is_placed = true;
                    open.writer.place(encoded, place).map_err(|error| error.within(&open.name))
                })?;
                self.emit(records, false);
                self.number_work(table);
            }
        }
        Ok(true)
    }

    fn place_in(&self, directory: DirectoryId) -> RecordPlace {
        let directory = self.directories[directory.0].offset;
        RecordPlace { offset: self.end, directory, datime: self.options.datime }
    }

    /// An object's record, and its line in the directory's list.
    fn place_object(&mut self, named: &NamedObject) -> Result<()> {
        // A checkpoint describes placed objects only, however many have been put by then.
        if self.checkpoints.is_some() {
            named.object.classes().into_iter().for_each(|class| self.infos.need(class));
        }
        let cycle = match named.cycle {
            KeyCycle::Next => self.directories[named.directory.0].next_cycle(&named.name),
            KeyCycle::Reserved(cycle) => cycle,
            KeyCycle::InPlaceOf(cycle) => {
                self.vacate(named.directory, &named.name, cycle)?;
                cycle
            }
        };
        let head = self.key_head(named.directory, named.object.class(), &named.name);
        let head = KeyHead { title: named.object.title().to_owned(), cycle, ..head };
        // References in the object count from its key, whose length is known only here.
        let key_len = head.len(self.end);
        let content = match named.object.stored(key_len)? {
            Some(Stored { payload, content_len }) if payload.len() < content_len => {
                return self.place_record(named.directory, head, payload, content_len, true);
            }
            Some(Stored { payload, .. }) => payload,
            None => {
                let mut buffer = Buffer::behind_key(key_len);
                named.object.write(&mut buffer);
                buffer.into_vec().into()
            }
        };
        let mut payload = Vec::new();
        self.encoders.compress(named.compression, &content, &mut payload)?;
        self.place_record(named.directory, head, payload.into(), content.len(), true)
    }

    /// The key of a record in a directory, of the first cycle.
    fn key_head(&self, directory: DirectoryId, class: &str, name: &str) -> KeyHead {
        let place = self.place_in(directory);
        KeyHead {
            class: class.to_owned(),
            name: name.to_owned(),
            title: String::new(),
            datime: place.datime,
            cycle: 1,
            directory: place.directory,
            extra: 0,
        }
    }

    fn place_record(
        &mut self,
        directory: DirectoryId,
        head: KeyHead,
        payload: Bytes,
        content_len: usize,
        is_listed: bool,
    ) -> Result<()> {
        let mut key = Buffer::default();
        let stored = payload.len() as u64;
        let content = content_len as u64;
        head.write(&mut key, self.end, stored, content).map_err(|e| e.within(&head.name))?;
        let key = Bytes::from(key.into_vec());
        if is_listed {
            self.directories[directory.0].list(&head.name, head.cycle, key.clone());
        }
        self.emit([key, payload], false);
        Ok(())
    }

    fn emit(&mut self, parts: impl IntoIterator<Item = Bytes>, is_replaced: bool) {
        for bytes in parts {
            let offset = self.end;
            self.end += bytes.len() as u64;
            self.writes.push_back(Write { offset, bytes, is_replaced });
        }
    }
}

/// That a file cannot be changed any more.
fn finished() -> Error {
    Error::unsupported("the file has been closed")
}
