//! What comes last: tables' own records, streamer infos, lists of keys, the list of what is free,
//! and then the few bytes that could not be known before.

use bytes::Bytes;

use super::{BEGIN, DirectoryId, FileWriter, State, TableId, Write};
use crate::error::Result;
use crate::write::buffer::Buffer;
use crate::write::key::{BIG, KeyHead, write_offset};
use crate::write::table::Finished;

/// The version of ROOT whose files these are like (`fVersion`).
const VERSION: u32 = 64_000;
/// Added to the version of a file whose offsets have eight bytes.
const VERSION_BIG: u32 = 1_000_000;
/// Bytes of the free list's record behind its key, with offsets of four and of eight bytes.
const FREE_LEN: usize = 10;
const FREE_LEN_LONG: usize = 18;
/// What is free reaches to the next multiple of this behind the end.
const FREE_STEP: u64 = 1_000_000_000;

/// Where a record is, and its bytes with its key.
#[derive(Debug, Clone, Copy)]
struct Span {
    offset: u64,
    len: u64,
}

impl FileWriter {
    /// Writes the tail, once all work is placed; `false` where it is not, or has been written.
    pub(super) fn finish(&mut self) -> Result<bool> {
        if self.state != State::Closing || !self.slots.is_empty() {
            return Ok(false);
        }
        for at in 0..self.tables.len() {
            self.finish_table(TableId(at))?;
        }
        let infos = self.place_infos()?;
        let mut directories = Vec::new();
        for at in 0..self.directories.len() {
            let (id, offset) = (DirectoryId(at), self.end);
            directories.push((id, offset, self.place_keys(id)?));
        }
        let free = self.place_free()?;
        for (id, keys, len) in directories.into_iter().rev() {
            let directory = &self.directories[id.0];
            let offset = directory.offset + directory.name_len as u64;
            self.replace(offset, self.directory_content(id, keys, len));
        }
        self.replace(0, self.header(infos, free));
        self.state = State::Finished;
        Ok(true)
    }

    fn replace(&mut self, offset: u64, bytes: Bytes) {
        self.writes.push_back(Write { offset, bytes, is_replaced: false });
    }

    fn finish_table(&mut self, table: TableId) -> Result<()> {
        let (at, directory) = (table.0, self.tables[table.0].directory);
        let place = self.place_in(directory);
        let name = self.tables[at].name.clone();
        let Finished { records, object } = self.tables[at]
            .writer
            .finish(place, &mut self.encoders)
            .map_err(|error| error.within(&name))?;
        self.emit(vec![records.into()], false);
        self.put(directory, &name, object);
        self.place_next().map(drop)
    }

    fn place_infos(&mut self) -> Result<Span> {
        let head = KeyHead {
            class: "TList".into(),
            name: "StreamerInfo".into(),
            title: "Doubly linked list".into(),
            datime: self.options.datime,
            cycle: 1,
            directory: BEGIN,
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

    /// The list of what is free: all behind the end, which the list's own record moves.
    fn place_free(&mut self) -> Result<Span> {
        let head = KeyHead {
            class: "TFile".into(),
            name: self.options.name.clone(),
            title: self.options.title.clone(),
            datime: self.options.datime,
            cycle: 1,
            directory: BEGIN,
            extra: 0,
        };
        let offset = self.end;
        let end_if = |len: usize| offset + (head.len(offset) + len) as u64;
        let long = end_if(FREE_LEN) > BIG;
        let len = if long { FREE_LEN_LONG } else { FREE_LEN };
        let end = end_if(len);
        let last = if long { (end / FREE_STEP + 1) * FREE_STEP } else { BIG };
        let mut list = Buffer::default();
        list.u16(if long { 1001 } else { 1 });
        write_offset(&mut list, long, end);
        write_offset(&mut list, long, last);
        self.place_record(DirectoryId::TOP, head, list.into_vec().into(), len, false)?;
        Ok(Span { offset, len: self.end - offset })
    }

    fn header(&self, infos: Span, free: Span) -> Bytes {
        let long = self.end > BIG;
        let mut header = Buffer::default();
        header.bytes(b"root");
        header.u32(if long { VERSION + VERSION_BIG } else { VERSION });
        header.u32(BEGIN as u32);
        write_offset(&mut header, long, self.end);
        write_offset(&mut header, long, free.offset);
        header.u32(free.len as u32);
        header.u32(1);
        header.u32(self.top_name_len());
        header.u8(if long { 8 } else { 4 });
        header.u32(self.options.compression.number());
        write_offset(&mut header, long, infos.offset);
        header.u32(infos.len as u32);
        header.u16(1);
        header.bytes(&self.options.uuid.to_be_bytes());
        header.into_vec().into()
    }
}
