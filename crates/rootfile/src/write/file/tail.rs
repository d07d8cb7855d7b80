//! The tail of a file: tables' own records, streamer infos, lists of keys, the list of free
//! segments, and then the few bytes that could not be known before.

use bytes::Bytes;

use super::{DirectoryId, FileWriter, Old, OpenTable, Span, State, TableId, Write};
use crate::error::{Error, Result};
use crate::write::buffer::Buffer;
use crate::write::key::{BIG, KeyHead, write_offset};
use crate::write::ntuple::LinkedSet;
use crate::write::ntuple::attributes::SCHEMA_VERSION;
use crate::write::ntuple::records::Records;
use crate::write::table::Finished;

/// Longest record of an anchor.
const RECORD_MAX: u64 = 1 << 30;
/// Added to the version of a file whose offsets have eight bytes.
const VERSION_BIG: u32 = 1_000_000;
/// Bytes of the file's own number in the header, with its version.
const UUID_LEN: u64 = 18;

impl FileWriter {
    /// Writes the tail, once all work is placed; `false` where it is not, or has been written.
    pub(super) fn finish(&mut self) -> Result<bool> {
        if self.state != State::Closing || !self.slots.is_empty() {
            return Ok(false);
        }
        for table in self.tables.ids() {
            if self.tables[table].set_of.is_none() {
                self.finish_sets(table)?;
                self.finish_table(table)?;
            }
        }
        let is_changed = self.directories.iter().any(|directory| directory.is_changed);
        let has_infos = |old: &Old| old.infos_len == self.infos.len();
        if is_changed || !self.old.as_ref().is_some_and(has_infos) {
            self.place_metadata()?;
        }
        self.state = State::Finished;
        Ok(true)
    }

    /// Streamer infos, lists of keys, the list of free ranges, and the header and records of
    /// directories, which lead to them.
    pub(super) fn place_metadata(&mut self) -> Result<()> {
        let is_readable = self.is_readable();
        let superseded = self.superseded();
        let marked_from = superseded.as_ref().map_or(0, |records| records.start);
        self.free.add(superseded);
        let infos = self.place_infos()?;
        let mut records = Vec::new();
        for at in 0..self.directories.len() {
            let directory = &self.directories[at];
            if directory.is_changed && directory.offset > 0 {
                let id = DirectoryId(at);
                let offset = self.end;
                let len = self.place_keys(id)?;
                let directory = &self.directories[at];
                let start = directory.offset + directory.name_len as u64;
                records.push((start, self.directory_content(id, offset, len)?));
                let old = self.directories[at].old_list();
                self.free.add(old.map(Span::range));
            }
        }
        self.free.add(self.old.as_ref().map(|old| old.free.range()));
        let free = self.place_free()?;
        let header = self.header(infos, free)?;
        if is_readable {
            self.replace(0, header.clone());
        }
        records.into_iter().rev().for_each(|(start, record)| self.replace(start, record));
        if !is_readable {
            self.replace(0, header);
        }
        self.mark_free(marked_from);
        Ok(())
    }

    fn replace(&mut self, offset: u64, bytes: Bytes) {
        self.writes.push_back(Write { offset, bytes, is_replaced: false });
    }

    /// Writes the attribute sets of a table.
    fn finish_sets(&mut self, ntuple: TableId) -> Result<()> {
        for set in self.tables.ids() {
            if self.tables[set].set_of != Some(ntuple) {
                continue;
            }
            let directory = self.tables[set].directory;
            let name = self.tables[set].name.clone();
            let place = self.place_in(directory);
            let encoders = &mut self.encoders;
            let finished = self.tables.change(set, |open| open.writer.finish(place, encoders));
            let Finished { records, object } = finished.map_err(|error| error.within(&name))?;
            self.emit([records.into()], false);
            let mut records = Records::new(self.place_in(directory), RECORD_MAX);
            let linked = LinkedSet::write(&mut records, &*object, &name, SCHEMA_VERSION)?;
            self.emit(records.into_bytes(), false);
            self.tables.change(ntuple, |open| open.writer.link(linked));
        }
        Ok(())
    }

    fn finish_table(&mut self, table: TableId) -> Result<()> {
        let OpenTable { directory, name, writer, cycle, .. } = &self.tables[table];
        if writer.is_unchanged() {
            return Ok(());
        }
        let directory = *directory;
        let name = name.clone();
        let cycle = *cycle;
        let place = self.place_in(directory);
        let encoders = &mut self.encoders;
        let finished = self.tables.change(table, |open| open.writer.finish(place, encoders));
        let Finished { records, object } = finished.map_err(|error| error.within(&name))?;
        self.emit([records.into()], false);
        self.put_object(directory, &name, object, cycle);
        self.place_next().map(drop)
    }

    /// The list of streamer infos; that of an existing file stays where it lacks none.
    fn place_infos(&mut self) -> Result<Span> {
        if let Some(old) = &self.old
            && old.infos.offset != 0
        {
            if old.infos_len == self.infos.len() {
                return Ok(old.infos);
            }
            self.free.add([old.infos.range()]);
        }
        let head = KeyHead {
            class: "TList".into(),
            name: "StreamerInfo".into(),
            title: "Doubly linked list".into(),
            datime: self.options.datime,
            cycle: 1,
            directory: self.directories[0].offset,
            extra: 0,
        };
        let mut list = Buffer::behind_key(head.len(self.end));
        self.infos.write(&mut list);
        let content = list.into_vec();
        let mut payload = Vec::new();
        self.encoders.compress(self.options.compression, &content, &mut payload)?;
        let offset = self.end;
        self.place_record(DirectoryId::TOP, head, payload.into(), content.len(), false)?;
        Ok(Span { offset, len: self.end - offset })
    }

    fn header(&self, infos: Span, free: Span) -> Result<Bytes> {
        let long = self.end > BIG;
        let begin = self.directories[0].offset;
        let mut header = Buffer::default();
        header.bytes(b"root");
        header.u32(self.version + if long { VERSION_BIG } else { 0 });
        header.u32(begin as u32);
        write_offset(&mut header, long, self.end);
        write_offset(&mut header, long, free.offset);
        header.u32(free.len as u32);
        header.u32(self.free_count());
        header.u32(self.top_name_len());
        header.u8(if long { 8 } else { 4 });
        header.u32(self.options.compression.number());
        write_offset(&mut header, long, infos.offset);
        header.u32(infos.len as u32);
        // Some writers leave no room for it.
        if header.len() as u64 + UUID_LEN <= begin {
            header.u16(1);
            header.bytes(&self.options.uuid.to_be_bytes());
        }
        if header.len() as u64 > begin {
            let size = if long { "of more than 2 GB " } else { "" };
            let message = format!("a file {size}whose first record is at byte {begin}");
            return Err(Error::limit(message));
        }
        Ok(header.into_vec().into())
    }
}
